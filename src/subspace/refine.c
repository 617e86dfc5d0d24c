/* Supervised refinement: gradient steps on the subspace, through the r × r solve of every row.
 *
 * With G = W_oᵀW_o + σ²I, c = x_o - mean_o, ẑ = G⁻¹W_oᵀc, the residual e = c - W_oẑ and g = ∂F/∂ẑ of a row, the
 * differential of G ẑ = W_oᵀc gives with u = G⁻¹g
 *
 *     ∂F/∂w_f = e_f u - (w_f·u) ẑ,     ∂F/∂mean_f = -w_f·u        for the observed features f of the row:
 *
 * one more solve with a matrix that the posterior has already factorised (G⁻¹ is its covariance over σ²). If
 * the noise of a feature has the variance σ² v_f, its w_f and c_f are divided by √v_f, and both derivatives
 * are divided by √v_f once more.
 *
 * The loss is made smooth by its Moreau envelope, ℓ̃(z) = min over ζ of ℓ(ζ) + (ζ - z)²/2t, whose derivative is
 * (z - prox)/t: with hinges and absolute values too, gradients depend on the distance to the kink, in the
 * same way for all losses.
 *
 * Heads are linear machines on ẑ, convex and cheap, so they are solved for every subspace tried, and F is a
 * function of the subspace alone; at the best heads its gradient is the one above. (Joint steps would be as
 * short as the worse of the two requires.) */
#include "subspace/refine.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "subspace/completion.h"
#include "subspace/estep.h"

/* t of the envelope: a unit is the margin of the hinge, or the spread of a regression's targets. */
#define SMOOTHING 0.5
/* Penalty of the heads. It is small, since a shorter W (a longer ẑ) could avoid it without being any
 * better. */
#define RIDGE 0.01
/* Steps of the heads end when one promises less than this, per unit of F. */
#define HEAD_TOLERANCE 1e-9
/* Share of what the gradient promises that a step must deliver. */
#define SUFFICIENT 1e-4
/* The first step's length, as a share of that of (mean, W). */
#define FIRST_STEP 0.05

/* The refined subspace must be better by this many standard errors of the difference: two, since it is the
 * best of many steps. */
#define SURE 2.0

enum { MOST_ROWS = 1024, HEAD_STEPS = 300, HALVINGS = 12, PATIENCE = 12 };

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

double karma_i_refine_smooth(double *derivative, const karma_i_task_loss *loss, double score, double y) {
    double nearest = loss->prox(score, SMOOTHING, y, loss->parameter);
    *derivative = (score - nearest) / SMOOTHING;
    return loss->value(nearest, y, loss->parameter) + 0.5 * SMOOTHING * *derivative * *derivative;
}

/* ---- heads ---- */

/* The coordinates of the rows, and the data that heads learn from. */
typedef struct task {
    size_t n, r, K;
    const karma_i_supervision *labels;
    double *z;     /* n × r */
    double *total; /* Σ_i s_ik over the rows that are learned from */
    double ridge;
    int threads;
} task;

static void clear_task(task *t) {
    karma_i_free(t->z);
    karma_i_free(t->total);
}

/* The weight of a row in the steps. */
static double step_weight(const karma_i_supervision *labels, size_t row, size_t k) {
    return labels->is_held_out[row] ? 0.0 : labels->weights[row * labels->n_outputs + k];
}

static karma_status init_task(task *t, size_t rank, karma_i_view rows, const karma_i_supervision *labels, int threads,
                              karma_error *err) {
    size_t n_rows = 0;
    *t = (task){.n = rows.count, .r = rank, .K = labels->n_outputs, .labels = labels, .threads = threads};
    t->z = karma_i_alloc(t->n, t->r * sizeof *t->z);
    t->total = karma_i_zalloc(t->K, sizeof *t->total);
    if (!t->z || !t->total) {
        clear_task(t);
        return karma_i_fail_memory(err);
    }
    for (size_t i = 0; i < t->n; i++) {
        n_rows += !labels->is_held_out[i];
        for (size_t k = 0; k < t->K; k++) t->total[k] += step_weight(labels, i, k);
    }
    /* in units of what C = auto means where coordinates have variance 1: mean k(x, x) / rows */
    t->ridge = RIDGE * (double)t->r / (double)(n_rows ? n_rows : 1);
    return KARMA_OK;
}

