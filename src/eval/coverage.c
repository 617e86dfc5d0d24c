#include "eval/coverage.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "eval/judged.h"
#include "model/answers.h"
#include "model/certain_answers.h"

/* --- sums ---------------------------------------------------------------------------------------------- */

static int by_observed(const void *a, const void *b) {
    size_t x = ((const karma_i_covered_row *)a)->observed, y = ((const karma_i_covered_row *)b)->observed;
    return (x > y) - (x < y);
}

static karma_coverage_group sum_up(const karma_i_covered_row *rows, size_t n) {
    karma_coverage_group g = {.n_rows = n, .least = rows[0].observed, .most = rows[n - 1].observed};
    double weight = 0.0;
    for (size_t i = 0; i < n; i++) weight += rows[i].weight;
    for (size_t i = 0; i < n; i++) {
        g.coverage += rows[i].is_covered ? rows[i].weight / weight : 0.0;
        g.width += rows[i].weight > 0.0 ? rows[i].width * (rows[i].weight / weight) : 0.0;
    }
    return g;
}

karma_coverage karma_i_coverage_of(karma_i_covered_row *rows, size_t n, double level) {
    karma_coverage c = {.level = level};
    qsort(rows, n, sizeof *rows, by_observed);
    c.all = sum_up(rows, n);
    for (size_t first = 0, g = 1; g <= KARMA_MOST_COVERAGE_GROUPS && first < n; g++) {
        size_t end = (g * n - 1) / KARMA_MOST_COVERAGE_GROUPS + 1;
        if (end <= first) continue;
        while (end < n && rows[end].observed == rows[end - 1].observed) end++;
        c.groups[c.n_groups++] = sum_up(rows + first, end - first);
        first = end;
    }
    return c;
}

/* --- rows with labels ---------------------------------------------------------------------------------- */

/* Rows whose intervals or sets are judged. */
typedef struct covering {
    const karma_model *model;
    size_t target;
    const karma_table *table;
    double level;
    const size_t *observed; /* cells of each row */
} covering;

static karma_status cover_numbers(karma_i_covered_row *rows, size_t *n, const covering *c, const karma_i_judged *j,
                                  karma_error *err) {
    const karma_table *table = c->table;
    double *low = karma_i_alloc(table->n_rows, sizeof *low), *high = karma_i_alloc(table->n_rows, sizeof *high);
    karma_status st = low && high
                          ? karma_predict_intervals(low, high, c->model, c->target, table, j->scores, c->level, err)
                          : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++)
        if (!isnan(j->labels[i]))
            rows[(*n)++] = (karma_i_covered_row){c->observed[i], j->weights[i], high[i] - low[i],
                                                 low[i] <= j->labels[i] && j->labels[i] <= high[i]};
    karma_i_free(low);
    karma_i_free(high);
    return st;
}

static karma_status cover_classes(karma_i_covered_row *rows, size_t *n, const covering *c, const karma_i_judged *j,
                                  karma_error *err) {
    const karma_table *table = c->table;
    size_t K = j->head->labels.n_classes;
    unsigned char *sets = karma_i_alloc(table->n_rows, K);
    karma_status st = sets ? karma_predict_sets(sets, c->model, c->target, table, j->scores, c->level, err)
                           : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++) {
        double size = 0.0;
        if (isnan(j->labels[i])) continue;
        for (size_t k = 0; k < K; k++) size += sets[i * K + k];
        rows[(*n)++] =
            (karma_i_covered_row){c->observed[i], j->weights[i], size, j->truth[i] < K && sets[i * K + j->truth[i]]};
    }
    karma_i_free(sets);
    return st;
}

karma_status karma_i_cover_rows(karma_i_covered_row *rows, size_t *n, const karma_model *model, size_t target,
                                const karma_table *table, const double *scores, double level, karma_error *err) {
    karma_i_judged judged;
    KARMA_TRY(karma_i_judged_init(&judged, &model->task, target, table, scores, err));
    size_t *observed = karma_i_alloc(table->n_rows, sizeof *observed);
    karma_status st = observed ? karma_i_count_observed(observed, model, table, err) : karma_i_fail_memory(err);
    int is_number = judged.head->labels.task == KARMA_TASK_REGRESS;
    const covering c = {model, target, table, level, observed};
    if (st == KARMA_OK) st = (is_number ? cover_numbers : cover_classes)(rows, n, &c, &judged, err);
    karma_i_free(observed);
    karma_i_judged_clear(&judged);
    return st;
}

karma_status karma_measure_coverage(karma_coverage *out, const karma_model *model, size_t target,
                                    const karma_table *table, const double *scores, double level, karma_error *err) {
    size_t n = 0;
    KARMA_TRY(karma_i_check_level(&level, model, target, err));
    karma_i_covered_row *rows = karma_i_alloc(table->n_rows, sizeof *rows);
    karma_status st =
        rows ? karma_i_cover_rows(rows, &n, model, target, table, scores, level, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) *out = karma_i_coverage_of(rows, n, level);
    karma_i_free(rows);
    return st;
}

