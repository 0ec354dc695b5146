// dlhw: check, show and describe chip files. Findings go to stderr; exit codes: 0 ok, 4 bad input, 5 internal error.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "hw/machine_keys.h"
#include "hw/machine_yaml.h"
#include "toolchain/command_line.h"

namespace dlcc {
namespace {

/// "sw26010 (file): ok; 120 numbers: 80 with a source, 30 estimated, 10 default, 0 without"
std::string summary(const hw::Machine& machine) {
  size_t sourced = 0, estimated = 0, defaults = 0, unknown = 0;
  for (const auto& [path, provenance] : machine.provenance) {
    size_t& count = provenance.estimated             ? estimated
                    : provenance.source == "default" ? defaults
                    : provenance.source.empty()      ? unknown
                                                     : sourced;
    ++count;
  }
  return fmt::format("{} ({}): ok; {} numbers: {} with a source, {} estimated, {} default, {} without", machine.name,
                     machine.file, machine.provenance.size(), sourced, estimated, defaults, unknown);
}

/// Every file's findings, not only the first file's.
Result<int> check(const std::vector<std::string>& chips) {
  Diags findings;
  for (const std::string& chip : chips) {
    const auto machine = hw::load_machine(chip);
    if (machine.ok()) {
      fmt::print("{}\n", summary(*machine));
    } else {
      findings.insert(findings.end(), machine.diags().begin(), machine.diags().end());
    }
  }
  return findings.empty() ? Result<int>(toolchain::kOk) : Result<int>(findings);
}

Result<int> show(const std::string& chip) {
  DLCC_TRY(const hw::Machine machine, hw::load_machine(chip));
  fmt::print("{}", hw::describe(machine));
  return static_cast<int>(toolchain::kOk);
}

}  // namespace
}  // namespace dlcc

int main(int argc, char** argv) {
  using namespace dlcc;
  toolchain::CommandLine line("dlhw", "author and inspect chip files");
  std::string command;
  std::vector<std::string> chips;
  line.command("check", "read chip files strictly, report every finding", command);
  line.option("chip", &chips, "YAML files or names of shipped chips", {.required = true});
  std::string chip;
  line.command("show", "print every resolved number with its source", command);
  line.option("chip", &chip, "YAML file or name of a shipped chip", {.required = true});
  bool keys = false;
  line.command("schema", "print the JSON Schema of the chip file", command);
  line.flag("--keys", keys, "print the key tables of docs/chips.md instead");
  return line.run(argc, argv, [&]() -> Result<int> {
    if (command == "check") {
      return check(chips);
    }
    if (command == "show") {
      return show(chip);
    }
    fmt::print("{}", keys ? hw::key_tables_markdown() : hw::chip_json_schema());
    return static_cast<int>(toolchain::kOk);
  });
}
