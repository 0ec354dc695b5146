// The key tables as Markdown, for docs/chips.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/machine_keys.h"

namespace dlcc::hw {
namespace {

std::string value_text(const Key& key) {
  switch (key.kind) {
    case KeyKind::Text:
      return "text";
    case KeyKind::Name:
      return "name";
    case KeyKind::Integer:
      return key.max >= (int64_t{1} << 40) ? fmt::format("whole number from {}", key.min)
                                           : fmt::format("whole number, {} to {}", key.min, key.max);
    case KeyKind::Ratio:
      return "number";
    case KeyKind::Bytes:
      return "size";
    case KeyKind::Clock:
      return "frequency";
    case KeyKind::Rate:
      return "rate";
    case KeyKind::RateTable:
      return "rate, or cores: rate";
    case KeyKind::Cycles:
      return "duration";
    case KeyKind::Boolean:
      return "true, false";
    case KeyKind::Choice:
      return fmt::format("{}", fmt::join(key.choices, ", "));
    case KeyKind::Choices:
      return key.choices.size() > 16 ? "word or list of words"
                                     : fmt::format("list of {}", fmt::join(key.choices, ", "));
    case KeyKind::Ref:
      return fmt::format("name in `{}`", key.target);
    case KeyKind::Refs:
      return fmt::format("list of names in `{}`", key.target);
    case KeyKind::Names:
      return "list of names";
    case KeyKind::Texts:
      return "list of texts";
    case KeyKind::Strings:
      return "name: text";
    case KeyKind::TypeInts:
      return "type: whole number";
    case KeyKind::TypeTexts:
      return "type: text";
    case KeyKind::Shape:
      return "list of parameters and whole numbers";
    case KeyKind::Params:
      return "name: range";
    case KeyKind::Mapping:
      return fmt::format("mapping: {}", key.table->name);
    case KeyKind::List:
      return fmt::format("list of mappings: {}", key.table->name);
    default:
      return fmt::format("name: mapping: {}", key.table->name);
  }
}

}  // namespace

std::string key_tables_markdown() {
  std::string text;
  for (const Table* table : all_tables()) {
    text += fmt::format("### {}\n\n{}\n\n| key | value | default | meaning |\n|---|---|---|---|\n", table->name,
                        table->doc);
    for (const Key& key : table->keys) {
      const std::string fallback = key.required           ? "required"
                                   : key.fallback.empty() ? ""
                                                          : fmt::format("`{}`", key.fallback);
      text += fmt::format("| `{}` | {} | {} | {} |\n", key.name, value_text(key), fallback, key.doc);
    }
    text += '\n';
  }
  return text;
}

}  // namespace dlcc::hw
