/* Gram tiles of sparse rows, at a cost that goes with their observed cells and never with the number of attributes. */
#ifndef KARMA_I_SPARSE_H
#define KARMA_I_SPARSE_H

#include "kernel/kernel.h"

/* Rows of a that are indexed at a time. */
enum { KARMA_I_SPARSE_ROWS = 256 };

typedef struct karma_i_indexed_cell {
    float value;
    uint32_t row; /* of the tile */
} karma_i_indexed_cell;

/* One thread's scratch: the cells of the indexed rows by attribute. */
typedef struct karma_i_sparse_index {
    uint32_t *begin, *end; /* by attribute: where its cells are; equal: it has none */
    karma_i_indexed_cell *cells;
    uint32_t *seen; /* the attributes that occur */
    size_t n_seen;
    float sums[KARMA_I_SPARSE_ROWS]; /* of the row of b at work */
    uint32_t counts[KARMA_I_SPARSE_ROWS];
    uint32_t met[KARMA_I_SPARSE_ROWS]; /* the rows of a it has met */
} karma_i_sparse_index;

/* False when memory is out; to be cleared in any case. */
int karma_i_sparse_index_init(karma_i_sparse_index *index, size_t n_attributes, size_t most_cells);
void karma_i_sparse_index_clear(karma_i_sparse_index *index);
/* The most cells that KARMA_I_SPARSE_ROWS neighbouring rows have. */
size_t karma_i_sparse_most_cells(karma_i_view a);

/* out[i * ld + j] = w(c) (Σκ + b²) of a_i and b_j, a.count <= KARMA_I_SPARSE_ROWS. */
void karma_i_sparse_tile(float *out, size_t ld, const karma_i_factor *factor, karma_i_view a, karma_i_view b,
                         karma_i_sparse_index *index);

#endif
