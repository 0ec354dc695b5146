// The lane loops of strips. On x86 they are compiled twice, the second time for processors with AVX2 and FMA, where
// std::fma is one instruction; both give the same bits, since every operation is correctly rounded and nothing is
// contracted.
#include <cstring>

#include "base/check.h"
#include "base/te/scalar_ops.h"
#include "base/te/strip.h"

namespace dlcc::te {
namespace {

template <class T>
DLCC_INLINE T* lanes(Register& r) {
  if constexpr (std::is_same_v<T, float>) {
    return r.f;
  } else if constexpr (std::is_same_v<T, double>) {
    return r.d;
  } else {
    return r.i;
  }
}
template <class T>
DLCC_INLINE const T* lanes(const Register& r) {
  return lanes<T>(const_cast<Register&>(r));
}

DLCC_INLINE void round_half_lanes(float* __restrict x, int n) {
  for (int l = 0; l < n; ++l) {
    x[l] = ops::round_half(x[l]);
  }
}

template <class T>
DLCC_INLINE bool execute_float(const Instruction& in, Register* r, int n) {
  Register& to = r[in.to];
  const T* a = lanes<T>(r[in.node.a]);
  const T* b = in.node.b >= 0 ? lanes<T>(r[in.node.b]) : nullptr;
  const auto float1 = [&](auto f) __attribute__((always_inline)) {
    T* __restrict out = lanes<T>(to);
    for (int l = 0; l < n; ++l) {
      out[l] = f(a[l]);
    }
  };
  const auto float2 = [&](auto f) __attribute__((always_inline)) {
    T* __restrict out = lanes<T>(to);
    for (int l = 0; l < n; ++l) {
      out[l] = f(a[l], b[l]);
    }
  };
  const auto bool1 = [&](auto f) __attribute__((always_inline)) {
    for (int l = 0; l < n; ++l) {
      to.i[l] = f(a[l]);
    }
  };
  const auto bool2 = [&](auto f) __attribute__((always_inline)) {
    for (int l = 0; l < n; ++l) {
      to.i[l] = f(a[l], b[l]);
    }
  };
  return ops::with_float_unary<T>(in.node.op, float1) || ops::with_float_binary<T>(in.node.op, float2) ||
         ops::with_float_test<T>(in.node.op, bool1) || ops::with_comparison<T>(in.node.op, bool2);
}

DLCC_INLINE bool execute_int(const Instruction& in, Register* r, int n) {
  int64_t* __restrict out = r[in.to].i;
  const int64_t* a = r[in.node.a].i;
  const int64_t* b = in.node.b >= 0 ? r[in.node.b].i : nullptr;
  const DType type = in.node.type;
  const auto one = [&](auto f) __attribute__((always_inline)) {
    for (int l = 0; l < n; ++l) {
      out[l] = ops::wrap(type, f(a[l]));
    }
  };
  const auto two = [&](auto f) __attribute__((always_inline)) {
    for (int l = 0; l < n; ++l) {
      out[l] = ops::wrap(type, f(a[l], b[l]));
    }
  };
  const auto compare_unsigned = [&](auto f) __attribute__((always_inline)) {
    for (int l = 0; l < n; ++l) {
      out[l] = f(static_cast<uint64_t>(a[l]), static_cast<uint64_t>(b[l]));
    }
  };
  const auto compare_signed = [&](auto f) __attribute__((always_inline)) {
    for (int l = 0; l < n; ++l) {
      out[l] = f(a[l], b[l]);
    }
  };
  return ops::with_int_unary(in.node.op, in.operand_type, one) ||
         ops::with_int_binary(in.node.op, in.operand_type, two) ||
         (in.operand_type == DType::U64 ? ops::with_comparison<uint64_t>(in.node.op, compare_unsigned)
                                        : ops::with_comparison<int64_t>(in.node.op, compare_signed));
}

template <class T>
DLCC_INLINE void select_lanes(const Register& condition, const Register& a, const Register& b, Register& to, int n) {
  T* __restrict out = lanes<T>(to);
  const T *x = lanes<T>(a), *y = lanes<T>(b);
  for (int l = 0; l < n; ++l) {
    out[l] = condition.i[l] != 0 ? x[l] : y[l];
  }
}

template <class T>
DLCC_INLINE void fma_lanes(const T* a, const T* b, const T* c, T* out, int n) {
  for (int l = 0; l < n; ++l) {
    out[l] = ops::fma_of(a[l], b[l], c[l]);
  }
}

DLCC_INLINE void fma_registers(DType type, const Register& a, const Register& b, const Register& c, Register& to,
                               int n) {
  if (type == DType::F32) {
    fma_lanes(a.f, b.f, c.f, to.f, n);
  } else if (type == DType::F64) {
    fma_lanes(a.d, b.d, c.d, to.d, n);
  } else {
    for (int l = 0; l < n; ++l) {
      to.f[l] = ops::fma_half(a.f[l], b.f[l], c.f[l]);
    }
  }
}

/// Casts go through `apply`: they are rare, and one definition is enough.
void cast_lanes(const Instruction& in, const Register& a, Register& to, int n) {
  for (int l = 0; l < n; ++l) {
    Value value;
    if (in.operand_type == DType::F64) {
      value.f = a.d[l];
    } else if (is_float(in.operand_type)) {
      value.f = a.f[l];
    } else {
      value.i = a.i[l];
    }
    value = apply(in.node, in.operand_type, value, {}, {});
    if (in.node.type == DType::F64) {
      to.d[l] = value.f;
    } else if (is_float(in.node.type)) {
      to.f[l] = static_cast<float>(value.f);
    } else {
      to.i[l] = value.i;
    }
  }
}

DLCC_INLINE void execute_body(const Instruction& in, Register* r, int n) {
  const DType type = in.operand_type;
  switch (in.node.op) {
    case Op::Cast:
      return cast_lanes(in, r[in.node.a], r[in.to], n);
    case Op::Fma:
      return fma_registers(type, r[in.node.a], r[in.node.b], r[in.node.c], r[in.to], n);
    case Op::Select:
      if (type == DType::F64) {
        return select_lanes<double>(r[in.node.a], r[in.node.b], r[in.node.c], r[in.to], n);
      }
      return is_float(type) ? select_lanes<float>(r[in.node.a], r[in.node.b], r[in.node.c], r[in.to], n)
                            : select_lanes<int64_t>(r[in.node.a], r[in.node.b], r[in.node.c], r[in.to], n);
    default:
      break;
  }
  const bool known = type == DType::F64 ? execute_float<double>(in, r, n)
                     : is_float(type)   ? execute_float<float>(in, r, n)
                                        : execute_int(in, r, n);
  DLCC_CHECK(known) << name_of(in.node.op) << " has no meaning on " << name_of(type);
  if (type == DType::F16 && in.node.type == DType::F16) {
    round_half_lanes(r[in.to].f, n);
  }
}

template <class T>
DLCC_INLINE void accumulate_float(Op op, const T* value, T* acc, int n) {
  ops::with_float_binary<T>(
      op, [&](auto f) __attribute__((always_inline)) {
        for (int l = 0; l < n; ++l) {
          acc[l] = f(acc[l], value[l]);
        }
      });
}

DLCC_INLINE Op op_of(Monoid monoid) {
  constexpr Op kOps[] = {Op::Add, Op::Mul, Op::Min, Op::Max, Op::And, Op::Or};
  return kOps[static_cast<size_t>(monoid)];
}

DLCC_INLINE void accumulate_body(Monoid monoid, DType type, const Register& value, Register& acc, int n) {
  const Op op = op_of(monoid);
  if (type == DType::F64) {
    return accumulate_float(op, value.d, acc.d, n);
  }
  if (is_float(type)) {
    accumulate_float(op, value.f, acc.f, n);
    return type == DType::F16 ? round_half_lanes(acc.f, n) : void();
  }
  ops::with_int_binary(
      op, type, [&](auto f) __attribute__((always_inline)) {
        for (int l = 0; l < n; ++l) {
          acc.i[l] = ops::wrap(type, f(acc.i[l], value.i[l]));
        }
      });
}

#if defined(__x86_64__)
#define DLCC_FAST __attribute__((target("avx2,fma")))
DLCC_FAST void execute_fast(const Instruction& in, Register* r, int n) {
  execute_body(in, r, n);
}
DLCC_FAST void fma_fast(DType type, const Register& a, const Register& b, Register& acc, int n) {
  fma_registers(type, a, b, acc, acc, n);
}
DLCC_FAST void accumulate_fast(Monoid monoid, DType type, const Register& value, Register& acc, int n) {
  accumulate_body(monoid, type, value, acc, n);
}
bool is_fast() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
void execute_fast(const Instruction& in, Register* r, int n) {
  execute_body(in, r, n);
}
void fma_fast(DType type, const Register& a, const Register& b, Register& acc, int n) {
  fma_registers(type, a, b, acc, acc, n);
}
void accumulate_fast(Monoid monoid, DType type, const Register& value, Register& acc, int n) {
  accumulate_body(monoid, type, value, acc, n);
}
bool is_fast() {
  return false;
}
#endif

}  // namespace

void execute(const Instruction& instruction, Register* registers, int n) {
  is_fast() ? execute_fast(instruction, registers, n) : execute_body(instruction, registers, n);
}

void accumulate_fma(DType type, const Register& a, const Register& b, Register& acc, int n) {
  is_fast() ? fma_fast(type, a, b, acc, n) : fma_registers(type, a, b, acc, acc, n);
}

void accumulate(Monoid monoid, DType type, const Register& value, Register& acc, int n) {
  is_fast() ? accumulate_fast(monoid, type, value, acc, n) : accumulate_body(monoid, type, value, acc, n);
}

void fill(DType type, Value value, Register& to, int n) {
  for (int l = 0; l < n; ++l) {
    if (type == DType::F64) {
      to.d[l] = value.f;
    } else if (is_float(type)) {
      to.f[l] = static_cast<float>(value.f);
    } else {
      to.i[l] = value.i;
    }
  }
}

}  // namespace dlcc::te
