// The graph rewrites in the order in which they run.
#include "frontend/ops.h"
#include "frontend/rewrites/passes.h"

namespace dlcc::frontend {

std::span<const GraphPass> graph_passes() {
  static constexpr GraphPass kPasses[] = {
      {"remove-identity", remove_identity},  // before the others, which look at neighbours
      {"fold-batch-norm", fold_batch_norm}, {"merge-transposes", merge_transposes},  // makes reshapes
      {"merge-reshapes", merge_reshapes},   {"remove-dead-code", remove_dead_code},
  };
  return kPasses;
}

}  // namespace dlcc::frontend
