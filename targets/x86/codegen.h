// LLVM module -> optimised IR text, assembly, object bytes. Internal to targets/x86.
#pragma once

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
}  // namespace llvm

namespace dlcc::targets::x86 {

enum class CodeForm { Ir, Assembly, Object };

class Codegen {
 public:
  /// cpu: a name that LLVM knows.
  explicit Codegen(const std::string& cpu);
  ~Codegen();
  /// Verifies the module (a failure is our bug), optimises it for the cpu and returns the form asked for.
  std::string run(llvm::Module& module, CodeForm form);

 private:
  void prepare(llvm::Module& module);
  void optimise(llvm::Module& module);
  std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace dlcc::targets::x86
