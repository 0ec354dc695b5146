// Chrome/Perfetto trace of a timing run: one thread per core and pipe, transfers as asynchronous slices. Capped per
// core; never changes a result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/expand_ops.h"

namespace dlcc::sim {

class Trace {
 public:
  Trace(bool enabled, int cores)
      : enabled_(enabled), left_(static_cast<size_t>(cores), enabled ? kMaxEvents / cores + 1 : 0) {}
  enum class Kind : uint8_t { Run, Wait, Transfer };
  void add(Kind kind, int core, int pipe, int group, int leaf, int64_t begin, int64_t end);
  /// Times in cycles, written as microseconds of the trace format.
  std::string json(const hw::Program& program, const hw::Machine& machine,
                   const std::vector<std::vector<std::string>>& leaf_names) const;
  bool enabled() const { return enabled_; }

 private:
  static constexpr int kMaxEvents = 200000;
  struct Item {
    int64_t begin, end;  // ticks
    int32_t core, pipe, group, leaf;
    Kind kind;
  };
  bool enabled_;
  std::vector<int> left_;  // by core
  std::vector<Item> items_;
};

}  // namespace dlcc::sim
