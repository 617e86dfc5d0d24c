#include "kernel/kernel_build.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static const double SMALLEST_SPREAD = 1e-26;

/* The data from which the parameters of a kernel are learned. */
typedef struct lesson {
    const karma_i_rows *rows, *sample; /* in the encoding of the factor; sample NULL: taken from the rows */
    karma_i_partition split;
    const karma_i_factor *factor;
    int threads;
} lesson;

static void add_observed(double *sum, const void *payload, size_t first, size_t end) {
    const lesson *l = payload;
    for (size_t i = first; i < end; i++) *sum += (double)karma_i_rows_n_observed(l->rows, i);
}

/* ν: the given number, or the mean number of observed attributes of these rows, counting the bias. */
static karma_status learn_scale(double *out, const karma_i_plan_factor *plan, const lesson *l, karma_error *err) {
    double observed = 0.0;
    *out = plan->scale;
    if (plan->scale != KARMA_SCALE_MEAN) return KARMA_OK;
    KARMA_TRY(karma_i_partition_sum(&observed, 1, &l->split, add_observed, l, err));
    double mean = observed / (double)l->split.n_rows + (plan->bias != 0.0 ? 1.0 : 0.0);
    *out = mean > 0.0 ? mean : 1.0;
    return KARMA_OK;
}

size_t karma_i_largest_overlap(const karma_i_rows *rows) {
    size_t most = 0;
    for (size_t i = 0; i < rows->n_rows; i++) {
        size_t observed = karma_i_rows_n_observed(rows, i);
        if (observed > most) most = observed;
    }
    return most;
}

karma_i_factor_facts karma_i_factor_known(const karma_i_factor *factor) {
    return (karma_i_factor_facts){factor->scale, factor->map.spread, factor->largest_overlap};
}

/* Everything except what an outer map must learn. */
static karma_status make_factor(karma_i_factor *factor, const karma_i_plan_factor *plan,
                                const karma_i_factor_facts *facts, karma_error *err) {
    *factor = (karma_i_factor){.encoding = plan->encoding,
                               .gamma = plan->gamma,
                               .scale = facts->scale,
                               .bias = plan->bias,
                               .largest_overlap = facts->largest_overlap,
                               .is_share = karma_i_kind_of(plan->kind)->is_share,
                               .map = plan->map};
    factor->map.coefficients = NULL;
    factor->map.spread = facts->spread;
    if (plan->map.coefficients) {
        factor->map.coefficients = karma_i_alloc(plan->map.degree + 1, sizeof *plan->map.coefficients);
        if (!factor->map.coefficients) return karma_i_fail_memory(err);
        memcpy(factor->map.coefficients, plan->map.coefficients,
               (plan->map.degree + 1) * sizeof *plan->map.coefficients);
    }
    return karma_i_factor_weigh(factor, err);
}

karma_status karma_i_kernel_restore(karma_i_kernel *kernel, const karma_i_plan_kernel *plan,
                                    const karma_i_factor_facts *facts, karma_error *err) {
    karma_status st = karma_i_kernel_alloc(kernel, plan->n_terms, plan->n_factors, err);
    for (size_t t = 0; st == KARMA_OK && t < plan->n_terms; t++) kernel->terms[t] = plan->terms[t];
    for (size_t f = 0; st == KARMA_OK && f < plan->n_factors; f++)
        st = make_factor(&kernel->factors[f], &plan->factors[f], &facts[f], err);
    if (st != KARMA_OK) karma_i_kernel_clear(kernel);
    return st;
}

static void add_squares(double *sum, const void *payload, size_t first, size_t end) {
    const lesson *l = payload;
    for (size_t i = first; i < end; i++) *sum += karma_i_factor_square(l->factor, l->rows, i);
}

static karma_status mean_square(double *out, const lesson *l, karma_error *err) {
    KARMA_TRY(karma_i_partition_sum(out, 1, &l->split, add_squares, l, err));
    *out /= (double)l->split.n_rows;
    return KARMA_OK;
}

/* Mean of k(x,x) + k(y,y) - 2 k(x,y) over all pairs of the sample. Pairs of a row with itself count, as 0, so
 * that a table with every row twice has the same mean. */
static karma_status mean_squared_distance(double *out, const lesson *l, karma_error *err) {
    size_t index[KARMA_I_DISTANCE_ROWS], n = karma_i_distance_rows(index, l->split.n_rows);
    karma_i_rows *own = NULL;
    karma_i_factor bare = *l->factor; /* its own encoding is the only one here, and it is not mapped */
    bare.encoding = 0;
    bare.map = (karma_i_map){.spread = 1.0};
    karma_i_term term = {1.0, 0, 1};
    karma_i_kernel kernel = {1, 1, &term, &bare, karma_i_paths()[0]};
    float *gram = karma_i_alloc_aligned(n, n * sizeof *gram);
    karma_status st = gram ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && !l->sample) st = karma_i_rows_select_encoding(&own, l->rows, index, n, err);
    const karma_i_rows *sample = l->sample ? l->sample : own;
    if (st == KARMA_OK && karma_i_kernel_gram(gram, n, &kernel, karma_i_rows_all(sample), l->threads) != KARMA_OK)
        st = karma_i_fail_memory(err);
    double sum = 0.0;
    for (size_t i = 0; st == KARMA_OK && i < n; i++)
        for (size_t j = 0; j < i; j++)
            sum += (double)gram[i * n + i] + (double)gram[j * n + j] - 2.0 * (double)gram[i * n + j];
    if (st == KARMA_OK) *out = sum / (0.5 * (double)n * (double)n);
    karma_i_rows_free(own);
    karma_i_free(gram);
    return st;
}

