// Program -> model.h: the C interface that every emitter's code exports, and the sizes of the model's inputs and
// outputs.
#include <fmt/format.h>

#include "targets/target.h"

namespace dlcc::targets {
namespace {

std::string comment_safe(std::string text) {
  for (char& c : text) {
    if (c == '*' || c == '\\' || static_cast<unsigned char>(c) < 32 || c == 127) {
      c = '_';
    }
  }
  return text;
}

/// The number of tensors, an initialiser of their sizes, and a comment line each.
std::string table(const hw::Program& program, const std::vector<int>& ids, std::string_view macro) {
  std::vector<int64_t> sizes;
  std::string comments;
  for (size_t k = 0; k < ids.size(); ++k) {
    const hw::GlobalTensor& tensor = program.tensors.at(static_cast<size_t>(ids[k]));
    sizes.push_back(tensor.bytes());
    comments += fmt::format("/*   {}: {} {}[{}] */\n", k, comment_safe(tensor.name), name_of(tensor.type),
                            fmt::join(tensor.shape, ","));
  }
  if (sizes.empty()) {
    sizes.push_back(0);  // C has no empty initialiser
  }
  return fmt::format("#define DLCC_MODEL_{0}S {1}\n#define DLCC_MODEL_{0}_BYTES {{{2}}}\n{3}", macro, ids.size(),
                     fmt::join(sizes, ", "), comments);
}

}  // namespace

std::string model_header(const hw::Program& program) {
  std::string text = fmt::format("/* The C interface of a compiled model ({} for {}). */\n",
                                 comment_safe(program.model), comment_safe(program.machine));
  text += R"(#ifndef DLCC_MODEL_H
#define DLCC_MODEL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

)";
  text += table(program, program.inputs, "INPUT");
  text += table(program, program.outputs, "OUTPUT");
  text += fmt::format("#define DLCC_MODEL_WEIGHTS_BYTES {}\n", program.weights_bytes);
  text += R"(
/* weights: the content of weights.bin; the pointer is kept until dlcc_model_free. Returns 0 on success,
   1 when this processor cannot run the code, 2 when bytes is too small, 3 when memory runs out. */
int dlcc_model_init(const void* weights, size_t bytes);

/* One inference. inputs and outputs: row-major tensors in the model's order, sizes as above. threads: 0 lets the
   runtime choose. Returns 0 on success, 1 when dlcc_model_init has not succeeded. One call at a time. */
int dlcc_model_run(const void* const* inputs, void* const* outputs, int threads);

void dlcc_model_free(void);

/* x86 only: the name of the copy of the code that dlcc_model_init chose, "" before. */
const char* dlcc_model_cpu(void);

#ifdef __cplusplus
}
#endif

#endif
)";
  return text;
}

}  // namespace dlcc::targets
