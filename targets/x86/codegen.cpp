// The LLVM pipeline: a short list of passes (the kernels come vectorised and unrolled already), then the x86 back end.
#include "targets/x86/codegen.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

#include "base/check.h"

namespace dlcc::targets::x86 {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

// Registers to SSA first; the loop passes then find invariant addresses and loads. No vectoriser and no unroller:
// hw::Kernel decided that.
constexpr const char* kPasses =
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-simplify,lcssa,loop-mssa(licm),early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>)";

void initialise_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmParser();
    LLVMInitializeX86AsmPrinter();
  });
}

}  // namespace

Codegen::Codegen(const std::string& cpu) {
  initialise_llvm();
  std::string message;
  llvm::Triple triple(kTriple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget("", triple, message);
  DLCC_CHECK(target != nullptr) << message;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
#if LLVM_VERSION_MAJOR >= 21
  const llvm::Triple& name = triple;
#else
  const std::string& name = triple.str();
#endif
  machine_.reset(target->createTargetMachine(name, cpu, "", options, llvm::Reloc::PIC_, std::nullopt,
                                             llvm::CodeGenOptLevel::Default));
  DLCC_CHECK(machine_ != nullptr) << "no target machine for " << cpu;
}

Codegen::~Codegen() = default;

void Codegen::prepare(llvm::Module& module) {
#if LLVM_VERSION_MAJOR >= 21
  module.setTargetTriple(llvm::Triple(kTriple));
#else
  module.setTargetTriple(kTriple);
#endif
  module.setDataLayout(machine_->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  std::string message;
  llvm::raw_string_ostream out(message);
  DLCC_CHECK(!llvm::verifyModule(module, &out)) << message;
}

void Codegen::optimise(llvm::Module& module) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine_.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  llvm::Error wrong = builder.parsePassPipeline(passes, kPasses);
  const bool parsed = !wrong;
  DLCC_CHECK(parsed) << "the pass list is not one of this LLVM's: " << llvm::toString(std::move(wrong));
  passes.run(module, modules);
}

std::string Codegen::run(llvm::Module& module, CodeForm form) {
  prepare(module);
  optimise(module);
  if (form == CodeForm::Ir) {
    std::string text;
    llvm::raw_string_ostream out(text);
    module.print(out, nullptr);
    return text;
  }
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  const auto kind = form == CodeForm::Object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  DLCC_CHECK(!machine_->addPassesToEmitFile(passes, out, nullptr, kind)) << "the back end writes no such file";
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace dlcc::targets::x86
