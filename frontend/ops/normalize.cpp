// BatchNormalization (inference), InstanceNormalization, GroupNormalization, LayerNormalization,
// MeanVarianceNormalization, LpNormalization, LRN.
#include <fmt/format.h>

#include <cmath>

#include "frontend/ops/families.h"
#include "frontend/ops/reduce_axes.h"

namespace dlcc::frontend::ops {

namespace {

using te::Monoid;
using te::Op;

double epsilon_of(OpContext& ctx) {
  return static_cast<double>(ctx.attr_float("epsilon").value_or(1e-5F));
}

/// Input i is a vector with one element per channel.
Status check_vector(OpContext& ctx, int i, int64_t count) {
  DLCC_RETURN_IF_ERROR(check_type(ctx, i, kFloats));
  if (ctx.input(i).shape != Shape{count}) {
    return ctx.error(fmt::format("input {} must have shape [{}]", i, count));
  }
  return ok_status();
}

Types infer_batch(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 5, 5));
  epsilon_of(ctx);
  // momentum only updates the running statistics of training, which is refused here.
  ctx.ignore_attr("momentum");
  if (ctx.attr_int("training_mode").value_or(0) != 0) {
    return ctx.unsupported("training_mode = 1");
  }
  if (ctx.version() < 9 && ctx.attr_int("spatial").value_or(1) == 0) {
    return ctx.unsupported("spatial = 0");
  }
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kFloats));
  const Shape& shape = ctx.input(0).shape;
  int64_t channels = shape.size() > 1 ? shape[1] : 1;
  if (shape.empty()) {
    return ctx.error("the input is a scalar");
  }
  for (int i = 1; i < 5; ++i) {
    DLCC_RETURN_IF_ERROR(check_vector(ctx, i, channels));
  }
  return std::vector<TensorType>{ctx.input(0)};
}

/// y = x * factor + offset; both are computed here when all four vectors are constants.
struct BatchFactors {
  int factor = -1, offset = -1;
};

BatchFactors constant_factors(StmtBuilder& builder, DType type, double epsilon,
                              const std::vector<std::vector<double>>& inputs) {
  std::vector<double> factor, offset;
  for (size_t i = 0; i < inputs[0].size(); ++i) {
    factor.push_back(inputs[0][i] / std::sqrt(inputs[3][i] + epsilon));
    offset.push_back(inputs[1][i] - inputs[2][i] * factor[i]);
  }
  Shape shape{static_cast<int64_t>(factor.size())};
  return {builder.constant("factor", array_of(type, shape, factor)),
          builder.constant("offset", array_of(type, shape, offset))};
}

BatchFactors computed_factors(StmtBuilder& builder, DType type, double epsilon, int64_t channels) {
  BatchFactors result{builder.temporary("factor", type, {channels}), builder.temporary("offset", type, {channels})};
  auto input = [&](Statement& s, int i, const Index& point) {
    int x = s.operand(builder.input(i), point);
    return s.body().type(x) == type ? x : s.body().cast(type, x);
  };
  map_points(builder, result.factor, [&](Statement& s, const Index& point) {
    int inverse = inverse_deviation(s.body(), input(s, 4, point), epsilon);
    return s.body().binary(Op::Mul, input(s, 1, point), inverse);
  });
  map_points(builder, result.offset, [&](Statement& s, const Index& point) {
    int shift = s.body().binary(Op::Mul, input(s, 3, point), s.load(result.factor, point));
    return s.body().binary(Op::Sub, input(s, 2, point), shift);
  });
  return result;
}

Status define_batch(OpContext& ctx, StmtBuilder& builder) {
  double epsilon = epsilon_of(ctx);
  DType type = wide_type(ctx.input(0).type);
  const Shape& shape = ctx.input(0).shape;
  std::vector<std::vector<double>> constants;
  for (int i = 1; i < 5; ++i) {
    if (auto values = ctx.constant_floats(i)) {
      constants.push_back(*std::move(values));
    }
  }
  BatchFactors factors = constants.size() == 4
                             ? constant_factors(builder, type, epsilon, constants)
                             : computed_factors(builder, type, epsilon, shape.size() > 1 ? shape[1] : 1);
  map_points(builder, builder.output(0), [&](Statement& s, const Index& point) {
    Index channel{shape.size() > 1 ? point[1] : te::Affine(0)};
    int scaled = s.body().binary(Op::Mul, s.operand(builder.input(0), point), s.load(factors.factor, channel));
    return s.body().binary(Op::Add, scaled, s.load(factors.offset, channel));
  });
  return ok_status();
}

