/* Which cell to measure next. For a row with observed cells x_o and a missing cell j, and with the
 * uncertainty U of a prediction,
 *
 *     gain(j) = U(E[p | x_o]) - E[U(p) | x_o],   p = p(x_o, x_j),   x_j | x_o as the subspace has it
 *                                                                   (subspace/completion.h)
 *
 * For classes p are the probabilities and U is the entropy, so the gain is the mutual information of class
 * and cell under the model's probabilities. For numbers it is Var[f(x_o, x_j) | x_o], the decrease of the
 * label's variance if f is its conditional mean. Neither is below 0. U(p(x_o)) instead of U(E[p | x_o]) would
 * also count the distance between the mean probabilities with this cell and those of the row without it,
 * which is no information about the class. The expectation is a sum over a few values of x_j. */
#include "karma/next.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/threads.h"
#include "karma/subspace.h"
#include "model/answers.h"
#include "model/model.h"
#include "subspace/completion.h"
#include "table/builder.h"

/* Positive abscissae of the Gauss-Hermite rule of seven points, and all its weights: of exp(-t²), from the middle on.
 */
enum { N_ABSCISSAE = 3, MOST_LEVELS = 32 };
static const double ABSCISSAE[N_ABSCISSAE] = {0.8162878828589647, 1.6735516287674714, 2.6519613568352334};
static const double GAUSS[N_ABSCISSAE + 1] = {0.8102646175568073, 0.4256072526101278, 0.05451558281912703,
                                              0.0009717812450995192};
static const double ROOT_PI = 1.7724538509055160, ROOT_2 = 1.4142135623730951;
/* A level with less than this share is not tried. */
static const double LEAST_SHARE = 1e-3;

void karma_next_cells_clear(karma_next_cells *cells) {
    if (!cells) return;
    karma_i_free(cells->start);
    karma_i_free(cells->cells);
    karma_i_free(cells->uncertainty);
    *cells = (karma_next_cells){0};
}

/* --- values of a cell ---------------------------------------------------------------------------------- */

/* The values that a missing cell may have, and their probabilities; weights sum to 1. */
typedef struct outlook {
    size_t n;
    double value[MOST_LEVELS], weight[MOST_LEVELS];
} outlook;

static double within(const karma_i_column *column, double value) {
    if (isfinite(column->low) && value < column->low) return column->low;
    return isfinite(column->high) && value > column->high ? column->high : value;
}

static void number_outlook(outlook *out, const karma_i_column *column, double mean, double error) {
    out->n = 2 * N_ABSCISSAE + 1;
    out->value[0] = within(column, mean);
    out->weight[0] = GAUSS[0] / ROOT_PI;
    for (size_t k = 0; k < N_ABSCISSAE; k++)
        for (size_t side = 0; side < 2; side++) {
            double t = side ? ABSCISSAE[k] : -ABSCISSAE[k];
            out->value[1 + 2 * k + side] = within(column, mean + ROOT_2 * error * t);
            out->weight[1 + 2 * k + side] = GAUSS[k + 1] / ROOT_PI;
        }
}

/* Of many levels the most probable ones. */
static void category_outlook(outlook *out, const karma_i_recipe *recipe, size_t attribute, const double *x,
                             double divisor) {
    size_t first = recipe->feature_start[attribute], end = recipe->feature_start[attribute + 1];
    double sum = 0.0;
    out->n = 0;
    for (size_t f = first; f < end; f++) {
        double share = fmin(1.0, x[f] * divisor / recipe->factor[f] + recipe->shift[f]);
        size_t at = out->n;
        if (!(share >= LEAST_SHARE)) continue;
        if (at == MOST_LEVELS) {
            at = 0;
            for (size_t k = 1; k < MOST_LEVELS; k++)
                if (out->weight[k] < out->weight[at]) at = k;
            if (out->weight[at] >= share) continue;
        } else
            out->n++;
        out->value[at] = (double)(f - first);
        out->weight[at] = share;
    }
    for (size_t k = 0; k < out->n; k++) sum += out->weight[k];
    for (size_t k = 0; k < out->n; k++) out->weight[k] /= sum;
}

/* --- work ---------------------------------------------------------------------------------------------- */

