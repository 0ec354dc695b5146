// Sequencing for a core that is one instruction stream: asynchronous DMA with replies (software-pipelined by one step), or synchronous copies.
//
//   prologue: what never changes is loaded; the first step's double-buffered loads are issued
//   for each step of this core:
//     issue the next step's double-buffered loads whose box changes there
//     issue this step's other loads; wait for this step's loads
//     first step of a tile:  the result's slot must have been stored; accumulators start
//     the statements of the reduction loop
//     last step of a tile:   the statements after it; the store
//   epilogue: wait for the last stores
#include <algorithm>

#include "lowering/emit.h"

namespace dlcc::lowering {

using hw::LetOp;

namespace {

class StreamSequencer {
 public:
  explicit StreamSequencer(GroupEmitter& emitter) : e_(emitter) {
    const hw::Machine& machine = e_.machine();
    for (size_t l = 0; l < e_.regions().loads.size(); ++l) {
      const int buffer = e_.buffers().of_load[l];
      const bool async = e_.engine(machine.global_memory(), e_.buffer(buffer).memory).kind == hw::EngineKind::Async;
      const int channel = async ? e_.new_channel(reply_channel(buffer, ".get")) : hw::kNone;
      loads_.push_back({static_cast<int>(l), buffer, e_.buffers().buffers[static_cast<size_t>(buffer)].level, channel});
    }
    out_buffer_ = e_.buffers().of_stmt[static_cast<size_t>(e_.group().root())];
    if (e_.engine(e_.buffer(out_buffer_).memory, machine.global_memory()).kind == hw::EngineKind::Async) {
      out_channel_ = e_.new_channel(reply_channel(out_buffer_, ".put"));
    }
  }

  hw::Body run() {
    hw::Body body;
    Scope scope;
    scope.body = &body;
    range_ = core_range(e_, scope);
    e_.guarded(scope, {range_.tile_end - range_.tile_begin - 1}, [&](Scope& inner) {
      prologue(inner);
      const VarId step = e_.new_var("step");
      e_.loop(inner, step, range_.step_begin, range_.step_end, [&](Scope& in_loop) { one_step(in_loop, Affine::var(step)); });
      epilogue(inner);
    });
    return body;
  }

 private:
  struct LoadState {
    int load, buffer, level, channel;
  };

  hw::Channel reply_channel(int buffer, const char* suffix) const {
    const hw::PipeId core = e_.machine().vector.pipe;
    return {e_.buffer(buffer).name + suffix, hw::ChannelKind::Reply, core, core, e_.buffer(buffer).copies, 0};
  }
  bool prefetched(const LoadState& load) const { return e_.buffer(load.buffer).copies > 1; }

  /// Slot of a buffer whose instances change with the loops up to `level`, at a flattened step.
  Affine slot(Scope& scope, int buffer, int level, const Affine& step) {
    const Affine instance = e_.let(scope, LetOp::FloorDiv, step, e_.regions().inner_trips(level));
    return e_.let(scope, LetOp::Mod, instance, e_.buffer(buffer).copies);
  }

  void issue(Scope& scope, const LoadState& load, const Affine& step) {
    e_.load(scope, load.load, slot(scope, load.buffer, load.level, step), load.channel);
  }
  void wait(Scope& scope, const LoadState& load, const Affine& step) {
    if (load.channel != hw::kNone) {
      e_.append(scope, hw::Wait{load.channel, slot(scope, load.buffer, load.level, step)});
    }
  }

  void prologue(Scope& scope) {
    Scope at = scope;
    e_.set_indices(at, range_.step_begin, ".0");
    for (const LoadState& load : loads_) {
      if (prefetched(load) || load.level == 0) {
        issue(at, load, range_.step_begin);
      }
    }
    for (const LoadState& load : loads_) {
      if (load.level == 0) {
        wait(at, load, range_.step_begin);
      }
    }
  }

  void prefetch_next(Scope& scope, const Affine& step) {
    e_.guarded(scope, {range_.step_end - step - 2}, [&](Scope& next) {
      e_.set_indices(next, step + 1, ".n");
      for (const LoadState& load : loads_) {
        if (prefetched(load)) {
          const Affine position = e_.let(next, LetOp::Mod, step + 1, e_.regions().inner_trips(load.level));
          e_.guarded(next, {position * -1}, [&](Scope& fresh) { issue(fresh, load, step + 1); });
        }
      }
    });
  }

