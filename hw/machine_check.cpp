// One function per topic; each names the value and the limit.
#include "hw/machine_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "hw/cost_expr.h"

namespace dlcc::hw {
namespace {

bool is_power_of_two(int64_t value) {
  return value > 0 && std::has_single_bit(static_cast<uint64_t>(value));
}

class Checker {
 public:
  Checker(const Machine& machine, Reader& reader) : m_(machine), r_(reader) {}

  void run() {
    levels();
    for (const Memory& memory : m_.memories) {
      memory_entry(memory, "memories." + memory.name);
    }
    global_memory();
    for (const DmaEngine& engine : m_.dma) {
      dma_entry(engine, "dma." + engine.name);
    }
    pipes_of_engines();
    for (size_t i = 0; i < m_.paths.size(); ++i) {
      check(fmt::format("paths[{}]", i), [&](const std::string& at) { path_entry(i, at); });
    }
    check("vector", [&](const std::string& at) { vector_unit(at); });
    work_memories();
    check("sync", [&](const std::string& at) { sync(at); });
    for (const Layout& layout : m_.layouts) {
      check(fmt::format("layouts.{}", layout.name), [&](const std::string& at) { layout_entry(layout, at); });
    }
    for (const Intrinsic& intrinsic : m_.intrinsics) {
      check(fmt::format("intrinsics.{}", intrinsic.id), [&](const std::string& at) { intrinsic_entry(intrinsic, at); });
    }
  }

 private:
  /// Runs f unless the part at `path` was found wrong already.
  template <class F>
  void check(const std::string& path, F&& f) {
    if (!r_.bad(path)) {
      f(path);
    }
  }
  /// Whether the memory graph is free of findings, so that routes mean something.
  bool graph_is_sound() const { return !r_.bad("memories") && !r_.bad("paths") && !r_.bad("dma"); }
  const std::string& memory_name(MemoryId id) const { return m_.memories[static_cast<size_t>(id)].name; }

  void levels() {
    const int cores = m_.core_count();
    if (cores > 65536) {
      r_.report("levels", fmt::format("the counts multiply to {} cores, the limit is 65536", cores));
    }
  }

  /// Reports unless one of the values that the finding rests on was found wrong already.
  void require(bool holds, const std::string& at, std::initializer_list<const char*> keys, const std::string& message) {
    const bool known = std::any_of(keys.begin(), keys.end(), [&](const char* key) { return r_.bad(at + "." + key); });
    if (!holds && !known) {
      r_.report(at + "." + *keys.begin(), message);
    }
  }

  void memory_entry(const Memory& memory, const std::string& at) {
    const bool global = memory.kind == MemoryKind::Global;
    require(memory.reserved < memory.size, at, {"reserved", "size"},
            fmt::format("{} bytes reserved of a memory of {} leave nothing", memory.reserved, memory.size));
    require(is_power_of_two(memory.align), at, {"align"},
            fmt::format("an alignment is a power of two, not {}", memory.align));
    require(!(global && memory.per_core), at, {"per_core", "kind"},
            fmt::format("the global memory '{}' cannot be per core", memory.name));
    require(global || memory.bytes_per_cycle > 0, at, {"bandwidth", "kind"},
            fmt::format("memory '{}' lacks the key 'bandwidth'", memory.name));
  }

  void global_memory() {
    const auto count = std::count_if(m_.memories.begin(), m_.memories.end(),
                                     [](const Memory& x) { return x.kind == MemoryKind::Global; });
    if (count != 1 && !r_.bad("memories")) {
      r_.report("memories", fmt::format("{} memories have the kind 'global', there must be exactly one", count));
    }
  }

