// Views in numbers: places, bounds, footprints.
#include "sim/access.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlcc::sim {
namespace {

/// Row-major element strides.
std::vector<int64_t> pitches(const std::vector<int64_t>& extents) {
  std::vector<int64_t> result(extents.size(), 1);
  for (size_t d = extents.size(); d-- > 1;) {
    result[d - 1] = result[d] * extents[d];
  }
  return result;
}

void append(Runs& runs, int64_t offset, int64_t bytes) {
  if (!runs.empty() && runs.back().offset + runs.back().bytes == offset) {
    runs.back().bytes += bytes;
  } else {
    runs.push_back({offset, bytes});
  }
}

/// Sorts and merges overlapping or touching runs.
void normalise(Runs& runs) {
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.offset < b.offset; });
  Runs merged;
  for (const Run& run : runs) {
    if (!merged.empty() && run.offset <= merged.back().offset + merged.back().bytes) {
      merged.back().bytes = std::max(merged.back().bytes, run.offset + run.bytes - merged.back().offset);
    } else {
      merged.push_back(run);
    }
  }
  runs = std::move(merged);
}

/// Distinct sums of coef * p over the box, ascending.
std::vector<int64_t> positions(const std::vector<int64_t>& coefs, const std::vector<int64_t>& extents) {
  std::vector<int64_t> values{0};
  for (size_t d = 0; d < coefs.size(); ++d) {
    if (coefs[d] == 0 || extents[d] == 1) {
      continue;
    }
    std::vector<int64_t> next;
    next.reserve(values.size() * static_cast<size_t>(extents[d]));
    for (int64_t p = 0; p < extents[d]; ++p) {
      for (const int64_t v : values) {
        next.push_back(v + coefs[d] * p);
      }
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    values = std::move(next);
  }
  return values;
}

}  // namespace

Runs runs_of_box(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides, int64_t element) {
  Runs runs{{0, element}};
  for (size_t d = extents.size(); d-- > 0;) {
    if (extents[d] == 1) {
      continue;
    }
    if (runs.size() == 1 && strides[d] == runs[0].bytes) {
      runs[0].bytes *= extents[d];
      continue;
    }
    Runs next;
    next.reserve(runs.size() * static_cast<size_t>(extents[d]));
    for (int64_t p = 0; p < extents[d]; ++p) {
      for (const Run& run : runs) {
        append(next, run.offset + p * strides[d], run.bytes);
      }
    }
    runs = std::move(next);
  }
  normalise(runs);
  return runs;
}

bool overlap(const Runs& a, int64_t a_base, const Runs& b, int64_t b_base) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const int64_t a_first = a_base + a[i].offset, b_first = b_base + b[j].offset;
    if (a_first + a[i].bytes <= b_first) {
      ++i;
    } else if (b_first + b[j].bytes <= a_first) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

bool extents_of(const std::vector<hw::BoxDim>& box, const int64_t* env, std::vector<int64_t>& extents) {
  extents.resize(box.size());
  bool points = true;
  for (size_t d = 0; d < box.size(); ++d) {
    extents[d] = eval(box[d].extent, env);
    points = points && extents[d] > 0;
  }
  return points;
}

ViewCode::ViewCode(const hw::View& view, const std::vector<hw::BoxDim>& box, const hw::Group& group,
                   const hw::Program& program, int indirect_dim)
    : view_(&view), is_tensor_(view.kind == hw::ObjectKind::Tensor), indirect_dim_(indirect_dim) {
  const auto object = static_cast<size_t>(view.object);
  if (is_tensor_) {
    tensor_ = &program.tensors[object];
    type_ = tensor_->type;
    shape_ = &tensor_->shape;
    pitch_ = pitches(tensor_->shape);
  } else {
    buffer_ = &group.buffers[object];
    type_ = buffer_->type;
    shape_ = &buffer_->shape;
    pitch_ = pitches(buffer_->pitch.empty() ? buffer_->shape : buffer_->pitch);
  }
  element_ = bytes_of(type_);
  strides_.assign(box.size(), 0);
  std::vector<int> users(box.size(), 0);
  for (size_t d = 0; d < view.index.size(); ++d) {
    te::Affine rest = view.index[d];
    std::vector<int64_t> coefs(box.size(), 0);
    for (size_t b = 0; b < box.size(); ++b) {
      coefs[b] = view.index[d].coef(box[b].var);
      rest -= te::Affine::var(box[b].var, coefs[b]);
      strides_[b] += coefs[b] * pitch_[d];
      users[b] += coefs[b] != 0;
      separable_ = separable_ && users[b] < 2;
    }
    base_ += rest * pitch_[d];
    rest_.push_back(std::move(rest));
    coefs_.push_back(std::move(coefs));
  }
  if (blocked()) {
    std::vector<int64_t> zero(shape_->size(), 0);
    for (size_t d = 0; d < shape_->size(); ++d) {
      tables_.emplace_back();
      for (int64_t c = 0; c < (*shape_)[d]; ++c) {
        zero[d] = c;
        tables_[d].push_back(buffer_->element_offset(zero));
      }
      zero[d] = 0;
    }
  }
}

int64_t ViewCode::blocked_offset(const int64_t* coordinate) const {
  int64_t offset = 0;
  for (size_t d = 0; d < tables_.size(); ++d) {
    offset += tables_[d][static_cast<size_t>(coordinate[d])];
  }
  return offset;
}

