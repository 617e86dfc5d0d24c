/* Intervals, sets and confidence of new rows, from the errors of rows that were left out (model/certainty_rows.h).
 *
 * Let E = y - q be the errors of an output on left-out rows. The upper end of an interval is q + E', where E'
 * is the conformal quantile of E at 1 - alpha/2, and the lower end is found likewise: conformalised quantile
 * regression with separate tails (Romano, Patterson and Candès, 2019), or with the prediction itself as q if
 * there are no quantiles. A class is in a set if 1 - p is at most the conformal quantile of 1 - p of the true
 * classes (Sadinle, Lei and Wasserman, 2019). */
#include "karma/certainty.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/answers.h"
#include "model/certain_answers.h"

static const double DEFAULT_LEVEL = 0.9;
/* Ends are moved apart by this share: a constant label is predicted up to rounding errors, and lies in its interval. */
static const double ROUNDING = 1e-12;

static const karma_i_head *head_of(const karma_model *model, size_t target) {
    return &model->task.heads[target];
}

size_t karma_model_n_left_out(const karma_model *model, size_t target) {
    return head_of(model, target)->certainty.n_rows;
}

int karma_model_level_is_given(const karma_model *model, size_t target) {
    const karma_fit_options *o = &model->task.options;
    const karma_i_head *head = head_of(model, target);
    if (head->labels.task == KARMA_TASK_CLASSIFY) return o->sets > 0.0;
    return o->intervals > 0.0 || head->n_quantiles > 1;
}

double karma_model_level(const karma_model *model, size_t target) {
    const karma_fit_options *o = &model->task.options;
    const karma_i_head *head = head_of(model, target);
    if (head->labels.task == KARMA_TASK_CLASSIFY) return o->sets > 0.0 ? o->sets : DEFAULT_LEVEL;
    if (o->intervals > 0.0) return o->intervals;
    return head->n_quantiles > 1 ? head->quantiles[head->n_quantiles - 1] - head->quantiles[0] : DEFAULT_LEVEL;
}

karma_status karma_i_check_level(double *level, const karma_model *model, size_t target, karma_error *err) {
    if (*level == KARMA_AUTO) *level = karma_model_level(model, target);
    if (*level > 0.0 && *level < 1.0) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_OPTION, "a level of certainty must be between 0 and 1; it cannot be %g", *level);
}

karma_status karma_i_check_known(const karma_model *model, size_t target, karma_error *err) {
    const karma_i_head *head = head_of(model, target);
    if (head->certainty.n_rows > 0) return KARMA_OK;
    if (head->labels.task == KARMA_TASK_CLASSIFY && !karma_i_head_has_probabilities(head))
        return karma_i_fail(err, KARMA_ERR_DATA,
                            "the model has no probabilities of '%s': learn it with option 'probabilities=sigmoid'",
                            head->name);
    return karma_i_fail(err, KARMA_ERR_DATA,
                        "the model does not know how far its predictions of '%s' can be trusted: learn it with option "
                        "'certainty=on'",
                        head->name);
}

/* --- rows and groups ----------------------------------------------------------------------------------- */

karma_status karma_i_count_observed(size_t *observed, const karma_model *model, const karma_table *table,
                                    karma_error *err) {
    const karma_i_recipe *recipe = karma_i_model_recipe(model);
    karma_i_matching match;
    for (size_t i = 0; i < table->n_rows; i++) observed[i] = 0;
    if (recipe->n_matrix_columns) return KARMA_OK;
    KARMA_TRY(karma_i_recipe_match(&match, recipe, table, err));
    for (size_t i = 0; i < table->n_rows; i++) {
        karma_i_row_cells cells = karma_i_table_cells(table, i);
        for (size_t k = 0; k < cells.count; k++) {
            size_t j = cells.attribute[k];
            int is_known = match.attribute[j] != KARMA_I_UNKNOWN &&
                           (!match.level[j] || match.level[j][(size_t)cells.value[k]] != KARMA_I_UNKNOWN);
            observed[i] += is_known ? 1 : 0;
        }
    }
    karma_i_matching_clear(&match);
    return KARMA_OK;
}

