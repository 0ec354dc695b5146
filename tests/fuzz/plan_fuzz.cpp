// plan_fuzz [--seed N] [--count N] [--seconds N] [--chips DIR]: random modules, machines and plans through all of lowering. Each program must pass
// hw::verify, the polyhedral oracle, and the simulator's sanitizer, and compute what the naive evaluator does, whenever its DMA moves.
// A refusal is fine. Anything else prints the seed, the module and the plans, and the exit code is 1.
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/te/evaluate.h"
#include "base/te/text.h"
#include "hw/machine_yaml.h"
#include "lowering/lower.h"
#include "lowering/oracle/oracle.h"
#include "random_module.h"
#include "random_plan.h"
#include "sim/report.h"
#include "sim/sim.h"

namespace {

using namespace dlcc;

struct Flags {
  uint64_t seed = 1;
  int64_t count = 200;
  int64_t seconds = 50;
  bool verbose = false;
  std::string chips = DLCC_SOURCE_DIR "/hw/chips";
};

struct Tally {
  int64_t done = 0, refused = 0, groups = 0, undecided = 0, leaves = 0, reads = 0, by_intrinsic = 0;
};

void fill_with_integers(te::Array& array, std::mt19937_64& engine, int64_t bound) {
  for (int64_t i = 0; i < array.count(); ++i) {
    array.as<float>()[i] = static_cast<float>(static_cast<int64_t>(engine() % static_cast<uint64_t>(2 * bound + 1)) - bound);
  }
}

/// One seed: everything it needs follows from the seed and the machines.
class Iteration {
 public:
  Iteration(uint64_t seed, const std::vector<hw::Machine>& machines, Tally& tally)
      : engine_(seed * 0x9E3779B97F4A7C15ULL + 1), machine_(machines[seed % machines.size()]), tally_(tally), text_(fuzz::ModuleMaker(engine_()).make()) {
    if (engine_() % 3 == 0) {
      hw::Memory& work = machine_.memories[static_cast<size_t>(machine_.work_memory())];
      work.size = std::max<int64_t>(work.reserved + 1024, work.size >> (1 + engine_() % 5));
    }
  }

  /// What is wrong; empty: nothing.
  std::string run() {
    Result<te::Module> parsed = te::parse_module(text_, "module");
    if (!parsed.ok()) {
      return "the fuzzer's module does not parse: " + to_string(parsed.diags());
    }
    module_ = std::move(*parsed);
    for (const std::string& problem : te::verify(module_)) {
      return "the fuzzer's module is wrong: " + problem;
    }
    make_data();
    const Result<lowering::Compiled> compiled = compile();
    if (!problem_.empty()) {
      return problem_;
    }
    if (!compiled.ok()) {
      const std::string text = to_string(compiled.diags());
      const bool refusal = text.find("no tile fits") != std::string::npos || text.find(" needs ") != std::string::npos;
      tally_.refused += refusal ? 1 : 0;
      return refusal ? "" : "compile: " + text;
    }
    ++tally_.done;
    return compare(*compiled);
  }

  std::string context() const {
    std::string text = fmt::format("machine {} (work memory of {} bytes)\n{}", machine_.name,
                                   machine_.memories[static_cast<size_t>(machine_.work_memory())].size, text_);
    for (const std::string& plan : plans_) {
      text += plan + "\n";
    }
    return text;
  }

 private:
  void make_data() {
    data_.reserve(module_.tensors.size());
    for (te::Tensor& tensor : module_.tensors) {
      if (tensor.kind == te::TensorKind::Constant) {
        data_.push_back(te::Array::zeros(tensor.type, tensor.shape));
        fill_with_integers(data_.back(), engine_, 2);
        tensor.data = data_.back().data.data();
      }
    }
    for (int t : module_.inputs) {
      inputs_.push_back(te::Array::zeros(DType::F32, module_.tensors[static_cast<size_t>(t)].shape));
      fill_with_integers(inputs_.back(), engine_, 4);
    }
  }

  Result<lowering::Compiled> compile() {
    lowering::Explain quiet;
    const lowering::Context context{machine_, quiet};
    lowering::CompileOptions options;
    options.plan_for = [&](const lowering::GroupAnalysis& group) { return fuzz::PlanMaker(group, machine_, engine_).make(context); };
    options.after_group = [&](const lowering::GroupAnalysis& group, const lowering::TilePlan& plan, const hw::Group& lowered,
                              const std::function<int(int)>& tensor_of) {
      plans_.push_back(group.name + ": " + lowering::print(plan, group));
      check(group, plan, lowered, tensor_of);
    };
    return lowering::compile(module_, "fuzz", context, options);
  }

  void check(const lowering::GroupAnalysis& group, const lowering::TilePlan& plan, const hw::Group& lowered, const std::function<int(int)>& tensor_of) {
    ++tally_.groups;
    tally_.by_intrinsic += plan.intrinsic >= 0 ? 1 : 0;
    lowering::oracle::Options options;
    options.lexicographic = false;   // plans may tile an inner Red dim; integers do not mind
    const auto report = lowering::oracle::check_group(group, plan, lowered, tensor_of, machine_, options);
    if (!report.ok()) {
      problem_ += "oracle: " + to_string(report.diags());
      return;
    }
    tally_.leaves += report->leaves;
    tally_.reads += report->reads;
    tally_.undecided += report->verdict == lowering::oracle::Verdict::Undecided ? 1 : 0;
    if (report->verdict != lowering::oracle::Verdict::Right) {
      problem_ += "oracle: " + lowering::oracle::to_string(*report);
    }
  }

