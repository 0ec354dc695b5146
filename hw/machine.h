// Machine: what a chip YAML says, validated. Plain data; the only description of hardware that lowering, emitters and simulator read.
// Field by field documentation for authors is in docs/chips.md; the JSON Schema in hw/chip.schema.json is kept equal by a test.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/te/scalar.h"
#include "base/te/text.h"

namespace dlcc::hw {

using MemoryId = int;
using PipeId = int;
constexpr int kNone = -1;

/// Where a number came from. Keyed in Machine::provenance by the YAML path ("dma.main.startup", "vector.ops[3].latency").
/// Numbers that the file leaves to their default have the source "default".
struct Provenance {
  std::string source;
  bool estimated = false;
  std::string value;             // resolved, with its unit: "290 cycles"
};

/// Topology level, outermost first (chip, core). The product of the counts is the number of cores that run a Program.
struct Level {
  std::string name;
  int count = 1;
};

enum class MemoryKind : uint8_t { Scratchpad, Cache, Registers, Global };

struct Memory {
  std::string name;
  MemoryKind kind = MemoryKind::Scratchpad;
  bool per_core = true;          // an instance a core; false: one for the chip
  int64_t size = 0;              // bytes
  int64_t reserved = 0;          // bytes that dlcc may not use (stack, statics)
  int64_t align = 1;             // of a buffer's start, bytes
  int64_t latency = 0;           // cycles of a load
  double bytes_per_cycle = 0;    // of its port; bounds Fill and copies by the core
  int64_t usable() const { return size - reserved; }
};

/// A fused transform that an edge can do while it copies.
enum class Transform : uint8_t { Pad, Relayout, Accumulate, Cast };

/// An edge of the memory graph. It is served by a DMA engine or by a pipe's own load/store ability.
struct Path {
  std::string name;
  MemoryId from = kNone, to = kNone;
  int engine = kNone;            // index into Machine::dma
  std::vector<Transform> transforms;
  bool can(Transform t) const;
};

/// How a transfer is started and waited for.
///   Async:  a core posts descriptors and goes on; a reply word counts completions (Sunway)
///   Pipe:   the engine is an in-order pipe of its own, synchronised by flags (Ascend, tutor)
///   Core:   the core itself copies, synchronously (caches of a CPU)
enum class EngineKind : uint8_t { Async, Pipe, Core };

/// Cost of one descriptor of `blocks` blocks of `block` bytes when n cores transfer at once (cycles; facts behind it: docs/simulator.md):
///   max(lone_startup + bytes/lone_rate, startup + request * n, startup + n * sum(block_cost) / rate(n))
///   block_cost bytes = max(min_run, round_up(block + misalignment, granule)), plus block_overhead cycles each; writes below rmw_below cost rmw_factor times.
struct DmaEngine {
  std::string name;
  EngineKind kind = EngineKind::Async;
  PipeId pipe = kNone;           // the pipe that it is (kind Pipe) or that issues it (Async, Core)
  int64_t startup = 0;           // cycles from issue to first byte
  int64_t lone_startup = 0;      // the same when no other core transfers
  int64_t request = 0;           // cycles of a serial arbiter shared by all cores, per descriptor
  int64_t issue = 0;             // cycles that the issuing pipe is busy, per descriptor
  int64_t block_overhead = 0;    // cycles per block
  int64_t granule = 1;           // bytes: a partial one costs a full one
  int64_t min_run = 0;           // bytes: a shorter block costs this many
  int64_t rmw_below = 0;         // writes of blocks shorter than this pay rmw_factor
  double rmw_factor = 1;
  int queue_depth = 1;           // outstanding descriptors per core; the next issue stalls
  int max_dims = 2;              // 1: contiguous only; 2: blocks with one stride; ...
  int64_t max_block = 0;         // bytes, 0: unlimited
  int64_t max_bytes = 0;         // total of one descriptor, 0: unlimited
  int64_t max_stride = 0;        // bytes, 0: unlimited
  int64_t align = 1;             // of addresses and sizes, bytes
  double lone_rate = 0;          // bytes/cycle that one core can reach
  std::map<int, double> rate;    // number of active cores -> aggregate bytes/cycle; interpolated between, clamped outside
  std::vector<std::string> modes;
  double rate_for(int active_cores) const;
};

/// An in-order instruction queue of a core. A chip without decoupled pipes has one, the core itself (index 0).
struct Pipe {
  std::string name;
  int queue_depth = 1;           // entries; the front end stalls when full
  int64_t issue = 0;             // cycles of the front end per instruction put into the queue
};

/// One operation of one type: which issue port, how long. `op` is a te::Op, or one of load, loadu, store, storeu, splat, load_splat, const, index,
/// move, and loop (the counter, compare and branch of one loop iteration; scalar, i64).
/// `type`: of the operands for comparisons, isnan and isinf; of the result for everything else.
struct VectorOp {
  std::string op;
  DType type = DType::F32;
  int lanes = 0;                 // of the widest form
  int min_lanes = 0;             // of the narrowest form; every power of two between exists
  int port = 0;                  // index into Issue::ports
  int64_t latency = 1;           // cycles until the result can be used
  int64_t occupancy = 1;         // cycles until the port takes the next one
  /// Template; empty: the C operator or scalar code. Without {d} it is an expression of {0} {1} {2}, with {d} a statement that sets {d}.
  /// load, loadu, load_splat: {0} is the address; store, storeu: {0} is the value, {1} the address.
  std::string emit_c;
};

struct VectorUnit {
  PipeId pipe = 0;
  int width = 0;                 // bytes; 0: no vectors
  int registers = 0;
  std::vector<MemoryId> memories;    // where operands may lie
  std::vector<VectorOp> ops;
  std::vector<VectorOp> scalar_ops;  // lanes 1; complete for every type that appears in it, f32, i32, i64 and bool always do
  std::map<DType, int> lanes;        // of the widest vectors, per type with vectors
  std::map<DType, int> min_lanes;    // of the narrowest; equal to lanes when there is one form only
  std::map<DType, std::string> c_types;   // vector type names for the C emitters
  /// Lanes for that type, 1 when it has no vectors.
  int lanes_of(DType type) const;
  /// The entry that covers that many lanes (1: scalar_ops), or null: the chip does not have the operation in that form.
  const VectorOp* find(std::string_view op, DType type, int lanes) const;
};

/// In-order issue of a core: up to `width` instructions a cycle, each to a different port.
struct Issue {
  int width = 1;
  std::vector<std::string> ports;
};

enum class SyncKind : uint8_t { Reply, FlagPair, CoreBarrier };

struct Sync {
  std::string name;
  SyncKind kind = SyncKind::Reply;
  int64_t cost = 0;              // cycles of one wait that is already satisfied, or of the barrier itself
  int ids = 0;                   // FlagPair: ids for each pair of pipes; 0: unlimited
};

struct IntrinsicOperand {
  std::string name;
  MemoryId memory = kNone;
  DType type = DType::F32;
  std::vector<std::string> shape;    // a parameter name or an integer, per dim
  std::string layout;                // name in Machine::layouts; empty: row-major
  bool read = true, written = false;
};
struct IntrinsicParam {
  std::string name;
  int64_t min = 1, max = 1;
  int64_t multiple_of = 1;
  bool is_bool = false;
};
struct Intrinsic {
  std::string id;
  PipeId pipe = kNone;
  std::vector<IntrinsicOperand> operands;
  std::vector<IntrinsicParam> params;
  std::string semantics_text;
  te::Semantics semantics;
  std::string cycles;                // expression over the parameters, see hw/cost_expr.h
  std::map<std::string, std::string> emit;   // kind -> template
};

/// A nested blocking: storage order from outer to inner; each axis is  (coord[dim] / div) % size  (size 0: all of it).
struct LayoutAxis {
  int dim = 0;
  int64_t size = 0;
  int64_t div = 1;
  friend bool operator==(const LayoutAxis&, const LayoutAxis&) = default;
};
struct Layout {
  std::string name;
  std::vector<LayoutAxis> axes;
};

/// How code is written and built. Commands are templates with {dir} {cc} {shim} {out}; read only by the drivers and emitters.
struct Codegen {
  std::string emitter;                       // "sunway", "x86", or "none"
  std::map<std::string, std::string> settings;   // triple, cpu, features, ...
  std::vector<std::string> cpus;             // x86: the code is emitted once for each, best first; the first that the host has runs
};

struct Machine {
  std::string name;
  std::string description;
  std::string file;                          // as given; for messages only
  double clock_hz = 0;
  std::vector<Level> levels;
  int64_t launch_cycles = 0;                 // start and join of a Program by the host
  std::vector<Memory> memories;
  std::vector<Path> paths;
  std::vector<DmaEngine> dma;
  std::vector<Pipe> pipes;
  VectorUnit vector;
  Issue issue;
  std::vector<Sync> sync;
  std::vector<Layout> layouts;
  std::vector<Intrinsic> intrinsics;
  Codegen codegen;
  std::map<std::string, Provenance> provenance;
  std::string yaml_text;                     // verbatim, copied into the artifact

  int core_count() const;
  /// True when DMA engines are in-order pipes with flags rather than asynchronous queues with replies.
  bool has_decoupled_pipes() const;
  MemoryId memory_named(std::string_view name) const;      // kNone if absent
  MemoryId global_memory() const;
  /// The scratchpad (or cache) that vector code works in: the first of vector.memories.
  MemoryId work_memory() const;
  /// Shortest route as path indices; empty when there is none (or from == to).
  std::vector<int> route(MemoryId from, MemoryId to) const;
  const Sync* sync_of(SyncKind kind) const;
};

}  // namespace dlcc::hw
