// Stmt: one tensor statement. It defines one tensor (or a disjoint slice of one, as Concat does) over a box of dims.
//   Map:     write[...] = body                              for every point of the Par dims
//   Reduce:  write[...] = monoid over the Red dims of body, started from the monoid's identity
// Reduction order, which is part of the meaning: ascending, lexicographic in the order in which the Red dims are listed.
// Monoid::Sum over a body whose root is Mul(a, b) of a float type accumulates with one rounding, acc = fma(a, b, acc), in blocks along the first
// Red dim (sum_block): each block is summed from zero and then added, which keeps the rounding error of long sums near that of the best libraries.
// Scan (tuple-state recurrences) and Opaque are reserved; nothing builds them yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/te/affine.h"
#include "base/te/scalar.h"

namespace dlcc::te {

enum class DimKind : uint8_t { Par, Red, Scan };
enum class StmtKind : uint8_t { Map, Reduce, Scan, Opaque };
enum class Monoid : uint8_t { Sum, Prod, Min, Max, And, Or };

struct Dim {
  std::string name;
  int64_t extent = 1;
  DimKind kind = DimKind::Par;
  friend bool operator==(const Dim&, const Dim&) = default;
};

/// A position in a tensor, each index affine in the statement's dims (VarId = position of the dim in Stmt::dims).
/// fill: the value outside the tensor (padding); without it every point must be inside.
/// indirect_axis: that axis' position is index[axis] + value of reads[indirect_read]; the value counts from the end when negative and
/// the position is clamped into the tensor (a Gather). The read that delivers the value is of an integer type and is not indirect itself.
struct Access {
  int tensor = 0;
  std::vector<Affine> index;
  std::optional<double> fill = std::nullopt;
  int indirect_axis = -1;
  int indirect_read = -1;
  friend bool operator==(const Access&, const Access&) = default;
};

struct Stmt {
  std::string name;
  StmtKind kind = StmtKind::Map;
  Monoid monoid = Monoid::Sum;
  std::vector<Dim> dims;
  Access write;                // injective in the Par dims; has no Red dim and no fill
  std::vector<Access> reads;
  ScalarExpr body;             // of the written tensor's type
  int node = -1;               // the graph node that it came from, for reports
  friend bool operator==(const Stmt&, const Stmt&) = default;
};

/// Where a tensor's data comes from.
enum class TensorKind : uint8_t { Input, Constant, Intermediate, Output };

/// Row-major tensor. `storage` >= 0: this tensor is a reshaped view of all of that tensor's elements (same count, same order).
/// `data` of a Constant points at elements that the owner of the module keeps alive (often a mapped file).
struct Tensor {
  std::string name;
  DType type = DType::F32;
  std::vector<int64_t> shape;
  TensorKind kind = TensorKind::Intermediate;
  int storage = -1;
  const void* data = nullptr;
};

/// Product of the extents. Saturates at 2^58, so that a multiplication by bytes_of cannot overflow; a negative extent counts as 0.
int64_t element_count(const std::vector<int64_t>& shape);
/// The same, or nothing when the product reaches 2^58 or an extent is negative.
std::optional<int64_t> checked_element_count(const std::vector<int64_t>& shape);

/// Statements in topological order over one table of tensors.
struct Module {
  std::vector<Tensor> tensors;
  std::vector<Stmt> stmts;
  std::vector<int> inputs;                // ids into tensors, in the model's order
  std::vector<int> outputs;
  std::vector<std::string> node_names;    // by Stmt::node
  /// Follows `storage` to the tensor that owns the memory.
  int root_of(int tensor) const;
};

/// Identity of the monoid in that type (Max of floats: -infinity; of ints: the lowest value; And of ints: all ones). A double of a value
/// that an integer type does not hold (Min of i64) stands for the nearest one that it does.
double identity_of(Monoid monoid, DType type);
std::string_view name_of(Monoid monoid);
/// True for Sum over Mul(a, b) of floats: the accumulation is an Fma.
bool accumulates_with_fma(StmtKind kind, Monoid monoid, const ScalarExpr& body);

/// Points of the first Red dim with more than one point that one block of a fused sum covers: about kSumBlock products. 0: the statement is not such a sum.
constexpr int64_t kSumBlock = 128;
int64_t sum_block(const Stmt& stmt);

/// Checks the rules stated above (indices in range for every point of the box, types, order, one definition); empty: fine.
std::vector<std::string> verify(const Module& module);

}  // namespace dlcc::te
