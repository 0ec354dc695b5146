// Chip YAML -> Machine, strictly: an unknown key, a wrong unit, an unresolved name or a contradiction is an error with
// file:line:column and, where one is near, "did you mean". All findings of one file are reported at once.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "hw/machine.h"

namespace dlcc::hw {

/// `spec` is a path to a YAML file, or a bare name: <chips dir>/<name>.yaml (the directory shipped with dlcc).
Result<Machine> load_machine(const std::string& spec);
Result<Machine> parse_machine(std::string_view yaml, const std::string& file);
/// What `dlhw show` prints: every resolved number with its source or "estimated".
std::string describe(const Machine& machine);
/// The JSON Schema (draft 2020-12) of the chip file, generated from the parser's own key tables.
std::string chip_json_schema();

}  // namespace dlcc::hw
