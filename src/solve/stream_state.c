#include "solve/stream_state.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/cholesky.h"
#include "solve/solver.h"

/* Landmarks are added at this pace, c √t, and not all at once, because the beginning of a stream may differ
 * from the rest. Rows are examined one by one, up to a block's size. */
static const double LANDMARK_PACE = 10.0;
/* A landmark has at least this share of its squared length outside the span of the others. */
static const double LEAST_NEW = 1e-3;
/* A row has some weight even if its loss is flat. */
static const double LEAST_CURVATURE = 0.02;
/* Columns of A that are computed together: entries above the diagonal are skipped strip by strip. */
enum { STRIP = 128 };

karma_status karma_i_stream_state_init(karma_i_stream_state *out, const karma_i_rows *like, karma_error *err) {
    *out = (karma_i_stream_state){0};
    return karma_i_rows_new_like(&out->landmarks, like, 0, err);
}

void karma_i_stream_state_clear(karma_i_stream_state *state) {
    karma_i_rows_free(state->landmarks);
    karma_i_free(state->factor);
    karma_i_free(state->precision);
    karma_i_free(state->weights);
    *state = (karma_i_stream_state){0};
}

size_t karma_i_stream_block(size_t n_rows) {
    size_t block = 1 + n_rows / 8;
    return block < KARMA_I_MOST_STREAM_BLOCK ? block : KARMA_I_MOST_STREAM_BLOCK;
}

/* --- landmarks ----------------------------------------------------------------------------------------- */

/* An n × n matrix as the first rows and columns of an m × m one; new diagonal entries are `diagonal`. */
static double *enlarge(const double *matrix, size_t n, size_t m, double diagonal) {
    double *larger = karma_i_zalloc(m, m * sizeof *larger);
    if (!larger) return NULL;
    for (size_t i = 0; i < n; i++) memcpy(larger + i * m, matrix + i * n, n * sizeof *larger);
    for (size_t i = n; i < m; i++) larger[i * m + i] = diagonal;
    return larger;
}

/* A copy of the state with room for `more` landmarks; these are not in `landmarks` yet, and their rows of L
 * are those of I. */
static karma_status copy_state(karma_i_stream_state *out, const karma_i_stream_state *from, size_t more, size_t K,
                               double ridge, karma_error *err) {
    size_t n = from->landmarks->n_rows, m = n + more;
    *out = *from;
    out->landmarks = NULL;
    out->factor = enlarge(from->factor, n, m, 1.0);
    out->precision = enlarge(from->precision, n, m, ridge);
    out->weights = karma_i_zalloc(K, m * sizeof *out->weights);
    if (!out->factor || !out->precision || !out->weights) return karma_i_fail_memory(err);
    for (size_t k = 0; k < K && n; k++) memcpy(out->weights + k * m, from->weights + k * n, n * sizeof *out->weights);
    KARMA_TRY(karma_i_rows_new_like(&out->landmarks, from->landmarks, m, err));
    for (size_t i = 0; i < n; i++) KARMA_TRY(karma_i_rows_append(out->landmarks, from->landmarks, i, err));
    return KARMA_OK;
}

/* features[i * n + j] = (L⁻¹ k(Z, x_i))_j. */
static karma_status compute_features(double *features, const karma_i_stream_state *state,
                                     const karma_i_stream_task *task, const karma_i_rows *rows, karma_error *err) {
    size_t n = state->landmarks->n_rows, m = rows->n_rows;
    if (n == 0) return KARMA_OK;
    float *values = karma_i_alloc_aligned(m, n * sizeof *values);
    if (!values) return karma_i_fail_memory(err);
    karma_status st = karma_i_kernel_block(values, n, task->kernel, karma_i_rows_all(rows),
                                           karma_i_rows_all(state->landmarks), task->threads);
    for (size_t i = 0; st == KARMA_OK && i < m * n; i++) features[i] = (double)values[i];
    karma_i_free(values);
    if (st != KARMA_OK) return karma_i_fail_memory(err);
    karma_i_solve_lower_rows(features, m, state->factor, n, n);
    return KARMA_OK;
}

/* Which rows become landmarks, and their rows of L. */
typedef struct growth {
    size_t n, most, count; /* landmarks before; the number there is room for; the number found */
    size_t *rows;          /* numbers of rows in the block */
    double *added;         /* of each: its coordinates along those before it in `rows`, then its own; `most` apart */
} growth;

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* The rows, in order, that are not almost in the span of the landmarks. */
static void find_landmarks(growth *g, const double *features, const float *gram, const double *diagonal, size_t m) {
    for (size_t i = 0; i < m && g->count < g->most; i++) {
        const double *own = features + i * g->n;
        double *added = g->added + g->count * g->most, left = diagonal[i] - dot(own, own, g->n);
        for (size_t s = 0; s < g->count; s++) {
            const double *other = g->added + s * g->most;
            double value = (double)gram[i * m + g->rows[s]] - dot(own, features + g->rows[s] * g->n, g->n);
            added[s] = (value - dot(added, other, s)) / other[s];
            left -= added[s] * added[s];
        }
        if (!(left > LEAST_NEW * diagonal[i])) continue;
        added[g->count] = sqrt(left);
        g->rows[g->count++] = i;
    }
}

