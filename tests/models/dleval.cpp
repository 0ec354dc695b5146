// dleval: runs a model through the naive evaluator, the oracle of all tests. Same data flags and exit codes as dlsim.
#include <fmt/format.h>

#include "base/te/evaluate.h"
#include "frontend/load_model.h"
#include "frontend/ops.h"
#include "toolchain/check_outputs.h"
#include "toolchain/command_line.h"

namespace {

using namespace dlcc;

/// The module's inputs and outputs as a program without groups, which is what the data set code describes tensors by.
hw::Program signature(const te::Module& module) {
  hw::Program program;
  for (const te::Tensor& tensor : module.tensors) {
    program.tensors.push_back({tensor.name, tensor.type, tensor.shape, hw::Space::Arena, 0});
  }
  program.inputs = module.inputs;
  program.outputs = module.outputs;
  return program;
}

Result<int> evaluate(const std::string& model, const std::vector<std::string>& dims, toolchain::DataOptions data, const std::string& save) {
  frontend::LoadOptions load;
  DLCC_TRY(load.dims, toolchain::parse_dims(dims));
  DLCC_TRY(const frontend::Graph graph, frontend::load_model(model, load, nullptr));
  DLCC_TRY(const frontend::Definition definition, frontend::define(graph));
  const hw::Program program = signature(definition.module);
  DLCC_RETURN_IF_ERROR(toolchain::complete_tolerance(data));
  DLCC_TRY(const std::vector<toolchain::DataSet> sets, toolchain::load_data(data, program));
  bool equal = true;
  for (const toolchain::DataSet& set : sets) {
    DLCC_TRY(const std::vector<te::Array> outputs, te::evaluate(definition.module, set.inputs));
    equal &= toolchain::check_outputs(set, outputs, program, data);
    DLCC_RETURN_IF_ERROR(toolchain::save_run(save, set, sets.size(), program, outputs));
  }
  return static_cast<int>(equal ? toolchain::kOk : toolchain::kDiffers);
}

}  // namespace

int main(int argc, char** argv) {
  toolchain::CommandLine line("dleval", "runs a model through the naive evaluator");
  std::string model, save;
  std::vector<std::string> dims;
  toolchain::DataOptions data;
  line.option("model", &model, "ONNX file", {.required = true});
  line.option("--dim", &dims, "NAME=N");
  line.option("--save", &save, "write output_N.pb into this folder");
  line.data_options(data);
  return line.run(argc, argv, [&] { return evaluate(model, dims, data, save); });
}
