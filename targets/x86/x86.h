// Program + Machine -> x86-64 object files and model.h, through LLVM.
//
// Every virtual core of the machine runs on an OpenMP thread; a group ends with the end of its parallel region. All
// copies are synchronous, so Signal and Wait need no code, and a Barrier is accepted only where the region's end
// already stands for it (first or last in a group). The code is emitted once for each of Machine::codegen.cpus (x86-64,
// x86-64-v2, -v3, -v4); dlcc_model_init takes the first that the host supports.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "targets/target.h"

namespace dlcc::targets::x86 {

/// model.o (entry points), model.<cpu>.o for each cpu, model.h.
Result<Emitted> emit(const hw::Program& program, const hw::Machine& machine);
/// "llvm": the optimised IR of all modules; "asm": their assembly.
Result<std::string> emit_text(const hw::Program& program, const hw::Machine& machine, std::string_view form);

}  // namespace dlcc::targets::x86
