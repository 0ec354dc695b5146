// The rows of the key tables, and which operations exist for which element type.
#include "hw/machine_keys.h"

#include <algorithm>

#include "base/te/scalar.h"

namespace dlcc::hw {
namespace {

using enum KeyKind;

constexpr std::string_view kAnyType = "any";

std::vector<std::string_view> types_and_any() {
  std::vector<std::string_view> names = type_names();
  names.push_back(kAnyType);
  return names;
}

void append_new(std::vector<std::string_view>& to, const std::vector<std::string_view>& from) {
  for (const std::string_view name : from) {
    if (std::find(to.begin(), to.end(), name) == to.end()) {
      to.push_back(name);
    }
  }
}

std::vector<std::string_view> every_op() {
  std::vector<std::string_view> names;
  for (const DType type : {DType::F32, DType::I32, DType::I64, DType::Bool}) {
    append_new(names, vector_op_names(type));
    append_new(names, scalar_op_names(type));
  }
  names.push_back(kAnyType);
  return names;
}

const Table& level_table() {
  static const Table table{
      "level",
      "A level of the topology, outermost first. The product of the counts is the number of cores that run a program.",
      {
          {.name = "name", .kind = Name, .required = true, .doc = "for people, `core`"},
          {.name = "count",
           .kind = Integer,
           .required = true,
           .doc = "how many inside one of the level above",
           .min = 1,
           .max = 65536},
      }};
  return table;
}

const Table& memory_table() {
  static const Table table{
      "memory",
      "A memory. Exactly one has the kind `global`; tensors of the model live there.",
      {
          {.name = "kind",
           .kind = Choice,
           .required = true,
           .doc = "`scratchpad` and `cache` hold buffers that dlcc places; `global` holds tensors",
           .choices = {"scratchpad", "cache", "registers", "global"}},
          {.name = "per_core",
           .kind = Boolean,
           .fallback = "true",
           .doc = "an instance per core, or one for the chip (`global` is always one)"},
          {.name = "size", .kind = Bytes, .required = true, .doc = "all of it", .min = 1},
          {.name = "reserved",
           .kind = Bytes,
           .fallback = "0 B",
           .doc = "bytes that dlcc may not use: stack, statics, the vendor's runtime"},
          {.name = "align",
           .kind = Bytes,
           .fallback = "1 B",
           .doc = "of a buffer's start; a power of two",
           .min = 1,
           .max = 1 << 20},
          {.name = "latency", .kind = Cycles, .fallback = "0 cycles", .doc = "of a load by the core"},
          {.name = "bandwidth",
           .kind = Rate,
           .doc = "of its port; bounds fills and copies by the core. Required except for `global`, whose limits are "
                  "the engines' rates"},
      }};
  return table;
}

const Table& pipe_table() {
  static const Table table{
      "pipe",
      "An in-order instruction queue of a core. A chip without decoupled pipes has one, the core itself.",
      {
          {.name = "queue_depth",
           .kind = Integer,
           .fallback = "1",
           .doc = "entries; the front end stalls when full",
           .min = 1,
           .max = 65536},
          {.name = "issue",
           .kind = Cycles,
           .fallback = "0 cycles",
           .doc = "of the front end, per instruction put into the queue"},
      }};
  return table;
}

const Table& dma_table() {
  static const Table table{
      "dma engine",
      "A way to move data. One descriptor of n bytes, with N cores transferring at once, takes "
      "max(lone_startup + n/lone_rate, startup + request*N, startup + N*(cost of its blocks)/rate(N)); "
      "a block costs max(min_run, its length rounded up to granules) bytes, and block_overhead cycles.",
      {
          {.name = "kind",
           .kind = Choice,
           .required = true,
           .doc = "`async`: descriptors are posted and a reply counts completions; `pipe`: the engine is an in-order "
                  "pipe, synchronised by flags; "
                  "`core`: the core itself copies and waits",
           .choices = {"async", "pipe", "core"}},
          {.name = "pipe",
           .kind = Ref,
           .required = true,
           .doc = "the pipe that it is (`pipe`) or that issues it (`async`, `core`)",
           .target = "pipes"},
          {.name = "startup", .kind = Cycles, .required = true, .doc = "from issue to the first byte"},
          {.name = "lone_startup", .kind = Cycles, .doc = "the same when no other core transfers; default: `startup`"},
          {.name = "request",
           .kind = Cycles,
           .fallback = "0 cycles",
           .doc = "of a serial arbiter that all cores share, per descriptor"},
          {.name = "issue",
           .kind = Cycles,
           .fallback = "0 cycles",
           .doc = "that the issuing pipe is busy, per descriptor"},
          {.name = "block_overhead", .kind = Cycles, .fallback = "0 cycles", .doc = "per block"},
          {.name = "granule",
           .kind = Bytes,
           .fallback = "1 B",
           .doc = "of global memory; a partial one costs a full one; a power of two",
           .min = 1,
           .max = 1 << 20},
          {.name = "min_run", .kind = Bytes, .fallback = "0 B", .doc = "a shorter block costs this much"},
          {.name = "rmw_below",
           .kind = Bytes,
           .fallback = "0 B",
           .doc = "writes of blocks shorter than this cost `rmw_factor` times"},
          {.name = "rmw_factor", .kind = Ratio, .fallback = "1", .doc = "at least 1"},
          {.name = "queue_depth",
           .kind = Integer,
           .fallback = "1",
           .doc = "outstanding descriptors per core; the next issue stalls",
           .min = 1,
           .max = 65536},
          {.name = "max_dims",
           .kind = Integer,
           .fallback = "2",
           .doc = "1: contiguous only; 2: equal blocks with one stride",
           .min = 1,
           .max = 8},
          {.name = "max_block", .kind = Bytes, .fallback = "0 B", .doc = "bytes in a row; 0: no limit"},
          {.name = "max_bytes", .kind = Bytes, .fallback = "0 B", .doc = "of one descriptor; 0: no limit"},
          {.name = "max_stride", .kind = Bytes, .fallback = "0 B", .doc = "between blocks; 0: no limit"},
          {.name = "align",
           .kind = Bytes,
           .fallback = "1 B",
           .doc = "of addresses and sizes; a power of two",
           .min = 1,
           .max = 1 << 20},
          {.name = "lone_rate", .kind = Rate, .doc = "that one core alone reaches; default: `rate` for one core"},
          {.name = "rate",
           .kind = RateTable,
           .required = true,
           .doc = "of all active cores together: one rate, or `{cores: rate, ...}` in ascending order, interpolated "
                  "between"},
          {.name = "modes", .kind = Texts, .doc = "names of the hardware's modes, for emitters"},
      }};
  return table;
}

const Table& path_table() {
  static const Table table{
      "path",
      "An edge of the memory graph. Data moves along paths only; dlcc finds the route to a memory that an intrinsic "
      "names.",
      {
          {.name = "name", .kind = Name, .doc = "default: `<from>_to_<to>`"},
          {.name = "from", .kind = Ref, .required = true, .target = "memories"},
          {.name = "to", .kind = Ref, .required = true, .target = "memories"},
          {.name = "engine", .kind = Ref, .required = true, .doc = "that moves it", .target = "dma"},
          {.name = "transforms",
           .kind = Choices,
           .doc = "what the edge can do on the way",
           .choices = {"pad", "relayout", "accumulate", "cast"}},
      }};
  return table;
}

const Table& issue_table() {
  static const Table table{
      "issue",
      "In-order issue of a core: up to `width` instructions a cycle, each to a different port.",
      {
          {.name = "width", .kind = Integer, .fallback = "1", .min = 1, .max = 64},
          {.name = "ports", .kind = Names, .required = true, .doc = "names, used by the operations"},
      }};
  return table;
}

const Table& op_table() {
  static const Table table{
      "operation",
      "One entry covers every listed operation for every listed type. A later entry may not repeat an operation; `any` "
      "fills what is left.",
      {
          {.name = "op", .kind = Choices, .required = true, .doc = "operations, or `any`", .choices = every_op()},
          {.name = "type",
           .kind = Choices,
           .required = true,
           .doc = "element types, or `any`: of the operands for comparisons, `isnan` and `isinf`, of the result for "
                  "everything else",
           .choices = types_and_any()},
          {.name = "port", .kind = Ref, .required = true, .target = "issue.ports"},
          {.name = "latency", .kind = Cycles, .required = true, .doc = "until the result can be used"},
          {.name = "occupancy",
           .kind = Cycles,
           .fallback = "1 cycle",
           .doc = "until the port takes the next one",
           .min = 1},
          {.name = "emit_c",
           .kind = Text,
           .doc = "C text: an expression of {0} {1} {2}, or a statement that sets {d}; loads: {0} is the address; "
                  "stores: {0} the value, {1} the address"},
      }};
  return table;
}

const Table& vector_table() {
  static const Table table{
      "vector",
      "The unit that runs everything that is not an intrinsic: kernels of vector and scalar operations.",
      {
          {.name = "pipe", .kind = Ref, .required = true, .target = "pipes"},
          {.name = "width", .kind = Bytes, .fallback = "0 B", .doc = "of a register; 0: no vectors", .max = 1 << 16},
          {.name = "registers", .kind = Integer, .fallback = "0", .max = 4096},
          {.name = "memories",
           .kind = Refs,
           .required = true,
           .doc = "where operands may lie; the first is where dlcc puts buffers",
           .target = "memories"},
          {.name = "lanes",
           .kind = TypeInts,
           .doc = "per type with vectors; a power of two. Default: width / element size for the types of `ops`",
           .min = 2,
           .max = 65536},
          {.name = "min_lanes",
           .kind = TypeInts,
           .doc = "of the narrowest vectors, a power of two; default: `lanes`",
           .min = 2,
           .max = 65536},
          {.name = "c_types", .kind = TypeTexts, .doc = "C names of the vector types"},
          {.name = "ops", .kind = List, .doc = "vector operations", .table = &op_table()},
          {.name = "scalar_ops",
           .kind = List,
           .required = true,
           .doc = "scalar operations: complete for f32, i32, i64, bool and for every other type that appears",
           .table = &op_table()},
      }};
  return table;
}

const Table& sync_table() {
  static const Table table{
      "sync primitive",
      "`async` engines need a `reply`, `pipe` engines a `flag_pair`, several cores a `core_barrier`.",
      {
          {.name = "kind", .kind = Choice, .required = true, .choices = {"reply", "flag_pair", "core_barrier"}},
          {.name = "cost",
           .kind = Cycles,
           .required = true,
           .doc = "of a wait that is already satisfied, or of the barrier itself"},
          {.name = "ids",
           .kind = Integer,
           .fallback = "0",
           .doc = "`flag_pair`: flags for each pair of pipes; 0: no limit",
           .max = 65536},
      }};
  return table;
}

const Table& axis_table() {
  static const Table table{
      "layout axis",
      "Storage order from outer to inner: each axis is (coordinate[dim] / div) % size.",
      {
          {.name = "dim", .kind = Integer, .required = true, .max = 7},
          {.name = "div", .kind = Integer, .fallback = "1", .min = 1, .max = 1 << 20},
          {.name = "size", .kind = Integer, .fallback = "0", .doc = "0: all the rest", .max = 1 << 20},
      }};
  return table;
}

const Table& layout_table() {
  static const Table table{"layout",
                           "A named storage order of an intrinsic's operand.",
                           {{.name = "axes", .kind = List, .required = true, .table = &axis_table()}}};
  return table;
}

const Table& operand_table() {
  static const Table table{
      "operand",
      "What an intrinsic reads or writes.",
      {
          {.name = "memory", .kind = Ref, .required = true, .target = "memories"},
          {.name = "type", .kind = Choice, .required = true, .choices = type_names()},
          {.name = "shape", .kind = Shape, .required = true, .doc = "a parameter or a whole number per dim"},
          {.name = "layout", .kind = Ref, .doc = "default: row-major", .target = "layouts"},
          {.name = "access", .kind = Choice, .fallback = "r", .choices = {"r", "w", "rw"}},
      }};
  return table;
}

const Table& intrinsic_table() {
  static const Table table{
      "intrinsic",
      "An instruction on blocks of data. dlcc finds where it applies from `semantics`, and the simulator executes that "
      "text.",
      {
          {.name = "pipe", .kind = Ref, .required = true, .target = "pipes"},
          {.name = "params", .kind = Params, .doc = "`1..4095`, `16..256 by 16`, or `bool`"},
          {.name = "operands", .kind = Map, .required = true, .table = &operand_table()},
          {.name = "semantics",
           .kind = Text,
           .required = true,
           .doc = "one assignment, `c[i,j] = c[i,j] + sum(l, a[i,l] * b[l,j])`"},
          {.name = "cycles",
           .kind = Text,
           .required = true,
           .doc = "of the parameters: integers, + - * ( ) min max ceil(a,b); ceil(a,b) is a/b rounded up"},
          {.name = "emit", .kind = Strings, .doc = "form (`c`, `llvm`, `asm`) to template"},
      }};
  return table;
}

const Table& codegen_table() {
  static const Table table{
      "codegen",
      "How code is written.",
      {
          {.name = "emitter", .kind = Name, .required = true, .doc = "`sunway`, `x86`, or `none`: simulator only"},
          {.name = "cpus",
           .kind = Texts,
           .doc = "the code is emitted once for each, best first; the first that the host has runs"},
          {.name = "settings", .kind = Strings, .doc = "read by the emitter"},
      }};
  return table;
}

std::vector<std::string_view> float_ops() {
  return {"neg",   "abs",   "floor", "ceil", "round", "trunc", "sqrt", "exp2i", "exponent", "mantissa",
          "isnan", "isinf", "cast",  "add",  "sub",   "mul",   "div",  "mod",   "rem",      "min",
          "max",   "lt",    "le",    "gt",   "ge",    "eq",    "ne",   "fma",   "select"};
}
std::vector<std::string_view> integer_ops() {
  return {"neg", "abs", "floor", "ceil", "round", "trunc", "cast", "bitnot", "add", "sub",
          "mul", "div", "mod",   "rem",  "min",   "max",   "and",  "or",     "xor", "shl",
          "shr", "lt",  "le",    "gt",   "ge",    "eq",    "ne",   "select"};
}
std::vector<std::string_view> bool_ops() {
  return {"not", "cast", "and", "or", "xor", "min", "max", "lt", "le", "gt", "ge", "eq", "ne", "select"};
}

std::vector<std::string_view> arithmetic_names(DType type) {
  if (is_float(type)) {
    return float_ops();
  }
  return type == DType::Bool ? bool_ops() : integer_ops();
}

}  // namespace

const Key* Table::find(std::string_view key) const {
  const auto it = std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == key; });
  return it == keys.end() ? nullptr : &*it;
}

