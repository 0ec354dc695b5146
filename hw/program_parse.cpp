// Text -> Program: the inverse of hw/program_print.cpp, where the grammar is written down. Names are resolved against
// the machine; whether the program makes sense is for verify().
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "hw/kernel_text.h"
#include "hw/program.h"
#include "hw/program_names.h"

namespace dlcc::hw {
namespace {

class ProgramReader {
 public:
  ProgramReader(std::string_view text, const Machine& machine, const std::string& where) : lexer_(text, where) {
    for (const Memory& memory : machine.memories) {
      memories_.add(memory.name);
    }
    for (const Path& path : machine.paths) {
      paths_.add(path.name);
    }
    for (const Pipe& pipe : machine.pipes) {
      pipes_.add(pipe.name);
    }
    for (const Intrinsic& intrinsic : machine.intrinsics) {
      intrinsics_.add(intrinsic.id);
    }
  }

  Result<Program> run() {
    Program out;
    DLCC_RETURN_IF_ERROR(word_name("program", out.model));
    DLCC_RETURN_IF_ERROR(word_name("machine", out.machine));
    DLCC_RETURN_IF_ERROR(word_integer("arena", out.arena_bytes));
    DLCC_RETURN_IF_ERROR(word_integer("weights", out.weights_bytes));
    while (lexer_.accept("tensor")) {
      DLCC_TRY(GlobalTensor read, tensor());
      tensors_.add(read.name);
      out.tensors.push_back(std::move(read));
    }
    DLCC_RETURN_IF_ERROR(tensor_list("inputs", out.inputs));
    DLCC_RETURN_IF_ERROR(tensor_list("outputs", out.outputs));
    while (lexer_.accept("group")) {
      DLCC_TRY(Group read, group());
      out.groups.push_back(std::move(read));
    }
    if (!lexer_.at_end()) {
      return lexer_.fail("expected a group or the end of the program");
    }
    return out;
  }

 private:
  // ---- words, numbers, lists

  Status word_name(std::string_view word, std::string& out) {
    DLCC_RETURN_IF_ERROR(lexer_.expect(word));
    DLCC_TRY(out, lexer_.name());
    return ok_status();
  }
  Status word_integer(std::string_view word, int64_t& out) {
    DLCC_RETURN_IF_ERROR(lexer_.expect(word));
    DLCC_TRY(out, lexer_.integer());
    return ok_status();
  }
  Result<int> small_integer() {
    DLCC_TRY(const int64_t value, lexer_.integer());
    if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
      return lexer_.fail("the number before this is out of range");
    }
    return static_cast<int>(value);
  }
  Status word_small(std::string_view word, int& out) {
    DLCC_RETURN_IF_ERROR(lexer_.expect(word));
    DLCC_TRY(out, small_integer());
    return ok_status();
  }

  /// open item, item, ... close
  template <class F>
  Status list(std::string_view open, std::string_view close, F&& item) {
    DLCC_RETURN_IF_ERROR(lexer_.expect(open));
    if (lexer_.accept(close)) {
      return ok_status();
    }
    do {
      DLCC_RETURN_IF_ERROR(item());
    } while (lexer_.accept(","));
    return lexer_.expect(close);
  }
  Status name_list(std::vector<std::string>& out) {
    return list("[", "]", [&]() -> Status {
      DLCC_TRY(std::string name, lexer_.name());
      out.push_back(std::move(name));
      return ok_status();
    });
  }
  Status integer_list(std::vector<int64_t>& out) {
    return list("[", "]", [&]() -> Status {
      DLCC_TRY(const int64_t value, lexer_.integer());
      out.push_back(value);
      return ok_status();
    });
  }
  Status affine_list(std::string_view open, std::string_view close, std::vector<Affine>& out) {
    return list(open, close, [&]() -> Status {
      DLCC_TRY(Affine value, affine());
      out.push_back(std::move(value));
      return ok_status();
    });
  }
  Status tensor_list(std::string_view word, std::vector<int>& out) {
    DLCC_RETURN_IF_ERROR(lexer_.expect(word));
    return list("[", "]", [&]() -> Status {
      DLCC_TRY(const int id, tensors_.read(lexer_, "tensor"));
      out.push_back(id);
      return ok_status();
    });
  }
  Result<Affine> affine() { return read_affine(lexer_, vars_); }

  // ---- declarations

