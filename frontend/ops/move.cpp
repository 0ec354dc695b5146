// Operators that copy elements to other places: Transpose, Concat, Expand, Tile, DepthToSpace, SpaceToDepth. Extents
// are split so that every index stays affine.
#include <fmt/format.h>

#include "frontend/ops/families.h"
#include "frontend/ops/support.h"

namespace dlcc::frontend::ops {

namespace {

constexpr int kMany = 1 << 20;

Result<std::vector<int>> permutation(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  size_t rank = ctx.input(0).shape.size();
  auto given = ctx.attr_ints("perm");
  std::vector<int> perm;
  for (size_t i = 0; i < rank; ++i) {
    perm.push_back(static_cast<int>(rank - 1 - i));
  }
  if (!given) {
    return perm;
  }
  DLCC_TRY(auto sorted, normal_axes(ctx, *given, rank));
  if (sorted.size() != rank) {
    return ctx.error(fmt::format("perm has {} axes, the input {}", sorted.size(), rank));
  }
  for (size_t i = 0; i < rank; ++i) {
    perm[i] = static_cast<int>((*given)[i] < 0 ? (*given)[i] + static_cast<int64_t>(rank) : (*given)[i]);
  }
  return perm;
}

Types infer_transpose(OpContext& ctx) {
  DLCC_TRY(auto perm, permutation(ctx));
  Shape shape;
  for (int axis : perm) {
    shape.push_back(ctx.input(0).shape[static_cast<size_t>(axis)]);
  }
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

Status define_transpose(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(auto perm, permutation(ctx));
  Statement s(builder);
  Index point = s.pars(builder.tensor(builder.output(0)).shape);
  Index source(point.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    source[static_cast<size_t>(perm[i])] = point[i];
  }
  s.map(builder.output(0), point, s.load(builder.input(0), source));
  return ok_status();
}

Result<int> concat_axis(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, kMany));
  auto axis = ctx.attr_int("axis");
  if (!axis) {
    return ctx.error("attribute axis is missing");
  }
  return normal_axis(ctx, *axis, ctx.input(0).shape.size());
}

Types infer_concat(OpContext& ctx) {
  DLCC_TRY(int at, concat_axis(ctx));
  size_t axis = static_cast<size_t>(at);
  Shape shape = ctx.input(0).shape;
  for (int i = 1; i < ctx.input_count(); ++i) {
    if (!ctx.has_input(i)) {
      return ctx.error(fmt::format("input {} is missing", i));
    }
    DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, i));
    Shape other = ctx.input(i).shape;
    bool fits = other.size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) {
      fits = d == axis || other[d] == shape[d];
    }
    if (!fits) {
      return ctx.error(fmt::format("input {} of shape [{}] does not fit to [{}] on axis {}", i, fmt::join(other, ","),
                                   fmt::join(ctx.input(0).shape, ","), axis));
    }
    shape[axis] += other[axis];
  }
  DLCC_RETURN_IF_ERROR(check_shape(ctx, shape));
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

Status define_concat(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(int at, concat_axis(ctx));
  size_t axis = static_cast<size_t>(at);
  int64_t offset = 0;
  for (int i = 0; i < ctx.input_count(); ++i) {
    Statement s(builder);
    Index point = s.pars(ctx.input(i).shape);
    Index target = point;
    target[axis] += te::Affine(offset);
    offset += ctx.input(i).shape[axis];
    s.map(builder.output(0), target, s.load(builder.input(i), point));
  }
  return ok_status();
}

Types infer_expand(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 2, 2));
  DLCC_TRY(Shape wanted, constant_input(ctx, 1, "shape"));
  DLCC_RETURN_IF_ERROR(check_shape(ctx, wanted));
  DLCC_TRY(Shape shape, broadcast(ctx, {ctx.input(0).shape, wanted}));
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

Status define_expand(OpContext& ctx, StmtBuilder& builder) {
  Statement s(builder);
  Index point = s.pars(builder.tensor(builder.output(0)).shape);
  s.map(builder.output(0), point, s.load(builder.input(0), broadcast_index(ctx.input(0).shape, point)));
  return ok_status();
}

Result<Shape> repeats_of(OpContext& ctx) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 2, 2));
  DLCC_TRY(Shape repeats, constant_input(ctx, 1, "repeats"));
  if (repeats.size() != ctx.input(0).shape.size()) {
    return ctx.error(fmt::format("{} repeats for an input of rank {}", repeats.size(), ctx.input(0).shape.size()));
  }
  DLCC_RETURN_IF_ERROR(check_shape(ctx, repeats));
  return repeats;
}