karma_status karma_i_group_rows(size_t *groups, const karma_model *model, size_t target, const karma_table *table,
                                karma_error *err) {
    const karma_i_certainty *c = &head_of(model, target)->certainty;
    for (size_t i = 0; i < table->n_rows; i++) groups[i] = 0;
    if (c->n_groups == 0) return KARMA_OK;
    KARMA_TRY(karma_i_count_observed(groups, model, table, err));
    for (size_t i = 0; i < table->n_rows; i++) groups[i] = karma_i_group_of(c->group_most, c->n_groups, groups[i]);
    return KARMA_OK;
}

/* --- numbers ------------------------------------------------------------------------------------------- */

static size_t n_groups_of(const karma_i_certainty *c) {
    return c->n_groups ? c->n_groups : 1;
}

/* The shift of quantile q of a group, such that a number lies at or below it with probability at least tau
 * above the median, and at most tau below it. With few rows the bound is their largest or smallest value. */
static karma_status quantile_shift(double *out, const karma_i_head *head, size_t group, size_t q, karma_error *err) {
    const karma_i_certainty *c = &head->certainty;
    double tau = head->quantiles[q], least = INFINITY, most = -INFINITY;
    if (tau >= 0.5)
        KARMA_TRY(karma_i_certainty_upper(out, c, group, q, tau, err));
    else
        KARMA_TRY(karma_i_certainty_lower(out, c, group, q, 1.0 - tau, err));
    if (isfinite(*out)) return KARMA_OK;
    for (size_t i = 0; i < c->n_rows; i++) {
        least = fmin(least, c->values[i * c->n_values + q]);
        most = fmax(most, c->values[i * c->n_values + q]);
    }
    *out = *out > 0.0 ? most : least;
    return KARMA_OK;
}

/* shifts[group * n_quantiles + quantile]; a new array. */
static karma_status quantile_shifts(double **out, const karma_i_head *head, karma_error *err) {
    size_t Q = head->n_quantiles, n = n_groups_of(&head->certainty) * Q;
    double *shifts = karma_i_alloc(n, sizeof *shifts);
    karma_status st = shifts ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) st = quantile_shift(&shifts[i], head, i / Q, i % Q, err);
    if (st == KARMA_OK)
        *out = shifts;
    else
        karma_i_free(shifts);
    return st;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

