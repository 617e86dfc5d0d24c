/* Gram tiles of sparse rows, at a cost that goes with their observed cells and never with the number of attributes. */
#ifndef KARMA_I_SPARSE_H
#define KARMA_I_SPARSE_H

#include "kernel/kernel.h"

/* Rows of a that are indexed at a time. */
enum { KARMA_I_SPARSE_ROWS = 256 };

/* One thread's scratch: where each attribute's cells among the indexed rows are. */
typedef struct karma_i_sparse_index karma_i_sparse_index;
karma_i_sparse_index *karma_i_sparse_index_new(size_t n_attributes, size_t most_cells); /* NULL: out of memory */
void karma_i_sparse_index_free(karma_i_sparse_index *index);
/* The most cells that KARMA_I_SPARSE_ROWS neighbouring rows have. */
size_t karma_i_sparse_most_cells(karma_i_view a);

/* out[i * ld + j] = k(a_i, b_j), a.count <= KARMA_I_SPARSE_ROWS. */
void karma_i_sparse_tile(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                         karma_i_sparse_index *index);

#endif
