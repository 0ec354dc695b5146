// The end of every run: compare, save, say, and give the exit code.
#pragma once

#include <fmt/format.h>

#include <cstdio>

#include "toolchain/data_set.h"
#include "toolchain/driver.h"

namespace dlcc::toolchain {

/// Prints a line per output compared, and the worst error in units of the tolerance. False: some output differs.
inline bool check_outputs(const DataSet& set, const std::vector<te::Array>& outputs, const hw::Program& program, const DataOptions& options) {
  bool equal = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = program.tensors[static_cast<size_t>(program.outputs[i])].name;
    if (!set.expected[i]) {
      fmt::print("{}: '{}' computed, nothing to compare with\n", set.name, name);
      continue;
    }
    const Comparison result = compare(outputs[i], *set.expected[i], *options.rtol, *options.atol, name);
    fmt::print("{}: '{}' {}, worst error {:.3g} of the tolerance\n", set.name, name, result.equal ? "equal" : "DIFFERS", result.worst);
    if (!result.equal) {
      fmt::print("  {}\n", result.message);
    }
    equal &= result.equal;
  }
  return equal;
}

/// --save: the folder itself, or one folder a data set when there are several.
inline Status save_run(const std::string& save, const DataSet& set, size_t sets, const hw::Program& program, const std::vector<te::Array>& outputs) {
  if (save.empty()) {
    return ok_status();
  }
  std::filesystem::path folder = save;
  if (sets > 1) {
    folder /= std::filesystem::path(set.name).filename();
  }
  return save_outputs(folder, program, outputs);
}

}  // namespace dlcc::toolchain
