#include "lowering/lower.h"

#include <map>

#include <fmt/format.h>

#include "lowering/emit.h"

namespace dlcc::lowering {

/// Flags are few: every pair of pipes has `ids` of them.
static std::string flag_overflow(const hw::Group& group, const hw::Machine& machine) {
  const hw::Sync* flags = machine.sync_of(hw::SyncKind::FlagPair);
  if (flags == nullptr || flags->ids == 0) {
    return "";
  }
  std::map<std::pair<hw::PipeId, hw::PipeId>, int> used;
  for (const hw::Channel& channel : group.channels) {
    if (channel.kind == hw::ChannelKind::Flag) {
      int& count = used[{channel.from, channel.to}];
      count += channel.slots;
      if (count > flags->ids) {
        return fmt::format("needs {} flags from {} to {}, {} has {}", count, machine.pipes[static_cast<size_t>(channel.from)].name,
                           machine.pipes[static_cast<size_t>(channel.to)].name, flags->name, flags->ids);
      }
    }
  }
  return "";
}

Result<hw::Group> lower(const GroupAnalysis& group, const TilePlan& plan, const std::function<int(int)>& tensor_of, const Context& context) {
  if (const std::string problem = check(plan, group); !problem.empty()) {
    return error(group.name, problem);
  }
  RegionMap regions = propagate(group, plan);
  BufferPlan buffers = plan_buffers(group, plan, regions, context.machine);
  if (buffers.overflow > 0) {
    return error(group.name, print(plan, group) + " " + itemise(buffers, context.machine));
  }
  GroupEmitter emitter(group, plan, std::move(regions), std::move(buffers), tensor_of, context);
  hw::Body body = context.machine.has_decoupled_pipes() ? sequence_pipes(emitter) : sequence_stream(emitter);
  hw::Group out = emitter.finish(std::move(body));
  if (const std::string problem = flag_overflow(out, context.machine); !problem.empty()) {
    return error(group.name, problem);
  }
  return out;
}

}  // namespace dlcc::lowering
