// Kernels, entry points and refusals of the x86 emitter. Values are compared bit for bit with te::apply or with plain
// C++ loops.
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "base/te/evaluate.h"
#include "tests/unit/targets_x86_support.h"

namespace dlcc::x86_test {
namespace {

using hw::KernelInstr;
using hw::KernelLoop;
using hw::KernelOp;
using te::Op;

/// The instructions of one point block of an element-wise expression: reads and write at offset `at`.
std::vector<hw::KernelNode> point_block(hw::Kernel& kernel, const te::ScalarExpr& body, int lanes, const Affine& at) {
  std::vector<hw::KernelNode> nodes;
  const auto first = static_cast<int>(kernel.registers.size());
  for (const te::ScalarNode& node : body) {
    KernelInstr instr;
    instr.kind = node.op == Op::Const ? KernelOp::Const : node.op == Op::Load ? KernelOp::Load : KernelOp::Compute;
    instr.op = node.op;
    instr.type = node.type;
    instr.lanes = lanes;
    instr.dst = static_cast<int>(kernel.registers.size());
    instr.number = node.number;
    instr.integer = node.integer;
    instr.access = node.op == Op::Load ? static_cast<int>(node.integer) : -1;
    instr.offset = at;
    const int operands[] = {node.a, node.b, node.c};
    for (size_t k = 0; k < 3; ++k) {
      instr.src[k] = operands[k] < 0 ? -1 : first + operands[k];
    }
    kernel.registers.push_back({node.type, lanes});
    nodes.push_back({instr});
  }
  KernelInstr store;
  store.kind = KernelOp::Store;
  store.type = body.back().type;
  store.lanes = lanes;
  store.src[0] = static_cast<int>(kernel.registers.size()) - 1;
  store.offset = at;
  nodes.push_back({store});
  return nodes;
}

/// y = body(reads...) over n elements: vectors of 8, then single elements; the elements are shared by the cores in
/// tiles of unequal size.
hw::Program elementwise(const te::ScalarExpr& body, const std::vector<DType>& reads, int64_t n, int cores) {
  Builder p;
  const int64_t tile = (n + cores - 1) / cores;
  std::vector<int> inputs, buffers;
  for (const DType type : reads) {
    inputs.push_back(p.input(type, {n}));
    buffers.push_back(p.buffer(type, {tile}));
  }
  const int y = p.output(body.back().type, {n});
  const int result = p.buffer(body.back().type, {tile});
  const int left = p.var("left");
  const int i = p.var("i");
  p.group.body.push_back({hw::Let{left, hw::LetOp::Min, Affine(tile), v(0, -tile) + n}});
  const std::vector<hw::BoxDim> box = {dim(i, v(left), tile)};
  hw::Compute leaf;
  leaf.name = "map";
  leaf.dims = box;
  leaf.write = in_buffer(result, {v(i)});
  for (size_t k = 0; k < reads.size(); ++k) {
    p.group.body.push_back({dma(0, box, in_tensor(inputs[k], {v(i) + v(0, tile)}), in_buffer(buffers[k], {v(i)}))});
    leaf.reads.push_back({in_buffer(buffers[k], {v(i)})});
  }
  leaf.body = body;
  const int at = p.var("at");
  KernelLoop vectors{at, 0, v(left), 8, false, {}};
  vectors.body = point_block(leaf.kernel, body, 8, v(at));
  KernelLoop rest{at, 0, v(left), 1, true, {}};
  rest.body = point_block(leaf.kernel, body, 1, v(at));
  leaf.kernel.body = {{vectors}, {rest}};
  p.group.body.push_back({leaf});
  p.group.body.push_back({dma(1, box, in_buffer(result, {v(i)}), in_tensor(y, {v(i) + v(0, tile)}))});
  p.finish_group();
  return p.program;
}

/// Interesting values of a type, cycled with different periods so that most pairs meet.
std::vector<std::byte> samples(DType type, int64_t n, size_t operand, bool tame) {
  std::vector<te::Value> list;
  const double inf = std::numeric_limits<double>::infinity();
  if (is_float(type)) {
    for (const double x : {0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.75, -7.25, 100.5, 1e-3}) {
      list.push_back({x, 0});
    }
    if (!tame) {
      for (const double x : {inf, -inf, std::nan(""), 65504.0, 1e-7, 3e9, -3e9, 1e30, -1e30, 1e19}) {
        list.push_back({x, 0});
      }
    }
  } else {
    for (const int64_t x :
         {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{-3}, int64_t{7}, int64_t{100}, int64_t{127},
          int64_t{-128}, int64_t{31}, int64_t{32}, int64_t{64}, std::numeric_limits<int64_t>::max(),
          std::numeric_limits<int64_t>::min(), int64_t{INT32_MIN}}) {
      list.push_back({0, x});
    }
  }
  std::vector<std::byte> data(static_cast<size_t>(n * bytes_of(type)));
  const size_t step = std::array<size_t, 3>{1, 5, 3}[operand];
  for (int64_t k = 0; k < n; ++k) {
    const auto at = static_cast<size_t>(k);
    te::store_element(type, data.data(), k, list[(at * step + operand + at / list.size()) % list.size()]);
  }
  return data;
}

struct OpCase {
  Op op;
  DType result;
  std::vector<DType> operands;
  bool tame = false;  // only values for which the operation is specified
};

bool same_value(DType type, const std::byte* a, const std::byte* b, int64_t k) {
  const te::Value x = te::load_element(type, a, k);
  const te::Value y = te::load_element(type, b, k);
  if (is_float(type) && std::isnan(x.f) && std::isnan(y.f)) {
    return true;  // scalar.h says nothing of the payload
  }
  const auto size = static_cast<size_t>(bytes_of(type));
  return std::memcmp(a + static_cast<size_t>(k) * size, b + static_cast<size_t>(k) * size, size) == 0;
}

std::vector<OpCase> op_cases() {
  using D = DType;
  std::vector<OpCase> cases;
  for (const D t : {D::F32, D::F64, D::F16}) {
    for (const Op op : {Op::Neg, Op::Abs, Op::Floor, Op::Ceil, Op::Round, Op::Trunc, Op::Sqrt}) {
      cases.push_back({op, t, {t}});
    }
    for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Mod, Op::Rem, Op::Min, Op::Max}) {
      cases.push_back({op, t, {t, t}});
    }
    for (const Op op : {Op::IsNan, Op::IsInf}) {
      cases.push_back({op, D::Bool, {t}});
    }
    cases.push_back({Op::Fma, t, {t, t, t}});
    cases.push_back({Op::Select, t, {D::Bool, t, t}});
  }
  for (const D t : {D::I8, D::I32, D::I64, D::U8, D::U16, D::U32, D::U64}) {
    for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Mod, Op::Rem, Op::Min, Op::Max, Op::And, Op::Or,
                        Op::Xor, Op::Shl, Op::Shr}) {
      cases.push_back({op, t, {t, t}});
    }
    for (const Op op : {Op::Neg, Op::Abs, Op::BitNot}) {
      cases.push_back({op, t, {t}});
    }
  }
  for (const D t : {D::F32, D::I32, D::U64, D::Bool}) {
    for (const Op op : {Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne}) {
      cases.push_back({op, D::Bool, {t, t}});
    }
  }
  for (const Op op : {Op::And, Op::Or, Op::Xor}) {
    cases.push_back({op, D::Bool, {D::Bool, D::Bool}});
  }
  cases.push_back({Op::Not, D::Bool, {D::Bool}});
  for (const D from : {D::F32, D::F64, D::F16, D::I32, D::I64, D::U64, D::U8, D::Bool}) {
    for (const D to : {D::F32, D::F64, D::F16, D::I8, D::I32, D::I64, D::U8, D::U32, D::U64, D::Bool}) {
      if (from != to) {
        cases.push_back({Op::Cast, to, {from}});
      }
    }
  }
  return cases;
}

