// A leaf on random memory: direct evaluation of its statement, and an interpreter of its kernel that checks every
// access.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/te/evaluate.h"
#include "hw/program.h"

namespace dlcc::lowering {

/// Two chips: 4 lanes of f32/f64 only and no comparisons; 16 lanes down to 2 with integers and bool.
inline hw::Machine vector_machine(bool wide) {
  hw::Machine m;
  m.name = wide ? "wide" : "narrow";
  m.levels = {{"core", 1}};
  m.memories = {{"dram", hw::MemoryKind::Global, false, int64_t{1} << 30, 0, 1, 100, 8},
                {"ldm", hw::MemoryKind::Scratchpad, true, int64_t{1} << 24, 0, wide ? 64 : 32, 4, 32}};
  m.pipes = {{"core", 1, 0}};
  m.issue = {2, {"alu", "mem"}};
  m.vector.memories = {1};
  m.vector.width = wide ? 64 : 32;
  m.vector.registers = 32;
  const auto add = [&](std::string_view op, DType type, int lanes, int min_lanes, int port, int64_t latency) {
    hw::VectorOp entry;
    entry.op = op;
    entry.type = type;
    entry.lanes = lanes;
    entry.min_lanes = min_lanes;
    entry.port = port;
    entry.latency = latency;
    (lanes > 1 ? m.vector.ops : m.vector.scalar_ops).push_back(entry);
  };
  using te::Op;
  const std::vector<DType> types = {DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool};
  for (const DType type : types) {
    for (const char* op : {"load", "store", "const", "move", "index", "loop"}) {
      add(op, type, 1, 1, 1, 4);
    }
    for (int op = static_cast<int>(Op::Neg); op <= static_cast<int>(Op::Select); ++op) {
      add(te::name_of(static_cast<Op>(op)), type, 1, 1, 0, 7);
    }
    const bool is_narrow_type = type == DType::F32 || type == DType::F64;
    if (!wide && !is_narrow_type) {
      continue;
    }
    const int lanes = wide ? (type == DType::F64 || type == DType::I64 ? 8 : 16) : 4;
    m.vector.lanes[type] = lanes;
    for (const char* op : {"load", "loadu", "store", "storeu", "splat", "load_splat", "const", "move"}) {
      if (type != DType::Bool) {
        add(op, type, lanes, wide ? 2 : 4, 1, 4);
      }
    }
    for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Fma, Op::Min, Op::Max, Op::Neg}) {
      if (type != DType::Bool) {
        add(te::name_of(op), type, lanes, wide ? 2 : 4, 0, 7);
      }
    }
    for (const Op op : {Op::Lt, Op::Ge, Op::Eq, Op::Select, Op::Cast}) {
      if (wide) {
        add(te::name_of(op), type, lanes, 2, 0, 3);
      }
    }
  }
  return m;
}

/// Bytes of each buffer's slot, with guards around it.
class LeafMemory {
 public:
  static constexpr int64_t kGuard = 256;

  LeafMemory(const hw::Group& group, std::mt19937& random) {
    for (const hw::Buffer& buffer : group.buffers) {
      const int64_t elements = buffer.storage_elements();
      std::vector<std::byte> bytes(static_cast<size_t>(elements * bytes_of(buffer.type) + 2 * kGuard), std::byte{0xa5});
      for (int64_t e = 0; e < elements; ++e) {
        te::Value value;
        value.f = std::uniform_int_distribution<int>(-64, 64)(random) / 16.0;
        value.i = std::uniform_int_distribution<int>(-9, 9)(random);
        if (buffer.type == DType::Bool) {
          value.i &= 1;
        }
        te::store_element(buffer.type, bytes.data() + kGuard, e, value);
      }
      bytes_.push_back(std::move(bytes));
    }
  }
  std::byte* slot(int buffer) { return bytes_[static_cast<size_t>(buffer)].data() + kGuard; }
  friend bool operator==(const LeafMemory& a, const LeafMemory& b) { return a.bytes_ == b.bytes_; }

