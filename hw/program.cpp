// Storage arithmetic of buffers, and which pipe executes a leaf.
#include "hw/program.h"

#include "base/check.h"

namespace dlcc::hw {
namespace {

int64_t axis_size(const LayoutAxis& axis, const std::vector<int64_t>& shape) {
  if (axis.size > 0) {
    return axis.size;
  }
  return (shape[static_cast<size_t>(axis.dim)] + axis.div - 1) / axis.div;
}

PipeId pipe_of_dma(const Dma& dma, const Machine& machine) {
  const int engine = machine.paths[static_cast<size_t>(dma.path)].engine;
  return engine == kNone ? machine.vector.pipe : machine.dma[static_cast<size_t>(engine)].pipe;
}

}  // namespace

int64_t Buffer::element_offset(std::span<const int64_t> coordinate) const {
  DLCC_CHECK(coordinate.size() == shape.size()) << "buffer '" << name << "'";
  int64_t offset_elements = 0;
  if (layout.empty()) {
    const std::vector<int64_t>& extents = pitch.empty() ? shape : pitch;
    for (size_t d = 0; d < extents.size(); ++d) {
      offset_elements = offset_elements * extents[d] + coordinate[d];
    }
    return offset_elements;
  }
  for (const LayoutAxis& axis : layout) {
    const int64_t size = axis_size(axis, shape);
    offset_elements = offset_elements * size + coordinate[static_cast<size_t>(axis.dim)] / axis.div % size;
  }
  return offset_elements;
}

int64_t Buffer::storage_elements() const {
  if (layout.empty()) {
    return te::element_count(pitch.empty() ? shape : pitch);
  }
  int64_t elements = 1;
  for (const LayoutAxis& axis : layout) {
    elements *= axis_size(axis, shape);
  }
  return elements;
}

PipeId pipe_of(const Node& node, const Group& group, const Machine& machine) {
  if (const auto* dma = std::get_if<Dma>(&node.v)) {
    return pipe_of_dma(*dma, machine);
  }
  if (const auto* fill = std::get_if<Fill>(&node.v)) {
    return fill->pipe;
  }
  if (const auto* compute = std::get_if<Compute>(&node.v)) {
    return compute->pipe;
  }
  if (const auto* call = std::get_if<IntrinCall>(&node.v)) {
    return machine.intrinsics[static_cast<size_t>(call->intrinsic)].pipe;
  }
  if (const auto* signal = std::get_if<Signal>(&node.v)) {
    return group.channels[static_cast<size_t>(signal->channel)].from;
  }
  if (const auto* wait = std::get_if<Wait>(&node.v)) {
    return group.channels[static_cast<size_t>(wait->channel)].to;
  }
  return kNone;
}

}  // namespace dlcc::hw