/// x - mean and 1 / sqrt(variance + epsilon) of one reduction, both as temporaries.
struct Standardized {
  int centred = -1, inverse = -1, mean = -1;
};

Standardized standardize(StmtBuilder& builder, const Reduction& reduction, DType type, double epsilon,
                         const PointBody& x) {
  Standardized result;
  result.mean = mean_of(builder, reduction, "mean", type, x);
  result.centred = builder.temporary("centred", type, reduction.shape);
  map_points(builder, result.centred, [&](Statement& s, const Index& point) {
    int value = x(s, point);
    return s.body().binary(Op::Sub, value, s.load(result.mean, reduction.at(point)));
  });
  int variance = mean_of(builder, reduction, "variance", type, [&](Statement& s, const Index& point) {
    int value = s.load(result.centred, point);
    return s.body().binary(Op::Mul, value, value);
  });
  result.inverse = builder.temporary("inverse", type, reduction.kept());
  map_points(builder, result.inverse, [&](Statement& s, const Index& point) {
    return inverse_deviation(s.body(), s.load(variance, point), epsilon);
  });
  return result;
}

std::vector<int> axes_from(size_t first, size_t rank) {
  std::vector<int> axes;
  for (size_t i = first; i < rank; ++i) {
    axes.push_back(static_cast<int>(i));
  }
  return axes;
}

Types infer_instance(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 3, 3));
  epsilon_of(ctx);
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kFloats));
  if (ctx.input(0).shape.size() < 3) {
    return ctx.error(fmt::format("input of rank {}, at least 3 is needed", ctx.input(0).shape.size()));
  }
  for (int i = 1; i < 3; ++i) {
    DLCC_RETURN_IF_ERROR(check_vector(ctx, i, ctx.input(0).shape[1]));
    DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, i));
  }
  return std::vector<TensorType>{ctx.input(0)};
}

Status define_instance(OpContext& ctx, StmtBuilder& builder) {
  DType type = wide_type(ctx.input(0).type);
  Reduction reduction(ctx.input(0).shape, axes_from(2, ctx.input(0).shape.size()));
  Standardized parts = standardize(builder, reduction, type, epsilon_of(ctx), [&](Statement& s, const Index& point) {
    return s.operand(builder.input(0), point);
  });
  map_points(builder, builder.output(0), [&](Statement& s, const Index& point) {
    int factor =
        s.body().binary(Op::Mul, s.load(parts.inverse, reduction.at(point)), s.operand(builder.input(1), {point[1]}));
    int scaled = s.body().binary(Op::Mul, s.load(parts.centred, point), factor);
    return s.body().binary(Op::Add, scaled, s.operand(builder.input(2), {point[1]}));
  });
  return ok_status();
}

/// Channels as [group, channel in group]; scale and bias are per group until opset 20, per channel since.
struct GroupForm {
  Shape split;  // [n, g, c / g, spatial...]
  bool per_channel = true;
};

Result<GroupForm> read_group(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 3, 3));
  epsilon_of(ctx);
  // stash_type is the type of the statistics; f32 and wider are kept in the input's (or f32) precision.
  if (ctx.attr_int("stash_type").value_or(1) != 1) {
    return ctx.unsupported("stash_type other than 1");
  }
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kFloats));
  const Shape& shape = ctx.input(0).shape;
  int64_t groups = ctx.attr_int("num_groups").value_or(0);
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0) {
    return ctx.error(fmt::format("num_groups {} does not divide the channels", groups));
  }
  GroupForm form;
  form.per_channel = ctx.version() >= 21;
  for (int i = 1; i < 3; ++i) {
    DLCC_RETURN_IF_ERROR(check_vector(ctx, i, form.per_channel ? shape[1] : groups));
    DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, i));
  }
  form.split = {shape[0], groups, shape[1] / groups};
  form.split.insert(form.split.end(), shape.begin() + 2, shape.end());
  return form;
}

Types infer_group(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(read_group(ctx));
  return std::vector<TensorType>{ctx.input(0)};
}

