// Import of ONNX models: what is refused and how, data of every form, order, functions, dims.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "frontend/load_model.h"
#include "tests/unit/frontend_onnx_support.h"

namespace dlcc::frontend::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

onnx::ModelProto relu_model() {
  onnx::ModelProto model = empty_model();
  add_input(*model.mutable_graph(), "x", {2, 3});
  add_node(*model.mutable_graph(), "Relu", {"x"}, {"y"}, "act");
  add_output(*model.mutable_graph(), "y");
  return model;
}

std::vector<std::string> node_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    names.push_back(node.name);
  }
  return names;
}

const Value& named(const Graph& graph, const std::string& name) {
  for (const Value& value : graph.values) {
    if (value.name == name) {
      return value;
    }
  }
  ADD_FAILURE() << "no value " << name;
  return graph.values.front();
}

template <class T>
std::vector<T> elements(const Value& value) {
  std::vector<T> result(value.constant->bytes / sizeof(T));
  std::memcpy(result.data(), value.constant->data, value.constant->bytes);
  return result;
}

/// A folder of its own for tests with files.
class ImportFiles : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::temp_directory_path() / ("dlcc_import_" + name + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_ / "model");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }
  /// A model whose initializer w (f32[4]) lies in an external file.
  std::string write_external(const std::string& location, int64_t offset, int64_t length) {
    onnx::ModelProto model = empty_model();
    add_input(*model.mutable_graph(), "x", {4});
    onnx::TensorProto& w = add_floats(*model.mutable_graph(), "w", {4}, {});
    w.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const std::string& key, const std::string& value) {
      w.add_external_data()->set_key(key);
      w.mutable_external_data()->rbegin()->set_value(value);
    };
    entry("location", location);
    entry("offset", std::to_string(offset));
    entry("length", std::to_string(length));
    add_node(*model.mutable_graph(), "Add", {"x", "w"}, {"y"});
    add_output(*model.mutable_graph(), "y");
    return write("model/m.onnx", model.SerializeAsString());
  }
  std::filesystem::path folder_;
};

TEST(Import, ReadsNodesInputsAndOutputs) {
  const auto graph = import_model(relu_model());
  ASSERT_TRUE(graph.ok()) << text_of(graph);
  ASSERT_EQ(graph->nodes.size(), 1U);
  EXPECT_EQ(graph->nodes[0].op, "Relu");
  EXPECT_EQ(graph->nodes[0].version, 17);
  EXPECT_EQ(graph->values[static_cast<size_t>(graph->inputs.at(0))].name, "x");
  EXPECT_EQ(graph->values[static_cast<size_t>(graph->outputs.at(0))].name, "y");
  EXPECT_THAT(concrete_shape(named(*graph, "x")), ElementsAre(2, 3));
}

TEST(Import, EveryTruncationIsRefused) {
  const std::string bytes = relu_model().SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto graph = import_onnx_bytes(std::as_bytes(std::span(bytes).first(size)), "cut.onnx");
    ASSERT_FALSE(graph.ok()) << "cut to " << size << " of " << bytes.size();
  }
  EXPECT_THAT(text_of(import_onnx_bytes(std::as_bytes(std::span(bytes).first(bytes.size() / 2)), "cut.onnx")),
              HasSubstr("cut.onnx: error: not an ONNX model"));
}

TEST(Import, OtherBytesAreNotAModel) {
  for (const std::string& bytes :
       {std::string("PK\003\004 a zip"), std::string("hello, world\n"), std::string(100, '\0')}) {
    EXPECT_THAT(text_of(import_onnx_bytes(std::as_bytes(std::span(bytes)), "f")), HasSubstr("not an ONNX model"));
  }
}

TEST_F(ImportFiles, MissingFileAndFolder) {
  EXPECT_THAT(text_of(import_onnx((folder_ / "none.onnx").string())), HasSubstr("no such file"));
  EXPECT_THAT(text_of(import_onnx(folder_.string())), HasSubstr("not a file"));
}

TEST(Import, VersionsAreChecked) {
  EXPECT_THAT(text_of(import_model(empty_model(17, 2))), HasSubstr("IR version 2"));
  EXPECT_THAT(text_of(import_model(empty_model(6))), HasSubstr("opset 6 of ai.onnx; supported are 7 to 22"));
  EXPECT_THAT(text_of(import_model(empty_model(23))), HasSubstr("opset 23 of ai.onnx"));
  onnx::ModelProto none = relu_model();
  none.clear_opset_import();
  EXPECT_THAT(text_of(import_model(none)), HasSubstr("which opset of ai.onnx"));
}

