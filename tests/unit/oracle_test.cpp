// The polyhedral oracle: right programs are proved, and each way of damaging one is flagged by the check that is meant for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/te/text.h"
#include "hw/machine_yaml.h"
#include "lowering/lower.h"
#include "lowering/oracle/oracle.h"

namespace dlcc::lowering::oracle {
namespace {

using testing::HasSubstr;

// Two rows of output need four of x; the channels are summed in two steps.
constexpr const char* kConv = R"(tensor x f32[1,4,6,5] input
tensor w f32[3,4,3,3] constant
tensor b f32[3] constant
tensor c f32[1,3,6,5] intermediate
tensor y f32[1,3,6,5] output
inputs x
outputs y
stmt conv : reduce sum
  par n:1 co:3 h:6 w:5
  red ci:4 kh:3 kw:3
  c[n, co, h, w] += x[n, ci, h + kh - 1, w + kw - 1 | 0] * w[co, ci, kh, kw]
stmt relu : map
  par n:1 co:3 h:6 w:5
  y[n, co, h, w] = max(c[n, co, h, w] + b[co], 0)
)";
constexpr const char* kConvPlan = "tile co:2 h:2 w:5 order co h red ci:2 kh:3 kw:3 double_buffer";

constexpr const char* kRows = R"(tensor x f32[6,7] input
tensor m f32[6] intermediate
tensor d f32[6,7] intermediate
tensor s f32[6] intermediate
tensor y f32[6,7] output
inputs x
outputs y
stmt top : reduce max
  par i:6
  red j:7
  m[i] = x[i, j]
stmt shift : map
  par i:6 j:7
  d[i, j] = x[i, j] - m[i]
stmt total : reduce sum
  par i:6
  red j:7
  s[i] += abs(d[i, j])
stmt scale : map
  par i:6 j:7
  y[i, j] = d[i, j] + s[i]
)";
constexpr const char* kRowsPlan = "tile i:2 j:7 order i single_buffer";

constexpr const char* kProduct = R"(tensor a f32[10,13] input
tensor b f32[13,9] constant
tensor y f32[10,9] output
inputs a
outputs y
stmt mm : reduce sum
  par i:10 j:9
  red k:13
  y[i, j] += a[i, k] * b[k, j]
)";

class OracleTest : public testing::Test {
 protected:
  struct Case {
    GroupAnalysis group;
    TilePlan plan;
    hw::Group lowered;
  };

  hw::Machine chip(const std::string& name) {
    auto machine = hw::load_machine(std::string(DLCC_SOURCE_DIR) + "/hw/chips/" + name + ".yaml");
    EXPECT_TRUE(machine.ok());
    return std::move(machine).value();
  }

  /// All statements of the module as one group, with that plan.
  Case make(const char* text, const hw::Machine& machine, const std::string& plan_text) {
    auto module = te::parse_module(text, "module");
    EXPECT_TRUE(module.ok()) << (module.ok() ? "" : dlcc::to_string(module.diags()));
    const te::Module canonical = canonicalise(*module);
    FusionGroup all;
    for (size_t s = 0; s < canonical.stmts.size(); ++s) {
      all.stmts.push_back(static_cast<int>(s));
    }
    Explain quiet;
    const Context context{machine, quiet};
    Case made;
    made.group = analyse(canonical, all, context).value();
    auto plan = parse_plan(plan_text, made.group, "plan");
    EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : dlcc::to_string(plan.diags()));
    made.plan = *plan;
    auto lowered = lower(made.group, made.plan, same_, context);
    EXPECT_TRUE(lowered.ok()) << (lowered.ok() ? "" : dlcc::to_string(lowered.diags()));
    made.lowered = *lowered;
    return made;
  }

  Report check(const Case& made, const hw::Machine& machine, const Options& options = {}) {
    auto report = check_group(made.group, made.plan, made.lowered, same_, machine, options);
    EXPECT_TRUE(report.ok());
    return *report;
  }

  /// Applies change to the nodes until it says that it did something.
  static bool damage(hw::Group& group, const std::function<bool(hw::Node&)>& change) {
    bool done = false;
    hw::for_each_node(group.body, [&](hw::Node& node) { done = done || change(node); });
    return done;
  }

  /// Every leaf that change accepts is damaged in turn; each damaged program must be flagged, at least once by `expected`.
  void expect_flagged(const Case& made, const hw::Machine& machine, const std::function<bool(hw::Node&)>& change, const std::string& expected) {
    int mutants = 0;
    bool as_expected = false;
    for (int which = 0;; ++which) {
      Case mutant = made;
      int left = which;
      const bool done = damage(mutant.lowered, [&](hw::Node& node) {
        hw::Node copy = node;
        if (!change(copy) || left-- > 0) {
          return false;
        }
        node = std::move(copy);
        return true;
      });
      if (!done) {
        break;
      }
      ++mutants;
      Options all;
      all.max_findings = 1000;
      const Report report = check(mutant, machine, all);
      EXPECT_EQ(report.verdict, Verdict::Wrong) << "mutant " << which << " is not flagged";
      as_expected |= std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) { return finding.check == expected; });
    }
    EXPECT_GT(mutants, 0);
    EXPECT_TRUE(as_expected) << "no mutant is flagged as " << expected;
  }

  /// Exchanges the first two neighbouring computations of a body.
  static bool swap_computes(hw::Body& body) {
    int first = -1;
    for (size_t i = 0; i < body.size(); ++i) {
      if (auto* loop = std::get_if<hw::For>(&body[i].v); loop != nullptr && swap_computes(loop->body)) {
        return true;
      }
      if (auto* guard = std::get_if<hw::If>(&body[i].v); guard != nullptr && swap_computes(guard->body)) {
        return true;
      }
      if (std::holds_alternative<hw::Compute>(body[i].v)) {
        if (first >= 0) {
          std::swap(body[static_cast<size_t>(first)], body[i]);
          return true;
        }
        first = static_cast<int>(i);
      }
    }
    return false;
  }

  std::function<int(int)> same_ = [](int module_tensor) { return module_tensor; };
};

