// Groups in order; within one, rounds: every core runs to its next barrier, then the logs of arena accesses are merged
// and an epoch ends.
#include "sim/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <thread>

#include "sim/core_run.h"

namespace dlcc::sim {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

class ValueRun {
 public:
  ValueRun(const hw::Program& program, const hw::Machine& machine, std::span<const std::byte> weights,
           const Options& options, LookupLog& lookups, Result& result)
      : program_(program),
        machine_(machine),
        options_(options),
        result_(result),
        arena_(static_cast<std::byte*>(std::calloc(static_cast<size_t>(program.arena_bytes) + 64, 1))),
        context_{program, machine, options, arena_.get(), weights.data(), lookups} {}

  Status run(const std::vector<te::Array>& inputs) {
    if (arena_ == nullptr) {
      return error("program '" + program_.model + "'",
                   fmt::format("no memory for an arena of {} bytes", program_.arena_bytes));
    }
    if (options_.sanitize) {
      std::memset(arena_.get(), 0xff, static_cast<size_t>(program_.arena_bytes));
      shadow_ = std::make_unique<GlobalShadow>(program_.arena_bytes, arena_shift());
    }
    DLCC_RETURN_IF_ERROR(load(inputs));
    for (int core = 0; core < machine_.core_count(); ++core) {
      cores_.push_back(std::make_unique<CoreRun>(context_, core));
    }
    for (size_t g = 0; g < program_.groups.size() && !stopped_; ++g) {
      DLCC_RETURN_IF_ERROR(run_group(static_cast<int>(g)));
    }
    store();
    return ok_status();
  }

 private:
  int arena_shift() const {
    int shift = 3;
    for (const hw::GlobalTensor& tensor : program_.tensors) {
      if (tensor.space == hw::Space::Arena) {
        shift = std::min(shift, std::countr_zero(static_cast<unsigned>(bytes_of(tensor.type))));
      }
    }
    return shift;
  }

