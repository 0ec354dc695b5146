// The Sunway emitter: hand-made Programs become athread C, are built with the shim, run on 64 slaves and compared with hand arithmetic,
// with te::apply (scalar operations) and with hw::expand (DMA descriptors).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "base/te/evaluate.h"
#include "hw/dma_expand.h"
#include "targets_sunway_support.h"

namespace dlcc::sunway_test {
namespace {

using hw::KernelInstr;
using hw::KernelOp;
using te::Op;

KernelInstr instr(KernelOp kind, DType type, int lanes, int dst, std::array<int, 3> src = {-1, -1, -1}) {
  KernelInstr i;
  i.kind = kind;
  i.type = type;
  i.lanes = lanes;
  i.dst = dst;
  i.src = src;
  return i;
}
KernelInstr memory(KernelOp kind, DType type, int lanes, int reg, int access, Affine offset, bool aligned = true) {
  KernelInstr i = instr(kind, type, lanes, kind == KernelOp::Store ? -1 : reg);
  if (kind == KernelOp::Store) {
    i.src[0] = reg;
  }
  i.access = access;
  i.offset = std::move(offset);
  i.aligned = aligned;
  return i;
}
KernelInstr compute(Op op, DType type, int lanes, int dst, std::array<int, 3> src) {
  KernelInstr i = instr(KernelOp::Compute, type, lanes, dst, src);
  i.op = op;
  return i;
}

/// y = x * 2 + 1 on `buffer`, n elements: vectors of 4, then scalars from where they stopped.
hw::Compute scale_leaf(Builder& b, int buffer, Affine slot, Affine n) {
  const int i = b.var("i");
  hw::Compute leaf;
  leaf.name = "scale";
  leaf.write = in_buffer(buffer, {v(i)}, slot);
  leaf.reads = {{in_buffer(buffer, {v(i)}, slot)}};
  leaf.kernel.registers = {{DType::F32, 4}, {DType::F32, 4}, {DType::F32, 4}, {DType::F32, 1}, {DType::F32, 1}, {DType::F32, 1}};
  KernelInstr two = instr(KernelOp::Const, DType::F32, 4, 1), one = instr(KernelOp::Const, DType::F32, 4, 2);
  KernelInstr two1 = instr(KernelOp::Const, DType::F32, 1, 4), one1 = instr(KernelOp::Const, DType::F32, 1, 5);
  two.number = two1.number = 2;
  one.number = one1.number = 1;
  leaf.kernel.body = {{two}, {one}, {two1}, {one1}};
  leaf.kernel.body.push_back({hw::KernelLoop{i, 0, n, 4, false,
                                             {{memory(KernelOp::Load, DType::F32, 4, 0, 0, v(i))},
                                              {compute(Op::Fma, DType::F32, 4, 0, {0, 1, 2})},
                                              {memory(KernelOp::Store, DType::F32, 4, 0, -1, v(i))}}}});
  leaf.kernel.body.push_back({hw::KernelLoop{i, 0, n, 1, true,
                                             {{memory(KernelOp::Load, DType::F32, 1, 3, 0, v(i))},
                                              {compute(Op::Fma, DType::F32, 1, 3, {3, 4, 5})},
                                              {memory(KernelOp::Store, DType::F32, 1, 3, -1, v(i))}}}});
  return leaf;
}

/// Each core scales its part of n floats, tile by tile, double buffered: GET of the next tile before the work on this one.
hw::Program scale_program(int64_t n, int cores, int64_t tile) {
  Builder b;
  const int x = b.input(DType::F32, {n}), y = b.output(DType::F32, {n});
  const int buffer = b.buffer(DType::F32, {tile}, {}, 2);
  const int64_t per_core = (n + cores - 1) / cores;
  const int t = b.var("t"), p = b.var("p"), slot = b.var("slot"), next = b.var("next"), size = b.var("size"), next_slot = b.var("next_slot");
  const auto start = [&](const Affine& at) { return v(0) * per_core + at; };
  const auto box = [&] { return std::vector{dim(p, tile, tile)}; };
  b.add(get(box(), in_tensor(x, {start(0) + v(p)}), in_buffer(buffer, {v(p)}, 0), 0.0, 0));
  hw::For loop{t, 0, per_core, tile, {}};
  loop.body.push_back(node(hw::Let{next, hw::LetOp::FloorDiv, v(t), tile}));
  loop.body.push_back(node(hw::Let{slot, hw::LetOp::Mod, v(next), 2}));
  loop.body.push_back(node(hw::Let{next_slot, hw::LetOp::Mod, v(next) + 1, 2}));
  loop.body.push_back(node(hw::Let{size, hw::LetOp::Min, tile, Affine(per_core) - v(t)}));
  loop.body.push_back(wait(v(slot)));
  hw::If more{{Affine(per_core - tile - 1) - v(t)}, {}};
  more.body.push_back(wait(v(next_slot) + 2));
  more.body.push_back(get(box(), in_tensor(x, {start(v(t) + tile) + v(p)}), in_buffer(buffer, {v(p)}, v(next_slot)), 0.0, v(next_slot)));
  loop.body.push_back(node(std::move(more)));
  loop.body.push_back(node(scale_leaf(b, buffer, v(slot), v(size))));
  loop.body.push_back(put({dim(p, v(size), tile)}, in_buffer(buffer, {v(p)}, v(slot)), in_tensor(y, {start(v(t)) + v(p)}), v(slot) + 2));
  b.add(node(std::move(loop)));
  b.add(wait(2));
  b.add(wait(3));
  b.finish_group();
  return b.program;
}

void expect_scaled(const Model& model, int64_t n) {
  std::vector<float> x(static_cast<size_t>(n)), y(static_cast<size_t>(n), -1);
  std::iota(x.begin(), x.end(), 0.5F);
  ASSERT_EQ(model.run({x.data()}, {y.data()}), 0);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(y[i], 2 * x[i] + 1) << i;
  }
}

TEST(SunwayEmit, ScalesInTilesOn64CoresWithEitherDmaTiming) {
  for (const int64_t n : {64 * 37, 5000}) {
    const Model model(scale_program(n, 64, 16), machine());
    for (const char* timing : {"immediate", "delayed"}) {
      model.configure(timing, nullptr);
      ASSERT_EQ(model.init(), 0);
      expect_scaled(model, n);
      expect_scaled(model, n);
    }
  }
}

TEST(SunwayEmit, FewerCoresAndFreshInit) {
  const Model model(scale_program(1000, 3, 64), machine(3));
  EXPECT_EQ(model.run({}, {}), 1);   // before init
  ASSERT_EQ(model.init(), 0);
  expect_scaled(model, 1000);
  model.function<void (*)()>("dlcc_model_free")();
  EXPECT_EQ(model.run({}, {}), 1);
  ASSERT_EQ(model.init(), 0);
  expect_scaled(model, 1000);
}

TEST(SunwayEmit, EveryWaitIsNeededWhenDataIsDelayed) {
  const hw::Program whole = scale_program(64 * 40, 64, 16);
  int waits = 0;
  hw::for_each_node(whole.groups[0].body, [&](const hw::Node& n) { waits += std::holds_alternative<hw::Wait>(n.v) ? 1 : 0; });
  ASSERT_EQ(waits, 4);
  std::vector<float> x(64 * 40), y(64 * 40);
  std::iota(x.begin(), x.end(), 0.5F);
  for (int removed = 0; removed < waits; ++removed) {
    hw::Program broken = whole;
    int at = 0;
    hw::for_each_node(broken.groups[0].body, [&](hw::Node& n) {
      if (std::holds_alternative<hw::Wait>(n.v) && at++ == removed) {
        n.v = hw::If{{Affine(-1)}, {}};
      }
    });
    const Model model(broken, machine());
    // In a child: the shim ends the program on waits that are missing at the end. Exit code 3: wrong values.
    const auto child = [&] {
      model.configure("delayed", nullptr);
      model.init();
      model.run({x.data()}, {y.data()});
      for (size_t i = 0; i < x.size(); ++i) {
        if (y[i] != 2 * x[i] + 1) {
          std::_Exit(3);
        }
      }
      std::_Exit(0);
    };
    EXPECT_EXIT(child(), [](int status) { return (WIFEXITED(status) && WEXITSTATUS(status) == 3) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT); }, "")
        << "wait " << removed;
  }
}

