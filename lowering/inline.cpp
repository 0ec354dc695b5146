// Inside a group, a Map that one statement alone reads is computed where it is read: no buffer, no second pass over the data.
#include "lowering/inline.h"

#include <algorithm>

#include "lowering/stmt_traits.h"

namespace dlcc::lowering {

using te::Stmt;

namespace {

/// The only read of the tensor in the group, or {-1, -1}.
struct Use {
  int stmt = -1, read = -1;
};
Use single_use(const std::vector<Stmt>& stmts, int tensor) {
  Use use;
  for (size_t s = 0; s < stmts.size(); ++s) {
    for (size_t r = 0; r < stmts[s].reads.size(); ++r) {
      if (stmts[s].reads[r].tensor == tensor) {
        if (use.stmt >= 0) {
          return {};
        }
        use = {static_cast<int>(s), static_cast<int>(r)};
      }
    }
  }
  return use;
}

bool can_inline(const Stmt& producer, const Stmt& consumer, const te::Access& read) {
  const auto is_index = [](const te::ScalarNode& node) { return node.op == te::Op::Index; };
  const auto indirect = [](const te::Access& access) { return access.indirect_axis >= 0 || access.fill.has_value(); };
  return producer.kind == te::StmtKind::Map && consumer.kind == te::StmtKind::Map && writes_by_identity(producer) && !indirect(read) &&
         std::none_of(producer.body.begin(), producer.body.end(), is_index) &&
         std::none_of(producer.reads.begin(), producer.reads.end(), indirect) &&
         std::none_of(consumer.reads.begin(), consumer.reads.end(), [](const te::Access& a) { return a.indirect_axis >= 0; });
}

/// The producer's reads, with its dims replaced by the positions at which the consumer reads it.
std::vector<te::Access> composed_reads(const Stmt& producer, const te::Access& read) {
  std::vector<te::Affine> at(producer.dims.size());
  for (size_t axis = 0; axis < producer.write.index.size(); ++axis) {
    if (const int d = dim_of_write_axis(producer, axis); d >= 0) {
      at[static_cast<size_t>(d)] = read.index[axis] - producer.write.index[axis].constant();
    }
  }
  std::vector<te::Access> out = producer.reads;
  for (te::Access& access : out) {
    for (te::Affine& index : access.index) {
      te::Affine composed(index.constant());
      for (const te::Term& term : index.terms()) {
        composed += at[static_cast<size_t>(term.var)] * term.coef;
      }
      index = composed;
    }
  }
  return out;
}

void inline_into(const Stmt& producer, Stmt& consumer, int read) {
  const std::vector<te::Access> extra = composed_reads(producer, consumer.reads[static_cast<size_t>(read)]);
  const int first_extra = static_cast<int>(consumer.reads.size()) - 1;   // after the read itself is gone
  te::ScalarExpr body = producer.body;
  for (te::ScalarNode& node : body) {
    if (node.op == te::Op::Load) {
      node.integer += first_extra;
    }
  }
  const int root = static_cast<int>(body.size()) - 1;
  std::vector<int> moved;   // consumer's node -> new node
  for (te::ScalarNode node : consumer.body) {
    if (node.op == te::Op::Load && node.integer == read) {
      moved.push_back(root);
      continue;
    }
    if (node.op == te::Op::Load && node.integer > read) {
      --node.integer;
    }
    for (int32_t* operand : {&node.a, &node.b, &node.c}) {
      *operand = *operand >= 0 ? moved[static_cast<size_t>(*operand)] : *operand;
    }
    moved.push_back(static_cast<int>(body.size()));
    body.push_back(node);
  }
  // A body that is just the load ends in the producer's root already; otherwise the consumer's root is last.
  consumer.body = std::move(body);
  consumer.reads.erase(consumer.reads.begin() + read);
  consumer.reads.insert(consumer.reads.end(), extra.begin(), extra.end());
}

}  // namespace

void inline_maps(std::vector<Stmt>& stmts) {
  for (size_t p = 0; p + 1 < stmts.size();) {
    const Use use = single_use(stmts, stmts[p].write.tensor);
    if (use.stmt >= 0 && can_inline(stmts[p], stmts[static_cast<size_t>(use.stmt)], stmts[static_cast<size_t>(use.stmt)].reads[static_cast<size_t>(use.read)])) {
      inline_into(stmts[p], stmts[static_cast<size_t>(use.stmt)], use.read);
      stmts.erase(stmts.begin() + static_cast<int64_t>(p));
    } else {
      ++p;
    }
  }
}

}  // namespace dlcc::lowering
