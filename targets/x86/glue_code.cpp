// model.o: memory, the choice of the cpu's copy, and the loop over groups. Each group is one OpenMP parallel region
// (the GOMP interface, which libgomp and libomp both have); a thread takes a contiguous share of the virtual cores and
// one scratch block.
#include "targets/x86/glue_code.h"

#include <llvm/IR/InlineAsm.h>

#include <algorithm>

#include "base/check.h"

namespace dlcc::targets::x86 {
namespace {

constexpr int64_t kAlign = 128;
enum InitResult { kOk = 0, kNoCpu = 1, kShortWeights = 2, kNoMemory = 3 };
constexpr int kNotInitialised = 1;

// What a parallel region gets: group function, arena, weights, scratch.
constexpr int kFrameWords = 4;

class GlueCode {
 public:
  GlueCode(Ir& ir, const GlueContext& context) : ir_(ir), b(ir.b), context_(context) {
    arena_ = global("dlcc_arena");
    scratch_ = global("dlcc_scratch");
    weights_ = global("dlcc_weights");
    table_ = global("dlcc_table");
    cpu_ = global("dlcc_cpu");
    free_ = ir_.declare("free", b.getVoidTy(), {ir_.pointer_type()});
  }

  void emit() {
    const auto external = llvm::GlobalValue::ExternalLinkage;
    auto* release = ir_.define("dlcc_model_free", b.getVoidTy(), {}, external);
    emit_free();
    llvm::Function* supports = emit_supports();
    emit_init(ir_.define("dlcc_model_init", b.getInt32Ty(), {ir_.pointer_type(), b.getInt64Ty()}, external), release,
              supports);
    llvm::Function* worker = emit_worker();
    emit_run(ir_.define("dlcc_model_run", b.getInt32Ty(), {ir_.pointer_type(), ir_.pointer_type(), b.getInt32Ty()},
                        external),
             worker);
    ir_.define("dlcc_model_cpu", ir_.pointer_type(), {}, external);
    Value* name = get(cpu_);
    b.CreateRet(b.CreateSelect(b.CreateIsNull(name), b.CreateGlobalString(""), name));
  }

 private:
  llvm::GlobalVariable* global(const char* name) {
    return new llvm::GlobalVariable(*ir_.module, ir_.pointer_type(), false, llvm::GlobalValue::InternalLinkage, null(),
                                    name);
  }
  llvm::Constant* null() { return llvm::ConstantPointerNull::get(b.getPtrTy()); }
  Value* get(llvm::GlobalVariable* variable) { return b.CreateLoad(ir_.pointer_type(), variable); }

  /// Returns that code from the current function when the condition holds.
  void return_if(Value* condition, int code) {
    llvm::Function* const function = b.GetInsertBlock()->getParent();
    auto* leave = llvm::BasicBlock::Create(b.getContext(), "", function);
    auto* stay = llvm::BasicBlock::Create(b.getContext(), "", function);
    b.CreateCondBr(condition, leave, stay);
    b.SetInsertPoint(leave);
    b.CreateRet(b.getInt32(static_cast<uint32_t>(code)));
    b.SetInsertPoint(stay);
  }

  void emit_free() {
    for (llvm::GlobalVariable* block : {arena_, scratch_}) {
      b.CreateCall(free_, {get(block)});
    }
    for (llvm::GlobalVariable* variable : {arena_, scratch_, weights_, table_, cpu_}) {
      b.CreateStore(null(), variable);
    }
    b.CreateRetVoid();
  }

  Value* assembly(const char* text, const char* constraints, int results, std::vector<Value*> operands,
                  unsigned result) {
    const std::vector<llvm::Type*> types(static_cast<size_t>(results), b.getInt32Ty());
    const std::vector<llvm::Type*> params(operands.size(), b.getInt32Ty());
    auto* type = llvm::FunctionType::get(llvm::StructType::get(b.getContext(), types), params, false);
    return b.CreateExtractValue(b.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, true), operands),
                                result);
  }
  Value* cpuid(uint32_t leaf, unsigned result) {
    return assembly("cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}", 4,
                    {b.getInt32(leaf), b.getInt32(0)}, result);
  }
  Value* has_all(Value* word, Value* mask) { return b.CreateICmpEQ(b.CreateAnd(word, mask), mask); }

