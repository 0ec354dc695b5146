// Leaves of a group as C statements. Boxes become calls of runtime/dlcc_slave.h, kernels functions of their own.
#include "targets/sunway/group_code.h"

#include <fmt/format.h>

#include <set>

#include "base/check.h"
#include "base/text.h"
#include "targets/c_printer.h"
#include "targets/sunway/group_vars.h"

namespace dlcc::targets::sunway {
namespace {

using hw::Affine;
using hw::VarId;
using hw::View;

constexpr size_t kMaxRank = 8;      // DLCC_MAX_RANK
constexpr int kMaxEngines = 4;      // DLCC_MAX_ENGINES

const CVectorDefaults& vector_defaults() {
  static const CVectorDefaults table = {
      {{"fma", DType::F32}, "DLCC_VFMA_F32({0}, {1}, {2})"}, {{"fma", DType::F64}, "DLCC_VFMA_F64({0}, {1}, {2})"},
      {{"load", DType::F32}, "simd_load({d}, {0})"},         {{"load", DType::F64}, "simd_load({d}, {0})"},
      {{"store", DType::F32}, "simd_store({0}, {1})"},       {{"store", DType::F64}, "simd_store({0}, {1})"},
      {{"loadu", DType::F32}, "simd_loadu({d}, {0})"},       {{"loadu", DType::F64}, "simd_loadu({d}, {0})"},
      {{"storeu", DType::F32}, "simd_storeu({0}, {1})"},     {{"storeu", DType::F64}, "simd_storeu({0}, {1})"},
      {{"load_splat", DType::F32}, "simd_loade({d}, {0})"},  {{"load_splat", DType::F64}, "simd_loade({d}, {0})"},
      {{"splat", DType::F32}, "simd_set_floatv4({0}, {0}, {0}, {0})"},
      {{"splat", DType::F64}, "simd_set_doublev4({0}, {0}, {0}, {0})"},
  };
  return table;
}

/// An index without the box's variables, and the one box dim that moves it.
struct SplitIndex {
  Affine base;
  int box_dim = hw::kNone;
  int64_t coef = 0;
};
SplitIndex split(const Affine& index, const std::vector<hw::BoxDim>& box) {
  SplitIndex out{index, hw::kNone, 0};
  for (size_t d = 0; d < box.size(); ++d) {
    if (const int64_t coef = index.coef(box[d].var); coef != 0) {
      DLCC_CHECK(out.box_dim == hw::kNone) << "an index of a transfer depends on two dims of its box";
      out.box_dim = static_cast<int>(d);
      out.coef = coef;
      out.base -= Affine::var(box[d].var, coef);
    }
  }
  return out;
}

/// Byte address of a box's first point as an affine expression, and byte strides of its dims.
struct Side {
  Affine address;
  std::vector<int64_t> stride;
};
Side side_of(const View& view, const std::vector<int64_t>& extents, int64_t element, const std::vector<hw::BoxDim>& box, Affine start) {
  Side side{std::move(start), std::vector<int64_t>(box.size(), 0)};
  int64_t stride = element;
  for (size_t d = extents.size(); d-- > 0;) {
    const SplitIndex index = split(view.index[d], box);
    side.address += index.base * stride;
    if (index.box_dim != hw::kNone) {
      side.stride[static_cast<size_t>(index.box_dim)] += index.coef * stride;
    }
    stride *= extents[d];
  }
  return side;
}

class GroupCode {
 public:
  GroupCode(const hw::Program& program, const hw::Machine& machine, int number)
      : program_(program), machine_(machine), group_(program.groups.at(static_cast<size_t>(number))), number_(number),
        words_(reply_words(group_)) {}

  Result<std::string> print() {
    DLCC_RETURN_IF_ERROR(check_buffers());
    out_.line(fmt::format("void dlcc_group_{}(dlcc_slave *s) {{", number_));
    out_.indent();
    out_.line(fmt::format("const long {} = s->core;", var(0)));
    used_ = used_vars(group_);
    std::set<VarId> vars;
    bound_vars(group_.body, vars);
    for (const VarId v : vars) {
      out_.line(fmt::format("long {};", var(v)));
    }
    out_.line(fmt::format("(void){};", var(0)));
    DLCC_RETURN_IF_ERROR(body(group_.body));
    out_.dedent();
    out_.line("}");
    return fmt::format("/* {}: {} ({}) */\n", number_, c_comment(group_.info.name), c_comment(group_.info.tile)) + kernels_ + out_.take();
  }

