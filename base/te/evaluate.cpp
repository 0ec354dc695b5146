// The oracle: modules run statement by statement, statements point by point in the order that stmt.h fixes (kLanes
// independent points of the Par dims at a time; each one's reduction keeps its order).
#include "base/te/evaluate.h"

#include <fmt/format.h>

#include <map>

#include "base/te/lane_access.h"
#include "base/te/strip.h"

namespace dlcc::te {
namespace {

// Beyond these a module is refused rather than run: 16 GiB of live intermediate data, 2^42 body evaluations.
constexpr int64_t kByteLimit = int64_t{16} << 30;
constexpr int64_t kPointLimit = int64_t{1} << 42;

/// Steps a position through a box in lexicographic order; false after the last point.
bool advance(std::vector<int64_t>& position, const std::vector<int64_t>& extents) {
  for (size_t k = position.size(); k-- > 0;) {
    if (++position[k] < extents[k]) {
      return true;
    }
    position[k] = 0;
  }
  return false;
}

std::vector<int64_t> position_at(int64_t point, const std::vector<int64_t>& extents) {
  std::vector<int64_t> position(extents.size());
  for (size_t k = extents.size(); k-- > 0;) {
    position[k] = point % extents[k];
    point /= extents[k];
  }
  return position;
}

/// Runs one statement over the data of its tensors.
class StmtRunner {
 public:
  StmtRunner(const Module& module, const Stmt& stmt, std::vector<const std::byte*> reads, std::byte* write);
  void run();

 private:
  void start_strip(int64_t first, int n);
  void reduce_strip(int n);
  void execute_list(const std::vector<Instruction>& list, int n);
  void load(const Instruction& instruction);
  void index(const Instruction& instruction);