TEST(Import, UnusedDomainsAreFineAndUsedOnesMustBeImported) {
  onnx::ModelProto model = relu_model();
  model.add_opset_import()->set_domain("com.example");
  model.mutable_opset_import(1)->set_version(3);
  EXPECT_TRUE(import_model(model).ok());
  model.mutable_graph()->mutable_node(0)->set_domain("com.other");
  EXPECT_THAT(text_of(import_model(model)),
              HasSubstr("node 'act' (Relu): the model does not import the domain 'com.other'"));
}

TEST(Import, CycleNamesANodeOnIt) {
  onnx::ModelProto model = relu_model();
  add_node(*model.mutable_graph(), "Relu", {"y"}, {"before"}, "innocent");
  add_node(*model.mutable_graph(), "Add", {"x", "c"}, {"b"}, "first");
  add_node(*model.mutable_graph(), "Neg", {"b"}, {"c"}, "second");
  add_node(*model.mutable_graph(), "Neg", {"c"}, {"d"}, "after");
  const std::string text = text_of(import_model(model));
  EXPECT_THAT(text, HasSubstr("a cycle"));
  EXPECT_THAT(text, testing::AnyOf(HasSubstr("node 'first' (Add)"), HasSubstr("node 'second' (Neg)")));
}

TEST(Import, NodesAreSortedAndSortedNodesStay) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {1});
  add_node(graph, "Add", {"b", "c"}, {"d"}, "n0");
  add_node(graph, "Neg", {"x"}, {"c"}, "n1");
  add_node(graph, "Abs", {"x"}, {"b"}, "n2");
  add_node(graph, "Exp", {"x"}, {"e"}, "n3");
  add_output(graph, "d");
  add_output(graph, "e");
  const auto sorted = import_model(model);
  ASSERT_TRUE(sorted.ok()) << text_of(sorted);
  EXPECT_THAT(node_names(*sorted), ElementsAre("n1", "n2", "n0", "n3"));
}

TEST(Import, HugeShapesNameValueAndLimit) {
  onnx::ModelProto input = relu_model();
  input.mutable_graph()->clear_input();
  add_input(*input.mutable_graph(), "x", {1000000, 1000000});
  const std::string text = text_of(import_model(input));
  EXPECT_THAT(text,
              HasSubstr("input 'x': shape [1000000,1000000] has 1000000000000 elements; the limit is 8589934592"));
  onnx::ModelProto weight = relu_model();
  add_floats(*weight.mutable_graph(), "w", {int64_t{1} << 40, int64_t{1} << 40, int64_t{1} << 40}, {});
  EXPECT_THAT(text_of(import_model(weight)), HasSubstr("initializer 'w'"));
  onnx::ModelProto negative = relu_model();
  add_floats(*negative.mutable_graph(), "w", {-3}, {});
  EXPECT_THAT(text_of(import_model(negative)), HasSubstr("initializer 'w': dimension -3 is negative"));
}

TEST(Import, DataMustFitTheShape) {
  onnx::ModelProto model = relu_model();
  add_floats(*model.mutable_graph(), "w", {2, 2}, {1, 2, 3});
  EXPECT_THAT(text_of(import_model(model)), HasSubstr("initializer 'w': 12 bytes of data, but its shape needs 16"));
}

TEST(Import, NamesAreDefinedOnceAndBeforeUse) {
  onnx::ModelProto twice = relu_model();
  add_node(*twice.mutable_graph(), "Neg", {"x"}, {"y"});
  EXPECT_THAT(text_of(import_model(twice)), HasSubstr("value 'y' is defined twice"));
  onnx::ModelProto undefined = relu_model();
  add_node(*undefined.mutable_graph(), "Add", {"x", "nowhere"}, {"z"}, "sum");
  EXPECT_THAT(text_of(import_model(undefined)), HasSubstr("node 'sum' (Add): input 'nowhere' is not defined"));
  onnx::ModelProto output = relu_model();
  add_output(*output.mutable_graph(), "z");
  EXPECT_THAT(text_of(import_model(output)), HasSubstr("output 'z' is not produced by any node"));
}

