// Chip YAML -> Machine: walks the sections in dependency order, then runs the checks for contradictions.
#include <fmt/format.h>

#include <algorithm>

#include "hw/machine_check.h"
#include "hw/machine_ops.h"
#include "hw/machine_reader.h"
#include "hw/machine_yaml.h"

namespace dlcc::hw {
namespace {

template <class T>
std::vector<std::string> names_of(const std::vector<T>& entries) {
  std::vector<std::string> names;
  for (const T& entry : entries) {
    names.push_back(entry.name);
  }
  return names;
}

/// The enumerators are in the order of the key's choices.
template <class E>
E choice_as(Section& section, std::string_view key) {
  return static_cast<E>(std::max(0, section.choice(key)));
}

bool is_chip_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  });
}

class ChipParser {
 public:
  ChipParser(Reader& reader, Section root) : reader_(reader), root_(std::move(root)) {}

  Machine run() {
    header();
    memories();
    pipes();
    engines();
    paths();
    vector_unit();
    sync();
    layouts();
    for (Section& section : root_.map("intrinsics")) {
      machine_.intrinsics.push_back(intrinsic(section));
    }
    codegen();
    root_.finish();
    return std::move(machine_);
  }

 private:
  void header() {
    root_.integer("format");
    machine_.name = root_.text("name");
    if (root_.has("name") && !is_chip_name(machine_.name)) {
      root_.report("name", fmt::format("'{}' is not a chip name: letters, digits, _ . -, at most 64", machine_.name));
    }
    machine_.description = root_.text("description");
    machine_.clock_hz = root_.clock("clock");
    reader_.clock_hz = machine_.clock_hz;
    machine_.launch_cycles = root_.cycles("launch");
    for (Section& section : root_.list("levels")) {
      machine_.levels.push_back({section.text("name"), static_cast<int>(section.integer("count"))});
      section.finish();
    }
  }

  void memories() {
    for (Section& section : root_.map("memories")) {
      Memory memory;
      memory.name = section.name();
      memory.kind = choice_as<MemoryKind>(section, "kind");
      const bool global = memory.kind == MemoryKind::Global;
      memory.per_core = section.boolean("per_core") && !(global && !section.has("per_core"));
      memory.size = section.bytes("size");
      memory.reserved = section.bytes("reserved");
      memory.align = section.bytes("align");
      memory.latency = section.cycles("latency");
      memory.bytes_per_cycle = section.rate("bandwidth");
      section.finish();
      machine_.memories.push_back(std::move(memory));
    }
    memory_names_ = names_of(machine_.memories);
  }

  void pipes() {
    for (Section& section : root_.map("pipes")) {
      machine_.pipes.push_back(
          {section.name(), static_cast<int>(section.integer("queue_depth")), section.cycles("issue")});
      section.finish();
    }
    pipe_names_ = names_of(machine_.pipes);
  }

  void engines() {
    for (Section& section : root_.map("dma")) {
      machine_.dma.push_back(engine(section));
      section.finish();
    }
  }

  DmaEngine engine(Section& section) {
    DmaEngine engine;
    engine.name = section.name();
    engine.kind = choice_as<EngineKind>(section, "kind");
    engine.pipe = section.ref("pipe", pipe_names_);
    engine.startup = section.cycles("startup");
    const int64_t lone = section.cycles("lone_startup");
    engine.lone_startup = section.has("lone_startup") ? lone : engine.startup;
    engine.request = section.cycles("request");
    engine.issue = section.cycles("issue");
    engine.block_overhead = section.cycles("block_overhead");
    engine.granule = section.bytes("granule");
    engine.min_run = section.bytes("min_run");
    engine.rmw_below = section.bytes("rmw_below");
    engine.rmw_factor = section.ratio("rmw_factor");
    engine.queue_depth = static_cast<int>(section.integer("queue_depth"));
    engine.max_dims = static_cast<int>(section.integer("max_dims"));
    engine.max_block = section.bytes("max_block");
    engine.max_bytes = section.bytes("max_bytes");
    engine.max_stride = section.bytes("max_stride");
    engine.align = section.bytes("align");
    engine.rate = section.rate_table("rate");
    const double lone_rate = section.rate("lone_rate");
    engine.lone_rate = section.has("lone_rate") || engine.rate.empty() ? lone_rate : engine.rate.begin()->second;
    engine.modes = section.texts("modes");
    return engine;
  }

  void paths() {
    const std::vector<std::string> engine_names = names_of(machine_.dma);
    for (Section& section : root_.list("paths")) {
      Path path;
      path.from = section.ref("from", memory_names_);
      path.to = section.ref("to", memory_names_);
      path.engine = section.ref("engine", engine_names);
      path.name = section.text("name");
      if (!section.has("name") && path.from >= 0 && path.to >= 0) {
        path.name = fmt::format("{}_to_{}", memory_names_[static_cast<size_t>(path.from)],
                                memory_names_[static_cast<size_t>(path.to)]);
      }
      for (const int transform : section.choices("transforms")) {
        path.transforms.push_back(static_cast<Transform>(transform));
      }
      section.finish();
      machine_.paths.push_back(std::move(path));
    }
  }