  void dma_entry(const DmaEngine& engine, const std::string& at) {
    require(is_power_of_two(engine.granule), at, {"granule"},
            fmt::format("a granule is a power of two, not {}", engine.granule));
    require(is_power_of_two(engine.align), at, {"align"},
            fmt::format("an alignment is a power of two, not {}", engine.align));
    require(engine.rmw_factor >= 1, at, {"rmw_factor"},
            fmt::format("a penalty is at least 1, not {}", engine.rmw_factor));
    require(engine.max_block == 0 || engine.max_block >= engine.align, at, {"max_block", "align"},
            fmt::format("a block of {} B is below the alignment of {}", engine.max_block, engine.align));
    require(engine.max_bytes == 0 || engine.max_bytes >= engine.align, at, {"max_bytes", "align"},
            fmt::format("a descriptor of {} B is below the alignment of {}", engine.max_bytes, engine.align));
    const int cores = engine.rate.empty() ? 1 : engine.rate.rbegin()->first;
    if (!r_.bad("levels")) {
      require(cores <= m_.core_count(), at, {"rate"},
              fmt::format("a rate for {} cores on a chip with {}", cores, m_.core_count()));
    }
    const bool used = std::any_of(m_.paths.begin(), m_.paths.end(), [&](const Path& path) {
      return path.engine >= 0 && m_.dma[static_cast<size_t>(path.engine)].name == engine.name;
    });
    if (!used && !r_.bad("paths")) {
      r_.report(at, fmt::format("no path uses the engine '{}'", engine.name));
    }
  }

  /// dlcc has one waiting style per chip: in-order pipes with flags, or a core with replies and plain copies.
  void pipes_of_engines() {
    if (r_.bad("dma") || r_.bad("pipes")) {
      return;
    }
    const bool decoupled = m_.has_decoupled_pipes();
    for (const DmaEngine& engine : m_.dma) {
      if (engine.kind == EngineKind::Async && decoupled) {
        r_.report(fmt::format("dma.{}.kind", engine.name), "a chip has either 'async' or 'pipe' engines, not both");
      }
      if (engine.kind == EngineKind::Pipe && engine.pipe == m_.vector.pipe && !r_.bad("vector")) {
        r_.report(fmt::format("dma.{}.pipe", engine.name),
                  fmt::format("the engine '{}' is the pipe of the vector unit; an engine of kind 'pipe' has "
                              "its own (kind 'core' copies on the vector unit's pipe)",
                              engine.name));
      }
    }
  }

  void path_entry(size_t index, const std::string& at) {
    const Path& path = m_.paths[index];
    if (path.from == path.to) {
      r_.report(at + ".to", fmt::format("a path leads from '{0}' to '{0}'", memory_name(path.from)));
    }
    for (size_t i = 0; i < index; ++i) {
      if (m_.paths[i].from == path.from && m_.paths[i].to == path.to) {
        r_.report(at, fmt::format("a second path from '{}' to '{}'", memory_name(path.from), memory_name(path.to)));
      } else if (m_.paths[i].name == path.name) {
        r_.report(at, fmt::format("path '{}' is declared twice", path.name));
      }
    }
    const DmaEngine& engine = m_.dma[static_cast<size_t>(path.engine)];
    const MemoryId global = m_.global_memory();
    if (engine.kind == EngineKind::Async && path.from != global && path.to != global && !r_.bad("memories") &&
        !r_.bad("dma." + engine.name)) {
      r_.report(
          at + ".engine",
          fmt::format("the engine '{}' is 'async' and serves only paths from or to the global memory, not '{}' to '{}'",
                      engine.name, memory_name(path.from), memory_name(path.to)));
    }
  }

