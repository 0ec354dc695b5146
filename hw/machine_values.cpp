// The getters of Section for numbers: text of a leaf -> value, with units and provenance.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "hw/machine_reader.h"

namespace dlcc::hw {
namespace {

constexpr int64_t kMaxCycles = int64_t{1} << 40;
constexpr double kMaxBytes = 1LL << 50;

struct UnitText {
  std::string_view noun;
  std::string_view accepted;
};

UnitText unit_text(KeyKind kind) {
  switch (kind) {
    case KeyKind::Bytes:
      return {"a size", "B, kB, MB, GB, KiB, MiB, GiB"};
    case KeyKind::Clock:
      return {"a frequency", "Hz, kHz, MHz, GHz"};
    case KeyKind::Rate:
    case KeyKind::RateTable:
      return {"a rate", "B/cycle, B/s, kB/s, MB/s, GB/s, TB/s"};
    default:
      return {"a duration", "cycles, s, ms, us, ns"};
  }
}

bool accepts(KeyKind kind, UnitKind unit) {
  switch (kind) {
    case KeyKind::Bytes:
      return unit == UnitKind::Bytes;
    case KeyKind::Clock:
      return unit == UnitKind::Hertz;
    case KeyKind::Rate:
    case KeyKind::RateTable:
      return unit == UnitKind::BytesPerSecond || unit == UnitKind::BytesPerCycle;
    default:
      return unit == UnitKind::Cycles || unit == UnitKind::Seconds;
  }
}

/// Non-negative and of that kind, or the reason why not.
Result<Quantity> quantity_of(const std::string& text, KeyKind kind) {
  const auto [noun, accepted] = unit_text(kind);
  if (text.find_first_not_of(' ') != std::string::npos && text[text.find_first_not_of(' ')] == '-') {
    return error("", fmt::format("'{}': {} must not be negative", text, noun));
  }
  Result<Quantity> quantity = parse_quantity(text, "");
  if (!quantity.ok() || !accepts(kind, quantity->kind) || !std::isfinite(quantity->value)) {
    return error("", fmt::format("'{}' is not {}; accepted units: {}", text, noun, accepted));
  }
  return quantity;
}

template <class T>
std::optional<T> parse(std::string_view text) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::optional<int64_t> parse_whole(std::string_view text) {
  return parse<int64_t>(text);
}

void Section::record(const Leaf& leaf, const std::string& value) {
  reader_->record(leaf.path, Provenance{leaf.origin.source, leaf.origin.estimated, value});
}

std::optional<Section::Leaf> Section::leaf(const TreeNode& node, const std::string& path, std::string_view what) {
  reader_->remember(path, node.at);
  if (node.kind == TreeNode::Kind::Scalar) {
    return Leaf{node.text, node.at, path, origin_};
  }
  if (node.kind != TreeNode::Kind::Map) {
    reader_->report(node.at, path, fmt::format("expected {}", what));
    return std::nullopt;
  }
  static const Table table{"number", "", {{.name = "value", .kind = KeyKind::Text, .required = true}}};
  Section section(*reader_, table, node, path, node.at, origin_);
  const auto value = section.scalar("value", what);
  return value ? std::optional(Leaf{*value, section.find("value")->at, path, section.origin_}) : std::nullopt;
}

std::optional<Section::Leaf> Section::leaf(const Key& key) {
  const auto [noun, accepted] = unit_text(key.kind);
  const bool plain = key.kind == KeyKind::Integer || key.kind == KeyKind::Ratio;
  if (const TreeNode* node = find(key.name)) {
    return leaf(*node, path_of(key.name), plain ? "a number" : noun);
  }
  if (key.fallback.empty()) {
    return std::nullopt;
  }
  return Leaf{std::string(key.fallback), at_, path_of(key.name), Origin{"default", false}};
}

std::optional<int64_t> Section::to_integer(const Leaf& leaf, int64_t min, int64_t max) {
  const auto value = parse_whole(leaf.text);
  if (!value || *value < min || *value > max) {
    reader_->report(leaf.at, leaf.path, fmt::format("'{}' is not a whole number from {} to {}", leaf.text, min, max));
    return std::nullopt;
  }
  record(leaf, fmt::format("{}", *value));
  return value;
}

std::optional<double> Section::to_rate(const Leaf& leaf) {
  const auto quantity = quantity_of(leaf.text, KeyKind::Rate);
  if (!quantity.ok() || quantity->value == 0) {
    reader_->report(
        leaf.at, leaf.path,
        quantity.ok() ? fmt::format("'{}': a rate must be above zero", leaf.text) : quantity.diags()[0].message);
    return std::nullopt;
  }
  const bool per_second = quantity->kind == UnitKind::BytesPerSecond;
  const double rate = per_second ? quantity->value / reader_->clock_hz : quantity->value;
  record(leaf, per_second ? fmt::format("{:.6g} B/cycle ({})", rate, leaf.text) : fmt::format("{:.6g} B/cycle", rate));
  return rate;
}

std::optional<std::string> Section::scalar(std::string_view key, std::string_view what) {
  const TreeNode* node = find(key);
  if (node == nullptr) {
    return std::nullopt;
  }
  if (node->kind != TreeNode::Kind::Scalar) {
    reader_->report(node->at, path_of(key), fmt::format("'{}' is {}", key, what));
    return std::nullopt;
  }
  return node->text;
}

std::string Section::text(std::string_view key) {
  const Key* row = table_->find(key);
  key_of(key, row != nullptr && row->kind == KeyKind::Name ? KeyKind::Name : KeyKind::Text);
  const std::string value = scalar(key, "a text").value_or("");
  if (row->kind == KeyKind::Name && has(key) && !is_identifier(value)) {
    reader_->report(find(key)->at, path_of(key),
                    fmt::format("'{}' is not a name: letters, digits and _, at most 64", value));
  }
  return value;
}

int64_t Section::integer(std::string_view key) {
  const Key& row = key_of(key, KeyKind::Integer);
  const auto value = leaf(row);
  return value ? to_integer(*value, row.min, row.max).value_or(row.min) : row.min;
}

double Section::ratio(std::string_view key) {
  const auto value = leaf(key_of(key, KeyKind::Ratio));
  if (!value) {
    return 1;
  }
  const auto number = parse<double>(value->text);
  if (!number || !std::isfinite(*number) || *number <= 0) {
    reader_->report(value->at, value->path, fmt::format("'{}' is not a number above zero", value->text));
    return 1;
  }
  record(*value, print_number(*number));
  return *number;
}

int64_t Section::bytes(std::string_view key) {
  const Key& row = key_of(key, KeyKind::Bytes);
  const auto value = leaf(row);
  if (!value) {
    return row.min;
  }
  const auto quantity = quantity_of(value->text, KeyKind::Bytes);
  if (!quantity.ok()) {
    reader_->report(value->at, value->path, quantity.diags()[0].message);
    return row.min;
  }
  const double number = quantity->value;
  const double max = row.max < (int64_t{1} << 40) ? static_cast<double>(row.max) : kMaxBytes;
  if (number != std::floor(number) || number < static_cast<double>(row.min) || number > max) {
    reader_->report(value->at, value->path,
                    fmt::format("'{}' is not a whole number of bytes from {} to {:.0f}", value->text, row.min, max));
    return row.min;
  }
  record(*value, fmt::format("{:.0f} B", number));
  return static_cast<int64_t>(number);
}

double Section::clock(std::string_view key) {
  const auto value = leaf(key_of(key, KeyKind::Clock));
  if (!value) {
    return reader_->clock_hz;
  }
  const auto quantity = quantity_of(value->text, KeyKind::Clock);
  if (!quantity.ok() || quantity->value == 0) {
    reader_->report(
        value->at, value->path,
        quantity.ok() ? fmt::format("'{}': a clock must be above zero", value->text) : quantity.diags()[0].message);
    return reader_->clock_hz;
  }
  record(*value, fmt::format("{:.10g} Hz", quantity->value));
  return quantity->value;
}

double Section::rate(std::string_view key) {
  const auto value = leaf(key_of(key, KeyKind::Rate));
  return value ? to_rate(*value).value_or(0) : 0;
}

std::map<int, double> Section::rate_table(std::string_view key) {
  key_of(key, KeyKind::RateTable);
  std::map<int, double> table;
  const TreeNode* node = find(key);
  const bool is_leaf =
      node != nullptr &&
      (node->kind == TreeNode::Kind::Scalar ||
       (node->kind == TreeNode::Kind::Map &&
        std::any_of(node->entries.begin(), node->entries.end(), [](const TreeEntry& e) { return e.key == "value"; })));
  if (node == nullptr || is_leaf) {
    const auto value = node == nullptr ? std::nullopt : leaf(*node, path_of(key), "a rate");
    const auto rate = value ? to_rate(*value) : std::nullopt;
    return rate ? std::map<int, double>{{1, *rate}} : table;
  }
  if (node->kind != TreeNode::Kind::Map || node->entries.empty()) {
    reader_->report(node->at, path_of(key), fmt::format("'{}' is a rate, or a mapping {{cores: rate, ...}}", key));
    return table;
  }
  for (const TreeEntry& entry : node->entries) {
    const std::string path = fmt::format("{}.{}", path_of(key), entry.key);
    const auto cores = parse<int>(entry.key);
    if (!cores || *cores < 1) {
      reader_->report(entry.at, path, fmt::format("'{}' is not a number of cores", entry.key));
    } else if (!table.empty() && table.rbegin()->first >= *cores) {
      reader_->report(entry.at, path,
                      fmt::format("rates are listed by ascending cores: {} after {}", *cores, table.rbegin()->first));
    } else if (const auto value = leaf(entry.value, path, "a rate")) {
      table.emplace_hint(table.end(), *cores, to_rate(*value).value_or(1));
    }
  }
  return table;
}

int64_t Section::cycles(std::string_view key) {
  const Key& row = key_of(key, KeyKind::Cycles);
  const auto value = leaf(row);
  if (!value) {
    return row.min;
  }
  const auto quantity = quantity_of(value->text, KeyKind::Cycles);
  if (!quantity.ok()) {
    reader_->report(value->at, value->path, quantity.diags()[0].message);
    return row.min;
  }
  const bool seconds = quantity->kind == UnitKind::Seconds;
  const double cycles = std::round(seconds ? quantity->value * reader_->clock_hz : quantity->value);
  if (cycles > static_cast<double>(kMaxCycles) || cycles < static_cast<double>(row.min) ||
      (!seconds && cycles != quantity->value)) {
    reader_->report(
        value->at, value->path,
        fmt::format("'{}' is not a whole number of cycles from {} to {}", value->text, row.min, kMaxCycles));
    return row.min;
  }
  record(*value,
         seconds ? fmt::format("{:.0f} cycles ({})", cycles, value->text) : fmt::format("{:.0f} cycles", cycles));
  return static_cast<int64_t>(cycles);
}

}  // namespace dlcc::hw