/* The part of F for output k, and its derivative by the head. */
static double head_objective(double *gradient, const task *t, size_t k, const double *head) {
    size_t r = t->r;
    double sum = 0.0;
    memset(gradient, 0, (r + 1) * sizeof *gradient);
    for (size_t i = 0; i < t->n; i++) {
        const double weight = step_weight(t->labels, i, k) / t->total[k], *z = t->z + i * r;
        double slope;
        if (!(weight > 0.0)) continue;
        double score = head[0] + dot(head + 1, z, r);
        sum += weight * karma_i_refine_smooth(&slope, &t->labels->losses[k], score, t->labels->targets[i * t->K + k]);
        gradient[0] += weight * slope;
        for (size_t l = 0; l < r; l++) gradient[l + 1] += weight * slope * z[l];
    }
    for (size_t l = 1; l <= r; l++) gradient[l] += t->ridge * head[l];
    return sum + 0.5 * t->ridge * dot(head + 1, head + 1, r);
}

/* The curvature of a smoothed loss is at most 1/t, so that of F's part is at most Σ s z̃z̃ᵀ/(t Σ s) + ridge: its Cholesky
 * factor. */
static void curvature_bound(double *factor, const task *t, size_t k) {
    size_t r = t->r;
    memset(factor, 0, karma_i_packed_size(r + 1) * sizeof *factor);
    for (size_t i = 0; i < t->n; i++) {
        const double weight = step_weight(t->labels, i, k) / (SMOOTHING * t->total[k]), *z = t->z + i * r;
        if (!(weight > 0.0)) continue;
        factor[0] += weight;
        for (size_t a = 0; a < r; a++) {
            double *row = factor + karma_i_packed_size(a + 1), scaled = weight * z[a];
            row[0] += scaled;
            for (size_t b = 0; b <= a; b++) row[b + 1] += scaled * z[b];
        }
    }
    for (size_t a = 1; a <= r; a++) factor[karma_i_packed_size(a) + a] += t->ridge;
    karma_i_packed_cholesky(factor, r + 1);
}

static size_t head_scratch(size_t r) {
    return karma_i_packed_size(r + 1) + 4 * (r + 1);
}

/* Accelerated gradient steps in the metric of the bound, starting from the present head; the momentum
 * restarts when it leads uphill (O'Donoghue, Candès 2015). */
static void fit_head(double *head, const task *t, size_t k, double *scratch) {
    size_t size = t->r + 1;
    double *factor = scratch, *gradient = factor + karma_i_packed_size(size), *step = gradient + size;
    double *before = step + size, *point = before + size, momentum = 1.0;
    if (!(t->total[k] > 0.0)) return;
    curvature_bound(factor, t, k);
    memcpy(before, head, size * sizeof *head);
    for (int n = 0; n < HEAD_STEPS; n++) {
        double next = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum)), along = (momentum - 1.0) / next,
               uphill = 0.0;
        for (size_t l = 0; l < size; l++) point[l] = head[l] + along * (head[l] - before[l]);
        double value = head_objective(gradient, t, k, point);
        memcpy(step, gradient, size * sizeof *step);
        karma_i_packed_solve(step, factor, size);
        for (size_t l = 0; l < size; l++) {
            before[l] = head[l];
            head[l] = point[l] - step[l];
            uphill += gradient[l] * (head[l] - before[l]);
        }
        momentum = uphill > 0.0 ? 1.0 : next;
        if (dot(gradient, step, size) <= HEAD_TOLERANCE * value) break;
    }
}

