#include "toolchain/command_line.h"

#include <cstdlib>

namespace dlcc::toolchain {

Result<std::map<std::string, int64_t>> parse_dims(const std::vector<std::string>& dims) {
  std::map<std::string, int64_t> out;
  for (const std::string& item : dims) {
    const size_t equals = item.rfind('=');
    char* end = nullptr;
    const int64_t value = equals == std::string::npos ? -1 : std::strtoll(item.c_str() + equals + 1, &end, 10);
    if (value < 0 || end == nullptr || *end != '\0' || equals == 0 || item.size() == equals + 1) {
      return error("--dim", "'" + item + "' is not NAME=N with N >= 0");
    }
    out[item.substr(0, equals)] = value;
  }
  return out;
}

}  // namespace dlcc::toolchain
