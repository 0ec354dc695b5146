// MaxPool, AveragePool, LpPool and their global forms.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/ops/families.h"
#include "frontend/ops/window.h"

namespace dlcc::frontend::ops {

namespace {

using te::Op;
constexpr int64_t kMaxCounts = int64_t{1} << 24;

Status check_pool_input(OpContext& ctx, unsigned types) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, types));
  if (ctx.input(0).shape.size() < 3) {
    return ctx.error(fmt::format("input of rank {}, at least 3 is needed", ctx.input(0).shape.size()));
  }
  return ok_status();
}

Result<Window> read_pool(OpContext& ctx, unsigned types) {
  DLCC_RETURN_IF_ERROR(check_pool_input(ctx, types));
  const Shape& x = ctx.input(0).shape;
  Shape in(x.begin() + 2, x.end());
  DLCC_TRY(auto kernel, read_kernel_shape(ctx, in.size()));
  if (!kernel) {
    return ctx.error("attribute kernel_shape is missing");
  }
  return read_window(ctx, in, *kernel, ctx.attr_int("ceil_mode").value_or(0) != 0);
}

Result<Window> read_max_pool(OpContext& ctx) {
  // storage_order says how the second output numbers positions; that output is refused.
  ctx.ignore_attr("storage_order");
  return read_pool(ctx, kFloats | kInts);
}

/// The whole plane as one window.
Result<Window> read_global(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_pool_input(ctx, kFloats));
  Window window;
  for (size_t i = 2; i < ctx.input(0).shape.size(); ++i) {
    int64_t extent = ctx.input(0).shape[i];
    if (extent < 1) {
      return ctx.error("global pooling over no position");
    }
    window.push_back({extent, 1, extent, 1, 1, 0, 0});
  }
  return window;
}

