// Every program that differs from a given one by one removed synchronisation or by one transfer's box moved by one
// element.
#pragma once

#include <string>
#include <vector>

#include "hw/program.h"
#include "sim/sim.h"

namespace dlcc::mutation {

enum class Kind : uint8_t { RemoveWait, RemoveSignal, RemoveBarrier, ShiftBox };

/// Names one change: of the node `node` of a group's body in the order of for_each_node.
struct Mutation {
  Kind kind = Kind::RemoveWait;
  int node = 0;
  int dim = 0;  // ShiftBox: of the index of the tensor side (of the source when both sides are buffers)
  int by = 0;
};

/// Waits, signals and boxes; with `barriers` only those.
std::vector<Mutation> mutations(const hw::Group& group, bool barriers);

/// By group: whether its leading barrier orders anything: some core touches arena bytes in it that another core touched
/// in the group before, one of them writing. Worked out from the addresses of all transfers. A barrier that orders
/// nothing cannot be missed; it only costs its cycles.
std::vector<bool> ordering_barriers(const hw::Program& program, const std::vector<sim::DmaRecord>& trace);
hw::Group apply(const hw::Group& group, const Mutation& mutation);
/// "dma load of X -> X.buf: dim 1 by -1" with the object's name.
std::string describe(const hw::Program& program, const hw::Group& group, const Mutation& mutation);

/// The group alone, as a program: what it loads from the arena are the inputs, what it stores the outputs, at their
/// places. A tensor of which it stores only a part is an input too. Its leading barrier is dropped: nothing is before
/// it. So every value that the group leaves behind is seen, whatever later groups would make of it.
hw::Program isolate(const hw::Program& program, size_t group);

}  // namespace dlcc::mutation
