// Planning pieces against hand arithmetic: boxes and bytes of a published convolution group, plan text, intrinsic matching, the arena, fusion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/te/text.h"
#include "hw/machine_yaml.h"
#include "lowering/arena.h"
#include "lowering/buffers.h"
#include "lowering/cost.h"
#include "lowering/lower.h"

namespace dlcc::lowering {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// conv 3x3 + relu + maxpool 2x2, 16 channels, as in the polyhedral facts (section 2.2): a pooled tile of 16x1x28 needs 16 channels x 4 rows x 58
// columns of padded input (14,848 B) and 16x16x3x3 weights (9,216 B).
constexpr const char* kConvPool = R"(
tensor X f32[16,56,56] input
tensor W f32[16,16,3,3] constant
tensor Y f32[16,56,56] intermediate
tensor R f32[16,56,56] intermediate
tensor P f32[16,28,28] output
inputs X
outputs P
stmt conv : reduce sum
  par co:16 oh:56 ow:56
  red ci:16 kh:3 kw:3
  Y[co, oh, ow] += X[ci, oh + kh - 1, ow + kw - 1 | 0] * W[co, ci, kh, kw]
stmt relu : map
  par c:16 h:56 w:56
  R[c, h, w] = max(0, Y[c, h, w])
stmt pool : reduce max
  par c:16 h:28 w:28
  red kh:2 kw:2
  P[c, h, w] = R[c, 2*h + kh, 2*w + kw]
)";

constexpr const char* kGemm = R"(
tensor A f32[13,17] input
tensor B f32[17,19] input
tensor C f32[13,19] output
inputs A B
outputs C
stmt gemm : reduce sum
  par m:13 n:19
  red k:17
  C[m, n] += A[m, k] * B[k, n]
)";

class Fixture {
 public:
  Fixture(const char* text, const char* chip)
      : module(te::parse_module(text, "test").value()), machine(hw::load_machine(chip).value()), context{machine, explain} {}
  GroupAnalysis whole() {
    const std::vector<FusionGroup> groups = fuse(module, context);
    EXPECT_EQ(groups.size(), 1u);
    return analyse(module, groups.front(), context).value();
  }
  te::Module module;
  hw::Machine machine;
  Explain explain{true};
  Context context;
};

int64_t elements(const PlannedBuffer& planned) { return te::element_count(planned.buffer.shape); }

TEST(Regions, ConvPoolTileNeedsThePublishedBoxes) {
  Fixture f(kConvPool, "tutor");   // pads while it loads, so the box of X is the unclipped one
  const GroupAnalysis group = f.whole();
  TilePlan plan;
  plan.tile = {16, 1, 28, 2, 2};
  plan.order = {1};
  plan.red_tile = {0, 0, 0, 16, 3, 3};
  ASSERT_EQ(check(plan, group), "");
  const RegionMap regions = propagate(group, plan);
  const BufferPlan buffers = plan_buffers(group, plan, regions, f.machine);
  int64_t x = 0, w = 0;
  for (const PlannedBuffer& planned : buffers.buffers) {
    x = planned.buffer.name == "X" ? 4 * elements(planned) : x;
    w = planned.buffer.name == "W" ? 4 * elements(planned) : w;
  }
  EXPECT_EQ(x, 14848);
  EXPECT_EQ(w, 9216);
  EXPECT_EQ(regions.tiles, 28);
  EXPECT_EQ(regions.steps, 1);
}

TEST(Regions, WithoutPaddingOnLoadTheInputStaysInsideItsTensor) {
  Fixture f(kConvPool, "sw26010");
  const GroupAnalysis group = f.whole();
  TilePlan plan;
  plan.tile = {16, 1, 28, 2, 2};
  plan.order = {1};
  plan.red_tile = {0, 0, 0, 16, 3, 3};
  const BufferPlan buffers = plan_buffers(group, plan, propagate(group, plan), f.machine);
  std::vector<int64_t> loaded, padded;
  for (const PlannedBuffer& planned : buffers.buffers) {
    (planned.buffer.name == "X" ? loaded : planned.buffer.name == "X.pad" ? padded : loaded) =
        planned.buffer.name == "X" || planned.buffer.name == "X.pad" ? planned.buffer.shape : loaded;
  }
  EXPECT_THAT(loaded, ElementsAre(16, 4, 56));
  EXPECT_THAT(padded, ElementsAre(16, 4, 58));
}

TEST(Plans, TextRoundTripsForChosenPlans) {
  for (const char* chip : {"sw26010", "x86-64-v3", "tutor"}) {
    for (const char* text : {kConvPool, kGemm}) {
      Fixture f(text, chip);
      const GroupAnalysis group = f.whole();
      const TilePlan plan = choose_plan(group, f.context).value();
      const std::string printed = print(plan, group);
      const Result<TilePlan> parsed = parse_plan(printed, group, "plan");
      ASSERT_TRUE(parsed.ok()) << to_string(parsed.diags()) << printed;
      EXPECT_EQ(*parsed, plan) << printed;
    }
  }
}

TEST(Plans, BadTextIsRefusedWithTheReason) {
  Fixture f(kGemm, "sw26010");
  const GroupAnalysis group = f.whole();
  const auto refusal = [&](const char* text) { return to_string(parse_plan(text, group, "plan").diags()); };
  EXPECT_THAT(refusal("tile m:14 n:19 k:17 order red k:17 double_buffer"), HasSubstr("tile 14 of dim m is outside 1..13"));
  EXPECT_THAT(refusal("tile m:4 n:19 k:17 order red k:17 double_buffer"), HasSubstr("the order must name each tiled dim once"));
  EXPECT_THAT(refusal("tile z:4 order red double_buffer"), HasSubstr("has no dim 'z'"));
}