Types infer_tile(OpContext& ctx) {
  DLCC_TRY(Shape shape, repeats_of(ctx));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 0 && ctx.input(0).shape[i] > kMaxElements / shape[i]) {
      return ctx.error("the output has too many elements");
    }
    shape[i] *= ctx.input(0).shape[i];
  }
  DLCC_RETURN_IF_ERROR(check_shape(ctx, shape));
  return std::vector<TensorType>{{ctx.input(0).type, shape}};
}

Status define_tile(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(Shape repeats, repeats_of(ctx));
  const Shape& shape = ctx.input(0).shape;
  Statement s(builder);
  Index source, target;
  for (size_t i = 0; i < shape.size(); ++i) {
    te::Affine repeat = s.par(fmt::format("r{}", i), repeats[i]);
    source.push_back(s.par(fmt::format("d{}", i), shape[i]));
    target.push_back(repeat * shape[i] + source[i]);
  }
  s.map(builder.output(0), target, s.load(builder.input(0), source));
  return ok_status();
}

/// Blocks of DepthToSpace and SpaceToDepth: channels of the deep side = block * block * channels of the flat side.
struct BlockForm {
  int64_t n = 1, c = 1, h = 1, w = 1, block = 1;  // c, h, w: channels of the flat side, plane of the deep side
  bool channel_first = false;                     // CRD: the deep channel is [c, bh, bw] instead of [bh, bw, c]
};

Result<BlockForm> read_blocks(OpContext& ctx, bool from_depth) {
  DLCC_RETURN_IF_ERROR(check_arity(ctx, 1, 1));
  const Shape& x = ctx.input(0).shape;
  int64_t block = ctx.attr_int("blocksize").value_or(0);
  std::string mode = from_depth ? ctx.attr_string("mode").value_or("DCR") : "DCR";
  if (mode != "DCR" && mode != "CRD") {
    return ctx.error(fmt::format("attribute mode is '{}', allowed are DCR and CRD", mode));
  }
  if (x.size() != 4 || block < 1 || block > (1 << 15)) {
    return ctx.error(fmt::format(
        "blocksize {} with an input of rank {}: rank 4 and a blocksize in [1, 2^15] are needed", block, x.size()));
  }
  bool divides = from_depth ? x[1] % (block * block) == 0 : x[2] % block == 0 && x[3] % block == 0;
  if (!divides) {
    return ctx.error(fmt::format("blocksize {} does not divide [{}]", block, fmt::join(x, ",")));
  }
  if (from_depth) {
    return BlockForm{x[0], x[1] / (block * block), x[2], x[3], block, mode == "CRD"};
  }
  return BlockForm{x[0], x[1], x[2] / block, x[3] / block, block, false};
}

template <bool from_depth>
Types infer_blocks(OpContext& ctx) {
  DLCC_TRY(BlockForm form, read_blocks(ctx, from_depth));
  int64_t b = form.block;
  Shape flat{form.n, form.c, form.h * b, form.w * b}, deep{form.n, form.c * b * b, form.h, form.w};
  return std::vector<TensorType>{{ctx.input(0).type, from_depth ? flat : deep}};
}

template <bool from_depth>
Status define_blocks(OpContext& ctx, StmtBuilder& builder) {
  DLCC_TRY(BlockForm form, read_blocks(ctx, from_depth));
  int64_t b = form.block;
  Statement s(builder);
  te::Affine n = s.par("n", form.n), c = s.par("c", form.c);
  te::Affine h = s.par("h", form.h), bh = s.par("bh", b), w = s.par("w", form.w), bw = s.par("bw", b);
  te::Affine channel = form.channel_first ? c * (b * b) + bh * b + bw : bh * (b * form.c) + bw * form.c + c;
  Index flat{n, c, h * b + bh, w * b + bw}, deep{n, channel, h, w};
  s.map(builder.output(0), from_depth ? flat : deep, s.load(builder.input(0), from_depth ? deep : flat));
  return ok_status();
}

constexpr OpDef kOps[] = {
    {"", "Transpose", 7, 22, infer_transpose, define_transpose},
    {"", "Concat", 7, 22, infer_concat, define_concat},
    {"", "Expand", 8, 22, infer_expand, define_expand},
    {"", "Tile", 7, 22, infer_tile, define_tile},
    {"", "DepthToSpace", 7, 22, infer_blocks<true>, define_blocks<true>},
    {"", "SpaceToDepth", 7, 22, infer_blocks<false>, define_blocks<false>},
};

}  // namespace

std::span<const OpDef> move_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
