#include "tests/mutation/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace dlcc::mutation {

namespace {

/// The side of a transfer whose box is moved.
const hw::View& moved_side(const hw::Dma& dma) {
  return dma.dst.kind == hw::ObjectKind::Tensor ? dma.dst : dma.src;
}
hw::View& moved_side(hw::Dma& dma) {
  return dma.dst.kind == hw::ObjectKind::Tensor ? dma.dst : dma.src;
}

/// Removes the node number `node` (parents first); counts down through the nested bodies.
bool remove(hw::Body& body, int& node) {
  for (size_t i = 0; i < body.size(); ++i) {
    if (node-- == 0) {
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    if (auto* loop = std::get_if<hw::For>(&body[i].v); loop != nullptr && remove(loop->body, node)) {
      return true;
    }
    if (auto* guard = std::get_if<hw::If>(&body[i].v); guard != nullptr && remove(guard->body, node)) {
      return true;
    }
  }
  return false;
}

const hw::Node* node_at(const hw::Group& group, int number) {
  const hw::Node* found = nullptr;
  int at = 0;
  hw::for_each_node(group.body, [&](const hw::Node& node) {
    if (at++ == number) {
      found = &node;
    }
  });
  return found;
}

std::string name_of_object(const hw::Program& program, const hw::Group& group, const hw::View& view) {
  return view.kind == hw::ObjectKind::Tensor ? program.tensors[static_cast<size_t>(view.object)].name
                                             : group.buffers[static_cast<size_t>(view.object)].name + " (buffer)";
}

}  // namespace

std::vector<Mutation> mutations(const hw::Group& group, bool barriers) {
  std::vector<Mutation> out;
  int number = 0;
  hw::for_each_node(group.body, [&](const hw::Node& node) {
    if (barriers) {
      if (std::holds_alternative<hw::Barrier>(node.v)) {
        out.push_back({Kind::RemoveBarrier, number});
      }
    } else if (std::holds_alternative<hw::Wait>(node.v)) {
      out.push_back({Kind::RemoveWait, number});
    } else if (std::holds_alternative<hw::Signal>(node.v)) {
      out.push_back({Kind::RemoveSignal, number});
    } else if (const auto* dma = std::get_if<hw::Dma>(&node.v)) {
      for (size_t dim = 0; dim < moved_side(*dma).index.size(); ++dim) {
        for (const int by : {1, -1}) {
          out.push_back({Kind::ShiftBox, number, static_cast<int>(dim), by});
        }
      }
    }
    ++number;
  });
  return out;
}

hw::Group apply(const hw::Group& group, const Mutation& mutation) {
  hw::Group mutant = group;
  if (mutation.kind != Kind::ShiftBox) {
    int node = mutation.node;
    DLCC_CHECK(remove(mutant.body, node)) << "no node " << mutation.node;
    return mutant;
  }
  int number = 0;
  hw::for_each_node(mutant.body, [&](hw::Node& node) {
    if (number++ == mutation.node) {
      moved_side(std::get<hw::Dma>(node.v)).index[static_cast<size_t>(mutation.dim)] += mutation.by;
    }
  });
  return mutant;
}

std::string describe(const hw::Program& program, const hw::Group& group, const Mutation& mutation) {
  const hw::Node* node = node_at(group, mutation.node);
  if (const auto* wait = std::get_if<hw::Wait>(&node->v)) {
    return fmt::format("node {}: wait on {} removed", mutation.node,
                       group.channels[static_cast<size_t>(wait->channel)].name);
  }
  if (const auto* signal = std::get_if<hw::Signal>(&node->v)) {
    return fmt::format("node {}: signal on {} removed", mutation.node,
                       group.channels[static_cast<size_t>(signal->channel)].name);
  }
  if (const auto* dma = std::get_if<hw::Dma>(&node->v)) {
    return fmt::format("node {}: dma {} -> {} moved by {:+} in dim {}", mutation.node,
                       name_of_object(program, group, dma->src), name_of_object(program, group, dma->dst), mutation.by,
                       mutation.dim);
  }
  return fmt::format("node {}: barrier removed", mutation.node);
}

namespace {

/// Which core reads and which writes each byte of the arena in one group.
class Touched {
 public:
  explicit Touched(int64_t arena_bytes) : by_(2, std::vector<int16_t>(static_cast<size_t>(arena_bytes), kNobody)) {}

  void add(const sim::DmaRecord& record) {
    over(record, [&](size_t at) {
      int16_t& who = by_[record.put ? 1 : 0][at];
      who = who == kNobody || who == record.core ? static_cast<int16_t>(record.core) : kSeveral;
      return false;
    });
  }
  bool conflicts(const sim::DmaRecord& record) const {
    const auto other = [&](int16_t who) { return who != kNobody && who != record.core; };
    return over(record, [&](size_t at) { return other(by_[1][at]) || (record.put && other(by_[0][at])); });
  }

 private:
  static constexpr int16_t kNobody = -1, kSeveral = -2;
  template <class F>
  static bool over(const sim::DmaRecord& record, F&& f) {
    const hw::Descriptor& d = record.descriptor;
    for (int64_t block = 0; block < d.blocks; ++block) {
      for (int64_t byte = 0; byte < d.block; ++byte) {
        if (f(static_cast<size_t>(d.global + block * d.global_stride + byte))) {
          return true;
        }
      }
    }
    return false;
  }
  std::vector<std::vector<int16_t>> by_;  // [written]
};

}  // namespace

std::vector<bool> ordering_barriers(const hw::Program& program, const std::vector<sim::DmaRecord>& trace) {
  std::vector<std::vector<const sim::DmaRecord*>> by_group(program.groups.size());
  for (const sim::DmaRecord& record : trace) {
    if (record.space == hw::Space::Arena) {
      by_group[static_cast<size_t>(record.group)].push_back(&record);
    }
  }
  std::vector<bool> orders(program.groups.size(), false);
  for (size_t g = 1; g < program.groups.size(); ++g) {
    Touched before(program.arena_bytes);
    for (const sim::DmaRecord* record : by_group[g - 1]) {
      before.add(*record);
    }
    orders[g] = std::any_of(by_group[g].begin(), by_group[g].end(),
                            [&](const sim::DmaRecord* record) { return before.conflicts(*record); });
  }
  return orders;
}

hw::Program isolate(const hw::Program& program, size_t group) {
  hw::Program out = program;
  out.groups = {program.groups[group]};
  if (!out.groups[0].body.empty() && std::holds_alternative<hw::Barrier>(out.groups[0].body.front().v)) {
    out.groups[0].body.erase(out.groups[0].body.begin());
  }
  std::set<int> read, written;
  hw::for_each_node(out.groups[0].body, [&](const hw::Node& node) {
    if (const auto* dma = std::get_if<hw::Dma>(&node.v)) {
      for (const bool put : {false, true}) {
        const hw::View& view = put ? dma->dst : dma->src;
        if (view.kind == hw::ObjectKind::Tensor &&
            program.tensors[static_cast<size_t>(view.object)].space == hw::Space::Arena) {
          (put ? written : read).insert(view.object);
        }
      }
    }
  });
  out.outputs.assign(written.begin(), written.end());
  read.insert(written.begin(), written.end());
  out.inputs.assign(read.begin(), read.end());
  return out;
}

}  // namespace dlcc::mutation
