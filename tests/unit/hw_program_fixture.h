// A small chip with an asynchronous DMA engine, two pipes and one intrinsic, for the tests of Program.
#pragma once

#include "hw/program.h"

namespace dlcc::hw {

inline Machine program_test_machine() {
  Machine m;
  m.name = "toy";
  m.levels = {{"chip", 1}, {"core", 4}};
  m.memories = {{"dram", MemoryKind::Global, false, int64_t{1} << 30, 0, 1, 100, 8},
                {"ldm", MemoryKind::Scratchpad, true, 4096, 96, 32, 4, 32},
                {"l0", MemoryKind::Scratchpad, true, 2048, 0, 32, 1, 32}};
  m.paths = {{"dram_ldm", 0, 1, 0, {Transform::Pad}}, {"ldm_dram", 1, 0, 0, {}}, {"ldm_l0", 1, 2, 1, {}}};
  DmaEngine async;
  async.name = "dma";
  async.max_dims = 2;
  async.align = 4;
  DmaEngine mover;
  mover.name = "mover";
  mover.kind = EngineKind::Pipe;
  mover.pipe = 1;
  m.dma = {async, mover};
  m.dma[0].pipe = 0;
  m.pipes = {{"core", 1, 0}, {"mover", 4, 1}};
  m.vector.memories = {1};
  Intrinsic mac;
  mac.id = "mac";
  mac.pipe = 1;
  mac.operands = {{"a", 2, DType::F32, {"m"}, "", true, false}, {"c", 2, DType::F32, {"m"}, "", true, true}};
  mac.params = {{"m", 2, 64, 2, false}};
  m.intrinsics = {mac};
  return m;
}

/// A padded 1-d convolution on four cores in tiles of 8 of 30 positions: double-buffered loads, a kernel, a masked
/// store.
inline const char* program_test_text() {
  return R"(program toy_net machine toy arena 256 weights 128
tensor x f32[30] arena 0
tensor "a b" f32[3] weights 64
tensor y f32[30] arena 128
inputs [x] outputs [y]
group "Conv 0" kind contraction tile "o:8" flops 180 bound 12 nodes ["Conv 0", relu] intrinsics []
vars [core, t, n, s, i, j, v, k]
buffer xb ldm f32[10] pitch [12] copies 2 offset 0 slot 64
buffer wb ldm f32[3] copies 1 offset 128 slot 32
buffer yb ldm f32[8] copies 1 offset 160 slot 32
channel xb.in reply core -> core slots 2 initial 0
channel out reply core -> core slots 1 initial 0
{
  dma dram_ldm @"a b"[j] -> wb[j] over (j:3) reply xb.in[0]
  wait xb.in[0]
  for t = core to 4 step 4 {
    let n = min(8, -8*t + 30)
    let s = mod(t, 2)
    dma dram_ldm @x[8*t + j - 1] -> xb{s}[j] over (j:n + 2 max 10) pad 0 reply xb.in[s]
    fill core yb[i] = 0 over (i:8)
    wait xb.in[s]
    compute "Conv 0" on core over (i:n max 8, k:3 red) {
      write yb[i] sum
      read xb{s}[i + k]
      read wb[k]
      body [f32 load 0, f32 load 1, f32 mul 0 1]
      kernel [3 f32x4, 3 f32] {
        for v = 0 to n step 4 {
          r0 = load f32x4 write [v] aligned
          for k = 0 to 3 step 1 {
            r1 = load f32x4 read 0 [v + k]
            r2 = loadsplat f32x4 read 1 [k]
            r0 = op fma f32x4 r1 r2 r0
          }
          store f32x4 write [v] aligned r0
        }
        for v = resume to n step 1 {
          r3 = load f32 write [v]
          r4 = const f32 number -0.5
          r5 = op max f32 r3 r4
          store f32 write [v] r5
        }
      }
    }
    if n - 1, -t + 3 {
      dma ldm_dram yb[i] -> @y[8*t + i] over (i:8) reply out[0]
    }
    wait out[0]
  }
  barrier
}
)";
}

}  // namespace dlcc::hw
