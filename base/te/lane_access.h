// Addresses of one access of a statement for the lanes of a strip: what the Par dims contribute is computed once per strip and lane, what
// the Red dims contribute is one number per point. Private to base/te.
#pragma once

#include <vector>

#include "base/te/strip.h"

namespace dlcc::te {

/// The Par and Red dims of a statement with more than one point each, in order.
struct DimLists {
  std::vector<int> par, red;     // positions in Stmt::dims
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

/// Values of a split affine (constant included) for the lanes of a strip that starts at `first`, in lexicographic order of the par dims.
struct LaneNumbers {
  SplitAffine affine;
  int64_t value[kLanes];
  int64_t low = 0, high = 0;     // over the lanes
  void start(const DimLists& dims, std::vector<int64_t> first, int n);
};

class LaneAccess {
 public:
  LaneAccess(const Access& access, const Tensor& tensor, const DimLists& dims);
  void start(const DimLists& dims, const std::vector<int64_t>& first, int n);
  /// Elements at a Red point into a register. `chosen`: lanes of the indirect read, or null.
  void load(const std::byte* data, const std::vector<int64_t>& red, const Register* chosen, Register& to, int n) const;
  /// Lanes -> elements (a write: no checks, no Red dims).
  void store(std::byte* data, const Register& from, int n) const;

 private:
  struct Checked {               // an axis whose position may leave the tensor
    LaneNumbers position;
    int64_t extent = 0;
  };
  enum class Pattern : uint8_t { Uniform, Contiguous, General };
  void load_offsets(const std::byte* data, const int64_t* offset, int64_t shift, Pattern pattern, Register& to, int n) const;
  /// Marks lanes outside; false when all are inside.
  bool outside(const std::vector<int64_t>& red, bool* mask, int n) const;

  DType type_;
  LaneNumbers linear_;           // of the axes except the indirect one
  Pattern pattern_ = Pattern::General;
  std::vector<Checked> checked_;
  bool has_fill_ = false;
  Value fill_;
  bool indirect_ = false;
  LaneNumbers indirect_position_;
  int64_t indirect_extent_ = 0, indirect_stride_ = 0;
};

}  // namespace dlcc::te
