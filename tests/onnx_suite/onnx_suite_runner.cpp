// onnx_suite_runner: the ONNX backend tests (or folders of real models) through the frontend and the naive evaluator.
//   onnx_suite_runner --suite DIR [--filter TEXT] [--floor N] [--verbose]    DIR holds node/, pytorch-converted/, ...
//   onnx_suite_runner --models DIR NAME...                                   every model must pass
// Exit code 1: a test gave wrong numbers or crashed, or fewer than N passed. 77: DIR is not there.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

#include "tests/onnx_suite/test_case.h"

namespace {

using dlcc::suite::Outcome;
using dlcc::suite::Verdict;
namespace fs = std::filesystem;

constexpr int kSkipped = 77;

struct Arguments {
  std::string suite, models, filter;
  std::vector<std::string> names;
  int floor = 0;
  bool verbose = false;
};

struct Counts {
  int pass = 0, unsupported = 0, fail = 0;
  void add(Verdict verdict) { ++(verdict == Verdict::Pass ? pass : verdict == Verdict::Fail ? fail : unsupported); }
};

Arguments parse(int argc, char** argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    bool has_value = i + 1 < argc;
    if (argument == "--suite" && has_value) {
      result.suite = argv[++i];
    } else if (argument == "--models" && has_value) {
      result.models = argv[++i];
    } else if (argument == "--filter" && has_value) {
      result.filter = argv[++i];
    } else if (argument == "--floor" && has_value) {
      result.floor = std::atoi(argv[++i]);
    } else if (argument == "--verbose") {
      result.verbose = true;
    } else {
      result.names.emplace_back(argument);
    }
  }
  return result;
}

std::vector<fs::path> test_folders(const fs::path& suite, const std::string& filter) {
  std::vector<fs::path> folders;
  for (const char* kind : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    if (!fs::is_directory(suite / kind)) {
      continue;
    }
    for (const auto& entry : fs::directory_iterator(suite / kind)) {
      if (entry.path().string().find(filter) != std::string::npos && fs::exists(entry.path() / "model.onnx")) {
        folders.push_back(entry.path());
      }
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

int run_suite(const Arguments& arguments) {
  if (!fs::is_directory(arguments.suite)) {
    fmt::print("no folder {}: the archive of the ONNX tests is not there\n", arguments.suite);
    return kSkipped;
  }
  std::map<std::string, Counts> by_op;
  Counts all;
  for (const fs::path& folder : test_folders(arguments.suite, arguments.filter)) {
    Outcome outcome = dlcc::suite::run_case(folder, {1e-3, 1e-7}, true);
    by_op[outcome.op].add(outcome.verdict);
    all.add(outcome.verdict);
    if (outcome.verdict == Verdict::Fail || (arguments.verbose && outcome.verdict == Verdict::Unsupported)) {
      fmt::print("{} {}: {}\n", outcome.verdict == Verdict::Fail ? "FAIL" : "UNSUPPORTED", folder.filename().string(),
                 outcome.reason);
    }
  }
  fmt::print("{:<28} {:>5} {:>12} {:>5}\n", "operator", "PASS", "UNSUPPORTED", "FAIL");
  for (const auto& [op, counts] : by_op) {
    fmt::print("{:<28} {:>5} {:>12} {:>5}\n", op, counts.pass, counts.unsupported, counts.fail);
  }
  fmt::print("{:<28} {:>5} {:>12} {:>5}\n", "all", all.pass, all.unsupported, all.fail);
  if (all.pass < arguments.floor) {
    fmt::print("only {} passed, the floor is {}\n", all.pass, arguments.floor);
  }
  return all.fail > 0 || all.pass < arguments.floor ? 1 : 0;
}

int run_models(const Arguments& arguments) {
  if (!fs::is_directory(arguments.models)) {
    fmt::print("no folder {}: the models are not there\n", arguments.models);
    return kSkipped;
  }
  int failed = 0;
  for (const std::string& name : arguments.names) {
    Outcome outcome = dlcc::suite::run_case(fs::path(arguments.models) / name, {1e-3, 1e-5}, false);
    bool passed = outcome.verdict == Verdict::Pass;
    failed += passed ? 0 : 1;
    fmt::print("{} {}{}\n", passed ? "PASS" : "FAIL", name, passed ? "" : ": " + outcome.reason);
  }
  return failed > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments = parse(argc, argv);
  if (arguments.suite.empty() == arguments.models.empty()) {
    fmt::print("usage: onnx_suite_runner --suite DIR [--filter TEXT] [--floor N] [--verbose] | --models DIR NAME...\n");
    return 4;
  }
  return arguments.suite.empty() ? run_models(arguments) : run_suite(arguments);
}