static karma_status learn_spread(karma_i_factor *factor, const lesson *l, karma_error *err) {
    double spread = 1.0;
    karma_outer kind = factor->map.kind;
    if (kind == KARMA_OUTER_RBF || kind == KARMA_OUTER_LAPLACE)
        KARMA_TRY(mean_squared_distance(&spread, l, err));
    else if (kind == KARMA_OUTER_POLY || kind == KARMA_OUTER_SERIES)
        KARMA_TRY(mean_square(&spread, l, err));
    /* no spread: all rows are the same, or so small that single precision cannot divide by it (and by width²) */
    factor->map.spread = spread > SMALLEST_SPREAD && isfinite(spread) ? spread : 1.0;
    return KARMA_OK;
}

static karma_status learn_facts(karma_i_factor_facts *facts, const karma_i_plan_factor *plan, const lesson *l,
                                karma_error *err) {
    double largest = (double)karma_i_largest_overlap(l->rows);
    *facts = (karma_i_factor_facts){.spread = 1.0};
    KARMA_TRY(learn_scale(&facts->scale, plan, l, err));
    KARMA_TRY(karma_i_ranks_largest(&largest, 1, l->split.ranks, err));
    facts->largest_overlap = (size_t)largest;
    return KARMA_OK;
}

static lesson lesson_of(const karma_i_plan_factor *plan, const karma_i_rows *rows, const karma_i_partition *split,
                        const karma_i_rows *sample, int threads) {
    const karma_i_rows *own = karma_i_rows_encoding(rows, plan->encoding);
    return (lesson){.rows = own,
                    .sample = sample ? karma_i_rows_encoding(sample, plan->encoding) : NULL,
                    .split = split ? *split : karma_i_partition_whole(own->n_rows),
                    .threads = threads};
}

karma_status karma_i_kernel_learn_split(karma_i_kernel *kernel, const karma_i_plan_kernel *plan,
                                        const karma_i_rows *rows, const karma_i_partition *split,
                                        const karma_i_rows *sample, int threads, karma_error *err) {
    karma_i_factor_facts *facts = karma_i_alloc(plan->n_factors, sizeof *facts);
    karma_status st = facts ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t f = 0; st == KARMA_OK && f < plan->n_factors; f++) {
        lesson l = lesson_of(&plan->factors[f], rows, split, sample, threads);
        st = learn_facts(&facts[f], &plan->factors[f], &l, err);
    }
    if (st == KARMA_OK) st = karma_i_kernel_restore(kernel, plan, facts, err);
    karma_i_free(facts);
    if (st != KARMA_OK) return st;
    for (size_t f = 0; st == KARMA_OK && f < plan->n_factors; f++) {
        lesson l = lesson_of(&plan->factors[f], rows, split, sample, threads);
        l.factor = &kernel->factors[f];
        st = learn_spread(&kernel->factors[f], &l, err);
    }
    if (st != KARMA_OK) karma_i_kernel_clear(kernel);
    return st;
}

size_t karma_i_distance_rows(size_t index[KARMA_I_DISTANCE_ROWS], size_t n_rows) {
    size_t n = n_rows < KARMA_I_DISTANCE_ROWS ? n_rows : KARMA_I_DISTANCE_ROWS;
    for (size_t i = 0; i < n; i++) index[i] = i * n_rows / n;
    return n;
}

karma_status karma_i_kernel_learn(karma_i_kernel *kernel, const karma_i_plan_kernel *plan, const karma_i_rows *rows,
                                  int threads, karma_error *err) {
    return karma_i_kernel_learn_split(kernel, plan, rows, NULL, NULL, threads, err);
}

/* Numbers this far out cannot come from data, and would overflow the weights. */
static const double LEAST_SCALE = 1e-9, LARGEST_SCALE = 1e18, LEAST_SPREAD = 1e-300, LARGEST_SPREAD = 1e300;

karma_status karma_i_facts_archive(karma_i_archive *a, karma_i_factor_facts *facts, const karma_i_plan_factor *plan,
                                   const karma_i_rows *rows) {
    KARMA_TRY(karma_i_archive_number(a, "scale", &facts->scale, LEAST_SCALE, LARGEST_SCALE));
    KARMA_TRY(karma_i_archive_number(a, "spread", &facts->spread, LEAST_SPREAD, LARGEST_SPREAD));
    KARMA_TRY(karma_i_archive_size(a, "largest_overlap", &facts->largest_overlap, karma_i_largest_overlap(rows),
                                   rows->n_attributes));
    if (plan->scale != KARMA_SCALE_MEAN && plan->scale != facts->scale)
        return karma_i_archive_fail(a, "its scale is not that of its options");
    return KARMA_OK;
}
