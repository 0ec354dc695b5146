// Kernels against the statements that they come from: named shapes and random leaves on two chips, bit for bit, guards
// included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lowering/kernelize.h"
#include "tests/unit/lowering_kernelize_support.h"

namespace dlcc::lowering {
namespace {

using te::Affine;
using te::DimKind;
using te::Op;

/// A group with one leaf. Outer variables: 1 and 2 (values in `outer`), then one per dim.
struct Case {
  hw::Group group;
  hw::Compute leaf;
  std::vector<int64_t> outer = {0, 0, 0};
};

Affine var(int v) {
  return Affine::var(v);
}

/// Buffers of the exact size that the accesses reach, with `pad` extra elements in each row.
int add_buffer(Case& c, DType type, const std::vector<int64_t>& shape, int64_t pad, int64_t& offset, int64_t align) {
  hw::Buffer buffer;
  buffer.name = "b" + std::to_string(c.group.buffers.size());
  buffer.memory = 1;
  buffer.type = type;
  buffer.shape = shape;
  if (pad > 0 && !shape.empty()) {
    buffer.pitch = shape;
    buffer.pitch.back() += pad;
  }
  buffer.offset = offset;
  buffer.slot_bytes = (buffer.storage_elements() * bytes_of(type) + align - 1) / align * align;
  offset += buffer.slot_bytes;
  c.group.buffers.push_back(buffer);
  return static_cast<int>(c.group.buffers.size()) - 1;
}

class CaseBuilder {
 public:
  CaseBuilder(DType type, const hw::Machine& machine) : type_(type), align_(machine.memories[1].align) {
    case_.leaf.name = "leaf";
    case_.group.info.name = "group";
    case_.group.vars = {"core", "t", "u"};
  }
  /// Returns the variable. outer > 0: the extent is that outer variable, whose value is `extent`.
  int dim(int64_t extent, DimKind kind, int outer = 0, int64_t max = 0) {
    const int v = static_cast<int>(case_.group.vars.size());
    case_.group.vars.push_back("d" + std::to_string(v));
    hw::BoxDim dim{v, outer > 0 ? var(outer) : Affine(extent), std::max(extent, max), kind};
    if (outer > 0) {
      case_.outer[static_cast<size_t>(outer)] = extent;
    }
    case_.leaf.dims.push_back(dim);
    return v;
  }
  int64_t reach(const Affine& index) const {
    int64_t most = index.constant();
    for (const te::Term& term : index.terms()) {
      int64_t top = term.var < 3 ? case_.outer[static_cast<size_t>(term.var)] : 0;
      for (const hw::BoxDim& d : case_.leaf.dims) {
        top = d.var == term.var ? d.max_extent - 1 : top;
      }
      most += std::max<int64_t>(term.coef * top, 0);
    }
    return most + 1;
  }
  hw::View view(const std::vector<Affine>& index, DType type, int64_t pad) {
    std::vector<int64_t> shape;
    for (const Affine& i : index) {
      shape.push_back(reach(i));
    }
    const int buffer = add_buffer(case_, type, shape, pad, offset_, align_);
    return {hw::ObjectKind::Buffer, buffer, {}, index};
  }
  void write(const std::vector<Affine>& index, int64_t pad = 0) { case_.leaf.write = view(index, type_, pad); }
  int read(const std::vector<Affine>& index, int64_t pad = 0) { return read(type_, index, pad); }
  int read(DType type, const std::vector<Affine>& index, int64_t pad = 0) {
    case_.leaf.reads.push_back({view(index, type, pad), hw::kNone, hw::kNone});
    return static_cast<int>(case_.leaf.reads.size()) - 1;
  }
  te::ScalarBuilder body;
  Case finish(int root, std::optional<te::Monoid> monoid = std::nullopt) {
    case_.leaf.body = body.finish(root);
    case_.leaf.accumulate = monoid.has_value();
    case_.leaf.monoid = monoid.value_or(te::Monoid::Sum);
    return case_;
  }
  Case& raw() { return case_; }

