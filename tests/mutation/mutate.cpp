// Mutation test: compiled programs in, a count of the faults that the simulator betrays out; exit code 1 when one stays
// unnoticed.
//
// For every program each Wait, Signal and Barrier is removed in turn, and each transfer's box is moved by one element
// in each dim and direction. A mutant is caught when the sanitizer finds something, or when an output differs from the
// unchanged program's, on random data, with transfers moved at issue, at the wait or at random moments. A barrier that
// orders no two transfers (two layers that no core shares data of) is counted apart as idle: the addresses of all
// transfers decide, not the sanitizer.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "hw/machine_yaml.h"
#include "lowering/lower.h"
#include "sim/sim.h"
#include "tests/mutation/mutants.h"
#include "tests/mutation/subjects.h"
#include "toolchain/command_line.h"

namespace {

using namespace dlcc;
using namespace dlcc::mutation;

/// A chip, and the same with fewer cores and less memory: there a core has several tiles, so that slots are used in
/// turn, and one core's tiles may or may not share a box.
struct Chip {
  const char* name;
  const char* file;
  int64_t cores, work_bytes;  // 0: as in the file
  bool models;                // or only the modules in text
};
constexpr Chip kChips[] = {{"sw26010", "sw26010", 0, 0, true},
                           {"sw26010-small", "sw26010", 3, 6144, true},
                           {"sw26010-one", "sw26010", 1, 8192, false},
                           {"sw26010-five", "sw26010", 5, 8192, false},
                           {"tutor", "tutor", 0, 0, true},
                           {"tutor-small", "tutor", 0, 9152, false}};
const std::vector<std::string> kModels = {"mnist_cntk", "mnist_torch_dynamo", "go1_policy", "wakeword_alfred",
                                          "autoencoder1d", "tinyvit_demo"};

struct Tally {
  int waits = 0, signals = 0, barriers = 0, boxes = 0, caught = 0, idle_barriers = 0;
  int total() const { return waits + signals + barriers + boxes; }
  void operator+=(const Tally& other) {
    waits += other.waits;
    signals += other.signals;
    barriers += other.barriers;
    boxes += other.boxes;
    caught += other.caught;
    idle_barriers += other.idle_barriers;
  }
};

/// Distinct neighbours: floats in (-1, 1), integers small enough to be positions, bools.
te::Array random_array(DType type, const std::vector<int64_t>& shape, std::mt19937& engine) {
  te::Array array = te::Array::zeros(type, shape);
  std::uniform_real_distribution<double> real(-1, 1);
  for (int64_t i = 0; i < array.count(); ++i) {
    te::Value value;
    value.f = real(engine);
    value.i = type == DType::Bool ? static_cast<int64_t>(engine() & 1U) : static_cast<int64_t>(engine() % 16U);
    te::store_element(type, array.data.data(), i, value);
  }
  return array;
}

/// Weights are random as well: trained ones hold runs of equal values.
std::vector<std::byte> random_weights(const hw::Program& program, std::mt19937& engine) {
  std::vector<std::byte> bytes(static_cast<size_t>(program.weights_bytes));
  for (const hw::GlobalTensor& tensor : program.tensors) {
    if (tensor.space == hw::Space::Weights) {
      const te::Array array = random_array(tensor.type, tensor.shape, engine);
      std::copy(array.data.begin(), array.data.end(), bytes.begin() + tensor.offset);
    }
  }
  return bytes;
}

bool same_bits(const std::vector<te::Array>& a, const std::vector<te::Array>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].data != b[i].data) {
      return false;
    }
  }
  return a.size() == b.size();
}

/// One program, its data and what it computes.
class Bed {
 public:
  Bed(hw::Program program, const hw::Machine& machine, std::vector<std::byte> weights, std::mt19937& engine)
      : program_(std::move(program)), machine_(machine), weights_(std::move(weights)) {
    for (const int id : program_.inputs) {
      const hw::GlobalTensor& tensor = program_.tensors[static_cast<size_t>(id)];
      inputs_.push_back(random_array(tensor.type, tensor.shape, engine));
    }
  }

  /// Error: the unchanged program does not run cleanly.
  Status start() {
    DLCC_TRY(sim::Result result, run(program_, sim::DmaTiming::AtIssue, 0));
    if (!result.findings.empty()) {
      return error(program_.groups[0].info.name,
                   "unchanged program: " + result.findings[0].check + ": " + result.findings[0].message);
    }
    good_ = std::move(result.outputs);
    trace_ = std::move(result.dma_trace);
    return ok_status();
  }

  const std::vector<sim::DmaRecord>& trace() const { return trace_; }

  bool catches(size_t group, const Mutation& mutation) const {
    hw::Program mutant = program_;
    mutant.groups[group] = apply(program_.groups[group], mutation);
    using sim::DmaTiming;
    const std::pair<DmaTiming, uint64_t> ways[] = {
        {DmaTiming::AtIssue, 0}, {DmaTiming::AtWait, 0}, {DmaTiming::Random, 1}, {DmaTiming::Random, 2}};
    for (const auto& [timing, seed] : ways) {
      const dlcc::Result<sim::Result> result = run(mutant, timing, seed);
      if (!result.ok() || !result->findings.empty() || !same_bits(result->outputs, good_)) {
        return true;
      }
    }
    return false;
  }