typedef struct work {
    const karma_model *model;
    const karma_i_head *head;
    const karma_table *table;
    const karma_i_recipe *recipe; /* that has the subspace */
    const double *costs;
    size_t threads;
    karma_i_matching match;
    karma_i_rows *rows;
    double *divisors, *x, *errors;   /* of all rows; x and errors: n_features each */
    double *observed;                /* of one row, by attribute; NaN: missing */
    outlook *outlooks;               /* of one row, by attribute */
    double *probabilities, *mixture; /* one per class */
} work;

static void clear_work(work *w) {
    karma_i_matching_clear(&w->match);
    karma_i_rows_free(w->rows);
    karma_i_free(w->divisors);
    karma_i_free(w->x);
    karma_i_free(w->errors);
    karma_i_free(w->observed);
    karma_i_free(w->outlooks);
    karma_i_free(w->probabilities);
    karma_i_free(w->mixture);
}

static const karma_i_recipe *find_subspace(const karma_model *model) {
    for (size_t e = 0; e < model->encoder.n; e++)
        if (model->encoder.recipes[e]->latent) return model->encoder.recipes[e];
    return NULL;
}

static karma_status check(const work *w, karma_error *err) {
    if (!w->recipe)
        return karma_i_fail(
            err, KARMA_ERR_DATA,
            "the model has no subspace, which is needed to predict missing cells: train one with option "
            "'kernel=union' or option 'kernel=subspace'");
    if (w->head->labels.task == KARMA_TASK_CLASSIFY && !karma_i_head_has_probabilities(w->head))
        return karma_i_fail(err, KARMA_ERR_DATA,
                            "the model has no probabilities of '%s': learn it with option 'probabilities=sigmoid'",
                            w->head->name);
    for (size_t j = 0; w->costs && j < w->recipe->n_attributes; j++)
        if (!(w->costs[j] > 0.0 && isfinite(w->costs[j])))
            return karma_i_fail(err, KARMA_ERR_OPTION, "the cost of column '%s' must be a number above 0, not %g",
                                w->recipe->columns[j].name, w->costs[j]);
    return KARMA_OK;
}

static karma_status init_work(work *w, const karma_hooks *hooks, karma_error *err) {
    size_t n = w->table->n_rows, A = w->recipe->n_attributes, d = karma_i_recipe_n_features(w->recipe);
    KARMA_TRY(karma_i_encoder_check_matrix(&w->model->encoder, w->model->info.n_columns, w->table, err));
    w->divisors = karma_i_alloc(n, sizeof *w->divisors);
    w->x = karma_i_alloc(n, d * sizeof *w->x);
    w->errors = karma_i_alloc(n, d * sizeof *w->errors);
    w->observed = karma_i_alloc(A, sizeof *w->observed);
    w->outlooks = karma_i_alloc(A, sizeof *w->outlooks);
    w->probabilities = karma_i_alloc(w->head->labels.n_classes + 1, sizeof *w->probabilities);
    w->mixture = karma_i_alloc(w->head->labels.n_classes + 1, sizeof *w->mixture);
    if (!w->divisors || !w->x || !w->errors || !w->observed || !w->outlooks || !w->probabilities || !w->mixture)
        return karma_i_fail_memory(err);
    KARMA_TRY(karma_i_recipe_match(&w->match, w->recipe, w->table, err));
    KARMA_TRY(karma_i_recipe_encode(&w->rows, w->divisors, w->recipe, w->table, hooks, err));
    return karma_i_complete(w->x, w->errors, w->recipe->latent->subspace, karma_i_rows_all(w->rows),
                            karma_i_threads((int64_t)w->threads), err);
}

/* A level that the model does not know is a missing cell. */
static void list_observed(work *w, size_t row) {
    karma_i_row_cells cells = karma_i_table_cells(w->table, row);
    for (size_t j = 0; j < w->recipe->n_attributes; j++) w->observed[j] = NAN;
    for (size_t k = 0; k < cells.count; k++) {
        size_t own = cells.attribute[k];
        ptrdiff_t j = w->match.attribute[own];
        double value = cells.value[k];
        if (j == KARMA_I_UNKNOWN) continue;
        if (w->match.level[own]) {
            ptrdiff_t level = w->match.level[own][(size_t)value];
            value = level == KARMA_I_UNKNOWN ? NAN : (double)level;
        }
        w->observed[j] = value;
    }
}

