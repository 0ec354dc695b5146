// Sequencing for decoupled in-order pipes: program order is the plain loop nest; every buffer that one pipe fills and another uses has a pair of
// flag channels (full, empty) with a token per slot, so that a pipe runs ahead by as many slots as there are. Loads with the same lifetime and the
// same reader share one pair.
#include <algorithm>
#include <map>
#include <tuple>

#include "lowering/emit.h"

namespace dlcc::lowering {

using hw::LetOp;

namespace {

/// full: writer -> reader; empty: reader -> writer, which starts with a token for each slot.
struct Handshake {
  int full = hw::kNone, empty = hw::kNone;
  bool exists() const { return full != hw::kNone; }
};

class PipeSequencer {
 public:
  explicit PipeSequencer(GroupEmitter& emitter) : e_(emitter) {
    const GroupAnalysis& group = e_.group();
    const hw::Machine& machine = e_.machine();
    by_intrinsic_ = e_.plan().intrinsic >= 0;
    group_loads();
    out_buffer_ = e_.buffers().of_stmt[static_cast<size_t>(group.root())];
    const hw::PipeId store_pipe = e_.engine(e_.buffer(out_buffer_).memory, machine.global_memory()).pipe;
    out_ = connect("out", e_.pipe_of_stmt(group.root()), store_pipe, e_.buffer(out_buffer_).copies);
    if (by_intrinsic_) {
      acc_buffer_ = e_.buffers().of_stmt[static_cast<size_t>(group.streamed)];
      if (acc_buffer_ != out_buffer_) {
        acc_ = connect("acc", e_.pipe_of_stmt(group.streamed), machine.vector.pipe, e_.buffer(acc_buffer_).copies);
      }
      connect_operands();
    }
  }

  hw::Body run() {
    hw::Body body;
    Scope scope;
    scope.body = &body;
    range_ = core_range(e_, scope);
    const VarId step = e_.new_var("step");
    e_.loop(scope, step, range_.step_begin, range_.step_end, [&](Scope& inner) { one_step(inner, Affine::var(step)); });
    drain(scope);
    return body;
  }

 private:
  /// Loads that come and go together.
  struct LoadSet {
    int level = 0;
    Phase phase = Phase::Final;
    int copies = 1;
    hw::PipeId writer = 0;
    std::vector<int> loads;
    std::vector<Handshake> readers;
  };

  Handshake connect(const std::string& name, hw::PipeId writer, hw::PipeId reader, int slots) {
    if (writer == reader) {
      return {};   // one pipe is in order with itself
    }
    Handshake h;
    h.full = e_.new_channel({name + ".full", hw::ChannelKind::Flag, writer, reader, slots, 0});
    h.empty = e_.new_channel({name + ".empty", hw::ChannelKind::Flag, reader, writer, slots, 1});
    empties_.push_back({h.empty, slots});
    return h;
  }

  /// The pipe that reads a load on behalf of a statement: an intrinsic's operands are fetched by the engine of the inner path.
  hw::PipeId reader_of(const Load::User& user) const {
    if (!by_intrinsic_ || user.stmt != e_.group().streamed) {
      return e_.machine().vector.pipe;
    }
    const IntrinsicMatch& match = e_.group().intrinsics[static_cast<size_t>(e_.plan().intrinsic)];
    for (size_t o = 0; o < match.operand_to_read.size(); ++o) {
      const int inner = e_.buffers().of_operand[o];
      if (match.operand_to_read[o] == user.read && inner >= 0) {
        return e_.engine(e_.machine().work_memory(), e_.buffer(inner).memory).pipe;
      }
    }
    return e_.pipe_of_stmt(user.stmt);
  }

  void group_loads() {
    std::map<std::tuple<int, Phase, int, hw::PipeId, std::vector<hw::PipeId>>, size_t> known;
    for (size_t l = 0; l < e_.regions().loads.size(); ++l) {
      const Load& load = e_.regions().loads[l];
      const PlannedBuffer& planned = e_.buffers().buffers[static_cast<size_t>(e_.buffers().of_load[l])];
      const hw::PipeId writer = e_.engine(e_.machine().global_memory(), planned.buffer.memory).pipe;
      std::vector<hw::PipeId> readers;
      for (const Load::User& user : load.users) {
        readers.push_back(reader_of(user));
      }
      std::sort(readers.begin(), readers.end());
      readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
      const auto key = std::make_tuple(planned.level, load.phase, planned.buffer.copies, writer, readers);
      const auto [at, fresh] = known.try_emplace(key, sets_.size());
      if (fresh) {
        LoadSet set{planned.level, load.phase, planned.buffer.copies, writer, {}, {}};
        for (hw::PipeId reader : readers) {
          const Handshake h = connect("in" + std::to_string(sets_.size()), writer, reader, set.copies);
          if (h.exists()) {
            set.readers.push_back(h);
          }
        }
        sets_.push_back(std::move(set));
      }
      sets_[at->second].loads.push_back(static_cast<int>(l));
    }
  }

