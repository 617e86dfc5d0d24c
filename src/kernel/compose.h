/* One tile of a kernel: factors computed by the path, put through their outer maps, multiplied and added up. */
#ifndef KARMA_I_COMPOSE_H
#define KARMA_I_COMPOSE_H

#include "kernel/kernel.h"

/* The largest tile of a kernel over such rows. */
size_t karma_i_tile_rows(const karma_i_kernel *kernel, karma_i_view a);
size_t karma_i_tile_columns(const karma_i_kernel *kernel, karma_i_view b);

/* The scratch of one thread. */
typedef struct karma_i_worker {
    size_t n_factors;
    void **scratch;                 /* of each factor's tiles; factors of one encoding share theirs */
    float *product, *factor;        /* tiles of a kernel with several factors */
    float *diagonal_a, *diagonal_b; /* of a kernel with outer maps */
} karma_i_worker;

/* False if memory runs out; to be cleared in any case. */
int karma_i_worker_init(karma_i_worker *worker, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b);
void karma_i_worker_clear(karma_i_worker *worker);

/* out[i * ld + j] = k(a_i, b_j), at most karma_i_tile_rows x karma_i_tile_columns of them. */
void karma_i_kernel_tile(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                         karma_i_worker *worker);

#endif
