// AttributeProto -> Attribute, Constant nodes -> constants, TypeProto -> type and shape of a value.
#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include "frontend/onnx_import.h"

namespace dlcc::frontend {

namespace {

using Proto = onnx::AttributeProto;

template <class T, class Field>
std::string pack(const Field& values) {
  std::string bytes;
  for (const T value : values) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  return bytes;
}

Result<Attribute> import_subgraph(ImportState& state, Scope& scope, Proto& proto, const std::string& what,
                                  bool shared) {
  if (scope.depth + 1 > kMaxNesting) {
    return unsupported(state.where, fmt::format("{}: subgraphs nested more than {} deep", what, kMaxNesting));
  }
  DLCC_TRY(Graph graph, import_graph(state, *proto.mutable_g(), &scope, *scope.opsets, shared, scope.depth + 1));
  return Attribute(std::make_shared<const Graph>(std::move(graph)));
}

Result<Attribute> import_attribute(ImportState& state, Scope& scope, Proto& proto, const std::string& what, bool shared,
                                   bool bound) {
  switch (proto.type()) {
    case Proto::INT:
      return Attribute(static_cast<int64_t>(proto.i()));
    case Proto::FLOAT:
      return Attribute(proto.f());
    case Proto::STRING:
      return Attribute(proto.s());
    case Proto::INTS:
      return Attribute(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case Proto::FLOATS:
      return Attribute(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case Proto::STRINGS:
      return Attribute(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case Proto::TENSOR: {
      DLCC_TRY(const ConstantTensor tensor, read_tensor(*proto.mutable_t(), state.where, what, state.files, !shared));
      return Attribute(std::make_shared<const te::Array>(to_array(tensor)));
    }
    case Proto::GRAPH:
      if (bound) {  // its names belong to the caller's scope
        return unsupported(state.where, what + ": a graph passed to a function");
      }
      return import_subgraph(state, scope, proto, what, shared);
    case Proto::UNDEFINED:
      return error(state.where, what + ": no type");
    default:
      return unsupported(state.where,
                         fmt::format("{}: an attribute of kind {}", what, Proto::AttributeType_Name(proto.type())));
  }
}

/// Tensors that several calls of a function read are read once, and share their data.
Result<ConstantTensor> shared_tensor(ImportState& state, onnx::TensorProto& proto, const std::string& what) {
  const auto known = state.shared_tensors.find(&proto);
  if (known != state.shared_tensors.end()) {
    return known->second;
  }
  DLCC_TRY(ConstantTensor tensor, read_tensor(proto, state.where, what, state.files, false));
  return state.shared_tensors[&proto] = tensor;
}

Result<ConstantTensor> constant_of(ImportState& state, Proto& proto, const std::string& what, bool shared) {
  const auto scalar_or_list = [&](DType type, std::string bytes, bool list) {
    const int64_t count = static_cast<int64_t>(bytes.size()) / bytes_of(type);
    return ConstantTensor{type, list ? std::vector<int64_t>{count} : std::vector<int64_t>{},
                          own_bytes(std::move(bytes))};
  };
  switch (proto.type()) {
    case Proto::TENSOR:
      return shared ? shared_tensor(state, *proto.mutable_t(), what)
                    : read_tensor(*proto.mutable_t(), state.where, what, state.files, true);
    case Proto::INT:
      return scalar_or_list(DType::I64, pack<int64_t>(std::vector<int64_t>{proto.i()}), false);
    case Proto::INTS:
      return scalar_or_list(DType::I64, pack<int64_t>(proto.ints()), true);
    case Proto::FLOAT:
      return scalar_or_list(DType::F32, pack<float>(std::vector<float>{proto.f()}), false);
    case Proto::FLOATS:
      return scalar_or_list(DType::F32, pack<float>(proto.floats()), true);
    case Proto::UNDEFINED:
      return error(state.where, what + ": a value without type");
    default:
      return unsupported(state.where,
                         fmt::format("{}: a value of kind {}", what, Proto::AttributeType_Name(proto.type())));
  }
}

bool is_constant_value(const std::string& name) {
  static const std::set<std::string> names = {"value",        "value_int",    "value_ints",    "value_float",
                                              "value_floats", "value_string", "value_strings", "sparse_value"};
  return names.contains(name);
}

}  // namespace

std::vector<std::string> unknown_strings(const google::protobuf::Message& message, int field) {
  const google::protobuf::UnknownFieldSet& fields = message.GetReflection()->GetUnknownFields(message);
  std::vector<std::string> found;
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() == field &&
        fields.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      found.push_back(fields.field(i).length_delimited());
    }
  }
  return found;
}

Status collect_unsupported(ImportState& state, const Diags& diags) {
  for (const Diag& diag : diags) {
    if (diag.kind != DiagKind::Unsupported) {
      return diags;
    }
  }
  state.unsupported.insert(state.unsupported.end(), diags.begin(), diags.end());
  return ok_status();
}

onnx::AttributeProto* resolve_attribute(const Scope& scope, onnx::AttributeProto& attribute) {
  if (attribute.ref_attr_name().empty()) {
    return &attribute;
  }
  if (scope.bindings == nullptr) {
    return nullptr;
  }
  const auto bound = scope.bindings->find(attribute.ref_attr_name());
  return bound == scope.bindings->end() ? nullptr : bound->second;
}

Result<std::map<std::string, Attribute>> import_attributes(ImportState& state, Scope& scope, onnx::NodeProto& node,
                                                           const std::string& what) {
  std::map<std::string, Attribute> attributes;
  std::set<std::string> seen;
  for (onnx::AttributeProto& written : *node.mutable_attribute()) {
    const std::string name = what + ": attribute '" + written.name() + "'";
    if (!seen.insert(written.name()).second) {
      return error(state.where, name + " is given twice");
    }
    onnx::AttributeProto* proto = resolve_attribute(scope, written);
    if (proto == nullptr) {
      continue;
    }
    const bool bound = proto != &written;
    auto attribute = import_attribute(state, scope, *proto, name, scope.shared_protos || bound, bound);
    if (attribute.ok()) {
      attributes.emplace(written.name(), std::move(attribute).value());
    } else {
      DLCC_RETURN_IF_ERROR(collect_unsupported(state, attribute.diags()));
    }
  }
  return attributes;
}

Result<ConstantTensor> import_constant(ImportState& state, Scope& scope, onnx::NodeProto& node,
                                       const std::string& what) {
  onnx::AttributeProto* value = nullptr;
  bool bound = false;
  for (onnx::AttributeProto& written : *node.mutable_attribute()) {
    if (!is_constant_value(written.name())) {
      return error(state.where, fmt::format("{}: unknown attribute '{}'", what, written.name()));
    }
    onnx::AttributeProto* proto = resolve_attribute(scope, written);
    if (proto == nullptr) {
      continue;
    }
    if (value != nullptr) {
      return error(state.where, what + ": more than one value");
    }
    value = proto;
    bound = proto != &written;
  }
  if (value == nullptr) {
    return error(state.where, what + ": no value");
  }
  return constant_of(state, *value, what, scope.shared_protos || bound);
}

Status import_type(ImportState& state, const onnx::TypeProto& type, const std::string& what, Value& value) {
  if (!type.has_tensor_type()) {
    const char* kind = type.has_sequence_type()        ? "a sequence"
                       : type.has_map_type()           ? "a map"
                       : type.has_optional_type()      ? "an optional"
                       : type.has_sparse_tensor_type() ? "a sparse tensor"
                                                       : "a value without type";
    return unsupported(state.where, what + ": " + kind);
  }
  const std::optional<DType> element = dtype_from_onnx(type.tensor_type().elem_type());
  if (!element) {
    return unsupported(state.where, what + ": element type " + onnx_type_name(type.tensor_type().elem_type()));
  }
  value.type = *element;
  value.shape_known = type.tensor_type().has_shape();
  std::vector<int64_t> sizes;
  for (const auto& proto : type.tensor_type().shape().dim()) {
    Dim dim;
    if (proto.has_dim_value() && proto.dim_value() >= 0) {  // some exporters write -1 for "unknown"
      dim.value = proto.dim_value();
      sizes.push_back(dim.value);
    } else if (!proto.dim_param().empty()) {
      dim.symbol = proto.dim_param();
    } else {
      dim.symbol = value.name + "." + std::to_string(value.shape.size());
    }
    value.shape.push_back(dim);
  }
  return check_shape(sizes, state.where, what);
}

}  // namespace dlcc::frontend
