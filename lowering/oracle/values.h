// What the elements of one slot of a buffer hold, as relations from the element's index.
#pragma once

#include <map>
#include <vector>

#include "lowering/oracle/poly.h"

namespace dlcc::lowering::oracle {

/// A family of values: elements of a tensor of the group (range: its coordinates), or one number (range: no coordinates).
struct Family {
  bool constant = false;
  int id = 0;                    // GroupTensor, or number of the constant
  friend auto operator<=>(const Family&, const Family&) = default;
};

/// A reduction under way in a slot: element -> points of the statement that went into it.
struct Partial {
  Map points;
  std::vector<int64_t> last_red;     // where the Red dims of the last box started
};

class Slot {
 public:
  /// Forgets everything.
  void clear();
  /// Forgets what these elements hold.
  void forget(const Set& elements);
  void add(const Family& family, Map elements);
  /// points -> values of a family, through points -> elements; empty owner when there is none.
  Map look_up(const Map& index, const Family& family) const;
  /// Everything that the elements of `index` hold, by family.
  std::map<Family, Map> look_up_all(const Map& index) const;
  Partial& partial(int stmt) { return partial_[stmt]; }
  bool has_partial(int stmt) const { return partial_.contains(stmt); }
  void drop_partial(int stmt, const Set& elements);
  const std::map<Family, Map>& held() const { return held_; }

 private:
  std::map<Family, Map> held_;
  std::map<int, Partial> partial_;   // by statement
};

}  // namespace dlcc::lowering::oracle
