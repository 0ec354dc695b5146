// GroupEmitter: builds the leaves of a group's program from regions and buffers. The sequencers decide their order and synchronisation.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "hw/program.h"
#include "lowering/buffers.h"
#include "lowering/lower.h"

namespace dlcc::lowering {

/// Orders affine expressions, for let caches.
struct AffineLess {
  bool operator()(const Affine& a, const Affine& b) const;
};

/// A place where nodes are appended. Lets that the enclosing bodies define are reused; what a nested body defines stays in it.
struct Scope {
  hw::Body* body = nullptr;
  std::vector<VarId> loop_index;     // variable that holds the index of each TileLoop here
  struct Key {
    hw::LetOp op;
    Affine a, b;
    bool operator<(const Key& other) const;
  };
  std::map<Key, VarId> lets;
};

/// A range cut to its limit, in a scope.
struct Clipped {
  Affine lo, extent;
  int64_t max_extent = 1;
};

class GroupEmitter {
 public:
  GroupEmitter(const GroupAnalysis& group, const TilePlan& plan, RegionMap regions, BufferPlan buffers, std::function<int(int)> tensor_of,
               const Context& context);

  const GroupAnalysis& group() const { return group_; }
  const TilePlan& plan() const { return plan_; }
  const RegionMap& regions() const { return regions_; }
  const BufferPlan& buffers() const { return buffers_; }
  const hw::Machine& machine() const { return context_.machine; }
  const hw::Buffer& buffer(int id) const { return buffers_.buffers[static_cast<size_t>(id)].buffer; }

  VarId new_var(const std::string& name);
  int new_channel(hw::Channel channel);
  /// op(a, b) as a variable, constant-folded and shared.
  Affine let(Scope& scope, hw::LetOp op, const Affine& a, const Affine& b);
  /// Appends If(every condition >= 0) around what `fill` emits; nothing when that is empty; no If when the conditions are constants that hold.
  void guarded(Scope& scope, const std::vector<Affine>& conditions, const std::function<void(Scope&)>& fill);
  void loop(Scope& scope, VarId var, const Affine& begin, const Affine& end, const std::function<void(Scope&)>& fill);
  void append(Scope& scope, auto leaf) { scope.body->push_back({std::move(leaf)}); }

  /// Scope variables for the loops' indices at flattened step `step`.
  void set_indices(Scope& scope, const Affine& step, const std::string& suffix);

  /// Transfers of one load or of the root's tile. `channel` kNone: synchronous or flag-synchronised engines.
  void load(Scope& scope, int load, const Affine& slot, int channel);
  void store(Scope& scope, const Affine& slot, int channel);
  /// A statement on its box of this step: border and identity fills, then the Compute. slot_of gives the slot of a buffer.
  using SlotOf = std::function<Affine(int buffer)>;
  void fill_borders(Scope& scope, int stmt, const SlotOf& slot_of);
  void fill_identity(Scope& scope, int stmt, const SlotOf& slot_of);
  void compute(Scope& scope, int stmt, const SlotOf& slot_of);
  /// The streamed statement through the plan's intrinsic: loops over micro tiles around transfers into operand memories and calls.
  struct MicroHooks {
    std::function<void(Scope&, const Affine& slot)> before_operands, after_operands, before_call, after_call;
  };
  void compute_by_intrinsic(Scope& scope, const Affine& step, const SlotOf& slot_of, const MicroHooks& hooks);

  hw::PipeId pipe_of_stmt(int stmt) const;
  /// The engine of the (single hop) path between two memories; internal error without one.
  const hw::DmaEngine& engine(hw::MemoryId from, hw::MemoryId to) const;
  int path(hw::MemoryId from, hw::MemoryId to) const;

  hw::Group finish(hw::Body body);

 private:
  Affine in_scope(const Affine& over_loops, const Scope& scope) const;
  Clipped clip(Scope& scope, const Range& range);
  hw::BoxDim new_dim(const std::string& name, const Affine& extent, int64_t max_extent, te::DimKind kind = te::DimKind::Par);
  /// Statement coordinates of a leaf: lo + variable per dim.
  struct Iteration {
    std::vector<hw::BoxDim> dims;
    std::vector<Affine> lo;
    Affine at(const Affine& over_dims) const;   // an index over the statement's dims, in program variables
    std::vector<Affine> point;                  // lo + var, by dim
  };
  Iteration iterate(Scope& scope, int stmt, bool with_reductions);
  void compute_leaf(Scope& scope, int stmt, Iteration at, const SlotOf& slot_of);
  std::vector<Affine> write_index(Scope& scope, int stmt, const Iteration& at) const;
  std::vector<Affine> load_origin(Scope& scope, const Load& load);
  hw::View read_view(Scope& scope, int stmt, int read, const Iteration& at, const SlotOf& slot_of);
  int load_of(int stmt, int read) const;

  /// A loop over micro tiles of one dim.
  struct MicroLoop {
    VarId var = 0;
    Affine count, extent;
    int64_t max_count = 1;
    int64_t step = 1;
  };
  struct MicroNest {
    Iteration whole;                  // the statement's box of this step
    std::vector<MicroLoop> loops;     // by dim
    Affine ordinal;                   // of a call within the step, for alternating slots
    int64_t calls = 1;                // bound of ordinal
    Affine reductions_done;           // 0 exactly in the first call for an element of the result
  };
  struct MicroCall {
    std::vector<hw::BoxDim> axes;
    Iteration point;
  };
  const IntrinsicMatch& match() const;
  const hw::Intrinsic& intrinsic() const;
  MicroNest micro_nest(Scope& scope, const Affine& step);
  MicroCall micro_call(Scope& scope, const MicroNest& nest);
  void operand_transfer(Scope& scope, size_t operand, const MicroCall& call, const Affine& slot, const SlotOf& slot_of);
  hw::View operand_view(Scope& scope, size_t operand, const MicroCall& call, const Affine& slot, const SlotOf& slot_of);
  std::vector<Affine> call_params(Scope& scope, const MicroNest& nest, const MicroCall& call);

  const GroupAnalysis& group_;
  const TilePlan& plan_;
  const RegionMap regions_;
  const BufferPlan buffers_;
  const std::function<int(int)> tensor_of_;
  const Context& context_;
  hw::Group out_;
};

/// One instruction stream with asynchronous or synchronous engines: the next step's transfers are issued before this step computes.
hw::Body sequence_stream(GroupEmitter& emitter);
/// Decoupled pipes: no code motion; flags on every buffer that crosses pipes let the pipes run ahead.
hw::Body sequence_pipes(GroupEmitter& emitter);

/// What both sequencers share: this core's range of tiles and steps.
struct CoreRange {
  Affine tile_begin, tile_end;   // tiles of this core
  Affine step_begin, step_end;   // flattened steps
};
CoreRange core_range(GroupEmitter& emitter, Scope& scope);
/// An expression that is 0 where counter starts (or, with `last`, ends) an instance of `inner` consecutive values in [begin, end), else > 0.
Affine instance_edge(GroupEmitter& emitter, Scope& scope, const Affine& counter, int64_t inner, const Affine& begin, const Affine& end, bool last);

}  // namespace dlcc::lowering
