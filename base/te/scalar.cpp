// Scalar operations: names and arities, and the builder that keeps expressions typed, shared and in topological order.
#include "base/te/scalar.h"

#include <array>
#include <bit>
#include <map>
#include <tuple>

#include "base/check.h"

namespace dlcc::te {
namespace {

struct OpInfo {
  std::string_view name;
  int arity;
};
// In the order of enum Op.
constexpr std::array<OpInfo, 57> kOps = {{
    {"const", 0},    {"load", 0},    {"index", 0}, {"param", 0}, {"neg", 1},    {"abs", 1},   {"not", 1},
    {"floor", 1},    {"ceil", 1},    {"round", 1}, {"trunc", 1}, {"sqrt", 1},   {"exp2i", 1}, {"exponent", 1},
    {"mantissa", 1}, {"isnan", 1},   {"isinf", 1}, {"cast", 1},  {"bitnot", 1}, {"add", 2},   {"sub", 2},
    {"mul", 2},      {"div", 2},     {"mod", 2},   {"rem", 2},   {"min", 2},    {"max", 2},   {"and", 2},
    {"or", 2},       {"xor", 2},     {"shl", 2},   {"shr", 2},   {"lt", 2},     {"le", 2},    {"gt", 2},
    {"ge", 2},       {"eq", 2},      {"ne", 2},    {"fma", 3},   {"select", 3}, {"exp", 1},   {"log", 1},
    {"tanh", 1},     {"sigmoid", 1}, {"erf", 1},   {"pow", 2},   {"sin", 1},    {"cos", 1},   {"tan", 1},
    {"asin", 1},     {"acos", 1},    {"atan", 1},  {"sinh", 1},  {"cosh", 1},   {"asinh", 1}, {"acosh", 1},
    {"atanh", 1},
}};
static_assert(kOps[static_cast<size_t>(Op::Atanh)].name == "atanh");
static_assert(kOps[static_cast<size_t>(Op::Select)].name == "select");
static_assert(kOps[static_cast<size_t>(Op::Add)].name == "add");

bool is_leaf(Op op) {
  return op <= Op::Param;
}

/// The constant as the type holds it, so that every consumer prints and emits the same value.
double round_to(DType type, double number) {
  switch (type) {
    case DType::F16:
      return half_to_float(double_to_half(number));
    case DType::F32:
      return static_cast<float>(number);
    default:
      return number;
  }
}

bool type_fits_unary(Op op, DType type) {
  switch (op) {
    case Op::Not:
      return type == DType::Bool;
    case Op::BitNot:
      return !is_float(type) && type != DType::Bool;
    case Op::Neg:
    case Op::Abs:
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
      return type != DType::Bool;
    case Op::Cast:
      return true;
    default:
      return is_float(type);
  }
}

bool type_fits_binary(Op op, DType type) {
  switch (op) {
    case Op::And:
    case Op::Or:
    case Op::Xor:
      return !is_float(type);
    case Op::Shl:
    case Op::Shr:
      return !is_float(type) && type != DType::Bool;
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::Eq:
    case Op::Ne:
    case Op::Min:
    case Op::Max:
      return true;
    case Op::Pow:
      return is_float(type);
    default:
      return type != DType::Bool;
  }
}

}  // namespace

int arity_of(Op op) {
  return kOps[static_cast<size_t>(op)].arity;
}
std::string_view name_of(Op op) {
  return kOps[static_cast<size_t>(op)].name;
}
bool is_transcendental(Op op) {
  return op >= Op::Exp;
}

std::optional<Op> op_from_name(std::string_view name) {
  for (size_t i = 0; i <= static_cast<size_t>(Op::Atanh); ++i) {
    if (kOps[i].name == name) {
      return static_cast<Op>(i);
    }
  }
  return std::nullopt;
}

std::optional<DType> result_type(Op op, DType operand) {
  const int arity = arity_of(op);
  if (is_leaf(op) || op == Op::Cast) {
    return operand;
  }
  if (op == Op::Select) {
    return operand;
  }
  if (op == Op::Fma) {
    return is_float(operand) ? std::optional(operand) : std::nullopt;
  }
  if (arity == 1 ? !type_fits_unary(op, operand) : !type_fits_binary(op, operand)) {
    return std::nullopt;
  }
  const bool gives_bool = op == Op::IsNan || op == Op::IsInf || (op >= Op::Lt && op <= Op::Ne);
  return gives_bool ? DType::Bool : operand;
}

int ScalarBuilder::add(ScalarNode node) {
  const int size = static_cast<int>(nodes_.size());
  const int arity = arity_of(node.op);
  DLCC_CHECK((arity < 1 || (node.a >= 0 && node.a < size)) && (arity < 2 || (node.b >= 0 && node.b < size)) &&
             (arity < 3 || (node.c >= 0 && node.c < size)))
      << "operand of " << name_of(node.op) << " does not exist";
  nodes_.push_back(node);
  return size;
}

int ScalarBuilder::constant(DType type, double number) {
  DLCC_CHECK(is_float(type)) << "constant() makes floats, integer() the others";
  return add({.op = Op::Const, .type = type, .number = round_to(type, number)});
}

int ScalarBuilder::integer(DType type, int64_t value) {
  DLCC_CHECK(!is_float(type)) << "integer() makes integers, constant() floats";
  return add({.op = Op::Const, .type = type, .integer = type == DType::Bool ? int64_t{value != 0} : value});
}

int ScalarBuilder::load(DType type, int read) {
  return add({.op = Op::Load, .type = type, .integer = read});
}
int ScalarBuilder::index(int dim) {
  return add({.op = Op::Index, .type = DType::I64, .integer = dim});
}
int ScalarBuilder::param(DType type, int param) {
  return add({.op = Op::Param, .type = type, .integer = param});
}

int ScalarBuilder::unary(Op op, int a) {
  DLCC_CHECK(arity_of(op) == 1 && op != Op::Cast) << name_of(op) << " is not a unary operation";
  const auto result = result_type(op, type(a));
  DLCC_CHECK(result.has_value()) << name_of(op) << " of " << name_of(type(a));
  return add({.op = op, .type = *result, .a = a});
}

int ScalarBuilder::binary(Op op, int a, int b) {
  DLCC_CHECK(arity_of(op) == 2) << name_of(op) << " is not a binary operation";
  DLCC_CHECK(type(a) == type(b)) << name_of(op) << " of " << name_of(type(a)) << " and " << name_of(type(b));
  const auto result = result_type(op, type(a));
  DLCC_CHECK(result.has_value()) << name_of(op) << " of " << name_of(type(a));
  return add({.op = op, .type = *result, .a = a, .b = b});
}

int ScalarBuilder::fma(int a, int b, int c) {
  DLCC_CHECK(is_float(type(a)) && type(a) == type(b) && type(a) == type(c)) << "fma of mixed types";
  return add({.op = Op::Fma, .type = type(a), .a = a, .b = b, .c = c});
}

int ScalarBuilder::select(int condition, int a, int b) {
  DLCC_CHECK(type(condition) == DType::Bool && type(a) == type(b)) << "select of mixed types";
  return add({.op = Op::Select, .type = type(a), .a = condition, .b = a, .c = b});
}

int ScalarBuilder::cast(DType to, int a) {
  return type(a) == to ? a : add({.op = Op::Cast, .type = to, .a = a});
}

ScalarExpr ScalarBuilder::finish(int root) const {
  DLCC_CHECK(root >= 0 && root < static_cast<int>(nodes_.size())) << "no such node";
  std::vector<bool> used(nodes_.size(), false);
  used[static_cast<size_t>(root)] = true;
  for (int i = root; i >= 0; --i) {
    if (used[static_cast<size_t>(i)]) {
      const ScalarNode& node = nodes_[static_cast<size_t>(i)];
      for (int operand : {node.a, node.b, node.c}) {
        if (operand >= 0) {
          used[static_cast<size_t>(operand)] = true;
        }
      }
    }
  }
  // Keyed by bits: 0.0 and -0.0 stay apart, equal NaNs meet.
  using Key = std::tuple<Op, DType, int32_t, int32_t, int32_t, uint64_t, int64_t>;
  std::map<Key, int32_t> known;
  std::vector<int32_t> renamed(nodes_.size(), -1);
  ScalarExpr result;
  for (int i = 0; i <= root; ++i) {
    if (!used[static_cast<size_t>(i)]) {
      continue;
    }
    ScalarNode node = nodes_[static_cast<size_t>(i)];
    for (int32_t* operand : {&node.a, &node.b, &node.c}) {
      if (*operand >= 0) {
        *operand = renamed[static_cast<size_t>(*operand)];
      }
    }
    const Key key{node.op, node.type, node.a, node.b, node.c, std::bit_cast<uint64_t>(node.number), node.integer};
    const auto [entry, fresh] = known.emplace(key, static_cast<int32_t>(result.size()));
    if (fresh) {
      result.push_back(node);
    }
    renamed[static_cast<size_t>(i)] = entry->second;
  }
  return result;
}

int flops_of(const ScalarExpr& body) {
  int flops = 0;
  for (const ScalarNode& node : body) {
    if (!is_leaf(node.op) && node.op != Op::Cast) {
      flops += node.op == Op::Fma ? 2 : 1;
    }
  }
  return flops;
}

}  // namespace dlcc::te
