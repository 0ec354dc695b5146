// Contradictions in a Machine that was read without a mistake of form.
#pragma once

#include "hw/machine.h"
#include "hw/machine_reader.h"

namespace dlcc::hw {

/// Reports to `reader`, at the YAML path of the value. Parts that already have a finding are left out.
void check_machine(const Machine& machine, Reader& reader);

}  // namespace dlcc::hw
