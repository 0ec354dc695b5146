// Emission: loops over the Par dims (rungs of the row innermost), around the loops over the Red dims in their order. A
// value is computed once, in the outermost loop in which all that it depends on is known; that is all the hoisting
// there is.
#include "lowering/kernelize_emit.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/check.h"

namespace dlcc::lowering {

using hw::KernelInstr;
using hw::KernelOp;
using te::Affine;
using te::Op;

namespace {

/// Innermost Red dims of at most this extent are unrolled when their body is small.
constexpr int64_t kMaxUnrolledRed = 4;
constexpr int64_t kMaxUnrolledInstances = 48;

/// A loop over a dim, or one step of it at a known position.
struct Piece {
  size_t step = 0;  // index into the steps
  bool looped = false;
  bool resume = false;
  int64_t at = 0;  // position without a loop, else begin of the loop
  Affine end;
};

class KernelEmitter {
 public:
  KernelEmitter(const LeafForm& form, const KernelTile& tile)
      : form_(form), tile_(tile), state_(static_cast<size_t>(form.dim_count())) {
    for (int d = 0; d < form.dim_count(); ++d) {
      (form.dim(d).kind == te::DimKind::Par ? par_ : red_).push_back(d);
    }
    // Unrolled dims and the row come last, where values of the outer dims are already known.
    std::stable_sort(par_.begin(), par_.end(), [&](int a, int b) { return rank(a) < rank(b); });
  }

  Result<hw::Kernel> run() {
    frames_.emplace_back();
    over_par(0);
    kernel_.body = std::move(frames_.back().body);
    if (!missing_.empty()) {
      Diags diags;
      for (const std::string& what : missing_) {
        diags.push_back(
            {DiagKind::Unsupported, form_.leaf().name, "chip '" + form_.machine().name + "' has no " + what});
      }
      return diags;
    }
    return std::move(kernel_);
  }

 private:
  using Instance = std::vector<int64_t>;  // offset along each dim from its current position
  using Key = std::vector<int64_t>;

  struct DimState {
    bool looped = false;
    size_t depth = 0;     // of the loop over it
    int64_t at = 0;       // position when not looped
    int64_t copies = 1;   // unrolled here
    int64_t spacing = 1;  // between copies
  };
  struct Frame {
    std::vector<hw::KernelNode> body;
    std::map<Key, int> values;
  };

  DimState& state(int d) { return state_[static_cast<size_t>(d)]; }
  const DimState& state(int d) const { return state_[static_cast<size_t>(d)]; }

  int rank(int d) const {
    const bool unrolled =
        std::any_of(tile_.unroll.begin(), tile_.unroll.end(), [&](const auto& u) { return u.first == d; });
    return d == tile_.row ? 2 : unrolled ? 1 : 0;
  }

  // ---- loops

  /// How the steps cover a dim. Constant extents leave only the loops that run; single steps need no loop.
  std::vector<Piece> pieces(int d, const std::vector<int64_t>& steps) const {
    const hw::BoxDim& dim = form_.dim(d);
    std::vector<Piece> out;
    if (!dim.extent.is_constant()) {
      for (size_t s = 0; s < steps.size(); ++s) {
        if (steps[s] <= dim.max_extent) {
          out.push_back({s, true, !out.empty(), 0, dim.extent});
        }
      }
      return out;
    }
    int64_t at = 0;
    const std::vector<int64_t> trips = trips_of(std::max<int64_t>(dim.extent.constant(), 0), steps);
    for (size_t s = 0; s < steps.size(); ++s) {
      const int64_t end = at + trips[s] * steps[s];
      if (trips[s] > 0) {
        out.push_back({s, trips[s] > 1, false, at, Affine(end)});
      }
      at = end;
    }
    return out;
  }

  template <class F>
  void run_piece(int d, const Piece& piece, int64_t step, F&& inside) {
    DimState& dim = state(d);
    if (!piece.looped) {
      dim.looped = false;
      dim.at = piece.at;
      inside();
      return;
    }
    frames_.emplace_back();
    dim.looped = true;
    dim.depth = frames_.size() - 1;
    inside();
    hw::KernelLoop loop{
        form_.dim(d).var, Affine(piece.at), piece.end, step, piece.resume, std::move(frames_.back().body)};
    frames_.pop_back();
    dim.looped = false;
    frames_.back().body.push_back({std::move(loop)});
  }

