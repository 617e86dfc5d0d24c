#include "kernel/kernel_build.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* Rows among which distances are averaged, evenly spread over all. */
enum { SAMPLE = 512 };
static const double SMALLEST_SPREAD = 1e-26;

/* ν: the mean number of observed attributes of these rows, the bias among them, or the number that was given. */
static double learn_scale(const karma_i_plan_factor *plan, const karma_i_rows *rows) {
    if (plan->scale != KARMA_SCALE_MEAN) return plan->scale;
    double observed = 0.0;
    for (size_t i = 0; i < rows->n_rows; i++) observed += (double)karma_i_rows_n_observed(rows, i);
    double mean = observed / (double)rows->n_rows + (plan->bias != 0.0 ? 1.0 : 0.0);
    return mean > 0.0 ? mean : 1.0;
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

/* Everything but what an outer map must learn. */
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

static double mean_square(const karma_i_factor *factor, const karma_i_rows *rows) {
    double sum = 0.0;
    for (size_t i = 0; i < rows->n_rows; i++) sum += karma_i_factor_square(factor, rows, i);
    return sum / (double)rows->n_rows;
}

/* Mean of k(x,x) + k(y,y) - 2 k(x,y) over all pairs of the sample. Pairs of a row with itself, which are 0, count: so a
 * table with every row twice has the same mean. */
static karma_status mean_squared_distance(double *out, const karma_i_factor *factor, const karma_i_rows *rows,
                                          int threads, karma_error *err) {
    size_t n = rows->n_rows < SAMPLE ? rows->n_rows : SAMPLE, index[SAMPLE] = {0};
    karma_i_factor bare = *factor; /* its own encoding is the only one here, and it is not mapped */
    bare.encoding = 0;
    bare.map = (karma_i_map){.spread = 1.0};
    karma_i_term term = {1.0, 0, 1};
    karma_i_kernel kernel = {1, 1, &term, &bare, karma_i_paths()[0]};
    karma_i_rows *sample = NULL;
    float *gram = karma_i_alloc_aligned(n, n * sizeof *gram);
    for (size_t i = 0; i < n; i++) index[i] = i * rows->n_rows / n;
    karma_status st = gram ? karma_i_rows_select_encoding(&sample, rows, index, n, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK && karma_i_kernel_gram(gram, n, &kernel, karma_i_rows_all(sample), threads) != KARMA_OK)
        st = karma_i_fail_memory(err);
    double sum = 0.0;
    for (size_t i = 0; st == KARMA_OK && i < n; i++)
        for (size_t j = 0; j < i; j++)
            sum += (double)gram[i * n + i] + (double)gram[j * n + j] - 2.0 * (double)gram[i * n + j];
    if (st == KARMA_OK) *out = sum / (0.5 * (double)n * (double)n);
    karma_i_rows_free(sample);
    karma_i_free(gram);
    return st;
}

static karma_status learn_spread(karma_i_factor *factor, const karma_i_rows *rows, int threads, karma_error *err) {
    double spread = 1.0;
    karma_outer kind = factor->map.kind;
    if (kind == KARMA_OUTER_RBF || kind == KARMA_OUTER_LAPLACE)
        KARMA_TRY(mean_squared_distance(&spread, factor, rows, threads, err));
    else if (kind == KARMA_OUTER_POLY || kind == KARMA_OUTER_SERIES)
        spread = mean_square(factor, rows);
    /* no spread: all rows are the same, or so small that single precision cannot divide by it (and by width²) */
    factor->map.spread = spread > SMALLEST_SPREAD && isfinite(spread) ? spread : 1.0;
    return KARMA_OK;
}

karma_status karma_i_kernel_learn(karma_i_kernel *kernel, const karma_i_plan_kernel *plan, const karma_i_rows *rows,
                                  int threads, karma_error *err) {
    karma_i_factor_facts *facts = karma_i_alloc(plan->n_factors, sizeof *facts);
    if (!facts) return karma_i_fail_memory(err);
    for (size_t f = 0; f < plan->n_factors; f++) {
        const karma_i_rows *encoding = karma_i_rows_encoding(rows, plan->factors[f].encoding);
        facts[f] =
            (karma_i_factor_facts){learn_scale(&plan->factors[f], encoding), 1.0, karma_i_largest_overlap(encoding)};
    }
    karma_status st = karma_i_kernel_restore(kernel, plan, facts, err);
    karma_i_free(facts);
    if (st != KARMA_OK) return st;
    for (size_t f = 0; st == KARMA_OK && f < plan->n_factors; f++)
        st = learn_spread(&kernel->factors[f], karma_i_rows_encoding(rows, plan->factors[f].encoding), threads, err);
    if (st != KARMA_OK) karma_i_kernel_clear(kernel);
    return st;
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