 private:
  Case case_;
  DType type_;
  int64_t align_;
  int64_t offset_ = 0;
};

struct Executed {
  int64_t vector_instructions = 0, scalar_instructions = 0;
  std::string explain;
};

hw::Program wrap(const Case& c, const hw::Machine& machine) {
  hw::Program program;
  program.machine = machine.name;
  hw::Group group = c.group;
  hw::For u{2, Affine(c.outer[2]), Affine(c.outer[2] + 1), 1, {}};
  u.body.push_back({c.leaf});
  hw::For t{1, Affine(c.outer[1]), Affine(c.outer[1] + 1), 1, {}};
  t.body.push_back({std::move(u)});
  group.body.push_back({std::move(t)});
  program.groups.push_back(std::move(group));
  return program;
}

/// Kernelizes, verifies, runs both ways and compares all bytes.
Executed check(Case c, const hw::Machine& machine, uint32_t seed = 1) {
  Explain explain(true);
  const Context context{machine, explain};
  const Status made = kernelize(c.leaf, c.group, context);
  EXPECT_TRUE(made.ok()) << to_string(made.diags());
  Executed run;
  for (const std::string& line : explain.lines()) {
    run.explain += line + "\n";
  }
  if (!made.ok() || c.leaf.kernel.empty()) {
    ADD_FAILURE() << "no kernel";
    return run;
  }
  const hw::Program program = wrap(c, machine);
  const Status status = hw::verify(program, machine);
  EXPECT_TRUE(status.ok()) << to_string(status.diags());
  const std::string text = hw::print(program, machine);
  const auto again = hw::parse_program(text, machine, "text");
  EXPECT_TRUE(again.ok() && hw::print(*again, machine) == text);
  std::mt19937 random(seed);
  LeafMemory expected(c.group, random);
  LeafMemory got = expected;
  std::vector<int64_t> env(c.group.vars.size(), 0);
  std::copy(c.outer.begin(), c.outer.end(), env.begin());
  LeafReference(c.leaf, c.group, expected, env).run();
  KernelInterpreter interpreter(c.leaf, c.group, machine, got, env);
  interpreter.run();
  EXPECT_TRUE(expected == got) << text;
  run.vector_instructions = interpreter.vector_instructions;
  run.scalar_instructions = interpreter.scalar_instructions;
  return run;
}

Case conv(const hw::Machine& machine, int64_t width, int64_t stride, int outer) {
  CaseBuilder b(DType::F32, machine);
  const int co = b.dim(6, DimKind::Par), oh = b.dim(3, DimKind::Par), ow = b.dim(width, DimKind::Par, outer, 35);
  const int ci = b.dim(3, DimKind::Red), kh = b.dim(3, DimKind::Red), kw = b.dim(3, DimKind::Red);
  b.write({0, var(co), var(oh), var(ow)}, 1);
  const int x = b.read({0, var(ci), var(oh) * stride + var(kh), var(ow) * stride + var(kw)});
  const int w = b.read({var(co), var(ci), var(kh), var(kw)});
  return b.finish(b.body.binary(Op::Mul, b.body.load(DType::F32, x), b.body.load(DType::F32, w)), te::Monoid::Sum);
}

TEST(Kernelize, Convolution) {
  for (const bool wide : {false, true}) {
    const hw::Machine machine = vector_machine(wide);
    for (const int64_t width : {1, 4, 7, 16, 21, 35}) {
      for (const int outer : {0, 1}) {
        const Executed run = check(conv(machine, width, 1, outer), machine);
        if (width % 4 == 0) {
          EXPECT_LT(run.scalar_instructions, run.vector_instructions / 10) << width;
        }
      }
    }
    const Executed strided = check(conv(machine, 16, 2, 0), machine);
    EXPECT_EQ(strided.vector_instructions, 0);
    EXPECT_THAT(strided.explain, testing::HasSubstr("read 0 has stride 2"));
  }
}

TEST(Kernelize, GemmFillsTheRegisters) {
  const hw::Machine machine = vector_machine(true);
  CaseBuilder b(DType::F32, machine);
  const int m = b.dim(12, DimKind::Par), n = b.dim(64, DimKind::Par), k = b.dim(40, DimKind::Red);
  b.write({var(m), var(n)});
  const int x = b.read({var(m), var(k)}), w = b.read({var(k), var(n)});
  Case c = b.finish(b.body.binary(Op::Mul, b.body.load(DType::F32, x), b.body.load(DType::F32, w)), te::Monoid::Sum);
  const Executed run = check(c, machine);
  EXPECT_EQ(run.scalar_instructions, 0);
  // 12*64*40/16 multiply-adds; with 12 or more accumulators fewer than two loads for three of them.
  const int64_t fmas = 12 * 64 * 40 / 16;
  EXPECT_LT(run.vector_instructions, fmas * 5 / 3 + 200);
  Explain explain;
  ASSERT_TRUE(kernelize(c.leaf, c.group, {machine, explain}).ok());
  EXPECT_LE(c.leaf.kernel.registers.size(), 32u);
}

TEST(Kernelize, AlignmentIsOnlyClaimedWhenProven) {
  const hw::Machine machine = vector_machine(false);
  for (const int64_t pad : {0, 1, 4}) {
    CaseBuilder b(DType::F32, machine);
    const int r = b.dim(3, DimKind::Par), i = b.dim(8, DimKind::Par);
    b.write({var(r), var(i)}, pad);
    const int x = b.read({var(r), var(i)}, pad);
    Case c = b.finish(b.body.unary(Op::Neg, b.body.load(DType::F32, x)));
    check(c, machine);
    Explain explain;
    ASSERT_TRUE(kernelize(c.leaf, c.group, {machine, explain}).ok());
    const std::string text = hw::print(wrap(c, machine), machine);
    EXPECT_EQ(text.find(" aligned") != std::string::npos, pad != 1) << text;
  }
}

TEST(Kernelize, SelectAndCompare) {
  for (const bool wide : {false, true}) {
    const hw::Machine machine = vector_machine(wide);
    CaseBuilder b(DType::F32, machine);
    const int r = b.dim(3, DimKind::Par), i = b.dim(37, DimKind::Par);
    b.write({var(r), var(i)});
    const int x = b.read({var(r), var(i)}), slope = b.read({var(r), 0});
    const int value = b.body.load(DType::F32, x);
    const int below = b.body.binary(Op::Lt, value, b.body.constant(DType::F32, 0));
    const int root = b.body.select(below, b.body.binary(Op::Mul, value, b.body.load(DType::F32, slope)), value);
    const Executed run = check(b.finish(root), machine);
    EXPECT_EQ(run.vector_instructions > 0, wide);
    if (!wide) {
      EXPECT_THAT(run.explain, testing::HasSubstr("scalar code: no lt of"));
    }
  }
}

TEST(Kernelize, GatherOfRows) {
  const hw::Machine machine = vector_machine(true);
  CaseBuilder b(DType::F32, machine);
  const int i = b.dim(5, DimKind::Par), j = b.dim(24, DimKind::Par);
  b.write({var(i), var(j)});
  const int index = b.read(DType::I64, {var(i)});
  const int table = b.read({Affine(6), var(j)});
  b.raw().leaf.reads.back().view.index[0] = 0;
  b.raw().leaf.reads.back().indirect_dim = 0;
  b.raw().leaf.reads.back().indirect_read = index;
  EXPECT_EQ(table, 1);
  const Executed run = check(b.finish(b.body.load(DType::F32, table)), machine);
  EXPECT_GT(run.vector_instructions, 0);
}

TEST(Kernelize, IndexAndCast) {
  const hw::Machine machine = vector_machine(true);
  CaseBuilder b(DType::F32, machine);
  const int i = b.dim(5, DimKind::Par), j = b.dim(24, DimKind::Par);
  b.write({var(i), var(j)});
  const int x = b.read({var(i), var(j)});
  const int position = b.body.cast(DType::F32, b.body.index(0));
  Case c = b.finish(b.body.binary(Op::Add, position, b.body.load(DType::F32, x)));
  c.leaf.index_base = {var(1) * 3 + Affine(2), 0};
  c.outer[1] = 7;
  EXPECT_GT(check(c, machine).vector_instructions, 0);
}

TEST(Kernelize, MissingOperationIsUnsupported) {
  const hw::Machine machine = vector_machine(true);
  CaseBuilder b(DType::F16, machine);
  const int i = b.dim(5, DimKind::Par);
  b.write({var(i)});
  const int x = b.read({var(i)});
  Case c = b.finish(b.body.unary(Op::Neg, b.body.load(DType::F16, x)));
  Explain explain;
  const Status status = kernelize(c.leaf, c.group, {machine, explain});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.diags()[0].kind, DiagKind::Unsupported);
  EXPECT_THAT(to_string(status.diags()), testing::HasSubstr("leaf: unsupported: chip 'wide' has no load of f16"));
}

/// Random dims, accesses and bodies.
class RandomLeaf {
 public:
  explicit RandomLeaf(uint32_t seed) : random_(seed) {}

