// The x86 target: one module for the entry points and one for each cpu, compiled side by side; the result does not
// depend on the threads.
#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "targets/x86/codegen.h"
#include "targets/x86/glue_code.h"
#include "targets/x86/group_code.h"
#include "targets/x86/x86.h"

namespace dlcc::targets::x86 {
namespace {

/// The chip's cpus in its order. Without any: the one every x86-64 host has.
Result<std::vector<CpuLevel>> cpus_of(const hw::Machine& machine) {
  std::vector<std::string> names = machine.codegen.cpus;
  if (names.empty()) {
    names.emplace_back("x86-64");
  }
  std::vector<CpuLevel> levels;
  for (const std::string& name : names) {
    const auto* level =
        std::find_if(std::begin(kCpuLevels), std::end(kCpuLevels), [&](const CpuLevel& l) { return l.name == name; });
    if (level == std::end(kCpuLevels)) {
      return error(machine.file,
                   fmt::format("codegen.cpus: '{}' is not one of x86-64, x86-64-v2, x86-64-v3, x86-64-v4", name));
    }
    if (std::any_of(levels.begin(), levels.end(), [&](const CpuLevel& l) { return l.name == name; })) {
      return error(machine.file, fmt::format("codegen.cpus: '{}' is listed twice", name));
    }
    levels.push_back(*level);
  }
  return levels;
}

/// All groups for one cpu, and the table of them.
Result<std::string> compile_groups(const GroupContext& context, const std::string& cpu, CodeForm form) {
  llvm::LLVMContext llvm_context;
  Ir ir(llvm_context, "model." + cpu, cpu);
  BoxCode boxes(ir);
  std::vector<llvm::Constant*> functions;
  for (size_t k = 0; k < context.program.groups.size(); ++k) {
    const std::string name = fmt::format("group_{}.{}", k, cpu);
    DLCC_RETURN_IF_ERROR(emit_group(ir, boxes, context, context.program.groups[k], name));
    functions.push_back(ir.module->getFunction(name));
  }
  auto* type = llvm::ArrayType::get(ir.pointer_type(), functions.size());
  auto* table = new llvm::GlobalVariable(*ir.module, type, true, llvm::GlobalValue::ExternalLinkage,
                                         llvm::ConstantArray::get(type, functions), table_name(cpu));
  table->setVisibility(llvm::GlobalValue::HiddenVisibility);
  return Codegen(cpu).run(*ir.module, form);
}

std::string compile_glue(const GlueContext& context, CodeForm form) {
  llvm::LLVMContext llvm_context;
  Ir ir(llvm_context, "model", "x86-64");
  emit_glue(ir, context);
  return Codegen("x86-64").run(*ir.module, form);
}

/// Every module in that form, by the name of its file without the ending.
Result<std::vector<std::pair<std::string, std::string>>> compile(const hw::Program& program, const hw::Machine& machine,
                                                                 CodeForm form) {
  DLCC_TRY(const std::vector<CpuLevel> cpus, cpus_of(machine));
  const ScratchMap scratch = scratch_map(program, machine);
  const GroupContext groups{program, scratch};
  std::vector<std::future<Result<std::string>>> jobs;
  for (const CpuLevel& cpu : cpus) {
    jobs.push_back(std::async(std::launch::async,
                              [&groups, &cpu, form] { return compile_groups(groups, std::string(cpu.name), form); }));
  }
  std::vector<std::pair<std::string, std::string>> results;
  results.emplace_back("model", compile_glue({program, machine.core_count(), scratch.bytes, cpus}, form));
  Diags diags;
  for (size_t k = 0; k < jobs.size(); ++k) {
    Result<std::string> code = jobs[k].get();
    if (code.ok()) {
      results.emplace_back("model." + std::string(cpus[k].name), std::move(code).value());
    } else if (diags.empty()) {
      diags = code.diags();  // the same for every cpu
    }
  }
  if (!diags.empty()) {
    return diags;
  }
  return results;
}

}  // namespace

Result<Emitted> emit(const hw::Program& program, const hw::Machine& machine) {
  DLCC_TRY(auto objects, compile(program, machine, CodeForm::Object));
  Emitted emitted;
  emitted.files["model.h"] = model_header(program);
  std::string list;
  for (auto& [name, bytes] : objects) {
    list += fmt::format(" {{dir}}/{}.o", name);
    emitted.files[name + ".o"] = std::move(bytes);
  }
  // nodelete: dlclose would unmap libgomp under its waiting threads.
  emitted.build.commands.push_back("{cxx} -shared -Wl,-z,nodelete -o {out}/model.so" + list + " -fopenmp -lm");
  return emitted;
}

Result<std::string> emit_text(const hw::Program& program, const hw::Machine& machine, std::string_view form) {
  if (form != "llvm" && form != "asm") {
    return std::string();
  }
  DLCC_TRY(const auto modules, compile(program, machine, form == "llvm" ? CodeForm::Ir : CodeForm::Assembly));
  std::string text;
  for (const auto& [name, code] : modules) {
    text += fmt::format("{0} ---- {1} ----\n{2}\n", form == "llvm" ? ";" : "#", name, code);
  }
  return text;
}

}  // namespace dlcc::targets::x86
