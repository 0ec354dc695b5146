// RegionMap -> buffers with byte-exact sizes, slots and offsets.
#include "lowering/buffers.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/integer.h"

namespace dlcc::lowering {

static int tile_loops(const RegionMap& regions) {
  int n = 0;
  for (const TileLoop& loop : regions.loops) {
    n += loop.reduction ? 0 : 1;
  }
  return n;
}

/// Which engine fills the buffer or empties it; -1: the core's own computation.
static const hw::DmaEngine* engine_between(const hw::Machine& machine, hw::MemoryId from, hw::MemoryId to) {
  const std::vector<int> route = machine.route(from, to);
  return route.empty() ? nullptr : &machine.dma[static_cast<size_t>(machine.paths[static_cast<size_t>(route.front())].engine)];
}

/// Some core sees two instances of what is made fresh at that level. A core's tiles may all share the value of an outer loop.
static bool changes_within_a_core(int level, const RegionMap& regions, int64_t cores) {
  if (level > tile_loops(regions)) {
    return true;   // a loop within each tile
  }
  const int64_t inner = std::max<int64_t>(regions.inner_trips(level) / regions.steps, 1);   // tiles of one instance
  for (int64_t core = 0; regions.tiles > cores && core < cores; ++core) {
    const int64_t begin = (core * regions.tiles + cores - 1) / cores;   // as core_range deals them out
    const int64_t end = ((core + 1) * regions.tiles + cores - 1) / cores;
    if (begin < end && (end - 1) / inner > begin / inner) {
      return true;
    }
  }
  return false;
}

bool wants_two_slots(const PlannedBuffer& buffer, const RegionMap& regions, const TilePlan& plan, const hw::Machine& machine) {
  if (!plan.double_buffer || buffer.level == 0) {
    return false;
  }
  const bool several = changes_within_a_core(buffer.level, regions, machine.core_count());
  const hw::MemoryId global = machine.global_memory();
  if (buffer.load >= 0) {
    const hw::DmaEngine* engine = engine_between(machine, global, buffer.buffer.memory);
    return several && engine != nullptr && engine->kind != hw::EngineKind::Core;
  }
  const hw::DmaEngine* engine = engine_between(machine, buffer.buffer.memory, global);
  const bool crosses_pipes = machine.has_decoupled_pipes() && plan.intrinsic >= 0;
  return several && ((engine != nullptr && engine->kind != hw::EngineKind::Core) || crosses_pipes);
}

namespace {

class BufferPlanner {
 public:
  BufferPlanner(const GroupAnalysis& group, const TilePlan& plan, const RegionMap& regions, const hw::Machine& machine)
      : group_(group), plan_(plan), regions_(regions), machine_(machine), work_(machine.work_memory()) {}

  BufferPlan run() {
    for (size_t l = 0; l < regions_.loads.size(); ++l) {
      add_load(l);
    }
    for (size_t s = 0; s < group_.stmts.size(); ++s) {
      add_output(s);
    }
    if (plan_.intrinsic >= 0) {
      add_operands();
    }
    place();
    return std::move(out_);
  }

 private:
  int add(PlannedBuffer planned, bool may_have_two) {
    hw::Buffer& buffer = planned.buffer;
    const int64_t align = std::max<int64_t>(machine_.memories[static_cast<size_t>(buffer.memory)].align, 1);
    buffer.slot_bytes = round_up(std::max<int64_t>(buffer.storage_elements() * bytes_of(buffer.type), 1), align);
    buffer.copies = may_have_two && wants_two_slots(planned, regions_, plan_, machine_) ? 2 : 1;
    out_.buffers.push_back(std::move(planned));
    return static_cast<int>(out_.buffers.size()) - 1;
  }

  void add_load(size_t l) {
    const Load& load = regions_.loads[l];
    const GroupTensor& tensor = group_.tensors[static_cast<size_t>(load.tensor)];
    PlannedBuffer planned;
    planned.load = static_cast<int>(l);
    planned.level = regions_.level_of(load.box);
    planned.box = load.box;
    planned.buffer.name = tensor.name;
    planned.buffer.memory = work_;
    planned.buffer.type = tensor.type;
    for (const Range& range : load.box) {
      planned.buffer.shape.push_back(load.fill ? range.size : std::min(range.size, range.limit));
    }
    out_.of_load.push_back(add(std::move(planned), true));
  }

