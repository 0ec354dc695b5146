// Kernel instructions and loops. Registers are allocas that LLVM turns into SSA values.
#include "targets/x86/kernel_code.h"

#include <fmt/format.h>

#include "targets/x86/scalar_code.h"

namespace dlcc::targets::x86 {

using hw::KernelInstr;
using hw::KernelOp;

Value* Variables::get(hw::VarId var) const {
  Value* value = values_.at(static_cast<size_t>(var));
  DLCC_CHECK(value != nullptr) << "variable " << var << " is not bound";
  return value;
}

Value* Variables::eval(const hw::Affine& affine) const {
  Value* sum = nullptr;
  for (const te::Term& term : affine.terms()) {
    Value* part = term.coef == 1 ? get(term.var) : ir_.b.CreateMul(get(term.var), ir_.i64(term.coef));
    sum = sum == nullptr ? part : ir_.b.CreateAdd(sum, part);
  }
  if (sum == nullptr) {
    return ir_.i64(affine.constant());
  }
  return affine.constant() == 0 ? sum : ir_.b.CreateAdd(sum, ir_.i64(affine.constant()));
}

Value* Variables::address(Value* base, const hw::Affine& affine, int64_t scale) const {
  for (const te::Term& term : affine.terms()) {
    base = ir_.at(base, ir_.b.CreateMul(get(term.var), ir_.i64(term.coef * scale)));
  }
  return ir_.at(base, affine.constant() * scale);
}

namespace {

class KernelCode {
 public:
  KernelCode(Ir& ir, const hw::Compute& leaf, const std::vector<AccessBase>& bases, Variables& variables)
      : ir_(ir), leaf_(leaf), bases_(bases), variables_(variables) {
    for (const hw::KernelRegister& r : leaf.kernel.registers) {
      registers_.push_back(ir_.alloca_at_entry(ir_.value_type(r.type, r.lanes)));
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

 private:
  Status loop(const hw::KernelLoop& loop) {
    Status status = ok_status();
    Value* begin = loop.resume ? variables_.get(loop.var) : variables_.eval(loop.begin);
    Value* stopped = ir_.whole_steps(begin, variables_.eval(loop.end), loop.step, [&](Value* i) {
      variables_.set(loop.var, i);
      status = body(loop.body);
    });
    variables_.set(loop.var, stopped);
    return status;
  }

  const hw::KernelRegister& info(int r) const { return leaf_.kernel.registers.at(static_cast<size_t>(r)); }

  Value* read(int r) {
    return ir_.b.CreateLoad(ir_.value_type(info(r).type, info(r).lanes), registers_.at(static_cast<size_t>(r)));
  }

  void write(const KernelInstr& instr, Value* value) {
    DLCC_CHECK(info(instr.dst).type == instr.type && info(instr.dst).lanes == instr.lanes)
        << leaf_.name << ": register " << instr.dst << " does not have the instruction's type";
    ir_.b.CreateStore(value, registers_.at(static_cast<size_t>(instr.dst)));
  }

  Value* splat(Value* x, int lanes) {
    return lanes == 1 ? x : ir_.b.CreateVectorSplat(static_cast<unsigned>(lanes), x);
  }

  Value* address(const KernelInstr& instr) {
    const AccessBase& base = bases_.at(static_cast<size_t>(instr.access + 1));
    DLCC_CHECK(base.type == instr.type) << leaf_.name << ": access " << instr.access << " of another type";
    Value* address = variables_.address(base.pointer, instr.offset, bytes_of(base.type));
    if (instr.index_register < 0) {
      return address;
    }
    auto& b = ir_.b;
    Value* index =
        b.CreateIntCast(read(instr.index_register), b.getInt64Ty(), is_signed_int(info(instr.index_register).type));
    return ir_.at(address, b.CreateMul(ir_.looked_up(index, instr.index_extent), ir_.i64(instr.index_stride * bytes_of(base.type))));
  }

  Value* load(const KernelInstr& instr, int lanes) {
    // x86 loads vectors at full speed from any address; the alignment of an element is all that is promised.
    const llvm::Align align(static_cast<uint64_t>(bytes_of(instr.type)));
    Value* value = ir_.b.CreateAlignedLoad(ir_.memory_type(instr.type, lanes), address(instr), align);
    return instr.type == DType::Bool ? ir_.b.CreateICmpNE(value, ir_.constant(DType::U8, lanes, 0, 0)) : value;
  }

  void store(const KernelInstr& instr) {
    const llvm::Align align(static_cast<uint64_t>(bytes_of(instr.type)));
    Value* value = read(instr.src[0]);
    if (instr.type == DType::Bool) {
      value = ir_.b.CreateZExt(value, ir_.memory_type(DType::Bool, instr.lanes));
    }
    ir_.b.CreateAlignedStore(value, address(instr), align);
  }

  Status compute(const KernelInstr& instr) {
    std::array<Value*, 3> x = {};
    const int arity = te::arity_of(instr.op);
    for (int k = 0; k < arity; ++k) {
      DLCC_CHECK(info(instr.src[static_cast<size_t>(k)]).lanes == instr.lanes)
          << leaf_.name << ": lanes of operand " << k;
      x[static_cast<size_t>(k)] = read(instr.src[static_cast<size_t>(k)]);
    }
    const DType operand = arity == 0 ? instr.type : info(instr.src[instr.op == te::Op::Select ? 1 : 0]).type;
    Value* value = arity == 0 ? nullptr : scalar_op(ir_, instr.op, instr.type, operand, x);
    if (value == nullptr) {
      return unsupported(leaf_.name,
                         fmt::format("x86 has no code for {} of {}", te::name_of(instr.op), name_of(instr.type)));
    }
    write(instr, value);
    return ok_status();
  }

  Status instruction(const KernelInstr& instr) {
    switch (instr.kind) {
      case KernelOp::Const:
        write(instr, ir_.constant(instr.type, instr.lanes, instr.number, instr.integer));
        break;
      case KernelOp::Index:
        write(instr, splat(variables_.eval(instr.offset), instr.lanes));
        break;
      case KernelOp::Load:
        write(instr, load(instr, instr.lanes));
        break;
      case KernelOp::LoadSplat:
        write(instr, splat(load(instr, 1), instr.lanes));
        break;
      case KernelOp::Store:
        store(instr);
        break;
      case KernelOp::Splat: {
        Value* x = read(instr.src[0]);
        write(instr,
              splat(info(instr.src[0]).lanes == 1 ? x : ir_.b.CreateExtractElement(x, uint64_t{0}), instr.lanes));
        break;
      }
      case KernelOp::Move:
        write(instr, read(instr.src[0]));
        break;
      case KernelOp::Compute:
        return compute(instr);
    }
    return ok_status();
  }

  Ir& ir_;
  const hw::Compute& leaf_;
  const std::vector<AccessBase>& bases_;
  Variables& variables_;
  std::vector<llvm::AllocaInst*> registers_;
};

}  // namespace

Status emit_kernel(Ir& ir, const hw::Compute& leaf, const std::vector<AccessBase>& bases, Variables& variables) {
  if (leaf.kernel.empty()) {
    return unsupported(leaf.name, "the leaf has no vector kernel, and x86 has no other way to run it");
  }
  return KernelCode(ir, leaf, bases, variables).body(leaf.kernel.body);
}

}  // namespace dlcc::targets::x86