/// A 2-D box of each core with halo: rows 3*core-1 .. 3*core+3 and columns -2 .. 7 of a tensor of 64*3 x 6, filled with -7 outside.
TEST(SunwayEmit, PadsBoxesAndUsesPitch) {
  Builder b;
  const int x = b.input(DType::F32, {192, 6}), y = b.output(DType::F32, {64, 5, 10});
  const int buffer = b.buffer(DType::F32, {5, 10}, {5, 12});
  const int r = b.var("r"), c = b.var("c");
  b.add(get({dim(r, 5, 5), dim(c, 10, 10)}, in_tensor(x, {v(0) * 3 + v(r) - 1, v(c) - 2}), in_buffer(buffer, {v(r), v(c)}), -7.0));
  b.add(wait());
  b.add(put({dim(r, 5, 5), dim(c, 10, 10)}, in_buffer(buffer, {v(r), v(c)}), in_tensor(y, {v(0), v(r), v(c)})));
  b.add(wait());
  b.finish_group();
  const Model model(b.program, machine());
  ASSERT_EQ(model.init(), 0);
  std::vector<float> in(192 * 6), out(64 * 50, 99);
  std::iota(in.begin(), in.end(), 0.0F);
  ASSERT_EQ(model.run({in.data()}, {out.data()}), 0);
  for (int core = 0; core < 64; ++core) {
    for (int row = 0; row < 5; ++row) {
      for (int col = 0; col < 10; ++col) {
        const int gr = core * 3 + row - 1, gc = col - 2;
        const bool inside = gr >= 0 && gr < 192 && gc >= 0 && gc < 6;
        ASSERT_EQ(out[static_cast<size_t>((core * 5 + row) * 10 + col)], inside ? static_cast<float>(gr * 6 + gc) : -7.0F)
            << core << " " << row << " " << col;
      }
    }
  }
}

