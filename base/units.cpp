// "64 KiB" -> 65536 bytes: number, optional prefix, unit. Also edit distance for "did you mean".
#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace dlcc {
namespace {

struct UnitName {
  std::string_view text;
  UnitKind kind;
};
constexpr std::array<UnitName, 7> kUnits = {{{"B", UnitKind::Bytes},
                                             {"Hz", UnitKind::Hertz},
                                             {"B/s", UnitKind::BytesPerSecond},
                                             {"B/cycle", UnitKind::BytesPerCycle},
                                             {"cycles", UnitKind::Cycles},
                                             {"cycle", UnitKind::Cycles},
                                             {"s", UnitKind::Seconds}}};

struct Prefix {
  std::string_view text;
  double factor;
};
constexpr std::array<Prefix, 5> kDecimal = {{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}};
constexpr std::array<Prefix, 4> kBinary = {{{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}}};
// Divisors: 15 / 1e6 rounds once, 15 * 1e-6 twice.
constexpr std::array<Prefix, 3> kSmall = {{{"m", 1e3}, {"u", 1e6}, {"n", 1e9}}};

constexpr std::string_view kAccepted =
    "accepted are B, B/s, B/cycle (each also with k M G T Ki Mi Gi Ti), Hz (k M G T), cycles, s (m u n), as in \"64 "
    "KiB\", \"1.45 GHz\"";

bool counts_bytes(UnitKind kind) {
  return kind == UnitKind::Bytes || kind == UnitKind::BytesPerSecond || kind == UnitKind::BytesPerCycle;
}

std::optional<Quantity> match_unit(double number, std::string_view text) {
  for (const UnitName& unit : kUnits) {
    if (!text.ends_with(unit.text)) {
      continue;
    }
    const std::string_view prefix = text.substr(0, text.size() - unit.text.size());
    for (const Prefix& p : kDecimal) {
      if (prefix == p.text) {
        return Quantity{number * p.factor, unit.kind};
      }
    }
    for (const Prefix& p : kBinary) {
      if (counts_bytes(unit.kind) && prefix == p.text) {
        return Quantity{number * p.factor, unit.kind};
      }
    }
    for (const Prefix& p : kSmall) {
      if (unit.kind == UnitKind::Seconds && prefix == p.text) {
        return Quantity{number / p.factor, unit.kind};
      }
    }
  }
  return std::nullopt;
}

std::string suggestion_for(std::string_view unit) {
  std::vector<std::string> candidates;
  for (const UnitName& known : kUnits) {
    for (const Prefix& p : kDecimal) {
      candidates.push_back(std::string(p.text) + std::string(known.text));
    }
    for (const Prefix& p : kBinary) {
      if (counts_bytes(known.kind)) {
        candidates.push_back(std::string(p.text) + std::string(known.text));
      }
    }
  }
  const std::string nearest = nearest_name(unit, candidates);
  return nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace

Result<Quantity> parse_quantity(std::string_view text, const std::string& where) {
  const std::string_view body = trim(text);
  double number = 0;
  const auto [end, code] = std::from_chars(body.data(), body.data() + body.size(), number);
  if (code != std::errc() || !std::isfinite(number)) {
    return error(where, fmt::format("\"{}\" does not start with a finite number; {}", text, kAccepted));
  }
  if (number < 0) {
    return error(where, fmt::format("\"{}\" is negative", text));
  }
  const std::string_view unit = trim(body.substr(static_cast<size_t>(end - body.data())));
  if (unit.empty()) {
    return error(where, fmt::format("\"{}\" has no unit; {}", text, kAccepted));
  }
  if (const auto quantity = match_unit(number, unit)) {
    return *quantity;
  }
  return error(where, fmt::format("unknown unit \"{}\" in \"{}\"; {}{}", unit, text, suggestion_for(unit), kAccepted));
}

std::string_view describe(UnitKind kind) {
  switch (kind) {
    case UnitKind::Bytes:
      return "bytes (B, KiB, ...)";
    case UnitKind::Hertz:
      return "a frequency (Hz, GHz, ...)";
    case UnitKind::BytesPerSecond:
      return "bytes per second (B/s, GB/s, ...)";
    case UnitKind::BytesPerCycle:
      return "bytes per cycle (B/cycle)";
    case UnitKind::Cycles:
      return "cycles";
    case UnitKind::Seconds:
      return "seconds (s, us, ...)";
  }
  return "?";
}

namespace {
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Twice the edit distance; a change of case counts half an edit.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    row[j] = 2 * j;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = 2 * (i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : lower(a[i]) == lower(b[j]) ? 1 : 2);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 2, row[j + 1] + 2});
    }
  }
  return row[b.size()];
}
}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  const size_t limit = 1 + name.size() / 4;
  size_t best = 2 * limit + 1;
  std::string result;
  for (const std::string& candidate : candidates) {
    // A name much longer or shorter cannot be near; skipping it also bounds the work on hostile input.
    if (candidate.size() > name.size() + limit || name.size() > candidate.size() + limit || name.size() > 256) {
      continue;
    }
    const size_t distance = edit_distance(name, candidate);
    if (distance < best) {
      best = distance;
      result = candidate;
    }
  }
  return result;
}

}  // namespace dlcc