  Case make(const hw::Machine& machine) {
    static constexpr DType kTypes[] = {DType::F32, DType::F32, DType::F64, DType::I64, DType::I32};
    type_ = kTypes[pick(0, 4)];
    CaseBuilder b(type_, machine);
    const bool reduce = pick(0, 2) > 0;
    std::vector<int> par, all;
    int outer = 1;
    for (int64_t k = pick(1, 3); k > 0; --k) {
      const int64_t extent = pick(0, 3) == 0 ? pick(1, 40) : pick(1, 9);
      const bool dynamic = outer < 3 && pick(0, 2) == 0;
      par.push_back(b.dim(extent, DimKind::Par, dynamic ? outer++ : 0, dynamic ? extent + pick(0, 9) : 0));
    }
    all = par;
    for (int64_t k = reduce ? pick(1, 3) : 0; k > 0; --k) {
      const bool dynamic = outer < 3 && pick(0, 3) == 0;
      all.push_back(b.dim(pick(1, 6), DimKind::Red, dynamic ? outer++ : 0, 0));
    }
    if (pick(0, 3) == 0) {
      std::shuffle(b.raw().leaf.dims.begin(), b.raw().leaf.dims.end(), random_);
    }
    std::vector<Affine> write;
    for (const int d : par) {
      write.push_back(var(d));
    }
    if (pick(0, 3) == 0) {
      std::shuffle(write.begin(), write.end(), random_);
    }
    b.write(write, pick(0, 1) * pick(0, 8));
    std::vector<int> values;
    for (int64_t k = pick(1, 3); k > 0; --k) {
      const std::vector<Affine> index = random_index(par, all);
      values.push_back(b.body.load(type_, b.read(index, pick(0, 1) * pick(0, 8))));
    }
    int root = expression(b, values);
    if (reduce && pick(0, 1) == 0) {
      root = b.body.binary(Op::Mul, root, values[0]);
    }
    static constexpr te::Monoid kMonoids[] = {te::Monoid::Sum, te::Monoid::Sum, te::Monoid::Max, te::Monoid::Min};
    return reduce ? b.finish(root, kMonoids[pick(0, 3)]) : b.finish(root);
  }