  Status load(const std::vector<te::Array>& inputs) {
    if (inputs.size() != program_.inputs.size()) {
      return error("program '" + program_.model + "'",
                   fmt::format("{} inputs given, it has {}", inputs.size(), program_.inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const hw::GlobalTensor& tensor = program_.tensors[static_cast<size_t>(program_.inputs[i])];
      if (inputs[i].type != tensor.type || inputs[i].shape != tensor.shape ||
          static_cast<int64_t>(inputs[i].data.size()) != tensor.bytes()) {
        return error("input '" + tensor.name + "'",
                     fmt::format("is {}{}, given is {}{}", name_of(tensor.type), shape_text(tensor.shape),
                                 name_of(inputs[i].type), shape_text(inputs[i].shape)));
      }
      if (tensor.space != hw::Space::Arena) {
        return error("input '" + tensor.name + "'", "does not lie in the arena");
      }
      std::copy(inputs[i].data.begin(), inputs[i].data.end(), arena_.get() + tensor.offset);
      if (shadow_ != nullptr && tensor.bytes() > 0) {
        shadow_->mark_initialised(tensor.offset, tensor.bytes());
      }
    }
    return ok_status();
  }

  void store() {
    for (const int id : program_.outputs) {
      const hw::GlobalTensor& tensor = program_.tensors[static_cast<size_t>(id)];
      te::Array array = te::Array::zeros(tensor.type, tensor.shape);
      const std::byte* from = (tensor.space == hw::Space::Arena ? context_.arena : context_.weights) + tensor.offset;
      std::copy_n(from, array.data.size(), array.data.begin());
      result_.outputs.push_back(std::move(array));
    }
  }

  void add(Finding finding) {
    if (result_.findings.size() < static_cast<size_t>(std::max(options_.max_findings, 1))) {
      result_.findings.push_back(std::move(finding));
    }
  }

  Status run_group(int g) {
    const hw::Group& group = program_.groups[static_cast<size_t>(g)];
    const GroupPlan plan(group, program_, machine_);
    DLCC_RETURN_IF_ERROR(check_buffers(plan));
    check_channels(plan);
    for (auto& core : cores_) {
      core->start(plan, g);
    }
    std::vector<CoreStop> stops(cores_.size(), CoreStop::Running);
    while (true) {
      run_round(stops);
      merge(plan);
      const auto all = [&](CoreStop stop) {
        return std::count(stops.begin(), stops.end(), stop) == static_cast<std::ptrdiff_t>(stops.size());
      };
      if (all(CoreStop::End)) {
        break;
      }
      if (!all(CoreStop::Barrier)) {
        collect();
        return deadlock(group, stops);
      }
      if (shadow_ != nullptr) {
        shadow_->next_epoch();
      }
      ++epoch_;
    }
    for (auto& core : cores_) {
      core->finish();
    }
    merge(plan);
    collect();
    return ok_status();
  }

  /// One leg of every core, on up to `threads` host threads.
  void run_round(std::vector<CoreStop>& stops) {
    const size_t threads = std::clamp<size_t>(static_cast<size_t>(std::max(options_.threads, 1)), 1, cores_.size());
    std::vector<std::exception_ptr> failures(threads);
    const auto work = [&](size_t thread) {
      try {
        for (size_t c = thread; c < cores_.size(); c += threads) {
          stops[c] = cores_[c]->run(epoch_);
        }
      } catch (...) {
        failures[thread] = std::current_exception();  // an internal error: rethrown on the caller's thread
      }
    };
    std::vector<std::thread> others;
    for (size_t t = 1; t < threads; ++t) {
      others.emplace_back(work, t);
    }
    work(0);
    for (std::thread& thread : others) {
      thread.join();
    }
    for (const std::exception_ptr& failure : failures) {
      if (failure != nullptr) {
        std::rethrow_exception(failure);
      }
    }
  }

  void merge(const GroupPlan& plan) {
    if (shadow_ == nullptr) {
      return;
    }
    for (auto& core : cores_) {
      shadow_->merge(core->core(), core->log(),
                     [&](const GlobalAccess& access, GlobalHazard hazard, int64_t byte, int other) {
                       report_global(plan, *core, access, hazard, byte, other);
                     });
      core->log().clear();
    }
  }

  static void report_global(const GroupPlan& plan, CoreRun& core, const GlobalAccess& access, GlobalHazard hazard,
                            int64_t byte, int other) {
    const std::string who = other < 0 ? "several cores" : fmt::format("core {}", other);
    std::string check = "inter-core-race", text;
    switch (hazard) {
      case GlobalHazard::Uninitialised:
        check = "uninitialised-read";
        text = fmt::format("reads byte {} of the arena, which nothing has written", byte);
        break;
      case GlobalHazard::ReadOfOther:
        text = fmt::format("reads byte {} of the arena, which {} writes with no barrier between", byte, who);
        break;
      case GlobalHazard::WriteOfOther:
        text = fmt::format("writes byte {} of the arena, which {} writes too with no barrier between", byte, who);
        break;
      case GlobalHazard::WriteOfRead:
        text = fmt::format("writes byte {} of the arena, which {} reads with no barrier between", byte, who);
        break;
    }
    core.report(check, access.leaf, plan.code().leaves()[static_cast<size_t>(access.leaf)].pipe, text);
  }

  void collect() {
    for (auto& core : cores_) {
      for (Finding& finding : core->findings()) {
        add(std::move(finding));
      }
      core->findings().clear();
    }
  }

  /// Capacity and alignment. An absurd size is an error: it cannot even be run.
  Status check_buffers(const GroupPlan& plan) {
    const std::string& name = plan.group().info.name;
    int64_t total = 0;
    for (const int64_t bytes : plan.memory_bytes()) {
      total += bytes;
    }
    if (total > (int64_t{4} << 30) / std::max(machine_.core_count(), 1)) {
      return error("group '" + name + "'", fmt::format("its buffers need {} bytes a core", total));
    }
    if (!options_.sanitize) {
      return ok_status();
    }
    for (const hw::Buffer& buffer : plan.group().buffers) {
      const hw::Memory& memory = machine_.memories[static_cast<size_t>(buffer.memory)];
      const int64_t end = buffer.offset + buffer.copies * buffer.slot_bytes;
      if (end > memory.usable()) {
        add({"capacity", name, "", 0, "",
             fmt::format("buffer '{}' ends at byte {} of memory {}, usable are {}", buffer.name, end, memory.name,
                         memory.usable())});
      }
      if (memory.align > 1 &&
          (buffer.offset % memory.align != 0 || (buffer.copies > 1 && buffer.slot_bytes % memory.align != 0))) {
        add({"alignment", name, "", 0, "",
             fmt::format("buffer '{}' has offset {} and slots of {} bytes; memory {} wants multiples of {}",
                         buffer.name, buffer.offset, buffer.slot_bytes, memory.name, memory.align)});
      }
    }
    return ok_status();
  }

  /// A wait for replies that no transfer of the group ever gives.
  void check_channels(const GroupPlan& plan) {
    if (!options_.sanitize) {
      return;
    }
    const hw::Group& group = plan.group();
    std::vector<char> given(group.channels.size(), 0);
    for (const Leaf& leaf : plan.code().leaves()) {
      if (leaf.kind == OpKind::Dma && leaf.as<hw::Dma>().channel != hw::kNone) {
        given[static_cast<size_t>(leaf.as<hw::Dma>().channel)] = 1;
      }
    }
    for (const Leaf& leaf : plan.code().leaves()) {
      if (leaf.kind != OpKind::Wait) {
        continue;
      }
      const auto channel = static_cast<size_t>(leaf.as<hw::Wait>().channel);
      if (group.channels[channel].kind == hw::ChannelKind::Reply && given[channel] == 0) {
        add({"unpaired-wait", group.info.name, leaf_name(leaf, group, program_, machine_), 0, "",
             fmt::format("no transfer of the group replies on channel '{}'", group.channels[channel].name)});
      }
    }
  }

  Status deadlock(const hw::Group& group, const std::vector<CoreStop>& stops) {
    std::string text;
    int shown = 0;
    for (const CoreStop wanted : {CoreStop::Deadlock, CoreStop::Barrier, CoreStop::End}) {
      for (size_t c = 0; c < stops.size() && shown < 4; ++c) {
        if (stops[c] == wanted) {
          const std::string waits =
              wanted == CoreStop::End ? "has ended"
                                      : (wanted == CoreStop::Barrier ? "waits at a barrier" : cores_[c]->waiting_for());
          text += fmt::format("{}core {}: {}", text.empty() ? "" : "; ", c, waits);
          ++shown;
          if (wanted != CoreStop::Deadlock) {
            break;  // one of these is enough
          }
        }
      }
    }
    if (!options_.sanitize) {
      return error("group '" + group.info.name + "'", "deadlock: " + text);
    }
    add({"deadlock", group.info.name, "", 0, "", text});
    stopped_ = true;
    return ok_status();
  }

  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  const hw::Program& program_;
  const hw::Machine& machine_;
  const Options& options_;
  Result& result_;
  std::unique_ptr<std::byte[], Free> arena_;
  RunContext context_;
  std::unique_ptr<GlobalShadow> shadow_;
  std::vector<std::unique_ptr<CoreRun>> cores_;
  uint32_t epoch_ = 1;
  bool stopped_ = false;  // by a deadlock: the outputs are what the arena holds
};

}  // namespace

Status run_values(const hw::Program& program, const hw::Machine& machine, const std::vector<te::Array>& inputs,
                  std::span<const std::byte> weights, const Options& options, LookupLog& lookups, Result& result) {
  return ValueRun(program, machine, weights, options, lookups, result).run(inputs);
}

}  // namespace dlcc::sim
