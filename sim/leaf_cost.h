// Cycles of the leaves that a pipe executes by itself: Compute (scoreboard of its Kernel), intrinsics (the chip file's
// expression), Fill and padding (bytes over the port). Memoised on what they depend on.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "sim/expand_ops.h"

namespace dlcc::sim {

class LeafCosts {
 public:
  LeafCosts(const GroupCode& code, const hw::Program& program, const hw::Machine& machine);
  int64_t compute(const Leaf& leaf, const std::vector<int64_t>& env);
  int64_t intrinsic(const Leaf& leaf, const std::vector<int64_t>& env);
  int64_t fill(const Leaf& leaf, const std::vector<int64_t>& env) const;
  /// Cycles of the issuing core for the padding of a clipped box, when the path cannot pad by itself.
  int64_t padding(const Leaf& leaf, int64_t padded_elements) const;

 private:
  struct Memo {
    std::vector<te::VarId> vars;  // that the cost depends on
    std::map<std::vector<int64_t>, int64_t> cycles;
  };
  int64_t scalar_estimate(const hw::Compute& compute, const std::vector<int64_t>& env) const;
  int64_t port_cycles(const hw::View& view, int64_t elements) const;

  const hw::Group* group_;
  const hw::Program* program_;
  const hw::Machine* machine_;
  std::vector<Memo> memo_;  // by leaf
  std::vector<int64_t> key_;
};

}  // namespace dlcc::sim
