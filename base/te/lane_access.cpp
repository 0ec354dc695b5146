// Loads and stores of strips, run by run: what is outside the tensor is cut off a run at both ends, the rest is one
// strided copy.
#include "base/te/lane_access.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/integer.h"
#include "base/te/scalar_ops.h"

namespace dlcc::te {
namespace {
constexpr size_t kMaxRank = 64;
}  // namespace

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

void LaneRuns::start(const DimLists& dims, std::vector<int64_t> first, int n) {
  const size_t rank = dims.par_extent.size();
  count = 0;
  position.clear();
  int at = 0;
  while (at < n) {
    const int64_t left = rank > 0 ? dims.par_extent[rank - 1] - first[rank - 1] : 1;
    lane[count] = at;
    length[count] = static_cast<int>(std::min<int64_t>(left, n - at));
    at += length[count++];
    position.insert(position.end(), first.begin(), first.end());
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

void LaneNumbers::start(const LaneRuns& runs) {
  const size_t rank = affine.par.size();
  step = rank > 0 ? affine.par[rank - 1] : 0;
  for (int run = 0; run < runs.count; ++run) {
    const int64_t* at = runs.position.data() + static_cast<size_t>(run) * rank;
    int64_t value = affine.constant;
    for (size_t k = 0; k < rank; ++k) {
      value += affine.par[k] * at[k];
    }
    base[run] = value;
  }
}

namespace {

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
  DLCC_CHECK(checked_.size() <= kMaxRank) << "rank";
  if (access.fill) {
    fill_ = value_of(*access.fill, type_);
  }
}

void LaneAccess::start(const LaneRuns& runs) {
  linear_.start(runs);
  uniform_ = linear_.step == 0 && !indirect_ && checked_.empty();
  for (int run = 1; run < runs.count && uniform_; ++run) {
    uniform_ = linear_.base[run] == linear_.base[0];
  }
  for (Checked& axis : checked_) {
    axis.position.start(runs);
  }
  if (indirect_) {
    indirect_position_.start(runs);
  }
}

namespace {

/// Copies elements at offset, offset + step, ... into lanes [begin, end).
template <class Element, class Lane>
void gather(const std::byte* data, int64_t offset, int64_t step, Lane* to, int count) {
  const std::byte* from = data + offset * static_cast<int64_t>(sizeof(Element));
  if constexpr (std::is_same_v<Element, Lane>) {
    if (step == 1) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(Element));
      return;
    }
  }
  for (int l = 0; l < count; ++l) {
    Element element;
    std::memcpy(&element, from + l * step * static_cast<int64_t>(sizeof(Element)), sizeof element);
    if constexpr (std::is_same_v<Lane, float> && std::is_same_v<Element, uint16_t>) {
      to[l] = half_to_float(element);
    } else {
      to[l] = static_cast<Lane>(element);
    }
  }
}

void gather_any(DType type, const std::byte* data, int64_t offset, int64_t step, Register& to, int lane, int count) {
  switch (type) {
    case DType::F16:
      return gather<uint16_t>(data, offset, step, to.f + lane, count);
    case DType::F32:
      return gather<float>(data, offset, step, to.f + lane, count);
    case DType::F64:
      return gather<double>(data, offset, step, to.d + lane, count);
    case DType::I8:
      return gather<int8_t>(data, offset, step, to.i + lane, count);
    case DType::I16:
      return gather<int16_t>(data, offset, step, to.i + lane, count);
    case DType::I32:
      return gather<int32_t>(data, offset, step, to.i + lane, count);
    case DType::I64:
    case DType::U64:
      return gather<int64_t>(data, offset, step, to.i + lane, count);
    case DType::U8:
      return gather<uint8_t>(data, offset, step, to.i + lane, count);
    case DType::U16:
      return gather<uint16_t>(data, offset, step, to.i + lane, count);
    case DType::U32:
      return gather<uint32_t>(data, offset, step, to.i + lane, count);
    case DType::Bool:
      for (int l = 0; l < count; ++l) {
        to.i[lane + l] = load_element(DType::Bool, data, offset + l * step).i;
      }
      return;
  }
}

void put(DType type, Value value, Register& to, int begin, int end) {
  for (int l = begin; l < end; ++l) {
    if (type == DType::F64) {
      to.d[l] = value.f;
    } else if (is_float(type)) {
      to.f[l] = static_cast<float>(value.f);
    } else {
      to.i[l] = value.i;
    }
  }
}

}  // namespace

LaneAccess::Inside LaneAccess::inside(const LaneRuns& runs, int run, const int64_t* red_shift) const {
  int64_t begin = 0, end = runs.length[run];
  for (size_t a = 0; a < checked_.size(); ++a) {
    const int64_t first = checked_[a].position.base[run] + red_shift[a];
    const int64_t last = checked_[a].extent - 1;
    const int64_t step = checked_[a].position.step;
    if (step == 0) {
      end = first < 0 || first > last ? begin : end;
    } else if (step > 0) {  // first + k*step in [0, last]
      begin = std::max(begin, -floor_div(first, step));
      end = std::min(end, floor_div(last - first, step) + 1);
    } else {
      begin = std::max(begin, -floor_div(last - first, -step));
      end = std::min(end, floor_div(first, -step) + 1);
    }
  }
  return begin < end ? Inside{static_cast<int>(begin), static_cast<int>(end)} : Inside{0, 0};
}

void LaneAccess::load_indirect(const std::byte* data, const LaneRuns& runs, int run, Inside part, int64_t shift,
                               int64_t axis_shift, const Register& chosen, Register& to) const {
  for (int k = part.begin; k < part.end; ++k) {
    const int lane = runs.lane[run] + k;
    const int64_t given = chosen.i[lane] < 0 ? chosen.i[lane] + indirect_extent_ : chosen.i[lane];
    // Saturated before the addition, which then cannot overflow.
    const int64_t bounded = std::clamp<int64_t>(given, -(int64_t{1} << 61), int64_t{1} << 61);
    const int64_t own = indirect_position_.base[run] + k * indirect_position_.step + axis_shift;
    const int64_t position = std::clamp<int64_t>(own + bounded, 0, indirect_extent_ - 1);
    const int64_t offset = linear_.base[run] + k * linear_.step + shift + position * indirect_stride_;
    gather_any(type_, data, offset, 1, to, lane, 1);
  }
}

void LaneAccess::load(const std::byte* data, const LaneRuns& runs, const std::vector<int64_t>& red,
                      const Register* chosen, Register& to) const {
  const int64_t shift = linear_.affine.red_value(red);
  if (uniform_) {
    const int n = runs.lane[runs.count - 1] + runs.length[runs.count - 1];
    return put(type_, load_element(type_, data, linear_.base[0] + shift), to, 0, n);
  }
  int64_t red_shift[kMaxRank];
  for (size_t a = 0; a < checked_.size(); ++a) {
    red_shift[a] = checked_[a].position.affine.red_value(red);
  }
  const int64_t axis_shift = indirect_ ? indirect_position_.affine.red_value(red) : 0;
  for (int run = 0; run < runs.count; ++run) {
    const int lane = runs.lane[run], length = runs.length[run];
    const Inside part = checked_.empty() ? Inside{0, length} : inside(runs, run, red_shift);
    if (part.end - part.begin < length) {
      put(type_, fill_, to, lane, lane + part.begin);
      put(type_, fill_, to, lane + part.end, lane + length);
    }
    if (indirect_) {
      load_indirect(data, runs, run, part, shift, axis_shift, *chosen, to);
    } else if (part.begin < part.end) {
      gather_any(type_, data, linear_.base[run] + shift + part.begin * linear_.step, linear_.step, to,
                 lane + part.begin, part.end - part.begin);
    }
  }
}

void LaneAccess::store(std::byte* data, const LaneRuns& runs, const Register& from) const {
  for (int run = 0; run < runs.count; ++run) {
    const int lane = runs.lane[run];
    if (type_ == DType::F32 && linear_.step == 1) {
      std::memcpy(data + linear_.base[run] * 4, from.f + lane, static_cast<size_t>(runs.length[run]) * 4);
      continue;
    }
    for (int k = 0; k < runs.length[run]; ++k) {
      Value value;
      if (type_ == DType::F64) {
        value.f = from.d[lane + k];
      } else if (is_float(type_)) {
        value.f = from.f[lane + k];
      } else {
        value.i = from.i[lane + k];
      }
      store_element(type_, data, linear_.base[run] + k * linear_.step, value);
    }
  }
}

}  // namespace dlcc::te