 private:
  std::string var(VarId v) const { return c_variable(group_, v); }
  std::string text(const Affine& affine) const { return c_affine(affine, group_); }
  Diags refuse(const std::string& message) const { return unsupported(group_.info.name, message); }

  void bound_vars(const hw::Body& body, std::set<VarId>& vars) const {
    hw::for_each_node(body, [&](const hw::Node& node) {
      if (const auto* loop = std::get_if<hw::For>(&node.v)) {
        vars.insert(loop->var);
      } else if (const auto* let = std::get_if<hw::Let>(&node.v); let != nullptr && used_.contains(let->var)) {
        vars.insert(let->var);
      } else if (const auto* dma = std::get_if<hw::Dma>(&node.v); dma != nullptr && dma->lookup.has_value()) {
        vars.insert(dma->lookup->var);
      }
    });
  }

  Status check_buffers() const {
    for (const hw::Buffer& buffer : group_.buffers) {
      if (buffer.memory != machine_.work_memory()) {
        return refuse(fmt::format("buffer {} is not in {}, the one scratchpad of athread C", buffer.name,
                                  machine_.memories.at(static_cast<size_t>(machine_.work_memory())).name));
      }
      if (!buffer.layout.empty()) {
        return refuse(fmt::format("buffer {} has a blocked layout; athread C has row-major buffers only", buffer.name));
      }
    }
    for (const hw::Channel& channel : group_.channels) {
      if (channel.kind != hw::ChannelKind::Reply) {
        return refuse(fmt::format("channel {} is a flag; athread C has reply words only", channel.name));
      }
    }
    return ok_status();
  }

  Status body(const hw::Body& nodes) {
    for (const hw::Node& node : nodes) {
      DLCC_RETURN_IF_ERROR(std::visit([&](const auto& leaf) { return print_node(leaf); }, node.v));
    }
    return ok_status();
  }

  Status block(const std::string& head, const hw::Body& nodes) {
    out_.line(head + " {");
    out_.indent();
    DLCC_RETURN_IF_ERROR(body(nodes));
    out_.dedent();
    out_.line("}");
    return ok_status();
  }

  Status print_node(const hw::For& loop) {
    const std::string v = var(loop.var);
    return block(fmt::format("for ({0} = {1}; {0} < {2}; {0} += {3})", v, text(loop.begin), text(loop.end), loop.step), loop.body);
  }

  Status print_node(const hw::If& guard) {
    std::string condition;
    for (const Affine& e : guard.non_negative) {
      condition += (condition.empty() ? "" : " && ") + text(e) + " >= 0";
    }
    return block(fmt::format("if ({})", condition.empty() ? "1" : condition), guard.body);
  }

  Status print_node(const hw::Let& let) {
    if (!used_.contains(let.var)) {
      return ok_status();
    }
    const std::string a = text(let.a), b = text(let.b);
    std::string value;
    switch (let.op) {
      case hw::LetOp::Assign: value = a; break;
      case hw::LetOp::FloorDiv: value = fmt::format("dlcc_floordiv({}, {})", a, b); break;
      case hw::LetOp::Mod: value = fmt::format("dlcc_floormod({}, {})", a, b); break;
      case hw::LetOp::Min: value = fmt::format("dlcc_least({}, {})", a, b); break;
      case hw::LetOp::Max: value = fmt::format("dlcc_most({}, {})", a, b); break;
    }
    out_.line(fmt::format("{} = {};", var(let.var), value));
    return ok_status();
  }

  const hw::Buffer& buffer(const View& view) const { return group_.buffers.at(static_cast<size_t>(view.object)); }
  const hw::GlobalTensor& tensor(const View& view) const { return program_.tensors.at(static_cast<size_t>(view.object)); }

  Side local_side(const View& view, const std::vector<hw::BoxDim>& box) const {
    const hw::Buffer& b = buffer(view);
    return side_of(view, b.pitch.empty() ? b.shape : b.pitch, bytes_of(b.type), box, Affine(b.offset) + view.slot * b.slot_bytes);
  }

