// hw::Kernel -> C statements. A register with the machine's lanes and a C vector type is a variable of that type; other registers of several
// lanes are arrays that are computed lane by lane, so every kernel has a C form and the common ones are vector code.
#include <fmt/format.h>

#include <set>

#include "base/check.h"
#include "targets/c_printer.h"

namespace dlcc::targets {
namespace {

using hw::KernelInstr;
using hw::KernelOp;
using te::Op;

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

class KernelPrinter {
 public:
  KernelPrinter(const hw::Compute& leaf, const hw::Group& group, const hw::Machine& machine, const CVectorDefaults& defaults, Printer& out)
      : leaf_(leaf), group_(group), machine_(machine), defaults_(defaults), out_(out) {}

  Status print() {
    declare();
    return body(leaf_.kernel.body);
  }

 private:
  const hw::KernelRegister& info(int r) const { return leaf_.kernel.registers.at(static_cast<size_t>(r)); }

  bool is_vector(int r) const {
    const hw::KernelRegister& reg = info(r);
    const auto it = machine_.vector.c_types.find(reg.type);
    return reg.lanes > 1 && it != machine_.vector.c_types.end() && !it->second.empty() && reg.lanes == machine_.vector.lanes_of(reg.type);
  }

  std::string lane(int r, int i) const {
    if (info(r).lanes == 1) {
      return fmt::format("r{}", r);
    }
    return is_vector(r) ? fmt::format("(({} *)&r{})[{}]", c_type(info(r).type), r, i) : fmt::format("r{}[{}]", r, i);
  }

  /// Only registers that the body names, so that the C has no unused variables.
  void declare() {
    std::set<int> used;
    collect(leaf_.kernel.body, used);
    for (const int r : used) {
      const hw::KernelRegister& reg = info(r);
      if (is_vector(r)) {
        out_.line(fmt::format("{} r{};", machine_.vector.c_types.at(reg.type), r));
      } else if (reg.lanes > 1) {
        out_.line(fmt::format("{} r{}[{}];", c_type(reg.type), r, reg.lanes));
      } else {
        out_.line(fmt::format("{} r{};", c_type(reg.type), r));
      }
    }
  }

  static void collect(const std::vector<hw::KernelNode>& nodes, std::set<int>& used) {
    for (const hw::KernelNode& node : nodes) {
      if (const auto* loop = std::get_if<hw::KernelLoop>(&node.v)) {
        collect(loop->body, used);
        continue;
      }
      const auto& instr = std::get<KernelInstr>(node.v);
      for (const int r : {instr.dst, instr.src[0], instr.src[1], instr.src[2], instr.index_register}) {
        if (r >= 0) {
          used.insert(r);
        }
      }
    }
  }

  Status body(const std::vector<hw::KernelNode>& nodes) {
    for (const hw::KernelNode& node : nodes) {
      if (const auto* loop = std::get_if<hw::KernelLoop>(&node.v)) {
        DLCC_RETURN_IF_ERROR(this->loop(*loop));
      } else {
        DLCC_RETURN_IF_ERROR(instruction(std::get<KernelInstr>(node.v)));
      }
    }
    return ok_status();
  }

  Status loop(const hw::KernelLoop& loop) {
    const std::string v = c_variable(group_, loop.var);
    const std::string start = loop.resume ? "" : fmt::format("{} = {}", v, c_affine(loop.begin, group_));
    const std::string last = c_affine(loop.end - hw::Affine(loop.step), group_);   // v + step <= end
    out_.line(fmt::format("for ({}; {} <= {}; {} += {}) {{", start, v, last, v, loop.step));
    out_.indent();
    DLCC_RETURN_IF_ERROR(body(loop.body));
    out_.dedent();
    out_.line("}");
    return ok_status();
  }

  std::string pointer(const KernelInstr& instr) const {
    const std::string base = instr.access < 0 ? "w" : fmt::format("x{}", instr.access);
    std::string offset = c_affine(instr.offset, group_);
    if (instr.index_register >= 0) {
      offset += fmt::format(" + dlcc_gather_index((int64_t){}, {}) * {}", lane(instr.index_register, 0), instr.index_extent, instr.index_stride);
    }
    return offset == "0" ? base : fmt::format("{} + {}", base, offset);
  }

  std::string vector_template(std::string_view name, DType type, int lanes) const {
    const hw::VectorOp* op = machine_.vector.find(name, type, lanes);
    if (op != nullptr && !op->emit_c.empty()) {
      return op->emit_c;
    }
    const auto it = defaults_.find({std::string(name), type});
    return it == defaults_.end() ? "" : it->second;
  }

  /// Fills a template; d is the register (or, of a store, the pointer).
  void use(std::string text, const std::string& d, const std::array<std::string, 3>& x) {
    const bool statement = text.find("{d}") != std::string::npos;
    for (size_t k = 0; k < x.size(); ++k) {
      text = replace_all(std::move(text), fmt::format("{{{}}}", k), x[k]);
    }
    text = replace_all(std::move(text), "{d}", d);
    if (!statement && !d.empty()) {
      text = d + " = " + text;
    }
    while (!text.empty() && (text.back() == ' ' || text.back() == ';')) {
      text.pop_back();
    }
    out_.line(text + ";");
  }

  void load(const KernelInstr& instr) {
    const std::string at = pointer(instr);
    const std::string d = fmt::format("r{}", instr.dst);
    if (instr.lanes == 1) {
      const std::string value = at == "w" || at[0] != '(' ? fmt::format("*({})", at) : "*" + at;
      out_.line(fmt::format("{} = {};", d, instr.type == DType::Bool ? fmt::format("(uint8_t)({} != 0)", value) : value));
      return;
    }
    const std::string text = is_vector(instr.dst) ? vector_template(instr.aligned ? "load" : "loadu", instr.type, instr.lanes) : "";
    if (!text.empty()) {
      use(text, d, {at, "", ""});
      return;
    }
    for (int i = 0; i < instr.lanes; ++i) {
      out_.line(fmt::format("{} = ({})[{}];", lane(instr.dst, i), at, i));
    }
  }

