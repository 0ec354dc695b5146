// The entry: limits, the checker's run, and the text of a report.
#include "lowering/oracle/oracle.h"

#include "lowering/oracle/checker.h"

namespace dlcc::lowering::oracle {

void Checker::check_coverage() {
  const te::Stmt& root = group_.root_stmt();
  Box box;
  std::vector<Affine> dims;
  for (size_t d = 0; d < root.dims.size(); ++d) {
    box.push_back({0, root.dims[d].kind == te::DimKind::Par ? root.dims[d].extent : 1});
    dims.push_back(Affine::var(static_cast<VarId>(d)));
  }
  Set live_out = range(poly_.affine(box, written(root, dims)));
  Set missing = stored_ ? subtract(live_out.copy(), stored_.copy()) : live_out.copy();
  if (!is_empty(missing)) {
    find("coverage", fmt::format("'{}' is never stored at {}", name_of(root.write.tensor), sample(std::move(missing))));
  }
  if (stored_ && !is_subset(stored_, live_out)) {
    find("coverage", fmt::format("'{}' is stored where '{}' does not write", name_of(root.write.tensor), root.name));
  }
}

Result<Report> check_group(const GroupAnalysis& group, const TilePlan& plan, const hw::Group& lowered, const std::function<int(int)>& tensor_of,
                           const hw::Machine& machine, const Options& options) {
  for (const hw::Buffer& buffer : lowered.buffers) {
    for (int64_t extent : buffer.shape) {
      if (extent < 0 || extent > INT32_MAX) {
        return unsupported(group.name, fmt::format("buffer '{}' has an extent of {}", buffer.name, extent));
      }
    }
  }
  for (const GroupTensor& tensor : group.tensors) {
    for (int64_t extent : tensor.shape) {
      if (extent > INT32_MAX / 4) {
        return unsupported(group.name, fmt::format("tensor '{}' has an extent of {}", tensor.name, extent));
      }
    }
  }
  return Checker(group, plan, lowered, tensor_of, machine, options).run();
}

std::string to_string(const Report& report) {
  std::string text;
  for (const Finding& finding : report.findings) {
    text += finding.check + ": " + finding.message + "\n";
  }
  return report.undecided.empty() ? text : text + "undecided: " + report.undecided + "\n";
}

}  // namespace dlcc::lowering::oracle
