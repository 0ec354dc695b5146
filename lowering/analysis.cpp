// Fusion group -> GroupAnalysis: local tensors, the streamed reduction, phases, padded copies.
#include "lowering/analysis.h"

#include <algorithm>
#include <map>
#include <set>

#include "lowering/inline.h"
#include "lowering/stmt_traits.h"

namespace dlcc::lowering {

using te::Stmt;
using te::StmtKind;

namespace {

class Analyser {
 public:
  Analyser(const te::Module& module, const FusionGroup& group, const Context& context)
      : module_(module), source_(group), context_(context) {}

  Result<GroupAnalysis> run() {
    std::vector<Stmt> stmts;
    for (int position : source_.stmts) {
      stmts.push_back(module_.stmts[static_cast<size_t>(position)]);
      note_node(stmts.back());
    }
    inline_maps(stmts);
    for (Stmt& stmt : stmts) {
      add_stmt(std::move(stmt));
    }
    for (const Stmt& stmt : out_.stmts) {
      if (stmt.kind == StmtKind::Scan || stmt.kind == StmtKind::Opaque) {
        return unsupported(stmt.name, "a scan or opaque statement has no lowering");
      }
    }
    pick_streamed();
    assign_phases();
    if (!can_pad_on_load()) {
      insert_padded_copies();
    }
    DLCC_RETURN_IF_ERROR(check_phases());
    describe();
    if (out_.streamed >= 0) {
      out_.intrinsics = match_streamed();
      drop_results_of_higher_rank();
    }
    return std::move(out_);
  }

 private:
  void note_node(const Stmt& stmt) {
    if (stmt.node >= 0 && seen_nodes_.insert(stmt.node).second) {
      out_.onnx_nodes.push_back(module_.node_names[static_cast<size_t>(stmt.node)]);
    }
  }

  int local_tensor(int module_tensor) {
    const auto [at, fresh] = local_.try_emplace(module_tensor, static_cast<int>(out_.tensors.size()));
    if (fresh) {
      const te::Tensor& tensor = module_.tensors[static_cast<size_t>(module_tensor)];
      out_.tensors.push_back({tensor.name, tensor.type, tensor.shape, module_tensor, -1});
    }
    return at->second;
  }

  void add_stmt(Stmt stmt) {
    for (te::Access& read : stmt.reads) {
      read.tensor = local_tensor(read.tensor);
    }
    stmt.write.tensor = local_tensor(stmt.write.tensor);
    out_.tensors[static_cast<size_t>(stmt.write.tensor)].producer = static_cast<int>(out_.stmts.size());
    out_.flops += flops_of(stmt);
    out_.stmts.push_back(std::move(stmt));
  }

  // The contraction if there is one, else the only reduction: a second reduction needs whole rows of the first anyway.
  void pick_streamed() {
    int reductions = 0, last = -1, contraction = -1;
    for (size_t s = 0; s < out_.stmts.size(); ++s) {
      if (out_.stmts[s].kind == StmtKind::Reduce) {
        ++reductions;
        last = static_cast<int>(s);
        if (is_contraction(out_.stmts[s])) {
          contraction = static_cast<int>(s);
        }
      }
    }
    out_.streamed = contraction >= 0 ? contraction : reductions == 1 ? last : -1;
  }

  void assign_phases() {
    out_.phase.assign(out_.stmts.size(), Phase::Final);
    if (out_.streamed < 0) {
      return;
    }
    std::vector<int> todo = {out_.streamed};
    while (!todo.empty()) {
      const int s = todo.back();
      todo.pop_back();
      out_.phase[static_cast<size_t>(s)] = Phase::Stream;
      for (const te::Access& read : out_.stmts[static_cast<size_t>(s)].reads) {
        const int producer = out_.tensors[static_cast<size_t>(read.tensor)].producer;
        if (producer >= 0 && out_.phase[static_cast<size_t>(producer)] == Phase::Final) {
          todo.push_back(producer);
        }
      }
    }
  }

  bool can_pad_on_load() const {
    const hw::Machine& machine = context_.machine;
    const std::vector<int> route = machine.route(machine.global_memory(), machine.work_memory());
    return !route.empty() && machine.paths[static_cast<size_t>(route.front())].can(hw::Transform::Pad);
  }

