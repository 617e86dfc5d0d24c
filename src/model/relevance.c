/* The weight of an attribute is the effect of its absence. With a machine f learned on some rows,
 *
 *     a_j = root of the mean over rows of |f(x) - f(x without j)|²
 *
 * and the next machine uses Σ_j a_j κ_j instead of Σ_j κ_j; this is repeated a few times, starting from a_j =
 * 1. Irrelevant columns, which add noise to all distances, get small weights; if all matter equally, little
 * changes. This is the idea of recursive feature machines (Radhakrishnan, Beaglehole, Pandit, Belkin:
 * Mechanism for feature learning in neural networks and backpropagation-free machine learning models, 2024),
 * with hidden cells instead of gradients: κ need not be differentiable, and these kernels handle hidden cells
 * well.
 *
 * The machine is kernel ridge regression on exp(-D/s), D the squared distance under Σ_j a_j κ_j:
 * f = K α, (K + λS⁻¹) α = y - mean y with the weights S of the rows, which also weight the means over rows;
 * the weight of a row is the largest of those of its labels. Hiding j in x takes a_j κ_j off the products of
 * x with all others and itself. */
#include "model/relevance.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernel/kernel.h"
#include "linalg/packed.h"

enum { ROUNDS = 2, MOST_ROWS = 256, LEAST_ROWS = 32 };

/* Of κ_j, rows × rows for every attribute. */
static const double MOST_VALUES = 3e7;

/* λ: labels are noisy. */
static const double RIDGE = 0.1;

size_t karma_i_relevance_rows(size_t n_attributes) {
    double rows = sqrt(MOST_VALUES / (double)(n_attributes ? n_attributes : 1));
    return rows > MOST_ROWS ? (size_t)MOST_ROWS : rows < LEAST_ROWS ? (size_t)LEAST_ROWS : (size_t)rows;
}

typedef struct machine {
    size_t n, n_attributes, n_outputs;
    int threads;
    const karma_i_path *path;
    float *kappa;    /* κ_j of all pairs, attribute by attribute */
    float *sum;      /* Σ_j a_j κ_j of all pairs */
    float *diagonal; /* of it */
    float *gram;     /* exp(-D/s) */
    double *factor;  /* of R K R + λI, packed; R = S^½ */
    double *root;    /* R: roots of the rows' weights */
    double *y;       /* centred targets, output by output */
    double *alpha;   /* output by output */
    double *scores;  /* output by output */
    karma_i_map map;
} machine;

static void clear_machine(machine *m) {
    karma_i_free(m->kappa);
    karma_i_free(m->sum);
    karma_i_free(m->diagonal);
    karma_i_free(m->gram);
    karma_i_free(m->factor);
    karma_i_free(m->root);
    karma_i_free(m->y);
    karma_i_free(m->alpha);
    karma_i_free(m->scores);
}

static karma_status init_machine(machine *m, const karma_i_rows *rows, size_t n_outputs, int threads,
                                 karma_error *err) {
    size_t n = rows->n_rows, d = rows->n_attributes;
    *m = (machine){.n = n, .n_attributes = d, .n_outputs = n_outputs, .threads = threads, .path = karma_i_paths()[0]};
    m->kappa = karma_i_alloc_aligned(d, n * n * sizeof *m->kappa);
    m->sum = karma_i_alloc_aligned(n, n * sizeof *m->sum);
    m->diagonal = karma_i_alloc(n, sizeof *m->diagonal);
    m->gram = karma_i_alloc_aligned(n, n * sizeof *m->gram);
    m->factor = karma_i_alloc(karma_i_packed_size(n), sizeof *m->factor);
    m->root = karma_i_alloc(n, sizeof *m->root);
    m->y = karma_i_alloc(n, n_outputs * sizeof *m->y);
    m->alpha = karma_i_alloc(n, n_outputs * sizeof *m->alpha);
    m->scores = karma_i_alloc(n, n_outputs * sizeof *m->scores);
    if (!m->kappa || !m->sum || !m->diagonal || !m->gram || !m->factor || !m->root || !m->y || !m->alpha || !m->scores)
        return karma_i_fail_memory(err);
    m->map = (karma_i_map){.kind = KARMA_OUTER_RBF, .width = 1.0};
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k <= i; k++)
                m->kappa[(j * n + i) * n + k] = m->kappa[(j * n + k) * n + i] =
                    (float)karma_i_kappa(rows, i, rows, k, j);
    return KARMA_OK;
}

