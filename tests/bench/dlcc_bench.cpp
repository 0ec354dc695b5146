// Google Benchmark of the compiler's and the simulator's inner parts on real models: plan choice, lower() and kernels
// per group, simulation speed. Models come from the shared folder; without it only the built-in GEMM is measured.
// docs/bench.md says what the figures mean.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/te/text.h"
#include "frontend/load_model.h"
#include "frontend/ops.h"
#include "hw/machine_yaml.h"
#include "lowering/kernelize.h"
#include "lowering/lower.h"
#include "sim/sim.h"

namespace {

using namespace dlcc;
using Clock = std::chrono::steady_clock;

constexpr const char* kModels[] = {"mnist_cntk", "mnist_torch_dynamo", "autoencoder1d",
                                   "mtcnn_onet", "tinyvit_demo",       "ultraface_rfb320"};
constexpr const char* kChips[] = {"sw26010", "tutor", "x86-64-v4"};

constexpr std::string_view kGemm = R"(tensor A f32[256,256] input
tensor B f32[256,256] input
tensor C f32[256,256] output
inputs A B
outputs C
stmt gemm : reduce sum
  par i:256 j:256
  red k:256
  C[i, j] += A[i, k] * B[k, j]
)";

template <class T>
T value_of(Result<T> result, const std::string& what) {
  if (!result.ok()) {
    fmt::print(stderr, "{}: {}\n", what, to_string(result.diags()));
    std::exit(1);
  }
  return std::move(result).value();
}

/// A model for a chip, with every group analysed and planned.
struct Job {
  std::string name;
  std::shared_ptr<const frontend::Graph> graph;  // owns constants
  std::shared_ptr<const frontend::Definition> definition;
  std::shared_ptr<const hw::Machine> machine;
  std::vector<lowering::GroupAnalysis> groups;
  std::vector<lowering::TilePlan> plans;  // by group
};

void add_planned(Job& job, const te::Module& module, const lowering::FusionGroup& source,
                 const lowering::Context& context) {
  lowering::GroupAnalysis group = value_of(lowering::analyse(module, source, context), job.name);
  Result<lowering::TilePlan> plan = lowering::choose_plan(group, context);
  if (plan.ok() && lowering::lower(
                       group, *plan, [](int t) { return t; }, context)
                       .ok()) {
    job.groups.push_back(std::move(group));
    job.plans.push_back(*plan);
  } else if (source.stmts.size() > 1) {
    for (const lowering::FusionGroup& part : lowering::split(source)) {
      add_planned(job, module, part, context);
    }
  }
}

void analyse_all(Job& job) {
  lowering::Explain explain;
  const lowering::Context context{*job.machine, explain};
  const te::Module module = lowering::canonicalise(job.definition->module);
  for (const lowering::FusionGroup& group : lowering::fuse(module, context)) {
    add_planned(job, module, group, context);
  }
}

/// Times `work(i)` for each i of `count` once an iteration; the counters are the median and the largest over i of the
/// mean time.
template <class F>
void per_item(benchmark::State& state, size_t count, F&& work) {
  std::vector<double> seconds(count, 0);
  int64_t rounds = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < count; ++i) {
      const Clock::time_point start = Clock::now();
      work(i);
      seconds[i] += std::chrono::duration<double>(Clock::now() - start).count();
    }
    ++rounds;
  }
  if (count == 0 || rounds == 0) {
    state.SkipWithError("nothing to measure");
    return;
  }
  std::sort(seconds.begin(), seconds.end());
  const double scale = 1e6 / static_cast<double>(rounds);
  state.counters["items"] = static_cast<double>(count);
  state.counters["median_us"] = seconds[count / 2] * scale;
  state.counters["max_us"] = seconds.back() * scale;
}

void bench_lower(benchmark::State& state, const Job& job) {
  lowering::Explain explain;
  const lowering::Context context{*job.machine, explain};
  per_item(state, job.groups.size(), [&](size_t i) {
    auto lowered = lowering::lower(
        job.groups[i], job.plans[i], [](int t) { return t; }, context);
    benchmark::DoNotOptimize(lowered);
  });
}

void bench_choose_plan(benchmark::State& state, const Job& job) {
  lowering::Explain explain;
  const lowering::Context context{*job.machine, explain};
  per_item(state, job.groups.size(), [&](size_t i) {
    auto plan = lowering::choose_plan(job.groups[i], context);
    benchmark::DoNotOptimize(plan);
  });
}