  static std::string plus(const std::string& base, const std::string& offset) { return offset == "0" ? base : base + " + " + offset; }
  static const char* space(const hw::GlobalTensor& tensor) { return tensor.space == hw::Space::Weights ? "s->space[0]" : "s->space[1]"; }

  std::string local_pointer(const Affine& address) const { return plus("s->ldm", text(address)); }

  void box_dims(const std::vector<hw::BoxDim>& box, const std::vector<int64_t>& global, const std::vector<int64_t>& local) {
    for (size_t d = 0; d < box.size(); ++d) {
      out_.line(fmt::format("dlcc_box_dim(&b, {}, {}, {}, {});", d, text(box[d].extent), global[d], local[d]));
    }
  }

  void clips(const View& view, const std::vector<hw::BoxDim>& box) {
    const hw::GlobalTensor& t = tensor(view);
    for (size_t d = 0; d < t.shape.size(); ++d) {
      const SplitIndex index = split(view.index[d], box);
      if (index.box_dim != hw::kNone) {
        out_.line(fmt::format("dlcc_box_clip(&b, {}, {}, {}, {});", index.box_dim, text(index.base), index.coef, t.shape[d]));
      } else if (!index.base.is_constant() || index.base.constant() < 0 || index.base.constant() >= t.shape[d]) {
        out_.line(fmt::format("dlcc_box_clip_all(&b, {}, {});", text(index.base), t.shape[d]));
      }
    }
  }

  Status print_node(const hw::Dma& dma) {
    const bool put = dma.dst.kind == hw::ObjectKind::Tensor;
    const View& global = put ? dma.dst : dma.src;
    const View& local = put ? dma.src : dma.dst;
    const int engine = machine_.paths.at(static_cast<size_t>(dma.path)).engine;
    if (global.kind != hw::ObjectKind::Tensor || local.kind != hw::ObjectKind::Buffer || engine == hw::kNone || dma.channel == hw::kNone ||
        machine_.dma.at(static_cast<size_t>(engine)).kind != hw::EngineKind::Async || engine >= kMaxEngines || dma.box.size() > kMaxRank) {
      return refuse(fmt::format("athread C moves data between main memory and LDM with up to {} asynchronous engines, in boxes of up to {} dims",
                                kMaxEngines, kMaxRank));
    }
    if (dma.lookup.has_value()) {
      const hw::Lookup& lookup = *dma.lookup;
      out_.line(fmt::format("{} = dlcc_gather_index((int64_t)*(const {} *)({}), {});", var(lookup.var), c_type(buffer(lookup.index).type),
                            local_pointer(local_side(lookup.index, {}).address), lookup.extent));
    }
    const hw::GlobalTensor& t = tensor(global);
    const Side far = side_of(global, t.shape, bytes_of(t.type), dma.box, Affine(t.offset));
    const Side near = local_side(local, dma.box);
    out_.line(fmt::format("{{ /* {} {} {} */", c_comment(t.name), put ? "<-" : "->", c_comment(buffer(local).name)));
    out_.indent();
    out_.line("dlcc_box b;");
    if (dma.fill && !put) {
      out_.line("dlcc_box whole;");
    }
    out_.line(fmt::format("dlcc_box_start(&b, {}, {}, {}, {});", dma.box.size(), bytes_of(t.type), plus(space(t), text(far.address)),
                          local_pointer(near.address)));
    box_dims(dma.box, far.stride, near.stride);
    if (dma.fill && !put) {
      out_.line("whole = b;");
    }
    clips(global, dma.box);
    const std::string word = text(Affine(words_.first.at(static_cast<size_t>(dma.channel))) + dma.channel_slot);
    if (dma.fill && !put) {
      out_.line(fmt::format("dlcc_transfer_filled(s, &b, &whole, {}, &s->engine[{}], {});", c_bits(t.type, *dma.fill), engine, word));
    } else {
      out_.line(fmt::format("dlcc_transfer(s, &b, &s->engine[{}], {}, {});", engine, put ? 1 : 0, word));
    }
    out_.dedent();
    out_.line("}");
    return ok_status();
  }