/* F at the heads, one output per thread. `parts`: scratch, K. */
static double fit_heads(double *heads, const task *t, double *scratch, double *parts) {
    size_t size = t->r + 1;
    double sum = 0.0;
#pragma omp parallel for num_threads(t->threads) schedule(dynamic)
    for (size_t k = 0; k < t->K; k++) {
        double *own = scratch + k * head_scratch(t->r);
        parts[k] = 0.0;
        if (!(t->total[k] > 0.0)) continue;
        fit_head(heads + k * size, t, k, own);
        parts[k] = head_objective(own, t, k, heads + k * size);
    }
    for (size_t k = 0; k < t->K; k++) sum += parts[k];
    return sum;
}

/* ---- the gradient by the subspace ---- */

typedef struct slope {
    const task *t;
    const karma_i_subspace *subspace;
    const double *heads;
    karma_i_estep estep;
    double *u; /* of a batch */
    double *by_W, *by_mean;
} slope;

/* g = Σ_k s_ik ℓ̃'_k v_k / Σ s, and u = G⁻¹g, of row `row` of the batch, `index` of the whole. */
static void pull(const slope *s, size_t row, size_t index) {
    const task *t = s->t;
    size_t r = t->r;
    const double *z = s->estep.posterior.z + row * s->estep.posterior.z_stride + 1;
    const double *covariance = s->estep.posterior.second + row * s->estep.posterior.second_stride;
    double *u = s->u + row * r, *g = karma_i_estep_scratch(&s->estep);
    memset(g, 0, r * sizeof *g);
    for (size_t k = 0; k < t->K; k++) {
        const double weight = step_weight(t->labels, index, k), *head = s->heads + k * (r + 1);
        double slope_at;
        if (!(weight > 0.0)) continue;
        (void)karma_i_refine_smooth(&slope_at, &t->labels->losses[k], head[0] + dot(head + 1, z, r),
                                    t->labels->targets[index * t->K + k]);
        for (size_t l = 0; l < r; l++) g[l] += weight * slope_at / t->total[k] * head[l + 1];
    }
    memset(u, 0, r * sizeof *u);
    for (size_t a = 0; a < r; a++) {
        const double *entries = covariance + karma_i_packed_size(a + 1) + 1;
        for (size_t b = 0; b < a; b++) {
            u[a] += entries[b] * g[b];
            u[b] += entries[b] * g[a];
        }
        u[a] += entries[a] * g[a];
    }
    for (size_t a = 0; a < r; a++) u[a] /= s->subspace->sigma2;
}

/* Adds the rows of a batch to the features of one range: every sum by one thread, in the order of the
 * rows. */
static void push(const slope *s, size_t n_rows, size_t range) {
    size_t r = s->t->r;
    const karma_i_cell_lists *cells = &s->estep.cells;
    for (size_t i = 0; i < n_rows; i++) {
        const double *z = s->estep.posterior.z + i * s->estep.posterior.z_stride + 1, *u = s->u + i * r;
        karma_i_cell_range run = karma_i_range_features(cells, i, range);
        for (size_t c = run.first; c < run.first + run.count; c++) {
            size_t f = cells->feature[c];
            const double *w = s->subspace->W + f * r, scale = s->estep.loadings.scale[f];
            double along = scale * scale * dot(w, u, r), rest = scale * (cells->x[c] - scale * dot(w, z, r));
            for (size_t l = 0; l < r; l++) s->by_W[f * r + l] += rest * u[l] - along * z[l];
            s->by_mean[f] -= along;
        }
    }
}

static void add_batch(slope *s, karma_i_view batch, size_t offset) {
#pragma omp parallel num_threads(s->t->threads)
    {
#pragma omp for schedule(dynamic, 4)
        for (size_t i = 0; i < batch.count; i += KARMA_I_LANES) {
            size_t count = karma_i_estep_group(&s->estep, batch, i, KARMA_I_COVARIANCE);
            for (size_t l = 0; l < count; l++) pull(s, i + l, offset + i + l);
        }
#pragma omp for schedule(dynamic)
        for (size_t range = 0; range < s->estep.cells.n_ranges; range++) push(s, batch.count, range);
    }
}

