// Column-wise evaluation. Loops run over whole groups of eight lanes, so that the compiler vectorises them; lanes past
// the end hold garbage that nobody reads.
#include "sim/columns.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace dlcc::sim {
namespace {

using te::Op;

template <class F>
inline void map1(float* d, const float* a, int lanes, F f) {
  for (int i = 0; i < lanes; i += 8) {
    for (int j = 0; j < 8; ++j) {
      d[i + j] = f(a[i + j]);
    }
  }
}
template <class F>
inline void map2(float* d, const float* a, const float* b, int lanes, F f) {
  for (int i = 0; i < lanes; i += 8) {
    for (int j = 0; j < 8; ++j) {
      d[i + j] = f(a[i + j], b[i + j]);
    }
  }
}
template <class F>
inline void compare(te::Value* d, const float* a, const float* b, int lanes, F f) {
  for (int i = 0; i < lanes; ++i) {
    d[i].i = f(a[i], b[i]) ? 1 : 0;
  }
}

bool run_unary(Op op, float* d, const float* a, int lanes) {
  switch (op) {
    case Op::Neg:
      map1(d, a, lanes, [](float x) { return -x; });
      return true;
    case Op::Abs:
      map1(d, a, lanes, [](float x) { return std::fabs(x); });
      return true;
    case Op::Floor:
      map1(d, a, lanes, [](float x) { return std::floor(x); });
      return true;
    case Op::Ceil:
      map1(d, a, lanes, [](float x) { return std::ceil(x); });
      return true;
    case Op::Round:
      map1(d, a, lanes, [](float x) { return std::nearbyint(x); });
      return true;
    case Op::Trunc:
      map1(d, a, lanes, [](float x) { return std::trunc(x); });
      return true;
    case Op::Sqrt:
      map1(d, a, lanes, [](float x) { return std::sqrt(x); });
      return true;
    default:
      return false;
  }
}

bool run_binary(Op op, float* d, const float* a, const float* b, int lanes) {
  switch (op) {
    case Op::Add:
      map2(d, a, b, lanes, [](float x, float y) { return x + y; });
      return true;
    case Op::Sub:
      map2(d, a, b, lanes, [](float x, float y) { return x - y; });
      return true;
    case Op::Mul:
      map2(d, a, b, lanes, [](float x, float y) { return x * y; });
      return true;
    case Op::Div:
      map2(d, a, b, lanes, [](float x, float y) { return x / y; });
      return true;
    case Op::Min:
      map2(d, a, b, lanes, [](float x, float y) { return x < y ? x : y; });
      return true;
    case Op::Max:
      map2(d, a, b, lanes, [](float x, float y) { return x > y ? x : y; });
      return true;
    default:
      return false;
  }
}

bool run_compare(Op op, te::Value* d, const float* a, const float* b, int lanes) {
  switch (op) {
    case Op::Lt:
      compare(d, a, b, lanes, [](float x, float y) { return x < y; });
      return true;
    case Op::Le:
      compare(d, a, b, lanes, [](float x, float y) { return x <= y; });
      return true;
    case Op::Gt:
      compare(d, a, b, lanes, [](float x, float y) { return x > y; });
      return true;
    case Op::Ge:
      compare(d, a, b, lanes, [](float x, float y) { return x >= y; });
      return true;
    case Op::Eq:
      compare(d, a, b, lanes, [](float x, float y) { return x == y; });
      return true;
    case Op::Ne:
      compare(d, a, b, lanes, [](float x, float y) { return x != y; });
      return true;
    default:
      return false;
  }
}

void fma_generic(float* d, const float* a, const float* b, const float* c, int lanes) {
  for (int i = 0; i < lanes; ++i) {
    d[i] = std::fma(a[i], b[i], c[i]);
  }
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void fma_avx2(float* d, const float* a, const float* b, const float* c, int lanes) {
  for (int i = 0; i < lanes; i += 8) {
    for (int j = 0; j < 8; ++j) {
      d[i + j] = __builtin_fmaf(a[i + j], b[i + j], c[i + j]);
    }
  }
}
#endif
void run_fma(float* d, const float* a, const float* b, const float* c, int lanes) {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has) {
    fma_avx2(d, a, b, c, lanes);
    return;
  }
#endif
  fma_generic(d, a, b, c, lanes);
}

}  // namespace

void ColumnProgram::Columns::resize(size_t nodes) {
  if (f_.size() < nodes * kColumnLanes) {
    f_.assign(nodes * kColumnLanes, 0.0F);
    v_.assign(nodes * kColumnLanes, te::Value{});
  }
}

ColumnProgram::ColumnProgram(const te::ScalarExpr& body, std::vector<DType> load_types)
    : body_(body), load_types_(std::move(load_types)) {}

te::Value ColumnProgram::value(Columns& columns, size_t node, int lane) const {
  if (is_f32(node)) {
    return {.f = static_cast<double>(columns.f32(node)[lane]), .i = 0};
  }
  return columns.values(node)[lane];
}

