// The nodes of a group's body: variables bound before use, accesses inside their objects, transfers along paths of the
// chip, channels with both ends. Bounds that cannot be proven are handed to the walk on real values, so only certain
// violations are reported.
#include <algorithm>
#include <set>

#include "hw/verify_bounds.h"
#include "hw/verify_group.h"
#include "hw/verify_walk.h"

namespace dlcc::hw {
namespace {

using Kind = Requirement::Kind;

class BodyVerifier {
 public:
  BodyVerifier(const Program& program, const Group& group, const Machine& machine, Diags& diags)
      : program_(program),
        group_(group),
        machine_(machine),
        diags_(diags),
        bounds_(group.vars.size()),
        signals_(group.channels.size(), 0),
        waits_(group.channels.size(), 0) {}

  void run() {
    const size_t before = diags_.size();
    bounds_.bind_range(0, 0, machine_.core_count() - 1);
    visit(group_.body);
    for (size_t c = 0; c < group_.channels.size(); ++c) {
      if (signals_[c] == 0 || waits_[c] == 0) {
        where_ = "channel '" + group_.channels[c].name + "'";
        fail(std::string("has ") + (signals_[c] == 0 ? "nothing that signals it" : "no wait"));
      }
    }
    if (diags_.size() == before && !open_.empty()) {
      walk_open_leaves(program_, group_, machine_, std::move(open_), diags_);
    }
  }

 private:
  void fail(const std::string& message) { diags_.push_back({DiagKind::Error, full_where(), message}); }
  std::string full_where() const { return "group '" + group_.info.name + "', " + where_; }

  // ---- scopes

  void visit(const Body& body) {
    std::vector<VarId> bound_here;
    for (const Node& node : body) {
      node_ = &node;
      box_ = nullptr;
      if (const auto* let = std::get_if<Let>(&node.v)) {
        visit_let(*let, bound_here);
      } else {
        std::visit([&](const auto& inner) { visit_node(inner); }, node.v);
      }
    }
    for (const VarId var : bound_here) {
      bounds_.unbind(var);
    }
  }

  bool can_bind(VarId var) {
    if (!bounds_.in_range(var) || var == 0) {
      fail("variable " + std::to_string(var) + " does not exist or is the core's number");
      return false;
    }
    if (bounds_.is_bound(var)) {
      fail("variable '" + name(var) + "' is bound already");
      return false;
    }
    return true;
  }
  const std::string& name(VarId var) const { return group_.vars[static_cast<size_t>(var)]; }

  bool is_bound(const Affine& value) {
    for (const te::Term& term : value.terms()) {
      if (!bounds_.is_bound(term.var)) {
        fail("variable " + (bounds_.in_range(term.var) ? "'" + name(term.var) + "'" : std::to_string(term.var)) +
             " is used where it has no value");
        return false;
      }
    }
    return true;
  }

  void visit_let(const Let& let, std::vector<VarId>& bound_here) {
    where_ = "let " + (bounds_.in_range(let.var) ? name(let.var) : std::to_string(let.var));
    const bool divides = let.op == LetOp::FloorDiv || let.op == LetOp::Mod;
    if (divides && (!let.b.is_constant() || let.b.constant() < 1)) {
      return fail("a divisor must be a positive constant");
    }
    if (is_bound(let.a) && is_bound(let.b) && can_bind(let.var)) {
      bounds_.bind_let(let);
      bound_here.push_back(let.var);
    }
  }
  void visit_node(const Let&) {}

  void visit_node(const For& loop) {
    where_ = "loop " + (bounds_.in_range(loop.var) ? name(loop.var) : std::to_string(loop.var));
    if (loop.step < 1) {
      return fail("step " + std::to_string(loop.step) + " is not positive");
    }
    if (is_bound(loop.begin) && is_bound(loop.end) && can_bind(loop.var)) {
      bounds_.bind_loop(loop);
      visit(loop.body);
      bounds_.unbind(loop.var);
    }
  }

  void visit_node(const If& guard) {
    where_ = "if";
    if (std::all_of(guard.non_negative.begin(), guard.non_negative.end(),
                    [&](const Affine& c) { return is_bound(c); })) {
      visit(guard.body);
    }
  }

  // ---- requirements