  Result<GlobalTensor> tensor() {
    GlobalTensor out;
    DLCC_TRY(out.name, lexer_.name());
    DLCC_TRY(out.type, read_dtype(lexer_));
    DLCC_RETURN_IF_ERROR(integer_list(out.shape));
    out.space = lexer_.accept("weights") ? Space::Weights : Space::Arena;
    if (out.space == Space::Arena) {
      DLCC_RETURN_IF_ERROR(lexer_.expect("arena"));
    }
    DLCC_TRY(out.offset, lexer_.integer());
    return out;
  }

  Status info(LayerInfo& out) {
    DLCC_TRY(out.name, lexer_.name());
    DLCC_RETURN_IF_ERROR(word_name("kind", out.kind));
    DLCC_RETURN_IF_ERROR(word_name("tile", out.tile));
    DLCC_RETURN_IF_ERROR(word_integer("flops", out.flops));
    DLCC_RETURN_IF_ERROR(word_integer("bound", out.bound_cycles));
    DLCC_RETURN_IF_ERROR(lexer_.expect("nodes"));
    DLCC_RETURN_IF_ERROR(name_list(out.onnx_nodes));
    DLCC_RETURN_IF_ERROR(lexer_.expect("intrinsics"));
    return name_list(out.intrinsics);
  }

  Result<Group> group() {
    Group out;
    DLCC_RETURN_IF_ERROR(info(out.info));
    DLCC_RETURN_IF_ERROR(lexer_.expect("vars"));
    DLCC_RETURN_IF_ERROR(name_list(out.vars));
    vars_ = buffers_ = channels_ = Names();
    for (const std::string& var : out.vars) {
      vars_.add(var);
    }
    while (lexer_.accept("buffer")) {
      DLCC_TRY(Buffer read, buffer());
      buffers_.add(read.name);
      out.buffers.push_back(std::move(read));
    }
    while (lexer_.accept("channel")) {
      DLCC_TRY(Channel read, channel());
      channels_.add(read.name);
      out.channels.push_back(std::move(read));
    }
    DLCC_RETURN_IF_ERROR(lexer_.expect("{"));
    DLCC_TRY(out.body, body(0));
    return out;
  }

  Result<Buffer> buffer() {
    Buffer out;
    DLCC_TRY(out.name, lexer_.name());
    DLCC_TRY(out.memory, memories_.read(lexer_, "memory"));
    DLCC_TRY(out.type, read_dtype(lexer_));
    DLCC_RETURN_IF_ERROR(integer_list(out.shape));
    if (lexer_.accept("pitch")) {
      DLCC_RETURN_IF_ERROR(integer_list(out.pitch));
    }
    if (lexer_.accept("layout")) {
      DLCC_RETURN_IF_ERROR(list("[", "]", [&]() -> Status {
        LayoutAxis axis;
        DLCC_TRY(axis.dim, small_integer());
        DLCC_RETURN_IF_ERROR(word_integer(":", axis.size));
        DLCC_RETURN_IF_ERROR(word_integer("/", axis.div));
        out.layout.push_back(axis);
        return ok_status();
      }));
    }
    DLCC_RETURN_IF_ERROR(word_small("copies", out.copies));
    DLCC_RETURN_IF_ERROR(word_integer("offset", out.offset));
    DLCC_RETURN_IF_ERROR(word_integer("slot", out.slot_bytes));
    return out;
  }

  Result<Channel> channel() {
    Channel out;
    DLCC_TRY(out.name, lexer_.name());
    out.kind = lexer_.accept("flag") ? ChannelKind::Flag : ChannelKind::Reply;
    if (out.kind == ChannelKind::Reply) {
      DLCC_RETURN_IF_ERROR(lexer_.expect("reply"));
    }
    DLCC_TRY(out.from, pipes_.read(lexer_, "pipe"));
    DLCC_RETURN_IF_ERROR(lexer_.expect("->"));
    DLCC_TRY(out.to, pipes_.read(lexer_, "pipe"));
    DLCC_RETURN_IF_ERROR(word_small("slots", out.slots));
    DLCC_RETURN_IF_ERROR(word_small("initial", out.initial));
    return out;
  }

  // ---- nodes

  Result<Body> body(int depth) {
    if (depth > kMaxNesting) {
      return lexer_.fail("loops are nested deeper than " + std::to_string(kMaxNesting));
    }
    Body out;
    while (!lexer_.accept("}")) {
      DLCC_TRY(Node read, node(depth));
      out.push_back(std::move(read));
    }
    return out;
  }

  template <class T>
  static Result<Node> wrap(Result<T> read) {
    if (!read.ok()) {
      return read.diags();
    }
    return Node{std::move(read).value()};
  }

