// Sampling by bytes. The sampled bytes of a thread's allocations are a Poisson process: the
// distance between two of them is exponentially distributed with the period as its mean. An
// allocation of n bytes is sampled with probability p = 1 - exp(-n / period) and stands for 1/p
// allocations of its size, so that the sums are unbiased.
#ifndef HL_HEAP_SAMPLE_H
#define HL_HEAP_SAMPLE_H

#include "base/platform.h"

// hl_effective_size returns the size by which the sampling counts an allocation, so that blocks of
// size 0 are sampled too.
static inline uint64_t hl_effective_size(uint64_t size) { return size + 1; }

// hl_draw returns the number of bytes to the next sample, and advances the generator.
int64_t hl_draw(uint64_t *random, uint64_t period);

// hl_weight returns the number of allocations that a sampled one of the given effective size stands
// for, in units of 1 / HL_WEIGHT_ONE. With a period of 1, every allocation is sampled.
enum { HL_WEIGHT_BITS = 16, HL_WEIGHT_ONE = 1 << HL_WEIGHT_BITS };
uint64_t hl_weight(uint64_t effective_size, uint64_t period);

// hl_weighted_bytes returns the number of bytes of such allocations.
uint64_t hl_weighted_bytes(uint64_t size, uint64_t weight);

#endif
