/* One tile of a kernel: factors computed by the path, put through their outer maps, multiplied and added up. */
#ifndef KARMA_I_COMPOSE_H
#define KARMA_I_COMPOSE_H

#include "kernel/kernel.h"
#include "kernel/sparse.h"

/* Sparse tiles are wide: a row of b costs a step for each of its cells however few rows of a there are. */
enum { KARMA_I_TILE_ROWS = 128, KARMA_I_TILE_COLUMNS = 512, KARMA_I_SPARSE_COLUMNS = 4096 };

size_t karma_i_tile_rows(karma_i_view a);
size_t karma_i_tile_columns(karma_i_view b);

/* What one thread needs beside the rows. */
typedef struct karma_i_worker {
    karma_i_sparse_index index;     /* of sparse rows */
    float *product, *factor;        /* tiles of a kernel with several factors */
    float *diagonal_a, *diagonal_b; /* of a kernel with outer maps */
} karma_i_worker;

/* False when memory is out; to be cleared in any case. */
int karma_i_worker_init(karma_i_worker *worker, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b);
void karma_i_worker_clear(karma_i_worker *worker);

/* out[i * ld + j] = k(a_i, b_j), at most karma_i_tile_rows x karma_i_tile_columns of them. */
void karma_i_kernel_tile(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                         karma_i_worker *worker);

#endif
