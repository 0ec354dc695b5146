// Operators whose value is known at compile time: Constant, ConstantOfShape, Shape, Size, Range.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/ops/families.h"
#include "frontend/ops/support.h"

namespace dlcc::frontend::ops {

namespace {

constexpr int64_t kMaxRange = int64_t{1} << 24;

void define_value(StmtBuilder& builder, te::Array value) {
  builder.alias(builder.output(0), builder.constant("value", std::move(value)));
}

Types type_of(const Result<te::Array>& value) {
  if (!value) {
    return value.diags();
  }
  return std::vector<TensorType>{{value->type, value->shape}};
}

Result<te::Array> constant_value(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 0, 0));
  if (auto tensor = ctx.attr_tensor("value")) {
    return *tensor;
  }
  if (auto value = ctx.attr_float("value_float")) {
    return array_of(DType::F32, {}, {static_cast<double>(*value)});
  }
  if (auto value = ctx.attr_int("value_int")) {
    return array_of_ints(DType::I64, {}, {*value});
  }
  if (auto values = ctx.attr_floats("value_floats")) {
    return array_of(DType::F32, {static_cast<int64_t>(values->size())}, {values->begin(), values->end()});
  }
  if (auto values = ctx.attr_ints("value_ints")) {
    return array_of_ints(DType::I64, {static_cast<int64_t>(values->size())}, *values);
  }
  return ctx.unsupported("the value is neither a dense tensor of numbers nor numbers (strings, sparse tensors)");
}

/// Start and end count from the back when negative, and are clamped.
Result<te::Array> shape_value(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  const Shape& shape = ctx.input(0).shape;
  int64_t rank = static_cast<int64_t>(shape.size());
  auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t start = place(ctx.attr_int("start").value_or(0));
  int64_t end = std::max(place(ctx.attr_int("end").value_or(rank)), start);
  return array_of_ints(DType::I64, {end - start}, Shape(shape.begin() + start, shape.begin() + end));
}

Result<te::Array> size_value(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  return array_of_ints(DType::I64, {}, {te::element_count(ctx.input(0).shape)});
}

Result<te::Array> float_range(OpContext& ctx, DType type, double start, double limit, double delta) {
  double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!(count <= static_cast<double>(kMaxRange))) {
    return ctx.unsupported(fmt::format("a range of {} elements, at most 2^24", count));
  }
  std::vector<double> values;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    values.push_back(start + static_cast<double>(i) * delta);
  }
  return array_of(type, {static_cast<int64_t>(values.size())}, values);
}

Result<te::Array> int_range(OpContext& ctx, DType type, int64_t start, int64_t limit, int64_t delta) {
  // In doubles the count may be off near 2^53, far beyond the limit on it.
  double count =
      std::max(std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta)), 0.0);
  if (!(count <= static_cast<double>(kMaxRange))) {
    return ctx.unsupported(fmt::format("a range of {} elements, at most 2^24", count));
  }
  std::vector<int64_t> values;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    values.push_back(
        static_cast<int64_t>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta)));
  }
  return array_of_ints(type, {static_cast<int64_t>(values.size())}, values);
}

Result<te::Array> range_value(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 3, 3));
  DType type = ctx.input(0).type;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  for (int i = 0; i < 3; ++i) {
    DLCC_RETURN_IF_ERROR(check_type(ctx, i, kNumbers));
    DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, i));
    if (te::element_count(ctx.input(i).shape) != 1) {
      return ctx.error(fmt::format("input {} must be a scalar", i));
    }
    auto as_float = ctx.constant_floats(i);
    auto as_int = is_float(type) ? std::optional(Shape{0}) : ctx.constant_ints(i);
    if (!as_float || !as_int) {
      return ctx.unsupported(fmt::format("input {} is not a constant: the output's shape would depend on data", i));
    }
    floats.push_back(as_float->at(0));
    ints.push_back(as_int->at(0));
  }
  if (is_float(type) ? floats[2] == 0 : ints[2] == 0) {
    return ctx.error("input 2 (delta) is 0");
  }
  return is_float(type) ? float_range(ctx, type, floats[0], floats[1], floats[2])
                        : int_range(ctx, type, ints[0], ints[1], ints[2]);
}

template <Result<te::Array> (*value)(OpContext&)>
Types infer_value(OpContext& ctx) {
  return type_of(value(ctx));
}
template <Result<te::Array> (*value)(OpContext&)>
Status define_known(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(te::Array array, value(ctx));
  define_value(builder, std::move(array));
  return ok_status();
}

/// The value of ConstantOfShape: a tensor of one element, f32 0 when absent.
Result<te::Array> filling(OpContext& ctx) {
  auto value = ctx.attr_tensor("value");
  if (!value) {
    return te::Array::zeros(DType::F32, {1});
  }
  if (value->count() != 1) {
    return ctx.error("attribute value must have one element");
  }
  return *value;
}

Types infer_constant_of_shape(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  DLCC_TRY(te::Array value, filling(ctx));
  DLCC_TRY(Shape shape, constant_input(ctx, 0, "shape"));
  DLCC_RETURN_IF_ERROR(check_shape(ctx, shape));
  return std::vector<TensorType>{{value.type, shape}};
}

Status define_constant_of_shape(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(te::Array value, filling(ctx));
  te::Value one = te::load_element(value.type, value.data.data(), 0);
  Statement s(builder);
  int output = builder.output(0);
  Index point = s.pars(builder.tensor(output).shape);
  DType type = wide_type(value.type);
  s.map(output, point, is_float(type) ? s.body().constant(type, one.f) : s.body().integer(type, one.i));
  return ok_status();
}

constexpr OpDef kOps[] = {
    {"", "Constant", 7, 22, infer_value<constant_value>, define_known<constant_value>},
    {"", "Shape", 7, 22, infer_value<shape_value>, define_known<shape_value>},
    {"", "Size", 7, 22, infer_value<size_value>, define_known<size_value>},
    {"", "Range", 11, 22, infer_value<range_value>, define_known<range_value>},
    {"", "ConstantOfShape", 9, 22, infer_constant_of_shape, define_constant_of_shape},
};

}  // namespace

std::span<const OpDef> constant_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