bool is_load(const hw::Node& node) {
  const auto* dma = std::get_if<hw::Dma>(&node.v);
  return dma != nullptr && dma->src.kind == hw::ObjectKind::Tensor;
}
bool is_store(const hw::Node& node) {
  const auto* dma = std::get_if<hw::Dma>(&node.v);
  return dma != nullptr && dma->dst.kind == hw::ObjectKind::Tensor;
}

TEST_F(OracleTest, ProvesWhatLoweringMakes) {
  for (const char* name : {"sw26010", "x86-64-v3", "tutor"}) {
    const hw::Machine machine = chip(name);
    for (const auto& [text, plan] : {std::pair{kConv, kConvPlan}, {kRows, kRowsPlan}, {kProduct, "tile i:4 j:5 order j i red k:4 single_buffer"}}) {
      const Report report = check(make(text, machine, plan), machine);
      EXPECT_EQ(report.verdict, Verdict::Right) << name << "\n" << text << to_string(report);
      EXPECT_GT(report.reads, 0);
    }
  }
}

TEST_F(OracleTest, ProvesIntrinsicCalls) {
  const hw::Machine machine = chip("tutor");
  const Case made = make(kProduct, machine, "tile i:7 j:9 order i red k:6 intrinsic 0 micro 3 5 4 double_buffer");
  bool calls = false;
  hw::for_each_node(made.lowered.body, [&](const hw::Node& node) { calls |= std::holds_alternative<hw::IntrinCall>(node.v); });
  ASSERT_TRUE(calls);
  const Report report = check(made, machine);
  EXPECT_EQ(report.verdict, Verdict::Right) << to_string(report);
}

// The border that the reader expects around the product is filled in the accumulator, before the calls.
TEST_F(OracleTest, ProvesAPaddedReaderOfAnIntrinsicsResult) {
  constexpr const char* kPadded = R"(tensor a f32[8,6] input
tensor b f32[6,7] constant
tensor c f32[8,7] intermediate
tensor y f32[8,7] output
inputs a
outputs y
stmt mm : reduce sum
  par i:8 j:7
  red k:6
  c[i, j] += a[i, k] * b[k, j]
stmt pool : reduce max
  par i:8 j:7
  red t:3
  y[i, j] = c[i + t - 1, j | -100]
)";
  const hw::Machine machine = chip("tutor");
  const Case made = make(kPadded, machine, "tile i:4 j:7 order i red k:6 intrinsic 0 micro 6 7 6 single_buffer");
  const Report report = check(made, machine);
  EXPECT_EQ(report.verdict, Verdict::Right) << to_string(report);
  expect_flagged(made, machine, [](hw::Node& node) {
    auto* fill = std::get_if<hw::Fill>(&node.v);
    if (fill == nullptr || fill->value != -100) {
      return false;
    }
    fill->value = 0;
    return true;
  }, "footprint");
}

TEST_F(OracleTest, ShiftedIntrinsicOperand) {
  const hw::Machine machine = chip("tutor");
  const Case made = make(kProduct, machine, "tile i:7 j:9 order i red k:6 intrinsic 0 micro 3 5 4 double_buffer");
  expect_flagged(made, machine, [](hw::Node& node) {
    auto* dma = std::get_if<hw::Dma>(&node.v);
    if (dma == nullptr || dma->src.kind != hw::ObjectKind::Buffer || dma->dst.kind != hw::ObjectKind::Buffer) {
      return false;
    }
    dma->src.index.back() += 1;
    return true;
  }, "footprint");
}

TEST_F(OracleTest, ShrunkHalo) {
  const hw::Machine machine = chip("sw26010");
  expect_flagged(make(kConv, machine, kConvPlan), machine, [](hw::Node& node) {
    auto* dma = std::get_if<hw::Dma>(&node.v);
    if (!is_load(node) || dma->box.size() != 4) {
      return false;
    }
    dma->box[2].extent -= 1;
    return true;
  }, "footprint");
}

