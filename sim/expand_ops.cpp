// Tree -> jump code -> leaves. A loop costs two instructions, so a step of a Cursor is a few affine evaluations.
#include "sim/expand_ops.h"

#include <algorithm>

#include "base/check.h"
#include "hw/let_value.h"

namespace dlcc::sim {
namespace {

OpKind kind_of(const hw::Node& node) {
  switch (node.v.index()) {
    case 3:
      return OpKind::Dma;
    case 4:
      return OpKind::Fill;
    case 5:
      return OpKind::Compute;
    case 6:
      return OpKind::Intrin;
    case 7:
      return OpKind::Signal;
    case 8:
      return OpKind::Wait;
    default:
      return OpKind::Barrier;
  }
}

}  // namespace

GroupCode::GroupCode(const hw::Group& group, const hw::Machine& machine) : group_(&group) {
  add(group.body, machine);
}

void GroupCode::add(const hw::Body& body, const hw::Machine& machine) {
  for (const hw::Node& node : body) {
    const size_t start = code_.size();
    if (const auto* loop = std::get_if<hw::For>(&node.v)) {
      DLCC_CHECK(loop->step > 0) << "loop step " << loop->step;
      const size_t leaves = leaves_.size();
      code_.push_back({.kind = InstrKind::Begin, .loop = loop});
      add(loop->body, machine);
      if (leaves_.size() == leaves) {
        code_.resize(start);  // nothing inside: its trips would only cost time
        continue;
      }
      code_.push_back({.kind = InstrKind::End, .target = static_cast<int>(start) + 1, .loop = loop});
      code_[start].target = static_cast<int>(code_.size());
    } else if (const auto* guard = std::get_if<hw::If>(&node.v)) {
      code_.push_back({.kind = InstrKind::If, .guard = guard});
      add(guard->body, machine);
      code_[start].target = static_cast<int>(code_.size());
    } else if (const auto* let = std::get_if<hw::Let>(&node.v)) {
      code_.push_back({.kind = InstrKind::Let, .let = let});
    } else {
      add_leaf(node, machine);
    }
  }
}

void GroupCode::add_leaf(const hw::Node& node, const hw::Machine& machine) {
  Leaf leaf;
  leaf.kind = kind_of(node);
  leaf.index = static_cast<int>(leaves_.size());
  leaf.pipe = hw::pipe_of(node, *group_, machine);
  leaf.node = &node;
  code_.push_back({.kind = InstrKind::Leaf, .leaf = leaf.index});
  leaves_.push_back(leaf);
}

Cursor::Cursor(const GroupCode& code, int core)
    : code_(&code), env_(std::max<size_t>(code.group().vars.size(), 1), 0), limits_(code.code_.size(), 0) {
  env_[0] = core;
}

const Leaf* Cursor::next() {
  const auto& code = code_->code_;
  int64_t* env = env_.data();
  while (at_ < code.size()) {
    const GroupCode::Instr& instr = code[at_];
    switch (instr.kind) {
      case GroupCode::InstrKind::Begin: {
        const int64_t begin = eval(instr.loop->begin, env), end = eval(instr.loop->end, env);
        env[instr.loop->var] = begin;
        limits_[static_cast<size_t>(instr.target) - 1] = end;
        at_ = begin < end ? at_ + 1 : static_cast<size_t>(instr.target);
        break;
      }
      case GroupCode::InstrKind::End: {
        int64_t& var = env[instr.loop->var];
        const int64_t left = limits_[at_] - var;
        if (left > instr.loop->step) {
          var += instr.loop->step;
          at_ = static_cast<size_t>(instr.target);
        } else {
          ++at_;
        }
        break;
      }
      case GroupCode::InstrKind::Let:
        env[instr.let->var] = hw::apply(instr.let->op, eval(instr.let->a, env), eval(instr.let->b, env));
        ++at_;
        break;
      case GroupCode::InstrKind::If: {
        const auto& conditions = instr.guard->non_negative;
        const bool run =
            std::all_of(conditions.begin(), conditions.end(), [&](const te::Affine& e) { return eval(e, env) >= 0; });
        at_ = run ? at_ + 1 : static_cast<size_t>(instr.target);
        break;
      }
      case GroupCode::InstrKind::Leaf:
        ++at_;
        return &code_->leaves_[static_cast<size_t>(instr.leaf)];
    }
  }
  return nullptr;
}

std::string object_name(const hw::View& view, const hw::Group& group, const hw::Program& program) {
  const auto object = static_cast<size_t>(view.object);
  return view.kind == hw::ObjectKind::Tensor ? program.tensors[object].name : group.buffers[object].name;
}

std::string leaf_name(const Leaf& leaf, const hw::Group& group, const hw::Program& program,
                      const hw::Machine& machine) {
  switch (leaf.kind) {
    case OpKind::Dma: {
      const auto& dma = leaf.as<hw::Dma>();
      const char* verb =
          dma.dst.kind == hw::ObjectKind::Tensor ? "put " : (dma.src.kind == hw::ObjectKind::Tensor ? "get " : "move ");
      return verb + object_name(dma.src, group, program) + " -> " + object_name(dma.dst, group, program);
    }
    case OpKind::Fill:
      return "fill " + object_name(leaf.as<hw::Fill>().dst, group, program);
    case OpKind::Compute:
      return "compute " + leaf.as<hw::Compute>().name;
    case OpKind::Intrin:
      return "intrin " + machine.intrinsics[static_cast<size_t>(leaf.as<hw::IntrinCall>().intrinsic)].id;
    case OpKind::Signal:
      return "signal " + group.channels[static_cast<size_t>(leaf.as<hw::Signal>().channel)].name;
    case OpKind::Wait:
      return "wait " + group.channels[static_cast<size_t>(leaf.as<hw::Wait>().channel)].name;
    case OpKind::Barrier:
      return "barrier";
  }
  return {};
}

}  // namespace dlcc::sim
