#include "frontend/ops/support.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlcc::frontend::ops {

namespace {
std::string print_shape(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}
}  // namespace

bool in_set(DType type, unsigned set) {
  if (type == DType::Bool) {
    return (set & kBool) != 0;
  }
  if (is_float(type)) {
    return (set & kFloats) != 0;
  }
  return (set & (is_signed_int(type) ? kSignedInts : kUnsignedInts)) != 0;
}

Status check_arity(OpContext& ctx, int required, int maximum, int outputs) {
  for (int i = 0; i < required; ++i) {
    if (!ctx.has_input(i)) {
      return ctx.error(fmt::format("input {} is missing", i));
    }
  }
  if (ctx.input_count() > maximum) {
    return ctx.error(fmt::format("{} inputs, at most {} are allowed", ctx.input_count(), maximum));
  }
  for (int i = outputs; i < ctx.output_count(); ++i) {
    if (ctx.has_output(i)) {
      return ctx.unsupported(fmt::format("output {} is not supported (only the first {})", i, outputs));
    }
  }
  if (!ctx.has_output(0)) {
    return ctx.error("output 0 is missing");
  }
  return ok_status();
}

Status check_type(OpContext& ctx, int input, unsigned set) {
  DType type = ctx.input(input).type;
  if (!in_set(type, set)) {
    return ctx.error(fmt::format("input {} of type {} is not allowed", input, name_of(type)));
  }
  return ok_status();
}

Status check_same_type(OpContext& ctx, int a, int b) {
  DType left = ctx.input(a).type, right = ctx.input(b).type;
  if (left != right) {
    return ctx.error(fmt::format("inputs {} and {} differ in type: {} and {}", a, b, name_of(left), name_of(right)));
  }
  return ok_status();
}

Status check_shape(OpContext& ctx, const Shape& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0) {
      return ctx.error(fmt::format("shape {} has a negative extent", print_shape(shape)));
    }
    if (extent > kMaxElements || (extent > 0 && count > kMaxElements / extent)) {
      return ctx.error(fmt::format("shape {} has more than {} elements", print_shape(shape), kMaxElements));
    }
    count = std::max<int64_t>(count * extent, 1);
  }
  return ok_status();
}

Result<int> normal_axis(OpContext& ctx, int64_t axis, size_t rank) {
  int64_t limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit) {
    return ctx.error(fmt::format("axis {} is outside [{}, {}]", axis, -limit, limit - 1));
  }
  return static_cast<int>(axis < 0 ? axis + limit : axis);
}

Result<std::vector<int>> normal_axes(OpContext& ctx, const std::vector<int64_t>& axes, size_t rank) {
  std::vector<int> result;
  for (int64_t axis : axes) {
    DLCC_TRY(int one, normal_axis(ctx, axis, rank));
    result.push_back(one);
  }
  std::sort(result.begin(), result.end());
  auto twice = std::adjacent_find(result.begin(), result.end());
  if (twice != result.end()) {
    return ctx.error(fmt::format("axis {} is given twice", *twice));
  }
  return result;
}

Result<std::vector<int64_t>> constant_input(OpContext& ctx, int input, const char* what) {
  if (!in_set(ctx.input(input).type, kInts)) {
    return ctx.error(
        fmt::format("input {} ({}) must be integers, it is {}", input, what, name_of(ctx.input(input).type)));
  }
  auto values = ctx.constant_ints(input);
  if (!values) {
    return ctx.unsupported(fmt::format("input {} ({}) is not a constant", input, what));
  }
  return *std::move(values);
}

Result<std::optional<std::vector<int64_t>>> axes_of(OpContext& ctx, int input) {
  if (auto axes = ctx.attr_ints("axes")) {
    return axes;
  }
  if (input >= 0 && ctx.has_input(input)) {
    DLCC_TRY(auto axes, constant_input(ctx, input, "axes"));
    return std::optional(std::move(axes));
  }
  return std::optional<std::vector<int64_t>>();
}

Result<Shape> broadcast(OpContext& ctx, const std::vector<Shape>& shapes) {
  Shape result;
  for (const Shape& shape : shapes) {
    if (shape.size() > result.size()) {
      result.insert(result.begin(), shape.size() - result.size(), 1);
    }
    size_t offset = result.size() - shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t& extent = result[offset + i];
      if (extent != shape[i] && extent != 1 && shape[i] != 1) {
        std::vector<std::string> all;
        for (const Shape& one : shapes) {
          all.push_back(print_shape(one));
        }
        return ctx.error(fmt::format("shapes {} do not broadcast", fmt::join(all, " and ")));
      }
      extent = extent == 1 ? shape[i] : extent;
    }
  }
  DLCC_RETURN_IF_ERROR(check_shape(ctx, result));
  return result;
}

Index broadcast_index(const Shape& shape, const Index& point) {
  DLCC_CHECK(shape.size() <= point.size());
  size_t offset = point.size() - shape.size();
  Index index(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    index[i] = shape[i] == 1 ? te::Affine(0) : point[offset + i];
  }
  return index;
}