TEST_F(OracleTest, ShiftedLoad) {
  const hw::Machine machine = chip("sw26010");
  for (size_t dim : {1U, 2U, 3U}) {
    expect_flagged(make(kConv, machine, kConvPlan), machine, [dim](hw::Node& node) {
      if (!is_load(node) || std::get<hw::Dma>(node.v).src.index.size() != 4) {
        return false;
      }
      std::get<hw::Dma>(node.v).src.index[dim] += 1;
      return true;
    }, "footprint");
  }
}

TEST_F(OracleTest, RowDroppedFromAStore) {
  const hw::Machine machine = chip("x86-64-v3");
  expect_flagged(make(kConv, machine, kConvPlan), machine, [](hw::Node& node) {
    if (!is_store(node)) {
      return false;
    }
    std::get<hw::Dma>(node.v).box[1].extent -= 1;
    return true;
  }, "coverage");
}

TEST_F(OracleTest, StoresOnTopOfEachOther) {
  const hw::Machine machine = chip("x86-64-v3");
  expect_flagged(make(kConv, machine, kConvPlan), machine, [](hw::Node& node) {
    if (!is_store(node)) {
      return false;
    }
    auto& dma = std::get<hw::Dma>(node.v);
    dma.dst.index[2] = te::Affine::var(dma.box[1].var);   // every tile to the first rows
    return true;
  }, "ownership");
}

TEST_F(OracleTest, SwappedStatements) {
  const hw::Machine machine = chip("sw26010");
  Case made = make(kRows, machine, kRowsPlan);
  ASSERT_TRUE(swap_computes(made.lowered.body));
  const Report report = check(made, machine);
  EXPECT_EQ(report.verdict, Verdict::Wrong);
  EXPECT_THAT(to_string(report), HasSubstr("footprint"));
}

TEST_F(OracleTest, MissingWaitAndMissingIdentity) {
  const hw::Machine machine = chip("sw26010");
  const Case made = make(kConv, machine, kConvPlan);
  expect_flagged(made, machine, [&](hw::Node& node) {
    const auto* wait = std::get_if<hw::Wait>(&node.v);
    if (wait == nullptr || made.lowered.channels[static_cast<size_t>(wait->channel)].name.find(".get") == std::string::npos) {
      return false;
    }
    node.v = hw::Let{};   // assigns 0 to variable 0, the core's number, which is 0 on the first core
    return true;
  }, "footprint");
  expect_flagged(made, machine, [](hw::Node& node) {
    auto* fill = std::get_if<hw::Fill>(&node.v);
    if (fill == nullptr) {
      return false;
    }
    fill->value += 1;
    return true;
  }, "reduction");
}

TEST_F(OracleTest, ReductionPointsTwiceMissingOrOutOfOrder) {
  const hw::Machine machine = chip("x86-64-v3");
  const Case made = make(kProduct, machine, "tile i:10 j:9 order red k:4 single_buffer");
  expect_flagged(made, machine, [](hw::Node& node) {
    auto* loop = std::get_if<hw::For>(&node.v);
    if (loop == nullptr || loop->begin.is_constant()) {
      return false;
    }
    loop->begin += 1;
    return true;
  }, "reduction");
  // The same step over and over: points come twice.
  expect_flagged(made, machine, [](hw::Node& node) {
    auto* loop = std::get_if<hw::For>(&node.v);
    if (loop == nullptr) {
      return false;
    }
    const hw::Body once = loop->body;
    loop->body.insert(loop->body.end(), once.begin(), once.end());
    return true;
  }, "reduction");
  const Case inner = make(kConv, machine, "tile co:3 h:6 w:5 order red ci:4 kh:1 kw:3 single_buffer");
  const Report strict = check(inner, machine);
  EXPECT_EQ(strict.verdict, Verdict::Wrong);
  EXPECT_THAT(to_string(strict), HasSubstr("order"));
  Options by_tile;
  by_tile.lexicographic = false;
  EXPECT_EQ(check(inner, machine, by_tile).verdict, Verdict::Right);
}

TEST_F(OracleTest, AnotherBodyOrDomain) {
  const hw::Machine machine = chip("x86-64-v3");
  expect_flagged(make(kConv, machine, kConvPlan), machine, [](hw::Node& node) {
    auto* leaf = std::get_if<hw::Compute>(&node.v);
    if (leaf == nullptr || leaf->accumulate) {
      return false;
    }
    leaf->body.back().op = te::Op::Min;
    return true;
  }, "leaf");
}

TEST_F(OracleTest, QuotaIsUndecidedNotRight) {
  const hw::Machine machine = chip("sw26010");
  Options tight;
  tight.max_operations = 2000;
  const Report report = check(make(kConv, machine, kConvPlan), machine, tight);
  EXPECT_EQ(report.verdict, Verdict::Undecided);
  EXPECT_THAT(report.undecided, HasSubstr("quota"));
}

}  // namespace
}  // namespace dlcc::lowering::oracle
