// Turning a node into a Reshape to the shape that its output has.
#pragma once

#include "frontend/rewrites/graph_edit.h"

namespace dlcc::frontend {

/// The node becomes output = Reshape(input, shape of the output). False, and nothing done, when the shape has a 0,
/// which Reshape reads as "copy".
bool make_reshape(GraphEdit& edit, NodeId node, ValueId input);

}  // namespace dlcc::frontend