  // x -> x.pad = x inside, the fill outside: the core writes the border, the transfer stays dense.
  void insert_padded_copies() {
    std::vector<Stmt> stmts;
    std::vector<Phase> phases;
    std::vector<int> moved(out_.stmts.size());
    std::map<std::tuple<int, double, Phase>, int> copies;
    for (size_t s = 0; s < out_.stmts.size(); ++s) {
      Stmt stmt = out_.stmts[s];
      for (te::Access& read : stmt.reads) {
        if (!read.fill || out_.tensors[static_cast<size_t>(read.tensor)].producer >= 0) {
          continue;
        }
        const auto key = std::make_tuple(read.tensor, *read.fill, out_.phase[s]);
        auto at = copies.find(key);
        if (at == copies.end()) {
          at = copies.emplace(key, add_padded_tensor(read.tensor, static_cast<int>(stmts.size()))).first;
          stmts.push_back(copy_stmt(read.tensor, at->second));
          phases.push_back(out_.phase[s]);
        }
        read.tensor = at->second;
      }
      moved[s] = static_cast<int>(stmts.size());
      out_.tensors[static_cast<size_t>(stmt.write.tensor)].producer = moved[s];
      stmts.push_back(std::move(stmt));
      phases.push_back(out_.phase[s]);
    }
    out_.streamed = out_.streamed >= 0 ? moved[static_cast<size_t>(out_.streamed)] : -1;
    out_.stmts = std::move(stmts);
    out_.phase = std::move(phases);
  }

  int add_padded_tensor(int tensor, int producer) {
    GroupTensor padded = out_.tensors[static_cast<size_t>(tensor)];
    padded.name += ".pad";
    padded.module_tensor = -1;
    padded.producer = producer;
    out_.tensors.push_back(padded);
    return static_cast<int>(out_.tensors.size()) - 1;
  }

  Stmt copy_stmt(int from, int to) const {
    const GroupTensor& tensor = out_.tensors[static_cast<size_t>(to)];
    Stmt copy;
    copy.name = tensor.name;
    copy.write.tensor = to;
    te::Access read;
    read.tensor = from;
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      copy.dims.push_back({"i" + std::to_string(d), tensor.shape[d], te::DimKind::Par});
      copy.write.index.push_back(te::Affine::var(static_cast<int>(d)));
    }
    read.index = copy.write.index;
    copy.reads.push_back(std::move(read));
    te::ScalarBuilder body;
    copy.body = body.finish(body.load(tensor.type, 0));
    return copy;
  }

  // A value that flows from inside the reduction loop to after it would be needed in two different boxes.
  Status check_phases() const {
    for (size_t s = 0; s < out_.stmts.size(); ++s) {
      for (const te::Access& read : out_.stmts[s].reads) {
        const int producer = out_.tensors[static_cast<size_t>(read.tensor)].producer;
        if (producer >= 0 && producer != out_.streamed && out_.phase[static_cast<size_t>(producer)] == Phase::Stream &&
            out_.phase[s] == Phase::Final) {
          return unsupported(out_.stmts[s].name, "needs '" + out_.stmts[static_cast<size_t>(producer)].name +
                                                     "' both inside and after the reduction loop");
        }
      }
    }
    return ok_status();
  }

  void describe() {
    const int named = out_.streamed >= 0 ? out_.streamed : out_.root();
    out_.name = out_.stmts[static_cast<size_t>(named)].name;
    bool reduces = false;
    for (const Stmt& stmt : out_.stmts) {
      reduces |= stmt.kind == StmtKind::Reduce;
    }
    const bool contraction = out_.streamed >= 0 && is_contraction(out_.stmts[static_cast<size_t>(out_.streamed)]);
    out_.kind = contraction ? "contraction" : reduces ? "reduce" : "map";
  }

  /// The root's buffer has its Par dims only; an intrinsic addresses its result by as many indices as its semantics has.
  void drop_results_of_higher_rank() {
    if (out_.streamed != out_.root()) {
      return;
    }
    const std::vector<te::Dim>& dims = out_.root_stmt().dims;
    const auto rank = static_cast<size_t>(std::count_if(dims.begin(), dims.end(), [](const te::Dim& dim) { return dim.kind == te::DimKind::Par; }));
    std::erase_if(out_.intrinsics, [&](const IntrinsicMatch& match) {
      return context_.machine.intrinsics[static_cast<size_t>(match.intrinsic)].semantics.output_index.size() > rank;
    });
  }

  std::vector<IntrinsicMatch> match_streamed() const {
    te::Module local;
    for (const GroupTensor& tensor : out_.tensors) {
      local.tensors.push_back({tensor.name, tensor.type, tensor.shape, te::TensorKind::Intermediate, -1, nullptr});
    }
    return match_intrinsics(local, out_.stmts[static_cast<size_t>(out_.streamed)], context_);
  }

  const te::Module& module_;
  const FusionGroup& source_;
  const Context& context_;
  GroupAnalysis out_;
  std::map<int, int> local_;
  std::set<int> seen_nodes_;
};

}  // namespace

Result<GroupAnalysis> analyse(const te::Module& module, const FusionGroup& group, const Context& context) {
  return Analyser(module, group, context).run();
}

}  // namespace dlcc::lowering