  void arrive(Scope& scope, const Affine& step) {
    for (int level = 1; level <= static_cast<int>(e_.regions().loops.size()); ++level) {
      const bool any = std::any_of(loads_.begin(), loads_.end(), [&](const LoadState& load) { return load.level == level; });
      if (!any) {
        continue;
      }
      const Affine edge = instance_edge(e_, scope, step, e_.regions().inner_trips(level), range_.step_begin, range_.step_end, false);
      e_.guarded(scope, {edge * -1}, [&](Scope& fresh) {
        for (const LoadState& load : loads_) {
          if (load.level == level && !prefetched(load)) {
            issue(fresh, load, step);
          }
        }
        for (const LoadState& load : loads_) {
          if (load.level == level) {
            wait(fresh, load, step);
          }
        }
      });
    }
  }

  void one_step(Scope& scope, const Affine& step) {
    e_.set_indices(scope, step, "");
    prefetch_next(scope, step);
    arrive(scope, step);
    const GroupAnalysis& group = e_.group();
    const Affine tile = e_.let(scope, LetOp::FloorDiv, step, e_.regions().steps);
    const Affine within = e_.let(scope, LetOp::Mod, step, e_.regions().steps);
    const Affine out_slot = e_.let(scope, LetOp::Mod, tile, e_.buffer(out_buffer_).copies);
    const auto slot_of = [&](int buffer) {
      const PlannedBuffer& planned = e_.buffers().buffers[static_cast<size_t>(buffer)];
      return buffer == out_buffer_ ? out_slot : planned.load >= 0 ? slot(scope, buffer, planned.level, step) : Affine(0);
    };
    const bool result_is_streamed = group.streamed == group.root();
    if (group.streamed >= 0) {
      e_.guarded(scope, {within * -1}, [&](Scope& first) {
        if (result_is_streamed) {
          await_free_slot(first, tile, out_slot);
        }
        e_.fill_borders(first, group.streamed, slot_of);
        e_.fill_identity(first, group.streamed, slot_of);
      });
      for (int s = 0; s <= group.root(); ++s) {
        if (group.phase[static_cast<size_t>(s)] == Phase::Stream) {
          statement(scope, s, slot_of);
        }
      }
    }
    e_.guarded(scope, {within - (e_.regions().steps - 1)}, [&](Scope& last) {
      if (!result_is_streamed) {
        await_free_slot(last, tile, out_slot);
      }
      for (int s = 0; s <= group.root(); ++s) {
        if (group.phase[static_cast<size_t>(s)] == Phase::Final) {
          statement(last, s, slot_of);
        }
      }
      e_.store(last, out_slot, out_channel_);
    });
  }

  void statement(Scope& scope, int s, const GroupEmitter::SlotOf& slot_of) {
    if (s != e_.group().streamed) {
      e_.fill_borders(scope, s, slot_of);
      if (e_.group().stmts[static_cast<size_t>(s)].kind == te::StmtKind::Reduce) {
        e_.fill_identity(scope, s, slot_of);
      }
    }
    e_.compute(scope, s, slot_of);
  }

  void await_free_slot(Scope& scope, const Affine& tile, const Affine& out_slot) {
    if (out_channel_ == hw::kNone) {
      return;
    }
    const Affine earlier = tile - range_.tile_begin - e_.buffer(out_buffer_).copies;
    const int64_t cores = e_.machine().core_count();
    const int64_t most_tiles = (e_.regions().tiles + cores - 1) / cores;   // of a core
    if (most_tiles > e_.buffer(out_buffer_).copies) {
      e_.guarded(scope, {earlier}, [&](Scope& busy) { e_.append(busy, hw::Wait{out_channel_, out_slot}); });
    }
  }

  void epilogue(Scope& scope) {
    if (out_channel_ == hw::kNone) {
      return;
    }
    for (int back = 0; back < e_.buffer(out_buffer_).copies; ++back) {
      const Affine tile = range_.tile_end - 1 - back;
      e_.guarded(scope, {tile - range_.tile_begin}, [&](Scope& used) {
        e_.append(used, hw::Wait{out_channel_, e_.let(used, LetOp::Mod, tile, e_.buffer(out_buffer_).copies)});
      });
    }
  }

  GroupEmitter& e_;
  std::vector<LoadState> loads_;
  int out_buffer_ = 0;
  int out_channel_ = hw::kNone;
  CoreRange range_;
};

}  // namespace

hw::Body sequence_stream(GroupEmitter& emitter) { return StreamSequencer(emitter).run(); }

}  // namespace dlcc::lowering