static karma_status choose_landmarks(growth *g, const karma_i_stream_task *task, const karma_i_rows *rows,
                                     const double *features, karma_error *err) {
    size_t m = rows->n_rows;
    float *gram = karma_i_alloc_aligned(m, m * sizeof *gram);
    double *diagonal = karma_i_alloc(m, sizeof *diagonal);
    g->rows = karma_i_alloc(g->most, sizeof *g->rows);
    g->added = karma_i_zalloc(g->most, g->most * sizeof *g->added);
    karma_status st = gram && diagonal && g->rows && g->added ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && karma_i_kernel_gram(gram, m, task->kernel, karma_i_rows_all(rows), task->threads) != KARMA_OK)
        st = karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        karma_i_kernel_diagonal(diagonal, task->kernel, karma_i_rows_all(rows));
        find_landmarks(g, features, gram, diagonal, m);
    }
    karma_i_free(gram);
    karma_i_free(diagonal);
    return st;
}

static karma_status add_landmarks(karma_i_stream_state *out, const growth *g, const karma_i_rows *rows,
                                  const double *features, karma_error *err) {
    size_t n = g->n + g->count;
    for (size_t s = 0; s < g->count; s++) {
        double *row = out->factor + (g->n + s) * n;
        memcpy(row, features + g->rows[s] * g->n, g->n * sizeof *row);
        memcpy(row + g->n, g->added + s * g->most, (s + 1) * sizeof *row);
        KARMA_TRY(karma_i_rows_append(out->landmarks, rows, g->rows[s], err));
    }
    return KARMA_OK;
}

/* --- one block ----------------------------------------------------------------------------------------- */

static void judge_number(karma_i_stream_numbers *numbers, double z, double y) {
    numbers->error += fabs(z - y);
    numbers->constant_error += fabs(numbers->mean - y);
    numbers->mean += (y - numbers->mean) / (double)++numbers->n;
}

/* Turns the scores before the block into derivatives, in place; fills in curvatures[row] and updates the
 * account. */
static karma_status judge(double *scores, double *curvatures, karma_i_stream_state *state,
                          const karma_i_stream_task *task, const double *targets, const double *weights, size_t m,
                          karma_error *err) {
    size_t K = task->n_outputs;
    for (size_t i = 0; i < m; i++) {
        double *z = scores + i * K, loss = 0.0, most = 0.0;
        const double *y = targets + i * K, *weight = weights + i * K;
        int is_labelled = 0;
        for (size_t k = 0; k < K; k++) is_labelled |= weight[k] > 0.0;
        if (task->n_deciding && weight[0] > 0.0)
            state->n_errors += karma_i_decide(z, task->n_deciding) != karma_i_decide(y, task->n_deciding);
        if (!task->n_deciding && weight[0] > 0.0) judge_number(&state->numbers, z[0], y[0]);
        for (size_t k = 0; k < K; k++) {
            const karma_i_loss *one = &task->losses[k];
            loss += weight[k] * one->value(z[k], y[k], one->parameter);
            most = fmax(most, weight[k] * fmax(LEAST_CURVATURE, one->curvature(z[k], y[k], one->parameter)));
            z[k] = weight[k] > 0.0 ? weight[k] * one->derivative(z[k], y[k], one->parameter) : 0.0;
        }
        if (!isfinite(loss) || !isfinite(most))
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu: its score is not a finite number",
                                state->n_rows + i + 1);
        state->n_labelled += (size_t)is_labelled;
        state->loss += is_labelled ? loss : 0.0;
        curvatures[i] = most;
    }
    return KARMA_OK;
}

/* A += Σ h r rᵀ below the diagonal; `scaled` is scratch for all features. */
static void add_products(double *precision, double *scaled, const double *features, const double *curvatures, size_t m,
                         size_t n) {
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) scaled[i * n + j] = sqrt(curvatures[i]) * features[i * n + j];
    for (size_t j = 0; j < n; j += STRIP)
        karma_i_product_tn_add(precision + j * n + j, n, scaled + j, n, scaled + j, n, m, n - j,
                               n - j < STRIP ? n - j : STRIP);
}

