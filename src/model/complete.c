/* Model + table -> the table without missing cells. Rows are encoded as for the kernel, completed,
 *
 *     x̂ = mean + W ẑ,
 *
 * and decoded by the recipe. */
#include "karma/subspace.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/model.h"
#include "solve/solver.h"
#include "table/order.h"
#include "table/builder.h"

enum { MOST_ROWS = 1024 };

void karma_completion_clear(karma_completion *completion) {
    if (!completion) return;
    karma_table_free(completion->table);
    karma_table_free(completion->errors);
    *completion = (karma_completion){0};
}

/* --- columns ------------------------------------------------------------------------------------------- */

/* A column of the completed table. A category has the levels of both the model and the table. */
typedef struct column_plan {
    const karma_i_column *known, *own; /* the model's; the table's, or NULL */
    karma_i_column out;
    int is_ordered; /* numbers are places in the order of known->levels, written as levels */
} column_plan;

typedef struct plan {
    const karma_i_recipe *recipe;
    const karma_table *table;
    karma_i_matching match;
    column_plan *columns;
} plan;

static void clear_plan(plan *p) {
    for (size_t j = 0; p->columns && j < p->recipe->n_attributes; j++) karma_i_column_clear(&p->columns[j].out);
    karma_i_free(p->columns);
    karma_i_matching_clear(&p->match);
}

static size_t level_index(const karma_i_column *column, const char *level) {
    return karma_i_column_find_level(column, level, strlen(level));
}

/* Adds the levels of `from` that `out` lacks and keeps `out` sorted. `out` has room. */
static karma_status add_levels(karma_i_column *out, const karma_i_column *from, karma_error *err) {
    size_t n_before = out->n_levels;
    karma_i_column before = *out; /* the part that is in order */
    for (size_t l = 0; l < from->n_levels; l++) {
        if (level_index(&before, from->levels[l]) < n_before) continue;
        out->levels[out->n_levels] = karma_i_strdup(from->levels[l]);
        if (!out->levels[out->n_levels]) return karma_i_fail_memory(err);
        out->n_levels++;
    }
    karma_i_sort_texts(out->levels, out->n_levels);
    return KARMA_OK;
}

static karma_status plan_column(column_plan *c, karma_error *err) {
    int has_words = !c->own || karma_i_column_is_ordered(c->own);
    c->is_ordered = karma_i_column_is_ordered(c->known) && has_words;
    int is_category = c->known->kind == KARMA_COLUMN_CATEGORY || c->is_ordered;
    c->out.kind = is_category ? KARMA_COLUMN_CATEGORY : KARMA_COLUMN_NUMBER;
    if (!(c->out.name = karma_i_strdup(c->known->name))) return karma_i_fail_memory(err);
    if (!is_category) return KARMA_OK;
    size_t most = c->known->n_levels + (c->own ? c->own->n_levels : 0);
    if (!(c->out.levels = karma_i_zalloc(most, sizeof *c->out.levels))) return karma_i_fail_memory(err);
    KARMA_TRY(add_levels(&c->out, c->known, err));
    return c->own && !c->is_ordered ? add_levels(&c->out, c->own, err) : KARMA_OK;
}

/* Clear it even if this fails. */
static karma_status make_plan(plan *p, const karma_i_recipe *recipe, const karma_table *table, karma_error *err) {
    *p = (plan){.recipe = recipe, .table = table};
    p->columns = karma_i_zalloc(recipe->n_attributes, sizeof *p->columns);
    if (!p->columns) return karma_i_fail_memory(err);
    KARMA_TRY(karma_i_recipe_match(&p->match, recipe, table, err));
    for (size_t j = 0; j < recipe->n_attributes; j++) p->columns[j].known = &recipe->columns[j];
    for (size_t j = 0; j < table->n_attributes; j++)
        if (p->match.attribute[j] != KARMA_I_UNKNOWN) p->columns[p->match.attribute[j]].own = &table->attributes[j];
    for (size_t j = 0; j < recipe->n_attributes; j++) KARMA_TRY(plan_column(&p->columns[j], err));
    return KARMA_OK;
}

/* --- cells --------------------------------------------------------------------------------------------- */