  void vector_unit(const std::string& at) {
    const VectorUnit& unit = m_.vector;
    if (unit.width == 0 && !unit.ops.empty()) {
      r_.report(at + ".ops", "vector operations without a vector width");
    }
    if (unit.width != 0 && unit.registers < 4) {
      r_.report(at + ".registers", fmt::format("{} registers, a vector kernel needs at least 4", unit.registers));
    }
    for (const auto& [type, lanes] : unit.lanes) {
      lanes_of(at, type, lanes);
    }
    for (const auto& [type, text] : unit.c_types) {
      if (!unit.lanes.contains(type)) {
        r_.report(fmt::format("{}.c_types.{}", at, name_of(type)), fmt::format("{} has no vectors", name_of(type)));
      }
    }
    for (const auto& [type, lanes] : unit.min_lanes) {
      const int widest = unit.lanes_of(type);
      const bool known = r_.bad(at + ".width") || r_.bad(fmt::format("{}.lanes.{}", at, name_of(type)));
      if (!known && (!is_power_of_two(lanes) || lanes > widest)) {
        r_.report(fmt::format("{}.min_lanes.{}", at, name_of(type)),
                  fmt::format("{} lanes for {}: a power of two, at most the widest, {}", lanes, name_of(type), widest));
      }
    }
    const MemoryId global = m_.global_memory();
    for (size_t i = 0; i < unit.memories.size(); ++i) {
      const Memory& memory = m_.memories[static_cast<size_t>(unit.memories[i])];
      if (unit.memories[i] == global || !memory.per_core) {
        r_.report(fmt::format("{}.memories[{}]", at, i),
                  fmt::format("operands of the vector unit lie in a memory of the core, '{}' is not one", memory.name));
      }
    }
  }

  void lanes_of(const std::string& at, DType type, int lanes) {
    const VectorUnit& unit = m_.vector;
    const int element = bytes_of(type);
    const std::string path = fmt::format("{}.lanes.{}", at, name_of(type));
    if (unit.width % element != 0) {
      r_.report(at + ".width",
                fmt::format("a width of {} B is not a multiple of the {} B of {}", unit.width, element, name_of(type)));
    } else if (!is_power_of_two(lanes)) {
      r_.report(path, fmt::format("{} lanes for {}: not a power of two", lanes, name_of(type)));
    } else if (lanes * element > unit.width) {
      r_.report(path, fmt::format("{} lanes of {} need {} B, the width is {} B", lanes, name_of(type), lanes * element,
                                  unit.width));
    } else if (std::none_of(unit.ops.begin(), unit.ops.end(), [&](const VectorOp& op) { return op.type == type; })) {
      r_.report(path, fmt::format("lanes for {}, which no vector operation has", name_of(type)));
    }
  }

  void work_memories() {
    const MemoryId global = m_.global_memory();
    const MemoryId work = m_.work_memory();
    if (!graph_is_sound() || r_.bad("vector.memories") || global < 0 || work < 0 || work == global) {
      return;
    }
    if (m_.route(global, work).empty()) {
      r_.report("paths", fmt::format("no path leads from '{}' to '{}', where the vector unit works",
                                     memory_name(global), memory_name(work)));
    }
    if (m_.route(work, global).empty()) {
      r_.report("paths", fmt::format("no path leads from '{}', where the vector unit works, to '{}'", memory_name(work),
                                     memory_name(global)));
    }
  }

  void sync(const std::string& at) {
    const auto uses = [&](EngineKind kind) {
      return std::any_of(m_.dma.begin(), m_.dma.end(), [&](const DmaEngine& engine) { return engine.kind == kind; });
    };
    const auto need = [&](bool needed, SyncKind kind, std::string_view what, std::string_view name) {
      if (needed && m_.sync_of(kind) == nullptr) {
        r_.report(at, fmt::format("{} need a sync primitive of kind '{}'", what, name));
      }
    };
    need(uses(EngineKind::Async), SyncKind::Reply, "engines of kind 'async'", "reply");
    need(uses(EngineKind::Pipe), SyncKind::FlagPair, "engines of kind 'pipe'", "flag_pair");
    need(m_.core_count() > 1, SyncKind::CoreBarrier, "several cores", "core_barrier");
    for (size_t i = 0; i < m_.sync.size(); ++i) {
      const Sync& entry = m_.sync[i];
      if (m_.sync_of(entry.kind) != &entry) {
        r_.report(fmt::format("{}.{}", at, entry.name),
                  fmt::format("'{}' has the same kind as '{}'", entry.name, m_.sync_of(entry.kind)->name));
      }
      if (entry.kind != SyncKind::FlagPair && entry.ids != 0) {
        r_.report(fmt::format("{}.{}.ids", at, entry.name), "'ids' belongs to the kind 'flag_pair'");
      }
    }
  }

