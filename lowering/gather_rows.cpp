#include "lowering/gather_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/integer.h"
#include "lowering/stmt_traits.h"

namespace dlcc::lowering {

namespace {

using hw::LetOp;

/// A table this many times the result is not read whole.
constexpr int64_t kWorthwhile = 4;
/// Rows on the way out of a core at a time.
constexpr int kRowSlots = 2;

int path_between(const hw::Machine& machine, hw::MemoryId from, hw::MemoryId to) {
  const std::vector<int> route = machine.route(from, to);
  return route.size() == 1 ? route.front() : hw::kNone;
}

/// Single elements of that size may be moved between the memories in one hop.
bool moves_elements(const hw::Machine& machine, hw::MemoryId from, hw::MemoryId to, int64_t element) {
  const int path = path_between(machine, from, to);
  if (path == hw::kNone) {
    return false;
  }
  const int engine = machine.paths[static_cast<size_t>(path)].engine;
  return engine == hw::kNone || element % std::max<int64_t>(machine.dma[static_cast<size_t>(engine)].align, 1) == 0;
}

bool in_index(const te::Stmt& stmt, size_t dim) {
  const te::Access& table = stmt.reads[static_cast<size_t>(gathered_read(stmt))];
  const te::Access& index = stmt.reads[static_cast<size_t>(table.indirect_read)];
  return std::any_of(index.index.begin(), index.index.end(), [&](const te::Affine& a) { return a.depends_on(static_cast<int>(dim)); });
}

class RowEmitter {
 public:
  RowEmitter(const GroupAnalysis& group, const std::function<int(int)>& tensor_of, const hw::Machine& machine)
      : group_(group), stmt_(group.root_stmt()), tensor_of_(tensor_of), machine_(machine), table_(stmt_.reads[static_cast<size_t>(gathered_read(stmt_))]) {
    out_.vars = {"core"};
  }

  hw::Group run() {
    choose_tiles();
    add_buffers();
    const int64_t cores = machine_.core_count();
    const te::Affine begin = let(out_.body, "begin", LetOp::FloorDiv, te::Affine::var(0) * steps_ + (cores - 1), cores);
    const te::Affine end = let(out_.body, "end", LetOp::FloorDiv, te::Affine::var(0) * steps_ + (steps_ + cores - 1), cores);
    hw::For loop;
    loop.var = new_var("step");
    loop.begin = begin;
    loop.end = end;
    one_step(loop.body, te::Affine::var(loop.var), begin);
    out_.body.push_back({std::move(loop)});
    last_stores(begin, end);
    describe();
    return std::move(out_);
  }

 private:
  /// The dims that an index does not choose are moved in tiles that fill a share of the work memory, inner dims first.
  void choose_tiles() {
    const hw::Memory& memory = machine_.memories[static_cast<size_t>(machine_.work_memory())];
    int64_t room = std::max<int64_t>(memory.usable() / (2 * kRowSlots) / bytes_of(type_of(table_)), 1);
    for (size_t d = stmt_.dims.size(); d-- > 0;) {
      const int64_t extent = stmt_.dims[d].extent;
      const int64_t tile = in_index(stmt_, d) ? 1 : std::min(extent, room);
      room /= std::max<int64_t>(tile, 1);
      room = std::max<int64_t>(room, 1);
      tile_.insert(tile_.begin(), tile);
      steps_ *= ceil_div(extent, tile);
    }
  }

  DType type_of(const te::Access& access) const { return group_.tensors[static_cast<size_t>(access.tensor)].type; }

  int add_buffer(const std::string& name, DType type, std::vector<int64_t> shape, int copies) {
    const hw::Memory& memory = machine_.memories[static_cast<size_t>(machine_.work_memory())];
    hw::Buffer buffer;
    buffer.name = name;
    buffer.memory = machine_.work_memory();
    buffer.type = type;
    buffer.slot_bytes = round_up(te::element_count(shape) * bytes_of(type), std::max<int64_t>(memory.align, bytes_of(type)));
    buffer.shape = std::move(shape);
    buffer.copies = copies;
    buffer.offset = round_up(top_, std::max<int64_t>(memory.align, bytes_of(type)));
    top_ = buffer.offset + buffer.slot_bytes * copies;
    out_.buffers.push_back(std::move(buffer));
    return static_cast<int>(out_.buffers.size()) - 1;
  }

  void add_buffers() {
    const te::Access& index = stmt_.reads[static_cast<size_t>(table_.indirect_read)];
    index_buffer_ = add_buffer(group_.tensors[static_cast<size_t>(index.tensor)].name, type_of(index), {1}, 1);
    std::vector<int64_t> shape;
    for (size_t d = 0; d < tile_.size(); ++d) {
      if (!in_index(stmt_, d)) {
        shape.push_back(tile_[d]);
      }
    }
    if (shape.empty()) {
      shape.push_back(1);
    }
    row_buffer_ = add_buffer(group_.name, type_of(table_), std::move(shape), kRowSlots);
  }