DType wide_type(DType type) {
  return type == DType::F16 ? DType::F32 : type;
}

int literal(te::ScalarBuilder& body, DType type, double value) {
  return is_float(type) ? body.constant(type, value) : body.integer(type, static_cast<int64_t>(value));
}

te::Array array_of(DType type, Shape shape, const std::vector<double>& values) {
  te::Array array = te::Array::zeros(type, std::move(shape));
  DLCC_CHECK(array.count() == static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    te::store_element(type, array.data.data(), static_cast<int64_t>(i),
                      te::Value{values[i], static_cast<int64_t>(values[i])});
  }
  return array;
}

te::Array array_of_ints(DType type, Shape shape, const std::vector<int64_t>& values) {
  te::Array array = te::Array::zeros(type, std::move(shape));
  DLCC_CHECK(array.count() == static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    te::store_element(type, array.data.data(), static_cast<int64_t>(i),
                      te::Value{static_cast<double>(values[i]), values[i]});
  }
  return array;
}

te::Affine Statement::dim(std::string name, int64_t extent, te::DimKind kind) {
  stmt_.dims.push_back({std::move(name), extent, kind});
  return te::Affine::var(static_cast<te::VarId>(stmt_.dims.size() - 1));
}

Index Statement::pars(const Shape& extents, const char* prefix) {
  Index point;
  for (size_t i = 0; i < extents.size(); ++i) {
    point.push_back(par(fmt::format("{}{}", prefix, i), extents[i]));
  }
  return point;
}

int Statement::load(int tensor, Index index, std::optional<double> fill) {
  te::Access access{tensor, std::move(index), fill, -1, -1};
  auto known = std::find(stmt_.reads.begin(), stmt_.reads.end(), access);
  int read = static_cast<int>(known - stmt_.reads.begin());
  if (known == stmt_.reads.end()) {
    stmt_.reads.push_back(std::move(access));
  }
  return body_.load(builder_.tensor(tensor).type, read);
}

int Statement::operand(int tensor, Index index, std::optional<double> fill) {
  return widened(body_, load(tensor, std::move(index), fill));
}

int Statement::gather(int tensor, Index index, int axis, int positions, Index positions_index) {
  stmt_.reads.push_back({positions, std::move(positions_index), std::nullopt, -1, -1});
  int position_read = static_cast<int>(stmt_.reads.size()) - 1;
  stmt_.reads.push_back({tensor, std::move(index), std::nullopt, axis, position_read});
  return body_.load(builder_.tensor(tensor).type, position_read + 1);
}

void Statement::map(int tensor, Index index, int root) {
  finish(te::StmtKind::Map, tensor, std::move(index), root);
}

void Statement::reduce(te::Monoid monoid, int tensor, Index index, int root) {
  stmt_.monoid = monoid;
  finish(te::StmtKind::Reduce, tensor, std::move(index), root);
}

void Statement::finish(te::StmtKind kind, int tensor, Index index, int root) {
  DType type = builder_.tensor(tensor).type;
  if (type == DType::F16 && body_.type(root) == DType::F32) {
    root = body_.cast(DType::F16, root);
  }
  DLCC_CHECK(body_.type(root) == type) << name_of(body_.type(root)) << " into " << name_of(type);
  bool no_point = std::any_of(stmt_.dims.begin(), stmt_.dims.end(),
                              [](const te::Dim& dim) { return dim.extent == 0 && dim.kind == te::DimKind::Par; });
  if (no_point && te::element_count(builder_.tensor(tensor).shape) > 0) {
    return;  // an empty piece: others define the tensor
  }
  stmt_.kind = kind;
  stmt_.write = {tensor, std::move(index), std::nullopt, -1, -1};
  stmt_.body = body_.finish(root);
  builder_.add(std::move(stmt_));
}

te::VarId var_of(const te::Affine& index) {
  DLCC_CHECK(index.terms().size() == 1 && index.constant() == 0);
  return index.terms()[0].var;
}

int widened(te::ScalarBuilder& body, int node) {
  return body.type(node) == DType::F16 ? body.cast(DType::F32, node) : node;
}

void copy(StmtBuilder& builder, int output, int source) {
  Statement s(builder);
  Index point = s.pars(builder.tensor(output).shape);
  s.map(output, point, s.load(source, point));
}

void add_channel_bias(const OpContext& ctx, StmtBuilder& builder, int sum, int output) {
  Statement after(builder);
  Index point = after.pars(builder.tensor(output).shape);
  int root = after.load(sum, point);
  if (ctx.has_input(2)) {
    root = after.body().binary(te::Op::Add, root, after.operand(builder.input(2), {point[1]}));
  }
  after.map(output, point, root);
}

int inverse_deviation(te::ScalarBuilder& body, int variance, double epsilon) {
  DType type = body.type(variance);
  int root = body.unary(te::Op::Sqrt, body.binary(te::Op::Add, variance, body.constant(type, epsilon)));
  return body.binary(te::Op::Div, body.constant(type, 1), root);
}

}  // namespace dlcc::frontend::ops
