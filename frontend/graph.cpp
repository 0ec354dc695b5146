// Small questions about values and shapes.
#include "frontend/graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlcc::frontend {

Status check_shape(const std::vector<int64_t>& shape, const std::string& where, const std::string& what) {
  if (shape.size() > kMaxRank) {
    return error(where, fmt::format("{}: rank {}; the limit is {}", what, shape.size(), kMaxRank));
  }
  double total = 1;  // exact below the limit, and cannot overflow; zero dims do not hide the others
  for (const int64_t dim : shape) {
    if (dim < 0) {
      return error(where, fmt::format("{}: dimension {} is negative", what, dim));
    }
    total *= static_cast<double>(std::max<int64_t>(dim, 1));
    if (dim > kMaxElements) {
      return error(where, fmt::format("{}: a dimension of {}; the limit is {} elements", what, dim, kMaxElements));
    }
  }
  if (total > static_cast<double>(kMaxElements)) {
    return error(where, fmt::format("{}: shape [{}] has {:.0f} elements; the limit is {}", what, fmt::join(shape, ","),
                                    total, kMaxElements));
  }
  return ok_status();
}

std::vector<int64_t> concrete_shape(const Value& value) {
  std::vector<int64_t> shape;
  for (const Dim& dim : value.shape) {
    DLCC_CHECK(!dim.is_symbolic()) << "value '" << value.name << "' has the unbound dim " << dim.symbol;
    shape.push_back(dim.value);
  }
  return shape;
}

}  // namespace dlcc::frontend