karma_status karma_i_add_corrections(double *outputs, const karma_model *model, size_t target, const karma_table *table,
                                     karma_error *err) {
    const karma_i_head *head = head_of(model, target);
    double *shifts = NULL;
    if (head->n_quantiles == 0 || head->certainty.n_rows == 0) return KARMA_OK;
    size_t *groups = karma_i_alloc(table->n_rows, sizeof *groups);
    karma_status st = groups ? karma_i_group_rows(groups, model, target, table, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = quantile_shifts(&shifts, head, err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++)
        for (size_t q = 0; q < head->n_quantiles; q++)
            outputs[i * model->task.n_outputs + head->first_output + q] += shifts[groups[i] * head->n_quantiles + q];
    karma_i_free(shifts);
    karma_i_free(groups);
    return st;
}

karma_status karma_i_correct_quantiles(double *scores, const karma_model *model, const karma_table *table,
                                       karma_error *err) {
    for (size_t t = 0; t < model->task.n_heads; t++) {
        const karma_i_head *head = head_of(model, t);
        KARMA_TRY(karma_i_add_corrections(scores, model, t, table, err));
        for (size_t i = 0; head->n_quantiles && i < table->n_rows; i++)
            qsort(scores + i * model->task.n_outputs + head->first_output, head->n_quantiles, sizeof *scores, by_value);
    }
    return KARMA_OK;
}

karma_status karma_i_interval_ends(karma_i_ends *out, const karma_model *model, size_t target, double level,
                                   karma_error *err) {
    const karma_i_head *head = head_of(model, target);
    const karma_i_certainty *c = &head->certainty;
    size_t last = head->n_outputs - 1;
    double tail = 0.5 * (1.0 - level), below = tail, above = tail, *shifts = NULL;
    if (head->n_quantiles > 1 && level == karma_model_level(model, target) && model->task.options.intervals <= 0.0) {
        below = head->quantiles[0]; /* the interval is that of the outer quantiles */
        above = 1.0 - head->quantiles[last];
    }
    if (head->n_quantiles) KARMA_TRY(quantile_shifts(&shifts, head, err));
    karma_status st = KARMA_OK;
    for (size_t g = 0; st == KARMA_OK && g < n_groups_of(c); g++) {
        st = karma_i_certainty_lower(&out->low[g], c, g, 0, 1.0 - below, err);
        if (st == KARMA_OK) st = karma_i_certainty_upper(&out->high[g], c, g, last, 1.0 - above, err);
        out->low_corrected[g] = shifts ? shifts[g * head->n_quantiles] : 0.0;
        out->high_corrected[g] = shifts ? shifts[g * head->n_quantiles + last] : 0.0;
    }
    karma_i_free(shifts);
    return st;
}

karma_status karma_predict_intervals(double *low, double *high, const karma_model *model, size_t target,
                                     const karma_table *table, const double *scores, double level, karma_error *err) {
    const karma_i_head *head = head_of(model, target);
    karma_i_ends ends;
    if (head->labels.task != KARMA_TASK_REGRESS)
        return karma_i_fail(err, KARMA_ERR_DATA, "'%s' has classes: use sets, not intervals", head->name);
    KARMA_TRY(karma_i_check_level(&level, model, target, err));
    KARMA_TRY(karma_i_check_known(model, target, err));
    KARMA_TRY(karma_i_interval_ends(&ends, model, target, level, err));
    size_t *groups = karma_i_alloc(table->n_rows, sizeof *groups);
    karma_status st = groups ? karma_i_group_rows(groups, model, target, table, err) : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++) {
        const double *own = scores + i * model->task.n_outputs + head->first_output;
        size_t g = groups[i];
        low[i] = own[0] + (ends.low[g] - ends.low_corrected[g]);
        high[i] = own[head->n_outputs - 1] + (ends.high[g] - ends.high_corrected[g]);
        if (low[i] > high[i]) low[i] = high[i] = 0.5 * (low[i] + high[i]);
        low[i] -= ROUNDING * fabs(low[i]);
        high[i] += ROUNDING * fabs(high[i]);
    }
    karma_i_free(groups);
    return st;
}

/* --- classes ------------------------------------------------------------------------------------------- */

karma_status karma_i_set_bounds(double *bounds, const karma_model *model, size_t target, double level,
                                karma_error *err) {
    const karma_i_certainty *c = &head_of(model, target)->certainty;
    karma_i_weighted *room = karma_i_alloc(c->n_rows + c->n_masked, sizeof *room);
    if (!room) return karma_i_fail_memory(err);
    for (size_t g = 0; g < n_groups_of(c); g++)
        bounds[g] = karma_i_conformal_upper(room, karma_i_certainty_gather_classes(room, c, g), level);
    karma_i_free(room);
    return KARMA_OK;
}

size_t karma_i_set_of(unsigned char *set, const double *probabilities, size_t n_classes, double bound) {
    size_t best = 0, size = 0;
    for (size_t k = 1; k < n_classes; k++)
        if (probabilities[k] > probabilities[best]) best = k;
    for (size_t k = 0; k < n_classes; k++) {
        set[k] = k == best || 1.0 - probabilities[k] <= bound;
        size += set[k];
    }
    return size;
}

static karma_status check_classes(const karma_model *model, size_t target, karma_error *err) {
    const karma_i_head *head = head_of(model, target);
    if (head->labels.task == KARMA_TASK_CLASSIFY) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_DATA, "'%s' is a number: use intervals, not sets of classes", head->name);
}

