// Tensors in files: ONNX's TensorProto (test data sets: input_N.pb, output_N.pb), both ways.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "base/te/evaluate.h"

namespace dlcc::frontend {

struct NamedArray {
  std::string name;
  te::Array array;
};

Result<NamedArray> read_tensor_file(const std::filesystem::path& path);
/// The bytes of a TensorProto file with raw data.
std::string tensor_file_bytes(const std::string& name, const te::Array& array);

}  // namespace dlcc::frontend
