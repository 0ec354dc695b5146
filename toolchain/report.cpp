#include "toolchain/report.h"

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

}  // namespace dlcc::toolchain