  /// Every coordinate must have exactly one place: per dim, divisors that start at 1 and continue at div * size, and
  /// one axis without a size.
  void layout_entry(const Layout& layout, const std::string& at) {
    for (int dim = 0; dim < 8; ++dim) {
      std::vector<LayoutAxis> axes;
      std::copy_if(layout.axes.begin(), layout.axes.end(), std::back_inserter(axes),
                   [&](const LayoutAxis& axis) { return axis.dim == dim; });
      std::sort(axes.begin(), axes.end(), [](const LayoutAxis& a, const LayoutAxis& b) { return a.div < b.div; });
      int64_t div = 1;
      for (const LayoutAxis& axis : axes) {
        if (axis.div != div || (axis.size == 0) != (&axis == &axes.back())) {
          r_.report(
              at + ".axes",
              fmt::format(
                  "dim {} of layout '{}' is not covered exactly once: sizes and divisors must continue each other from "
                  "div 1, and the one with the largest div has no size",
                  dim, layout.name));
          break;
        }
        div = std::min<int64_t>(axis.div * axis.size, int64_t{1} << 40);
      }
    }
  }

  int64_t param_value(const Intrinsic& intrinsic, const std::string& text, bool largest) const {
    for (const IntrinsicParam& param : intrinsic.params) {
      if (param.name == text) {
        return largest ? param.max : param.min;
      }
    }
    return std::stoll(text);  // shapes hold parameter names and whole numbers only
  }

  /// Elements of the operand in storage at its smallest parameters, blocks of its layout rounded up.
  int64_t smallest_elements(const Intrinsic& intrinsic, const IntrinsicOperand& operand) const {
    std::vector<int64_t> extents;
    for (const std::string& text : operand.shape) {
      extents.push_back(param_value(intrinsic, text, false));
    }
    constexpr int64_t limit = int64_t{1} << 50;
    int64_t count = 1;
    const auto grow = [&](int64_t factor) { count = factor > limit / count ? limit : count * factor; };
    const auto layout =
        std::find_if(m_.layouts.begin(), m_.layouts.end(), [&](const Layout& x) { return x.name == operand.layout; });
    if (layout == m_.layouts.end()) {
      std::for_each(extents.begin(), extents.end(), grow);
      return count;
    }
    for (const LayoutAxis& axis : layout->axes) {
      grow(axis.size != 0 ? axis.size : (extents[static_cast<size_t>(axis.dim)] + axis.div - 1) / axis.div);
    }
    return count;
  }

  void operand_entry(const Intrinsic& intrinsic, const IntrinsicOperand& operand, const std::string& at) {
    const Memory& memory = m_.memories[static_cast<size_t>(operand.memory)];
    const auto layout =
        std::find_if(m_.layouts.begin(), m_.layouts.end(), [&](const Layout& x) { return x.name == operand.layout; });
    if (layout != m_.layouts.end()) {
      if (r_.bad("layouts." + operand.layout)) {
        return;
      }
      std::set<int> dims;
      for (const LayoutAxis& axis : layout->axes) {
        dims.insert(axis.dim);
      }
      if (dims.empty() || *dims.rbegin() + 1 != static_cast<int>(operand.shape.size()) ||
          dims.size() != operand.shape.size()) {
        r_.report(at + ".layout", fmt::format("layout '{}' does not cover the {} dims of '{}'", layout->name,
                                              operand.shape.size(), operand.name));
        return;
      }
    }
    const int64_t elements = smallest_elements(intrinsic, operand);
    if (elements > memory.usable() / bytes_of(operand.type) && !r_.bad("memories." + memory.name)) {
      r_.report(at, fmt::format("operand '{}' takes {} bytes at its smallest parameters, '{}' has {} usable",
                                operand.name, elements * bytes_of(operand.type), memory.name, memory.usable()));
    }
    if (graph_is_sound()) {
      reachable(operand, memory, at);
    }
  }

