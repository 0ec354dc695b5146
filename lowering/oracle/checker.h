// The oracle's state and checks, one object per group. Private to this folder. Per core it knows what every slot of every buffer holds, and what the
// engines have not delivered yet.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lowering/oracle/oracle.h"
#include "lowering/oracle/points.h"
#include "lowering/oracle/tree_walk.h"
#include "lowering/oracle/values.h"
#include "lowering/region.h"

namespace dlcc::lowering::oracle {

class Checker {
 public:
  Checker(const GroupAnalysis& group, const TilePlan& plan, const hw::Group& lowered, const std::function<int(int)>& tensor_of,
          const hw::Machine& machine, const Options& options)
      : poly_(options.max_operations),
        group_(group),
        plan_(plan),
        lowered_(lowered),
        machine_(machine),
        options_(options),
        regions_(propagate(group, plan)) {
    for (size_t t = 0; t < group.tensors.size(); ++t) {
      if (group.tensors[t].module_tensor >= 0 && !is_internal(static_cast<int>(t))) {
        local_tensor_[tensor_of(group.tensors[t].module_tensor)] = static_cast<int>(t);
      }
    }
  }

  Report run() {
    for (int core = 0; core < machine_.core_count(); ++core) {
      core_ = core;
      slots_.clear();
      pending_.clear();
      if (!walk(lowered_, core, [&](const hw::Node& leaf, const Position& at) { return visit(leaf, at); })) {
        break;
      }
    }
    if (going()) {
      check_coverage();
    }
    if (poly_.failed()) {
      report_.undecided = poly_.failure();
    }
    report_.verdict = !report_.findings.empty() ? Verdict::Wrong : report_.undecided.empty() ? Verdict::Right : Verdict::Undecided;
    return std::move(report_);
  }

 private:
  /// Defined and used inside the group only.
  bool is_internal(int tensor) const {
    const int producer = group_.tensors[static_cast<size_t>(tensor)].producer;
    return producer >= 0 && producer != group_.root();
  }

  bool going() const {
    return !poly_.failed() && report_.undecided.empty() && static_cast<int>(report_.findings.size()) < options_.max_findings;
  }
  // What isl could not answer is no finding.
  void find(const std::string& check, const std::string& message) {
    if (!poly_.failed()) {
      report_.findings.push_back({check, fmt::format("{}: core {}: {}", group_.name, core_, message)});
    }
  }

  bool visit(const hw::Node& leaf, const Position& at) {
    if (++report_.leaves > options_.max_leaves) {
      report_.undecided = fmt::format("more than {} leaf executions", options_.max_leaves);
      return false;
    }
    std::visit([&](const auto& node) { execute(node, at); }, leaf.v);
    return going();
  }
  void execute(const hw::For&, const Position&) {}
  void execute(const hw::Let&, const Position&) {}
  void execute(const hw::If&, const Position&) {}
  void execute(const hw::Signal&, const Position&) {}
  void execute(const hw::Barrier&, const Position&) {}

  const hw::Buffer& buffer(int id) const { return lowered_.buffers[static_cast<size_t>(id)]; }
  const std::vector<int64_t>& shape_of(int tensor) const { return group_.tensors[static_cast<size_t>(tensor)].shape; }
  std::string name_of(int tensor) const { return group_.tensors[static_cast<size_t>(tensor)].name; }

  using SlotKey = std::pair<int, int64_t>;
  SlotKey key_of(const hw::View& view, const Position& at) { return {view.object, view.slot.eval(at.env)}; }

  Family constant(double value) {
    for (size_t c = 0; c < constants_.size(); ++c) {
      if (constants_[c] == value || (constants_[c] != constants_[c] && value != value)) {
        return {true, static_cast<int>(c)};
      }
    }
    constants_.push_back(value);
    return {true, static_cast<int>(constants_.size()) - 1};
  }
  Family element_of(int tensor) const { return {false, tensor}; }

