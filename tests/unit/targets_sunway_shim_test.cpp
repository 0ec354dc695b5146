// The athread shim: the C programs of tests/athread are built with athread_cc as a user's Makefile would, run, and must print "right";
// programs that misuse the hardware must end with a message that says how.
#include "targets_sunway_support.h"

namespace dlcc::sunway_test {
namespace {

class Program {
 public:
  explicit Program(const std::string& name, bool archive = false) : dir_(temporary_directory("dlcc_shim")) {
    const std::string source = std::string(DLCC_SOURCE_DIR) + "/tests/athread/" + name, cc = "bash " + shim_dir() + "/athread_cc ";
    const std::string slave = archive ? "ar rcs libs.a slave.o && " : "", link = archive ? "host.o libs.a" : "host.o slave.o";
    const std::string command = "cd " + dir_.string() + " && " + cc + "-host -O2 -Wall -Wno-implicit-int -c " + source + "_host.c -o host.o && " + cc +
                                "-slave -msimd -O2 -Wall -OPT:IEEE_arith=1 -c " + source + "_slave.c -o slave.o && " + slave + cc + "-hybrid " + link +
                                " -o program";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  ~Program() { std::filesystem::remove_all(dir_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Exit status; what it wrote is in output().
  int run(const std::string& environment = "", const std::string& argument = "") const {
    return std::system(("cd " + dir_.string() + " && " + environment + " ./program " + argument + " > output.txt 2>&1").c_str());
  }
  std::string output() const { return read_file(dir_ / "output.txt"); }

 private:
  std::filesystem::path dir_;
};

class ShimPrograms : public testing::TestWithParam<const char*> {};
TEST_P(ShimPrograms, RunRightWithDataAtOnceAndDelayed) {
  const Program program(GetParam());
  for (const char* timing : {"DLCC_SHIM_DMA=immediate", "DLCC_SHIM_DMA=delayed"}) {
    EXPECT_EQ(program.run(timing), 0) << timing;
    EXPECT_EQ(program.output(), "right\n") << timing;
  }
}
INSTANTIATE_TEST_SUITE_P(Shim, ShimPrograms, testing::Values("strided", "modes", "registers", "vectors", "interleave"), [](const auto& p) { return p.param; });

TEST(Shim, LinksSlaveObjectsFromArchives) {
  const Program program("strided", true);
  EXPECT_EQ(program.run(), 0);
  EXPECT_EQ(program.output(), "right\n");
}

TEST(Shim, SaysWhatAProgramDidWrong) {
  const Program program("faults");
  EXPECT_EQ(program.run("", "none"), 0);
  const std::pair<const char*, const char*> faults[] = {
      {"overrun", "slave 9 (row 1, column 1): athread_get (PE_MODE): 68 bytes at"},
      {"length", "athread_get: length 6; it must be a positive multiple of 4 bytes"},
      {"address", "athread_put: addresses"},
      {"block", "athread_get: length 20 is not a multiple of the block of 8 bytes"},
      {"reply", "is not an aligned word of this slave's LDM"},
      {"swapped", "are not inside this slave's LDM"},
      {"mask", "athread_syn: the mask 0x1 leaves out the caller"},
      {"deadlock", "deadlock: all"},
      {"full", "its buffer is full"},
      {"free", "not a live block of ldm_malloc"},
      {"capacity", "are not inside this slave's LDM"},
  };
  for (const auto& [kind, message] : faults) {
    EXPECT_NE(program.run("", kind), 0) << kind;
    EXPECT_THAT(program.output(), testing::HasSubstr(message)) << kind;
  }
}

TEST(Shim, RefusesMoreStaticsThanLdm) {
  const Program program("strided");
  EXPECT_NE(program.run("DLCC_SHIM_LDM=256"), 0);
  EXPECT_THAT(program.output(), testing::HasSubstr("__thread_local variables take"));
}

}  // namespace
}  // namespace dlcc::sunway_test