  /// Proven, or left to the walk.
  void require(Requirement requirement) {
    const bool proven = requirement.kind != Kind::Alignment && requirement.multiple_of == 1 &&
                        bounds_.lower(requirement.low) >= requirement.min &&
                        bounds_.upper(requirement.high) <= requirement.max;
    if (!proven) {
      OpenLeaf& leaf = open_[node_];
      leaf.where = full_where();
      leaf.box = box_;
      leaf.requirements.push_back(std::move(requirement));
    }
  }

  bool check_box(const std::vector<BoxDim>& box) {
    std::set<VarId> vars;
    for (const BoxDim& dim : box) {
      if (!is_bound(dim.extent)) {
        return false;
      }
      if (!can_bind(dim.var)) {
        return false;
      }
      if (!vars.insert(dim.var).second) {
        fail("two dims of the box share variable '" + name(dim.var) + "'");
        return false;
      }
      require({Kind::Extent, Affine(0), dim.extent, 0, dim.max_extent, 1, "the extent of " + name(dim.var)});
    }
    box_ = &box;
    return true;
  }

  /// Least or greatest value of an index over the box, in terms of the outer variables.
  Affine extreme(const Affine& index, bool greatest) const {
    Affine out = index;
    for (const BoxDim& dim : *box_) {
      const int64_t coef = index.coef(dim.var);
      if (coef != 0) {
        out = out.substitute(dim.var, (coef > 0) == greatest ? dim.extent - Affine(1) : Affine(0));
      }
    }
    return out;
  }

  struct Object {
    std::string name;
    DType type;
    const std::vector<int64_t>* shape;
  };
  std::optional<Object> object_of(const View& view) {
    const bool tensor = view.kind == ObjectKind::Tensor;
    const size_t count = tensor ? program_.tensors.size() : group_.buffers.size();
    if (view.object < 0 || static_cast<size_t>(view.object) >= count) {
      fail("object " + std::to_string(view.object) + " does not exist");
      return std::nullopt;
    }
    const auto i = static_cast<size_t>(view.object);
    if (tensor) {
      return Object{"tensor '" + program_.tensors[i].name + "'", program_.tensors[i].type, &program_.tensors[i].shape};
    }
    return Object{"buffer '" + group_.buffers[i].name + "'", group_.buffers[i].type, &group_.buffers[i].shape};
  }

  /// Structure of a view; with `inside`, every index must stay inside the object. skip_dim: a dim that is looked up at
  /// run time.
  bool check_view(const View& view, bool inside, int skip_dim = kNone) {
    const auto object = object_of(view);
    if (!object.has_value()) {
      return false;
    }
    if (view.index.size() != object->shape->size()) {
      fail(object->name + " has " + std::to_string(object->shape->size()) + " dims, its view " +
           std::to_string(view.index.size()));
      return false;
    }
    const int copies = view.kind == ObjectKind::Buffer ? group_.buffers[static_cast<size_t>(view.object)].copies : 1;
    if (!is_bound(view.slot)) {
      return false;
    }
    require({Kind::Slot, view.slot, view.slot, 0, copies - 1, 1, "the slot of " + object->name});
    for (size_t d = 0; d < view.index.size(); ++d) {
      const Affine low = extreme(view.index[d], false), high = extreme(view.index[d], true);
      if (!is_bound(low)) {
        return false;
      }
      if (inside && static_cast<int>(d) != skip_dim) {
        require({Kind::Index, low, high, 0, (*object->shape)[d] - 1, 1,
                 "index " + std::to_string(d) + " of " + object->name});
      }
    }
    return true;
  }

  void check_channel(int channel, const Affine& slot, ChannelKind kind, std::vector<int>& count) {
    if (channel < 0 || static_cast<size_t>(channel) >= group_.channels.size()) {
      return fail("channel " + std::to_string(channel) + " does not exist");
    }
    const Channel& c = group_.channels[static_cast<size_t>(channel)];
    if (c.kind != kind) {
      return fail("channel '" + c.name + "' is of the other kind");
    }
    ++count[static_cast<size_t>(channel)];
    if (is_bound(slot)) {
      require({Kind::ChannelSlot, slot, slot, 0, c.slots - 1, 1, "the slot of channel '" + c.name + "'"});
    }
  }

