#include "toolchain/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dlcc::toolchain {

using Json = nlohmann::ordered_json;

static int64_t total_bound(const hw::Program& program) {
  int64_t total = 0;
  for (const hw::Group& group : program.groups) {
    total += group.info.bound_cycles;
  }
  return total;
}

std::string report_json(const hw::Program& program, const hw::Machine& machine, const sim::Result& timed) {
  Json json;
  json["schema"] = "dlcc-report";
  json["version"] = 1;
  json["model"] = program.model;
  json["chip"] = machine.name;
  json["total_cycles"] = timed.cycles;
  json["bound_cycles"] = total_bound(program);
  json["seconds"] = static_cast<double>(timed.cycles) / machine.clock_hz;
  json["layers"] = Json::array();
  for (size_t g = 0; g < program.groups.size(); ++g) {
    const hw::LayerInfo& info = program.groups[g].info;
    const sim::GroupTime& time = timed.groups[g];
    Json layer = {{"name", info.name},
                  {"onnx_nodes", info.onnx_nodes},
                  {"kind", info.kind},
                  {"tile", info.tile},
                  {"cycles", time.cycles},
                  {"bound_cycles", info.bound_cycles},
                  {"flops", info.flops},
                  {"dma_bytes", time.dma_bytes},
                  {"dma_descriptors", time.dma_descriptors},
                  {"scratchpad_bytes", time.scratchpad_bytes},
                  {"balance", time.balance},
                  {"intrinsics", info.intrinsics}};
    layer["pipes"] = Json::array();
    for (const sim::PipeTime& pipe : time.pipes) {
      layer["pipes"].push_back({{"pipe", pipe.pipe},
                                {"busy", pipe.busy},
                                {"wait_dma", pipe.wait_dma},
                                {"wait_flag", pipe.wait_flag},
                                {"queue_full", pipe.queue_full},
                                {"wait_barrier", pipe.wait_barrier},
                                {"idle", pipe.idle}});
    }
    json["layers"].push_back(std::move(layer));
  }
  return json.dump(2) + "\n";
}

/// Share of each pipe's time: busy, and what it waited for most.
static std::string stall_text(const sim::GroupTime& time) {
  std::string text;
  for (const sim::PipeTime& pipe : time.pipes) {
    const int64_t all = pipe.busy + pipe.wait_dma + pipe.wait_flag + pipe.queue_full + pipe.wait_barrier + pipe.idle;
    if (all == 0) {
      continue;
    }
    const std::pair<const char*, int64_t> waits[] = {{"dma", pipe.wait_dma}, {"flag", pipe.wait_flag}, {"queue", pipe.queue_full},
                                                     {"barrier", pipe.wait_barrier}, {"idle", pipe.idle}};
    const auto worst = std::max_element(std::begin(waits), std::end(waits), [](const auto& a, const auto& b) { return a.second < b.second; });
    text += fmt::format("{}{} {}% busy", text.empty() ? "" : ", ", pipe.pipe, 100 * pipe.busy / all);
    if (worst->second > 0) {
      text += fmt::format(" {}% {}", 100 * worst->second / all, worst->first);
    }
  }
  return text;
}

std::string report_table(const hw::Program& program, const hw::Machine& machine, const sim::Result& timed) {
  std::string text = fmt::format("{:<32} {:<12} {:>12} {:>12} {:>6} {:>12} {:>11}  {}\n", "layer", "kind", "cycles", "bound", "%bound", "dma bytes",
                                 "scratchpad", "pipes (sum over cores)");
  for (size_t g = 0; g < program.groups.size(); ++g) {
    const hw::LayerInfo& info = program.groups[g].info;
    const sim::GroupTime& time = timed.groups[g];
    std::string kind = info.kind;
    for (const std::string& intrinsic : info.intrinsics) {
      kind += "+" + intrinsic;
    }
    text += fmt::format("{:<32.32} {:<12} {:>12} {:>12} {:>6.1f} {:>12} {:>11}  {}\n", info.name, kind, time.cycles, info.bound_cycles,
                        time.cycles > 0 ? 100.0 * static_cast<double>(info.bound_cycles) / static_cast<double>(time.cycles) : 0.0, time.dma_bytes,
                        time.scratchpad_bytes, stall_text(time));
  }
  const int64_t bound = total_bound(program);
  text += fmt::format("total: {} layers, {} cycles ({:.3f} ms at {:.3g} GHz), bound {} cycles, {:.1f} % of it\n", program.groups.size(), timed.cycles,
                      1e3 * static_cast<double>(timed.cycles) / machine.clock_hz, machine.clock_hz / 1e9, bound,
                      timed.cycles > 0 ? 100.0 * static_cast<double>(bound) / static_cast<double>(timed.cycles) : 0.0);
  return text;
}

}  // namespace dlcc::toolchain
