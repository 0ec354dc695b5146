// Ir: one LLVM module under construction, with the few structured helpers that all code builders of this folder share.
// Internal to targets/x86.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace dlcc::targets::x86 {

using llvm::Value;

class Ir {
 public:
  /// cpu, features: of every function; features may be empty.
  Ir(llvm::LLVMContext& context, std::string_view name, std::string cpu);

  llvm::Type* integer_type(int bits) { return b.getIntNTy(static_cast<unsigned>(bits)); }
  llvm::Type* pointer_type() { return b.getPtrTy(); }
  /// The type of a value in a register (Bool is i1) and of an element in memory (Bool is i8); a vector when lanes > 1.
  llvm::Type* value_type(DType type, int lanes);
  llvm::Type* memory_type(DType type, int lanes);

  /// A splat: `number` for floats, `integer` for the rest.
  llvm::Constant* constant(DType type, int lanes, double number, int64_t integer);
  llvm::Constant* i64(int64_t value) {
    return llvm::ConstantInt::get(b.getInt64Ty(), static_cast<uint64_t>(value), true);
  }
  llvm::Constant* i32(int64_t value) {
    return llvm::ConstantInt::get(b.getInt32Ty(), static_cast<uint64_t>(value), true);
  }

  /// A new function; its body starts at the insertion point on return. Defining it is ended by the caller's `ret`.
  llvm::Function* define(std::string_view name, llvm::Type* result, std::vector<llvm::Type*> params,
                         llvm::GlobalValue::LinkageTypes linkage);
  /// A function of another module or of the C library.
  llvm::FunctionCallee declare(std::string_view name, llvm::Type* result, std::vector<llvm::Type*> params,
                               bool hidden = false);
  /// Uninitialised storage in the entry block of the current function.
  llvm::AllocaInst* alloca_at_entry(llvm::Type* type, int64_t count = 1);

  Value* at(Value* base, Value* bytes) { return b.CreateGEP(b.getInt8Ty(), base, bytes); }
  Value* at(Value* base, int64_t bytes) { return bytes == 0 ? base : at(base, i64(bytes)); }
  Value* min(Value* x, Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }
  Value* max(Value* x, Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y); }
  /// hw::looked_up of a 64-bit index.
  Value* looked_up(Value* index, int64_t extent);
  /// floor(x / k), k > 0.
  Value* floor_div(Value* x, int64_t k);

  void when(Value* condition, const std::function<void()>& body);
  /// for (i = begin; i < end; i += step) body(i); step > 0. Emitted with the test at the bottom, as the loop passes
  /// want it.
  void loop(Value* begin, Value* end, int64_t step, const std::function<void(Value*)>& body);
  /// for (i = begin; i + step <= end; i += step) body(i). Returns where i stopped.
  Value* whole_steps(Value* begin, Value* end, int64_t step, const std::function<void(Value*)>& body);

  std::unique_ptr<llvm::Module> module;
  llvm::IRBuilder<> b;

 private:
  llvm::BasicBlock* block() {
    return llvm::BasicBlock::Create(module->getContext(), "", b.GetInsertBlock()->getParent());
  }
  std::string cpu_;
};

}  // namespace dlcc::targets::x86
