// What kernel generation knows of a Compute leaf: linear offsets of its accesses, which dims each value depends on, and
// which operations of the chip it needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/program.h"

namespace dlcc::lowering {

/// Dims as bits. A dim that is always one point is no dependence.
using DimSet = uint64_t;
constexpr int kMaxKernelDims = 64;
inline DimSet dim_bit(int dim) {
  return DimSet{1} << dim;
}

struct LeafAccess {
  te::Affine offset;  // elements from the start of the slot
  DType type = DType::F32;
  int64_t align = 1;  // the slot starts at a multiple of this many elements
  DimSet dims = 0;
  int index_read = -1;  // indirect: the read that delivers the position
  int64_t index_extent = 0, index_stride = 0;
};

class LeafForm {
 public:
  LeafForm(const hw::Compute& leaf, const hw::Group& group, const hw::Machine& machine);

  const hw::Compute& leaf() const { return leaf_; }
  const hw::Machine& machine() const { return machine_; }
  int dim_count() const { return static_cast<int>(leaf_.dims.size()); }
  const hw::BoxDim& dim(int d) const { return leaf_.dims[static_cast<size_t>(d)]; }
  /// One point, whatever the outer variables are.
  bool is_unit(int d) const { return dim(d).extent == te::Affine(1); }
  const LeafAccess& write() const { return write_; }
  const LeafAccess& read(int r) const { return reads_[static_cast<size_t>(r)]; }
  const te::ScalarNode& node(int n) const { return leaf_.body[static_cast<size_t>(n)]; }
  int root() const { return static_cast<int>(leaf_.body.size()) - 1; }
  DimSet deps(int n) const { return deps_[static_cast<size_t>(n)]; }

  /// The accumulation is acc = fma(a, b, acc) of the root's operands; the root itself is not computed.
  bool fma() const { return fma_; }
  /// acc = combine(acc, value) otherwise.
  te::Op combine() const;
  /// Nodes to compute at every point, in order.
  const std::vector<int>& nodes() const { return nodes_; }

  DimSet dims_of(const te::Affine& affine) const;
  /// A vector of that many lanes along `row` at this access is a multiple of its size, whatever the loops do.
  bool aligned(const LeafAccess& access, int row, int lanes) const;
  /// Coefficient of the row's variable.
  int64_t stride(const LeafAccess& access, int row) const { return access.offset.coef(dim(row).var); }

  /// The chip's entry for a node, whose values have that many lanes; null: none. Leaves of the expression have none.
  const hw::VectorOp* operation(int n, int lanes) const;
  const hw::VectorOp* find(std::string_view op, DType type, int lanes) const {
    return machine_.vector.find(op, type, lanes);
  }
  /// acc = ...; null when the chip lacks it.
  const hw::VectorOp* combination(int lanes) const;

  /// Why the leaf cannot have vectors of that many lanes along the dim; empty: it can.
  std::string vector_obstacle(int row, int lanes) const;

 private:
  LeafAccess linearise(const hw::View& view, const hw::Group& group) const;
  void find_deps();
  std::string access_obstacle(int n, int row, int lanes) const;
  std::string uniform_obstacle(int n, int lanes) const;

  const hw::Compute& leaf_;
  const hw::Machine& machine_;
  LeafAccess write_;
  std::vector<LeafAccess> reads_;
  std::vector<DimSet> deps_;
  std::vector<int> nodes_;
  bool fma_ = false;
};

/// "lt of f32" for messages.
std::string operation_text(std::string_view op, DType type);

}  // namespace dlcc::lowering
