#include "baseline/imputer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/builder.h"

#define RECORD(name) &karma_i_imputer_##name,
static const karma_i_imputer_kind *const kinds[] = {KARMA_I_IMPUTER_LIST(RECORD)};
#undef RECORD

size_t karma_i_imputer_n_kinds(void) {
    return sizeof kinds / sizeof kinds[0];
}

const karma_i_imputer_kind *karma_i_imputer_kind_at(size_t index) {
    return kinds[index];
}

const karma_i_imputer_kind *karma_i_imputer_find(const char *name) {
    for (size_t k = 0; k < karma_i_imputer_n_kinds(); k++)
        if (strcmp(kinds[k]->name, name) == 0) return kinds[k];
    return NULL;
}

void karma_i_impute_options_init(karma_i_impute_options *options) {
    *options =
        (karma_i_impute_options){.neighbours = 5, .rounds = 10, .ridge = 1.0, .threshold = -1.0, .tolerance = 1e-4};
}

/* Nothing to learn or to compute: missing cells stay at 0, which is the mean, and the largest of a category's shares
 * is that of its most common level. */
const karma_i_imputer_kind karma_i_imputer_mean = {
    "mean", "a missing value is the column's mean or its most common level", 0, NULL, NULL, NULL};
const karma_i_imputer_kind karma_i_imputer_mean_indicator = {
    "mean-indicator",
    "mean, and an indicator column for each column with missing values in training",
    1,
    NULL,
    NULL,
    NULL};

karma_status karma_i_impute_progress(const karma_hooks *hooks, size_t done, size_t total, karma_error *err) {
    if (karma_i_progress(hooks, "imputing", done, total))
        return karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted while missing values were imputed");
    return KARMA_OK;
}

void karma_i_imputer_free(karma_i_imputer *imputer) {
    if (!imputer) return;
    if (imputer->state) imputer->kind->forget(imputer->state);
    karma_i_grid_clear(&imputer->train);
    karma_i_recipe_free(imputer->recipe);
    karma_i_free(imputer->n_missing);
    karma_i_free(imputer);
}

static karma_status count_missing(karma_i_imputer *imputer, karma_error *err) {
    imputer->n_missing = karma_i_alloc(imputer->train.n_attributes, sizeof *imputer->n_missing);
    if (!imputer->n_missing) return karma_i_fail_memory(err);
    for (size_t j = 0; j < imputer->train.n_attributes; j++)
        imputer->n_missing[j] = karma_i_grid_n_missing(&imputer->train, j);
    return KARMA_OK;
}

karma_status karma_i_imputer_learn(karma_i_imputer **out, const karma_i_imputer_kind *kind, const karma_table *train,
                                   const karma_i_impute_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_imputer *imputer = karma_i_zalloc(1, sizeof *imputer);
    if (!imputer) return karma_i_fail_memory(err);
    imputer->kind = kind;
    imputer->options = *options;
    karma_status st = karma_i_recipe_learn_indicators(&imputer->recipe, train, err);
    if (st == KARMA_OK) st = karma_i_grid_fill(&imputer->train, imputer->recipe, train, err);
    if (st == KARMA_OK) st = count_missing(imputer, err);
    if (st == KARMA_OK && kind->learn) st = kind->learn(&imputer->state, imputer, hooks, err);
    if (st == KARMA_OK)
        *out = imputer;
    else
        karma_i_imputer_free(imputer);
    return st;
}

karma_status karma_i_imputer_fill(double *features, const karma_i_imputer *imputer, const karma_i_grid *rows,
                                  const karma_hooks *hooks, karma_error *err) {
    memcpy(features, rows->x, rows->n_rows * imputer->train.n_features * sizeof *features);
    return imputer->kind->fill ? imputer->kind->fill(features, imputer, rows, hooks, err) : KARMA_OK;
}

/* --- tables -------------------------------------------------------------------------------------------- */

static int has_indicator(const karma_i_imputer *imputer, size_t attribute) {
    return imputer->kind->adds_indicators && imputer->n_missing[attribute] > 0;
}

