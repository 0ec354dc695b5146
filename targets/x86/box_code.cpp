// Box copies and fills. The dims are merged at run time (a tile that covers whole rows becomes one memcpy), then one
// call a level.
#include "targets/x86/box_code.h"

#include <string>

namespace dlcc::targets::x86 {
namespace {

// A call of memcpy costs more than moving fewer bytes than this one element at a time.
constexpr int64_t kMemcpyFrom = 64;
constexpr int kWordBytes = 8;

}  // namespace

Value* BoxCode::word_address(Value* dims, Value* dim, int which) {
  Value* index = ir_.b.CreateAdd(ir_.b.CreateMul(dim, ir_.i64(kDimWords)), ir_.i64(which));
  return ir_.b.CreateGEP(ir_.b.getInt64Ty(), dims, index);
}

Value* BoxCode::word(Value* dims, Value* dim, int which) {
  return ir_.b.CreateLoad(ir_.b.getInt64Ty(), word_address(dims, dim, which));
}

/// Takes dim `from` into the merged dims [0, *count): dropped, merged with the last of them, or appended.
void BoxCode::merge_dim(Value* dims, Value* from, Value* count) {
  auto& b = ir_.b;
  Value* extent = word(dims, from, 0);
  Value* dst_stride = word(dims, from, 1);
  Value* src_stride = word(dims, from, 2);
  ir_.when(b.CreateICmpSLE(extent, ir_.i64(0)), [&] { b.CreateStore(ir_.i64(-1), count); });
  Value* so_far = b.CreateLoad(b.getInt64Ty(), count);
  ir_.when(b.CreateAnd(b.CreateICmpSGT(extent, ir_.i64(1)), b.CreateICmpSGE(so_far, ir_.i64(0))), [&] {
    // With no dim before, the row in front of the array would be read: dim 0 stands in, and `first` decides.
    Value* first = b.CreateICmpEQ(so_far, ir_.i64(0));
    Value* last = b.CreateSelect(first, ir_.i64(0), b.CreateSub(so_far, ir_.i64(1)));
    Value* dense_dst = b.CreateICmpEQ(word(dims, last, 1), b.CreateMul(extent, dst_stride));
    Value* dense_src = b.CreateICmpEQ(word(dims, last, 2), b.CreateMul(extent, src_stride));
    Value* merges = b.CreateAnd(b.CreateNot(first), b.CreateAnd(dense_dst, dense_src));
    Value* to = b.CreateSelect(merges, last, so_far);
    Value* merged_extent = b.CreateSelect(merges, b.CreateMul(word(dims, last, 0), extent), extent);
    b.CreateStore(merged_extent, word_address(dims, to, 0));
    b.CreateStore(dst_stride, word_address(dims, to, 1));
    b.CreateStore(src_stride, word_address(dims, to, 2));
    b.CreateStore(b.CreateAdd(to, ir_.i64(1)), count);
  });
}

/// i64 merge(ptr dims, i64 rank): the rank after merging, -1 for an empty box.
llvm::Function* BoxCode::merger() {
  if (merger_ != nullptr) {
    return merger_;
  }
  auto& b = ir_.b;
  const llvm::IRBuilderBase::InsertPointGuard guard(b);
  merger_ = ir_.define("merge_dims", b.getInt64Ty(), {ir_.pointer_type(), b.getInt64Ty()},
                       llvm::GlobalValue::InternalLinkage);
  Value* const dims = merger_->getArg(0);
  Value* count = ir_.alloca_at_entry(b.getInt64Ty());
  b.CreateStore(ir_.i64(0), count);
  ir_.loop(ir_.i64(0), merger_->getArg(1), 1, [&](Value* dim) { merge_dim(dims, dim, count); });
  b.CreateRet(b.CreateLoad(b.getInt64Ty(), count));
  return merger_;
}

void BoxCode::copy_row(Value* dst, Value* src, Value* dims, int element_bytes) {
  auto& b = ir_.b;
  Value* extent = word(dims, 0);
  Value* dst_stride = word(dims, 1);
  Value* src_stride = word(dims, 2);
  llvm::Type* const element = ir_.integer_type(8 * element_bytes);
  Value* size = ir_.i64(element_bytes);
  Value* dense = b.CreateAnd(b.CreateICmpEQ(dst_stride, size), b.CreateICmpEQ(src_stride, size));
  Value* bytes = b.CreateMul(extent, size);
  Value* in_one = b.CreateAnd(dense, b.CreateICmpSGE(bytes, ir_.i64(kMemcpyFrom)));
  ir_.when(in_one, [&] { b.CreateMemCpy(dst, llvm::Align(1), src, llvm::Align(1), bytes); });
  ir_.when(b.CreateNot(in_one), [&] {
    ir_.loop(ir_.i64(0), extent, 1, [&](Value* i) {
      Value* value = b.CreateAlignedLoad(element, ir_.at(src, b.CreateMul(i, src_stride)), llvm::Align(1));
      b.CreateAlignedStore(value, ir_.at(dst, b.CreateMul(i, dst_stride)), llvm::Align(1));
    });
  });
}

/// void copy(ptr dst, ptr src, ptr dims, i64 rank); nothing for a negative rank.
llvm::Function* BoxCode::copier(int element_bytes) {
  llvm::Function*& function = copiers_[element_bytes];
  if (function != nullptr) {
    return function;
  }
  auto& b = ir_.b;
  const llvm::IRBuilderBase::InsertPointGuard guard(b);
  llvm::Type* const pointer = ir_.pointer_type();
  function = ir_.define("copy_box_" + std::to_string(element_bytes), b.getVoidTy(),
                        {pointer, pointer, pointer, b.getInt64Ty()}, llvm::GlobalValue::InternalLinkage);
  Value* const dst = function->getArg(0);
  Value* const src = function->getArg(1);
  Value* const dims = function->getArg(2);
  Value* const rank = function->getArg(3);
  ir_.when(b.CreateICmpEQ(rank, ir_.i64(0)), [&] {
    b.CreateAlignedStore(b.CreateAlignedLoad(ir_.integer_type(8 * element_bytes), src, llvm::Align(1)), dst,
                         llvm::Align(1));
  });
  ir_.when(b.CreateICmpEQ(rank, ir_.i64(1)), [&] { copy_row(dst, src, dims, element_bytes); });
  ir_.when(b.CreateICmpSGT(rank, ir_.i64(1)), [&] {
    Value* dst_stride = word(dims, 1);
    Value* src_stride = word(dims, 2);
    ir_.loop(ir_.i64(0), word(dims, 0), 1, [&](Value* i) {
      b.CreateCall(function, {ir_.at(dst, b.CreateMul(i, dst_stride)), ir_.at(src, b.CreateMul(i, src_stride)),
                              ir_.at(dims, kDimWords * kWordBytes), b.CreateSub(rank, ir_.i64(1))});
    });
  });
  b.CreateRetVoid();
  return function;
}

void BoxCode::fill_row(Value* dst, Value* value, Value* dims) {
  auto& b = ir_.b;
  const int64_t element_bytes = value->getType()->getIntegerBitWidth() / 8;
  Value* extent = word(dims, 0);
  Value* stride = word(dims, 1);
  Value* is_zero = b.CreateICmpEQ(value, llvm::ConstantInt::get(value->getType(), 0));
  Value* in_one = b.CreateAnd(is_zero, b.CreateICmpEQ(stride, ir_.i64(element_bytes)));
  ir_.when(in_one, [&] { b.CreateMemSet(dst, b.getInt8(0), b.CreateMul(extent, stride), llvm::Align(1)); });
  ir_.when(b.CreateNot(in_one), [&] {
    ir_.loop(ir_.i64(0), extent, 1,
             [&](Value* i) { b.CreateAlignedStore(value, ir_.at(dst, b.CreateMul(i, stride)), llvm::Align(1)); });
  });
}

/// void fill(ptr dst, iN value, ptr dims, i64 rank); nothing for a negative rank.
llvm::Function* BoxCode::filler(int element_bytes) {
  llvm::Function*& function = fillers_[element_bytes];
  if (function != nullptr) {
    return function;
  }
  auto& b = ir_.b;
  const llvm::IRBuilderBase::InsertPointGuard guard(b);
  function = ir_.define("fill_box_" + std::to_string(element_bytes), b.getVoidTy(),
                        {ir_.pointer_type(), ir_.integer_type(8 * element_bytes), ir_.pointer_type(), b.getInt64Ty()},
                        llvm::GlobalValue::InternalLinkage);
  Value* const dst = function->getArg(0);
  Value* const value = function->getArg(1);
  Value* const dims = function->getArg(2);
  Value* const rank = function->getArg(3);
  ir_.when(b.CreateICmpEQ(rank, ir_.i64(0)), [&] { b.CreateAlignedStore(value, dst, llvm::Align(1)); });
  ir_.when(b.CreateICmpEQ(rank, ir_.i64(1)), [&] { fill_row(dst, value, dims); });
  ir_.when(b.CreateICmpSGT(rank, ir_.i64(1)), [&] {
    Value* stride = word(dims, 1);
    ir_.loop(ir_.i64(0), word(dims, 0), 1, [&](Value* i) {
      b.CreateCall(function, {ir_.at(dst, b.CreateMul(i, stride)), value, ir_.at(dims, kDimWords * kWordBytes),
                              b.CreateSub(rank, ir_.i64(1))});
    });
  });
  b.CreateRetVoid();
  return function;
}

void BoxCode::copy(Value* dst, Value* src, Value* dims, int rank, int element_bytes) {
  Value* merged = ir_.b.CreateCall(merger(), {dims, ir_.i64(rank)});
  ir_.b.CreateCall(copier(element_bytes), {dst, src, dims, merged});
}

void BoxCode::fill(Value* dst, Value* value, Value* dims, int rank) {
  Value* merged = ir_.b.CreateCall(merger(), {dims, ir_.i64(rank)});
  ir_.b.CreateCall(filler(static_cast<int>(value->getType()->getIntegerBitWidth() / 8)), {dst, value, dims, merged});
}

}  // namespace dlcc::targets::x86
