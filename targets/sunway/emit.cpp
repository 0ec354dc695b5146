// The files of a Sunway artifact: slave files (one function for the whole model, so that the model costs one launch), the host's C entry points,
// the Makefile and the build commands for the shim.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "targets/c_printer.h"
#include "targets/sunway/group_code.h"
#include "targets/sunway/sunway.h"

namespace dlcc::targets::sunway {
namespace {

constexpr int kMaxCores = 64;
constexpr int kMaxEngines = 4;
constexpr size_t kFileBytes = 150'000;      // a slave file is closed when it is longer

/// LDM that the slave's own variables take beside the buffers: its state, parameters and two words for each reply.
int64_t statics_bytes(int words) { return 256 + 8 * static_cast<int64_t>(words); }

int most_words(const hw::Program& program) {
  int words = 1;                            // the parameters' GET uses word 0
  for (const hw::Group& group : program.groups) {
    words = std::max(words, reply_words(group).count);
  }
  return words;
}

Status check_machine(const hw::Program& program, const hw::Machine& machine) {
  const hw::Memory& ldm = machine.memories.at(static_cast<size_t>(machine.work_memory()));
  if (machine.core_count() > kMaxCores) {
    return unsupported(machine.name, fmt::format("athread C runs on up to {} slaves, the chip has {}", kMaxCores, machine.core_count()));
  }
  if (machine.dma.size() > static_cast<size_t>(kMaxEngines)) {
    return unsupported(machine.name, fmt::format("athread C knows up to {} DMA engines, the chip has {}", kMaxEngines, machine.dma.size()));
  }
  if (const int64_t need = statics_bytes(most_words(program)); ldm.reserved < need) {
    return error(machine.name, fmt::format("memory {} reserves {} bytes, the slave code's own variables need {}; raise its 'reserved'", ldm.name,
                                           ldm.reserved, need));
  }
  return ok_status();
}

std::string slave_header(const hw::Program& program) {
  std::string text =
      "/* What the slave files of this model share. */\n#ifndef DLCC_MODEL_SLAVE_H\n#define DLCC_MODEL_SLAVE_H\n\n#include \"dlcc_slave.h\"\n\n";
  for (size_t g = 0; g < program.groups.size(); ++g) {
    text += fmt::format("void dlcc_group_{}(dlcc_slave *s);\n", g);
  }
  return text + "\n#endif\n";
}

std::string slave_main(const hw::Program& program, const hw::Machine& machine) {
  const hw::Memory& ldm = machine.memories.at(static_cast<size_t>(machine.work_memory()));
  const int words = most_words(program);
  std::string text = fmt::format(R"(/* The function that every slave runs: all groups of the model, one after another. */
#include "model_slave.h"

static __thread_local char dlcc_ldm[{}] __attribute__((aligned({})));
static __thread_local volatile int dlcc_reply[{}];
static __thread_local int dlcc_issued[{}];
static __thread_local dlcc_params dlcc_arguments;
static __thread_local dlcc_slave dlcc_self;

void dlcc_main(void *argument) {{
  dlcc_slave *s = &dlcc_self;
)",
                                 std::max<int64_t>(ldm.usable(), 1), std::max<int64_t>({ldm.align, 32}), words, words);
  for (size_t e = 0; e < machine.dma.size(); ++e) {
    const hw::DmaEngine& engine = machine.dma[e];
    text += fmt::format("  dlcc_set_engine(s, {}, {}, {}, {}, {});\n", e, engine.max_dims, engine.max_block, engine.max_bytes, engine.max_stride);
  }
  text += fmt::format("  dlcc_start(s, dlcc_ldm, dlcc_reply, dlcc_issued, {}, &dlcc_arguments, argument);\n", words);
  for (size_t g = 0; g < program.groups.size(); ++g) {
    text += fmt::format("  DLCC_GROUP({0});\n  dlcc_group_{0}(s);\n", g);
  }
  return text + "}\n";
}

std::string copy_statement(const hw::GlobalTensor& tensor, size_t k, bool input) {
  const char* base = tensor.space == hw::Space::Weights ? "dlcc_weights" : "dlcc_arena";
  return input ? fmt::format("  memcpy({} + {}, inputs[{}], {}); /* {} */\n", base, tensor.offset, k, tensor.bytes(), c_comment(tensor.name))
               : fmt::format("  memcpy(outputs[{}], {} + {}, {}); /* {} */\n", k, base, tensor.offset, tensor.bytes(), c_comment(tensor.name));
}

std::string host_code(const hw::Program& program, const hw::Machine& machine) {
  const hw::Memory& ldm = machine.memories.at(static_cast<size_t>(machine.work_memory()));
  std::string text = fmt::format(R"(/* The model's entry points on the host core: inputs into the arena, one launch of all slaves, outputs out of it. */
#include <athread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define DLCC_ARENA_BYTES {0}
#define DLCC_ALIGN 128

extern void SLAVE_FUN(dlcc_main)(void *);

/* The slaves fetch this with one GET. */
static struct {{
  unsigned long weights, arena;
}} dlcc_arguments __attribute__((aligned(DLCC_ALIGN)));

static const char *dlcc_weights;
static char *dlcc_arena;
static void *dlcc_block;

int dlcc_model_init(const void *weights, size_t bytes) {{
  {3}(uintptr_t)weights % 4 != 0) {{
    return 2;
  }}
  dlcc_model_free();
  dlcc_block = malloc(DLCC_ARENA_BYTES + DLCC_ALIGN);
  if (dlcc_block == NULL) {{
    return 3;
  }}
  dlcc_arena = (char *)(((uintptr_t)dlcc_block + DLCC_ALIGN - 1) / DLCC_ALIGN * DLCC_ALIGN);
  dlcc_weights = (const char *)weights;
  dlcc_arguments.weights = (unsigned long)(uintptr_t)dlcc_weights;
  dlcc_arguments.arena = (unsigned long)(uintptr_t)dlcc_arena;
#if defined(DLCC_ATHREAD_SHIM)
  dlcc_shim_ldm({1});
  dlcc_shim_register("weights", dlcc_weights, DLCC_MODEL_WEIGHTS_BYTES);
  dlcc_shim_register("arena", dlcc_arena, DLCC_ARENA_BYTES);
#endif
  athread_init();
  athread_set_num_threads({2});
  return 0;
}}

int dlcc_model_run(const void *const *inputs, void *const *outputs, int threads) {{
  (void)threads;
  (void)inputs;
  (void)outputs;
  if (dlcc_block == NULL) {{
    return 1;
  }}
)",
                                 program.arena_bytes, ldm.size, machine.core_count(),
                                 program.weights_bytes > 0 ? "if (bytes < DLCC_MODEL_WEIGHTS_BYTES || " : "(void)bytes;\n  if (");
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    text += copy_statement(program.tensors.at(static_cast<size_t>(program.inputs[k])), k, true);
  }
  text += "  athread_spawn(dlcc_main, &dlcc_arguments);\n  athread_join();\n";
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    text += copy_statement(program.tensors.at(static_cast<size_t>(program.outputs[k])), k, false);
  }
  return text + R"(  return 0;
}

void dlcc_model_free(void) {
  if (dlcc_block != NULL) {
    athread_halt();
    free(dlcc_block);
    dlcc_block = NULL;
  }
}
)";
}

