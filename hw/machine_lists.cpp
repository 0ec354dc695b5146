// The getters of Section for words, names, references, lists and maps.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "hw/machine_reader.h"

namespace dlcc::hw {
namespace {

std::string hint_for(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string near =
      name.size() < 3 ? std::string() : nearest_name(name, candidates);  // any two short names are near
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

std::vector<std::string> to_strings(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

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
  const auto min = parse_whole(text.substr(0, dots));
  const auto max = parse_whole(text.substr(dots + 2, by == std::string_view::npos ? by : by - dots - 2));
  const auto step = by == std::string_view::npos ? std::optional<int64_t>(1) : parse_whole(text.substr(by + 4));
  constexpr int64_t limit = int64_t{1} << 31;
  if (!min || !max || !step || *min < 1 || *max < *min || *max > limit || *step < 1 || *min % *step != 0 ||
      *max % *step != 0) {
    return std::nullopt;
  }
  param.min = *min;
  param.max = *max;
  param.multiple_of = *step;
  return param;
}

}  // namespace

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
      reader_->report(find(key)->at, path_of(key),
                      fmt::format("unknown {} '{}'{}", key, value, hint_for(value, to_strings(row.choices))));
    }
    return -1;
  }
  return static_cast<int>(it - row.choices.begin());
}

std::vector<std::pair<std::string, const TreeNode*>> Section::sequence(std::string_view key, bool allow_scalar,
                                                                       std::string_view what) {
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
      reader_->report(node->at, path,
                      fmt::format("unknown {} '{}'{}", key, node->text, hint_for(node->text, to_strings(row.choices))));
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
    reader_->report(find(key)->at, path_of(key),
                    fmt::format("no {} is named '{}'{}", noun_of(row.target), *value, hint_for(*value, names)));
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
      reader_->report(
          node->at, path,
          fmt::format("no {} is named '{}'{}", noun_of(row.target), node->text, hint_for(node->text, names)));
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
      reader_->report(entry->at, path,
                      fmt::format("unknown type '{}'{}", entry->key, hint_for(entry->key, to_strings(type_names()))));
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
      reader_->report(entry->at, path,
                      fmt::format("unknown type '{}'{}", entry->key, hint_for(entry->key, to_strings(type_names()))));
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
    const auto number = parse_whole(node->text);
    if (number ? *number < 1 || *number > (int64_t{1} << 31)
               : std::find(params.begin(), params.end(), node->text) == params.end()) {
      reader_->report(node->at, path,
                      fmt::format("no parameter is named '{}'{}", node->text, hint_for(node->text, params)));
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
    IntrinsicParam named;
    named.name = entry->key;
    const auto param = parse_param(entry->key, value->text);
    result.push_back(param.value_or(named));  // the name is known even where its range is wrong
    if (param) {
      record(*value, value->text);
    } else {
      reader_->report(value->at, path,
                      fmt::format("'{}' is not a parameter range: '1..64', '16..256 by 16' or 'bool'", value->text));
    }
  }
  return result;
}

}  // namespace dlcc::hw
