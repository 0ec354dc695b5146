// dlsim: runs an artifact on the simulator: values, cycles, sanitizer, timeline.
#include <fmt/format.h>

#include "base/files.h"
#include "sim/report.h"
#include "toolchain/artifact.h"
#include "toolchain/check_outputs.h"
#include "toolchain/command_line.h"
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
    DLCC_RETURN_IF_ERROR(toolchain::complete_tolerance(options.data));
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
  toolchain::CommandLine line("dlsim", "runs a compiled model on the simulator of its chip");
  Options options;
  line.option("artifact", &options.artifact, "directory that dlcc wrote", {.required = true});
  line.data_options(options.data);
  line.option("--save", &options.save, "write output_N.pb into this folder");
  line.option("--mode", &options.mode, "both, func (values only) or time (cycles only, needs no data)", {.one_of = {"both", "func", "time"}});
  line.option("--dma", &options.dma, "when asynchronous transfers move data: issue, wait or random", {.one_of = {"issue", "wait", "random"}});
  line.option("--seed", &options.seed, "for --dma random");
  line.option("--threads", &options.threads, "host threads; results do not depend on them", {.least = 1, .most = 256});
  line.option("--report", &options.report, "write report.json here");
  line.option("--trace", &options.trace, "write a Chrome/Perfetto trace here");
  line.option("--dma-trace", &options.dma_trace, "write every DMA descriptor here: core direction space address block blocks stride");
  line.flag("--no-sanitize", options.no_sanitize, "skip the sanitizer");
  line.flag("-q,--quiet", options.quiet, "do not print the per-layer table");
  return line.run(argc, argv, [&] { return simulate(options); });
}
