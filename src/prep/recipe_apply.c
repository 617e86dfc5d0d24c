/* Applying a recipe: table -> encoded rows. */
#include "prep/recipe.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "prep/leaves.h"
#include "prep/precomputed.h"
#include "table/review_levels.h"

enum { UNKNOWN = KARMA_I_UNKNOWN };

typedef struct named {
    const char *name;
    size_t index;
} named;

static int by_name(const void *a, const void *b) {
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

void karma_i_matching_clear(karma_i_matching *m) {
    for (size_t j = 0; m->level && j < m->n_attributes; j++) karma_i_free(m->level[j]);
    karma_i_free(m->level);
    karma_i_free(m->attribute);
    *m = (karma_i_matching){0};
}

static karma_status match_attributes(ptrdiff_t *match, const karma_i_recipe *recipe, const karma_table *table,
                                     karma_error *err) {
    size_t n = recipe->n_attributes;
    named *index = karma_i_alloc(n, sizeof *index);
    if (!index) return karma_i_fail_memory(err);
    for (size_t j = 0; j < n; j++) index[j] = (named){recipe->columns[j].name, j};
    if (n > 1) qsort(index, n, sizeof *index, by_name);
    for (size_t j = 0; j < table->n_attributes; j++) {
        named key = {table->attributes[j].name, 0};
        const named *found = n ? bsearch(&key, index, n, sizeof *index, by_name) : NULL;
        match[j] = found ? (ptrdiff_t)found->index : UNKNOWN;
    }
    karma_i_free(index);
    return KARMA_OK;
}

static karma_status match_levels(ptrdiff_t **out, const karma_i_column *known, const karma_i_column *column,
                                 karma_error *err) {
    ptrdiff_t *match = karma_i_alloc(column->n_levels, sizeof *match);
    if (!match) return karma_i_fail_memory(err);
    for (size_t l = 0; l < column->n_levels; l++) {
        size_t level = karma_i_column_find_level(known, column->levels[l], strlen(column->levels[l]));
        match[l] = level < known->n_levels ? (ptrdiff_t)level : UNKNOWN;
    }
    *out = match;
    return KARMA_OK;
}

static karma_status match_column(ptrdiff_t **levels, const karma_i_column *known, const karma_i_column *column,
                                 karma_error *err) {
    int is_category = column->kind == KARMA_COLUMN_CATEGORY;
    if (known->kind != column->kind)
        return karma_i_fail(err, KARMA_ERR_DATA, "column '%s' holds %s, but the model learned it as %s", known->name,
                            is_category ? "categories" : "numbers", is_category ? "numbers" : "categories");
    return is_category ? match_levels(levels, known, column, err) : KARMA_OK;
}

karma_status karma_i_recipe_match(karma_i_matching *out, const karma_i_recipe *recipe, const karma_table *table,
                                  karma_error *err) {
    size_t n = table->n_attributes;
    karma_i_matching m = {n, karma_i_alloc(n, sizeof *m.attribute), karma_i_zalloc(n, sizeof *m.level)};
    karma_status st =
        m.attribute && m.level ? match_attributes(m.attribute, recipe, table, err) : karma_i_fail_memory(err);
    for (size_t j = 0; st == KARMA_OK && j < n; j++)
        if (m.attribute[j] != UNKNOWN)
            st = match_column(&m.level[j], &recipe->columns[m.attribute[j]], &table->attributes[j], err);
    if (st == KARMA_OK)
        *out = m;
    else
        karma_i_matching_clear(&m);
    return st;
}

/* Whether two names have the same letters and digits, in upper or lower case: "Sys BP", "sys_bp". */
static int are_spellings(const char *a, const char *b) {
    for (;;) {
        while (*a && !isalnum((unsigned char)*a) && (unsigned char)*a < 0x80) a++;
        while (*b && !isalnum((unsigned char)*b) && (unsigned char)*b < 0x80) b++;
        if (*a == '\0' || tolower((unsigned char)*a) != tolower((unsigned char)*b)) return *a == *b;
        a++, b++;
    }
}

enum { MOST_COMPARED_NAMES = 1000 };

/* A column that is missing only because its name is written in another way. */
static void notice_spelling(const char *const *unknown, size_t n_unknown, const char *const *absent, size_t n_absent,
                            const karma_hooks *hooks) {
    if (n_unknown > MOST_COMPARED_NAMES || n_absent > MOST_COMPARED_NAMES) return;
    for (size_t i = 0; i < n_unknown; i++)
        for (size_t j = 0; j < n_absent; j++) {
            if (!are_spellings(unknown[i], absent[j])) continue;
            karma_i_notice(hooks,
                           "'%.60s' may be the model's '%.60s', but columns are found by the exact name: rename it",
                           unknown[i], absent[j]);
            return;
        }
}

enum { MOST_COMPARED_LEVELS = 500, MOST_SPELT_COLUMNS = 3 };

/* The first unseen level of a column that differs from a known one only in upper and lower case. */
static int find_spelling(const char **unseen, const char **meant, const ptrdiff_t *match, const karma_i_column *known,
                         const karma_i_column *column) {
    if (known->n_levels > MOST_COMPARED_LEVELS || column->n_levels > MOST_COMPARED_LEVELS) return 0;
    for (size_t l = 0; l < column->n_levels; l++)
        for (size_t k = 0; match[l] == UNKNOWN && k < known->n_levels; k++)
            if (karma_i_levels_are_alike(column->levels[l], known->levels[k])) {
                *unseen = column->levels[l], *meant = known->levels[k];
                return 1;
            }
    return 0;
}

static void notice_level_spelling(const karma_i_matching *m, const karma_i_recipe *recipe, const karma_table *table,
                                  const karma_hooks *hooks) {
    size_t n_told = 0;
    for (size_t j = 0; j < m->n_attributes && n_told < MOST_SPELT_COLUMNS; j++) {
        const char *unseen, *meant;
        if (m->attribute[j] == UNKNOWN || !m->level[j]) continue;
        const karma_i_column *known = &recipe->columns[m->attribute[j]];
        if (!find_spelling(&unseen, &meant, m->level[j], known, &table->attributes[j])) continue;
        n_told++;
        karma_i_notice(
            hooks,
            "column '%.60s': '%.40s' may be the model's '%.40s', but counts as unseen: categories are found by "
            "their exact text",
            known->name, unseen, meant);
    }
}

static karma_status report_differences(const ptrdiff_t *match, const karma_i_recipe *recipe, const karma_table *table,
                                       const karma_hooks *hooks, karma_error *err) {
    size_t n = recipe->n_attributes, n_found = 0, n_unknown = 0, n_absent = 0;
    const char **unknown = karma_i_zalloc(table->n_attributes, sizeof *unknown);
    const char **absent = karma_i_zalloc(n, sizeof *absent);
    unsigned char *found = karma_i_zalloc(n, 1);
    karma_status st = unknown && absent && found ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        for (size_t j = 0; j < table->n_attributes; j++) {
            if (match[j] == UNKNOWN)
                unknown[n_unknown++] = table->attributes[j].name;
            else
                n_found += !found[match[j]], found[match[j]] = 1;
        }
        for (size_t j = 0; j < n; j++)
            if (!found[j]) absent[n_absent++] = recipe->columns[j].name;
        char names[300];
        if (n_found == 0) {
            karma_i_list_names(names, sizeof names, absent, n_absent);
            st = karma_i_fail(err, KARMA_ERR_DATA, "the data have none of the model's columns (%s)", names);
        } else {
            karma_i_list_names(names, sizeof names, unknown, n_unknown);
            if (n_unknown) karma_i_notice(hooks, "columns that the model does not know are ignored: %s", names);
            karma_i_list_names(names, sizeof names, absent, n_absent);
            if (n_absent) karma_i_notice(hooks, "columns of the model that the data lack count as missing: %s", names);
            notice_spelling(unknown, n_unknown, absent, n_absent, hooks);
        }
    }
    karma_i_free(unknown);
    karma_i_free(absent);
    karma_i_free(found);
    return st;
}

