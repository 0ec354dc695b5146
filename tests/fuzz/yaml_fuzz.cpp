// libFuzzer entry: any bytes as a chip file, through the strict reader, its description and its provenance.
// Refusals are fine; an InternalError is a finding (it is not caught), as are crashes, hangs and too much memory.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hw/machine_yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto machine = dlcc::hw::parse_machine(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.yaml");
  if (machine.ok()) {
    const std::string text = dlcc::hw::describe(*machine);
    return text.empty() ? 1 : 0;
  }
  return 0;
}
