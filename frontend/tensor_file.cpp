// TensorProto file <-> te::Array.
#include "frontend/tensor_file.h"

#include <onnx/onnx_pb.h>

#include <fstream>
#include <limits>

#include "base/files.h"
#include "frontend/onnx_tensor.h"

namespace dlcc::frontend {

Result<TensorFile> read_tensor_file(const std::filesystem::path& path) {
  DLCC_TRY(const auto file, MappedFile::open(path));
  const std::string where = path.string();
  onnx::TensorProto proto;
  const size_t size = file->bytes().size();
  const bool fits = size <= static_cast<size_t>(std::numeric_limits<int>::max());
  if (!fits || !proto.ParseFromArray(file->bytes().data(), static_cast<int>(size)) || !proto.has_data_type()) {
    return error(where, "not an ONNX tensor");
  }
  ExternalFiles files(where, path.parent_path());
  DLCC_TRY(const ConstantTensor tensor, read_tensor(proto, where, "tensor '" + proto.name() + "'", files, true));
  return TensorFile{proto.name(), to_array(tensor)};
}

Status write_tensor_file(const std::filesystem::path& path, const TensorFile& tensor) {
  onnx::TensorProto proto;
  proto.set_name(tensor.name);
  proto.set_data_type(onnx_from_dtype(tensor.value.type));
  for (int64_t extent : tensor.value.shape) {
    proto.add_dims(extent);
  }
  proto.set_raw_data(tensor.value.data.data(), tensor.value.data.size());
  const std::filesystem::path temporary = path.string() + ".tmp";
  {
    std::ofstream out(temporary, std::ios::binary);
    if (!proto.SerializeToOstream(&out)) {
      return error(path.string(), "cannot write");
    }
  }
  std::error_code failed;
  std::filesystem::rename(temporary, path, failed);
  return failed ? Status(error(path.string(), "cannot write: " + failed.message())) : ok_status();
}

}  // namespace dlcc::frontend