TEST(SunwayEmit, BarrierOrdersCoresAcrossGroups) {
  Builder b;
  const int x = b.input(DType::I32, {64, 8}), middle = b.tensor(DType::I32, {64, 8}), y = b.output(DType::I32, {64, 8});
  for (int g = 0; g < 2; ++g) {
    const int buffer = b.buffer(DType::I32, {8});
    const int p = b.var("p"), from = b.var("from");
    b.add(node(hw::Let{from, hw::LetOp::Mod, v(0) * 5 + 3, 64}));
    b.add(get({dim(p, 8, 8)}, in_tensor(g == 0 ? x : middle, {v(from), v(p)}), in_buffer(buffer, {v(p)})));
    b.add(wait());
    b.add(put({dim(p, 8, 8)}, in_buffer(buffer, {v(p)}), in_tensor(g == 0 ? middle : y, {v(0), v(p)})));
    b.add(wait());
    b.add(node(hw::Barrier{}));
    b.finish_group();
  }
  const Model model(b.program, machine());
  ASSERT_EQ(model.init(), 0);
  std::vector<int32_t> in(64 * 8), out(64 * 8);
  std::iota(in.begin(), in.end(), 0);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::fill(out.begin(), out.end(), -1);
    ASSERT_EQ(model.run({in.data()}, {out.data()}), 0);
    for (int core = 0; core < 64; ++core) {
      const int source = ((core * 5 + 3) % 64 * 5 + 3) % 64;
      ASSERT_EQ(out[static_cast<size_t>(core) * 8], source * 8) << core;
    }
  }
}

/// One random transfer per program: up to 4 dims, strides by coefficients, parts outside the tensor.
struct RandomTransfer {
  hw::Program program;
  hw::Dma dma;
};
RandomTransfer random_transfer(std::mt19937& random) {
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Builder b;
  const int rank = pick(1, 4);
  const bool put_it = pick(0, 2) == 0;
  std::vector<int64_t> shape, extent, buffer_shape, pitch;
  for (int d = 0; d < rank; ++d) {
    shape.push_back(pick(1, 9));
    extent.push_back(pick(1, 6));
    pitch.push_back(extent.back() + (pick(0, 2) == 0 ? pick(1, 3) : 0));
  }
  const int t = b.tensor(DType::F32, shape), buffer = b.buffer(DType::F32, extent, pitch);
  std::vector<hw::BoxDim> box;
  std::vector<Affine> far, near;
  for (int d = 0; d < rank; ++d) {
    const int p = b.var("p");
    box.push_back(dim(p, extent[static_cast<size_t>(d)], extent[static_cast<size_t>(d)]));
    const int64_t coef = pick(0, 4) == 0 ? 2 : pick(0, 6) == 0 ? -1 : 1;
    far.push_back(v(p, coef) + v(0, pick(-1, 1)) + pick(-3, coef < 0 ? 8 : 2));
    near.push_back(v(p));
  }
  if (rank >= 2 && pick(0, 2) == 0) {      // the buffer may hold the dims in another order
    std::swap(near[0], near[1]);
    std::swap(b.group.buffers[0].shape[0], b.group.buffers[0].shape[1]);
    std::swap(b.group.buffers[0].pitch[0], b.group.buffers[0].pitch[1]);
  }
  hw::Node leaf = put_it ? put(box, in_buffer(buffer, near), in_tensor(t, far)) : get(box, in_tensor(t, far), in_buffer(buffer, near), 1.5);
  b.add(leaf);
  b.add(wait());
  b.finish_group();
  return {b.program, std::get<hw::Dma>(leaf.v)};
}