/* --- rows that were left out --------------------------------------------------------------------------- */

/* A number lies between q_0 + low and q_last + high if its errors do; the width is that of the outputs and more. */
static karma_i_covered_row left_out_number(const karma_i_certainty *c, const karma_i_ends *ends, size_t row,
                                           size_t n_outputs) {
    size_t g = karma_i_group_of(c->group_most, c->n_groups, c->observed[row]);
    const double *values = c->values + row * c->n_values;
    double between = n_outputs > 1 ? values[n_outputs] : 0.0;
    return (karma_i_covered_row){c->observed[row], c->weights[row], fmax(0.0, between + ends->high[g] - ends->low[g]),
                                 values[0] >= ends->low[g] && values[n_outputs - 1] <= ends->high[g]};
}

static karma_i_covered_row left_out_class(const karma_i_certainty *c, const double *bounds, size_t row, size_t K,
                                          unsigned char *set) {
    const double *values = c->values + row * c->n_values;
    size_t g = karma_i_group_of(c->group_most, c->n_groups, c->observed[row]);
    double size = (double)karma_i_set_of(set, values, K, bounds[g]);
    return (karma_i_covered_row){c->observed[row], c->weights[row], size, set[(size_t)values[K]]};
}

static karma_status left_out_rows(karma_i_covered_row *rows, const karma_model *model, size_t target, double level,
                                  karma_error *err) {
    const karma_i_head *head = &model->task.heads[target];
    const karma_i_certainty *c = &head->certainty;
    size_t K = head->labels.n_classes;
    karma_i_ends ends = {{0}, {0}, {0}, {0}};
    double bounds[KARMA_I_MOST_GROUPS] = {0};
    unsigned char *set = karma_i_alloc(K + 1, 1);
    karma_status st = !set ? karma_i_fail_memory(err)
                      : K  ? karma_i_set_bounds(bounds, model, target, level, err)
                           : karma_i_interval_ends(&ends, model, target, level, err);
    for (size_t i = 0; st == KARMA_OK && i < c->n_rows; i++)
        rows[i] = K ? left_out_class(c, bounds, i, K, set) : left_out_number(c, &ends, i, head->n_outputs);
    karma_i_free(set);
    return st;
}

karma_status karma_left_out_coverage(karma_coverage *out, const karma_model *model, size_t target, double level,
                                     karma_error *err) {
    size_t n = karma_model_n_left_out(model, target);
    KARMA_TRY(karma_i_check_level(&level, model, target, err));
    KARMA_TRY(karma_i_check_known(model, target, err));
    karma_i_covered_row *rows = karma_i_alloc(n, sizeof *rows);
    karma_status st = rows ? left_out_rows(rows, model, target, level, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) *out = karma_i_coverage_of(rows, n, level);
    karma_i_free(rows);
    return st;
}

/* --- abstention ---------------------------------------------------------------------------------------- */

/* The quality of a prediction: 1 if the class is right, or the absolute error of a number. */
static double row_score(const karma_i_judged *j, size_t row) {
    const double *scores = karma_i_judged_scores(j, row);
    if (j->head->labels.task == KARMA_TASK_REGRESS) return fabs(karma_i_head_number(j->head, scores) - j->labels[row]);
    return karma_i_head_decide(j->head, scores) == j->truth[row] ? 1.0 : 0.0;
}

static void judge_point(karma_abstention_point *p, const karma_i_judged *j, const double *confidence) {
    double weight[2] = {0.0, 0.0}, sum[2] = {0.0, 0.0};
    for (size_t i = 0; i < j->n_rows; i++) {
        if (isnan(j->labels[i])) continue;
        int is_answered = confidence[i] >= p->threshold;
        weight[is_answered] += j->weights[i];
        sum[is_answered] += j->weights[i] * row_score(j, i);
    }
    p->answered = weight[1] / (weight[0] + weight[1]);
    p->score = weight[1] > 0.0 ? sum[1] / weight[1] : NAN;
    p->rest = weight[0] > 0.0 ? sum[0] / weight[0] : NAN;
}

karma_status karma_measure_abstention(karma_abstention_point *points, size_t n, const karma_model *model, size_t target,
                                      const karma_table *table, const double *scores, karma_error *err) {
    karma_i_judged judged;
    KARMA_TRY(karma_i_judged_init(&judged, &model->task, target, table, scores, err));
    double *confidence = karma_i_alloc(table->n_rows, sizeof *confidence);
    karma_status st =
        confidence ? karma_predict_confidence(confidence, model, target, table, scores, err) : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) {
        st = karma_abstention_threshold(&points[i].threshold, model, target, KARMA_ABSTAIN_SHARE, points[i].asked, err);
        if (st == KARMA_OK) judge_point(&points[i], &judged, confidence);
    }
    karma_i_free(confidence);
    karma_i_judged_clear(&judged);
    return st;
}
