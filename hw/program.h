// Program: the tile-level program that a machine executes; the contract between compiler, emitters and simulator.
//
// A Program is a list of groups (fused layers). Every core runs every group's body in order (SPMD); variable 0 of a group is the core's number.
// A body is a tree of loops and lets whose leaves move data (Dma), compute (Compute, Intrin, Fill) and synchronise (Signal, Wait, Barrier).
// Tensors lie in global memory, in one of two spaces: `weights` (read only, weights.bin) and `arena` (inputs, outputs, activations).
// Buffers lie in a scratchpad of each core; a buffer has `copies` slots.
//
// Meaning of the leaves:
//   Dma      for every point p of the box: dst[dst.index(p)] = src[src.index(p)]. A point whose index in the *tensor* is outside its shape is
//            skipped (tensor is dst) or delivers `fill` (tensor is src). The other side must be inside. Without `fill`, no point may be outside a src tensor.
//            Async engine: returns at once, the data moves at any time until a Wait on (channel, channel_slot). Pipe and Core engines: in order.
//            With a lookup, its variable gets its value when the engine is started, not when the data moves.
//   Fill     every element of the box of a buffer = value.
//   Compute  for every point of dims (lexicographic over Red dims in their order): Map: write = body; accumulate: write = monoid(write, body), Sum over a
//            float Mul being write = write + s, with s summed from zero over the leaf's points by s = fma(a, b, s). No access may be outside its object.
//   Intrin   one call of Machine::intrinsics[intrinsic] on views of buffers.
//   Signal / Wait  on a slot of a channel. Reply channels are signalled by the Dmas that name them, and Wait blocks until every Dma that this core has
//            issued on (channel, slot) is complete. Flag channels count tokens: Signal adds one when the pipe reaches it, Wait takes one.
//   Barrier  all cores of the group; orders everything before it (completed DMAs) with everything after it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/te/affine.h"
#include "base/te/stmt.h"
#include "hw/kernel.h"
#include "hw/machine.h"

