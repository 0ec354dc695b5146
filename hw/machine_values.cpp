// The typed getters of Section: text of a leaf -> value, with units and provenance.
#include <fmt/format.h>
#include <fmt/ranges.h>

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
  Result<Quantity> quantity = parse_quantity(text, "");
  if (!quantity.ok() || !accepts(kind, quantity->kind)) {
    return error("", fmt::format("'{}' is not {}; accepted units: {}", text, noun, accepted));
  }
  if (!std::isfinite(quantity->value) || quantity->value < 0) {
    return error("", fmt::format("'{}': {} must not be negative", text, noun));
  }
  return quantity;
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  return value;
}

std::string hint_for(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string near = nearest_name(name, candidates);
  if (!near.empty()) {
    return fmt::format(", did you mean '{}'", near);
  }
  return candidates.empty() ? ", there are none" : fmt::format("; there are: {}", fmt::join(candidates, ", "));
}

std::string noun_of(std::string_view target) {
  static const std::map<std::string_view, std::string_view> nouns = {
      {"memories", "memory"}, {"pipes", "pipe"}, {"dma", "dma engine"}, {"layouts", "layout"}, {"issue.ports", "port"}};
  return std::string(nouns.at(target));
}

std::vector<std::string> to_strings(const std::vector<std::string_view>& views) { return {views.begin(), views.end()}; }

/// "1..64", "16..256 by 16", "bool"
std::optional<IntrinsicParam> parse_param(const std::string& name, std::string_view text) {
  IntrinsicParam param;
  param.name = name;
  if (text == "bool") {
    param.is_bool = true;
    param.min = 0;
    return param;
  }
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    return std::nullopt;
  }
  const size_t by = text.find(" by ");
  const auto min = parse_number<int64_t>(text.substr(0, dots));
  const auto max = parse_number<int64_t>(text.substr(dots + 2, by == std::string_view::npos ? by : by - dots - 2));
  const auto step = by == std::string_view::npos ? std::optional<int64_t>(1) : parse_number<int64_t>(text.substr(by + 4));
  constexpr int64_t limit = int64_t{1} << 31;
  if (!min || !max || !step || *min < 1 || *max < *min || *max > limit || *step < 1 || *min % *step != 0 || *max % *step != 0) {
    return std::nullopt;
  }
  param.min = *min;
  param.max = *max;
  param.multiple_of = *step;
  return param;
}

}  // namespace

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
  const auto value = parse_number<int64_t>(leaf.text);
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
    reader_->report(leaf.at, leaf.path, quantity.ok() ? fmt::format("'{}': a rate must be above zero", leaf.text) : quantity.diags()[0].message);
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
    reader_->report(find(key)->at, path_of(key), fmt::format("'{}' is not a name: letters, digits and _, at most 64", value));
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
  const auto number = parse_number<double>(value->text);
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
    reader_->report(value->at, value->path, fmt::format("'{}' is not a whole number of bytes from {} to {:.0f}", value->text, row.min, max));
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
    reader_->report(value->at, value->path, quantity.ok() ? fmt::format("'{}': a clock must be above zero", value->text) : quantity.diags()[0].message);
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
  const bool is_leaf = node != nullptr && (node->kind == TreeNode::Kind::Scalar ||
                                           (node->kind == TreeNode::Kind::Map && std::any_of(node->entries.begin(), node->entries.end(),
                                                                                             [](const TreeEntry& e) { return e.key == "value"; })));
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
    const auto cores = parse_number<int>(entry.key);
    if (!cores || *cores < 1) {
      reader_->report(entry.at, path, fmt::format("'{}' is not a number of cores", entry.key));
    } else if (!table.empty() && table.rbegin()->first >= *cores) {
      reader_->report(entry.at, path, fmt::format("rates are listed by ascending cores: {} after {}", *cores, table.rbegin()->first));
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
  if (cycles > static_cast<double>(kMaxCycles) || cycles < static_cast<double>(row.min) || (!seconds && cycles != quantity->value)) {
    reader_->report(value->at, value->path, fmt::format("'{}' is not a whole number of cycles from {} to {}", value->text, row.min, kMaxCycles));
    return row.min;
  }
  record(*value, seconds ? fmt::format("{:.0f} cycles ({})", cycles, value->text) : fmt::format("{:.0f} cycles", cycles));
  return static_cast<int64_t>(cycles);
}

