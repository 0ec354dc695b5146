// Integer sets and relations over isl's C API: move-only owners, built from boxes and affine expressions. The only header that knows isl's types.
// An operation that isl refuses (the operations quota, say) yields an empty owner; every later operation on it does too, and Poly::failed() says why.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/te/affine.h"

struct isl_ctx;
struct isl_set;
struct isl_map;

namespace dlcc::lowering::oracle {

using te::Affine;

/// Owner of one isl object. Copies are explicit.
template <class T, T* (*kCopy)(T*), void (*kFree)(T*)>
class Owner {
 public:
  Owner() = default;
  explicit Owner(T* object) : object_(object) {}
  Owner(Owner&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    if (this != &other) {
      reset(std::exchange(other.object_, nullptr));
    }
    return *this;
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { reset(nullptr); }

  explicit operator bool() const { return object_ != nullptr; }
  T* get() const { return object_; }
  T* release() { return std::exchange(object_, nullptr); }
  Owner copy() const { return Owner(object_ == nullptr ? nullptr : kCopy(object_)); }

 private:
  void reset(T* object) {
    if (object_ != nullptr) {
      kFree(object_);
    }
    object_ = object;
  }
  T* object_ = nullptr;
};

isl_set* copy_set(isl_set* set);
void free_set(isl_set* set);
isl_map* copy_map(isl_map* map);
void free_map(isl_map* map);
using Set = Owner<isl_set, copy_set, free_set>;
using Map = Owner<isl_map, copy_map, free_map>;

/// [lo, lo + size) of one coordinate.
struct Interval {
  int64_t lo = 0, size = 0;
};
using Box = std::vector<Interval>;

/// One isl context with its quota. Every Set and Map must be gone before it; so it is the first member or local of whoever uses it.
class Poly {
 public:
  explicit Poly(uint64_t max_operations);

  Set box(const Box& box);
  /// {[v0, v1, ...] -> [outs...] : v in the box}; variable n of an expression is coordinate n of the box.
  Map affine(const Box& box, const std::vector<Affine>& outs);
  /// Pairs (a, b) of n-dimensional points with a lexicographically before b.
  Map before(int dims);

  /// isl has refused something since the start: "quota of 2000000 operations", or its own text.
  bool failed() const;
  std::string failure() const;

 private:
  struct Free {
    void operator()(isl_ctx* ctx) const;
  };
  std::unique_ptr<isl_ctx, Free> ctx_;
  uint64_t max_operations_;
};

Map reverse(Map map);
/// first, then second.
Map compose(Map first, Map second);
Map unite(Map a, Map b);
Set unite(Set a, Set b);
Map intersect(Map a, Map b);
Set intersect(Set a, Set b);
Map subtract(Map a, Map b);
Set subtract(Set a, Set b);
Map restrict_domain(Map map, Set to);
Map restrict_range(Map map, Set to);
Map drop_domain(Map map, Set what);
Map drop_range(Map map, Set what);
Set domain(Map map);
Set range(Map map);
/// {x -> y : x in a, y in b}
Map product(Set a, Set b);

/// Yes or no; an operation that failed answers no, and Poly::failed() tells.
bool is_empty(const Map& map);
bool is_empty(const Set& set);
bool is_subset(const Map& a, const Map& b);
bool is_subset(const Set& a, const Set& b);
bool is_injective(const Map& map);
bool is_single_valued(const Map& map);

/// A point of a set, "[3, 0, 7]"; "none" without one.
std::string sample(Set set);
std::string sample(Map map);

}  // namespace dlcc::lowering::oracle
