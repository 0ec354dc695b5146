// Graph -> its text form (--emit=graph): inputs, constants (small ones with their elements), nodes with attributes,
// outputs.
#include <fmt/format.h>

#include "base/text.h"
#include "frontend/graph.h"

namespace dlcc::frontend {

namespace {

constexpr int64_t kPrintedElements = 8;

std::string type_text(const Value& value) {
  if (!value.shape_known) {
    return "?";
  }
  std::vector<std::string> dims;
  for (const Dim& dim : value.shape) {
    dims.push_back(dim.is_symbolic() ? quote_name(dim.symbol) : std::to_string(dim.value));
  }
  return fmt::format("{}[{}]", name_of(value.type), fmt::join(dims, ","));
}

std::string elements_text(DType type, const std::byte* data, int64_t count) {
  std::vector<std::string> elements;
  for (int64_t i = 0; i < count; ++i) {
    const te::Value element = te::load_element(type, data, i);
    elements.push_back(is_float(type) ? print_number(element.f) : std::to_string(element.i));
  }
  return fmt::format("{{{}}}", fmt::join(elements, ","));
}

std::string constant_text(const Value& value) {
  const int64_t count = te::element_count(concrete_shape(value));
  const std::string data =
      count <= kPrintedElements ? " " + elements_text(value.type, value.constant->data, count) : "";
  return fmt::format("constant {} {}{}", quote_name(value.name), type_text(value), data);
}

std::string quote_text(const std::string& text) {
  const std::string quoted = quote_name(text);
  return quoted.starts_with('"') ? quoted : "\"" + quoted + "\"";
}

class GraphPrinter {
 public:
  std::string print(const Graph& graph) {
    printer_.line("graph " + quote_name(graph.name));
    body(graph);
    return printer_.take();
  }

 private:
  void body(const Graph& graph) {
    printer_.indent();
    for (const ValueId id : graph.inputs) {
      const Value& value = graph.values[static_cast<size_t>(id)];
      printer_.line(fmt::format("input {} {}", quote_name(value.name), type_text(value)));
    }
    for (const Value& value : graph.values) {
      if (value.constant) {
        printer_.line(constant_text(value));
      }
    }
    for (const Node& node : graph.nodes) {
      print_node(graph, node);
    }
    for (const ValueId id : graph.outputs) {
      const Value& value = graph.values[static_cast<size_t>(id)];
      printer_.line(fmt::format("output {} {}", quote_name(value.name), type_text(value)));
    }
    printer_.dedent();
  }

  void print_node(const Graph& graph, const Node& node) {
    std::vector<std::string> inputs, outputs, attributes;
    for (const ValueId id : node.inputs) {
      inputs.push_back(id == kAbsent ? "_" : quote_name(graph.values[static_cast<size_t>(id)].name));
    }
    for (const ValueId id : node.outputs) {
      outputs.push_back(id == kAbsent ? "_"
                                      : quote_name(graph.values[static_cast<size_t>(id)].name) + ":" +
                                            type_text(graph.values[static_cast<size_t>(id)]));
    }
    std::vector<const Graph*> subgraphs;
    for (const auto& [name, attribute] : node.attributes) {
      if (const auto* subgraph = std::get_if<std::shared_ptr<const Graph>>(&attribute)) {
        subgraphs.push_back(subgraph->get());
        attributes.push_back(quote_name(name) + "=graph");
      } else {
        attributes.push_back(quote_name(name) + "=" + attribute_text(attribute));
      }
    }
    const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
    printer_.line(fmt::format("node {} : {} = {}({}){}", quote_name(node.name), fmt::join(outputs, ", "),
                              quote_name(op), fmt::join(inputs, ", "),
                              attributes.empty() ? "" : fmt::format(" {{{}}}", fmt::join(attributes, ", "))));
    for (const Graph* subgraph : subgraphs) {
      body(*subgraph);
    }
  }

  static std::string attribute_text(const Attribute& attribute) {
    struct Visitor {
      std::string operator()(int64_t value) const { return std::to_string(value); }
      std::string operator()(float value) const { return print_number(value); }
      std::string operator()(const std::string& value) const { return quote_text(value); }
      std::string operator()(const std::vector<int64_t>& values) const {
        return fmt::format("[{}]", fmt::join(values, ","));
      }
      std::string operator()(const std::vector<float>& values) const {
        std::vector<std::string> texts;
        for (const float value : values) {
          texts.push_back(print_number(value));
        }
        return fmt::format("[{}]", fmt::join(texts, ","));
      }
      std::string operator()(const std::vector<std::string>& values) const {
        std::vector<std::string> texts;
        for (const std::string& value : values) {
          texts.push_back(quote_text(value));
        }
        return fmt::format("[{}]", fmt::join(texts, ","));
      }
      std::string operator()(const std::shared_ptr<const te::Array>& value) const {
        const int64_t count = value->count();
        return fmt::format("{}[{}]{}", name_of(value->type), fmt::join(value->shape, ","),
                           count <= kPrintedElements ? elements_text(value->type, value->data.data(), count) : "");
      }
      std::string operator()(const std::shared_ptr<const Graph>&) const { return "graph"; }
    };
    return std::visit(Visitor{}, attribute);
  }

  Printer printer_;
};

}  // namespace

std::string print(const Graph& graph) {
  return GraphPrinter().print(graph);
}

}  // namespace dlcc::frontend