TEST(SunwayEmit, DescriptorsEqualTheContract) {
  std::mt19937 random(20240607);
  hw::Machine m = machine(8);
  for (int round = 0; round < 3; ++round) {
    // Many transfers, each a group of one program.
    hw::Program program;
    std::vector<RandomTransfer> all;
    m.dma[0].max_dims = round == 1 ? 1 : 2;
    m.dma[0].max_block = round == 2 ? 12 : 0;
    m.dma[0].max_bytes = round == 2 ? 20 : 0;
    m.dma[0].max_stride = round == 2 ? 64 : 0;
    for (int k = 0; k < 60; ++k) {
      RandomTransfer transfer = random_transfer(random);
      hw::GlobalTensor t = transfer.program.tensors[0];
      t.offset = program.arena_bytes;
      program.arena_bytes += (t.bytes() + 127) / 128 * 128;
      hw::Group group = transfer.program.groups[0];
      auto& dma = std::get<hw::Dma>(group.body[0].v);
      (dma.dst.kind == hw::ObjectKind::Tensor ? dma.dst : dma.src).object = k;
      transfer.dma = dma;
      program.tensors.push_back(t);
      program.groups.push_back(group);
      all.push_back(transfer);
    }
    const Model model(program, m);
    const std::string trace = model.dir() / "trace.txt";
    model.configure("immediate", trace.c_str());
    ASSERT_EQ(model.init(), 0);
    ASSERT_EQ(model.run({}, {}), 0);
    std::ostringstream expected;
    size_t descriptors = 0;
    for (int core = 0; core < 8; ++core) {
      for (size_t g = 0; g < all.size(); ++g) {
        const hw::Group& group = program.groups[g];
        std::vector<int64_t> env(group.vars.size(), 0);
        env[0] = core;
        bool clipped = false;
        std::vector<hw::Descriptor> list;
        hw::expand(hw::clip(all[g].dma, group, program, env, &clipped), m.dma[0], list);
        descriptors += list.size();
        for (const hw::Descriptor& d : list) {
          expected << core << " " << g << (all[g].dma.dst.kind == hw::ObjectKind::Tensor ? " put" : " get") << " arena " << d.global << " " << d.local << " "
                   << d.block << " " << d.blocks << " " << d.global_stride << "\n";
        }
      }
    }
    EXPECT_GT(descriptors, 500u);
    EXPECT_EQ(read_file(trace), expected.str());
  }
}

