// The multiply-accumulate path: conv and matrix leaves as tiles of 4 x 16 outputs over lists of reduction offsets.
#include <algorithm>
#include <array>

#include "sim/compute_exec.h"
#include "sim/fma_tile.h"

namespace dlcc::sim {
namespace {

/// A factor's data along lanes, rows and reduction.
struct Factor {
  const float* data = nullptr;
  int64_t lane = 0, row = 0;             // strides
  std::vector<int64_t> offsets;          // of the reduction points
  std::vector<float>* packed = nullptr;  // [row][point][lane], when lanes are neither equal nor adjacent
  bool needs_pack() const { return lane != 0 && lane != 1; }

  void pack(int slot, const float* at, int lanes) {
    const size_t row_size = offsets.size() * kFmaLanes;
    if (packed->size() < kFmaRows * row_size) {
      packed->resize(kFmaRows * row_size);
    }
    float* out = &(*packed)[static_cast<size_t>(slot) * row_size];
    for (const int64_t offset : offsets) {
      for (int l = 0; l < lanes; ++l) {
        out[l] = at[offset + l * lane];
      }
      out += kFmaLanes;
    }
  }
};

/// Where the points of a packed factor lie.
const int64_t* packed_offsets(size_t points) {
  thread_local std::vector<int64_t> offsets;
  while (offsets.size() < points) {
    offsets.push_back(static_cast<int64_t>(offsets.size()) * kFmaLanes);
  }
  return offsets.data();
}

struct Axis {
  int64_t extent = 1, w = 0, a = 0, b = 0;
};

/// One call's loops: lanes, rows, the other Par axes, the Red axes.
class FmaWork {
 public:
  FmaWork(float* w, const float* a, const float* b, std::vector<Axis> par, std::vector<Axis> red)
      : w_(w), par_(std::move(par)), red_(std::move(red)) {
    thread_local std::array<std::vector<float>, 2>
        packed;  // kept between leaves: clearing it costs more than a small leaf
    a_.data = a;
    b_.data = b;
    a_.packed = &packed[0];
    b_.packed = &packed[1];
    lane_ = take(0);
    row_ = take(1);
    a_.lane = lane_.a, a_.row = row_.a;
    b_.lane = lane_.b, b_.row = row_.b;
  }

  void run() {
    std::vector<int64_t> red_point(red_.size(), 0);
    int64_t oa = 0, ob = 0;
    do {
      a_.offsets.push_back(oa);
      b_.offsets.push_back(ob);
    } while (advance(red_, red_point, nullptr, oa, ob));
    run_points();
  }

 private:
  /// The best Par axis for lanes (as = 0) or rows (as = 1); leaves the others.
  Axis take(int as) {
    int best = -1;
    double best_score = 0;
    for (size_t i = 0; i < par_.size(); ++i) {
      const Axis& axis = par_[i];
      double score = 0;
      if (as == 0) {
        const auto cost = [](int64_t stride) { return stride == 0 || stride == 1 ? 1.0 : 0.35; };
        score = static_cast<double>(std::min<int64_t>(axis.extent, kFmaLanes)) * (axis.w == 1 ? 1.0 : 0.8) *
                cost(axis.a) * cost(axis.b);
      } else {
        // A packed factor that does not change from row to row is packed once.
        const bool reuse = (a_lane_packed() && axis.a == 0) || (b_lane_packed() && axis.b == 0);
        score = static_cast<double>(std::min<int64_t>(axis.extent, 64)) * (reuse ? 4.0 : 1.0);
      }
      if (score > best_score) {
        best_score = score;
        best = static_cast<int>(i);
      }
    }
    if (best < 0) {
      return {};
    }
    const Axis axis = par_[static_cast<size_t>(best)];
    par_.erase(par_.begin() + best);
    return axis;
  }
  bool a_lane_packed() const { return lane_.a != 0 && lane_.a != 1; }
  bool b_lane_packed() const { return lane_.b != 0 && lane_.b != 1; }

