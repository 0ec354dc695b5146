// TensorProto -> elements in row-major order, with every size checked against the shape before anything is allocated.
#include "frontend/onnx_tensor.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>

namespace dlcc::frontend {

namespace {

struct TypePair {
  int onnx;
  DType type;
};
constexpr TypePair kTypes[] = {
    {onnx::TensorProto::FLOAT, DType::F32},   {onnx::TensorProto::DOUBLE, DType::F64},
    {onnx::TensorProto::FLOAT16, DType::F16}, {onnx::TensorProto::INT8, DType::I8},
    {onnx::TensorProto::INT16, DType::I16},   {onnx::TensorProto::INT32, DType::I32},
    {onnx::TensorProto::INT64, DType::I64},   {onnx::TensorProto::UINT8, DType::U8},
    {onnx::TensorProto::UINT16, DType::U16},  {onnx::TensorProto::UINT32, DType::U32},
    {onnx::TensorProto::UINT64, DType::U64},  {onnx::TensorProto::BOOL, DType::Bool},
};

template <class To, class Field>
std::string convert(const Field& field) {
  std::string bytes(static_cast<size_t>(field.size()) * sizeof(To), '\0');
  char* to = bytes.data();
  for (const auto value : field) {
    const To element = static_cast<To>(value);
    std::memcpy(to, &element, sizeof(To));
    to += sizeof(To);
  }
  return bytes;
}

/// Elements stored one by one in the typed field that ONNX prescribes for the type.
std::string typed_bytes(const onnx::TensorProto& tensor, DType type) {
  switch (type) {
    case DType::F32:
      return convert<float>(tensor.float_data());
    case DType::F64:
      return convert<double>(tensor.double_data());
    case DType::I64:
      return convert<int64_t>(tensor.int64_data());
    case DType::U32:
      return convert<uint32_t>(tensor.uint64_data());
    case DType::U64:
      return convert<uint64_t>(tensor.uint64_data());
    case DType::I32:
      return convert<int32_t>(tensor.int32_data());
    case DType::I16:
      return convert<int16_t>(tensor.int32_data());
    case DType::F16:
    case DType::U16:
      return convert<uint16_t>(tensor.int32_data());
    case DType::I8:
      return convert<int8_t>(tensor.int32_data());
    case DType::U8:
      return convert<uint8_t>(tensor.int32_data());
    case DType::Bool:
      return convert<bool>(tensor.int32_data());
  }
  return {};
}

Result<uint64_t> read_number(const std::string& text, const std::string& where, const std::string& what,
                             const char* key) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos) {
    return error(where, fmt::format("{}: external data with {} '{}' is not a byte count", what, key, text));
  }
  return std::stoull(text);
}

Result<ConstantData> external_data(const onnx::TensorProto& tensor, const std::string& where, const std::string& what,
                                   ExternalFiles& files, uint64_t expected) {
  std::string location;
  uint64_t offset = 0;
  uint64_t length = expected;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset") {
      DLCC_TRY(offset, read_number(entry.value(), where, what, "offset"));
    } else if (entry.key() == "length") {
      DLCC_TRY(length, read_number(entry.value(), where, what, "length"));
    }
  }
  if (length != expected) {
    return error(where, fmt::format("{}: external data of {} bytes, but its shape needs {}", what, length, expected));
  }
  return files.map(what, location, offset, length);
}

/// Bytes other than 0 and 1 in a bool tensor become 1, so that no later stage can see them.
ConstantData normalised_bool(ConstantData data) {
  const auto* begin = data.data;
  if (std::all_of(begin, begin + data.bytes, [](std::byte b) { return b <= std::byte{1}; })) {
    return data;
  }
  std::string bytes(data.bytes, '\0');
  std::transform(begin, begin + data.bytes, bytes.begin(), [](std::byte b) { return b == std::byte{0} ? '\0' : '\1'; });
  return own_bytes(std::move(bytes));
}

}  // namespace

std::optional<DType> dtype_from_onnx(int data_type) {
  for (const TypePair& pair : kTypes) {
    if (pair.onnx == data_type) {
      return pair.type;
    }
  }
  return std::nullopt;
}

int onnx_from_dtype(DType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.type == type) {
      return pair.onnx;
    }
  }
  DLCC_CHECK(false) << "a type that ONNX does not have";
  return 0;
}

