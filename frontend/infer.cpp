// infer_and_fold: types, shapes and constants, node by node; If nodes with a constant condition are replaced by their
// branch on the way.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/fold.h"
#include "frontend/inline_if.h"
#include "frontend/ops.h"

namespace dlcc::frontend {

namespace {

constexpr size_t kMaxNodesAfterInlining = 1 << 18;

/// Why the table has no entry for a node.
Diags unknown_operator(const Node& node) {
  std::string reason = "dlcc does not have this operator";
  int since = 0, until = 0;
  for (const OpDef& op : op_table()) {
    if (node.domain == op.domain && node.op == op.name) {
      since = since == 0 ? op.since : std::min(since, op.since);
      until = std::max(until, op.until);
    }
  }
  if (until > 0) {
    reason = fmt::format("opsets {} to {} of it are", since, until);
  } else if (node.domain.empty() && node.op == "If") {
    reason = "its condition is not constant";
  } else if (node.domain.empty() && (node.op == "Loop" || node.op == "Scan")) {
    reason = "loops over run-time values are not handled";
  }
  return unsupported("node '" + node.name + "' (" + node.op + ")",
                     fmt::format("operator {} of domain {}, opset {}: {}", node.op,
                                 node.domain.empty() ? "ai.onnx" : node.domain, node.version, reason));
}

class Inference {
 public:
  Inference(Graph& graph, const FoldLimits& limits) : graph_(graph), budget_{limits} {}

  Status run() {
    check_inputs();
    pending_ = std::move(graph_.nodes);
    graph_.nodes.clear();
    std::reverse(pending_.begin(), pending_.end());
    while (!pending_.empty()) {
      Node node = std::move(pending_.back());
      pending_.pop_back();
      auto status = visit(node);
      diags_.insert(diags_.end(), status.diags().begin(), status.diags().end());
    }
    return diags_.empty() ? ok_status() : Status(diags_);
  }

 private:
  void check_inputs() {
    for (const ValueId input : graph_.inputs) {
      const Value& value = graph_.values[static_cast<size_t>(input)];
      if (!value.shape_known) {
        diags_.push_back(
            {DiagKind::Unsupported, "model '" + graph_.name + "'", "input '" + value.name + "' has no shape"});
      }
    }
  }

  Status visit(Node& node) {
    if (const auto branch = taken_branch(graph_, node)) {
      return splice(node, *branch);
    }
    const OpDef* op = find_op(node.domain, node.op, node.version);
    if (op == nullptr) {
      return unknown_operator(node);
    }
    const bool known = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input == kAbsent || graph_.values[static_cast<size_t>(input)].shape_known;
    });
    if (!known) {  // after a failure that is reported
      return ok_status();
    }
    DLCC_RETURN_IF_ERROR(infer(*op, node));
    DLCC_TRY(const bool folded, fold_node(graph_, node, budget_));
    if (!folded) {
      graph_.nodes.push_back(std::move(node));
    }
    return ok_status();
  }

  Status infer(const OpDef& op, const Node& node) {
    OpContext context(graph_, node);
    DLCC_TRY(const std::vector<TensorType> types, op.infer(context));
    const std::vector<std::string> unread = context.unread();
    if (!unread.empty()) {
      return context.unsupported(fmt::format("attribute '{}' of opset {} is not known here (or not of this kind)",
                                             fmt::join(unread, "', '"), node.version));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const std::string what = fmt::format("output {}", i);
      DLCC_RETURN_IF_ERROR(check_shape(types[i].shape, "node '" + node.name + "' (" + node.op + ")", what));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kAbsent) {
        continue;
      }
      DLCC_CHECK(i < types.size()) << "node '" << node.name << "' (" << node.op << "): no type for output " << i;
      Value& value = graph_.values[static_cast<size_t>(node.outputs[i])];
      value.type = types[i].type;
      value.shape_known = true;
      value.shape.clear();
      for (const int64_t dim : types[i].shape) {
        value.shape.push_back({dim, ""});
      }
    }
    return ok_status();
  }

  Status splice(const Node& node, const Graph& branch) {
    DLCC_TRY(std::vector<Node> nodes, inline_branch(graph_, node, branch));
    if (graph_.nodes.size() + pending_.size() + nodes.size() > kMaxNodesAfterInlining) {
      return unsupported("node '" + node.name + "' (If)",
                         fmt::format("more than {} nodes, branches written out", kMaxNodesAfterInlining));
    }
    std::move(nodes.rbegin(), nodes.rend(), std::back_inserter(pending_));
    return ok_status();
  }

  Graph& graph_;
  FoldBudget budget_;
  std::vector<Node> pending_;  // reversed
  Diags diags_;
};

}  // namespace

Status infer_and_fold(Graph& graph, const FoldLimits& limits) {
  return Inference(graph, limits).run();
}

}  // namespace dlcc::frontend
