// Functions that copy and fill strided boxes, one for each element size, made on first use. Internal to targets/x86.
#pragma once

#include <map>

#include "targets/x86/ir.h"

namespace dlcc::targets::x86 {

/// The dims of a box travel as an array of i64 triples, outermost first: extent, byte stride of dst, byte stride of
/// src.
constexpr int kDimWords = 3;

class BoxCode {
 public:
  explicit BoxCode(Ir& ir) : ir_(ir) {}
  /// Emits a call: dst[...] = src[...] over the box; nothing when an extent is not positive. `dims` is clobbered.
  void copy(Value* dst, Value* src, Value* dims, int rank, int element_bytes);
  /// dst[...] = value (an integer of the element's size) over the box. `dims` is clobbered; its src strides must equal
  /// the dst strides.
  void fill(Value* dst, Value* value, Value* dims, int rank);

 private:
  llvm::Function* copier(int element_bytes);
  llvm::Function* filler(int element_bytes);
  llvm::Function* merger();
  void merge_dim(Value* dims, Value* from, Value* count);
  void copy_row(Value* dst, Value* src, Value* dims, int element_bytes);
  void fill_row(Value* dst, Value* value, Value* dims);
  Value* word_address(Value* dims, Value* dim, int which);
  Value* word(Value* dims, Value* dim, int which);
  Value* word(Value* dims, int which) { return word(dims, ir_.i64(0), which); }

  Ir& ir_;
  std::map<int, llvm::Function*> copiers_, fillers_;
  llvm::Function* merger_ = nullptr;
};

}  // namespace dlcc::targets::x86
