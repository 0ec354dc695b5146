// Pad: constant as a fill value; edge, reflect and wrap as affine pieces, one statement per combination of the axes'
// pieces.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/ops/families.h"
#include "frontend/ops/index_map.h"
#include "frontend/ops/support.h"

namespace dlcc::frontend::ops {

namespace {

constexpr int64_t kMaxPad = int64_t{1} << 30;
constexpr int64_t kMaxTable = int64_t{1} << 24;
constexpr size_t kMaxPieces = 1024;

struct PadForm {
  Shape begin, end;
  std::string mode;
};

/// Pads of all axes from the given ones.
Result<PadForm> read_pads(OpContext& ctx, const Shape& pads, const std::optional<Shape>& axes) {
  size_t rank = ctx.input(0).shape.size();
  size_t count = axes ? axes->size() : rank;
  if (pads.size() != 2 * count) {
    return ctx.error(fmt::format("{} pads for {} axes", pads.size(), count));
  }
  PadForm form{Shape(rank, 0), Shape(rank, 0), ctx.attr_string("mode").value_or("constant")};
  for (size_t i = 0; i < count; ++i) {
    DLCC_TRY(int axis, normal_axis(ctx, axes ? (*axes)[i] : static_cast<int64_t>(i), rank));
    for (int64_t pad : {pads[i], pads[count + i]}) {
      if (pad < -kMaxPad || pad > kMaxPad) {
        return ctx.error(fmt::format("a pad of {} is beyond 2^30", pad));
      }
    }
    form.begin[static_cast<size_t>(axis)] = pads[i];
    form.end[static_cast<size_t>(axis)] = pads[count + i];
  }
  bool known = form.mode == "constant" || form.mode == "edge" || form.mode == "reflect" || form.mode == "wrap";
  if (!known || (form.mode == "wrap" && ctx.version() < 19)) {
    return ctx.error(
        fmt::format("attribute mode is '{}', allowed are constant, edge, reflect (and wrap from opset 19)", form.mode));
  }
  return form;
}

Result<PadForm> read_pad(OpContext& ctx) {
  if (ctx.version() < 11) {
    DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
    ctx.attr_float("value");
    auto pads = ctx.attr_ints("pads");
    if (!pads) {
      return ctx.error("attribute pads is missing");
    }
    return read_pads(ctx, *pads, std::nullopt);
  }
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 2, 4));
  DLCC_TRY(Shape pads, constant_input(ctx, 1, "pads"));
  std::optional<Shape> axes;
  if (ctx.has_input(3)) {
    DLCC_TRY(axes, constant_input(ctx, 3, "axes"));
    DLCC_RETURN_IF_ERROR(normal_axes(ctx, *axes, ctx.input(0).shape.size()));
  }
  return read_pads(ctx, pads, axes);
}

/// The fill value, which an Access keeps as a double.
Result<double> pad_value(OpContext& ctx) {
  if (ctx.version() < 11) {
    return static_cast<double>(ctx.attr_float("value").value_or(0));
  }
  if (!ctx.has_input(2)) {
    return 0.0;
  }
  DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, 2));
  auto value = ctx.constant_floats(2);
  if (!value) {
    return ctx.unsupported("input 2 (constant_value) is not a constant");
  }
  if (value->size() != 1) {
    return ctx.error("input 2 (constant_value) must be a scalar");
  }
  if (!is_float(ctx.input(0).type) && std::abs(value->at(0)) > 0x1p53) {
    return ctx.unsupported(fmt::format("constant_value {} is beyond 2^53", value->at(0)));
  }
  return value->at(0);
}