std::string onnx_type_name(int data_type) {
  // Newer than the installed definition of the format.
  static constexpr const char* kNewer[] = {"FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
                                           "UINT4",        "INT4",           "FLOAT4E2M1", "FLOAT8E8M0"};
  if (data_type >= 17 && data_type < 17 + static_cast<int>(std::size(kNewer))) {
    return kNewer[data_type - 17];
  }
  const std::string name = onnx::TensorProto::DataType_IsValid(data_type)
                               ? onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(data_type))
                               : std::string();
  return name.empty() ? fmt::format("number {}", data_type) : name;
}

Result<std::filesystem::path> ExternalFiles::locate(const std::string& what, const std::string& location) const {
  namespace fs = std::filesystem;
  if (folder_.empty()) {
    return error(where_, what + ": external data in a model that is not a file");
  }
  const fs::path relative(location);
  const bool climbs = std::any_of(relative.begin(), relative.end(), [](const fs::path& part) { return part == ".."; });
  if (location.empty() || location.find('\0') != std::string::npos || relative.is_absolute() || climbs) {
    return error(where_,
                 fmt::format("{}: external data at '{}', which is not inside the model's folder", what, location));
  }
  std::error_code failure;
  const fs::path real = fs::canonical(folder_ / relative, failure);
  if (failure) {
    return error(where_, fmt::format("{}: external data file '{}' is missing ({})", what, location, failure.message()));
  }
  const fs::path root = fs::canonical(folder_, failure);
  const auto differs = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  if (failure || differs.first != root.end()) {
    return error(where_, fmt::format("{}: external data at '{}' leads out of the model's folder", what, location));
  }
  if (!fs::is_regular_file(real, failure)) {
    return error(where_, fmt::format("{}: external data '{}' is not a file", what, location));
  }
  return real;
}

Result<ConstantData> ExternalFiles::map(const std::string& what, const std::string& location, uint64_t offset,
                                        uint64_t length) {
  std::shared_ptr<const MappedFile>& file = open_[location];
  if (!file) {
    DLCC_TRY(const std::filesystem::path path, locate(what, location));
    DLCC_TRY(file, MappedFile::open(path));
  }
  const uint64_t size = file->bytes().size();
  if (offset > size || length > size - offset) {
    return error(where_, fmt::format("{}: external data needs bytes {}..{} of '{}', which has {}", what, offset,
                                     offset + length, location, size));
  }
  return ConstantData{file, file->bytes().data() + offset, static_cast<size_t>(length)};
}

Result<ConstantTensor> read_tensor(onnx::TensorProto& tensor, const std::string& where, const std::string& what,
                                   ExternalFiles& files, bool may_move) {
  const std::optional<DType> type = dtype_from_onnx(tensor.data_type());
  if (!type) {
    return unsupported(where, fmt::format("{}: element type {}", what, onnx_type_name(tensor.data_type())));
  }
  ConstantTensor result{*type, {tensor.dims().begin(), tensor.dims().end()}, {}};
  DLCC_RETURN_IF_ERROR(check_shape(result.shape, where, what));
  const uint64_t expected =
      static_cast<uint64_t>(te::element_count(result.shape)) * static_cast<uint64_t>(bytes_of(*type));
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    DLCC_TRY(result.data, external_data(tensor, where, what, files, expected));
  } else if (tensor.has_raw_data()) {
    std::string bytes;
    if (may_move) {
      bytes.swap(*tensor.mutable_raw_data());
    } else {
      bytes = tensor.raw_data();
    }
    result.data = own_bytes(std::move(bytes));
  } else {
    result.data = own_bytes(typed_bytes(tensor, *type));
  }
  if (result.data.bytes != expected) {
    return error(where, fmt::format("{}: {} bytes of data, but its shape needs {}", what, result.data.bytes, expected));
  }
  if (*type == DType::Bool) {
    result.data = normalised_bool(std::move(result.data));
  }
  return result;
}

ConstantData own_bytes(std::string bytes) {
  auto kept = std::make_shared<const std::string>(std::move(bytes));
  return {kept, reinterpret_cast<const std::byte*>(kept->data()), kept->size()};
}

te::Array to_array(const ConstantTensor& tensor) {
  te::Array array{tensor.type, tensor.shape, {}};
  array.data.assign(tensor.data.data, tensor.data.data + tensor.data.bytes);
  return array;
}

}  // namespace dlcc::frontend