static karma_status differentiate(double *by_W, double *by_mean, const task *t, const karma_i_subspace *subspace,
                                  const double *heads, karma_i_view rows, karma_error *err) {
    slope s = {.t = t, .subspace = subspace, .heads = heads, .by_W = by_W, .by_mean = by_mean};
    size_t most_rows = rows.count < MOST_ROWS ? rows.count : MOST_ROWS;
    memset(by_W, 0, subspace->n_features * t->r * sizeof *by_W);
    memset(by_mean, 0, subspace->n_features * sizeof *by_mean);
    if (rows.count == 0) return KARMA_OK;
    KARMA_TRY(karma_i_estep_init(&s.estep, rows.rows, t->r, most_rows, (size_t)t->threads, t->threads, err));
    karma_i_estep_set(&s.estep, subspace);
    s.u = karma_i_alloc(most_rows, t->r * sizeof *s.u);
    karma_status st = s.u ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t offset = 0; offset < rows.count && st == KARMA_OK; offset += most_rows) {
        size_t left = rows.count - offset;
        karma_i_view batch = {rows.rows, rows.first + offset, left < most_rows ? left : most_rows};
        st = karma_i_cell_lists_reserve(&s.estep.cells, batch, err);
        if (st == KARMA_OK) add_batch(&s, batch, offset);
    }
    karma_i_free(s.u);
    karma_i_estep_clear(&s.estep);
    return st;
}

karma_status karma_i_refine_objective(double *value, double *by_W, double *by_mean, const karma_i_subspace *subspace,
                                      const double *heads, karma_i_view rows, const karma_i_supervision *labels,
                                      int threads, karma_error *err) {
    task t;
    KARMA_TRY(init_task(&t, subspace->rank, rows, labels, threads, err));
    double *gradient = karma_i_alloc(t.r + 1, sizeof *gradient), sum = 0.0;
    karma_status st = gradient ? karma_i_locate(t.z, subspace, rows, threads, err) : karma_i_fail_memory(err);
    for (size_t k = 0; st == KARMA_OK && k < t.K; k++)
        if (t.total[k] > 0.0) sum += head_objective(gradient, &t, k, heads + k * (t.r + 1));
    if (st == KARMA_OK && by_W && by_mean) st = differentiate(by_W, by_mean, &t, subspace, heads, rows, err);
    if (st == KARMA_OK) *value = sum;
    karma_i_free(gradient);
    clear_task(&t);
    return st;
}

/* ---- steps ---- */

/* A subspace with its heads. `place` is (mean, W) in one array, into which the subspace's pointers point. */
typedef struct state {
    karma_i_subspace subspace;
    double *place, *gradient, *heads, *held_out; /* held_out: the loss of every row held out, 0 for others */
    double F, loss;                              /* loss: mean over the labelled rows held out */
} state;

typedef struct search {
    task t;
    karma_i_view rows;
    size_t size; /* of a place */
    size_t n_held_out;
    double *scratch, *parts;
    state at, next, best, start;
} search;

static void clear_state(state *s) {
    karma_i_free(s->place);
    karma_i_free(s->gradient);
    karma_i_free(s->heads);
    karma_i_free(s->held_out);
}

static void clear_search(search *s) {
    clear_task(&s->t);
    karma_i_free(s->scratch);
    karma_i_free(s->parts);
    clear_state(&s->at);
    clear_state(&s->next);
    clear_state(&s->best);
    clear_state(&s->start);
}

static karma_status init_state(state *out, const search *s, const karma_i_subspace *like, karma_error *err) {
    size_t d = like->n_features;
    *out = (state){.subspace = *like};
    out->place = karma_i_zalloc(s->size, sizeof *out->place);
    out->gradient = karma_i_zalloc(s->size, sizeof *out->gradient);
    out->heads = karma_i_zalloc(s->t.K, (s->t.r + 1) * sizeof *out->heads);
    out->held_out = karma_i_zalloc(s->t.n, sizeof *out->held_out);
    if (!out->place || !out->gradient || !out->heads || !out->held_out) return karma_i_fail_memory(err);
    out->subspace.mean = out->place;
    out->subspace.W = out->place + d;
    memcpy(out->subspace.mean, like->mean, d * sizeof *like->mean);
    memcpy(out->subspace.W, like->W, d * like->rank * sizeof *like->W);
    return KARMA_OK;
}

