#include "prep/leaves.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "forest/forest_store.h"
#include "table/rows_dense.h"

/* A model file with more trees than this is refused. */
enum { MOST_TREES = 100000 };

/* Ranks and codes as the forest reads them. `n_levels` of a number is 0. */
static karma_status find_columns(karma_i_forest_column **out, const karma_i_rows *rows, const uint32_t *n_levels,
                                 karma_error *err) {
    const karma_i_dense *d = karma_i_dense_of(rows);
    karma_i_forest_column *columns = karma_i_zalloc(rows->n_attributes, sizeof *columns);
    if (!columns) return karma_i_fail_memory(err);
    for (size_t j = 0; j < rows->n_attributes; j++) {
        if (n_levels[j])
            columns[j] = (karma_i_forest_column){
                .codes = d->codes + d->slots[j].code, .stride = d->n_codes, .n_levels = n_levels[j]};
        else
            columns[j] = (karma_i_forest_column){.ranks = d->ranks + j, .stride = d->rank_stride};
    }
    *out = columns;
    return KARMA_OK;
}

static karma_status count_levels(uint32_t **out, const karma_i_column *columns, size_t n, karma_error *err) {
    uint32_t *n_levels = karma_i_alloc(n, sizeof *n_levels);
    if (!n_levels) return karma_i_fail_memory(err);
    for (size_t j = 0; j < n; j++)
        n_levels[j] = columns[j].kind == KARMA_COLUMN_CATEGORY ? (uint32_t)columns[j].n_levels : 0;
    *out = n_levels;
    return KARMA_OK;
}

karma_status karma_i_leaves_learn(karma_i_forest **out, const karma_i_rows *rows, const karma_i_column *columns,
                                  const karma_i_forest_labels *labels, const karma_i_forest_options *options,
                                  const karma_hooks *hooks, karma_error *err) {
    uint32_t *n_levels = NULL;
    karma_i_forest_column *seen = NULL;
    karma_status st = count_levels(&n_levels, columns, rows->n_attributes, err);
    if (st == KARMA_OK) st = find_columns(&seen, rows, n_levels, err);
    if (st == KARMA_OK)
        st = karma_i_forest_learn(out, seen, rows->n_attributes, rows->n_rows, labels, options, hooks, err);
    karma_i_free(n_levels);
    karma_i_free(seen);
    return st;
}

karma_status karma_i_leaves_new_rows(karma_i_rows **out, const karma_i_forest *forest, size_t capacity,
                                     karma_error *err) {
    size_t n = forest->n_trees, *feature_start = karma_i_zalloc(n + 1, sizeof *feature_start);
    uint8_t *traits = karma_i_alloc(n, sizeof *traits);
    karma_status st = feature_start && traits ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        memset(traits, KARMA_I_CODED, n);
        karma_i_rows_layout layout = {n, feature_start, traits, 0};
        st = karma_i_rows_new_layout(out, &layout, capacity, err);
    }
    karma_i_free(feature_start);
    karma_i_free(traits);
    return st;
}

karma_status karma_i_leaves_apply(karma_i_rows **out, const karma_i_forest *forest, const karma_i_rows *rows,
                                  int threads, karma_error *err) {
    karma_i_forest_column *columns = NULL;
    karma_i_rows *leaves = NULL;
    karma_status st = find_columns(&columns, rows, forest->levels.n_levels, err);
    if (st == KARMA_OK) st = karma_i_leaves_new_rows(&leaves, forest, rows->n_rows, err);
    if (st == KARMA_OK && rows->n_rows)
        st = karma_i_forest_apply(karma_i_rows_codes(leaves, 0), forest->n_trees, forest, columns, rows->n_rows,
                                  threads, err);
    karma_i_free(columns);
    if (st != KARMA_OK) {
        karma_i_rows_free(leaves);
        return st;
    }
    for (size_t i = 0; i < rows->n_rows; i++)
        for (size_t t = 0; t < forest->n_trees; t++) karma_i_mask_set(karma_i_rows_mask(leaves, i), t);
    leaves->n_rows = rows->n_rows;
    *out = leaves;
    return KARMA_OK;
}

int karma_i_leaves_fit(const karma_i_rows *rows, const karma_i_forest *forest) {
    for (size_t i = 0; i < rows->n_rows; i++)
        for (size_t t = 0; t < forest->n_trees; t++) {
            size_t code = karma_i_rows_codes(rows, i)[t];
            if (code > karma_i_forest_n_leaves(forest, t)) return 0;
        }
    return 1;
}

/* --- model files --------------------------------------------------------------------------------------- */