void bench_kernelize(benchmark::State& state, const Job& job) {
  lowering::Explain explain;
  const lowering::Context context{*job.machine, explain};
  std::vector<hw::Group> lowered;
  for (size_t i = 0; i < job.groups.size(); ++i) {
    lowered.push_back(value_of(lowering::lower(
                                   job.groups[i], job.plans[i], [](int t) { return t; }, context),
                               job.name));
  }
  per_item(state, lowered.size(), [&](size_t i) {
    hw::for_each_node(lowered[i].body, [&](hw::Node& node) {
      if (auto* leaf = std::get_if<hw::Compute>(&node.v)) {
        auto status = lowering::kernelize(*leaf, lowered[i], context);
        benchmark::DoNotOptimize(status);
      }
    });
  });
}

void bench_simulate(benchmark::State& state, const Job& job, bool values) {
  lowering::Explain explain;
  const lowering::Compiled compiled =
      value_of(lowering::compile(job.definition->module, job.name, {*job.machine, explain}, {}), job.name);
  std::vector<std::byte> weights(static_cast<size_t>(compiled.program.weights_bytes));
  for (const lowering::WeightBlob& blob : compiled.weights) {
    std::memcpy(weights.data() + blob.offset, blob.data, static_cast<size_t>(blob.bytes));
  }
  std::vector<te::Array> inputs;
  for (const int id : compiled.program.inputs) {
    const hw::GlobalTensor& tensor = compiled.program.tensors[static_cast<size_t>(id)];
    inputs.push_back(te::Array::zeros(tensor.type, tensor.shape));
  }
  sim::Options options;
  options.values = options.sanitize = values;
  double events = 0, cycles = 0;
  for (auto _ : state) {
    const sim::Result result =
        value_of(sim::simulate(compiled.program, *job.machine, inputs, weights, options), job.name);
    events += static_cast<double>(result.events);
    cycles += static_cast<double>(result.cycles);
  }
  state.counters["events_per_s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
  state.counters["sim_cycles_per_s"] = benchmark::Counter(cycles, benchmark::Counter::kIsRate);
}

std::vector<Job> load_jobs(const std::string& shared) {
  std::vector<std::shared_ptr<const hw::Machine>> machines;
  for (const char* chip : kChips) {
    machines.push_back(std::make_shared<hw::Machine>(
        value_of(hw::load_machine(std::string(DLCC_SOURCE_DIR) + "/hw/chips/" + chip + ".yaml"), chip)));
  }
  std::vector<Job> jobs;
  const auto add = [&](const std::string& name, std::shared_ptr<const frontend::Graph> graph,
                       frontend::Definition definition) {
    const auto shared_definition = std::make_shared<const frontend::Definition>(std::move(definition));
    for (const auto& machine : machines) {
      jobs.push_back({name + "@" + machine->name, graph, shared_definition, machine, {}, {}});
      analyse_all(jobs.back());
    }
  };
  frontend::Definition gemm;
  gemm.module = value_of(te::parse_module(kGemm, "gemm"), "gemm");
  add("gemm_256", nullptr, std::move(gemm));
  for (const std::string name : kModels) {
    const std::string file = shared + "/models/" + name + "/model.onnx";
    if (!std::filesystem::exists(file)) {
      continue;
    }
    auto graph = std::make_shared<frontend::Graph>(value_of(frontend::load_model(file, {}, nullptr), file));
    frontend::Definition definition = value_of(frontend::define(*graph), file);
    add(name, std::move(graph), std::move(definition));
  }
  return jobs;
}

void register_all(const std::vector<Job>& jobs) {
  for (const Job& job : jobs) {
    const auto add = [&](const std::string& what, auto function) {
      benchmark::RegisterBenchmark((what + "/" + job.name).c_str(), function)
          ->Unit(benchmark::kMillisecond)
          ->MinTime(0.1);
    };
    add("lower", [&job](benchmark::State& state) { bench_lower(state, job); });
    add("choose_plan", [&job](benchmark::State& state) { bench_choose_plan(state, job); });
    add("kernelize", [&job](benchmark::State& state) { bench_kernelize(state, job); });
    add("simulate_timed", [&job](benchmark::State& state) { bench_simulate(state, job, false); });
    const bool big =
        job.name.starts_with("ultraface") || job.name.starts_with("mtcnn") || job.name.starts_with("tinyvit");
    if (!big || job.machine->name == "sw26010") {
      add("simulate_values_timed", [&job](benchmark::State& state) { bench_simulate(state, job, true); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  const char* shared = std::getenv("DLCC_SHARED");
  const std::vector<Job> jobs = load_jobs(shared != nullptr ? shared : DLCC_SHARED_DIR);
  register_all(jobs);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