/* The data of one row. */
typedef struct row_view {
    const double *observed;           /* by attribute of the model: as in the table; NaN: missing */
    const double *x, *standard_error; /* by feature; errors may be NULL */
    double divisor;
} row_view;

static double place_in_order(const column_plan *c, double place) {
    double last = (double)c->known->n_levels;
    size_t level = (size_t)fmin(fmax(floor(place + 0.5), 1.0), last) - 1;
    return (double)level_index(&c->out, c->known->levels[level]);
}

static karma_i_decoded observed_cell(const column_plan *c, double value) {
    if (c->is_ordered)
        value = place_in_order(c, value);
    else if (c->out.kind == KARMA_COLUMN_CATEGORY)
        value = (double)level_index(&c->out, c->own->levels[(size_t)value]);
    return (karma_i_decoded){value, 0.0};
}

/* The decoded cell in the column's own levels. */
static karma_i_decoded completed_cell(const plan *p, size_t attribute, const row_view *row) {
    const column_plan *c = &p->columns[attribute];
    karma_i_decoded cell = karma_i_recipe_decode(p->recipe, attribute, row->x, row->standard_error, row->divisor);
    if (c->known->kind == KARMA_COLUMN_CATEGORY)
        cell.value = (double)level_index(&c->out, c->known->levels[(size_t)cell.value]);
    else if (c->is_ordered && isfinite(cell.value))
        cell.value = place_in_order(c, cell.value);
    return cell;
}

static karma_i_decoded cell_of(const plan *p, size_t attribute, const row_view *row) {
    double observed = row->observed[attribute];
    return isnan(observed) ? completed_cell(p, attribute, row) : observed_cell(&p->columns[attribute], observed);
}

/* --- rows ---------------------------------------------------------------------------------------------- */

typedef struct work {
    plan plan;
    karma_i_rows *rows;         /* encoded */
    double *divisors;           /* by row */
    int with_errors;            /* a table of errors is wanted */
    double *x, *standard_error; /* of MOST_ROWS rows; errors may be NULL */
    double *observed;           /* of one row */
    unsigned char *seen;        /* by group of attributes: does the row observe one of them? */
    double *own_x, *own_error;  /* like x and standard_error, for one group of attributes */
    karma_i_builder table, errors;
    size_t n_completed, n_undetermined;
} work;

static void clear_work(work *w) {
    clear_plan(&w->plan);
    karma_i_rows_free(w->rows);
    karma_i_free(w->divisors);
    karma_i_free(w->x);
    karma_i_free(w->standard_error);
    karma_i_free(w->observed);
    karma_i_free(w->seen);
    karma_i_free(w->own_x);
    karma_i_free(w->own_error);
    karma_i_builder_clear(&w->table);
    karma_i_builder_clear(&w->errors);
}

/* The columns are handed over. */
static karma_status add_columns(work *w, int with_errors, karma_error *err) {
    const karma_i_recipe *recipe = w->plan.recipe;
    KARMA_TRY(karma_i_builder_init(&w->table, err));
    KARMA_TRY(karma_i_builder_init(&w->errors, err));
    for (size_t j = 0; j < recipe->n_attributes; j++) {
        karma_i_column copy;
        KARMA_TRY(karma_i_column_copy(&copy, &w->plan.columns[j].out, err));
        karma_status st =
            karma_i_builder_add_attribute(&w->table, copy.name, copy.kind, copy.levels, copy.n_levels, err);
        karma_i_free(copy.name);
        if (st == KARMA_OK && with_errors)
            st = karma_i_builder_add_attribute(&w->errors, recipe->columns[j].name, KARMA_COLUMN_NUMBER, NULL, 0, err);
        if (st != KARMA_OK) return st;
    }
    KARMA_TRY(karma_i_builder_copy_roles(&w->table, w->plan.table, 1, err));
    return karma_i_builder_copy_roles(&w->errors, w->plan.table, 0, err);
}

static const karma_i_linkage *linkage_of(const work *w) {
    return &w->plan.recipe->latent->linkage;
}

static karma_status make_group_room(work *w, size_t n_values, karma_error *err) {
    if (!linkage_of(w)->group) return KARMA_OK;
    w->seen = karma_i_alloc(linkage_of(w)->n_groups, 1);
    w->own_x = karma_i_alloc(n_values, sizeof *w->own_x);
    w->own_error = w->standard_error ? karma_i_alloc(n_values, sizeof *w->own_error) : NULL;
    int ok = w->seen && w->own_x && (w->own_error || !w->standard_error);
    return ok ? KARMA_OK : karma_i_fail_memory(err);
}

