// Writing of the trace: metadata, then events by time.
#include "sim/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/events.h"

namespace dlcc::sim {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void Trace::add(Kind kind, int core, int pipe, int group, int leaf, int64_t begin, int64_t end) {
  if (!enabled_ || left_[static_cast<size_t>(core)] <= 0 || end <= begin) {
    return;
  }
  --left_[static_cast<size_t>(core)];
  items_.push_back({begin, end, core, pipe, group, leaf, kind});
}

std::string Trace::json(const hw::Program& program, const hw::Machine& machine,
                        const std::vector<std::vector<std::string>>& leaf_names) const {
  struct Line {
    int64_t at;
    std::string text;
  };
  std::vector<Line> lines;
  lines.reserve(items_.size());
  int64_t id = 0;
  for (const Item& item : items_) {
    const std::string name = quoted(leaf_names[static_cast<size_t>(item.group)][static_cast<size_t>(item.leaf)]);
    const std::string group = quoted(program.groups[static_cast<size_t>(item.group)].info.name);
    const int64_t begin = cycles_of(item.begin), end = std::max(cycles_of(item.end), begin);
    if (item.kind == Kind::Transfer) {
      const std::string common =
          fmt::format("\"name\":{},\"cat\":\"dma\",\"id\":{},\"pid\":{},\"tid\":{}", name, id++, item.core, item.pipe);
      lines.push_back(
          {begin, fmt::format("{{\"ph\":\"b\",\"ts\":{},{},\"args\":{{\"layer\":{}}}}}", begin, common, group)});
      lines.push_back({end, fmt::format("{{\"ph\":\"e\",\"ts\":{},{}}}", end, common)});
    } else {
      lines.push_back({begin, fmt::format("{{\"ph\":\"X\",\"ts\":{},\"dur\":{},\"name\":{},\"cat\":\"{}\",\"pid\":{},"
                                          "\"tid\":{},\"args\":{{\"layer\":{}}}}}",
                                          begin, end - begin, name, item.kind == Kind::Wait ? "wait" : "run", item.core,
                                          item.pipe, group)});
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.at < b.at; });
  std::string text =
      "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"unit\":\"1 us of the trace is 1 cycle\",\"machine\":" +
      quoted(machine.name) + ",\"model\":" + quoted(program.model) + "},\"traceEvents\":[";
  bool first = true;
  const auto add_line = [&](const std::string& line) {
    text += first ? "\n" : ",\n";
    first = false;
    text += line;
  };
  for (size_t core = 0; core < left_.size(); ++core) {
    add_line(fmt::format("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"core {}\"}}}}",
                         core, core));
    for (size_t pipe = 0; pipe < machine.pipes.size(); ++pipe) {
      add_line(fmt::format("{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}",
                           core, pipe, quoted(machine.pipes[pipe].name)));
    }
  }
  for (const Line& line : lines) {
    add_line(line.text);
  }
  return text + "\n]}\n";
}

}  // namespace dlcc::sim
