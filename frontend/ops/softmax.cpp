// Softmax, LogSoftmax, Hardmax: maximum, exp of the difference, sum, quotient. Before opset 13 they reduce over all
// axes from `axis` on (the tensor seen as a matrix, default axis 1); since then over `axis` alone (default -1).
#include "frontend/ops/families.h"
#include "frontend/ops/reduce_axes.h"

namespace dlcc::frontend::ops {

namespace {

using te::Monoid;
using te::Op;

Result<Reduction> read_softmax(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kFloats));
  const Shape& shape = ctx.input(0).shape;
  bool flattens = ctx.version() < 13;
  int64_t given = ctx.attr_int("axis").value_or(flattens ? 1 : -1);
  if (flattens && given == static_cast<int64_t>(shape.size())) {
    return Reduction(shape, {});
  }
  DLCC_TRY(int axis, normal_axis(ctx, given, shape.size()));
  std::vector<int> axes{axis};
  for (int i = axis + 1; flattens && i < static_cast<int>(shape.size()); ++i) {
    axes.push_back(i);
  }
  return Reduction(shape, axes);
}

Types infer_softmax(OpContext& ctx) {
  DLCC_TRY(Reduction reduction, read_softmax(ctx));
  return std::vector<TensorType>{{ctx.input(0).type, reduction.shape}};
}

int maximum_of(StmtBuilder& builder, const Reduction& reduction, DType type) {
  int most = builder.temporary("max", type, reduction.kept());
  reduce_axes(builder, reduction, Monoid::Max, most,
              [&](Statement& s, const Index& point) { return s.operand(builder.input(0), point); });
  return most;
}

int sum_of(StmtBuilder& builder, const Reduction& reduction, DType type, int exponential) {
  int sum = builder.temporary("sum", type, reduction.kept());
  reduce_axes(builder, reduction, Monoid::Sum, sum,
              [&](Statement& s, const Index& point) { return s.load(exponential, point); });
  return sum;
}

Status define_softmax(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(Reduction reduction, read_softmax(ctx));
  DType type = wide_type(ctx.input(0).type);
  int most = maximum_of(builder, reduction, type);
  int exponential = builder.temporary("exp", type, reduction.shape);
  map_points(builder, exponential, [&](Statement& s, const Index& point) {
    int x = s.operand(builder.input(0), point);
    return s.body().unary(Op::Exp, s.body().binary(Op::Sub, x, s.load(most, reduction.at(point))));
  });
  int sum = sum_of(builder, reduction, type, exponential);
  map_points(builder, builder.output(0), [&](Statement& s, const Index& point) {
    int x = s.load(exponential, point);
    return s.body().binary(Op::Div, x, s.load(sum, reduction.at(point)));
  });
  return ok_status();
}

Status define_log_softmax(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(Reduction reduction, read_softmax(ctx));
  DType type = wide_type(ctx.input(0).type);
  int most = maximum_of(builder, reduction, type);
  int difference = builder.temporary("difference", type, reduction.shape);
  map_points(builder, difference, [&](Statement& s, const Index& point) {
    int x = s.operand(builder.input(0), point);
    return s.body().binary(Op::Sub, x, s.load(most, reduction.at(point)));
  });
  int exponential = builder.temporary("exp", type, reduction.shape);
  map_points(builder, exponential,
             [&](Statement& s, const Index& point) { return s.body().unary(Op::Exp, s.load(difference, point)); });
  int sum = sum_of(builder, reduction, type, exponential);
  int log = builder.temporary("log", type, reduction.kept());
  map_points(builder, log,
             [&](Statement& s, const Index& point) { return s.body().unary(Op::Log, s.load(sum, point)); });
  map_points(builder, builder.output(0), [&](Statement& s, const Index& point) {
    int x = s.load(difference, point);
    return s.body().binary(Op::Sub, x, s.load(log, reduction.at(point)));
  });
  return ok_status();
}

/// 1 at the first maximum, 0 elsewhere. The position within the reduced axes is numbered in row-major order.
Status define_hardmax(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(Reduction reduction, read_softmax(ctx));
  DType type = wide_type(ctx.input(0).type);
  int most = maximum_of(builder, reduction, type);
  auto position = [&](Statement& s, const Index& point) {
    int number = s.body().integer(DType::I64, 0);
    for (size_t i = 0; i < point.size(); ++i) {
      if (reduction.reduced[i]) {
        int extent = s.body().integer(DType::I64, reduction.shape[i]);
        number = s.body().binary(Op::Add, s.body().binary(Op::Mul, number, extent), s.body().index(var_of(point[i])));
      }
    }
    return number;
  };
  int first = builder.temporary("first", DType::I64, reduction.kept());
  reduce_axes(builder, reduction, Monoid::Min, first, [&](Statement& s, const Index& point) {
    int x = s.operand(builder.input(0), point);
    int here = s.body().binary(Op::Eq, x, s.load(most, reduction.at(point)));
    return s.body().select(here, position(s, point), s.body().integer(DType::I64, reduction.count()));
  });
  map_points(builder, builder.output(0), [&](Statement& s, const Index& point) {
    int here = s.body().binary(Op::Eq, position(s, point), s.load(first, reduction.at(point)));
    return s.body().select(here, s.body().constant(type, 1), s.body().constant(type, 0));
  });
  return ok_status();
}

constexpr OpDef kOps[] = {
    {"", "Softmax", 7, 22, infer_softmax, define_softmax},
    {"", "LogSoftmax", 7, 22, infer_softmax, define_log_softmax},
    {"", "Hardmax", 7, 22, infer_softmax, define_hardmax},
};

}  // namespace

std::span<const OpDef> softmax_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
