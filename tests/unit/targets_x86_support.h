// Hand-made Programs for the x86 emitter's tests, and a runner: emit, link, load, run.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "hw/machine.h"
#include "hw/program.h"
#include "targets/target.h"
#include "targets/x86/x86.h"

namespace dlcc::x86_test {

using hw::Affine;

inline Affine v(int var, int64_t coef = 1) {
  return Affine::var(var, coef);
}

/// dram (0) and a cache (1) of each core; paths in and out through the core itself.
inline hw::Machine machine(int cores, std::vector<std::string> cpus = {"x86-64-v4", "x86-64-v3", "x86-64"}) {
  hw::Machine m;
  m.name = "test";
  m.file = "test.yaml";
  m.levels = {{"core", cores}};
  hw::Memory dram, cache;
  dram.name = "dram";
  dram.kind = hw::MemoryKind::Global;
  dram.per_core = false;
  cache.name = "l2";
  cache.kind = hw::MemoryKind::Cache;
  cache.size = 1 << 20;
  cache.align = 64;
  m.memories = {dram, cache};
  hw::DmaEngine copy;
  copy.name = "copy";
  copy.kind = hw::EngineKind::Core;
  copy.pipe = 0;
  m.dma = {copy};
  hw::Path in, out;
  in.from = 0, in.to = 1, in.engine = 0;
  out.from = 1, out.to = 0, out.engine = 0;
  m.paths = {in, out};
  m.pipes = {hw::Pipe{"core"}};
  m.codegen.emitter = "x86";
  m.codegen.cpus = std::move(cpus);
  return m;
}

/// Adds tensors and buffers at fresh offsets.
struct Builder {
  hw::Program program;
  hw::Group group;
  int64_t cache_end = 0;

  Builder() {
    program.model = "hand";
    program.machine = "test";
    group.info.name = "g";
    group.vars = {"core"};
  }
  int var(const std::string& name) {
    group.vars.push_back(name);
    return static_cast<int>(group.vars.size()) - 1;
  }
  int tensor(DType type, std::vector<int64_t> shape, hw::Space space = hw::Space::Arena) {
    hw::GlobalTensor t{"t" + std::to_string(program.tensors.size()), type, std::move(shape), space, 0};
    int64_t& end = space == hw::Space::Arena ? program.arena_bytes : program.weights_bytes;
    t.offset = (end + 127) / 128 * 128;
    end = t.offset + t.bytes();
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
    b.offset = cache_end;
    b.slot_bytes = (b.storage_elements() * bytes_of(type) + 63) / 64 * 64;
    cache_end += b.slot_bytes * copies;
    group.buffers.push_back(b);
    return static_cast<int>(group.buffers.size()) - 1;
  }
  void finish_group() {
    program.groups.push_back(std::move(group));
    group = {};
    group.info.name = "g" + std::to_string(program.groups.size());
    group.vars = {"core"};
    cache_end = 0;
  }
};

inline hw::View in_tensor(int tensor, std::vector<Affine> index) {
  return {hw::ObjectKind::Tensor, tensor, 0, std::move(index)};
}
inline hw::View in_buffer(int buffer, std::vector<Affine> index, Affine slot = 0) {
  return {hw::ObjectKind::Buffer, buffer, std::move(slot), std::move(index)};
}
inline hw::BoxDim dim(int var, Affine extent, int64_t max_extent) {
  return {var, std::move(extent), max_extent, te::DimKind::Par};
}

inline hw::Dma dma(int path, std::vector<hw::BoxDim> box, hw::View src, hw::View dst,
                   std::optional<double> fill = std::nullopt) {
  return {path, std::move(box), std::move(src), std::move(dst), fill, hw::kNone, 0};
}

/// The emitted model, linked and loaded.
class Model {
 public:
  Model(const hw::Program& program, const hw::Machine& machine) : program_(program) {
    Result<targets::Emitted> emitted = targets::x86::emit(program, machine);
    EXPECT_TRUE(emitted.ok()) << (emitted.ok() ? "" : to_string(emitted.diags()));
    if (!emitted.ok()) {
      return;
    }
    std::string pattern = (std::filesystem::temp_directory_path() / "dlcc_x86_XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
    for (const auto& [name, content] : emitted->files) {
      std::ofstream(dir_ / name, std::ios::binary) << content;
    }
    for (std::string command : emitted->build.commands) {
      for (const auto& [key, value] :
           {std::pair<std::string, std::string>{"{dir}", dir_}, {"{out}", dir_}, {"{cxx}", "c++"}}) {
        for (size_t at; (at = command.find(key)) != std::string::npos;) {
          command.replace(at, key.size(), value);
        }
      }
      EXPECT_EQ(std::system(command.c_str()), 0) << command;
    }
    handle_ = dlopen((dir_ / "model.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Model() {
    if (handle_ != nullptr) {
      dlclose(handle_);
    }
    std::filesystem::remove_all(dir_);
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const std::filesystem::path& dir() const { return dir_; }
  bool loaded() const { return handle_ != nullptr; }
  template <class F>
  F* symbol(const char* name) {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }
  int init(const std::vector<std::byte>& weights = {}) {
    return symbol<int(const void*, size_t)>("dlcc_model_init")(weights.data(), weights.size());
  }
  std::string cpu() { return symbol<const char*()>("dlcc_model_cpu")(); }

  /// One run; outputs are pre-filled with a pattern, so that bytes that nobody writes show.
  std::vector<std::vector<std::byte>> run(const std::vector<std::vector<std::byte>>& inputs, int threads) {
    std::vector<const void*> in;
    for (const auto& i : inputs) {
      in.push_back(i.data());
    }
    std::vector<std::vector<std::byte>> outputs;
    std::vector<void*> out;
    for (const int id : program_.outputs) {
      outputs.emplace_back(static_cast<size_t>(program_.tensors[static_cast<size_t>(id)].bytes()), std::byte{0xee});
    }
    for (auto& o : outputs) {
      out.push_back(o.data());
    }
    EXPECT_EQ(symbol<int(const void* const*, void* const*, int)>("dlcc_model_run")(in.data(), out.data(), threads), 0);
    return outputs;
  }

 private:
  hw::Program program_;
  std::filesystem::path dir_;
  void* handle_ = nullptr;
};

template <class T>
std::vector<std::byte> bytes(const std::vector<T>& values) {
  std::vector<std::byte> result(values.size() * sizeof(T));
  std::memcpy(result.data(), values.data(), result.size());
  return result;
}
template <class T>
std::vector<T> values(const std::vector<std::byte>& bytes) {
  std::vector<T> result(bytes.size() / sizeof(T));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

/// init, then the same run with 1 and with 2 threads, which must agree.
inline std::vector<std::vector<std::byte>> run_program(const hw::Program& program, const hw::Machine& machine,
                                                       const std::vector<std::vector<std::byte>>& inputs,
                                                       const std::vector<std::byte>& weights = {}) {
  Model model(program, machine);
  if (!model.loaded()) {
    return {};
  }
  EXPECT_EQ(model.init(weights), 0);
  const auto one = model.run(inputs, 1);
  const auto two = model.run(inputs, 2);
  EXPECT_TRUE(one == two) << "1 and 2 threads differ";
  model.symbol<void()>("dlcc_model_free")();
  return one;
}

}  // namespace dlcc::x86_test