/// Bits of interesting values of a type.
std::vector<uint64_t> interesting(DType type, std::mt19937_64& random) {
  std::vector<uint64_t> bits;
  if (type == DType::F32) {
    for (const float f : {0.0F, -0.0F, 1.0F, -1.0F, 0.5F, 1.5F, 2.5F, -2.5F, 3.7F, -3.7F, 1e10F, -1e10F, 3e38F, 1e-40F, 300.0F, 127.5F, 8388609.0F,
                          std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), 2147483648.0F}) {
      bits.push_back(std::bit_cast<uint32_t>(f));
    }
  } else if (type == DType::F64) {
    for (const double f : {0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, 3.7, 1e19, -1e19, 1e300, 5e-324, 65519.999, 65520.0, 1.00048828126, 6e-8,
                           std::numeric_limits<double>::infinity()}) {
      bits.push_back(std::bit_cast<uint64_t>(f));
    }
  } else {
    for (const int64_t k : {0, 1, 2, 3, 7, 8, 31, 63, -1, -2, -7, -128, 127, 200}) {
      bits.push_back(static_cast<uint64_t>(k));
    }
    bits.push_back(1ull << (8 * bytes_of(type) - 1));
  }
  while (bits.size() < 32) {
    bits.push_back(random());
  }
  const int bytes = bytes_of(type);
  for (uint64_t& b : bits) {
    b = type == DType::Bool ? (b & 1) : bytes == 8 ? b : b & ((1ull << (8 * bytes)) - 1);
    if ((type == DType::F16 && (b & 0x7c00) == 0x7c00) || (type == DType::F32 && (b & 0x7f800000) == 0x7f800000 && (b & 0x7fffff) != 0) ||
        (type == DType::F64 && (b & 0x7ff0000000000000) == 0x7ff0000000000000 && (b & 0xfffffffffffff) != 0)) {
      b = 0;                             // NaN payloads are not part of the contract
    }
  }
  return bits;
}

struct ScalarCase {
  Op op;
  DType type, operand;
};
constexpr std::array kTypes = {DType::F16, DType::F32, DType::F64, DType::I8, DType::I16, DType::I32, DType::I64,
                               DType::U8,  DType::U16, DType::U32, DType::U64, DType::Bool};

std::vector<ScalarCase> scalar_cases() {
  std::vector<ScalarCase> cases;
  const auto add = [&](std::initializer_list<Op> ops, DType type, bool gives_bool = false) {
    for (const Op op : ops) {
      cases.push_back({op, gives_bool ? DType::Bool : type, type});
    }
  };
  for (const DType type : kTypes) {
    add({Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne}, type, true);
    add({Op::Min, Op::Max, Op::Select}, type);
    for (const DType to : kTypes) {
      if (to != type) {
        cases.push_back({Op::Cast, to, type});
      }
    }
    if (type == DType::Bool) {
      add({Op::Not, Op::And, Op::Or, Op::Xor}, type);
      continue;
    }
    add({Op::Neg, Op::Abs, Op::Floor, Op::Ceil, Op::Round, Op::Trunc, Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Mod, Op::Rem}, type);
    if (is_float(type)) {
      add({Op::IsNan, Op::IsInf}, type, true);
      add({Op::Sqrt, Op::Fma}, type);
    } else {
      add({Op::BitNot, Op::And, Op::Or, Op::Xor, Op::Shl, Op::Shr}, type);
    }
  }
  return cases;
}