TEST(Import, UnsupportedTypesNameTheValue) {
  onnx::ModelProto input = relu_model();
  input.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::BFLOAT16);
  EXPECT_THAT(text_of(import_model(input)), HasSubstr("input 'x': element type BFLOAT16"));
  onnx::ModelProto weights = relu_model();
  add_floats(*weights.mutable_graph(), "w", {2}, {}).set_data_type(22);
  add_floats(*weights.mutable_graph(), "v", {2}, {}).set_data_type(onnx::TensorProto::STRING);
  const std::string text = text_of(import_model(weights));
  EXPECT_THAT(text, HasSubstr("initializer 'w': element type INT4"));
  EXPECT_THAT(text, HasSubstr("initializer 'v': element type STRING"));
}

TEST(Import, InitializersAmongTheInputsAreNoInputs) {
  onnx::ModelProto model = relu_model();
  model.set_ir_version(3);
  add_input(*model.mutable_graph(), "w", {2});
  add_floats(*model.mutable_graph(), "w", {2}, {5, 6});
  const auto graph = import_model(model);
  ASSERT_TRUE(graph.ok()) << text_of(graph);
  EXPECT_EQ(graph->inputs.size(), 1U);
  EXPECT_THAT(elements<float>(named(*graph, "w")), ElementsAre(5, 6));
}

TEST(Import, TypedFieldsAreConverted) {
  onnx::ModelProto model = relu_model();
  const auto add = [&](const std::string& name, int type) -> onnx::TensorProto& {
    onnx::TensorProto& tensor = add_floats(*model.mutable_graph(), name, {2}, {});
    tensor.set_data_type(type);
    return tensor;
  };
  const std::vector<int32_t> small = {1, -2};
  add("i8", onnx::TensorProto::INT8).mutable_int32_data()->Add(small.begin(), small.end());
  add("i16", onnx::TensorProto::INT16).mutable_int32_data()->Add(small.begin(), small.end());
  add("bool", onnx::TensorProto::BOOL).mutable_int32_data()->Add(small.begin(), small.end());
  const std::vector<int32_t> half = {0x3c00, 0xc000};
  add("f16", onnx::TensorProto::FLOAT16).mutable_int32_data()->Add(half.begin(), half.end());
  const std::vector<uint64_t> wide = {7, 4000000000U};
  add("u32", onnx::TensorProto::UINT32).mutable_uint64_data()->Add(wide.begin(), wide.end());
  const std::vector<double> doubles = {0.5, -1e300};
  add("f64", onnx::TensorProto::DOUBLE).mutable_double_data()->Add(doubles.begin(), doubles.end());
  add("raw_bool", onnx::TensorProto::BOOL).set_raw_data(std::string("\0\x7f", 2));
  const auto graph = import_model(model);
  ASSERT_TRUE(graph.ok()) << text_of(graph);
  EXPECT_THAT(elements<int8_t>(named(*graph, "i8")), ElementsAre(1, -2));
  EXPECT_THAT(elements<int16_t>(named(*graph, "i16")), ElementsAre(1, -2));
  EXPECT_THAT(elements<uint8_t>(named(*graph, "bool")), ElementsAre(1, 1));
  EXPECT_THAT(elements<uint16_t>(named(*graph, "f16")), ElementsAre(0x3c00, 0xc000));
  EXPECT_THAT(elements<uint32_t>(named(*graph, "u32")), ElementsAre(7U, 4000000000U));
  EXPECT_THAT(elements<double>(named(*graph, "f64")), ElementsAre(0.5, -1e300));
  EXPECT_THAT(elements<uint8_t>(named(*graph, "raw_bool")), ElementsAre(0, 1));
}

TEST(Import, ConstantNodesBecomeConstants) {
  onnx::ModelProto model = relu_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_ints_attribute(add_node(graph, "Constant", {}, {"list"}), "value_ints", {3, 4});
  add_attribute(add_node(graph, "Constant", {}, {"one"}), "value_float", onnx::AttributeProto::FLOAT).set_f(0.5F);
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT32);
  tensor.add_dims(1);
  tensor.add_int32_data(9);
  *add_attribute(add_node(graph, "Constant", {}, {"t"}), "value", onnx::AttributeProto::TENSOR).mutable_t() = tensor;
  const auto imported = import_model(model);
  ASSERT_TRUE(imported.ok()) << text_of(imported);
  EXPECT_EQ(imported->nodes.size(), 1U);
  EXPECT_THAT(elements<int64_t>(named(*imported, "list")), ElementsAre(3, 4));
  EXPECT_THAT(elements<float>(named(*imported, "one")), ElementsAre(0.5F));
  EXPECT_TRUE(named(*imported, "one").shape.empty());
  EXPECT_THAT(elements<int32_t>(named(*imported, "t")), ElementsAre(9));
}