Status define_group(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(GroupForm form, read_group(ctx));
  DType type = wide_type(ctx.input(0).type);
  Reduction reduction(form.split, axes_from(2, form.split.size()));
  auto joined = [&](const Index& point) {
    Index index{point[0], point[1] * form.split[2] + point[2]};
    index.insert(index.end(), point.begin() + 3, point.end());
    return index;
  };
  Standardized parts = standardize(builder, reduction, type, epsilon_of(ctx), [&](Statement& s, const Index& point) {
    return s.operand(builder.input(0), joined(point));
  });
  Statement s(builder);
  Index point = s.pars(form.split);
  Index channel{form.per_channel ? joined(point)[1] : point[1]};
  int factor =
      s.body().binary(Op::Mul, s.load(parts.inverse, reduction.at(point)), s.operand(builder.input(1), channel));
  int scaled = s.body().binary(Op::Mul, s.load(parts.centred, point), factor);
  s.map(builder.output(0), joined(point), s.body().binary(Op::Add, scaled, s.operand(builder.input(2), channel)));
  return ok_status();
}

Result<Reduction> read_layer(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 2, 3, 3));
  epsilon_of(ctx);
  if (ctx.attr_int("stash_type").value_or(1) != 1) {
    return ctx.unsupported("stash_type other than 1");
  }
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kFloats));
  const Shape& shape = ctx.input(0).shape;
  DLCC_TRY(int axis, normal_axis(ctx, ctx.attr_int("axis").value_or(-1), shape.size()));
  for (int i = 1; i < ctx.input_count(); ++i) {
    if (!ctx.has_input(i)) {
      continue;
    }
    DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, i));
    DLCC_TRY(Shape both, broadcast(ctx, {shape, ctx.input(i).shape}));
    if (both != shape) {
      return ctx.error(fmt::format("input {} does not broadcast to the input's shape", i));
    }
  }
  return Reduction(shape, axes_from(static_cast<size_t>(axis), shape.size()));
}

Types infer_layer(OpContext& ctx) {
  DLCC_TRY(Reduction reduction, read_layer(ctx));
  std::vector<TensorType> types{ctx.input(0)};
  for (int i = 1; i < ctx.output_count(); ++i) {
    types.push_back({wide_type(ctx.input(0).type), reduction.kept()});
  }
  return types;
}

Status define_layer(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(Reduction reduction, read_layer(ctx));
  DType type = wide_type(ctx.input(0).type);
  Standardized parts = standardize(builder, reduction, type, epsilon_of(ctx), [&](Statement& s, const Index& point) {
    return s.operand(builder.input(0), point);
  });
  map_points(builder, builder.output(0), [&](Statement& s, const Index& point) {
    int y = s.body().binary(Op::Mul, s.load(parts.centred, point), s.load(parts.inverse, reduction.at(point)));
    y = s.body().binary(Op::Mul, y, s.operand(builder.input(1), broadcast_index(ctx.input(1).shape, point)));
    return ctx.has_input(2)
               ? s.body().binary(Op::Add, y, s.operand(builder.input(2), broadcast_index(ctx.input(2).shape, point)))
               : y;
  });
  if (ctx.has_output(1)) {
    copy(builder, builder.output(1), parts.mean);
  }
  if (ctx.has_output(2)) {
    copy(builder, builder.output(2), parts.inverse);
  }
  return ok_status();
}

Result<Reduction> read_mean_variance(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kFloats));
  const Shape& shape = ctx.input(0).shape;
  DLCC_TRY(auto axes, normal_axes(ctx, ctx.attr_ints("axes").value_or(Shape{0, 2, 3}), shape.size()));
  return Reduction(shape, axes);
}

Types infer_mean_variance(OpContext& ctx) {
  DLCC_TRY(Reduction reduction, read_mean_variance(ctx));
  return std::vector<TensorType>{{ctx.input(0).type, reduction.shape}};
}

Status define_mean_variance(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(Reduction reduction, read_mean_variance(ctx));
  DType type = wide_type(ctx.input(0).type);
  // The specification adds 1e-9 to the deviation; added to the variance it keeps a constant input finite as well.
  Standardized parts = standardize(builder, reduction, type, 1e-18, [&](Statement& s, const Index& point) {
    return s.operand(builder.input(0), point);
  });
  map_points(builder, builder.output(0), [&](Statement& s, const Index& point) {
    return s.body().binary(Op::Mul, s.load(parts.centred, point), s.load(parts.inverse, reduction.at(point)));
  });
  return ok_status();
}

