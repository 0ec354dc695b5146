// Queries on a Machine.
#include "hw/machine.h"

#include <algorithm>
#include <deque>

namespace dlcc::hw {

bool Path::can(Transform t) const {
  return std::find(transforms.begin(), transforms.end(), t) != transforms.end();
}

double DmaEngine::rate_for(int active_cores) const {
  DLCC_CHECK(!rate.empty()) << "engine " << name << " has no rate";
  const auto above = rate.lower_bound(active_cores);
  if (above == rate.end()) {
    return rate.rbegin()->second;
  }
  if (above == rate.begin() || above->first == active_cores) {
    return above->second;
  }
  const auto below = std::prev(above);
  const double share = static_cast<double>(active_cores - below->first) / (above->first - below->first);
  return below->second + share * (above->second - below->second);
}

int VectorUnit::lanes_of(DType type) const {
  const auto it = lanes.find(type);
  return it == lanes.end() ? 1 : it->second;
}

const VectorOp* VectorUnit::find(std::string_view op, DType type, int count) const {
  for (const VectorOp& entry : count <= 1 ? scalar_ops : ops) {
    const bool covers = count <= 1 || (count >= entry.min_lanes && count <= entry.lanes && (count & (count - 1)) == 0);
    if (entry.type == type && covers && entry.op == op) {
      return &entry;
    }
  }
  return nullptr;
}

int Machine::core_count() const {
  int64_t count = 1;
  for (const Level& level : levels) {
    count =
        std::min<int64_t>(count * level.count, 1 << 30);  // a file with more is refused; no overflow on the way there
  }
  return static_cast<int>(count);
}

bool Machine::has_decoupled_pipes() const {
  return std::any_of(dma.begin(), dma.end(), [](const DmaEngine& engine) { return engine.kind == EngineKind::Pipe; });
}

MemoryId Machine::memory_named(std::string_view wanted) const {
  const auto it =
      std::find_if(memories.begin(), memories.end(), [&](const Memory& memory) { return memory.name == wanted; });
  return it == memories.end() ? kNone : static_cast<MemoryId>(it - memories.begin());
}

MemoryId Machine::global_memory() const {
  const auto it = std::find_if(memories.begin(), memories.end(),
                               [](const Memory& memory) { return memory.kind == MemoryKind::Global; });
  return it == memories.end() ? kNone : static_cast<MemoryId>(it - memories.begin());
}

MemoryId Machine::work_memory() const {
  return vector.memories.empty() ? kNone : vector.memories.front();
}

std::vector<int> Machine::route(MemoryId from, MemoryId to) const {
  if (from == to || from < 0 || to < 0) {
    return {};
  }
  for (size_t i = 0; i < paths.size(); ++i) {   // the usual case, on the hot path of choosing plans
    if (paths[i].from == from && paths[i].to == to) {
      return {static_cast<int>(i)};
    }
  }
  std::vector<int> arrived_by(memories.size(),
                              kNone);  // path index; breadth first, so the first arrival is a shortest route
  std::deque<MemoryId> open = {from};
  while (!open.empty() && arrived_by[static_cast<size_t>(to)] == kNone) {
    const MemoryId here = open.front();
    open.pop_front();
    for (size_t i = 0; i < paths.size(); ++i) {
      const Path& path = paths[i];
      if (path.from == here && path.to >= 0 && path.to != from && arrived_by[static_cast<size_t>(path.to)] == kNone) {
        arrived_by[static_cast<size_t>(path.to)] = static_cast<int>(i);
        open.push_back(path.to);
      }
    }
  }
  std::vector<int> steps;
  for (MemoryId at = to; at != from;) {
    const int path = arrived_by[static_cast<size_t>(at)];
    if (path == kNone) {
      return {};
    }
    steps.push_back(path);
    at = paths[static_cast<size_t>(path)].from;
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

const Sync* Machine::sync_of(SyncKind kind) const {
  const auto it = std::find_if(sync.begin(), sync.end(), [&](const Sync& entry) { return entry.kind == kind; });
  return it == sync.end() ? nullptr : &*it;
}

}  // namespace dlcc::hw
