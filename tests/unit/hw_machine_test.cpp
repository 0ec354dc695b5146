// The shipped chips as the loader sees them, queries on a Machine, and the texts generated from the key tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "base/te/scalar.h"
#include "hw/machine_keys.h"
#include "hw/machine_yaml.h"

namespace dlcc::hw {
namespace {

using testing::HasSubstr;

const std::string kSource = DLCC_SOURCE_DIR;

Machine shipped(const std::string& name) {
  auto machine = load_machine(kSource + "/hw/chips/" + name + ".yaml");
  EXPECT_TRUE(machine.ok()) << to_string(machine.diags());
  return machine.ok() ? *machine : Machine{};
}

TEST(Chips, AllLoadByPathAndByName) {
  ASSERT_EQ(setenv("DLCC_CHIPS", (kSource + "/hw/chips").c_str(), 1), 0);
  for (const char* name : {"sw26010", "x86-64-v4", "x86-64-v3", "tutor"}) {
    const auto machine = load_machine(name);
    ASSERT_TRUE(machine.ok()) << to_string(machine.diags());
    EXPECT_EQ(machine->name, name);
    EXPECT_FALSE(machine->yaml_text.empty());
    EXPECT_THAT(describe(*machine), HasSubstr("clock"));
  }
  const auto wrong = load_machine("sw26011");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(to_string(wrong.diags()), HasSubstr("did you mean 'sw26010'"));
  unsetenv("DLCC_CHIPS");
}

TEST(Chips, Sw26010Numbers) {
  const Machine m = shipped("sw26010");
  EXPECT_EQ(m.core_count(), 64);
  EXPECT_EQ(m.clock_hz, 1.45e9);
  EXPECT_EQ(m.launch_cycles, 21750);  // 15 us * 1.45 GHz
  const Memory& ldm = m.memories[static_cast<size_t>(m.work_memory())];
  EXPECT_EQ(ldm.usable(), 61440);
  const DmaEngine& dma = m.dma.at(0);
  EXPECT_EQ(dma.kind, EngineKind::Async);
  EXPECT_EQ(dma.queue_depth, 3);
  EXPECT_EQ(dma.startup, 290);
  EXPECT_EQ(dma.lone_startup, 480);
  EXPECT_NEAR(dma.rate_for(64), 26.5 / 1.45, 1e-9);
  EXPECT_NEAR(dma.lone_rate, 10.7 / 1.45, 1e-9);
  EXPECT_EQ(m.vector.lanes_of(DType::F32), 4);
  EXPECT_EQ(m.vector.lanes_of(DType::I32), 1);
  EXPECT_FALSE(m.has_decoupled_pipes());
  const VectorOp* fma = m.vector.find("fma", DType::F32, 4);
  ASSERT_NE(fma, nullptr);
  EXPECT_EQ(fma->latency, 7);
  EXPECT_EQ(m.issue.ports.at(static_cast<size_t>(fma->port)), "P0");
  EXPECT_EQ(fma->emit_c, "simd_vmas({0}, {1}, {2})");
  EXPECT_EQ(m.vector.find("fma", DType::F32, 2), nullptr);  // floatv4 has no narrower form
  EXPECT_EQ(m.vector.find("exp2i", DType::F32, 4), nullptr);
  EXPECT_NE(m.vector.find("exp2i", DType::F32, 1), nullptr);
}

TEST(Chips, EveryNumberOfSw26010HasASourceOrIsEstimated) {
  const Machine m = shipped("sw26010");
  EXPECT_GT(m.provenance.size(), 90u);
  for (const auto& [path, provenance] : m.provenance) {
    EXPECT_TRUE(!provenance.source.empty() || provenance.estimated) << path;
    EXPECT_FALSE(provenance.value.empty()) << path;
  }
  EXPECT_TRUE(m.provenance.at("launch").estimated);
  EXPECT_EQ(m.provenance.at("launch").value, "21750 cycles (15 us)");
  EXPECT_EQ(m.provenance.at("dma.main.startup").source, "swCaffe Fig. 2, fit Law A");  // from the engine's own `source`
}

TEST(Chips, X86Forms) {
  for (const auto& [name, lanes] : {std::pair{"x86-64-v4", 16}, {"x86-64-v3", 8}}) {
    const Machine m = shipped(name);
    EXPECT_EQ(m.vector.lanes_of(DType::F32), lanes);
    EXPECT_NE(m.vector.find("fma", DType::F32, lanes), nullptr);
    EXPECT_NE(m.vector.find("fma", DType::F32, 4), nullptr);
    EXPECT_EQ(m.vector.find("fma", DType::F32, 2), nullptr);
    EXPECT_EQ(m.vector.find("fma", DType::F32, lanes * 2), nullptr);
    EXPECT_NE(m.vector.find("exp2i", DType::F32, lanes), nullptr);
    EXPECT_NE(m.vector.find("lt", DType::F32, lanes), nullptr);
    EXPECT_EQ(m.dma.at(0).kind, EngineKind::Core);
    EXPECT_EQ(m.codegen.emitter, "x86");
  }
  EXPECT_EQ(shipped("x86-64-v4").codegen.cpus, (std::vector<std::string>{"x86-64-v4", "x86-64-v3"}));
}

TEST(Chips, TutorGraph) {
  const Machine m = shipped("tutor");
  EXPECT_TRUE(m.has_decoupled_pipes());
  const auto hops = [&](const char* from, const char* to) {
    return m.route(m.memory_named(from), m.memory_named(to)).size();
  };
  EXPECT_EQ(hops("dram", "l1"), 1u);
  EXPECT_EQ(hops("dram", "l0a"), 2u);
  EXPECT_EQ(hops("l0c", "dram"), 1u);
  EXPECT_EQ(hops("l0a", "dram"), 0u);  // no way back
  EXPECT_EQ(hops("dram", "l0c"), 0u);
  EXPECT_EQ(hops("dram", "dram"), 0u);
  const std::vector<int> route = m.route(m.memory_named("dram"), m.memory_named("l0b"));
  ASSERT_EQ(route.size(), 2u);
  EXPECT_EQ(m.paths.at(static_cast<size_t>(route[0])).name, "dram_to_l1");
  EXPECT_TRUE(m.paths.at(static_cast<size_t>(route[1])).can(Transform::Relayout));
  EXPECT_FALSE(m.paths.at(static_cast<size_t>(route[1])).can(Transform::Cast));
  ASSERT_EQ(m.intrinsics.size(), 1u);
  const Intrinsic& mma = m.intrinsics[0];
  EXPECT_EQ(mma.params.at(3).name, "init");
  EXPECT_TRUE(mma.params.at(3).is_bool);
  EXPECT_EQ(mma.params.at(1).max, 20);
  EXPECT_EQ(mma.semantics.init_param, 3);
  EXPECT_EQ(mma.semantics.output, 2);
  EXPECT_TRUE(mma.semantics.reads_output);
  EXPECT_EQ(m.sync_of(SyncKind::FlagPair)->ids, 8);
  EXPECT_EQ(m.sync_of(SyncKind::Reply), nullptr);
}

/// A route must be shortest and deterministic even when a later path is shorter.
TEST(MachineQueries, RouteIsShortest) {
  Machine m;
  m.memories.resize(4);
  const auto path = [&](int from, int to) { m.paths.push_back({"", from, to, 0, {}}); };
  path(0, 1);
  path(1, 2);
  path(2, 3);
  path(1, 0);
  path(0, 2);
  EXPECT_EQ(m.route(0, 3), (std::vector<int>{4, 2}));
  EXPECT_EQ(m.route(1, 2), (std::vector<int>{1}));
  EXPECT_TRUE(m.route(3, 0).empty());
}

TEST(MachineQueries, RateIsInterpolatedAndClamped) {
  DmaEngine engine;
  engine.rate = {{2, 10.0}, {6, 18.0}, {8, 20.0}};
  EXPECT_DOUBLE_EQ(engine.rate_for(1), 10);
  EXPECT_DOUBLE_EQ(engine.rate_for(2), 10);
  EXPECT_DOUBLE_EQ(engine.rate_for(3), 12);
  EXPECT_DOUBLE_EQ(engine.rate_for(6), 18);
  EXPECT_DOUBLE_EQ(engine.rate_for(7), 19);
  EXPECT_DOUBLE_EQ(engine.rate_for(100), 20);
}

TEST(MachineQueries, OriginIsInheritedAndOverridden) {
  const auto text = read_text_file(kSource + "/hw/chips/tutor.yaml");
  std::string yaml = *text;
  yaml.replace(yaml.find("startup: 12 cycles"), 18, "startup: {value: 13 ns, source: a bench}");
  const auto machine = parse_machine(yaml, "t.yaml");
  ASSERT_TRUE(machine.ok()) << to_string(machine.diags());
  EXPECT_EQ(machine->provenance.at("dma.load_local.startup").source, "a bench");
  EXPECT_EQ(machine->provenance.at("dma.load_local.startup").value, "13 cycles (13 ns)");
  EXPECT_EQ(machine->provenance.at("dma.load_local.align").source, "invented");
  EXPECT_EQ(machine->provenance.at("dma.load_local.min_run").source, "default");
  EXPECT_EQ(machine->dma.at(1).lone_startup, 13);  // default: startup
}

/// Every operation on every type that statements can hold is one that the chip file can price, and no other.
TEST(KeyTables, OperationsAreThoseOfTe) {
  for (const std::string_view name : type_names()) {
    const DType type = *dtype_from_name(name);
    const auto names = scalar_op_names(type);
    for (int i = static_cast<int>(te::Op::Neg); i <= static_cast<int>(te::Op::Select); ++i) {
      const te::Op op = static_cast<te::Op>(i);
      const bool listed = std::find(names.begin(), names.end(), te::name_of(op)) != names.end();
      te::ScalarBuilder b;
      const auto build = [&] {
        const int x = op == te::Op::Select ? b.load(DType::Bool, 0) : b.load(type, 0);
        const int y = b.load(type, 1);
        op == te::Op::Cast      ? b.cast(type, x)
        : op == te::Op::Select  ? b.select(x, y, y)
        : op == te::Op::Fma     ? b.fma(x, x, y)
        : te::arity_of(op) == 1 ? b.unary(op, x)
                                : b.binary(op, x, y);
      };
      bool valid = true;
      try {
        build();
      } catch (const InternalError&) {
        valid = false;
      }
      EXPECT_EQ(listed, valid) << te::name_of(op) << " of " << name;
    }
  }
}

TEST(KeyTables, CommittedSchemaIsTheGeneratedOne) {
  const auto committed = read_text_file(kSource + "/hw/chip.schema.json");
  ASSERT_TRUE(committed.ok());
  EXPECT_EQ(*committed, chip_json_schema()) << "write it again: dlhw schema > hw/chip.schema.json";
}

TEST(KeyTables, ManualHasTheGeneratedTables) {
  const auto manual = read_text_file(kSource + "/docs/chips.md");
  ASSERT_TRUE(manual.ok());
  EXPECT_THAT(*manual, HasSubstr(key_tables_markdown())) << "copy the output of: dlhw schema --keys";
}

}  // namespace
}  // namespace dlcc::hw
