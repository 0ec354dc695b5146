#include <slave.h>

#define ROWS 64
#define COLUMNS 48
#define TILE 6

extern int matrix[ROWS][COLUMNS];
extern int result[COLUMNS][ROWS];
extern int written_by_slaves[64];

__thread_local volatile int get_reply, put_reply;
__thread_local int in[8][TILE], out[TILE][8];
__thread_local int spawns; /* LDM keeps its content from launch to launch */

int helper(int x) { return x + 1; }

/* Slave (row, column) takes the 8 x 6 tile at that place of the 8 x 8 grid of tiles. */
void transpose(int *unused) {
  const int id = athread_get_id(-1);
  const int row = id / 8 * 8, column = id % 8 * TILE;
  int r, c;
  (void)unused;
  get_reply = put_reply = 0;
  athread_get(PE_MODE, &matrix[row][column], in, sizeof(in), (void *)&get_reply, 0, (COLUMNS - TILE) * 4, TILE * 4);
  while (get_reply != 1) {
  }
  for (r = 0; r < 8; ++r) {
    for (c = 0; c < TILE; ++c) {
      out[c][r] = in[r][c];
    }
  }
  athread_put(PE_MODE, out, &result[column][row], sizeof(out), (void *)&put_reply, (ROWS - 8) * 4, 8 * 4);
  while (put_reply != 1) {
  }
  spawns += 1;
  written_by_slaves[id] += helper(id);
  if (spawns == 3 && written_by_slaves[id] != 3 * helper(id)) {
    written_by_slaves[id] = -1;
  }
}
