#include "frontend/ops/elementwise.h"

namespace dlcc::frontend::ops {

namespace {

bool is_scalar_constant(OpContext& ctx, int input) {
  if (te::element_count(ctx.input(input).shape) != 1) {
    return false;
  }
  return is_float(ctx.input(input).type) ? ctx.constant_floats(input).has_value()
                                         : ctx.constant_ints(input).has_value();
}

/// A constant of one element becomes a literal: nothing has to be fetched for it at run time.
int scalar_constant(OpContext& ctx, te::ScalarBuilder& s, int input) {
  DType type = ctx.input(input).type;
  if (is_float(type)) {
    return s.constant(wide_type(type), ctx.constant_floats(input)->at(0));
  }
  return s.integer(type, ctx.constant_ints(input)->at(0));
}

}  // namespace

Types infer_elementwise(OpContext& ctx, const ElementRule& rule, Body body) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, rule.required, rule.maximum));
  std::vector<Shape> shapes;
  std::vector<int> operands;
  te::ScalarBuilder scratch;
  bool half = false;
  for (int i = 0; i < ctx.input_count(); ++i) {
    operands.push_back(-1);
    if (!ctx.has_input(i)) {
      continue;
    }
    if (rule.same_type) {
      DLCC_RETURN_IF_ERROR(check_type(ctx, i, rule.types));
      DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, i));
    }
    half = half || ctx.input(i).type == DType::F16;
    shapes.push_back(ctx.input(i).shape);
    operands.back() = scratch.load(wide_type(ctx.input(i).type), i);
  }
  DLCC_TRY(int root, body(ctx, scratch, operands));
  DLCC_TRY(Shape shape, broadcast(ctx, shapes));
  DType type = scratch.type(root);
  if (half && type == DType::F32 && !rule.keep_type) {
    type = DType::F16;
  }
  return std::vector<TensorType>{{type, shape}};
}

Status define_elementwise(OpContext& ctx, StmtBuilder& builder, Body body) {
  Statement s(builder);
  int output = builder.output(0);
  Index point = s.pars(builder.tensor(output).shape);
  std::vector<int> operands;
  for (int i = 0; i < ctx.input_count(); ++i) {
    if (!ctx.has_input(i)) {
      operands.push_back(-1);
    } else if (is_scalar_constant(ctx, i)) {
      operands.push_back(scalar_constant(ctx, s.body(), i));
    } else {
      operands.push_back(s.operand(builder.input(i), broadcast_index(ctx.input(i).shape, point)));
    }
  }
  DLCC_TRY(int root, body(ctx, s.body(), operands));
  s.map(output, point, root);
  return ok_status();
}

}  // namespace dlcc::frontend::ops