// One group for each operation, all in one model: every operation and type through vectors and the scalar rest.
TEST(X86Kernel, EveryOperationMatchesItsMeaning) {
  constexpr int64_t kCount = 331;  // not a multiple of 8, and prime against the sample lists
  hw::Program all;
  std::vector<std::vector<std::byte>> inputs;
  const std::vector<OpCase> cases = op_cases();
  std::vector<te::ScalarNode> nodes;
  for (const OpCase& c : cases) {
    te::ScalarExpr body;
    te::ScalarNode op;
    op.op = c.op;
    op.type = c.result;
    for (size_t k = 0; k < c.operands.size(); ++k) {
      te::ScalarNode load;
      load.op = Op::Load;
      load.type = c.operands[k];
      load.integer = static_cast<int64_t>(k);
      body.push_back(load);
      inputs.push_back(samples(c.operands[k], kCount, k, c.tame));
      (k == 0 ? op.a : k == 1 ? op.b : op.c) = static_cast<int32_t>(k);
    }
    body.push_back(op);
    nodes.push_back(op);
    hw::Program one = elementwise(body, c.operands, kCount, 3);
    const auto shift = static_cast<int>(all.tensors.size());
    const int64_t start = (all.arena_bytes + 127) / 128 * 128;
    for (hw::GlobalTensor& t : one.tensors) {
      t.offset += start;
      all.tensors.push_back(t);
    }
    hw::for_each_node(one.groups[0].body, [&](hw::Node& node) {
      if (auto* dma = std::get_if<hw::Dma>(&node.v)) {
        (dma->src.kind == hw::ObjectKind::Tensor ? dma->src : dma->dst).object += shift;
      }
    });
    for (const int id : one.inputs) {
      all.inputs.push_back(id + shift);
    }
    all.outputs.push_back(one.outputs[0] + shift);
    all.arena_bytes = start + one.arena_bytes;
    all.groups.push_back(one.groups[0]);
  }
  // The lowest level has neither FMA nor roundps: there LLVM calls the C library.
  for (const auto& m : {machine(3, {"x86-64-v4", "x86-64-v3", "x86-64"}), machine(3, {"x86-64"})}) {
    const auto outputs = run_program(all, m, inputs);
    ASSERT_EQ(outputs.size(), cases.size());
    size_t input = 0;
    for (size_t c = 0; c < cases.size(); ++c) {
      const size_t arity = cases[c].operands.size();
      const DType operand = cases[c].operands[cases[c].op == Op::Select ? 1 : 0];
      std::vector<std::byte> expected(outputs[c].size());
      int wrong = 0;
      for (int64_t k = 0; k < kCount; ++k) {
        te::Value x[3] = {};
        for (size_t a = 0; a < arity; ++a) {
          x[a] = te::load_element(cases[c].operands[a], inputs[input + a].data(), k);
        }
        te::store_element(cases[c].result, expected.data(), k, te::apply(nodes[c], operand, x[0], x[1], x[2]));
        if (!same_value(cases[c].result, expected.data(), outputs[c].data(), k) && wrong++ < 3) {
          ADD_FAILURE() << te::name_of(cases[c].op) << " " << name_of(operand) << " -> " << name_of(cases[c].result)
                        << " of " << x[0].f << "|" << x[0].i << ", " << x[1].f << "|" << x[1].i << ": expected "
                        << te::load_element(cases[c].result, expected.data(), k).f << "|"
                        << te::load_element(cases[c].result, expected.data(), k).i << ", got "
                        << te::load_element(cases[c].result, outputs[c].data(), k).f << "|"
                        << te::load_element(cases[c].result, outputs[c].data(), k).i;
        }
      }
      input += arity;
    }
  }
}

