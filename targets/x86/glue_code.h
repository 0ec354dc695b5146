// The entry points of targets/target.h (init, run, free) and dlcc_model_cpu, as IR. Internal to targets/x86.
#pragma once

#include <string>
#include <vector>

#include "hw/program.h"
#include "targets/x86/cpus.h"
#include "targets/x86/group_code.h"
#include "targets/x86/ir.h"

namespace dlcc::targets::x86 {

struct GlueContext {
  const hw::Program& program;
  int core_count = 1;
  int64_t scratch_bytes = 0;   // of one core
  std::vector<CpuLevel> cpus;  // best first
};

/// Symbol of the table (one function pointer a group) that the module of that cpu defines.
std::string table_name(std::string_view cpu);
void emit_glue(Ir& ir, const GlueContext& context);

}  // namespace dlcc::targets::x86