  void vector_unit() {
    if (auto section = root_.mapping("issue")) {
      machine_.issue.width = static_cast<int>(section->integer("width"));
      machine_.issue.ports = section->names("ports");
      section->finish();
    }
    auto section = root_.mapping("vector");
    if (!section) {
      return;
    }
    VectorUnit& unit = machine_.vector;
    unit.pipe = section->ref("pipe", pipe_names_);
    unit.width = static_cast<int>(section->bytes("width"));
    unit.registers = static_cast<int>(section->integer("registers"));
    unit.memories = section->refs("memories", memory_names_);
    unit.lanes = section->type_ints("lanes");
    unit.min_lanes = section->type_ints("min_lanes");
    unit.c_types = section->type_texts("c_types");
    read_operations(*section, reader_, machine_.issue.ports, unit);
    section->finish();
  }

  void sync() {
    for (Section& section : root_.map("sync")) {
      Sync sync;
      sync.name = section.name();
      sync.kind = choice_as<SyncKind>(section, "kind");
      sync.cost = section.cycles("cost");
      sync.ids = static_cast<int>(section.integer("ids"));
      section.finish();
      machine_.sync.push_back(std::move(sync));
    }
  }

  void layouts() {
    for (Section& section : root_.map("layouts")) {
      Layout layout;
      layout.name = section.name();
      for (Section& axis : section.list("axes")) {
        layout.axes.push_back({static_cast<int>(axis.integer("dim")), axis.integer("size"), axis.integer("div")});
        axis.finish();
      }
      section.finish();
      machine_.layouts.push_back(std::move(layout));
    }
  }

  Intrinsic intrinsic(Section& section) {
    Intrinsic result;
    result.id = section.name();
    result.pipe = section.ref("pipe", pipe_names_);
    result.params = section.params("params");
    const std::vector<std::string> params = names_of(result.params);
    for (Section& part : section.map("operands")) {
      IntrinsicOperand operand;
      operand.name = part.name();
      operand.memory = part.ref("memory", memory_names_);
      operand.type = *dtype_from_name(type_names()[static_cast<size_t>(std::max(0, part.choice("type")))]);
      operand.shape = part.shape("shape", params);
      const int layout = part.ref("layout", names_of(machine_.layouts));
      operand.layout = layout >= 0 ? machine_.layouts[static_cast<size_t>(layout)].name : "";
      const int access = std::max(0, part.choice("access"));  // r, w, rw
      operand.read = access != 1;
      operand.written = access != 0;
      part.finish();
      result.operands.push_back(std::move(operand));
    }
    result.semantics_text = section.text("semantics");
    result.cycles = section.text("cycles");
    result.emit = section.strings("emit");
    section.finish();
    if (!reader_.bad(section.path())) {
      read_semantics(section, result);
    }
    return result;
  }

  void read_semantics(Section& section, Intrinsic& intrinsic) {
    std::vector<te::SemanticsOperand> operands;
    for (const IntrinsicOperand& operand : intrinsic.operands) {
      operands.push_back({operand.name, operand.type, static_cast<int>(operand.shape.size())});
    }
    std::vector<te::SemanticsParam> params;
    for (const IntrinsicParam& param : intrinsic.params) {
      params.push_back({param.name, param.is_bool});
    }
    auto semantics = te::parse_semantics(intrinsic.semantics_text, operands, params, "semantics");
    if (semantics.ok()) {
      intrinsic.semantics = std::move(semantics).value();
      return;
    }
    for (const Diag& diag : semantics.diags()) {
      section.report("semantics", fmt::format("{}: {}", diag.where, diag.message));
    }
  }

  void codegen() {
    if (auto section = root_.mapping("codegen")) {
      machine_.codegen.emitter = section->text("emitter");
      machine_.codegen.cpus = section->texts("cpus");
      machine_.codegen.settings = section->strings("settings");
      section->finish();
    }
  }

  Reader& reader_;
  Section root_;
  Machine machine_;
  std::vector<std::string> memory_names_, pipe_names_;
};

}  // namespace

Result<Machine> parse_machine(std::string_view yaml, const std::string& file) {
  DLCC_TRY(const TreeNode tree, parse_yaml_tree(yaml, file));
  Reader reader(file);
  if (tree.kind != TreeNode::Kind::Map) {
    reader.report(tree.at, "", "a chip file is a mapping; it starts with 'format: 1'");
    return reader.take_findings();
  }
  Machine machine = ChipParser(reader, Section(reader, chip_table(), tree, "", tree.at, {})).run();
  machine.file = file;
  machine.yaml_text = std::string(yaml);
  check_machine(machine, reader);
  if (Diags findings = reader.take_findings(); !findings.empty()) {
    return findings;
  }
  machine.provenance = reader.take_provenance();
  machine.provenance.erase("format");  // a number of the language, not of the chip
  return machine;
}

}  // namespace dlcc::hw