Result<Reduction> read_lp(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kFloats));
  int64_t p = ctx.attr_int("p").value_or(2);
  if (p != 1 && p != 2) {
    return ctx.error(fmt::format("attribute p is {}, allowed are 1 and 2", p));
  }
  DLCC_TRY(int axis, normal_axis(ctx, ctx.attr_int("axis").value_or(-1), ctx.input(0).shape.size()));
  return Reduction(ctx.input(0).shape, {axis});
}

Types infer_lp(OpContext& ctx) {
  DLCC_TRY(Reduction reduction, read_lp(ctx));
  return std::vector<TensorType>{{ctx.input(0).type, reduction.shape}};
}

Status define_lp(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(Reduction reduction, read_lp(ctx));
  DType type = wide_type(ctx.input(0).type);
  bool squares = ctx.attr_int("p").value_or(2) == 2;
  int sum = builder.temporary("sum", type, reduction.kept());
  reduce_axes(builder, reduction, Monoid::Sum, sum, [&](Statement& s, const Index& point) {
    int x = s.operand(builder.input(0), point);
    return squares ? s.body().binary(Op::Mul, x, x) : s.body().unary(Op::Abs, x);
  });
  int norm = builder.temporary("norm", type, reduction.kept());
  map_points(builder, norm, [&](Statement& s, const Index& point) {
    int total = s.load(sum, point);
    int root = squares ? s.body().unary(Op::Sqrt, total) : total;
    // A zero vector stays zero.
    int zero = s.body().constant(type, 0);
    return s.body().select(s.body().binary(Op::Eq, root, zero), s.body().constant(type, 1), root);
  });
  map_points(builder, builder.output(0), [&](Statement& s, const Index& point) {
    int x = s.operand(builder.input(0), point);
    return s.body().binary(Op::Div, x, s.load(norm, reduction.at(point)));
  });
  return ok_status();
}

struct LrnForm {
  int64_t size = 1;
  double alpha = 0, beta = 0, bias = 0;
};

Result<LrnForm> read_lrn(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kFloats));
  auto size = ctx.attr_int("size");
  if (!size || *size < 1 || *size > (1 << 20)) {
    return ctx.error("attribute size is missing or not in [1, 2^20]");
  }
  if (ctx.input(0).shape.size() < 2) {
    return ctx.error("the input has no channel axis");
  }
  return LrnForm{*size, static_cast<double>(ctx.attr_float("alpha").value_or(0.0001F)),
                 static_cast<double>(ctx.attr_float("beta").value_or(0.75F)),
                 static_cast<double>(ctx.attr_float("bias").value_or(1.0F))};
}

Types infer_lrn(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(read_lrn(ctx));
  return std::vector<TensorType>{ctx.input(0)};
}

Status define_lrn(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(LrnForm form, read_lrn(ctx));
  const Shape& shape = ctx.input(0).shape;
  DType type = wide_type(ctx.input(0).type);
  int sum = builder.temporary("sum", type, shape);
  Statement squares(builder);
  Index point = squares.pars(shape), window = point;
  window[1] += squares.red("k", form.size) - te::Affine((form.size - 1) / 2);
  int x = squares.operand(builder.input(0), window, 0.0);
  squares.reduce(Monoid::Sum, sum, point, squares.body().binary(Op::Mul, x, x));
  map_points(builder, builder.output(0), [&](Statement& s, const Index& at) {
    int scaled =
        s.body().binary(Op::Mul, s.load(sum, at), s.body().constant(type, form.alpha / static_cast<double>(form.size)));
    int base = s.body().binary(Op::Add, scaled, s.body().constant(type, form.bias));
    int power = s.body().binary(Op::Pow, base, s.body().constant(type, form.beta));
    return s.body().binary(Op::Div, s.operand(builder.input(0), at), power);
  });
  return ok_status();
}

constexpr OpDef kOps[] = {
    {"", "BatchNormalization", 7, 22, infer_batch, define_batch},
    {"", "InstanceNormalization", 7, 22, infer_instance, define_instance},
    {"", "GroupNormalization", 18, 22, infer_group, define_group},
    // Official since 17; ONNX Runtime's optimiser writes it in the default domain at older opsets too.
    {"", "LayerNormalization", 7, 22, infer_layer, define_layer},
    {"", "MeanVarianceNormalization", 9, 22, infer_mean_variance, define_mean_variance},
    {"", "LpNormalization", 7, 22, infer_lp, define_lp},
    {"", "LRN", 7, 22, infer_lrn, define_lrn},
};

}  // namespace

std::span<const OpDef> normalize_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
