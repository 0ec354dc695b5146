// Statements and modules: element counts, storage roots, monoids.
#include "base/te/stmt.h"

#include <algorithm>

#include <limits>

#include "base/check.h"

namespace dlcc::te {
namespace {

constexpr int64_t kCountLimit = int64_t{1} << 58;

double highest_of(DType type) {
  switch (type) {
    case DType::I8:
      return 127;
    case DType::I16:
      return 32767;
    case DType::I32:
      return 2147483647;
    case DType::I64:
      return 0x1p63;
    case DType::U8:
      return 255;
    case DType::U16:
      return 65535;
    case DType::U32:
      return 4294967295.0;
    case DType::U64:
      return 0x1p64;
    case DType::Bool:
      return 1;
    default:
      return std::numeric_limits<double>::infinity();
  }
}

double lowest_of(DType type) {
  switch (type) {
    case DType::I8:
      return -128;
    case DType::I16:
      return -32768;
    case DType::I32:
      return -2147483648.0;
    case DType::I64:
      return -0x1p63;
    default:
      return is_float(type) ? -std::numeric_limits<double>::infinity() : 0;
  }
}

}  // namespace

std::optional<int64_t> checked_element_count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  bool empty = false, huge = false;
  for (const int64_t extent : shape) {
    if (extent < 0) {
      return std::nullopt;
    }
    empty = empty || extent == 0;
    huge = huge || (extent > 0 && __builtin_mul_overflow(count, extent, &count)) || count >= kCountLimit;
  }
  if (empty) {
    return 0;
  }
  return huge ? std::nullopt : std::optional(count);
}

int64_t element_count(const std::vector<int64_t>& shape) {
  if (const auto count = checked_element_count(shape)) {
    return *count;
  }
  for (const int64_t extent : shape) {
    if (extent < 0) {
      return 0;
    }
  }
  return kCountLimit;
}

int Module::root_of(int tensor) const {
  for (size_t steps = 0; steps <= tensors.size(); ++steps) {
    DLCC_CHECK(tensor >= 0 && static_cast<size_t>(tensor) < tensors.size()) << "tensor " << tensor << " does not exist";
    const int storage = tensors[static_cast<size_t>(tensor)].storage;
    if (storage < 0) {
      return tensor;
    }
    tensor = storage;
  }
  DLCC_CHECK(false) << "cycle of views through tensor " << tensor;
  return -1;
}

double identity_of(Monoid monoid, DType type) {
  switch (monoid) {
    case Monoid::Sum:
    case Monoid::Or:
      return 0;
    case Monoid::Prod:
      return 1;
    case Monoid::Min:
      return highest_of(type);
    case Monoid::Max:
      return lowest_of(type);
    case Monoid::And:
      return is_signed_int(type) ? -1 : highest_of(type);
  }
  return 0;
}

std::string_view name_of(Monoid monoid) {
  switch (monoid) {
    case Monoid::Sum:
      return "sum";
    case Monoid::Prod:
      return "prod";
    case Monoid::Min:
      return "min";
    case Monoid::Max:
      return "max";
    case Monoid::And:
      return "and";
    case Monoid::Or:
      return "or";
  }
  return "?";
}

int64_t sum_block(const Stmt& stmt) {
  if (!accumulates_with_fma(stmt.kind, stmt.monoid, stmt.body)) {
    return 0;
  }
  // Red dims of one point do not count: lowering drops them, and the blocks must stay where they are.
  int64_t inner = 1;
  bool first = true;
  for (const Dim& dim : stmt.dims) {
    if (dim.kind == DimKind::Red && dim.extent != 1) {
      inner *= first ? 1 : dim.extent;
      first = false;
    }
  }
  return first ? 0 : std::max<int64_t>(1, kSumBlock / std::max<int64_t>(inner, 1));
}

bool accumulates_with_fma(StmtKind kind, Monoid monoid, const ScalarExpr& body) {
  return kind == StmtKind::Reduce && monoid == Monoid::Sum && !body.empty() && body.back().op == Op::Mul &&
         is_float(body.back().type);
}

}  // namespace dlcc::te
