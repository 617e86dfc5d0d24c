/* The cells of a tile's rows a are chained by attribute. Each row of b then goes through its own cells and meets
 * exactly the rows of a that share the attribute: as many steps as there are common cells, plus one a cell. */
#include "kernel/sparse.h"

#include <string.h>

#include "base/mem.h"

enum { ROWS = KARMA_I_SPARSE_ROWS, COLUMNS = 16 /* rows of b whose sums are kept until they are written */ };

struct karma_i_sparse_index {
    uint32_t *head;  /* by attribute: the first cell's number plus 1; 0: none */
    uint32_t *next;  /* by cell, the same way */
    uint16_t *row;   /* by cell */
    float *value;    /* by cell */
    float sums[COLUMNS][ROWS];
    uint32_t counts[COLUMNS][ROWS];
};

void karma_i_sparse_index_free(karma_i_sparse_index *x) {
    if (!x) return;
    karma_i_free(x->head);
    karma_i_free(x->next);
    karma_i_free(x->row);
    karma_i_free(x->value);
    karma_i_free(x);
}

karma_i_sparse_index *karma_i_sparse_index_new(size_t n_attributes, size_t most_cells) {
    karma_i_sparse_index *x = karma_i_zalloc(1, sizeof *x);
    if (!x) return NULL;
    x->head = karma_i_zalloc(n_attributes, sizeof *x->head);
    x->next = karma_i_alloc(most_cells, sizeof *x->next);
    x->row = karma_i_alloc(most_cells, sizeof *x->row);
    x->value = karma_i_alloc(most_cells, sizeof *x->value);
    if (x->head && x->next && x->row && x->value && most_cells < UINT32_MAX) return x;
    karma_i_sparse_index_free(x);
    return NULL;
}

size_t karma_i_sparse_most_cells(karma_i_view a) {
    size_t most = 0;
    const size_t *start = a.rows->cell_start + a.first;
    for (size_t i = 0; i < a.count; i += ROWS) {
        size_t cells = start[i + ROWS < a.count ? i + ROWS : a.count] - start[i];
        if (cells > most) most = cells;
    }
    return most;
}

static void chain_cells(karma_i_sparse_index *x, karma_i_view a) {
    uint32_t n = 0;
    for (size_t i = 0; i < a.count; i++)
        for (size_t k = a.rows->cell_start[a.first + i]; k < a.rows->cell_start[a.first + i + 1]; k++) {
            uint32_t attribute = a.rows->cell_attribute[k];
            x->row[n] = (uint16_t)i;
            x->value[n] = a.rows->cell_value[k];
            x->next[n] = x->head[attribute];
            x->head[attribute] = ++n;
        }
}

static void unchain_cells(karma_i_sparse_index *x, karma_i_view a) {
    for (size_t k = a.rows->cell_start[a.first]; k < a.rows->cell_start[a.first + a.count]; k++)
        x->head[a.rows->cell_attribute[k]] = 0;
}

static void meet(karma_i_sparse_index *x, size_t column, const karma_i_rows *b, size_t j) {
    float *sums = x->sums[column];
    uint32_t *counts = x->counts[column];
    for (size_t k = b->cell_start[j]; k < b->cell_start[j + 1]; k++) {
        float value = b->cell_value[k];
        for (uint32_t cell = x->head[b->cell_attribute[k]]; cell; cell = x->next[cell - 1]) {
            sums[x->row[cell - 1]] += value * x->value[cell - 1];
            counts[x->row[cell - 1]]++;
        }
    }
}

void karma_i_sparse_tile(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                         karma_i_sparse_index *x) {
    float add = (float)(kernel->bias * kernel->bias);
    chain_cells(x, a);
    for (size_t j = 0; j < b.count; j += COLUMNS) {
        size_t n = b.count - j < COLUMNS ? b.count - j : COLUMNS;
        memset(x->sums, 0, n * sizeof x->sums[0]);
        memset(x->counts, 0, n * sizeof x->counts[0]);
        for (size_t r = 0; r < n; r++) meet(x, r, b.rows, b.first + j + r);
        for (size_t i = 0; i < a.count; i++)
            for (size_t r = 0; r < n; r++)
                out[i * ld + j + r] = (x->sums[r][i] + add) * kernel->weight[x->counts[r][i]];
    }
    unchain_cells(x, a);
}