/* --- rows with one cell more --------------------------------------------------------------------------- */

static karma_status add_trial(karma_i_builder *builder, const work *w, size_t attribute, double value,
                              karma_error *err) {
    for (size_t j = 0; j < w->recipe->n_attributes; j++) {
        double cell = j == attribute ? value : w->observed[j];
        if (!isnan(cell)) KARMA_TRY(karma_i_builder_add_cell(builder, j, cell, err));
    }
    return karma_i_builder_end_row(builder, NULL, 1.0, NULL, err);
}

static karma_status add_columns(karma_i_builder *builder, const work *w, karma_error *err) {
    builder->table->is_matrix = w->table->is_matrix;
    for (size_t j = 0; j < w->recipe->n_attributes; j++) {
        karma_i_column copy;
        KARMA_TRY(karma_i_column_copy(&copy, &w->recipe->columns[j], err));
        karma_status st = karma_i_builder_add_attribute(builder, copy.name, copy.kind, copy.levels, copy.n_levels, err);
        karma_i_free(copy.name);
        KARMA_TRY(st);
    }
    return KARMA_OK;
}

/* The row itself, and with each value of each missing cell, in the order of the outlooks. */
static karma_status build_trials(karma_table **out, const work *w, karma_error *err) {
    karma_i_builder builder;
    KARMA_TRY(karma_i_builder_init(&builder, err));
    karma_status st = add_columns(&builder, w, err);
    if (st == KARMA_OK) st = add_trial(&builder, w, SIZE_MAX, NAN, err);
    for (size_t j = 0; st == KARMA_OK && j < w->recipe->n_attributes; j++)
        for (size_t k = 0; st == KARMA_OK && isnan(w->observed[j]) && k < w->outlooks[j].n; k++)
            st = add_trial(&builder, w, j, w->outlooks[j].value[k], err);
    if (st == KARMA_OK)
        karma_i_builder_finish(out, &builder);
    else
        karma_i_builder_clear(&builder);
    return st;
}

/* --- gains --------------------------------------------------------------------------------------------- */

static double bits_of(const double *p, size_t n) {
    double bits = 0.0;
    for (size_t k = 0; k < n; k++)
        if (p[k] > 0.0) bits -= p[k] * log2(p[k]);
    return bits;
}

static double entropy(const work *w, const double *scores) {
    (void)karma_i_head_probabilities(w->probabilities, w->head, scores);
    return bits_of(w->probabilities, w->head->labels.n_classes);
}

/* Of the values of one cell, whose scores are those from `scores` on; `base`: the scores of the row as it is. */
static void judge_classes(karma_next_cell *cell, const work *w, const outlook *o, const double *base,
                          const double *scores) {
    size_t K = w->model->task.n_outputs, n_classes = w->head->labels.n_classes;
    double expected = 0.0;
    memset(w->mixture, 0, n_classes * sizeof *w->mixture);
    for (size_t k = 0; k < o->n; k++) {
        const double *own = scores + k * K;
        expected += o->weight[k] * entropy(w, own);
        for (size_t c = 0; c < n_classes; c++) w->mixture[c] += o->weight[k] * w->probabilities[c];
        if (karma_i_head_decide(w->head, own) != karma_i_head_decide(w->head, base)) cell->change += o->weight[k];
    }
    cell->gain = fmax(0.0, bits_of(w->mixture, n_classes) - expected); /* below 0 by rounding only: U is concave */
}

static void judge_number(karma_next_cell *cell, const work *w, const outlook *o, const double *base,
                         const double *scores) {
    size_t K = w->model->task.n_outputs;
    double mean = 0.0, now = karma_i_head_number(w->head, base);
    for (size_t k = 0; k < o->n; k++) {
        double value = karma_i_head_number(w->head, scores + k * K);
        mean += o->weight[k] * value;
        cell->change += o->weight[k] * fabs(value - now);
    }
    for (size_t k = 0; k < o->n; k++)
        cell->gain += o->weight[k] * pow(karma_i_head_number(w->head, scores + k * K) - mean, 2);
}