  void over_par(size_t i) {
    if (i == par_.size()) {
      block();
      return;
    }
    const int d = par_[i];
    if (d == tile_.row) {
      over_row(i);
      return;
    }
    std::vector<int64_t> steps;
    for (const auto& [dim, factor] : tile_.unroll) {
      if (dim == d) {
        steps.push_back(factor);
      }
    }
    steps.push_back(1);
    for (const Piece& piece : pieces(d, steps)) {
      state(d).copies = steps[piece.step];
      run_piece(d, piece, steps[piece.step], [&] { over_par(i + 1); });
      state(d).copies = 1;
    }
  }

  void over_row(size_t i) {
    std::vector<int64_t> steps;
    for (const Rung& rung : tile_.rungs) {
      steps.push_back(rung.step());
    }
    for (const Piece& piece : pieces(tile_.row, steps)) {
      const Rung& rung = tile_.rungs[piece.step];
      lanes_ = rung.lanes;
      state(tile_.row).copies = rung.count;
      state(tile_.row).spacing = rung.lanes;
      run_piece(tile_.row, piece, rung.step(), [&] { over_par(i + 1); });
      state(tile_.row).copies = 1;
      lanes_ = 1;
    }
  }

  // ---- one register tile

  std::vector<Instance> instances() const {
    std::vector<Instance> out = {Instance(state_.size(), 0)};
    for (const int d : par_) {
      std::vector<Instance> next;
      for (const Instance& base : out) {
        for (int64_t c = 0; c < state(d).copies; ++c) {
          next.push_back(base);
          next.back()[static_cast<size_t>(d)] = c * state(d).spacing;
        }
      }
      out = std::move(next);
    }
    return out;
  }

  void block() {
    std::vector<Instance> copies = instances();
    if (!form_.leaf().accumulate) {
      compute_nodes(copies);
      for (const Instance& at : copies) {
        store(at, in_lanes(form_.root(), at));
      }
      return;
    }
    std::vector<int> accumulators;
    for (const Instance& at : copies) {
      accumulators.push_back(form_.fma() ? constant(zero(), lanes_, frames_.size() - 1) : load_result(at));
    }
    over_red(0, copies, accumulators);
    std::array<int, 2> loaded = {-1, -1};
    for (size_t c = 0; c < copies.size(); ++c) {
      store(copies[c], form_.fma() ? plus_result(copies[c], accumulators[c], loaded, c) : accumulators[c]);
    }
  }

  te::ScalarNode zero() const { return {.op = Op::Const, .type = form_.write().type}; }

  int load_result(const Instance& at) {
    KernelInstr instr = access_instr(KernelOp::Load, form_.write(), -1, at, lanes_);
    return emit(instr, frames_.size() - 1, instr.aligned ? "load" : "loadu", form_.write().type);
  }

  /// A fused sum starts from zero; what was in the buffer is added once. The loads take turns in two registers, so that the sums of the tile
  /// stay the only ones that need many.
  int plus_result(const Instance& at, int sum, std::array<int, 2>& loaded, size_t turn) {
    int& into = loaded[turn % loaded.size()];
    if (into < 0) {
      into = load_result(at);
    } else {
      KernelInstr load = access_instr(KernelOp::Load, form_.write(), -1, at, lanes_);
      load.dst = into;
      frames_.back().body.push_back({load});
    }
    KernelInstr add;
    add.op = Op::Add;
    add.type = form_.write().type;
    add.lanes = lanes_;
    add.dst = sum;
    add.src = {into, sum, -1};
    need(form_.find(te::name_of(Op::Add), add.type, lanes_), te::name_of(Op::Add), add.type);
    frames_.back().body.push_back({add});
    return sum;
  }

  void over_red(size_t i, std::vector<Instance>& copies, const std::vector<int>& accumulators) {
    if (i == red_.size()) {
      compute_nodes(copies);
      std::vector<KernelInstr> updates;
      for (size_t c = 0; c < copies.size(); ++c) {
        updates.push_back(accumulation(copies[c], accumulators[c]));
      }
      for (const KernelInstr& update : updates) {
        frames_.back().body.push_back({update});
      }
      return;
    }
    const int d = red_[i];
    const Affine& extent = form_.dim(d).extent;
    const bool unroll = i + 1 == red_.size() && extent.is_constant() && extent.constant() <= kMaxUnrolledRed &&
                        extent.constant() * static_cast<int64_t>(copies.size()) <= kMaxUnrolledInstances;
    if (unroll) {
      for (int64_t k = 0; k < extent.constant(); ++k) {
        run_piece(d, {0, false, false, k, {}}, 1, [&] { over_red(i + 1, copies, accumulators); });
      }
      return;
    }
    for (const Piece& piece : pieces(d, {1})) {
      run_piece(d, piece, 1, [&] { over_red(i + 1, copies, accumulators); });
    }
  }

