#include "lowering/oracle/tree_walk.h"

#include <algorithm>

#include "hw/let_value.h"

namespace dlcc::lowering::oracle {

namespace {

class Walker {
 public:
  Walker(const hw::Group& group, const std::function<bool(const hw::Node&, const Position&)>& visit) : visit_(visit) {
    at_.env.assign(group.vars.size(), 0);
  }

  bool run(const hw::Body& body, int core) {
    at_.env[0] = core;
    return body_of(body);
  }

 private:
  bool body_of(const hw::Body& body) {
    return std::all_of(body.begin(), body.end(), [&](const hw::Node& node) { return one(node); });
  }

  bool one(const hw::Node& node) {
    if (const auto* let = std::get_if<hw::Let>(&node.v)) {
      at_.env[static_cast<size_t>(let->var)] = hw::apply(let->op, let->a.eval(at_.env), let->b.eval(at_.env));
      return true;
    }
    if (const auto* guard = std::get_if<hw::If>(&node.v)) {
      const bool holds = std::all_of(guard->non_negative.begin(), guard->non_negative.end(),
                                     [&](const te::Affine& condition) { return condition.eval(at_.env) >= 0; });
      return !holds || body_of(guard->body);
    }
    if (const auto* loop = std::get_if<hw::For>(&node.v)) {
      const int64_t end = loop->end.eval(at_.env);
      at_.loops.push_back(loop);
      bool going = true;
      for (int64_t i = loop->begin.eval(at_.env); going && i < end; i += loop->step) {
        at_.env[static_cast<size_t>(loop->var)] = i;
        going = body_of(loop->body);
      }
      at_.loops.pop_back();
      return going;
    }
    return visit_(node, at_);
  }

  const std::function<bool(const hw::Node&, const Position&)>& visit_;
  Position at_;
};

}  // namespace

bool walk(const hw::Group& group, int core, const std::function<bool(const hw::Node& leaf, const Position& at)>& visit) {
  return Walker(group, visit).run(group.body, core);
}

}  // namespace dlcc::lowering::oracle