static karma_next_cell judge_cell(const work *w, size_t attribute, const double *base, const double *scores) {
    karma_next_cell cell = {.attribute = attribute, .cost = w->costs ? w->costs[attribute] : 1.0};
    int classify = w->head->labels.task == KARMA_TASK_CLASSIFY;
    (classify ? judge_classes : judge_number)(&cell, w, &w->outlooks[attribute], base, scores);
    cell.per_cost = cell.gain / cell.cost;
    return cell;
}

static int by_gain(const void *a, const void *b) {
    const karma_next_cell *x = a, *y = b;
    if (x->per_cost != y->per_cost) return x->per_cost < y->per_cost ? 1 : -1;
    return (x->attribute > y->attribute) - (x->attribute < y->attribute);
}

static void make_outlooks(work *w, size_t row) {
    size_t d = karma_i_recipe_n_features(w->recipe);
    const double *x = w->x + row * d, *errors = w->errors + row * d;
    for (size_t j = 0; j < w->recipe->n_attributes; j++) {
        const karma_i_column *column = &w->recipe->columns[j];
        if (!isnan(w->observed[j])) continue;
        karma_i_decoded cell = karma_i_recipe_decode(w->recipe, j, x, errors, w->divisors[row]);
        if (column->kind == KARMA_COLUMN_CATEGORY)
            category_outlook(&w->outlooks[j], w->recipe, j, x, w->divisors[row]);
        else
            number_outlook(&w->outlooks[j], column, cell.value, cell.error);
    }
}

static karma_status judge_row(karma_next_cells *out, work *w, size_t row, karma_error *err) {
    karma_table *trials = NULL;
    size_t K = w->model->task.n_outputs, at = 1, n = out->start[row];
    list_observed(w, row);
    make_outlooks(w, row);
    KARMA_TRY(build_trials(&trials, w, err));
    double *scores = karma_i_alloc(trials->n_rows, K * sizeof *scores);
    karma_status st =
        scores ? karma_predict(scores, w->model, trials, w->threads, NULL, err) : karma_i_fail_memory(err);
    for (size_t j = 0; st == KARMA_OK && j < w->recipe->n_attributes; j++) {
        if (!isnan(w->observed[j])) continue;
        out->cells[n++] = judge_cell(w, j, scores, scores + at * K);
        at += w->outlooks[j].n;
    }
    if (st == KARMA_OK) {
        out->uncertainty[row] = w->head->labels.task == KARMA_TASK_CLASSIFY ? entropy(w, scores) : 0.0;
        out->start[row + 1] = n;
        if (n > out->start[row]) qsort(out->cells + out->start[row], n - out->start[row], sizeof *out->cells, by_gain);
    }
    karma_i_free(scores);
    karma_table_free(trials);
    return st;
}

static karma_status judge_rows(karma_next_cells *out, work *w, const karma_hooks *hooks, karma_error *err) {
    size_t n = w->table->n_rows, most = 0;
    for (size_t i = 0; i < n; i++) {
        list_observed(w, i);
        for (size_t j = 0; j < w->recipe->n_attributes; j++) most += isnan(w->observed[j]) ? 1 : 0;
    }
    out->n_rows = n;
    out->start = karma_i_zalloc(n + 1, sizeof *out->start);
    out->cells = karma_i_alloc(most, sizeof *out->cells);
    out->uncertainty = karma_i_alloc(n, sizeof *out->uncertainty);
    if (!out->start || !out->cells || !out->uncertainty) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (karma_i_progress(hooks, "trying values", i, n))
            return karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted");
        KARMA_TRY(judge_row(out, w, i, err));
    }
    return KARMA_OK;
}

karma_status karma_measure_next(karma_next_cells *out, const karma_model *model, size_t target,
                                const karma_table *table, const double *costs, size_t threads, const karma_hooks *hooks,
                                karma_error *err) {
    karma_next_cells cells = {0};
    work w = {.model = model,
              .head = &model->task.heads[target],
              .table = table,
              .recipe = find_subspace(model),
              .costs = costs,
              .threads = threads};
    karma_status st = check(&w, err);
    if (st == KARMA_OK) st = init_work(&w, hooks, err);
    if (st == KARMA_OK) st = judge_rows(&cells, &w, hooks, err);
    clear_work(&w);
    if (st == KARMA_OK)
        *out = cells;
    else
        karma_next_cells_clear(&cells);
    return st;
}
