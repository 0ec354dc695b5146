// An ONNX file -> the Graph that lowering starts from: import, dims, shapes and constants, rewrites. What every driver
// calls.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "frontend/graph.h"

namespace dlcc::frontend {

struct LoadOptions {
  std::map<std::string, int64_t> dims;  // numbers of symbolic dims
  /// Called after every step: "import", "bind-dims", "infer", then the rewrites by name.
  std::function<void(const char* pass, const Graph& graph)> after_pass;
};

/// `defaulted`, unless null, gets the symbols that had no number and became 1.
Result<Graph> load_model(const std::string& path, const LoadOptions& options, std::vector<std::string>* defaulted);
/// The steps after the import.
Status prepare_graph(Graph& graph, const LoadOptions& options, std::vector<std::string>* defaulted);

}  // namespace dlcc::frontend
