// What the command-line tools share: exit codes, and turning failures into them.
#pragma once

#include <functional>

#include "base/result.h"

namespace dlcc::toolchain {

enum ExitCode { kOk = 0, kDiffers = 1, kFinding = 2, kBadInput = 4, kInternal = 5 };

/// Runs a tool: prints diagnostics to stderr, exit code 4 for them and 5 for a failed check of ours or out of memory.
int run_tool(const char* name, const std::function<Result<int>()>& body);

}  // namespace dlcc::toolchain
