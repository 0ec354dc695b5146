// Transfers of a core: bounds and clipping, when the bytes move, and the shadow between issue and wait.
#include <fmt/format.h>

#include <algorithm>

#include "sim/box_move.h"
#include "sim/core_run.h"

namespace dlcc::sim {
namespace {

bool has_points(const hw::ConcreteBox& box) {
  return std::all_of(box.extent.begin(), box.extent.end(), [](int64_t extent) { return extent > 0; });
}

/// The byte intervals that contain all runs overlap.
bool near(const Runs& a, int64_t a_base, const Runs& b, int64_t b_base) {
  return a_base + a.front().offset < b_base + b.back().offset + b.back().bytes &&
         b_base + b.front().offset < a_base + a.back().offset + a.back().bytes;
}

}  // namespace

bool CoreRun::is_async(const hw::Dma& dma) const {
  const int engine = context_.machine.paths[static_cast<size_t>(dma.path)].engine;
  return engine != hw::kNone && context_.machine.dma[static_cast<size_t>(engine)].kind == hw::EngineKind::Async;
}

void CoreRun::execute_dma(const Leaf& leaf, const std::vector<int64_t>& env) {
  const auto& dma = leaf.as<hw::Dma>();
  Transfer transfer;
  transfer.leaf = &leaf;
  transfer.plan = &plan_->plan(leaf);
  transfer.env = env;
  if ((dma.lookup.has_value() && !look_up(transfer)) || !prepare(transfer)) {
    return;
  }
  if (context_.options.sanitize) {
    check_descriptors(transfer);
  }
  if (is_async(dma)) {
    transfer.channel = dma.channel;
    transfer.slot = channel_slot(dma.channel, eval(dma.channel_slot, env.data()), leaf);
    transfer.epoch = epoch_;
    begin(transfer);
    if (context_.options.dma_timing == DmaTiming::AtIssue) {
      move(transfer);
    }
    in_flight_.push_back(std::move(transfer));
    return;
  }
  const Agent me = agent(leaf.pipe);
  for (const bool write : {false, true}) {
    const Side& side = write ? transfer.to : transfer.from;
    if (write) {
      move(transfer);
    }
    if (!context_.options.sanitize || side.runs == nullptr) {
      continue;
    }
    if (side.view->is_tensor()) {
      log_.push_back({side.base, side.runs, leaf.index, write});
    } else {
      LocalShadow& shadow = shadows_[static_cast<size_t>(side.view->memory())];
      report_local(leaf, side, write ? shadow.write(*side.runs, side.base, me) : shadow.read(*side.runs, side.base, me),
                   write);
    }
  }
}

/// Sets the variable of the lookup. False: a finding says why not.
bool CoreRun::look_up(Transfer& transfer) {
  const hw::Lookup& lookup = *transfer.leaf->as<hw::Dma>().lookup;
  const ViewCode& index = transfer.plan->views[2];
  const int64_t* env = transfer.env.data();
  if (!check_bounds(*transfer.leaf, index, env, {})) {
    return false;
  }
  touch(*transfer.leaf, index, env, {}, false);
  const int64_t element = te::load_element(index.type(), address(index, index.place(env)), 0).i;
  const int64_t value = hw::looked_up(element, lookup.extent);
  transfer.env[static_cast<size_t>(lookup.var)] = value;
  context_.lookups.add(core_, group_, transfer.leaf->index, value);
  return true;
}

/// Fills in the box and both sides. False: nothing to do, or a finding says why not.
bool CoreRun::prepare(Transfer& transfer) {
  const auto& dma = transfer.leaf->as<hw::Dma>();
  const int64_t* env = transfer.env.data();
  const ViewCode& src = transfer.plan->views[0];
  const ViewCode& dst = transfer.plan->views[1];
  if (!extents_of(dma.box, env, transfer.extents)) {
    return false;
  }
  for (const ViewCode* view : {&src, &dst}) {
    if (!view->is_tensor() && !check_bounds(*transfer.leaf, *view, env, transfer.extents)) {
      return false;
    }
  }
  transfer.box = hw::clip(dma, plan_->group(), context_.program, transfer.env, &transfer.clipped);
  if (transfer.clipped && src.is_tensor() && !dma.fill.has_value()) {
    report("out-of-bounds", transfer.leaf->index, transfer.leaf->pipe,
           "reads " + src.describe(env, transfer.extents) + " and has no fill value");
    return false;
  }
  if (!context_.options.sanitize) {
    return true;
  }
  const bool put = dst.is_tensor() && !src.is_tensor();
  const bool some = has_points(transfer.box);
  const auto side = [&](const ViewCode& view, int64_t base, bool whole) -> Side {
    if (view.is_tensor() && !view.is_arena()) {
      return {&view, 0, nullptr};
    }
    if (whole || view.blocked()) {
      return {&view, view.place(env), &view.footprint(env, transfer.extents)};
    }
    return some ? Side{&view, base, &view.footprint(env, transfer.box.extent)} : Side{&view, 0, nullptr};
  };
  // A padded box is written whole.
  transfer.from = side(src, put ? transfer.box.local : transfer.box.global, false);
  transfer.to = side(dst, put ? transfer.box.global : transfer.box.local, dma.fill.has_value() && !dst.is_tensor());
  return true;
}

void CoreRun::begin(Transfer& transfer) {
  if (!context_.options.sanitize) {
    return;
  }
  check_in_flight(transfer);
  const Agent me = agent(transfer.leaf->pipe);
  for (const bool write : {false, true}) {
    const Side& side = write ? transfer.to : transfer.from;
    if (side.runs == nullptr) {
      continue;
    }
    if (side.view->is_tensor()) {
      log_.push_back({side.base, side.runs, transfer.leaf->index, write});
    } else {
      LocalShadow& shadow = shadows_[static_cast<size_t>(side.view->memory())];
      report_local(*transfer.leaf, side,
                   write ? shadow.begin_transfer_in(*side.runs, side.base, me)
                         : shadow.begin_transfer_out(*side.runs, side.base, me),
                   write);
    }
  }
}

/// Two transfers of this core on the same bytes of global memory, one of them writing. (Scratchpads: the shadow sees
/// it.)
void CoreRun::check_in_flight(const Transfer& transfer) {
  const auto conflict = [](const Side& a, const Side& b) {
    return a.runs != nullptr && b.runs != nullptr && a.view->is_tensor() && b.view->is_tensor() &&
           near(*a.runs, a.base, *b.runs, b.base) && overlap(*a.runs, a.base, *b.runs, b.base);
  };
  for (const Transfer& other : in_flight_) {
    const bool raw = conflict(transfer.from, other.to), war = conflict(transfer.to, other.from),
               waw = conflict(transfer.to, other.to);
    if (raw || war || waw) {
      report(raw ? "read-before-wait" : (war ? "overwrite-while-read" : "overwrite-before-wait"), transfer.leaf->index,
             transfer.leaf->pipe,
             fmt::format("uses bytes of global memory that '{}' moves and that has not been waited for",
                         leaf_name(*other.leaf, plan_->group(), context_.program, context_.machine)));
    }
  }
}

void CoreRun::move(Transfer& transfer) {
  transfer.moved = true;
  const auto& dma = transfer.leaf->as<hw::Dma>();
  const ViewCode& src = transfer.plan->views[0];
  const ViewCode& dst = transfer.plan->views[1];
  if (src.blocked() || dst.blocked() || src.type() != dst.type()) {
    move_elements(transfer);
    return;
  }
  if (dma.fill.has_value() && transfer.clipped && !dst.is_tensor()) {
    std::vector<int64_t> strides;
    for (const int64_t stride : dst.strides()) {
      strides.push_back(stride * dst.element());
    }
    fill_box(address(dst, dst.place(transfer.env.data())), strides, transfer.extents, dst.type(),
             te::value_of(*dma.fill, dst.type()));
  }
  if (!has_points(transfer.box)) {
    return;
  }
  const hw::ConcreteBox& box = transfer.box;
  if (dst.is_tensor() && !src.is_tensor()) {
    copy_box(address(dst, box.global), box.global_stride, address(src, box.local), box.local_stride, box.extent,
             box.element);
  } else {
    copy_box(address(dst, box.local), box.local_stride, address(src, box.global), box.global_stride, box.extent,
             box.element);
  }
}

/// Point by point: layouts and casts.
void CoreRun::move_elements(const Transfer& transfer) {
  const auto& dma = transfer.leaf->as<hw::Dma>();
  const int64_t* env = transfer.env.data();
  const ViewCode* views[2] = {&transfer.plan->views[0], &transfer.plan->views[1]};
  const te::ScalarNode cast{.op = te::Op::Cast, .type = views[1]->type()};
  std::vector<int64_t> point(transfer.extents.size());
  std::vector<int64_t> coordinate[2];
  int64_t at[2] = {0, 0};
  for_each_point(transfer.extents, point.data(), [&] {
    bool inside[2] = {true, true};
    for (const int v : {0, 1}) {
      const ViewCode& view = *views[v];
      coordinate[v].resize(view.shape().size());
      int64_t linear = 0;
      for (size_t d = 0; d < coordinate[v].size(); ++d) {
        int64_t c = view.rest(d, env);
        for (size_t b = 0; b < point.size(); ++b) {
          c += view.coefs()[d][b] * point[b];
        }
        inside[v] = inside[v] && c >= 0 && c < view.shape()[d];
        coordinate[v][d] = c;
        linear += (c - view.rest(d, env)) * view.dim_stride(static_cast<int>(d));
      }
      at[v] = view.blocked() && inside[v] ? view.blocked_offset(coordinate[v].data()) : linear;
    }
    if (!inside[1] || (!inside[0] && !dma.fill.has_value())) {
      return;
    }
    te::Value value;
    if (inside[0]) {
      value = te::load_element(views[0]->type(), address(*views[0], views[0]->place(env)), at[0]);
      if (views[0]->type() != views[1]->type()) {
        value = te::apply(cast, views[0]->type(), value, {}, {});
      }
    } else {
      value = te::value_of(*dma.fill, views[1]->type());
    }
    te::store_element(views[1]->type(), address(*views[1], views[1]->place(env)), at[1], value);
  });
}

void CoreRun::complete(Transfer& transfer) {
  if (!transfer.moved) {
    move(transfer);
  }
  if (!context_.options.sanitize) {
    return;
  }
  const Agent me = agent(transfer.leaf->pipe);
  for (const bool write : {false, true}) {
    const Side& side = write ? transfer.to : transfer.from;
    if (side.runs == nullptr) {
      continue;
    }
    if (side.view->is_tensor()) {
      if (transfer.epoch != epoch_) {
        log_.push_back(
            {side.base, side.runs, transfer.leaf->index, write});  // it crossed a barrier: it may happen now as well
      }
    } else {
      LocalShadow& shadow = shadows_[static_cast<size_t>(side.view->memory())];
      write ? shadow.end_transfer_in(*side.runs, side.base, me) : shadow.end_transfer_out(*side.runs, side.base, me);
    }
  }
}

void CoreRun::check_descriptors(const Transfer& transfer) {
  const int engine_id = context_.machine.paths[static_cast<size_t>(transfer.leaf->as<hw::Dma>().path)].engine;
  if (engine_id == hw::kNone) {
    return;
  }
  const hw::DmaEngine& engine = context_.machine.dma[static_cast<size_t>(engine_id)];
  thread_local std::vector<hw::Descriptor> descriptors;
  descriptors.clear();
  hw::expand(transfer.box, engine, descriptors);
  for (const hw::Descriptor& d : descriptors) {
    const auto text = [&] {
      return fmt::format("descriptor of {} blocks of {} bytes, stride {}, global {}, local {}", d.blocks, d.block,
                         d.global_stride, d.global, d.local);
    };
    if (engine.align > 1 && (d.global % engine.align != 0 || d.local % engine.align != 0 ||
                             d.block % engine.align != 0 || d.global_stride % engine.align != 0)) {
      return report("alignment", transfer.leaf->index, transfer.leaf->pipe,
                    fmt::format("{}: engine {} wants multiples of {} bytes", text(), engine.name, engine.align));
    }
    if ((engine.max_block > 0 && d.block > engine.max_block) ||
        (engine.max_bytes > 0 && d.bytes() > engine.max_bytes) ||
        (engine.max_stride > 0 && d.global_stride > engine.max_stride) || (engine.max_dims < 2 && d.blocks > 1)) {
      return report("dma-limit", transfer.leaf->index, transfer.leaf->pipe,
                    fmt::format("{} exceeds what engine {} can do", text(), engine.name));
    }
  }
}

}  // namespace dlcc::sim
