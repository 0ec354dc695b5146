// NumPy archives; ONNX tensor files are in frontend/tensor_file.h.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "base/te/evaluate.h"
#include "frontend/tensor_file.h"

namespace dlcc::toolchain {

using NamedArray = frontend::TensorFile;

/// Arrays of an .npz in the archive's order (np.savez and np.savez_compressed). C order only.
Result<std::vector<NamedArray>> read_npz(const std::filesystem::path& path);

}  // namespace dlcc::toolchain
