// Files: mapped reads, whole reads with a limit, and output directories that appear complete or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dlcc {

/// A read-only mapping; it stays valid while the object (or a copy of the shared pointer) lives.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

Result<std::string> read_text_file(const std::filesystem::path& path, size_t limit_bytes = size_t{256} << 20);
/// Creates the file or replaces its content; its directory must exist.
Status write_file(const std::filesystem::path& path, std::string_view content);

/// Collects an output directory under the sibling name "<final>.tmp-<pid>"; `commit` renames it to its final name (replacing an empty
/// directory or an earlier output, recognised by its manifest.json; any other existing directory is an error). Without commit nothing is
/// left behind but parent directories that had to be made.
class OutputDirectory {
 public:
  static Result<OutputDirectory> create(const std::filesystem::path& final_path);
  OutputDirectory(OutputDirectory&&) noexcept;
  OutputDirectory& operator=(OutputDirectory&&) = delete;
  ~OutputDirectory();
  const std::filesystem::path& path() const { return temporary_; }
  Status write(const std::string& relative_path, std::string_view content) const;
  Status commit();

 private:
  OutputDirectory() = default;
  std::filesystem::path final_, temporary_;
  bool committed_ = false;
};

}  // namespace dlcc