  hw::VarId new_var(const std::string& name) {
    out_.vars.push_back(name);
    return static_cast<hw::VarId>(out_.vars.size()) - 1;
  }
  te::Affine let(hw::Body& body, const std::string& name, LetOp op, const te::Affine& a, const te::Affine& b) {
    const hw::VarId var = new_var(name);
    body.push_back({hw::Let{var, op, a, b}});
    return te::Affine::var(var);
  }

  /// A transfer on the path; asynchronous engines answer on a channel of their own.
  hw::Dma transfer(hw::MemoryId from, hw::MemoryId to, const std::string& name, int slots) {
    hw::Dma dma;
    dma.path = path_between(machine_, from, to);
    const int engine = machine_.paths[static_cast<size_t>(dma.path)].engine;
    if (engine != hw::kNone && machine_.dma[static_cast<size_t>(engine)].kind == hw::EngineKind::Async) {
      const hw::PipeId core = machine_.vector.pipe;
      out_.channels.push_back({name, hw::ChannelKind::Reply, core, core, slots, 0});
      dma.channel = static_cast<int>(out_.channels.size()) - 1;
    }
    return dma;
  }
  static void wait(hw::Body& body, const hw::Dma& dma) {
    if (dma.channel != hw::kNone) {
      body.push_back({hw::Wait{dma.channel, dma.channel_slot}});
    }
  }

  /// An index over the statement's dims at this step.
  static te::Affine at(const te::Affine& over_dims, const std::vector<te::Affine>& point) {
    te::Affine out(over_dims.constant());
    for (const te::Term& term : over_dims.terms()) {
      out += point[static_cast<size_t>(term.var)] * term.coef;
    }
    return out;
  }
  hw::View tensor_view(const te::Access& access, const std::vector<te::Affine>& point) const {
    hw::View view{hw::ObjectKind::Tensor, tensor_of_(group_.tensors[static_cast<size_t>(access.tensor)].module_tensor), 0, {}};
    for (const te::Affine& index : access.index) {
      view.index.push_back(at(index, point));
    }
    return view;
  }

  struct Step {
    std::vector<te::Affine> point;   // of the statement, by dim, in step and box variables
    std::vector<hw::BoxDim> box;     // of the row
    std::vector<te::Affine> in_row;  // position in the row buffer
  };
  Step decode(hw::Body& body, const te::Affine& step) {
    Step out;
    out.point.resize(stmt_.dims.size());
    te::Affine rest = step;
    for (size_t d = stmt_.dims.size(); d-- > 0;) {
      const std::string name = dim_name(stmt_, static_cast<int>(d));
      const int64_t extent = stmt_.dims[d].extent, count = ceil_div(extent, tile_[d]);
      te::Affine tile(0);
      if (count > 1) {
        tile = let(body, name + ".t", LetOp::Mod, rest, count);
        rest = let(body, name + ".r", LetOp::FloorDiv, rest, count);
      }
      out.point[d] = tile * tile_[d];
      if (!in_index(stmt_, d)) {
        const te::Affine left = te::Affine(extent) - out.point[d];
        const te::Affine size = extent % tile_[d] == 0 ? te::Affine(tile_[d]) : let(body, name + ".n", LetOp::Min, left, tile_[d]);
        const hw::VarId var = new_var(name);
        out.box.insert(out.box.begin(), {var, size, tile_[d], te::DimKind::Par});
        out.in_row.insert(out.in_row.begin(), te::Affine::var(var));
        out.point[d] += te::Affine::var(var);
      }
    }
    if (out.box.empty()) {
      out.box.push_back({new_var("one"), 1, 1, te::DimKind::Par});
      out.in_row.push_back(te::Affine::var(out.box.front().var));
    }
    return out;
  }

  void one_step(hw::Body& body, const te::Affine& step, const te::Affine& begin) {
    const hw::MemoryId global = machine_.global_memory(), work = machine_.work_memory();
    const Step here = decode(body, step);

    hw::Dma index = transfer(global, work, "index.get", 1);
    const hw::VarId one = new_var("i");
    index.box.push_back({one, 1, 1, te::DimKind::Par});
    index.src = tensor_view(stmt_.reads[static_cast<size_t>(table_.indirect_read)], here.point);
    index.dst = {hw::ObjectKind::Buffer, index_buffer_, 0, {te::Affine::var(one)}};

    hw::Dma row = transfer(global, work, "row.get", 1);
    const auto axis = static_cast<size_t>(table_.indirect_axis);
    row.lookup = hw::Lookup{new_var("row"), {hw::ObjectKind::Buffer, index_buffer_, 0, {te::Affine(0)}},
                            group_.tensors[static_cast<size_t>(table_.tensor)].shape[axis]};
    row.box = here.box;
    row.src = tensor_view(table_, here.point);
    row.src.index[axis] = te::Affine::var(row.lookup->var);

    store_ = transfer(work, global, "row.put", kRowSlots);
    const te::Affine slot = let(body, "slot", LetOp::Mod, step, kRowSlots);
    row.dst = {hw::ObjectKind::Buffer, row_buffer_, slot, here.in_row};
    store_.box = here.box;
    store_.src = row.dst;
    store_.dst = tensor_view(stmt_.write, here.point);
    store_.channel_slot = store_.channel == hw::kNone ? te::Affine(0) : slot;

    body.push_back({index});
    wait(body, index);
    if (store_.channel != hw::kNone && most_steps() > kRowSlots) {
      body.push_back({hw::If{{step - begin - kRowSlots}, {{hw::Wait{store_.channel, slot}}}}});
    }
    body.push_back({row});
    wait(body, row);
    body.push_back({store_});
  }