 private:
  std::vector<std::vector<std::byte>> bytes_;
};

/// The statement, point by point.
class LeafReference {
 public:
  LeafReference(const hw::Compute& leaf, const hw::Group& group, LeafMemory& memory, std::vector<int64_t> env)
      : leaf_(leaf), group_(group), memory_(memory), env_(std::move(env)) {}
  void run() { over(0, te::DimKind::Par); }

 private:
  void over(size_t d, te::DimKind kind) {
    if (d == leaf_.dims.size()) {
      kind == te::DimKind::Par && leaf_.accumulate ? reduce() : point();
      return;
    }
    const hw::BoxDim& dim = leaf_.dims[d];
    if (dim.kind != kind) {
      over(d + 1, kind);
      return;
    }
    const int64_t extent = dim.extent.eval(env_);
    for (int64_t i = 0; i < extent; ++i) {
      env_[static_cast<size_t>(dim.var)] = i;
      over(d + 1, kind);
    }
  }

  te::Value load(int read) {
    const hw::ComputeRead& r = leaf_.reads[static_cast<size_t>(read)];
    const hw::Buffer& buffer = group_.buffers[static_cast<size_t>(r.view.object)];
    std::vector<int64_t> at;
    for (size_t d = 0; d < r.view.index.size(); ++d) {
      at.push_back(r.view.index[d].eval(env_));
      if (static_cast<int>(d) == r.indirect_dim) {
        int64_t position = load(r.indirect_read).i;
        position = position < 0 ? position + buffer.shape[d] : position;
        at.back() += std::clamp<int64_t>(position, 0, buffer.shape[d] - 1);
      }
    }
    return te::load_element(buffer.type, memory_.slot(r.view.object), buffer.element_offset(at));
  }

  te::Value body(size_t count) {
    std::vector<te::Value> values;
    for (size_t n = 0; n < count; ++n) {
      const te::ScalarNode& node = leaf_.body[n];
      const auto operand = [&](int k) { return k < 0 ? te::Value{} : values[static_cast<size_t>(k)]; };
      te::Value value;
      if (node.op == te::Op::Load) {
        value = load(static_cast<int>(node.integer));
      } else if (node.op == te::Op::Const) {
        value = {node.number, node.integer};
      } else if (node.op == te::Op::Index) {
        const auto d = static_cast<size_t>(node.integer);
        value.i = leaf_.index_base[d].eval(env_) + env_[static_cast<size_t>(leaf_.dims[d].var)];
      } else {
        const int typed = node.op == te::Op::Select ? node.b : node.a;
        value = te::apply(node, leaf_.body[static_cast<size_t>(typed)].type, operand(node.a), operand(node.b),
                          operand(node.c));
      }
      values.push_back(value);
    }
    last_ = values;
    return values.empty() ? te::Value{} : values.back();
  }

  void point() {
    const hw::Buffer& buffer = group_.buffers[static_cast<size_t>(leaf_.write.object)];
    std::vector<int64_t> at;
    for (const te::Affine& index : leaf_.write.index) {
      at.push_back(index.eval(env_));
    }
    const int64_t element = buffer.element_offset(at);
    std::byte* data = memory_.slot(leaf_.write.object);
    te::Value value;
    if (!leaf_.accumulate) {
      value = body(leaf_.body.size());
    } else if (fused()) {   // the leaf's own sum, from zero; finish_sum adds it
      const te::ScalarNode& root = leaf_.body.back();
      body(leaf_.body.size() - 1);
      sum_ = te::apply({te::Op::Fma, buffer.type}, buffer.type, last_[static_cast<size_t>(root.a)], last_[static_cast<size_t>(root.b)], sum_);
      return;
    } else {
      const te::Op op = leaf_.monoid == te::Monoid::Sum   ? te::Op::Add
                        : leaf_.monoid == te::Monoid::Max ? te::Op::Max
                                                          : te::Op::Min;
      value = te::apply({op, buffer.type}, buffer.type, te::load_element(buffer.type, data, element), body(leaf_.body.size()), {});
    }
    te::store_element(buffer.type, data, element, value);
  }