TEST(X86Kernel, PowersAndParts) {
  te::ScalarBuilder b;
  const int x = b.load(DType::F32, 0);
  // 2^exponent * mantissa gives x back, for every positive normal x
  const te::ScalarExpr body =
      b.finish(b.binary(Op::Mul, b.unary(Op::Exp2i, b.unary(Op::Exponent, x)), b.unary(Op::Mantissa, x)));
  std::vector<float> in;
  for (int e = -126; e <= 127; ++e) {
    in.push_back(std::ldexp(1.0F, e));
    in.push_back(std::ldexp(1.7182819F, e));
  }
  const auto n = static_cast<int64_t>(in.size());
  EXPECT_EQ(values<float>(run_program(elementwise(body, {DType::F32}, n, 2), machine(2), {bytes(in)}).at(0)), in);

  te::ScalarBuilder d;
  const te::ScalarExpr pow2 = d.finish(d.unary(Op::Exp2i, d.load(DType::F64, 0)));
  const std::vector<double> exponents = {-1022, -1, 0, 1, 3, 10, 52, 1023};
  const std::vector<double> expected = {0x1p-1022, 0.5, 1, 2, 8, 1024, 0x1p52, 0x1p1023};
  EXPECT_EQ(values<double>(run_program(elementwise(pow2, {DType::F64}, 8, 1), machine(1), {bytes(exponents)}).at(0)),
            expected);
}

