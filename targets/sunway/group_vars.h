// Which variables and accesses the C of a group really reads. Internal to targets/sunway.
#pragma once

#include <set>

#include "hw/program.h"

namespace dlcc::targets::sunway {

/// A Compute leaf's kernel: variables of the outer body, variables of its own loops, accesses (-1: the write).
struct KernelUse {
  std::set<hw::VarId> outer, loops;
  std::set<int> accesses;
};
KernelUse kernel_use(const hw::Compute& leaf);

/// Variables read by anything printed for the group. A Let of any other variable is not printed: the device compiler would warn, or compute it.
std::set<hw::VarId> used_vars(const hw::Group& group);

}  // namespace dlcc::targets::sunway
