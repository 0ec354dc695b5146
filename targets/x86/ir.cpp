// Structured helpers over IRBuilder: types, constants, functions, loops and branches.
#include "targets/x86/ir.h"

#include <bit>

#include "base/check.h"

namespace dlcc::targets::x86 {

Ir::Ir(llvm::LLVMContext& context, std::string_view name, std::string cpu)
    : module(std::make_unique<llvm::Module>(llvm::StringRef(name), context)), b(context), cpu_(std::move(cpu)) {}

llvm::Type* Ir::value_type(DType type, int lanes) {
  llvm::Type* element = type == DType::F16    ? b.getHalfTy()
                        : type == DType::F32  ? b.getFloatTy()
                        : type == DType::F64  ? b.getDoubleTy()
                        : type == DType::Bool ? b.getInt1Ty()
                                              : integer_type(8 * bytes_of(type));
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

llvm::Type* Ir::memory_type(DType type, int lanes) {
  return value_type(type == DType::Bool ? DType::U8 : type, lanes);
}

llvm::Constant* Ir::constant(DType type, int lanes, double number, int64_t integer) {
  llvm::Type* const to = value_type(type, lanes);
  if (is_float(type)) {
    return llvm::ConstantFP::get(to, number);
  }
  const int64_t value = type == DType::Bool ? static_cast<int64_t>(integer != 0) : integer;
  const auto bits = static_cast<unsigned>(type == DType::Bool ? 1 : 8 * bytes_of(type));
  return llvm::ConstantInt::get(to, llvm::APInt(64, static_cast<uint64_t>(value)).trunc(bits));
}

llvm::Function* Ir::define(std::string_view name, llvm::Type* result, std::vector<llvm::Type*> params,
                           llvm::GlobalValue::LinkageTypes linkage) {
  auto* type = llvm::FunctionType::get(result, params, false);
  auto* function = llvm::Function::Create(type, linkage, llvm::StringRef(name), *module);
  function->addFnAttr("target-cpu", cpu_);
  // Without these LLVM splits explicit 512-bit vectors on cpus that it tunes for 256.
  function->addFnAttr("prefer-vector-width", "512");
  function->addFnAttr("min-legal-vector-width", "512");
  function->addFnAttr(llvm::Attribute::NoUnwind);
  b.SetInsertPoint(llvm::BasicBlock::Create(module->getContext(), "", function));
  return function;
}

llvm::FunctionCallee Ir::declare(std::string_view name, llvm::Type* result, std::vector<llvm::Type*> params,
                                 bool hidden) {
  auto callee = module->getOrInsertFunction(llvm::StringRef(name), llvm::FunctionType::get(result, params, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->addFnAttr(llvm::Attribute::NoUnwind);
  if (hidden) {
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  return callee;
}

llvm::AllocaInst* Ir::alloca_at_entry(llvm::Type* type, int64_t count) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type, count == 1 ? nullptr : i64(count));
}

Value* Ir::looked_up(Value* index, int64_t extent) {
  Value* from_end = b.CreateSelect(b.CreateICmpSLT(index, i64(0)), b.CreateAdd(index, i64(extent)), index);
  return max(min(from_end, i64(extent - 1)), i64(0));
}

Value* Ir::floor_div(Value* x, int64_t k) {
  DLCC_CHECK(k > 0) << k;
  if (std::has_single_bit(static_cast<uint64_t>(k))) {
    return b.CreateAShr(x, i64(std::countr_zero(static_cast<uint64_t>(k))));
  }
  Value* quotient = b.CreateSDiv(x, i64(k));
  Value* rest = b.CreateSub(x, b.CreateMul(quotient, i64(k)));
  return b.CreateAdd(quotient, b.CreateSExt(b.CreateICmpSLT(rest, i64(0)), b.getInt64Ty()));
}

void Ir::when(Value* condition, const std::function<void()>& body) {
  llvm::BasicBlock* const then = block();
  llvm::BasicBlock* const after = block();
  b.CreateCondBr(condition, then, after);
  b.SetInsertPoint(then);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void Ir::loop(Value* begin, Value* end, int64_t step, const std::function<void(Value*)>& body) {
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::BasicBlock* const head = block();
  llvm::BasicBlock* const after = block();
  b.CreateCondBr(b.CreateICmpSLT(begin, end), head, after);
  b.SetInsertPoint(head);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  body(i);
  Value* next = b.CreateAdd(i, i64(step), "", false, true);
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, end), head, after);
  b.SetInsertPoint(after);
}

Value* Ir::whole_steps(Value* begin, Value* end, int64_t step, const std::function<void(Value*)>& body) {
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::BasicBlock* const head = block();
  llvm::BasicBlock* const after = block();
  // i <= end - step, so that the bound is computed once
  Value* last = b.CreateSub(end, i64(step));
  b.CreateCondBr(b.CreateICmpSLE(begin, last), head, after);
  b.SetInsertPoint(head);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  body(i);
  Value* next = b.CreateAdd(i, i64(step), "", false, true);
  llvm::BasicBlock* const latch = b.GetInsertBlock();
  i->addIncoming(next, latch);
  b.CreateCondBr(b.CreateICmpSLE(next, last), head, after);
  b.SetInsertPoint(after);
  llvm::PHINode* stopped = b.CreatePHI(b.getInt64Ty(), 2);
  stopped->addIncoming(begin, before);
  stopped->addIncoming(next, latch);
  return stopped;
}

}  // namespace dlcc::targets::x86
