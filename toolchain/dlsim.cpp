// dlsim: runs an artifact on the simulator: values, cycles, sanitizer, timeline.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "sim/report.h"
#include "toolchain/artifact.h"
#include "toolchain/check_outputs.h"
#include "toolchain/command_line.h"
#include "toolchain/data_flags.h"
#include "toolchain/report.h"

namespace {

using namespace dlcc;

struct Options {
  std::string artifact, save, trace, report, mode = "both", dma = "issue", dma_trace;
  toolchain::DataOptions data;
  uint64_t seed = 0;
  int threads = 1;
  bool no_sanitize = false, quiet = false;
};

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out ? ok_status() : Status(error(path, "cannot write"));
}

sim::Options sim_options(const Options& options) {
  sim::Options out;
  out.values = options.mode != "time";
  out.timing = options.mode != "func";
  out.sanitize = out.values && !options.no_sanitize;
  out.dma_timing = options.dma == "wait" ? sim::DmaTiming::AtWait : options.dma == "random" ? sim::DmaTiming::Random : sim::DmaTiming::AtIssue;
  out.seed = options.seed;
  out.threads = options.threads;
  out.record_trace = !options.trace.empty();
  out.record_dma = !options.dma_trace.empty();
  return out;
}

std::string dma_trace_text(const sim::Result& result) {
  std::string text;
  for (const sim::DmaRecord& r : result.dma_trace) {
    text += fmt::format("{} {} {} {} {} {} {}\n", r.core, r.put ? "put" : "get", r.space == hw::Space::Weights ? "weights" : "arena",
                        r.descriptor.global, r.descriptor.block, r.descriptor.blocks, r.descriptor.global_stride);
  }
  return text;
}

Result<int> simulate(Options options) {
  DLCC_TRY(const toolchain::Artifact artifact, toolchain::read_artifact(options.artifact));
  std::vector<toolchain::DataSet> sets(1);
  if (options.mode != "time") {
    DLCC_RETURN_IF_ERROR(toolchain::read_tolerance(options.data));
    DLCC_TRY(sets, toolchain::load_data(options.data, artifact.program));
  }
  bool equal = true, clean = true;
  for (size_t s = 0; s < sets.size(); ++s) {
    sim::Options run = sim_options(options);
    run.timing &= s == 0;   // time does not depend on data
    DLCC_TRY(const sim::Result result, sim::simulate(artifact.program, artifact.machine, sets[s].inputs, artifact.weights(), run));
    fmt::print("{}", sim::findings_text(result));
    clean &= result.findings.empty();
    if (run.timing) {
      if (!options.quiet) {
        fmt::print("{}", sim::layer_table(artifact.program, artifact.machine, result));
      }
      if (!options.report.empty()) {
        DLCC_RETURN_IF_ERROR(write_file(options.report, toolchain::report_json(artifact.program, artifact.machine, result)));
      }
      if (run.record_trace) {
        DLCC_RETURN_IF_ERROR(write_file(options.trace, result.trace));
      }
    }
    if (run.record_dma) {
      DLCC_RETURN_IF_ERROR(write_file(options.dma_trace, dma_trace_text(result)));
    }
    if (run.values) {
      equal &= toolchain::check_outputs(sets[s], result.outputs, artifact.program, options.data);
      DLCC_RETURN_IF_ERROR(toolchain::save_run(options.save, sets[s], sets.size(), artifact.program, result.outputs));
    }
  }
  return static_cast<int>(!clean ? toolchain::kFinding : equal ? toolchain::kOk : toolchain::kDiffers);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("dlsim: runs a compiled model on the simulator of its chip");
  Options options;
  app.add_option("artifact", options.artifact, "directory that dlcc wrote")->required();
  toolchain::add_data_flags(app, options.data);
  app.add_option("--save", options.save, "write output_N.pb into this folder");
  app.add_option("--mode", options.mode, "both, func (values only) or time (cycles only, needs no data)")->check(CLI::IsMember({"both", "func", "time"}));
  app.add_option("--dma", options.dma, "when asynchronous transfers move data: issue, wait or random")->check(CLI::IsMember({"issue", "wait", "random"}));
  app.add_option("--seed", options.seed, "for --dma random");
  app.add_option("--threads", options.threads, "host threads; results do not depend on them")->check(CLI::Range(1, 256));
  app.add_option("--report", options.report, "write report.json here");
  app.add_option("--trace", options.trace, "write a Chrome/Perfetto trace here");
  app.add_option("--dma-trace", options.dma_trace, "write every DMA descriptor here: core direction space address block blocks stride");
  app.add_flag("--no-sanitize", options.no_sanitize, "skip the sanitizer");
  app.add_flag("-q,--quiet", options.quiet, "do not print the per-layer table");
  return toolchain::parse_and_run("dlsim", app, argc, argv, [&] { return simulate(options); });
}
