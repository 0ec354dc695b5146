#include "frontend/ops/reduce_axes.h"

#include <fmt/format.h>

namespace dlcc::frontend::ops {

Reduction::Reduction(Shape of, const std::vector<int>& axes) : shape(std::move(of)), reduced(shape.size(), false) {
  for (int axis : axes) {
    reduced[static_cast<size_t>(axis)] = true;
  }
}

Shape Reduction::kept(bool keep_dims) const {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) {
      result.push_back(shape[i]);
    } else if (keep_dims) {
      result.push_back(1);
    }
  }
  return result;
}

int64_t Reduction::count() const {
  int64_t result = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    result *= reduced[i] ? shape[i] : 1;
  }
  return result;
}

Index Reduction::at(const Index& point) const {
  Index result = point;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (reduced[i]) {
      result[i] = 0;
    }
  }
  return result;
}

void reduce_axes(StmtBuilder& builder, const Reduction& reduction, te::Monoid monoid, int target,
                 const PointBody& body) {
  Statement s(builder);
  size_t rank = reduction.shape.size();
  bool keeps_dims = builder.tensor(target).shape.size() == rank;
  Index point(rank), write;
  for (size_t i = 0; i < rank; ++i) {
    if (!reduction.reduced[i]) {
      point[i] = s.par(fmt::format("d{}", i), reduction.shape[i]);
    }
  }
  for (size_t i = 0; i < rank; ++i) {
    if (reduction.reduced[i]) {
      point[i] = s.red(fmt::format("r{}", i), reduction.shape[i]);
    }
    if (!reduction.reduced[i]) {
      write.push_back(point[i]);
    } else if (keeps_dims) {
      write.push_back(0);
    }
  }
  int root = body(s, point);
  s.reduce(monoid, target, write, root);
}

void map_points(StmtBuilder& builder, int target, const PointBody& body) {
  Statement s(builder);
  Index point = s.pars(builder.tensor(target).shape);
  int root = body(s, point);
  s.map(target, point, root);
}

int mean_of(StmtBuilder& builder, const Reduction& reduction, const std::string& name, DType type,
            const PointBody& body) {
  int sum = builder.temporary(name + "_sum", type, reduction.kept());
  reduce_axes(builder, reduction, te::Monoid::Sum, sum, body);
  int mean = builder.temporary(name, type, reduction.kept());
  map_points(builder, mean, [&](Statement& s, const Index& point) {
    int count = literal(s.body(), type, static_cast<double>(reduction.count()));
    return s.body().binary(te::Op::Div, s.load(sum, point), count);
  });
  return mean;
}

}  // namespace dlcc::frontend::ops
