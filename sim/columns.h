// A statement's body, executed for a block of lanes at a time: one column of values per node. f32 nodes have native
// loops, everything else goes through te::apply lane by lane.
#pragma once

#include <cstdint>
#include <vector>

#include "base/te/evaluate.h"
#include "base/te/scalar.h"

namespace dlcc::sim {

constexpr int kColumnLanes = 64;

/// Where a Load takes its lanes: element of lane l at data + (first + l * stride) elements of the node's type.
struct ColumnSource {
  const std::byte* data = nullptr;
  int64_t first = 0, stride = 0;
  const int64_t* gather = nullptr;  // extra elements per lane (indirect reads)
};

class ColumnProgram {
 public:
  /// load_types: of the read objects, by read.
  ColumnProgram(const te::ScalarExpr& body, std::vector<DType> load_types);

  /// Scratch of one host thread.
  class Columns {
   public:
    void resize(size_t nodes);
    float* f32(size_t node) { return &f_[node * kColumnLanes]; }
    te::Value* values(size_t node) { return &v_[node * kColumnLanes]; }

   private:
    std::vector<float> f_;
    std::vector<te::Value> v_;
  };

  /// Evaluates nodes [0, count) for lanes [0, lanes). index(dim, lane) = index_first[dim] + lane * index_step[dim].
  void run(Columns& columns, size_t count, int lanes, const ColumnSource* sources, const int64_t* index_first,
           const int64_t* index_step) const;
  const te::ScalarExpr& body() const { return body_; }
  size_t root() const { return body_.size() - 1; }
  bool is_f32(size_t node) const { return body_[node].type == DType::F32; }
  te::Value value(Columns& columns, size_t node, int lane) const;

 private:
  void run_node(Columns& columns, size_t n, int lanes, const ColumnSource* sources, const int64_t* first,
                const int64_t* step) const;
  void load(Columns& columns, size_t n, int lanes, const ColumnSource& source) const;
  bool run_f32(Columns& columns, size_t n, int lanes) const;
  void run_generic(Columns& columns, size_t n, int lanes) const;

  te::ScalarExpr body_;
  std::vector<DType> load_types_;
};

}  // namespace dlcc::sim
