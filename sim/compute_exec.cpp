// Loop normalisation, and the general path: column programs over blocks of lanes.
#include "sim/compute_exec.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "hw/program.h"

namespace dlcc::sim {
namespace {

te::Op op_of(te::Monoid monoid) {
  switch (monoid) {
    case te::Monoid::Sum:
      return te::Op::Add;
    case te::Monoid::Prod:
      return te::Op::Mul;
    case te::Monoid::Min:
      return te::Op::Min;
    case te::Monoid::Max:
      return te::Op::Max;
    case te::Monoid::And:
      return te::Op::And;
    case te::Monoid::Or:
      return te::Op::Or;
  }
  return te::Op::Add;
}

}  // namespace

ComputeCode::ComputeCode(const te::ScalarExpr& body, std::vector<te::DimKind> kinds, DType write_type,
                         std::vector<DType> read_types, bool accumulate, te::Monoid monoid,
                         std::vector<Indirection> indirections)
    : program_(body, read_types),
      kinds_(std::move(kinds)),
      write_type_(write_type),
      read_types_(std::move(read_types)),
      accumulate_(accumulate),
      monoid_(monoid),
      indirections_(std::move(indirections)),
      dim_has_index_(kinds_.size(), 0) {
  for (const te::ScalarNode& node : body) {
    if (node.op == te::Op::Index) {
      dim_has_index_[static_cast<size_t>(node.integer)] = 1;
    }
  }
  fma_ = accumulate && te::accumulates_with_fma(te::StmtKind::Reduce, monoid, body);
  if (fma_ && body.back().type == DType::F32 && write_type == DType::F32 && indirections_.empty()) {
    const auto plain = [&](int32_t n) {
      const te::ScalarNode& node = body[static_cast<size_t>(n)];
      return node.op == te::Op::Load && node.type == DType::F32 &&
             read_types_[static_cast<size_t>(node.integer)] == DType::F32;
    };
    fma_loads_ = plain(body.back().a) && plain(body.back().b);
  }
}

/// outer *= inner when one loop can run both: strides line up on every object.
bool ComputeCode::merge(Loop& outer, const Loop& inner) const {
  if (outer.red != inner.red || outer.index_dim >= 0 || inner.index_dim >= 0) {
    return false;
  }
  for (size_t o = 0; o < outer.strides.size(); ++o) {
    if (outer.strides[o] != inner.strides[o] * inner.extent) {
      return false;
    }
  }
  outer.extent *= inner.extent;
  outer.strides = inner.strides;
  return true;
}

/// Par loops, then Red loops in their order; dims of one point are gone, dims that line up are merged.
std::vector<ComputeCode::Loop> ComputeCode::loops_of(const std::vector<int64_t>& extents, const Operand& write,
                                                     const std::vector<Operand>& reads) const {
  std::vector<Loop> loops;
  for (const bool red : {false, true}) {
    for (size_t d = 0; d < extents.size(); ++d) {
      if ((kinds_[d] != te::DimKind::Par) != red || extents[d] == 1) {
        continue;
      }
      Loop loop{extents[d], red, dim_has_index_[d] != 0 ? static_cast<int>(d) : -1, {write.strides[d]}};
      for (const Operand& read : reads) {
        loop.strides.push_back(read.strides[d]);
      }
      if (loops.empty() || !merge(loops.back(), loop)) {
        loops.push_back(std::move(loop));
      }
    }
  }
  return loops;
}

void ComputeCode::run(const std::vector<int64_t>& extents, const Operand& write, const std::vector<Operand>& reads,
                      const int64_t* index_base) const {
  std::vector<Loop> loops = loops_of(extents, write, reads);
  if (fma_loads_) {
    run_fma(loops, write, reads);
  } else {
    run_columns(loops, write, reads, index_base);
  }
}

/// State of the general path: the Par loops around the lanes, the lane loop, the Red loops.
struct ComputeCode::Work {
  std::vector<Loop> outer, red;
  Loop lane;
  const Operand* write = nullptr;
  const std::vector<Operand>* reads = nullptr;
  std::vector<int64_t> outer_point, red_point;
  std::vector<int64_t> offset;  // write, then reads: elements, at lane 0
  std::vector<ColumnSource> sources;
  std::vector<std::vector<int64_t>> gathers;
  std::vector<int64_t> index_first, index_step, index_base;
  ColumnProgram::Columns* columns = nullptr;
  std::vector<float> acc_f32;
  std::vector<te::Value> acc;

