// The key tables of the chip file: one table per mapping, one row per key. The parser, the JSON Schema and the tables
// in docs/chips.md are all driven by these rows, so they cannot disagree.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace dlcc::hw {

/// What a key's value looks like.
enum class KeyKind : uint8_t {
  Text,       // free text
  Name,       // identifier
  Integer,    // whole number inside [min, max]
  Ratio,      // positive number
  Bytes,      // "64 KiB"
  Clock,      // "1.45 GHz"
  Rate,       // "26.5 GB/s" or "16 B/cycle"
  RateTable,  // a rate, or {cores: rate, ...}
  Cycles,     // "290 cycles" or "200 ns"
  Boolean,    // true, false
  Choice,     // one of choices
  Choices,    // one of choices or a list of them
  Ref,        // name of an entry of the section `target`
  Refs,       // list of such names
  Names,      // list of identifiers that this key declares
  Texts,      // list of strings
  Strings,    // mapping of identifier to string
  TypeInts,   // mapping of element type to whole number
  TypeTexts,  // mapping of element type to string
  Shape,      // list of parameter names and whole numbers
  Params,     // mapping of identifier to "1..64", "16..256 by 16" or "bool"
  Mapping,    // a mapping described by `table`
  List,       // list of such mappings
  Map,        // mapping of identifier to such mappings
};

struct Table;

struct Key {
  std::string_view name;
  KeyKind kind = KeyKind::Text;
  bool required = false;
  std::string_view fallback = {};  // YAML text of the default; empty: absent
  std::string_view doc = {};
  std::vector<std::string_view> choices = {};
  std::string_view target = {};  // Ref, Refs: section, "memories"
  const Table* table = nullptr;  // Mapping, List, Map
  int64_t min = 0;
  int64_t max = int64_t{1} << 40;
};

/// Every table also accepts `source` (text) and `estimated` (true): they apply to the numbers of that mapping and of
/// those below it.
struct Table {
  std::string_view name;  // "memory"
  std::string_view doc;
  std::vector<Key> keys;
  const Key* find(std::string_view key) const;
};

/// The root, and all tables in the order of the manual.
const Table& chip_table();
std::vector<const Table*> all_tables();

/// Names of element types, as in YAML.
const std::vector<std::string_view>& type_names();
/// Operations that an entry of vector.ops may name for that type; "any" stands for those without an entry of their own.
std::vector<std::string_view> vector_op_names(DType type);
/// The same for vector.scalar_ops. A type that appears there must have all of them.
std::vector<std::string_view> scalar_op_names(DType type);

/// The tables of docs/chips.md.
std::string key_tables_markdown();

}  // namespace dlcc::hw
