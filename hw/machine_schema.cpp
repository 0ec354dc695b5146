// The key tables as a JSON Schema for editors.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hw/machine_keys.h"
#include "hw/machine_yaml.h"

namespace dlcc::hw {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kName = "^[A-Za-z_][A-Za-z0-9_]{0,63}$";

std::string definition_name(const Table& table) {
  std::string name(table.name);
  for (char& c : name) {
    c = c == ' ' ? '_' : c;
  }
  return name;
}

Json reference(const std::string& name) {
  return {{"$ref", "#/$defs/" + name}};
}
Json list_of(Json item) {
  return {{"type", "array"}, {"items", std::move(item)}};
}
Json map_of(Json value, const Json& keys) {
  return {{"type", "object"}, {"propertyNames", keys}, {"additionalProperties", std::move(value)}};
}
Json name_pattern() {
  return {{"type", "string"}, {"pattern", kName}};
}
Json one_of_names(const std::vector<std::string_view>& names) {
  Json list = Json::array();
  for (const std::string_view name : names) {
    list.push_back(std::string(name));
  }
  return {{"enum", std::move(list)}};
}

/// A number: itself, or {value, source, estimated}.
Json with_origin(const Json& plain) {
  Json mapping = {
      {"type", "object"},
      {"properties", {{"value", plain}, {"source", {{"type", "string"}}}, {"estimated", {{"type", "boolean"}}}}},
      {"required", {"value"}},
      {"additionalProperties", false}};
  return {{"oneOf", {plain, std::move(mapping)}}};
}

Json quantity(const std::string& units) {
  return with_origin({{"type", "string"}, {"pattern", fmt::format("^ *[0-9][0-9.eE+-]* *({}) *$", units)}});
}

Json integer(const Key& key) {
  return with_origin({{"type", "integer"}, {"minimum", key.min}, {"maximum", key.max}});
}

Json lists_and_maps(const Key& key) {
  const Json scalar = {{"type", {"string", "number", "boolean"}}};
  switch (key.kind) {
    case KeyKind::Choices:
      return {{"oneOf", {one_of_names(key.choices), list_of(one_of_names(key.choices))}}};
    case KeyKind::Refs:
    case KeyKind::Names:
      return list_of(name_pattern());
    case KeyKind::Texts:
      return list_of(scalar);
    case KeyKind::Strings:
      return map_of(scalar, name_pattern());
    case KeyKind::TypeInts:
      return map_of(integer(key), one_of_names(type_names()));
    case KeyKind::TypeTexts:
      return map_of(scalar, one_of_names(type_names()));
    case KeyKind::Shape:
      return list_of({{"oneOf", {name_pattern(), {{"type", "integer"}, {"minimum", 1}}}}});
    case KeyKind::Params:
      return map_of(with_origin({{"type", "string"}, {"pattern", "^(bool|[0-9]+\\.\\.[0-9]+( by [0-9]+)?)$"}}),
                    name_pattern());
    case KeyKind::RateTable:
      return {{"oneOf", {reference("rate"), map_of(reference("rate"), {{"pattern", "^[0-9]+$"}})}}};
    case KeyKind::Mapping:
      return reference(definition_name(*key.table));
    case KeyKind::List:
      return list_of(reference(definition_name(*key.table)));
    default:
      return map_of(reference(definition_name(*key.table)), name_pattern());
  }
}

Json value_schema(const Key& key) {
  switch (key.kind) {
    case KeyKind::Text:
      return {{"type", {"string", "number"}}};
    case KeyKind::Name:
    case KeyKind::Ref:
      return name_pattern();
    case KeyKind::Integer:
      return integer(key);
    case KeyKind::Ratio:
      return with_origin({{"type", "number"}, {"exclusiveMinimum", 0}});
    case KeyKind::Bytes:
      return reference("size");
    case KeyKind::Clock:
      return reference("frequency");
    case KeyKind::Rate:
      return reference("rate");
    case KeyKind::Cycles:
      return reference("duration");
    case KeyKind::Boolean:
      return {{"type", "boolean"}};
    case KeyKind::Choice:
      return one_of_names(key.choices);
    default:
      return lists_and_maps(key);
  }
}

Json table_schema(const Table& table) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const Key& key : table.keys) {
    Json value = value_schema(key);
    if (!key.doc.empty()) {
      value["description"] = std::string(key.doc);
    }
    if (!key.fallback.empty()) {
      value["default"] = std::string(key.fallback);
    }
    properties[std::string(key.name)] = std::move(value);
    if (key.required) {
      required.push_back(std::string(key.name));
    }
  }
  properties["source"] = {{"type", "string"},
                          {"description", "where the numbers of this mapping, and of those below it, come from"}};
  properties["estimated"] = {{"type", "boolean"},
                             {"description", "the numbers of this mapping, and of those below it, are estimates"}};
  return {{"description", std::string(table.doc)},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

}  // namespace

std::string chip_json_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "dlcc chip file"}};
  const Json root = table_schema(chip_table());
  for (const auto& [name, value] : root.items()) {
    schema[name] = value;
  }
  Json& definitions = schema["$defs"];
  definitions["size"] = quantity("([kMGT]|[KMGT]i)?B");
  definitions["frequency"] = quantity("[kMGT]?Hz");
  definitions["rate"] = quantity("([kMGT]|[KMGT]i)?B/(s|cycle)");
  definitions["duration"] = quantity("cycles?|[mun]?s");
  for (const Table* table : all_tables()) {
    if (table != &chip_table()) {
      definitions[definition_name(*table)] = table_schema(*table);
    }
  }
  return schema.dump(2) + "\n";
}

}  // namespace dlcc::hw