  const Module& module_;
  const Stmt& stmt_;
  const DimLists dims_;
  const StripProgram program_;
  const DType type_;
  std::vector<const std::byte*> reads_;
  std::byte* write_;
  std::vector<LaneAccess> accesses_;
  LaneAccess target_;
  LaneRuns runs_;
  std::vector<LaneNumbers> indices_;  // by Stmt::dims; used for those that the body mentions
  std::vector<Register> registers_;
  Register chosen_, acc_;
  std::vector<int64_t> red_;
};

StmtRunner::StmtRunner(const Module& module, const Stmt& stmt, std::vector<const std::byte*> reads, std::byte* write)
    : module_(module),
      stmt_(stmt),
      dims_(stmt),
      program_(compile_strip(stmt)),
      type_(module.tensors[static_cast<size_t>(stmt.write.tensor)].type),
      reads_(std::move(reads)),
      write_(write),
      target_(stmt.write, module.tensors[static_cast<size_t>(stmt.write.tensor)], dims_),
      indices_(stmt.dims.size()),
      registers_(static_cast<size_t>(program_.registers)) {
  for (const Access& access : stmt.reads) {
    accesses_.emplace_back(access, module_.tensors[static_cast<size_t>(access.tensor)], dims_);
  }
  for (size_t d = 0; d < stmt.dims.size(); ++d) {
    indices_[d].affine = SplitAffine(Affine::var(static_cast<VarId>(d)), dims_);
  }
}

void StmtRunner::load(const Instruction& instruction) {
  const auto read = static_cast<size_t>(instruction.node.integer);
  const Access& access = stmt_.reads[read];
  const Register* chosen = nullptr;
  if (access.indirect_axis >= 0) {
    const auto by = static_cast<size_t>(access.indirect_read);
    accesses_[by].load(reads_[by], runs_, red_, nullptr, chosen_);
    chosen = &chosen_;
  }
  accesses_[read].load(reads_[read], runs_, red_, chosen, registers_[static_cast<size_t>(instruction.to)]);
}

void StmtRunner::index(const Instruction& instruction) {
  const LaneNumbers& numbers = indices_[static_cast<size_t>(instruction.node.integer)];
  const int64_t shift = numbers.affine.red_value(red_);
  Register& to = registers_[static_cast<size_t>(instruction.to)];
  for (int run = 0; run < runs_.count; ++run) {
    for (int k = 0; k < runs_.length[run]; ++k) {
      to.i[runs_.lane[run] + k] = numbers.base[run] + k * numbers.step + shift;
    }
  }
}

void StmtRunner::execute_list(const std::vector<Instruction>& list, int n) {
  for (const Instruction& instruction : list) {
    if (instruction.node.op == Op::Load) {
      load(instruction);
    } else if (instruction.node.op == Op::Index) {
      index(instruction);
    } else {
      execute(instruction, registers_.data(), n);
    }
  }
}

void StmtRunner::start_strip(int64_t first, int n) {
  runs_.start(dims_, position_at(first, dims_.par_extent), n);
  for (LaneAccess& access : accesses_) {
    access.start(runs_);
  }
  target_.start(runs_);
  for (const ScalarNode& node : stmt_.body) {
    if (node.op == Op::Index) {
      indices_[static_cast<size_t>(node.integer)].start(runs_);
    }
  }
  red_.assign(dims_.red_extent.size(), 0);
}

void StmtRunner::reduce_strip(int n) {
  fill(type_, value_of(identity_of(stmt_.monoid, type_), type_), acc_, n);
  if (dims_.red_points == 0) {
    return;
  }
  execute_list(program_.strip, n);
  const int64_t block = sum_block(stmt_);
  Register total = acc_;
  bool more = true;
  while (more) {
    const int64_t before = block > 0 ? red_.front() : 0;
    execute_list(program_.point, n);
    if (program_.factor_a >= 0) {
      accumulate_fma(type_, registers_[static_cast<size_t>(program_.factor_a)],
                     registers_[static_cast<size_t>(program_.factor_b)], acc_, n);
    } else {
      accumulate(stmt_.monoid, type_, registers_[static_cast<size_t>(program_.result)], acc_, n);
    }
    more = advance(red_, dims_.red_extent);
    if (block > 0 && more && red_.front() != before && red_.front() % block == 0) {
      accumulate(stmt_.monoid, type_, acc_, total, n);
      fill(type_, value_of(identity_of(stmt_.monoid, type_), type_), acc_, n);
    }
  }
  if (block > 0) {
    accumulate(stmt_.monoid, type_, acc_, total, n);
    acc_ = total;
  }
}

void StmtRunner::run() {
  for (const Instruction& constant : program_.constants) {
    fill(constant.node.type, {constant.node.number, constant.node.integer},
         registers_[static_cast<size_t>(constant.to)], kLanes);
  }
  for (int64_t first = 0; first < dims_.par_points; first += kLanes) {
    const int n = static_cast<int>(std::min<int64_t>(kLanes, dims_.par_points - first));
    start_strip(first, n);
    if (stmt_.kind == StmtKind::Reduce) {
      reduce_strip(n);
      target_.store(write_, runs_, acc_);
    } else {
      execute_list(program_.point, n);
      target_.store(write_, runs_, registers_[static_cast<size_t>(program_.result)]);
    }
  }
}

/// Data of the module's root tensors while its statements run.
class ModuleRunner {
 public:
  explicit ModuleRunner(const Module& module)
      : module_(module),
        data_(module.tensors.size(), nullptr),
        owned_(module.tensors.size()),
        last_use_(module.tensors.size(), -1) {}
  Result<std::vector<Array>> run(const std::vector<Array>& inputs);

 private:
  Status bind(const std::vector<Array>& inputs);
  Status check_work() const;
  void find_last_uses();
  Status run_stmt(const Stmt& stmt, int position);
  size_t root(int tensor) const { return static_cast<size_t>(module_.root_of(tensor)); }
  const Tensor& tensor(size_t id) const { return module_.tensors[id]; }