  /// Steps an odometer and the offsets with it; false after the last point.
  bool advance(const std::vector<Loop>& loops, std::vector<int64_t>& point) {
    for (size_t d = loops.size(); d-- > 0;) {
      const Loop& loop = loops[d];
      const bool wrap = ++point[d] == loop.extent;
      const int64_t step = wrap ? 1 - loop.extent : 1;
      for (size_t o = 0; o < offset.size(); ++o) {
        offset[o] += loop.strides[o] * step;
      }
      if (loop.index_dim >= 0) {
        index_first[static_cast<size_t>(loop.index_dim)] += step;
      }
      if (!wrap) {
        return true;
      }
      point[d] = 0;
    }
    return false;
  }
};

void ComputeCode::run_columns(std::vector<Loop>& loops, const Operand& write, const std::vector<Operand>& reads,
                              const int64_t* index_base) const {
  thread_local ColumnProgram::Columns columns;
  columns.resize(program_.body().size());
  Work work;
  work.columns = &columns;
  work.write = &write;
  work.reads = &reads;
  work.lane.strides.assign(reads.size() + 1, 0);
  int best = -1;
  double best_score = 0;
  for (size_t l = 0; l < loops.size() && !loops[l].red; ++l) {
    double score = static_cast<double>(std::min<int64_t>(loops[l].extent, kColumnLanes));
    for (const int64_t stride : loops[l].strides) {
      score *= stride == 0 || stride == 1 ? 1 : 0.8;
    }
    if (score > best_score) {
      best_score = score;
      best = static_cast<int>(l);
    }
  }
  for (size_t l = 0; l < loops.size(); ++l) {
    if (static_cast<int>(l) == best) {
      work.lane = std::move(loops[l]);
    } else {
      (loops[l].red ? work.red : work.outer).push_back(std::move(loops[l]));
    }
  }
  work.outer_point.assign(work.outer.size(), 0);
  work.red_point.assign(work.red.size(), 0);
  work.offset.assign(reads.size() + 1, 0);
  work.sources.resize(reads.size());
  work.gathers.assign(reads.size(), {});
  work.index_first.assign(kinds_.size(), 0);
  work.index_step.assign(kinds_.size(), 0);
  if (index_base != nullptr) {
    work.index_first.assign(index_base, index_base + kinds_.size());
  }
  if (work.lane.index_dim >= 0) {
    work.index_step[static_cast<size_t>(work.lane.index_dim)] = 1;
  }
  do {
    for (int64_t first = 0; first < work.lane.extent; first += kColumnLanes) {
      run_block(work, first, static_cast<int>(std::min<int64_t>(kColumnLanes, work.lane.extent - first)));
    }
  } while (work.advance(work.outer, work.outer_point));
}

void ComputeCode::evaluate(Work& work, int64_t first_lane, int lanes) const {
  for (size_t r = 0; r < work.sources.size(); ++r) {
    ColumnSource& source = work.sources[r];
    source.data = (*work.reads)[r].data;
    source.stride = work.lane.strides[r + 1];
    source.first = work.offset[r + 1] + first_lane * source.stride;
    source.gather = nullptr;
  }
  for (const Indirection& indirection : indirections_) {
    const ColumnSource& index = work.sources[static_cast<size_t>(indirection.index_read)];
    std::vector<int64_t>& gather = work.gathers[static_cast<size_t>(indirection.read)];
    gather.resize(kColumnLanes);
    for (int l = 0; l < lanes; ++l) {
      const int64_t at = te::load_element(read_types_[static_cast<size_t>(indirection.index_read)], index.data,
                                    index.first + l * index.stride)
                       .i;
      gather[static_cast<size_t>(l)] = hw::looked_up(at, indirection.extent) * indirection.stride;
    }
    work.sources[static_cast<size_t>(indirection.read)].gather = gather.data();
  }
  const int lane_dim = work.lane.index_dim;
  if (lane_dim >= 0) {
    work.index_first[static_cast<size_t>(lane_dim)] += first_lane;
  }
  program_.run(*work.columns, fma_ ? program_.root() : program_.body().size(), lanes, work.sources.data(),
               work.index_first.data(), work.index_step.data());
  if (lane_dim >= 0) {
    work.index_first[static_cast<size_t>(lane_dim)] -= first_lane;
  }
}

/// acc = monoid(acc, value) lane by lane; Sum over a float product: one rounding.
void ComputeCode::combine(Work& work, int lanes) const {
  ColumnProgram::Columns& columns = *work.columns;
  const te::ScalarNode& root = program_.body().back();
  if (fma_) {
    const te::ScalarNode fma{.op = te::Op::Fma, .type = root.type};
    for (int l = 0; l < lanes; ++l) {
      const te::Value a = program_.value(columns, static_cast<size_t>(root.a), l),
                      b = program_.value(columns, static_cast<size_t>(root.b), l);
      work.acc[static_cast<size_t>(l)] = te::apply(fma, root.type, a, b, work.acc[static_cast<size_t>(l)]);
    }
    return;
  }
  const te::ScalarNode op{.op = op_of(monoid_), .type = root.type};
  if (root.type != DType::F32) {
    for (int l = 0; l < lanes; ++l) {
      work.acc[static_cast<size_t>(l)] =
          te::apply(op, root.type, work.acc[static_cast<size_t>(l)], program_.value(columns, program_.root(), l), {});
    }
    return;
  }
  const float* value = columns.f32(program_.root());
  float* acc = work.acc_f32.data();
  switch (monoid_) {
    case te::Monoid::Sum:
      for (int l = 0; l < lanes; ++l) {
        acc[l] += value[l];
      }
      break;
    case te::Monoid::Prod:
      for (int l = 0; l < lanes; ++l) {
        acc[l] *= value[l];
      }
      break;
    case te::Monoid::Min:
      for (int l = 0; l < lanes; ++l) {
        acc[l] = acc[l] < value[l] ? acc[l] : value[l];
      }
      break;
    case te::Monoid::Max:
      for (int l = 0; l < lanes; ++l) {
        acc[l] = acc[l] > value[l] ? acc[l] : value[l];
      }
      break;
    default:
      DLCC_CHECK(false) << te::name_of(monoid_) << " over floats";
  }
}

void ComputeCode::run_block(Work& work, int64_t first_lane, int lanes) const {
  const int64_t stride = work.lane.strides[0], first = work.offset[0] + first_lane * stride;
  std::byte* data = work.write->data;
  if (!accumulate_) {
    evaluate(work, first_lane, lanes);
    for (int l = 0; l < lanes; ++l) {
      te::store_element(write_type_, data, first + l * stride, program_.value(*work.columns, program_.root(), l));
    }
    return;
  }
  const bool native = !fma_ && write_type_ == DType::F32;
  work.acc.resize(kColumnLanes);
  work.acc_f32.resize(kColumnLanes);
  for (int l = 0; l < lanes; ++l) {
    work.acc[static_cast<size_t>(l)] = fma_ ? te::Value{} : te::load_element(write_type_, data, first + l * stride);
    work.acc_f32[static_cast<size_t>(l)] = static_cast<float>(work.acc[static_cast<size_t>(l)].f);
  }
  do {
    evaluate(work, first_lane, lanes);
    combine(work, lanes);
  } while (work.advance(work.red, work.red_point));
  if (fma_) {
    for (int l = 0; l < lanes; ++l) {  // the leaf's own sum is complete: add it to what was there
      const te::ScalarNode add{.op = te::Op::Add, .type = write_type_};
      te::Value& sum = work.acc[static_cast<size_t>(l)];
      sum = te::apply(add, write_type_, te::load_element(write_type_, data, first + l * stride), sum, {});
    }
  }
  for (int l = 0; l < lanes; ++l) {
    const auto at = static_cast<size_t>(l);
    te::store_element(write_type_, data, first + l * stride,
                      native ? te::Value{.f = static_cast<double>(work.acc_f32[at])} : work.acc[at]);
  }
}

}  // namespace dlcc::sim