  /// points -> elements of the buffer; nothing (and a finding) when one is outside.
  Map elements(const hw::View& view, const Points& points, const std::string& leaf, int skip = -1) {
    const std::vector<Affine> index = points.local(view.index);
    const hw::Buffer& target = buffer(view.object);
    const int64_t slot = view.slot.eval(*points.env);
    if (slot < 0 || slot >= target.copies) {
      find("bounds", fmt::format("{} uses slot {} of '{}', which has {}", leaf, slot, target.name, target.copies));
      return Map();
    }
    for (size_t d = 0; d < index.size(); ++d) {
      const Interval range = points.range_of(index[d]);
      if (static_cast<int>(d) != skip && (range.lo < 0 || range.lo + range.size > target.shape[d])) {
        find("bounds", fmt::format("{} uses {}..{} of dim {} of '{}', which has {}", leaf, range.lo, range.lo + range.size - 1, d, target.name,
                                   target.shape[d]));
        return Map();
      }
    }
    return poly_.affine(points.box, index);
  }

  bool inside_tensor(const std::vector<Affine>& index, const Points& points, int tensor) const {
    for (size_t d = 0; d < index.size(); ++d) {
      const Interval range = points.range_of(index[d]);
      if (range.lo < 0 || range.lo + range.size > shape_of(tensor)[d]) {
        return false;
      }
    }
    return true;
  }

  // transfers
  void execute(const hw::Dma& dma, const Position& at);
  /// The group's tensor; -1 and a finding for one that is not the group's to touch.
  int tensor_of_view(const hw::View& view);
  void get(const hw::Dma& dma, const Points& points, const Position& at);
  static void deliver(Slot& slot, std::map<Family, Map> values);
  void execute(const hw::Wait& wait, const Position& at);
  void put(const hw::Dma& dma, const Points& points, const Position& at);
  void move(const hw::Dma& dma, const Points& points, const Position& at);
  void execute(const hw::Fill& fill, const Position& at);
  // values
  /// points -> wanted values of a family must be what the slot holds at points -> index.
  void require(const Slot& slot, const Map& index, Map wanted, const Family& family, const std::string& what);
  /// One read of a statement at its instances `dims` (per dim, over the leaf's points).
  void check_read(int stmt, int read, const hw::View& view, Points points, std::vector<Affine> dims, const Position& at);
  void compare(const std::string& what, const te::Access& access, const Map& index, const std::vector<Affine>& wanted, const Points& points,
               const Slot& slot);
  // computing leaves
  int stmt_named(const std::string& name) const;
  /// The instance that the regions place at the leaf's point 0; a hint, nothing relies on it being right.
  std::vector<int64_t> origin_of(int stmt, const Position& at) const;
  bool is_that_statement(const hw::Compute& leaf, const te::Stmt& stmt) const;
  void execute(const hw::Compute& leaf, const Position& at);
  bool in_domain(const te::Stmt& stmt, const Points& points, const std::vector<Affine>& dims);
  std::vector<Affine> written(const te::Stmt& stmt, const std::vector<Affine>& dims) const;
  void assign(int id, const Points& points, const std::vector<Affine>& dims, const Map& target, Slot& slot);
  /// Point of the statement -> its dims of one kind.
  Map select_dims(const te::Stmt& stmt, te::DimKind kind);
  void accumulate(int id, const Points& points, const std::vector<Affine>& dims, const Map& target, Slot& slot, bool fresh,
                  bool by_calls);
  /// Elements that no point went into yet must hold the identity.
  void check_start(const te::Stmt& stmt, const Slot& slot, Set first);
  void check_step(const te::Stmt& stmt, const Map& before, const Map& now, const std::vector<int64_t>& last_red, const std::vector<int64_t>& red_lo);
  void finish(const te::Stmt& stmt, Map all, Map owner, Slot& slot);
  // intrinsics
  void execute(const hw::IntrinCall& leaf, const Position& at);
  /// A call covers, per dim of the statement: the tile's start, the micro loop's part, and the axis that runs along it.
  std::vector<Affine> call_dims(const te::Stmt& stmt, const IntrinsicMatch& match, const Position& at);
  // the result
  void check_coverage();

  Poly poly_;                    // first: what it made must be gone before it
  const GroupAnalysis& group_;
  const TilePlan& plan_;
  const hw::Group& lowered_;
  const hw::Machine& machine_;
  const Options& options_;
  const RegionMap regions_;
  std::map<int, int> local_tensor_;                          // program tensor -> GroupTensor
  std::vector<double> constants_;
  int core_ = 0;
  std::map<SlotKey, Slot> slots_;
  std::map<std::pair<int, int64_t>, std::vector<std::pair<SlotKey, std::map<Family, Map>>>> pending_;   // by channel and its slot
  Set stored_;
  Report report_;
};

}  // namespace dlcc::lowering::oracle