  void add_output(size_t s) {
    const te::Stmt& stmt = group_.stmts[s];
    const GroupTensor& tensor = group_.tensors[static_cast<size_t>(stmt.write.tensor)];
    const bool is_root = static_cast<int>(s) == group_.root();
    const bool in_accumulator = plan_.intrinsic >= 0 && static_cast<int>(s) == group_.streamed;
    PlannedBuffer planned;
    planned.stmt = static_cast<int>(s);
    planned.level = is_root || static_cast<int>(s) == group_.streamed ? tile_loops(regions_) : regions_.level_of(regions_.outputs[s]);
    planned.box = regions_.outputs[s];
    planned.buffer.name = tensor.name;
    planned.buffer.memory = in_accumulator ? operand_memory(output_operand()) : work_;
    planned.buffer.type = tensor.type;
    for (const Range& range : planned.box) {
      planned.buffer.shape.push_back(range.size);
    }
    out_.of_stmt.push_back(add(std::move(planned), is_root || in_accumulator));
  }

  const hw::Intrinsic& intrinsic() const {
    const IntrinsicMatch& match = group_.intrinsics[static_cast<size_t>(plan_.intrinsic)];
    return machine_.intrinsics[static_cast<size_t>(match.intrinsic)];
  }
  int output_operand() const { return intrinsic().semantics.output; }
  hw::MemoryId operand_memory(int operand) const { return intrinsic().operands[static_cast<size_t>(operand)].memory; }

  void add_operands() {
    const hw::Intrinsic& intrin = intrinsic();
    out_.of_operand.assign(intrin.operands.size(), -1);
    for (size_t o = 0; o < intrin.operands.size(); ++o) {
      if (static_cast<int>(o) != intrin.semantics.output && intrin.operands[o].memory != work_) {
        out_.of_operand[o] = add_operand(intrin, static_cast<int>(o));
      }
    }
  }

  // The shape of an operand in one call: the extent of the axis that each index names.
  int add_operand(const hw::Intrinsic& intrin, int operand) {
    const hw::IntrinsicOperand& declared = intrin.operands[static_cast<size_t>(operand)];
    PlannedBuffer planned;
    planned.operand = operand;
    planned.level = static_cast<int>(regions_.loops.size()) + 1;
    planned.buffer.name = intrin.id + "." + declared.name;
    planned.buffer.memory = declared.memory;
    planned.buffer.type = declared.type;
    for (const te::Access& read : intrin.semantics.reads) {
      if (read.tensor != operand) {
        continue;
      }
      for (const te::Affine& index : read.index) {
        planned.buffer.shape.push_back(plan_.micro[static_cast<size_t>(index.terms().front().var)]);
      }
      break;
    }
    for (const hw::Layout& layout : machine_.layouts) {
      if (layout.name == declared.layout) {
        planned.buffer.layout = layout.axes;
      }
    }
    return add(std::move(planned), false);
  }

  void place() {
    std::map<hw::MemoryId, int64_t> used;
    for (PlannedBuffer& planned : out_.buffers) {
      if (planned.operand >= 0 && plan_.double_buffer) {
        planned.buffer.copies = 2;
      }
      int64_t& top = used[planned.buffer.memory];
      planned.buffer.offset = top;
      top += planned.buffer.slot_bytes * planned.buffer.copies;
    }
    for (const auto& [memory, bytes] : used) {
      const hw::Memory& m = machine_.memories[static_cast<size_t>(memory)];
      if (bytes - m.usable() > out_.overflow) {
        out_.overflow = bytes - m.usable();
        out_.overflow_memory = m.name;
      }
    }
  }

  const GroupAnalysis& group_;
  const TilePlan& plan_;
  const RegionMap& regions_;
  const hw::Machine& machine_;
  const hw::MemoryId work_;
  BufferPlan out_;
};

}  // namespace

BufferPlan plan_buffers(const GroupAnalysis& group, const TilePlan& plan, const RegionMap& regions, const hw::Machine& machine) {
  return BufferPlanner(group, plan, regions, machine).run();
}

std::string itemise(const BufferPlan& plan, const hw::Machine& machine) {
  std::string text;
  for (size_t m = 0; m < machine.memories.size(); ++m) {
    int64_t total = 0;
    std::string items;
    for (const PlannedBuffer& planned : plan.buffers) {
      const hw::Buffer& b = planned.buffer;
      if (b.memory != static_cast<hw::MemoryId>(m)) {
        continue;
      }
      total += b.slot_bytes * b.copies;
      items += fmt::format("{} {} {}[{}] {} B x{}", items.empty() ? "" : ",", b.name, name_of(b.type), fmt::join(b.shape, "x"), b.slot_bytes, b.copies);
    }
    if (total > machine.memories[m].usable()) {
      text += fmt::format("{}needs {} bytes of {}, has {}:{}", text.empty() ? "" : "; ", total, machine.memories[m].name, machine.memories[m].usable(),
                          items);
    }
  }
  return text;
}

}  // namespace dlcc::lowering
