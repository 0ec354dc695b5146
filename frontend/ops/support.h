// What the operator definitions share: checks of a node's inputs and axes, broadcasting, and Statement, which builds
// one te::Stmt. Everything here is used by the files of frontend/ops/ only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/ops.h"

namespace dlcc::frontend::ops {

using Shape = std::vector<int64_t>;
using Index = std::vector<te::Affine>;
using Types = Result<std::vector<TensorType>>;

/// Sets of element types, for checks.
enum TypeSet : unsigned {
  kFloats = 1,
  kSignedInts = 2,
  kUnsignedInts = 4,
  kBool = 8,
  kInts = kSignedInts | kUnsignedInts,
  kSigned = kFloats | kSignedInts,
  kNumbers = kFloats | kInts,
  kAny = kNumbers | kBool,
};
bool in_set(DType type, unsigned set);
/// The first `required` inputs are present, there are at most `maximum`, and only the first `outputs` outputs are asked
/// for.
Status check_arity(OpContext& ctx, int required, int maximum, int outputs = 1);
Status check_type(OpContext& ctx, int input, unsigned set);
Status check_same_type(OpContext& ctx, int a, int b);
/// Any shape that a user's value can give: no negative extent, at most kMaxElements elements (so that no product
/// overflows).
Status check_shape(OpContext& ctx, const Shape& shape);

/// -rank <= axis < rank, as 0 <= axis < rank.
Result<int> normal_axis(OpContext& ctx, int64_t axis, size_t rank);
/// The same for a list, ascending, without duplicates (an error).
Result<std::vector<int>> normal_axes(OpContext& ctx, const std::vector<int64_t>& axes, size_t rank);
/// An input that dlcc needs at compile time (shapes, axes, pads).
Result<std::vector<int64_t>> constant_input(OpContext& ctx, int input, const char* what);
/// Axes as the attribute (older opsets) or as an input; nullopt when neither is given.
Result<std::optional<std::vector<int64_t>>> axes_of(OpContext& ctx, int input);

/// NumPy broadcasting of all shapes together.
Result<Shape> broadcast(OpContext& ctx, const std::vector<Shape>& shapes);
/// The index into a tensor of that shape at a point of the broadcast result (aligned at the last axis; extent 1 stays
/// at 0).
Index broadcast_index(const Shape& shape, const Index& point);

/// The type in which a sum over elements of `type` is kept, and in which f16 is computed: f32 for f16, otherwise the
/// type itself.
DType wide_type(DType type);
/// A literal of any type.
int literal(te::ScalarBuilder& body, DType type, double value);
te::Array array_of(DType type, Shape shape, const std::vector<double>& values);
te::Array array_of_ints(DType type, Shape shape, const std::vector<int64_t>& values);

/// One statement under construction. Dims in the order of the calls; `map` or `reduce` adds it to the builder.
class Statement {
 public:
  explicit Statement(StmtBuilder& builder) : builder_(builder) {}
  te::Affine par(std::string name, int64_t extent) { return dim(std::move(name), extent, te::DimKind::Par); }
  te::Affine red(std::string name, int64_t extent) { return dim(std::move(name), extent, te::DimKind::Red); }
  /// One Par dim per extent, named d0, d1, ... (or by another prefix).
  Index pars(const Shape& extents, const char* prefix = "d");
  /// A read; the node of its value, in the tensor's own type.
  int load(int tensor, Index index, std::optional<double> fill = std::nullopt);
  /// The same; f16 comes widened to f32.
  int operand(int tensor, Index index, std::optional<double> fill = std::nullopt);
  /// tensor[index] where the position on `axis` is index[axis] + the value of positions[positions_index].
  int gather(int tensor, Index index, int axis, int positions, Index positions_index);
  te::ScalarBuilder& body() { return body_; }
  /// tensor[index] = node `root` (an f32 value for an f16 tensor is narrowed).
  void map(int tensor, Index index, int root);
  void reduce(te::Monoid monoid, int tensor, Index index, int root);

 private:
  te::Affine dim(std::string name, int64_t extent, te::DimKind kind);
  void finish(te::StmtKind kind, int tensor, Index index, int root);

  StmtBuilder& builder_;
  te::Stmt stmt_;
  te::ScalarBuilder body_;
};

/// The dim of an index that is one variable.
te::VarId var_of(const te::Affine& index);
int widened(te::ScalarBuilder& body, int node);
/// output = source, element by element, of one shape.
void copy(StmtBuilder& builder, int output, int source);

/// output = sum, plus input 2 along dim 1 where the node has one: the end of a convolution.
void add_channel_bias(const OpContext& ctx, StmtBuilder& builder, int sum, int output);

/// 1 / sqrt(variance + epsilon).
int inverse_deviation(te::ScalarBuilder& body, int variance, double epsilon);

}  // namespace dlcc::frontend::ops
