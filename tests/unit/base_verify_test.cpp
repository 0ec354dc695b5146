// verify: each rule of base/te/stmt.h broken once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/te/stmt.h"

namespace dlcc::te {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// B[i, j] = A[i, j] over 4 x 6, valid.
Module copy_module() {
  Module module;
  module.tensors = {{.name = "A", .shape = {4, 6}, .kind = TensorKind::Input},
                    {.name = "B", .shape = {4, 6}, .kind = TensorKind::Output}};
  module.inputs = {0};
  module.outputs = {1};
  Stmt stmt;
  stmt.name = "s";
  stmt.dims = {{"i", 4, DimKind::Par}, {"j", 6, DimKind::Par}};
  stmt.write = {.tensor = 1, .index = {Affine::var(0), Affine::var(1)}};
  stmt.reads = {{.tensor = 0, .index = {Affine::var(0), Affine::var(1)}}};
  ScalarBuilder b;
  stmt.body = b.finish(b.load(DType::F32, 0));
  module.stmts = {stmt};
  return module;
}

std::string findings(const Module& module) {
  std::string text;
  for (const std::string& finding : verify(module)) {
    text += finding + "\n";
  }
  return text;
}

template <class Change>
std::string after(Change change) {
  Module module = copy_module();
  change(module, module.stmts[0]);
  return findings(module);
}

TEST(verify, accepts_a_valid_module) {
  EXPECT_THAT(findings(copy_module()), IsEmpty());
}

TEST(verify, positions_stay_inside) {
  EXPECT_THAT(after([](Module&, Stmt& s) { s.reads[0].index[1] += 1; }),
              HasSubstr("read 0 axis 1 of tensor A covers [1, 6], the extent is 6"));
  EXPECT_THAT(after([](Module&, Stmt& s) {
                s.reads[0].index[1] += 1;
                s.reads[0].fill = 0;
              }),
              IsEmpty());
  EXPECT_THAT(after([](Module&, Stmt& s) { s.write.index[0] -= 1; }), HasSubstr("the write axis 0"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.reads[0].index[0] = Affine::var(0, int64_t{1} << 61); }),
              HasSubstr("2^60"));
}

TEST(verify, ranks_and_names_exist) {
  EXPECT_THAT(after([](Module&, Stmt& s) { s.reads[0].index.pop_back(); }),
              HasSubstr("has 1 indices, tensor A has rank 2"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.reads[0].tensor = 7; }), HasSubstr("does not exist"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.reads[0].index[0] = Affine::var(5); }), HasSubstr("uses dim 5"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.write.tensor = -1; }), HasSubstr("does not exist"));
  EXPECT_THAT(after([](Module& m, Stmt&) { m.outputs = {9}; }), HasSubstr("does not exist"));
  EXPECT_THAT(after([](Module& m, Stmt&) { m.inputs = {1}; }), HasSubstr("not an input"));
}

TEST(verify, writes_are_injective_and_complete) {
  EXPECT_THAT(after([](Module&, Stmt& s) { s.write.index[0] = 0; }), HasSubstr("not injective"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.dims[1].extent = 5; }), HasSubstr("20 of 24 elements are defined"));
  EXPECT_THAT(after([](Module& m, Stmt&) { m.stmts.push_back(m.stmts[0]); }), HasSubstr("may write elements of B"));
  EXPECT_THAT(after([](Module& m, Stmt&) { m.stmts.clear(); }), HasSubstr("never defined"));
  EXPECT_THAT(after([](Module& m, Stmt&) { m.tensors[1].kind = TensorKind::Constant; }),
              HasSubstr("is an input or a constant"));
}

TEST(verify, interleaved_slices_are_disjoint) {
  Module module = copy_module();
  for (int phase = 0; phase < 2; ++phase) {
    Stmt stmt = copy_module().stmts[0];
    stmt.dims[1].extent = 3;
    stmt.write.index[1] = Affine::var(1, 2) + phase;
    stmt.reads[0].index[1] = Affine::var(1);
    module.stmts.push_back(stmt);
  }
  module.stmts.erase(module.stmts.begin());
  EXPECT_THAT(findings(module), IsEmpty());
}

