// Structural checks before a run. All findings of a group are reported together.
#include "sim/check_program.h"

#include <fmt/format.h>

namespace dlcc::sim {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 40;

/// Elements, or -1 when a dim is negative or the product is absurd.
int64_t safe_count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && count > kMaxBytes / extent)) {
      return -1;
    }
    count *= extent;
  }
  return count;
}

class GroupChecker {
 public:
  GroupChecker(const hw::Program& program, const hw::Machine& machine, const hw::Group& group, Diags& diags)
      : program_(program), machine_(machine), group_(group), diags_(diags) {}

  void run() {
    need(!group_.vars.empty(), "has no variable 0 for the core's number");
    for (const hw::Buffer& buffer : group_.buffers) {
      check(buffer);
    }
    for (const hw::Channel& channel : group_.channels) {
      need(channel.slots > 0 && channel.slots <= 1 << 20,
           fmt::format("channel '{}' has {} slots", channel.name, channel.slots));
      need(channel.initial >= 0, fmt::format("channel '{}' starts with {} tokens", channel.name, channel.initial));
      check_pipe(channel.from);
      check_pipe(channel.to);
    }
    if (diags_.empty()) {
      check(group_.body);
    }
  }

 private:
  bool need(bool condition, const std::string& message) {
    if (!condition && diags_.size() < 20) {
      diags_.push_back({DiagKind::Error, "group '" + group_.info.name + "'", message});
    }
    return condition;
  }
  template <class T>
  bool in_range(int64_t id, const std::vector<T>& table, const char* what) {
    return need(id >= 0 && id < static_cast<int64_t>(table.size()), fmt::format("{} {} of {}", what, id, table.size()));
  }
  bool check_pipe(hw::PipeId pipe) { return in_range(pipe, machine_.pipes, "pipe"); }
  bool check_var(te::VarId var) { return in_range(var, group_.vars, "variable"); }
  bool check(const te::Affine& affine) {
    for (const te::Term& term : affine.terms()) {
      if (!check_var(term.var)) {
        return false;
      }
    }
    return true;
  }
  void check(const std::vector<hw::BoxDim>& box) {
    for (const hw::BoxDim& dim : box) {
      check_var(dim.var);
      check(dim.extent);
    }
  }

  void check(const hw::Buffer& buffer) {
    const auto wrong = [&](const std::string& text) { need(false, fmt::format("buffer '{}': {}", buffer.name, text)); };
    if (!in_range(buffer.memory, machine_.memories, "memory")) {
      return;
    }
    const hw::Memory& memory = machine_.memories[static_cast<size_t>(buffer.memory)];
    const int64_t element = bytes_of(buffer.type);
    if (memory.kind == hw::MemoryKind::Global || !memory.per_core) {
      wrong("lies in memory '" + memory.name + "', which cores share");
    }
    if (safe_count(buffer.shape) < 0 ||
        (!buffer.pitch.empty() && (buffer.pitch.size() != buffer.shape.size() || safe_count(buffer.pitch) < 0))) {
      wrong("has a bad shape or pitch");
      return;
    }
    for (size_t d = 0; d < buffer.pitch.size(); ++d) {
      if (buffer.pitch[d] < buffer.shape[d]) {
        wrong(fmt::format("has pitch {} < extent {} in dim {}", buffer.pitch[d], buffer.shape[d], d));
      }
    }
    for (const hw::LayoutAxis& axis : buffer.layout) {
      if (axis.dim < 0 || axis.dim >= static_cast<int>(buffer.shape.size()) || axis.div <= 0 || axis.size < 0) {
        wrong("has a bad layout axis");
        return;
      }
    }
    if (buffer.copies < 1 || buffer.offset < 0 || buffer.slot_bytes < 0 || buffer.offset > kMaxBytes ||
        buffer.slot_bytes > kMaxBytes / buffer.copies) {
      wrong(fmt::format("has offset {}, {} slots of {} bytes", buffer.offset, buffer.copies, buffer.slot_bytes));
    } else if (buffer.storage_elements() * element > buffer.slot_bytes) {
      wrong(fmt::format("needs {} bytes a slot, has {}", buffer.storage_elements() * element, buffer.slot_bytes));
    } else if (buffer.offset % element != 0 || buffer.slot_bytes % element != 0) {
      wrong(fmt::format("offset {} or slot size {} is not a multiple of its elements' {} bytes", buffer.offset,
                        buffer.slot_bytes, element));
    }
  }

