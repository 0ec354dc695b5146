// Static plan of the activation arena: an offset for every tensor that leaves its group, reusing bytes of tensors that are no longer needed.
#pragma once

#include <cstdint>
#include <vector>

namespace dlcc::lowering {

/// Needed from the start of step `first` to the end of step `last`.
struct ArenaItem {
  int64_t bytes = 0;
  int first = 0, last = 0;
  int64_t offset = -1;           // out
};

/// Assigns offsets (multiples of `align`) such that items whose lifetimes meet do not overlap: largest first, best fit. Returns the arena's size.
int64_t plan_arena(std::vector<ArenaItem>& items, int64_t align);

}  // namespace dlcc::lowering
