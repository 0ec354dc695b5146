// Constant folding of one node: its statements alone, evaluated when nothing they need comes from run time.
#pragma once

#include "frontend/ops.h"

namespace dlcc::frontend {

/// Work and memory spent on folding so far.
struct FoldBudget {
  FoldLimits limits;
  double work = 0, bytes = 0;
};

/// Defines the node alone, which finds what `define` refuses. When no output depends on run-time values and the budget
/// allows it, the outputs become constants of the graph and the result is true. Shapes of the node's values are known.
Result<bool> fold_node(Graph& graph, const Node& node, FoldBudget& budget);

}  // namespace dlcc::frontend
