// Statements -> fusion groups: which statements share one tiled loop nest, so that what flows between them stays in scratchpads.
#pragma once

#include <vector>

#include "base/te/stmt.h"
#include "lowering/context.h"

namespace dlcc::lowering {

/// Positions in Module::stmts, ascending (so topological). The last one, the root, writes the only tensor that leaves the group.
struct FusionGroup {
  std::vector<int> stmts;
};

/// Rewrites every statement into the form that lowering expects: dims of extent 1 dropped, transcendentals expanded.
te::Module canonicalise(const te::Module& module);

/// Partition of all statements, in an order in which they can run. Rules (each refusal goes to explain):
///   * everything that a group defines, except the root's tensor, is used only inside it and is not an output or aliased by one;
///   * at most one contraction (a reduction over a product of two tensors) a group;
///   * a producer is written with unit stride in every dim, so that the box that a consumer needs can be traced back to it;
///   * a contraction takes no fused producers, and is fused into a windowed consumer only if windows do not overlap much.
std::vector<FusionGroup> fuse(const te::Module& module, const Context& context);

/// The fallback when a fused group has no tile that fits: each statement on its own.
std::vector<FusionGroup> split(const FusionGroup& group);

}  // namespace dlcc::lowering
