/* DMA trace: one line per descriptor, "core group get|put space offset ldm block blocks stride", by core and in each core's order. */
#include <stdlib.h>
#include <string.h>

#include "shim.h"

#define SPACES 8
static struct { char name[16]; const char *start; size_t bytes; } spaces[SPACES];
static int space_count;

void dlcc_shim_register(const char *space, const void *start, size_t bytes) {
  int i;
  for (i = 0; i < space_count && strcmp(spaces[i].name, space) != 0; ++i) {
  }
  if (i == SPACES || strlen(space) >= sizeof(spaces[0].name)) {
    shim_die(NULL, "dlcc_shim_register(%s): at most %d spaces of at most 15 letters", space, SPACES);
  }
  space_count = i == space_count ? i + 1 : space_count;
  strcpy(spaces[i].name, space);
  spaces[i].start = start;
  spaces[i].bytes = bytes;
}

void dlcc_shim_attach(void *ldm) {
  shim_slave *self = shim_self("dlcc_shim_attach");
  self->attached = 1;
  self->group = 0;
  self->ldm_origin = ldm;
}
void dlcc_shim_group(int group) { shim_self("dlcc_shim_group")->group = group; }

static void append(shim_slave *self, const char *line, size_t bytes) {
  if (self->trace_bytes + bytes > self->trace_capacity) {
    self->trace_capacity = 2 * (self->trace_capacity + bytes) + 4096;
    self->trace = realloc(self->trace, self->trace_capacity);
    if (self->trace == NULL) {
      shim_die(self, "out of memory for the trace");
    }
  }
  memcpy(self->trace + self->trace_bytes, line, bytes);
  self->trace_bytes += bytes;
}

void shim_check_space(const shim_slave *self, const shim_request *r) {
  const long block = r->bsize > 0 ? r->bsize : r->len;
  const size_t extent = (size_t)((r->len / block - 1) * (block + r->stride) + block);
  int i;
  for (i = 0; i < space_count; ++i) {
    if (r->memory >= spaces[i].start && (size_t)(r->memory - spaces[i].start) < spaces[i].bytes) {
      if (extent <= spaces[i].bytes - (size_t)(r->memory - spaces[i].start)) {
        return;
      }
      shim_die(self, "%s: %zu bytes at offset %ld leave the %s of %zu bytes", r->call, extent, (long)(r->memory - spaces[i].start),
               spaces[i].name, spaces[i].bytes);
    }
  }
  if (space_count > 0) {
    shim_die(self, "%s: the main memory address %p lies in no registered space", r->call, (void *)r->memory);
  }
}

void shim_trace_dma(shim_slave *self, const shim_request *r) {
  const char *space = "other";
  long offset = (long)r->memory;
  const long block = r->bsize > 0 ? r->bsize : r->len;
  char line[192];
  int i, n;
  if (shim.trace == NULL) {
    return;
  }
  for (i = 0; i < space_count; ++i) {
    if (r->memory >= spaces[i].start && (size_t)(r->memory - spaces[i].start) < spaces[i].bytes) {
      space = spaces[i].name;
      offset = r->memory - spaces[i].start;
    }
  }
  n = snprintf(line, sizeof(line), "%d %d %s %s %ld %ld %ld %ld %ld\n", self->id, self->group, r->put ? "put" : "get", space, offset,
               (long)(r->ldm - self->ldm_origin), block, r->len / block, r->len > block ? block + r->stride : 0);
  append(self, line, (size_t)n);
}

void shim_trace_flush(void) {
  int i;
  for (i = 0; i < shim.started && shim.trace != NULL; ++i) {
    fwrite(shim.slave[i].trace, 1, shim.slave[i].trace_bytes, shim.trace);
    shim.slave[i].trace_bytes = 0;
  }
  if (shim.trace != NULL) {
    fflush(shim.trace);
  }
}

void shim_trace_open(const char *path) {
  if (shim.trace != NULL) {
    fclose(shim.trace);
    shim.trace = NULL;
  }
  if (path[0] != '\0') {
    shim.trace = fopen(path, "w");
    if (shim.trace == NULL) {
      shim_die(NULL, "cannot write the trace %s", path);
    }
  }
}
