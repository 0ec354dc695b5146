// Findings and positions; keys of a mapping against its table.
#include "hw/machine_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/units.h"

namespace dlcc::hw {
namespace {

constexpr size_t kMaxFindings = 100;

bool is_below(std::string_view path, std::string_view top) {
  return path.starts_with(top) &&
         (top.empty() || path.size() == top.size() || path[top.size()] == '.' || path[top.size()] == '[');
}

std::string parent_of(const std::string& path) {
  const size_t cut = path.find_last_of(".[");
  return cut == std::string::npos ? std::string() : path.substr(0, cut);
}

}  // namespace

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && text.size() <= 64 && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

void Reader::report(Position at, const std::string& path, const std::string& message) {
  bad_paths_.insert(path);
  found_.push_back({at, message});
}

Position Reader::find(const std::string& path) const {
  std::string at = path;
  while (true) {
    const auto it = positions_.find(at);
    if (it != positions_.end() || at.empty()) {
      return it == positions_.end() ? Position{} : it->second;
    }
    at = parent_of(at);
  }
}

void Reader::report(const std::string& path, const std::string& message) {
  report(find(path), path, message);
}

bool Reader::bad(const std::string& path) const {
  return std::any_of(bad_paths_.begin(), bad_paths_.end(), [&](const std::string& bad) {
    return is_below(bad, path) || (!bad.empty() && is_below(path, bad));
  });
}

Diags Reader::take_findings() {
  const auto order = [](const Found& f) { return std::tie(f.at.line, f.at.column, f.message); };
  std::sort(found_.begin(), found_.end(), [&](const Found& a, const Found& b) { return order(a) < order(b); });
  Diags diags;
  for (const Found& found : found_) {
    if (diags.size() == kMaxFindings) {
      diags.push_back(
          {DiagKind::Error, file_, fmt::format("{} more findings are not shown", found_.size() - kMaxFindings)});
      break;
    }
    diags.push_back({DiagKind::Error, fmt::format("{}:{}:{}", file_, found.at.line, found.at.column), found.message});
  }
  return diags;
}

Section::Section(Reader& reader, const Table& table, const TreeNode& node, std::string path, Position at,
                 const Origin& inherited, std::string name)
    : reader_(&reader),
      table_(&table),
      node_(&node),
      path_(std::move(path)),
      at_(at),
      origin_(inherited),
      name_(std::move(name)) {
  reader_->remember(path_, at_);
  if (node_->kind != TreeNode::Kind::Map) {
    reader_->report(at_, path_,
                    fmt::format("{} is a mapping with the keys of its table, not a {}", title(),
                                node_->kind == TreeNode::Kind::List ? "list" : "single value"));
    return;
  }
  check_keys();
  read_origin();
}

std::string Section::title() const {
  return name_.empty() ? fmt::format("the {}", table_->name) : fmt::format("{} '{}'", table_->name, name_);
}

std::string Section::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void Section::report(std::string_view key, const std::string& message) {
  reader_->report(path_of(key), message);
}

void Section::check_keys() {
  std::vector<std::string> known;
  for (const Key& key : table_->keys) {
    known.emplace_back(key.name);
  }
  known.insert(known.end(), {"source", "estimated"});
  std::set<std::string_view> seen;
  for (const TreeEntry& entry : node_->entries) {
    const std::string path = path_of(entry.key);
    reader_->remember(path, entry.at);
    if (!seen.insert(entry.key).second) {
      reader_->report(entry.at, path, fmt::format("the key '{}' is given twice in {}", entry.key, title()));
    } else if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
      const std::string near = nearest_name(entry.key, known);
      const std::string hint =
          near.empty() ? fmt::format("; keys: {}", fmt::join(known, ", ")) : fmt::format(", did you mean '{}'", near);
      reader_->report(entry.at, path, fmt::format("unknown key '{}' in {}{}", entry.key, title(), hint));
    }
  }
  for (const Key& key : table_->keys) {
    if (key.required && !seen.contains(key.name)) {
      reader_->report(at_, path_of(key.name), fmt::format("{} lacks the key '{}'", title(), key.name));
    }
  }
}

