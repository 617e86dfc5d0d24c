/* The cells of a tile's rows a are sorted by attribute. Each row of b then goes through its own cells and meets exactly
 * the rows of a that share the attribute: as many steps as there are common cells, plus one a cell. Pairs without a
 * common attribute all have the same value, which is filled in beforehand. */
#include "kernel/sparse.h"

#include <string.h>

#include "base/mem.h"

enum { ROWS = KARMA_I_SPARSE_ROWS };

void karma_i_sparse_index_clear(karma_i_sparse_index *x) {
    karma_i_free(x->begin);
    karma_i_free(x->end);
    karma_i_free(x->cells);
    karma_i_free(x->seen);
}

int karma_i_sparse_index_init(karma_i_sparse_index *x, size_t n_attributes, size_t most_cells) {
    memset(x, 0, sizeof *x);
    x->begin = karma_i_zalloc(n_attributes, sizeof *x->begin);
    x->end = karma_i_zalloc(n_attributes, sizeof *x->end);
    x->cells = karma_i_alloc(most_cells, sizeof *x->cells);
    x->seen = karma_i_alloc(most_cells, sizeof *x->seen);
    return x->begin && x->end && x->cells && x->seen && most_cells < UINT32_MAX;
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

/* Sorting by counting. Only attributes that occur are touched. */
static void fill_index(karma_i_sparse_index *x, karma_i_view a) {
    const karma_i_rows *rows = a.rows;
    size_t last = rows->cell_start[a.first + a.count];
    uint32_t place = 0;
    x->n_seen = 0;
    for (size_t k = rows->cell_start[a.first]; k < last; k++)
        if (x->end[rows->cell_attribute[k]]++ == 0) x->seen[x->n_seen++] = rows->cell_attribute[k];
    for (size_t s = 0; s < x->n_seen; s++) {
        uint32_t count = x->end[x->seen[s]];
        x->begin[x->seen[s]] = x->end[x->seen[s]] = place; /* the end follows as cells come */
        place += count;
    }
    for (size_t i = 0; i < a.count; i++)
        for (size_t k = rows->cell_start[a.first + i]; k < rows->cell_start[a.first + i + 1]; k++)
            x->cells[x->end[rows->cell_attribute[k]]++] = (karma_i_indexed_cell){rows->cell_value[k], (uint32_t)i};
}

static void empty_index(karma_i_sparse_index *x) {
    for (size_t s = 0; s < x->n_seen; s++) x->begin[x->seen[s]] = x->end[x->seen[s]] = 0;
}

/* Sums and counts over the common attributes of row j of b and the indexed rows it meets; returns how many those are.
 */
static size_t meet(karma_i_sparse_index *x, const karma_i_rows *b, size_t j) {
    size_t n_met = 0;
    for (size_t k = b->cell_start[j]; k < b->cell_start[j + 1]; k++) {
        float value = b->cell_value[k];
        uint32_t end = x->end[b->cell_attribute[k]];
        for (uint32_t c = x->begin[b->cell_attribute[k]]; c < end; c++) {
            uint32_t row = x->cells[c].row;
            if (x->counts[row]++ == 0) x->met[n_met++] = row;
            x->sums[row] += value * x->cells[c].value;
        }
    }
    return n_met;
}

void karma_i_sparse_tile(float *out, size_t ld, const karma_i_factor *factor, karma_i_view a, karma_i_view b,
                         karma_i_sparse_index *x) {
    float add = (float)(factor->bias * factor->bias), apart = add * factor->weight[0];
    for (size_t i = 0; i < a.count; i++)
        for (size_t j = 0; j < b.count; j++) out[i * ld + j] = apart;
    fill_index(x, a);
    for (size_t j = 0; j < b.count; j++) {
        size_t n_met = meet(x, b.rows, b.first + j);
        for (size_t m = 0; m < n_met; m++) {
            uint32_t i = x->met[m];
            out[i * ld + j] = (x->sums[i] + add) * factor->weight[x->counts[i]];
            x->sums[i] = 0.0F;
            x->counts[i] = 0;
        }
    }
    empty_index(x);
}
