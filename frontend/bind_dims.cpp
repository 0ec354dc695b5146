// Symbolic dims of the inputs -> numbers.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "frontend/graph.h"

namespace dlcc::frontend {

std::vector<std::string> symbols_of(const Graph& graph) {
  std::vector<std::string> symbols;
  for (const ValueId input : graph.inputs) {
    for (const Dim& dim : graph.values[static_cast<size_t>(input)].shape) {
      if (dim.is_symbolic() && std::find(symbols.begin(), symbols.end(), dim.symbol) == symbols.end()) {
        symbols.push_back(dim.symbol);
      }
    }
  }
  return symbols;
}

namespace {

Status check_bindings(const Graph& graph, const std::vector<std::string>& symbols,
                      const std::map<std::string, int64_t>& bindings) {
  for (const auto& [symbol, value] : bindings) {
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end()) {
      const std::string nearest = nearest_name(symbol, symbols);
      const std::string hint = !nearest.empty()  ? fmt::format("; did you mean '{}'", nearest)
                               : symbols.empty() ? "; all its dims are numbers"
                                                 : fmt::format("; it has {}", fmt::join(symbols, ", "));
      return error("model '" + graph.name + "'", fmt::format("no input has the symbolic dim '{}'{}", symbol, hint));
    }
    if (value < 0 || value > kMaxElements) {
      return error("model '" + graph.name + "'",
                   fmt::format("dim '{}' = {}; it must be 0 to {}", symbol, value, kMaxElements));
    }
  }
  return ok_status();
}

}  // namespace

Status bind_dims(Graph& graph, const std::map<std::string, int64_t>& bindings, std::vector<std::string>* defaulted) {
  const std::vector<std::string> symbols = symbols_of(graph);
  DLCC_RETURN_IF_ERROR(check_bindings(graph, symbols, bindings));
  for (const std::string& symbol : symbols) {
    if (defaulted != nullptr && !bindings.contains(symbol)) {
      defaulted->push_back(symbol);
    }
  }
  for (const ValueId input : graph.inputs) {
    Value& value = graph.values[static_cast<size_t>(input)];
    for (Dim& dim : value.shape) {
      if (dim.is_symbolic()) {
        const auto bound = bindings.find(dim.symbol);
        dim = {bound == bindings.end() ? 1 : bound->second, ""};
      }
    }
    DLCC_RETURN_IF_ERROR(
        check_shape(concrete_shape(value), "model '" + graph.name + "'", "input '" + value.name + "'"));
  }
  return ok_status();
}

}  // namespace dlcc::frontend
