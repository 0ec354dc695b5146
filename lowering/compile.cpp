// The whole of lowering: canonical statements, fusion groups, plans, programs, kernels, the arena.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/integer.h"
#include "base/te/text.h"
#include "lowering/arena.h"
#include "lowering/cost.h"
#include "lowering/emit.h"
#include "lowering/gather_rows.h"
#include "lowering/kernelize.h"
#include "lowering/lower.h"

namespace dlcc::lowering {

namespace {

constexpr int64_t kTensorAlign = 128;   // bytes; the widest DMA granule of the shipped chips

class Compiler {
 public:
  Compiler(const te::Module& module, const std::string& model, const Context& context, const CompileOptions& options)
      : module_(canonicalise(module)), context_(context), options_(options) {
    out_.program.model = model;
    out_.program.machine = context.machine.name;
  }

  Result<Compiled> run() {
    report("canonicalise", [&] { return te::print(module_); });
    groups_ = fuse(module_, context_);
    report("fuse", [&] { return print_groups(); });
    add_tensors();
    for (size_t g = 0; g < groups_.size(); ++g) {
      DLCC_RETURN_IF_ERROR(compile_group(groups_[g]));
    }
    report("plan", [&] { return fmt::format("{}\n", fmt::join(out_.plans, "\n")); });
    report("lower", [&] { return hw::print(out_.program, context_.machine); });
    for (hw::Group& group : out_.program.groups) {
      DLCC_RETURN_IF_ERROR(make_kernels(group));
    }
    report("kernelize", [&] { return hw::print(out_.program, context_.machine); });
    place_tensors();
    report("arena", [&] { return hw::print(out_.program, context_.machine); });
    DLCC_RETURN_IF_ERROR(hw::verify(out_.program, context_.machine));
    return std::move(out_);
  }

 private:
  void report(const std::string& pass, const std::function<std::string()>& text) const {
    if (options_.after_pass) {
      options_.after_pass(pass, text);
    }
  }

  std::string print_groups() const {
    std::string text;
    for (const FusionGroup& group : groups_) {
      text += "group";
      for (int s : group.stmts) {
        text += " " + module_.stmts[static_cast<size_t>(s)].name;
      }
      text += "\n";
    }
    return text;
  }

  /// Tensors that are in global memory: every tensor that some group loads or stores, and the model's inputs and outputs.
  void add_tensors() {
    tensor_of_.assign(module_.tensors.size(), -1);
    for (int t : module_.inputs) {
      out_.program.inputs.push_back(program_tensor(t));
    }
    for (int t : module_.outputs) {
      out_.program.outputs.push_back(program_tensor(t));
    }
  }

  int program_tensor(int t) {
    int& id = tensor_of_[static_cast<size_t>(t)];
    if (id < 0) {
      const te::Tensor& tensor = module_.tensors[static_cast<size_t>(t)];
      const te::Tensor& root = module_.tensors[static_cast<size_t>(module_.root_of(t))];
      id = static_cast<int>(out_.program.tensors.size());
      const hw::Space space = root.kind == te::TensorKind::Constant ? hw::Space::Weights : hw::Space::Arena;
      out_.program.tensors.push_back({tensor.name, tensor.type, tensor.shape, space, 0});
      module_tensor_.push_back(t);
    }
    return id;
  }

  Status compile_group(const FusionGroup& source) {
    DLCC_TRY(const GroupAnalysis group, analyse(module_, source, context_));
    if (te::element_count(group.tensors[static_cast<size_t>(group.root_stmt().write.tensor)].shape) == 0) {
      return ok_status();   // nothing to compute
    }
    if (group.stmts.size() == 1 && gathers_rows(group.root_stmt(), group.tensors, context_.machine)) {
      append(group, lower_rows(group, [&](int t) { return program_tensor(t); }, context_.machine), "row by row");
      return ok_status();
    }
    const Status lowered = plan_and_lower(group);
    if (lowered.ok()) {
      return ok_status();
    }
    if (source.stmts.size() == 1) {
      return lowered.diags();
    }
    context_.explain.add(group.name, "fused group split into statements: " + lowered.diags().front().message);
    for (const FusionGroup& part : split(source)) {
      DLCC_RETURN_IF_ERROR(compile_group(part));
    }
    return ok_status();
  }

  void append(const GroupAnalysis& group, hw::Group lowered, const std::string& plan) {
    lowered.info.bound_cycles = bound_cycles(group, context_.machine);
    if (!out_.program.groups.empty()) {
      lowered.body.insert(lowered.body.begin(), hw::Node{hw::Barrier{}});
    }
    out_.program.groups.push_back(std::move(lowered));
    out_.plans.push_back(group.name + ": " + plan);
  }

