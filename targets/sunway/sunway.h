// Program + Machine -> athread C for Sunway core groups: host and slave files, the runtime headers, a Makefile for the vendor's compiler, and the
// commands that build the same files with the shim (targets/sunway/shim) for running on this computer.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "targets/target.h"

namespace dlcc::targets::sunway {

/// model.h, host/, slave/, runtime/, Makefile.
Result<Emitted> emit(const hw::Program& program, const hw::Machine& machine);
/// "c": all C files one after another.
Result<std::string> emit_text(const hw::Program& program, const hw::Machine& machine, std::string_view form);

/// Name -> content of the headers in targets/sunway/runtime, as built into the compiler.
const Files& runtime_files();

}  // namespace dlcc::targets::sunway