  bool check(const hw::View& view) {
    size_t rank = 0;
    if (view.kind == hw::ObjectKind::Tensor) {
      if (!in_range(view.object, program_.tensors, "tensor")) {
        return false;
      }
      rank = program_.tensors[static_cast<size_t>(view.object)].shape.size();
    } else {
      if (!in_range(view.object, group_.buffers, "buffer")) {
        return false;
      }
      rank = group_.buffers[static_cast<size_t>(view.object)].shape.size();
    }
    bool fine = need(view.index.size() == rank,
                     fmt::format("an access to '{}' has {} indices, rank {}", name_of(view), view.index.size(), rank));
    for (const te::Affine& index : view.index) {
      fine = check(index) && fine;
    }
    return check(view.slot) && fine;
  }
  void check_written(const hw::View& view) {
    if (check(view) && view.kind == hw::ObjectKind::Tensor) {
      need(program_.tensors[static_cast<size_t>(view.object)].space == hw::Space::Arena,
           "writes weight tensor '" + name_of(view) + "'");
    }
  }
  std::string name_of(const hw::View& view) const {
    const auto object = static_cast<size_t>(view.object);
    return view.kind == hw::ObjectKind::Tensor ? program_.tensors[object].name : group_.buffers[object].name;
  }

  void check_channel(int channel, const te::Affine& slot, bool reply, bool flag) {
    check(slot);
    if (in_range(channel, group_.channels, "channel")) {
      const hw::Channel& found = group_.channels[static_cast<size_t>(channel)];
      need(found.kind == hw::ChannelKind::Reply ? reply : flag,
           "channel '" + found.name + "' is of the wrong kind for its use");
    }
  }

  /// What clipping a box to a tensor relies on.
  void check_separable(const hw::View& view, const std::vector<hw::BoxDim>& box) {
    if (view.kind != hw::ObjectKind::Tensor) {
      return;
    }
    for (const te::Affine& index : view.index) {
      int dims = 0;
      for (const hw::BoxDim& dim : box) {
        dims += index.depends_on(dim.var) ? 1 : 0;
      }
      need(dims < 2, "an index of a transfer of '" + name_of(view) + "' depends on two dims of its box");
    }
  }

  void check(const hw::Dma& dma) {
    check(dma.box);
    if (check(dma.src) && check(dma.dst)) {
      check_separable(dma.src, dma.box);
      check_separable(dma.dst, dma.box);
    }
    check_written(dma.dst);
    if (dma.lookup.has_value() && check_var(dma.lookup->var) && check(dma.lookup->index)) {
      need(dma.lookup->index.kind == hw::ObjectKind::Buffer && dma.lookup->extent > 0,
           "a lookup needs an index in a buffer and a range of at least 1");
    }
    if (!in_range(dma.path, machine_.paths, "path")) {
      return;
    }
    const int engine = machine_.paths[static_cast<size_t>(dma.path)].engine;
    if (engine != hw::kNone && in_range(engine, machine_.dma, "dma engine")) {
      check_pipe(machine_.dma[static_cast<size_t>(engine)].pipe);
      if (machine_.dma[static_cast<size_t>(engine)].kind == hw::EngineKind::Async) {
        need(dma.channel != hw::kNone, "a transfer of an asynchronous engine has no reply channel");
      }
    }
    if (dma.channel != hw::kNone) {
      check_channel(dma.channel, dma.channel_slot, true, false);
    }
  }
  void check(const hw::Compute& compute) {
    check(compute.dims);
    check_pipe(compute.pipe);
    check_written(compute.write);
    need(!compute.body.empty(), "'" + compute.name + "' has no body");
    need(compute.index_base.empty() || compute.index_base.size() == compute.dims.size(),
         "'" + compute.name + "' has a bad index base");
    for (const te::Affine& base : compute.index_base) {
      check(base);
    }
    for (const hw::ComputeRead& read : compute.reads) {
      check(read.view);
      if (read.indirect_dim != -1) {
        in_range(read.indirect_dim, read.view.index, "indirect dim");
        in_range(read.indirect_read, compute.reads, "indirect read");
      }
    }
    for (size_t n = 0; n < compute.body.size(); ++n) {
      const te::ScalarNode& node = compute.body[n];
      for (const int32_t operand : {node.a, node.b, node.c}) {
        need(operand >= -1 && operand < static_cast<int64_t>(n),
             "'" + compute.name + "' has a body that is not in order");
      }
      if (node.op == te::Op::Load) {
        in_range(node.integer, compute.reads, "read");
      } else if (node.op == te::Op::Index) {
        in_range(node.integer, compute.dims, "dim");
      }
      need(node.op != te::Op::Param && !te::is_transcendental(node.op),
           "'" + compute.name + "' has an operation that only exists before lowering");
    }
  }
  void check(const hw::IntrinCall& call) {
    if (!in_range(call.intrinsic, machine_.intrinsics, "intrinsic")) {
      return;
    }
    const hw::Intrinsic& intrinsic = machine_.intrinsics[static_cast<size_t>(call.intrinsic)];
    check(call.box);
    check_pipe(intrinsic.pipe);
    need(call.box.size() == intrinsic.semantics.axes.size(),
         fmt::format("a call of {} has {} axes", intrinsic.id, call.box.size()));
    need(call.operands.size() == intrinsic.operands.size(),
         fmt::format("a call of {} has {} operands", intrinsic.id, call.operands.size()));
    need(call.params.size() == intrinsic.params.size(),
         fmt::format("a call of {} has {} parameters", intrinsic.id, call.params.size()));
    for (size_t o = 0; o < call.operands.size(); ++o) {
      const hw::View& view = call.operands[o];
      if (check(view) && o < intrinsic.operands.size()) {
        const DType type = view.kind == hw::ObjectKind::Tensor ? program_.tensors[static_cast<size_t>(view.object)].type
                                                               : group_.buffers[static_cast<size_t>(view.object)].type;
        need(type == intrinsic.operands[o].type,
             fmt::format("operand {} of {} has the wrong type", intrinsic.operands[o].name, intrinsic.id));
        if (static_cast<int>(o) == intrinsic.semantics.output) {
          check_written(view);
        }
      }
    }
    for (const te::Affine& param : call.params) {
      check(param);
    }
  }
  void check(const hw::For& loop) {
    check_var(loop.var);
    check(loop.begin);
    check(loop.end);
    need(loop.step > 0, fmt::format("a loop has step {}", loop.step));
    check(loop.body);
  }
  void check(const hw::Let& let) {
    check_var(let.var);
    check(let.a);
    check(let.b);
    if (let.op == hw::LetOp::FloorDiv || let.op == hw::LetOp::Mod) {
      need(let.b.is_constant() && let.b.constant() > 0, "a division by something other than a positive constant");
    }
  }
  void check(const hw::If& guard) {
    for (const te::Affine& condition : guard.non_negative) {
      check(condition);
    }
    check(guard.body);
  }
  void check(const hw::Fill& fill) {
    check(fill.box);
    check_pipe(fill.pipe);
    check_written(fill.dst);
  }
  void check(const hw::Signal& signal) { check_channel(signal.channel, signal.slot, false, true); }
  void check(const hw::Wait& wait) { check_channel(wait.channel, wait.slot, true, true); }
  void check(const hw::Barrier&) {}
  void check(const hw::Body& body) {
    for (const hw::Node& node : body) {
      std::visit([&](const auto& leaf) { check(leaf); }, node.v);
    }
  }