  void check_pipe(PipeId pipe) {
    if (pipe < 0 || pipe >= static_cast<int>(machine_.pipes.size())) {
      fail("pipe " + std::to_string(pipe) + " does not exist");
    }
  }

  // ---- leaves

  MemoryId memory_of(const View& view) const {
    return view.kind == ObjectKind::Tensor ? machine_.global_memory()
                                           : group_.buffers[static_cast<size_t>(view.object)].memory;
  }

  /// The engine's clipping needs each index to depend on one dim of the box at most.
  bool one_dim_per_index(const Dma& dma) {
    for (const View* view : {&dma.src, &dma.dst}) {
      for (const Affine& index : view->index) {
        const auto uses = [&](const BoxDim& dim) { return index.depends_on(dim.var); };
        if (std::count_if(dma.box.begin(), dma.box.end(), uses) > 1) {
          fail("an index depends on two dims of the box");
          return false;
        }
      }
    }
    return true;
  }

  void visit_node(const Dma& dma) {
    where_ = "dma";
    if (dma.path < 0 || static_cast<size_t>(dma.path) >= machine_.paths.size()) {
      return fail("path " + std::to_string(dma.path) + " does not exist");
    }
    const auto src = object_of(dma.src), dst = object_of(dma.dst);
    if (!src.has_value() || !dst.has_value()) {
      return;
    }
    where_ = "dma " + src->name + " -> " + dst->name;
    if (dma.lookup.has_value() && !check_lookup(dma)) {
      return;
    }
    check_sides(dma, *src, *dst);
    if (dma.lookup.has_value()) {
      bounds_.unbind(dma.lookup->var);
    }
  }

  /// Binds the variable of a lookup.
  bool check_lookup(const Dma& dma) {
    const Lookup& lookup = *dma.lookup;
    static const std::vector<BoxDim> kOnePoint;
    box_ = &kOnePoint;
    const auto index = object_of(lookup.index);
    if (!index.has_value() || !check_view(lookup.index, true) || !can_bind(lookup.var)) {
      return false;
    }
    if (lookup.index.kind != ObjectKind::Buffer || is_float(index->type) || index->type == DType::Bool) {
      fail("an index that is looked up must be an integer in a buffer");
      return false;
    }
    const bool src_tensor = dma.src.kind == ObjectKind::Tensor;
    for (size_t d = 0; src_tensor && d < dma.src.index.size(); ++d) {
      const int64_t size = program_.tensors[static_cast<size_t>(dma.src.object)].shape[d];
      if (dma.src.index[d].depends_on(lookup.var) &&
          (!(dma.src.index[d] == Affine::var(lookup.var)) || lookup.extent > size)) {
        fail("index " + std::to_string(d) + " is not the looked up variable alone, or the dim of " +
             std::to_string(size) + " is smaller than its range of " + std::to_string(lookup.extent));
        return false;
      }
    }
    if (!src_tensor || lookup.extent < 1) {
      fail("a lookup needs a tensor to read and a range of at least 1");
      return false;
    }
    bounds_.bind_range(lookup.var, 0, lookup.extent - 1);
    return true;
  }

  void check_sides(const Dma& dma, const Object& src, const Object& dst) {
    const bool src_tensor = dma.src.kind == ObjectKind::Tensor;
    if (!check_box(dma.box) || !check_view(dma.src, !src_tensor || !dma.fill.has_value()) ||
        !check_view(dma.dst, dma.dst.kind == ObjectKind::Buffer) || !one_dim_per_index(dma)) {
      return;
    }
    const Path& path = machine_.paths[static_cast<size_t>(dma.path)];
    if (memory_of(dma.src) != path.from || memory_of(dma.dst) != path.to) {
      return fail("path '" + path.name + "' does not join the memories of its two sides");
    }
    if (dma.dst.kind == ObjectKind::Tensor &&
        program_.tensors[static_cast<size_t>(dma.dst.object)].space == Space::Weights) {
      return fail("writes weights, which are read only");
    }
    if (dma.fill.has_value() && !path.can(Transform::Pad)) {
      return fail("path '" + path.name + "' cannot pad");
    }
    if (src.type != dst.type && !path.can(Transform::Cast)) {
      return fail("path '" + path.name + "' cannot convert " + std::string(name_of(src.type)) + " to " +
                  std::string(name_of(dst.type)));
    }
    check_engine(dma, path, bytes_of(src.type));
  }

