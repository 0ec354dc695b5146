// The points of a leaf's box, and affine expressions over them. Private to this folder.
#pragma once

#include <map>
#include <vector>

#include "hw/program.h"
#include "lowering/oracle/poly.h"

namespace dlcc::lowering::oracle {

using te::VarId;

/// The points of a leaf: coordinate n is its box dim n.
struct Points {
  Box box;
  std::map<VarId, int> coordinate;
  const std::vector<int64_t>* env = nullptr;
  bool empty = false;

  Points(const std::vector<hw::BoxDim>& dims, const std::vector<int64_t>& values) : env(&values) {
    for (const hw::BoxDim& dim : dims) {
      coordinate[dim.var] = static_cast<int>(box.size());
      box.push_back({0, dim.extent.eval(values)});
      empty |= box.back().size <= 0;
    }
  }
  /// An expression of the program over this leaf's coordinates.
  Affine local(const Affine& affine) const {
    Affine out(affine.constant());
    for (const te::Term& term : affine.terms()) {
      const auto at = coordinate.find(term.var);
      out += at != coordinate.end() ? Affine::var(at->second, term.coef) : Affine((*env)[static_cast<size_t>(term.var)] * term.coef);
    }
    return out;
  }
  std::vector<Affine> local(const std::vector<Affine>& index) const {
    std::vector<Affine> out;
    for (const Affine& affine : index) {
      out.push_back(local(affine));
    }
    return out;
  }
  Interval range_of(const Affine& over_coordinates) const {
    int64_t lo = over_coordinates.constant(), hi = lo;
    for (const te::Term& term : over_coordinates.terms()) {
      const int64_t reach = term.coef * (box[static_cast<size_t>(term.var)].size - 1);
      (reach > 0 ? hi : lo) += reach;
    }
    return {lo, hi - lo + 1};
  }
};

inline Box whole(const std::vector<int64_t>& shape) {
  Box box;
  for (int64_t extent : shape) {
    box.push_back({0, extent});
  }
  return box;
}

/// A statement's own expression (over its dims) at points given per dim.
inline Affine at_points(const Affine& over_dims, const std::vector<Affine>& dims) {
  Affine out(over_dims.constant());
  for (const te::Term& term : over_dims.terms()) {
    out += dims[static_cast<size_t>(term.var)] * term.coef;
  }
  return out;
}

}  // namespace dlcc::lowering::oracle
