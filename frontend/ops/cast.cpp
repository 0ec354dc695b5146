// Cast and CastLike: one element type to another.
#include <fmt/format.h>

#include "frontend/onnx_tensor.h"
#include "frontend/ops/elementwise.h"
#include "frontend/ops/families.h"

namespace dlcc::frontend::ops {

namespace {

using te::ScalarBuilder;
using Operands = std::vector<int>;

Result<int> cast(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  auto to = ctx.attr_int("to");
  if (!to) {
    return ctx.error("attribute to is missing");
  }
  // saturate has a meaning for 8-bit float targets only, and those are refused below.
  ctx.ignore_attr("saturate");
  const int code = *to > 0 && *to < 1000 ? static_cast<int>(*to) : 0;
  auto type = dtype_from_onnx(code);
  if (!type) {
    return ctx.unsupported(fmt::format("attribute to: {} is not supported", onnx_type_name(code)));
  }
  return s.cast(*type, x[0]);
}

/// The second input gives a type only: its shape and its values do not matter.
Types infer_cast_like(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 2, 2));
  ctx.ignore_attr("saturate");  // as for Cast
  return std::vector<TensorType>{{ctx.input(1).type, ctx.input(0).shape}};
}

Status define_cast_like(OpContext& ctx, StmtBuilder& builder) {
  Statement s(builder);
  Index point = s.pars(ctx.input(0).shape);
  int x = s.operand(builder.input(0), point);
  s.map(builder.output(0), point, s.body().cast(ctx.input(1).type, x));
  return ok_status();
}

constexpr OpDef kOps[] = {
    elementwise<cast, 1, 1, kAny, true, true>("Cast", 7, 22),
    {"", "CastLike", 15, 22, infer_cast_like, define_cast_like},
};

}  // namespace

std::span<const OpDef> cast_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
