// The tree of a group: loops, lets and guards as IR; transfers through box_code, computes through kernel_code.
#include "targets/x86/group_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/integer.h"
#include "base/te/evaluate.h"
#include "targets/x86/kernel_code.h"

namespace dlcc::targets::x86 {
namespace {

constexpr int64_t kScratchAlign = 128;

/// A view as bytes from its object's base: linear in the variables.
struct Linear {
  hw::Affine offset;  // of the element, in elements from the slot's or tensor's start
  DType type = DType::F32;
};

/// The half-open range of one box dim that is left after clipping.
struct Range {
  Value* lo = nullptr;
  Value* hi = nullptr;
};

class GroupCode {
 public:
  GroupCode(Ir& ir, BoxCode& boxes, const GroupContext& context, const hw::Group& group, llvm::Function* function)
      : ir_(ir),
        boxes_(boxes),
        context_(context),
        group_(group),
        function_(function),
        variables_(ir, group.vars.size()) {
    variables_.set(0, function->getArg(0));
    size_t rank = 1;
    hw::for_each_node(group.body, [&](const hw::Node& node) {
      if (const auto* dma = std::get_if<hw::Dma>(&node.v)) {
        rank = std::max(rank, dma->box.size());
      } else if (const auto* fill = std::get_if<hw::Fill>(&node.v)) {
        rank = std::max(rank, fill->box.size());
      }
    });
    dims_ = ir_.alloca_at_entry(ir_.b.getInt64Ty(), static_cast<int64_t>(rank) * kDimWords);
  }

  Status body(const hw::Body& nodes, bool outermost) {
    for (size_t k = 0; k < nodes.size(); ++k) {
      if (std::holds_alternative<hw::Barrier>(nodes[k].v)) {
        if (!outermost || (k != 0 && k + 1 != nodes.size())) {
          return unsupported(group_.info.name, "a barrier inside a group; x86 joins its threads only between groups");
        }
        continue;
      }
      DLCC_RETURN_IF_ERROR(std::visit([&](const auto& leaf) { return emit(leaf); }, nodes[k].v));
    }
    return ok_status();
  }

 private:
  Status emit(const hw::For& loop) {
    Status status = ok_status();
    DLCC_CHECK(loop.step > 0) << group_.info.name << ": step " << loop.step;
    ir_.loop(variables_.eval(loop.begin), variables_.eval(loop.end), loop.step, [&](Value* i) {
      variables_.set(loop.var, i);
      status = body(loop.body, false);
    });
    return status;
  }

  Status emit(const hw::Let& let) {
    Value* a = variables_.eval(let.a);
    const int64_t k = let.b.constant();
    switch (let.op) {
      case hw::LetOp::Assign:
        break;
      case hw::LetOp::FloorDiv:
        a = ir_.floor_div(a, k);
        break;
      case hw::LetOp::Mod:
        a = ir_.b.CreateSub(a, ir_.b.CreateMul(ir_.floor_div(a, k), ir_.i64(k)));
        break;
      case hw::LetOp::Min:
        a = ir_.min(a, variables_.eval(let.b));
        break;
      case hw::LetOp::Max:
        a = ir_.max(a, variables_.eval(let.b));
        break;
    }
    variables_.set(let.var, a);
    return ok_status();
  }

  Status emit(const hw::If& guard) {
    Value* condition = ir_.b.getTrue();
    for (const hw::Affine& a : guard.non_negative) {
      condition = ir_.b.CreateAnd(condition, ir_.b.CreateICmpSGE(variables_.eval(a), ir_.i64(0)));
    }
    Status status = ok_status();
    ir_.when(condition, [&] { status = body(guard.body, false); });
    return status;
  }

  // Copies are synchronous and each core has its own buffers, so there is nothing to signal or to wait for.
  Status emit(const hw::Signal&) { return ok_status(); }
  Status emit(const hw::Wait&) { return ok_status(); }
  Status emit(const hw::Barrier&) { return ok_status(); }

  Status emit(const hw::IntrinCall& call) {
    return unsupported(group_.info.name, fmt::format("intrinsic {} of the machine has no x86 code", call.intrinsic));
  }

  const hw::GlobalTensor& tensor(const hw::View& view) const {
    return context_.program.tensors.at(static_cast<size_t>(view.object));
  }
  const hw::Buffer& buffer(const hw::View& view) const { return group_.buffers.at(static_cast<size_t>(view.object)); }
  static bool is_tensor(const hw::View& view) { return view.kind == hw::ObjectKind::Tensor; }

  /// Address of element 0 of the view's tensor or slot.
  Value* base(const hw::View& view) {
    if (is_tensor(view)) {
      return ir_.at(function_->getArg(tensor(view).space == hw::Space::Arena ? 1 : 2), tensor(view).offset);
    }
    const hw::Buffer& b = buffer(view);
    const int64_t start = context_.scratch.start.at(static_cast<size_t>(b.memory)) + b.offset;
    return variables_.address(ir_.at(function_->getArg(3), start), view.slot, b.slot_bytes);
  }