karma_status karma_predict_sets(unsigned char *sets, const karma_model *model, size_t target, const karma_table *table,
                                const double *scores, double level, karma_error *err) {
    const karma_i_head *head = head_of(model, target);
    size_t K = head->labels.n_classes;
    double bounds[KARMA_I_MOST_GROUPS];
    KARMA_TRY(check_classes(model, target, err));
    KARMA_TRY(karma_i_check_level(&level, model, target, err));
    KARMA_TRY(karma_i_check_known(model, target, err));
    KARMA_TRY(karma_i_set_bounds(bounds, model, target, level, err));
    size_t *groups = karma_i_alloc(table->n_rows, sizeof *groups);
    double *p = karma_i_alloc(K, sizeof *p);
    karma_status st = groups && p ? karma_i_group_rows(groups, model, target, table, err) : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++) {
        (void)karma_i_head_probabilities(p, head, scores + i * model->task.n_outputs);
        (void)karma_i_set_of(sets + i * K, p, K, bounds[groups[i]]);
    }
    karma_i_free(groups);
    karma_i_free(p);
    return st;
}

/* --- abstention ---------------------------------------------------------------------------------------- */

static karma_status check_confidence(const karma_model *model, size_t target, karma_error *err) {
    const karma_i_head *head = head_of(model, target);
    KARMA_TRY(karma_i_check_known(model, target, err));
    if (head->labels.task == KARMA_TASK_CLASSIFY || head->n_outputs > 1) return KARMA_OK;
    return karma_i_fail(
        err, KARMA_ERR_DATA,
        "all predictions of the number '%s' are equally certain: learn several quantiles, such as option "
        "'quantile=0.1,0.9'",
        head->name);
}

static double largest(const double *p, size_t n) {
    double most = p[0];
    for (size_t k = 1; k < n; k++) most = fmax(most, p[k]);
    return most;
}

karma_status karma_predict_confidence(double *confidence, const karma_model *model, size_t target,
                                      const karma_table *table, const double *scores, karma_error *err) {
    const karma_i_head *head = head_of(model, target);
    size_t last = head->n_outputs - 1, K = head->labels.n_classes;
    double *shifts = NULL;
    KARMA_TRY(check_confidence(model, target, err));
    size_t *groups = karma_i_alloc(table->n_rows, sizeof *groups);
    double *p = karma_i_alloc(K + 1, sizeof *p);
    karma_status st = groups && p ? karma_i_group_rows(groups, model, target, table, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK && K == 0) st = quantile_shifts(&shifts, head, err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++) {
        const double *own = scores + i * model->task.n_outputs + head->first_output;
        if (K) {
            (void)karma_i_head_probabilities(p, head, scores + i * model->task.n_outputs);
            confidence[i] = largest(p, K);
        } else {
            const double *shift = shifts + groups[i] * head->n_quantiles;
            confidence[i] = (own[0] - shift[0]) - (own[last] - shift[last]);
        }
    }
    karma_i_free(shifts);
    karma_i_free(groups);
    karma_i_free(p);
    return st;
}

karma_i_confident karma_i_confident_row(const karma_i_head *head, size_t row) {
    const karma_i_certainty *c = &head->certainty;
    const double *values = c->values + row * c->n_values;
    size_t K = head->labels.n_classes;
    if (K == 0) return (karma_i_confident){-values[c->n_values - 1], c->weights[row], 1};
    double confidence = largest(values, K);
    size_t best = 0;
    while (values[best] < confidence) best++;
    return (karma_i_confident){confidence, c->weights[row], (double)best == values[K]};
}

karma_status karma_abstention_threshold(double *out, const karma_model *model, size_t target, karma_abstain_rule rule,
                                        double value, karma_error *err) {
    const karma_i_head *head = head_of(model, target);
    size_t n = head->certainty.n_rows;
    if (!(value > 0.0 && value <= 1.0))
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "abstention takes a share or an accuracy above 0 and up to 1, not %g", value);
    KARMA_TRY(check_confidence(model, target, err));
    if (rule == KARMA_ABSTAIN_ACCURACY && head->labels.task != KARMA_TASK_CLASSIFY)
        return karma_i_fail(err, KARMA_ERR_DATA, "'%s' is a number, which has no accuracy: give a share", head->name);
    karma_i_confident *rows = karma_i_alloc(n, sizeof *rows);
    if (!rows) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) rows[i] = karma_i_confident_row(head, i);
    *out = rule == KARMA_ABSTAIN_SHARE ? karma_i_share_threshold(rows, n, value)
                                       : karma_i_accuracy_threshold(rows, n, value);
    karma_i_free(rows);
    return KARMA_OK;
}
