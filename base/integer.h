// Integer arithmetic that C++ has no operator for.
#pragma once

#include <cstdint>

namespace dlcc {

/// floor(a / b), b != 0.
constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

/// ceiling(a / b), b != 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

/// The smallest multiple of `to` (> 0) that is not below value (>= 0).
constexpr int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

}  // namespace dlcc
