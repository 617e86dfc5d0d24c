#include "search/blend.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/outputs.h"

/* The shares tried for the second model are 0, 1/10, ..., 1. */
enum { STEPS = 10, MOST_NEWTON_STEPS = 20 };
/* A mean must be better than each model alone by this share of the loss. */
static const double LEAST_GAIN = 0.001;
/* Keeps the slope finite if the scores separate the classes. */
static const double RIDGE = 1e-3;

void karma_i_blend_scores(double *scores, const karma_i_blend *b, const double *first, const double *second, size_t n) {
    for (size_t i = 0; i < n; i++) scores[i] = b->first * first[i] + b->second * second[i];
}

/* What is judged. */
typedef struct trial {
    const karma_i_judge *judge;
    const karma_i_task *task;
    const karma_table *table;
    karma_i_outputs outputs;
    const double *first, *second;
    double first_size, second_size; /* root mean squares if units differ; otherwise 1 */
    double *scores;
} trial;

static int has_classes(const karma_i_task *task) {
    for (size_t t = 0; t < task->n_heads; t++)
        if (task->heads[t].labels.task == KARMA_TASK_CLASSIFY) return 1;
    return 0;
}

/* --- the logistic loss of a line ----------------------------------------------------------------------------- */

/* Loss, gradient and Hessian of Σ w ln(1 + e^(-y(a s + b))) + ½ ridge a² at (a, b). */
typedef struct line {
    double loss, ga, gb, haa, hab, hbb;
} line;

static line look_at(const trial *t, size_t output, double a, double b) {
    size_t K = t->task->n_outputs;
    line l = {0.5 * RIDGE * a * a, RIDGE * a, 0.0, RIDGE, 0.0, RIDGE};
    for (size_t i = 0; i < t->table->n_rows; i++) {
        double w = t->outputs.weights[i * K + output], y = t->outputs.targets[i * K + output] > 0.0 ? 1.0 : -1.0;
        double s = t->scores[i * K + output], m = y * (a * s + b), p = 1.0 / (1.0 + exp(m)), h = w * p * (1.0 - p);
        l.loss += w * (fmax(-m, 0.0) + log1p(exp(-fabs(m))));
        l.ga -= w * y * p * s;
        l.gb -= w * y * p;
        l.haa += h * s * s;
        l.hab += h * s;
        l.hbb += h;
    }
    return l;
}

/* Newton's method; a step that does not help is halved. */
static double fit_line(const trial *t, size_t output) {
    double a = 1.0, b = 0.0;
    line at = look_at(t, output, a, b);
    for (int step = 0; step < MOST_NEWTON_STEPS; step++) {
        double det = at.haa * at.hbb - at.hab * at.hab, size = 1.0;
        double da = -(at.hbb * at.ga - at.hab * at.gb) / det, db = -(at.haa * at.gb - at.hab * at.ga) / det;
        line next = look_at(t, output, a + da, b + db);
        for (; next.loss > at.loss && size > 1e-4; next = look_at(t, output, a + size * da, b + size * db)) size *= 0.5;
        if (!(next.loss < at.loss)) break;
        a += size * da;
        b += size * db;
        int is_done = at.loss - next.loss < 1e-7 * at.loss;
        at = next;
        if (is_done) break;
    }
    return at.loss;
}

/* --- shares ---------------------------------------------------------------------------------------------------- */

static karma_i_blend weights_of(const trial *t, int step) {
    double second = (double)step / STEPS / t->second_size, first = (double)(STEPS - step) / STEPS / t->first_size;
    return (karma_i_blend){first / (first + second), second / (first + second)};
}

/* Smaller is better. */
static karma_status judge_step(double *out, const trial *t, int step, karma_error *err) {
    karma_i_blend weights = weights_of(t, step);
    size_t K = t->task->n_outputs;
    karma_i_blend_scores(t->scores, &weights, t->first, t->second, t->table->n_rows * K);
    *out = 0.0;
    if (!has_classes(t->task)) {
        KARMA_TRY(karma_i_goal_value(out, t->judge, t->task, t->table, t->scores, err));
        /* for R2: the unexplained share */
        *out = karma_i_goal_sign(t->judge->goal) > 0.0 ? 1.0 - *out : -*out;
        return KARMA_OK;
    }
    for (size_t h = 0; h < t->task->n_heads; h++) {
        const karma_i_head *head = &t->task->heads[h];
        for (size_t k = 0; head->labels.task == KARMA_TASK_CLASSIFY && k < head->n_outputs; k++)
            *out += fit_line(t, head->first_output + k);
    }
    return KARMA_OK;
}

static double size_of(const double *scores, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += scores[i] * scores[i];
    return n > 0 && sum > 0.0 ? sqrt(sum / (double)n) : 1.0;
}

/* Numbers and logits have a fixed scale; only margins of other losses do not. */
static int has_units(const karma_i_task *task) {
    for (size_t t = 0; t < task->n_heads; t++)
        if (task->heads[t].labels.task == KARMA_TASK_CLASSIFY && task->heads[t].loss != KARMA_LOSS_LOGISTIC) return 0;
    return 1;
}

static karma_status try_steps(karma_i_blend *out, const trial *t, karma_error *err) {
    double loss[STEPS + 1];
    for (int step = 0; step <= STEPS; step++) KARMA_TRY(judge_step(&loss[step], t, step, err));
    int alone = loss[0] < loss[STEPS] ? 0 : STEPS, best = alone;
    for (int step = 1; step < STEPS; step++)
        if (loss[step] < loss[best] && loss[step] < loss[alone] - LEAST_GAIN * fabs(loss[alone])) best = step;
    *out = weights_of(t, best);
    return KARMA_OK;
}

karma_status karma_i_blend_weigh(karma_i_blend *out, const karma_i_judge *judge, const karma_i_task *task,
                                 const karma_table *table, const double *first, const double *second,
                                 karma_error *err) {
    size_t n = table->n_rows * task->n_outputs;
    trial t = {.judge = judge, .task = task, .table = table, .first = first, .second = second};
    int is_plain = has_units(task);
    t.first_size = is_plain ? 1.0 : size_of(first, n);
    t.second_size = is_plain ? 1.0 : size_of(second, n);
    t.scores = karma_i_alloc(n, sizeof *t.scores);
    karma_status st = t.scores ? karma_i_outputs_fill(&t.outputs, task, table, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = try_steps(out, &t, err);
    karma_i_outputs_clear(&t.outputs);
    karma_i_free(t.scores);
    return st;
}
