// verify(): the static checks of a Program. What concerns the whole program and the declarations of groups is here;
// bodies are in verify_body.cpp.
#include <algorithm>
#include <limits>

#include "hw/verify_group.h"

namespace dlcc::hw {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 16;

/// Product that stops at kHuge instead of overflowing; negative extents count as huge.
int64_t saturated_product(const std::vector<int64_t>& extents) {
  int64_t product = 1;
  for (const int64_t extent : extents) {
    if (extent < 0 || (extent > 0 && product > kHuge / extent)) {
      return kHuge;
    }
    product *= extent;
  }
  return product;
}

void verify_tensors(const Program& program, Diags& diags) {
  for (const GlobalTensor& tensor : program.tensors) {
    const std::string where = "tensor '" + tensor.name + "'";
    const int64_t space = tensor.space == Space::Arena ? program.arena_bytes : program.weights_bytes;
    const int64_t bytes = saturated_product(tensor.shape) >= kHuge ? kHuge : tensor.bytes();
    if (tensor.offset < 0 || bytes > space || tensor.offset > space - bytes) {
      diags.push_back({DiagKind::Error, where,
                       "bytes " + std::to_string(tensor.offset) + " to " + std::to_string(tensor.offset + bytes) +
                           " are outside its space of " + std::to_string(space) + " bytes"});
    } else if (tensor.offset % bytes_of(tensor.type) != 0) {
      diags.push_back({DiagKind::Error, where,
                       "offset " + std::to_string(tensor.offset) + " is not a multiple of the element size"});
    }
  }
  for (const auto* ids : {&program.inputs, &program.outputs}) {
    for (const int id : *ids) {
      if (id < 0 || id >= static_cast<int>(program.tensors.size())) {
        diags.push_back({DiagKind::Error, "program", "input or output " + std::to_string(id) + " is not a tensor"});
      }
    }
  }
}

/// Empty: the layout stores every element of the shape at a place of its own.
std::string layout_problem(const Buffer& buffer) {
  const int rank = static_cast<int>(buffer.shape.size());
  std::vector<std::vector<LayoutAxis>> by_dim(buffer.shape.size());
  for (const LayoutAxis& axis : buffer.layout) {
    if (axis.dim < 0 || axis.dim >= rank || axis.div < 1 || axis.size < 0) {
      return "a layout axis names dim " + std::to_string(axis.dim) + " with size " + std::to_string(axis.size) +
             " and divisor " + std::to_string(axis.div);
    }
    by_dim[static_cast<size_t>(axis.dim)].push_back(axis);
  }
  for (size_t d = 0; d < by_dim.size(); ++d) {
    auto& axes = by_dim[d];
    std::sort(axes.begin(), axes.end(), [](const LayoutAxis& a, const LayoutAxis& b) { return a.div < b.div; });
    int64_t covered = 1;
    for (const LayoutAxis& axis : axes) {
      if (axis.div != covered) {
        return "the layout axes of dim " + std::to_string(d) + " leave a gap or overlap at divisor " +
               std::to_string(axis.div);
      }
      covered = axis.size == 0 || axis.size > kHuge / covered ? kHuge : covered * axis.size;
    }
    if (covered < buffer.shape[d]) {
      return "the layout covers " + std::to_string(covered) + " of the " + std::to_string(buffer.shape[d]) +
             " positions of dim " + std::to_string(d);
    }
  }
  return {};
}

std::string shape_problem(const Buffer& buffer) {
  for (size_t d = 0; d < buffer.shape.size(); ++d) {
    if (buffer.shape[d] < 1) {
      return "dim " + std::to_string(d) + " has extent " + std::to_string(buffer.shape[d]);
    }
  }
  if (!buffer.pitch.empty() && buffer.pitch.size() != buffer.shape.size()) {
    return "pitch has " + std::to_string(buffer.pitch.size()) + " dims, the shape " +
           std::to_string(buffer.shape.size());
  }
  for (size_t d = 0; d < buffer.pitch.size(); ++d) {
    if (buffer.pitch[d] < buffer.shape[d]) {
      return "pitch " + std::to_string(buffer.pitch[d]) + " of dim " + std::to_string(d) + " is less than its extent " +
             std::to_string(buffer.shape[d]);
    }
  }
  if (saturated_product(buffer.shape) >= kHuge || saturated_product(buffer.pitch) >= kHuge) {
    return "the shape is too large to count";
  }
  return buffer.layout.empty() ? std::string() : layout_problem(buffer);
}

std::string buffer_problem(const Buffer& buffer, const Machine& machine) {
  if (buffer.memory < 0 || buffer.memory >= static_cast<int>(machine.memories.size())) {
    return "memory " + std::to_string(buffer.memory) + " does not exist";
  }
  const Memory& memory = machine.memories[static_cast<size_t>(buffer.memory)];
  if (memory.kind == MemoryKind::Global) {
    return "a buffer cannot lie in global memory '" + memory.name + "'";
  }
  if (const std::string problem = shape_problem(buffer); !problem.empty()) {
    return problem;
  }
  const int64_t elements = buffer.storage_elements();
  if (elements > kHuge / 8 || buffer.slot_bytes < elements * bytes_of(buffer.type)) {
    return "a slot of " + std::to_string(buffer.slot_bytes) + " bytes is less than the " + std::to_string(elements) +
           " elements of " + std::string(name_of(buffer.type)) + " in it";
  }
  if (buffer.copies < 1 || buffer.offset < 0) {
    return std::to_string(buffer.copies) + " copies at offset " + std::to_string(buffer.offset);
  }
  if (buffer.offset % memory.align != 0 || buffer.slot_bytes % memory.align != 0) {
    return "offset " + std::to_string(buffer.offset) + " and slot of " + std::to_string(buffer.slot_bytes) +
           " bytes must be multiples of the " + std::to_string(memory.align) + " bytes that memory '" + memory.name +
           "' aligns to";
  }
  if (buffer.slot_bytes > kHuge / buffer.copies ||
      buffer.offset > memory.usable() - buffer.copies * buffer.slot_bytes) {
    return std::to_string(buffer.copies) + " slots of " + std::to_string(buffer.slot_bytes) + " bytes at offset " +
           std::to_string(buffer.offset) + " exceed the " + std::to_string(memory.usable()) +
           " usable bytes of memory '" + memory.name + "'";
  }
  return {};
}

void verify_overlap(const Group& group, Diags& diags) {
  std::vector<const Buffer*> order;
  for (const Buffer& buffer : group.buffers) {
    order.push_back(&buffer);
  }
  std::stable_sort(order.begin(), order.end(), [](const Buffer* a, const Buffer* b) {
    return std::pair(a->memory, a->offset) < std::pair(b->memory, b->offset);
  });
  for (size_t i = 1; i < order.size(); ++i) {
    const Buffer &a = *order[i - 1], &b = *order[i];
    if (a.memory == b.memory && a.offset + a.copies * a.slot_bytes > b.offset) {
      diags.push_back({DiagKind::Error, "group '" + group.info.name + "', buffer '" + b.name + "'",
                       "starts at byte " + std::to_string(b.offset) + ", inside buffer '" + a.name +
                           "', which ends at " + std::to_string(a.offset + a.copies * a.slot_bytes)});
    }
  }
}

void verify_channels(const Group& group, const Machine& machine, Diags& diags) {
  const int pipes = static_cast<int>(machine.pipes.size());
  for (const Channel& channel : group.channels) {
    const std::string where = "group '" + group.info.name + "', channel '" + channel.name + "'";
    if (channel.slots < 1 || channel.initial < 0) {
      diags.push_back(
          {DiagKind::Error, where,
           std::to_string(channel.slots) + " slots with " + std::to_string(channel.initial) + " initial tokens"});
    }
    if (channel.from < 0 || channel.from >= pipes || channel.to < 0 || channel.to >= pipes) {
      diags.push_back({DiagKind::Error, where,
                       "joins pipe " + std::to_string(channel.from) + " to pipe " + std::to_string(channel.to) +
                           ", the chip has " + std::to_string(pipes)});
    }
  }
}

}  // namespace

