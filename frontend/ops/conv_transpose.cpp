// ConvTranspose, as a gather: an output position o = stride * q + r is hit by the taps k with (r + pad - dilation * k)
// divisible by the stride. For one phase r of an axis these taps are k0 + t * step, and the input position is q + shift
// - t * back: all affine. So each combination of phases is one statement that writes a disjoint strided slice of the
// output.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontend/ops/families.h"
#include "frontend/ops/window.h"

namespace dlcc::frontend::ops {

namespace {

constexpr int64_t kMaxPhases = 1024;

struct TransposeForm {
  int64_t batch = 1, groups = 1;
  int64_t in_channels = 1, out_channels = 1;  // per group
  Window window;                              // in: of X; out: of Y; pad_begin: cropped at the beginning
};

/// Pads from output_shape or auto_pad: what is cut from the full extent; the odd one at the end for SAME_UPPER only.
void crop_to(WindowAxis& axis, int64_t out, int64_t output_padding, bool upper) {
  int64_t full = axis.stride * (axis.in - 1) + output_padding + (axis.kernel - 1) * axis.dilation + 1;
  int64_t total = std::max<int64_t>(full - out, 0);
  axis.pad_begin = upper ? total / 2 : total - total / 2;
  axis.pad_end = total - axis.pad_begin;
  axis.out = out;
}

Status place_outputs(OpContext& ctx, Window& window) {
  std::string form = ctx.attr_string("auto_pad").value_or("NOTSET");
  auto padding = ctx.attr_ints("output_padding").value_or(Shape(window.size(), 0));
  auto wanted = ctx.attr_ints("output_shape");
  if (padding.size() != window.size() || (wanted && wanted->size() != window.size())) {
    return ctx.error(fmt::format("output_padding and output_shape need {} numbers", window.size()));
  }
  for (size_t i = 0; i < window.size(); ++i) {
    WindowAxis& axis = window[i];
    if (padding[i] < 0 || padding[i] >= std::max(axis.stride, axis.dilation)) {
      return ctx.error(fmt::format("output_padding {} must be in [0, max(stride, dilation) = {})", padding[i],
                                   std::max(axis.stride, axis.dilation)));
    }
    if (wanted) {
      crop_to(axis, (*wanted)[i], padding[i], form == "SAME_UPPER");
    } else if (form == "SAME_UPPER" || form == "SAME_LOWER") {
      crop_to(axis, axis.in * axis.stride, padding[i], form == "SAME_UPPER");
    } else {
      axis.out = axis.stride * (axis.in - 1) + padding[i] + (axis.kernel - 1) * axis.dilation + 1 - axis.pad_begin -
                 axis.pad_end;
    }
    if (axis.out < 1) {
      return ctx.error(fmt::format("the output would have {} positions on spatial axis {}", axis.out, i));
    }
  }
  return ok_status();
}

Status check_transpose_inputs(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 2, 3));
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kFloats));
  DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, 1));
  if (ctx.has_input(2)) {
    DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, 2));
  }
  const Shape& x = ctx.input(0).shape;
  const Shape& w = ctx.input(1).shape;
  if (x.size() < 3 || w.size() != x.size()) {
    return ctx.error(
        fmt::format("input of rank {} and weights of rank {}: both need one rank of at least 3", x.size(), w.size()));
  }
  if (x[1] != w[0]) {
    return ctx.error(fmt::format("{} input channels, weights for {}", x[1], w[0]));
  }
  return ok_status();
}

Result<TransposeForm> read_transpose(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_transpose_inputs(ctx));
  const Shape& x = ctx.input(0).shape;
  const Shape& w = ctx.input(1).shape;
  TransposeForm form;
  form.batch = x[0];
  form.groups = ctx.attr_int("group").value_or(1);
  if (form.groups < 1 || x[1] % form.groups != 0) {
    return ctx.error(fmt::format("{} input channels do not divide into {} groups", x[1], form.groups));
  }
  form.in_channels = x[1] / form.groups;
  form.out_channels = w[1];
  if (ctx.has_input(2) && ctx.input(2).shape != Shape{form.groups * w[1]}) {
    return ctx.error(fmt::format("the bias must have shape [{}]", form.groups * w[1]));
  }
  Shape in(x.begin() + 2, x.end()), kernel(w.begin() + 2, w.end());
  DLCC_TRY(auto declared, read_kernel_shape(ctx, in.size()));
  if (declared && *declared != kernel) {
    return ctx.error("attribute kernel_shape differs from the weights' shape");
  }
  DLCC_TRY(form.window, read_window_attributes(ctx, in, kernel));
  DLCC_RETURN_IF_ERROR(place_outputs(ctx, form.window));
  int64_t phases = 1;
  for (const WindowAxis& axis : form.window) {
    phases *= std::min({axis.stride, axis.out, kMaxPhases + 1});
    if (phases > kMaxPhases) {
      return ctx.unsupported(fmt::format("strides with more than {} phases", kMaxPhases));
    }
  }
  return form;
}