  Status plan_and_lower(const GroupAnalysis& group) {
    DLCC_TRY(TilePlan plan, options_.plan_for ? options_.plan_for(group) : choose_plan(group, context_));
    const auto tensor_of = [&](int module_tensor) { return program_tensor(module_tensor); };
    Result<hw::Group> lowered = lower(group, plan, tensor_of, context_);
    if (!lowered.ok() && plan.double_buffer) {
      context_.explain.add(group.name, lowered.diags().front().message + "; tried again with single buffers");
      plan.double_buffer = false;
      lowered = lower(group, plan, tensor_of, context_);
    }
    if (!lowered.ok()) {
      return lowered.diags();
    }
    if (options_.after_group) {
      options_.after_group(group, plan, *lowered, tensor_of);
    }
    append(group, std::move(*lowered), print(plan, group));
    return ok_status();
  }

  Status make_kernels(hw::Group& group) {
    Diags problems;
    hw::for_each_node(group.body, [&](hw::Node& node) {
      if (auto* leaf = std::get_if<hw::Compute>(&node.v); leaf != nullptr && problems.empty()) {
        if (const Status status = kernelize(*leaf, group, context_); !status.ok()) {
          problems = status.diags();
        }
      }
    });
    return problems.empty() ? ok_status() : Status(problems);
  }

  /// First and last group that touches each owner of memory. Inputs live from the start, outputs to the end.
  std::map<int, ArenaItem> lifetimes() const {
    std::map<int, ArenaItem> items;   // by owning module tensor
    const auto touch = [&](int program_tensor, int group) {
      const int owner = module_.root_of(module_tensor_[static_cast<size_t>(program_tensor)]);
      const te::Tensor& tensor = module_.tensors[static_cast<size_t>(owner)];
      const auto [at, fresh] = items.try_emplace(owner, ArenaItem{te::element_count(tensor.shape) * bytes_of(tensor.type), group, group, -1});
      at->second.first = std::min(at->second.first, group);
      at->second.last = std::max(at->second.last, group);
    };
    const int end = static_cast<int>(out_.program.groups.size());
    for (int t : out_.program.inputs) {
      touch(t, -1);
    }
    for (int t : out_.program.outputs) {
      touch(t, end);
    }
    for (int g = 0; g < end; ++g) {
      hw::for_each_node(out_.program.groups[static_cast<size_t>(g)].body, [&](const hw::Node& node) {
        if (const auto* dma = std::get_if<hw::Dma>(&node.v)) {
          for (const hw::View* view : {&dma->src, &dma->dst}) {
            if (view->kind == hw::ObjectKind::Tensor) {
              touch(view->object, g);
            }
          }
        }
      });
    }
    return items;
  }

  void place_tensors() {
    std::map<int, ArenaItem> items = lifetimes();
    std::vector<int> owners;
    std::vector<ArenaItem> arena;
    std::map<int, int64_t> offset;
    for (const auto& [owner, item] : items) {
      const te::Tensor& tensor = module_.tensors[static_cast<size_t>(owner)];
      if (tensor.kind == te::TensorKind::Constant) {
        offset[owner] = out_.program.weights_bytes;
        out_.weights.push_back({out_.program.weights_bytes, item.bytes, tensor.data});
        out_.program.weights_bytes += round_up(item.bytes, kTensorAlign);
      } else {
        owners.push_back(owner);
        arena.push_back(item);
      }
    }
    out_.program.arena_bytes = plan_arena(arena, kTensorAlign);
    for (size_t i = 0; i < owners.size(); ++i) {
      offset[owners[i]] = arena[i].offset;
    }
    for (size_t t = 0; t < out_.program.tensors.size(); ++t) {
      out_.program.tensors[t].offset = offset[module_.root_of(module_tensor_[t])];
    }
  }

  const te::Module module_;
  const Context& context_;
  const CompileOptions& options_;
  std::vector<FusionGroup> groups_;
  std::vector<int> tensor_of_;       // module tensor -> program tensor
  std::vector<int> module_tensor_;   // program tensor -> module tensor
  Compiled out_;
};

}  // namespace

Result<Compiled> compile(const te::Module& module, const std::string& model_name, const Context& context, const CompileOptions& options) {
  return Compiler(module, model_name, context, options).run();
}

}  // namespace dlcc::lowering