std::string makefile(const std::vector<std::string>& slaves) {
  std::string objects = "host/model_host.o";
  for (const std::string& slave : slaves) {
    objects += " " + slave.substr(0, slave.size() - 2) + ".o";
  }
  return fmt::format(R"(# Builds libmodel.a with the vendor's compiler; a program that uses model.h links it with: $(CC) -hybrid main.o libmodel.a -lm_slave -lm
# Slave files at -O1: higher levels of this compiler delete the loops that poll reply words.
CC = sw5cc
AR = sw5ar
OBJECTS = {}

libmodel.a: $(OBJECTS)
	$(AR) rcs $@ $(OBJECTS)

host/%.o: host/%.c model.h
	$(CC) -host -O2 -I. -c $< -o $@

slave/%.o: slave/%.c slave/model_slave.h runtime/dlcc_slave.h runtime/dlcc_scalar.h
	$(CC) -slave -msimd -O1 -Iruntime -Islave -c $< -o $@

clean:
	rm -f $(OBJECTS) libmodel.a
)",
                     objects);
}

/// Groups in order, in files of about kFileBytes.
Result<std::vector<std::string>> slave_files(const hw::Program& program, const hw::Machine& machine, Files& files) {
  std::vector<std::string> names = {"slave/model_slave.c"};
  files[names[0]] = slave_main(program, machine);
  std::string* file = nullptr;
  for (size_t g = 0; g < program.groups.size(); ++g) {
    DLCC_TRY(const std::string code, group_code(program, machine, static_cast<int>(g)));
    if (file == nullptr || file->size() > kFileBytes) {
      names.push_back(fmt::format("slave/groups_{:04}.c", g));
      file = &files[names.back()];
      *file = fmt::format("/* Groups from {} on: data movement and kernels of one slave. */\n#include \"model_slave.h\"\n", g);
    }
    *file += "\n" + code;
  }
  return names;
}

