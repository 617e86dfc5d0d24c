#include "baseline/grid.h"

#include "base/error.h"
#include "base/mem.h"

void karma_i_grid_clear(karma_i_grid *grid) {
    karma_i_free(grid->x);
    karma_i_free(grid->raw);
    *grid = (karma_i_grid){0};
}

size_t karma_i_grid_n_missing(const karma_i_grid *grid, size_t attribute) {
    size_t n = 0;
    for (size_t i = 0; i < grid->n_rows; i++) n += karma_i_grid_has(grid, i, attribute) ? 0 : 1;
    return n;
}

static void encode(double *features, const karma_i_recipe *r, size_t attribute, double raw) {
    size_t first = r->feature_start[attribute], end = r->feature_start[attribute + 1];
    int is_number = r->columns[attribute].kind == KARMA_COLUMN_NUMBER;
    for (size_t f = first; f < end; f++)
        features[f] = karma_i_recipe_feature(r, f, is_number ? raw : f - first == (size_t)raw ? 1.0 : 0.0);
}

static void fill_row(karma_i_grid *g, size_t row, const karma_i_matching *m, const karma_table *table) {
    karma_i_row_cells cells = karma_i_table_cells(table, row);
    double *raw = g->raw + row * g->n_attributes;
    for (size_t j = 0; j < g->n_attributes; j++) raw[j] = NAN;
    for (size_t k = 0; k < cells.count; k++) {
        size_t j = cells.attribute[k];
        ptrdiff_t at = m->attribute[j], level = m->level[j] ? m->level[j][(size_t)cells.value[k]] : 0;
        if (at == KARMA_I_UNKNOWN || level == KARMA_I_UNKNOWN) continue;
        raw[at] = m->level[j] ? (double)level : cells.value[k];
        encode(g->x + row * g->n_features, g->recipe, (size_t)at, raw[at]);
    }
}

karma_status karma_i_grid_fill(karma_i_grid *out, const karma_i_recipe *recipe, const karma_table *table,
                               karma_error *err) {
    karma_i_grid g = {.recipe = recipe,
                      .n_rows = table->n_rows,
                      .n_attributes = recipe->n_attributes,
                      .n_features = karma_i_recipe_n_features(recipe),
                      .first = recipe->feature_start};
    karma_i_matching match = {0};
    g.x = karma_i_zalloc(g.n_rows, g.n_features * sizeof *g.x);
    g.raw = karma_i_alloc(g.n_rows, g.n_attributes * sizeof *g.raw);
    karma_status st = g.x && g.raw ? karma_i_recipe_match(&match, recipe, table, err) : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < g.n_rows; i++) fill_row(&g, i, &match, table);
    karma_i_matching_clear(&match);
    if (st == KARMA_OK)
        *out = g;
    else
        karma_i_grid_clear(&g);
    return st;
}
