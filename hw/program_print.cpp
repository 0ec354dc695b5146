// Program -> text. Line breaks and indentation are for people; the reader (hw/program_parse.cpp) sees tokens only.
//
// clang-format off
//   program mnist machine sw26010 arena 123904 weights 4096
//   tensor x f32[1,8,28,28] arena 0
//   inputs [x] outputs [y]
//   group "conv_1" kind contraction tile "co:16 oh:8" flops 903168 bound 5210 nodes ["Conv_0", "Relu_1"] intrinsics []
//   vars [core, t, s, n, c, i, j]
//   buffer xb ldm f32[1,8,10,30] pitch [1,8,10,32] copies 2 offset 0 slot 9600
//   buffer zb l0a f16[30,40] layout [1:0/16, 0:0/1, 1:16/1] copies 1 offset 0 slot 2880 - dim:size/divisor, outer first
//   channel xb.ready reply core -> core slots 2 initial 0          - or flag; from pipe -> to pipe
//   {
//     for t = core to 32 step 64 {
//       let n = min(8, -8*t + 30)                                  - or floor(a, k), mod(a, k), max(a, b), a
//       if -t + 3, n - 1 { ... }                                   - all must be >= 0
//       dma dram_ldm @x[0, c, 8*t + i - 1, j] -> xb{t}[0, c, i, j] over (c:8, i:n max 10, j:30) pad 0 reply xb.ready[t]
//       wait xb.ready[t]
//       signal f[0]
//       barrier
//       fill core yb[c, i] = 0 over (c:8, i:n max 8)
//       compute conv_1 on core over (c:8, i:n max 8, k:9 red) {
//         write yb[c, i] sum                                       - accumulates with that monoid; without: Map
//         read xb{t}[0, c, i + k, 0]
//         read table[0] gather 0 from 0                            - dim 0 is index + value of read 0
//         body [f32 load 0, f32 load 1, f32 mul 0 1]               - operands are positions in the list
//         index [0, 8*t, 0]                                        - origin of each dim, if the body uses positions
//         kernel [12 f32x8, i64] {                                 - registers, numbered in order
//           for i = 0 to n step 1 {                                - or: for i = resume to n step 1
//             r0 = load f32x8 read 0 [30*i] aligned
//             r1 = op neg f32x8 r0
//             store f32x8 write [8*i] r1
//           }
//         }
//       }
//       call mmad_f16 over (i:16, j:16, k:16) (a[i, k], b[k, j], c[i, j]) params (16, 16, 16, 1)
//     }
//   }
// clang-format on
//
// Tensors are written @name, buffers name{slot} ({0} is left out). Names as in hw/program_names.h.
#include "base/text.h"
#include "hw/kernel_text.h"
#include "hw/program.h"
#include "hw/program_names.h"

namespace dlcc::hw {
namespace {

template <class T, class F>
std::string list(const std::vector<T>& items, F&& print_item) {
  std::string out;
  for (const T& item : items) {
    if (!out.empty()) {
      out += ", ";
    }
    out += print_item(item);
  }
  return out;
}

std::string int_list(const std::vector<int64_t>& items) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    out += (i == 0 ? "" : ",") + std::to_string(items[i]);
  }
  return out + "]";
}

std::string name_list(const std::vector<std::string>& names) {
  return list(names, [](const std::string& n) { return quote_name(n); });
}

std::string type_of(DType type, const std::vector<int64_t>& shape) {
  return std::string(name_of(type)) + int_list(shape);
}

template <class T>
Names names_of(const std::vector<T>& items) {
  Names names;
  for (const T& item : items) {
    names.add(item.name);
  }
  return names;
}

class ProgramPrinter {
 public:
  ProgramPrinter(const Program& program, const Machine& machine)
      : program_(program),
        tensors_(names_of(program.tensors)),
        memories_(names_of(machine.memories)),
        paths_(names_of(machine.paths)),
        pipes_(names_of(machine.pipes)) {
    for (const Intrinsic& intrinsic : machine.intrinsics) {
      intrinsics_.add(intrinsic.id);
    }
  }

