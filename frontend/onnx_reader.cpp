// An ONNX file -> Graph: parsing and the checks on the model as a whole. The file is unmapped before the graph is
// built, and tensors are moved out of the parsed message, so that the weights exist once.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <limits>

#include "frontend/onnx_import.h"

namespace dlcc::frontend {

namespace {

using Bytes = std::span<const std::byte>;

Result<std::unique_ptr<onnx::ModelProto>> parse(Bytes bytes, const std::string& where) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return error(where,
                 fmt::format("{} bytes; an ONNX file has at most {}, larger models keep their weights in external data",
                             bytes.size(), std::numeric_limits<int>::max()));
  }
  auto model = std::make_unique<onnx::ModelProto>();
  const bool parsed = model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!parsed || !model->has_ir_version() || !model->has_graph()) {
    return error(where, fmt::format("not an ONNX model, or a truncated one ({} bytes)", bytes.size()));
  }
  return model;
}

Status register_functions(ImportState& state, onnx::ModelProto& model) {
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    const std::string domain = function.domain() == "ai.onnx" ? "" : function.domain();
    const std::vector<std::string> overload = unknown_strings(function, 13);
    const bool added =
        state.functions.try_emplace({domain, function.name(), overload.empty() ? "" : overload.back()}, &function)
            .second;
    if (!added) {
      return error(state.where, fmt::format("function '{}' of domain '{}' is defined twice", function.name(), domain));
    }
  }
  return ok_status();
}

Result<Graph> import_model(onnx::ModelProto& model, const std::string& where, const std::filesystem::path& folder) {
  ImportState state{where, ExternalFiles(where, folder)};
  if (model.ir_version() < 3) {
    return unsupported(where, fmt::format("IR version {}; versions from 3 on are", model.ir_version()));
  }
  std::vector<const onnx::OperatorSetIdProto*> imports;
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    imports.push_back(&import);
  }
  DLCC_TRY(const Opsets opsets, import_opsets(state, imports, "the model"));
  if (!opsets.contains("")) {
    return error(where, "the model does not say which opset of ai.onnx it uses");
  }
  state.opset = opsets.at("");
  DLCC_RETURN_IF_ERROR(register_functions(state, model));
  DLCC_TRY(Graph graph, import_graph(state, *model.mutable_graph(), nullptr, opsets, false, 0));
  if (!state.unsupported.empty()) {
    return state.unsupported;
  }
  if (graph.outputs.empty()) {
    return error(where, "the model has no outputs");
  }
  return graph;
}

}  // namespace

Result<Opsets> import_opsets(const ImportState& state, const std::vector<const onnx::OperatorSetIdProto*>& imports,
                             const std::string& what) {
  Opsets opsets;
  for (const onnx::OperatorSetIdProto* import : imports) {
    const std::string domain = import->domain() == "ai.onnx" ? "" : import->domain();
    const int64_t version = import->version();
    if (domain.empty() && (version < kMinOpset || version > kMaxOpset)) {
      return unsupported(state.where, fmt::format("{} uses opset {} of ai.onnx; supported are {} to {}", what, version,
                                                  kMinOpset, kMaxOpset));
    }
    if (version < 0 || version > std::numeric_limits<int>::max()) {
      return error(state.where, fmt::format("{} uses opset {} of '{}', which is not a version", what, version, domain));
    }
    if (!opsets.try_emplace(domain, static_cast<int>(version)).second && opsets[domain] != version) {
      return error(state.where, fmt::format("{} imports the domain '{}' twice, with versions {} and {}", what, domain,
                                            opsets[domain], version));
    }
  }
  return opsets;
}

Result<Graph> import_onnx_bytes(std::span<const std::byte> bytes, const std::string& where,
                                const std::filesystem::path& folder) {
  DLCC_TRY(const auto model, parse(bytes, where));
  return import_model(*model, where, folder);
}

Result<Graph> import_onnx(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) {
    return error(path, fs::exists(path, failure) ? "not a file" : "no such file");
  }
  std::unique_ptr<onnx::ModelProto> model;
  {
    DLCC_TRY(const auto file, MappedFile::open(path));
    DLCC_TRY(model, parse(file->bytes(), path));
  }
  const fs::path folder = fs::path(path).parent_path();
  return import_model(*model, path, folder.empty() ? fs::path(".") : folder);
}

}  // namespace dlcc::frontend
