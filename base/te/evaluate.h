// The oracle: runs statements naively, one point after another, in the order that Stmt fixes. No tiling, no blocking, no shortcuts;
// deliberately independent of the simulator's and the emitters' code. It also folds constants in the frontend.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "base/te/stmt.h"

namespace dlcc::te {

/// Row-major elements of one tensor.
struct Array {
  DType type = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
  static Array zeros(DType type, std::vector<int64_t> shape);
  int64_t count() const { return element_count(shape); }
  template <class T> T* as() { return reinterpret_cast<T*>(data.data()); }
  template <class T> const T* as() const { return reinterpret_cast<const T*>(data.data()); }
};

/// Values of all outputs of the module. inputs[i] belongs to module.inputs[i] (shape and type are checked: an error, not a crash).
Result<std::vector<Array>> evaluate(const Module& module, const std::vector<Array>& inputs);

/// One scalar value: a double for floats, an int64 for integers and bool. The meaning of every non-transcendental Op is in
/// `apply` and nowhere else on the C++ side (the simulator calls it too for the operations without a fast path).
struct Value {
  double f = 0;
  int64_t i = 0;
};
Value apply(const ScalarNode& node, DType operand_type, Value a, Value b, Value c);
Value load_element(DType type, const std::byte* data, int64_t element);
void store_element(DType type, std::byte* data, int64_t element, Value value);
/// A number as an element of that type: padding, the value of a Fill, the identity of a monoid. As Cast from f64: integers saturate.
Value value_of(double number, DType type);
/// The element's bytes in memory, as a little-endian number.
uint64_t element_bits(double number, DType type);

}  // namespace dlcc::te
