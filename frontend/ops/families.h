// The parts of the operator table, one per file of this folder.
#pragma once

#include <span>

#include "frontend/ops.h"

namespace dlcc::frontend::ops {

std::span<const OpDef> activation_ops();
std::span<const OpDef> math_ops();
std::span<const OpDef> binary_ops();
std::span<const OpDef> cast_ops();
std::span<const OpDef> conv_ops();
std::span<const OpDef> conv_transpose_ops();
std::span<const OpDef> pool_ops();
std::span<const OpDef> matmul_ops();
std::span<const OpDef> reduce_ops();
std::span<const OpDef> arg_reduce_ops();
std::span<const OpDef> softmax_ops();
std::span<const OpDef> normalize_ops();
std::span<const OpDef> reshape_ops();
std::span<const OpDef> constant_ops();
std::span<const OpDef> move_ops();
std::span<const OpDef> slice_ops();
std::span<const OpDef> pad_ops();
std::span<const OpDef> gather_ops();
std::span<const OpDef> resize_ops();
std::span<const OpDef> mask_ops();

}  // namespace dlcc::frontend::ops