TEST(SunwayEmit, ScalarOperationsEqualTeApply) {
  // One group per case on one core: three operand arrays, one result array, all of 1024 combinations.
  constexpr int64_t kCount = 1024;
  const std::vector<ScalarCase> cases = scalar_cases();
  std::mt19937_64 random(7);
  std::map<DType, std::vector<uint64_t>> values;
  for (const DType type : kTypes) {
    values[type] = interesting(type, random);
  }
  Builder b;
  std::vector<std::vector<std::byte>> inputs, outputs;
  const auto operand = [&](const ScalarCase& c, int k) { return c.op == Op::Select && k == 0 ? DType::Bool : c.operand; };
  const auto bits = [&](DType type, int k, int64_t e) {
    const auto& list = values.at(type);
    return list[static_cast<size_t>(k == 0 ? e % 32 : k == 1 ? e / 32 : (e * 7 + e / 32) % 32)];
  };
  for (const ScalarCase& c : cases) {
    const int arity = te::arity_of(c.op);
    hw::Compute leaf;
    leaf.name = std::string(te::name_of(c.op));
    const int i = b.var("i"), p = b.var("p");
    KernelInstr op = compute(c.op, c.type, 1, arity, {-1, -1, -1});
    std::vector<hw::KernelNode> body;
    for (int k = 0; k < arity; ++k) {
      const DType type = operand(c, k);
      const int t = b.input(type, {kCount}), buffer = b.buffer(type, {kCount});
      inputs.emplace_back(static_cast<size_t>(kCount * bytes_of(type)));
      for (int64_t e = 0; e < kCount; ++e) {
        const uint64_t raw = bits(type, k, e);
        std::memcpy(inputs.back().data() + e * bytes_of(type), &raw, static_cast<size_t>(bytes_of(type)));
      }
      b.add(get({dim(p, kCount, kCount)}, in_tensor(t, {v(p)}), in_buffer(buffer, {v(p)}), std::nullopt, k));
      b.add(wait(k));
      leaf.reads.push_back({in_buffer(buffer, {v(i)})});
      leaf.kernel.registers.push_back({type, 1});
      body.push_back({memory(KernelOp::Load, type, 1, k, k, v(i))});
      op.src[static_cast<size_t>(k)] = k;
    }
    const int y = b.output(c.type, {kCount}), result = b.buffer(c.type, {kCount});
    outputs.emplace_back(static_cast<size_t>(kCount * bytes_of(c.type)));
    leaf.write = in_buffer(result, {v(i)});
    leaf.kernel.registers.push_back({c.type, 1});
    body.push_back({op});
    body.push_back({memory(KernelOp::Store, c.type, 1, arity, -1, v(i))});
    leaf.kernel.body.push_back({hw::KernelLoop{i, 0, kCount, 1, false, std::move(body)}});
    b.add(node(std::move(leaf)));
    b.add(put({dim(p, kCount, kCount)}, in_buffer(result, {v(p)}), in_tensor(y, {v(p)})));
    b.add(wait());
    b.finish_group();
  }
  const Model model(b.program, machine(1));
  ASSERT_EQ(model.init(), 0);
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const auto& data : inputs) {
    in.push_back(data.data());
  }
  for (auto& data : outputs) {
    out.push_back(data.data());
  }
  ASSERT_EQ(model.run(in, out), 0);
  size_t first_input = 0;
  for (size_t n = 0; n < cases.size(); ++n) {
    const ScalarCase& c = cases[n];
    const int arity = te::arity_of(c.op);
    int wrong = 0;
    for (int64_t e = 0; e < kCount; ++e) {
      std::array<te::Value, 3> x;
      for (int k = 0; k < arity; ++k) {
        x[static_cast<size_t>(k)] = te::load_element(operand(c, k), inputs[first_input + static_cast<size_t>(k)].data(), e);
      }
      std::byte want[8] = {}, got[8] = {};
      const te::Value expected = te::apply({.op = c.op, .type = c.type}, c.operand, x[0], x[1], x[2]);
      te::store_element(c.type, want, 0, expected);
      std::memcpy(got, outputs[n].data() + e * bytes_of(c.type), static_cast<size_t>(bytes_of(c.type)));
      const bool both_nan = is_float(c.type) && std::isnan(expected.f) && std::isnan(te::load_element(c.type, got, 0).f);
      if (!both_nan && std::memcmp(want, got, sizeof want) != 0 && ++wrong == 1) {
        ADD_FAILURE() << te::name_of(c.op) << " " << name_of(c.operand) << " -> " << name_of(c.type) << " element " << e << ": " << x[0].f << "/" << x[0].i
                      << ", " << x[1].f << "/" << x[1].i << ", " << x[2].f;
      }
    }
    first_input += static_cast<size_t>(arity);
  }
}