bool verify_declarations(const Group& group, const Machine& machine, Diags& diags) {
  const size_t before = diags.size();
  const std::string where = "group '" + group.info.name + "'";
  if (group.vars.empty() || group.vars[0] != "core") {
    diags.push_back({DiagKind::Error, where, "variable 0 must be 'core'"});
  }
  for (const Buffer& buffer : group.buffers) {
    if (const std::string problem = buffer_problem(buffer, machine); !problem.empty()) {
      diags.push_back({DiagKind::Error, where + ", buffer '" + buffer.name + "'", problem});
    }
  }
  verify_channels(group, machine, diags);
  if (diags.size() == before) {
    verify_overlap(group, diags);
  }
  return diags.size() == before;
}

Status verify(const Program& program, const Machine& machine) {
  Diags diags;
  if (program.machine != machine.name) {
    diags = error("program", "was made for chip '" + program.machine + "', not for '" + machine.name + "'");
  }
  verify_tensors(program, diags);
  if (!diags.empty()) {
    return diags;
  }
  for (const Group& group : program.groups) {
    if (verify_declarations(group, machine, diags)) {
      verify_body(program, group, machine, diags);
    }
  }
  if (!diags.empty()) {
    return diags;
  }
  return ok_status();
}

}  // namespace dlcc::hw
