// What the sanitizer knows of every granule of the arena: who wrote it and in which epoch (epochs end at barriers), who
// read it in the running epoch. Cores log their accesses; the logs are merged in core order at the end of an epoch, so
// findings do not depend on host threads.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "sim/access.h"

namespace dlcc::sim {

/// Bytes of the arena that a leaf touched. `runs` outlives the log.
struct GlobalAccess {
  int64_t base = 0;
  const Runs* runs = nullptr;
  int leaf = 0;
  bool write = false;
};

enum class GlobalHazard : uint8_t { Uninitialised, ReadOfOther, WriteOfOther, WriteOfRead };

class GlobalShadow {
 public:
  GlobalShadow(int64_t bytes, int shift);
  void mark_initialised(int64_t offset, int64_t bytes);
  /// report(access, hazard, byte, other core; -1: several) is called at most once an access.
  using Report = std::function<void(const GlobalAccess&, GlobalHazard, int64_t, int)>;
  void merge(int core, const std::vector<GlobalAccess>& log, const Report& report);
  void next_epoch() { ++epoch_; }
  uint32_t epoch() const { return epoch_; }

 private:
  // epoch << 12 | core + 1; a reader of kMany stands for several cores. 0: never.
  static constexpr uint32_t kCoreBits = 12, kMany = (1U << kCoreBits) - 1;
  uint32_t mark(uint32_t who) const { return epoch_ << kCoreBits | who; }
  bool now(uint32_t mark) const { return mark != 0 && mark >> kCoreBits == (epoch_ & 0xfffffU); }
  static uint32_t who(uint32_t mark) { return mark & kMany; }

  struct Free {
    void operator()(uint32_t* p) const { std::free(p); }
  };
  using Marks = std::unique_ptr<uint32_t[], Free>;  // from calloc: untouched pages cost nothing
  int shift_;
  uint32_t epoch_ = 1;
  Marks writer_, reader_;
};

}  // namespace dlcc::sim
