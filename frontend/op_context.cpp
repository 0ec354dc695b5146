// OpContext: a node's inputs, constants and attributes, with a record of the attributes read.
#include <fmt/format.h>

#include "frontend/onnx_tensor.h"
#include "frontend/ops.h"

namespace dlcc::frontend {

namespace {

const Value& value_at(const Graph& graph, ValueId id) {
  return graph.values[static_cast<size_t>(id)];
}

std::string node_text(const Node& node) {
  return "node '" + node.name + "' (" + node.op + ")";
}

/// The attribute when it is there and of that kind; one of another kind stays unread, and so is reported.
template <class T>
std::optional<T> read_attribute(const Node& node, const char* name, std::set<std::string>& read) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) {
    return std::nullopt;
  }
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) {
    return std::nullopt;
  }
  read.insert(name);
  return *value;
}

}  // namespace

OpContext::OpContext(const Graph& graph, const Node& node) : graph_(graph), node_(node) {
  for (const ValueId input : node.inputs) {
    TensorType type;
    if (input != kAbsent) {
      const Value& value = value_at(graph, input);
      DLCC_CHECK(value.shape_known) << "value '" << value.name << "' has no shape";
      type = {value.type, concrete_shape(value)};
    }
    inputs_.push_back(std::move(type));
  }
}

bool OpContext::has_input(int i) const {
  return i >= 0 && i < input_count() && node_.inputs[static_cast<size_t>(i)] != kAbsent;
}

bool OpContext::has_output(int i) const {
  return i >= 0 && i < output_count() && node_.outputs[static_cast<size_t>(i)] != kAbsent;
}

const TensorType& OpContext::input(int i) const {
  DLCC_CHECK(has_input(i)) << node_text(node_) << ": input " << i << " is absent";
  return inputs_[static_cast<size_t>(i)];
}

std::optional<std::vector<int64_t>> OpContext::constant_ints(int i) const {
  if (!has_input(i)) {
    return std::nullopt;
  }
  const Value& value = value_at(graph_, node_.inputs[static_cast<size_t>(i)]);
  if (!value.constant || is_float(value.type)) {
    return std::nullopt;
  }
  std::vector<int64_t> elements(static_cast<size_t>(te::element_count(input(i).shape)));
  for (size_t e = 0; e < elements.size(); ++e) {
    elements[e] = te::load_element(value.type, value.constant->data, static_cast<int64_t>(e)).i;
  }
  return elements;
}

std::optional<std::vector<double>> OpContext::constant_floats(int i) const {
  if (!has_input(i)) {
    return std::nullopt;
  }
  const Value& value = value_at(graph_, node_.inputs[static_cast<size_t>(i)]);
  if (!value.constant) {
    return std::nullopt;
  }
  std::vector<double> elements(static_cast<size_t>(te::element_count(input(i).shape)));
  for (size_t e = 0; e < elements.size(); ++e) {
    const te::Value element = te::load_element(value.type, value.constant->data, static_cast<int64_t>(e));
    elements[e] = is_float(value.type) ? element.f : static_cast<double>(element.i);
  }
  return elements;
}

std::optional<int64_t> OpContext::attr_int(const char* name) {
  return read_attribute<int64_t>(node_, name, read_);
}

std::optional<float> OpContext::attr_float(const char* name) {
  return read_attribute<float>(node_, name, read_);
}

std::optional<std::string> OpContext::attr_string(const char* name) {
  return read_attribute<std::string>(node_, name, read_);
}

std::optional<std::vector<int64_t>> OpContext::attr_ints(const char* name) {
  return read_attribute<std::vector<int64_t>>(node_, name, read_);
}

std::optional<std::vector<float>> OpContext::attr_floats(const char* name) {
  return read_attribute<std::vector<float>>(node_, name, read_);
}

std::shared_ptr<const te::Array> OpContext::attr_tensor(const char* name) {
  return read_attribute<std::shared_ptr<const te::Array>>(node_, name, read_).value_or(nullptr);
}

std::vector<std::string> OpContext::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, attribute] : node_.attributes) {
    if (!read_.contains(name)) {
      names.push_back(name);
    }
  }
  return names;
}

Diags OpContext::error(const std::string& message) const {
  return dlcc::error(node_text(node_), message);
}

Diags OpContext::unsupported(const std::string& message) const {
  return dlcc::unsupported(node_text(node_), message);
}

}  // namespace dlcc::frontend