/// c[m,n] = sum over k of a[m,k] * b[k,n]: rows of c shared by the cores, k in tiles of 8 with a rest, n in vectors of
/// 8 and single columns.
hw::Program gemm(int64_t m, int64_t n, int64_t k) {
  Builder p;
  const int a = p.input(DType::F32, {m, k});
  const int w = p.tensor(DType::F32, {k, n}, hw::Space::Weights);
  const int c = p.output(DType::F32, {m, n});
  const int a_tile = p.buffer(DType::F32, {1, 8});
  const int w_tile = p.buffer(DType::F32, {8, n});
  const int c_tile = p.buffer(DType::F32, {1, n});
  const int row = p.var("row"), k0 = p.var("k0"), left = p.var("left"), i = p.var("i"), j = p.var("j");
  const int at = p.var("at"), l = p.var("l");
  const std::vector<hw::BoxDim> c_box = {dim(i, n, n)};
  const std::vector<hw::BoxDim> a_box = {dim(i, v(left), 8)};
  const std::vector<hw::BoxDim> w_box = {dim(i, v(left), 8), dim(j, n, n)};
  hw::Compute leaf;
  leaf.name = "gemm";
  leaf.dims = w_box;
  leaf.write = in_buffer(c_tile, {0, v(j)});
  leaf.reads = {{in_buffer(a_tile, {0, v(i)})}, {in_buffer(w_tile, {v(i), v(j)})}};
  leaf.accumulate = true;
  for (const int lanes : {8, 1}) {
    const auto first = static_cast<int>(leaf.kernel.registers.size());
    for (int r = 0; r < 3; ++r) {
      leaf.kernel.registers.push_back({DType::F32, lanes});
    }
    const auto instr = [&](KernelOp kind, int access, const Affine& offset, int reg) {
      KernelInstr out;
      out.kind = kind;
      out.lanes = lanes;
      out.access = access;
      out.offset = offset;
      (kind == KernelOp::Store ? out.src[0] : out.dst) = first + reg;
      return out;
    };
    KernelInstr fma = instr(KernelOp::Compute, -1, 0, 0);
    fma.op = Op::Fma;
    fma.src = {first + 1, first + 2, first};
    KernelLoop inner{l, 0, v(left), 1, false, {}};
    inner.body = {{instr(KernelOp::LoadSplat, 0, v(l), 1)}, {instr(KernelOp::Load, 1, v(at) + v(l, n), 2)}, {fma}};
    KernelLoop columns{at, 0, n, lanes, lanes == 1, {}};
    columns.body = {{instr(KernelOp::Load, -1, v(at), 0)}, {inner}, {instr(KernelOp::Store, -1, v(at), 0)}};
    leaf.kernel.body.push_back({columns});
  }
  hw::For k_loop{k0, 0, k, 8, {}};
  k_loop.body = {{hw::Let{left, hw::LetOp::Min, Affine(8), v(k0, -1) + k}},
                 {dma(0, a_box, in_tensor(a, {v(row), v(k0) + v(i)}), in_buffer(a_tile, {0, v(i)}))},
                 {dma(0, w_box, in_tensor(w, {v(k0) + v(i), v(j)}), in_buffer(w_tile, {v(i), v(j)}))},
                 {leaf}};
  hw::For rows{row, v(0), m, 2, {}};
  rows.body = {{hw::Fill{0, c_box, in_buffer(c_tile, {0, v(i)}), 0}},
               {k_loop},
               {dma(1, c_box, in_buffer(c_tile, {0, v(i)}), in_tensor(c, {v(row), v(i)}))}};
  p.group.body = {{hw::Barrier{}}, {rows}, {hw::Barrier{}}};
  p.finish_group();
  return p.program;
}

struct GemmData {
  std::vector<float> a, w, c;
};
GemmData gemm_data(int64_t m, int64_t n, int64_t k) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  GemmData d{std::vector<float>(static_cast<size_t>(m * k)), std::vector<float>(static_cast<size_t>(k * n)),
             std::vector<float>(static_cast<size_t>(m * n))};
  for (auto* list : {&d.a, &d.w}) {
    for (float& x : *list) {
      x = uniform(random);
    }
  }
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum = std::fma(d.a[static_cast<size_t>(i * k + l)], d.w[static_cast<size_t>(l * n + j)], sum);
      }
      d.c[static_cast<size_t>(i * n + j)] = sum;
    }
  }
  return d;
}

TEST(X86Kernel, GemmAccumulatesWithFmaInOrder) {
  const GemmData d = gemm_data(13, 19, 17);
  const auto out = run_program(gemm(13, 19, 17), machine(2), {bytes(d.a)}, bytes(d.w));
  EXPECT_EQ(values<float>(out.at(0)), d.c);
}

