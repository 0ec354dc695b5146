// load_model: the frontend's steps in order.
#include "frontend/load_model.h"

#include "frontend/ops.h"

namespace dlcc::frontend {

Status prepare_graph(Graph& graph, const LoadOptions& options, std::vector<std::string>* defaulted) {
  const auto done = [&](const char* pass) {
    if (options.after_pass) {
      options.after_pass(pass, graph);
    }
  };
  DLCC_RETURN_IF_ERROR(bind_dims(graph, options.dims, defaulted));
  done("bind-dims");
  DLCC_RETURN_IF_ERROR(infer_and_fold(graph));
  done("infer");
  for (const GraphPass& pass : graph_passes()) {
    DLCC_RETURN_IF_ERROR(pass.run(graph));
    done(pass.name);
  }
  return ok_status();
}

Result<Graph> load_model(const std::string& path, const LoadOptions& options, std::vector<std::string>* defaulted) {
  DLCC_TRY(Graph graph, import_onnx(path));
  if (options.after_pass) {
    options.after_pass("import", graph);
  }
  DLCC_RETURN_IF_ERROR(prepare_graph(graph, options, defaulted));
  return graph;
}

}  // namespace dlcc::frontend
