// .npz: a zip archive of .npy members. Reads the central directory; members are stored or deflated.
#include <zlib.h>

#include <cstring>

#include <fmt/format.h>

#include "base/files.h"
#include "toolchain/npz.h"

namespace dlcc::toolchain {

namespace {

constexpr uint64_t kMaxMember = uint64_t{8} << 30;   // bytes of one array

struct Bytes {
  std::span<const std::byte> data;
  std::string where;

  template <class T>
  Result<T> at(uint64_t offset) const {
    if (offset > data.size() || data.size() - offset < sizeof(T)) {
      return error(where, fmt::format("truncated at byte {} of {}", offset, data.size()));
    }
    T value;
    std::memcpy(&value, data.data() + offset, sizeof(T));
    return value;
  }
  Result<std::span<const std::byte>> slice(uint64_t offset, uint64_t size) const {
    if (offset > data.size() || data.size() - offset < size) {
      return error(where, fmt::format("truncated: {} bytes at {} of {}", size, offset, data.size()));
    }
    return data.subspan(offset, size);
  }
};

std::optional<DType> dtype_of_npy(std::string_view descr) {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"<f2", DType::F16}, {"<f4", DType::F32}, {"<f8", DType::F64}, {"|i1", DType::I8},  {"<i2", DType::I16}, {"<i4", DType::I32},
      {"<i8", DType::I64}, {"|u1", DType::U8},  {"<u2", DType::U16}, {"<u4", DType::U32}, {"<u8", DType::U64}, {"|b1", DType::Bool}};
  for (const auto& [name, type] : kTypes) {
    if (name == descr) {
      return type;
    }
  }
  return std::nullopt;
}

/// The text between `key` and what ends it in the header's Python dict.
std::string_view field(std::string_view header, std::string_view key, char open, char close) {
  const size_t at = header.find(key);
  const size_t begin = at == std::string_view::npos ? at : header.find(open, at + key.size());
  const size_t end = begin == std::string_view::npos ? begin : header.find(close, begin + 1);
  return end == std::string_view::npos ? std::string_view() : header.substr(begin + 1, end - begin - 1);
}

Result<std::vector<int64_t>> parse_shape(std::string_view text, const std::string& where) {
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (size_t i = 0; i < text.size();) {
    if (text[i] < '0' || text[i] > '9') {
      ++i;
      continue;
    }
    int64_t n = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      if (n > (int64_t{1} << 40)) {
        return error(where, "a dimension over 2^40");
      }
      n = n * 10 + (text[i] - '0');
    }
    shape.push_back(n);
    if (__builtin_mul_overflow(count, n, &count) || count > (int64_t{1} << 40)) {
      return error(where, "over 2^40 elements");
    }
  }
  return shape;
}

Result<te::Array> parse_npy(const Bytes& npy) {
  DLCC_TRY(const auto magic, npy.slice(0, 8));
  if (std::memcmp(magic.data(), "\x93NUMPY", 6) != 0) {
    return error(npy.where, "not a .npy array");
  }
  const bool wide = static_cast<uint8_t>(magic[6]) >= 2;
  uint64_t header_size = 0, start = wide ? 12 : 10;
  if (wide) {
    DLCC_TRY(header_size, npy.at<uint32_t>(8));
  } else {
    DLCC_TRY(header_size, npy.at<uint16_t>(8));
  }
  DLCC_TRY(const auto raw, npy.slice(start, header_size));
  const std::string_view header(reinterpret_cast<const char*>(raw.data()), raw.size());
  const std::string descr(field(header, "'descr':", '\'', '\''));
  const std::optional<DType> type = dtype_of_npy(descr);
  if (!type) {
    return error(npy.where, fmt::format("element type '{}' is not supported", descr));
  }
  te::Array array;
  array.type = *type;
  DLCC_TRY(array.shape, parse_shape(field(header, "'shape':", '(', ')'), npy.where));
  if (header.find("'fortran_order': True") != std::string_view::npos && array.shape.size() > 1) {
    return error(npy.where, "Fortran order is not supported; save a C-contiguous array");
  }
  DLCC_TRY(const auto data, npy.slice(start + header_size, static_cast<uint64_t>(array.count() * bytes_of(array.type))));
  array.data.assign(data.begin(), data.end());
  return array;
}

Result<std::vector<std::byte>> inflate_member(std::span<const std::byte> packed, uint64_t size, const std::string& where) {
  if (size > kMaxMember || size / 1032 > packed.size() + 1) {   // deflate cannot expand further than 1032:1
    return error(where, fmt::format("an array of {} bytes, the limit is {}", size, kMaxMember));
  }
  std::vector<std::byte> out(size);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return error(where, "cannot start zlib");
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (status != Z_STREAM_END || stream.total_out != size) {
    return error(where, "damaged compressed data");
  }
  return out;
}

