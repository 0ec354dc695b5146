// Descriptors of transfers: the rules one by one, and random boxes against an element-by-element enumeration.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "hw/dma_expand.h"

namespace dlcc::hw {
namespace {

DmaEngine engine(int max_dims) {
  DmaEngine e;
  e.max_dims = max_dims;
  return e;
}

std::vector<Descriptor> expand(const ConcreteBox& box, const DmaEngine& e) {
  std::vector<Descriptor> out;
  hw::expand(box, e, out);
  return out;
}

TEST(DmaExpand, MergesContiguousDims) {
  // 2 x 3 x 8 floats, dense on both sides: one block of 192 bytes.
  const ConcreteBox box{{2, 1, 3, 8}, {96, 7, 32, 4}, {96, 9, 32, 4}, 1000, 64, 4};
  EXPECT_EQ(expand(box, engine(2)), (std::vector<Descriptor>{{1000, 64, 192, 1, 0}}));
}

TEST(DmaExpand, BlocksWithAStride) {
  // Rows of 8 floats out of rows of 100; 3 planes 5000 bytes apart.
  const ConcreteBox box{{3, 5, 8}, {5000, 400, 4}, {160, 32, 4}, 12, 0, 4};
  EXPECT_EQ(expand(box, engine(2)),
            (std::vector<Descriptor>{{12, 0, 32, 5, 400}, {5012, 160, 32, 5, 400}, {10012, 320, 32, 5, 400}}));
  EXPECT_EQ(expand(box, engine(1)).size(), 15u);
  EXPECT_EQ(expand(box, engine(1))[6], (Descriptor{5412, 192, 32, 1, 0}));
}

TEST(DmaExpand, PaddedScratchpadRowsAreSeparate) {
  const ConcreteBox box{{2, 8}, {400, 4}, {48, 4}, 0, 0, 4};
  EXPECT_EQ(expand(box, engine(2)), (std::vector<Descriptor>{{0, 0, 32, 1, 0}, {400, 48, 32, 1, 0}}));
}

TEST(DmaExpand, NotContiguousInside) {
  // A column of 4 floats becomes 4 blocks of one element; transposed on the local side, the blocks are separate.
  EXPECT_EQ(expand({{4}, {40}, {4}, 0, 8, 4}, engine(2)), (std::vector<Descriptor>{{0, 8, 4, 4, 40}}));
  EXPECT_EQ(expand({{2}, {4}, {40}, 0, 8, 4}, engine(2)), (std::vector<Descriptor>{{0, 8, 4, 1, 0}, {4, 48, 4, 1, 0}}));
}

TEST(DmaExpand, Limits) {
  DmaEngine e = engine(2);
  e.max_block = 50;  // 48 bytes are whole floats
  EXPECT_EQ(expand({{25}, {4}, {4}, 0, 0, 4}, e),
            (std::vector<Descriptor>{{0, 0, 48, 1, 0}, {48, 48, 48, 1, 0}, {96, 96, 4, 1, 0}}));
  e = engine(2);
  e.max_bytes = 100;  // three blocks of 32
  const ConcreteBox rows{{5, 8}, {400, 4}, {32, 4}, 0, 0, 4};
  EXPECT_EQ(expand(rows, e), (std::vector<Descriptor>{{0, 0, 32, 3, 400}, {1200, 96, 32, 2, 400}}));
  e = engine(2);
  e.max_stride = 399;
  EXPECT_EQ(expand(rows, e).size(), 5u);
}

TEST(DmaExpand, EmptyBox) {
  EXPECT_TRUE(expand({{3, 0}, {4, 4}, {4, 4}, 0, 0, 4}, engine(2)).empty());
}

struct Case {
  Program program;
  Group group;
  Dma dma;
};

/// A tensor of 6x7 at byte 20 and a buffer of 2 slots of 5x6 with rows of 8, at byte 64.
Case small_case(bool put) {
  Case c;
  c.program.tensors = {{"t", DType::F32, {6, 7}, Space::Arena, 20}};
  c.group.vars = {"core", "y", "x", "i", "j", "s"};
  c.group.buffers = {{"b", 1, DType::F32, {5, 6}, {5, 8}, {}, 2, 64, 160}};
  const View tensor{
      ObjectKind::Tensor, 0, {}, {te::Affine::var(1) + te::Affine::var(3), te::Affine::var(2) + te::Affine::var(4)}};
  const View buffer{ObjectKind::Buffer, 0, te::Affine::var(5), {te::Affine::var(3), te::Affine::var(4)}};
  c.dma.box = {{3, Affine(5), 5, te::DimKind::Par}, {4, Affine(6), 6, te::DimKind::Par}};
  c.dma.src = put ? buffer : tensor;
  c.dma.dst = put ? tensor : buffer;
  if (!put) {
    c.dma.fill = 0;
  }
  return c;
}

TEST(DmaClip, CornersOfAPaddedBox) {
  const Case c = small_case(false);
  bool clipped = false;
  // Origin (-1, 3): rows 0..3 and columns 3..6 of the tensor arrive at buffer (1, 0).
  const ConcreteBox box = clip(c.dma, c.group, c.program, std::vector<int64_t>{0, -1, 3, 0, 0, 1}, &clipped);
  EXPECT_TRUE(clipped);
  EXPECT_EQ(box.extent, (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(box.global, 20 + 4 * 3);
  EXPECT_EQ(box.local, 64 + 160 + 4 * 8);
  EXPECT_EQ(box.global_stride, (std::vector<int64_t>{28, 4}));
  EXPECT_EQ(box.local_stride, (std::vector<int64_t>{32, 4}));
  const ConcreteBox inside = clip(c.dma, c.group, c.program, std::vector<int64_t>{0, 1, 1, 0, 0, 0}, &clipped);
  EXPECT_FALSE(clipped);
  EXPECT_EQ(inside.extent, (std::vector<int64_t>{5, 6}));
  const ConcreteBox outside = clip(c.dma, c.group, c.program, std::vector<int64_t>{0, 6, 0, 0, 0, 0}, &clipped);
  EXPECT_TRUE(clipped);
  EXPECT_EQ(outside.extent[0], 0);
}

TEST(DmaClip, APointWithoutDims) {
  Case c = small_case(true);
  c.dma.box.clear();
  c.dma.src.index = {Affine(1), Affine(2)};
  c.dma.dst.index = {te::Affine::var(1), Affine(3)};
  bool clipped = false;
  const ConcreteBox box = clip(c.dma, c.group, c.program, std::vector<int64_t>{0, 2, 0, 0, 0, 0}, &clipped);
  EXPECT_FALSE(clipped);
  EXPECT_EQ(expand(box, engine(2)), (std::vector<Descriptor>{{20 + 4 * 17, 64 + 4 * 10, 4, 1, 0}}));
  EXPECT_TRUE(
      expand(clip(c.dma, c.group, c.program, std::vector<int64_t>{0, 9, 0, 0, 0, 0}, &clipped), engine(2)).empty());
  EXPECT_TRUE(clipped);
}

TEST(DmaClip, BlockedSideCountsRuns) {
  Case c = small_case(false);
  c.group.buffers[0].layout = {{0, 0, 1}, {1, 0, 2}, {1, 2, 1}};
  EXPECT_TRUE(has_blocked_side(c.dma, c.group));
  const auto descriptors =
      expand(clip(c.dma, c.group, c.program, std::vector<int64_t>{0, 1, 1, 0, 0, 0}, nullptr), engine(2));
  ASSERT_EQ(descriptors.size(), 1u);
  EXPECT_EQ(descriptors[0].block, 24);
  EXPECT_EQ(descriptors[0].blocks, 5);
}

/// Bytes moved, global -> local, one by one from the definition of Dma.
std::map<int64_t, int64_t> naive(const Case& c, const std::vector<int64_t>& env, bool put) {
  std::map<int64_t, int64_t> out;
  const Buffer& buffer = c.group.buffers[0];
  for (int64_t i = 0; i < c.dma.box[0].extent.eval(env); ++i) {
    for (int64_t j = 0; j < c.dma.box[1].extent.eval(env); ++j) {
      std::vector<int64_t> at = env;
      at[3] = i;
      at[4] = j;
      const View& tensor = put ? c.dma.dst : c.dma.src;
      const View& local = put ? c.dma.src : c.dma.dst;
      const int64_t y = tensor.index[0].eval(at), x = tensor.index[1].eval(at);
      if (y < 0 || y >= 6 || x < 0 || x >= 7) {
        continue;
      }
      const std::vector<int64_t> coordinate = {local.index[0].eval(at), local.index[1].eval(at)};
      const int64_t to =
          buffer.offset + local.slot.eval(at) * buffer.slot_bytes + 4 * buffer.element_offset(coordinate);
      for (int64_t b = 0; b < 4; ++b) {
        out[20 + 4 * (y * 7 + x) + b] = to + b;
      }
    }
  }
  return out;
}

TEST(DmaExpand, RandomBoxesEqualTheDefinition) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 4000; ++round) {
    const bool put = pick(0, 1) == 1;
    Case c = small_case(put);
    // Strided, mirrored or transposed on the tensor's side; partial extents.
    const bool transpose = pick(0, 3) == 0;
    const int64_t coef = std::vector<int64_t>{1, 1, 2, -1}[static_cast<size_t>(pick(0, 3))];
    View& tensor = put ? c.dma.dst : c.dma.src;
    tensor.index[0] = te::Affine::var(1) + te::Affine::var(transpose ? 4 : 3, coef);
    tensor.index[1] = te::Affine::var(2) + te::Affine::var(transpose ? 3 : 4);
    c.dma.box[0].extent = Affine(pick(0, 5));
    c.dma.box[1].extent = Affine(pick(1, 6));
    const std::vector<int64_t> env = {0, pick(-3, 7), pick(-3, 8), 0, 0, pick(0, 1)};
    DmaEngine e = engine(static_cast<int>(pick(1, 3)));
    e.max_block = pick(0, 1) * pick(4, 30);
    e.max_bytes = pick(0, 1) * pick(4, 60);
    e.max_stride = pick(0, 2) == 0 ? 30 : 0;
    std::map<int64_t, int64_t> moved;
    for (const Descriptor& d : expand(clip(c.dma, c.group, c.program, env, nullptr), e)) {
      EXPECT_TRUE(e.max_block == 0 || d.block <= e.max_block);
      EXPECT_TRUE(e.max_bytes == 0 || d.bytes() <= e.max_bytes);
      EXPECT_TRUE(d.blocks == 1 || (e.max_dims >= 2 && (e.max_stride == 0 || d.global_stride <= e.max_stride)));
      for (int64_t b = 0; b < d.bytes(); ++b) {
        const bool fresh = moved.emplace(d.global + b / d.block * d.global_stride + b % d.block, d.local + b).second;
        EXPECT_TRUE(fresh);
      }
    }
    ASSERT_EQ(moved, naive(c, env, put)) << "round " << round;
  }
}

}  // namespace
}  // namespace dlcc::hw