  /// Data must be able to come from, or go to, the global memory: along paths, or through the vector unit.
  void reachable(const IntrinsicOperand& operand, const Memory& memory, const std::string& at) {
    const MemoryId global = m_.global_memory();
    const auto& near = m_.vector.memories;
    const bool vector_works_there = std::find(near.begin(), near.end(), operand.memory) != near.end();
    if (operand.memory == global || global < 0 || vector_works_there || r_.bad("vector.memories")) {
      return;
    }
    const bool written_first = operand.written;  // an accumulator may start from the intrinsic's own initial value
    if (operand.read && !written_first && m_.route(global, operand.memory).empty()) {
      r_.report(at + ".memory", fmt::format("'{}' is read from '{}', which no path reaches from '{}'", operand.name,
                                            memory.name, memory_name(global)));
    }
    if (operand.written && m_.route(operand.memory, global).empty()) {
      r_.report(at + ".memory", fmt::format("'{}' is written to '{}', from which no path leads to '{}'", operand.name,
                                            memory.name, memory_name(global)));
    }
  }

  void intrinsic_entry(const Intrinsic& intrinsic, const std::string& at) {
    for (const IntrinsicOperand& operand : intrinsic.operands) {
      operand_entry(intrinsic, operand, fmt::format("{}.operands.{}", at, operand.name));
    }
    for (size_t i = 0; i < intrinsic.operands.size(); ++i) {
      const IntrinsicOperand& operand = intrinsic.operands[i];
      const bool is_output = static_cast<int>(i) == intrinsic.semantics.output;
      const std::string access = fmt::format("{}.operands.{}.access", at, operand.name);
      const bool used =
          is_output || std::any_of(intrinsic.semantics.reads.begin(), intrinsic.semantics.reads.end(),
                                   [&](const te::Access& read) { return read.tensor == static_cast<int>(i); });
      if (is_output != operand.written) {
        r_.report(access, fmt::format("the semantics {} '{}', its access says otherwise",
                                      is_output ? "write" : "do not write", operand.name));
      } else if (is_output && intrinsic.semantics.reads_output && !operand.read) {
        r_.report(access,
                  fmt::format("the semantics read the old value of '{}', its access must be 'rw'", operand.name));
      } else if (!used) {
        r_.report(fmt::format("{}.operands.{}", at, operand.name),
                  fmt::format("the semantics do not use the operand '{}'", operand.name));
      }
    }
    cost(intrinsic, at, false);
    cost(intrinsic, at, true);
  }

  void cost(const Intrinsic& intrinsic, const std::string& at, bool largest) {
    std::map<std::string, int64_t, std::less<>> values;
    for (const IntrinsicParam& param : intrinsic.params) {
      values[param.name] = largest ? param.max : param.min;
    }
    const auto find = [&](std::string_view name) -> const int64_t* {
      const auto it = values.find(name);
      return it == values.end() ? nullptr : &it->second;
    };
    const auto cycles = evaluate_cost(intrinsic.cycles, find, "cycles");
    if (r_.bad(at + ".cycles")) {
      return;
    }
    const std::string_view which = largest ? "largest" : "smallest";
    if (!cycles.ok()) {
      r_.report(at + ".cycles", fmt::format("{}: {}", cycles.diags()[0].where, cycles.diags()[0].message));
    } else if (*cycles < 1 || *cycles > (int64_t{1} << 40)) {
      r_.report(at + ".cycles",
                fmt::format("{} cycles at the {} parameters: not from 1 to {}", *cycles, which, int64_t{1} << 40));
    }
  }

  const Machine& m_;
  Reader& r_;
};

}  // namespace

void check_machine(const Machine& machine, Reader& reader) {
  Checker(machine, reader).run();
}

}  // namespace dlcc::hw