/* Clear it even if this fails. */
static karma_status init_work(work *w, const karma_i_recipe *recipe, const karma_table *table, int with_errors,
                              const karma_hooks *hooks, karma_error *err) {
    size_t d = karma_i_recipe_n_features(recipe);
    size_t most = table->n_rows < MOST_ROWS ? table->n_rows : MOST_ROWS;
    int needs_errors = with_errors || recipe->scores; /* the mean of a number depends on how certain its score is */
    *w = (work){.with_errors = with_errors,
                .divisors = karma_i_alloc(table->n_rows, sizeof *w->divisors),
                .x = karma_i_alloc(most, d * sizeof *w->x),
                .standard_error = needs_errors ? karma_i_alloc(most, d * sizeof *w->standard_error) : NULL,
                .observed = karma_i_alloc(recipe->n_attributes, sizeof *w->observed)};
    w->plan.recipe = recipe;
    KARMA_TRY(make_group_room(w, most * d, err));
    if (!w->divisors || !w->x || (needs_errors && !w->standard_error) || !w->observed) return karma_i_fail_memory(err);
    KARMA_TRY(karma_i_recipe_encode(&w->rows, w->divisors, recipe, table, hooks, err));
    KARMA_TRY(make_plan(&w->plan, recipe, table, err));
    return add_columns(w, with_errors, err);
}

static void list_observed(const work *w, size_t row) {
    const plan *p = &w->plan;
    karma_i_row_cells cells = karma_i_table_cells(p->table, row);
    for (size_t j = 0; j < p->recipe->n_attributes; j++) w->observed[j] = NAN;
    for (size_t k = 0; k < cells.count; k++) {
        ptrdiff_t attribute = p->match.attribute[cells.attribute[k]];
        if (attribute != KARMA_I_UNKNOWN) w->observed[attribute] = cells.value[k];
    }
}

/* Missing cells of the row whose group has no observed cell in it. */
static size_t count_undetermined(const work *w) {
    const karma_i_linkage *linkage = linkage_of(w);
    size_t n = 0;
    if (!linkage->group) return 0;
    memset(w->seen, 0, linkage->n_groups);
    for (size_t j = 0; j < linkage->n_attributes; j++)
        if (!isnan(w->observed[j])) w->seen[linkage->group[j]] = 1;
    for (size_t j = 0; j < linkage->n_attributes; j++) n += isnan(w->observed[j]) && !w->seen[linkage->group[j]];
    return n;
}

/* Writes row `row` of the table, number `place` among the computed completions. */
static karma_status write_row(work *w, size_t row, size_t place, karma_error *err) {
    const plan *p = &w->plan;
    size_t n = p->recipe->n_attributes, first = place * p->recipe->feature_start[n];
    row_view view = {w->observed, w->x + first, w->standard_error ? w->standard_error + first : NULL, w->divisors[row]};
    list_observed(w, row);
    w->n_undetermined += count_undetermined(w);
    for (size_t j = 0; j < n; j++) {
        karma_i_decoded c = cell_of(p, j, &view);
        if (!isfinite(c.value) || !isfinite(c.error))
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu, column '%s': the completion is too large a number",
                                row + 1, p->recipe->columns[j].name);
        KARMA_TRY(karma_i_builder_add_cell(&w->table, j, c.value, err));
        if (w->with_errors) KARMA_TRY(karma_i_builder_add_cell(&w->errors, j, c.error, err));
        w->n_completed += isnan(w->observed[j]) ? 1 : 0;
    }
    KARMA_TRY(karma_i_builder_end_row_like(&w->table, p->table, row, err));
    return w->with_errors ? karma_i_builder_end_row_like(&w->errors, p->table, row, err) : KARMA_OK;
}