TEST_F(ImportFiles, ExternalDataIsMapped) {
  const std::vector<float> values = {9, 1, 2, 3, 4};
  write("model/weights.bin", std::string(reinterpret_cast<const char*>(values.data()), 20));
  const auto graph = import_onnx(write_external("weights.bin", 4, 16));
  ASSERT_TRUE(graph.ok()) << text_of(graph);
  EXPECT_THAT(elements<float>(named(*graph, "w")), ElementsAre(1, 2, 3, 4));
}

TEST_F(ImportFiles, ExternalDataMustExistAndBeLongEnough) {
  EXPECT_THAT(text_of(import_onnx(write_external("weights.bin", 0, 16))),
              HasSubstr("initializer 'w': external data file 'weights.bin' is missing"));
  write("model/weights.bin", std::string(20, 'x'));
  EXPECT_THAT(text_of(import_onnx(write_external("weights.bin", 8, 16))),
              HasSubstr("needs bytes 8..24 of 'weights.bin', which has 20"));
  EXPECT_THAT(text_of(import_onnx(write_external("weights.bin", 0, 12))),
              HasSubstr("12 bytes, but its shape needs 16"));
  EXPECT_THAT(text_of(import_onnx(write_external("weights.bin", -1, 16))), HasSubstr("offset '-1'"));
}

TEST_F(ImportFiles, ExternalDataStaysInsideTheFolder) {
  const std::string outside = write("secret.bin", std::string(16, 'x'));
  EXPECT_THAT(text_of(import_onnx(write_external(outside, 0, 16))), HasSubstr("not inside the model's folder"));
  EXPECT_THAT(text_of(import_onnx(write_external("../secret.bin", 0, 16))), HasSubstr("not inside the model's folder"));
  std::filesystem::create_symlink(outside, folder_ / "model/link.bin");
  EXPECT_THAT(text_of(import_onnx(write_external("link.bin", 0, 16))), HasSubstr("leads out of the model's folder"));
  write("model/inside.bin", std::string(16, 'x'));
  std::filesystem::create_symlink(folder_ / "model/inside.bin", folder_ / "model/good.bin");
  EXPECT_TRUE(import_onnx(write_external("good.bin", 0, 16)).ok());
}

TEST(Import, ModelsFromMemoryHaveNoExternalData) {
  onnx::ModelProto model = relu_model();
  onnx::TensorProto& w = add_floats(*model.mutable_graph(), "w", {4}, {});
  w.set_data_location(onnx::TensorProto::EXTERNAL);
  w.add_external_data()->set_key("location");
  w.mutable_external_data(0)->set_value("etc");
  EXPECT_THAT(text_of(import_model(model)), HasSubstr("initializer 'w': external data in a model that is not a file"));
}

TEST(Import, FunctionsAreWrittenOut) {
  onnx::ModelProto model = empty_model();
  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("my.lib");
  function.set_name("Leak");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("slope");
  function.add_opset_import()->set_version(16);
  onnx::NodeProto& leaky = *function.add_node();
  leaky.set_op_type("LeakyRelu");
  leaky.add_input("a");
  leaky.add_output("t");
  onnx::AttributeProto& alpha = add_attribute(leaky, "alpha", onnx::AttributeProto::FLOAT);
  alpha.set_ref_attr_name("slope");
  onnx::NodeProto& negate = *function.add_node();
  negate.set_op_type("Neg");
  negate.add_input("t");
  negate.add_output("b");
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {2});
  for (const auto& [from, to, slope] : {std::tuple("x", "m", 0.25F), std::tuple("m", "y", 0.5F)}) {
    onnx::NodeProto& call = add_node(graph, "Leak", {from}, {to}, std::string("call_") + to);
    call.set_domain("my.lib");
    add_attribute(call, "slope", onnx::AttributeProto::FLOAT).set_f(slope);
  }
  add_output(graph, "y");
  const auto imported = import_model(model);
  ASSERT_TRUE(imported.ok()) << text_of(imported);
  ASSERT_EQ(imported->nodes.size(), 4U);
  EXPECT_EQ(imported->nodes[0].version, 16);
  EXPECT_EQ(std::get<float>(imported->nodes[0].attributes.at("alpha")), 0.25F);
  EXPECT_EQ(std::get<float>(imported->nodes[2].attributes.at("alpha")), 0.5F);
  EXPECT_EQ(imported->values[static_cast<size_t>(imported->nodes[3].outputs[0])].name, "y");
  EXPECT_EQ(imported->nodes[1].outputs, imported->nodes[2].inputs);
  add_attribute(*graph.mutable_node(0), "slip", onnx::AttributeProto::FLOAT);
  EXPECT_THAT(text_of(import_model(model)), HasSubstr("the function has no attribute 'slip'"));
}

