/* ldm_malloc and the question whether an address lies in a slave's LDM. */
#include <stdint.h>

#include "shim.h"

enum { REGION_STATICS, REGION_HEAP, REGION_STACK };

static int inside(const char *start, size_t bytes, const char *region, size_t region_bytes) {
  const uintptr_t a = (uintptr_t)start, r = (uintptr_t)region;
  return region != NULL && a >= r && bytes <= region_bytes && a - r <= region_bytes - bytes;
}

int shim_in_ldm(const shim_slave *s, const char *start, size_t bytes, int *region, long *offset) {
  int i;
  if (inside(start, bytes, s->statics, s->statics_bytes)) {
    *region = REGION_STATICS;
    *offset = start - s->statics;
    return 1;
  }
  if (inside(start, bytes, s->stack, s->stack_bytes)) {
    *region = REGION_STACK;
    *offset = start - s->stack;
    return 1;
  }
  for (i = 0; i < s->blocks; ++i) {
    if (inside(start, bytes, s->heap + s->block[i].start, s->block[i].bytes)) {
      *region = REGION_HEAP;
      *offset = start - s->heap;
      return 1;
    }
  }
  return 0;
}

char *shim_ldm_address(const shim_slave *s, int region, long offset) {
  return (region == REGION_STATICS ? s->statics : region == REGION_HEAP ? s->heap : s->stack) + offset;
}

/* First fit over blocks kept in address order, with a header's room before each, as a real allocator has: public programs write a
 * word in front of a block and get away with it. NULL when LDM is full. */
#define HEADER 32
void *ldm_malloc(size_t bytes) {
  shim_slave *s = shim_self("ldm_malloc");
  const size_t need = bytes == 0 ? 32 : (bytes + 31) & ~(size_t)31;
  size_t at = HEADER;
  int i, k;
  if (s->blocks == SHIM_BLOCKS) {
    shim_die(s, "ldm_malloc: more than %d live blocks", SHIM_BLOCKS);
  }
  for (i = 0; i < s->blocks && s->block[i].start < at + need + HEADER; ++i) {
    at = s->block[i].start + ((s->block[i].bytes + 31) & ~(size_t)31) + HEADER;
  }
  if (need > s->heap_bytes || at > s->heap_bytes - need) {
    return NULL;
  }
  for (k = s->blocks; k > i; --k) {
    s->block[k] = s->block[k - 1];
  }
  s->block[i].start = at;
  s->block[i].bytes = bytes == 0 ? 32 : bytes;
  s->blocks += 1;
  return s->heap + at;
}

void ldm_free(void *block, size_t bytes) {
  shim_slave *s = shim_self("ldm_free");
  int i, k;
  (void)bytes;
  if (block == NULL) {
    return;
  }
  for (i = 0; i < s->blocks; ++i) {
    if (s->heap + s->block[i].start == (char *)block) {
      for (k = i + 1; k < s->blocks; ++k) {
        s->block[k - 1] = s->block[k];
      }
      s->blocks -= 1;
      return;
    }
  }
  shim_die(s, "ldm_free(%p): not a live block of ldm_malloc", block);
}