bool Section::boolean(std::string_view key) {
  const Key& row = key_of(key, KeyKind::Boolean);
  const std::string value = scalar(key, "true or false").value_or(std::string(row.fallback));
  if (value != "true" && value != "false") {
    reader_->report(find(key)->at, path_of(key), fmt::format("'{}' is neither true nor false", value));
  }
  return value == "true";
}

int Section::choice(std::string_view key) {
  const Key& row = key_of(key, KeyKind::Choice);
  const std::string value = scalar(key, "a single word").value_or(std::string(row.fallback));
  const auto it = std::find(row.choices.begin(), row.choices.end(), value);
  if (it == row.choices.end()) {
    if (has(key) && find(key)->kind == TreeNode::Kind::Scalar) {
      reader_->report(find(key)->at, path_of(key), fmt::format("unknown {} '{}'{}", key, value, hint_for(value, to_strings(row.choices))));
    }
    return -1;
  }
  return static_cast<int>(it - row.choices.begin());
}

std::vector<std::pair<std::string, const TreeNode*>> Section::sequence(std::string_view key, bool allow_scalar, std::string_view what) {
  std::vector<std::pair<std::string, const TreeNode*>> result;
  const TreeNode* node = find(key);
  if (node == nullptr) {
    return result;
  }
  if (allow_scalar && node->kind == TreeNode::Kind::Scalar) {
    return {{path_of(key), node}};
  }
  if (node->kind != TreeNode::Kind::List) {
    reader_->report(node->at, path_of(key), fmt::format("'{}' is a list of {}", key, what));
    return result;
  }
  for (size_t i = 0; i < node->items.size(); ++i) {
    const TreeNode& item = node->items[i];
    const std::string path = fmt::format("{}[{}]", path_of(key), i);
    reader_->remember(path, item.at);
    if (item.kind != TreeNode::Kind::Scalar) {
      reader_->report(item.at, path, fmt::format("'{}' is a list of {}", key, what));
    } else {
      result.emplace_back(path, &item);
    }
  }
  if (node->items.empty() && table_->find(key)->required) {
    reader_->report(node->at, path_of(key), fmt::format("'{}' is empty", key));
  }
  return result;
}

std::vector<int> Section::choices(std::string_view key) {
  const Key& row = key_of(key, KeyKind::Choices);
  std::vector<int> result;
  for (const auto& [path, node] : sequence(key, true, "words")) {
    const auto it = std::find(row.choices.begin(), row.choices.end(), node->text);
    const int index = static_cast<int>(it - row.choices.begin());
    if (it == row.choices.end()) {
      reader_->report(node->at, path, fmt::format("unknown {} '{}'{}", key, node->text, hint_for(node->text, to_strings(row.choices))));
    } else if (std::find(result.begin(), result.end(), index) != result.end()) {
      reader_->report(node->at, path, fmt::format("'{}' is listed twice", node->text));
    } else {
      result.push_back(index);
    }
  }
  return result;
}

int Section::ref(std::string_view key, const std::vector<std::string>& names) {
  const Key& row = key_of(key, KeyKind::Ref);
  const auto value = scalar(key, "a name");
  if (!value) {
    return kNone;
  }
  const auto it = std::find(names.begin(), names.end(), *value);
  if (it == names.end()) {
    reader_->report(find(key)->at, path_of(key), fmt::format("no {} is named '{}'{}", noun_of(row.target), *value, hint_for(*value, names)));
    return kNone;
  }
  return static_cast<int>(it - names.begin());
}

std::vector<int> Section::refs(std::string_view key, const std::vector<std::string>& names) {
  const Key& row = key_of(key, KeyKind::Refs);
  std::vector<int> result;
  for (const auto& [path, node] : sequence(key, false, "names")) {
    const auto it = std::find(names.begin(), names.end(), node->text);
    const int index = static_cast<int>(it - names.begin());
    if (it == names.end()) {
      reader_->report(node->at, path, fmt::format("no {} is named '{}'{}", noun_of(row.target), node->text, hint_for(node->text, names)));
    } else if (std::find(result.begin(), result.end(), index) != result.end()) {
      reader_->report(node->at, path, fmt::format("'{}' is listed twice", node->text));
    } else {
      result.push_back(index);
    }
  }
  return result;
}

