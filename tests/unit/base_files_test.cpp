// Mapped files, limited reads, and output directories that appear whole or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/files.h"

namespace dlcc {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "dlcc-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }
  fs::path put(const std::string& name, const std::string& content) {
    std::ofstream(root_ / name, std::ios::binary) << content;
    return root_ / name;
  }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(root_), fs::directory_iterator()));
  }
  fs::path root_;
};

TEST_F(Files, maps_and_reads_what_is_there) {
  const std::string content("a\0b\nc", 5);
  const fs::path path = put("x", content);
  const auto mapped = MappedFile::open(path);
  ASSERT_TRUE(mapped.ok());
  const auto bytes = (*mapped)->bytes();
  ASSERT_EQ(bytes.size(), content.size());
  EXPECT_EQ(std::memcmp(bytes.data(), content.data(), content.size()), 0);
  EXPECT_EQ(read_text_file(path).value(), content);
  EXPECT_EQ(MappedFile::open(put("empty", "")).value()->bytes().size(), 0u);
}

TEST_F(Files, says_why_a_file_cannot_be_read) {
  EXPECT_THAT(to_string(MappedFile::open(root_ / "none").diags()), HasSubstr("No such file"));
  EXPECT_THAT(to_string(MappedFile::open(root_).diags()), HasSubstr("not a regular file"));
  EXPECT_THAT(to_string(read_text_file(put("x", "12345"), 4).diags()), HasSubstr("has 5 bytes, the limit is 4"));
}

TEST_F(Files, output_appears_on_commit) {
  {
    auto out = OutputDirectory::create(root_ / "out");
    ASSERT_TRUE(out.ok());
    EXPECT_EQ(out->path().string(), (root_ / "out").string() + ".tmp-" + std::to_string(::getpid()));
    ASSERT_TRUE(out->write("manifest.json", "{}").ok());
    ASSERT_TRUE(out->write("code/a.c", "int x;").ok());
    EXPECT_FALSE(fs::exists(root_ / "out"));
    ASSERT_TRUE(out->commit().ok());
  }
  EXPECT_EQ(read_text_file(root_ / "out/code/a.c").value(), "int x;");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, output_without_commit_leaves_nothing) {
  { ASSERT_TRUE(OutputDirectory::create(root_ / "out")->write("a", "b").ok()); }
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Files, output_replaces_only_earlier_outputs) {
  for (const char* content : {"1", "2"}) {
    auto out = OutputDirectory::create(root_ / "out/");
    ASSERT_TRUE(out.ok()) << to_string(out.diags());
    ASSERT_TRUE(out->write("manifest.json", content).ok());
    ASSERT_TRUE(out->commit().ok());
  }
  EXPECT_EQ(read_text_file(root_ / "out/manifest.json").value(), "2");
  EXPECT_EQ(entries(), 1u);
  fs::create_directory(root_ / "mine");
  put("mine/notes", "x");
  EXPECT_THAT(to_string(OutputDirectory::create(root_ / "mine").diags()), HasSubstr("no manifest.json"));
  put("file", "x");
  EXPECT_THAT(to_string(OutputDirectory::create(root_ / "file").diags()), HasSubstr("not a directory"));
  EXPECT_TRUE(OutputDirectory::create(root_ / "new/parent/out").ok());
  EXPECT_THAT(to_string(OutputDirectory::create(root_ / "file/out").diags()), HasSubstr("Not a directory"));
  EXPECT_TRUE(fs::exists(root_ / "mine/notes"));
}

TEST_F(Files, output_stays_inside_its_directory) {
  auto out = OutputDirectory::create(root_ / "out");
  ASSERT_TRUE(out.ok());
  EXPECT_THROW((void)out->write("../x", ""), InternalError);
  EXPECT_THROW((void)out->write("/tmp/x", ""), InternalError);
}

}  // namespace
}  // namespace dlcc
