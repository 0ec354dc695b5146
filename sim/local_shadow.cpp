// Granule loops of the scratchpad shadow.
#include "sim/local_shadow.h"

#include <algorithm>

namespace dlcc::sim {

void LocalShadow::reset(int64_t bytes, int shift, int pipes) {
  shift_ = shift;
  pipes_ = pipes;
  const auto granules = static_cast<size_t>((bytes >> shift) + 1);
  state_.assign(granules, 0);
  writer_.assign(pipes > 1 ? granules : 0, 0);
  reader_.assign(pipes > 1 ? static_cast<size_t>(pipes) : 0, std::vector<uint32_t>(granules, 0));
}

template <class F>
void LocalShadow::for_granules(const Runs& runs, int64_t base, F&& f) {
  for (const Run& run : runs) {
    const auto first = static_cast<size_t>((base + run.offset) >> shift_);
    const auto last = static_cast<size_t>((base + run.offset + run.bytes - 1) >> shift_);
    f(first, last + 1);
  }
}

/// Every granule must have (state & mask) == wanted.
Verdict LocalShadow::check_state(const Runs& runs, int64_t base, uint16_t mask, uint16_t wanted) {
  Verdict verdict;
  for_granules(runs, base, [&](size_t first, size_t end) {
    uint16_t wrong = 0;
    for (size_t g = first; g < end; ++g) {
      wrong = static_cast<uint16_t>(wrong | ((state_[g] & mask) ^ wanted));
    }
    if (wrong == 0 || verdict.hazard != Hazard::None) {
      return;
    }
    while ((state_[first] & mask) == wanted) {
      ++first;
    }
    const uint16_t state = state_[first];
    const bool incoming = (state & mask & kIncoming) != 0;
    const bool outgoing = (mask & kOutgoing) != 0 && state >= kOutgoing;
    verdict = {incoming ? Hazard::TransferIn : (outgoing ? Hazard::TransferOut : Hazard::Uninitialised),
               static_cast<int64_t>(first) << shift_, 0};
  });
  return verdict;
}

Verdict LocalShadow::check_writer(const Runs& runs, int64_t base, const Agent& agent) {
  Verdict verdict;
  if (pipes_ < 2) {
    return verdict;
  }
  for_granules(runs, base, [&](size_t first, size_t end) {
    for (size_t g = first; g < end && verdict.hazard == Hazard::None; ++g) {
      const uint32_t pipe = writer_[g] >> 27, time = writer_[g] & 0x7ffffffU;
      if (time > agent.clock[pipe]) {
        verdict = {Hazard::WrittenByPipe, static_cast<int64_t>(g) << shift_, static_cast<int>(pipe)};
      }
    }
  });
  return verdict;
}

Verdict LocalShadow::check_readers(const Runs& runs, int64_t base, const Agent& agent) {
  Verdict verdict;
  for (size_t pipe = 0; pipe < reader_.size() && verdict.hazard == Hazard::None; ++pipe) {
    const uint32_t known = agent.clock[pipe];
    for_granules(runs, base, [&](size_t first, size_t end) {
      for (size_t g = first; g < end && verdict.hazard == Hazard::None; ++g) {
        if (reader_[pipe][g] > known) {
          verdict = {Hazard::ReadByPipe, static_cast<int64_t>(g) << shift_, static_cast<int>(pipe)};
        }
      }
    });
  }
  return verdict;
}

void LocalShadow::mark_write(const Runs& runs, int64_t base, const Agent& agent) {
  for_granules(runs, base, [&](size_t first, size_t end) {
    for (size_t g = first; g < end; ++g) {
      state_[g] |= kInitialised;
    }
    if (pipes_ > 1) {
      std::fill(writer_.begin() + static_cast<std::ptrdiff_t>(first),
                writer_.begin() + static_cast<std::ptrdiff_t>(end), pack(agent));
    }
  });
}

void LocalShadow::mark_read(const Runs& runs, int64_t base, const Agent& agent) {
  if (pipes_ < 2) {
    return;
  }
  auto& times = reader_[static_cast<size_t>(agent.pipe)];
  for_granules(runs, base, [&](size_t first, size_t end) {
    std::fill(times.begin() + static_cast<std::ptrdiff_t>(first), times.begin() + static_cast<std::ptrdiff_t>(end),
              agent.time);
  });
}

Verdict LocalShadow::read(const Runs& runs, int64_t base, const Agent& agent) {
  Verdict verdict = check_state(runs, base, kInitialised | kIncoming, kInitialised);
  if (verdict.hazard == Hazard::None) {
    verdict = check_writer(runs, base, agent);
  }
  mark_read(runs, base, agent);
  return verdict;
}

Verdict LocalShadow::write(const Runs& runs, int64_t base, const Agent& agent) {
  Verdict verdict = check_state(runs, base, static_cast<uint16_t>(~kInitialised), 0);
  if (verdict.hazard == Hazard::None) {
    verdict = check_writer(runs, base, agent);
  }
  if (verdict.hazard == Hazard::None) {
    verdict = check_readers(runs, base, agent);
  }
  mark_write(runs, base, agent);
  return verdict;
}

Verdict LocalShadow::begin_transfer_in(const Runs& runs, int64_t base, const Agent& agent) {
  Verdict verdict = check_state(runs, base, static_cast<uint16_t>(~kInitialised), 0);
  if (verdict.hazard == Hazard::None) {
    verdict = check_writer(runs, base, agent);
  }
  if (verdict.hazard == Hazard::None) {
    verdict = check_readers(runs, base, agent);
  }
  for_granules(runs, base, [&](size_t first, size_t end) {
    for (size_t g = first; g < end; ++g) {
      state_[g] |= kIncoming;
    }
  });
  return verdict;
}

Verdict LocalShadow::begin_transfer_out(const Runs& runs, int64_t base, const Agent& agent) {
  const Verdict verdict = read(runs, base, agent);
  for_granules(runs, base, [&](size_t first, size_t end) {
    for (size_t g = first; g < end; ++g) {
      state_[g] = static_cast<uint16_t>(state_[g] + kOutgoing);
    }
  });
  return verdict;
}

void LocalShadow::end_transfer_in(const Runs& runs, int64_t base, const Agent& agent) {
  for_granules(runs, base, [&](size_t first, size_t end) {
    for (size_t g = first; g < end; ++g) {
      state_[g] = static_cast<uint16_t>(state_[g] & ~kIncoming);
    }
  });
  mark_write(runs, base, agent);
}

void LocalShadow::end_transfer_out(const Runs& runs, int64_t base, const Agent& agent) {
  for_granules(runs, base, [&](size_t first, size_t end) {
    for (size_t g = first; g < end; ++g) {
      state_[g] = static_cast<uint16_t>(state_[g] - kOutgoing);
    }
  });
  mark_read(runs, base, agent);
}

}  // namespace dlcc::sim
