// libFuzzer entry: any bytes as an ONNX model, through import, dims, shapes, folding, rewrites and statements.
// Refusals are fine; an InternalError is a finding (it is not caught), as are crashes, hangs and too much memory.
#include <cstddef>
#include <cstdint>

#include "frontend/ops.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dlcc::frontend;
  auto graph = import_onnx_bytes({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
  if (!graph.ok() || !bind_dims(*graph, {}, nullptr).ok()) {
    return 0;
  }
  FoldLimits limits;  // small enough that one input takes well under a second
  limits.node_work = 1 << 20;
  limits.total_work = 1 << 22;
  limits.node_bytes = 1 << 20;
  limits.total_bytes = 1 << 23;
  if (!infer_and_fold(*graph, limits).ok()) {
    return 0;
  }
  for (const GraphPass& pass : graph_passes()) {
    if (!pass.run(*graph).ok()) {
      return 0;
    }
  }
  const auto definition = define(*graph);
  return 0;
}
