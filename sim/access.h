// A View compiled against its leaf's box: where point 0 lies, the stride of each box dim, whether every point is inside
// the object, and the footprint (merged byte runs), which is memoised because tiles repeat the same few extents.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hw/program.h"
#include "sim/expand_ops.h"

namespace dlcc::sim {

/// [offset, offset + bytes), relative to the place that the user of the runs names.
struct Run {
  int64_t offset = 0, bytes = 0;
};
using Runs = std::vector<Run>;

/// Runs of a strided box, relative to point 0, merged and sorted.
Runs runs_of_box(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides, int64_t element);
bool overlap(const Runs& a, int64_t a_base, const Runs& b, int64_t b_base);

class ViewCode {
 public:
  ViewCode(const hw::View& view, const std::vector<hw::BoxDim>& box, const hw::Group& group, const hw::Program& program,
           int indirect_dim = -1);

  bool is_tensor() const { return is_tensor_; }
  bool is_arena() const { return is_tensor_ && tensor_->space == hw::Space::Arena; }
  const hw::View& view() const { return *view_; }
  hw::MemoryId memory() const { return is_tensor_ ? hw::kNone : buffer_->memory; }
  const hw::Buffer& buffer() const { return *buffer_; }
  const hw::GlobalTensor& tensor() const { return *tensor_; }
  DType type() const { return type_; }
  int64_t element() const { return element_; }
  const std::vector<int64_t>& shape() const { return *shape_; }
  bool blocked() const { return !is_tensor_ && !buffer_->layout.empty(); }
  /// Elements per box dim, row-major objects.
  const std::vector<int64_t>& strides() const { return strides_; }
  int64_t dim_stride(int index_dim) const { return pitch_[static_cast<size_t>(index_dim)]; }
  const std::vector<std::vector<int64_t>>& coefs() const { return coefs_; }

  /// Value of index `d` at point 0, and the offset of an element within a slot of a blocked buffer.
  int64_t rest(size_t d, const int64_t* env) const { return eval(rest_[d], env); }
  int64_t blocked_offset(const int64_t* coordinate) const;
  /// The slot is one of the buffer's.
  bool slot_inside(const int64_t* env) const;
  /// Every index of every point of a non-empty box is inside the object (the indirect dim excepted).
  bool inside(const int64_t* env, const std::vector<int64_t>& extents) const;
  /// Bytes from the start of the memory or space: of the element at point 0, or of the slot's start for a blocked
  /// buffer.
  int64_t place(const int64_t* env) const;
  /// Bytes touched, relative to place(). Valid while this object lives. Thread-safe.
  const Runs& footprint(const int64_t* env, const std::vector<int64_t>& extents) const;
  /// "x_tile[0..7, 3..40] of 8x32 slot 1" for messages.
  std::string describe(const int64_t* env, const std::vector<int64_t>& extents) const;
  /// Smallest and largest index of dim d over the box.
  std::pair<int64_t, int64_t> bounds(size_t d, const int64_t* env, const std::vector<int64_t>& extents) const;

 private:
  Runs compute_footprint(const int64_t* env, const std::vector<int64_t>& extents) const;
  Runs separable_footprint(const std::vector<int64_t>& extents) const;
  Runs enumerated_footprint(const int64_t* env, const std::vector<int64_t>& extents) const;

  const hw::View* view_;
  bool is_tensor_;
  const hw::Buffer* buffer_ = nullptr;
  const hw::GlobalTensor* tensor_ = nullptr;
  DType type_;
  int64_t element_;
  const std::vector<int64_t>* shape_;
  int indirect_dim_;
  bool separable_ = true;                    // no box variable moves two indices
  std::vector<int64_t> pitch_;               // elements per index dim
  std::vector<te::Affine> rest_;             // indices without the box variables
  std::vector<std::vector<int64_t>> coefs_;  // [index dim][box dim]
  std::vector<int64_t> strides_;
  te::Affine base_;                           // elements
  std::vector<std::vector<int64_t>> tables_;  // blocked: element offset by coordinate, per dim
  struct Cache {
    std::mutex mutex;
    std::map<std::vector<int64_t>, std::unique_ptr<Runs>> runs;
  };
  std::unique_ptr<Cache> cache_ = std::make_unique<Cache>();
};

/// Extents of a box; false when one is not positive (no points).
bool extents_of(const std::vector<hw::BoxDim>& box, const int64_t* env, std::vector<int64_t>& extents);

}  // namespace dlcc::sim