/* Newton's step: factor A, then solve for each output. */
static karma_status step(karma_i_stream_state *state, const double *features, const double *derivatives, size_t m,
                         size_t K, karma_error *err) {
    size_t n = state->landmarks->n_rows;
    double *factor = karma_i_alloc_aligned(n, n * sizeof *factor), *gradient = karma_i_zalloc(K, n * sizeof *gradient);
    karma_status st = factor && gradient ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        memcpy(factor, state->precision, n * n * sizeof *factor);
        karma_i_product_tn_add(gradient, n, derivatives, K, features, n, m, K, n);
        if (!karma_i_cholesky(factor, n))
            st = karma_i_fail(err, KARMA_ERR_DATA, "row %zu: values are too large to learn from", state->n_rows + m);
    }
    for (size_t k = 0; st == KARMA_OK && k < K; k++) {
        karma_i_cholesky_solve(gradient + k * n, factor, n);
        for (size_t j = 0; j < n; j++) state->weights[k * n + j] -= gradient[k * n + j];
    }
    karma_i_free(factor);
    karma_i_free(gradient);
    return st;
}

/* Scratch of a block. */
typedef struct block {
    double *before, *after, *scaled; /* features with the old landmarks and with the new ones; a copy */
    double *scores, *curvatures;
    growth growth;
} block;

static void clear_block(block *b) {
    karma_i_free(b->before);
    karma_i_free(b->after);
    karma_i_free(b->scaled);
    karma_i_free(b->scores);
    karma_i_free(b->curvatures);
    karma_i_free(b->growth.rows);
    karma_i_free(b->growth.added);
}

static karma_status learn_block(karma_i_stream_state *out, block *b, const karma_i_stream_state *from,
                                const karma_i_stream_task *task, const karma_i_rows *rows, const double *targets,
                                const double *weights, karma_error *err) {
    size_t m = rows->n_rows, n = from->landmarks->n_rows, K = task->n_outputs;
    double allowed = fmin((double)task->budget, ceil(LANDMARK_PACE * sqrt((double)(from->n_rows + m))));
    size_t room = (double)n < allowed ? (size_t)allowed - n : 0;
    b->growth = (growth){.n = n, .most = room < m ? room : m};
    b->before = karma_i_alloc_aligned(m, n * sizeof *b->before);
    b->scores = karma_i_zalloc(m, K * sizeof *b->scores);
    b->curvatures = karma_i_alloc(m, sizeof *b->curvatures);
    if (!b->before || !b->scores || !b->curvatures) return karma_i_fail_memory(err);
    KARMA_TRY(compute_features(b->before, from, task, rows, err));
    if (n) karma_i_product_nt(b->scores, b->before, from->weights, m, n, K);
    if (b->growth.most) KARMA_TRY(choose_landmarks(&b->growth, task, rows, b->before, err));
    KARMA_TRY(copy_state(out, from, b->growth.count, K, task->ridge, err));
    KARMA_TRY(add_landmarks(out, &b->growth, rows, b->before, err));
    KARMA_TRY(judge(b->scores, b->curvatures, out, task, targets, weights, m, err));
    n += b->growth.count;
    b->scaled = karma_i_alloc_aligned(m, n * sizeof *b->scaled);
    if (b->growth.count) b->after = karma_i_alloc_aligned(m, n * sizeof *b->after);
    if (!b->scaled || (b->growth.count && !b->after)) return karma_i_fail_memory(err);
    if (b->after) KARMA_TRY(compute_features(b->after, out, task, rows, err));
    const double *features = b->after ? b->after : b->before;
    add_products(out->precision, b->scaled, features, b->curvatures, m, n);
    if (n) KARMA_TRY(step(out, features, b->scores, m, K, err));
    out->n_rows += m;
    return KARMA_OK;
}

karma_status karma_i_stream_state_learn(karma_i_stream_state *out, const karma_i_stream_state *from,
                                        const karma_i_stream_task *task, const karma_i_rows *rows,
                                        const double *targets, const double *weights, karma_error *err) {
    block b = {0};
    karma_i_stream_state state = {0};
    karma_status st = learn_block(&state, &b, from, task, rows, targets, weights, err);
    clear_block(&b);
    if (st == KARMA_OK)
        *out = state;
    else
        karma_i_stream_state_clear(&state);
    return st;
}

karma_status karma_i_stream_coefficients(double *out, const karma_i_stream_state *state, size_t n_outputs,
                                         karma_error *err) {
    size_t n = state->landmarks->n_rows;
    double *one = karma_i_alloc(n, sizeof *one);
    if (!one) return karma_i_fail_memory(err);
    for (size_t k = 0; k < n_outputs && n; k++) {
        memcpy(one, state->weights + k * n, n * sizeof *one);
        karma_i_solve_lower_transposed(one, state->factor, n);
        for (size_t j = 0; j < n; j++) out[j * n_outputs + k] = one[j];
    }
    karma_i_free(one);
    return KARMA_OK;
}
