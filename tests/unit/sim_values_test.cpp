// Values and sanitizer on hand-written programs: a double-buffered one with replies on 64 cores, one with pipes and
// flags, an intrinsic with layouts.
#include <cmath>

#include "sim_support.h"

namespace dlcc::sim {
namespace {

/// h = x * w, rows dealt round robin over the cores; after the barrier y = max(h, 0), rows in blocks: cores read what
/// others wrote.
constexpr const char* kReplyProgram = R"(program replies machine sw26010 arena 32768 weights 512
tensor x f32[256,16] arena 0
tensor w f32[16,8] weights 0
tensor h f32[256,8] arena 16384
tensor y f32[256,8] arena 24576
inputs [x] outputs [y]
group gemm kind contraction tile "r:1" flops 0 bound 0 nodes [] intrinsics []
vars [core, t, s, n, j, k]
buffer wb ldm f32[16,8] copies 1 offset 0 slot 512
buffer xb ldm f32[16] copies 2 offset 512 slot 64
buffer hb ldm f32[8] copies 2 offset 640 slot 32
channel w.in reply core -> core slots 1 initial 0
channel x.in reply core -> core slots 2 initial 0
channel h.out reply core -> core slots 2 initial 0
{
  dma get @w[k, j] -> wb[k, j] over (k:16, j:8) reply w.in[0]
  dma get @x[core, k] -> xb{0}[k] over (k:16) reply x.in[0]
  wait w.in[0]
  for t = 0 to 4 step 1 {
    let s = mod(t, 2)
    let n = mod(t + 1, 2)
    if -t + 2 {
      dma get @x[core + 64*t + 64, k] -> xb{n}[k] over (k:16) reply x.in[n]
    }
    wait x.in[s]
    wait h.out[s]
    fill core hb{s}[j] = 0 over (j:8)
    compute gemm on core over (j:8, k:16 red) {
      write hb{s}[j] sum
      read xb{s}[k]
      read wb[k, j]
      body [f32 load 0, f32 load 1, f32 mul 0 1]
    }
    dma put hb{s}[j] -> @h[core + 64*t, j] over (j:8) reply h.out[s]
  }
  wait h.out[0]
  wait h.out[1]
  barrier
}
group relu kind map tile "r:4" flops 0 bound 0 nodes [] intrinsics []
vars [core, r, j]
buffer hb ldm f32[4,8] copies 1 offset 0 slot 128
channel io reply core -> core slots 2 initial 0
{
  dma get @h[4*core + r, j] -> hb[r, j] over (r:4, j:8) reply io[0]
  wait io[0]
  compute relu on core over (r:4, j:8) {
    write hb[r, j]
    read hb[r, j]
    body [f32 load 0, f32 const 0, f32 max 0 1]
  }
  dma put hb[r, j] -> @y[4*core + r, j] over (r:4, j:8) reply io[1]
  wait io[1]
}
)";

std::vector<float> expected_replies(const te::Array& x, const te::Array& w) {
  std::vector<float> y(256 * 8);
  for (int r = 0; r < 256; ++r) {
    for (int j = 0; j < 8; ++j) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) {
        sum = std::fma(x.as<float>()[r * 16 + k], w.as<float>()[k * 8 + j], sum);
      }
      y[static_cast<size_t>(r * 8 + j)] = sum > 0 ? sum : 0;
    }
  }
  return y;
}

TEST(SimValues, RepliesOn64CoresInEveryTiming) {
  const hw::Machine machine = chip("sw26010");
  const hw::Program program = parse(kReplyProgram, machine);
  const te::Array x = random_array({256, 16}, 1), w = random_array({16, 8}, 2);
  const std::vector<float> expected = expected_replies(x, w);
  for (const DmaTiming timing : {DmaTiming::AtIssue, DmaTiming::AtWait, DmaTiming::Random}) {
    for (const int threads : {1, 2}) {
      const Result result = run(program, machine, {x}, w, {.dma_timing = timing, .seed = 7, .threads = threads});
      EXPECT_TRUE(result.findings.empty()) << findings_text(result);
      ASSERT_EQ(result.outputs.size(), 1U);
      EXPECT_EQ(std::memcmp(result.outputs[0].data.data(), expected.data(), expected.size() * 4), 0);
    }
  }
}

