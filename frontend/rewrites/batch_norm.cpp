// fold_batch_norm: y = scale * (conv(x, w) + b - mean) / sqrt(var + epsilon) + bias  =  conv(x, w * s) + (b - mean) * s
// + bias with s = scale / sqrt(var + epsilon) per output channel. Computed in double and rounded once.
#include <cmath>

#include "frontend/rewrites/graph_edit.h"
#include "frontend/rewrites/passes.h"

namespace dlcc::frontend {

namespace {

std::optional<std::vector<double>> floats_of(GraphEdit& edit, ValueId id) {
  if (id == kAbsent || !edit.value(id).constant || !is_float(edit.value(id).type)) {
    return std::nullopt;
  }
  const Value& value = edit.value(id);
  std::vector<double> elements(static_cast<size_t>(te::element_count(concrete_shape(value))));
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = te::load_element(value.type, value.constant->data, static_cast<int64_t>(i)).f;
  }
  return elements;
}

te::Array array_of(DType type, std::vector<int64_t> shape, const std::vector<double>& elements) {
  te::Array array = te::Array::zeros(type, std::move(shape));
  for (size_t i = 0; i < elements.size(); ++i) {
    te::store_element(type, array.data.data(), static_cast<int64_t>(i), {elements[i], 0});
  }
  return array;
}

/// factor * channel + offset, per channel.
struct Normalisation {
  std::vector<double> factor, offset;
};

template <class T>
T attribute_or(const Node& node, const char* name, T otherwise) {
  const auto found = node.attributes.find(name);
  const T* value = found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
  return value == nullptr ? otherwise : *value;
}

bool is_inference(GraphEdit& edit, const Node& node) {
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kAbsent && edit.uses(node.outputs[i]) > 0) {
      return false;
    }
  }
  return attribute_or<int64_t>(node, "training_mode", 0) == 0 && attribute_or<int64_t>(node, "spatial", 1) == 1;
}

std::optional<Normalisation> normalisation_of(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  if (!node.domain.empty() || node.op != "BatchNormalization" || !is_inference(edit, node)) {
    return std::nullopt;
  }
  const auto scale = floats_of(edit, edit.input(id, 1)), bias = floats_of(edit, edit.input(id, 2));
  const auto mean = floats_of(edit, edit.input(id, 3)), variance = floats_of(edit, edit.input(id, 4));
  if (!scale || !bias || !mean || !variance) {
    return std::nullopt;
  }
  const double epsilon = attribute_or<float>(node, "epsilon", 1e-5F);
  Normalisation result;
  for (size_t c = 0; c < scale->size(); ++c) {
    result.factor.push_back((*scale)[c] / std::sqrt((*variance)[c] + epsilon));
    result.offset.push_back((*bias)[c] - (*mean)[c] * result.factor[c]);
  }
  return result;
}

/// Output channel of each weight. Conv: [out, in/group, ...]; ConvTranspose: [in, out/group, ...].
std::vector<double> scale_weights(const Node& conv, const std::vector<int64_t>& shape, std::vector<double> weights,
                                  const std::vector<double>& factor) {
  const int64_t group = attribute_or<int64_t>(conv, "group", 1);
  const int64_t inner = static_cast<int64_t>(weights.size()) / shape[0] / (conv.op == "Conv" ? 1 : shape[1]);
  for (size_t i = 0; i < weights.size(); ++i) {
    const int64_t block = static_cast<int64_t>(i) / inner;
    int64_t channel = block;
    if (conv.op != "Conv") {
      const int64_t in = block / shape[1];
      channel = in / (shape[0] / group) * shape[1] + block % shape[1];
    }
    weights[i] *= factor[static_cast<size_t>(channel)];
  }
  return weights;
}

bool fold_into(GraphEdit& edit, NodeId norm) {
  const ValueId x = edit.input(norm, 0);
  const NodeId conv = x == kAbsent ? -1 : edit.producer(x);
  if (conv < 0 || edit.uses(x) != 1 || edit.is_output(x)) {
    return false;
  }
  const Node& node = edit.node(conv);
  if (!node.domain.empty() || (node.op != "Conv" && node.op != "ConvTranspose")) {
    return false;
  }
  const ValueId w = edit.input(conv, 1), b = edit.input(conv, 2);
  const auto weights = floats_of(edit, w);
  auto bias = b == kAbsent ? std::vector<double>() : floats_of(edit, b);
  if (!weights || weights->empty() || !bias) {
    return false;
  }
  const auto normalisation = normalisation_of(edit, norm);
  const std::vector<int64_t> shape = concrete_shape(edit.value(w));
  const size_t channels = static_cast<size_t>(edit.value(x).shape[1].value);
  if (!normalisation || normalisation->factor.size() != channels) {
    return false;
  }
  bias->resize(channels, 0);
  for (size_t c = 0; c < channels; ++c) {
    (*bias)[c] = (*bias)[c] * normalisation->factor[c] + normalisation->offset[c];
  }
  const DType type = edit.value(w).type;
  const std::string name = edit.value(w).name;
  const ValueId new_w = edit.add_constant(
      name + ".bn", array_of(type, shape, scale_weights(node, shape, *weights, normalisation->factor)));
  const ValueId new_b = edit.add_constant(name + ".bn_bias", array_of(type, {static_cast<int64_t>(channels)}, *bias));
  edit.set_input(conv, 1, new_w);
  edit.set_input(conv, 2, new_b);
  edit.take_over(conv, 0, edit.node(norm).outputs[0]);
  return true;
}

}  // namespace

Status fold_batch_norm(Graph& graph) {
  GraphEdit edit(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op == "BatchNormalization" && !node.outputs.empty() && node.outputs[0] != kAbsent) {
      fold_into(edit, static_cast<NodeId>(n));
    }
  }
  edit.commit();
  return ok_status();
}

}  // namespace dlcc::frontend
