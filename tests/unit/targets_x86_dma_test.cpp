// Copies and fills of emitted x86 code against index-by-index expectations.
#include <functional>

#include "tests/unit/targets_x86_support.h"

namespace dlcc::x86_test {
namespace {

std::vector<float> ramp(int64_t count) {
  std::vector<float> x(static_cast<size_t>(count));
  for (size_t k = 0; k < x.size(); ++k) {
    x[k] = static_cast<float>(k) + 0.5F;
  }
  return x;
}

// A 3x3 convolution's input tile: the whole 5x7 plane with one element of padding around it.
TEST(X86Dma, HaloGetsTheFillValue) {
  Builder p;
  const int x = p.input(DType::F32, {5, 7});
  const int y = p.output(DType::F32, {7, 9});
  const int buffer = p.buffer(DType::F32, {7, 9}, {7, 16});
  const int i = p.var("i");
  const int j = p.var("j");
  const std::vector<hw::BoxDim> box = {dim(i, 7, 7), dim(j, 9, 9)};
  p.group.body.push_back({dma(0, box, in_tensor(x, {v(i) - 1, v(j) - 1}), in_buffer(buffer, {v(i), v(j)}), 0.25)});
  p.group.body.push_back({dma(1, box, in_buffer(buffer, {v(i), v(j)}), in_tensor(y, {v(i), v(j)}))});
  p.finish_group();
  const std::vector<float> in = ramp(35);
  const auto out = values<float>(run_program(p.program, machine(1), {bytes(in)}).at(0));
  for (int r = 0; r < 7; ++r) {
    for (int c = 0; c < 9; ++c) {
      const bool inside = r >= 1 && r <= 5 && c >= 1 && c <= 7;
      EXPECT_EQ(out[static_cast<size_t>(r * 9 + c)], inside ? in[static_cast<size_t>((r - 1) * 7 + c - 1)] : 0.25F)
          << r << "," << c;
    }
  }
}

// Rows 2 * i + 3 * t - 4 of a tensor of 11 rows: clipped at both ends, once completely outside.
TEST(X86Dma, StridedRowsAreClippedAtBothEnds) {
  Builder p;
  const int x = p.input(DType::F64, {11});
  const int y = p.output(DType::F64, {8, 4});
  const int buffer = p.buffer(DType::F64, {4}, {}, 2);
  const int t = p.var("t");
  const int slot = p.var("slot");
  const int i = p.var("i");
  const std::vector<hw::BoxDim> box = {dim(i, 4, 4)};
  hw::For loop{t, v(0), 8, 3, {}};  // the cores share the tiles: core, core + 3, ...
  loop.body.push_back({hw::Let{slot, hw::LetOp::Mod, v(t), 2}});
  loop.body.push_back({dma(0, box, in_tensor(x, {v(i, 2) + v(t, 3) - 4}), in_buffer(buffer, {v(i)}, v(slot)), -1.0)});
  loop.body.push_back({dma(1, box, in_buffer(buffer, {v(i)}, v(slot)), in_tensor(y, {v(t), v(i)}))});
  p.group.body.push_back({loop});
  p.finish_group();
  std::vector<double> in(11);
  for (size_t k = 0; k < in.size(); ++k) {
    in[k] = 100.0 + static_cast<double>(k);
  }
  const auto out = values<double>(run_program(p.program, machine(3), {bytes(in)}).at(0));
  for (int tile = 0; tile < 8; ++tile) {
    for (int k = 0; k < 4; ++k) {
      const int row = 2 * k + 3 * tile - 4;
      EXPECT_EQ(out[static_cast<size_t>(tile * 4 + k)], row >= 0 && row < 11 ? 100.0 + row : -1.0) << tile << "," << k;
    }
  }
}

TEST(X86Dma, NegativeStepReversesAndClips) {
  Builder p;
  const int x = p.input(DType::I16, {6});
  const int y = p.output(DType::I16, {9});
  const int buffer = p.buffer(DType::I16, {9});
  const int i = p.var("i");
  p.group.body.push_back({dma(0, {dim(i, 9, 9)}, in_tensor(x, {v(i, -1) + 7}), in_buffer(buffer, {v(i)}), 7.0)});
  p.group.body.push_back({dma(1, {dim(i, 9, 9)}, in_buffer(buffer, {v(i)}), in_tensor(y, {v(i)}))});
  p.finish_group();
  const std::vector<int16_t> in = {-1, 2, -3, 4, -5, 6};
  const auto out = values<int16_t>(run_program(p.program, machine(1), {bytes(in)}).at(0));
  // x[7 - i]: 7 and 6 are outside, then 6 5 4 3 2 1 of it, then -1 is outside
  EXPECT_EQ(out, (std::vector<int16_t>{7, 7, 6, -5, 4, -3, 2, -1, 7}));
}

// Tiles of 4 rows over 10: the last has two rows outside the output, which must not be written; box and index transpose
// on the way.
TEST(X86Dma, OutputIsClippedAndTransposed) {
  Builder p;
  const int x = p.input(DType::U8, {3, 12});
  const int y = p.output(DType::U8, {10, 3});
  const int buffer = p.buffer(DType::U8, {3, 4});
  const int i = p.var("i");
  const int j = p.var("j");
  const std::vector<hw::BoxDim> box = {dim(i, 3, 3), dim(j, 4, 4)};
  p.group.body.push_back({dma(0, box, in_tensor(x, {v(i), v(j) + v(0, 4)}), in_buffer(buffer, {v(i), v(j)}))});
  p.group.body.push_back({dma(1, box, in_buffer(buffer, {v(i), v(j)}), in_tensor(y, {v(j) + v(0, 4), v(i)}))});
  p.finish_group();
  std::vector<uint8_t> in(36);
  for (size_t k = 0; k < in.size(); ++k) {
    in[k] = static_cast<uint8_t>(k + 1);
  }
  const auto out = values<uint8_t>(run_program(p.program, machine(3), {bytes(in)}).at(0));
  for (size_t r = 0; r < 10; ++r) {
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(out[r * 3 + c], in[c * 12 + r]);
    }
  }
}

// A fixed index outside the tensor: nothing but fill; inside: one row. Extents come from a Let, and one tile has none
// left.
TEST(X86Dma, FixedIndexAndEmptyExtent) {
  Builder p;
  const int x = p.input(DType::F32, {2, 5});
  const int y = p.output(DType::F32, {4, 5});
  const int buffer = p.buffer(DType::F32, {5});
  const int left = p.var("left");
  const int i = p.var("i");
  p.group.body.push_back({hw::Let{left, hw::LetOp::Min, Affine(5), v(0, -5) + 15}});  // core 3 gets 0
  p.group.body.push_back({hw::Fill{0, {dim(i, 5, 5)}, in_buffer(buffer, {v(i)}), -3.0}});
  p.group.body.push_back(
      {dma(0, {dim(i, v(left), 5)}, in_tensor(x, {v(0) - 1, v(i)}), in_buffer(buffer, {v(i)}), 9.0)});
  p.group.body.push_back({dma(1, {dim(i, 5, 5)}, in_buffer(buffer, {v(i)}), in_tensor(y, {v(0), v(i)}))});
  p.finish_group();
  const auto out = values<float>(run_program(p.program, machine(4), {bytes(ramp(10))}).at(0));
  const std::vector<float> expected = {9,   9,   9,   9,   9,   0.5, 1.5, 2.5, 3.5, 4.5,
                                       5.5, 6.5, 7.5, 8.5, 9.5, -3,  -3,  -3,  -3,  -3};
  EXPECT_EQ(out, expected);
}

// Rows long enough for memcpy, whole planes that merge, and an If that leaves every second plane to the fill.
TEST(X86Dma, LargeBoxesMergeAndGuardsHold) {
  Builder p;
  const int x = p.tensor(DType::F32, {6, 8, 40}, hw::Space::Weights);
  const int y = p.output(DType::F32, {6, 8, 40});
  const int buffer = p.buffer(DType::F32, {1, 8, 40});
  const int c = p.var("c");
  const int half = p.var("half");
  const int i = p.var("i");
  const int j = p.var("j");
  const int k = p.var("k");
  const std::vector<hw::BoxDim> box = {dim(i, 1, 1), dim(j, 8, 8), dim(k, 40, 40)};
  hw::For loop{c, 0, 6, 1, {}};
  loop.body.push_back({hw::Fill{0, box, in_buffer(buffer, {v(i), v(j), v(k)}), 0.0}});
  loop.body.push_back({hw::Let{half, hw::LetOp::FloorDiv, v(c) - 3, 2}});  // -2 -1 -1 0 0 1
  hw::If guard{{v(half), v(c, -1) + 4}, {}};
  guard.body.push_back({dma(0, box, in_tensor(x, {v(c) + v(i), v(j), v(k)}), in_buffer(buffer, {v(i), v(j), v(k)}))});
  loop.body.push_back({guard});
  loop.body.push_back({dma(1, box, in_buffer(buffer, {v(i), v(j), v(k)}), in_tensor(y, {v(c) + v(i), v(j), v(k)}))});
  p.group.body.push_back({loop});
  p.finish_group();
  const std::vector<float> weights = ramp(6 * 8 * 40);
  const auto out = values<float>(run_program(p.program, machine(1), {}, bytes(weights)).at(0));
  for (size_t e = 0; e < weights.size(); ++e) {
    const size_t plane = e / 320;
    EXPECT_EQ(out[e], plane == 3 || plane == 4 ? weights[e] : 0.0F) << e;
  }
}

}  // namespace
}  // namespace dlcc::x86_test