  Status print_node(const hw::Fill& fill) {
    if (fill.dst.kind != hw::ObjectKind::Buffer || fill.box.size() > kMaxRank) {
      return refuse(fmt::format("athread C fills buffers only, in boxes of up to {} dims", kMaxRank));
    }
    const Side near = local_side(fill.dst, fill.box);
    const DType type = buffer(fill.dst).type;
    out_.line(fmt::format("{{ /* fill {} */", c_comment(buffer(fill.dst).name)));
    out_.indent();
    out_.line("dlcc_box b;");
    out_.line(fmt::format("dlcc_box_start(&b, {}, {}, 0, {});", fill.box.size(), bytes_of(type), local_pointer(near.address)));
    box_dims(fill.box, std::vector<int64_t>(fill.box.size(), 0), near.stride);
    out_.line(fmt::format("dlcc_fill(&b, {});", c_bits(type, fill.value)));
    out_.dedent();
    out_.line("}");
    return ok_status();
  }

  std::string access_pointer(const View& view, const char* constness, const std::string& name) const {
    const bool in_ldm = view.kind == hw::ObjectKind::Buffer;
    const DType type = in_ldm ? buffer(view).type : tensor(view).type;
    const std::string base = in_ldm ? local_pointer(Affine(buffer(view).offset) + view.slot * buffer(view).slot_bytes)
                                    : plus(space(tensor(view)), fmt::format("{}", tensor(view).offset));
    return fmt::format("{0}{1} *const {2} = ({0}{1} *)({3});", constness, c_type(type), name, base);
  }

  Status print_node(const hw::Compute& leaf) {
    if (leaf.kernel.empty()) {
      return refuse(fmt::format("statement {} has no kernel", leaf.name));
    }
    const KernelUse use = kernel_use(leaf);
    std::string parameters = "dlcc_slave *s", arguments = "s";
    for (const VarId v : use.outer) {
      parameters += ", const long " + var(v);
      arguments += ", " + var(v);
    }
    const std::string name = fmt::format("dlcc_g{}_k{}", number_, kernel_count_++);
    Printer kernel;
    kernel.line(fmt::format("/* {} */", c_comment(leaf.name)));
    kernel.line(fmt::format("static DLCC_OUT_OF_LINE void {}({}) {{", name, parameters));
    kernel.indent();
    for (const int a : use.accesses) {
      kernel.line(a < 0 ? access_pointer(leaf.write, "", "w")
                        : access_pointer(leaf.reads.at(static_cast<size_t>(a)).view, "const ", fmt::format("x{}", a)));
    }
    for (const VarId v : use.loops) {
      kernel.line(fmt::format("long {};", var(v)));
    }
    DLCC_RETURN_IF_ERROR(print_c_kernel(leaf, group_, machine_, vector_defaults(), kernel));
    kernel.dedent();
    kernel.line("}");
    kernels_ += kernel.take();
    out_.line(fmt::format("{}({});", name, arguments));
    return ok_status();
  }

  Status print_node(const hw::IntrinCall& call) {
    return refuse(fmt::format("intrinsic {} has no athread C form", machine_.intrinsics.at(static_cast<size_t>(call.intrinsic)).id));
  }
  Status print_node(const hw::Signal&) { return refuse("a signal without flag channels"); }
  Status print_node(const hw::Wait& wait) {
    out_.line(fmt::format("dlcc_wait(s, {});", text(Affine(words_.first.at(static_cast<size_t>(wait.channel))) + wait.slot)));
    return ok_status();
  }
  Status print_node(const hw::Barrier&) {
    out_.line("dlcc_barrier();");
    return ok_status();
  }

  const hw::Program& program_;
  const hw::Machine& machine_;
  const hw::Group& group_;
  int number_;
  ReplyWords words_;
  std::set<VarId> used_;         // variables that the printed C reads
  Printer out_;
  std::string kernels_;
  int kernel_count_ = 0;
};

}  // namespace

ReplyWords reply_words(const hw::Group& group) {
  ReplyWords words;
  for (const hw::Channel& channel : group.channels) {
    words.first.push_back(words.count);
    words.count += channel.slots;
  }
  return words;
}

Result<std::string> group_code(const hw::Program& program, const hw::Machine& machine, int group) {
  return GroupCode(program, machine, group).print();
}

}  // namespace dlcc::targets::sunway
