/* Words for the load port: softmax, s8 to u8, rows of 4 elements.
   Gamma and beta are not here; the last word is the descriptor, load_tail with it. */
#ifndef MIVE_SOFTMAX_H
#define MIVE_SOFTMAX_H

#include <stdint.h>

struct mive_softmax_word {
  uint32_t address;
  uint64_t word;
  int64_t immediate;
};

static const uint64_t mive_softmax_tail = 0x1u;

static const struct mive_softmax_word mive_softmax_words[] = {
  {0x0u, 0x40090u, 0},
  {0x1u, 0x808026bu, 0},
  {0x2u, 0x14040090u, 0},
  {0x3u, 0x1c40026bu, 0},
  {0x80u, 0x10618u, 95296},
  {0x81u, 0x27bu, 6},
  {0x82u, 0x140201u, 2978},
  {0x83u, 0x6600u, 131072},
  {0x84u, 0x4000204u, 0},
  {0x85u, 0x205u, 0},
  {0x86u, 0x20au, 0},
  {0x87u, 0x380221u, 0},
  {0x88u, 0x21828u, 0},
  {0x89u, 0x140201u, 2978},
  {0x8au, 0x6600u, 131072},
  {0x8bu, 0x400221u, 15},
  {0x8cu, 0x5200u, 0},
  {0x8du, 0x10608u, -212899},
  {0x8eu, 0x400221u, 15},
  {0x8fu, 0x5200u, 0},
  {0x90u, 0x4000204u, 0},
  {0x180u, 0x3u, 0},
};

#endif
