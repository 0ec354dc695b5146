// Everything of a group that does not depend on the core: the flat code, and for each leaf its compiled views and body.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "sim/access.h"
#include "sim/compute_exec.h"
#include "sim/expand_ops.h"

namespace dlcc::sim {

/// Dma: views src, dst and the index of a lookup. Fill: dst. Compute and Intrin: the written object, then the reads of the body.
struct LeafPlan {
  const std::vector<hw::BoxDim>* box = nullptr;
  std::vector<ViewCode> views;
  std::vector<std::unique_ptr<hw::View>> made_views;  // intrinsics: operand views composed with the semantics' indices
  std::unique_ptr<ComputeCode> compute;               // Compute only; intrinsics: GroupPlan::intrinsic_code
};

class GroupPlan {
 public:
  GroupPlan(const hw::Group& group, const hw::Program& program, const hw::Machine& machine);
  const GroupCode& code() const { return code_; }
  const hw::Group& group() const { return *group_; }
  const LeafPlan& plan(const Leaf& leaf) const { return plans_[static_cast<size_t>(leaf.index)]; }
  /// Bytes used of each memory, and log2 of the smallest element there.
  const std::vector<int64_t>& memory_bytes() const { return memory_bytes_; }
  const std::vector<int>& memory_shift() const { return memory_shift_; }
  /// The body of an intrinsic call with its parameters' values (params of the body replaced by constants). Thread-safe.
  const ComputeCode& intrinsic_code(const Leaf& leaf, const std::vector<int64_t>& params) const;

 private:
  LeafPlan make(const hw::Dma& dma) const;
  LeafPlan make(const hw::Fill& fill) const;
  LeafPlan make(const hw::Compute& compute) const;
  LeafPlan make(const hw::IntrinCall& call) const;

  const hw::Group* group_;
  const hw::Program* program_;
  const hw::Machine* machine_;
  GroupCode code_;
  std::vector<LeafPlan> plans_;
  std::vector<int64_t> memory_bytes_;
  std::vector<int> memory_shift_;
  struct IntrinsicCache {
    std::mutex mutex;
    std::map<std::pair<int, std::vector<int64_t>>, std::unique_ptr<ComputeCode>> codes;
  };
  std::unique_ptr<IntrinsicCache> intrinsics_ = std::make_unique<IntrinsicCache>();
};

}  // namespace dlcc::sim