  Result<Linear> linear(const hw::View& view) const {
    const std::vector<int64_t>* storage = nullptr;
    Linear result;
    if (is_tensor(view)) {
      storage = &tensor(view).shape;
      result.type = tensor(view).type;
    } else {
      const hw::Buffer& b = buffer(view);
      if (!b.layout.empty()) {
        return unsupported(group_.info.name,
                           fmt::format("buffer {} has a layout; x86 copies row-major boxes only", b.name));
      }
      storage = b.pitch.empty() ? &b.shape : &b.pitch;
      result.type = b.type;
    }
    DLCC_CHECK(storage->size() == view.index.size()) << group_.info.name << ": a view of another rank than its object";
    int64_t stride = 1;
    for (size_t d = storage->size(); d-- > 0;) {
      result.offset += view.index[d] * stride;
      stride *= (*storage)[d];
    }
    return result;
  }

  static hw::Affine without(const std::vector<hw::BoxDim>& box, hw::Affine a) {
    for (const hw::BoxDim& dim : box) {
      a = a.substitute(dim.var, 0);
    }
    return a;
  }

  /// Narrows `ranges` to the points inside the tensor; returns whether dims that no box dim moves are inside.
  Value* clip(const std::vector<hw::BoxDim>& box, const hw::View& view, std::vector<Range>& ranges) {
    Value* inside = ir_.b.getTrue();
    for (size_t d = 0; d < view.index.size(); ++d) {
      const int64_t size = tensor(view).shape[d];
      Value* start = variables_.eval(without(box, view.index[d]));
      bool moved = false;
      for (size_t k = 0; k < box.size(); ++k) {
        const int64_t step = view.index[d].coef(box[k].var);
        if (step != 0) {
          DLCC_CHECK(!moved) << group_.info.name << ": a tensor dim that depends on two box dims";
          moved = true;
          narrow(ranges[k], start, step, size);
        }
      }
      if (!moved) {
        Value* in = ir_.b.CreateAnd(ir_.b.CreateICmpSGE(start, ir_.i64(0)), ir_.b.CreateICmpSLT(start, ir_.i64(size)));
        inside = ir_.b.CreateAnd(inside, in);
      }
    }
    return inside;
  }

  /// Keeps the v with 0 <= start + step * v < size.
  void narrow(Range& range, Value* start, int64_t step, int64_t size) {
    auto& b = ir_.b;
    // -start <= step * v <= size - 1 - start, or mirrored for a negative step
    Value* low = b.CreateNeg(start);
    Value* high = b.CreateSub(ir_.i64(size - 1), start);
    if (step < 0) {
      Value* const old_low = low;
      low = b.CreateNeg(high);
      high = b.CreateNeg(old_low);
      step = -step;
    }
    range.lo = ir_.max(range.lo, ir_.floor_div(b.CreateAdd(low, ir_.i64(step - 1)), step));
    range.hi = ir_.min(range.hi, b.CreateAdd(ir_.floor_div(high, step), ir_.i64(1)));
  }

  void set_dims(const std::vector<hw::BoxDim>& box, const std::vector<Range>& ranges, const Linear& dst,
                const Linear& src) {
    auto& b = ir_.b;
    for (size_t k = 0; k < box.size(); ++k) {
      const std::array<Value*, kDimWords> words = {b.CreateSub(ranges[k].hi, ranges[k].lo),
                                                   ir_.i64(dst.offset.coef(box[k].var) * bytes_of(dst.type)),
                                                   ir_.i64(src.offset.coef(box[k].var) * bytes_of(src.type))};
      for (size_t w = 0; w < words.size(); ++w) {
        b.CreateStore(words[w], ir_.at(dims_, static_cast<int64_t>((k * kDimWords + w) * sizeof(int64_t))));
      }
    }
  }

  /// Address of the view's element at the box's point `at` (null: the origin).
  Value* address(const std::vector<hw::BoxDim>& box, const hw::View& view, const Linear& linear,
                 const std::vector<Range>* at) {
    Value* address = variables_.address(base(view), without(box, linear.offset), bytes_of(linear.type));
    for (size_t k = 0; at != nullptr && k < box.size(); ++k) {
      const int64_t stride = linear.offset.coef(box[k].var) * bytes_of(linear.type);
      address = ir_.at(address, ir_.b.CreateMul((*at)[k].lo, ir_.i64(stride)));
    }
    return address;
  }

  void fill_box(const std::vector<hw::BoxDim>& box, const std::vector<Range>& whole, const hw::View& view,
                const Linear& linear, double value) {
    const auto bits = static_cast<unsigned>(8 * bytes_of(linear.type));
    Value* element =
        llvm::ConstantInt::get(ir_.b.getContext(), llvm::APInt(64, te::element_bits(value, linear.type)).trunc(bits));
    Value* to = address(box, view, linear, nullptr);
    set_dims(box, whole, linear, linear);
    boxes_.fill(to, element, dims_, static_cast<int>(box.size()));
  }

