// YAML text -> a plain tree with positions. Bounded: size, number of nodes and depth are limited, anchors and aliases
// are refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dlcc::hw {

/// Line and column, from 1.
struct Position {
  int line = 1;
  int column = 1;
};

struct TreeEntry;

struct TreeNode {
  enum class Kind : uint8_t { Null, Scalar, List, Map };
  Kind kind = Kind::Null;
  Position at;
  std::string text;                // Scalar
  std::vector<TreeNode> items;     // List
  std::vector<TreeEntry> entries;  // Map, in the order of the file, repeated keys included
};
struct TreeEntry {
  std::string key;
  Position at;
  TreeNode value;
};

constexpr size_t kMaxYamlBytes = size_t{1} << 20;
constexpr size_t kMaxYamlNodes = 50000;
constexpr size_t kMaxYamlDepth = 32;

Result<TreeNode> parse_yaml_tree(std::string_view yaml, const std::string& file);

}  // namespace dlcc::hw
