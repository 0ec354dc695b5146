// verify(Module): the rules of stmt.h, each finding a line that names the statement or tensor.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/te/stmt.h"

namespace dlcc::te {
namespace {

constexpr size_t kRankLimit = 64;
constexpr int64_t kIndexLimit = int64_t{1} << 60;

struct Range {
  int64_t low = 0, high = 0;
};

/// Values over the box of dims, or nothing when they leave +-2^60. Empty dims count as extent 1.
std::optional<Range> range_of(const Affine& affine, const std::vector<Dim>& dims) {
  __int128 low = affine.constant(), high = affine.constant();
  for (const Term& term : affine.terms()) {
    const int64_t extent = std::max<int64_t>(dims[static_cast<size_t>(term.var)].extent, 1);
    const __int128 reach = static_cast<__int128>(term.coef) * (extent - 1);
    (reach < 0 ? low : high) += reach;
  }
  if (low < -kIndexLimit || high > kIndexLimit) {
    return std::nullopt;
  }
  return Range{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

/// What one statement stores: its linear position and per-axis positions.
struct Written {
  const Stmt* stmt = nullptr;
  int tensor = -1;
  Affine linear;
  int64_t points = 0;
};

class Verifier {
 public:
  explicit Verifier(const Module& module) : module_(module) {}
  std::vector<std::string> run();

 private:
  bool check_tensors();
  void check_lists();
  void check_stmt(const Stmt& stmt);
  bool check_dims(const Stmt& stmt);
  bool check_access(const Stmt& stmt, const Access& access, const std::string& what, bool is_write);
  void check_write(const Stmt& stmt);
  void check_read(const Stmt& stmt, size_t read);
  void check_indirect(const Stmt& stmt, const Access& access, const std::string& what);
  void check_body(const Stmt& stmt);
  std::string check_node(const Stmt& stmt, size_t at) const;
  void check_injective(const Stmt& stmt, const Affine& linear);
  void check_single_definition();
  bool disjoint(const Written& a, const Written& b) const;
  Affine linear_of(const Access& access) const;
  const Tensor& tensor(int id) const { return module_.tensors[static_cast<size_t>(id)]; }
  bool valid_tensor(int id) const { return id >= 0 && static_cast<size_t>(id) < module_.tensors.size(); }
  void report(const Stmt& stmt, std::string message) {
    findings_.push_back("stmt " + stmt.name + ": " + std::move(message));
  }

  const Module& module_;
  std::vector<std::string> findings_;
  std::map<int, std::vector<Written>> written_;  // by root tensor
  std::map<int, int> writers_left_;              // by root tensor: statements still to come
};

bool Verifier::check_tensors() {
  for (size_t i = 0; i < module_.tensors.size(); ++i) {
    const Tensor& t = module_.tensors[i];
    if (t.shape.size() > kRankLimit) {
      findings_.push_back(fmt::format("tensor {}: rank {}, the limit is {}", t.name, t.shape.size(), kRankLimit));
      continue;
    }
    if (!checked_element_count(t.shape)) {
      findings_.push_back(fmt::format("tensor {}: negative extent or 2^58 elements and more", t.name));
      continue;
    }
    if (t.storage < 0) {
      continue;
    }
    int at = static_cast<int>(i);
    size_t steps = 0;
    while (valid_tensor(at) && tensor(at).storage >= 0 && steps++ <= module_.tensors.size()) {
      at = tensor(at).storage;
    }
    if (!valid_tensor(at) || tensor(at).storage >= 0) {
      findings_.push_back(fmt::format("tensor {}: its storage does not exist or views form a cycle", t.name));
    } else if (tensor(at).type != t.type || element_count(tensor(at).shape) != element_count(t.shape)) {
      findings_.push_back(
          fmt::format("tensor {}: differs in type or element count from its storage {}", t.name, tensor(at).name));
    }
  }
  return findings_.empty();
}

void Verifier::check_lists() {
  std::set<int> seen;
  for (const int input : module_.inputs) {
    if (!valid_tensor(input) || tensor(input).storage >= 0 || tensor(input).kind != TensorKind::Input) {
      findings_.push_back(fmt::format("module input {} is not an input tensor", input));
    } else if (!seen.insert(input).second) {
      findings_.push_back(fmt::format("module input {} is listed twice", tensor(input).name));
    }
  }
  for (const int output : module_.outputs) {
    if (!valid_tensor(output)) {
      findings_.push_back(fmt::format("module output {} does not exist", output));
    }
  }
}

bool Verifier::check_dims(const Stmt& stmt) {
  const size_t before = findings_.size();
  if (stmt.kind != StmtKind::Map && stmt.kind != StmtKind::Reduce) {
    report(stmt, "scan and opaque statements are reserved");
  }
  std::vector<int64_t> extents;
  for (const Dim& dim : stmt.dims) {
    extents.push_back(dim.extent);
    if (dim.kind == DimKind::Scan || (dim.kind == DimKind::Red && stmt.kind == StmtKind::Map)) {
      report(stmt, fmt::format("dim {} has a kind that the statement does not take", dim.name));
    }
  }
  if (!checked_element_count(extents)) {
    report(stmt, "a dim has a negative extent, or the box has 2^58 points and more");
  }
  return findings_.size() == before;
}

bool Verifier::check_access(const Stmt& stmt, const Access& access, const std::string& what, bool is_write) {
  if (!valid_tensor(access.tensor)) {
    report(stmt, fmt::format("{} names tensor {}, which does not exist", what, access.tensor));
    return false;
  }
  const Tensor& t = tensor(access.tensor);
  if (access.index.size() != t.shape.size()) {
    report(stmt,
           fmt::format("{} has {} indices, tensor {} has rank {}", what, access.index.size(), t.name, t.shape.size()));
    return false;
  }
  const bool empty = std::any_of(stmt.dims.begin(), stmt.dims.end(), [](const Dim& d) { return d.extent == 0; });
  for (size_t axis = 0; axis < access.index.size(); ++axis) {
    for (const Term& term : access.index[axis].terms()) {
      const bool known = term.var >= 0 && static_cast<size_t>(term.var) < stmt.dims.size();
      if (!known || (is_write && stmt.dims[static_cast<size_t>(term.var)].kind != DimKind::Par)) {
        report(stmt, fmt::format("{} axis {} uses dim {}, which {}", what, axis, term.var,
                                 known ? "is reduced" : "does not exist"));
        return false;
      }
    }
    const auto range = range_of(access.index[axis], stmt.dims);
    if (!range) {
      report(stmt, fmt::format("{} axis {} reaches positions beyond 2^60", what, axis));
      return false;
    }
    const bool guarded = access.fill.has_value() || static_cast<int>(axis) == access.indirect_axis || empty;
    if (!guarded && (range->low < 0 || range->high >= t.shape[axis])) {
      report(stmt, fmt::format("{} axis {} of tensor {} covers [{}, {}], the extent is {}", what, axis, t.name,
                               range->low, range->high, t.shape[axis]));
      return false;
    }
  }
  return true;
}

Affine Verifier::linear_of(const Access& access) const {
  Affine linear;
  for (size_t axis = 0; axis < access.index.size(); ++axis) {
    linear = linear * tensor(access.tensor).shape[axis] + access.index[axis];
  }
  return linear;
}

void Verifier::check_injective(const Stmt& stmt, const Affine& linear) {
  std::vector<std::pair<int64_t, int64_t>> strides;  // |coefficient|, extent
  for (size_t d = 0; d < stmt.dims.size(); ++d) {
    if (stmt.dims[d].kind == DimKind::Par && stmt.dims[d].extent > 1) {
      const int64_t coef = linear.coef(static_cast<VarId>(d));
      strides.emplace_back(coef < 0 ? -coef : coef, stmt.dims[d].extent);
    }
  }
  std::sort(strides.begin(), strides.end());
  int64_t reach = 0;
  for (const auto& [stride, extent] : strides) {
    if (stride <= reach) {
      report(stmt, "the write is not injective in the par dims (or not by nested strides)");
      return;
    }
    reach += stride * (extent - 1);
  }
}

void Verifier::check_write(const Stmt& stmt) {
  if (!check_access(stmt, stmt.write, "the write", true)) {
    return;
  }
  const Tensor& t = tensor(stmt.write.tensor);
  if (stmt.write.fill || stmt.write.indirect_axis >= 0) {
    report(stmt, "the write has a fill value or an indirect axis");
    return;
  }
  const int root = module_.root_of(stmt.write.tensor);
  const TensorKind kind = tensor(root).kind;
  if (kind == TensorKind::Input || kind == TensorKind::Constant) {
    report(stmt, fmt::format("writes {}, which is an input or a constant", t.name));
  }
  Written written{&stmt, stmt.write.tensor, linear_of(stmt.write), 1};
  for (const Dim& dim : stmt.dims) {
    written.points *= dim.kind == DimKind::Par ? dim.extent : 1;
  }
  if (written.points > 0) {
    check_injective(stmt, written.linear);
  }
  written_[root].push_back(std::move(written));
}

void Verifier::check_indirect(const Stmt& stmt, const Access& access, const std::string& what) {
  const int by = access.indirect_read;
  if (access.indirect_axis >= static_cast<int>(access.index.size()) || by < 0 ||
      static_cast<size_t>(by) >= stmt.reads.size()) {
    report(stmt, what + " has an indirect axis or read that does not exist");
    return;
  }
  const Access& source = stmt.reads[static_cast<size_t>(by)];
  if (source.indirect_axis >= 0 || !valid_tensor(source.tensor) || is_float(tensor(source.tensor).type) ||
      tensor(source.tensor).type == DType::Bool) {
    report(stmt, what + " is indexed by a read that is indirect itself or not of an integer type");
  } else if (tensor(access.tensor).shape[static_cast<size_t>(access.indirect_axis)] == 0) {
    report(stmt, what + " indexes an empty axis");
  }
}

void Verifier::check_read(const Stmt& stmt, size_t read) {
  const Access& access = stmt.reads[read];
  const std::string what = fmt::format("read {}", read);
  if (!check_access(stmt, access, what, false)) {
    return;
  }
  if (access.indirect_axis >= 0) {
    check_indirect(stmt, access, what);
  }
  const int root = module_.root_of(access.tensor);
  const TensorKind kind = tensor(root).kind;
  if (kind == TensorKind::Input || kind == TensorKind::Constant) {
    return;
  }
  const auto left = writers_left_.find(root);
  if (left == writers_left_.end()) {
    report(stmt, fmt::format("reads {}, which nothing defines", tensor(access.tensor).name));
  } else if (left->second > 0) {
    report(stmt, fmt::format("reads {} before all of it is defined", tensor(access.tensor).name));
  }
}

/// Empty, or what is wrong with one node of the body.
std::string Verifier::check_node(const Stmt& stmt, size_t at) const {
  const ScalarNode& node = stmt.body[at];
  const int arity = arity_of(node.op);
  const int operands[] = {node.a, node.b, node.c};
  for (int i = 0; i < arity; ++i) {
    if (operands[i] < 0 || static_cast<size_t>(operands[i]) >= at) {
      return "has an operand that is not an earlier node";
    }
  }
  const auto type = [&](int i) { return stmt.body[static_cast<size_t>(operands[i])].type; };
  switch (node.op) {
    case Op::Const:
    case Op::Cast:
      return "";
    case Op::Param:
      return "is a parameter, which only intrinsics have";
    case Op::Load: {
      if (node.integer < 0 || static_cast<size_t>(node.integer) >= stmt.reads.size()) {
        return "loads a read that does not exist";
      }
      const int id = stmt.reads[static_cast<size_t>(node.integer)].tensor;
      return valid_tensor(id) && tensor(id).type != node.type ? "differs in type from the tensor that it loads" : "";
    }
    case Op::Index:
      return node.integer < 0 || static_cast<size_t>(node.integer) >= stmt.dims.size() || node.type != DType::I64
                 ? "is the index of a dim that does not exist, or not an i64"
                 : "";
    case Op::Select:
      return type(0) != DType::Bool || type(1) != node.type || type(2) != node.type ? "has operands of wrong types"
                                                                                    : "";
    default:
      break;
  }
  for (int i = 1; i < arity; ++i) {
    if (type(i) != type(0)) {
      return "has operands of different types";
    }
  }
  return result_type(node.op, type(0)) != node.type ? "has a type that its operands do not give" : "";
}

void Verifier::check_body(const Stmt& stmt) {
  if (stmt.body.empty()) {
    report(stmt, "has no body");
    return;
  }
  for (size_t i = 0; i < stmt.body.size(); ++i) {
    const std::string wrong = check_node(stmt, i);
    if (!wrong.empty()) {
      report(stmt, fmt::format("body node {} ({}) {}", i, name_of(stmt.body[i].op), wrong));
      return;
    }
  }
  if (valid_tensor(stmt.write.tensor) && stmt.body.back().type != tensor(stmt.write.tensor).type) {
    report(stmt, fmt::format("the body is {}, the written tensor {}", name_of(stmt.body.back().type),
                             name_of(tensor(stmt.write.tensor).type)));
  }
  const bool logic = stmt.monoid == Monoid::And || stmt.monoid == Monoid::Or;
  const bool is_bool = stmt.body.back().type == DType::Bool;
  const bool arithmetic = stmt.monoid == Monoid::Sum || stmt.monoid == Monoid::Prod;
  if (stmt.kind == StmtKind::Reduce && ((logic && is_float(stmt.body.back().type)) || (arithmetic && is_bool))) {
    report(stmt, fmt::format("monoid {} does not work on {}", name_of(stmt.monoid), name_of(stmt.body.back().type)));
  }
}

void Verifier::check_stmt(const Stmt& stmt) {
  if (!check_dims(stmt)) {
    return;
  }
  for (size_t i = 0; i < stmt.reads.size(); ++i) {
    check_read(stmt, i);
  }
  check_body(stmt);
  check_write(stmt);
}

/// Two positions differ when some axis (or the linear position) has separate ranges or different residues modulo the
/// gcd of its steps.
bool separate(const Affine& a, const std::vector<Dim>& a_dims, const Affine& b, const std::vector<Dim>& b_dims) {
  const auto ra = range_of(a, a_dims), rb = range_of(b, b_dims);
  if (ra && rb && (ra->high < rb->low || rb->high < ra->low)) {
    return true;
  }
  int64_t gcd = 0;
  for (const Term& term : a.terms()) {
    gcd = std::gcd(gcd, a_dims[static_cast<size_t>(term.var)].extent > 1 ? term.coef : 0);
  }
  for (const Term& term : b.terms()) {
    gcd = std::gcd(gcd, b_dims[static_cast<size_t>(term.var)].extent > 1 ? term.coef : 0);
  }
  return gcd > 1 && (a.constant() - b.constant()) % gcd != 0;
}

bool Verifier::disjoint(const Written& a, const Written& b) const {
  if (a.points == 0 || b.points == 0 || separate(a.linear, a.stmt->dims, b.linear, b.stmt->dims)) {
    return true;
  }
  if (tensor(a.tensor).shape != tensor(b.tensor).shape) {
    return false;
  }
  for (size_t axis = 0; axis < a.stmt->write.index.size(); ++axis) {
    if (separate(a.stmt->write.index[axis], a.stmt->dims, b.stmt->write.index[axis], b.stmt->dims)) {
      return true;
    }
  }
  return false;
}

void Verifier::check_single_definition() {
  for (const auto& [root, writes] : written_) {
    int64_t points = 0;
    for (size_t i = 0; i < writes.size(); ++i) {
      points += std::min<int64_t>(writes[i].points, int64_t{1} << 58);
      for (size_t j = 0; j < i; ++j) {
        if (!disjoint(writes[i], writes[j])) {
          report(*writes[i].stmt,
                 fmt::format("may write elements of {} that stmt {} writes", tensor(root).name, writes[j].stmt->name));
        }
      }
    }
    if (points < element_count(tensor(root).shape)) {
      findings_.push_back(fmt::format("tensor {}: {} of {} elements are defined", tensor(root).name, points,
                                      element_count(tensor(root).shape)));
    }
  }
  for (const int output : module_.outputs) {
    const int root = valid_tensor(output) ? module_.root_of(output) : -1;
    const bool given =
        root >= 0 && (tensor(root).kind == TensorKind::Input || tensor(root).kind == TensorKind::Constant);
    if (root >= 0 && !given && written_.find(root) == written_.end() && element_count(tensor(root).shape) > 0) {
      findings_.push_back(fmt::format("output {} is never defined", tensor(output).name));
    }
  }
}

std::vector<std::string> Verifier::run() {
  if (!check_tensors()) {
    return findings_;
  }
  check_lists();
  for (const Stmt& stmt : module_.stmts) {
    if (valid_tensor(stmt.write.tensor)) {
      ++writers_left_[module_.root_of(stmt.write.tensor)];
    }
  }
  for (const Stmt& stmt : module_.stmts) {
    check_stmt(stmt);
    if (valid_tensor(stmt.write.tensor)) {
      --writers_left_[module_.root_of(stmt.write.tensor)];
    }
  }
  if (findings_.empty()) {
    check_single_definition();
  }
  return findings_;
}

}  // namespace

std::vector<std::string> verify(const Module& module) {
  return Verifier(module).run();
}

}  // namespace dlcc::te
