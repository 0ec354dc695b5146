// The executing half of a core: what each leaf does to memory, and what the sanitizer says about it.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "sim/box_move.h"
#include "sim/core_run.h"

namespace dlcc::sim {

void CoreRun::execute(const Leaf& leaf, const std::vector<int64_t>& env) {
  if (leaf.pipe >= 0) {
    ++clocks_[static_cast<size_t>(leaf.pipe)][static_cast<size_t>(leaf.pipe)];
  }
  switch (leaf.kind) {
    case OpKind::Dma:
      return execute_dma(leaf, env);
    case OpKind::Fill:
      return execute_fill(leaf, env);
    case OpKind::Compute:
      return execute_compute(leaf, env);
    case OpKind::Intrin:
      return execute_intrinsic(leaf, env);
    case OpKind::Signal:
      return execute_signal(leaf, env);
    case OpKind::Wait:
      return execute_wait(leaf, env);
    case OpKind::Barrier:
      return;
  }
}

std::byte* CoreRun::address(const ViewCode& view, int64_t offset) const {
  if (!view.is_tensor()) {
    return const_cast<std::byte*>(memories_[static_cast<size_t>(view.memory())].data()) + offset;
  }
  // Weights are only ever read: check_program refuses writes to them.
  return view.is_arena() ? context_.arena + offset : const_cast<std::byte*>(context_.weights) + offset;
}

bool CoreRun::check_bounds(const Leaf& leaf, const ViewCode& view, const int64_t* env,
                           const std::vector<int64_t>& extents) {
  if (view.slot_inside(env) && view.inside(env, extents)) {
    return true;
  }
  report("out-of-bounds", leaf.index, leaf.pipe, "accesses " + view.describe(env, extents) + "; the leaf is skipped");
  return false;
}

void CoreRun::report_local(const Leaf& leaf, const Side& side, const Verdict& verdict, bool write) {
  const hw::Buffer& buffer = side.view->buffer();
  const int64_t slot = buffer.slot_bytes > 0 ? std::max<int64_t>(verdict.at - buffer.offset, 0) / buffer.slot_bytes : 0;
  const std::string where = fmt::format("'{}' slot {} at byte {} of memory {}", buffer.name, slot, verdict.at,
                                        context_.machine.memories[static_cast<size_t>(buffer.memory)].name);
  const auto pipe = [&](int p) { return context_.machine.pipes[static_cast<size_t>(p)].name; };
  const char* verb = write ? "writes" : "reads";
  switch (verdict.hazard) {
    case Hazard::None:
      return;
    case Hazard::Uninitialised:
      return report("uninitialised-read", leaf.index, leaf.pipe,
                    fmt::format("reads {}, which nothing has written", where));
    case Hazard::TransferIn:
      return report(write ? "overwrite-before-wait" : "read-before-wait", leaf.index, leaf.pipe,
                    fmt::format("{} {} while a transfer into it has not been waited for; a wait is missing before this",
                                verb, where));
    case Hazard::TransferOut:
      return report(
          "overwrite-while-read", leaf.index, leaf.pipe,
          fmt::format("writes {} while a transfer out of it has not been waited for; a wait is missing before this",
                      where));
    case Hazard::WrittenByPipe:
      return report(
          write ? "overwrite-before-wait" : "read-before-wait", leaf.index, leaf.pipe,
          fmt::format("{} {}, which pipe {} writes without a flag between; a signal on {} and a wait here are missing",
                      verb, where, pipe(verdict.pipe), pipe(verdict.pipe)));
    case Hazard::ReadByPipe:
      return report("overwrite-while-read", leaf.index, leaf.pipe,
                    fmt::format("writes {}, which pipe {} may still read; a signal on {} and a wait here are missing",
                                where, pipe(verdict.pipe), pipe(verdict.pipe)));
  }
}

void CoreRun::touch(const Leaf& leaf, const ViewCode& view, const int64_t* env, const std::vector<int64_t>& extents,
                    bool write) {
  if (!context_.options.sanitize || (view.is_tensor() && !view.is_arena())) {
    return;
  }
  const Side side{&view, view.place(env), &view.footprint(env, extents)};
  if (view.is_tensor()) {
    log_.push_back({side.base, side.runs, leaf.index, write});
    return;
  }
  LocalShadow& shadow = shadows_[static_cast<size_t>(view.memory())];
  const Agent me = agent(leaf.pipe);
  report_local(leaf, side, write ? shadow.write(*side.runs, side.base, me) : shadow.read(*side.runs, side.base, me),
               write);
}

void CoreRun::execute_fill(const Leaf& leaf, const std::vector<int64_t>& env) {
  const auto& fill = leaf.as<hw::Fill>();
  const LeafPlan& plan = plan_->plan(leaf);
  const ViewCode& view = plan.views[0];
  std::vector<int64_t> extents;
  if (!extents_of(fill.box, env.data(), extents) || !check_bounds(leaf, view, env.data(), extents)) {
    return;
  }
  const te::Value value = te::value_of(fill.value, view.type());
  if (!view.blocked()) {
    std::vector<int64_t> strides;
    for (const int64_t stride : view.strides()) {
      strides.push_back(stride * view.element());
    }
    fill_box(address(view, view.place(env.data())), strides, extents, view.type(), value);
  } else {
    std::byte* data = address(view, view.place(env.data()));
    for (const Run& run : view.footprint(env.data(), extents)) {
      for (int64_t at = run.offset; at < run.offset + run.bytes; at += view.element()) {
        te::store_element(view.type(), data + at, 0, value);
      }
    }
  }
  touch(leaf, view, env.data(), extents, true);
}

void CoreRun::execute_compute(const Leaf& leaf, const std::vector<int64_t>& env) {
  const LeafPlan& plan = plan_->plan(leaf);
  std::vector<int64_t> extents;
  if (extents_of(*plan.box, env.data(), extents)) {
    run_body(leaf, plan, *plan.compute, env.data(), extents, std::nullopt);
  }
}

void CoreRun::execute_intrinsic(const Leaf& leaf, const std::vector<int64_t>& env) {
  const auto& call = leaf.as<hw::IntrinCall>();
  const hw::Intrinsic& intrinsic = context_.machine.intrinsics[static_cast<size_t>(call.intrinsic)];
  std::vector<int64_t> params, extents;
  for (size_t p = 0; p < call.params.size(); ++p) {
    params.push_back(eval(call.params[p], env.data()));
    const hw::IntrinsicParam& limits = intrinsic.params[p];
    if (!limits.is_bool && (params[p] < limits.min || params[p] > limits.max ||
                            params[p] % std::max<int64_t>(limits.multiple_of, 1) != 0)) {
      report("intrinsic-limit", leaf.index, leaf.pipe,
             fmt::format("{} = {}, allowed are multiples of {} in {}..{}", limits.name, params[p], limits.multiple_of,
                         limits.min, limits.max));
    }
  }
  if (!extents_of(call.box, env.data(), extents)) {
    return;
  }
  const te::Semantics& semantics = intrinsic.semantics;
  const bool accumulates = semantics.reduces || semantics.reads_output;
  const bool keeps =
      semantics.reads_output && (semantics.init_param < 0 || params[static_cast<size_t>(semantics.init_param)] == 0);
  std::optional<te::Value> start;
  const LeafPlan& plan = plan_->plan(leaf);
  if (accumulates && !keeps) {
    const DType type = plan.views[0].type();
    start = te::value_of(te::identity_of(semantics.monoid, type), type);
  }
  run_body(leaf, plan, plan_->intrinsic_code(leaf, params), env.data(), extents, start);
}

namespace {

/// The box that a view of a blocked buffer touches, as a row-major copy.
struct Unblocked {
  std::vector<std::byte> data;
  std::vector<int64_t> low, size, strides;
  int64_t first = 0;  // element of point 0