TEST(SimValues, EveryMutantOfTheReplyProgramIsCaught) {
  const hw::Machine machine = chip("sw26010");
  EXPECT_EQ(survivors(parse(kReplyProgram, machine), machine, {random_array({256, 16}, 1)}, random_array({16, 8}, 2)),
            0);
}

TEST(SimValues, FindingsNameTheirCause) {
  const hw::Machine machine = chip("sw26010");
  const hw::Program program = parse(kReplyProgram, machine);
  const te::Array x = random_array({256, 16}, 1), w = random_array({16, 8}, 2);
  const auto waits = mutants(
      program, [](hw::Node& node) { return std::holds_alternative<hw::Wait>(node.v); }, true);
  const auto without = [&](size_t wait) { return run(waits.at(wait), machine, {x}, w, {.timing = false}); };
  EXPECT_EQ(without(0).findings.at(0).check, "read-before-wait");      // w.in
  EXPECT_EQ(without(1).findings.at(0).check, "read-before-wait");      // x.in
  EXPECT_EQ(without(2).findings.at(0).check, "overwrite-while-read");  // h.out before the fill
  EXPECT_EQ(without(3).findings.at(0).check, "dma-in-flight");         // h.out at the end
  const auto no_barrier = mutants(
      program, [](hw::Node& node) { return std::holds_alternative<hw::Barrier>(node.v); }, true);
  ASSERT_EQ(no_barrier.size(), 1U);
  const Result race = run(no_barrier[0], machine, {x}, w, {.timing = false});
  ASSERT_FALSE(race.findings.empty());
  EXPECT_EQ(race.findings[0].check, "inter-core-race");
  const Result twice = run(no_barrier[0], machine, {x}, w, {.timing = false, .threads = 2});
  EXPECT_EQ(findings_text(race), findings_text(twice));
}

/// y = 2 x in tiles of 16, load -> vector -> store, two slots each way; then z = y reversed in cores' halves, after a
/// barrier.
constexpr const char* kFlagProgram = R"(program flags machine tutor arena 2304 weights 0
tensor x f32[192] arena 0
tensor y f32[192] arena 768
tensor z f32[192] arena 1536
inputs [x] outputs [z]
group double kind map tile "i:16" flops 0 bound 0 nodes [] intrinsics []
vars [core, t, s, i]
buffer xb l1 f32[16] copies 2 offset 0 slot 64
buffer yb l1 f32[16] copies 2 offset 128 slot 64
channel x.full flag load -> vector slots 2 initial 0
channel x.free flag vector -> load slots 2 initial 1
channel y.full flag vector -> store slots 2 initial 0
channel y.free flag store -> vector slots 2 initial 1
{
  for t = 0 to 6 step 1 {
    let s = mod(t, 2)
    wait x.free[s]
    dma dram_to_l1 @x[96*core + 16*t + i] -> xb{s}[i] over (i:16)
    signal x.full[s]
    wait x.full[s]
    wait y.free[s]
    compute double on vector over (i:16) {
      write yb{s}[i]
      read xb{s}[i]
      body [f32 load 0, f32 const 2, f32 mul 0 1]
    }
    signal x.free[s]
    signal y.full[s]
    wait y.full[s]
    dma l1_to_dram yb{s}[i] -> @y[96*core + 16*t + i] over (i:16)
    signal y.free[s]
  }
  wait x.free[0]
  wait x.free[1]
  wait y.free[0]
  wait y.free[1]
  barrier
}
group swap kind map tile "i:96" flops 0 bound 0 nodes [] intrinsics []
vars [core, i]
buffer b l1 f32[96] copies 1 offset 0 slot 384
channel full flag load -> vector slots 1 initial 0
channel done flag vector -> store slots 1 initial 0
{
  dma dram_to_l1 @y[-96*core + 96 + i] -> b[i] over (i:96)
  signal full[0]
  wait full[0]
  compute add on vector over (i:96) {
    write b[i]
    read b[i]
    body [f32 load 0, f32 const 1, f32 add 0 1]
  }
  signal done[0]
  wait done[0]
  dma l1_to_dram b[i] -> @z[96*core + i] over (i:96)
}
)";