std::vector<std::string> Section::names(std::string_view key) {
  key_of(key, KeyKind::Names);
  std::vector<std::string> result;
  for (const auto& [path, node] : sequence(key, false, "names")) {
    if (!is_identifier(node->text)) {
      reader_->report(node->at, path, fmt::format("'{}' is not a name: letters, digits and _, at most 64", node->text));
    } else if (std::find(result.begin(), result.end(), node->text) != result.end()) {
      reader_->report(node->at, path, fmt::format("'{}' is declared twice", node->text));
    } else {
      result.push_back(node->text);
    }
  }
  return result;
}

std::vector<std::string> Section::texts(std::string_view key) {
  key_of(key, KeyKind::Texts);
  std::vector<std::string> result;
  for (const auto& [path, node] : sequence(key, false, "texts")) {
    result.push_back(node->text);
  }
  return result;
}

std::map<std::string, std::string> Section::strings(std::string_view key) {
  key_of(key, KeyKind::Strings);
  std::map<std::string, std::string> result;
  const TreeNode* node = find(key);
  if (node == nullptr) {
    return result;
  }
  for (const auto& [path, entry] : entries(*node, path_of(key), "entry")) {
    if (entry->value.kind != TreeNode::Kind::Scalar) {
      reader_->report(entry->value.at, path, fmt::format("'{}' is a text", entry->key));
    } else {
      result.emplace(entry->key, entry->value.text);
    }
  }
  return result;
}

std::map<DType, int> Section::type_ints(std::string_view key) {
  const Key& row = key_of(key, KeyKind::TypeInts);
  std::map<DType, int> result;
  const TreeNode* node = find(key);
  if (node == nullptr) {
    return result;
  }
  for (const auto& [path, entry] : entries(*node, path_of(key), "type")) {
    const auto type = dtype_from_name(entry->key);
    if (!type) {
      reader_->report(entry->at, path, fmt::format("unknown type '{}'{}", entry->key, hint_for(entry->key, to_strings(type_names()))));
    } else if (const auto value = leaf(entry->value, path, "a number")) {
      if (const auto number = to_integer(*value, row.min, row.max)) {
        result.emplace(*type, static_cast<int>(*number));
      }
    }
  }
  return result;
}

std::map<DType, std::string> Section::type_texts(std::string_view key) {
  key_of(key, KeyKind::TypeTexts);
  std::map<DType, std::string> result;
  const TreeNode* node = find(key);
  if (node == nullptr) {
    return result;
  }
  for (const auto& [path, entry] : entries(*node, path_of(key), "type")) {
    const auto type = dtype_from_name(entry->key);
    if (!type) {
      reader_->report(entry->at, path, fmt::format("unknown type '{}'{}", entry->key, hint_for(entry->key, to_strings(type_names()))));
    } else if (entry->value.kind != TreeNode::Kind::Scalar) {
      reader_->report(entry->value.at, path, fmt::format("'{}' is a text", entry->key));
    } else {
      result.emplace(*type, entry->value.text);
    }
  }
  return result;
}

std::vector<std::string> Section::shape(std::string_view key, const std::vector<std::string>& params) {
  key_of(key, KeyKind::Shape);
  std::vector<std::string> result;
  for (const auto& [path, node] : sequence(key, false, "parameter names and whole numbers")) {
    const auto number = parse_number<int64_t>(node->text);
    if (number ? *number < 1 || *number > (int64_t{1} << 31) : std::find(params.begin(), params.end(), node->text) == params.end()) {
      reader_->report(node->at, path, fmt::format("no parameter is named '{}'{}", node->text, hint_for(node->text, params)));
    } else {
      result.push_back(node->text);
    }
  }
  return result;
}

std::vector<IntrinsicParam> Section::params(std::string_view key) {
  key_of(key, KeyKind::Params);
  std::vector<IntrinsicParam> result;
  const TreeNode* node = find(key);
  if (node == nullptr) {
    return result;
  }
  for (const auto& [path, entry] : entries(*node, path_of(key), "parameter")) {
    const auto value = leaf(entry->value, path, "a range");
    if (!value) {
      continue;
    }
    if (const auto param = parse_param(entry->key, value->text)) {
      record(*value, value->text);
      result.push_back(*param);
    } else {
      reader_->report(value->at, path, fmt::format("'{}' is not a parameter range: '1..64', '16..256 by 16' or 'bool'", value->text));
    }
  }
  return result;
}

}  // namespace dlcc::hw
