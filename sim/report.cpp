// Tables for people.
#include "sim/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlcc::sim {
namespace {

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// The pipe that is busy for longest.
const PipeTime* busiest(const GroupTime& group) {
  const auto it = std::max_element(group.pipes.begin(), group.pipes.end(),
                                   [](const PipeTime& a, const PipeTime& b) { return a.busy < b.busy; });
  return it == group.pipes.end() ? nullptr : &*it;
}

/// "contraction+mma": what the layer is, and the intrinsics that it uses.
std::string kind_text(const hw::LayerInfo& info) {
  std::string text = info.kind;
  for (const std::string& intrinsic : info.intrinsics) {
    text += "+" + intrinsic;
  }
  return text;
}

}  // namespace

Stall main_stall(const GroupTime& group, int cores) {
  const PipeTime* pipe = busiest(group);
  Stall stall;
  if (pipe == nullptr) {
    return stall;
  }
  const std::pair<const char*, int64_t> parts[] = {{"wait_dma", pipe->wait_dma},
                                                   {"wait_flag", pipe->wait_flag},
                                                   {"queue_full", pipe->queue_full},
                                                   {"wait_barrier", pipe->wait_barrier},
                                                   {"idle", pipe->idle}};
  int64_t most = 0;
  for (const auto& [name, cycles] : parts) {
    if (cycles > most) {
      most = cycles;
      stall = {name, share(cycles, group.cycles * cores)};
    }
  }
  return stall;
}

std::string layer_table(const hw::Program& program, const hw::Machine& machine, const Result& result) {
  if (result.groups.empty()) {
    return {};
  }
  const int cores = machine.core_count();
  std::string text = fmt::format("{:<32} {:<16} {:>12} {:>12} {:>6} {:>6} {:<18} {:>12} {:>9} {:>8}\n", "layer", "kind",
                                 "cycles", "bound", "eff%", "busy%", "main stall", "dma bytes", "scratch", "balance");
  int64_t bound = 0, bytes = 0;
  for (size_t g = 0; g < result.groups.size() && g < program.groups.size(); ++g) {
    const GroupTime& group = result.groups[g];
    const hw::LayerInfo& info = program.groups[g].info;
    const PipeTime* pipe = busiest(group);
    const Stall stall = main_stall(group, cores);
    text +=
        fmt::format("{:<32} {:<16} {:>12} {:>12} {:>6.1f} {:>6.1f} {:<18} {:>12} {:>9} {:>8.2f}\n",
                    info.name.substr(0, 32), kind_text(info), group.cycles, info.bound_cycles, 100 * share(info.bound_cycles, group.cycles),
                    pipe == nullptr ? 0.0 : 100 * share(pipe->busy, group.cycles * cores),
                    stall.share > 0 ? fmt::format("{} {:.0f}%", stall.reason, 100 * stall.share) : "none",
                    group.dma_bytes, group.scratchpad_bytes, group.balance);
    bound += info.bound_cycles;
    bytes += group.dma_bytes;
  }
  text += fmt::format("total {} cycles with launch ({:.3f} ms at {:.2f} GHz), bound {} ({:.1f} %), {} bytes moved\n",
                      result.cycles,
                      machine.clock_hz > 0 ? 1e3 * static_cast<double>(result.cycles) / machine.clock_hz : 0.0,
                      machine.clock_hz / 1e9, bound, 100 * share(bound, result.cycles), bytes);
  return text;
}

std::string findings_text(const Result& result) {
  std::string text;
  for (const Finding& finding : result.findings) {
    text +=
        fmt::format("{}: {}, core {}", finding.check, finding.group.empty() ? "program" : finding.group, finding.core);
    if (!finding.pipe.empty()) {
      text += ", pipe " + finding.pipe;
    }
    if (!finding.leaf.empty()) {
      text += ", '" + finding.leaf + "'";
    }
    text += ": " + finding.message + "\n";
  }
  return text;
}

}  // namespace dlcc::sim
