// An entry names operations and types; "any" stands for all that have no closer entry. Closeness: both named, op named,
// type named, neither.
#include "hw/machine_ops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace dlcc::hw {
namespace {

struct Entry {
  std::string path;
  std::vector<std::string_view> ops;  // empty: any
  std::vector<DType> types;           // empty: any
  VectorOp proto;
  int closeness() const { return (ops.empty() ? 2 : 0) + (types.empty() ? 1 : 0); }
};

std::vector<DType> every_type() {
  std::vector<DType> types;
  for (const std::string_view name : type_names()) {
    types.push_back(*dtype_from_name(name));
  }
  return types;
}

/// The chosen names without "any", which is the last choice; empty when it was chosen.
std::vector<std::string_view> chosen(Section& section, const Table& table, std::string_view key) {
  std::vector<std::string_view> names;
  const std::vector<std::string_view>& choices = table.find(key)->choices;
  for (const int index : section.choices(key)) {
    if (index + 1 == static_cast<int>(choices.size())) {
      return {};
    }
    names.push_back(choices[static_cast<size_t>(index)]);
  }
  return names;
}

std::vector<Entry> read_entries(Section& vector, std::string_view key, const std::vector<std::string>& ports,
                                Reader& reader) {
  std::vector<Entry> entries;
  const Table& table = *chip_table().find("vector")->table->find(key)->table;
  for (Section& section : vector.list(key)) {
    Entry entry;
    entry.path = section.path();
    entry.ops = chosen(section, table, "op");
    for (const std::string_view name : chosen(section, table, "type")) {
      entry.types.push_back(*dtype_from_name(name));
    }
    entry.proto.port = section.ref("port", ports);
    entry.proto.latency = section.cycles("latency");
    entry.proto.occupancy = section.cycles("occupancy");
    entry.proto.emit_c = section.text("emit_c");
    section.finish();
    if (!reader.bad(entry.path)) {
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

/// Expands the entries, closest first. names_for(type): the operations that exist for it; types: what "any" type means.
template <class NamesFor>
std::vector<VectorOp> expand(std::vector<Entry> entries, const std::vector<DType>& types, const NamesFor& names_for,
                             Reader& reader) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.closeness() < b.closeness(); });
  std::vector<VectorOp> result;
  std::set<std::pair<DType, std::string_view>> taken;
  for (const Entry& entry : entries) {
    for (const DType type : entry.types.empty() ? types : entry.types) {
      const std::vector<std::string_view> valid = names_for(type);
      for (const std::string_view op : entry.ops.empty() ? valid : entry.ops) {
        if (std::find(valid.begin(), valid.end(), op) == valid.end()) {
          if (!entry.types.empty()) {
            reader.report(entry.path, fmt::format("'{}' is not an operation on {} here", op, name_of(type)));
          }
          continue;
        }
        const bool fresh = taken.insert({type, op}).second;
        if (!fresh && entry.closeness() == 0) {
          reader.report(entry.path, fmt::format("'{}' for {} is given twice", op, name_of(type)));
        } else if (fresh) {
          result.push_back(entry.proto);
          result.back().op = op;
          result.back().type = type;
        }
      }
    }
  }
  std::stable_sort(result.begin(), result.end(), [](const VectorOp& a, const VectorOp& b) { return a.type < b.type; });
  return result;
}

void check_complete(const std::vector<VectorOp>& ops, Reader& reader) {
  std::set<DType> types = {DType::F32, DType::I32, DType::I64, DType::Bool};
  std::set<std::pair<DType, std::string_view>> have;
  for (const VectorOp& op : ops) {
    types.insert(op.type);
    have.insert({op.type, op.op});
  }
  for (const DType type : types) {
    std::vector<std::string_view> missing;
    for (const std::string_view op : scalar_op_names(type)) {
      if (!have.contains({type, op})) {
        missing.push_back(op);
      }
    }
    if (!missing.empty()) {
      reader.report("vector.scalar_ops",
                    fmt::format("scalar_ops lacks, for {}: {} (an entry with 'op: any' fills them)", name_of(type),
                                fmt::join(missing, ", ")));
    }
  }
}

/// Default lanes: as many elements as fit the width, for every type that an entry of `ops` names.
void fill_lanes(const std::vector<Entry>& entries, VectorUnit& unit) {
  for (const Entry& entry : entries) {
    for (const DType type : entry.types) {
      const int lanes = unit.width / bytes_of(type);
      if (lanes >= 2) {
        unit.lanes.emplace(type, lanes);
      }
    }
  }
  for (const auto& [type, lanes] : unit.lanes) {
    unit.min_lanes.emplace(type, lanes);
  }
}

}  // namespace

void read_operations(Section& vector, Reader& reader, const std::vector<std::string>& ports, VectorUnit& unit) {
  const std::vector<Entry> entries = read_entries(vector, "ops", ports, reader);
  fill_lanes(entries, unit);
  std::vector<DType> with_lanes;
  for (const auto& [type, lanes] : unit.lanes) {
    with_lanes.push_back(type);
  }
  unit.ops = expand(entries, with_lanes, vector_op_names, reader);
  for (VectorOp& op : unit.ops) {
    op.lanes = unit.lanes_of(op.type);
    const auto min = unit.min_lanes.find(op.type);
    op.min_lanes = min == unit.min_lanes.end() ? op.lanes : min->second;
  }
  unit.scalar_ops = expand(read_entries(vector, "scalar_ops", ports, reader), every_type(), scalar_op_names, reader);
  for (VectorOp& op : unit.scalar_ops) {
    op.lanes = op.min_lanes = 1;
  }
  if (!reader.bad("vector.scalar_ops")) {
    check_complete(unit.scalar_ops, reader);
  }
}

}  // namespace dlcc::hw