Types infer_pad(OpContext& ctx) {
  DLCC_TRY(PadForm form, read_pad(ctx));
  DLCC_RETURN_IF_ERROR(pad_value(ctx));
  Shape shape = ctx.input(0).shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t kept = shape[i] + std::min<int64_t>(form.begin[i], 0) + std::min<int64_t>(form.end[i], 0);
    bool grows = form.begin[i] > 0 || form.end[i] > 0;
    shape[i] += form.begin[i] + form.end[i];
    if (form.mode != "constant" && grows && kept < 1 && shape[i] > 0) {
      return ctx.error(fmt::format("mode {} on axis {} has no element to repeat", form.mode, i));
    }
    if (form.mode != "constant" && shape[i] > kMaxTable) {
      return ctx.unsupported(fmt::format("mode {} with {} positions on axis {}, at most 2^24", form.mode, shape[i], i));
    }
  }
  DLCC_RETURN_IF_ERROR(check_shape(ctx, shape));
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

Status define_constant_pad(OpContext& ctx, StmtBuilder& builder, const PadForm& form) {
  DLCC_TRY(double value, pad_value(ctx));
  Statement s(builder);
  Index point = s.pars(builder.tensor(builder.output(0)).shape), source;
  bool outside = false;
  for (size_t i = 0; i < point.size(); ++i) {
    source.push_back(point[i] - te::Affine(form.begin[i]));
    outside = outside || form.begin[i] > 0 || form.end[i] > 0;
  }
  s.map(builder.output(0), point, s.load(builder.input(0), source, outside ? std::optional(value) : std::nullopt));
  return ok_status();
}

/// Source position of each output position along one axis: negative pads cut first, then what is left is continued.
std::vector<int64_t> sources_of(const std::string& mode, int64_t extent, int64_t begin, int64_t end) {
  int64_t cut = std::max<int64_t>(-begin, 0);
  int64_t kept = extent - cut - std::max<int64_t>(-end, 0);
  std::vector<int64_t> sources;
  for (int64_t i = 0; i < extent + begin + end; ++i) {
    int64_t at = i - std::max<int64_t>(begin, 0);
    if (mode == "edge") {
      at = std::clamp<int64_t>(at, 0, kept - 1);
    } else if (mode == "wrap") {
      at = (at % kept + kept) % kept;
    } else {
      int64_t period = std::max<int64_t>(2 * (kept - 1), 1);
      at = (at % period + period) % period;
      at = kept == 1 ? 0 : std::min(at, period - at);
    }
    sources.push_back(cut + at);
  }
  return sources;
}

Status define_pieces(OpContext& ctx, StmtBuilder& builder, const PadForm& form) {
  const Shape& shape = ctx.input(0).shape;
  std::vector<std::vector<Run>> pieces(1);
  for (size_t i = 0; i < shape.size(); ++i) {
    std::vector<Run> runs = runs_of(sources_of(form.mode, shape[i], form.begin[i], form.end[i]));
    if (runs.size() * pieces.size() > kMaxPieces) {
      return ctx.unsupported(fmt::format("mode {} in more than {} pieces", form.mode, kMaxPieces));
    }
    std::vector<std::vector<Run>> longer;
    for (const auto& prefix : pieces) {
      for (const Run& run : runs) {
        longer.push_back(prefix);
        longer.back().push_back(run);
      }
    }
    pieces = std::move(longer);
  }
  for (const auto& piece : pieces) {
    Statement s(builder);
    Index source, target;
    for (size_t i = 0; i < piece.size(); ++i) {
      te::Affine at = s.par(fmt::format("d{}", i), piece[i].count);
      source.push_back(at * piece[i].step + te::Affine(piece[i].start));
      target.push_back(at + te::Affine(piece[i].first));
    }
    s.map(builder.output(0), target, s.load(builder.input(0), source));
  }
  return ok_status();
}

Status define_pad(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(PadForm form, read_pad(ctx));
  return form.mode == "constant" ? define_constant_pad(ctx, builder, form) : define_pieces(ctx, builder, form);
}

constexpr OpDef kOps[] = {{"", "Pad", 7, 22, infer_pad, define_pad}};

}  // namespace

std::span<const OpDef> pad_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
