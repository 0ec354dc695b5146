// kernelize(): analysis of the leaf, choice of the register tile, emission.
#include "lowering/kernelize.h"

#include <algorithm>

#include "lowering/kernelize_emit.h"

namespace dlcc::lowering {
namespace {

/// Empty: every access is to a row-major buffer of the core.
std::string unlinear_access(const hw::Compute& leaf, const hw::Group& group) {
  const auto problem = [&](const hw::View& view) -> std::string {
    if (view.kind != hw::ObjectKind::Buffer) {
      return "it works on a tensor in global memory";
    }
    const hw::Buffer& buffer = group.buffers[static_cast<size_t>(view.object)];
    return buffer.layout.empty() ? "" : "buffer '" + buffer.name + "' has a blocked layout";
  };
  std::string out = problem(leaf.write);
  for (const hw::ComputeRead& read : leaf.reads) {
    out = out.empty() ? problem(read.view) : out;
  }
  return out;
}

}  // namespace

Status kernelize(hw::Compute& leaf, hw::Group& group, const Context& context) {
  leaf.kernel = {};
  if (const std::string reason = unlinear_access(leaf, group); !reason.empty()) {
    context.explain.add(leaf.name, "no kernel: " + reason);
    return ok_status();
  }
  if (leaf.dims.size() > kMaxKernelDims) {
    return unsupported(leaf.name, "a statement of " + std::to_string(leaf.dims.size()) + " dims, at most " +
                                      std::to_string(kMaxKernelDims) + " are supported");
  }
  const LeafForm form(leaf, group, context.machine);
  std::string why_scalar;
  const KernelTile tile = choose_tile(form, why_scalar);
  if (!why_scalar.empty()) {
    context.explain.add(leaf.name, "scalar code: " + why_scalar);
  }
  DLCC_TRY(leaf.kernel, emit_kernel(form, tile));
  return ok_status();
}

}  // namespace dlcc::lowering
