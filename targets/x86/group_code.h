// One group of a Program -> one function  void (i64 core, ptr arena, ptr weights, ptr scratch). Internal to
// targets/x86.
#pragma once

#include <vector>

#include "base/result.h"
#include "hw/program.h"
#include "targets/x86/box_code.h"
#include "targets/x86/ir.h"

namespace dlcc::targets::x86 {

/// Where each of the machine's memories lies in a core's scratch block.
struct ScratchMap {
  std::vector<int64_t> start;  // by MemoryId, bytes
  int64_t bytes = 0;
};
ScratchMap scratch_map(const hw::Program& program, const hw::Machine& machine);

struct GroupContext {
  const hw::Program& program;
  const ScratchMap& scratch;
};

/// Defines the function under that name, hidden outside the linked object. Unsupported: an intrinsic, a barrier in the
/// middle, a buffer with a layout.
Status emit_group(Ir& ir, BoxCode& boxes, const GroupContext& context, const hw::Group& group, const std::string& name);

}  // namespace dlcc::targets::x86