  std::string run() {
    out_.line("program " + quote_name(program_.model) + " machine " + quote_name(program_.machine) + " arena " +
              std::to_string(program_.arena_bytes) + " weights " + std::to_string(program_.weights_bytes));
    for (const GlobalTensor& tensor : program_.tensors) {
      out_.line("tensor " + quote_name(tensor.name) + " " + type_of(tensor.type, tensor.shape) +
                (tensor.space == Space::Weights ? " weights " : " arena ") + std::to_string(tensor.offset));
    }
    const auto refs = [&](const std::vector<int>& ids) {
      return list(ids, [&](int id) { return tensors_.spell(id); });
    };
    out_.line("inputs [" + refs(program_.inputs) + "] outputs [" + refs(program_.outputs) + "]");
    for (const Group& group : program_.groups) {
      print_group(group);
    }
    return out_.take();
  }

 private:
  void print_group(const Group& group) {
    const LayerInfo& info = group.info;
    out_.line("group " + quote_name(info.name) + " kind " + quote_name(info.kind) + " tile " + quote_name(info.tile) +
              " flops " + std::to_string(info.flops) + " bound " + std::to_string(info.bound_cycles) + " nodes [" +
              name_list(info.onnx_nodes) + "] intrinsics [" + name_list(info.intrinsics) + "]");
    out_.line("vars [" + name_list(group.vars) + "]");
    vars_ = Names();
    for (const std::string& var : group.vars) {
      vars_.add(var);
    }
    buffers_ = names_of(group.buffers);
    channels_ = names_of(group.channels);
    for (const Buffer& buffer : group.buffers) {
      print_buffer(buffer);
    }
    for (const Channel& channel : group.channels) {
      out_.line("channel " + quote_name(channel.name) + (channel.kind == ChannelKind::Reply ? " reply " : " flag ") +
                pipes_.spell(channel.from) + " -> " + pipes_.spell(channel.to) + " slots " +
                std::to_string(channel.slots) + " initial " + std::to_string(channel.initial));
    }
    out_.line("{");
    print_body(group.body);
    out_.line("}");
  }

  void print_buffer(const Buffer& buffer) {
    std::string text = "buffer " + quote_name(buffer.name) + " " + memories_.spell(buffer.memory) + " " +
                       type_of(buffer.type, buffer.shape);
    if (!buffer.pitch.empty()) {
      text += " pitch " + int_list(buffer.pitch);
    }
    if (!buffer.layout.empty()) {
      text += " layout [" +
              list(buffer.layout,
                   [](const LayoutAxis& axis) {
                     return std::to_string(axis.dim) + ":" + std::to_string(axis.size) + "/" + std::to_string(axis.div);
                   }) +
              "]";
    }
    out_.line(text + " copies " + std::to_string(buffer.copies) + " offset " + std::to_string(buffer.offset) +
              " slot " + std::to_string(buffer.slot_bytes));
  }

  void print_body(const Body& body) {
    out_.indent();
    for (const Node& node : body) {
      std::visit([&](const auto& leaf) { print_node(leaf); }, node.v);
    }
    out_.dedent();
  }

  std::string text(const Affine& affine) const { return affine_text(affine, vars_); }
  std::string texts(const std::vector<Affine>& affines) const {
    return list(affines, [&](const Affine& affine) { return text(affine); });
  }

  std::string text(const View& view) const {
    std::string out = view.kind == ObjectKind::Tensor ? "@" + tensors_.spell(view.object) : buffers_.spell(view.object);
    if (!view.slot.is_zero()) {
      out += "{" + text(view.slot) + "}";
    }
    return out + "[" + texts(view.index) + "]";
  }

  std::string over(const std::vector<BoxDim>& box) const {
    return " over (" +
           list(box,
                [&](const BoxDim& dim) {
                  std::string out = vars_.spell(dim.var) + ":" + text(dim.extent);
                  if (!dim.extent.is_constant() || dim.extent.constant() != dim.max_extent) {
                    out += " max " + std::to_string(dim.max_extent);
                  }
                  return out + (dim.kind == te::DimKind::Par ? "" : dim.kind == te::DimKind::Red ? " red" : " scan");
                }) +
           ")";
  }

