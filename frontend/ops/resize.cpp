// Resize and Upsample with constant scales or sizes. Axes whose positions are affine or repeat a whole number of times
// are copied by one statement with split dims; every other axis takes one statement that reads through a table of
// positions (and one of weights).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/ops/families.h"
#include "frontend/ops/index_map.h"
#include "frontend/ops/resize_table.h"
#include "frontend/ops/support.h"

namespace dlcc::frontend::ops {

namespace {

constexpr double kMaxTable = 1 << 24;

struct ResizeForm {
  ResizeRule rule;
  std::vector<ResizeAxis> axes;  // all axes of the input
};

bool one_of(const std::string& value, std::initializer_list<const char*> allowed) {
  return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

Result<ResizeMode> read_mode(OpContext& ctx) {
  std::string mode = ctx.attr_string("mode").value_or("nearest");
  if (mode == "nearest") {
    return ResizeMode::Nearest;
  }
  if (mode == "linear" || (mode == "bilinear" && ctx.version() < 9)) {
    return ResizeMode::Linear;
  }
  if (mode == "cubic" && ctx.version() >= 11) {
    return ResizeMode::Cubic;
  }
  return ctx.error(fmt::format("attribute mode is '{}'", mode));
}

/// Upsample, and Resize of opset 10, have the one rule that later became "asymmetric" with "floor".
Result<ResizeRule> read_rule(OpContext& ctx) {
  ResizeRule rule;
  DLCC_TRY(rule.mode, read_mode(ctx));
  if (ctx.version() < 11) {
    rule.coordinates = "asymmetric";
    rule.rounding = "floor";
    return rule;
  }
  rule.coordinates = ctx.attr_string("coordinate_transformation_mode").value_or("half_pixel");
  rule.rounding = ctx.attr_string("nearest_mode").value_or("round_prefer_floor");
  rule.cubic_a = static_cast<double>(ctx.attr_float("cubic_coeff_a").value_or(-0.75F));
  rule.exclude_outside = ctx.attr_int("exclude_outside").value_or(0) != 0;
  rule.antialias = ctx.attr_int("antialias").value_or(0) != 0 && rule.mode != ResizeMode::Nearest;
  // The value outside the input belongs to tf_crop_and_resize; a node that needs it is refused when its table is made.
  ctx.ignore_attr("extrapolation_value");
  if (!one_of(rule.coordinates, {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                                 "tf_half_pixel_for_nn", "half_pixel_symmetric", "tf_crop_and_resize"})) {
    return ctx.error(fmt::format("attribute coordinate_transformation_mode is '{}'", rule.coordinates));
  }
  if (!one_of(rule.rounding, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})) {
    return ctx.error(fmt::format("attribute nearest_mode is '{}'", rule.rounding));
  }
  return rule;
}

/// The numbers of an optional input; an empty tensor counts as left out.
Result<std::optional<std::vector<double>>> numbers(OpContext& ctx, int input, const char* what) {
  if (!ctx.has_input(input) || te::element_count(ctx.input(input).shape) == 0) {
    return std::optional<std::vector<double>>();
  }
  auto values = ctx.constant_floats(input);
  if (!values) {
    return ctx.unsupported(fmt::format("input {} ({}) is not a constant", input, what));
  }
  return values;
}

Status set_scales(OpContext& ctx, const std::vector<double>& scales, const std::vector<int>& axes, ResizeForm& form) {
  if (scales.size() != axes.size()) {
    return ctx.error(fmt::format("{} scales for {} axes", scales.size(), axes.size()));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = form.axes[static_cast<size_t>(axes[i])];
    double out = std::floor(static_cast<double>(axis.in) * scales[i]);
    if (!(scales[i] > 0) || !(out <= static_cast<double>(kMaxElements))) {
      return ctx.error(fmt::format("a scale of {}", scales[i]));
    }
    axis.scale = scales[i];
    axis.out = static_cast<int64_t>(out);
  }
  return ok_status();
}

Status set_sizes(OpContext& ctx, const std::vector<double>& sizes, const std::vector<int>& axes, ResizeForm& form) {
  if (sizes.size() != axes.size()) {
    return ctx.error(fmt::format("{} sizes for {} axes", sizes.size(), axes.size()));
  }
  std::string policy = ctx.attr_string("keep_aspect_ratio_policy").value_or("stretch");
  if (!one_of(policy, {"stretch", "not_larger", "not_smaller"})) {
    return ctx.error(fmt::format("attribute keep_aspect_ratio_policy is '{}'", policy));
  }
  std::vector<double> scales;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = form.axes[static_cast<size_t>(axes[i])];
    if (sizes[i] < 0 || sizes[i] > static_cast<double>(kMaxElements) || axis.in == 0) {
      return ctx.error(fmt::format("a size of {} for an extent of {}", sizes[i], axis.in));
    }
    scales.push_back(sizes[i] / static_cast<double>(axis.in));
    axis.scale = scales.back();
    axis.out = static_cast<int64_t>(sizes[i]);
  }
  if (policy == "stretch" || scales.empty()) {
    return ok_status();
  }
  double common = policy == "not_larger" ? *std::min_element(scales.begin(), scales.end())
                                         : *std::max_element(scales.begin(), scales.end());
  for (int at : axes) {
    ResizeAxis& axis = form.axes[static_cast<size_t>(at)];
    axis.scale = common;
    axis.out = static_cast<int64_t>(std::floor(common * static_cast<double>(axis.in) + 0.5));
  }
  return ok_status();
}

/// Inputs of opset 11 on: data, roi, scales, sizes, for all axes or those of attribute `axes`.
Status read_inputs(OpContext& ctx, ResizeForm& form) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 4));
  size_t rank = form.axes.size();
  std::vector<int> axes;
  auto given = ctx.attr_ints("axes");
  for (size_t i = 0; i < (given ? given->size() : rank); ++i) {
    DLCC_TRY(int axis, normal_axis(ctx, given ? (*given)[i] : static_cast<int64_t>(i), rank));
    axes.push_back(axis);
  }
  if (form.rule.coordinates == "tf_crop_and_resize") {
    DLCC_TRY(auto roi, numbers(ctx, 1, "roi"));
    if (!roi || roi->size() != 2 * axes.size()) {
      return ctx.error("tf_crop_and_resize needs a roi of two numbers an axis");
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      form.axes[static_cast<size_t>(axes[i])].roi_begin = (*roi)[i];
      form.axes[static_cast<size_t>(axes[i])].roi_end = (*roi)[axes.size() + i];
    }
  }
  DLCC_TRY(auto scales, numbers(ctx, 2, "scales"));
  DLCC_TRY(auto sizes, numbers(ctx, 3, "sizes"));
  if (scales.has_value() == sizes.has_value()) {
    return ctx.error("exactly one of scales and sizes must be given");
  }
  ctx.attr_string("keep_aspect_ratio_policy");
  return scales ? set_scales(ctx, *scales, axes, form) : set_sizes(ctx, *sizes, axes, form);
}