  /// i1 supports(i32 leaf1_ecx, i32 leaf7_ebx, i32 extended_ecx, i32 xcr0)
  llvm::Function* emit_supports() {
    auto* function = ir_.define("host_supports", b.getInt1Ty(), std::vector<llvm::Type*>(4, b.getInt32Ty()),
                                llvm::GlobalValue::InternalLinkage);
    Value* result = ir_.alloca_at_entry(b.getInt1Ty());
    Value* leaf1 = has_all(cpuid(1, 2), function->getArg(0));
    Value* extended = has_all(cpuid(0x80000001U, 2), function->getArg(2));
    b.CreateStore(b.CreateAnd(leaf1, extended), result);
    const auto require = [&](Value* needed, const std::function<Value*()>& test) {
      Value* so_far = b.CreateLoad(b.getInt1Ty(), result);
      ir_.when(b.CreateAnd(so_far, b.CreateICmpNE(needed, b.getInt32(0))), [&] { b.CreateStore(test(), result); });
    };
    require(function->getArg(1), [&] {
      return b.CreateAnd(b.CreateICmpUGE(cpuid(0, 0), b.getInt32(7)), has_all(cpuid(7, 1), function->getArg(1)));
    });
    // xgetbv exists only where leaf 1 says so (osxsave); every level that asks for xcr0 bits asks for that bit too.
    require(function->getArg(3), [&] {
      return has_all(assembly("xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}", 2, {b.getInt32(0)}, 0),
                     function->getArg(3));
    });
    b.CreateRet(b.CreateLoad(b.getInt1Ty(), result));
    return function;
  }

  void choose_cpu(llvm::Function* supports) {
    for (const CpuLevel& cpu : context_.cpus) {
      auto* table = new llvm::GlobalVariable(*ir_.module, ir_.pointer_type(), true, llvm::GlobalValue::ExternalLinkage,
                                             nullptr, table_name(cpu.name));
      table->setVisibility(llvm::GlobalValue::HiddenVisibility);
      Value* name = b.CreateGlobalString(llvm::StringRef(cpu.name));
      Value* ok = b.CreateCall(supports, {b.getInt32(cpu.leaf1_ecx), b.getInt32(cpu.leaf7_ebx),
                                          b.getInt32(cpu.extended_ecx), b.getInt32(cpu.xcr0)});
      ir_.when(b.CreateAnd(b.CreateIsNull(get(cpu_)), ok), [&] {
        b.CreateStore(name, cpu_);
        b.CreateStore(table, table_);
      });
    }
  }

