// Files over POSIX calls: mapped reads, whole reads with a limit, and directories that appear complete or not at all.
#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace dlcc {
namespace fs = std::filesystem;
namespace {

std::string errno_text() {
  return std::strerror(errno);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

/// Size of an open regular file.
Result<size_t> regular_size(int fd, const fs::path& path) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) {
    return error(path.string(), "cannot be examined: " + errno_text());
  }
  if (!S_ISREG(info.st_mode)) {
    return error(path.string(), "is not a regular file");
  }
  return static_cast<size_t>(info.st_size);
}

// O_NONBLOCK: opening a fifo must not wait for a writer; it has no effect on regular files.
int open_for_read(const fs::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const fs::path& path) {
  const Descriptor file(open_for_read(path));
  if (file.get() < 0) {
    return error(path.string(), "cannot be opened: " + errno_text());
  }
  DLCC_TRY(const size_t size, regular_size(file.get(), path));
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  if (size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address == MAP_FAILED) {
      return error(path.string(), fmt::format("{} bytes cannot be mapped: {}", size, errno_text()));
    }
    mapped->data_ = static_cast<const std::byte*>(address);
    mapped->size_ = size;
  }
  return std::shared_ptr<const MappedFile>(std::move(mapped));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

Result<std::string> read_text_file(const fs::path& path, size_t limit_bytes) {
  const Descriptor file(open_for_read(path));
  if (file.get() < 0) {
    return error(path.string(), "cannot be opened: " + errno_text());
  }
  DLCC_TRY(const size_t size, regular_size(file.get(), path));
  if (size > limit_bytes) {
    return error(path.string(), fmt::format("has {} bytes, the limit is {}", size, limit_bytes));
  }
  std::string text(size, '\0');
  size_t filled = 0;
  while (filled < size) {
    const ssize_t got = ::read(file.get(), text.data() + filled, size - filled);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return error(path.string(), "cannot be read: " + errno_text());
    }
    if (got == 0) {
      break;
    }
    filled += static_cast<size_t>(got);
  }
  text.resize(filled);
  return text;
}

namespace {

/// Whether an existing path may be replaced: nothing, an empty directory, or an earlier output of ours.
Status check_replaceable(const fs::path& path) {
  std::error_code code;
  const fs::file_status status = fs::symlink_status(path, code);
  if (status.type() == fs::file_type::not_found) {
    return ok_status();
  }
  if (status.type() != fs::file_type::directory) {
    return error(path.string(), "exists and is not a directory");
  }
  if (!fs::is_empty(path, code) && !fs::is_regular_file(path / "manifest.json", code)) {
    return error(path.string(), "exists and has no manifest.json, so it is not an earlier output; not replaced");
  }
  return ok_status();
}

Status write_all(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return error(path.string(), "cannot be written: " + errno_text());
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  return ok_status();
}

}  // namespace

Status write_file(const fs::path& path, std::string_view content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) {
    return error(path.string(), "cannot be created: " + errno_text());
  }
  return write_all(file.get(), content, path);
}

namespace {

bool stays_inside(const fs::path& relative) {
  if (relative.empty() || relative.is_absolute()) {
    return false;
  }
  for (const fs::path& part : relative) {
    if (part == "..") {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<OutputDirectory> OutputDirectory::create(const fs::path& final_path) {
  fs::path final_name = final_path;
  if (!final_name.has_filename()) {
    final_name = final_name.parent_path();  // "out/"
  }
  if (final_name.empty() || final_name.filename() == "." || final_name.filename() == "..") {
    return error(final_path.string(), "is not the name of a new directory");
  }
  DLCC_RETURN_IF_ERROR(check_replaceable(final_name));
  OutputDirectory directory;
  directory.final_ = final_name;
  const fs::path temporary = final_name.string() + ".tmp-" + std::to_string(::getpid());
  std::error_code code;
  fs::create_directories(final_name.parent_path(), code);  // where it fails, create_directory below says why
  fs::remove_all(temporary, code);  // left by a killed process that had the same number
  if (!fs::create_directory(temporary, code)) {
    return error(temporary.string(), "cannot be created: " + (code ? code.message() : std::string("it exists")));
  }
  directory.temporary_ = temporary;
  return directory;
}

OutputDirectory::OutputDirectory(OutputDirectory&& other) noexcept
    : final_(std::move(other.final_)), temporary_(std::move(other.temporary_)), committed_(other.committed_) {
  other.temporary_.clear();
}

OutputDirectory::~OutputDirectory() {
  if (!committed_ && !temporary_.empty()) {
    std::error_code code;
    fs::remove_all(temporary_, code);
  }
}

Status OutputDirectory::write(const std::string& relative_path, std::string_view content) const {
  DLCC_CHECK(!committed_ && !temporary_.empty() && stays_inside(relative_path)) << "write of " << relative_path;
  const fs::path path = temporary_ / relative_path;
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  if (code) {
    return error(path.parent_path().string(), "cannot be created: " + code.message());
  }
  return write_file(path, content);
}

Status OutputDirectory::commit() {
  DLCC_CHECK(!committed_ && !temporary_.empty()) << "commit of a finished output directory";
  DLCC_RETURN_IF_ERROR(check_replaceable(final_));
  std::error_code code;
  const fs::path old = final_.string() + ".old-" + std::to_string(::getpid());
  const bool replaces = fs::exists(final_, code);
  if (replaces) {
    fs::remove_all(old, code);
    fs::rename(final_, old, code);
    if (code) {
      return error(final_.string(), "cannot be moved aside: " + code.message());
    }
  }
  fs::rename(temporary_, final_, code);
  if (code) {
    const std::string reason = code.message();
    if (replaces) {
      fs::rename(old, final_, code);
    }
    return error(final_.string(), "cannot be put in place: " + reason);
  }
  committed_ = true;
  if (replaces) {
    fs::remove_all(old, code);
  }
  return ok_status();
}

}  // namespace dlcc
