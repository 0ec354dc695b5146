/* The low-level DMA interface: a descriptor that is filled once and issued many times. */
#ifndef DLCC_SHIM_DMA_H
#define DLCC_SHIM_DMA_H

typedef enum { PE_MODE, BCAST_MODE, ROW_MODE, BROW_MODE, RANK_MODE } dma_mode;
typedef enum { DMA_PUT, DMA_GET, DMA_PUT_P, DMA_GET_P, DMA_BARRIER = 5 } dma_op;

typedef struct dma_desc {
  dma_op op;
  dma_mode mode;
  int size, bsize, stepsize;
  char mask;
  void *reply;
  unsigned magic;
} dma_desc;
#define DLCC_SHIM_DESC 0x5d3ac0deu

#ifdef __cplusplus
extern "C" {
#endif

void dma_set_op(dma_desc *d, dma_op op);
void dma_set_mode(dma_desc *d, dma_mode mode);
void dma_set_size(dma_desc *d, int bytes);
void dma_set_bsize(dma_desc *d, int bytes);
void dma_set_stepsize(dma_desc *d, int bytes);
void dma_set_reply(dma_desc *d, volatile void *reply);
void dma_set_mask(dma_desc *d, char mask);
void dma(dma_desc d, long memory, long ldm);
void dma_wait(volatile void *reply, int count);

#ifdef __cplusplus
}
#endif

#endif
