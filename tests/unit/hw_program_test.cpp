// Program: text form, storage arithmetic, static checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/hw_program_fixture.h"

namespace dlcc::hw {
namespace {

using testing::HasSubstr;

Program parse(const std::string& text, const Machine& machine) {
  auto program = parse_program(text, machine, "test");
  EXPECT_TRUE(program.ok()) << to_string(program.diags());
  return program.ok() ? *program : Program{};
}

std::string replace(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// The messages of verify() after one edit of the fixture.
std::string verify_edited(const std::string& from, const std::string& to,
                          const Machine& machine = program_test_machine()) {
  const Program program = parse(replace(program_test_text(), from, to), machine);
  const Status status = verify(program, machine);
  return status.ok() ? "ok" : to_string(status.diags());
}

TEST(ProgramText, RoundTrip) {
  const Machine machine = program_test_machine();
  const Program program = parse(program_test_text(), machine);
  EXPECT_EQ(print(program, machine), program_test_text());
  ASSERT_EQ(program.groups.size(), 1u);
  const Group& group = program.groups[0];
  EXPECT_EQ(group.info.onnx_nodes, (std::vector<std::string>{"Conv 0", "relu"}));
  EXPECT_EQ(group.buffers[0].pitch, (std::vector<int64_t>{12}));
  EXPECT_EQ(program.tensors[1].space, Space::Weights);
  const auto& loop = std::get<For>(group.body[2].v);
  const auto& dma = std::get<Dma>(loop.body[2].v);
  EXPECT_EQ(dma.fill, std::optional<double>(0));
  EXPECT_EQ(dma.box[0].max_extent, 10);
  EXPECT_EQ(dma.src.index[0], Affine::var(1, 8) + Affine::var(5) - Affine(1));
  const auto& leaf = std::get<Compute>(loop.body[5].v);
  EXPECT_TRUE(leaf.accumulate);
  EXPECT_EQ(leaf.kernel.registers.size(), 6u);
  EXPECT_EQ(std::get<KernelLoop>(leaf.kernel.body[1].v).resume, true);
}

TEST(ProgramText, EveryFieldSurvives) {
  const Machine machine = program_test_machine();
  Program program;
  program.model = "m \"quoted\"\n";
  program.machine = "toy";
  program.tensors = {{"same", DType::I64, {}, Space::Arena, 8},
                     {"same", DType::Bool, {2, 0}, Space::Arena, 0},
                     {"", DType::F16, {1}, Space::Arena, 0}};
  program.inputs = {0, 2};
  program.outputs = {1};
  Group group;
  group.vars = {"core", "i", "i", "for"};
  group.buffers = {{"b", 2, DType::I8, {4, 5}, {}, {{1, 3, 1}, {0, 0, 2}, {0, 2, 1}}, 3, 64, 32}};
  group.channels = {{"f", ChannelKind::Flag, 0, 1, 2, 1}};
  const View view{ObjectKind::Buffer, 0, Affine::var(1), {Affine(3), Affine::var(2, -1) + Affine::var(3, 2)}};
  Let let{3, LetOp::FloorDiv, Affine::var(1) - Affine(7), Affine(4)};
  Compute leaf;
  leaf.name = "g";
  leaf.dims = {{1, Affine(4), 4, te::DimKind::Par}, {2, Affine::var(0), 9, te::DimKind::Scan}};
  leaf.write = view;
  leaf.reads = {{view, kNone, kNone}, {view, 1, 0}};
  leaf.body = {{te::Op::Const, DType::I64, -1, -1, -1, 0, -9},
               {te::Op::Index, DType::I64, -1, -1, -1, 0, 1},
               {te::Op::Add, DType::I64, 0, 1},
               {te::Op::Const, DType::F32, -1, -1, -1, -0.0, 0},
               {te::Op::Select, DType::I64, 2, 1, 0}};
  leaf.index_base = {Affine(0), Affine::var(1, 2)};
  KernelInstr gather;
  gather.kind = KernelOp::Load;
  gather.type = DType::I8;
  gather.dst = 0;
  gather.access = 1;
  gather.index_register = 1;
  gather.index_extent = 5;
  gather.index_stride = 4;
  KernelInstr constant;
  constant.kind = KernelOp::Const;
  constant.type = DType::F64;
  constant.dst = 1;
  constant.number = -std::numeric_limits<double>::infinity();
  constant.integer = -4;
  leaf.kernel.registers = {{DType::I8, 1}, {DType::F64, 1}};
  leaf.kernel.body = {{constant}, {gather}};
  IntrinCall call{0, {{1, Affine(4), 4, te::DimKind::Par}}, {view, view}, {Affine::var(3)}};
  For loop{1, Affine(-3), Affine::var(0, 5), 2, {}};
  loop.body.push_back({let});
  loop.body.push_back({leaf});
  loop.body.push_back({call});
  loop.body.push_back({Signal{0, Affine(1)}});
  loop.body.push_back({Wait{0, Affine::var(1)}});
  loop.body.push_back({Let{3, LetOp::Max, Affine(1), Affine::var(1)}});
  group.body.push_back({loop});
  program.groups = {group};
  const std::string text = print(program, machine);
  const Program again = parse(text, machine);
  EXPECT_EQ(print(again, machine), text);
  ASSERT_EQ(again.groups.size(), 1u);
  const auto& body = std::get<For>(again.groups[0].body[0].v).body;
  const auto& leaf_again = std::get<Compute>(body[1].v);
  EXPECT_EQ(again.model, program.model);
  EXPECT_EQ(again.tensors[1].shape, (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(again.inputs, program.inputs);
  EXPECT_EQ(again.groups[0].buffers[0].layout, group.buffers[0].layout);
  EXPECT_EQ(leaf_again.body, leaf.body);
  EXPECT_TRUE(std::signbit(leaf_again.body[3].number));
  EXPECT_EQ(leaf_again.reads, leaf.reads);
  EXPECT_EQ(leaf_again.write, view);
  EXPECT_EQ(leaf_again.dims[1].max_extent, 9);
  EXPECT_EQ(std::get<KernelInstr>(leaf_again.kernel.body[1].v).index_stride, 4);
  EXPECT_EQ(std::get<IntrinCall>(body[2].v).params, call.params);
  EXPECT_EQ(std::get<Let>(body[0].v).op, LetOp::FloorDiv);
}

TEST(ProgramText, ErrorsNameLineAndColumn) {
  const Machine machine = program_test_machine();
  const auto message = [&](const std::string& from, const std::string& to) {
    const auto program = parse_program(replace(program_test_text(), from, to), machine, "file");
    return program.ok() ? "ok" : to_string(program.diags());
  };
  EXPECT_EQ(message("wait xb.in[s]", "wait nothere[s]"), "file:21:10: error: expected the name of one channel");
  EXPECT_EQ(message("over (i:8)", "over (i:8"), "file:21:5: error: expected ')', found 'wait'");
  EXPECT_THAT(message("barrier", "barier"), HasSubstr("expected for, let, if"));
  EXPECT_THAT(message("f32[30] arena", "f33[30] arena"), HasSubstr("file:2:10: error: expected an element type"));
  EXPECT_THAT(message("ldm_dram yb", "ldm_drm yb"), HasSubstr("expected the name of one path"));
  EXPECT_THAT(message("f32 mul 0 1", "f32 mul 0 2"), HasSubstr("operand 2 of mul is not an earlier node"));
  std::string deep = program_test_text();
  deep = deep.substr(0, deep.find("  barrier"));
  for (int i = 0; i < 100000; ++i) {
    deep += "if 1 { ";
  }
  const auto program = parse_program(deep, machine, "file");
  ASSERT_FALSE(program.ok());
  EXPECT_THAT(to_string(program.diags()), HasSubstr("nested deeper than 200"));
}

/// Every prefix of a good text is refused, not crashed on.
TEST(ProgramText, Truncated) {
  const Machine machine = program_test_machine();
  const std::string text = program_test_text();
  for (size_t n = 0; n + 3 < text.size(); ++n) {
    const auto program = parse_program(text.substr(0, n), machine, "file");
    if (program.ok()) {
      EXPECT_LT(n, text.find("\ngroup") + 2) << n;
    }
  }
}

TEST(BufferStorage, PitchAndLayout) {
  Buffer rows{"b", 1, DType::F32, {2, 3}, {2, 8}, {}, 1, 0, 64};
  EXPECT_EQ(rows.storage_elements(), 16);
  EXPECT_EQ(rows.element_offset(std::vector<int64_t>{1, 2}), 10);
  // 5x6 in 2x4 blocks, blocks column by column: [6/4 -> 2][5/2 -> 3][2][4] = 48 elements.
  Buffer blocks{"z", 1, DType::F32, {5, 6}, {}, {{1, 0, 4}, {0, 0, 2}, {0, 2, 1}, {1, 4, 1}}, 1, 0, 192};
  EXPECT_EQ(blocks.storage_elements(), 48);
  EXPECT_EQ(blocks.element_offset(std::vector<int64_t>{3, 5}), 1 * 24 + 1 * 8 + 1 * 4 + 1);
}

TEST(PipeOf, EveryLeaf) {
  const Machine machine = program_test_machine();
  const Program program = parse(program_test_text(), machine);
  Group group = program.groups[0];
  group.channels.push_back({"f", ChannelKind::Flag, 1, 0, 1, 0});
  EXPECT_EQ(pipe_of(group.body[0], group, machine), 0);
  EXPECT_EQ(pipe_of(group.body[2], group, machine), kNone);
  Dma move;
  move.path = 2;
  EXPECT_EQ(pipe_of(Node{move}, group, machine), 1);
  EXPECT_EQ(pipe_of(Node{Signal{2, {}}}, group, machine), 1);
  EXPECT_EQ(pipe_of(Node{Wait{2, {}}}, group, machine), 0);
  EXPECT_EQ(pipe_of(Node{IntrinCall{}}, group, machine), 1);
  EXPECT_EQ(pipe_of(Node{Barrier{}}, group, machine), kNone);
}

TEST(Verify, FixtureIsRight) {
  EXPECT_EQ(verify_edited("barrier", "barrier"), "ok");
}

TEST(Verify, Declarations) {
  EXPECT_THAT(verify_edited("offset 160 slot 32", "offset 4000 slot 32"),
              HasSubstr("1 slots of 32 bytes at offset 4000 exceed the 4000 usable bytes of memory 'ldm'"));
  EXPECT_THAT(verify_edited("offset 160 slot 32", "offset 96 slot 32"),
              HasSubstr("inside buffer 'xb', which ends at 128"));
  EXPECT_THAT(verify_edited("offset 160 slot 32", "offset 168 slot 32"),
              HasSubstr("must be multiples of the 32 bytes"));
  EXPECT_THAT(verify_edited("copies 2 offset 0 slot 64", "copies 2 offset 0 slot 32"),
              HasSubstr("less than the 12 elements"));
  EXPECT_THAT(verify_edited("pitch [12]", "pitch [9]"), HasSubstr("pitch 9 of dim 0 is less than its extent 10"));
  EXPECT_THAT(verify_edited("pitch [12]", "layout [0:4/4, 0:4/1]"), "ok");
  EXPECT_THAT(verify_edited("pitch [12]", "layout [0:2/4, 0:4/1]"),
              HasSubstr("the layout covers 8 of the 10 positions"));
  EXPECT_THAT(verify_edited("pitch [12]", "layout [0:4/8, 0:4/1]"), HasSubstr("leave a gap or overlap at divisor 8"));
  EXPECT_THAT(verify_edited("y f32[30] arena 128", "y f32[30] arena 140"), HasSubstr("outside its space of 256 bytes"));
  EXPECT_THAT(verify_edited("machine toy", "machine tay"), HasSubstr("was made for chip 'tay'"));
}

TEST(Verify, Bounds) {
  // The last tile reaches x[30] when nothing pads it: 8*3 + 7 + 1 - 1.
  EXPECT_THAT(verify_edited("pad 0 reply", "reply"),
              HasSubstr("index 0 of tensor 'x' reaches -1, the least allowed is 0 with core = 0, t = 0"));
  EXPECT_THAT(
      verify_edited("8*t + j - 1] -> xb{s}[j] over (j:n + 2 max 10) pad 0", "8*t + j] -> xb{s}[j] over (j:n max 10)"),
      "ok");
  EXPECT_THAT(verify_edited("8*t + j - 1] -> xb{s}[j] over (j:n + 2 max 10) pad 0", "8*t + j] -> xb{s}[j] over (j:8)"),
              HasSubstr("index 0 of tensor 'x' reaches 31, the most allowed is 29 with core = 3, t = 3"));
  EXPECT_THAT(verify_edited("xb{s}[i + k]", "xb{s}[i + k + 1]"),
              HasSubstr("index 0 of buffer 'xb' reaches 10, the most allowed is 9"));
  EXPECT_THAT(verify_edited("xb{s}[i + k]", "xb{t}[i + k]"), HasSubstr("the slot of buffer 'xb' reaches 2"));
  EXPECT_THAT(verify_edited("wait xb.in[s]", "wait xb.in[t]"), HasSubstr("the slot of channel 'xb.in' reaches 2"));
  EXPECT_THAT(verify_edited("j:n + 2 max 10", "j:n + 2 max 9"),
              HasSubstr("the extent of j reaches 10, the most allowed is 9"));
  // A guard that excludes the bad iterations is respected.
  EXPECT_THAT(verify_edited("if n - 1, -t + 3 {", "if n - 8 { fill core yb[i + 0] = 1 over (i:n max 8)"), "ok");
  EXPECT_THAT(verify_edited("if n - 1, -t + 3 {", "if n - 8 { fill core yb[i + t] = 1 over (i:n max 8)"),
              HasSubstr("index 0 of buffer 'yb' reaches 8"));
}

TEST(Verify, Structure) {
  EXPECT_THAT(verify_edited("wait out[0]", "barrier"), HasSubstr("channel 'out': error: has no wait"));
  EXPECT_THAT(verify_edited("reply out[0]", ""), HasSubstr("needs a reply channel"));
  EXPECT_THAT(verify_edited("let s = mod(t, 2)", "let i = mod(t, 2)"),
              HasSubstr("variable 's' is used where it has no value"));
  EXPECT_THAT(verify_edited("let s = mod(t, 2)", "let s = mod(t, n)"),
              HasSubstr("a divisor must be a positive constant"));
  EXPECT_THAT(verify_edited("let s = mod(t, 2)", "let t = mod(t, 2)"), HasSubstr("variable 't' is bound already"));
  EXPECT_THAT(verify_edited("dma ldm_dram yb", "dma dram_ldm yb"),
              HasSubstr("does not join the memories of its two sides"));
  EXPECT_THAT(verify_edited("@y[8*t + i]", "@y[8*t + i, 0]"), HasSubstr("tensor 'y' has 1 dims, its view 2"));
  EXPECT_THAT(verify_edited("f32 load 1, f32 mul 0 1", "f64 load 1, f32 mul 0 0"),
              HasSubstr("loads a f64 from read 1"));
  EXPECT_THAT(verify_edited("k:3 red", "k:3"), "ok");
  EXPECT_THAT(verify_edited("write yb[i] sum", "write yb[i]"),
              HasSubstr("dim 'k' is reduced, but the leaf does not accumulate"));
  EXPECT_THAT(verify_edited("step 4 {\n    let", "step 0 {\n    let"), HasSubstr("step 0 is not positive"));
}

/// Row i of a table, chosen by the data of `idx`.
const char* lookup_text() {
  return R"(program rows machine toy arena 512 weights 1200
tensor idx i64[8] arena 0
tensor table f32[60,5] weights 0
tensor y f32[8,5] arena 64
inputs [idx] outputs [y]
group Gather kind gather tile "row by row" flops 0 bound 0 nodes [Gather] intrinsics []
vars [core, t, i, row, j, k]
buffer at ldm i64[1] copies 1 offset 0 slot 32
buffer rows ldm f32[5] copies 1 offset 32 slot 32
channel get reply core -> core slots 1 initial 0
channel put reply core -> core slots 1 initial 0
{
  for t = core to 8 step 4 {
    dma dram_ldm @idx[t + i] -> at[i] over (i:1) reply get[0]
    wait get[0]
    dma dram_ldm @table[row, j] -> rows[j] over (j:5) lookup row = at[0] of 60 reply get[0]
    wait get[0]
    dma ldm_dram rows[k] -> @y[t, k] over (k:5) reply put[0]
    wait put[0]
  }
}
)";
}

TEST(Verify, Lookup) {
  const Machine machine = program_test_machine();
  EXPECT_EQ(print(parse(lookup_text(), machine), machine), lookup_text());
  const auto edited = [&](const std::string& from, const std::string& to) {
    const Status status = verify(parse(replace(lookup_text(), from, to), machine), machine);
    return status.ok() ? "ok" : to_string(status.diags());
  };
  EXPECT_EQ(edited("of 60", "of 60"), "ok");
  EXPECT_EQ(edited("of 60", "of 59"), "ok");
  Machine wide = machine;
  wide.dma[0].align = 8;  // rows of 20 bytes: the second one is the first that is not aligned
  EXPECT_THAT(to_string(verify(parse(lookup_text(), wide), wide).diags()), HasSubstr("is not a multiple of the 8"));
  EXPECT_THAT(edited("of 60", "of 61"), HasSubstr("the dim of 60 is smaller than its range of 61"));
  EXPECT_THAT(edited("of 60", "of 0"), HasSubstr("a range of at least 1"));
  EXPECT_THAT(edited("@table[row, j]", "@table[row + 1, j]"), HasSubstr("is not the looked up variable alone"));
  EXPECT_THAT(edited("row = at[0]", "row = at[1]"), HasSubstr("index 0 of buffer 'at' reaches 1"));
  EXPECT_THAT(edited("row = at[0]", "row = rows[0]"), HasSubstr("must be an integer in a buffer"));
  EXPECT_THAT(edited("row = at[0]", "row = @idx[0]"), HasSubstr("must be an integer in a buffer"));
  EXPECT_THAT(edited("row = at[0]", "t = at[0]"), HasSubstr("variable 't' is bound already"));
  EXPECT_THAT(edited("@y[t, k]", "@y[row, k]"), HasSubstr("'row' is used where it has no value"));
}

TEST(Lookup, FromTheEndAndClamped) {
  for (const auto& [element, row] : {std::pair<int64_t, int64_t>{0, 0}, {59, 59}, {60, 59}, {-1, 59}, {-60, 0}, {-61, 0},
                                     {std::numeric_limits<int64_t>::min(), 0}, {std::numeric_limits<int64_t>::max(), 59}}) {
    EXPECT_EQ(looked_up(element, 60), row) << element;
  }
}

TEST(Verify, Kernel) {
  EXPECT_THAT(verify_edited("kernel [3 f32x4, 3 f32]", "kernel [3 f32x4, f32]"),
              HasSubstr("register 4 does not exist"));
  EXPECT_THAT(verify_edited("r1 = load f32x4 read 0", "r1 = load f32x4 read 2"), HasSubstr("read 2 does not exist"));
  EXPECT_THAT(verify_edited("r1 = load f32x4 read 0 [v + k]", "r1 = load f32x4 read 0 [v + k + 9]"),
              HasSubstr("an access at element 9 or later, of 12"));
  EXPECT_THAT(verify_edited("op fma f32x4 r1 r2 r0\n          }", "op fma f32x4 r1 r2 r4\n          }"),
              HasSubstr("read before it is written"));
  EXPECT_THAT(verify_edited("for v = 0 to n step 4", "for v = resume to n step 4"), HasSubstr("resumes a variable"));
  EXPECT_THAT(verify_edited("r2 = loadsplat f32x4", "r2 = loadsplat f32"),
              HasSubstr("another type or number of lanes"));
}

TEST(Verify, DmaAlignment) {
  Machine machine = program_test_machine();
  machine.dma[0].align = 32;
  EXPECT_THAT(verify_edited("barrier", "barrier", machine),
              HasSubstr("is not a multiple of the 32 that engine 'dma' requires"));
}

TEST(Verify, Intrinsic) {
  const std::string base = R"(program p machine toy arena 0 weights 0
inputs [] outputs []
group g kind map tile "" flops 0 bound 0 nodes [] intrinsics [mac]
vars [core, i, j]
buffer a l0 f32[64] copies 1 offset 0 slot 256
buffer c l0 f32[64] copies 1 offset 256 slot 256
{
  for i = 0 to 4 { call mac over (j:16) (a[16*i + j], c[16*i + j]) params (16) }
}
)";
  const Machine machine = program_test_machine();
  const auto message = [&](const std::string& from, const std::string& to) {
    const Status status = verify(parse(replace(base, from, to), machine), machine);
    return status.ok() ? "ok" : to_string(status.diags());
  };
  EXPECT_EQ(message("i", "i"), "ok");
  EXPECT_THAT(message("params (16)", "params (17)"), HasSubstr("parameter 'm' is 17, not a multiple of 2"));
  EXPECT_THAT(message("params (16)", "params (20*i + 2)"), "ok");
  EXPECT_THAT(message("params (16)", "params (20*i + 6)"),
              HasSubstr("parameter 'm' reaches 66, the most allowed is 64"));
  EXPECT_THAT(message("a[16*i + j]", "a[17*i + j]"), HasSubstr("index 0 of buffer 'a' reaches 66"));
  EXPECT_THAT(message("buffer a l0", "buffer a ldm"), HasSubstr("operand 'a' must lie in memory 'l0'"));
  EXPECT_THAT(message("(a[16*i + j], c", "(a[16*i + j], a[0], c"), HasSubstr("has 3 operands and 1 parameters"));
}

}  // namespace
}  // namespace dlcc::hw