  const hw::Program& program_;
  const hw::Machine& machine_;
  const hw::Group& group_;
  Diags& diags_;
};

void check_tensor(const hw::GlobalTensor& tensor, const hw::Program& program, Diags& diags) {
  const int64_t count = safe_count(tensor.shape), element = bytes_of(tensor.type);
  const bool weights = tensor.space == hw::Space::Weights;
  const int64_t limit = weights ? program.weights_bytes : program.arena_bytes;
  if (count < 0 || count > kMaxBytes / element) {
    diags.push_back({DiagKind::Error, "tensor '" + tensor.name + "'", "has a bad shape"});
  } else if (tensor.offset < 0 || tensor.offset % element != 0 || tensor.offset > limit - count * element) {
    diags.push_back({DiagKind::Error, "tensor '" + tensor.name + "'",
                     fmt::format("offset {} and {} bytes do not fit in the {} of {} bytes", tensor.offset,
                                 count * element, weights ? "weights" : "arena", limit)});
  }
}

}  // namespace

Status check_program(const hw::Program& program, const hw::Machine& machine, size_t weight_bytes) {
  Diags diags;
  if (machine.pipes.empty() || machine.core_count() < 1 || machine.core_count() > 4000) {
    return error("machine '" + machine.name + "'",
                 fmt::format("{} pipes and {} cores cannot be simulated", machine.pipes.size(), machine.core_count()));
  }
  if (program.arena_bytes < 0 || program.arena_bytes > kMaxBytes || program.weights_bytes < 0 ||
      static_cast<uint64_t>(program.weights_bytes) > weight_bytes) {
    return error("program '" + program.model + "'",
                 fmt::format("arena of {} bytes, weights of {} bytes with {} given", program.arena_bytes,
                             program.weights_bytes, weight_bytes));
  }
  for (const hw::GlobalTensor& tensor : program.tensors) {
    check_tensor(tensor, program, diags);
  }
  for (const std::vector<int>* list : {&program.inputs, &program.outputs}) {
    for (const int tensor : *list) {
      if (tensor < 0 || tensor >= static_cast<int>(program.tensors.size())) {
        return error("program '" + program.model + "'",
                     fmt::format("input or output tensor {} of {}", tensor, program.tensors.size()));
      }
    }
  }
  if (!diags.empty()) {
    return diags;
  }
  for (const hw::Group& group : program.groups) {
    GroupChecker(program, machine, group, diags).run();
    if (!diags.empty()) {
      return diags;
    }
  }
  return ok_status();
}

}  // namespace dlcc::sim
