// lower(): one group and its plan -> the tile-level program of the group. Pure, deterministic, no isl, no search; < 1 ms.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/program.h"
#include "lowering/buffers.h"
#include "lowering/plan.h"

namespace dlcc::lowering {

/// tensor_of maps GroupTensor::module_tensor to the program's tensors. Error: the plan does not fit (itemised) or does not match the group.
Result<hw::Group> lower(const GroupAnalysis& group, const TilePlan& plan, const std::function<int(int)>& tensor_of, const Context& context);

struct CompileOptions {
  /// Called after each stage with its name ("canonicalise", "fuse", "plan", "lower", "kernelize", "arena") and a printer of its text form.
  std::function<void(const std::string& pass, const std::function<std::string()>& text)> after_pass;
  /// The plan of each group instead of choose_plan's. A plan that does not fit is refused like any other.
  std::function<Result<TilePlan>(const GroupAnalysis& group)> plan_for;
  /// Called with each group that fits, as lower() made it, and its mapping from GroupTensor::module_tensor to program tensors.
  std::function<void(const GroupAnalysis& group, const TilePlan& plan, const hw::Group& lowered, const std::function<int(int)>& tensor_of)> after_group;
};

/// Weight tensors of the program and where their bytes come from, in weights.bin order.
struct WeightBlob {
  int64_t offset = 0;
  int64_t bytes = 0;
  const void* data = nullptr;
};

struct Compiled {
  hw::Program program;
  std::vector<WeightBlob> weights;
  std::vector<std::string> plans;    // text of each group's plan
};

/// The whole of lowering: module -> program with kernels, memory plan and layer infos.
Result<Compiled> compile(const te::Module& module, const std::string& model_name, const Context& context, const CompileOptions& options);

}  // namespace dlcc::lowering
