#include <dma.h>
#include <slave.h>

extern int source[64 * 8];
extern int seen[64][6];

__thread_local volatile int reply, second_reply, row_reply, rank_reply, brow_reply, put_reply;
__thread_local int all, some, row_words[2], rank_words[2], brow_word;
__thread_local int answer[6];

void modes(void *unused) {
  const int id = athread_get_id(-1);
  dma_desc rank;
  (void)unused;
  some = -1;
  athread_syn(ARRAY_SCOPE, 0xffff);
  if (id == 11) {
    athread_get(BCAST_MODE, &source[17], &all, 4, (void *)&reply, 0xff, 0, 0);
  }
  if (id == 5) {
    athread_get(BCAST_MODE, &source[40], &some, 4, (void *)&second_reply, 0x05, 0, 0);
  }
  while (reply != 1) {
  }
  while (second_reply != (_ROW == 0 || _ROW == 2)) {
  }
  athread_get(ROW_MODE, &source[_ROW * 16], row_words, 8, (void *)&row_reply, 0, 0, 4);
  dma_wait(&row_reply, 1);
  dma_set_op(&rank, DMA_GET);
  dma_set_mode(&rank, RANK_MODE);
  dma_set_size(&rank, 8);
  dma_set_bsize(&rank, 4);
  dma_set_stepsize(&rank, 0);
  dma_set_reply(&rank, &rank_reply);
  dma(rank, (long)source, (long)rank_words);
  dma_wait(&rank_reply, 1);
  if (_ROW == 0) {
    athread_get(BROW_MODE, &source[100], &brow_word, 4, (void *)&brow_reply, 0xff, 0, 4);
  }
  while (brow_reply != 1) {
  }
  answer[0] = all;
  answer[1] = some;
  answer[2] = row_words[0];
  answer[3] = row_words[1];
  answer[4] = rank_words[1];
  answer[5] = brow_word;
  athread_put(PE_MODE, answer, seen[_MYID], sizeof(answer), (void *)&put_reply, 0, 0);
  while (put_reply != 1) {
  }
}
