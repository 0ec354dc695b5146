// What a Let computes, for everything that runs a Program's tree: verifier, simulator, oracle.
#pragma once

#include <algorithm>

#include "base/integer.h"
#include "hw/program.h"

namespace dlcc::hw {

/// The value of a Let whose operands have these values.
inline int64_t apply(LetOp op, int64_t a, int64_t b) {
  switch (op) {
    case LetOp::Assign:
      return a;
    case LetOp::FloorDiv:
      return floor_div(a, b);
    case LetOp::Mod:
      return a - floor_div(a, b) * b;
    case LetOp::Min:
      return std::min(a, b);
    case LetOp::Max:
      return std::max(a, b);
  }
  return 0;
}

}  // namespace dlcc::hw
