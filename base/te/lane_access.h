// Addresses of one access of a statement for the lanes of a strip: what the Par dims contribute is computed once per
// strip and lane, what the Red dims contribute is one number per point. Private to base/te.
#pragma once

#include <vector>

#include "base/te/strip.h"

namespace dlcc::te {

/// The Par and Red dims of a statement with more than one point each, in order.
struct DimLists {
  std::vector<int> par, red;  // positions in Stmt::dims
  std::vector<int64_t> par_extent, red_extent;
  int64_t par_points = 1, red_points = 1;
  explicit DimLists(const Stmt& stmt);
};

/// An affine number split by dims: constant, coefficients of the par dims and of the red dims.
struct SplitAffine {
  int64_t constant = 0;
  std::vector<int64_t> par, red;
  SplitAffine() = default;
  SplitAffine(const Affine& affine, const DimLists& dims);
  int64_t red_value(const std::vector<int64_t>& position) const {
    int64_t value = 0;
    for (size_t k = 0; k < red.size(); ++k) {
      value += red[k] * position[k];
    }
    return value;
  }
};

/// The lanes of a strip as runs along the innermost par dim: within a run every affine number changes by a constant
/// step.
struct LaneRuns {
  int count = 0;
  int lane[kLanes];  // first lane of each run
  int length[kLanes];
  std::vector<int64_t> position;  // of the par dims at each run's start, run after run
  /// The n lanes from `first` on, in lexicographic order.
  void start(const DimLists& dims, std::vector<int64_t> first, int n);
};

/// Values of a split affine (constant included, Red dims not) for the lanes of a strip.
struct LaneNumbers {
  SplitAffine affine;
  int64_t step = 0;
  int64_t base[kLanes];  // at each run's first lane
  void start(const LaneRuns& runs);
};

class LaneAccess {
 public:
  LaneAccess(const Access& access, const Tensor& tensor, const DimLists& dims);
  void start(const LaneRuns& runs);
  /// Elements at a Red point into a register. `chosen`: lanes of the indirect read, or null.
  void load(const std::byte* data, const LaneRuns& runs, const std::vector<int64_t>& red, const Register* chosen,
            Register& to) const;
  /// Lanes -> elements (a write: no checks, no Red dims).
  void store(std::byte* data, const LaneRuns& runs, const Register& from) const;

 private:
  struct Checked {  // an axis whose position may leave the tensor
    LaneNumbers position;
    int64_t extent = 0;
  };
  /// The part of a run whose positions are inside: [begin, end) of its lanes.
  struct Inside {
    int begin, end;
  };
  Inside inside(const LaneRuns& runs, int run, const int64_t* red_shift) const;
  void load_indirect(const std::byte* data, const LaneRuns& runs, int run, Inside part, int64_t shift,
                     int64_t axis_shift, const Register& chosen, Register& to) const;

  DType type_;
  LaneNumbers linear_;    // of the axes except the indirect one
  bool uniform_ = false;  // all lanes of the strip have one address
  std::vector<Checked> checked_;
  Value fill_;
  bool indirect_ = false;
  LaneNumbers indirect_position_;
  int64_t indirect_extent_ = 0, indirect_stride_ = 0;
};

}  // namespace dlcc::te