  Tally mutate(size_t group, bool barriers, bool verbose) const {
    Tally tally;
    for (const Mutation& mutation : mutations(program_.groups[group], barriers)) {
      (mutation.kind == Kind::RemoveWait      ? tally.waits
       : mutation.kind == Kind::RemoveSignal  ? tally.signals
       : mutation.kind == Kind::RemoveBarrier ? tally.barriers
                                              : tally.boxes)++;
      if (catches(group, mutation)) {
        ++tally.caught;
        continue;
      }
      const hw::Group& in = program_.groups[group];
      fmt::print("    survives: group {} '{}' ({}), {}\n", group, in.info.name, in.info.tile,
                 describe(program_, in, mutation));
      if (verbose) {
        fmt::print("{}\n", hw::print(program_, machine_));
      }
    }
    return tally;
  }

 private:
  dlcc::Result<sim::Result> run(const hw::Program& program, sim::DmaTiming timing, uint64_t seed) const {
    sim::Options options;
    options.timing = false;
    options.dma_timing = timing;
    options.seed = seed;
    options.max_findings = 1;
    options.record_dma = &program == &program_;
    return sim::simulate(program, machine_, inputs_, weights_, options);
  }

  hw::Program program_;
  const hw::Machine& machine_;
  std::vector<std::byte> weights_;
  std::vector<te::Array> inputs_;
  std::vector<te::Array> good_;
  std::vector<sim::DmaRecord> trace_;
};

/// Each group alone for its waits, signals and boxes; the whole program for the barriers between groups.
Result<Tally> test_program(const hw::Program& program, const hw::Machine& machine, uint32_t seed, bool verbose) {
  std::mt19937 engine(seed);
  const std::vector<std::byte> weights = random_weights(program, engine);
  Tally tally;
  for (size_t g = 0; g < program.groups.size(); ++g) {
    Bed bed(isolate(program, g), machine, weights, engine);
    DLCC_RETURN_IF_ERROR(bed.start());
    tally += bed.mutate(0, false, verbose);
  }
  if (program.groups.size() > 1) {
    Bed bed(program, machine, weights, engine);
    DLCC_RETURN_IF_ERROR(bed.start());
    const std::vector<bool> orders = ordering_barriers(program, bed.trace());
    for (size_t g = 1; g < program.groups.size(); ++g) {
      if (orders[g]) {
        tally += bed.mutate(g, true, verbose);
      } else {
        ++tally.idle_barriers;
      }
    }
  }
  return tally;
}

Result<hw::Machine> load_chip(const Chip& chip) {
  DLCC_TRY(hw::Machine machine, hw::load_machine(std::string(DLCC_SOURCE_DIR) + "/hw/chips/" + chip.file + ".yaml"));
  if (chip.cores > 0) {
    machine.levels.back().count = chip.cores;
  }
  if (chip.work_bytes > 0) {
    hw::Memory& memory = machine.memories[static_cast<size_t>(machine.work_memory())];
    memory.size = memory.reserved + chip.work_bytes;
  }
  return machine;
}

struct Options {
  std::string shared = DLCC_SHARED_DIR;
  std::string only;
  std::vector<std::string> models = kModels;
  uint32_t seed = 1;
  bool verbose = false;
};

Result<int> run_all(const Options& options) {
  DLCC_TRY(const std::vector<Subject> all, subjects(options.shared, options.models));
  Tally sum;
  int programs = 0;
  fmt::print("{:<34} {:>6} {:>8} {:>6} {:>8} {:>6} {:>6} {:>10} {:>8}\n", "program", "groups", "waits", "signals",
             "barriers", "idle", "boxes", "caught", "seconds");
  for (const Chip& chip : kChips) {
    DLCC_TRY(const hw::Machine machine, load_chip(chip));
    for (const Subject& subject : all) {
      const std::string name = subject.name + "@" + chip.name;
      const bool is_model = !subject.definition.module.node_names.empty();
      if ((is_model && !chip.models) || name.find(options.only) == std::string::npos) {
        continue;
      }
      const auto start = std::chrono::steady_clock::now();
      lowering::Explain explain;
      DLCC_TRY(const lowering::Compiled compiled,
               lowering::compile(subject.definition.module, subject.name, {machine, explain}, {}));
      DLCC_TRY(const Tally tally, test_program(compiled.program, machine, options.seed, options.verbose));
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      fmt::print("{:<34} {:>6} {:>8} {:>6} {:>8} {:>6} {:>6} {:>10} {:>8.1f}\n", name, compiled.program.groups.size(),
                 tally.waits, tally.signals, tally.barriers, tally.idle_barriers, tally.boxes,
                 fmt::format("{}/{}", tally.caught, tally.total()), seconds);
      std::fflush(stdout);
      sum += tally;
      ++programs;
    }
  }
  fmt::print(
      "{} programs, {} mutants ({} waits, {} signals, {} barriers, {} boxes): {} caught, {} not; {} more barriers "
      "order nothing\n",
      programs, sum.total(), sum.waits, sum.signals, sum.barriers, sum.boxes, sum.caught, sum.total() - sum.caught,
      sum.idle_barriers);
  return sum.total() > 0 && sum.caught == sum.total() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  toolchain::CommandLine line("mutate", "mutation test of compiled programs");
  Options options;
  if (const char* shared = std::getenv("DLCC_SHARED")) {
    options.shared = shared;
  }
  line.option("--only", &options.only, "run programs whose name (subject@chip) contains this");
  line.option("--models", &options.models, "models of the shared folder to use instead of the usual ones");
  line.option("--seed", &options.seed, "of the data");
  line.flag("--verbose", options.verbose, "print the program of each survivor");
  return line.run(argc, argv, [&] { return run_all(options); });
}
