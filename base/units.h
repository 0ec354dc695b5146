// Quantities with units as a chip file writes them: "64 KiB", "1.45 GHz", "34.1 GB/s", "16 B/cycle", "290 cycles", "15 us".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dlcc {

enum class UnitKind : uint8_t { Bytes, Hertz, BytesPerSecond, BytesPerCycle, Cycles, Seconds };

struct Quantity {
  double value = 0;     // in B, Hz, B/s, B/cycle, cycles or s
  UnitKind kind = UnitKind::Bytes;
};

/// Parses number + unit. Prefixes: decimal k M G T for everything, Ki Mi Gi Ti for bytes. The error lists the units accepted there.
Result<Quantity> parse_quantity(std::string_view text, const std::string& where);

std::string_view describe(UnitKind kind);

/// The candidate nearest to `name` in edit distance (<= 1 + length/4), or empty: for "did you mean".
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace dlcc