static void copy_state(state *to, const state *from, const search *s) {
    memcpy(to->place, from->place, s->size * sizeof *to->place);
    memcpy(to->gradient, from->gradient, s->size * sizeof *to->gradient);
    memcpy(to->heads, from->heads, s->t.K * (s->t.r + 1) * sizeof *to->heads);
    memcpy(to->held_out, from->held_out, s->t.n * sizeof *to->held_out);
    to->F = from->F;
    to->loss = from->loss;
}

static int is_labelled(const karma_i_supervision *labels, size_t row) {
    for (size_t k = 0; k < labels->n_outputs; k++)
        if (labels->weights[row * labels->n_outputs + k] > 0.0) return 1;
    return 0;
}

static karma_status init_search(search *s, const karma_i_subspace *subspace, karma_i_view rows,
                                const karma_i_supervision *labels, int threads, karma_error *err) {
    *s = (search){.rows = rows, .size = subspace->n_features * (subspace->rank + 1)};
    KARMA_TRY(init_task(&s->t, subspace->rank, rows, labels, threads, err));
    for (size_t i = 0; i < s->t.n; i++) s->n_held_out += labels->is_held_out[i] && is_labelled(labels, i);
    s->scratch = karma_i_alloc(s->t.K, head_scratch(s->t.r) * sizeof *s->scratch);
    s->parts = karma_i_alloc(s->t.K, sizeof *s->parts);
    karma_status st = s->scratch && s->parts ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = init_state(&s->at, s, subspace, err);
    if (st == KARMA_OK) st = init_state(&s->next, s, subspace, err);
    if (st == KARMA_OK) st = init_state(&s->best, s, subspace, err);
    if (st == KARMA_OK) st = init_state(&s->start, s, subspace, err);
    if (st != KARMA_OK) clear_search(s);
    return st;
}

/* The loss of the held-out rows, not smoothed. */
static void judge(state *at, const search *s) {
    const karma_i_supervision *labels = s->t.labels;
    size_t r = s->t.r, K = s->t.K;
    at->loss = 0.0;
    for (size_t i = 0; i < s->t.n; i++) {
        double sum = 0.0;
        for (size_t k = 0; labels->is_held_out[i] && k < K; k++) {
            const double weight = labels->weights[i * K + k], *head = at->heads + k * (r + 1);
            const karma_i_task_loss *loss = &labels->losses[k];
            if (weight > 0.0)
                sum += weight * loss->value(head[0] + dot(head + 1, s->t.z + i * r, r), labels->targets[i * K + k],
                                            loss->parameter);
        }
        at->held_out[i] = sum;
        at->loss += s->n_held_out ? sum / (double)s->n_held_out : 0.0;
    }
}

/* Heads and F of a place, starting from its present heads. */
static karma_status evaluate(state *at, search *s, karma_error *err) {
    KARMA_TRY(karma_i_locate(s->t.z, &at->subspace, s->rows, s->t.threads, err));
    at->F = fit_heads(at->heads, &s->t, s->scratch, s->parts);
    return KARMA_OK;
}

static karma_status differentiate_at(state *at, const search *s, karma_error *err) {
    size_t d = at->subspace.n_features;
    return differentiate(at->gradient + d, at->gradient, &s->t, &at->subspace, at->heads, s->rows, err);
}

/* Steps from s->at down the gradient to s->next; the length is halved until F falls enough. Returns 0 if it
 * does not. */
static karma_status descend(int *found, search *s, double *length, karma_error *err) {
    double square = dot(s->at.gradient, s->at.gradient, s->size);
    *found = 0;
    for (int n = 0; n < HALVINGS && !*found && square > 0.0; n++) {
        for (size_t l = 0; l < s->size; l++) s->next.place[l] = s->at.place[l] - *length * s->at.gradient[l];
        memcpy(s->next.heads, s->at.heads, s->t.K * (s->t.r + 1) * sizeof *s->next.heads);
        KARMA_TRY(evaluate(&s->next, s, err));
        *found = s->next.F <= s->at.F - SUFFICIENT * *length * square;
        if (!*found) *length *= 0.5;
    }
    return KARMA_OK;
}

