// The operator table: all families, sorted by domain, name and first opset.
#include <algorithm>
#include <string_view>
#include <tuple>

#include "frontend/ops/families.h"

namespace dlcc::frontend {

namespace {
std::vector<OpDef> all_ops() {
  std::vector<OpDef> table;
  for (auto family :
       {ops::activation_ops(),     ops::math_ops(),      ops::binary_ops(),  ops::cast_ops(),     ops::conv_ops(),
        ops::conv_transpose_ops(), ops::pool_ops(),      ops::matmul_ops(),  ops::reduce_ops(),   ops::arg_reduce_ops(),
        ops::softmax_ops(),        ops::normalize_ops(), ops::reshape_ops(), ops::constant_ops(), ops::move_ops(),
        ops::slice_ops(),          ops::pad_ops(),       ops::gather_ops(),  ops::resize_ops(),   ops::mask_ops()}) {
    table.insert(table.end(), family.begin(), family.end());
  }
  std::sort(table.begin(), table.end(), [](const OpDef& a, const OpDef& b) {
    return std::tuple(std::string_view(a.domain), std::string_view(a.name), a.since) <
           std::tuple(std::string_view(b.domain), std::string_view(b.name), b.since);
  });
  return table;
}
}  // namespace

std::span<const OpDef> op_table() {
  static const std::vector<OpDef> table = all_ops();
  return table;
}

const OpDef* find_op(const std::string& domain, const std::string& name, int version) {
  // ONNX names its default domain either way.
  std::string_view key = domain == "ai.onnx" ? std::string_view() : std::string_view(domain);
  for (const OpDef& op : op_table()) {
    if (op.domain == key && op.name == name && op.since <= version && version <= op.until) {
      return &op;
    }
  }
  return nullptr;
}

}  // namespace dlcc::frontend