/* Completes the attributes of one group by the observed cells of that group alone. */
static karma_status complete_group(work *w, karma_i_view batch, size_t group, unsigned char *wanted, int threads,
                                   karma_error *err) {
    const karma_i_recipe *recipe = w->plan.recipe;
    size_t n = recipe->n_attributes, d = recipe->feature_start[n];
    karma_i_rows *rows = NULL;
    for (size_t j = 0; j < n; j++) wanted[j] = linkage_of(w)->group[j] == group;
    KARMA_TRY(karma_i_rows_new_like(&rows, w->rows, batch.count, err));
    karma_status st = KARMA_OK;
    for (size_t i = 0; st == KARMA_OK && i < batch.count; i++)
        st = karma_i_rows_append_some(rows, w->rows, batch.first + i, wanted, err);
    if (st == KARMA_OK)
        st = karma_i_complete(w->own_x, w->own_error, recipe->latent->subspace, karma_i_rows_all(rows), threads, err);
    for (size_t j = 0; st == KARMA_OK && j < n; j++)
        for (size_t i = 0; wanted[j] && i < batch.count; i++) {
            size_t first = i * d + recipe->feature_start[j];
            size_t bytes = (recipe->feature_start[j + 1] - recipe->feature_start[j]) * sizeof(double);
            memcpy(w->x + first, w->own_x + first, bytes);
            if (w->standard_error) memcpy(w->standard_error + first, w->own_error + first, bytes);
        }
    karma_i_rows_free(rows);
    return st;
}

/* If the training rows determine only groups of attributes, the data do not show how one group depends on
 * another. A missing cell whose group has no observed cell in its row gets the column's mean, with the
 * column's own spread as its error. */
static karma_status complete_batch(work *w, karma_i_view batch, int threads, karma_error *err) {
    const karma_i_recipe *recipe = w->plan.recipe;
    if (!linkage_of(w)->group)
        return karma_i_complete(w->x, w->standard_error, recipe->latent->subspace, batch, threads, err);
    unsigned char *wanted = karma_i_alloc(recipe->n_attributes, 1);
    karma_status st = wanted ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t g = 0; st == KARMA_OK && g < linkage_of(w)->n_groups; g++)
        st = complete_group(w, batch, g, wanted, threads, err);
    karma_i_free(wanted);
    return st;
}

static karma_status write_rows(work *w, int threads, karma_error *err) {
    for (size_t first = 0; first < w->rows->n_rows; first += MOST_ROWS) {
        size_t left = w->rows->n_rows - first, count = left < MOST_ROWS ? left : MOST_ROWS;
        karma_i_view batch = {w->rows, first, count};
        KARMA_TRY(complete_batch(w, batch, threads, err));
        for (size_t i = 0; i < count; i++) KARMA_TRY(write_row(w, first + i, i, err));
    }
    return KARMA_OK;
}

/* The first encoding with a subspace; NULL: none has one. */
static const karma_i_recipe *subspace_recipe(const karma_model *model) {
    for (size_t e = 0; e < model->encoder.n; e++)
        if (model->encoder.recipes[e]->latent) return model->encoder.recipes[e];
    return NULL;
}

int karma_model_has_subspace(const karma_model *model) {
    return subspace_recipe(model) != NULL;
}

karma_status karma_complete(karma_completion *out, const karma_model *model, const karma_table *table, int with_errors,
                            size_t threads, const karma_hooks *hooks, karma_error *err) {
    const karma_i_recipe *recipe = subspace_recipe(model);
    if (!recipe)
        return karma_i_fail(err, KARMA_ERR_DATA,
                            "the model has no subspace to complete rows by: train one with option 'kernel=union' or "
                            "option 'kernel=subspace'");
    work w;
    karma_status st = init_work(&w, recipe, table, with_errors, hooks, err);
    if (st == KARMA_OK) st = write_rows(&w, karma_i_threads((int64_t)threads), err);
    if (st == KARMA_OK) {
        *out = (karma_completion){
            .n_completed = w.n_completed, .n_undetermined = w.n_undetermined, .rank = recipe->latent->subspace->rank};
        if (w.n_undetermined)
            karma_i_notice(hooks,
                           "%zu of %zu completed cells are not determined by the data: in the training rows their "
                           "columns are never observed together with those observed in the row. They are set to the "
                           "column's mean or most common level, with the standard deviation of the column as error",
                           w.n_undetermined, w.n_completed);
        karma_i_builder_finish(&out->table, &w.table);
        if (with_errors) karma_i_builder_finish(&out->errors, &w.errors);
    }
    clear_work(&w);
    return st;
}
