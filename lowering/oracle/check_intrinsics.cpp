// Intrinsic calls: the same checks, at the instances of the streamed statement that a call covers.
#include "lowering/oracle/checker.h"

namespace dlcc::lowering::oracle {

void Checker::execute(const hw::IntrinCall& leaf, const Position& at) {
  const bool planned = plan_.intrinsic >= 0 && group_.streamed >= 0 &&
                       group_.intrinsics[static_cast<size_t>(plan_.intrinsic)].intrinsic == leaf.intrinsic;
  if (!planned) {
    find("leaf", fmt::format("intrinsic {} is not the plan's", leaf.intrinsic));
    return;
  }
  const IntrinsicMatch& match = group_.intrinsics[static_cast<size_t>(plan_.intrinsic)];
  const hw::Intrinsic& intrinsic = machine_.intrinsics[static_cast<size_t>(leaf.intrinsic)];
  const te::Stmt& stmt = group_.stmts[static_cast<size_t>(group_.streamed)];
  const Points points(leaf.box, at.env);
  if (points.empty) {
    return;
  }
  const std::vector<Affine> dims = call_dims(stmt, match, at);
  if (dims.empty() || !in_domain(stmt, points, dims)) {
    return;
  }
  for (size_t o = 0; o < leaf.operands.size(); ++o) {
    if (static_cast<int>(o) != intrinsic.semantics.output) {
      check_read(group_.streamed, match.operand_to_read[o], leaf.operands[o], points, dims, at);
    }
  }
  const hw::View& out = leaf.operands[static_cast<size_t>(intrinsic.semantics.output)];
  const Map target = elements(out, points, "the intrinsic's result");
  if (!target) {
    return;
  }
  const int init = intrinsic.semantics.init_param;
  const bool fresh = init >= 0 && leaf.params[static_cast<size_t>(init)].eval(at.env) != 0;
  accumulate(group_.streamed, points, dims, target, slots_[key_of(out, at)], fresh, true);
}

/// A call covers, per dim of the statement: the tile's start, the micro loop's part, and the axis that runs along it.
std::vector<Affine> Checker::call_dims(const te::Stmt& stmt, const IntrinsicMatch& match, const Position& at) {
  const size_t n = stmt.dims.size();
  if (at.loops.size() < n) {
    find("leaf", "an intrinsic call outside the loops over its micro tiles");
    return {};
  }
  std::vector<Affine> dims;
  const std::vector<int64_t> lo = origin_of(group_.streamed, at);
  for (size_t d = 0; d < n; ++d) {
    const int64_t trip = at.env[static_cast<size_t>(at.loops[at.loops.size() - n + d]->var)];
    int64_t step = 1;
    Affine along(0);
    for (size_t a = 0; a < match.axis_to_dim.size(); ++a) {
      if (match.axis_to_dim[a] == static_cast<int>(d)) {
        step = plan_.micro[a];
        along = Affine::var(static_cast<VarId>(a));
      }
    }
    dims.push_back(Affine(lo[d] + trip * step) + along);
  }
  return dims;
}

}  // namespace dlcc::lowering::oracle