  void connect_operands() {
    for (int buffer : e_.buffers().of_operand) {
      if (buffer >= 0 && !operands_.exists()) {
        const hw::PipeId writer = e_.engine(e_.machine().work_memory(), e_.buffer(buffer).memory).pipe;
        operands_ = connect("operands", writer, e_.pipe_of_stmt(e_.group().streamed), e_.buffer(buffer).copies);
      }
    }
  }

  Affine slot(Scope& scope, int copies, int level, const Affine& step) {
    const Affine instance = e_.let(scope, LetOp::FloorDiv, step, e_.regions().inner_trips(level));
    return e_.let(scope, LetOp::Mod, instance, copies);
  }

  void signal(Scope& scope, int channel, const Affine& slot) {
    if (channel != hw::kNone) {
      e_.append(scope, hw::Signal{channel, slot});
    }
  }
  void wait(Scope& scope, int channel, const Affine& slot) {
    if (channel != hw::kNone) {
      e_.append(scope, hw::Wait{channel, slot});
    }
  }

  void fetch(Scope& scope, const LoadSet& set, const Affine& step) {
    const Affine edge = instance_edge(e_, scope, step, e_.regions().inner_trips(set.level), range_.step_begin, range_.step_end, false);
    e_.guarded(scope, {edge * -1}, [&](Scope& fresh) {
      const Affine at = slot(fresh, set.copies, set.level, step);
      for (const Handshake& reader : set.readers) {
        wait(fresh, reader.empty, at);
      }
      for (int load : set.loads) {
        e_.load(fresh, load, at, hw::kNone);
      }
      for (const Handshake& reader : set.readers) {
        signal(fresh, reader.full, at);
      }
    });
  }

  /// Readers take the full flag where an instance starts and give the empty flag where it ends, counted in steps or, after the reduction, in tiles.
  void meet_readers(Scope& scope, Phase phase, const Affine& step, const Affine& tile, bool last) {
    for (const LoadSet& set : sets_) {
      if (set.phase != phase || set.readers.empty()) {
        continue;
      }
      const bool by_step = phase == Phase::Stream;
      const int64_t trips = e_.regions().inner_trips(set.level);
      const int64_t inner = by_step ? trips : std::max<int64_t>(trips / e_.regions().steps, 1);
      const Affine edge = instance_edge(e_, scope, by_step ? step : tile, inner, by_step ? range_.step_begin : range_.tile_begin,
                                        by_step ? range_.step_end : range_.tile_end, last);
      e_.guarded(scope, {edge * -1}, [&](Scope& border) {
        const Affine at = slot(border, set.copies, set.level, step);
        for (const Handshake& reader : set.readers) {
          last ? signal(border, reader.empty, at) : wait(border, reader.full, at);
        }
      });
    }
  }

  void one_step(Scope& scope, const Affine& step) {
    e_.set_indices(scope, step, "");
    const Affine tile = e_.let(scope, LetOp::FloorDiv, step, e_.regions().steps);
    const Affine within = e_.let(scope, LetOp::Mod, step, e_.regions().steps);
    const Affine out_slot = e_.let(scope, LetOp::Mod, tile, e_.buffer(out_buffer_).copies);
    const Affine acc_slot = by_intrinsic_ ? e_.let(scope, LetOp::Mod, tile, e_.buffer(acc_buffer_).copies) : Affine(0);
    const auto slot_of = [&](int buffer) {
      const PlannedBuffer& planned = e_.buffers().buffers[static_cast<size_t>(buffer)];
      return buffer == out_buffer_                     ? out_slot
             : by_intrinsic_ && buffer == acc_buffer_ ? acc_slot
             : planned.load >= 0                       ? slot(scope, planned.buffer.copies, planned.level, step)
                                                       : Affine(0);
    };
    for (const LoadSet& set : sets_) {
      fetch(scope, set, step);
    }
    if (e_.group().streamed >= 0) {
      stream_phase(scope, step, tile, within, out_slot, acc_slot, slot_of);
    }
    e_.guarded(scope, {within - (e_.regions().steps - 1)}, [&](Scope& last) { final_phase(last, step, tile, out_slot, acc_slot, slot_of); });
  }

