// The command lines of the tools: options, parsing with our exit codes, and flags that several tools have.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "toolchain/data_set.h"
#include "toolchain/driver.h"

namespace CLI {
class App;
}

namespace dlcc::toolchain {

/// One tool's command line over CLI11, whose headers are in one file only: they take a compiler 15 s each time.
class CommandLine {
 public:
  using Value = std::variant<std::string*, std::vector<std::string>*, int*, uint32_t*, uint64_t*, std::optional<uint64_t>*, std::optional<double>*>;
  /// What a value must be, beyond its type.
  struct Limits {
    bool required = false;
    std::vector<std::string> one_of{};
    int least = 0, most = 0;          // of an int; no limit when both are 0
  };

  CommandLine(const std::string& name, const std::string& about);
  ~CommandLine();

  /// Names as CLI11 takes them: "--out", "-o,--out", or a bare word for a positional argument. Values outlive run().
  void option(const std::string& names, Value value, const std::string& help, const Limits& limits);
  void option(const std::string& names, Value value, const std::string& help) { option(names, value, help, Limits{}); }
  void flag(const std::string& names, bool& value, const std::string& help);
  /// --test-data, --input, --expect, --random, --rtol and --atol.
  void data_options(DataOptions& data);
  /// Options that follow belong to this command; run() then needs exactly one command and sets `chosen` to its name.
  void command(const std::string& name, const std::string& help, std::string& chosen);

  /// Parses, then runs the body as run_tool does. --help exits with 0, a bad command line with 4.
  int run(int argc, char** argv, const std::function<Result<int>()>& body);

 private:
  std::string name_;
  std::unique_ptr<CLI::App> app_;
  CLI::App* current_;                 // app_ or its last command
};

/// Values of repeated --dim NAME=N.
Result<std::map<std::string, int64_t>> parse_dims(const std::vector<std::string>& dims);

}  // namespace dlcc::toolchain
