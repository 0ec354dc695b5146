// The graph rewrites, one file each. They run after infer_and_fold and leave every shape known.
#pragma once

#include "frontend/graph.h"

namespace dlcc::frontend {

/// Identity, and Dropout outside training: gone.
Status remove_identity(Graph& graph);
/// BatchNormalization of a Conv's or ConvTranspose's only use, with all parameters constant: into the weights and the
/// bias.
Status fold_batch_norm(Graph& graph);
/// A Transpose of a Transpose becomes one; one that moves nothing is gone; one that moves only dims of extent 1 is a
/// Reshape.
Status merge_transposes(Graph& graph);
/// Chains of Reshape, Flatten, Squeeze and Unsqueeze become one Reshape; one that changes nothing is gone.
Status merge_reshapes(Graph& graph);
/// Nodes and values that no output needs: gone.
Status remove_dead_code(Graph& graph);

}  // namespace dlcc::frontend