  void stream_phase(Scope& scope, const Affine& step, const Affine& tile, const Affine& within, const Affine& out_slot, const Affine& acc_slot,
                    const GroupEmitter::SlotOf& slot_of) {
    const GroupAnalysis& group = e_.group();
    const bool result_is_streamed = group.streamed == group.root();
    const Handshake& target = result_is_streamed ? out_ : acc_;
    const Affine& target_slot = result_is_streamed ? out_slot : acc_slot;
    meet_readers(scope, Phase::Stream, step, tile, false);
    e_.guarded(scope, {within * -1}, [&](Scope& first) {
      wait(first, target.empty, target_slot);
      e_.fill_borders(first, group.streamed, slot_of);   // by the intrinsic's own pipe: it is in order with the calls
      if (!by_intrinsic_) {
        e_.fill_identity(first, group.streamed, slot_of);
      }
    });
    for (int s = 0; s < group.streamed; ++s) {
      if (group.phase[static_cast<size_t>(s)] == Phase::Stream) {
        statement(scope, s, slot_of);
      }
    }
    if (by_intrinsic_) {
      e_.compute_by_intrinsic(scope, step, slot_of, hooks());
    } else {
      e_.compute(scope, group.streamed, slot_of);
    }
    e_.guarded(scope, {within - (e_.regions().steps - 1)}, [&](Scope& last) { signal(last, target.full, target_slot); });
    meet_readers(scope, Phase::Stream, step, tile, true);
  }

  void final_phase(Scope& scope, const Affine& step, const Affine& tile, const Affine& out_slot, const Affine& acc_slot,
                   const GroupEmitter::SlotOf& slot_of) {
    const GroupAnalysis& group = e_.group();
    meet_readers(scope, Phase::Final, step, tile, false);
    if (group.streamed != group.root()) {
      wait(scope, acc_.full, acc_slot);
      wait(scope, out_.empty, out_slot);
      for (int s = 0; s <= group.root(); ++s) {
        if (group.phase[static_cast<size_t>(s)] == Phase::Final) {
          statement(scope, s, slot_of);
        }
      }
      signal(scope, acc_.empty, acc_slot);
      signal(scope, out_.full, out_slot);
    }
    meet_readers(scope, Phase::Final, step, tile, true);
    wait(scope, out_.full, out_slot);
    e_.store(scope, out_slot, hw::kNone);
    signal(scope, out_.empty, out_slot);
  }

  GroupEmitter::MicroHooks hooks() {
    const Handshake h = operands_;
    return {[this, h](Scope& scope, const Affine& slot) { wait(scope, h.empty, slot); },
            [this, h](Scope& scope, const Affine& slot) { signal(scope, h.full, slot); },
            [this, h](Scope& scope, const Affine& slot) { wait(scope, h.full, slot); },
            [this, h](Scope& scope, const Affine& slot) { signal(scope, h.empty, slot); }};
  }

  void statement(Scope& scope, int s, const GroupEmitter::SlotOf& slot_of) {
    e_.fill_borders(scope, s, slot_of);
    if (e_.group().stmts[static_cast<size_t>(s)].kind == te::StmtKind::Reduce) {
      e_.fill_identity(scope, s, slot_of);
    }
    e_.compute(scope, s, slot_of);
  }

  /// Each token that a writer started with comes back before the group ends, whether or not this core had tiles.
  void drain(Scope& scope) {
    for (const auto& [channel, slots] : empties_) {
      for (int s = 0; s < slots; ++s) {
        e_.append(scope, hw::Wait{channel, s});
      }
    }
  }

  GroupEmitter& e_;
  bool by_intrinsic_ = false;
  std::vector<LoadSet> sets_;
  std::vector<std::pair<int, int>> empties_;
  int out_buffer_ = 0, acc_buffer_ = 0;
  Handshake out_, acc_, operands_;
  CoreRange range_;
};

}  // namespace

hw::Body sequence_pipes(GroupEmitter& emitter) { return PipeSequencer(emitter).run(); }

}  // namespace dlcc::lowering
