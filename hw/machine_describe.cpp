// What `dlhw show` prints: the structure in a few lines, then every number with where it came from.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hw/machine_yaml.h"

namespace dlcc::hw {
namespace {

std::string_view kind_text(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Scratchpad:
      return "scratchpad";
    case MemoryKind::Cache:
      return "cache";
    case MemoryKind::Registers:
      return "registers";
    default:
      return "global";
  }
}

std::string_view kind_text(EngineKind kind) {
  return kind == EngineKind::Async ? "async" : kind == EngineKind::Pipe ? "pipe" : "core";
}

std::string origin_text(const Provenance& provenance) {
  if (provenance.source.empty()) {
    return provenance.estimated ? "estimated" : "no source";
  }
  return provenance.estimated ? fmt::format("estimated; {}", provenance.source) : provenance.source;
}

std::string structure(const Machine& m) {
  const auto memory_name = [&](MemoryId id) { return m.memories[static_cast<size_t>(id)].name; };
  std::string text = fmt::format("{}: {}\n  {} cores at {:.4g} GHz, {} emitter\n", m.name, m.description,
                                 m.core_count(), m.clock_hz / 1e9, m.codegen.emitter);
  for (const Memory& memory : m.memories) {
    text += fmt::format("  memory {}: {}, {}, {} B usable\n", memory.name, kind_text(memory.kind),
                        memory.per_core ? "per core" : "shared", memory.usable());
  }
  for (const Path& path : m.paths) {
    const DmaEngine& engine = m.dma[static_cast<size_t>(path.engine)];
    text += fmt::format("  path {}: {} -> {} by {} ({})\n", path.name, memory_name(path.from), memory_name(path.to),
                        engine.name, kind_text(engine.kind));
  }
  for (const auto& [type, lanes] : m.vector.lanes) {
    text += fmt::format("  vectors of {}: {} lanes\n", name_of(type), lanes);
  }
  for (const Intrinsic& intrinsic : m.intrinsics) {
    text += fmt::format("  intrinsic {}: {}\n", intrinsic.id, intrinsic.semantics_text);
  }
  return text;
}

}  // namespace

std::string describe(const Machine& machine) {
  std::string text = structure(machine);
  size_t path_width = 0, value_width = 0;
  for (const auto& [path, provenance] : machine.provenance) {
    path_width = std::max(path_width, path.size());
    value_width = std::max(value_width, provenance.value.size());
  }
  text += "\n";
  for (const auto& [path, provenance] : machine.provenance) {
    text +=
        fmt::format("{:<{}}  {:<{}}  {}\n", path, path_width, provenance.value, value_width, origin_text(provenance));
  }
  return text;
}

}  // namespace dlcc::hw