TEST(SimValues, PipesWithFlagsInEveryOrder) {
  const hw::Machine machine = chip("tutor");
  const hw::Program program = parse(kFlagProgram, machine);
  const te::Array x = random_array({192}, 3), none = te::Array::zeros(DType::F32, {0});
  for (const DmaTiming timing : {DmaTiming::AtIssue, DmaTiming::AtWait, DmaTiming::Random}) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      const Result result = run(program, machine, {x}, none, {.dma_timing = timing, .seed = seed});
      EXPECT_TRUE(result.findings.empty()) << findings_text(result);
      ASSERT_EQ(result.outputs.size(), 1U);
      for (int i = 0; i < 192; ++i) {
        EXPECT_EQ(result.outputs[0].as<float>()[i], 2 * x.as<float>()[(i + 96) % 192] + 1);
      }
    }
  }
}

TEST(SimValues, EveryMutantOfTheFlagProgramIsCaught) {
  const hw::Machine machine = chip("tutor");
  EXPECT_EQ(
      survivors(parse(kFlagProgram, machine), machine, {random_array({192}, 3)}, te::Array::zeros(DType::F32, {0})), 0);
}

TEST(SimValues, DeadlockIsAFindingInValuesAndInTime) {
  const hw::Machine machine = chip("tutor");
  hw::Program program = parse(kFlagProgram, machine);
  program.groups[0].channels[1].initial = 0;
  const te::Array x = random_array({192}, 3), none = te::Array::zeros(DType::F32, {0});
  const Result values = run(program, machine, {x}, none);
  ASSERT_EQ(values.findings.size(), 1U);
  EXPECT_EQ(values.findings[0].check, "deadlock");
  EXPECT_NE(values.findings[0].message.find("x.free"), std::string::npos) << values.findings[0].message;
  EXPECT_EQ(values.cycles, 0);
  const Result time = run(program, machine, {x}, none, {.values = false});
  ASSERT_EQ(time.findings.size(), 1U);
  EXPECT_EQ(time.findings[0].check, "deadlock");
  EXPECT_EQ(time.cycles, 0);
  EXPECT_FALSE(simulate(program, machine, {x}, {}, {.sanitize = false}).ok());
}

/// c = a * b on blocked operands through the intrinsic, in two calls along k; odd sizes.
constexpr const char* kIntrinsicProgram = R"(program mma machine tutor arena 3008 weights 0
tensor a f32[10,24] arena 0
tensor b f32[24,14] arena 960
tensor c f32[10,14] arena 2368
inputs [a, b] outputs [c]
group gemm kind contraction tile "" flops 0 bound 0 nodes [] intrinsics [mma]
vars [core, i, j, l, u]
buffer a1 l1 f32[10,24] copies 1 offset 0 slot 960
buffer b1 l1 f32[24,14] copies 1 offset 960 slot 1344
buffer a0 l0a f32[10,24] layout [0:0/4, 1:0/8, 0:4/1, 1:8/1] copies 1 offset 0 slot 1152
buffer b0 l0b f32[24,14] layout [1:0/4, 0:0/8, 1:4/1, 0:8/1] copies 1 offset 0 slot 1536
buffer c0 l0c f32[10,14] copies 1 offset 0 slot 576
channel in flag load -> matrix slots 1 initial 0
channel out flag matrix -> store slots 1 initial 0
{
  if -core {
    dma dram_to_l1 @a[i, l] -> a1[i, l] over (i:10, l:24)
    dma dram_to_l1 @b[l, j] -> b1[l, j] over (l:24, j:14)
    dma l1_to_l0a a1[i, l] -> a0[i, l] over (i:10, l:24)
    dma l1_to_l0b b1[l, j] -> b0[l, j] over (l:24, j:14)
    signal in[0]
    wait in[0]
    call mma over (i:10, j:14, l:16 red) (a0[i, l], b0[l, j], c0[i, j]) params (10, 14, 16, 1)
    call mma over (i:10, j:14, l:8 red) (a0[i, l + 16], b0[l + 16, j], c0[i, j]) params (10, 14, 8, 0)
    signal out[0]
    wait out[0]
    dma l0c_to_dram c0[i, j] -> @c[i, j] over (i:10, j:14)
  }
}
)";

