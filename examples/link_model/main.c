/* A compiled model inside a plain C program: raw files in, raw files out. Build it next to the artifact of an x86 chip:
 *
 *   dlcc --hw=x86-64-v3 model.onnx -o out
 *   cc -I out main.c $(ls out/model*.o) -fopenmp -lm -o link_model
 *   ./link_model out/weights.bin input_0.bin ... output_0.bin ...
 *
 * Every file holds the row-major elements of one tensor; model.h lists the tensors. A model without weights takes "-".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static const size_t input_bytes[] = DLCC_MODEL_INPUT_BYTES;
static const size_t output_bytes[] = DLCC_MODEL_OUTPUT_BYTES;

static void fail(const char* what, const char* name) {
  fprintf(stderr, "link_model: %s %s\n", what, name);
  exit(1);
}

static void* allocate(size_t bytes) {
  void* block = malloc(bytes > 0 ? bytes : 1);
  if (block == NULL) {
    fail("no memory for", "a tensor");
  }
  return block;
}

/* The first `bytes` bytes of a file. */
static void* read_file(const char* path, size_t bytes) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    fail("cannot open", path);
  }
  void* data = allocate(bytes);
  if (fread(data, 1, bytes, file) != bytes) {
    fail("too few bytes in", path);
  }
  fclose(file);
  return data;
}

static void write_file(const char* path, const void* data, size_t bytes) {
  FILE* file = fopen(path, "wb");
  if (file == NULL || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) {
    fail("cannot write", path);
  }
}

int main(int argc, char** argv) {
  if (argc != 2 + DLCC_MODEL_INPUTS + DLCC_MODEL_OUTPUTS) {
    fprintf(stderr, "usage: link_model WEIGHTS INPUT... OUTPUT...  (%d inputs, %d outputs)\n", DLCC_MODEL_INPUTS,
            DLCC_MODEL_OUTPUTS);
    return 1;
  }
  void* weights = strcmp(argv[1], "-") == 0 ? NULL : read_file(argv[1], DLCC_MODEL_WEIGHTS_BYTES);
  const int status = dlcc_model_init(weights, weights == NULL ? 0 : DLCC_MODEL_WEIGHTS_BYTES);
  if (status != 0) {
    fail("dlcc_model_init failed:", status == 1   ? "this processor cannot run the code"
                                    : status == 2 ? "weights missing"
                                                  : "no memory");
  }
  void* inputs[DLCC_MODEL_INPUTS + 1];
  void* outputs[DLCC_MODEL_OUTPUTS + 1];
  for (int k = 0; k < DLCC_MODEL_INPUTS; ++k) {
    inputs[k] = read_file(argv[2 + k], input_bytes[k]);
  }
  for (int k = 0; k < DLCC_MODEL_OUTPUTS; ++k) {
    outputs[k] = allocate(output_bytes[k]);
  }
  if (dlcc_model_run((const void* const*)inputs, outputs, 0) != 0) {
    fail("dlcc_model_run failed", "");
  }
  for (int k = 0; k < DLCC_MODEL_OUTPUTS; ++k) {
    write_file(argv[2 + DLCC_MODEL_INPUTS + k], outputs[k], output_bytes[k]);
    free(outputs[k]);
  }
  for (int k = 0; k < DLCC_MODEL_INPUTS; ++k) {
    free(inputs[k]);
  }
  printf("ran the copy for %s\n", dlcc_model_cpu());
  dlcc_model_free();
  free(weights);
  return 0;
}
