// Pieces of the ONNX import that its files share: GraphProto -> Graph with scopes, function bodies written out, nodes
// sorted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "frontend/graph.h"
#include "frontend/onnx_tensor.h"
#include "frontend/unique_names.h"

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class OperatorSetIdProto;
class TypeProto;
}  // namespace onnx
namespace google::protobuf {
class Message;
}

namespace dlcc::frontend {

constexpr int kMaxNesting = 32;        // of subgraphs and of function calls
constexpr size_t kMaxNodes = 1 << 18;  // after functions and branches are written out

/// Opset of each imported domain; "ai.onnx" is "".
using Opsets = std::map<std::string, int>;
using AttributeBindings = std::map<std::string, onnx::AttributeProto*>;

/// The import of one model.
struct ImportState {
  std::string where;
  ExternalFiles files;
  std::map<std::tuple<std::string, std::string, std::string>, onnx::FunctionProto*> functions =
      {};  // domain, name, overload
  std::map<const onnx::FunctionProto*, std::vector<std::shared_ptr<onnx::AttributeProto>>> defaults = {};
  std::map<const onnx::TensorProto*, ConstantTensor> shared_tensors =
      {};                  // of function bodies, read once for all calls
  Diags unsupported = {};  // collected, so that one run names all of them
  size_t nodes = 0;
  int opset = kMinOpset;  // of ai.onnx, for nodes of our own
};

/// A graph being built. `extra` are values that a node's subgraphs capture: it depends on them like on its inputs.
struct GraphDraft {
  Graph graph;
  std::vector<std::vector<ValueId>> extra;  // by node
  UniqueNames value_names, node_names;
};

/// Where names are looked up: one per graph and one per function call (which writes its nodes into the caller's graph).
struct Scope {
  GraphDraft* draft = nullptr;
  Scope* parent = nullptr;  // of a subgraph: the scope around it
  const Opsets* opsets = nullptr;
  const AttributeBindings* bindings = nullptr;  // attributes of the function call
  std::string prefix;                           // of new names inside function bodies
  bool shared_protos = false;                   // the protos may be imported again: their data may not be moved out
  int depth = 0;
  std::map<std::string, ValueId> names;
  std::map<std::string, ValueId> reserved;  // outputs of a function body that are the caller's values
  std::vector<ValueId> captured;            // values looked up from subgraphs of the node at hand
};

/// The value of that name, looked up outwards. kAbsent: an input that the caller of the function left out.
std::optional<ValueId> find_value(Scope& scope, const std::string& name);
/// A new value; defining a name twice is an error.
Result<ValueId> declare_value(const ImportState& state, Scope& scope, const std::string& name);
/// Keeps failures that only say "unsupported" for the end of the import; anything else stays a failure.
Status collect_unsupported(ImportState& state, const Diags& diags);
/// "node 'x' (Conv)"
std::string describe_node(const std::string& name, const std::string& op);

Result<Graph> import_graph(ImportState& state, onnx::GraphProto& proto, Scope* parent, const Opsets& opsets,
                           bool shared_protos, int depth);
/// Appends the nodes to the scope's draft (unsorted).
Status import_nodes(ImportState& state, Scope& scope, const std::vector<onnx::NodeProto*>& nodes);
/// Writes the body of a function in place of a call. inputs, outputs: the caller's values.
Status inline_function(ImportState& state, Scope& caller, onnx::NodeProto& call, const std::string& call_name,
                       onnx::FunctionProto& function, const std::vector<ValueId>& inputs,
                       const std::vector<ValueId>& outputs);
/// Attributes of a node, with references to the function's attributes resolved. Kinds dlcc has no form for go to
/// state.unsupported.
Result<std::map<std::string, Attribute>> import_attributes(ImportState& state, Scope& scope, onnx::NodeProto& node,
                                                           const std::string& what);
/// The attribute itself, or what the function's caller gave for it; null when it refers to one that was left out.
onnx::AttributeProto* resolve_attribute(const Scope& scope, onnx::AttributeProto& attribute);
/// The value of a Constant node.
Result<ConstantTensor> import_constant(ImportState& state, Scope& scope, onnx::NodeProto& node,
                                       const std::string& what);
/// Element type and shape of a declared input.
Status import_type(ImportState& state, const onnx::TypeProto& type, const std::string& what, Value& value);

Result<Opsets> import_opsets(const ImportState& state, const std::vector<const onnx::OperatorSetIdProto*>& imports,
                             const std::string& what);
/// Values of a field that is newer than the installed definition of the format.
std::vector<std::string> unknown_strings(const google::protobuf::Message& message, int field);

/// Nodes in an order in which every value is produced before it is used; nodes that are already so keep their order.
Status sort_nodes(GraphDraft& draft, const std::string& where);

}  // namespace dlcc::frontend