  /// All copies of a value before the next value: an in-order core then has independent work between dependent
  /// instructions.
  void compute_nodes(const std::vector<Instance>& copies) {
    for (const int n : form_.nodes()) {
      for (const Instance& at : copies) {
        if (lanes_ == 1) {
          value(n, at, 1);
        } else if (varies(n)) {
          in_lanes(n, at);
        }
      }
    }
  }

  /// The update of one accumulator; its operands are emitted, itself not yet.
  KernelInstr accumulation(const Instance& at, int accumulator) {
    KernelInstr instr;
    instr.type = form_.write().type;
    instr.lanes = lanes_;
    instr.dst = accumulator;
    const te::ScalarNode& root = form_.node(form_.root());
    if (form_.fma()) {
      instr.op = Op::Fma;
      instr.src = {in_lanes(root.a, at), in_lanes(root.b, at), accumulator};
    } else {
      instr.op = form_.combine();
      instr.src = {accumulator, in_lanes(form_.root(), at), -1};
    }
    need(form_.combination(lanes_), te::name_of(instr.op), instr.type);
    return instr;
  }

  void store(const Instance& at, int value) {
    KernelInstr instr = access_instr(KernelOp::Store, form_.write(), -1, at, lanes_);
    instr.src[0] = value;
    const char* form = instr.aligned ? "store" : "storeu";
    need(form_.find(form, instr.type, instr.lanes), form, instr.type);
    frames_.back().body.push_back({instr});
  }

  // ---- values

  bool varies(int n) const { return tile_.row >= 0 && (form_.deps(n) & dim_bit(tile_.row)) != 0; }

  /// The value in all lanes of the tile.
  int in_lanes(int n, const Instance& at) { return lanes_ == 1 || varies(n) ? value(n, at, lanes_) : spread(n, at); }

  size_t depth_of(DimSet dims) const {
    size_t depth = 0;
    for (int d = 0; d < form_.dim_count(); ++d) {
      if ((dims & dim_bit(d)) != 0 && state(d).looped) {
        depth = std::max(depth, state(d).depth);
      }
    }
    return depth;
  }

  Key key_of(int n, int lanes, const Instance& at) const {
    Key key = {n, lanes};
    for (int d = 0; d < form_.dim_count(); ++d) {
      if ((form_.deps(n) & dim_bit(d)) != 0) {
        key.push_back(at[static_cast<size_t>(d)] + (state(d).looped ? 0 : state(d).at));
      }
    }
    return key;
  }

  /// The register of a value: remembered in the frame in which it stays valid.
  template <class F>
  int remembered(int n, int lanes, const Instance& at, F&& make) {
    const size_t depth = depth_of(form_.deps(n));
    const Key key = key_of(n, lanes, at);
    if (const auto found = frames_[depth].values.find(key); found != frames_[depth].values.end()) {
      return found->second;
    }
    const int reg = make(depth);
    frames_[depth].values.emplace(key, reg);
    return reg;
  }

  /// lanes is lanes_ for values that vary along the row, 1 for the others.
  int value(int n, const Instance& at, int lanes) {
    return remembered(n, lanes, at, [&](size_t depth) { return make_value(n, at, lanes, depth); });
  }

  int make_value(int n, const Instance& at, int lanes, size_t depth) {
    const te::ScalarNode& node = form_.node(n);
    KernelInstr instr;
    switch (node.op) {
      case Op::Load: {
        const int read = static_cast<int>(node.integer);
        instr = access_instr(KernelOp::Load, form_.read(read), read, at, lanes);
        look_up(instr, form_.read(read), at);
        return emit(instr, depth, instr.aligned ? "load" : "loadu", instr.type);
      }
      case Op::Const:
        return constant(node, lanes, depth);
      case Op::Index: {
        const int d = static_cast<int>(node.integer);
        instr.kind = KernelOp::Index;
        instr.type = DType::I64;
        instr.offset = form_.leaf().index_base[static_cast<size_t>(d)] + position(d, at);
        return emit(instr, depth, "index", DType::I64);
      }
      default:
        return compute(n, at, lanes, depth);
    }
  }

  int constant(const te::ScalarNode& node, int lanes, size_t depth) {
    KernelInstr instr;
    instr.kind = KernelOp::Const;
    instr.type = node.type;
    instr.lanes = lanes;
    instr.number = node.number;
    instr.integer = node.integer;
    return emit(instr, depth, "const", node.type);
  }

