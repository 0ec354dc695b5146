// Slice and Split: strided parts of a tensor, as affine reads.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/ops/families.h"
#include "frontend/ops/support.h"

namespace dlcc::frontend::ops {

namespace {

/// Along each axis: position start + step * i for i < count.
struct SliceForm {
  Shape start, step, count;
};

/// Starts, ends, axes, steps, from attributes (before opset 10) or inputs.
struct SliceInputs {
  Shape starts, ends, steps;
  std::vector<int> axes;
};

Result<SliceInputs> read_slice_inputs(OpContext& ctx) {
  SliceInputs result;
  bool by_attributes = ctx.version() < 10;
  DLCC_RETURN_IF_ERROR(check_arity(ctx, by_attributes ? 1 : 3, by_attributes ? 1 : 5));
  std::optional<Shape> axes;
  if (by_attributes) {
    auto starts = ctx.attr_ints("starts"), ends = ctx.attr_ints("ends");
    if (!starts || !ends) {
      return ctx.error("attributes starts and ends are missing");
    }
    result.starts = *starts;
    result.ends = *ends;
    axes = ctx.attr_ints("axes");
  } else {
    DLCC_TRY(result.starts, constant_input(ctx, 1, "starts"));
    DLCC_TRY(result.ends, constant_input(ctx, 2, "ends"));
    if (ctx.has_input(3)) {
      DLCC_TRY(axes, constant_input(ctx, 3, "axes"));
    }
    if (ctx.has_input(4)) {
      DLCC_TRY(result.steps, constant_input(ctx, 4, "steps"));
    }
  }
  size_t count = result.starts.size(), rank = ctx.input(0).shape.size();
  result.steps = result.steps.empty() ? Shape(count, 1) : result.steps;
  if (result.ends.size() != count || result.steps.size() != count || (axes && axes->size() != count) || count > rank) {
    return ctx.error("starts, ends, axes and steps differ in length, or are longer than the input's rank");
  }
  for (size_t i = 0; i < count; ++i) {
    DLCC_TRY(int axis, normal_axis(ctx, axes ? (*axes)[i] : static_cast<int64_t>(i), rank));
    if (std::find(result.axes.begin(), result.axes.end(), axis) != result.axes.end()) {
      return ctx.error(fmt::format("axis {} is given twice", axis));
    }
    result.axes.push_back(axis);
  }
  return result;
}

Result<SliceForm> read_slice(OpContext& ctx) {
  DLCC_TRY(SliceInputs given, read_slice_inputs(ctx));
  const Shape& shape = ctx.input(0).shape;
  SliceForm form{Shape(shape.size(), 0), Shape(shape.size(), 1), shape};
  for (size_t i = 0; i < given.axes.size(); ++i) {
    size_t axis = static_cast<size_t>(given.axes[i]);
    int64_t extent = shape[axis], step = given.steps[i];
    if (step == 0) {
      return ctx.error(fmt::format("the step on axis {} is 0", axis));
    }
    // No step is longer than the axis in effect, and -2^63 has no absolute value.
    step = std::clamp<int64_t>(step, -kMaxElements, kMaxElements);
    auto place = [&](int64_t at) {
      at = at < 0 ? std::max(at, -kMaxElements * 2) + extent : at;
      return step > 0 ? std::clamp<int64_t>(at, 0, extent) : std::clamp<int64_t>(at, -1, extent - 1);
    };
    int64_t start = place(given.starts[i]), end = place(given.ends[i]);
    int64_t room = step > 0 ? end - start : start - end;
    int64_t stride = step > 0 ? step : -step;
    form.start[axis] = start;
    form.step[axis] = step;
    form.count[axis] = room > 0 ? (room + stride - 1) / stride : 0;
  }
  return form;
}

Types infer_slice(OpContext& ctx) {
  DLCC_TRY(SliceForm form, read_slice(ctx));
  return std::vector<TensorType>{{ctx.input(0).type, form.count}};
}

Status define_slice(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(SliceForm form, read_slice(ctx));
  Statement s(builder);
  Index point = s.pars(form.count), source;
  for (size_t i = 0; i < point.size(); ++i) {
    source.push_back(point[i] * form.step[i] + te::Affine(form.start[i]));
  }
  s.map(builder.output(0), point, s.load(builder.input(0), source));
  return ok_status();
}

struct SplitForm {
  size_t axis = 0;
  Shape sizes;
};

/// Equal parts; since opset 18 (num_outputs) the last may be shorter.
Result<Shape> equal_parts(OpContext& ctx, int64_t extent) {
  int64_t parts = ctx.output_count();
  if (auto declared = ctx.attr_int("num_outputs")) {
    if (*declared != parts) {
      return ctx.error(fmt::format("num_outputs is {}, the node has {} outputs", *declared, parts));
    }
  } else if (extent % parts != 0) {
    return ctx.error(fmt::format("an extent of {} does not split into {} equal parts", extent, parts));
  }
  int64_t size = (extent + parts - 1) / parts;
  Shape sizes;
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(std::clamp<int64_t>(extent - i * size, 0, size));
  }
  return sizes;
}

Result<SplitForm> read_split(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 2, ctx.output_count()));
  SplitForm form;
  DLCC_TRY(int axis, normal_axis(ctx, ctx.attr_int("axis").value_or(0), ctx.input(0).shape.size()));
  form.axis = static_cast<size_t>(axis);
  int64_t extent = ctx.input(0).shape[form.axis];
  if (auto sizes = ctx.attr_ints("split")) {
    form.sizes = *sizes;
  } else if (ctx.has_input(1)) {
    DLCC_TRY(form.sizes, constant_input(ctx, 1, "split"));
  } else {
    DLCC_TRY(form.sizes, equal_parts(ctx, extent));
  }
  int64_t sum = 0;
  for (int64_t size : form.sizes) {
    if (size < 0 || size > extent) {
      return ctx.error(fmt::format("a part of {} of an extent of {}", size, extent));
    }
    sum += size;
  }
  if (sum != extent || form.sizes.size() != static_cast<size_t>(ctx.output_count())) {
    return ctx.error(fmt::format("parts [{}] of an extent of {} for {} outputs", fmt::join(form.sizes, ","), extent,
                                 ctx.output_count()));
  }
  return form;
}

Types infer_split(OpContext& ctx) {
  DLCC_TRY(SplitForm form, read_split(ctx));
  std::vector<TensorType> types;
  for (int64_t size : form.sizes) {
    types.push_back(ctx.input(0));
    types.back().shape[form.axis] = size;
  }
  return types;
}

Status define_split(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(SplitForm form, read_split(ctx));
  int64_t offset = 0;
  for (int i = 0; i < ctx.output_count(); ++i) {
    if (ctx.has_output(i)) {
      Statement s(builder);
      Index point = s.pars(builder.tensor(builder.output(i)).shape);
      Index source = point;
      source[form.axis] += te::Affine(offset);
      s.map(builder.output(i), point, s.load(builder.input(0), source));
    }
    offset += form.sizes[static_cast<size_t>(i)];
  }
  return ok_status();
}

constexpr OpDef kOps[] = {
    {"", "Slice", 7, 22, infer_slice, define_slice},
    {"", "Split", 7, 22, infer_split, define_split},
};

}  // namespace

std::span<const OpDef> slice_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
