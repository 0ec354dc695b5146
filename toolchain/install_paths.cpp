#include "toolchain/install_paths.h"

#include <cstdlib>

namespace dlcc::toolchain {

std::filesystem::path shim_folder() {
  if (const char* given = std::getenv("DLCC_SHIM")) {
    return given;
  }
  std::error_code failed;
  const std::filesystem::path executable = std::filesystem::read_symlink("/proc/self/exe", failed);
  const std::filesystem::path installed = executable.parent_path() / "../share/dlcc/shim";
  if (!failed && std::filesystem::is_directory(installed)) {
    return installed;
  }
  return DLCC_SOURCE_SHIM;
}

}  // namespace dlcc::toolchain
