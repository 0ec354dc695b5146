// An emitter turns a Program into the files of one kind of chip. Chosen by Codegen::emitter of the chip file; shared code never asks which.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/result.h"
#include "hw/machine.h"
#include "hw/program.h"

namespace dlcc::targets {

/// Relative path -> content.
using Files = std::map<std::string, std::string>;

/// How `dlrun` builds and runs the files: command lines with {dir} (the artifact), {out} (a scratch directory), {data} (the shipped runtime files,
/// e.g. the shim), {cxx}. The result is a shared object {out}/model.so with the C entry points of model.h.
struct BuildRecipe {
  std::vector<std::string> commands;
};

struct Emitted {
  Files files;
  BuildRecipe build;
};

struct Target {
  const char* name;
  Result<Emitted> (*emit)(const hw::Program& program, const hw::Machine& machine);
  /// Text for --emit=c / llvm / asm; empty string: this target has no such form.
  Result<std::string> (*emit_text)(const hw::Program& program, const hw::Machine& machine, std::string_view form);
};

/// Sorted by name; "none" emits nothing.
std::span<const Target> all_targets();
const Target* find_target(std::string_view name);

/// The C interface that every emitter's code exports, so that one header serves all (written by the emitters as model.h):
///   int  dlcc_model_init(const void* weights, size_t bytes);      keeps the pointer; 0 on success
///   int  dlcc_model_run(const void* const* inputs, void* const* outputs, int threads);   row-major, model order; 0 on success
///   void dlcc_model_free(void);
std::string model_header(const hw::Program& program);

}  // namespace dlcc::targets
