// Kernel: the vector-level code of one Compute leaf, with explicit lanes and virtual registers. The C and LLVM emitters print it,
// the simulator's scoreboard times it. It computes exactly what the leaf's statement says, in the same order for every element.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/te/affine.h"
#include "base/te/scalar.h"

namespace dlcc::hw {

using te::Affine;
using te::VarId;

/// Const: dst = number/integer splat. Index: dst (I64) = value of `offset`. Load/Store: `lanes` consecutive elements at `offset` of the access.
/// LoadSplat: one element to all lanes. Splat: lane 0 of src[0] to all lanes. Compute: dst = op(src...), lane by lane. Move: dst = src[0].
enum class KernelOp : uint8_t { Const, Index, Load, LoadSplat, Store, Splat, Compute, Move };

struct KernelInstr {
  KernelOp kind = KernelOp::Compute;
  te::Op op = te::Op::Add;         // Compute
  DType type = DType::F32;         // of dst; of the stored value for Store
  int lanes = 1;
  int dst = -1;                    // register; -1 for Store
  std::array<int, 3> src = {-1, -1, -1};
  int access = -1;                 // Load*/Store: -1 is the leaf's write, else an index into its reads
  Affine offset;                   // elements from the start of the accessed slot
  bool aligned = false;            // the address is a multiple of lanes * element size (counted from the slot's start)
  int index_register = -1;         // indirect Load (this register has one lane): adds  clamp(index < 0 ? index + index_extent : index, 0, index_extent - 1) * index_stride
  int64_t index_extent = 0;
  int64_t index_stride = 0;
  double number = 0;
  int64_t integer = 0;
};

struct KernelNode;
/// for (var = begin or, with `resume`, wherever the previous loop over var stopped; var + step <= end; var += step) body
struct KernelLoop {
  VarId var = 0;
  Affine begin, end;
  int64_t step = 1;
  bool resume = false;
  std::vector<KernelNode> body;
};
struct KernelNode {
  std::variant<KernelInstr, KernelLoop> v;
};

struct KernelRegister {
  DType type = DType::F32;
  int lanes = 1;
};

/// Empty body: no kernel was made (the leaf runs as an intrinsic, or only in the simulator).
struct Kernel {
  std::vector<KernelRegister> registers;
  std::vector<KernelNode> body;
  bool empty() const { return body.empty(); }
};

}  // namespace dlcc::hw
