// Where the files shipped beside the tools are.
#pragma once

#include <filesystem>

namespace dlcc::toolchain {

/// The athread shim and other build-time data of emitted code: $DLCC_SHIM, else beside the executable, else the source tree.
std::filesystem::path shim_folder();

}  // namespace dlcc::toolchain
