// Gemm and MatMul:  T[m, n] += A[m, k] * B[k, n]  over the batch dims of both.
#include <fmt/format.h>

#include "frontend/ops/families.h"
#include "frontend/ops/support.h"

namespace dlcc::frontend::ops {

namespace {

using te::Op;

struct GemmForm {
  int64_t m = 1, n = 1, k = 1;
  bool trans_a = false, trans_b = false;
  double alpha = 1, beta = 1;
  bool adds_c = false;
};

Status check_matrix_inputs(OpContext& ctx, int maximum) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 2, maximum));
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kNumbers));
  DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, 1));
  return ok_status();
}

Result<GemmForm> read_gemm(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_matrix_inputs(ctx, 3));
  const Shape& a = ctx.input(0).shape;
  const Shape& b = ctx.input(1).shape;
  if (a.size() != 2 || b.size() != 2) {
    return ctx.error(fmt::format("operands of rank {} and {}, both must be matrices", a.size(), b.size()));
  }
  GemmForm form;
  form.trans_a = ctx.attr_int("transA").value_or(0) != 0;
  form.trans_b = ctx.attr_int("transB").value_or(0) != 0;
  form.alpha = static_cast<double>(ctx.attr_float("alpha").value_or(1));
  form.beta = static_cast<double>(ctx.attr_float("beta").value_or(1));
  form.m = a[form.trans_a ? 1 : 0];
  form.k = a[form.trans_a ? 0 : 1];
  form.n = b[form.trans_b ? 0 : 1];
  int64_t other_k = b[form.trans_b ? 1 : 0];
  if (form.k != other_k) {
    return ctx.error(fmt::format("inner extents differ: {} and {}", form.k, other_k));
  }
  if (!is_float(ctx.input(0).type) && (form.alpha != 1 || (form.beta != 1 && form.beta != 0))) {
    return ctx.unsupported(fmt::format("alpha {} and beta {} with integers", form.alpha, form.beta));
  }
  if (ctx.has_input(2)) {
    DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, 2));
    DLCC_TRY(Shape shape, broadcast(ctx, {{form.m, form.n}, ctx.input(2).shape}));
    if (shape != Shape{form.m, form.n}) {
      return ctx.error(fmt::format("C does not broadcast to [{},{}]", form.m, form.n));
    }
    form.adds_c = form.beta != 0;
  }
  return form;
}

Types infer_gemm(OpContext& ctx) {
  DLCC_TRY(GemmForm form, read_gemm(ctx));
  return std::vector<TensorType>{{ctx.input(0).type, {form.m, form.n}}};
}

int scaled(te::ScalarBuilder& s, int x, double factor) {
  return factor == 1 ? x : s.binary(Op::Mul, s.constant(s.type(x), factor), x);
}

Status define_gemm(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(GemmForm form, read_gemm(ctx));
  int output = builder.output(0);
  DType type = ctx.input(0).type, sum_type = wide_type(type);
  bool direct = form.alpha == 1 && !form.adds_c && sum_type == type;
  int sum = direct ? output : builder.temporary("sum", sum_type, {form.m, form.n});

  Statement s(builder);
  te::Affine m = s.par("m", form.m), n = s.par("n", form.n), k = s.red("k", form.k);
  int a = s.operand(builder.input(0), form.trans_a ? Index{k, m} : Index{m, k});
  int b = s.operand(builder.input(1), form.trans_b ? Index{n, k} : Index{k, n});
  s.reduce(te::Monoid::Sum, sum, {m, n}, s.body().binary(Op::Mul, a, b));
  if (direct) {
    return ok_status();
  }
  Statement after(builder);
  Index point{after.par("m", form.m), after.par("n", form.n)};
  int root = scaled(after.body(), after.load(sum, point), form.alpha);
  if (form.adds_c) {
    int c = after.operand(builder.input(2), broadcast_index(ctx.input(2).shape, point));
    root = after.body().binary(Op::Add, root, scaled(after.body(), c, form.beta));
  }
  after.map(output, point, root);
  return ok_status();
}

/// Operands as matrices: a 1-D left operand is a row, a 1-D right operand a column, and the output drops that axis.
struct MatMulForm {
  Shape batch, batch_a, batch_b;
  int64_t m = 1, n = 1, k = 1;
  bool has_m = true, has_n = true;
};

Result<MatMulForm> read_matmul(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_matrix_inputs(ctx, 2));
  const Shape& a = ctx.input(0).shape;
  const Shape& b = ctx.input(1).shape;
  if (a.empty() || b.empty()) {
    return ctx.error("an operand is a scalar");
  }
  MatMulForm form;
  form.has_m = a.size() > 1;
  form.has_n = b.size() > 1;
  form.m = form.has_m ? a[a.size() - 2] : 1;
  form.n = form.has_n ? b.back() : 1;
  form.k = a.back();
  int64_t other_k = form.has_n ? b[b.size() - 2] : b[0];
  if (form.k != other_k) {
    return ctx.error(fmt::format("inner extents differ: {} and {}", form.k, other_k));
  }
  form.batch_a = form.has_m ? Shape(a.begin(), a.end() - 2) : Shape();
  form.batch_b = form.has_n ? Shape(b.begin(), b.end() - 2) : Shape();
  DLCC_TRY(form.batch, broadcast(ctx, {form.batch_a, form.batch_b}));
  return form;
}

Types infer_matmul(OpContext& ctx) {
  DLCC_TRY(MatMulForm form, read_matmul(ctx));
  Shape shape = form.batch;
  if (form.has_m) {
    shape.push_back(form.m);
  }
  if (form.has_n) {
    shape.push_back(form.n);
  }
  DLCC_RETURN_IF_ERROR(check_shape(ctx, shape));
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

Status define_matmul(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(MatMulForm form, read_matmul(ctx));
  int output = builder.output(0);
  DType type = ctx.input(0).type, sum_type = wide_type(type);
  int sum = sum_type == type ? output : builder.temporary("sum", sum_type, builder.tensor(output).shape);

  Statement s(builder);
  Index batch = s.pars(form.batch, "b");
  te::Affine m = s.par("m", form.m), n = s.par("n", form.n), k = s.red("k", form.k);
  Index a = broadcast_index(form.batch_a, batch), b = broadcast_index(form.batch_b, batch), y = batch;
  if (form.has_m) {
    a.push_back(m);
    y.push_back(m);
  }
  a.push_back(k);
  b.push_back(k);
  if (form.has_n) {
    b.push_back(n);
    y.push_back(n);
  }
  int left = s.operand(builder.input(0), a);
  s.reduce(te::Monoid::Sum, sum, y, s.body().binary(Op::Mul, left, s.operand(builder.input(1), b)));
  if (sum != output) {
    Statement narrow(builder);
    Index point = narrow.pars(builder.tensor(output).shape);
    narrow.map(output, point, narrow.load(sum, point));
  }
  return ok_status();
}

constexpr OpDef kOps[] = {
    {"", "Gemm", 7, 22, infer_gemm, define_gemm},
    {"", "MatMul", 7, 22, infer_matmul, define_matmul},
};

}  // namespace

std::span<const OpDef> matmul_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
