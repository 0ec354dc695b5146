// TilePlan as text, and the check that a plan belongs to a group.
#include "lowering/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "lowering/stmt_traits.h"

namespace dlcc::lowering {

std::string print(const TilePlan& plan, const GroupAnalysis& group) {
  const te::Stmt& root = group.root_stmt();
  std::string text = "tile";
  for (size_t d = 0; d < plan.tile.size(); ++d) {
    text += fmt::format(" {}:{}", dim_name(root, static_cast<int>(d)), plan.tile[d]);
  }
  text += " order";
  for (int d : plan.order) {
    text += " " + dim_name(root, d);
  }
  if (group.streamed >= 0) {
    text += " red";
    for (size_t d = 0; d < plan.red_tile.size(); ++d) {
      if (plan.red_tile[d] > 0) {
        text += fmt::format(" {}:{}", dim_name(group.stmts[static_cast<size_t>(group.streamed)], static_cast<int>(d)), plan.red_tile[d]);
      }
    }
  }
  if (plan.intrinsic >= 0) {
    text += fmt::format(" intrinsic {} micro {}", plan.intrinsic, fmt::join(plan.micro, " "));
  }
  return text + (plan.double_buffer ? " double_buffer" : " single_buffer");
}

namespace {

int dim_named(const te::Stmt& stmt, std::string_view name) {
  for (size_t d = 0; d < stmt.dims.size(); ++d) {
    if (dim_name(stmt, static_cast<int>(d)) == name) {
      return static_cast<int>(d);
    }
  }
  return -1;
}

/// `name:size` pairs until something else comes.
Status parse_sizes(Lexer& lexer, const te::Stmt& stmt, std::vector<int64_t>& sizes) {
  while (lexer.peek().kind == TokenKind::Identifier && lexer.peek(1).text == ":") {
    DLCC_TRY(const std::string name, lexer.name());
    const int d = dim_named(stmt, name);
    if (d < 0) {
      return lexer.fail(fmt::format("'{}' has no dim '{}'", stmt.name, name));
    }
    DLCC_RETURN_IF_ERROR(lexer.expect(":"));
    DLCC_TRY(sizes[static_cast<size_t>(d)], lexer.integer());
  }
  return ok_status();
}

}  // namespace

Result<TilePlan> parse_plan(std::string_view text, const GroupAnalysis& group, const std::string& where) {
  Lexer lexer(text, where);
  const te::Stmt& root = group.root_stmt();
  TilePlan plan;
  plan.tile.assign(root.dims.size(), 0);
  DLCC_RETURN_IF_ERROR(lexer.expect("tile"));
  DLCC_RETURN_IF_ERROR(parse_sizes(lexer, root, plan.tile));
  DLCC_RETURN_IF_ERROR(lexer.expect("order"));
  while (lexer.peek().kind == TokenKind::Identifier && dim_named(root, lexer.peek().text) >= 0) {
    plan.order.push_back(dim_named(root, lexer.next().text));
  }
  if (lexer.accept("red") && group.streamed >= 0) {
    const te::Stmt& streamed = group.stmts[static_cast<size_t>(group.streamed)];
    plan.red_tile.assign(streamed.dims.size(), 0);
    DLCC_RETURN_IF_ERROR(parse_sizes(lexer, streamed, plan.red_tile));
  }
  if (lexer.accept("intrinsic")) {
    DLCC_TRY(const int64_t intrinsic, lexer.integer());
    plan.intrinsic = static_cast<int>(intrinsic);
    DLCC_RETURN_IF_ERROR(lexer.expect("micro"));
    while (lexer.peek().kind == TokenKind::Integer) {
      DLCC_TRY(const int64_t extent, lexer.integer());
      plan.micro.push_back(extent);
    }
  }
  plan.double_buffer = lexer.accept("double_buffer");
  if (!plan.double_buffer) {
    DLCC_RETURN_IF_ERROR(lexer.expect("single_buffer"));
  }
  const std::string problem = check(plan, group);
  return problem.empty() ? Result<TilePlan>(std::move(plan)) : Result<TilePlan>(error(where, problem));
}

static std::string check_intrinsic(const TilePlan& plan, const GroupAnalysis& group) {
  if (plan.intrinsic < 0) {
    return "";
  }
  if (static_cast<size_t>(plan.intrinsic) >= group.intrinsics.size()) {
    return fmt::format("intrinsic {} of {} matches", plan.intrinsic, group.intrinsics.size());
  }
  if (plan.micro.size() != group.intrinsics[static_cast<size_t>(plan.intrinsic)].axis_to_dim.size()) {
    return fmt::format("micro has {} extents", plan.micro.size());
  }
  return "";
}

std::string check(const TilePlan& plan, const GroupAnalysis& group) {
  const te::Stmt& root = group.root_stmt();
  if (plan.tile.size() != root.dims.size()) {
    return fmt::format("plan has {} tile sizes, '{}' has {} dims", plan.tile.size(), root.name, root.dims.size());
  }
  std::vector<int> tiled;
  for (size_t d = 0; d < root.dims.size(); ++d) {
    if (root.dims[d].kind != te::DimKind::Par) {
      continue;
    }
    if (plan.tile[d] < 1 || plan.tile[d] > root.dims[d].extent) {
      return fmt::format("tile {} of dim {} is outside 1..{}", plan.tile[d], dim_name(root, static_cast<int>(d)), root.dims[d].extent);
    }
    if (plan.tile[d] < root.dims[d].extent) {
      tiled.push_back(static_cast<int>(d));
    }
  }
  std::vector<int> order = plan.order;
  std::sort(order.begin(), order.end());
  if (order != tiled) {
    return "the order must name each tiled dim once";
  }
  if (group.streamed >= 0) {
    const te::Stmt& streamed = group.stmts[static_cast<size_t>(group.streamed)];
    if (plan.red_tile.size() != streamed.dims.size()) {
      return "plan has no reduction tiles for the streamed statement";
    }
    for (size_t d = 0; d < streamed.dims.size(); ++d) {
      const bool red = streamed.dims[d].kind == te::DimKind::Red;
      if (red && (plan.red_tile[d] < 1 || plan.red_tile[d] > streamed.dims[d].extent)) {
        return fmt::format("reduction tile {} of dim {} is outside 1..{}", plan.red_tile[d], dim_name(streamed, static_cast<int>(d)),
                           streamed.dims[d].extent);
      }
    }
  }
  return check_intrinsic(plan, group);
}

}  // namespace dlcc::lowering