  Result<Node> node(int depth) {
    if (lexer_.accept("for")) {
      return wrap(loop(depth));
    }
    if (lexer_.accept("let")) {
      return wrap(let());
    }
    if (lexer_.accept("if")) {
      return wrap(guard(depth));
    }
    if (lexer_.accept("dma")) {
      return wrap(dma());
    }
    if (lexer_.accept("fill")) {
      return wrap(fill());
    }
    if (lexer_.accept("compute")) {
      return wrap(compute());
    }
    if (lexer_.accept("call")) {
      return wrap(call());
    }
    if (lexer_.accept("signal")) {
      Signal out;
      DLCC_RETURN_IF_ERROR(channel_slot(out.channel, out.slot));
      return Node{out};
    }
    if (lexer_.accept("wait")) {
      Wait out;
      DLCC_RETURN_IF_ERROR(channel_slot(out.channel, out.slot));
      return Node{out};
    }
    if (lexer_.accept("barrier")) {
      return Node{Barrier{}};
    }
    return lexer_.fail("expected for, let, if, dma, fill, compute, call, signal, wait, barrier or }");
  }

  Result<For> loop(int depth) {
    For out;
    DLCC_TRY(out.var, vars_.read(lexer_, "variable"));
    DLCC_RETURN_IF_ERROR(lexer_.expect("="));
    DLCC_TRY(out.begin, affine());
    DLCC_RETURN_IF_ERROR(lexer_.expect("to"));
    DLCC_TRY(out.end, affine());
    if (lexer_.accept("step")) {
      DLCC_TRY(out.step, lexer_.integer());
    }
    DLCC_RETURN_IF_ERROR(lexer_.expect("{"));
    DLCC_TRY(out.body, body(depth + 1));
    return out;
  }

  Result<Let> let() {
    static constexpr std::pair<std::string_view, LetOp> kOps[] = {
        {"floor", LetOp::FloorDiv}, {"mod", LetOp::Mod}, {"min", LetOp::Min}, {"max", LetOp::Max}};
    Let out;
    DLCC_TRY(out.var, vars_.read(lexer_, "variable"));
    DLCC_RETURN_IF_ERROR(lexer_.expect("="));
    for (const auto& [word, op] : kOps) {
      if (lexer_.peek().text != word || lexer_.peek(1).text != "(") {
        continue;
      }
      lexer_.next();
      out.op = op;
      DLCC_RETURN_IF_ERROR(lexer_.expect("("));
      DLCC_TRY(out.a, affine());
      DLCC_RETURN_IF_ERROR(lexer_.expect(","));
      DLCC_TRY(out.b, affine());
      DLCC_RETURN_IF_ERROR(lexer_.expect(")"));
      return out;
    }
    DLCC_TRY(out.a, affine());
    return out;
  }

  Result<If> guard(int depth) {
    If out;
    do {
      DLCC_TRY(Affine condition, affine());
      out.non_negative.push_back(std::move(condition));
    } while (lexer_.accept(","));
    DLCC_RETURN_IF_ERROR(lexer_.expect("{"));
    DLCC_TRY(out.body, body(depth + 1));
    return out;
  }

  Result<View> view() {
    View out;
    out.kind = lexer_.accept("@") ? ObjectKind::Tensor : ObjectKind::Buffer;
    if (out.kind == ObjectKind::Tensor) {
      DLCC_TRY(out.object, tensors_.read(lexer_, "tensor"));
    } else {
      DLCC_TRY(out.object, buffers_.read(lexer_, "buffer"));
    }
    if (lexer_.accept("{")) {
      DLCC_TRY(out.slot, affine());
      DLCC_RETURN_IF_ERROR(lexer_.expect("}"));
    }
    DLCC_RETURN_IF_ERROR(affine_list("[", "]", out.index));
    return out;
  }

  Status over(std::vector<BoxDim>& out) {
    DLCC_RETURN_IF_ERROR(lexer_.expect("over"));
    return list("(", ")", [&]() -> Status {
      BoxDim dim;
      DLCC_TRY(dim.var, vars_.read(lexer_, "variable"));
      DLCC_RETURN_IF_ERROR(lexer_.expect(":"));
      DLCC_TRY(dim.extent, affine());
      dim.max_extent = dim.extent.constant();
      if (lexer_.accept("max")) {
        DLCC_TRY(dim.max_extent, lexer_.integer());
      }
      dim.kind = lexer_.accept("red") ? te::DimKind::Red : lexer_.accept("scan") ? te::DimKind::Scan : te::DimKind::Par;
      out.push_back(std::move(dim));
      return ok_status();
    });
  }

  Status channel_slot(int& channel, Affine& slot) {
    DLCC_TRY(channel, channels_.read(lexer_, "channel"));
    DLCC_RETURN_IF_ERROR(lexer_.expect("["));
    DLCC_TRY(slot, affine());
    return lexer_.expect("]");
  }

