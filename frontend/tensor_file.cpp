// TensorProto file <-> te::Array.
#include "frontend/tensor_file.h"

#include <onnx/onnx_pb.h>

#include <limits>

#include "frontend/onnx_tensor.h"

namespace dlcc::frontend {

Result<NamedArray> read_tensor_file(const std::filesystem::path& path) {
  DLCC_TRY(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  onnx::TensorProto proto;
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !proto.has_data_type()) {
    return error(path.string(), "not an ONNX tensor file");
  }
  const std::filesystem::path folder = path.parent_path();
  ExternalFiles files(path.string(), folder.empty() ? std::filesystem::path(".") : folder);
  DLCC_TRY(const ConstantTensor tensor, read_tensor(proto, path.string(), "tensor '" + proto.name() + "'", files, true));
  return NamedArray{proto.name(), to_array(tensor)};
}

std::string tensor_file_bytes(const std::string& name, const te::Array& array) {
  onnx::TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(onnx_from_dtype(array.type));
  for (const int64_t dim : array.shape) {
    proto.add_dims(dim);
  }
  proto.set_raw_data(array.data.data(), array.data.size());
  return proto.SerializeAsString();
}

}  // namespace dlcc::frontend
