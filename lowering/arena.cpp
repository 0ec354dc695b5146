#include "lowering/arena.h"

#include <algorithm>
#include <numeric>

#include "base/integer.h"

namespace dlcc::lowering {

int64_t plan_arena(std::vector<ArenaItem>& items, int64_t align) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return items[a].bytes > items[b].bytes; });
  std::vector<size_t> placed;   // sorted by offset
  int64_t size = 0;
  for (size_t i : order) {
    ArenaItem& item = items[i];
    int64_t best = -1, best_gap = INT64_MAX, top = 0;
    for (size_t p : placed) {
      const ArenaItem& other = items[p];
      if (other.last < item.first || item.last < other.first) {
        continue;
      }
      const int64_t gap = other.offset - top;
      if (gap >= item.bytes && gap < best_gap) {
        best = top;
        best_gap = gap;
      }
      top = std::max(top, round_up(other.offset + other.bytes, align));
    }
    item.offset = best >= 0 ? best : top;
    size = std::max(size, item.offset + item.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i, [&](size_t a, size_t b) { return items[a].offset < items[b].offset; }), i);
  }
  return round_up(size, align);
}

}  // namespace dlcc::lowering
