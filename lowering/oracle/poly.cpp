// The wrapper's calls into isl. Takes and gives of isl's API are hidden here.
#include "lowering/oracle/poly.h"

#include <cstdlib>

#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>

namespace dlcc::lowering::oracle {

isl_set* copy_set(isl_set* set) { return isl_set_copy(set); }
void free_set(isl_set* set) { isl_set_free(set); }
isl_map* copy_map(isl_map* map) { return isl_map_copy(map); }
void free_map(isl_map* map) { isl_map_free(map); }

Poly::Poly(uint64_t max_operations) : ctx_(isl_ctx_alloc()), max_operations_(max_operations) {
  isl_options_set_on_error(ctx_.get(), ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(ctx_.get(), max_operations);
}
void Poly::Free::operator()(isl_ctx* ctx) const { isl_ctx_free(ctx); }

Set Poly::box(const Box& box) {
  isl_set* set = isl_set_universe(isl_space_set_alloc(ctx_.get(), 0, static_cast<unsigned>(box.size())));
  for (size_t d = 0; d < box.size(); ++d) {
    set = isl_set_lower_bound_si(set, isl_dim_set, static_cast<unsigned>(d), static_cast<int>(box[d].lo));
    set = isl_set_upper_bound_si(set, isl_dim_set, static_cast<unsigned>(d), static_cast<int>(box[d].lo + box[d].size - 1));
  }
  return Set(set);
}

Map Poly::affine(const Box& box, const std::vector<Affine>& outs) {
  isl_space* space = isl_space_alloc(ctx_.get(), 0, static_cast<unsigned>(box.size()), static_cast<unsigned>(outs.size()));
  isl_local_space* local = isl_local_space_from_space(isl_space_copy(space));
  isl_map* map = isl_map_universe(space);
  for (size_t d = 0; d < box.size(); ++d) {
    map = isl_map_lower_bound_si(map, isl_dim_in, static_cast<unsigned>(d), static_cast<int>(box[d].lo));
    map = isl_map_upper_bound_si(map, isl_dim_in, static_cast<unsigned>(d), static_cast<int>(box[d].lo + box[d].size - 1));
  }
  for (size_t o = 0; o < outs.size(); ++o) {
    isl_constraint* equality = isl_constraint_alloc_equality(isl_local_space_copy(local));
    equality = isl_constraint_set_coefficient_si(equality, isl_dim_out, static_cast<int>(o), -1);
    equality = isl_constraint_set_constant_si(equality, static_cast<int>(outs[o].constant()));
    for (const te::Term& term : outs[o].terms()) {
      equality = isl_constraint_set_coefficient_si(equality, isl_dim_in, term.var, static_cast<int>(term.coef));
    }
    map = isl_map_add_constraint(map, equality);
  }
  isl_local_space_free(local);
  return Map(map);
}

Map Poly::before(int dims) { return Map(isl_map_lex_lt(isl_space_set_alloc(ctx_.get(), 0, static_cast<unsigned>(dims)))); }

bool Poly::failed() const { return isl_ctx_last_error(ctx_.get()) != isl_error_none; }
std::string Poly::failure() const {
  if (isl_ctx_last_error(ctx_.get()) == isl_error_quota) {
    return "quota of " + std::to_string(max_operations_) + " operations";
  }
  const char* text = isl_ctx_last_error_msg(ctx_.get());
  return text == nullptr ? "an isl error" : text;
}

Map reverse(Map map) { return Map(isl_map_reverse(map.release())); }
Map compose(Map first, Map second) { return Map(isl_map_apply_range(first.release(), second.release())); }
Map unite(Map a, Map b) { return Map(isl_map_coalesce(isl_map_union(a.release(), b.release()))); }
Set unite(Set a, Set b) { return Set(isl_set_coalesce(isl_set_union(a.release(), b.release()))); }
Map intersect(Map a, Map b) { return Map(isl_map_intersect(a.release(), b.release())); }
Set intersect(Set a, Set b) { return Set(isl_set_intersect(a.release(), b.release())); }
Map subtract(Map a, Map b) { return Map(isl_map_subtract(a.release(), b.release())); }
Set subtract(Set a, Set b) { return Set(isl_set_subtract(a.release(), b.release())); }
Map restrict_domain(Map map, Set to) { return Map(isl_map_intersect_domain(map.release(), to.release())); }
Map restrict_range(Map map, Set to) { return Map(isl_map_intersect_range(map.release(), to.release())); }
Map drop_domain(Map map, Set what) { return Map(isl_map_subtract_domain(map.release(), what.release())); }
Map drop_range(Map map, Set what) { return Map(isl_map_subtract_range(map.release(), what.release())); }
Set domain(Map map) { return Set(isl_map_domain(map.release())); }
Set range(Map map) { return Set(isl_map_range(map.release())); }
Map product(Set a, Set b) { return Map(isl_map_from_domain_and_range(a.release(), b.release())); }

bool is_empty(const Map& map) { return isl_map_is_empty(map.get()) == isl_bool_true; }
bool is_empty(const Set& set) { return isl_set_is_empty(set.get()) == isl_bool_true; }
bool is_subset(const Map& a, const Map& b) { return isl_map_is_subset(a.get(), b.get()) == isl_bool_true; }
bool is_subset(const Set& a, const Set& b) { return isl_set_is_subset(a.get(), b.get()) == isl_bool_true; }
bool is_injective(const Map& map) { return isl_map_is_injective(map.get()) == isl_bool_true; }
bool is_single_valued(const Map& map) { return isl_map_is_single_valued(map.get()) == isl_bool_true; }

std::string sample(Set set) {
  isl_point* point = isl_set_sample_point(set.release());
  if (point == nullptr || isl_point_is_void(point) != isl_bool_false) {
    isl_point_free(point);
    return "none";
  }
  Set single(isl_set_from_point(point));
  const isl_size dims = isl_set_dim(single.get(), isl_dim_set);
  std::string text = "[";
  for (int d = 0; d < static_cast<int>(dims); ++d) {
    isl_val* value = isl_set_plain_get_val_if_fixed(single.get(), isl_dim_set, static_cast<unsigned>(d));
    text += (d > 0 ? ", " : "") + std::to_string(value == nullptr ? 0 : isl_val_get_num_si(value));
    isl_val_free(value);
  }
  return text + "]";
}
std::string sample(Map map) {
  const std::string in = sample(domain(map.copy()));
  return in == "none" ? in : in + " -> " + sample(range(std::move(map)));
}

}  // namespace dlcc::lowering::oracle
