// Hand-made Programs for the Sunway emitter's tests, and a runner: emit, build with the shim, load, run.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "hw/machine.h"
#include "hw/program.h"
#include "targets/sunway/sunway.h"

namespace dlcc::sunway_test {

using hw::Affine;

inline Affine v(int var, int64_t coef = 1) { return Affine::var(var, coef); }
inline std::string shim_dir() { return std::string(DLCC_SOURCE_DIR) + "/targets/sunway/shim"; }

/// dram (0) and ldm (1), a get path (0) and a put path (1) through one engine.
inline hw::Machine machine(int cores = 64) {
  hw::Machine m;
  m.name = "test";
  m.levels = {{"core", cores}};
  hw::Memory dram, ldm;
  dram.name = "dram";
  dram.kind = hw::MemoryKind::Global;
  dram.per_core = false;
  ldm.name = "ldm";
  ldm.size = 65536;
  ldm.reserved = 4096;
  ldm.align = 32;
  m.memories = {dram, ldm};
  hw::DmaEngine dma;
  dma.name = "main";
  dma.pipe = 0;
  dma.queue_depth = 3;
  dma.align = 4;
  m.dma = {dma};
  hw::Path get, put;
  get.from = 0, get.to = 1, get.engine = 0;
  put.from = 1, put.to = 0, put.engine = 0;
  m.paths = {get, put};
  m.pipes = {hw::Pipe{"core"}};
  m.vector.width = 32;
  m.vector.memories = {1};
  m.vector.lanes = {{DType::F32, 4}};
  m.vector.min_lanes = m.vector.lanes;
  m.vector.c_types = {{DType::F32, "floatv4"}};
  return m;
}

/// Adds tensors and buffers at fresh offsets, and one reply channel (0) with four slots to each group.
struct Builder {
  hw::Program program;
  hw::Group group;
  int64_t ldm_end = 0;

  Builder() { begin(); }
  void begin() {
    group = {};
    group.info.name = "g" + std::to_string(program.groups.size());
    group.vars = {"core"};
    group.channels = {hw::Channel{"c", hw::ChannelKind::Reply, 0, 0, 4, 0}};
    ldm_end = 0;
  }
  void finish_group() {
    program.groups.push_back(std::move(group));
    begin();
  }
  int var(const std::string& name) {
    group.vars.push_back(name);
    return static_cast<int>(group.vars.size()) - 1;
  }
  int tensor(DType type, std::vector<int64_t> shape, hw::Space space = hw::Space::Arena) {
    hw::GlobalTensor t{"t" + std::to_string(program.tensors.size()), type, std::move(shape), space, 0};
    int64_t& end = space == hw::Space::Arena ? program.arena_bytes : program.weights_bytes;
    t.offset = end;
    end += (t.bytes() + 127) / 128 * 128;
    program.tensors.push_back(t);
    return static_cast<int>(program.tensors.size()) - 1;
  }
  int input(DType type, std::vector<int64_t> shape) {
    program.inputs.push_back(tensor(type, std::move(shape)));
    return program.inputs.back();
  }
  int output(DType type, std::vector<int64_t> shape) {
    program.outputs.push_back(tensor(type, std::move(shape)));
    return program.outputs.back();
  }
  int buffer(DType type, std::vector<int64_t> shape, std::vector<int64_t> pitch = {}, int copies = 1) {
    hw::Buffer b;
    b.name = "b" + std::to_string(group.buffers.size());
    b.memory = 1;
    b.type = type;
    b.shape = std::move(shape);
    b.pitch = std::move(pitch);
    b.copies = copies;
    b.offset = ldm_end;
    b.slot_bytes = (b.storage_elements() * bytes_of(type) + 31) / 32 * 32;
    ldm_end += b.slot_bytes * copies;
    group.buffers.push_back(b);
    return static_cast<int>(group.buffers.size()) - 1;
  }
  void add(hw::Node node) { group.body.push_back(std::move(node)); }
};

inline hw::View in_tensor(int tensor, std::vector<Affine> index) { return {hw::ObjectKind::Tensor, tensor, 0, std::move(index)}; }
inline hw::View in_buffer(int buffer, std::vector<Affine> index, Affine slot = 0) {
  return {hw::ObjectKind::Buffer, buffer, std::move(slot), std::move(index)};
}
inline hw::BoxDim dim(int var, Affine extent, int64_t max_extent) { return {var, std::move(extent), max_extent, te::DimKind::Par}; }
inline hw::Node node(auto leaf) { return hw::Node{std::move(leaf)}; }
inline hw::Node get(std::vector<hw::BoxDim> box, hw::View src, hw::View dst, std::optional<double> fill = std::nullopt, Affine slot = 0) {
  return node(hw::Dma{0, std::move(box), std::move(src), std::move(dst), fill, 0, std::move(slot)});
}
inline hw::Node put(std::vector<hw::BoxDim> box, hw::View src, hw::View dst, Affine slot = 0) {
  return node(hw::Dma{1, std::move(box), std::move(src), std::move(dst), std::nullopt, 0, std::move(slot)});
}
inline hw::Node wait(Affine slot = 0) { return node(hw::Wait{0, std::move(slot)}); }

inline std::string temporary_directory(const std::string& stem) {
  std::string pattern = (std::filesystem::temp_directory_path() / (stem + "_XXXXXX")).string();
  return mkdtemp(pattern.data());
}
inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}
inline std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// The emitted model, built with the shim and loaded.
class Model {
 public:
  Model(const hw::Program& program, const hw::Machine& machine) {
    Result<targets::Emitted> emitted = targets::sunway::emit(program, machine);
    EXPECT_TRUE(emitted.ok()) << (emitted.ok() ? "" : to_string(emitted.diags()));
    if (!emitted.ok()) {
      return;
    }
    dir_ = temporary_directory("dlcc_sunway");
    for (const auto& [name, content] : emitted->files) {
      std::filesystem::create_directories((dir_ / name).parent_path());
      std::ofstream(dir_ / name, std::ios::binary) << content;
    }
    for (std::string command : emitted->build.commands) {
      command = replace_all(replace_all(replace_all(command, "{dir}", dir_), "{out}", dir_), "{data}", shim_dir());
      EXPECT_EQ(std::system(command.c_str()), 0) << command;
    }
    handle_ = dlopen((dir_ / "model.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Model() {
    if (handle_ != nullptr) {
      function<void (*)()>("dlcc_model_free")();
      dlclose(handle_);
    }
    std::filesystem::remove_all(dir_);
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  template <class F>
  F function(const char* name) const {
    return reinterpret_cast<F>(dlsym(handle_, name));
  }
  void configure(const char* dma, const char* trace) const { function<void (*)(const char*, const char*)>("dlcc_shim_configure")(dma, trace); }
  int init(const void* weights = nullptr, size_t bytes = 0) const { return function<int (*)(const void*, size_t)>("dlcc_model_init")(weights, bytes); }
  int run(std::vector<const void*> inputs, std::vector<void*> outputs) const {
    return function<int (*)(const void* const*, void* const*, int)>("dlcc_model_run")(inputs.data(), outputs.data(), 1);
  }
  const std::filesystem::path& dir() const { return dir_; }

 private:
  std::filesystem::path dir_;
  void* handle_ = nullptr;
};

}  // namespace dlcc::sunway_test