/* The length of the next step, by Barzilai and Borwein (1988): Δx·Δx/Δx·Δg; the last length again if F does
 * not bend upwards. */
static double next_length(const search *s, double last) {
    double squares = 0.0, bend = 0.0;
    for (size_t l = 0; l < s->size; l++) {
        double moved = s->next.place[l] - s->at.place[l];
        squares += moved * moved;
        bend += moved * (s->next.gradient[l] - s->at.gradient[l]);
    }
    return bend > 0.0 ? squares / bend : last;
}

static karma_status take_steps(karma_i_refinement *out, search *s, size_t steps, const karma_hooks *hooks,
                               karma_error *err) {
    KARMA_TRY(evaluate(&s->at, s, err));
    judge(&s->at, s);
    KARMA_TRY(differentiate_at(&s->at, s, err));
    copy_state(&s->start, &s->at, s);
    copy_state(&s->best, &s->at, s);
    double square = dot(s->at.gradient, s->at.gradient, s->size);
    double length = square > 0.0 ? FIRST_STEP * sqrt(dot(s->at.place, s->at.place, s->size) / square) : 0.0;
    for (size_t step = 1; step <= steps && step <= out->n_steps + PATIENCE; step++) {
        int found = 0;
        if (karma_i_progress(hooks, "refining", step, steps)) break;
        KARMA_TRY(descend(&found, s, &length, err));
        if (!found) break;
        judge(&s->next, s);
        KARMA_TRY(differentiate_at(&s->next, s, err));
        length = next_length(s, length);
        copy_state(&s->at, &s->next, s);
        out->n_tried = step;
        if (s->at.loss < s->best.loss) {
            copy_state(&s->best, &s->at, s);
            out->n_steps = step;
        }
    }
    return KARMA_OK;
}

/* Is the loss of the held-out rows smaller by more than this number of standard errors of the difference? */
static int is_better(const search *s) {
    const karma_i_supervision *labels = s->t.labels;
    double sum = 0.0, squares = 0.0, n = (double)s->n_held_out;
    for (size_t i = 0; i < s->t.n; i++) sum += s->start.held_out[i] - s->best.held_out[i];
    for (size_t i = 0; i < s->t.n; i++) {
        if (!labels->is_held_out[i] || !is_labelled(labels, i)) continue;
        double rest = s->start.held_out[i] - s->best.held_out[i] - sum / n;
        squares += rest * rest;
    }
    return sum > SURE * sqrt(squares);
}

karma_status karma_i_refine(karma_i_subspace *subspace, karma_i_refinement *out, karma_i_view rows,
                            const karma_i_supervision *labels, size_t steps, int threads, const karma_hooks *hooks,
                            karma_error *err) {
    search s;
    *out = (karma_i_refinement){0};
    KARMA_TRY(init_search(&s, subspace, rows, labels, threads, err));
    karma_status st = KARMA_OK;
    if (subspace->rank > 0 && s.n_held_out > 0) st = take_steps(out, &s, steps, hooks, err);
    if (st == KARMA_OK) {
        out->n_held_out = s.n_held_out;
        out->before = s.start.loss;
        out->after = s.best.loss;
        if (out->n_steps > 0 && is_better(&s)) {
            memcpy(subspace->mean, s.best.subspace.mean, subspace->n_features * sizeof *subspace->mean);
            memcpy(subspace->W, s.best.subspace.W, subspace->n_features * subspace->rank * sizeof *subspace->W);
        } else {
            out->n_steps = 0;
        }
    }
    clear_search(&s);
    return st;
}

karma_status karma_i_refine_heads(double *heads, const karma_i_subspace *subspace, karma_i_view rows,
                                  const karma_i_supervision *labels, int threads, karma_error *err) {
    search s;
    KARMA_TRY(init_search(&s, subspace, rows, labels, threads, err));
    karma_status st = evaluate(&s.at, &s, err);
    if (st == KARMA_OK) memcpy(heads, s.at.heads, s.t.K * (s.t.r + 1) * sizeof *heads);
    clear_search(&s);
    return st;
}
