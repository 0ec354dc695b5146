#include "toolchain/command_line.h"

#include <CLI/CLI.hpp>

#include <cstdlib>

namespace dlcc::toolchain {

CommandLine::CommandLine(const std::string& name, const std::string& about)
    : name_(name), app_(std::make_unique<CLI::App>(name + ": " + about)), current_(app_.get()) {}

CommandLine::~CommandLine() = default;

void CommandLine::option(const std::string& names, Value value, const std::string& help, const Limits& limits) {
  CLI::Option* option = std::visit([&](auto* target) { return current_->add_option(names, *target, help); }, value);
  option->required(limits.required);
  if (!limits.one_of.empty()) {
    option->check(CLI::IsMember(limits.one_of));
  }
  if (limits.least != limits.most) {
    option->check(CLI::Range(limits.least, limits.most));
  }
}

void CommandLine::flag(const std::string& names, bool& value, const std::string& help) { current_->add_flag(names, value, help); }

void CommandLine::data_options(DataOptions& data) {
  option("--test-data", &data.test_data, "folder with input_N.pb and output_N.pb, or with test_data_set_* folders");
  option("--input", &data.input, "inputs as .npz, arrays named like the model's inputs");
  option("--expect", &data.expect, "expected outputs as .npz");
  option("--random", &data.random, "random inputs from this seed");
  option("--rtol", &data.rtol, "relative tolerance (default 1e-3)");
  option("--atol", &data.atol, "absolute tolerance (default 1e-5)");
}

void CommandLine::command(const std::string& name, const std::string& help, std::string& chosen) {
  app_->require_subcommand(1);
  current_ = app_->add_subcommand(name, help);
  current_->callback([&chosen, name] { chosen = name; });
}

int CommandLine::run(int argc, char** argv, const std::function<Result<int>()>& body) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app_->exit(e) == 0 ? kOk : kBadInput;
  }
  return run_tool(name_.c_str(), body);
}

Result<std::map<std::string, int64_t>> parse_dims(const std::vector<std::string>& dims) {
  std::map<std::string, int64_t> out;
  for (const std::string& item : dims) {
    const size_t equals = item.rfind('=');
    char* end = nullptr;
    const int64_t value = equals == std::string::npos ? -1 : std::strtoll(item.c_str() + equals + 1, &end, 10);
    if (value < 0 || end == nullptr || *end != '\0' || equals == 0 || item.size() == equals + 1) {
      return error("--dim", "'" + item + "' is not NAME=N with N >= 0");
    }
    out[item.substr(0, equals)] = value;
  }
  return out;
}

}  // namespace dlcc::toolchain
