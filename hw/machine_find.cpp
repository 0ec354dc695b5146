// A chip's file from its path or bare name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/units.h"
#include "hw/machine_tree.h"
#include "hw/machine_yaml.h"

namespace dlcc::hw {
namespace {

namespace fs = std::filesystem;

/// $DLCC_CHIPS, else beside the executable (build tree, then installed), else the sources that this was built from.
fs::path chips_directory() {
  if (const char* chosen = std::getenv("DLCC_CHIPS"); chosen != nullptr && *chosen != '\0') {
    return chosen;
  }
  std::error_code failed;
  const fs::path executable = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    for (const char* relative : {"../../hw/chips", "../share/dlcc/chips"}) {
      const fs::path directory = (executable.parent_path() / relative).lexically_normal();
      if (fs::is_directory(directory, failed)) {
        return directory;
      }
    }
  }
  return DLCC_CHIPS_DIR;
}

bool is_bare_name(const std::string& spec) {
  return !spec.empty() && spec.find('/') == std::string::npos && !spec.ends_with(".yaml") && !spec.ends_with(".yml");
}

std::vector<std::string> chips_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator it(directory, failed), end; !failed && it != end; it.increment(failed)) {
    if (it->path().extension() == ".yaml") {
      names.push_back(it->path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<Machine> load_machine(const std::string& spec) {
  fs::path file = spec;
  std::error_code failed;
  if (is_bare_name(spec)) {
    const fs::path directory = chips_directory();
    file = directory / (spec + ".yaml");
    if (!fs::exists(file, failed)) {
      const std::vector<std::string> names = chips_in(directory);
      const std::string near = nearest_name(spec, names);
      return error(spec, fmt::format("no chip has that name in {}; {}{}{}", directory.string(),
                                     near.empty() ? "" : fmt::format("did you mean '{}'; ", near), "there are: ",
                                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
    }
  }
  if (fs::is_directory(file, failed)) {
    return error(file.string(), "is a directory, not a chip file");
  }
  DLCC_TRY(const std::string text, read_text_file(file, kMaxYamlBytes + 1));
  return parse_machine(text, file.string());
}

}  // namespace dlcc::hw
