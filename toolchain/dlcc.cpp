// dlcc: an ONNX model and a chip file in, an artifact directory and a per-layer report out. The flow of the whole compiler is compile_model().
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/te/text.h"
#include "frontend/load_model.h"
#include "frontend/ops.h"
#include "hw/machine_yaml.h"
#include "lowering/lower.h"
#include "sim/sim.h"
#include "targets/target.h"
#include "sim/report.h"
#include "toolchain/artifact.h"
#include "toolchain/command_line.h"
#include "toolchain/report.h"

namespace {

using namespace dlcc;

struct Options {
  std::string chip, model, out, emit, print_after;
  std::vector<std::string> dims;
  bool explain = false, time_passes = false, quiet = false;
};

/// Times passes and prints the text of the one asked for.
class PassLog {
 public:
  explicit PassLog(const Options& options) : options_(options), start_(Clock::now()) {}
  void done(const std::string& pass, const std::function<std::string()>& text) {
    times_.emplace_back(pass, std::chrono::duration<double>(Clock::now() - start_).count());
    if (options_.print_after == pass) {
      fmt::print("{}", text());
    }
    start_ = Clock::now();
  }
  void print() const {
    for (const auto& [pass, seconds] : times_) {
      fmt::print(stderr, "{:<24} {:>10.3f} ms\n", pass, 1e3 * seconds);
    }
  }
  bool knows(const std::string& pass) const {
    return std::any_of(times_.begin(), times_.end(), [&](const auto& entry) { return entry.first == pass; });
  }
  std::string names() const {
    std::string text;
    for (const auto& [pass, seconds] : times_) {
      text += (text.empty() ? "" : ", ") + pass;
    }
    return text;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Options& options_;
  Clock::time_point start_;
  std::vector<std::pair<std::string, double>> times_;
};

/// Prints one stage's text and stops; false: not a stage's name.
Result<bool> emit_text(const Options& options, const frontend::Graph& graph, const te::Module& module, const lowering::Compiled& compiled,
                       const hw::Machine& machine) {
  if (options.emit == "graph") {
    fmt::print("{}", frontend::print(graph));
  } else if (options.emit == "stmts") {
    fmt::print("{}", te::print(module));
  } else if (options.emit == "plan") {
    fmt::print("{}\n", fmt::join(compiled.plans, "\n"));
  } else if (options.emit == "program") {
    fmt::print("{}", hw::print(compiled.program, machine));
  } else {
    const targets::Target* target = targets::find_target(machine.codegen.emitter);
    DLCC_TRY(const std::string text, target->emit_text(compiled.program, machine, options.emit));
    if (text.empty()) {
      return error("--emit", fmt::format("the '{}' emitter of {} has no form '{}'", machine.codegen.emitter, machine.name, options.emit));
    }
    fmt::print("{}", text);
  }
  return true;
}

Result<frontend::Graph> load_graph(const Options& options, PassLog& log) {
  frontend::LoadOptions load;
  DLCC_TRY(load.dims, toolchain::parse_dims(options.dims));
  load.after_pass = [&](const char* pass, const frontend::Graph& graph) { log.done(pass, [&] { return frontend::print(graph); }); };
  std::vector<std::string> defaulted;
  Result<frontend::Graph> graph = frontend::load_model(options.model, load, &defaulted);
  // Also when it failed: a size of 1 that nobody asked for may be why.
  for (const std::string& symbol : defaulted) {
    fmt::print(stderr, "note: dimension '{}' is symbolic; compiled for {}=1 (--dim {}=N sets it)\n", symbol, symbol, symbol);
  }
  return graph;
}

Result<int> compile_model(const Options& options) {
  PassLog log(options);
  DLCC_TRY(const hw::Machine machine, hw::load_machine(options.chip));
  log.done("machine", [&] { return hw::describe(machine); });
  const targets::Target* target = targets::find_target(machine.codegen.emitter);
  if (target == nullptr) {
    return error(machine.file, "codegen.emitter '" + machine.codegen.emitter + "' is not one of the emitters of this build");
  }
  DLCC_TRY(const frontend::Graph graph, load_graph(options, log));
  DLCC_TRY(const frontend::Definition definition, frontend::define(graph));
  log.done("define", [&] { return te::print(definition.module); });

  lowering::Explain explain(options.explain);
  lowering::CompileOptions compile_options;
  compile_options.after_pass = [&](const std::string& pass, const std::function<std::string()>& text) { log.done(pass, text); };
  const std::string name = std::filesystem::path(options.model).filename().string();
  Result<lowering::Compiled> compiled = lowering::compile(definition.module, name, {machine, explain}, compile_options);
  for (const std::string& line : explain.lines()) {
    fmt::print("explain: {}\n", line);
  }
  if (!compiled.ok()) {
    return compiled.diags();
  }
  if (!options.emit.empty()) {
    DLCC_RETURN_IF_ERROR(emit_text(options, graph, definition.module, *compiled, machine));
    return static_cast<int>(toolchain::kOk);
  }

  sim::Options timing;
  timing.values = timing.sanitize = false;
  DLCC_TRY(const sim::Result timed, sim::simulate(compiled->program, machine, {}, {}, timing));
  log.done("time", [&] { return sim::layer_table(compiled->program, machine, timed); });
  DLCC_TRY(const targets::Emitted emitted, target->emit(compiled->program, machine));
  log.done("emit", [] { return std::string(); });
  if (!options.print_after.empty() && !log.knows(options.print_after)) {
    return error("--print-after", "no pass '" + options.print_after + "'; passes: " + log.names());
  }
  std::filesystem::path out = options.out;
  if (out.empty()) {
    out = std::filesystem::path(options.model).stem().string() + "." + machine.name;
  }
  DLCC_RETURN_IF_ERROR(toolchain::write_artifact(out, *compiled, machine, emitted, toolchain::report_json(compiled->program, machine, timed)));
  log.done("write", [] { return std::string(); });
  if (!options.quiet) {
    fmt::print("{}wrote {}\n", sim::layer_table(compiled->program, machine, timed), out.string());
  }
  if (options.time_passes) {
    log.print();
  }
  return static_cast<int>(toolchain::kOk);
}

}  // namespace

int main(int argc, char** argv) {
  toolchain::CommandLine line("dlcc", "compiles an ONNX model for a chip described by one YAML file");
  Options options;
  line.option("--hw", &options.chip, "chip: a name (sw26010, x86-64-v4, ...) or the path of a YAML file", {.required = true});
  line.option("model", &options.model, "ONNX file", {.required = true});
  line.option("-o,--out", &options.out, "output directory; default: <model>.<chip>");
  line.option("--dim", &options.dims, "NAME=N: value of a symbolic dimension (unset ones are 1); may be repeated");
  line.flag("--explain", options.explain, "say why each tile, fusion or intrinsic was refused");
  line.option("--emit", &options.emit, "print one form and write nothing: graph, stmts, plan, program, llvm, asm, c");
  line.option("--print-after", &options.print_after, "print the text form after a pass (names: --time-passes)");
  line.flag("--time-passes", options.time_passes, "milliseconds of each pass, to stderr");
  line.flag("-q,--quiet", options.quiet, "do not print the report");
  return line.run(argc, argv, [&] { return compile_model(options); });
}