TEST(Import, RecursiveFunctionsAreRefused) {
  onnx::ModelProto model = empty_model();
  onnx::FunctionProto& function = *model.add_functions();
  function.set_name("Self");
  function.set_domain("my.lib");
  function.add_input("a");
  function.add_output("b");
  onnx::NodeProto& inner = *function.add_node();
  inner.set_op_type("Self");
  inner.set_domain("my.lib");
  inner.add_input("a");
  inner.add_output("b");
  add_input(*model.mutable_graph(), "x", {2});
  add_node(*model.mutable_graph(), "Self", {"x"}, {"y"}).set_domain("my.lib");
  add_output(*model.mutable_graph(), "y");
  EXPECT_THAT(text_of(import_model(model)), HasSubstr("functions nested more than 32 deep"));
}

TEST(Import, DuplicateNodeNamesAreNumbered) {
  onnx::ModelProto model = relu_model();
  add_node(*model.mutable_graph(), "Relu", {"y"}, {"z"}, "act");
  add_node(*model.mutable_graph(), "Relu", {"z"}, {"w"});
  const auto graph = import_model(model);
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(node_names(*graph), ElementsAre("act", "act.2", "Relu_w"));
}

TEST(BindDims, SymbolsNumbersAndMistakes) {
  onnx::ModelProto model = relu_model();
  auto* dims = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  dims->clear_dim();
  dims->add_dim()->set_dim_param("batch");
  dims->add_dim();
  dims->add_dim()->set_dim_value(5);
  auto graph = import_model(model);
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(symbols_of(*graph), ElementsAre("batch", "x.1"));
  EXPECT_THAT(text_of(bind_dims(*graph, {{"bach", 2}}, nullptr)), HasSubstr("did you mean 'batch'"));
  EXPECT_THAT(text_of(bind_dims(*graph, {{"batch", -2}}, nullptr)), HasSubstr("dim 'batch' = -2; it must be 0 to"));
  std::vector<std::string> defaulted;
  ASSERT_TRUE(bind_dims(*graph, {{"batch", 4}}, &defaulted).ok());
  EXPECT_THAT(defaulted, ElementsAre("x.1"));
  EXPECT_THAT(concrete_shape(named(*graph, "x")), ElementsAre(4, 1, 5));
}

TEST(PrintGraph, ShowsValuesNodesAndAttributes) {
  onnx::ModelProto model = relu_model();
  add_floats(*model.mutable_graph(), "w", {2}, {1, 0.5});
  add_ints_attribute(*model.mutable_graph()->mutable_node(0), "axes", {1, 2});
  const auto graph = import_model(model);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(print(*graph),
            "graph test\n"
            "  input x f32[2,3]\n"
            "  constant w f32[2] {1,0.5}\n"
            "  node act : y:? = Relu(x) {axes=[1,2]}\n"
            "  output y ?\n");
}

TEST(SharedModels, AllAreImported) {
  const auto folder = shared_folder();
  if (folder.empty()) {
    GTEST_SKIP() << "no shared models; set DLCC_SHARED";
  }
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "models")) {
    const auto path = entry.path() / "model.onnx";
    if (std::filesystem::exists(path)) {
      const auto graph = import_onnx(path.string());
      EXPECT_TRUE(graph.ok()) << text_of(graph);
      ++models;
    }
  }
  EXPECT_GT(models, 0);
}

}  // namespace
}  // namespace dlcc::frontend::test
