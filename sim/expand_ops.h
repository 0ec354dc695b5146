// A group's tree -> the flat list of leaves that one core executes, one at a time. The compiled form is shared by all
// cores; a Cursor holds one core's variables, so memory does not depend on the number of operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/program.h"

namespace dlcc::sim {

enum class OpKind : uint8_t { Dma, Fill, Compute, Intrin, Signal, Wait, Barrier };

struct Leaf {
  OpKind kind = OpKind::Barrier;
  int index = 0;        // position among the group's leaves
  hw::PipeId pipe = 0;  // that executes it; kNone for a Barrier
  const hw::Node* node = nullptr;
  template <class T>
  const T& as() const {
    return std::get<T>(node->v);
  }
};

/// Wraps on overflow: a nonsense index is then found by the bounds checks.
inline int64_t eval(const te::Affine& affine, const int64_t* env) {
  uint64_t value = static_cast<uint64_t>(affine.constant());
  for (const te::Term& term : affine.terms()) {
    value += static_cast<uint64_t>(term.coef) * static_cast<uint64_t>(env[term.var]);
  }
  return static_cast<int64_t>(value);
}

class GroupCode {
 public:
  GroupCode(const hw::Group& group, const hw::Machine& machine);
  const hw::Group& group() const { return *group_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }

 private:
  friend class Cursor;
  enum class InstrKind : uint8_t { Begin, End, Let, If, Leaf };
  /// Begin: target is one past the matching End. End: target is the first instruction of the body. If: one past the
  /// body.
  struct Instr {
    InstrKind kind;
    int target = 0;
    int leaf = 0;
    const hw::For* loop = nullptr;
    const hw::Let* let = nullptr;
    const hw::If* guard = nullptr;
  };
  void add(const hw::Body& body, const hw::Machine& machine);
  void add_leaf(const hw::Node& node, const hw::Machine& machine);

  const hw::Group* group_;
  std::vector<Instr> code_;
  std::vector<Leaf> leaves_;
};

class Cursor {
 public:
  Cursor(const GroupCode& code, int core);
  /// The next leaf, or null at the end. env() holds the variables' values there until the next call.
  const Leaf* next();
  const std::vector<int64_t>& env() const { return env_; }

 private:
  const GroupCode* code_;
  size_t at_ = 0;
  std::vector<int64_t> env_;
  std::vector<int64_t> limits_;  // by instruction: the end of the running loop
};

/// "get X -> X_tile", "wait x_full", ...: how reports name a leaf.
std::string leaf_name(const Leaf& leaf, const hw::Group& group, const hw::Program& program, const hw::Machine& machine);
std::string object_name(const hw::View& view, const hw::Group& group, const hw::Program& program);

}  // namespace dlcc::sim