/// The shim's compiler driver takes the vendor's flags; strict alignment because the code promises it. Slave files at -O1 as for the vendor's compiler:
/// the vectors are explicit, -O2 measured no faster here and takes half as long again to compile.
BuildRecipe recipe(const std::vector<std::string>& slaves) {
  const std::string driver = "bash {data}/athread_cc";
  const std::string flags = "-ffp-contract=off -host-simd -DDLCC_SHIM_STRICT_ALIGN -I{dir} -I{dir}/runtime -I{dir}/slave";
  std::string sources, objects = " {out}/model_host.o";
  for (const std::string& slave : slaves) {
    const std::string stem = slave.substr(slave.rfind('/') + 1, slave.size() - slave.rfind('/') - 3);
    sources += " {dir}/" + slave;
    objects += " {out}/" + stem + ".o";
  }
  return {{fmt::format("{} -host -O2 {} -odir {{out}} -c {{dir}}/host/model_host.c", driver, flags),
           fmt::format("{} -slave -O1 {} -odir {{out}} -c{}", driver, flags, sources),
           fmt::format("{} -hybrid -shared -o {{out}}/model.so{}", driver, objects)}};
}

}  // namespace

Result<Emitted> emit(const hw::Program& program, const hw::Machine& machine) {
  DLCC_RETURN_IF_ERROR(check_machine(program, machine));
  Emitted emitted;
  DLCC_TRY(const std::vector<std::string> slaves, slave_files(program, machine, emitted.files));
  emitted.files["model.h"] = model_header(program);
  emitted.files["slave/model_slave.h"] = slave_header(program);
  emitted.files["host/model_host.c"] = host_code(program, machine);
  emitted.files["Makefile"] = makefile(slaves);
  for (const auto& [name, content] : runtime_files()) {
    emitted.files["runtime/" + name] = content;
  }
  emitted.build = recipe(slaves);
  return emitted;
}

Result<std::string> emit_text(const hw::Program& program, const hw::Machine& machine, std::string_view form) {
  if (form != "c") {
    return std::string();
  }
  DLCC_TRY(const Emitted emitted, emit(program, machine));
  std::string text;
  for (const auto& [name, content] : emitted.files) {
    if (name.ends_with(".c")) {
      text += fmt::format("/* ==== {} ==== */\n{}", name, content);
    }
  }
  return text;
}

}  // namespace dlcc::targets::sunway
