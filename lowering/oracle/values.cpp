#include "lowering/oracle/values.h"

namespace dlcc::lowering::oracle {

void Slot::clear() {
  held_.clear();
  partial_.clear();
}

void Slot::forget(const Set& elements) {
  for (auto at = held_.begin(); at != held_.end();) {
    at->second = drop_domain(std::move(at->second), elements.copy());
    at = is_empty(at->second) ? held_.erase(at) : std::next(at);
  }
  for (auto at = partial_.begin(); at != partial_.end();) {
    at->second.points = drop_domain(std::move(at->second.points), elements.copy());
    at = is_empty(at->second.points) ? partial_.erase(at) : std::next(at);
  }
}

void Slot::add(const Family& family, Map elements) {
  const auto [at, fresh] = held_.try_emplace(family);
  at->second = fresh ? std::move(elements) : unite(std::move(at->second), std::move(elements));
}

Map Slot::look_up(const Map& index, const Family& family) const {
  const auto at = held_.find(family);
  return at == held_.end() ? Map() : compose(index.copy(), at->second.copy());
}

std::map<Family, Map> Slot::look_up_all(const Map& index) const {
  std::map<Family, Map> found;
  for (const auto& [family, elements] : held_) {
    Map values = compose(index.copy(), elements.copy());
    if (!is_empty(values)) {
      found.emplace(family, std::move(values));
    }
  }
  return found;
}

void Slot::drop_partial(int stmt, const Set& elements) {
  Partial& partial = partial_[stmt];
  partial.points = drop_domain(std::move(partial.points), elements.copy());
  if (is_empty(partial.points)) {
    partial_.erase(stmt);
  }
}

}  // namespace dlcc::lowering::oracle
