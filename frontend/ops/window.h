// Sliding windows of Conv and the pools: strides, dilations, pads and auto_pad of a node, and the geometry per spatial
// axis that follows.
#pragma once

#include "frontend/ops/support.h"

namespace dlcc::frontend::ops {

struct WindowAxis {
  int64_t in = 1, out = 1;
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad_begin = 0, pad_end = 0;
  /// Input position of output `o` and kernel tap `k`.
  te::Affine position(const te::Affine& o, const te::Affine& k) const {
    return o * stride + k * dilation - te::Affine(pad_begin);
  }
  bool reads_outside() const { return pad_begin > 0 || (out - 1) * stride + (kernel - 1) * dilation - pad_begin >= in; }
};
using Window = std::vector<WindowAxis>;

/// kernel: extents of the window; in: spatial extents of the input. Reads strides, dilations, pads and auto_pad; out is
/// filled in.
Result<Window> read_window(OpContext& ctx, const Shape& in, const Shape& kernel, bool ceil_mode);
/// The four attributes alone, checked, for operators with their own geometry (ConvTranspose). `out` stays 1.
Result<Window> read_window_attributes(OpContext& ctx, const Shape& in, const Shape& kernel);
/// kernel_shape, checked to be `rank` positive numbers; nullopt when absent.
Result<std::optional<Shape>> read_kernel_shape(OpContext& ctx, size_t rank);

Shape outputs_of(const Window& window);
bool reads_outside(const Window& window);
/// "h", "w", ... of a spatial axis.
std::string spatial_name(size_t axis, size_t rank);
/// One dim per axis, "oh", "ow" / "kh", "kw".
Index output_dims(Statement& s, const Window& window);
Index kernel_dims(Statement& s, const Window& window);

}  // namespace dlcc::frontend::ops