namespace dlcc::hw {

enum class Space : uint8_t { Weights, Arena };

/// A row-major tensor in global memory. Several tensors may overlap in the arena when their lifetimes do not, or when one is a view.
struct GlobalTensor {
  std::string name;
  DType type = DType::F32;
  std::vector<int64_t> shape;
  Space space = Space::Arena;
  int64_t offset = 0;            // bytes
  int64_t bytes() const { return te::element_count(shape) * bytes_of(type); }
};

/// A box of a tensor in a core's scratchpad.
struct Buffer {
  std::string name;              // usually the tensor's
  MemoryId memory = kNone;
  DType type = DType::F32;
  std::vector<int64_t> shape;    // logical extents of one slot
  std::vector<int64_t> pitch;    // storage extents, >= shape, row-major; empty: as shape. Unused with a layout.
  std::vector<LayoutAxis> layout;    // empty: row-major over pitch
  int copies = 1;
  int64_t offset = 0;            // bytes from the memory's usable start
  int64_t slot_bytes = 0;        // a multiple of the memory's alignment
  int64_t element_offset(std::span<const int64_t> coordinate) const;   // within a slot
  int64_t storage_elements() const;
};

enum class ObjectKind : uint8_t { Tensor, Buffer };
/// One side of a transfer or one access: an object, a slot of it (buffers), and an affine index per dim of the object.
struct View {
  ObjectKind kind = ObjectKind::Buffer;
  int object = 0;                // Program::tensors or Group::buffers
  Affine slot;
  std::vector<Affine> index;
  friend bool operator==(const View&, const View&) = default;
};

/// A dim of a leaf's own iteration box: `var` runs over [0, extent).
struct BoxDim {
  VarId var = 0;
  Affine extent;
  int64_t max_extent = 1;        // constant upper bound of extent
  te::DimKind kind = te::DimKind::Par;
};

/// An index that is data: var = the integer element `index` of a buffer, plus extent when negative, clamped into [0, extent). A dim of the
/// tensor that a Dma reads is then this variable alone (a row that is chosen at run time: Gather).
struct Lookup {
  VarId var = 0;
  View index;
  int64_t extent = 1;
};
/// The value of Lookup::var.
constexpr int64_t looked_up(int64_t element, int64_t extent) {
  const int64_t at = element < 0 ? element + extent : element;
  return at < 0 ? 0 : at < extent ? at : extent - 1;
}

struct Dma {
  int path = 0;                  // Machine::paths
  std::vector<BoxDim> box;
  View src, dst;
  std::optional<double> fill;
  int channel = kNone;           // Reply channel (Async engines)
  Affine channel_slot;
  std::optional<Lookup> lookup = std::nullopt;
};

struct Fill {
  PipeId pipe = 0;
  std::vector<BoxDim> box;
  View dst;
  double value = 0;
};

struct ComputeRead {
  View view;
  int indirect_dim = -1;         // that dim's position is index[dim] + the value of reads[indirect_read], see te::Access
  int indirect_read = -1;
  friend bool operator==(const ComputeRead&, const ComputeRead&) = default;
};
struct Compute {
  std::string name;              // of the statement
  PipeId pipe = 0;
  std::vector<BoxDim> dims;
  View write;
  std::vector<ComputeRead> reads;
  te::ScalarExpr body;           // Load n refers to reads[n]; Index n to dims[n] plus index_base[n]
  std::vector<Affine> index_base;    // origin of each dim in the statement's own coordinates; empty when the body has no Index
  bool accumulate = false;
  te::Monoid monoid = te::Monoid::Sum;
  Kernel kernel;
};

/// operand index: affine in the intrinsic's axis variables (box) and outer variables, one per dim of the buffer; axis extents are `box`.
struct IntrinCall {
  int intrinsic = 0;
  std::vector<BoxDim> box;       // one per axis of the semantics, in its order
  std::vector<View> operands;    // in the intrinsic's operand order; index is the position of the operand's element (0,..,0)
  std::vector<Affine> params;    // values, in the intrinsic's parameter order
};

struct Signal {
  int channel = 0;
  Affine slot;
};
struct Wait {
  int channel = 0;
  Affine slot;
};
struct Barrier {};

enum class LetOp : uint8_t { Assign, FloorDiv, Mod, Min, Max };
/// var = a, floor(a / k), a mod k (k a positive constant), min(a, b), max(a, b)
struct Let {
  VarId var = 0;
  LetOp op = LetOp::Assign;
  Affine a, b;
};

struct Node;
using Body = std::vector<Node>;
struct For {
  VarId var = 0;
  Affine begin, end;             // half open
  int64_t step = 1;
  Body body;
};
/// Runs body when every expression is >= 0.
struct If {
  std::vector<Affine> non_negative;
  Body body;
};
struct Node {
  std::variant<For, Let, If, Dma, Fill, Compute, IntrinCall, Signal, Wait, Barrier> v;
};

enum class ChannelKind : uint8_t { Reply, Flag };
struct Channel {
  std::string name;
  ChannelKind kind = ChannelKind::Reply;
  PipeId from = 0, to = 0;       // Flag: the pipe that signals, the pipe that waits
  int slots = 1;
  int initial = 0;               // Flag: tokens in each slot at the start of the group
};

/// What the reports say of a group. Cycles are the simulator's.
struct LayerInfo {
  std::string name;
  std::vector<std::string> onnx_nodes;
  std::string kind;              // "conv", "gemm", "map", "reduce", ...
  std::string tile;              // for people: "co:16 oh:8 ow:28 | ci:8"
  int64_t flops = 0;
  int64_t bound_cycles = 0;      // roofline: max(compute, compulsory traffic), whole machine
  std::vector<std::string> intrinsics;   // used
};

struct Group {
  LayerInfo info;
  std::vector<std::string> vars;     // names by VarId; vars[0] == "core"
  std::vector<Buffer> buffers;
  std::vector<Channel> channels;
  Body body;
};

struct Program {
  std::string model;
  std::string machine;           // Machine::name
  std::vector<GlobalTensor> tensors;
  std::vector<int> inputs, outputs;  // tensor ids, in the model's order
  int64_t arena_bytes = 0;
  int64_t weights_bytes = 0;
  std::vector<Group> groups;
};

/// Calls f on every node of the tree, parents first. F: void(Node&) / void(const Node&).
template <class B, class F>
void for_each_node(B& body, F&& f) {
  for (auto& node : body) {
    f(node);
    if (auto* loop = std::get_if<For>(&node.v)) {
      for_each_node(loop->body, f);
    } else if (auto* guard = std::get_if<If>(&node.v)) {
      for_each_node(guard->body, f);
    }
  }
}

/// The pipe that executes a leaf, on that machine. For, Let and If have none, nor has Barrier, which holds up all pipes (kNone).
PipeId pipe_of(const Node& node, const Group& group, const Machine& machine);

/// Static checks, always on after lowering and before simulation: boxes inside buffers for the extreme loop values, buffers inside memories
/// and not overlapping while live, alignment, layouts, DMA limits that no splitting can meet, channels with both ends, variables bound.
Status verify(const Program& program, const Machine& machine);

/// Text form; parse(print(p)) prints the same text. where: the file name for messages.
std::string print(const Program& program, const Machine& machine);
Result<Program> parse_program(std::string_view text, const Machine& machine, const std::string& where);

}  // namespace dlcc::hw