bool ViewCode::slot_inside(const int64_t* env) const {
  if (is_tensor_) {
    return true;
  }
  const int64_t slot = eval(view_->slot, env);
  return slot >= 0 && slot < buffer_->copies;
}

std::pair<int64_t, int64_t> ViewCode::bounds(size_t d, const int64_t* env, const std::vector<int64_t>& extents) const {
  int64_t low = eval(rest_[d], env), high = low;
  for (size_t b = 0; b < extents.size(); ++b) {
    const int64_t reach =
        static_cast<int64_t>(static_cast<uint64_t>(coefs_[d][b]) * static_cast<uint64_t>(extents[b] - 1));
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

bool ViewCode::inside(const int64_t* env, const std::vector<int64_t>& extents) const {
  for (size_t d = 0; d < rest_.size(); ++d) {
    if (static_cast<int>(d) == indirect_dim_) {
      continue;
    }
    const auto [low, high] = bounds(d, env, extents);
    if (low < 0 || high >= (*shape_)[d]) {
      return false;
    }
  }
  return true;
}

int64_t ViewCode::place(const int64_t* env) const {
  if (is_tensor_) {
    return tensor_->offset + eval(base_, env) * element_;
  }
  const int64_t start = buffer_->offset + eval(view_->slot, env) * buffer_->slot_bytes;
  return blocked() ? start : start + eval(base_, env) * element_;
}

const Runs& ViewCode::footprint(const int64_t* env, const std::vector<int64_t>& extents) const {
  std::vector<int64_t> key = extents;
  if (blocked()) {
    for (const te::Affine& rest : rest_) {
      key.push_back(eval(rest, env));
    }
  } else if (indirect_dim_ >= 0) {
    key.push_back(eval(rest_[static_cast<size_t>(indirect_dim_)], env));
  }
  const std::lock_guard lock(cache_->mutex);
  std::unique_ptr<Runs>& runs = cache_->runs[std::move(key)];
  if (runs == nullptr) {
    runs = std::make_unique<Runs>(compute_footprint(env, extents));
  }
  return *runs;
}

Runs ViewCode::compute_footprint(const int64_t* env, const std::vector<int64_t>& extents) const {
  Runs runs = separable_ && !blocked() ? separable_footprint(extents) : enumerated_footprint(env, extents);
  if (indirect_dim_ >= 0 && !blocked()) {
    // Any position of that dim may be read: all of them, counted from index 0.
    const auto d = static_cast<size_t>(indirect_dim_);
    const int64_t step = pitch_[d] * element_, first = -eval(rest_[d], env) * step;
    Runs all;
    for (int64_t c = 0; c < (*shape_)[d]; ++c) {
      for (const Run& run : runs) {
        all.push_back({first + c * step + run.offset, run.bytes});
      }
    }
    runs = std::move(all);
  }
  normalise(runs);
  return runs;
}

Runs ViewCode::separable_footprint(const std::vector<int64_t>& extents) const {
  Runs runs{{0, element_}};
  for (size_t d = rest_.size(); d-- > 0;) {
    if (static_cast<int>(d) == indirect_dim_) {
      continue;
    }
    const std::vector<int64_t> at = positions(coefs_[d], extents);
    if (at.size() == 1 && at[0] == 0) {
      continue;
    }
    const int64_t step = pitch_[d] * element_;
    Runs next;
    for (const int64_t p : at) {
      for (const Run& run : runs) {
        append(next, p * step + run.offset, run.bytes);
      }
    }
    runs = std::move(next);
  }
  return runs;
}

Runs ViewCode::enumerated_footprint(const int64_t* env, const std::vector<int64_t>& extents) const {
  Runs runs;
  std::vector<int64_t> point(extents.size(), 0), origin(rest_.size()), coordinate(rest_.size());
  for (size_t d = 0; d < rest_.size(); ++d) {
    origin[d] = eval(rest_[d], env);
  }
  while (true) {
    int64_t linear = 0;
    for (size_t d = 0; d < rest_.size(); ++d) {
      int64_t c = 0;
      for (size_t b = 0; b < extents.size(); ++b) {
        c += coefs_[d][b] * point[b];
      }
      linear += c * pitch_[d];
      coordinate[d] = origin[d] + c;
    }
    append(runs, (blocked() ? blocked_offset(coordinate.data()) : linear) * element_, element_);
    size_t b = extents.size();
    while (b > 0 && ++point[b - 1] == extents[b - 1]) {
      point[--b] = 0;
    }
    if (b == 0) {
      return runs;
    }
  }
}

std::string ViewCode::describe(const int64_t* env, const std::vector<int64_t>& extents) const {
  std::string text = (is_tensor_ ? tensor_->name : buffer_->name) + "[";
  std::string shape;
  for (size_t d = 0; d < rest_.size(); ++d) {
    const auto [low, high] = bounds(d, env, extents);
    text += fmt::format("{}{}..{}", d == 0 ? "" : ", ", low, high);
    shape += fmt::format("{}{}", d == 0 ? "" : "x", (*shape_)[d]);
  }
  text += "] of " + shape;
  if (!is_tensor_ && (buffer_->copies > 1 || !slot_inside(env))) {
    text += fmt::format(" slot {} of {}", eval(view_->slot, env), buffer_->copies);
  }
  return text;
}

}  // namespace dlcc::sim
