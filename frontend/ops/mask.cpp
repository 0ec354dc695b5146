// Operators that compare positions: Trilu, EyeLike, OneHot.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/onnx_tensor.h"
#include "frontend/ops/families.h"
#include "frontend/ops/support.h"

namespace dlcc::frontend::ops {

namespace {

using te::Op;

Result<int64_t> diagonal(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 2));
  if (ctx.input(0).shape.size() < 2) {
    return ctx.error("the input has fewer than two axes");
  }
  if (!ctx.has_input(1)) {
    return 0;
  }
  DLCC_TRY(Shape k, constant_input(ctx, 1, "k"));
  if (k.size() != 1) {
    return ctx.error("input 1 (k) must be a scalar");
  }
  return std::clamp(k[0], -2 * kMaxElements, 2 * kMaxElements);
}

Types infer_trilu(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(diagonal(ctx));
  ctx.attr_int("upper");
  return std::vector<TensorType>{ctx.input(0)};
}

Status define_trilu(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(int64_t k, diagonal(ctx));
  bool upper = ctx.attr_int("upper").value_or(1) != 0;
  Statement s(builder);
  Index point = s.pars(ctx.input(0).shape);
  te::ScalarBuilder& body = s.body();
  int row = body.index(var_of(point[point.size() - 2])), column = body.index(var_of(point.back()));
  int edge = body.binary(Op::Add, row, body.integer(DType::I64, k));
  int kept = body.binary(upper ? Op::Ge : Op::Le, column, edge);
  int x = s.load(builder.input(0), point);
  s.map(builder.output(0), point, body.select(kept, x, literal(body, body.type(x), 0)));
  return ok_status();
}

Types infer_eye(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  ctx.attr_int("k");
  DType type = ctx.input(0).type;
  if (auto code = ctx.attr_int("dtype")) {
    auto given = dtype_from_onnx(*code > 0 && *code < 1000 ? static_cast<int>(*code) : 0);
    if (!given) {
      return ctx.unsupported(fmt::format("attribute dtype: {} is not supported", *code));
    }
    type = *given;
  }
  if (ctx.input(0).shape.size() != 2) {
    return ctx.error("the input is no matrix");
  }
  return std::vector<TensorType>{{type, ctx.input(0).shape}};
}

Status define_eye(OpContext& ctx, StmtBuilder& builder) {
  int64_t k = std::clamp(ctx.attr_int("k").value_or(0), -2 * kMaxElements, 2 * kMaxElements);
  DType type = builder.tensor(builder.output(0)).type;
  Statement s(builder);
  Index point = s.pars(ctx.input(0).shape);
  te::ScalarBuilder& body = s.body();
  int edge = body.binary(Op::Add, body.index(var_of(point[0])), body.integer(DType::I64, k));
  int one = body.binary(Op::Eq, body.index(var_of(point[1])), edge);
  s.map(builder.output(0), point, body.cast(type, one));
  return ok_status();
}

struct OneHotForm {
  int64_t depth = 1;
  size_t axis = 0;
};

Result<OneHotForm> read_one_hot(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 3, 3));
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kNumbers));
  DLCC_RETURN_IF_ERROR(check_type(ctx, 1, kNumbers));
  auto depth = ctx.constant_floats(1);
  if (!depth) {
    return ctx.unsupported("input 1 (depth) is not a constant");
  }
  if (depth->size() != 1 || !(depth->at(0) >= 1 && depth->at(0) <= static_cast<double>(kMaxElements))) {
    return ctx.error("input 1 (depth) must be one positive number");
  }
  if (ctx.input(2).shape != Shape{2}) {
    return ctx.error("input 2 (values) must have shape [2]");
  }
  DLCC_TRY(int axis, normal_axis(ctx, ctx.attr_int("axis").value_or(-1), ctx.input(0).shape.size() + 1));
  return OneHotForm{static_cast<int64_t>(depth->at(0)), static_cast<size_t>(axis)};
}

Types infer_one_hot(OpContext& ctx) {
  DLCC_TRY(OneHotForm form, read_one_hot(ctx));
  Shape shape = ctx.input(0).shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(form.axis), form.depth);
  DLCC_RETURN_IF_ERROR(check_shape(ctx, shape));
  return std::vector<TensorType>{{ctx.input(2).type, shape}};
}

Status define_one_hot(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(OneHotForm form, read_one_hot(ctx));
  Statement s(builder);
  Index point = s.pars(builder.tensor(builder.output(0)).shape), where = point;
  where.erase(where.begin() + static_cast<std::ptrdiff_t>(form.axis));
  te::ScalarBuilder& body = s.body();
  int hot = body.cast(DType::I64, s.operand(builder.input(0), where));
  int zero = body.integer(DType::I64, 0);
  int wrapped = body.binary(Op::Add, hot, body.integer(DType::I64, form.depth));
  hot = body.select(body.binary(Op::Lt, hot, zero), wrapped, hot);
  int here = body.binary(Op::Eq, body.index(var_of(point[form.axis])), hot);
  int on = s.load(builder.input(2), {te::Affine(1)}), off = s.load(builder.input(2), {te::Affine(0)});
  s.map(builder.output(0), point, body.select(here, on, off));
  return ok_status();
}

constexpr OpDef kOps[] = {
    {"", "Trilu", 14, 22, infer_trilu, define_trilu},
    {"", "EyeLike", 9, 22, infer_eye, define_eye},
    {"", "OneHot", 9, 22, infer_one_hot, define_one_hot},
};

}  // namespace

std::span<const OpDef> mask_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
