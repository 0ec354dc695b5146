// GroupAnalysis: everything about a fusion group that does not depend on tile sizes. Made once per group; plans are tried against it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/te/stmt.h"
#include "lowering/context.h"
#include "lowering/fuse.h"
#include "lowering/intrinsic_match.h"

namespace dlcc::lowering {

/// A tensor as the group sees it; statements of the group number these.
struct GroupTensor {
  std::string name;
  DType type = DType::F32;
  std::vector<int64_t> shape;
  int module_tensor = -1;        // -1: exists only inside the group (a padded copy)
  int producer = -1;             // position in GroupAnalysis::stmts; -1: loaded from global memory
};

/// Stream: inside the loop over reduction tiles, up to and including the streamed reduction. Final: once per tile, after it.
enum class Phase : uint8_t { Stream, Final };

struct GroupAnalysis {
  std::string name;              // of the root's node
  std::string kind;              // "contraction", "reduce", "map"
  std::vector<std::string> onnx_nodes;
  std::vector<te::Stmt> stmts;   // topological, root last; Access::tensor numbers `tensors`
  std::vector<GroupTensor> tensors;
  std::vector<Phase> phase;      // by statement
  int streamed = -1;             // the statement whose Red dims may be tiled; -1: none
  std::vector<IntrinsicMatch> intrinsics;   // of the streamed statement, best first
  int64_t flops = 0;

  int root() const { return static_cast<int>(stmts.size()) - 1; }
  const te::Stmt& root_stmt() const { return stmts.back(); }
};

/// Unsupported: a statement that no plan could lower (a Scan or Opaque one). Where the path from global memory cannot pad, reads with a fill value go
/// through a padded copy made by the core.
Result<GroupAnalysis> analyse(const te::Module& module, const FusionGroup& group, const Context& context);

}  // namespace dlcc::lowering
