// Operators that only name the same elements differently (Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout):
// aliases, no code.
#include <fmt/format.h>

#include "frontend/ops/families.h"
#include "frontend/ops/support.h"

namespace dlcc::frontend::ops {

namespace {

Status define_alias(OpContext&, StmtBuilder& builder) {
  builder.alias(builder.output(0), builder.input(0));
  return ok_status();
}

/// 0 copies the input's extent (unless allowzero), -1 takes what is left.
Types infer_reshape(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 2, 2));
  bool allow_zero = ctx.attr_int("allowzero").value_or(0) != 0;
  DLCC_TRY(Shape shape, constant_input(ctx, 1, "shape"));
  const Shape& from = ctx.input(0).shape;
  int64_t count = te::element_count(from);
  int unknown = -1;
  Shape known;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allow_zero) {
      if (i >= from.size()) {
        return ctx.error(fmt::format("shape[{}] is 0, and the input has rank {}", i, from.size()));
      }
      shape[i] = from[i];
    }
    if (shape[i] == -1 && unknown >= 0) {
      return ctx.error("the shape has two extents of -1");
    }
    unknown = shape[i] == -1 ? static_cast<int>(i) : unknown;
    known.push_back(shape[i] == -1 ? 1 : shape[i]);
  }
  DLCC_RETURN_IF_ERROR(check_shape(ctx, known));
  int64_t rest = te::element_count(known);
  if (unknown >= 0) {
    if (rest == 0 || count % rest != 0) {
      return ctx.error(fmt::format("[{}] does not reshape to [{}]", fmt::join(from, ","), fmt::join(shape, ",")));
    }
    known[static_cast<size_t>(unknown)] = count / rest;
  } else if (rest != count) {
    return ctx.error(fmt::format("[{}] does not reshape to [{}]", fmt::join(from, ","), fmt::join(shape, ",")));
  }
  return std::vector<TensorType>{{ctx.input(0).type, known}};
}

Types infer_flatten(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  const Shape& from = ctx.input(0).shape;
  int64_t rank = static_cast<int64_t>(from.size());
  int64_t axis = ctx.attr_int("axis").value_or(1);
  if (axis < -rank || axis > rank) {
    return ctx.error(fmt::format("axis {} is outside [{}, {}]", axis, -rank, rank));
  }
  axis = axis < 0 ? axis + rank : axis;
  Shape shape{1, 1};
  for (int64_t i = 0; i < rank; ++i) {
    shape[i < axis ? 0 : 1] *= from[static_cast<size_t>(i)];
  }
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

Types infer_squeeze(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 2));
  const Shape& from = ctx.input(0).shape;
  DLCC_TRY(auto given, axes_of(ctx, 1));
  std::vector<bool> drop(from.size(), false);
  if (given) {
    DLCC_TRY(auto axes, normal_axes(ctx, *given, from.size()));
    for (int axis : axes) {
      if (from[static_cast<size_t>(axis)] != 1) {
        return ctx.error(fmt::format("axis {} has extent {}, not 1", axis, from[static_cast<size_t>(axis)]));
      }
      drop[static_cast<size_t>(axis)] = true;
    }
  }
  Shape shape;
  for (size_t i = 0; i < from.size(); ++i) {
    bool gone = given ? drop[i] : from[i] == 1;
    if (!gone) {
      shape.push_back(from[i]);
    }
  }
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

Types infer_unsqueeze(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 2));
  DLCC_TRY(auto given, axes_of(ctx, 1));
  if (!given) {
    return ctx.error("axes are missing");
  }
  Shape shape = ctx.input(0).shape;
  DLCC_TRY(auto axes, normal_axes(ctx, *given, shape.size() + given->size()));
  for (int axis : axes) {
    shape.insert(shape.begin() + axis, 1);
  }
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

Types infer_identity(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  return std::vector<TensorType>{ctx.input(0)};
}

/// Training with a ratio of 0 (as some exporters write it) is the identity too.
Status check_dropout(OpContext& ctx) {
  double ratio = static_cast<double>(ctx.attr_float("ratio").value_or(0.5F));
  // The seed matters for training only.
  ctx.ignore_attr("seed");
  if (!ctx.has_input(2)) {
    return ok_status();
  }
  auto training = ctx.constant_ints(2);
  if (!training || training->size() != 1) {
    return ctx.unsupported("input 2 (training_mode) is not a constant");
  }
  if (ctx.has_input(1)) {
    auto given = ctx.constant_floats(1);
    if (training->at(0) != 0 && (!given || given->size() != 1)) {
      return ctx.unsupported("input 1 (ratio) is not a constant");
    }
    ratio = given && given->size() == 1 ? given->at(0) : ratio;
  }
  if (training->at(0) != 0 && ratio != 0) {
    return ctx.unsupported(fmt::format("training_mode with ratio {}", ratio));
  }
  return ok_status();
}

Types infer_dropout(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 3, 2));
  DLCC_RETURN_IF_ERROR(check_dropout(ctx));
  std::vector<TensorType> types{ctx.input(0)};
  if (ctx.output_count() > 1) {
    // Before opset 10 the mask had the data's type.
    types.push_back({ctx.version() < 10 ? ctx.input(0).type : DType::Bool, ctx.input(0).shape});
  }
  return types;
}

Status define_dropout(OpContext& ctx, StmtBuilder& builder) {
  builder.alias(builder.output(0), builder.input(0));
  if (ctx.has_output(1)) {
    Statement s(builder);
    int mask = builder.output(1);
    Index point = s.pars(builder.tensor(mask).shape);
    s.map(mask, point, literal(s.body(), builder.tensor(mask).type, 1));
  }
  return ok_status();
}

constexpr OpDef kOps[] = {
    {"", "Reshape", 7, 22, infer_reshape, define_alias},   {"", "Flatten", 7, 22, infer_flatten, define_alias},
    {"", "Squeeze", 7, 22, infer_squeeze, define_alias},   {"", "Unsqueeze", 7, 22, infer_unsqueeze, define_alias},
    {"", "Identity", 7, 22, infer_identity, define_alias}, {"", "Dropout", 7, 22, infer_dropout, define_dropout},
};

}  // namespace

std::span<const OpDef> reshape_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