/// Upsample (an attribute at opset 7, then an input) and Resize of opset 10: scales of all axes.
Status read_old_inputs(OpContext& ctx, ResizeForm& form) {
  bool by_attribute = ctx.version() < 9;
  DLCC_RETURN_IF_ERROR(check_arity(ctx, by_attribute ? 1 : 2, by_attribute ? 1 : 2));
  std::vector<int> axes;
  for (size_t i = 0; i < form.axes.size(); ++i) {
    axes.push_back(static_cast<int>(i));
  }
  if (by_attribute) {
    auto scales = ctx.attr_floats("scales");
    return scales ? set_scales(ctx, {scales->begin(), scales->end()}, axes, form)
                  : Status(ctx.error("attribute scales is missing"));
  }
  DLCC_TRY(auto scales, numbers(ctx, 1, "scales"));
  return scales ? set_scales(ctx, *scales, axes, form) : Status(ctx.error("input 1 (scales) is empty"));
}

Result<ResizeForm> read_resize(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 4));
  ResizeForm form;
  DLCC_TRY(form.rule, read_rule(ctx));
  for (int64_t extent : ctx.input(0).shape) {
    form.axes.push_back({extent, extent, 1, 0, 1});
  }
  DLCC_RETURN_IF_ERROR(ctx.version() < 11 ? read_old_inputs(ctx, form) : read_inputs(ctx, form));
  if (form.rule.mode != ResizeMode::Nearest) {
    DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kFloats));
  }
  double entries = 0;
  for (const ResizeAxis& axis : form.axes) {
    if (axis.in == 0 && axis.out > 0) {
      return ctx.error("an axis without elements cannot grow");
    }
    entries += axis.in == axis.out && axis.scale == 1 ? 0 : resize_table_size(form.rule, axis);
  }
  if (entries > kMaxTable) {
    return ctx.unsupported("tables of positions of more than 2^24 entries");
  }
  return form;
}

