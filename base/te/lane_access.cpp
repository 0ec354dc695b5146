// Loads and stores of strips: uniform and contiguous patterns, general gathers, fill outside the tensor, indirect axes.
#include "base/te/lane_access.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/te/scalar_ops.h"

namespace dlcc::te {

DimLists::DimLists(const Stmt& stmt) {
  for (size_t d = 0; d < stmt.dims.size(); ++d) {
    const Dim& dim = stmt.dims[d];
    const bool is_par = dim.kind == DimKind::Par;
    (is_par ? par_points : red_points) *= dim.extent;
    if (dim.extent != 1) {
      (is_par ? par : red).push_back(static_cast<int>(d));
      (is_par ? par_extent : red_extent).push_back(dim.extent);
    }
  }
}

SplitAffine::SplitAffine(const Affine& affine, const DimLists& dims) : constant(affine.constant()) {
  for (const int d : dims.par) {
    par.push_back(affine.coef(d));
  }
  for (const int d : dims.red) {
    red.push_back(affine.coef(d));
  }
}

void LaneNumbers::start(const DimLists& dims, std::vector<int64_t> first, int n) {
  const size_t rank = dims.par_extent.size();
  int lane = 0;
  low = INT64_MAX, high = INT64_MIN;
  while (lane < n) {
    int64_t base = affine.constant;
    for (size_t k = 0; k < rank; ++k) {
      base += affine.par[k] * first[k];
    }
    const int64_t step = rank > 0 ? affine.par[rank - 1] : 0;
    const int64_t left = rank > 0 ? dims.par_extent[rank - 1] - first[rank - 1] : 1;
    const int run = static_cast<int>(std::min<int64_t>(left, n - lane));
    for (int k = 0; k < run; ++k) {
      value[lane + k] = base + step * k;
    }
    low = std::min({low, base, base + step * (run - 1)});
    high = std::max({high, base, base + step * (run - 1)});
    lane += run;
    if (rank == 0) {
      break;
    }
    first[rank - 1] = 0;
    for (size_t k = rank - 1; k-- > 0;) {
      if (++first[k] < dims.par_extent[k]) {
        break;
      }
      first[k] = 0;
    }
  }
}

namespace {

/// The fill value as the tensor's type holds it.
Value value_of(double number, DType type) {
  const ScalarNode cast{.op = Op::Cast, .type = type};
  return apply(cast, DType::F64, Value{.f = number}, {}, {});
}

/// Whether an axis position can be outside [0, extent) somewhere in the box.
bool may_leave(const SplitAffine& position, const DimLists& dims, int64_t extent) {
  int64_t low = position.constant, high = position.constant;
  const auto widen = [&](int64_t coef, int64_t points) {
    const int64_t reach = coef * std::max<int64_t>(points - 1, 0);
    (reach < 0 ? low : high) += reach;
  };
  for (size_t k = 0; k < position.par.size(); ++k) {
    widen(position.par[k], dims.par_extent[k]);
  }
  for (size_t k = 0; k < position.red.size(); ++k) {
    widen(position.red[k], dims.red_extent[k]);
  }
  return low < 0 || high >= extent;
}

}  // namespace

LaneAccess::LaneAccess(const Access& access, const Tensor& tensor, const DimLists& dims) : type_(tensor.type) {
  DLCC_CHECK(access.index.size() == tensor.shape.size());
  Affine linear;
  int64_t stride = 1;
  for (size_t axis = access.index.size(); axis-- > 0;) {
    if (static_cast<int>(axis) == access.indirect_axis) {
      indirect_ = true;
      indirect_position_.affine = SplitAffine(access.index[axis], dims);
      indirect_extent_ = tensor.shape[axis];
      indirect_stride_ = stride;
    } else {
      linear += access.index[axis] * stride;
      const SplitAffine position(access.index[axis], dims);
      if (access.fill && may_leave(position, dims, tensor.shape[axis])) {
        checked_.emplace_back();
        checked_.back().position.affine = position;
        checked_.back().extent = tensor.shape[axis];
      }
    }
    stride *= tensor.shape[axis];
  }
  linear_.affine = SplitAffine(linear, dims);
  has_fill_ = access.fill.has_value();
  if (has_fill_) {
    fill_ = value_of(*access.fill, type_);
  }
}

void LaneAccess::start(const DimLists& dims, const std::vector<int64_t>& first, int n) {
  linear_.start(dims, first, n);
  bool uniform = true, contiguous = true;
  for (int l = 1; l < n; ++l) {
    uniform = uniform && linear_.value[l] == linear_.value[0];
    contiguous = contiguous && linear_.value[l] == linear_.value[0] + l;
  }
  pattern_ = uniform ? Pattern::Uniform : contiguous ? Pattern::Contiguous : Pattern::General;
  for (Checked& axis : checked_) {
    axis.position.start(dims, first, n);
  }
  if (indirect_) {
    indirect_position_.start(dims, first, n);
  }
}

bool LaneAccess::outside(const std::vector<int64_t>& red, bool* mask, int n) const {
  bool any = false;
  for (const Checked& axis : checked_) {
    const int64_t shift = axis.position.affine.red_value(red);
    if (axis.position.low + shift >= 0 && axis.position.high + shift < axis.extent) {
      continue;
    }
    if (!any) {
      std::fill_n(mask, n, false);
      any = true;
    }
    for (int l = 0; l < n; ++l) {
      mask[l] |= static_cast<uint64_t>(axis.position.value[l] + shift) >= static_cast<uint64_t>(axis.extent);
    }
  }
  return any;
}

namespace {

template <class Element, class Lane>
void gather(const std::byte* data, const int64_t* offset, int64_t shift, Lane* to, int n) {
  const std::byte* base = data + shift * static_cast<int64_t>(sizeof(Element));
  for (int l = 0; l < n; ++l) {
    Element element;
    std::memcpy(&element, base + offset[l] * static_cast<int64_t>(sizeof(Element)), sizeof element);
    if constexpr (std::is_same_v<Lane, float> && std::is_same_v<Element, uint16_t>) {
      to[l] = half_to_float(element);
    } else if constexpr (std::is_same_v<Element, bool>) {
      to[l] = element ? 1 : 0;
    } else {
      to[l] = static_cast<Lane>(element);
    }
  }
}

void gather_any(DType type, const std::byte* data, const int64_t* offset, int64_t shift, Register& to, int n) {
  switch (type) {
    case DType::F16:
      return gather<uint16_t>(data, offset, shift, to.f, n);
    case DType::F32:
      return gather<float>(data, offset, shift, to.f, n);
    case DType::F64:
      return gather<double>(data, offset, shift, to.d, n);
    case DType::I8:
      return gather<int8_t>(data, offset, shift, to.i, n);
    case DType::I16:
      return gather<int16_t>(data, offset, shift, to.i, n);
    case DType::I32:
      return gather<int32_t>(data, offset, shift, to.i, n);
    case DType::I64:
    case DType::U64:
      return gather<int64_t>(data, offset, shift, to.i, n);
    case DType::U8:
      return gather<uint8_t>(data, offset, shift, to.i, n);
    case DType::U16:
      return gather<uint16_t>(data, offset, shift, to.i, n);
    case DType::U32:
      return gather<uint32_t>(data, offset, shift, to.i, n);
    case DType::Bool:
      for (int l = 0; l < n; ++l) {
        to.i[l] = load_element(DType::Bool, data, offset[l] + shift).i;
      }
      return;
  }
}

}  // namespace

void LaneAccess::load_offsets(const std::byte* data, const int64_t* offset, int64_t shift, Pattern pattern, Register& to, int n) const {
  if (pattern == Pattern::Uniform) {
    return fill(type_, load_element(type_, data, offset[0] + shift), to, n);
  }
  if (pattern == Pattern::Contiguous && type_ == DType::F32) {
    std::memcpy(to.f, data + (offset[0] + shift) * 4, static_cast<size_t>(n) * 4);
    return;
  }
  gather_any(type_, data, offset, shift, to, n);
}

void LaneAccess::load(const std::byte* data, const std::vector<int64_t>& red, const Register* chosen, Register& to, int n) const {
  const int64_t shift = linear_.affine.red_value(red);
  bool mask[kLanes];
  const bool masked = !checked_.empty() && outside(red, mask, n);
  if (!masked && !indirect_) {
    return load_offsets(data, linear_.value, shift, pattern_, to, n);
  }
  int64_t offset[kLanes];
  std::copy_n(linear_.value, n, offset);
  if (indirect_) {
    const int64_t base = indirect_position_.affine.red_value(red);
    for (int l = 0; l < n; ++l) {
      const int64_t given = chosen->i[l] < 0 ? chosen->i[l] + indirect_extent_ : chosen->i[l];
      // Saturated before the addition, which then cannot overflow.
      const int64_t bounded = std::clamp<int64_t>(given, -(int64_t{1} << 61), int64_t{1} << 61);
      offset[l] += std::clamp<int64_t>(indirect_position_.value[l] + base + bounded, 0, indirect_extent_ - 1) * indirect_stride_;
    }
  }
  if (!masked) {
    return load_offsets(data, offset, shift, Pattern::General, to, n);
  }
  if (std::all_of(mask, mask + n, [](bool out) { return out; })) {
    return fill(type_, fill_, to, n);
  }
  // Lanes outside read the element of some lane inside, then take the fill value.
  const int inside = static_cast<int>(std::find(mask, mask + n, false) - mask);
  for (int l = 0; l < n; ++l) {
    offset[l] = mask[l] ? offset[inside] : offset[l];
  }
  load_offsets(data, offset, shift, Pattern::General, to, n);
  for (int l = 0; l < n; ++l) {
    if (!mask[l]) {
      continue;
    }
    if (type_ == DType::F64) {
      to.d[l] = fill_.f;
    } else if (is_float(type_)) {
      to.f[l] = static_cast<float>(fill_.f);
    } else {
      to.i[l] = fill_.i;
    }
  }
}

void LaneAccess::store(std::byte* data, const Register& from, int n) const {
  if (type_ == DType::F32 && pattern_ == Pattern::Contiguous) {
    std::memcpy(data + linear_.value[0] * 4, from.f, static_cast<size_t>(n) * 4);
    return;
  }
  for (int l = 0; l < n; ++l) {
    Value value;
    if (type_ == DType::F64) {
      value.f = from.d[l];
    } else if (is_float(type_)) {
      value.f = from.f[l];
    } else {
      value.i = from.i[l];
    }
    store_element(type_, data, linear_.value[l], value);
  }
}

}  // namespace dlcc::te