TEST(SunwayEmit, VectorAndSplitRegistersAgree) {
  // out = max(min(a[i], s), i) with s splat from memory: lanes without a C vector type (i64 and 2 lanes) go lane by lane.
  Builder b;
  const int x = b.input(DType::F32, {64}), y = b.output(DType::F32, {64});
  const int a = b.buffer(DType::F32, {64}), r = b.buffer(DType::F32, {64});
  const int i = b.var("i"), p = b.var("p");
  b.add(get({dim(p, 64, 64)}, in_tensor(x, {v(p)}), in_buffer(a, {v(p)})));
  b.add(wait());
  hw::Compute leaf;
  leaf.name = "clamp";
  leaf.write = in_buffer(r, {v(i)});
  leaf.reads = {{in_buffer(a, {v(i)})}};
  leaf.kernel.registers = {{DType::F32, 4}, {DType::F32, 4}, {DType::I64, 4}, {DType::F32, 4}, {DType::F32, 2}, {DType::F32, 2}, {DType::F32, 2}};
  KernelInstr index = instr(KernelOp::Index, DType::I64, 4, 2);
  index.offset = v(i);
  std::vector<hw::KernelNode> wide = {{memory(KernelOp::Load, DType::F32, 4, 0, 0, v(i) + 1, false)},
                                      {memory(KernelOp::LoadSplat, DType::F32, 4, 1, 0, 63)},
                                      {compute(Op::Min, DType::F32, 4, 0, {0, 1, -1})},
                                      {index},
                                      {compute(Op::Cast, DType::F32, 4, 3, {2, -1, -1})},
                                      {compute(Op::Max, DType::F32, 4, 0, {0, 3, -1})},
                                      {memory(KernelOp::Store, DType::F32, 4, 0, -1, v(i))}};
  std::vector<hw::KernelNode> narrow = {{memory(KernelOp::Load, DType::F32, 2, 4, 0, v(i))},
                                        {memory(KernelOp::LoadSplat, DType::F32, 2, 5, 0, 63)},
                                        {compute(Op::Mul, DType::F32, 2, 6, {4, 5, -1})},
                                        {memory(KernelOp::Store, DType::F32, 2, 6, -1, v(i))}};
  leaf.kernel.body = {{hw::KernelLoop{i, 0, 60, 4, false, wide}}, {hw::KernelLoop{i, 0, 64, 2, true, narrow}}};
  b.add(node(std::move(leaf)));
  b.add(put({dim(p, 64, 64)}, in_buffer(r, {v(p)}), in_tensor(y, {v(p)})));
  b.add(wait());
  b.finish_group();
  const Model model(b.program, machine(1));
  ASSERT_EQ(model.init(), 0);
  std::vector<float> in(64), out(64);
  for (size_t k = 0; k < 64; ++k) {
    in[k] = static_cast<float>((k * 37) % 64) * 1.25F;
  }
  ASSERT_EQ(model.run({in.data()}, {out.data()}), 0);
  for (size_t k = 0; k < 64; ++k) {
    const float wide_value = k < 60 ? std::max(std::min(in[k + 1], in[63]), static_cast<float>(k / 4 * 4)) : in[k] * in[63];
    EXPECT_EQ(out[k], wide_value) << k;
  }
}

TEST(SunwayEmit, CodeIsCleanC99) {
  const hw::Program program = scale_program(1000, 64, 16);
  const Model model(program, machine());
  const std::string flags = " -std=gnu99 -Wall -Wextra -pedantic -Werror -Wno-unknown-pragmas -O2 -fsyntax-only -DDLCC_ATHREAD_SHIM=1 -isystem " + shim_dir() +
                            "/include -I" + model.dir().string() + " -I" + model.dir().string() + "/runtime ";
  EXPECT_EQ(std::system(("cc" + flags + model.dir().string() + "/host/model_host.c").c_str()), 0);
  for (const auto& entry : std::filesystem::directory_iterator(model.dir() / "slave")) {
    if (entry.path().extension() == ".c") {
      EXPECT_EQ(std::system(("cc" + flags + entry.path().string()).c_str()), 0) << entry.path();
    }
  }
}

TEST(SunwayEmit, SameInputSameBytes) {
  const auto one = targets::sunway::emit(scale_program(1000, 64, 16), machine());
  const auto two = targets::sunway::emit(scale_program(1000, 64, 16), machine());
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->files, two->files);
  EXPECT_THAT(one->files.at("Makefile"), testing::HasSubstr("$(CC) -slave -msimd -O1"));
  EXPECT_TRUE(one->files.contains("runtime/dlcc_slave.h"));
}

TEST(SunwayEmit, RefusesWhatAthreadCannotSay) {
  hw::Program program = scale_program(100, 4, 16);
  program.groups[0].channels[0].kind = hw::ChannelKind::Flag;
  const auto flags = targets::sunway::emit(program, machine(4));
  ASSERT_FALSE(flags.ok());
  EXPECT_THAT(to_string(flags.diags()), testing::HasSubstr("channel c is a flag"));
  hw::Machine many = machine(65);
  const auto cores = targets::sunway::emit(scale_program(100, 4, 16), many);
  ASSERT_FALSE(cores.ok());
  EXPECT_THAT(to_string(cores.diags()), testing::HasSubstr("up to 64 slaves, the chip has 65"));
  hw::Machine full = machine(4);
  full.memories[1].reserved = 100;
  const auto statics = targets::sunway::emit(scale_program(100, 4, 16), full);
  ASSERT_FALSE(statics.ok());
  EXPECT_THAT(to_string(statics.diags()), testing::HasSubstr("reserves 100 bytes"));
}

}  // namespace
}  // namespace dlcc::sunway_test