Types infer_resize(OpContext& ctx) {
  DLCC_TRY(ResizeForm form, read_resize(ctx));
  Shape shape;
  for (const ResizeAxis& axis : form.axes) {
    shape.push_back(axis.out);
  }
  DLCC_RETURN_IF_ERROR(check_shape(ctx, shape));
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

/// An axis whose positions need no table: start + step * i, or i / factor.
struct SimpleAxis {
  int64_t start = 0, step = 1;
  int64_t factor = 1;
};

std::optional<SimpleAxis> simple_axis(const ResizeTable& table) {
  if (table.taps != 1) {
    return std::nullopt;
  }
  if (auto factor = repeat_factor(table.positions)) {
    return SimpleAxis{0, 1, *factor};
  }
  std::vector<Run> runs = runs_of(table.positions);
  if (runs.size() == 1) {
    return SimpleAxis{runs[0].start, runs[0].count > 1 ? runs[0].step : 0, 1};
  }
  return std::nullopt;
}

void copy_simple(StmtBuilder& builder, int target, int source, const std::vector<SimpleAxis>& axes) {
  const Shape& shape = builder.tensor(target).shape;
  Statement s(builder);
  Index from, to;
  for (size_t i = 0; i < shape.size(); ++i) {
    te::Affine at = s.par(fmt::format("d{}", i), shape[i] / axes[i].factor);
    te::Affine within = s.par(fmt::format("f{}", i), axes[i].factor);
    from.push_back(at * axes[i].step + te::Affine(axes[i].start));
    to.push_back(at * axes[i].factor + within);
  }
  s.map(target, to, s.load(source, from));
}

/// target = source with one axis resampled through the table.
void resample(StmtBuilder& builder, int target, int source, size_t axis, const ResizeTable& table) {
  const Shape& shape = builder.tensor(target).shape;
  DType type = builder.tensor(target).type;
  Shape table_shape{shape[axis], table.taps};
  int positions = builder.constant("positions", array_of_ints(DType::I64, table_shape, table.positions));
  Statement s(builder);
  Index point = s.pars(shape), from = point;
  from[axis] = 0;
  if (table.taps == 1) {
    s.map(target, point, s.gather(source, from, static_cast<int>(axis), positions, {point[axis], te::Affine(0)}));
    return;
  }
  int weights = builder.constant("weights", array_of(type, table_shape, table.weights));
  te::Affine tap = s.red("t", table.taps);
  int x = widened(s.body(), s.gather(source, from, static_cast<int>(axis), positions, {point[axis], tap}));
  s.reduce(te::Monoid::Sum, target, point, s.body().binary(te::Op::Mul, x, s.load(weights, {point[axis], tap})));
}

Status define_resize(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(ResizeForm form, read_resize(ctx));
  DType type = form.rule.mode == ResizeMode::Nearest ? ctx.input(0).type : wide_type(ctx.input(0).type);
  Shape shape = ctx.input(0).shape;
  std::vector<SimpleAxis> simple(shape.size());
  std::vector<std::pair<size_t, ResizeTable>> tables;
  bool any_simple = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    const ResizeAxis& axis = form.axes[i];
    if (axis.in == axis.out && axis.scale == 1 && form.rule.coordinates != "tf_crop_and_resize") {
      continue;
    }
    ResizeTable table = resize_table(form.rule, axis);
    if (table.outside) {
      return ctx.unsupported("tf_crop_and_resize with a roi that reaches outside the input");
    }
    if (auto easy = simple_axis(table)) {
      simple[i] = *easy;
      any_simple = true;
    } else {
      tables.emplace_back(i, std::move(table));
    }
  }
  int source = builder.input(0);
  for (size_t i = 0; i < tables.size(); ++i) {
    const auto& [axis, table] = tables[i];
    shape[axis] = form.axes[axis].out;
    bool last = i + 1 == tables.size() && !any_simple && type == ctx.input(0).type;
    int target = last ? builder.output(0) : builder.temporary(fmt::format("axis{}", axis), type, shape);
    resample(builder, target, source, axis, table);
    source = target;
  }
  if (source != builder.output(0)) {
    copy_simple(builder, builder.output(0), source, simple);
  }
  return ok_status();
}

constexpr OpDef kOps[] = {
    {"", "Upsample", 7, 9, infer_resize, define_resize},
    {"", "Resize", 10, 22, infer_resize, define_resize},
};

}  // namespace

std::span<const OpDef> resize_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