  bool fused() const { return te::accumulates_with_fma(leaf_.accumulate ? te::StmtKind::Reduce : te::StmtKind::Map, leaf_.monoid, leaf_.body); }

  void reduce() {
    sum_ = {};
    over(0, te::DimKind::Red);
    if (fused()) {
      const hw::Buffer& buffer = group_.buffers[static_cast<size_t>(leaf_.write.object)];
      std::vector<int64_t> at;
      for (const te::Affine& index : leaf_.write.index) {
        at.push_back(index.eval(env_));
      }
      const int64_t element = buffer.element_offset(at);
      std::byte* data = memory_.slot(leaf_.write.object);
      const te::Value old = te::load_element(buffer.type, data, element);
      te::store_element(buffer.type, data, element, te::apply({te::Op::Add, buffer.type}, buffer.type, old, sum_, {}));
    }
  }

  const hw::Compute& leaf_;
  const hw::Group& group_;
  LeafMemory& memory_;
  std::vector<int64_t> env_;
  std::vector<te::Value> last_;
  te::Value sum_;
};

/// The kernel, instruction by instruction.
class KernelInterpreter {
 public:
  KernelInterpreter(const hw::Compute& leaf, const hw::Group& group, const hw::Machine& machine, LeafMemory& memory,
                    std::vector<int64_t> env)
      : leaf_(leaf), group_(group), machine_(machine), memory_(memory), env_(std::move(env)) {
    for (const hw::KernelRegister& reg : leaf.kernel.registers) {
      registers_.emplace_back(static_cast<size_t>(reg.lanes));
    }
  }
  void run() { body(leaf_.kernel.body); }
  int64_t vector_instructions = 0, scalar_instructions = 0;

 private:
  void body(const std::vector<hw::KernelNode>& nodes) {
    for (const hw::KernelNode& node : nodes) {
      if (const auto* instr = std::get_if<hw::KernelInstr>(&node.v)) {
        run(*instr);
        continue;
      }
      const auto& loop = std::get<hw::KernelLoop>(node.v);
      int64_t& var = env_[static_cast<size_t>(loop.var)];
      for (var = loop.resume ? var : loop.begin.eval(env_); var + loop.step <= loop.end.eval(env_); var += loop.step) {
        body(loop.body);
      }
    }
  }

  const hw::KernelRegister& info(int r) const { return leaf_.kernel.registers.at(static_cast<size_t>(r)); }
  te::Value lane(int r, int l) const {
    return registers_.at(static_cast<size_t>(r)).at(static_cast<size_t>(info(r).lanes == 1 ? 0 : l));
  }

  /// First element of an access; fails the test when one of `width` elements is outside the slot.
  int64_t element(const hw::KernelInstr& instr, int64_t width, int& object) {
    object = instr.access < 0 ? leaf_.write.object : leaf_.reads.at(static_cast<size_t>(instr.access)).view.object;
    const hw::Buffer& buffer = group_.buffers[static_cast<size_t>(object)];
    int64_t at = instr.offset.eval(env_);
    if (instr.index_register >= 0) {
      int64_t index = lane(instr.index_register, 0).i;
      index = index < 0 ? index + instr.index_extent : index;
      at += std::clamp<int64_t>(index, 0, instr.index_extent - 1) * instr.index_stride;
    }
    EXPECT_EQ(buffer.type, instr.type);
    EXPECT_GE(at, 0);
    EXPECT_LE(at + width, buffer.storage_elements());
    if (instr.aligned) {
      EXPECT_EQ(at % width, 0);
      EXPECT_EQ(machine_.memories[1].align % (width * bytes_of(buffer.type)) * (width > 1), 0);
    }
    return std::clamp<int64_t>(at, 0, buffer.storage_elements() - width);
  }

