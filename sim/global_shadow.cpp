// Merging of the cores' logs into the arena's shadow.
#include "sim/global_shadow.h"

#include "base/check.h"

namespace dlcc::sim {

GlobalShadow::GlobalShadow(int64_t bytes, int shift) : shift_(shift) {
  const auto granules = static_cast<size_t>((bytes >> shift) + 1);
  writer_.reset(static_cast<uint32_t*>(std::calloc(granules, sizeof(uint32_t))));
  reader_.reset(static_cast<uint32_t*>(std::calloc(granules, sizeof(uint32_t))));
  DLCC_CHECK(writer_ != nullptr && reader_ != nullptr) << "no memory for the shadow of " << bytes << " bytes";
}

void GlobalShadow::mark_initialised(int64_t offset, int64_t bytes) {
  for (int64_t g = offset >> shift_; g <= (offset + bytes - 1) >> shift_; ++g) {
    writer_[static_cast<size_t>(g)] = kMany;  // epoch 0
  }
}

void GlobalShadow::merge(int core, const std::vector<GlobalAccess>& log, const Report& report) {
  const uint32_t me = static_cast<uint32_t>(core) + 1, mine = mark(me), many = mark(kMany);
  for (const GlobalAccess& access : log) {
    bool reported = false;
    const auto found = [&](GlobalHazard hazard, int64_t granule, uint32_t other) {
      if (!reported) {
        reported = true;
        report(access, hazard, granule << shift_, other == kMany ? -1 : static_cast<int>(other) - 1);
      }
    };
    for (const Run& run : *access.runs) {
      const int64_t first = (access.base + run.offset) >> shift_,
                    last = (access.base + run.offset + run.bytes - 1) >> shift_;
      for (int64_t g = first; g <= last; ++g) {
        uint32_t& writer = writer_[static_cast<size_t>(g)];
        uint32_t& reader = reader_[static_cast<size_t>(g)];
        const bool other_wrote = now(writer) && who(writer) != me;
        if (access.write) {
          if (other_wrote) {
            found(GlobalHazard::WriteOfOther, g, who(writer));
          } else if (now(reader) && who(reader) != me) {
            found(GlobalHazard::WriteOfRead, g, who(reader));
          }
          writer = mine;
        } else {
          if (writer == 0) {
            found(GlobalHazard::Uninitialised, g, me);
          } else if (other_wrote) {
            found(GlobalHazard::ReadOfOther, g, who(writer));
          }
          reader = now(reader) && who(reader) != me ? many : mine;
        }
      }
    }
  }
}

}  // namespace dlcc::sim
