#include "model/masking.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/certainty_rows.h"
#include "table/builder.h"

void karma_i_copies_clear(karma_i_copies *copies) {
    karma_table_free(copies->table);
    karma_i_free(copies->source);
    karma_i_free(copies->observed);
    karma_i_free(copies->scores);
    *copies = (karma_i_copies){0};
}

/* The rows by group. */
typedef struct grouping {
    size_t n_groups, most[KARMA_I_MOST_GROUPS];
    size_t count[KARMA_I_MOST_GROUPS];
    size_t *group; /* of each row */
} grouping;

static karma_status group_rows(grouping *out, const karma_table *table, karma_error *err) {
    size_t n = table->n_rows;
    *out = (grouping){.group = karma_i_alloc(n, sizeof *out->group)};
    size_t *observed = karma_i_alloc(n, sizeof *observed), *room = karma_i_alloc(n, sizeof *room);
    karma_status st = out->group && observed && room ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        for (size_t i = 0; i < n; i++) observed[i] = karma_i_table_cells(table, i).count;
        out->n_groups = karma_i_certainty_groups(out->most, observed, n, room);
        for (size_t i = 0; i < n; i++) {
            out->group[i] = karma_i_group_of(out->most, out->n_groups, observed[i]);
            out->count[out->group[i]]++;
        }
    }
    karma_i_free(observed);
    karma_i_free(room);
    return st;
}

static int is_small(const grouping *g, size_t group) {
    return g->count[group] < KARMA_I_LEAST_GROUP_ROWS;
}

static size_t count_copies(const grouping *g) {
    size_t n = 0;
    for (size_t small = 0; small < g->n_groups; small++)
        for (size_t more = small + 1; is_small(g, small) && more < g->n_groups; more++) n += g->count[more];
    return n;
}

/* Keeps the cells of a row that the donor observes too. */
static karma_status copy_shared_cells(karma_i_builder *builder, const karma_table *table, size_t row, size_t donor,
                                      karma_error *err) {
    karma_i_row_cells own = karma_i_table_cells(table, row), mask = karma_i_table_cells(table, donor);
    size_t m = 0;
    for (size_t k = 0; k < own.count; k++) {
        while (m < mask.count && mask.attribute[m] < own.attribute[k]) m++;
        if (m < mask.count && mask.attribute[m] == own.attribute[k])
            KARMA_TRY(karma_i_builder_add_cell(builder, own.attribute[k], own.value[k], err));
    }
    return karma_i_builder_end_row_like(builder, table, row, err);
}

/* A random row of the group. */
static size_t draw_donor(const grouping *g, size_t n_rows, size_t group, karma_i_rng *rng) {
    size_t left = karma_i_rng_below(rng, g->count[group]), i = 0;
    for (; i < n_rows; i++)
        if (g->group[i] == group && left-- == 0) break;
    return i;
}

static karma_status build(karma_i_copies *out, karma_i_builder *builder, const karma_table *table, const grouping *g,
                          karma_i_rng *rng, karma_error *err) {
    size_t n = 0;
    builder->table->is_matrix = table->is_matrix;
    KARMA_TRY(karma_i_builder_copy_columns(builder, table, err));
    for (size_t group = 0; group + 1 < g->n_groups; group++)
        for (size_t i = 0; is_small(g, group) && i < table->n_rows; i++) {
            if (g->group[i] <= group) continue;
            size_t donor = draw_donor(g, table->n_rows, group, rng);
            KARMA_TRY(copy_shared_cells(builder, table, i, donor, err));
            out->source[n] = i;
            out->observed[n++] = karma_i_table_cells(table, donor).count;
        }
    karma_i_builder_finish(&out->table, builder);
    return KARMA_OK;
}

static karma_status make_copies(karma_i_copies *out, const karma_table *table, const grouping *g, size_t n_outputs,
                                uint64_t seed, karma_error *err) {
    size_t n = count_copies(g);
    karma_i_builder builder;
    karma_i_rng rng;
    if (n == 0) return KARMA_OK;
    out->source = karma_i_alloc(n, sizeof *out->source);
    out->observed = karma_i_alloc(n, sizeof *out->observed);
    out->scores = karma_i_zalloc(n, n_outputs * sizeof *out->scores);
    if (!out->source || !out->observed || !out->scores) return karma_i_fail_memory(err);
    karma_i_rng_init(&rng, seed);
    KARMA_TRY(karma_i_builder_init(&builder, err));
    karma_status st = build(out, &builder, table, g, &rng, err);
    karma_i_builder_clear(&builder);
    return st;
}

karma_status karma_i_copies_make(karma_i_copies *out, const karma_table *table, size_t n_outputs, uint64_t seed,
                                 karma_error *err) {
    grouping g;
    karma_i_copies copies = {0};
    karma_status st = group_rows(&g, table, err);
    if (st == KARMA_OK) st = make_copies(&copies, table, &g, n_outputs, seed, err);
    karma_i_free(g.group);
    if (st == KARMA_OK)
        *out = copies;
    else
        karma_i_copies_clear(&copies);
    return st;
}