TEST(X86Kernel, IndirectLoadsWrapAndClamp) {
  Builder p;
  const int table = p.tensor(DType::F32, {4, 2}, hw::Space::Weights);
  const int index = p.input(DType::I32, {6});
  const int y = p.output(DType::F32, {6, 2});
  const int i = p.var("i"), j = p.var("j");
  hw::Compute leaf;
  leaf.name = "gather";
  leaf.write = in_tensor(y, {v(i), v(j)});
  leaf.reads = {{in_tensor(table, {0, v(j)}), 0, 1}, {in_tensor(index, {v(i)})}};
  leaf.kernel.registers = {{DType::I32, 1}, {DType::F32, 1}};
  KernelInstr position, load, store;
  position.kind = KernelOp::Load, position.type = DType::I32, position.access = 1, position.offset = v(i),
  position.dst = 0;
  load.kind = KernelOp::Load, load.access = 0, load.offset = v(j), load.dst = 1;
  load.index_register = 0, load.index_extent = 4, load.index_stride = 2;
  store.kind = KernelOp::Store, store.offset = v(i, 2) + v(j), store.src[0] = 1;
  KernelLoop inner{j, 0, 2, 1, false, {{position}, {load}, {store}}};
  leaf.kernel.body = {{KernelLoop{i, 0, 6, 1, false, {{inner}}}}};
  p.group.body = {{leaf}};
  p.finish_group();
  const std::vector<float> rows = {0, 1, 10, 11, 20, 21, 30, 31};
  const auto out =
      run_program(p.program, machine(1), {bytes(std::vector<int32_t>{0, 3, -1, -4, 99, -99})}, bytes(rows));
  EXPECT_EQ(values<float>(out.at(0)), (std::vector<float>{0, 1, 30, 31, 30, 31, 0, 1, 30, 31, 0, 1}));
}

TEST(X86Model, EntryPointsReportWhatIsWrong) {
  const GemmData d = gemm_data(3, 9, 5);
  Model model(gemm(3, 9, 5), machine(2));
  ASSERT_TRUE(model.loaded());
  float out[27] = {};
  const void* in[] = {d.a.data()};
  void* outs[] = {out};
  auto* run = model.symbol<int(const void* const*, void* const*, int)>("dlcc_model_run");
  EXPECT_EQ(run(in, outs, 1), 1) << "run before init";
  EXPECT_EQ(model.cpu(), "");
  EXPECT_EQ(model.init(std::vector<std::byte>(16)), 2) << "16 bytes of weights";
  const std::vector<std::byte> weights = bytes(d.w);
  EXPECT_EQ(model.init(weights), 0);
  EXPECT_EQ(model.init(weights), 0) << "again";
  // more threads than cores, and the runtime's choice
  for (const int threads : {64, 0, -1}) {
    std::fill(std::begin(out), std::end(out), 0.0F);
    EXPECT_EQ(run(in, outs, threads), 0);
    EXPECT_EQ(std::vector<float>(std::begin(out), std::end(out)), d.c);
  }
  model.symbol<void()>("dlcc_model_free")();
  EXPECT_EQ(run(in, outs, 1), 1) << "run after free";
}

TEST(X86Model, RunsTheBestCopyThatTheHostSupports) {
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512cd");
  const hw::Program program = gemm(3, 9, 5);
  const std::vector<std::byte> weights(45 * sizeof(float));
  Model model(program, machine(2));
  ASSERT_TRUE(model.loaded());
  ASSERT_EQ(model.init(weights), 0);
  EXPECT_EQ(model.cpu(), v4 ? "x86-64-v4" : v3 ? "x86-64-v3" : "x86-64");
  Model only_v4(program, machine(2, {"x86-64-v4"}));
  ASSERT_TRUE(only_v4.loaded());
  EXPECT_EQ(only_v4.init(weights), v4 ? 0 : 1);
}