  Result<std::optional<Lookup>> lookup() {
    Lookup out;
    DLCC_TRY(out.var, vars_.read(lexer_, "variable"));
    DLCC_RETURN_IF_ERROR(lexer_.expect("="));
    DLCC_TRY(out.index, view());
    DLCC_RETURN_IF_ERROR(lexer_.expect("of"));
    DLCC_TRY(out.extent, lexer_.integer());
    return std::optional<Lookup>(std::move(out));
  }

  Result<Dma> dma() {
    Dma out;
    DLCC_TRY(out.path, paths_.read(lexer_, "path"));
    DLCC_TRY(out.src, view());
    DLCC_RETURN_IF_ERROR(lexer_.expect("->"));
    DLCC_TRY(out.dst, view());
    DLCC_RETURN_IF_ERROR(over(out.box));
    if (lexer_.accept("lookup")) {
      DLCC_TRY(out.lookup, lookup());
    }
    if (lexer_.accept("pad")) {
      DLCC_TRY(out.fill, lexer_.number());
    }
    if (lexer_.accept("reply")) {
      DLCC_RETURN_IF_ERROR(channel_slot(out.channel, out.channel_slot));
    }
    return out;
  }

  Result<Fill> fill() {
    Fill out;
    DLCC_TRY(out.pipe, pipes_.read(lexer_, "pipe"));
    DLCC_TRY(out.dst, view());
    DLCC_RETURN_IF_ERROR(lexer_.expect("="));
    DLCC_TRY(out.value, lexer_.number());
    DLCC_RETURN_IF_ERROR(over(out.box));
    return out;
  }

  Status monoid(Compute& out) {
    for (int m = 0; m <= static_cast<int>(te::Monoid::Or); ++m) {
      if (lexer_.accept(te::name_of(static_cast<te::Monoid>(m)))) {
        out.accumulate = true;
        out.monoid = static_cast<te::Monoid>(m);
        break;
      }
    }
    return ok_status();
  }

  Result<ComputeRead> compute_read() {
    ComputeRead out;
    DLCC_TRY(out.view, view());
    if (lexer_.accept("gather")) {
      DLCC_TRY(out.indirect_dim, small_integer());
      DLCC_RETURN_IF_ERROR(word_small("from", out.indirect_read));
    }
    return out;
  }

  Result<Compute> compute() {
    Compute out;
    DLCC_TRY(out.name, lexer_.name());
    DLCC_RETURN_IF_ERROR(lexer_.expect("on"));
    DLCC_TRY(out.pipe, pipes_.read(lexer_, "pipe"));
    DLCC_RETURN_IF_ERROR(over(out.dims));
    DLCC_RETURN_IF_ERROR(lexer_.expect("{"));
    DLCC_RETURN_IF_ERROR(lexer_.expect("write"));
    DLCC_TRY(out.write, view());
    DLCC_RETURN_IF_ERROR(monoid(out));
    while (lexer_.accept("read")) {
      DLCC_TRY(ComputeRead read, compute_read());
      out.reads.push_back(std::move(read));
    }
    DLCC_RETURN_IF_ERROR(lexer_.expect("body"));
    DLCC_TRY(out.body, read_scalar_body(lexer_));
    if (lexer_.accept("index")) {
      DLCC_RETURN_IF_ERROR(affine_list("[", "]", out.index_base));
    }
    if (lexer_.accept("kernel")) {
      DLCC_TRY(out.kernel, read_kernel(lexer_, vars_));
    }
    DLCC_RETURN_IF_ERROR(lexer_.expect("}"));
    return out;
  }

  Result<IntrinCall> call() {
    IntrinCall out;
    DLCC_TRY(out.intrinsic, intrinsics_.read(lexer_, "intrinsic"));
    DLCC_RETURN_IF_ERROR(over(out.box));
    DLCC_RETURN_IF_ERROR(list("(", ")", [&]() -> Status {
      DLCC_TRY(View read, view());
      out.operands.push_back(std::move(read));
      return ok_status();
    }));
    DLCC_RETURN_IF_ERROR(lexer_.expect("params"));
    DLCC_RETURN_IF_ERROR(affine_list("(", ")", out.params));
    return out;
  }

  Lexer lexer_;
  Names memories_, paths_, pipes_, intrinsics_, tensors_, vars_, buffers_, channels_;
};

}  // namespace

Result<Program> parse_program(std::string_view text, const Machine& machine, const std::string& where) {
  return ProgramReader(text, machine, where).run();
}

}  // namespace dlcc::hw
