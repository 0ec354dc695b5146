// ONNX tensors, in files or memory -> constants of the graph. Raw data is taken over without a copy, external data is
// mapped.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "frontend/graph.h"

namespace onnx {
class TensorProto;
}

namespace dlcc::frontend {

/// Files beside the model that hold external data. Each is mapped once.
class ExternalFiles {
 public:
  /// folder empty: external data is refused (a model from memory).
  ExternalFiles(std::string where, std::filesystem::path folder)
      : where_(std::move(where)), folder_(std::move(folder)) {}
  /// The bytes [offset, offset + length) of the file at `location`, relative to the folder and inside it. what:
  /// "initializer 'w'".
  Result<ConstantData> map(const std::string& what, const std::string& location, uint64_t offset, uint64_t length);

 private:
  Result<std::filesystem::path> locate(const std::string& what, const std::string& location) const;
  std::string where_;
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> open_;
};

std::optional<DType> dtype_from_onnx(int data_type);
int onnx_from_dtype(DType type);
/// "FLOAT", "BFLOAT16", ... or "number 99".
std::string onnx_type_name(int data_type);

struct ConstantTensor {
  DType type = DType::F32;
  std::vector<int64_t> shape;
  ConstantData data;
};

/// may_move: the raw data may be moved out of the message (else it is copied).
Result<ConstantTensor> read_tensor(onnx::TensorProto& tensor, const std::string& where, const std::string& what,
                                   ExternalFiles& files, bool may_move);

/// Takes the bytes over; they live as long as the result.
ConstantData own_bytes(std::string bytes);
te::Array to_array(const ConstantTensor& tensor);

}  // namespace dlcc::frontend