Types infer_conv_transpose(OpContext& ctx) {
  DLCC_TRY(TransposeForm form, read_transpose(ctx));
  Shape shape{form.batch, form.groups * form.out_channels};
  for (int64_t extent : outputs_of(form.window)) {
    shape.push_back(extent);
  }
  DLCC_RETURN_IF_ERROR(check_shape(ctx, shape));
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

/// One phase of one axis.
struct Phase {
  int64_t offset = 0, outputs = 0;            // o = stride * q + offset, q < outputs
  int64_t first_tap = 0, step = 1, taps = 0;  // k = first_tap + t * step, t < taps
  int64_t shift = 0, back = 0;                // input position q + shift - t * back
};

std::vector<Phase> phases_of(const WindowAxis& axis) {
  std::vector<Phase> phases;
  int64_t common = std::gcd(axis.stride, axis.dilation);
  for (int64_t r = 0; r < std::min(axis.stride, axis.out); ++r) {
    Phase phase;
    phase.offset = r;
    phase.outputs = (axis.out - r + axis.stride - 1) / axis.stride;
    phase.step = axis.stride / common;
    phase.back = axis.dilation / common;
    auto distance = [&](int64_t k) { return r + axis.pad_begin - k * axis.dilation; };
    while (phase.first_tap < std::min(axis.kernel, phase.step) && distance(phase.first_tap) % axis.stride != 0) {
      ++phase.first_tap;
    }
    if (phase.first_tap < std::min(axis.kernel, phase.step)) {
      phase.taps = (axis.kernel - phase.first_tap + phase.step - 1) / phase.step;
      phase.shift = distance(phase.first_tap) / axis.stride;
    }
    phases.push_back(phase);
  }
  return phases;
}

bool reads_outside(const Phase& phase, int64_t in) {
  return phase.shift - (phase.taps - 1) * phase.back < 0 || phase.outputs - 1 + phase.shift >= in;
}

/// The slice of `sum` where axis i is in phase chosen[i].
void define_phase(OpContext& ctx, StmtBuilder& builder, const TransposeForm& form, const std::vector<Phase>& chosen,
                  int sum) {
  size_t rank = chosen.size();
  Statement s(builder);
  te::Affine n = s.par("n", form.batch), g = s.par("g", form.groups), co = s.par("co", form.out_channels);
  Index x{n}, w, y{n, g * form.out_channels + co}, q;
  for (size_t i = 0; i < rank; ++i) {
    q.push_back(s.par("q" + spatial_name(i, rank), chosen[i].outputs));
    y.push_back(q[i] * form.window[i].stride + te::Affine(chosen[i].offset));
  }
  DType type = builder.tensor(sum).type;
  if (std::any_of(chosen.begin(), chosen.end(), [](const Phase& phase) { return phase.taps == 0; })) {
    s.map(sum, y, s.body().constant(type, 0));
    return;
  }
  te::Affine ci = s.red("ci", form.in_channels);
  x.push_back(g * form.in_channels + ci);
  w = {g * form.in_channels + ci, co};
  std::optional<double> fill;
  for (size_t i = 0; i < rank; ++i) {
    te::Affine t = s.red("k" + spatial_name(i, rank), chosen[i].taps);
    x.push_back(q[i] + te::Affine(chosen[i].shift) - t * chosen[i].back);
    w.push_back(t * chosen[i].step + te::Affine(chosen[i].first_tap));
    if (reads_outside(chosen[i], ctx.input(0).shape[2 + i])) {
      fill = 0;
    }
  }
  int value = s.operand(builder.input(0), x, fill);
  s.reduce(te::Monoid::Sum, sum, y, s.body().binary(te::Op::Mul, value, s.operand(builder.input(1), w)));
}

Status define_conv_transpose(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(TransposeForm form, read_transpose(ctx));
  int output = builder.output(0);
  DType type = ctx.input(0).type, sum_type = wide_type(type);
  bool direct = !ctx.has_input(2) && sum_type == type;
  int sum = direct ? output : builder.temporary("sum", sum_type, builder.tensor(output).shape);

  std::vector<std::vector<Phase>> chosen(1);
  for (const WindowAxis& axis : form.window) {
    std::vector<std::vector<Phase>> longer;
    for (const auto& prefix : chosen) {
      for (const Phase& phase : phases_of(axis)) {
        longer.push_back(prefix);
        longer.back().push_back(phase);
      }
    }
    chosen = std::move(longer);
  }
  for (const auto& phases : chosen) {
    define_phase(ctx, builder, form, phases, sum);
  }
  if (direct) {
    return ok_status();
  }
  add_channel_bias(ctx, builder, sum, output);
  return ok_status();
}

constexpr OpDef kOps[] = {{"", "ConvTranspose", 7, 22, infer_conv_transpose, define_conv_transpose}};

}  // namespace

std::span<const OpDef> conv_transpose_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