static int is_taken(const karma_table *table, const char *name) {
    for (size_t j = 0; j < table->n_attributes; j++)
        if (strcmp(table->attributes[j].name, name) == 0) return 1;
    return 0;
}

/* "AGE is missing", followed by as many points as are needed to make the name unique. */
static karma_status add_indicator(karma_i_builder *b, const char *of, karma_error *err) {
    size_t size = strlen(of) + b->table->n_attributes + sizeof " is missing";
    char *name = karma_i_alloc(size, 1);
    if (!name) return karma_i_fail_memory(err);
    (void)snprintf(name, size, "%s is missing", of);
    while (is_taken(b->table, name)) memcpy(name + strlen(name), ".", 2);
    karma_status st = karma_i_builder_add_attribute(b, name, KARMA_COLUMN_NUMBER, NULL, 0, err);
    karma_i_free(name);
    return st;
}

static karma_status add_columns(karma_i_builder *b, const karma_i_imputer *imputer, const karma_table *table,
                                karma_error *err) {
    const karma_i_recipe *r = imputer->recipe;
    for (size_t j = 0; j < r->n_attributes; j++) {
        karma_i_column copy;
        KARMA_TRY(karma_i_column_copy(&copy, &r->columns[j], err));
        karma_status st = karma_i_builder_add_attribute(b, copy.name, copy.kind, copy.levels, copy.n_levels, err);
        karma_i_free(copy.name);
        if (st != KARMA_OK) return st;
    }
    for (size_t j = 0; j < r->n_attributes; j++)
        if (has_indicator(imputer, j)) KARMA_TRY(add_indicator(b, r->columns[j].name, err));
    return karma_i_builder_copy_roles(b, table, 1, err);
}

static karma_status add_row(karma_i_builder *b, const karma_i_imputer *imputer, const karma_i_grid *rows, size_t row,
                            const double *features, karma_error *err) {
    const karma_i_recipe *r = imputer->recipe;
    size_t indicator = r->n_attributes;
    for (size_t j = 0; j < rows->n_attributes; j++) {
        double raw = rows->raw[row * rows->n_attributes + j];
        KARMA_TRY(karma_i_builder_add_cell(
            b, j, isnan(raw) ? karma_i_recipe_decode(r, j, features, NULL, 1.0).value : raw, err));
    }
    for (size_t j = 0; j < rows->n_attributes; j++)
        if (has_indicator(imputer, j))
            KARMA_TRY(karma_i_builder_add_cell(b, indicator++, karma_i_grid_has(rows, row, j) ? 0.0 : 1.0, err));
    return KARMA_OK;
}

static karma_status write_table(karma_i_builder *b, const karma_i_imputer *imputer, const karma_i_grid *rows,
                                const double *features, const karma_table *table, karma_error *err) {
    KARMA_TRY(add_columns(b, imputer, table, err));
    for (size_t i = 0; i < rows->n_rows; i++) {
        KARMA_TRY(add_row(b, imputer, rows, i, features + i * imputer->train.n_features, err));
        KARMA_TRY(karma_i_builder_end_row_like(b, table, i, err));
    }
    return KARMA_OK;
}

karma_status karma_i_imputer_apply(karma_table **out, const karma_i_imputer *imputer, const karma_table *table,
                                   const karma_hooks *hooks, karma_error *err) {
    karma_i_grid rows = {0};
    karma_i_builder builder = {0};
    KARMA_TRY(karma_i_grid_fill(&rows, imputer->recipe, table, err));
    double *features = karma_i_alloc(rows.n_rows, imputer->train.n_features * sizeof *features);
    karma_status st = features ? karma_i_imputer_fill(features, imputer, &rows, hooks, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_builder_init(&builder, err);
    if (st == KARMA_OK) st = write_table(&builder, imputer, &rows, features, table, err);
    if (st == KARMA_OK) karma_i_builder_finish(out, &builder);
    karma_i_builder_clear(&builder);
    karma_i_grid_clear(&rows);
    karma_i_free(features);
    return st;
}