static karma_status archive_levels(karma_i_archive *a, karma_i_level_bins *levels) {
    size_t n = levels->start[levels->n_attributes];
    return karma_i_archive_u8(a, "level_bins", &levels->bin, karma_i_vector_shape(n));
}

/* Sets are four words each. */
enum { SET_WORDS = KARMA_I_MOST_BINS / 64 };

static karma_status write_sets(karma_i_archive *a, const karma_i_stored_forest *s) {
    uint64_t *words = karma_i_alloc(s->n_sets, SET_WORDS * sizeof *words);
    if (!words) return karma_i_archive_fail_memory(a);
    for (size_t i = 0; i < s->n_sets; i++) memcpy(words + i * SET_WORDS, s->sets[i].word, sizeof s->sets[i].word);
    KARMA_TRY(karma_i_archive_keep(a, words));
    return karma_i_archive_u64(a, "level_sets", &words, karma_i_matrix_shape(s->n_sets, SET_WORDS));
}

static karma_status read_sets(karma_i_archive *a, karma_i_stored_forest *s) {
    uint64_t *words = NULL;
    KARMA_TRY(karma_i_archive_length(a, "level_sets", &s->n_sets));
    KARMA_TRY(karma_i_archive_u64(a, "level_sets", &words, karma_i_matrix_shape(s->n_sets, SET_WORDS)));
    s->sets = karma_i_alloc(s->n_sets, sizeof *s->sets);
    for (size_t i = 0; s->sets && i < s->n_sets; i++)
        memcpy(s->sets[i].word, words + i * SET_WORDS, sizeof s->sets[i].word);
    karma_i_free(words);
    return s->sets ? KARMA_OK : karma_i_archive_fail_memory(a);
}

static karma_status archive_nodes(karma_i_archive *a, karma_i_stored_forest *s) {
    KARMA_TRY(karma_i_archive_size(a, "trees", &s->n_trees, 1, MOST_TREES));
    if (karma_i_archive_is_reading(a)) KARMA_TRY(karma_i_archive_length(a, "node_attribute", &s->n_nodes));
    KARMA_TRY(karma_i_archive_u32(a, "node_attribute", &s->attribute, karma_i_vector_shape(s->n_nodes)));
    KARMA_TRY(karma_i_archive_u16(a, "node_threshold", &s->threshold, karma_i_vector_shape(s->n_nodes)));
    return karma_i_archive_is_reading(a) ? read_sets(a, s) : write_sets(a, s);
}

static karma_status write_forest(karma_i_archive *a, karma_i_forest *forest) {
    karma_i_stored_forest stored;
    if (karma_i_forest_store(&stored, forest, NULL) != KARMA_OK) return karma_i_archive_fail_memory(a);
    void *const arrays[] = {stored.attribute, stored.threshold};
    KARMA_TRY(karma_i_archive_keep_all(a, arrays, sizeof arrays / sizeof arrays[0], KARMA_OK));
    KARMA_TRY(archive_levels(a, &forest->levels));
    return archive_nodes(a, &stored);
}

static karma_status read_forest(karma_i_archive *a, karma_i_forest **out, karma_i_level_bins *levels) {
    karma_i_stored_forest stored = {0};
    karma_error err = {0};
    karma_status st = archive_levels(a, levels);
    if (st == KARMA_OK) st = archive_nodes(a, &stored);
    if (st == KARMA_OK && (st = karma_i_forest_restore(out, &stored, levels, &err)) != KARMA_OK)
        st = st == KARMA_ERR_MEMORY ? karma_i_archive_fail_memory(a) : karma_i_archive_fail(a, "%s", err.message);
    karma_i_free(stored.attribute);
    karma_i_free(stored.threshold);
    karma_i_free(stored.sets);
    return st;
}

karma_status karma_i_leaves_archive(karma_i_archive *a, karma_i_forest **forest, const karma_i_column *columns,
                                    size_t n_columns) {
    if (!karma_i_archive_is_reading(a)) return write_forest(a, *forest);
    karma_i_level_bins levels = {0};
    uint32_t *n_levels = NULL;
    if (count_levels(&n_levels, columns, n_columns, NULL) != KARMA_OK) return karma_i_archive_fail_memory(a);
    karma_status st = karma_i_level_bins_new(&levels, n_levels, n_columns, NULL);
    karma_i_free(n_levels);
    if (st != KARMA_OK) return karma_i_archive_fail_memory(a);
    st = read_forest(a, forest, &levels);
    karma_i_level_bins_clear(&levels);
    return st;
}