static float encode(const karma_i_recipe *r, size_t feature, double raw) {
    double value = karma_i_recipe_feature(r, feature, raw);
    if (!(value <= KARMA_I_LARGEST_VALUE)) value = KARMA_I_LARGEST_VALUE;
    if (!(value >= -KARMA_I_LARGEST_VALUE)) value = -KARMA_I_LARGEST_VALUE;
    return (float)value;
}

/* The q of a byte or code, if the attribute has terms. */
static void encode_term(karma_i_rows *rows, size_t row, const karma_i_recipe *r, size_t attribute, size_t code) {
    if (karma_i_recipe_has_terms(r, attribute))
        karma_i_rows_set_term(rows, row, attribute, r->term[r->term_start[attribute] + code - 1]);
}

static void encode_level(karma_i_rows *rows, size_t row, const karma_i_recipe *r, size_t attribute, size_t level) {
    if (karma_i_recipe_is_coded(r, attribute)) {
        *karma_i_rows_code(rows, row, attribute) = (uint16_t)(level + 1);
        encode_term(rows, row, r, attribute, level + 1);
        return;
    }
    size_t first = r->feature_start[attribute], end = r->feature_start[attribute + 1];
    float *values = karma_i_rows_values(rows, row);
    for (size_t f = first; f < end; f++) values[f] = encode(r, f, f - first == level ? 1.0 : 0.0);
}

