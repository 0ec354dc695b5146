// The polyhedral oracle: is the emitted program of a group right, whatever the data? It walks the program tree of every core (loops, lets and guards
// with their real values), and knows for each slot of each buffer, as isl relations, which value of which statement or tensor every element holds.
//
//   footprint    each read of a leaf finds, point by point, the element that the statement asks for: loaded, computed or filled into that slot since,
//                complete, and waited for; every index is inside its object
//   legality     so each instance runs after those it depends on, in the same tile; every body, monoid and domain is the statement's
//   reduction    every point of the Red dims once per element, in ascending order, on top of the identity
//   ownership    each element of the result is stored once, by one core, and all are
//
// The regions of the plan serve as a hint only (which instances a leaf means): a wrong hint or a wrong leaf both fail the checks. Timing and flags
// beyond `wait` are the simulator's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hw/program.h"
#include "lowering/plan.h"

namespace dlcc::lowering::oracle {

enum class Verdict : uint8_t { Right, Wrong, Undecided };

struct Finding {
  std::string check;             // "footprint", "bounds", "reduction", "order", "ownership", "coverage", "leaf"
  std::string message;
};

struct Options {
  uint64_t max_operations = 200'000'000;   // of isl, for the whole group
  int64_t max_leaves = 200'000;            // leaf executions over all cores
  bool lexicographic = true;               // reductions in the statement's exact order, not only tile by tile
  int max_findings = 8;
};

struct Report {
  Verdict verdict = Verdict::Right;
  std::vector<Finding> findings;           // Wrong
  std::string undecided;                   // why
  int64_t leaves = 0, reads = 0;           // executed leaves, and reads compared
};

/// tensor_of maps GroupTensor::module_tensor to program tensors, as for lower(). Unsupported: a program that this oracle cannot follow.
Result<Report> check_group(const GroupAnalysis& group, const TilePlan& plan, const hw::Group& lowered, const std::function<int(int)>& tensor_of,
                           const hw::Machine& machine, const Options& options);

/// "footprint: ...", a line each, or "undecided: ...".
std::string to_string(const Report& report);

}  // namespace dlcc::lowering::oracle