  Value* allocate(llvm::GlobalVariable* variable, int64_t bytes) {
    const auto aligned_alloc = ir_.declare("aligned_alloc", ir_.pointer_type(), {b.getInt64Ty(), b.getInt64Ty()});
    const int64_t size = (std::max<int64_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign;
    Value* block = b.CreateCall(aligned_alloc, {ir_.i64(kAlign), ir_.i64(size)});
    b.CreateStore(block, variable);
    return b.CreateIsNull(block);
  }

  void emit_init(llvm::Function* function, llvm::Function* release, llvm::Function* supports) {
    b.CreateCall(release);
    return_if(b.CreateICmpULT(function->getArg(1), ir_.i64(context_.program.weights_bytes)), kShortWeights);
    choose_cpu(supports);
    return_if(b.CreateIsNull(get(cpu_)), kNoCpu);
    Value* no_arena = allocate(arena_, context_.program.arena_bytes);
    Value* no_scratch = allocate(scratch_, context_.scratch_bytes * context_.core_count);
    Value* failed = b.CreateOr(no_arena, no_scratch);
    ir_.when(failed, [&] { b.CreateCall(release); });
    return_if(failed, kNoMemory);
    b.CreateMemSet(get(arena_), b.getInt8(0), ir_.i64(context_.program.arena_bytes), llvm::Align(kAlign));
    b.CreateStore(function->getArg(0), weights_);
    b.CreateRet(b.getInt32(kOk));
  }

  /// void worker(ptr frame): this thread's share of the cores.
  llvm::Function* emit_worker() {
    auto* function = ir_.define("run_share", b.getVoidTy(), {ir_.pointer_type()}, llvm::GlobalValue::InternalLinkage);
    std::array<Value*, kFrameWords> frame = {};
    for (unsigned k = 0; k < kFrameWords; ++k) {
      frame[k] = b.CreateLoad(ir_.pointer_type(), ir_.at(function->getArg(0), 8 * k));
    }
    const auto count = [&](const char* name) {
      return b.CreateSExt(b.CreateCall(ir_.declare(name, b.getInt32Ty(), {})), b.getInt64Ty());
    };
    Value* thread = count("omp_get_thread_num");
    Value* threads = count("omp_get_num_threads");
    Value* cores = ir_.i64(context_.core_count);
    Value* begin = b.CreateSDiv(b.CreateMul(thread, cores), threads);
    Value* end = b.CreateSDiv(b.CreateMul(b.CreateAdd(thread, ir_.i64(1)), cores), threads);
    Value* scratch = ir_.at(frame[3], b.CreateMul(thread, ir_.i64(context_.scratch_bytes)));
    auto* type = llvm::FunctionType::get(
        b.getVoidTy(), {b.getInt64Ty(), ir_.pointer_type(), ir_.pointer_type(), ir_.pointer_type()}, false);
    ir_.loop(begin, end, 1, [&](Value* core) { b.CreateCall(type, frame[0], {core, frame[1], frame[2], scratch}); });
    b.CreateRetVoid();
    return function;
  }

  /// Bytes of a model input or output in its space.
  Value* tensor_address(const hw::GlobalTensor& tensor, Value* arena, Value* weights) {
    return ir_.at(tensor.space == hw::Space::Arena ? arena : weights, tensor.offset);
  }
  Value* argument(Value* list, size_t k) {
    return b.CreateLoad(ir_.pointer_type(), ir_.at(list, static_cast<int64_t>(8 * k)));
  }

  void emit_run(llvm::Function* function, llvm::Function* worker) {
    const hw::Program& program = context_.program;
    Value* arena = get(arena_);
    return_if(b.CreateIsNull(arena), kNotInitialised);
    Value* weights = get(weights_);
    for (size_t k = 0; k < program.inputs.size(); ++k) {
      const hw::GlobalTensor& tensor = program.tensors.at(static_cast<size_t>(program.inputs[k]));
      DLCC_CHECK(tensor.space == hw::Space::Arena) << "input " << tensor.name << " is not in the arena";
      b.CreateMemCpy(ir_.at(arena, tensor.offset), llvm::Align(1), argument(function->getArg(0), k), llvm::Align(1),
                     ir_.i64(tensor.bytes()));
    }
    run_groups(function->getArg(2), arena, weights, worker);
    for (size_t k = 0; k < program.outputs.size(); ++k) {
      const hw::GlobalTensor& tensor = program.tensors.at(static_cast<size_t>(program.outputs[k]));
      b.CreateMemCpy(argument(function->getArg(1), k), llvm::Align(1), tensor_address(tensor, arena, weights),
                     llvm::Align(1), ir_.i64(tensor.bytes()));
    }
    b.CreateRet(b.getInt32(kOk));
  }

  void run_groups(Value* wanted, Value* arena, Value* weights, llvm::Function* worker) {
    Value* frame = ir_.alloca_at_entry(ir_.pointer_type(), kFrameWords);
    Value* available = b.CreateCall(ir_.declare("omp_get_max_threads", b.getInt32Ty(), {}));
    Value* threads = b.CreateSelect(b.CreateICmpSGT(wanted, b.getInt32(0)), wanted, available);
    // A scratch block a thread, and no more blocks than cores.
    threads = ir_.min(threads, b.getInt32(static_cast<uint32_t>(context_.core_count)));
    b.CreateStore(arena, ir_.at(frame, 8));
    b.CreateStore(weights, ir_.at(frame, 16));
    b.CreateStore(get(scratch_), ir_.at(frame, 24));
    Value* table = get(table_);
    const auto parallel = ir_.declare("GOMP_parallel", b.getVoidTy(),
                                      {ir_.pointer_type(), ir_.pointer_type(), b.getInt32Ty(), b.getInt32Ty()});
    ir_.loop(ir_.i64(0), ir_.i64(static_cast<int64_t>(context_.program.groups.size())), 1, [&](Value* group) {
      b.CreateStore(b.CreateLoad(ir_.pointer_type(), b.CreateGEP(ir_.pointer_type(), table, group)), frame);
      b.CreateCall(parallel, {worker, frame, threads, b.getInt32(0)});
    });
  }

  Ir& ir_;
  llvm::IRBuilder<>& b;
  const GlueContext& context_;
  llvm::GlobalVariable *arena_, *scratch_, *weights_, *table_, *cpu_;
  llvm::FunctionCallee free_;
};

}  // namespace

std::string table_name(std::string_view cpu) {
  return "dlcc_groups." + std::string(cpu);
}

void emit_glue(Ir& ir, const GlueContext& context) {
  GlueCode(ir, context).emit();
}

}  // namespace dlcc::targets::x86