  const Module& module_;
  std::vector<const std::byte*> data_;
  std::vector<std::vector<std::byte>> owned_;
  std::vector<int> last_use_;  // statement after which a root's data can go
  int64_t live_bytes_ = 0;
};

std::string shape_text(DType type, const std::vector<int64_t>& shape) {
  return fmt::format("{}[{}]", name_of(type), fmt::join(shape, ","));
}

Status ModuleRunner::bind(const std::vector<Array>& inputs) {
  if (inputs.size() != module_.inputs.size()) {
    return error("inputs", fmt::format("{} given, the model takes {}", inputs.size(), module_.inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& expected = tensor(static_cast<size_t>(module_.inputs[i]));
    if (inputs[i].type != expected.type || inputs[i].shape != expected.shape) {
      return error("input " + expected.name,
                   fmt::format("is {}, the model takes {}", shape_text(inputs[i].type, inputs[i].shape),
                               shape_text(expected.type, expected.shape)));
    }
    const auto bytes = static_cast<size_t>(element_count(expected.shape) * bytes_of(expected.type));
    if (inputs[i].data.size() != bytes) {
      return error("input " + expected.name,
                   fmt::format("has {} bytes, its shape needs {}", inputs[i].data.size(), bytes));
    }
    data_[static_cast<size_t>(module_.inputs[i])] = inputs[i].data.data();
  }
  for (size_t id = 0; id < module_.tensors.size(); ++id) {
    if (tensor(id).storage < 0 && tensor(id).kind == TensorKind::Constant) {
      data_[id] = static_cast<const std::byte*>(tensor(id).data);
    }
  }
  return ok_status();
}

Status ModuleRunner::check_work() const {
  int64_t points = 0;
  for (const Stmt& stmt : module_.stmts) {
    std::vector<int64_t> extents;
    for (const Dim& dim : stmt.dims) {
      extents.push_back(dim.extent);
    }
    points += std::min(element_count(extents), kPointLimit);
    if (points >= kPointLimit) {
      return error("stmt " + stmt.name, fmt::format("evaluation needs more than {} points", kPointLimit));
    }
  }
  return ok_status();
}

void ModuleRunner::find_last_uses() {
  for (size_t i = 0; i < module_.stmts.size(); ++i) {
    last_use_[root(module_.stmts[i].write.tensor)] = static_cast<int>(i);
    for (const Access& read : module_.stmts[i].reads) {
      last_use_[root(read.tensor)] = static_cast<int>(i);
    }
  }
  for (const int output : module_.outputs) {
    last_use_[root(output)] = static_cast<int>(module_.stmts.size());
  }
}

Status ModuleRunner::run_stmt(const Stmt& stmt, int position) {
  const size_t target = root(stmt.write.tensor);
  const int64_t bytes = element_count(tensor(target).shape) * bytes_of(tensor(target).type);
  if (data_[target] == nullptr && bytes > 0) {
    if (bytes > kByteLimit - live_bytes_) {
      return error("stmt " + stmt.name, fmt::format("needs {} bytes in addition to {} live ones, the limit is {}",
                                                    bytes, live_bytes_, kByteLimit));
    }
    live_bytes_ += bytes;
    owned_[target].resize(static_cast<size_t>(bytes));
    data_[target] = owned_[target].data();
  }
  std::vector<const std::byte*> reads;
  for (const Access& read : stmt.reads) {
    const size_t source = root(read.tensor);
    reads.push_back(data_[source]);
    if (reads.back() == nullptr && element_count(tensor(source).shape) > 0) {
      return error("stmt " + stmt.name, fmt::format("reads {}, which has no data", tensor(source).name));
    }
  }
  Stmt expanded = stmt;
  expanded.body = expand_transcendentals(stmt.body);
  StmtRunner(module_, expanded, reads, owned_[target].data()).run();
  std::vector<size_t> used = {target};
  for (const Access& read : stmt.reads) {
    used.push_back(root(read.tensor));
  }
  for (const size_t id : used) {
    if (last_use_[id] == position && !owned_[id].empty()) {
      live_bytes_ -= static_cast<int64_t>(owned_[id].size());
      owned_[id] = {};
      data_[id] = nullptr;
    }
  }
  return ok_status();
}

Result<std::vector<Array>> ModuleRunner::run(const std::vector<Array>& inputs) {
  DLCC_RETURN_IF_ERROR(check_work());
  DLCC_RETURN_IF_ERROR(bind(inputs));
  find_last_uses();
  for (size_t i = 0; i < module_.stmts.size(); ++i) {
    DLCC_RETURN_IF_ERROR(run_stmt(module_.stmts[i], static_cast<int>(i)));
  }
  std::vector<Array> outputs;
  for (const int output : module_.outputs) {
    const Tensor& t = tensor(static_cast<size_t>(output));
    Array array = Array::zeros(t.type, t.shape);
    const std::byte* data = data_[root(output)];
    if (data == nullptr && !array.data.empty()) {
      return error("output " + t.name, "has no data");
    }
    std::copy_n(data, array.data.size(), array.data.data());
    outputs.push_back(std::move(array));
  }
  return outputs;
}

}  // namespace

Array Array::zeros(DType type, std::vector<int64_t> shape) {
  const auto count = checked_element_count(shape);
  DLCC_CHECK(count.has_value()) << "array of too many elements";
  Array array;
  array.type = type;
  array.shape = std::move(shape);
  array.data.resize(static_cast<size_t>(*count * bytes_of(type)));
  return array;
}

Result<std::vector<Array>> evaluate(const Module& module, const std::vector<Array>& inputs) {
  Diags findings;
  for (const std::string& finding : verify(module)) {
    findings.push_back({DiagKind::Error, "module", finding});
  }
  if (!findings.empty()) {
    return findings;
  }
  return ModuleRunner(module).run(inputs);
}

}  // namespace dlcc::te