TEST(X86Model, TextFormsShowEachCpu) {
  // 16 lanes are one zmm register on v4 and two ymm registers on v3
  te::ScalarBuilder b;
  const int x = b.load(DType::F32, 0);
  const te::ScalarExpr body = b.finish(b.fma(x, x, x));
  hw::Program program = elementwise(body, {DType::F32}, 64, 1);
  hw::for_each_node(program.groups[0].body, [&](hw::Node& node) {
    if (auto* leaf = std::get_if<hw::Compute>(&node.v)) {
      auto& loop = std::get<KernelLoop>(leaf->kernel.body[0].v);
      loop.step = 16;
      loop.body = point_block(leaf->kernel, body, 16, v(loop.var));
    }
  });
  const auto text = targets::x86::emit_text(program, machine(1, {"x86-64-v4", "x86-64-v3"}), "asm");
  ASSERT_TRUE(text.ok());
  const size_t v3 = text->find("---- model.x86-64-v3 ----");
  ASSERT_NE(v3, std::string::npos);
  EXPECT_NE(text->substr(0, v3).find("%zmm"), std::string::npos);
  EXPECT_EQ(text->substr(v3).find("%zmm"), std::string::npos);
  EXPECT_NE(text->substr(v3).find("%ymm"), std::string::npos);
  EXPECT_NE(text->substr(v3).find("vfmadd"), std::string::npos);
  const auto ir = targets::x86::emit_text(program, machine(1), "llvm");
  ASSERT_TRUE(ir.ok());
  EXPECT_NE(ir->find("@llvm.fma.v16f32"), std::string::npos);
  EXPECT_EQ(targets::x86::emit_text(program, machine(1), "c").value(), "");
}

TEST(X86Model, SameProgramSameBytes) {
  const hw::Program program = gemm(13, 19, 17);
  const auto first = targets::x86::emit(program, machine(2));
  const auto second = targets::x86::emit(program, machine(2));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->files, second->files);
  std::vector<std::string> names;
  for (const auto& [name, content] : first->files) {
    names.push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"model.h", "model.o", "model.x86-64-v3.o", "model.x86-64-v4.o",
                                             "model.x86-64.o"}));
}

std::string refusal(const hw::Program& program, const hw::Machine& m) {
  const auto emitted = targets::x86::emit(program, m);
  return emitted.ok() ? "accepted" : to_string(emitted.diags());
}

TEST(X86Model, RefusesWhatItCannotRun) {
  const hw::Program good = gemm(3, 9, 5);
  hw::Program program = good;
  auto& body = program.groups[0].body;
  body.insert(body.begin() + 1, hw::Node{hw::Let{1, hw::LetOp::Assign, 0, 0}});
  body.insert(body.begin() + 2, hw::Node{hw::Barrier{}});
  EXPECT_THAT(refusal(program, machine(2)), testing::HasSubstr("a barrier inside a group"));
  program = good;
  hw::for_each_node(program.groups[0].body, [](hw::Node& node) {
    if (auto* leaf = std::get_if<hw::Compute>(&node.v)) {
      leaf->kernel = {};
    }
  });
  EXPECT_THAT(refusal(program, machine(2)), testing::HasSubstr("no vector kernel"));
  program = good;
  program.groups[0].body[1] = {hw::IntrinCall{}};
  EXPECT_THAT(refusal(program, machine(2)), testing::HasSubstr("intrinsic"));
  EXPECT_THAT(refusal(good, machine(2, {"skylake"})), testing::HasSubstr("'skylake' is not one of"));
  EXPECT_THAT(refusal(good, machine(2, {"x86-64", "x86-64"})), testing::HasSubstr("listed twice"));
}

TEST(X86Model, PlainCProgramLinksTheArtifact) {
  const GemmData d = gemm_data(5, 16, 8);
  Model model(gemm(5, 16, 8), machine(2));
  ASSERT_TRUE(model.loaded());
  const std::string dir = model.dir().string();
  const auto write = [&](const char* name, const std::vector<float>& data) {
    std::ofstream(model.dir() / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size() * 4));
  };
  write("a.bin", d.a);
  write("w.bin", d.w);
  const std::string build = "cc -std=c11 -Wall -Wextra -Werror -I " + dir +
                            " " DLCC_SOURCE_DIR "/examples/link_model/main.c " + dir + "/model*.o -fopenmp -lm -o " +
                            dir + "/linked";
  ASSERT_EQ(std::system(build.c_str()), 0) << build;
  const std::string run = dir + "/linked " + dir + "/w.bin " + dir + "/a.bin " + dir + "/c.bin > " + dir + "/log";
  ASSERT_EQ(std::system(run.c_str()), 0);
  std::ifstream file(model.dir() / "c.bin", std::ios::binary);
  std::vector<float> c(d.c.size());
  file.read(reinterpret_cast<char*>(c.data()), static_cast<std::streamsize>(c.size() * 4));
  EXPECT_EQ(c, d.c);
  ASSERT_EQ(model.init(bytes(d.w)), 0);
  std::string log;
  std::getline(std::ifstream(model.dir() / "log"), log);
  EXPECT_EQ(log, "ran the copy for " + model.cpu());
}

}  // namespace
}  // namespace dlcc::x86_test
