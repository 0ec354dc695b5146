// Does an intrinsic compute (a part of) a statement? Decided from the semantics text alone, by the incidence of axes and the equality of coefficients;
// no operator names.
#pragma once

#include <string>
#include <vector>

#include "base/te/stmt.h"
#include "hw/machine.h"
#include "lowering/context.h"

namespace dlcc::lowering {

/// Axis a of the intrinsic runs along dim axis_to_dim[a] of the statement (-1: extent 1); all other dims stay loops around it.
/// operand_to_read[o] is the statement's read that operand o stands for, -1 for the output operand.
struct IntrinsicMatch {
  int intrinsic = -1;
  std::vector<int> axis_to_dim;
  std::vector<int> operand_to_read;
};

/// All matches, best first (largest product of axis extents covered). Refusals go to explain.
std::vector<IntrinsicMatch> match_intrinsics(const te::Module& module, const te::Stmt& stmt, const Context& context);

/// The size parameter that bounds an axis: the name in the shape of an operand that the axis indexes. -1: the axis has a fixed extent.
int param_of_axis(const hw::Intrinsic& intrinsic, int axis);

/// Largest extent of an axis in one call.
int64_t max_extent_of_axis(const hw::Intrinsic& intrinsic, int axis);

/// Cycles of one call with these axis extents, from the chip file's expression.
int64_t cycles_of(const hw::Intrinsic& intrinsic, const std::vector<int64_t>& axis_extents);

}  // namespace dlcc::lowering