Types pooled_type(OpContext& ctx, const Window& window) {
  const Shape& x = ctx.input(0).shape;
  Shape shape{x[0], x[1]};
  for (int64_t extent : outputs_of(window)) {
    shape.push_back(extent);
  }
  DLCC_RETURN_IF_ERROR(check_shape(ctx, shape));
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

/// target[n, c, o...] = monoid over the window of body(x).
template <class PoolBody>
void reduce_windows(StmtBuilder& builder, const Window& window, te::Monoid monoid, double fill, int target,
                    PoolBody body) {
  const Shape& shape = builder.tensor(builder.input(0)).shape;
  Statement s(builder);
  te::Affine n = s.par("n", shape[0]), c = s.par("c", shape[1]);
  Index o = output_dims(s, window);
  Index k = kernel_dims(s, window);
  Index x{n, c}, y{n, c};
  for (size_t i = 0; i < window.size(); ++i) {
    x.push_back(window[i].position(o[i], k[i]));
    y.push_back(o[i]);
  }
  bool widen = builder.tensor(target).type != DType::F16;
  std::optional<double> outside = reads_outside(window) ? std::optional(fill) : std::nullopt;
  int value = widen ? s.operand(builder.input(0), x, outside) : s.load(builder.input(0), x, outside);
  s.reduce(monoid, target, y, body(s.body(), value));
}

Status define_max(OpContext& ctx, StmtBuilder& builder, const Window& window) {
  double lowest = te::identity_of(te::Monoid::Max, ctx.input(0).type);
  reduce_windows(builder, window, te::Monoid::Max, lowest, builder.output(0),
                 [](te::ScalarBuilder&, int x) { return x; });
  return ok_status();
}

/// Taps whose offset k * dilation is below `limit`.
int64_t taps_below(const WindowAxis& axis, int64_t limit) {
  return limit <= 0 ? 0 : std::min((limit + axis.dilation - 1) / axis.dilation, axis.kernel);
}

/// How many positions of the windows of one axis count: those inside the input, or inside the padded input.
std::vector<double> counts_of(const WindowAxis& axis, bool include_pad) {
  std::vector<double> counts;
  int64_t low = include_pad ? -axis.pad_begin : 0;
  int64_t high = axis.in + (include_pad ? axis.pad_end : 0);
  for (int64_t o = 0; o < axis.out; ++o) {
    int64_t first = o * axis.stride - axis.pad_begin;
    int64_t count = taps_below(axis, high - first) - taps_below(axis, low - first);
    counts.push_back(static_cast<double>(count));
  }
  return counts;
}

/// The counts of all windows as a table [o...].
std::vector<double> count_table(const Window& window, bool include_pad) {
  std::vector<double> table{1};
  for (const WindowAxis& axis : window) {
    std::vector<double> longer;
    for (double outer : table) {
      for (double inner : counts_of(axis, include_pad)) {
        longer.push_back(outer * inner);
      }
    }
    table = std::move(longer);
  }
  return table;
}

Status define_average(OpContext& ctx, StmtBuilder& builder, const Window& window, bool include_pad) {
  int output = builder.output(0);
  Shape shape = builder.tensor(output).shape;
  if (te::element_count(outputs_of(window)) > kMaxCounts) {
    return ctx.unsupported("a plane of more than 2^24 outputs");
  }
  DType type = wide_type(ctx.input(0).type);
  int sum = builder.temporary("sum", type, shape);
  reduce_windows(builder, window, te::Monoid::Sum, 0, sum, [](te::ScalarBuilder&, int x) { return x; });

  std::vector<double> counts = count_table(window, include_pad);
  bool equal = std::all_of(counts.begin(), counts.end(), [&](double count) { return count == counts[0]; });
  int table = equal ? -1 : builder.constant("counts", array_of(type, outputs_of(window), counts));
  Statement s(builder);
  Index point = s.pars(shape);
  int count = equal ? s.body().constant(type, counts.at(0)) : s.load(table, Index(point.begin() + 2, point.end()));
  s.map(output, point, s.body().binary(Op::Div, s.load(sum, point), count));
  return ok_status();
}

Result<int64_t> read_norm(OpContext& ctx) {
  int64_t p = ctx.attr_int("p").value_or(2);
  if (p < 1) {
    return ctx.error(fmt::format("attribute p is {}, at least 1 is needed", p));
  }
  return p;
}

int to_power(te::ScalarBuilder& s, int x, int64_t p) {
  if (p == 2) {
    return s.binary(Op::Mul, x, x);
  }
  int size = s.unary(Op::Abs, x);
  return p == 1 ? size : s.binary(Op::Pow, size, s.constant(s.type(x), static_cast<double>(p)));
}

int root_of(te::ScalarBuilder& s, int x, int64_t p) {
  if (p == 2) {
    return s.unary(Op::Sqrt, x);
  }
  return p == 1 ? x : s.binary(Op::Pow, x, s.constant(s.type(x), 1.0 / static_cast<double>(p)));
}

Status define_norm(OpContext& ctx, StmtBuilder& builder, const Window& window) {
  DLCC_TRY(int64_t p, read_norm(ctx));
  int output = builder.output(0);
  int sum = builder.temporary("sum", wide_type(ctx.input(0).type), builder.tensor(output).shape);
  reduce_windows(builder, window, te::Monoid::Sum, 0, sum,
                 [&](te::ScalarBuilder& s, int x) { return to_power(s, x, p); });
  Statement s(builder);
  Index point = s.pars(builder.tensor(output).shape);
  s.map(output, point, root_of(s.body(), s.load(sum, point), p));
  return ok_status();
}

template <Result<Window> (*read)(OpContext&)>
Types infer_pool(OpContext& ctx) {
  DLCC_TRY(Window window, read(ctx));
  return pooled_type(ctx, window);
}

template <Result<Window> (*read)(OpContext&)>
Status define_max_pool(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(Window window, read(ctx));
  return define_max(ctx, builder, window);
}

Result<Window> read_average_pool(OpContext& ctx) {
  ctx.attr_int("count_include_pad");
  return read_pool(ctx, kFloats);
}

template <Result<Window> (*read)(OpContext&)>
Status define_average_pool(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(Window window, read(ctx));
  return define_average(ctx, builder, window, ctx.attr_int("count_include_pad").value_or(0) != 0);
}

Result<Window> read_norm_pool(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(read_norm(ctx));
  return read_pool(ctx, kFloats);
}
Result<Window> read_global_norm(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(read_norm(ctx));
  return read_global(ctx);
}

template <Result<Window> (*read)(OpContext&)>
Status define_norm_pool(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(Window window, read(ctx));
  return define_norm(ctx, builder, window);
}

constexpr OpDef kOps[] = {
    {"", "MaxPool", 7, 22, infer_pool<read_max_pool>, define_max_pool<read_max_pool>},
    {"", "AveragePool", 7, 22, infer_pool<read_average_pool>, define_average_pool<read_average_pool>},
    {"", "LpPool", 7, 22, infer_pool<read_norm_pool>, define_norm_pool<read_norm_pool>},
    {"", "GlobalMaxPool", 7, 22, infer_pool<read_global>, define_max_pool<read_global>},
    {"", "GlobalAveragePool", 7, 22, infer_pool<read_global>, define_average_pool<read_global>},
    {"", "GlobalLpPool", 7, 22, infer_pool<read_global_norm>, define_norm_pool<read_global_norm>},
};

}  // namespace

std::span<const OpDef> pool_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