const Table& chip_table() {
  static const Table table{
      "chip",
      "The file.",
      {
          {.name = "format",
           .kind = Integer,
           .required = true,
           .doc = "version of this language: 1",
           .min = 1,
           .max = 1},
          {.name = "name", .kind = Text, .required = true, .doc = "letters, digits, `_`, `.`, `-`"},
          {.name = "description", .kind = Text},
          {.name = "clock",
           .kind = Clock,
           .required = true,
           .doc = "of the cores; times and rates are converted with it"},
          {.name = "launch", .kind = Cycles, .fallback = "0 cycles", .doc = "start and join of a program by the host"},
          {.name = "levels", .kind = List, .required = true, .table = &level_table()},
          {.name = "memories", .kind = Map, .required = true, .table = &memory_table()},
          {.name = "pipes", .kind = Map, .required = true, .table = &pipe_table()},
          {.name = "dma", .kind = Map, .required = true, .table = &dma_table()},
          {.name = "paths", .kind = List, .required = true, .table = &path_table()},
          {.name = "issue", .kind = Mapping, .required = true, .table = &issue_table()},
          {.name = "vector", .kind = Mapping, .required = true, .table = &vector_table()},
          {.name = "sync", .kind = Map, .table = &sync_table()},
          {.name = "layouts", .kind = Map, .table = &layout_table()},
          {.name = "intrinsics", .kind = Map, .table = &intrinsic_table()},
          {.name = "codegen", .kind = Mapping, .required = true, .table = &codegen_table()},
      }};
  return table;
}

std::vector<const Table*> all_tables() {
  return {&chip_table(),   &level_table(), &memory_table(),    &pipe_table(),    &dma_table(),
          &path_table(),   &issue_table(), &vector_table(),    &op_table(),      &sync_table(),
          &layout_table(), &axis_table(),  &intrinsic_table(), &operand_table(), &codegen_table()};
}

const std::vector<std::string_view>& type_names() {
  static const std::vector<std::string_view> names = {"f16", "f32", "f64", "i8",  "i16", "i32",
                                                      "i64", "u8",  "u16", "u32", "u64", "bool"};
  return names;
}

std::vector<std::string_view> vector_op_names(DType type) {
  std::vector<std::string_view> names = arithmetic_names(type);
  append_new(names, {"load", "loadu", "store", "storeu", "splat", "load_splat", "const", "move"});
  return names;
}

std::vector<std::string_view> scalar_op_names(DType type) {
  std::vector<std::string_view> names = arithmetic_names(type);
  append_new(names, {"load", "store", "const", "move"});
  if (type == DType::I64) {
    append_new(names, {"index", "loop"});
  }
  return names;
}

}  // namespace dlcc::hw