void Section::read_origin() {
  Origin own;
  bool given = false;
  for (const TreeEntry& entry : node_->entries) {
    const bool source = entry.key == "source";
    if (!source && entry.key != "estimated") {
      continue;
    }
    given = true;
    if (source && entry.value.kind == TreeNode::Kind::Scalar) {
      own.source = entry.value.text;
    } else if (!source && entry.value.kind == TreeNode::Kind::Scalar &&
               (entry.value.text == "true" || entry.value.text == "false")) {
      own.estimated = entry.value.text == "true";
    } else {
      reader_->report(entry.at, path_of(entry.key), source ? "'source' is a text" : "'estimated' is true or false");
    }
  }
  if (given) {
    origin_ = own;
  }
}

const TreeNode* Section::find(std::string_view key) const {
  for (const TreeEntry& entry : node_->entries) {
    if (entry.key == key) {
      return &entry.value;
    }
  }
  return nullptr;
}

const Key& Section::key_of(std::string_view key, KeyKind kind) {
  const Key* row = table_->find(key);
  DLCC_CHECK(row != nullptr && row->kind == kind)
      << "table " << std::string(table_->name) << " has no such key " << std::string(key);
  asked_.insert(row->name);
  return *row;
}

void Section::finish() const {
  for (const Key& key : table_->keys) {
    DLCC_CHECK(asked_.contains(key.name))
        << "nothing reads " << std::string(key.name) << " of " << std::string(table_->name);
  }
}

std::optional<Section> Section::mapping(std::string_view key) {
  const Key& row = key_of(key, KeyKind::Mapping);
  for (const TreeEntry& entry : node_->entries) {
    if (entry.key == key) {
      return Section(*reader_, *row.table, entry.value, path_of(key), entry.at, origin_);
    }
  }
  return std::nullopt;
}

std::vector<Section> Section::list(std::string_view key) {
  const Key& row = key_of(key, KeyKind::List);
  std::vector<Section> sections;
  const TreeNode* node = find(key);
  if (node == nullptr) {
    return sections;
  }
  if (node->kind != TreeNode::Kind::List) {
    reader_->report(node->at, path_of(key), fmt::format("'{}' is a list of mappings", key));
    return sections;
  }
  if (node->items.empty() && row.required) {
    reader_->report(node->at, path_of(key), fmt::format("'{}' is empty", key));
  }
  for (size_t i = 0; i < node->items.size(); ++i) {
    const TreeNode& item = node->items[i];
    sections.emplace_back(*reader_, *row.table, item, fmt::format("{}[{}]", path_of(key), i), item.at, origin_);
  }
  return sections;
}

std::vector<Section> Section::map(std::string_view key) {
  const Key& row = key_of(key, KeyKind::Map);
  std::vector<Section> sections;
  const TreeNode* node = find(key);
  if (node == nullptr) {
    return sections;
  }
  for (const auto& [path, entry] : entries(*node, path_of(key), row.table->name)) {
    sections.emplace_back(*reader_, *row.table, entry->value, path, entry->at, origin_, entry->key);
  }
  if (sections.empty() && row.required && !reader_->bad(path_of(key))) {
    reader_->report(path_of(key), fmt::format("'{}' is empty", key));
  }
  return sections;
}

std::vector<std::pair<std::string, const TreeEntry*>> Section::entries(const TreeNode& node, const std::string& path,
                                                                       std::string_view noun) {
  std::vector<std::pair<std::string, const TreeEntry*>> result;
  if (node.kind != TreeNode::Kind::Map) {
    reader_->report(path, fmt::format("'{}' is a mapping from names to values", path));
    return result;
  }
  std::set<std::string_view> seen;
  for (const TreeEntry& entry : node.entries) {
    const std::string entry_path = fmt::format("{}.{}", path, entry.key);
    reader_->remember(entry_path, entry.at);
    if (!is_identifier(entry.key)) {
      reader_->report(entry.at, entry_path,
                      fmt::format("'{}' is not a name: letters, digits and _, at most 64", entry.key));
    } else if (!seen.insert(entry.key).second) {
      reader_->report(entry.at, entry_path, fmt::format("{} '{}' is declared twice", noun, entry.key));
    } else {
      result.emplace_back(entry_path, &entry);
    }
  }
  return result;
}

}  // namespace dlcc::hw
