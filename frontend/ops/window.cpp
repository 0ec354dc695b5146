#include "frontend/ops/window.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlcc::frontend::ops {

namespace {

constexpr int64_t kMaxWindowValue = int64_t{1} << 30;

/// An attribute of `count` numbers, each in [low, 2^30]; all `otherwise` when absent.
Result<Shape> numbers(OpContext& ctx, const char* name, size_t count, int64_t low, int64_t otherwise) {
  auto values = ctx.attr_ints(name);
  if (!values) {
    return Shape(count, otherwise);
  }
  if (values->size() != count) {
    return ctx.error(fmt::format("attribute {} has {} numbers, {} are needed", name, values->size(), count));
  }
  for (int64_t value : *values) {
    if (value < low || value > kMaxWindowValue) {
      return ctx.error(fmt::format("attribute {} has {}, outside [{}, 2^30]", name, value, low));
    }
  }
  return *std::move(values);
}

int64_t reach(const WindowAxis& axis) {
  return (axis.kernel - 1) * axis.dilation + 1;
}

/// Pads of SAME_UPPER and SAME_LOWER: as many outputs as strides fit, the odd one at the end or at the beginning.
void pad_same(WindowAxis& axis, bool upper) {
  axis.out = (axis.in + axis.stride - 1) / axis.stride;
  int64_t total = std::max<int64_t>((axis.out - 1) * axis.stride + reach(axis) - axis.in, 0);
  axis.pad_begin = upper ? total / 2 : total - total / 2;
  axis.pad_end = total - axis.pad_begin;
}

Status place(OpContext& ctx, WindowAxis& axis, bool ceil_mode) {
  int64_t room = axis.in + axis.pad_begin + axis.pad_end - reach(axis);
  if (room < 0) {
    return ctx.error(fmt::format("a window of {} does not fit into {} positions ({} with pads)", reach(axis), axis.in,
                                 axis.in + axis.pad_begin + axis.pad_end));
  }
  axis.out = room / axis.stride + 1;
  if (ceil_mode && room % axis.stride != 0) {
    axis.out += 1;
    // A last window that begins in the end padding is dropped.
    if ((axis.out - 1) * axis.stride >= axis.in + axis.pad_begin) {
      axis.out -= 1;
    }
  }
  return ok_status();
}

}  // namespace

Result<std::optional<Shape>> read_kernel_shape(OpContext& ctx, size_t rank) {
  if (!ctx.attr_ints("kernel_shape")) {
    return std::optional<Shape>();
  }
  DLCC_TRY(Shape kernel, numbers(ctx, "kernel_shape", rank, 1, 1));
  return std::optional(std::move(kernel));
}

Result<Window> read_window_attributes(OpContext& ctx, const Shape& in, const Shape& kernel) {
  size_t rank = in.size();
  DLCC_TRY(Shape strides, numbers(ctx, "strides", rank, 1, 1));
  DLCC_TRY(Shape dilations, numbers(ctx, "dilations", rank, 1, 1));
  DLCC_TRY(Shape pads, numbers(ctx, "pads", 2 * rank, 0, 0));
  std::string form = ctx.attr_string("auto_pad").value_or("NOTSET");
  if (form != "NOTSET" && form != "VALID" && form != "SAME_UPPER" && form != "SAME_LOWER") {
    return ctx.error(
        fmt::format("attribute auto_pad is '{}', allowed are NOTSET, VALID, SAME_UPPER, SAME_LOWER", form));
  }
  if (form != "NOTSET" && std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; })) {
    return ctx.error("pads and auto_pad are both given");
  }
  Window window;
  for (size_t i = 0; i < rank; ++i) {
    if (in[i] > kMaxWindowValue || kernel[i] < 1 || kernel[i] > kMaxWindowValue) {
      return ctx.error(fmt::format("window of {} over {} positions", kernel[i], in[i]));
    }
    window.push_back({in[i], 1, kernel[i], strides[i], dilations[i], pads[i], pads[rank + i]});
  }
  return window;
}

Result<Window> read_window(OpContext& ctx, const Shape& in, const Shape& kernel, bool ceil_mode) {
  DLCC_TRY(Window window, read_window_attributes(ctx, in, kernel));
  std::string form = ctx.attr_string("auto_pad").value_or("NOTSET");
  for (WindowAxis& axis : window) {
    if (form == "SAME_UPPER" || form == "SAME_LOWER") {
      pad_same(axis, form == "SAME_UPPER");
    } else {
      DLCC_RETURN_IF_ERROR(place(ctx, axis, ceil_mode));
    }
  }
  return window;
}

Shape outputs_of(const Window& window) {
  Shape shape;
  for (const WindowAxis& axis : window) {
    shape.push_back(axis.out);
  }
  return shape;
}

bool reads_outside(const Window& window) {
  return std::any_of(window.begin(), window.end(), [](const WindowAxis& axis) { return axis.reads_outside(); });
}

std::string spatial_name(size_t axis, size_t rank) {
  static constexpr const char* kNames[] = {"d", "h", "w"};
  return rank <= 3 ? kNames[3 - rank + axis] : fmt::format("s{}", axis);
}

Index output_dims(Statement& s, const Window& window) {
  Index dims;
  for (size_t i = 0; i < window.size(); ++i) {
    dims.push_back(s.par("o" + spatial_name(i, window.size()), window[i].out));
  }
  return dims;
}

Index kernel_dims(Statement& s, const Window& window) {
  Index dims;
  for (size_t i = 0; i < window.size(); ++i) {
    dims.push_back(s.red("k" + spatial_name(i, window.size()), window[i].kernel));
  }
  return dims;
}

}  // namespace dlcc::frontend::ops