TEST(SimValues, IntrinsicFromItsTextOnBlockedBuffers) {
  const hw::Machine machine = chip("tutor");
  const hw::Program program = parse(kIntrinsicProgram, machine);
  const te::Array a = random_array({10, 24}, 4), b = random_array({24, 14}, 5);
  const Result result = run(program, machine, {a, b}, te::Array::zeros(DType::F32, {0}));
  EXPECT_TRUE(result.findings.empty()) << findings_text(result);
  ASSERT_EQ(result.outputs.size(), 1U);
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 14; ++j) {
      float calls[2] = {0, 0};  // each sums from zero
      for (int l = 0; l < 24; ++l) {
        float& sum = calls[l / 16];
        sum = std::fma(a.as<float>()[i * 24 + l], b.as<float>()[l * 14 + j], sum);
      }
      EXPECT_EQ(result.outputs[0].as<float>()[i * 14 + j], calls[0] + calls[1]);
    }
  }
}

TEST(SimValues, StaticLimitsAreFindings) {
  const hw::Machine machine = chip("sw26010");
  const te::Array x = random_array({256, 16}, 1), w = random_array({16, 8}, 2);
  hw::Program big = parse(kReplyProgram, machine);
  big.groups[1].buffers[0].offset = 61440;
  EXPECT_EQ(run(big, machine, {x}, w, {.timing = false}).findings.at(0).check, "capacity");
  hw::Program crooked = parse(kReplyProgram, machine);
  crooked.groups[1].buffers[0].offset = 4;
  EXPECT_EQ(run(crooked, machine, {x}, w, {.timing = false}).findings.at(0).check, "alignment");
  hw::Machine narrow = machine;
  narrow.dma[0].align = 128;
  EXPECT_EQ(run(parse(kReplyProgram, machine), narrow, {x}, w, {.timing = false}).findings.at(0).check, "alignment");
}

TEST(SimValues, WrongInputsAndBrokenProgramsAreErrors) {
  const hw::Machine machine = chip("sw26010");
  const hw::Program program = parse(kReplyProgram, machine);
  const te::Array w = random_array({16, 8}, 2);
  const auto bad = [&](const hw::Program& p, const std::vector<te::Array>& inputs, std::span<const std::byte> weights) {
    const auto result = simulate(p, machine, inputs, weights, {});
    EXPECT_FALSE(result.ok());
    return result.ok() ? std::string() : to_string(result.diags());
  };
  EXPECT_NE(bad(program, {random_array({256, 15}, 1)}, w.data).find("[256,16]"), std::string::npos);
  EXPECT_NE(bad(program, {}, w.data).find("0 inputs"), std::string::npos);
  EXPECT_NE(bad(program, {random_array({256, 16}, 1)}, {}).find("weights"), std::string::npos);
  hw::Program wild = program;
  std::get<hw::Dma>(wild.groups[0].body[0].v).src.object = 99;
  EXPECT_NE(bad(wild, {random_array({256, 16}, 1)}, w.data).find("tensor 99"), std::string::npos);
  wild = program;
  wild.tensors[2].offset = 32000;
  EXPECT_NE(bad(wild, {random_array({256, 16}, 1)}, w.data).find("'h'"), std::string::npos);
}

}  // namespace
}  // namespace dlcc::sim
