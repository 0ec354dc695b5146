// Executes the iteration box of a Compute or of an intrinsic on concrete memory, from the statement's body (never from
// its Kernel), each element's reduction in the order that Stmt fixes. Par dims may run in any order; the executor picks
// the fastest.
#pragma once

#include <cstdint>
#include <vector>

#include "base/te/stmt.h"
#include "sim/columns.h"

namespace dlcc::sim {

/// One accessed object: the element at point 0 and its stride (elements) along every box dim.
struct Operand {
  std::byte* data = nullptr;
  const int64_t* strides = nullptr;
};

/// An operand whose position along one dim is read from another operand (a Gather).
struct Indirection {
  int read = -1;                   // the read that has it
  int index_read = -1;             // where the position comes from
  int64_t extent = 0, stride = 0;  // of the dim, elements
};

class ComputeCode {
 public:
  ComputeCode(const te::ScalarExpr& body, std::vector<te::DimKind> kinds, DType write_type,
              std::vector<DType> read_types, bool accumulate, te::Monoid monoid, std::vector<Indirection> indirections);

  /// extents > 0. index_base: per box dim, or null when the body has no Index.
  void run(const std::vector<int64_t>& extents, const Operand& write, const std::vector<Operand>& reads,
           const int64_t* index_base) const;
  const std::vector<DType>& read_types() const { return read_types_; }

 private:
  struct Loop {
    int64_t extent = 1;
    bool red = false;
    int index_dim = -1;            // box dim whose position an Index node yields; such loops are not merged
    std::vector<int64_t> strides;  // write, then reads
  };
  struct Work;
  std::vector<Loop> loops_of(const std::vector<int64_t>& extents, const Operand& write,
                             const std::vector<Operand>& reads) const;
  bool merge(Loop& outer, const Loop& inner) const;
  void run_fma(std::vector<Loop>& loops, const Operand& write, const std::vector<Operand>& reads) const;
  void run_columns(std::vector<Loop>& loops, const Operand& write, const std::vector<Operand>& reads,
                   const int64_t* index_base) const;
  void run_block(Work& work, int64_t first_lane, int lanes) const;
  void evaluate(Work& work, int64_t first_lane, int lanes) const;
  void combine(Work& work, int lanes) const;

  ColumnProgram program_;
  std::vector<te::DimKind> kinds_;
  DType write_type_;
  std::vector<DType> read_types_;
  bool accumulate_;
  te::Monoid monoid_;
  std::vector<Indirection> indirections_;
  std::vector<char> dim_has_index_;
  bool fma_ = false;        // accumulates with one rounding
  bool fma_loads_ = false;  // and both factors are plain f32 loads
};

}  // namespace dlcc::sim
