// dlrun: builds the emitted code with the artifact's own commands (the host compiler; under the shim for C dialects), runs it, compares.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "base/files.h"
#include "toolchain/artifact.h"
#include "toolchain/check_outputs.h"
#include "toolchain/command_line.h"
#include "toolchain/install_paths.h"

namespace {

using namespace dlcc;
namespace fs = std::filesystem;

struct Options {
  std::string artifact, save, times;
  toolchain::DataOptions data;
  int threads = 1, repeat = 1;
};

/// A scratch directory that goes away with the object.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (fs::temp_directory_path() / "dlrun-XXXXXX").string();
    DLCC_CHECK(mkdtemp(pattern.data()) != nullptr) << "cannot create " << pattern;
    path_ = pattern;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

std::string substitute(std::string command, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [key, value] : values) {
    for (size_t at = command.find(key); at != std::string::npos; at = command.find(key, at + value.size())) {
      command.replace(at, key.size(), value);
    }
  }
  return command;
}

Status build(const toolchain::Artifact& artifact, const fs::path& out) {
  if (artifact.build_commands.empty()) {
    return error(artifact.path.string(), fmt::format("chip '{}' has no emitted code to run (codegen.emitter: {}); use dlsim", artifact.machine.name,
                                                     artifact.machine.codegen.emitter));
  }
  const char* cxx = std::getenv("CC");
  const std::vector<std::pair<std::string, std::string>> values = {{"{dir}", quoted(fs::absolute(artifact.path).string())},
                                                                   {"{out}", quoted(out.string())},
                                                                   {"{data}", quoted(toolchain::shim_folder().string())},
                                                                   {"{cxx}", cxx != nullptr ? cxx : "cc"}};
  for (const std::string& command : artifact.build_commands) {
    const std::string line = substitute(command, values);
    const std::string log = (out / "build.log").string();
    if (std::system((line + " >" + quoted(log) + " 2>&1").c_str()) != 0) {
      const Result<std::string> text = read_text_file(log);
      return error(artifact.path.string(), fmt::format("building the emitted code failed: {}\n{}", line, text.ok() ? *text : ""));
    }
  }
  return ok_status();
}

/// The C interface of targets/target.h, from the shared object.
struct Model {
  int (*init)(const void*, size_t) = nullptr;
  int (*run)(const void* const*, void* const*, int) = nullptr;
  void (*release)() = nullptr;
  const char* (*cpu)() = nullptr;
};

Result<Model> load(const fs::path& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return error(library.string(), fmt::format("cannot load: {}", dlerror()));
  }
  Model model;
  model.init = reinterpret_cast<decltype(model.init)>(dlsym(handle, "dlcc_model_init"));
  model.run = reinterpret_cast<decltype(model.run)>(dlsym(handle, "dlcc_model_run"));
  model.release = reinterpret_cast<decltype(model.release)>(dlsym(handle, "dlcc_model_free"));
  model.cpu = reinterpret_cast<decltype(model.cpu)>(dlsym(handle, "dlcc_model_cpu"));
  if (model.init == nullptr || model.run == nullptr || model.release == nullptr) {
    return error(library.string(), "has no dlcc_model_init, dlcc_model_run or dlcc_model_free");
  }
  return model;
}

Result<std::vector<te::Array>> run_once(const Model& model, const toolchain::Artifact& artifact, const toolchain::DataSet& set, int threads,
                                        double& seconds) {
  std::vector<const void*> inputs;
  for (const te::Array& input : set.inputs) {
    inputs.push_back(input.data.data());
  }
  std::vector<te::Array> outputs;
  std::vector<void*> pointers;
  for (int id : artifact.program.outputs) {
    const hw::GlobalTensor& tensor = artifact.program.tensors[static_cast<size_t>(id)];
    outputs.push_back(te::Array::zeros(tensor.type, tensor.shape));
  }
  for (te::Array& output : outputs) {
    pointers.push_back(output.data.data());
  }
  const auto start = std::chrono::steady_clock::now();
  const int code = model.run(inputs.data(), pointers.data(), threads);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (code != 0) {
    return error(artifact.path.string(), fmt::format("dlcc_model_run returned {}", code));
  }
  return outputs;
}

Result<int> run_artifact(Options options) {
  DLCC_TRY(const toolchain::Artifact artifact, toolchain::read_artifact(options.artifact));
  DLCC_RETURN_IF_ERROR(toolchain::complete_tolerance(options.data));
  DLCC_TRY(const std::vector<toolchain::DataSet> sets, toolchain::load_data(options.data, artifact.program));
  const ScratchDirectory scratch;
  DLCC_RETURN_IF_ERROR(build(artifact, scratch.path()));
  DLCC_TRY(const Model model, load(scratch.path() / "model.so"));
  if (const int code = model.init(artifact.weights().data(), artifact.weights().size()); code != 0) {
    return error(artifact.path.string(), fmt::format("dlcc_model_init returned {} (1: this host has none of the instruction sets that the code was "
                                                     "emitted for)", code));
  }
  if (model.cpu != nullptr) {
    fmt::print("running the {} copy of the code\n", model.cpu());
  }
  bool equal = true;
  std::vector<double> times;
  for (const toolchain::DataSet& set : sets) {
    std::vector<te::Array> outputs;
    for (int i = 0; i < options.repeat; ++i) {
      double seconds = 0;
      DLCC_TRY(outputs, run_once(model, artifact, set, options.threads, seconds));
      times.push_back(seconds);
    }
    equal &= toolchain::check_outputs(set, outputs, artifact.program, options.data);
    DLCC_RETURN_IF_ERROR(toolchain::save_run(options.save, set, sets.size(), artifact.program, outputs));
  }
  model.release();
  if (!options.times.empty()) {
    DLCC_RETURN_IF_ERROR(write_file(options.times, fmt::format("[{}]\n", fmt::join(times, ", "))));
  }
  return static_cast<int>(equal ? toolchain::kOk : toolchain::kDiffers);
}

}  // namespace

int main(int argc, char** argv) {
  toolchain::CommandLine line("dlrun", "builds and runs the code that dlcc emitted");
  Options options;
  line.option("artifact", &options.artifact, "directory that dlcc wrote", {.required = true});
  line.data_options(options.data);
  line.option("--save", &options.save, "write output_N.pb into this folder");
  line.option("--threads", &options.threads, "threads of the emitted code", {.least = 1, .most = 1024});
  line.option("--repeat", &options.repeat, "runs of each data set", {.least = 1, .most = 1000000});
  line.option("--times", &options.times, "write the seconds of each run here, as a JSON array");
  return line.run(argc, argv, [&] { return run_artifact(options); });
}