  void load_splat(const KernelInstr& instr) {
    const std::string text = is_vector(instr.dst) ? vector_template("load_splat", instr.type, instr.lanes) : "";
    if (!text.empty()) {
      use(text, fmt::format("r{}", instr.dst), {pointer(instr), "", ""});
    } else {
      splat(instr, fmt::format("*({})", pointer(instr)));
    }
  }

  void splat(const KernelInstr& instr, const std::string& value) {
    const std::string text = is_vector(instr.dst) ? vector_template("splat", instr.type, instr.lanes) : "";
    if (!text.empty()) {
      use(text, fmt::format("r{}", instr.dst), {value, "", ""});
      return;
    }
    for (int i = 0; i < instr.lanes; ++i) {
      out_.line(fmt::format("{} = {};", lane(instr.dst, i), value));
    }
  }

  void store(const KernelInstr& instr) {
    const std::string at = pointer(instr);
    const std::string text = is_vector(instr.src[0]) ? vector_template(instr.aligned ? "store" : "storeu", instr.type, instr.lanes) : "";
    if (!text.empty()) {
      use(replace_all(text, "{d}", "{1}"), "", {fmt::format("r{}", instr.src[0]), at, ""});
      return;
    }
    for (int i = 0; i < instr.lanes; ++i) {
      out_.line(fmt::format("({})[{}] = {};", at, i, lane(instr.src[0], i)));
    }
  }

  std::string vector_compute_template(const KernelInstr& instr, DType operand) const {
    const int arity = te::arity_of(instr.op);
    bool vectors = is_vector(instr.dst);
    for (int k = 0; k < arity; ++k) {
      vectors = vectors && is_vector(instr.src[static_cast<size_t>(k)]);
    }
    if (!vectors) {
      return "";
    }
    std::string text = vector_template(te::name_of(instr.op), instr.type, instr.lanes);
    if (text.empty() && operand != instr.type) {
      text = vector_template(te::name_of(instr.op), operand, instr.lanes);
    }
    if (!text.empty() || !is_float(operand) || operand == DType::F16) {
      return text;
    }
    switch (instr.op) {
      case Op::Add: return "{0} + {1}";
      case Op::Sub: return "{0} - {1}";
      case Op::Mul: return "{0} * {1}";
      case Op::Div: return "{0} / {1}";
      case Op::Neg: return "-{0}";
      default: return "";
    }
  }

  Status compute(const KernelInstr& instr) {
    const int arity = te::arity_of(instr.op);
    if (arity == 0 || te::is_transcendental(instr.op)) {
      return unsupported(leaf_.name, fmt::format("C emitters have no code for {} of {}", te::name_of(instr.op), name_of(instr.type)));
    }
    const DType operand = info(instr.src[instr.op == Op::Select ? 1 : 0]).type;
    std::array<std::string, 3> x;
    if (const std::string text = vector_compute_template(instr, operand); !text.empty()) {
      for (size_t k = 0; k < static_cast<size_t>(arity); ++k) {
        x[k] = fmt::format("r{}", instr.src[k]);
      }
      use(text, fmt::format("r{}", instr.dst), x);
      return ok_status();
    }
    for (int i = 0; i < instr.lanes; ++i) {
      for (size_t k = 0; k < static_cast<size_t>(arity); ++k) {
        x[k] = lane(instr.src[k], i);
      }
      out_.line(fmt::format("{} = {};", lane(instr.dst, i), c_scalar(instr.op, instr.type, operand, x)));
    }
    return ok_status();
  }

  void move(const KernelInstr& instr) {
    if (instr.lanes == 1 || (is_vector(instr.dst) && is_vector(instr.src[0]))) {
      out_.line(fmt::format("r{} = r{};", instr.dst, instr.src[0]));
      return;
    }
    for (int i = 0; i < instr.lanes; ++i) {
      out_.line(fmt::format("{} = {};", lane(instr.dst, i), lane(instr.src[0], i)));
    }
  }

  Status instruction(const KernelInstr& instr) {
    switch (instr.kind) {
      case KernelOp::Const: splat_or_set(instr, c_literal(instr.type, instr.number, instr.integer)); break;
      case KernelOp::Index: splat_or_set(instr, fmt::format("(int64_t)({})", c_affine(instr.offset, group_))); break;
      case KernelOp::Load: load(instr); break;
      case KernelOp::LoadSplat: load_splat(instr); break;
      case KernelOp::Store: store(instr); break;
      case KernelOp::Splat: splat_or_set(instr, lane(instr.src[0], 0)); break;
      case KernelOp::Move: move(instr); break;
      case KernelOp::Compute: return compute(instr);
    }
    return ok_status();
  }

  void splat_or_set(const KernelInstr& instr, const std::string& value) {
    if (instr.lanes == 1) {
      out_.line(fmt::format("r{} = {};", instr.dst, value));
    } else {
      splat(instr, value);
    }
  }

  const hw::Compute& leaf_;
  const hw::Group& group_;
  const hw::Machine& machine_;
  const CVectorDefaults& defaults_;
  Printer& out_;
};

}  // namespace

Status print_c_kernel(const hw::Compute& leaf, const hw::Group& group, const hw::Machine& machine, const CVectorDefaults& defaults, Printer& out) {
  return KernelPrinter(leaf, group, machine, defaults, out).print();
}

}  // namespace dlcc::targets
