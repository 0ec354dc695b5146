// ReduceSum, ReduceMean, ... ReduceLogSumExp: what is done to each element, the monoid, and what is done to the result.
#include "frontend/ops/families.h"
#include "frontend/ops/reduce_axes.h"

namespace dlcc::frontend::ops {

namespace {

using te::Monoid;
using te::Op;

enum class ReduceKind { Sum, Mean, Max, Min, Prod, L1, L2, LogSum, LogSumExp, SumSquare };

unsigned types_of(ReduceKind kind, int version) {
  switch (kind) {
    case ReduceKind::Max:
    case ReduceKind::Min:
      return version >= 20 ? kAny : kNumbers;
    case ReduceKind::L2:
    case ReduceKind::LogSum:
    case ReduceKind::LogSumExp:
      return kFloats;
    default:
      return kNumbers;
  }
}

struct ReduceForm {
  Reduction reduction;
  bool keep_dims = true;
  bool no_op = false;  // noop_with_empty_axes
};

Result<ReduceForm> read_reduce(OpContext& ctx, ReduceKind kind) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 2));
  if (!in_set(ctx.input(0).type, types_of(kind, ctx.version()))) {
    return ctx.unsupported("input of type " + std::string(name_of(ctx.input(0).type)) + " is not supported");
  }
  bool keep_dims = ctx.attr_int("keepdims").value_or(1) != 0;
  bool empty_is_no_op = ctx.attr_int("noop_with_empty_axes").value_or(0) != 0;
  DLCC_TRY(auto given, axes_of(ctx, 1));
  size_t rank = ctx.input(0).shape.size();
  DLCC_TRY(std::vector<int> axes, normal_axes(ctx, given.value_or(Shape()), rank));
  bool no_op = axes.empty() && empty_is_no_op;
  if (axes.empty() && !empty_is_no_op) {
    for (size_t i = 0; i < rank; ++i) {
      axes.push_back(static_cast<int>(i));
    }
  }
  return ReduceForm{Reduction(ctx.input(0).shape, axes), keep_dims, no_op};
}

template <ReduceKind kind>
Types infer_reduce(OpContext& ctx) {
  DLCC_TRY(ReduceForm form, read_reduce(ctx, kind));
  return std::vector<TensorType>{{ctx.input(0).type, form.reduction.kept(form.keep_dims)}};
}

Monoid monoid_of(ReduceKind kind, DType type) {
  switch (kind) {
    case ReduceKind::Max:
      return type == DType::Bool ? Monoid::Or : Monoid::Max;
    case ReduceKind::Min:
      return type == DType::Bool ? Monoid::And : Monoid::Min;
    case ReduceKind::Prod:
      return Monoid::Prod;
    default:
      return Monoid::Sum;
  }
}

int element_of(te::ScalarBuilder& s, ReduceKind kind, int x) {
  if (kind == ReduceKind::L1 && (is_float(s.type(x)) || is_signed_int(s.type(x)))) {
    return s.unary(Op::Abs, x);
  }
  return kind == ReduceKind::L2 || kind == ReduceKind::SumSquare ? s.binary(Op::Mul, x, x) : x;
}

/// What follows the reduction.
int result_of(te::ScalarBuilder& s, ReduceKind kind, int x, int64_t count) {
  switch (kind) {
    case ReduceKind::Mean:
      return s.binary(Op::Div, x, literal(s, s.type(x), static_cast<double>(count)));
    case ReduceKind::L2:
      return s.unary(Op::Sqrt, x);
    case ReduceKind::LogSum:
      return s.unary(Op::Log, x);
    default:
      return x;
  }
}

/// log(sum(exp(x))) = m + log(sum(exp(x - m))), with m the maximum (0 where that is infinite, so that no NaN arises).
void define_log_sum_exp(StmtBuilder& builder, const ReduceForm& form, DType type) {
  const Reduction& reduction = form.reduction;
  int x = builder.input(0), output = builder.output(0);
  int most = builder.temporary("max", type, reduction.kept());
  reduce_axes(builder, reduction, Monoid::Max, most,
              [&](Statement& s, const Index& point) { return s.operand(x, point); });
  int shift = builder.temporary("shift", type, reduction.kept());
  map_points(builder, shift, [&](Statement& s, const Index& point) {
    int m = s.load(most, point);
    return s.body().select(s.body().unary(Op::IsInf, m), s.body().constant(type, 0), m);
  });
  int exponential = builder.temporary("exp", type, reduction.shape);
  map_points(builder, exponential, [&](Statement& s, const Index& point) {
    int m = s.load(shift, reduction.at(point));
    return s.body().unary(Op::Exp, s.body().binary(Op::Sub, s.operand(x, point), m));
  });
  // Sum and shift have the output's shape, so that the last step is elementwise.
  int sum = builder.temporary("sum", type, reduction.kept());
  reduce_axes(builder, reduction, Monoid::Sum, sum,
              [&](Statement& s, const Index& point) { return s.load(exponential, point); });
  Statement s(builder);
  Index point(reduction.shape.size()), write;
  for (size_t i = 0; i < point.size(); ++i) {
    point[i] = reduction.reduced[i] ? te::Affine(0) : s.par("d" + std::to_string(i), reduction.shape[i]);
    if (!reduction.reduced[i] || form.keep_dims) {
      write.push_back(point[i]);
    }
  }
  s.map(output, write, s.body().binary(Op::Add, s.body().unary(Op::Log, s.load(sum, point)), s.load(shift, point)));
}

template <ReduceKind kind>
Status define_reduce(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(ReduceForm form, read_reduce(ctx, kind));
  int output = builder.output(0), x = builder.input(0);
  DType type = ctx.input(0).type, wide = wide_type(type);
  if (form.no_op) {
    builder.alias(output, x);
    return ok_status();
  }
  if (kind == ReduceKind::LogSumExp) {
    define_log_sum_exp(builder, form, wide);
    return ok_status();
  }
  bool direct = wide == type && kind != ReduceKind::Mean && kind != ReduceKind::L2 && kind != ReduceKind::LogSum;
  int target = direct ? output : builder.temporary("total", wide, builder.tensor(output).shape);
  reduce_axes(builder, form.reduction, monoid_of(kind, type), target,
              [&](Statement& s, const Index& point) { return element_of(s.body(), kind, s.operand(x, point)); });
  if (!direct) {
    map_points(builder, output, [&](Statement& s, const Index& point) {
      return result_of(s.body(), kind, s.load(target, point), form.reduction.count());
    });
  }
  return ok_status();
}

template <ReduceKind kind>
constexpr OpDef entry(const char* name) {
  return {"", name, 7, 22, infer_reduce<kind>, define_reduce<kind>};
}

constexpr OpDef kOps[] = {
    entry<ReduceKind::Sum>("ReduceSum"),
    entry<ReduceKind::Mean>("ReduceMean"),
    entry<ReduceKind::Max>("ReduceMax"),
    entry<ReduceKind::Min>("ReduceMin"),
    entry<ReduceKind::Prod>("ReduceProd"),
    entry<ReduceKind::L1>("ReduceL1"),
    entry<ReduceKind::L2>("ReduceL2"),
    entry<ReduceKind::LogSum>("ReduceLogSum"),
    entry<ReduceKind::LogSumExp>("ReduceLogSumExp"),
    entry<ReduceKind::SumSquare>("ReduceSumSquare"),
};

}  // namespace

std::span<const OpDef> reduce_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
