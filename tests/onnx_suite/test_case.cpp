#include "tests/onnx_suite/test_case.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "frontend/graph.h"
#include "frontend/load_model.h"
#include "frontend/ops.h"
#include "frontend/tensor_file.h"
#include "tests/onnx_suite/compare.h"

namespace dlcc::suite {

namespace {

using frontend::Graph;

/// Inputs that are needed at compile time, by operator.
const std::map<std::string, std::vector<size_t>>& compile_time_inputs() {
  static const std::map<std::string, std::vector<size_t>> kInputs = {
      {"Reshape", {1}},         {"Expand", {1}},         {"Tile", {1}},       {"ConstantOfShape", {0}},
      {"Slice", {1, 2, 3, 4}},  {"Split", {1}},          {"Squeeze", {1}},    {"Unsqueeze", {1}},
      {"Pad", {1, 2, 3}},       {"Range", {0, 1, 2}},    {"OneHot", {1}},     {"Resize", {1, 2, 3}},
      {"Upsample", {1}},        {"Trilu", {1}},          {"Dropout", {1, 2}}, {"If", {0}},
      {"ReduceSum", {1}},       {"ReduceMean", {1}},     {"ReduceMax", {1}},  {"ReduceMin", {1}},
      {"ReduceProd", {1}},      {"ReduceL1", {1}},       {"ReduceL2", {1}},   {"ReduceLogSum", {1}},
      {"ReduceLogSumExp", {1}}, {"ReduceSumSquare", {1}}};
  return kInputs;
}

struct DataSet {
  std::vector<frontend::TensorFile> inputs, outputs;
};

Result<std::vector<frontend::TensorFile>> read_files(const std::filesystem::path& folder, const std::string& prefix) {
  std::vector<frontend::TensorFile> files;
  for (int i = 0; std::filesystem::exists(folder / fmt::format("{}_{}.pb", prefix, i)); ++i) {
    DLCC_TRY(auto file, frontend::read_tensor_file(folder / fmt::format("{}_{}.pb", prefix, i)));
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::vector<DataSet>> read_data_sets(const std::filesystem::path& folder) {
  std::vector<DataSet> sets;
  for (int i = 0; std::filesystem::exists(folder / fmt::format("test_data_set_{}", i)); ++i) {
    std::filesystem::path set = folder / fmt::format("test_data_set_{}", i);
    DLCC_TRY(auto inputs, read_files(set, "input"));
    DLCC_TRY(auto outputs, read_files(set, "output"));
    sets.push_back({std::move(inputs), std::move(outputs)});
  }
  if (sets.empty()) {
    return error(folder.string(), "no test_data_set_0");
  }
  return sets;
}

/// Numbers for the symbols of the inputs' shapes, from the data.
std::map<std::string, int64_t> dims_of(const Graph& graph, const DataSet& data) {
  std::map<std::string, int64_t> dims;
  for (size_t i = 0; i < graph.inputs.size() && i < data.inputs.size(); ++i) {
    const auto& shape = graph.values[static_cast<size_t>(graph.inputs[i])].shape;
    const auto& actual = data.inputs[i].value.shape;
    for (size_t d = 0; d < shape.size() && d < actual.size(); ++d) {
      if (shape[d].is_symbolic()) {
        dims.emplace(shape[d].symbol, actual[d]);
      }
    }
  }
  return dims;
}

/// Turns inputs into constants; gives the positions of the inputs that stay.
std::vector<size_t> bind_constants(Graph& graph, const DataSet& data, bool bind_shapes) {
  std::vector<frontend::ValueId> needed;
  for (const frontend::Node& node : graph.nodes) {
    auto entry = compile_time_inputs().find(node.op);
    for (size_t slot : entry == compile_time_inputs().end() ? std::vector<size_t>() : entry->second) {
      if (bind_shapes && slot < node.inputs.size()) {
        needed.push_back(node.inputs[slot]);
      }
    }
  }
  std::vector<size_t> kept;
  std::vector<frontend::ValueId> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    frontend::ValueId id = graph.inputs[i];
    if (i >= data.inputs.size() || std::find(needed.begin(), needed.end(), id) == needed.end()) {
      kept.push_back(i);
      inputs.push_back(id);
      continue;
    }
    auto array = std::make_shared<const te::Array>(data.inputs[i].value);
    frontend::Value& value = graph.values[static_cast<size_t>(id)];
    value.type = array->type;
    value.shape.clear();
    for (int64_t extent : array->shape) {
      value.shape.push_back({extent, ""});
    }
    value.shape_known = true;
    value.constant = frontend::ConstantData{array, array->data.data(), array->data.size()};
  }
  graph.inputs = inputs;
  return kept;
}

/// The data's inputs in the graph's order: by name where the files carry names, else by number.
void order_inputs(const Graph& graph, DataSet& data) {
  std::vector<frontend::TensorFile> ordered;
  for (frontend::ValueId id : graph.inputs) {
    const std::string& name = graph.values[static_cast<size_t>(id)].name;
    auto file = std::find_if(data.inputs.begin(), data.inputs.end(), [&](const auto& one) { return one.name == name; });
    if (file == data.inputs.end()) {
      return;
    }
    ordered.push_back(*file);
  }
  data.inputs = std::move(ordered);
}

std::string run_data(const te::Module& module, const DataSet& data, const std::vector<size_t>& kept,
                     const Tolerance& tolerance) {
  std::vector<te::Array> inputs;
  for (size_t i : kept) {
    if (i >= data.inputs.size()) {
      return fmt::format("no data for input {}", i);
    }
    inputs.push_back(data.inputs[i].value);
  }
  auto outputs = te::evaluate(module, inputs);
  if (!outputs) {
    return to_string(outputs.diags());
  }
  if (outputs->size() != data.outputs.size()) {
    return fmt::format("{} outputs instead of {}", outputs->size(), data.outputs.size());
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    std::string difference = compare((*outputs)[i], data.outputs[i].value, tolerance);
    if (!difference.empty()) {
      return fmt::format("output {}: {}", i, difference);
    }
  }
  return "";
}

/// The dims whose symbols are left after constants were bound.
void drop_unknown_dims(const Graph& graph, std::map<std::string, int64_t>& dims) {
  auto symbols = frontend::symbols_of(graph);
  std::erase_if(dims,
                [&](const auto& dim) { return std::find(symbols.begin(), symbols.end(), dim.first) == symbols.end(); });
}

/// One data set, on its own copy of the graph: shapes may differ from set to set.
Outcome run_data_set(Graph graph, DataSet data, const Tolerance& tolerance, bool bind_shapes) {
  std::string op = graph.nodes.size() == 1 ? graph.nodes[0].op : "(graph)";
  order_inputs(graph, data);
  frontend::LoadOptions options;
  options.dims = dims_of(graph, data);
  std::vector<size_t> kept = bind_constants(graph, data, bind_shapes);
  drop_unknown_dims(graph, options.dims);
  Status prepared = frontend::prepare_graph(graph, options, nullptr);
  if (!prepared) {
    return {Verdict::Unsupported, op, to_string(prepared.diags())};
  }
  auto definition = frontend::define(graph);
  if (!definition) {
    return {Verdict::Unsupported, op, to_string(definition.diags())};
  }
  std::string difference = run_data(definition->module, data, kept, tolerance);
  return {difference.empty() ? Verdict::Pass : Verdict::Fail, op, difference};
}

/// The model with its opset moved into the supported range (opset 6 to 7, 23 and later to 22), so that tests of
/// operators whose form did not change run too. Where the form did change, an attribute or operator is unknown at the
/// other opset, and the test counts as unsupported.
Result<Graph> import_moved(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  onnx::ModelProto model;
  if (!file || !model.ParseFromIstream(&file)) {
    return error(path.string(), "not an ONNX model");
  }
  for (auto& opset : *model.mutable_opset_import()) {
    bool is_default = opset.domain().empty() || opset.domain() == "ai.onnx";
    int64_t version = opset.version();
    if (is_default && (version == frontend::kMinOpset - 1 || version > frontend::kMaxOpset)) {
      opset.set_version(std::clamp<int64_t>(version, frontend::kMinOpset, frontend::kMaxOpset));
    }
  }
  std::string bytes = model.SerializeAsString();
  return frontend::import_onnx_bytes(std::as_bytes(std::span(bytes)), path.string(), path.parent_path());
}

Outcome run_steps(const std::filesystem::path& folder, const Tolerance& tolerance, bool official) {
  auto graph = official ? import_moved(folder / "model.onnx") : frontend::import_onnx((folder / "model.onnx").string());
  if (!graph) {
    return {Verdict::Unsupported, "(import)", to_string(graph.diags())};
  }
  auto sets = read_data_sets(folder);
  if (!sets) {
    return {Verdict::Unsupported, "(data)", to_string(sets.diags())};
  }
  Outcome outcome;
  for (const DataSet& data : *sets) {
    outcome = run_data_set(*graph, data, tolerance, official);
    if (outcome.verdict != Verdict::Pass) {
      break;
    }
  }
  return outcome;
}

}  // namespace

Outcome run_case(const std::filesystem::path& folder, const Tolerance& tolerance, bool official) {
  try {
    return run_steps(folder, tolerance, official);
  } catch (const std::exception& failure) {
    return {Verdict::Fail, "(crash)", failure.what()};
  }
}

}  // namespace dlcc::suite