  void check_engine(const Dma& dma, const Path& path, int64_t element) {
    const bool named = dma.channel != kNone;
    if (named) {
      check_channel(dma.channel, dma.channel_slot, ChannelKind::Reply, signals_);
    }
    if (path.engine == kNone) {
      return;
    }
    const DmaEngine& engine = machine_.dma[static_cast<size_t>(path.engine)];
    if ((engine.kind == EngineKind::Async) != named) {
      fail(named ? "engine '" + engine.name + "' has no replies"
                 : "a transfer of engine '" + engine.name + "' needs a reply channel");
    }
    const int64_t most = std::max(engine.max_block, engine.max_bytes);
    if (most > 0 && most < element) {
      fail("an element of " + std::to_string(element) + " bytes exceeds the " + std::to_string(most) + " of engine '" +
           engine.name + "'");
    }
    if (engine.align > element || element % engine.align != 0) {
      require({Kind::Alignment, {}, {}, 0, 0, 1, {}});
    }
  }

  void visit_node(const Fill& fill) {
    where_ = "fill";
    check_pipe(fill.pipe);
    if (fill.dst.kind != ObjectKind::Buffer) {
      return fail("only buffers can be filled");
    }
    if (check_box(fill.box)) {
      check_view(fill.dst, true);
    }
  }

  void visit_node(const Compute& leaf) {
    where_ = "compute '" + leaf.name + "'";
    check_pipe(leaf.pipe);
    if (!check_box(leaf.dims) || !check_view(leaf.write, true)) {
      return;
    }
    for (const ComputeRead& read : leaf.reads) {
      const bool gather = read.indirect_dim != kNone;
      if (gather && !check_gather(leaf, read)) {
        return;
      }
      if (!check_view(read.view, true, gather ? read.indirect_dim : kNone)) {
        return;
      }
    }
    for (const BoxDim& dim : leaf.dims) {
      const bool in_write = std::any_of(leaf.write.index.begin(), leaf.write.index.end(),
                                        [&](const Affine& index) { return index.depends_on(dim.var); });
      if (dim.kind != te::DimKind::Par && (in_write || !leaf.accumulate)) {
        fail("dim '" + name(dim.var) + "' is reduced, but " +
             (in_write ? "the write depends on it" : "the leaf does not accumulate"));
      }
    }
    check_memories(leaf);
    if (check_expression(leaf) && !leaf.kernel.empty()) {
      verify_kernel(leaf, program_, group_, bounds_, full_where(), diags_);
    }
  }

  bool check_gather(const Compute& leaf, const ComputeRead& read) {
    const int reads = static_cast<int>(leaf.reads.size()), rank = static_cast<int>(read.view.index.size());
    if (read.indirect_dim < 0 || read.indirect_dim >= rank || read.indirect_read < 0 || read.indirect_read >= reads ||
        leaf.reads[static_cast<size_t>(read.indirect_read)].indirect_dim != kNone) {
      fail("a gather of dim " + std::to_string(read.indirect_dim) + " from read " + std::to_string(read.indirect_read));
      return false;
    }
    return true;
  }

  void check_memories(const Compute& leaf) {
    const auto& reach = machine_.vector.memories;
    const auto check = [&](const View& view) {
      if (!reach.empty() && std::find(reach.begin(), reach.end(), memory_of(view)) == reach.end()) {
        fail(object_of(view)->name + " lies in memory '" +
             machine_.memories[static_cast<size_t>(memory_of(view))].name + "', which the vector unit cannot reach");
      }
    };
    check(leaf.write);
    for (const ComputeRead& read : leaf.reads) {
      check(read.view);
    }
  }