  static bool advance(const std::vector<Axis>& axes, std::vector<int64_t>& point, int64_t* ow, int64_t& oa,
                      int64_t& ob) {
    for (size_t d = axes.size(); d-- > 0;) {
      const Axis& axis = axes[d];
      const bool wrap = ++point[d] == axis.extent;
      const int64_t step = wrap ? 1 - axis.extent : 1;
      if (ow != nullptr) {
        *ow += axis.w * step;
      }
      oa += axis.a * step;
      ob += axis.b * step;
      if (!wrap) {
        return true;
      }
      point[d] = 0;
    }
    return false;
  }

  void run_points() {
    std::vector<int64_t> point(par_.size(), 0);
    int64_t ow = 0, oa = 0, ob = 0;
    do {
      for (int64_t l = 0; l < lane_.extent; l += kFmaLanes) {
        const int lanes = static_cast<int>(std::min<int64_t>(kFmaLanes, lane_.extent - l));
        run_lanes(w_ + ow + l * lane_.w, a_.data + oa + l * lane_.a, b_.data + ob + l * lane_.b, lanes);
      }
    } while (advance(par_, point, &ow, oa, ob));
  }

  void run_lanes(float* w, const float* a, const float* b, int lanes) {
    if (a_.needs_pack() && a_.row == 0) {
      a_.pack(0, a, lanes);
    }
    if (b_.needs_pack() && b_.row == 0) {
      b_.pack(0, b, lanes);
    }
    int64_t row = 0;
    for (; row + kFmaRows <= row_.extent; row += kFmaRows) {
      run_tile(w + row * row_.w, a + row * row_.a, b + row * row_.b, kFmaRows, lanes);
    }
    for (; row < row_.extent; ++row) {
      run_tile(w + row * row_.w, a + row * row_.a, b + row * row_.b, 1, lanes);
    }
  }

  FmaOperand operand(Factor& factor, const float* at, int rows, int lanes) {
    FmaOperand result{};
    result.splat = factor.lane == 0;
    result.offsets = factor.needs_pack() ? packed_offsets(factor.offsets.size()) : factor.offsets.data();
    for (int q = 0; q < rows; ++q) {
      if (!factor.needs_pack()) {
        result.data[q] = at + q * factor.row;
        continue;
      }
      const int slot = factor.row == 0 ? 0 : q;
      if (factor.row != 0) {
        factor.pack(q, at + q * factor.row, lanes);
      }
      result.data[q] = &(*factor.packed)[static_cast<size_t>(slot) * factor.offsets.size() * kFmaLanes];
    }
    return result;
  }

  void run_tile(float* w, const float* a, const float* b, int rows, int lanes) {
    const FmaOperand fa = operand(a_, a, rows, lanes), fb = operand(b_, b, rows, lanes);
    const auto count = static_cast<int64_t>(a_.offsets.size());
    std::array<float*, kFmaRows> acc{};
    float sums[kFmaRows][kFmaLanes] = {};
    for (int q = 0; q < rows; ++q) {
      acc[static_cast<size_t>(q)] = sums[q];
    }
    fma_tile(acc.data(), rows, lanes, fa, fb, count);
    for (int q = 0; q < rows; ++q) {
      for (int l = 0; l < lanes; ++l) {
        w[q * row_.w + l * lane_.w] += sums[q][l];
      }
    }
  }

  float* w_;
  Factor a_, b_;
  std::vector<Axis> par_, red_;
  Axis lane_, row_;
};

}  // namespace

void ComputeCode::run_fma(std::vector<Loop>& loops, const Operand& write, const std::vector<Operand>& reads) const {
  const te::ScalarExpr& body = program_.body();
  const auto a = static_cast<size_t>(body[static_cast<size_t>(body.back().a)].integer);
  const auto b = static_cast<size_t>(body[static_cast<size_t>(body.back().b)].integer);
  std::vector<Axis> par, red;
  for (const Loop& loop : loops) {
    (loop.red ? red : par).push_back({loop.extent, loop.strides[0], loop.strides[a + 1], loop.strides[b + 1]});
  }
  FmaWork(reinterpret_cast<float*>(write.data), reinterpret_cast<const float*>(reads[a].data),
          reinterpret_cast<const float*>(reads[b].data), std::move(par), std::move(red))
      .run();
}

}  // namespace dlcc::sim
