// A reduction over some axes of one tensor, as the operators that contain one share it (Reduce*, Softmax, norms).
#pragma once

#include <functional>

#include "frontend/ops/support.h"

namespace dlcc::frontend::ops {

/// Shape and the axes that are reduced. Results of a reduction are kept in tensors of the shape `kept()`: reduced axes
/// with extent 1.
struct Reduction {
  Shape shape;
  std::vector<bool> reduced;
  Reduction(Shape of, const std::vector<int>& axes);
  Shape kept(bool keep_dims = true) const;
  int64_t count() const;  // elements per result
  /// The index into a kept() tensor at a point of the whole shape.
  Index at(const Index& point) const;
};

/// Gives the body of a reduction or map; `point` runs over the whole shape.
using PointBody = std::function<int(Statement& s, const Index& point)>;

/// target[kept] = monoid over the reduced axes of body. target may have the reduced axes dropped or with extent 1.
void reduce_axes(StmtBuilder& builder, const Reduction& reduction, te::Monoid monoid, int target,
                 const PointBody& body);
/// target[point] = body, over target's own shape.
void map_points(StmtBuilder& builder, int target, const PointBody& body);
/// A temporary that holds a mean: the sum of body divided by the count. Kept shape.
int mean_of(StmtBuilder& builder, const Reduction& reduction, const std::string& name, DType type,
            const PointBody& body);

}  // namespace dlcc::frontend::ops