TEST(verify, order_and_kinds) {
  EXPECT_THAT(after([](Module& m, Stmt& s) {
                m.tensors.push_back({.name = "C", .shape = {4, 6}});
                s.reads[0].tensor = 2;
              }),
              HasSubstr("reads C, which nothing defines"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.reads[0].tensor = 1; }), HasSubstr("before all of it is defined"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.kind = StmtKind::Scan; }), HasSubstr("reserved"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.dims[1].kind = DimKind::Red; }), HasSubstr("kind"));
  EXPECT_THAT(after([](Module&, Stmt& s) {
                s.kind = StmtKind::Reduce;
                s.dims[1].kind = DimKind::Red;
              }),
              HasSubstr("is reduced"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.dims[0].extent = -1; }), HasSubstr("negative extent"));
}

TEST(verify, bodies_are_typed) {
  EXPECT_THAT(after([](Module&, Stmt& s) { s.body.clear(); }), HasSubstr("no body"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.body[0].type = DType::F64; }), HasSubstr("differs in type"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.body[0].integer = 3; }), HasSubstr("loads a read that does not exist"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.body.push_back({.op = Op::Neg, .a = 1}); }),
              HasSubstr("not an earlier node"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.body.push_back({.op = Op::Lt, .type = DType::F32, .a = 0, .b = 0}); }),
              HasSubstr("type that its operands do not give"));
  EXPECT_THAT(after([](Module&, Stmt& s) { s.body.push_back({.op = Op::Lt, .type = DType::Bool, .a = 0, .b = 0}); }),
              HasSubstr("the body is bool, the written tensor f32"));
}

TEST(verify, shapes_and_views) {
  EXPECT_THAT(after([](Module& m, Stmt&) {
                m.tensors[0].shape = {int64_t{1} << 40, int64_t{1} << 40};
              }),
              HasSubstr("2^58"));
  EXPECT_THAT(after([](Module& m, Stmt&) { m.tensors.push_back({.name = "V", .shape = {23}, .storage = 0}); }),
              HasSubstr("element count"));
  EXPECT_THAT(after([](Module& m, Stmt&) { m.tensors.push_back({.name = "V", .shape = {24}, .storage = 2}); }),
              HasSubstr("cycle"));
  EXPECT_THAT(after([](Module& m, Stmt&) { m.tensors.push_back({.name = "V", .shape = {24}, .storage = 0}); }),
              IsEmpty());
}

TEST(verify, indirect_axes) {
  const auto gather = [](auto change) {
    return after([&](Module& m, Stmt& s) {
      m.tensors.push_back({.name = "I", .type = DType::I64, .shape = {4}, .kind = TensorKind::Input});
      m.inputs.push_back(2);
      s.reads.push_back({.tensor = 2, .index = {Affine::var(0)}});
      s.reads[0].index[0] = 0;
      s.reads[0].indirect_axis = 0;
      s.reads[0].indirect_read = 1;
      change(m, s);
    });
  };
  EXPECT_THAT(gather([](Module&, Stmt&) {}), IsEmpty());
  EXPECT_THAT(gather([](Module& m, Stmt&) { m.tensors[2].type = DType::F32; }), HasSubstr("not of an integer type"));
  EXPECT_THAT(gather([](Module&, Stmt& s) { s.reads[0].indirect_read = 5; }), HasSubstr("does not exist"));
  EXPECT_THAT(gather([](Module&, Stmt& s) { s.reads[0].indirect_axis = 2; }), HasSubstr("does not exist"));
}

TEST(element_count, is_checked_for_overflow) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(element_count({int64_t{1} << 62, 0, int64_t{1} << 62}), 0);
  EXPECT_EQ(element_count({int64_t{1} << 40, int64_t{1} << 40}), int64_t{1} << 58);
  EXPECT_FALSE(checked_element_count({int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_FALSE(checked_element_count({-1}));
}

}  // namespace
}  // namespace dlcc::te