  void print_node(const For& loop) {
    out_.line("for " + vars_.spell(loop.var) + " = " + text(loop.begin) + " to " + text(loop.end) +
              (loop.step == 1 ? "" : " step " + std::to_string(loop.step)) + " {");
    print_body(loop.body);
    out_.line("}");
  }
  void print_node(const Let& let) {
    const std::string a = text(let.a), both = "(" + a + ", " + text(let.b) + ")";
    const std::string head = "let " + vars_.spell(let.var) + " = ";
    switch (let.op) {
      case LetOp::Assign:
        return out_.line(head + a);
      case LetOp::FloorDiv:
        return out_.line(head + "floor" + both);
      case LetOp::Mod:
        return out_.line(head + "mod" + both);
      case LetOp::Min:
        return out_.line(head + "min" + both);
      case LetOp::Max:
        return out_.line(head + "max" + both);
    }
  }
  void print_node(const If& guard) {
    out_.line("if " + texts(guard.non_negative) + " {");
    print_body(guard.body);
    out_.line("}");
  }
  void print_node(const Dma& dma) {
    std::string line = "dma " + paths_.spell(dma.path) + " " + text(dma.src) + " -> " + text(dma.dst) + over(dma.box);
    if (dma.lookup.has_value()) {
      line += " lookup " + vars_.spell(dma.lookup->var) + " = " + text(dma.lookup->index) + " of " +
              std::to_string(dma.lookup->extent);
    }
    if (dma.fill.has_value()) {
      line += " pad " + print_number(*dma.fill);
    }
    if (dma.channel != kNone) {
      line += " reply " + slot_text(dma.channel, dma.channel_slot);
    }
    out_.line(line);
  }
  void print_node(const Fill& fill) {
    out_.line("fill " + pipes_.spell(fill.pipe) + " " + text(fill.dst) + " = " + print_number(fill.value) +
              over(fill.box));
  }
  void print_node(const Compute& leaf) {
    out_.line("compute " + quote_name(leaf.name) + " on " + pipes_.spell(leaf.pipe) + over(leaf.dims) + " {");
    out_.indent();
    out_.line("write " + text(leaf.write) + (leaf.accumulate ? " " + std::string(te::name_of(leaf.monoid)) : ""));
    for (const ComputeRead& read : leaf.reads) {
      out_.line("read " + text(read.view) +
                (read.indirect_dim == kNone
                     ? ""
                     : " gather " + std::to_string(read.indirect_dim) + " from " + std::to_string(read.indirect_read)));
    }
    out_.line("body [" + list(leaf.body, scalar_text) + "]");
    if (!leaf.index_base.empty()) {
      out_.line("index [" + texts(leaf.index_base) + "]");
    }
    if (!leaf.kernel.empty()) {
      print_kernel(leaf.kernel, vars_, out_);
    }
    out_.dedent();
    out_.line("}");
  }
  void print_node(const IntrinCall& call) {
    out_.line("call " + intrinsics_.spell(call.intrinsic) + over(call.box) + " (" +
              list(call.operands, [&](const View& view) { return text(view); }) + ") params (" + texts(call.params) +
              ")");
  }
  void print_node(const Signal& signal) { out_.line("signal " + slot_text(signal.channel, signal.slot)); }
  void print_node(const Wait& wait) { out_.line("wait " + slot_text(wait.channel, wait.slot)); }
  void print_node(const Barrier&) { out_.line("barrier"); }

  std::string slot_text(int channel, const Affine& slot) const {
    return channels_.spell(channel) + "[" + text(slot) + "]";
  }

  const Program& program_;
  Names tensors_, memories_, paths_, pipes_, intrinsics_, vars_, buffers_, channels_;
  Printer out_;
};

}  // namespace

std::string print(const Program& program, const Machine& machine) {
  return ProgramPrinter(program, machine).run();
}

}  // namespace dlcc::hw
