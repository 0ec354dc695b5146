// What the sanitizer knows of every granule of one scratchpad of one core: initialised, being filled by a transfer,
// being read by transfers, and (on machines with several pipes) which pipe wrote and read it last, by vector clocks.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/access.h"

namespace dlcc::sim {

enum class Hazard : uint8_t { None, Uninitialised, TransferIn, TransferOut, WrittenByPipe, ReadByPipe };

struct Verdict {
  Hazard hazard = Hazard::None;
  int64_t at = 0;  // byte of the memory
  int pipe = 0;    // the other side of a pipe hazard
};

/// An access by a pipe: its own time, and what it knows of every pipe's time.
struct Agent {
  int pipe = 0;
  uint32_t time = 0;
  const uint32_t* clock = nullptr;  // null: only one pipe
};

class LocalShadow {
 public:
  void reset(int64_t bytes, int shift, int pipes);
  /// Check, then mark. The hazard is the first found.
  Verdict read(const Runs& runs, int64_t base, const Agent& agent);
  Verdict write(const Runs& runs, int64_t base, const Agent& agent);
  /// A transfer between its issue and the wait for it.
  Verdict begin_transfer_in(const Runs& runs, int64_t base, const Agent& agent);
  Verdict begin_transfer_out(const Runs& runs, int64_t base, const Agent& agent);
  void end_transfer_in(const Runs& runs, int64_t base, const Agent& agent);
  void end_transfer_out(const Runs& runs, int64_t base, const Agent& agent);

 private:
  static constexpr uint16_t kInitialised = 1, kIncoming = 2, kOutgoing = 4;  // kOutgoing counts
  template <class F>
  void for_granules(const Runs& runs, int64_t base, F&& f);
  Verdict check_state(const Runs& runs, int64_t base, uint16_t mask, uint16_t wanted);
  Verdict check_writer(const Runs& runs, int64_t base, const Agent& agent);
  Verdict check_readers(const Runs& runs, int64_t base, const Agent& agent);
  void mark_write(const Runs& runs, int64_t base, const Agent& agent);
  void mark_read(const Runs& runs, int64_t base, const Agent& agent);
  static uint32_t pack(const Agent& agent) {
    return static_cast<uint32_t>(agent.pipe) << 27 | (agent.time & 0x7ffffffU);
  }

  int shift_ = 2;
  int pipes_ = 1;
  std::vector<uint16_t> state_;
  std::vector<uint32_t> writer_;               // pipe << 27 | time
  std::vector<std::vector<uint32_t>> reader_;  // [pipe]: time
};

}  // namespace dlcc::sim