  bool check_expression(const Compute& leaf) {
    const size_t before = diags_.size();
    if (leaf.body.empty() || leaf.body.back().type != object_of(leaf.write)->type) {
      fail("the body does not end in a value of the written type");
    }
    bool has_index = false;
    for (size_t n = 0; n < leaf.body.size(); ++n) {
      const te::ScalarNode& node = leaf.body[n];
      const int32_t operands[] = {node.a, node.b, node.c};
      for (int k = 0; k < te::arity_of(node.op); ++k) {
        if (operands[k] < 0 || operands[k] >= static_cast<int32_t>(n)) {
          fail("an operand of node " + std::to_string(n) + " is not an earlier node");
        }
      }
      if (node.op == te::Op::Load &&
          (node.integer < 0 || node.integer >= static_cast<int64_t>(leaf.reads.size()) ||
           node.type != object_of(leaf.reads[static_cast<size_t>(node.integer)].view)->type)) {
        fail("node " + std::to_string(n) + " loads a " + std::string(name_of(node.type)) + " from read " +
             std::to_string(node.integer));
      }
      if (node.op == te::Op::Index && (node.integer < 0 || node.integer >= static_cast<int64_t>(leaf.dims.size()))) {
        fail("node " + std::to_string(n) + " is the index of dim " + std::to_string(node.integer));
      }
      if (node.op == te::Op::Param) {
        fail("a parameter of an intrinsic in a statement");
      }
      has_index = has_index || node.op == te::Op::Index;
    }
    if (leaf.index_base.size() != leaf.dims.size() && (has_index || !leaf.index_base.empty())) {
      fail("index has " + std::to_string(leaf.index_base.size()) + " entries for " + std::to_string(leaf.dims.size()) +
           " dims");
    }
    for (const Affine& base : leaf.index_base) {
      is_bound(base);
    }
    return diags_.size() == before;
  }

  void visit_node(const IntrinCall& call) {
    where_ = "call";
    if (call.intrinsic < 0 || static_cast<size_t>(call.intrinsic) >= machine_.intrinsics.size()) {
      return fail("intrinsic " + std::to_string(call.intrinsic) + " does not exist");
    }
    const Intrinsic& intrinsic = machine_.intrinsics[static_cast<size_t>(call.intrinsic)];
    where_ = "call " + intrinsic.id;
    if (call.operands.size() != intrinsic.operands.size() || call.params.size() != intrinsic.params.size()) {
      return fail("has " + std::to_string(call.operands.size()) + " operands and " +
                  std::to_string(call.params.size()) + " parameters, the chip file says " +
                  std::to_string(intrinsic.operands.size()) + " and " + std::to_string(intrinsic.params.size()));
    }
    if (!check_box(call.box)) {
      return;
    }
    for (size_t o = 0; o < call.operands.size(); ++o) {
      const IntrinsicOperand& operand = intrinsic.operands[o];
      if (!check_view(call.operands[o], true)) {
        return;
      }
      if (call.operands[o].kind != ObjectKind::Buffer || memory_of(call.operands[o]) != operand.memory) {
        fail("operand '" + operand.name + "' must lie in memory '" +
             machine_.memories[static_cast<size_t>(operand.memory)].name + "'");
      } else if (object_of(call.operands[o])->type != operand.type) {
        fail("operand '" + operand.name + "' must be " + std::string(name_of(operand.type)));
      }
    }
    for (size_t p = 0; p < call.params.size(); ++p) {
      const IntrinsicParam& param = intrinsic.params[p];
      if (is_bound(call.params[p])) {
        const int64_t min = param.is_bool ? 0 : param.min, max = param.is_bool ? 1 : param.max;
        require({Kind::Param, call.params[p], call.params[p], min, max, std::max<int64_t>(param.multiple_of, 1),
                 "parameter '" + param.name + "'"});
      }
    }
  }

  void visit_node(const Signal& signal) {
    where_ = "signal";
    check_channel(signal.channel, signal.slot, ChannelKind::Flag, signals_);
  }
  void visit_node(const Wait& wait) {
    where_ = "wait";
    const bool known = wait.channel >= 0 && static_cast<size_t>(wait.channel) < group_.channels.size();
    check_channel(wait.channel, wait.slot,
                  known ? group_.channels[static_cast<size_t>(wait.channel)].kind : ChannelKind::Reply, waits_);
  }
  void visit_node(const Barrier&) {}

  const Program& program_;
  const Group& group_;
  const Machine& machine_;
  Diags& diags_;
  VarBounds bounds_;
  std::vector<int> signals_, waits_;
  OpenLeaves open_;
  std::string where_;
  const Node* node_ = nullptr;
  const std::vector<BoxDim>* box_ = nullptr;
};

}  // namespace

void verify_body(const Program& program, const Group& group, const Machine& machine, Diags& diags) {
  BodyVerifier(program, group, machine, diags).run();
}

}  // namespace dlcc::hw
