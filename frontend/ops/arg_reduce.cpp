// ArgMax and ArgMin: the extreme value along an axis, then the first (or last) position that has it.
#include "frontend/ops/families.h"
#include "frontend/ops/reduce_axes.h"

namespace dlcc::frontend::ops {

namespace {

using te::Monoid;
using te::Op;

struct ArgForm {
  Reduction reduction;
  int axis = 0;
  bool keep_dims = true, last = false;
};

Result<ArgForm> read_arg(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kNumbers));
  const Shape& shape = ctx.input(0).shape;
  DLCC_TRY(int axis, normal_axis(ctx, ctx.attr_int("axis").value_or(0), shape.size()));
  bool keep_dims = ctx.attr_int("keepdims").value_or(1) != 0;
  bool last = ctx.attr_int("select_last_index").value_or(0) != 0;
  if (shape[static_cast<size_t>(axis)] == 0) {
    return ctx.error("the axis has no element");
  }
  return ArgForm{Reduction(shape, {axis}), axis, keep_dims, last};
}

Types infer_arg(OpContext& ctx) {
  DLCC_TRY(ArgForm form, read_arg(ctx));
  return std::vector<TensorType>{{DType::I64, form.reduction.kept(form.keep_dims)}};
}

template <Monoid monoid>
Status define_arg(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(ArgForm form, read_arg(ctx));
  const Reduction& reduction = form.reduction;
  int extreme = builder.temporary("extreme", wide_type(ctx.input(0).type), reduction.kept());
  reduce_axes(builder, reduction, monoid, extreme,
              [&](Statement& s, const Index& point) { return s.operand(builder.input(0), point); });
  reduce_axes(builder, reduction, form.last ? Monoid::Max : Monoid::Min, builder.output(0),
              [&](Statement& s, const Index& point) {
                size_t axis = static_cast<size_t>(form.axis);
                int x = s.operand(builder.input(0), point);
                int here = s.body().binary(Op::Eq, x, s.load(extreme, reduction.at(point)));
                int nowhere = s.body().integer(DType::I64, form.last ? 0 : reduction.shape[axis] - 1);
                return s.body().select(here, s.body().index(var_of(point[axis])), nowhere);
              });
  return ok_status();
}

constexpr OpDef kOps[] = {
    {"", "ArgMax", 7, 22, infer_arg, define_arg<Monoid::Max>},
    {"", "ArgMin", 7, 22, infer_arg, define_arg<Monoid::Min>},
};

}  // namespace

std::span<const OpDef> arg_reduce_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