 private:
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  std::vector<Affine> random_index(const std::vector<int>& par, const std::vector<int>& all) {
    std::vector<Affine> index;
    for (const int d : all) {
      switch (pick(0, 5)) {
        case 0:
          break;  // broadcast
        case 1:
          index.push_back(0);
          break;
        case 2:
          index.push_back(var(d) * pick(1, 2) + Affine(pick(0, 4)));
          break;
        default:
          index.push_back(var(d));
      }
    }
    // A window along the last dim of the write, as convolutions have.
    if (index.empty() || pick(0, 3) == 0) {
      index.push_back(var(par.back()) + var(all.back()) * (all.back() == par.back() ? 0 : 1));
    }
    if (pick(0, 5) == 0) {
      std::shuffle(index.begin(), index.end(), random_);
    }
    return index;
  }

  // Draws are made one a statement: the order in which arguments are evaluated is the compiler's choice.
  int expression(CaseBuilder& b, std::vector<int> values) {
    for (int64_t k = pick(0, 4); k > 0; --k) {
      const auto any = [&] { return values[static_cast<size_t>(pick(0, static_cast<int64_t>(values.size()) - 1))]; };
      const int x = any();
      const int y = any();
      static constexpr Op kBinary[] = {Op::Add, Op::Sub, Op::Mul, Op::Min, Op::Max};
      switch (pick(0, 5)) {
        case 0:
          values.push_back(b.body.select(b.body.binary(pick(0, 1) == 0 ? Op::Lt : Op::Eq, x, y), y, values.front()));
          break;
        case 1:
          values.push_back(
              b.body.binary(Op::Add, x, is_float(type_) ? b.body.constant(type_, 0.25) : b.body.integer(type_, 3)));
          break;
        case 2:
          values.push_back(b.body.unary(Op::Neg, x));
          break;
        default:
          values.push_back(b.body.binary(kBinary[pick(0, 4)], x, y));
      }
    }
    return values.back();
  }

  std::mt19937 random_;
  DType type_ = DType::F32;
};

TEST(Kernelize, RandomLeaves) {
  int leaves = 0, with_vectors = 0;
  for (uint32_t seed = 1; seed <= 250; ++seed) {
    for (const bool wide : {false, true}) {
      const hw::Machine machine = vector_machine(wide);
      const Case c = RandomLeaf(seed).make(machine);
      if (std::any_of(c.group.buffers.begin(), c.group.buffers.end(),
                      [](const hw::Buffer& b) { return b.slot_bytes > (1 << 20); })) {
        continue;
      }
      ++leaves;
      with_vectors += check(c, machine, seed).vector_instructions > 0 ? 1 : 0;
      if (HasFailure()) {
        FAIL() << "seed " << seed << (wide ? " wide" : " narrow");
      }
    }
  }
  EXPECT_GT(5 * with_vectors, leaves);  // the generator reaches vector code often enough to mean something
}

}  // namespace
}  // namespace dlcc::lowering