/* Labels without weight count as average labels. */
static void centre_targets(machine *m, const double *targets, const double *label_weights) {
    size_t n = m->n, K = m->n_outputs;
    for (size_t i = 0; i < n; i++) {
        double largest = 0.0;
        for (size_t o = 0; o < K; o++) largest = fmax(largest, label_weights[i * K + o]);
        m->root[i] = sqrt(largest);
    }
    for (size_t o = 0; o < K; o++) {
        double sum = 0.0, total = 0.0;
        for (size_t i = 0; i < n; i++) {
            if (!(label_weights[i * K + o] > 0.0)) continue;
            sum += label_weights[i * K + o] * targets[i * K + o];
            total += label_weights[i * K + o];
        }
        for (size_t i = 0; i < n; i++)
            m->y[o * n + i] = label_weights[i * K + o] > 0.0 ? targets[i * K + o] - sum / total : 0.0;
    }
}

/* Σ_j a_j κ_j, its scale s, and the machine over it. False where all products are 0. */
static int learn_machine(machine *m, const double *a) {
    size_t n = m->n, K = m->n_outputs;
    double trace = 0.0;
    memset(m->sum, 0, n * n * sizeof *m->sum);
    for (size_t j = 0; j < m->n_attributes; j++) {
        const float weight = (float)a[j], *kappa = m->kappa + j * n * n;
        for (size_t k = 0; k < n * n; k++) m->sum[k] += weight * kappa[k];
    }
    for (size_t i = 0; i < n; i++) trace += (double)(m->diagonal[i] = m->sum[i * n + i]);
    m->map.spread = 2.0 * trace / (double)n;
    if (!(m->map.spread > 0.0)) return 0;
    memcpy(m->gram, m->sum, n * n * sizeof *m->gram);
    m->path->map(m->gram, n, n, n, &m->map, m->diagonal, m->diagonal);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++)
            m->factor[karma_i_packed_size(i) + k] =
                m->root[i] * m->root[k] * (double)m->gram[i * n + k] + (i == k ? RIDGE : 0.0);
    karma_i_packed_cholesky(m->factor, n);
    for (size_t o = 0; o < K; o++) {
        double *alpha = m->alpha + o * n;
        for (size_t i = 0; i < n; i++) alpha[i] = m->root[i] * m->y[o * n + i];
        karma_i_packed_solve(alpha, m->factor, n);
        for (size_t i = 0; i < n; i++) alpha[i] *= m->root[i];
        for (size_t i = 0; i < n; i++) m->scores[o * n + i] = m->path->dot(m->gram + i * n, alpha, n);
    }
    return 1;
}

/* Σ over rows and outputs of the row's weight times the squared change of the score when attribute j is hidden. `row`:
 * room for n values. */
static double absence(const machine *m, size_t j, double weight, float *row) {
    size_t n = m->n;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        const float *kappa = m->kappa + (j * n + i) * n, a = (float)weight;
        float own = m->diagonal[i] - a * kappa[i];
        if (kappa[i] == 0.0F) continue; /* hidden already, or it has no weight */
        for (size_t k = 0; k < n; k++) row[k] = m->sum[i * n + k] - a * kappa[k];
        m->path->map(row, n, 1, n, &m->map, &own, m->diagonal);
        for (size_t o = 0; o < m->n_outputs; o++)
            sum += pow(m->root[i] * (m->path->dot(row, m->alpha + o * n, n) - m->scores[o * n + i]), 2.0);
    }
    return sum;
}

/* The next weights, with a mean of 1. False if all of them have no effect. */
static karma_status weigh(double *a, const machine *m, int *is_felt, karma_error *err) {
    size_t n = m->n, d = m->n_attributes;
    double total = 0.0;
    float *rows = karma_i_alloc_aligned(d, n * sizeof *rows);
    if (!rows) return karma_i_fail_memory(err);
#pragma omp parallel for num_threads(m->threads) schedule(dynamic)
    for (size_t j = 0; j < d; j++) a[j] = sqrt(absence(m, j, a[j], rows + j * n));
    for (size_t j = 0; j < d; j++) total += a[j];
    *is_felt = total > 0.0 && isfinite(total);
    for (size_t j = 0; j < d; j++) a[j] = *is_felt ? a[j] * (double)d / total : 1.0;
    karma_i_free(rows);
    return KARMA_OK;
}

karma_status karma_i_relevance_learn(double *weights, const karma_i_rows *rows, const double *targets,
                                     const double *label_weights, size_t n_outputs, int threads, karma_error *err) {
    machine m;
    int is_felt = 1;
    double largest = 0.0;
    for (size_t j = 0; j < rows->n_attributes; j++) weights[j] = 1.0;
    karma_status st = init_machine(&m, rows, n_outputs, threads, err);
    if (st == KARMA_OK) centre_targets(&m, targets, label_weights);
    for (int round = 0; st == KARMA_OK && is_felt && round < ROUNDS; round++)
        if ((is_felt = learn_machine(&m, weights))) st = weigh(weights, &m, &is_felt, err);
    for (size_t j = 0; j < rows->n_attributes; j++) largest = fmax(largest, weights[j]);
    for (size_t j = 0; j < rows->n_attributes; j++) weights[j] /= largest;
    clear_machine(&m);
    return st;
}
