// What verify() could not prove, tried on real values: every point of small loop nests, the ends and the middle of
// large ones.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "hw/program.h"

namespace dlcc::hw {

/// Something that must hold whenever a leaf runs with a box that is not empty.
struct Requirement {
  enum class Kind : uint8_t { Index, Slot, ChannelSlot, Extent, Param, Alignment };
  Kind kind = Kind::Index;
  Affine low, high;          // the least and the greatest value that the checked quantity takes
  int64_t min = 0, max = 0;  // what it may take
  int64_t multiple_of = 1;   // Param
  std::string what;          // "index 2 of buffer 'x'"
};

/// The leaf and its open requirements.
struct OpenLeaf {
  std::string where;
  const std::vector<BoxDim>* box = nullptr;
  std::vector<Requirement> requirements;
};
using OpenLeaves = std::unordered_map<const Node*, OpenLeaf>;  // only looked up

/// Appends what is violated for certain, once per requirement.
void walk_open_leaves(const Program& program, const Group& group, const Machine& machine, OpenLeaves open,
                      Diags& diags);

}  // namespace dlcc::hw
