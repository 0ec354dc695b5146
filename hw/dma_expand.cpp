// A Dma leaf with known variable values -> a concrete strided box -> the descriptors of an engine. The contract is in
// the header.
#include "hw/dma_expand.h"

#include <algorithm>

#include "base/check.h"
#include "base/integer.h"

namespace dlcc::hw {
namespace {

/// The points of one box dim that remain.
struct Range {
  int64_t first = 0, last = -1;
};

/// An index without the box variables, plus the one box dim that it depends on.
struct SplitIndex {
  int64_t base = 0;
  int box_dim = kNone;
  int64_t coef = 0;
};

int box_dim_of(const std::vector<BoxDim>& box, VarId var) {
  for (size_t d = 0; d < box.size(); ++d) {
    if (box[d].var == var) {
      return static_cast<int>(d);
    }
  }
  return kNone;
}

SplitIndex split(const Affine& index, const std::vector<BoxDim>& box, std::span<const int64_t> env) {
  SplitIndex out{index.constant(), kNone, 0};
  for (const te::Term& term : index.terms()) {
    const int dim = box_dim_of(box, term.var);
    if (dim == kNone) {
      out.base += term.coef * env[static_cast<size_t>(term.var)];
      continue;
    }
    DLCC_CHECK(out.box_dim == kNone) << "an index of a transfer depends on two dims of its box";
    out.box_dim = dim;
    out.coef = term.coef;
  }
  return out;
}

/// Narrows `ranges` to the points whose index in this dim of a tensor lies in [0, size).
void clip_dim(const SplitIndex& index, int64_t size, std::vector<Range>& ranges) {
  if (index.box_dim == kNone) {
    if (index.base < 0 || index.base >= size) {
      for (Range& range : ranges) {
        range.last = range.first - 1;
      }
    }
    return;
  }
  Range& range = ranges[static_cast<size_t>(index.box_dim)];
  const int64_t a = -index.base, b = size - 1 - index.base;  // a <= coef * p <= b
  const bool up = index.coef > 0;
  range.first = std::max(range.first, ceil_div(up ? a : b, index.coef));
  range.last = std::min(range.last, floor_div(up ? b : a, index.coef));
}

void clip_to_tensor(const View& view, const Dma& dma, const Program& program, std::span<const int64_t> env,
                    std::vector<Range>& ranges) {
  const GlobalTensor& tensor = program.tensors[static_cast<size_t>(view.object)];
  for (size_t d = 0; d < view.index.size(); ++d) {
    clip_dim(split(view.index[d], dma.box, env), tensor.shape[d], ranges);
  }
}

/// Address of the box's first point and the stride of each of its dims.
struct Side {
  int64_t address = 0;
  std::vector<int64_t> stride;
};

/// A blocked side is not affine; it counts as dense in the order of the box.
void dense_strides(const std::vector<Range>& ranges, int64_t element, Side& side) {
  int64_t stride = element;
  for (size_t d = ranges.size(); d-- > 0;) {
    side.stride[d] = stride;
    stride *= std::max<int64_t>(ranges[d].last - ranges[d].first + 1, 0);
  }
}

/// Adds the row-major term of `extents`: address and strides, in bytes.
void row_major(const View& view, const std::vector<int64_t>& extents, int64_t element, const Dma& dma,
               std::span<const int64_t> env, const std::vector<Range>& ranges, Side& side) {
  int64_t stride = element;
  for (size_t d = extents.size(); d-- > 0;) {
    const SplitIndex index = split(view.index[d], dma.box, env);
    side.address += index.base * stride;
    if (index.box_dim != kNone) {
      const auto box_dim = static_cast<size_t>(index.box_dim);
      side.address += index.coef * ranges[box_dim].first * stride;
      side.stride[box_dim] += index.coef * stride;
    }
    stride *= extents[d];
  }
}

Side side_of(const View& view, const Dma& dma, const Group& group, const Program& program, std::span<const int64_t> env,
             const std::vector<Range>& ranges) {
  Side side;
  side.stride.assign(ranges.size(), 0);
  if (view.kind == ObjectKind::Tensor) {
    const GlobalTensor& tensor = program.tensors[static_cast<size_t>(view.object)];
    side.address = tensor.offset;
    row_major(view, tensor.shape, bytes_of(tensor.type), dma, env, ranges, side);
    return side;
  }
  const Buffer& buffer = group.buffers[static_cast<size_t>(view.object)];
  side.address = buffer.offset + view.slot.eval(env) * buffer.slot_bytes;
  if (buffer.layout.empty()) {
    row_major(view, buffer.pitch.empty() ? buffer.shape : buffer.pitch, bytes_of(buffer.type), dma, env, ranges, side);
  } else {
    dense_strides(ranges, bytes_of(buffer.type), side);
  }
  return side;
}

int64_t element_bytes(const View& view, const Group& group, const Program& program) {
  const auto object = static_cast<size_t>(view.object);
  return bytes_of(view.kind == ObjectKind::Tensor ? program.tensors[object].type : group.buffers[object].type);
}

/// One dim of a box under expansion.
struct Axis {
  int64_t extent, global, local;
};

/// Step 2.
std::vector<Axis> merged_axes(const ConcreteBox& box) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < box.extent.size(); ++d) {
    const Axis axis{box.extent[d], box.global_stride[d], box.local_stride[d]};
    if (axis.extent == 1) {
      continue;
    }
    if (!axes.empty() && axes.back().global == axis.extent * axis.global &&
        axes.back().local == axis.extent * axis.local) {
      axes.back() = {axes.back().extent * axis.extent, axis.global, axis.local};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

/// What one row of the remaining dims is cut into.
struct Row {
  int64_t block = 0;  // bytes
  int64_t blocks = 1;
  int64_t stride = 0;      // of the global side, bytes
  int64_t max_piece = 0;   // bytes of one block that a descriptor can hold
  int64_t max_blocks = 1;  // of one descriptor
};

int64_t smaller_limit(int64_t a, int64_t b) {
  return a == 0 ? b : (b == 0 ? a : std::min(a, b));
}

/// Steps 3 and 4: takes the dims that one descriptor covers from the end of `axes`.
Row take_row(std::vector<Axis>& axes, const ConcreteBox& box, const DmaEngine& engine) {
  Row row;
  row.block = box.element;
  if (!axes.empty() && axes.back().global == box.element && axes.back().local == box.element) {
    row.block = axes.back().extent * box.element;
    axes.pop_back();
  }
  const int64_t limit = smaller_limit(engine.max_block, engine.max_bytes);
  row.max_piece = limit == 0 ? row.block : std::max(limit - limit % box.element, box.element);
  const bool whole = row.block <= row.max_piece;
  if (whole && !axes.empty() && engine.max_dims >= 2 && axes.back().local == row.block &&
      axes.back().global >= row.block && (engine.max_stride == 0 || axes.back().global <= engine.max_stride)) {
    row.blocks = axes.back().extent;
    row.stride = axes.back().global;
    axes.pop_back();
    row.max_blocks = engine.max_bytes == 0 ? row.blocks : std::max<int64_t>(engine.max_bytes / row.block, 1);
  }
  return row;
}

void emit_row(const Row& row, int64_t global, int64_t local, std::vector<Descriptor>& out) {
  if (row.block > row.max_piece) {
    for (int64_t at = 0; at < row.block; at += row.max_piece) {
      out.push_back({global + at, local + at, std::min(row.max_piece, row.block - at), 1, 0});
    }
    return;
  }
  for (int64_t first = 0; first < row.blocks; first += row.max_blocks) {
    const int64_t count = std::min(row.max_blocks, row.blocks - first);
    out.push_back(
        {global + first * row.stride, local + first * row.block, row.block, count, count > 1 ? row.stride : 0});
  }
}

void emit_rows(const std::vector<Axis>& axes, size_t dim, const Row& row, int64_t global, int64_t local,
               std::vector<Descriptor>& out) {
  if (dim == axes.size()) {
    emit_row(row, global, local, out);
    return;
  }
  for (int64_t i = 0; i < axes[dim].extent; ++i) {
    emit_rows(axes, dim + 1, row, global + i * axes[dim].global, local + i * axes[dim].local, out);
  }
}

}  // namespace

bool has_blocked_side(const Dma& dma, const Group& group) {
  const auto blocked = [&](const View& view) {
    return view.kind == ObjectKind::Buffer && !group.buffers[static_cast<size_t>(view.object)].layout.empty();
  };
  return blocked(dma.src) || blocked(dma.dst);
}

ConcreteBox clip(const Dma& dma, const Group& group, const Program& program, std::span<const int64_t> env,
                 bool* clipped) {
  std::vector<Range> ranges;
  for (const BoxDim& dim : dma.box) {
    ranges.push_back({0, std::max<int64_t>(dim.extent.eval(env), 0) - 1});
  }
  if (ranges.empty()) {
    ranges.push_back({0, 0});  // a box without dims is one point
  }
  const std::vector<Range> whole = ranges;
  for (const View* view : {&dma.src, &dma.dst}) {
    if (view->kind == ObjectKind::Tensor) {
      clip_to_tensor(*view, dma, program, env, ranges);
    }
  }
  ConcreteBox box;
  box.element = element_bytes(dma.src, group, program);
  bool outside = false, empty = false;
  for (size_t d = 0; d < ranges.size(); ++d) {
    outside = outside || ranges[d].first != whole[d].first || ranges[d].last != whole[d].last;
    empty = empty || whole[d].last < 0;
    box.extent.push_back(std::max<int64_t>(ranges[d].last - ranges[d].first + 1, 0));
  }
  if (clipped != nullptr) {
    *clipped = outside && !empty;
  }
  const bool put = dma.dst.kind == ObjectKind::Tensor && dma.src.kind == ObjectKind::Buffer;
  Side global = side_of(put ? dma.dst : dma.src, dma, group, program, env, ranges);
  Side local = side_of(put ? dma.src : dma.dst, dma, group, program, env, ranges);
  box.global = global.address;
  box.local = local.address;
  box.global_stride = std::move(global.stride);
  box.local_stride = std::move(local.stride);
  return box;
}

void expand(const ConcreteBox& box, const DmaEngine& engine, std::vector<Descriptor>& out) {
  if (std::find(box.extent.begin(), box.extent.end(), 0) != box.extent.end()) {
    return;
  }
  std::vector<Axis> axes = merged_axes(box);
  const Row row = take_row(axes, box, engine);
  emit_rows(axes, 0, row, box.global, box.local, out);
}

}  // namespace dlcc::hw
