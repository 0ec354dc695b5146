// One ONNX TensorProto in a file, as the backend test sets hold inputs and outputs.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "base/te/evaluate.h"

namespace dlcc::frontend {

struct TensorFile {
  std::string name;
  te::Array value;
};
Result<TensorFile> read_tensor_file(const std::filesystem::path& path);
/// Raw data, little-endian. The file appears complete or not at all.
Status write_tensor_file(const std::filesystem::path& path, const TensorFile& tensor);

}  // namespace dlcc::frontend
