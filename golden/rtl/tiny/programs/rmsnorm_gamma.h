/* Words for the load port: rmsnorm_gamma, s8 to s8, rows of 4 elements.
   Gamma and beta are not here; the last word is the descriptor, load_tail with it. */
#ifndef MIVE_RMSNORM_GAMMA_H
#define MIVE_RMSNORM_GAMMA_H

#include <stdint.h>

struct mive_rmsnorm_gamma_word {
  uint32_t address;
  uint64_t word;
  int64_t immediate;
};

static const uint64_t mive_rmsnorm_gamma_tail = 0x1u;

static const struct mive_rmsnorm_gamma_word mive_rmsnorm_gamma_words[] = {
  {0x0u, 0x8100802u, 0},
  {0x1u, 0x1403c900u, 0},
  {0x2u, 0x1c21c985u, 0},
  {0x80u, 0x4000200u, 0},
  {0x81u, 0x2000205u, 0},
  {0x82u, 0x10618u, 338250},
  {0x83u, 0x400261u, 8},
  {0x84u, 0x1b018u, 0},
  {0x85u, 0x400261u, 0},
  {0x86u, 0x1200u, 0},
  {0x87u, 0x21au, 0},
  {0x88u, 0xb80261u, 0},
  {0x89u, 0x821860u, 0},
  {0x8au, 0x100201u, 524297},
  {0x8bu, 0x1b018u, 0},
  {0x8cu, 0x480027bu, 9},
  {0x180u, 0x3u, 0},
};

#endif
