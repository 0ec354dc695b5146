// Gather, GatherElements: positions that are constants in an arithmetic pattern become affine reads, all others
// indirect ones.
#include <fmt/format.h>

#include "frontend/ops/families.h"
#include "frontend/ops/index_map.h"
#include "frontend/ops/support.h"

namespace dlcc::frontend::ops {

namespace {

constexpr size_t kMaxRuns = 4;  // of constant positions that are copied piece by piece

Result<size_t> gather_axis(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 2, 2));
  DLCC_TRY(int axis, normal_axis(ctx, ctx.attr_int("axis").value_or(0), ctx.input(0).shape.size()));
  if (ctx.input(1).type != DType::I32 && ctx.input(1).type != DType::I64) {
    return ctx.error("the indices must be i32 or i64");
  }
  int64_t extent = ctx.input(0).shape[static_cast<size_t>(axis)];
  if (extent == 0 && te::element_count(ctx.input(1).shape) > 0) {
    return ctx.error(fmt::format("indices into axis {}, which has no element", axis));
  }
  return static_cast<size_t>(axis);
}

/// Constant positions, counted from the front; nullopt when they are known only at run time.
Result<std::optional<Shape>> constant_positions(OpContext& ctx, size_t axis) {
  auto positions = ctx.constant_ints(1);
  if (!positions) {
    return std::optional<Shape>();
  }
  int64_t extent = ctx.input(0).shape[axis];
  for (int64_t& at : *positions) {
    if (at < -extent || at >= extent) {
      return ctx.error(fmt::format("index {} is outside [{}, {}]", at, -extent, extent - 1));
    }
    at = at < 0 ? at + extent : at;
  }
  return positions;
}

Types infer_gather(OpContext& ctx) {
  DLCC_TRY(size_t axis, gather_axis(ctx));
  DLCC_RETURN_IF_ERROR(constant_positions(ctx, axis));
  const Shape& data = ctx.input(0).shape;
  const Shape& indices = ctx.input(1).shape;
  Shape shape(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end());
  DLCC_RETURN_IF_ERROR(check_shape(ctx, shape));
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

/// positions as base + sum stride * index over the index tensor's axes, if they are that.
std::optional<te::Affine> affine_positions(const Shape& positions, const Shape& shape, const Index& point) {
  if (positions.empty()) {
    return std::nullopt;
  }
  Shape strides(shape.size(), 0);
  int64_t inner = 1;
  te::Affine result(positions[0]);
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = shape[i] > 1 ? positions[static_cast<size_t>(inner)] - positions[0] : 0;
    result += point[i] * strides[i];
    inner *= shape[i];
  }
  for (size_t e = 0; e < positions.size(); ++e) {
    int64_t rest = static_cast<int64_t>(e), expected = positions[0];
    for (size_t i = shape.size(); i-- > 0;) {
      expected += strides[i] * (rest % shape[i]);
      rest /= shape[i];
    }
    if (expected != positions[e]) {
      return std::nullopt;
    }
  }
  return result;
}

struct GatherPoint {
  Index outer, indices, inner;
  Index output() const {
    Index all = outer;
    all.insert(all.end(), indices.begin(), indices.end());
    all.insert(all.end(), inner.begin(), inner.end());
    return all;
  }
  Index data(const te::Affine& position) const {
    Index all = outer;
    all.push_back(position);
    all.insert(all.end(), inner.begin(), inner.end());
    return all;
  }
};

GatherPoint gather_point(Statement& s, const Shape& data, const Shape& indices, size_t axis) {
  GatherPoint point;
  point.outer = s.pars(Shape(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis)), "o");
  point.indices = s.pars(indices, "i");
  point.inner = s.pars(Shape(data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end()), "d");
  return point;
}

Status define_gather(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(size_t axis, gather_axis(ctx));
  DLCC_TRY(auto positions, constant_positions(ctx, axis));
  const Shape& data = ctx.input(0).shape;
  const Shape& indices = ctx.input(1).shape;
  int output = builder.output(0), x = builder.input(0);
  std::vector<Run> runs = positions && indices.size() == 1 ? runs_of(*positions) : std::vector<Run>();
  if (runs.size() > 1 && runs.size() <= kMaxRuns) {
    for (const Run& run : runs) {
      Statement s(builder);
      GatherPoint point = gather_point(s, data, {run.count}, axis);
      te::Affine source = point.indices[0] * run.step + te::Affine(run.start);
      point.indices[0] += te::Affine(run.first);
      s.map(output, point.output(), s.load(x, point.data(source)));
    }
    return ok_status();
  }
  Statement s(builder);
  GatherPoint point = gather_point(s, data, indices, axis);
  auto affine = positions ? affine_positions(*positions, indices, point.indices) : std::nullopt;
  int root = affine ? s.load(x, point.data(*affine))
                    : s.gather(x, point.data(0), static_cast<int>(axis), builder.input(1), point.indices);
  s.map(output, point.output(), root);
  return ok_status();
}

Result<size_t> elements_axis(OpContext& ctx) {
  DLCC_TRY(size_t axis, gather_axis(ctx));
  const Shape& data = ctx.input(0).shape;
  const Shape& indices = ctx.input(1).shape;
  bool fits = data.size() == indices.size();
  for (size_t i = 0; fits && i < data.size(); ++i) {
    fits = i == axis || indices[i] <= data[i];
  }
  if (!fits) {
    return ctx.error(fmt::format("indices [{}] do not fit to data [{}] on axis {}", fmt::join(indices, ","),
                                 fmt::join(data, ","), axis));
  }
  return axis;
}

Types infer_gather_elements(OpContext& ctx) {
  DLCC_TRY(size_t axis, elements_axis(ctx));
  DLCC_RETURN_IF_ERROR(constant_positions(ctx, axis));
  return std::vector<TensorType>{{ctx.input(0).type, ctx.input(1).shape}};
}

Status define_gather_elements(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(size_t axis, elements_axis(ctx));
  Statement s(builder);
  Index point = s.pars(ctx.input(1).shape), source = point;
  source[axis] = 0;
  s.map(builder.output(0), point, s.gather(builder.input(0), source, static_cast<int>(axis), builder.input(1), point));
  return ok_status();
}

constexpr OpDef kOps[] = {
    {"", "Gather", 7, 22, infer_gather, define_gather},
    {"", "GatherElements", 11, 22, infer_gather_elements, define_gather_elements},
};

}  // namespace

std::span<const OpDef> gather_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
