// dlhw: check, show and describe chip files. Findings go to stderr; exit codes: 0 ok, 4 bad input, 5 internal error.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "hw/machine_keys.h"
#include "hw/machine_yaml.h"

namespace dlcc {
namespace {

constexpr int kOk = 0, kBadInput = 4, kInternal = 5;

int refuse(const Diags& diags) {
  fmt::print(stderr, "{}\n", to_string(diags));
  return kBadInput;
}

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

int check(const std::vector<std::string>& chips) {
  int status = kOk;
  for (const std::string& chip : chips) {
    const auto machine = hw::load_machine(chip);
    if (machine.ok()) {
      fmt::print("{}\n", summary(*machine));
    } else {
      status = refuse(machine.diags());
    }
  }
  return status;
}

int show(const std::string& chip) {
  const auto machine = hw::load_machine(chip);
  if (!machine.ok()) {
    return refuse(machine.diags());
  }
  fmt::print("{}", hw::describe(*machine));
  return kOk;
}

int run(int argc, char** argv) {
  CLI::App app{"dlhw: author and inspect chip files"};
  app.require_subcommand(1);
  std::vector<std::string> chips;
  CLI::App* check_command = app.add_subcommand("check", "read chip files strictly, report every finding");
  check_command->add_option("chip", chips, "YAML files or names of shipped chips")->required();
  std::string chip;
  CLI::App* show_command = app.add_subcommand("show", "print every resolved number with its source");
  show_command->add_option("chip", chip, "YAML file or name of a shipped chip")->required();
  bool keys = false;
  CLI::App* schema_command = app.add_subcommand("schema", "print the JSON Schema of the chip file");
  schema_command->add_flag("--keys", keys, "print the key tables of docs/chips.md instead");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kBadInput;
  }
  if (*check_command) {
    return check(chips);
  }
  if (*show_command) {
    return show(chip);
  }
  if (*schema_command) {
    fmt::print("{}", keys ? hw::key_tables_markdown() : hw::chip_json_schema());
  }
  return kOk;
}

}  // namespace
}  // namespace dlcc

int main(int argc, char** argv) {
  try {
    return dlcc::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "dlhw: internal error: {}\n", error.what());
    return dlcc::kInternal;
  }
}