  int compute(int n, const Instance& at, int lanes, size_t depth) {
    const te::ScalarNode& node = form_.node(n);
    KernelInstr instr;
    instr.op = node.op;
    instr.type = node.type;
    instr.lanes = lanes;
    const int operands[] = {node.a, node.b, node.c};
    for (int k = 0; k < te::arity_of(node.op); ++k) {
      instr.src[static_cast<size_t>(k)] = lanes == 1 ? value(operands[k], at, 1) : in_lanes(operands[k], at);
    }
    need(form_.operation(n, lanes), te::name_of(node.op), node.type);
    return place(instr, depth);
  }

  /// A value that is the same along the row, in every lane.
  int spread(int n, const Instance& at) {
    return remembered(n, lanes_, at, [&](size_t depth) {
      const te::ScalarNode& node = form_.node(n);
      if (node.op == Op::Const && form_.find("const", node.type, lanes_) != nullptr) {
        return constant(node, lanes_, depth);
      }
      if (node.op == Op::Load && form_.find("load_splat", node.type, lanes_) != nullptr) {
        const int read = static_cast<int>(node.integer);
        if (form_.read(read).index_read < 0) {
          return emit(access_instr(KernelOp::LoadSplat, form_.read(read), read, at, lanes_), depth, "load_splat",
                      node.type);
        }
      }
      KernelInstr instr;
      instr.kind = KernelOp::Splat;
      instr.type = node.type;
      instr.lanes = lanes_;
      instr.src[0] = value(n, at, 1);
      return emit(instr, depth, "splat", node.type);
    });
  }

  // ---- instructions

  /// Position along a dim in the leaf's box.
  Affine position(int d, const Instance& at) const {
    const int64_t offset = at[static_cast<size_t>(d)];
    return state(d).looped ? Affine::var(form_.dim(d).var) + Affine(offset) : Affine(state(d).at + offset);
  }

  KernelInstr access_instr(KernelOp kind, const LeafAccess& access, int number, const Instance& at, int lanes) const {
    KernelInstr instr;
    instr.kind = kind;
    instr.type = access.type;
    instr.lanes = lanes;
    instr.access = number;
    instr.offset = access.offset;
    for (int d = 0; d < form_.dim_count(); ++d) {
      const te::VarId var = form_.dim(d).var;
      if (instr.offset.depends_on(var)) {
        instr.offset = instr.offset.substitute(var, position(d, at));
      }
    }
    instr.aligned = kind != KernelOp::LoadSplat && form_.aligned(access, tile_.row, lanes);
    return instr;
  }

  /// The position of an indirect load, from the read that delivers it.
  void look_up(KernelInstr& instr, const LeafAccess& access, const Instance& at) {
    if (access.index_read < 0) {
      return;
    }
    const LeafAccess& index = form_.read(access.index_read);
    const int64_t no_node = -1 - access.index_read;
    Key key = {no_node, 1};
    for (int d = 0; d < form_.dim_count(); ++d) {
      if ((index.dims & dim_bit(d)) != 0) {
        key.push_back(at[static_cast<size_t>(d)] + (state(d).looped ? 0 : state(d).at));
      }
    }
    const size_t depth = depth_of(index.dims);
    const auto found = frames_[depth].values.find(key);
    if (found != frames_[depth].values.end()) {
      instr.index_register = found->second;
    } else {
      instr.index_register =
          emit(access_instr(KernelOp::Load, index, access.index_read, at, 1), depth, "load", index.type);
      frames_[depth].values.emplace(std::move(key), instr.index_register);
    }
    instr.index_extent = access.index_extent;
    instr.index_stride = access.index_stride;
  }

  void need(const hw::VectorOp* op, std::string_view name, DType type) {
    if (op == nullptr) {
      missing_.insert(operation_text(name, type));
    }
  }

  int emit(KernelInstr instr, size_t depth, std::string_view operation, DType type) {
    need(form_.find(operation, type, instr.lanes), operation, type);
    return place(std::move(instr), depth);
  }

  int place(KernelInstr instr, size_t depth) {
    instr.dst = static_cast<int>(kernel_.registers.size());
    kernel_.registers.push_back({instr.type, instr.lanes});
    frames_[depth].body.push_back({std::move(instr)});
    return static_cast<int>(kernel_.registers.size()) - 1;
  }

  const LeafForm& form_;
  const KernelTile& tile_;
  std::vector<int> par_, red_;  // all dims; par_ in loop order
  std::vector<DimState> state_;
  std::vector<Frame> frames_;  // open loops, outermost first; 0 is the kernel itself
  std::set<std::string> missing_;
  hw::Kernel kernel_;
  int lanes_ = 1;
};

}  // namespace

Result<hw::Kernel> emit_kernel(const LeafForm& form, const KernelTile& tile) {
  return KernelEmitter(form, tile).run();
}

}  // namespace dlcc::lowering
