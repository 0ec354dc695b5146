// Transfers, fills and waits: what they put into slots, and what they store.
#include "lowering/oracle/checker.h"

namespace dlcc::lowering::oracle {

void Checker::execute(const hw::Dma& dma, const Position& at) {
  const Points points(dma.box, at.env);
  if (points.empty) {
    return;
  }
  if (dma.src.kind == hw::ObjectKind::Tensor) {
    get(dma, points, at);
  } else if (dma.dst.kind == hw::ObjectKind::Tensor) {
    put(dma, points, at);
  } else {
    move(dma, points, at);
  }
}

/// The group's tensor; -1 and a finding for one that is not the group's to touch.
int Checker::tensor_of_view(const hw::View& view) {
  const auto known = local_tensor_.find(view.object);
  if (known == local_tensor_.end()) {
    find("leaf", fmt::format("a transfer touches program tensor {}, which this group does not use", view.object));
    return -1;
  }
  return known->second;
}

void Checker::get(const hw::Dma& dma, const Points& points, const Position& at) {
  const int tensor = tensor_of_view(dma.src);
  const Map into = elements(dma.dst, points, "a load");
  if (tensor < 0 || !into) {
    return;
  }
  const std::vector<Affine> index = points.local(dma.src.index);
  Map values = compose(reverse(into.copy()), poly_.affine(points.box, index));
  if (!is_single_valued(values)) {
    find("leaf", fmt::format("a load of '{}' writes an element twice", name_of(tensor)));
  }
  std::map<Family, Map> loaded;
  if (!inside_tensor(index, points, tensor)) {
    Map outside = drop_range(values.copy(), poly_.box(whole(shape_of(tensor))));
    values = restrict_range(std::move(values), poly_.box(whole(shape_of(tensor))));
    if (!dma.fill && !is_empty(outside)) {
      find("bounds", fmt::format("a load reads '{}' outside at {}", name_of(tensor), sample(range(std::move(outside)))));
    } else if (dma.fill) {
      loaded.emplace(constant(*dma.fill), product(domain(std::move(outside)), poly_.box({})));
    }
  }
  loaded.emplace(element_of(tensor), std::move(values));
  Slot& slot = slots_[key_of(dma.dst, at)];
  slot.clear();
  if (dma.channel == hw::kNone) {
    deliver(slot, std::move(loaded));
  } else {
    pending_[{dma.channel, dma.channel_slot.eval(at.env)}].emplace_back(key_of(dma.dst, at), std::move(loaded));
  }
}

void Checker::deliver(Slot& slot, std::map<Family, Map> values) {
  for (auto& [family, map] : values) {
    slot.add(family, std::move(map));
  }
}

void Checker::execute(const hw::Wait& wait, const Position& at) {
  const auto arrived = pending_.find({wait.channel, wait.slot.eval(at.env)});
  if (arrived == pending_.end()) {
    return;
  }
  for (auto& [key, values] : arrived->second) {
    deliver(slots_[key], std::move(values));
  }
  pending_.erase(arrived);
}

void Checker::put(const hw::Dma& dma, const Points& points, const Position& at) {
  const int tensor = tensor_of_view(dma.dst);
  const Map from = elements(dma.src, points, "a store");
  if (tensor < 0 || !from) {
    return;
  }
  const int root = group_.root_stmt().write.tensor;
  if (tensor != root) {
    find("ownership", fmt::format("a store writes '{}', the group's result is '{}'", name_of(tensor), name_of(root)));
    return;
  }
  Map wanted = restrict_range(poly_.affine(points.box, points.local(dma.dst.index)), poly_.box(whole(shape_of(root))));
  if (!is_injective(wanted)) {
    find("ownership", fmt::format("a store writes an element of '{}' twice", name_of(root)));
  }
  require(slots_[key_of(dma.src, at)], from, wanted.copy(), element_of(root), fmt::format("the store of '{}'", name_of(root)));
  Set stored = range(std::move(wanted));
  if (stored_ && !is_empty(intersect(stored_.copy(), stored.copy()))) {
    find("ownership", fmt::format("'{}' is stored again at {}", name_of(root), sample(intersect(stored_.copy(), stored.copy()))));
  }
  stored_ = stored_ ? unite(std::move(stored_), std::move(stored)) : std::move(stored);
}

void Checker::move(const hw::Dma& dma, const Points& points, const Position& at) {
  const Map from = elements(dma.src, points, "a transfer");
  const Map into = elements(dma.dst, points, "a transfer");
  if (!from || !into) {
    return;
  }
  std::map<Family, Map> moved = slots_[key_of(dma.src, at)].look_up_all(compose(reverse(into.copy()), from.copy()));
  Set missing = range(into.copy());
  for (const auto& [family, values] : moved) {
    missing = subtract(std::move(missing), domain(values.copy()));
  }
  if (!is_empty(missing)) {
    find("footprint", fmt::format("a transfer from '{}' to '{}' copies an element that holds nothing, to {}", buffer(dma.src.object).name,
                                  buffer(dma.dst.object).name, sample(std::move(missing))));
  }
  Slot& slot = slots_[key_of(dma.dst, at)];
  slot.clear();
  deliver(slot, std::move(moved));
}

void Checker::execute(const hw::Fill& fill, const Position& at) {
  const Points points(fill.box, at.env);
  if (points.empty) {
    return;
  }
  const Map index = elements(fill.dst, points, "a fill");
  if (!index) {
    return;
  }
  Set filled = range(index.copy());
  Slot& slot = slots_[key_of(fill.dst, at)];
  slot.forget(filled);
  slot.add(constant(fill.value), product(std::move(filled), poly_.box({})));
}

}  // namespace dlcc::lowering::oracle