  std::vector<Range> whole(const std::vector<hw::BoxDim>& box) {
    std::vector<Range> ranges;
    for (const hw::BoxDim& dim : box) {
      ranges.push_back({ir_.i64(0), variables_.eval(dim.extent)});
    }
    return ranges;
  }

  Status emit(const hw::Fill& fill) {
    DLCC_TRY(const Linear to, linear(fill.dst));
    fill_box(fill.box, whole(fill.box), fill.dst, to, fill.value);
    return ok_status();
  }

  Status look_up(const hw::Lookup& lookup) {
    auto& b = ir_.b;
    DLCC_TRY(const Linear index, linear(lookup.index));
    Value* element = b.CreateLoad(ir_.memory_type(index.type, 1), address({}, lookup.index, index, nullptr));
    Value* value = b.CreateIntCast(element, b.getInt64Ty(), is_signed_int(index.type));
    variables_.set(lookup.var, ir_.looked_up(value, lookup.extent));
    return ok_status();
  }

  Status emit(const hw::Dma& dma) {
    DLCC_TRY(const Linear src, linear(dma.src));
    DLCC_TRY(const Linear dst, linear(dma.dst));
    if (src.type != dst.type) {
      return unsupported(group_.info.name, fmt::format("a copy from {} to {}", name_of(src.type), name_of(dst.type)));
    }
    auto& b = ir_.b;
    if (dma.lookup.has_value()) {
      DLCC_RETURN_IF_ERROR(look_up(*dma.lookup));
    }
    const std::vector<Range> all = whole(dma.box);
    std::vector<Range> ranges = all;
    Value* inside = is_tensor(dma.src) ? clip(dma.box, dma.src, ranges) : b.getTrue();
    if (is_tensor(dma.dst)) {
      inside = b.CreateAnd(inside, clip(dma.box, dma.dst, ranges));
    }
    if (dma.fill && is_tensor(dma.src)) {
      DLCC_CHECK(!is_tensor(dma.dst)) << group_.info.name << ": a filling copy between two tensors";
      Value* complete = inside;
      for (size_t k = 0; k < ranges.size(); ++k) {
        Value* same = b.CreateAnd(b.CreateICmpEQ(ranges[k].lo, all[k].lo), b.CreateICmpEQ(ranges[k].hi, all[k].hi));
        complete = b.CreateAnd(complete, same);
      }
      ir_.when(b.CreateNot(complete), [&] { fill_box(dma.box, all, dma.dst, dst, *dma.fill); });
    }
    ir_.when(inside, [&] {
      Value* to = address(dma.box, dma.dst, dst, &ranges);
      Value* from = address(dma.box, dma.src, src, &ranges);
      set_dims(dma.box, ranges, dst, src);
      boxes_.copy(to, from, dims_, static_cast<int>(dma.box.size()), bytes_of(src.type));
    });
    return ok_status();
  }

  Status emit(const hw::Compute& leaf) {
    std::vector<AccessBase> bases;
    const auto add = [&](const hw::View& view) {
      bases.push_back({base(view), is_tensor(view) ? tensor(view).type : buffer(view).type});
    };
    add(leaf.write);
    for (const hw::ComputeRead& read : leaf.reads) {
      add(read.view);
    }
    return emit_kernel(ir_, leaf, bases, variables_);
  }

  Ir& ir_;
  BoxCode& boxes_;
  const GroupContext& context_;
  const hw::Group& group_;
  llvm::Function* function_;
  Variables variables_;
  Value* dims_ = nullptr;
};

}  // namespace

ScratchMap scratch_map(const hw::Program& program, const hw::Machine& machine) {
  std::vector<int64_t> used(machine.memories.size(), 0);
  for (const hw::Group& group : program.groups) {
    for (const hw::Buffer& buffer : group.buffers) {
      int64_t& end = used.at(static_cast<size_t>(buffer.memory));
      end = std::max(end, buffer.offset + buffer.slot_bytes * buffer.copies);
    }
  }
  ScratchMap map;
  for (const int64_t bytes : used) {
    map.start.push_back(map.bytes);
    map.bytes += round_up(bytes, kScratchAlign);
  }
  return map;
}

Status emit_group(Ir& ir, BoxCode& boxes, const GroupContext& context, const hw::Group& group,
                  const std::string& name) {
  llvm::Type* const pointer = ir.pointer_type();
  auto* function = ir.define(name, ir.b.getVoidTy(), {ir.b.getInt64Ty(), pointer, pointer, pointer},
                             llvm::GlobalValue::ExternalLinkage);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  for (unsigned k = 1; k <= 3; ++k) {
    function->addParamAttr(k, llvm::Attribute::NoAlias);
  }
  function->addParamAttr(2, llvm::Attribute::ReadOnly);
  DLCC_RETURN_IF_ERROR(GroupCode(ir, boxes, context, group, function).body(group.body, true));
  ir.b.CreateRetVoid();
  return ok_status();
}

}  // namespace dlcc::targets::x86
