// The command lines of the tools: parsing with our exit codes, and flags that several tools have.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "toolchain/driver.h"

namespace dlcc::toolchain {

/// Parses, then runs the body as run_tool does. --help exits with 0, a bad command line with 4.
inline int parse_and_run(const char* name, CLI::App& app, int argc, char** argv, const std::function<Result<int>()>& body) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kOk : kBadInput;
  }
  return run_tool(name, body);
}

/// Values of repeated --dim NAME=N.
Result<std::map<std::string, int64_t>> parse_dims(const std::vector<std::string>& dims);

}  // namespace dlcc::toolchain