TEST(Plans, ChosenPlansFitAndLower) {
  for (const char* chip : {"sw26010", "x86-64-v3", "x86-64-v4", "tutor"}) {
    Fixture f(kConvPool, chip);
    const GroupAnalysis group = f.whole();
    const TilePlan plan = choose_plan(group, f.context).value();
    const Result<hw::Group> lowered = lower(group, plan, [](int t) { return t; }, f.context);
    EXPECT_TRUE(lowered.ok()) << chip << ": " << to_string(lowered.diags());
  }
}

TEST(Plans, OverflowNamesEveryBufferAndTheCapacity) {
  Fixture f(kConvPool, "sw26010");
  const GroupAnalysis group = f.whole();
  TilePlan plan;
  plan.tile = {16, 28, 28, 2, 2};
  plan.red_tile = {0, 0, 0, 16, 3, 3};
  const Result<hw::Group> lowered = lower(group, plan, [](int t) { return t; }, f.context);
  ASSERT_FALSE(lowered.ok());
  const std::string message = to_string(lowered.diags());
  EXPECT_THAT(message, HasSubstr("bytes of ldm, has 61440"));
  EXPECT_THAT(message, HasSubstr("X f32[16x56x56] 200704 B x1"));
  EXPECT_THAT(message, HasSubstr("W f32[16x16x3x3] 9216 B x1"));
}

TEST(Matching, AxesFollowTheIncidenceOfDims) {
  Fixture f(kGemm, "tutor");
  const GroupAnalysis group = f.whole();
  ASSERT_FALSE(group.intrinsics.empty());
  const IntrinsicMatch& match = group.intrinsics.front();
  const te::Semantics& semantics = f.machine.intrinsics[static_cast<size_t>(match.intrinsic)].semantics;
  ASSERT_EQ(semantics.axes.size(), 3u);
  for (size_t a = 0; a < semantics.axes.size(); ++a) {   // c[i,j] = ... sum(l, a[i,l] * b[l,j])
    const std::string& dim = group.stmts[0].dims[static_cast<size_t>(match.axis_to_dim[a])].name;
    EXPECT_EQ(dim, semantics.axes[a] == "i" ? "m" : semantics.axes[a] == "j" ? "n" : "k");
  }
}

TEST(Matching, ConvolutionTakesNoAxisTwiceInOneIndex) {
  Fixture f(kConvPool, "tutor");
  const GroupAnalysis group = f.whole();
  ASSERT_FALSE(group.intrinsics.empty());
  for (const IntrinsicMatch& match : group.intrinsics) {
    const te::Stmt& conv = group.stmts[static_cast<size_t>(group.streamed)];
    for (const te::Access& read : conv.reads) {
      for (const te::Affine& index : read.index) {
        int along = 0;
        for (int dim : match.axis_to_dim) {
          along += dim >= 0 && index.depends_on(dim) ? 1 : 0;
        }
        EXPECT_LE(along, 1);
      }
    }
  }
}

TEST(Matching, AMaximumIsNotAProduct) {
  Fixture f(R"(
tensor X f32[8,9] input
tensor Y f32[8] output
inputs X
outputs Y
stmt rows : reduce max
  par m:8
  red k:9
  Y[m] = X[m, k]
)",
            "tutor");
  EXPECT_TRUE(f.whole().intrinsics.empty());
  EXPECT_THAT(f.explain.lines(), testing::Contains(HasSubstr("refused")));
}

TEST(Bound, IsTheLargerOfArithmeticAndTraffic) {
  Fixture f(kGemm, "sw26010");
  // 2*13*17*19 = 8398 flops at 64 cores x 4 lanes x 2 = 512 a cycle: 16.4 cycles. Traffic 4*(221+323+247) = 3164 B at 26.5/1.45 = 18.28 B/cycle: 173.1.
  EXPECT_EQ(bound_cycles(f.whole(), f.machine), 174);
}

TEST(Fusion, ConvReluPoolIsOneGroupAndAnOutputInTheMiddleCutsIt) {
  Fixture whole(kConvPool, "sw26010");
  EXPECT_EQ(fuse(whole.module, whole.context).size(), 1u);
  std::string text = kConvPool;
  text.replace(text.find("tensor R f32[16,56,56] intermediate"), 35, "tensor R f32[16,56,56] output      ");
  text.replace(text.find("outputs P"), 9, "outputs P R");
  Fixture cut(text.c_str(), "sw26010");
  EXPECT_EQ(fuse(cut.module, cut.context).size(), 2u);
  EXPECT_THAT(cut.explain.lines(), testing::Contains(HasSubstr("output of the model")));
}

TEST(Arena, SharesBytesOnlyWhenLifetimesDoNotMeet) {
  std::vector<ArenaItem> items = {{1000, 0, 1, -1}, {1000, 1, 2, -1}, {1000, 2, 3, -1}, {500, 0, 3, -1}};
  const int64_t size = plan_arena(items, 128);
  for (size_t a = 0; a < items.size(); ++a) {
    EXPECT_EQ(items[a].offset % 128, 0);
    for (size_t b = 0; b < a; ++b) {
      const bool alive_together = items[a].first <= items[b].last && items[b].first <= items[a].last;
      const bool overlap = items[a].offset < items[b].offset + items[b].bytes && items[b].offset < items[a].offset + items[a].bytes;
      EXPECT_FALSE(alive_together && overlap) << a << " and " << b;
    }
  }
  EXPECT_EQ(size, 1024 + 1024 + 512);   // the first and the third share
}

}  // namespace
}  // namespace dlcc::lowering
