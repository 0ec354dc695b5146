// The operator table: one entry per ONNX operator and range of opsets. An entry does everything dlcc knows of the operator:
// `infer` reads every attribute it understands and gives the outputs' types and shapes; `define` says what it computes, as statements.
// Both go through OpContext, which tracks the attributes read: an unread attribute is an error that names it.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/te/stmt.h"
#include "frontend/graph.h"

namespace dlcc::frontend {

struct TensorType {
  DType type = DType::F32;
  std::vector<int64_t> shape;
};

/// What infer and define see of one node. Shapes are concrete (dims are bound before).
class OpContext {
 public:
  OpContext(const Graph& graph, const Node& node);
  const Node& node() const { return node_; }
  int version() const { return node_.version; }
  int input_count() const { return static_cast<int>(node_.inputs.size()); }
  int output_count() const { return static_cast<int>(node_.outputs.size()); }
  bool has_input(int i) const;
  bool has_output(int i) const;
  const TensorType& input(int i) const;            // checked: present
  /// Elements of a constant input as int64 / double; nullopt when it is not constant.
  std::optional<std::vector<int64_t>> constant_ints(int i) const;
  std::optional<std::vector<double>> constant_floats(int i) const;
  /// Attributes; each call marks the name as read.
  std::optional<int64_t> attr_int(const char* name);
  std::optional<float> attr_float(const char* name);
  std::optional<std::string> attr_string(const char* name);
  std::optional<std::vector<int64_t>> attr_ints(const char* name);
  std::optional<std::vector<float>> attr_floats(const char* name);
  std::shared_ptr<const te::Array> attr_tensor(const char* name);
  void ignore_attr(const char* name) { read_.insert(name); }   // only with a reason in a comment
  std::vector<std::string> unread() const;
  /// "node 'x' (Conv): message", of either kind.
  Diags error(const std::string& message) const;
  Diags unsupported(const std::string& message) const;

 private:
  const Graph& graph_;
  const Node& node_;
  std::vector<TensorType> inputs_;
  std::set<std::string> read_;
};

/// Emits the statements of one node into a module. Tensor ids are the module's.
class StmtBuilder {
 public:
  StmtBuilder(te::Module& module, int node, std::vector<int> inputs, std::vector<int> outputs);
  int input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  int output(int i) const { return outputs_[static_cast<size_t>(i)]; }
  te::Tensor tensor(int id) const { return module_.tensors[static_cast<size_t>(id)]; }   // a copy: the table grows
  /// A new intermediate tensor, named after the node.
  int temporary(const std::string& suffix, DType type, std::vector<int64_t> shape);
  /// A constant computed at compile time (counts of average pooling, index tables). The module keeps the data.
  int constant(const std::string& suffix, te::Array value);
  /// Tensor `output` (an output(i)) is `source` with another shape: no copy, unless it is an output of the graph, which owns its memory.
  void alias(int output, int source);
  /// Appends; name, node and canonical form (unit dims dropped, transcendentals kept) are filled in.
  void add(te::Stmt stmt);
  /// The data of the constants made so far; whoever keeps the module keeps these.
  std::vector<std::shared_ptr<const void>> take_owned() { return std::move(owned_); }

 private:
  te::Module& module_;
  int node_;
  std::vector<int> inputs_, outputs_;
  std::vector<std::shared_ptr<const void>> owned_;
};

struct OpDef {
  const char* domain;
  const char* name;
  int since, until;                  // opset range, inclusive
  Result<std::vector<TensorType>> (*infer)(OpContext&);
  Status (*define)(OpContext&, StmtBuilder&);
};

/// All operators, sorted by domain, name, since. One file of frontend/ops/ contributes each part; the list is in frontend/ops/table.cpp.
std::span<const OpDef> op_table();
const OpDef* find_op(const std::string& domain, const std::string& name, int version);

/// Shapes, types and constants of the whole graph: infers node by node and folds nodes whose inputs are constant. All unsupported nodes are
/// listed at once, with op, domain, version and reason.
/// A node is folded when no output depends on a value known only at run time (so Shape folds too) and the limits allow it; else it stays.
struct FoldLimits {
  double node_work = 1 << 28, total_work = 1 << 30;              // statement points times operations
  double node_bytes = 64 << 20, total_bytes = 256 << 20;         // or twice the constants read, whichever is more
};
Status infer_and_fold(Graph& graph, const FoldLimits& limits = {});

/// Graph -> Graph rewrites in their fixed order (the table is in frontend/rewrites.cpp): dropout and identity removal, BatchNormalization into Conv,
/// chains of reshapes and of transposes, dead code.
struct GraphPass {
  const char* name;
  Status (*run)(Graph&);
};
std::span<const GraphPass> graph_passes();

/// The statements of every node. Constants of the module point into the graph's data or into `owned`, which must outlive the module.
struct Definition {
  te::Module module;
  std::vector<std::shared_ptr<const void>> owned;
};
Result<Definition> define(const Graph& graph);

}  // namespace dlcc::frontend
