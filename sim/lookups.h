// Values of run-time lookups (hw::Lookup): the run in values writes them down, the run in time reads them back, so that both speak of the same
// transfers.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace dlcc::sim {

/// By core, group and leaf, in the order in which the core starts them. One core's part is used by one thread at a time.
class LookupLog {
 public:
  explicit LookupLog(int cores) : of_core_(static_cast<size_t>(cores)) {}
  void add(int core, int group, int leaf, int64_t value) { of_core_[static_cast<size_t>(core)][{group, leaf}].push_back(value); }

 private:
  friend class LookupReplay;
  std::vector<std::map<std::pair<int, int>, std::vector<int64_t>>> of_core_;
};

/// Reads a log from the start.
class LookupReplay {
 public:
  explicit LookupReplay(const LookupLog& log) : log_(log), read_(log.of_core_.size()) {}
  /// The next value of that leaf; 0 when the log has none, as after a run in time only.
  int64_t next(int core, int group, int leaf) {
    const auto& logged = log_.of_core_[static_cast<size_t>(core)];
    const auto at = logged.find({group, leaf});
    size_t& read = read_[static_cast<size_t>(core)][{group, leaf}];
    return at == logged.end() || read >= at->second.size() ? 0 : at->second[read++];
  }

 private:
  const LookupLog& log_;
  std::vector<std::map<std::pair<int, int>, size_t>> read_;
};

}  // namespace dlcc::sim
