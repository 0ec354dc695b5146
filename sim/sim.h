// The simulator: a Program and its Machine, in values and in time. Includes only base and hw.
// Values and time are separate runs over the same expanded operations, so either may be asked for alone, and neither
// depends on host threads or tracing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/te/evaluate.h"
#include "hw/dma_expand.h"
#include "hw/machine.h"
#include "hw/program.h"

namespace dlcc::sim {

/// When the bytes of an asynchronous DMA move in the functional run. A correct program gives the same bits for all
/// three.
enum class DmaTiming : uint8_t { AtIssue, AtWait, Random };

struct Options {
  bool values = true;
  bool timing = true;
  bool sanitize = true;  // needs values; shadow state of every buffer and tensor
  DmaTiming dma_timing = DmaTiming::AtIssue;
  uint64_t seed = 0;          // DmaTiming::Random, and the order of pipes
  int threads = 1;            // host threads; results do not depend on it
  bool record_dma = false;    // fill Result::dma_trace
  bool record_trace = false;  // fill Result::trace (Chrome trace events)
  int max_findings = 100;
};

/// One problem found by the sanitizer, with both sides of it.
struct Finding {
  std::string check;        // "out-of-bounds", "uninitialised-read", "read-before-wait", "overwrite-while-read",
                            // "unpaired-wait", "capacity", ...
  std::string group, leaf;  // where
  int core = 0;
  std::string pipe;
  std::string message;  // object, box, values, and what would mend it
};

struct DmaRecord {
  int core = 0;
  int group = 0;
  bool put = false;  // scratchpad -> global
  hw::Space space = hw::Space::Arena;
  hw::Descriptor descriptor;
};

/// Cycles of one core's pipe, by what it did. The sum of all is the group's length.
struct PipeTime {
  std::string pipe;
  int64_t busy = 0, wait_dma = 0, wait_flag = 0, queue_full = 0, wait_barrier = 0, idle = 0;
};

struct GroupTime {
  int64_t cycles = 0;
  std::vector<PipeTime> pipes;  // summed over cores
  int64_t dma_bytes = 0;        // moved between global memory and scratchpads
  int64_t dma_descriptors = 0;
  int64_t scratchpad_bytes = 0;  // peak over memories of a core, highest memory
  double balance = 1;            // busiest core / mean core
};

struct Result {
  std::vector<te::Array> outputs;  // in the program's order
  std::vector<Finding> findings;
  int64_t cycles = 0;  // including launch
  std::vector<GroupTime> groups;
  std::vector<DmaRecord> dma_trace;  // by core, then in issue order
  std::string trace;                 // Chrome/Perfetto JSON
  uint64_t events = 0;               // processed by the timing run
};

/// inputs: one per program input. weights: weights.bin. Errors: shapes or sizes that do not match, a malformed program.
/// A deadlock is a finding: outputs are then what memory held, and all times are 0. Without `sanitize` it is an error.
dlcc::Result<Result> simulate(const hw::Program& program, const hw::Machine& machine,
                              const std::vector<te::Array>& inputs, std::span<const std::byte> weights,
                              const Options& options);

}  // namespace dlcc::sim
