// Elementwise operators of any number of inputs with NumPy broadcasting, as instances of one template: an operator is a
// Body, which makes the scalar code from its loaded operands. `infer` runs the Body too, on a scratch expression: the
// attributes it reads and the type it returns are therefore the same in both.
#pragma once

#include "frontend/ops/support.h"

namespace dlcc::frontend::ops {

/// operands[i]: the node of input i (f16 widened to f32), -1 for a left-out one. Gives the root.
using Body = Result<int> (*)(OpContext& ctx, te::ScalarBuilder& s, const std::vector<int>& operands);

struct ElementRule {
  int required = 1;
  int maximum = 1;
  unsigned types = kNumbers;  // of every input, when same_type
  bool same_type = true;      // all inputs have the type of input 0
  bool keep_type = false;     // the Body's type is the output's, without narrowing f32 to f16 when the input is f16
};

Types infer_elementwise(OpContext& ctx, const ElementRule& rule, Body body);
Status define_elementwise(OpContext& ctx, StmtBuilder& builder, Body body);

template <Body body, int Required, int Maximum, unsigned Types_, bool SameType = true, bool KeepType = false>
constexpr OpDef elementwise(const char* name, int since, int until) {
  return {"",
          name,
          since,
          until,
          [](OpContext& ctx) {
            return infer_elementwise(ctx, {Required, Maximum, Types_, SameType, KeepType}, body);
          },
          [](OpContext& ctx, StmtBuilder& builder) { return define_elementwise(ctx, builder, body); }};
}
template <Body body, unsigned Types_>
constexpr OpDef unary(const char* name, int since, int until) {
  return elementwise<body, 1, 1, Types_>(name, since, until);
}

}  // namespace dlcc::frontend::ops
