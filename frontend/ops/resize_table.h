// One axis of Resize: for each output position, which input positions it reads and with what weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlcc::frontend::ops {

enum class ResizeMode { Nearest, Linear, Cubic };

struct ResizeRule {
  ResizeMode mode = ResizeMode::Nearest;
  std::string coordinates = "half_pixel";
  std::string rounding = "round_prefer_floor";
  double cubic_a = -0.75;
  bool exclude_outside = false, antialias = false;
};

struct ResizeAxis {
  int64_t in = 1, out = 1;
  double scale = 1;
  double roi_begin = 0, roi_end = 1;  // of tf_crop_and_resize
};

/// taps entries per output position, row-major [out][taps].
struct ResizeTable {
  int64_t taps = 1;
  std::vector<int64_t> positions;  // clamped into the input
  std::vector<double> weights;
  bool outside = false;  // tf_crop_and_resize leaves the input somewhere
};

ResizeTable resize_table(const ResizeRule& rule, const ResizeAxis& axis);
/// Upper bound of the table's entries, to refuse absurd ones before they are made.
double resize_table_size(const ResizeRule& rule, const ResizeAxis& axis);

}  // namespace dlcc::frontend::ops