  void check_exists(const hw::KernelInstr& instr) {
    using hw::KernelOp;
    std::string name = "move";
    DType type = instr.type;
    switch (instr.kind) {
      case KernelOp::Const:
        name = "const";
        break;
      case KernelOp::Index:
        name = "index";
        break;
      case KernelOp::Load:
        name = instr.aligned ? "load" : "loadu";
        break;
      case KernelOp::LoadSplat:
        name = "load_splat";
        break;
      case KernelOp::Store:
        name = instr.aligned ? "store" : "storeu";
        break;
      case KernelOp::Splat:
        name = "splat";
        break;
      case KernelOp::Move:
        break;
      case KernelOp::Compute:
        name = te::name_of(instr.op);
        type = instr.op >= te::Op::Lt && instr.op <= te::Op::Ne ? info(instr.src[0]).type : instr.type;
    }
    EXPECT_NE(machine_.vector.find(name, type, instr.lanes), nullptr)
        << name << " of " << name_of(type) << " x " << instr.lanes;
  }

  void run(const hw::KernelInstr& instr) {
    using hw::KernelOp;
    check_exists(instr);
    (instr.lanes > 1 ? vector_instructions : scalar_instructions) += 1;
    int object = 0;
    if (instr.kind == KernelOp::Store) {
      const int64_t at = element(instr, instr.lanes, object);
      for (int l = 0; l < instr.lanes; ++l) {
        te::store_element(instr.type, memory_.slot(object), at + l, lane(instr.src[0], l));
      }
      return;
    }
    ASSERT_EQ(info(instr.dst).type, instr.type);
    ASSERT_EQ(info(instr.dst).lanes, instr.lanes);
    std::vector<te::Value> out(static_cast<size_t>(instr.lanes));
    const bool splat = instr.kind == KernelOp::LoadSplat;
    const int64_t at = instr.kind == KernelOp::Load || splat ? element(instr, splat ? 1 : instr.lanes, object) : 0;
    for (int l = 0; l < instr.lanes; ++l) {
      te::Value& value = out[static_cast<size_t>(l)];
      switch (instr.kind) {
        case KernelOp::Const:
          value = {instr.number, instr.integer};
          break;
        case KernelOp::Index:
          value.i = instr.offset.eval(env_);
          break;
        case KernelOp::Load:
        case KernelOp::LoadSplat:
          value = te::load_element(instr.type, memory_.slot(object), at + (splat ? 0 : l));
          break;
        case KernelOp::Splat:
          value = lane(instr.src[0], 0);
          break;
        case KernelOp::Move:
          value = lane(instr.src[0], l);
          break;
        case KernelOp::Store:
          break;
        case KernelOp::Compute:
          value = compute(instr, l);
      }
    }
    registers_[static_cast<size_t>(instr.dst)] = std::move(out);
  }

  te::Value compute(const hw::KernelInstr& instr, int l) {
    std::array<te::Value, 3> x;
    for (int k = 0; k < te::arity_of(instr.op); ++k) {
      EXPECT_EQ(info(instr.src[static_cast<size_t>(k)]).lanes, instr.lanes);
      x[static_cast<size_t>(k)] = lane(instr.src[static_cast<size_t>(k)], l);
    }
    const DType operand = info(instr.src[instr.op == te::Op::Select ? 1 : 0]).type;
    return te::apply({instr.op, instr.type}, operand, x[0], x[1], x[2]);
  }

  const hw::Compute& leaf_;
  const hw::Group& group_;
  const hw::Machine& machine_;
  LeafMemory& memory_;
  std::vector<int64_t> env_;
  std::vector<std::vector<te::Value>> registers_;
};

}  // namespace dlcc::lowering
