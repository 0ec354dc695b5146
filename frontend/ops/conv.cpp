// Conv: 1-D, 2-D, 3-D and beyond; groups, depthwise, dilation, stride, pads, auto_pad, bias.
//   T[n, g*K + co, oh, ow] += X[n, g*C + ci, s*oh + d*kh - p, ... | 0] * W[g*K + co, ci, kh, kw];  Y = T + B
#include <fmt/format.h>

#include "frontend/ops/families.h"
#include "frontend/ops/window.h"

namespace dlcc::frontend::ops {

namespace {

struct ConvForm {
  int64_t batch = 1, groups = 1;
  int64_t in_channels = 1, out_channels = 1;  // per group
  Window window;
};

Status check_conv_inputs(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 2, 3));
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kFloats));
  DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, 1));
  if (ctx.has_input(2)) {
    DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, 2));
  }
  size_t rank = ctx.input(0).shape.size();
  if (rank < 3 || ctx.input(1).shape.size() != rank) {
    return ctx.error(fmt::format("input of rank {} and weights of rank {}: both need one rank of at least 3", rank,
                                 ctx.input(1).shape.size()));
  }
  return ok_status();
}

Result<ConvForm> read_conv(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_conv_inputs(ctx));
  const Shape& x = ctx.input(0).shape;
  const Shape& w = ctx.input(1).shape;
  ConvForm form;
  form.batch = x[0];
  form.groups = ctx.attr_int("group").value_or(1);
  if (form.groups < 1 || w[0] % form.groups != 0 || x[1] % form.groups != 0 || x[1] / form.groups != w[1]) {
    return ctx.error(
        fmt::format("{} input channels, weights for {} inputs and {} outputs, group {}: they do not fit together", x[1],
                    w[1], w[0], form.groups));
  }
  form.in_channels = w[1];
  form.out_channels = w[0] / form.groups;
  if (ctx.has_input(2) && ctx.input(2).shape != Shape{w[0]}) {
    return ctx.error(fmt::format("the bias must have shape [{}]", w[0]));
  }
  Shape in(x.begin() + 2, x.end()), kernel(w.begin() + 2, w.end());
  DLCC_TRY(auto declared, read_kernel_shape(ctx, in.size()));
  if (declared && *declared != kernel) {
    return ctx.error(fmt::format("attribute kernel_shape [{}] differs from the weights' [{}]",
                                 fmt::join(*declared, ","), fmt::join(kernel, ",")));
  }
  DLCC_TRY(form.window, read_window(ctx, in, kernel, false));
  return form;
}

Types infer_conv(OpContext& ctx) {
  DLCC_TRY(ConvForm form, read_conv(ctx));
  Shape shape{form.batch, form.groups * form.out_channels};
  for (int64_t extent : outputs_of(form.window)) {
    shape.push_back(extent);
  }
  DLCC_RETURN_IF_ERROR(check_shape(ctx, shape));
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

Status define_conv(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(ConvForm form, read_conv(ctx));
  int output = builder.output(0);
  DType type = ctx.input(0).type, sum_type = wide_type(type);
  bool direct = !ctx.has_input(2) && sum_type == type;
  int sum = direct ? output : builder.temporary("sum", sum_type, builder.tensor(output).shape);

  Statement s(builder);
  te::Affine n = s.par("n", form.batch), g = s.par("g", form.groups), co = s.par("co", form.out_channels);
  Index o = output_dims(s, form.window);
  te::Affine ci = s.red("ci", form.in_channels);
  Index k = kernel_dims(s, form.window);
  Index x{n, g * form.in_channels + ci}, w{g * form.out_channels + co, ci}, y{n, g * form.out_channels + co};
  for (size_t i = 0; i < form.window.size(); ++i) {
    x.push_back(form.window[i].position(o[i], k[i]));
    w.push_back(k[i]);
    y.push_back(o[i]);
  }
  std::optional<double> fill = reads_outside(form.window) ? std::optional(0.0) : std::nullopt;
  int value = s.operand(builder.input(0), x, fill);
  int weight = s.operand(builder.input(1), w);
  s.reduce(te::Monoid::Sum, sum, y, s.body().binary(te::Op::Mul, value, weight));
  if (direct) {
    return ok_status();
  }
  add_channel_bias(ctx, builder, sum, output);
  return ok_status();
}

constexpr OpDef kOps[] = {{"", "Conv", 7, 22, infer_conv, define_conv}};

}  // namespace

std::span<const OpDef> conv_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
