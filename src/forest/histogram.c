#include "forest/histogram.h"

/* One gradient and one hessian: a cell is two words, added as one. */
static inline void add_pair(uint64_t *cell, const uint64_t *words) {
    uint64_t first = cell[0] + words[0], second = cell[1] + words[1];
    cell[0] = first;
    cell[1] = second;
}

static void add_pairs(uint64_t *cells, const uint8_t *column, const uint32_t *rows, const uint64_t *words, size_t n) {
    for (size_t i = 0; i < n; i++) add_pair(cells + 2 * (size_t)column[rows[i]], words + 2 * i);
}

static void add_pairs_side_by_side(uint64_t *const *cells, const uint8_t *const *columns, const uint32_t *rows,
                                   const uint64_t *words, size_t n) {
    uint64_t *cells_0 = cells[0], *cells_1 = cells[1], *cells_2 = cells[2], *cells_3 = cells[3];
    const uint8_t *column_0 = columns[0], *column_1 = columns[1], *column_2 = columns[2], *column_3 = columns[3];
    for (size_t i = 0; i < n; i++) {
        size_t row = rows[i];
        add_pair(cells_0 + 2 * (size_t)column_0[row], words + 2 * i);
        add_pair(cells_1 + 2 * (size_t)column_1[row], words + 2 * i);
        add_pair(cells_2 + 2 * (size_t)column_2[row], words + 2 * i);
        add_pair(cells_3 + 2 * (size_t)column_3[row], words + 2 * i);
    }
}

static void add_words(uint64_t *cells, const uint8_t *column, const karma_i_node_rows *node) {
    size_t n_words = node->n_words;
    for (size_t i = 0; i < node->n; i++) {
        size_t row = node->rows[i];
        const uint64_t *words = node->words + row * n_words;
        uint64_t *restrict cell = cells + column[row] * n_words;
        for (size_t w = 0; w < n_words; w++) cell[w] += words[w];
    }
}

void karma_i_histogram_add(uint64_t *const *cells, const uint8_t *const *columns, size_t n_columns,
                           const karma_i_node_rows *node) {
    if (node->in_order && n_columns == KARMA_I_HISTOGRAM_COLUMNS) {
        add_pairs_side_by_side(cells, columns, node->rows, node->in_order, node->n);
        return;
    }
    for (size_t c = 0; c < n_columns; c++) {
        if (node->in_order)
            add_pairs(cells[c], columns[c], node->rows, node->in_order, node->n);
        else
            add_words(cells[c], columns[c], node);
    }
}