  std::string compare(const lowering::Compiled& compiled) {
    const auto expected = te::evaluate(module_, inputs_);
    if (!expected.ok()) {
      return "evaluate: " + to_string(expected.diags());
    }
    std::vector<std::byte> weights(static_cast<size_t>(compiled.program.weights_bytes));
    for (const lowering::WeightBlob& blob : compiled.weights) {
      std::memcpy(weights.data() + blob.offset, blob.data, static_cast<size_t>(blob.bytes));
    }
    for (const sim::DmaTiming timing : {sim::DmaTiming::AtIssue, sim::DmaTiming::AtWait, sim::DmaTiming::Random}) {
      sim::Options options;
      options.timing = false;
      options.dma_timing = timing;
      options.seed = engine_();
      const auto result = sim::simulate(compiled.program, machine_, inputs_, weights, options);
      if (!result.ok()) {
        return "simulate: " + to_string(result.diags());
      }
      if (!result->findings.empty()) {
        return "sanitizer: " + sim::findings_text(*result);
      }
      for (size_t o = 0; o < expected->size(); ++o) {
        if (const std::string wrong = difference((*expected)[o], result->outputs[o]); !wrong.empty()) {
          return fmt::format("DMA timing {}: output {}: {}", static_cast<int>(timing), o, wrong);
        }
      }
    }
    return "";
  }

  static std::string difference(const te::Array& wanted, const te::Array& got) {
    if (wanted.shape != got.shape) {
      return "has another shape";
    }
    for (int64_t i = 0; i < wanted.count(); ++i) {
      if (wanted.as<float>()[i] != got.as<float>()[i]) {
        return fmt::format("element {} is {}, not {}", i, got.as<float>()[i], wanted.as<float>()[i]);
      }
    }
    return "";
  }

  std::mt19937_64 engine_;
  hw::Machine machine_;
  Tally& tally_;
  const std::string text_;
  te::Module module_;
  std::vector<te::Array> data_, inputs_;
  std::vector<std::string> plans_;
  std::string problem_;
};

std::string run_seed(uint64_t seed, const std::vector<hw::Machine>& machines, Tally& tally) {
  Iteration iteration(seed, machines, tally);
  try {
    const std::string problem = iteration.run();
    return problem.empty() ? "" : problem + "\n" + iteration.context();
  } catch (const InternalError& error) {
    return fmt::format("internal error: {}\n{}", error.what(), iteration.context());
  }
}

int fuzz_all(const Flags& flags) {
  std::vector<hw::Machine> machines;
  for (const char* chip : {"sw26010", "x86-64-v3", "tutor"}) {
    Result<hw::Machine> machine = hw::load_machine(flags.chips + "/" + chip + ".yaml");
    if (!machine.ok()) {
      fmt::print(stderr, "{}\n", to_string(machine.diags()));
      return 4;
    }
    machines.push_back(std::move(*machine));
  }
  Tally tally;
  int failures = 0;
  const auto start = std::chrono::steady_clock::now();
  uint64_t seed = flags.seed;
  for (; seed < flags.seed + static_cast<uint64_t>(flags.count) && failures < 10; ++seed) {
    const auto begin = std::chrono::steady_clock::now();
    if (std::chrono::duration<double>(begin - start).count() > static_cast<double>(flags.seconds)) {
      break;
    }
    if (const std::string problem = run_seed(seed, machines, tally); !problem.empty()) {
      ++failures;
      fmt::print("seed {} failed: {}\n", seed, problem);
      std::fflush(stdout);
    }
    if (flags.verbose) {
      fmt::print("seed {}: {:.0f} ms\n", seed, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
  }
  fmt::print("plan_fuzz: seeds {}..{}: {} programs equal, {} refused, {} groups ({} by an intrinsic), {} leaves and {} reads proved, {} undecided, "
             "{} failures\n",
             flags.seed, seed - 1, tally.done, tally.refused, tally.groups, tally.by_intrinsic, tally.leaves, tally.reads, tally.undecided, failures);
  return failures > 0 || tally.done == 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  for (int a = 1; a < argc; ++a) {
    const std::string flag = argv[a];
    const char* value = a + 1 < argc ? argv[a + 1] : "";
    if (flag == "--verbose") {
      flags.verbose = true;
      continue;
    }
    if (flag == "--seed") {
      flags.seed = std::strtoull(value, nullptr, 10);
    } else if (flag == "--count") {
      flags.count = std::strtoll(value, nullptr, 10);
    } else if (flag == "--seconds") {
      flags.seconds = std::strtoll(value, nullptr, 10);
    } else if (flag == "--chips") {
      flags.chips = value;
    } else {
      fmt::print(stderr, "usage: plan_fuzz [--seed N] [--count N] [--seconds N] [--chips DIR] [--verbose]\n");
      return 2;
    }
    ++a;
  }
  return fuzz_all(flags);
}
