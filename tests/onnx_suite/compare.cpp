#include "tests/onnx_suite/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace dlcc::suite {

namespace {

bool close(double got, double want, const Tolerance& tolerance) {
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) && std::isnan(got);
  }
  if (std::isinf(want) || std::isinf(got)) {
    return got == want;
  }
  return std::abs(got - want) <= tolerance.absolute + tolerance.relative * std::abs(want);
}

}  // namespace

std::string compare(const te::Array& got, const te::Array& want, const Tolerance& tolerance) {
  if (got.type != want.type || got.shape != want.shape) {
    return fmt::format("{}[{}] instead of {}[{}]", name_of(got.type), fmt::join(got.shape, ","), name_of(want.type),
                       fmt::join(want.shape, ","));
  }
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < want.count(); ++i) {
    te::Value a = te::load_element(got.type, got.data.data(), i), b = te::load_element(want.type, want.data.data(), i);
    bool same = is_float(want.type) ? close(a.f, b.f, tolerance) : a.i == b.i;
    if (!same) {
      first = first < 0 ? i : first;
      ++wrong;
    }
  }
  if (wrong == 0) {
    return "";
  }
  te::Value a = te::load_element(got.type, got.data.data(), first),
            b = te::load_element(want.type, want.data.data(), first);
  std::string values =
      is_float(want.type) ? fmt::format("{} instead of {}", a.f, b.f) : fmt::format("{} instead of {}", a.i, b.i);
  return fmt::format("{} of {} elements differ, the first at {}: {}", wrong, want.count(), first, values);
}

}  // namespace dlcc::suite