  Unblocked(const ViewCode& view, const int64_t* env, const std::vector<int64_t>& extents)
      : strides(extents.size(), 0) {
    for (size_t d = 0; d < view.shape().size(); ++d) {
      const auto [lowest, highest] = view.bounds(d, env, extents);
      low.push_back(lowest);
      size.push_back(highest - lowest + 1);
    }
    int64_t pitch = 1;
    for (size_t d = size.size(); d-- > 0;) {
      first += (view.rest(d, env) - low[d]) * pitch;
      for (size_t b = 0; b < extents.size(); ++b) {
        strides[b] += view.coefs()[d][b] * pitch;
      }
      pitch *= size[d];
    }
    data.resize(static_cast<size_t>(pitch * view.element()));
  }

  /// slot <-> data
  void exchange(const ViewCode& view, std::byte* slot, bool store) {
    std::vector<int64_t> point(size.size()), coordinate(size.size());
    int64_t at = 0;
    const auto bytes = static_cast<size_t>(view.element());
    for_each_point(size, point.data(), [&] {
      for (size_t d = 0; d < point.size(); ++d) {
        coordinate[d] = low[d] + point[d];
      }
      std::byte* blocked = slot + view.blocked_offset(coordinate.data()) * view.element();
      std::byte* plain = &data[static_cast<size_t>(at++ * view.element())];
      std::copy_n(store ? plain : blocked, bytes, store ? blocked : plain);
    });
  }
};

}  // namespace

/// start: what the written box holds before the first point; otherwise its old values (accumulation) or nothing (Map).
void CoreRun::run_body(const Leaf& leaf, const LeafPlan& plan, const ComputeCode& code, const int64_t* env,
                       const std::vector<int64_t>& extents, std::optional<te::Value> start) {
  const bool accumulates = leaf.kind == OpKind::Compute && leaf.as<hw::Compute>().accumulate;
  const bool reads_output =
      leaf.kind == OpKind::Compute
          ? accumulates
          : !start.has_value() && context_.machine.intrinsics[static_cast<size_t>(leaf.as<hw::IntrinCall>().intrinsic)]
                                      .semantics.reads_output;
  for (const ViewCode& view : plan.views) {
    if (!check_bounds(leaf, view, env, extents)) {
      return;
    }
  }
  for (size_t v = reads_output ? 0 : 1; v < plan.views.size(); ++v) {
    touch(leaf, plan.views[v], env, extents, false);
  }
  std::vector<Operand> operands;
  std::vector<std::unique_ptr<Unblocked>> copies(plan.views.size());
  for (size_t v = 0; v < plan.views.size(); ++v) {
    const ViewCode& view = plan.views[v];
    std::byte* at = address(view, view.place(env));
    if (view.blocked()) {
      copies[v] = std::make_unique<Unblocked>(view, env, extents);
      copies[v]->exchange(view, at, false);
      operands.push_back({copies[v]->data.data() + copies[v]->first * view.element(), copies[v]->strides.data()});
    } else {
      operands.push_back({at, view.strides().data()});
    }
  }
  if (start.has_value()) {
    std::vector<int64_t> strides;
    for (size_t d = 0; d < extents.size(); ++d) {
      strides.push_back(operands[0].strides[d] * plan.views[0].element());
    }
    fill_box(operands[0].data, strides, extents, plan.views[0].type(), *start);
  }
  std::vector<int64_t> index_base(extents.size(), 0);
  if (leaf.kind == OpKind::Compute) {
    const auto& bases = leaf.as<hw::Compute>().index_base;
    for (size_t d = 0; d < bases.size(); ++d) {
      index_base[d] = eval(bases[d], env);
    }
  }
  code.run(extents, operands[0], {operands.begin() + 1, operands.end()}, index_base.data());
  if (copies[0] != nullptr) {
    copies[0]->exchange(plan.views[0], address(plan.views[0], plan.views[0].place(env)), true);
  }
  touch(leaf, plan.views[0], env, extents, true);
}

}  // namespace dlcc::sim
