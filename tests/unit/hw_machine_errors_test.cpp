// Wrong chip files: every finding has its text and its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "hw/machine_yaml.h"

namespace dlcc::hw {
namespace {

using testing::HasSubstr;

/// A small chip without a mistake. Line numbers in the tests count from its first line.
constexpr const char* kGood = R"yaml(format: 1
name: small
clock: 1 GHz
levels: [{name: core, count: 4}]
memories:
  dram: {kind: global, size: 1 GiB}
  ldm: {kind: scratchpad, size: 64 KiB, reserved: 4 KiB, align: 32 B, bandwidth: 16 B/cycle}
  acc: {kind: scratchpad, size: 1 KiB, bandwidth: 16 B/cycle}
pipes:
  core: {}
  cube: {}
dma:
  main: {kind: core, pipe: core, startup: 100 cycles, align: 4 B, granule: 64 B, rate: {1: 4 B/cycle, 4: 8 B/cycle}}
paths:
  - {from: dram, to: ldm, engine: main}
  - {from: ldm, to: dram, engine: main}
  - {from: ldm, to: acc, engine: main}
  - {from: acc, to: ldm, engine: main}
issue: {width: 2, ports: [p0, p1]}
vector:
  pipe: core
  width: 32 B
  registers: 16
  memories: [ldm]
  ops:
    - {op: [add, mul, load, store], type: f32, port: p0, latency: 4 cycles}
  scalar_ops:
    - {op: any, type: [f32, i32, i64, bool], port: p1, latency: 2 cycles}
sync:
  barrier: {kind: core_barrier, cost: 40 cycles}
layouts:
  tiles: {axes: [{dim: 0, div: 4}, {dim: 1}, {dim: 0, size: 4}]}
intrinsics:
  mma:
    pipe: cube
    params: {m: 1..8, n: 1..8, k: 1..8, init: bool}
    operands:
      a: {memory: acc, type: f32, shape: [m, k], layout: tiles}
      b: {memory: acc, type: f32, shape: [k, n]}
      c: {memory: acc, type: f32, shape: [m, n], access: rw}
    semantics: "c[i,j] = (init ? 0 : c[i,j]) + sum(l, a[i,l] * b[l,j])"
    cycles: "10 + ceil(m,4)*n"
codegen: {emitter: none}
)yaml";

struct Case {
  const char* name;
  const char* from;
  const char* to;
  const char* expected;  // "line:column: error: ..."
};

std::string edited(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << "not unique: " << from;
  return text.replace(at, from.size(), to);
}

class BadChip : public testing::TestWithParam<Case> {};

TEST_P(BadChip, IsRefusedWithPlaceAndReason) {
  const auto machine = parse_machine(edited(GetParam().from, GetParam().to), "c.yaml");
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(to_string(machine.diags()), std::string("c.yaml:") + GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Form, BadChip,
    testing::Values(
        Case{"unknown_key", "align: 32 B, bandwidth: 16", "algin: 32 B, bandwidth: 16",
             "7:58: error: unknown key 'algin' in memory 'ldm', did you mean 'align'"},
        Case{"unknown_far", "issue: {width: 2, ", "issue: {width: 2, colour: red, ",
             "19:19: error: unknown key 'colour' in the issue; keys: width, ports, source, estimated"},
        Case{"missing_key", "size: 1 GiB", "align: 8 B", "6:3: error: memory 'dram' lacks the key 'size'"},
        Case{"wrong_unit", "size: 1 GiB", "size: 12 cycles",
             "6:30: error: '12 cycles' is not a size; accepted units: B, kB, MB, GB, KiB, MiB, GiB"},
        Case{"no_unit", "startup: 100 cycles", "startup: 100",
             "13:43: error: '100' is not a duration; accepted units: cycles, s, ms, us, ns"},
        Case{"unknown_unit", "clock: 1 GHz", "clock: 1 parsec",
             "3:8: error: '1 parsec' is not a frequency; accepted units: Hz, kHz, MHz, GHz"},
        Case{"negative", "startup: 100 cycles", "startup: -1 cycles",
             "13:43: error: '-1 cycles': a duration must not be negative"},
        Case{"zero_clock", "clock: 1 GHz", "clock: 0 GHz", "3:8: error: '0 GHz': a clock must be above zero"},
        Case{"zero_rate", "1: 4 B/cycle", "1: 0 B/cycle", "13:92: error: '0 B/cycle': a rate must be above zero"},
        Case{"negative_rate", "1: 4 B/cycle", "1: -4 B/cycle",
             "13:92: error: '-4 B/cycle': a rate must not be negative"},
        Case{"unsorted_rates", "1: 4 B/cycle", "5: 4 B/cycle",
             "13:103: error: rates are listed by ascending cores: 4 after 5"},
        Case{"bad_core_number", "4: 8 B/cycle", "all: 8 B/cycle", "13:103: error: 'all' is not a number of cores"},
        Case{"twice", "  cube: {}", "  core: {}",
             "11:3: error: pipe 'core' is declared twice\n"
             "c.yaml:35:11: error: no pipe is named 'cube', did you mean 'core'"},
        Case{"key_twice", "name: small", "name: small\nname: other",
             "3:1: error: the key 'name' is given twice in the chip"},
        Case{"no_memory", "{from: ldm, to: acc,", "{from: ldn, to: acc,",
             "17:12: error: no memory is named 'ldn', did you mean 'ldm'"},
        Case{"no_engine", "to: ldm, engine: main}\n  - {from: ldm, to: dram",
             "to: ldm, engine: dma}\n  - {from: ldm, to: dram",
             "15:35: error: no dma engine is named 'dma'; there are: main"},
        Case{"no_layout", "layout: tiles", "layout: tile",
             "38:58: error: no layout is named 'tile', did you mean 'tiles'"},
        Case{"no_port", "port: p1", "port: p2", "28:52: error: no port is named 'p2'; there are: p0, p1"},
        Case{"no_op", "[add, mul,", "[add, mull,", "26:18: error: unknown op 'mull', did you mean 'mul'"},
        Case{"no_type", "type: f32, port", "type: float32, port",
             "26:43: error: unknown type 'float32'; there are: f16, f32, f64, i8, i16, i32, i64, u8, u16, "
             "u32, u64, bool, any"},
        Case{"no_parameter", "shape: [k, n]", "shape: [q, n]",
             "39:43: error: no parameter is named 'q'; there are: m, n, k, init"},
        Case{"bad_range", "m: 1..8, ", "m: 8..1, ",
             "36:17: error: '8..1' is not a parameter range: '1..64', '16..256 by 16' or 'bool'"},
        Case{"bad_choice", "access: rw", "access: wr", "40:58: error: unknown access 'wr'; there are: r, w, rw"},
        Case{"bad_count", "count: 4", "count: many", "4:30: error: 'many' is not a whole number from 1 to 65536"},
        Case{"bad_bool", "{kind: scratchpad, size: 1 KiB", "{kind: scratchpad, per_core: perhaps, size: 1 KiB",
             "8:37: error: 'perhaps' is neither true nor false"},
        Case{"not_a_map", "pipes:\n  core: {}\n  cube: {}", "pipes: [core, cube]",
             "9:1: error: 'pipes' is a mapping from names to values\n"
             "c.yaml:11:28: error: no pipe is named 'core', there are none\n"
             "c.yaml:19:9: error: no pipe is named 'core', there are none\n"
             "c.yaml:33:11: error: no pipe is named 'cube', there are none"},
        Case{"bad_name", "  acc: {kind", "  a-c: {kind",
             "8:3: error: 'a-c' is not a name: letters, digits and _, at most 64\n"
             "c.yaml:17:21: error: no memory is named 'acc'; there are: dram, ldm\n"
             "c.yaml:18:12: error: no memory is named 'acc'; there are: dram, ldm\n"
             "c.yaml:38:19: error: no memory is named 'acc'; there are: dram, ldm\n"
             "c.yaml:39:19: error: no memory is named 'acc'; there are: dram, ldm\n"
             "c.yaml:40:19: error: no memory is named 'acc'; there are: dram, ldm"},
        Case{"format", "format: 1", "format: 2", "1:9: error: '2' is not a whole number from 1 to 1"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Contradiction, BadChip,
    testing::Values(
        Case{"reserved", "reserved: 4 KiB", "reserved: 64 KiB",
             "7:41: error: 65536 bytes reserved of a memory of 65536 leave nothing"},
        Case{"align", "align: 32 B", "align: 24 B", "7:58: error: an alignment is a power of two, not 24"},
        Case{"dma_align", "align: 4 B", "align: 6 B", "13:55: error: an alignment is a power of two, not 6"},
        Case{"no_bandwidth", "size: 1 KiB, bandwidth: 16 B/cycle", "size: 1 KiB",
             "8:3: error: memory 'acc' lacks the key 'bandwidth'"},
        Case{"two_globals", "acc: {kind: scratchpad", "acc: {kind: global",
             "5:1: error: 2 memories have the kind 'global', there must be exactly one"},
        Case{"rate_cores", "4: 8 B/cycle", "5: 8 B/cycle", "13:82: error: a rate for 5 cores on a chip with 4"},
        Case{"async_engine", "kind: core, pipe: core", "kind: async, pipe: core",
             "17:26: error: the engine 'main' is 'async' and serves only paths from or to the global memory, not 'ldm' "
             "to 'acc'\n"
             "c.yaml:18:26: error: the engine 'main' is 'async' and serves only paths from or to the global memory, "
             "not 'acc' to 'ldm'\n"
             "c.yaml:29:1: error: engines of kind 'async' need a sync primitive of kind 'reply'"},
        Case{"loop", "from: dram, to: ldm", "from: ldm, to: ldm", "15:17: error: a path leads from 'ldm' to 'ldm'"},
        Case{"no_path_to_work", "{from: dram, to: ldm", "{from: acc, to: dram",
             "14:1: error: no path leads from 'dram' to 'ldm', where the vector unit works"},
        Case{"no_barrier", "barrier: {kind: core_barrier", "barrier: {kind: reply",
             "29:1: error: several cores need a sync primitive of kind 'core_barrier'"},
        Case{"width", "width: 32 B", "width: 30 B", "22:3: error: a width of 30 B is not a multiple of the 4 B of f32"},
        Case{"registers", "registers: 16", "registers: 2",
             "23:3: error: 2 registers, a vector kernel needs at least 4"},
        Case{"lanes", "registers: 16", "registers: 16\n  lanes: {f32: 16}",
             "24:11: error: 16 lanes of f32 need 64 B, the width is 32 B"},
        Case{"op_twice", "[add, mul, load, store], type: f32, port: p0, latency: 4 cycles}",
             "[add], type: f32, port: p0, latency: 4 cycles}\n    - {op: add, type: f32, port: p0, latency: 3 cycles}",
             "27:7: error: 'add' for f32 is given twice"},
        Case{"op_type", "[add, mul, load, store], type: f32", "[add, not], type: f32",
             "26:7: error: 'not' is not an operation on f32 here"},
        Case{"incomplete", "[f32, i32, i64, bool]", "[f32, i64, bool]",
             "27:3: error: scalar_ops lacks, for i32: neg, abs, floor, ceil, round, trunc, cast, bitnot, add, sub, "
             "mul, div, mod, rem, min, max, and, or, xor, "
             "shl, shr, lt, le, gt, ge, eq, ne, select, load, store, const, move (an entry with 'op: any' fills them)"},
        Case{"layout_gap", "{dim: 0, size: 4}", "{dim: 0, size: 2}",
             "32:11: error: dim 0 of layout 'tiles' is not covered exactly once: sizes and divisors must continue each "
             "other from div 1, and the one with the "
             "largest div has no size"},
        Case{"layout_rank", "{dim: 1}", "{dim: 2}", "38:50: error: layout 'tiles' does not cover the 2 dims of 'a'"},
        Case{"operand_size", "size: 1 KiB", "size: 3 B",
             "38:7: error: operand 'a' takes 16 bytes at its smallest parameters, 'acc' has 3 usable\n"
             "c.yaml:39:7: error: operand 'b' takes 4 bytes at its smallest parameters, 'acc' has 3 usable\n"
             "c.yaml:40:7: error: operand 'c' takes 4 bytes at its smallest parameters, 'acc' has 3 usable"},
        Case{"unreachable", "{from: acc, to: ldm", "{name: again, from: dram, to: acc",
             "40:11: error: 'c' is written to 'acc', from which no path leads to 'dram'"},
        Case{"access", "access: rw", "access: r", "40:50: error: the semantics write 'c', its access says otherwise"},
        Case{"cost_name", "ceil(m,4)*n", "ceil(m,4)*q", "42:5: error: cycles:1:17: no parameter is named 'q'"},
        Case{"cost_zero", "10 + ceil(m,4)*n", "0",
             "42:5: error: 0 cycles at the smallest parameters: not from 1 to 1099511627776"}),
    [](const auto& info) { return info.param.name; });

TEST(BadChipFile, TheBaseIsGood) {
  const auto machine = parse_machine(kGood, "c.yaml");
  ASSERT_TRUE(machine.ok()) << to_string(machine.diags());
  EXPECT_EQ(machine->core_count(), 4);
}

TEST(BadChipFile, SemanticsOfAnUndeclaredOperand) {
  const auto machine = parse_machine(edited("a[i,l] * b[l,j]", "a[i,l] * d[l,j]"), "c.yaml");
  ASSERT_FALSE(machine.ok());
  EXPECT_THAT(to_string(machine.diags()), HasSubstr("c.yaml:41:5: error: semantics"));
  EXPECT_THAT(to_string(machine.diags()), HasSubstr("'d'"));
}

TEST(BadChipFile, AllFindingsAtOnce) {
  std::string text = edited("clock: 1 GHz", "clock: 1 GB");
  text.replace(text.find("align: 32 B"), 11, "align: 33 B");
  text.replace(text.find("port: p1"), 8, "port: zz");
  const auto machine = parse_machine(text, "c.yaml");
  ASSERT_FALSE(machine.ok());
  ASSERT_EQ(machine.diags().size(), 3u) << to_string(machine.diags());
  EXPECT_EQ(machine.diags()[0].where, "c.yaml:3:8");
  EXPECT_EQ(machine.diags()[1].where, "c.yaml:7:58");
  EXPECT_EQ(machine.diags()[2].where, "c.yaml:28:52");
}

std::string refusal(const std::string& text) {
  const auto machine = parse_machine(text, "c.yaml");
  return machine.ok() ? "accepted" : to_string(machine.diags());
}

TEST(BadChipFile, AbsurdFilesAreRefused) {
  EXPECT_EQ(refusal(std::string(2 << 20, ' ')),
            "c.yaml: error: the file has 2097152 bytes, a chip file has at most 1048576");
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("nested deeper than 32 levels"));
  EXPECT_EQ(refusal("a: &x 1\nb: *x\n"), "c.yaml:1:4: error: YAML anchors are not accepted, write the value out");
  std::string many = "a: [";
  for (int i = 0; i < 60000; ++i) {
    many += "1,";
  }
  EXPECT_THAT(refusal(many + "]"), HasSubstr("more than 50000 values"));
  EXPECT_EQ(refusal("name: \xff\n"), "c.yaml:1:7: error: byte 0xff is not text (UTF-8)");
  EXPECT_EQ(refusal("- 1\n"), "c.yaml:1:1: error: a chip file is a mapping; it starts with 'format: 1'");
  EXPECT_THAT(refusal(""), HasSubstr("a chip file is a mapping"));
  EXPECT_THAT(refusal("a: [1\nb: 2\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(refusal(std::string(kGood) + "---\nx: 1\n"), HasSubstr("one YAML document"));
}

TEST(BadChipFile, EveryTruncationIsRefusedOrFine) {
  const std::string text = kGood;
  for (size_t length = 0; length < text.size(); length += 7) {
    const auto machine = parse_machine(text.substr(0, length), "c.yaml");
    EXPECT_FALSE(machine.ok()) << length;
  }
}

/// Damaged files end in findings, never in a crash or an internal error.
TEST(BadChipFile, DamagedFilesAreHandled) {
  std::minstd_rand random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  const std::string text = kGood;
  const std::string bytes = "{}[]:,-#&*!|>'\"%@ \n\t09az.";
  size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (size_t edit = 0; edit <= below(3); ++edit) {
      const size_t at = below(damaged.size());
      const size_t length = std::min(1 + below(12), damaged.size() - at);
      if (below(3) == 0) {
        damaged.erase(at, length);
      } else if (below(2) == 0) {
        damaged.insert(below(damaged.size()), damaged.substr(at, length));
      } else {
        damaged[at] = bytes[below(bytes.size())];
      }
    }
    refused += parse_machine(damaged, "c.yaml").ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 2000u);
}

}  // namespace
}  // namespace dlcc::hw
