// Runs the control flow of a group's program on one core: loops, lets and guards with their values, leaves handed to a visitor.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "hw/program.h"

namespace dlcc::lowering::oracle {

/// Where a leaf is executed: the values of all variables, and the loops around it, outer to inner.
struct Position {
  std::vector<int64_t> env;
  std::vector<const hw::For*> loops;
};

/// visit returns false to stop. False: it was stopped.
bool walk(const hw::Group& group, int core, const std::function<bool(const hw::Node& leaf, const Position& at)>& visit);

}  // namespace dlcc::lowering::oracle