/// Zip sizes of 2^32 - 1 mean "see the zip64 extra field": uncompressed, compressed, header offset, in this order, only those that overflowed.
struct Member {
  uint64_t size, packed, header;
};
Status read_zip64(const Bytes& zip, uint64_t extra, uint64_t extra_size, Member& member) {
  for (uint64_t at = extra; at + 4 <= extra + extra_size;) {
    DLCC_TRY(const uint16_t tag, zip.at<uint16_t>(at));
    DLCC_TRY(const uint16_t size, zip.at<uint16_t>(at + 2));
    uint64_t next = at + 4;
    if (tag == 1) {
      for (uint64_t* value : {&member.size, &member.packed, &member.header}) {
        if (*value == 0xffffffff) {
          DLCC_TRY(*value, zip.at<uint64_t>(next));
          next += 8;
        }
      }
    }
    at += 4 + size;
  }
  return ok_status();
}

Result<NamedArray> read_member(const Bytes& zip, uint64_t entry, uint64_t& next) {
  DLCC_TRY(const uint32_t signature, zip.at<uint32_t>(entry));
  if (signature != 0x02014b50) {
    return error(zip.where, "damaged zip directory");
  }
  DLCC_TRY(const uint16_t method, zip.at<uint16_t>(entry + 10));
  DLCC_TRY(const uint32_t packed, zip.at<uint32_t>(entry + 20));
  DLCC_TRY(const uint32_t size, zip.at<uint32_t>(entry + 24));
  DLCC_TRY(const uint16_t name_size, zip.at<uint16_t>(entry + 28));
  DLCC_TRY(const uint16_t extra_size, zip.at<uint16_t>(entry + 30));
  DLCC_TRY(const uint16_t comment_size, zip.at<uint16_t>(entry + 32));
  DLCC_TRY(const uint32_t header, zip.at<uint32_t>(entry + 42));
  DLCC_TRY(const auto raw_name, zip.slice(entry + 46, name_size));
  Member member{size, packed, header};
  DLCC_RETURN_IF_ERROR(read_zip64(zip, entry + 46 + name_size, extra_size, member));
  next = entry + 46 + name_size + extra_size + comment_size;
  DLCC_TRY(const uint16_t local_name, zip.at<uint16_t>(member.header + 26));
  DLCC_TRY(const uint16_t local_extra, zip.at<uint16_t>(member.header + 28));
  DLCC_TRY(const auto data, zip.slice(member.header + 30 + local_name + local_extra, member.packed));
  NamedArray array;
  array.name.assign(reinterpret_cast<const char*>(raw_name.data()), raw_name.size());
  if (array.name.ends_with(".npy")) {
    array.name.resize(array.name.size() - 4);
  }
  const std::string where = zip.where + ":" + array.name;
  std::vector<std::byte> unpacked;
  if (method == 8) {
    DLCC_TRY(unpacked, inflate_member(data, member.size, where));
  } else if (method != 0) {
    return error(where, fmt::format("zip method {} is not supported", method));
  }
  DLCC_TRY(array.value, parse_npy({method == 8 ? std::span<const std::byte>(unpacked) : data, where}));
  return array;
}

}  // namespace

Result<std::vector<NamedArray>> read_npz(const std::filesystem::path& path) {
  DLCC_TRY(const auto file, MappedFile::open(path));
  const Bytes zip{file->bytes(), path.string()};
  constexpr uint64_t kEndSize = 22;
  if (zip.data.size() < kEndSize) {
    return error(zip.where, "not an .npz archive");
  }
  uint64_t end = zip.data.size() - kEndSize;
  const uint64_t lowest = end > 65535 ? end - 65535 : 0;
  while (end > lowest && zip.at<uint32_t>(end).value() != 0x06054b50) {
    --end;
  }
  if (zip.at<uint32_t>(end).value() != 0x06054b50) {
    return error(zip.where, "not an .npz archive");
  }
  DLCC_TRY(const uint16_t count, zip.at<uint16_t>(end + 10));
  DLCC_TRY(const uint32_t directory, zip.at<uint32_t>(end + 16));
  std::vector<NamedArray> arrays;
  uint64_t entry = directory;
  for (uint16_t i = 0; i < count; ++i) {
    DLCC_TRY(NamedArray array, read_member(zip, entry, entry));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace dlcc::toolchain
