// Typed, table-driven reading of the YAML tree: findings with positions, units, defaults, provenance.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hw/machine.h"
#include "hw/machine_keys.h"
#include "hw/machine_tree.h"

namespace dlcc::hw {

/// Collects the findings of one file, where each YAML path lies, and where each number came from.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  void report(Position at, const std::string& path, const std::string& message);
  /// At the place of `path` in the file, or of the nearest path above it that is there.
  void report(const std::string& path, const std::string& message);
  /// True when something at or below that path was found wrong already: a check that depends on it would only repeat
  /// it.
  bool bad(const std::string& path) const;
  void remember(const std::string& path, Position at) { positions_.emplace(path, at); }
  void record(const std::string& path, Provenance provenance) {
    provenance_.insert_or_assign(path, std::move(provenance));
  }
  /// Sorted by position.
  Diags take_findings();
  std::map<std::string, Provenance> take_provenance() { return std::move(provenance_); }

  double clock_hz = 1e9;  // for conversions; replaced as soon as the clock is known

 private:
  struct Found {
    Position at;
    std::string message;
  };
  Position find(const std::string& path) const;
  std::string file_;
  std::vector<Found> found_;
  std::set<std::string> bad_paths_;
  std::map<std::string, Position> positions_;
  std::map<std::string, Provenance> provenance_;
};

/// Provenance that a mapping gives to the numbers in it.
struct Origin {
  std::string source;
  bool estimated = false;
};

/// A mapping of the file under its key table. Construction reports unknown, repeated and missing keys. Every getter
/// names a key of the table with that kind (checked); a key that is absent or wrong gives its default.
class Section {
 public:
  Section(Reader& reader, const Table& table, const TreeNode& node, std::string path, Position at,
          const Origin& inherited, std::string name = {});

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  std::string path_of(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  void report(std::string_view key, const std::string& message);

  std::string text(std::string_view key);
  int64_t integer(std::string_view key);
  double ratio(std::string_view key);
  int64_t bytes(std::string_view key);
  double clock(std::string_view key);
  double rate(std::string_view key);  // bytes per cycle
  std::map<int, double> rate_table(std::string_view key);
  int64_t cycles(std::string_view key);
  bool boolean(std::string_view key);
  int choice(std::string_view key);  // index into Key::choices; -1: absent or wrong
  std::vector<int> choices(std::string_view key);
  int ref(std::string_view key, const std::vector<std::string>& names);  // -1: absent or wrong
  std::vector<int> refs(std::string_view key, const std::vector<std::string>& names);
  std::vector<std::string> names(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  std::map<std::string, std::string> strings(std::string_view key);
  std::map<DType, int> type_ints(std::string_view key);
  std::map<DType, std::string> type_texts(std::string_view key);
  std::vector<std::string> shape(std::string_view key, const std::vector<std::string>& params);
  std::vector<IntrinsicParam> params(std::string_view key);
  std::optional<Section> mapping(std::string_view key);
  std::vector<Section> list(std::string_view key);
  std::vector<Section> map(std::string_view key);  // Section::name is the entry's key

  /// Every key of the table must have been asked for: a row that nothing reads is our bug.
  void finish() const;

 private:
  struct Leaf {
    std::string text;
    Position at;
    std::string path;
    Origin origin;
  };
  const TreeNode* find(std::string_view key) const;
  const Key& key_of(std::string_view key, KeyKind kind);
  std::string title() const;
  void check_keys();
  void read_origin();
  void expect(const TreeNode& node, const std::string& path, TreeNode::Kind kind, std::string_view what);
  std::optional<std::string> scalar(std::string_view key, std::string_view what);
  std::vector<std::pair<std::string, const TreeNode*>> sequence(std::string_view key, bool allow_scalar,
                                                                std::string_view what);
  std::vector<std::pair<std::string, const TreeEntry*>> entries(const TreeNode& node, const std::string& path,
                                                                std::string_view noun);
  std::optional<Leaf> leaf(const TreeNode& node, const std::string& path, std::string_view what);
  std::optional<Leaf> leaf(const Key& key);
  std::optional<int64_t> to_integer(const Leaf& leaf, int64_t min, int64_t max);
  std::optional<double> to_rate(const Leaf& leaf);
  void record(const Leaf& leaf, const std::string& value);

  Reader* reader_;
  const Table* table_;
  const TreeNode* node_;
  std::string path_;
  Position at_;
  Origin origin_;
  std::string name_;
  std::set<std::string_view> asked_;
};

bool is_identifier(std::string_view text);
/// All of the text as a decimal number.
std::optional<int64_t> parse_whole(std::string_view text);

}  // namespace dlcc::hw