/* Writes one cell. A level that the recipe does not know stays missing. */
static void encode_cell(karma_i_rows *rows, size_t row, const karma_i_recipe *r, size_t attribute,
                        const ptrdiff_t *levels, double raw) {
    if (r->rankings[attribute].n) {
        uint8_t rank = karma_i_ranking_of(&r->rankings[attribute], raw);
        karma_i_rows_ranks(rows, row)[attribute] = rank;
        encode_term(rows, row, r, attribute, rank);
    } else if (r->columns[attribute].kind == KARMA_COLUMN_NUMBER) {
        float *values = karma_i_rows_values(rows, row);
        raw = karma_i_recipe_raw(r, attribute, raw);
        for (size_t f = r->feature_start[attribute]; f < r->feature_start[attribute + 1]; f++) {
            values[f] = encode(r, f, raw);
            if (r->is_polar) values[f] = fminf(fmaxf(values[f], 0.0F), 1.0F);
        }
    } else {
        ptrdiff_t level = levels[(size_t)raw];
        if (level == UNKNOWN) return;
        encode_level(rows, row, r, attribute, (size_t)level);
    }
    karma_i_mask_set(karma_i_rows_mask(rows, row), attribute);
}

/* Into the unit ball: the largest training row gets norm 1, and no later row more. Returns the divisor. */
static double shrink_row(float *values, size_t n, double radius) {
    double sum = 0.0;
    for (size_t f = 0; f < n; f++) sum += (double)values[f] * (double)values[f];
    double norm = sqrt(sum), divisor = norm > radius ? norm : radius;
    for (size_t f = 0; f < n; f++) values[f] = (float)((double)values[f] / divisor);
    return divisor;
}

/* Sparse rows have numbers only, one feature each. The table's attributes may come in another order. */
static int by_attribute(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static karma_status encode_sparse_row(karma_i_rows *rows, double *divisor, const karma_i_recipe *recipe,
                                      karma_i_row_cells cells, const ptrdiff_t *match, uint32_t *order, float *dense,
                                      karma_error *err) {
    size_t n = 0;
    int ascending = 1;
    for (size_t k = 0; k < cells.count; k++) {
        ptrdiff_t attribute = match[cells.attribute[k]];
        if (attribute == UNKNOWN) continue;
        ascending &= n == 0 || order[n - 1] < (uint32_t)attribute;
        order[n++] = (uint32_t)attribute;
        double raw = karma_i_recipe_raw(recipe, (size_t)attribute, cells.value[k]);
        dense[attribute] = encode(recipe, (size_t)attribute, raw);
    }
    if (!ascending) qsort(order, n, sizeof *order, by_attribute);
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) sum += (double)dense[order[k]] * (double)dense[order[k]];
    *divisor = recipe->radius > 0.0 ? fmax(sqrt(sum), recipe->radius) : 1.0;
    for (size_t k = 0; k < n; k++)
        KARMA_TRY(karma_i_rows_add_cell(rows, order[k], (float)((double)dense[order[k]] / *divisor), err));
    return karma_i_rows_end_sparse(rows, err);
}

static karma_status encode_sparse_rows(karma_i_rows *rows, double *divisors, const karma_i_recipe *recipe,
                                       const karma_table *table, const ptrdiff_t *match, karma_error *err) {
    uint32_t *order = karma_i_alloc(recipe->n_attributes, sizeof *order);
    float *dense = karma_i_alloc(recipe->n_attributes, sizeof *dense);
    karma_status st = order && dense ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++) {
        double divisor;
        st = encode_sparse_row(rows, &divisor, recipe, karma_i_table_cells(table, i), match, order, dense, err);
        if (divisors) divisors[i] = divisor;
    }
    karma_i_free(order);
    karma_i_free(dense);
    return st;
}

static void encode_rows(karma_i_rows *rows, double *divisors, const karma_i_recipe *recipe, const karma_table *table,
                        const karma_i_matching *match) {
    for (size_t i = 0; i < table->n_rows; i++) {
        karma_i_row_cells cells = karma_i_table_cells(table, i);
        for (size_t k = 0; k < cells.count; k++) {
            size_t column = cells.attribute[k];
            ptrdiff_t attribute = match->attribute[column];
            if (attribute != UNKNOWN)
                encode_cell(rows, i, recipe, (size_t)attribute, match->level[column], cells.value[k]);
        }
        double divisor = 1.0;
        if (recipe->radius > 0.0) divisor = shrink_row(karma_i_rows_values(rows, i), rows->n_features, recipe->radius);
        if (divisors) divisors[i] = divisor;
    }
    rows->n_rows = table->n_rows;
}