void ColumnProgram::run(Columns& columns, size_t count, int lanes, const ColumnSource* sources,
                        const int64_t* index_first, const int64_t* index_step) const {
  for (size_t n = 0; n < count; ++n) {
    run_node(columns, n, lanes, sources, index_first, index_step);
  }
}

void ColumnProgram::run_node(Columns& columns, size_t n, int lanes, const ColumnSource* sources, const int64_t* first,
                             const int64_t* step) const {
  const te::ScalarNode& node = body_[n];
  switch (node.op) {
    case Op::Const:
      if (node.type == DType::F32) {
        std::fill_n(columns.f32(n), kColumnLanes, static_cast<float>(node.number));
      } else {
        std::fill_n(columns.values(n), lanes, te::apply(node, node.type, {}, {}, {}));
      }
      return;
    case Op::Load:
      load(columns, n, lanes, sources[node.integer]);
      return;
    case Op::Index:
      for (int l = 0; l < lanes; ++l) {
        columns.values(n)[l].i = first[node.integer] + l * step[node.integer];
      }
      return;
    default:
      if (!run_f32(columns, n, lanes)) {
        run_generic(columns, n, lanes);
      }
  }
}

void ColumnProgram::load(Columns& columns, size_t n, int lanes, const ColumnSource& source) const {
  const DType type = load_types_[static_cast<size_t>(body_[n].integer)];
  if (type != DType::F32 || !is_f32(n)) {
    for (int l = 0; l < lanes; ++l) {
      const int64_t at = source.first + l * source.stride + (source.gather == nullptr ? 0 : source.gather[l]);
      const te::Value loaded = te::load_element(type, source.data, at);
      if (is_f32(n)) {
        columns.f32(n)[l] = static_cast<float>(loaded.f);
      } else {
        columns.values(n)[l] = loaded;
      }
    }
    return;
  }
  float* d = columns.f32(n);
  const float* p = reinterpret_cast<const float*>(source.data) + source.first;
  if (source.gather != nullptr) {
    for (int l = 0; l < lanes; ++l) {
      d[l] = p[l * source.stride + source.gather[l]];
    }
  } else if (source.stride == 1) {
    std::memcpy(d, p, sizeof(float) * static_cast<size_t>(lanes));
  } else if (source.stride == 0) {
    std::fill_n(d, kColumnLanes, *p);
  } else {
    for (int l = 0; l < lanes; ++l) {
      d[l] = p[l * source.stride];
    }
  }
}

bool ColumnProgram::run_f32(Columns& columns, size_t n, int lanes) const {
  const te::ScalarNode& node = body_[n];
  const auto a = static_cast<size_t>(node.a), b = static_cast<size_t>(node.b), c = static_cast<size_t>(node.c);
  switch (te::arity_of(node.op)) {
    case 1:
      return node.type == DType::F32 && is_f32(a) && run_unary(node.op, columns.f32(n), columns.f32(a), lanes);
    case 2:
      if (!is_f32(a) || !is_f32(b)) {
        return false;
      }
      return node.type == DType::F32 ? run_binary(node.op, columns.f32(n), columns.f32(a), columns.f32(b), lanes)
                                     : run_compare(node.op, columns.values(n), columns.f32(a), columns.f32(b), lanes);
    case 3:
      if (node.type != DType::F32) {
        return false;
      }
      if (node.op == Op::Fma) {
        run_fma(columns.f32(n), columns.f32(a), columns.f32(b), columns.f32(c), lanes);
      } else {
        float* d = columns.f32(n);
        const te::Value* condition = columns.values(a);
        const float* yes = columns.f32(b);
        const float* no = columns.f32(c);
        for (int i = 0; i < lanes; ++i) {
          d[i] = condition[i].i != 0 ? yes[i] : no[i];
        }
      }
      return true;
    default:
      return false;
  }
}

void ColumnProgram::run_generic(Columns& columns, size_t n, int lanes) const {
  const te::ScalarNode& node = body_[n];
  if (node.op == Op::Exp2i && node.type == DType::F32) {
    // 2^x by its bits, inside the range that the operation is defined for.
    bool inside = true;
    const float* x = columns.f32(static_cast<size_t>(node.a));
    for (int l = 0; l < lanes; ++l) {
      inside = inside && x[l] >= -126.0F && x[l] <= 127.0F;
    }
    if (inside) {
      for (int l = 0; l < lanes; ++l) {
        columns.f32(n)[l] = std::bit_cast<float>((static_cast<int32_t>(x[l]) + 127) << 23);
      }
      return;
    }
  }
  const DType operand_type = body_[static_cast<size_t>(node.op == Op::Select ? node.b : node.a)].type;
  for (int l = 0; l < lanes; ++l) {
    const auto operand = [&](int32_t id) { return id < 0 ? te::Value{} : value(columns, static_cast<size_t>(id), l); };
    const te::Value result = te::apply(node, operand_type, operand(node.a), operand(node.b), operand(node.c));
    if (is_f32(n)) {
      columns.f32(n)[l] = static_cast<float>(result.f);
    } else {
      columns.values(n)[l] = result;
    }
  }
}

}  // namespace dlcc::sim