  /// Of one core.
  int64_t most_steps() const { return ceil_div(steps_, machine_.core_count()); }

  void last_stores(const te::Affine& begin, const te::Affine& end) {
    if (store_.channel == hw::kNone) {
      return;
    }
    for (int back = 1; back <= std::min<int64_t>(kRowSlots, most_steps()); ++back) {
      hw::If used{{end - begin - back}, {}};
      const te::Affine slot = let(used.body, fmt::format("last{}", back), LetOp::Mod, end - back, kRowSlots);
      used.body.push_back({hw::Wait{store_.channel, slot}});
      out_.body.push_back({std::move(used)});
    }
  }

  void describe() {
    out_.info.name = group_.name;
    out_.info.kind = "gather";
    out_.info.onnx_nodes = group_.onnx_nodes;
    out_.info.flops = group_.flops;
    std::string tile = "row by row";
    for (size_t d = 0; d < tile_.size(); ++d) {
      tile += fmt::format(" {}:{}", dim_name(stmt_, static_cast<int>(d)), tile_[d]);
    }
    out_.info.tile = tile;
  }

  const GroupAnalysis& group_;
  const te::Stmt& stmt_;
  const std::function<int(int)>& tensor_of_;
  const hw::Machine& machine_;
  const te::Access& table_;
  hw::Group out_;
  std::vector<int64_t> tile_;   // by dim
  int64_t steps_ = 1;
  int64_t top_ = 0;             // of the work memory, bytes
  int index_buffer_ = 0, row_buffer_ = 0;
  hw::Dma store_;
};

}  // namespace

int gathered_read(const te::Stmt& stmt) {
  if (stmt.kind != te::StmtKind::Map || stmt.body.size() != 1 || stmt.body.front().op != te::Op::Load || stmt.write.indirect_axis >= 0) {
    return -1;
  }
  const auto read = static_cast<int>(stmt.body.front().integer);
  const te::Access& table = stmt.reads[static_cast<size_t>(read)];
  if (table.indirect_axis < 0 || table.fill || !table.index[static_cast<size_t>(table.indirect_axis)].is_zero()) {
    return -1;
  }
  return stmt.reads[static_cast<size_t>(table.indirect_read)].fill ? -1 : read;
}

/// No index of the table or of the result runs along two dims of a row: what a transfer can do.
static bool is_separable(const te::Stmt& stmt, const te::Access& access) {
  return std::all_of(access.index.begin(), access.index.end(), [&](const te::Affine& index) {
    return std::count_if(index.terms().begin(), index.terms().end(),
                         [&](const te::Term& term) { return !in_index(stmt, static_cast<size_t>(term.var)); }) <= 1;
  });
}

bool gathers_rows(const te::Stmt& stmt, DType table_type, const std::vector<int64_t>& table_shape, const hw::Machine& machine) {
  const int read = gathered_read(stmt);
  const hw::MemoryId global = machine.global_memory(), work = machine.work_memory();
  if (read < 0 || machine.has_decoupled_pipes()) {
    return false;
  }
  const int64_t smallest = std::min<int64_t>(bytes_of(table_type), bytes_of(DType::I32));   // of a row's elements and the indices
  if (!moves_elements(machine, global, work, smallest) || !moves_elements(machine, work, global, smallest)) {
    return false;
  }
  const te::Access& table = stmt.reads[static_cast<size_t>(read)];
  if (!is_separable(stmt, table) || !is_separable(stmt, stmt.write)) {
    return false;
  }
  const int64_t column = table_shape[static_cast<size_t>(table.indirect_axis)] * bytes_of(table_type);
  return te::element_count(table_shape) > kWorthwhile * par_points(stmt) ||
         2 * column > machine.memories[static_cast<size_t>(work)].usable();
}

hw::Group lower_rows(const GroupAnalysis& group, const std::function<int(int)>& tensor_of, const hw::Machine& machine) {
  return RowEmitter(group, tensor_of, machine).run();
}

}  // namespace dlcc::lowering
