#include "frontend/ops/resize_table.h"

#include <algorithm>
#include <cmath>

namespace dlcc::frontend::ops {

namespace {

/// Where output position i lies in the input.
double coordinate(const ResizeRule& rule, const ResizeAxis& axis, int64_t i) {
  double x = static_cast<double>(i), in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
  // The specification's length of the output is not rounded down to a whole number when scales are given.
  double length = std::abs(in * axis.scale - out) < 1e-6 * out ? out : in * axis.scale;
  double centred = (x + 0.5) / axis.scale - 0.5;
  if (rule.coordinates == "asymmetric") {
    return x / axis.scale;
  }
  if (rule.coordinates == "align_corners") {
    return length == 1 ? 0 : x * (in - 1) / (length - 1);
  }
  if (rule.coordinates == "pytorch_half_pixel") {
    return length == 1 ? -0.5 : centred;
  }
  if (rule.coordinates == "tf_half_pixel_for_nn") {
    return (x + 0.5) / axis.scale;
  }
  if (rule.coordinates == "half_pixel_symmetric") {
    return centred + in / 2 * (1 - out / length);
  }
  if (rule.coordinates == "tf_crop_and_resize") {
    double first = axis.roi_begin * (in - 1), span = (axis.roi_end - axis.roi_begin) * (in - 1);
    return length == 1 ? (axis.roi_begin + axis.roi_end) * (in - 1) / 2 : first + x * span / (length - 1);
  }
  return centred;
}

double rounded(const std::string& rounding, double x) {
  if (rounding == "floor") {
    return std::floor(x);
  }
  if (rounding == "ceil") {
    return std::ceil(x);
  }
  return rounding == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

double cubic(double distance, double a) {
  double x = std::abs(distance);
  if (x <= 1) {
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  }
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// How far the filter reaches to the left of the pixel before x; antialiasing widens it when the axis shrinks.
int64_t reach_of(const ResizeRule& rule, const ResizeAxis& axis) {
  double radius = rule.mode == ResizeMode::Linear ? 1 : 2;
  double shrink = rule.antialias ? std::min(axis.scale, 1.0) : 1.0;
  return -(static_cast<int64_t>(std::floor(-radius / shrink)) + 1);
}

void add_filter(const ResizeRule& rule, const ResizeAxis& axis, double x, ResizeTable& table) {
  double shrink = rule.antialias ? std::min(axis.scale, 1.0) : 1.0;
  int64_t base = static_cast<int64_t>(std::ceil(x)) - 1;  // the pixel left of x; x itself is in (base, base + 1]
  double ratio = x - static_cast<double>(base);
  int64_t reach = reach_of(rule, axis);
  size_t first = table.weights.size();
  double sum = 0;
  for (int64_t i = -reach; i < table.taps - reach; ++i) {
    double distance = (static_cast<double>(i) - ratio) * shrink;
    double weight =
        rule.mode == ResizeMode::Linear ? std::max(1 - std::abs(distance), 0.0) : cubic(distance, rule.cubic_a);
    int64_t at = base + i;
    if (rule.exclude_outside && (at < 0 || at >= axis.in)) {
      weight = 0;
    }
    sum += weight;
    table.positions.push_back(std::clamp<int64_t>(at, 0, axis.in - 1));
    table.weights.push_back(weight);
  }
  for (size_t i = first; i < table.weights.size() && sum != 0; ++i) {
    table.weights[i] /= sum;
  }
}

}  // namespace

double resize_table_size(const ResizeRule& rule, const ResizeAxis& axis) {
  double taps = rule.mode == ResizeMode::Nearest ? 1 : 4;
  double shrink = rule.antialias ? std::min(axis.scale, 1.0) : 1.0;
  return static_cast<double>(axis.out) * (taps / shrink + 2);
}

ResizeTable resize_table(const ResizeRule& rule, const ResizeAxis& axis) {
  ResizeTable table;
  table.taps = rule.mode == ResizeMode::Nearest ? 1 : 2 + 2 * reach_of(rule, axis);
  for (int64_t i = 0; i < axis.out; ++i) {
    double x = coordinate(rule, axis, i);
    double last = static_cast<double>(axis.in - 1);
    table.outside = table.outside || (rule.coordinates == "tf_crop_and_resize" && (x < 0 || x > last));
    x = std::clamp(x, -1e9, 1e9);
    if (rule.mode == ResizeMode::Nearest) {
      double at = std::clamp(rounded(rule.rounding, x), 0.0, last);
      table.positions.push_back(static_cast<int64_t>(at));
      table.weights.push_back(1);
    } else {
      add_filter(rule, axis, x, table);
    }
  }
  return table;
}

}  // namespace dlcc::frontend::ops