/* Room for encoded rows, before they are placed in a subspace. */
static karma_status new_encoded(karma_i_rows **out, const karma_i_recipe *recipe, size_t capacity, karma_error *err) {
    if (recipe->n_matrix_columns) return karma_i_rows_new_matrix(out, NULL, recipe->n_matrix_columns, capacity, err);
    size_t n = recipe->n_attributes;
    if (recipe->is_sparse) return karma_i_rows_new_sparse(out, n, capacity, err);
    uint8_t *traits = karma_i_zalloc(n, sizeof *traits);
    if (!traits) return karma_i_fail_memory(err);
    karma_i_rows_layout layout = {n, recipe->feature_start, traits, 0};
    for (size_t j = 0; j < n; j++) {
        int ranked = recipe->rankings[j].n > 0, has_terms = karma_i_recipe_has_terms(recipe, j);
        int coded = karma_i_recipe_is_coded(recipe, j);
        traits[j] =
            (uint8_t)((ranked ? KARMA_I_RANKED : 0) | (coded ? KARMA_I_CODED : 0) | (has_terms ? KARMA_I_HAS_TERM : 0));
        layout.centred_ranks |= ranked && has_terms;
    }
    karma_status st = karma_i_rows_new_layout(out, &layout, capacity, err);
    karma_i_free(traits);
    return st;
}

karma_status karma_i_recipe_new_rows(karma_i_rows **out, const karma_i_recipe *recipe, size_t capacity,
                                     karma_error *err) {
    if (recipe->latent) return karma_i_latent_new_rows(out, recipe->latent, capacity, err);
    if (recipe->forest) return karma_i_leaves_new_rows(out, recipe->forest, capacity, err);
    return new_encoded(out, recipe, capacity, err);
}

karma_status karma_i_recipe_encode(karma_i_rows **out, double *divisors, const karma_i_recipe *recipe,
                                   const karma_table *table, const karma_hooks *hooks, karma_error *err) {
    karma_i_matching match;
    karma_i_rows *rows = NULL;
    KARMA_TRY(karma_i_recipe_match(&match, recipe, table, err));
    karma_status st = report_differences(match.attribute, recipe, table, hooks, err);
    if (st == KARMA_OK) notice_level_spelling(&match, recipe, table, hooks);
    if (st == KARMA_OK) st = new_encoded(&rows, recipe, table->n_rows, err);
    if (st == KARMA_OK && recipe->is_sparse)
        st = encode_sparse_rows(rows, divisors, recipe, table, match.attribute, err);
    else if (st == KARMA_OK)
        encode_rows(rows, divisors, recipe, table, &match);
    if (st == KARMA_OK)
        *out = rows;
    else
        karma_i_rows_free(rows);
    karma_i_matching_clear(&match);
    return st;
}

karma_status karma_i_recipe_place(karma_i_rows **out, const karma_i_recipe *recipe, const karma_i_rows *rows,
                                  int threads, karma_error *err) {
    return recipe->latent ? karma_i_latent_apply(out, recipe->latent, rows, threads, err)
                          : karma_i_leaves_apply(out, recipe->forest, rows, threads, err);
}

karma_status karma_i_recipe_apply(karma_i_rows **out, const karma_i_recipe *recipe, const karma_table *table,
                                  const karma_hooks *hooks, karma_error *err) {
    if (recipe->n_matrix_columns) return karma_i_precomputed_apply(out, recipe, table, err);
    if (!karma_i_recipe_is_placed(recipe)) return karma_i_recipe_encode(out, NULL, recipe, table, hooks, err);
    karma_i_rows *rows = NULL;
    KARMA_TRY(karma_i_recipe_encode(&rows, NULL, recipe, table, hooks, err));
    karma_status st = karma_i_recipe_place(out, recipe, rows, 1, err);
    karma_i_rows_free(rows);
    return st;
}

karma_i_norms karma_i_rows_norms(const karma_i_rows *rows) {
    karma_i_norms norms = {0.0, 0};
    for (size_t i = 0; i < rows->n_rows; i++) {
        double norm = sqrt(fmax(karma_i_rows_square(rows, i), 0.0)); /* of terms, rounding may leave less than 0 */
        if (norm > norms.largest) norms.largest = norm;
        if (norm > 1.0 + 1e-6) norms.n_above_one++; /* single precision */
    }
    return norms;
}
