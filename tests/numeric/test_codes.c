/* Encoded categories and ranks against the definition of the kernel: codes equal centred indicators, centring
 * removes the mean over the training cells, and the kernel remains an inner product. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "karma/karma.h"
#include "kernel/kernel.h"
#include "linalg/linalg.h"
#include "prep/recipe.h"
#include "table/rows_dense.h"
#include "table/builder.h"

/* --- tables -------------------------------------------------------------------------------------------- */

/* Categories with these numbers of levels, and numbers (0); a cell is observed with probability `share`. */
typedef struct table_shape {
    size_t n_rows, n_attributes;
    const size_t *n_levels;
    double share;
} table_shape;

static void add_attribute(karma_i_builder *builder, size_t j, size_t n_levels) {
    char name[32], **levels = n_levels ? malloc(n_levels * sizeof *levels) : NULL;
    for (size_t l = 0; l < n_levels; l++) {
        levels[l] = malloc(32);
        snprintf(levels[l], 32, "l%06zu", l);
    }
    snprintf(name, sizeof name, "a%zu", j);
    karma_column_kind kind = n_levels ? KARMA_COLUMN_CATEGORY : KARMA_COLUMN_NUMBER;
    assert_int_equal(karma_i_builder_add_attribute(builder, name, kind, levels, n_levels, NULL), KARMA_OK);
}

/* Lower levels are more common; every other number has ties. */
static double draw_cell(size_t n_levels, size_t j, karma_i_rng *rng) {
    double u = karma_i_rng_uniform(rng), x = karma_i_rng_normal(rng);
    if (n_levels) return floor((double)n_levels * u * u);
    return j % 2 ? floor(2.0 * x) : x;
}

static karma_table *draw_table(const table_shape *s, karma_i_rng *rng) {
    karma_i_builder builder;
    karma_table *table = NULL;
    assert_int_equal(karma_i_builder_init(&builder, NULL), KARMA_OK);
    for (size_t j = 0; j < s->n_attributes; j++) add_attribute(&builder, j, s->n_levels[j]);
    for (size_t i = 0; i < s->n_rows; i++) {
        for (size_t j = 0; j < s->n_attributes; j++) {
            double value = draw_cell(s->n_levels[j], j, rng);
            if (karma_i_rng_uniform(rng) < s->share)
                assert_int_equal(karma_i_builder_add_cell(&builder, j, value, NULL), KARMA_OK);
        }
        assert_int_equal(karma_i_builder_end_row(&builder, NULL, 1.0, NULL, NULL), KARMA_OK);
    }
    karma_i_builder_finish(&table, &builder);
    return table;
}

static karma_fit_options options_of(int kernel, int rank_form, int standardise) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.kernel = kernel == KARMA_KERNEL_RANK ? "rank" : NULL;
    o.rank_form = rank_form;
    o.standardise = standardise;
    return o;
}

static karma_i_rows *encode(const karma_table *table, const karma_fit_options *options) {
    karma_i_recipe *recipe = NULL;
    karma_i_rows *rows = NULL;
    karma_error err;
    if (karma_i_recipe_learn(&recipe, table, options->kernel ? KARMA_KERNEL_RANK : KARMA_KERNEL_LINEAR, options, NULL,
                             &err) != KARMA_OK)
        fail_msg("%s", err.message);
    assert_int_equal(karma_i_recipe_apply(&rows, recipe, table, NULL, NULL), KARMA_OK);
    if (karma_i_rows_validate(rows, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(rows->n_attributes, karma_table_n_attributes(table)); /* no column is entirely missing */
    karma_i_recipe_free(recipe);
    return rows;
}

/* --- codes --------------------------------------------------------------------------------------------- */

/* Σ over levels of ([x = l] - p_l)([y = l] - p_l), p the shares among the observed cells; 0 if one is missing. */
static double indicator_kappa(const karma_table *table, size_t i, size_t k, size_t j, int centred) {
    double x, y, sum = 0.0, n = 0.0, value;
    size_t n_levels = karma_table_n_levels(table, j);
    if (!karma_table_cell(table, i, j, &x) || !karma_table_cell(table, k, j, &y)) return 0.0;
    double *count = calloc(n_levels, sizeof *count);
    for (size_t r = 0; centred && r < karma_table_n_rows(table); r++)
        if (karma_table_cell(table, r, j, &value)) count[(size_t)value] += 1.0, n += 1.0;
    for (size_t l = 0; l < n_levels; l++) {
        double p = centred ? count[l] / n : 0.0;
        sum += ((x == (double)l) - p) * ((y == (double)l) - p);
    }
    free(count);
    return sum;
}

static void check_gram(const karma_i_rows *rows, const double *sums, size_t gamma, double bias) {
    size_t n = rows->n_rows;
    karma_i_kernel k;
    float *gram = malloc(n * n * sizeof *gram);
    assert_int_equal(karma_i_kernel_init(&k, gamma, 3.0, bias, rows->n_attributes, NULL), KARMA_OK);
    for (const karma_i_path *const *path = karma_i_paths(); *path; path++) {
        k.path = *path;
        assert_int_equal(karma_i_kernel_gram(gram, n, &k, karma_i_rows_all(rows), 1), KARMA_OK);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                size_t c = karma_i_mask_overlap(karma_i_rows_mask(rows, i), karma_i_rows_mask(rows, j),
                                                karma_i_dense_of(rows)->n_words);
                double w = karma_i_weight(c + (bias != 0.0), gamma, 3.0, 0.0);
                double wanted = w * (sums[i * n + j] + bias * bias), size = w * ((double)(2 * c) + bias * bias);
                if (!(fabs((double)gram[i * n + j] - wanted) <= 1e-6 * size))
                    fail_msg("%s: %g, by indicators %g", k.path->name, (double)gram[i * n + j], wanted);
            }
    }
    karma_i_kernel_clear(&k);
    free(gram);
}

static void codes_equal_centred_indicators(void **state) {
    (void)state;
    static const size_t n_levels[] = {2, 3, 4, 5, 8, 17, 40, 300, 4, 6, 1, 25};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    table_shape shape = {90, sizeof n_levels / sizeof n_levels[0], n_levels, 0.5};
    karma_table *table = draw_table(&shape, &rng);
    double *sums = malloc(90 * 90 * sizeof *sums);
    for (int centred = 0; centred < 2; centred++) {
        karma_fit_options o = options_of(KARMA_KERNEL_LINEAR, KARMA_RANK_FORM_PLAIN, centred);
        karma_i_rows *rows = encode(table, &o);
        assert_int_equal(karma_i_dense_of(rows)->n_codes, 9);
        assert_int_equal(karma_i_dense_of(rows)->n_terms, centred ? 9 : 0);
        for (size_t i = 0; i < 90; i++)
            for (size_t k = 0; k < 90; k++) {
                double sum = 0.0;
                for (size_t j = 0; j < shape.n_attributes; j++) {
                    double wanted = indicator_kappa(table, i, k, j, centred);
                    assert_true(fabs(karma_i_kappa(rows, i, rows, k, j) - wanted) <= 1e-6);
                    sum += wanted;
                }
                sums[i * 90 + k] = sum;
            }
        for (size_t gamma = 1; gamma <= 3; gamma++) check_gram(rows, sums, gamma, gamma == 2 ? 0.0 : 1.0);
        karma_i_rows_free(rows);
    }
    free(sums);
    karma_table_free(table);
}

/* --- centring, and inner products ---------------------------------------------------------------------- */

/* Numbers, categories of few and of many levels. */
static const size_t MIXTURE[] = {0, 5, 0, 3, 30, 0, 0, 9};
enum { N_MIXTURE = sizeof MIXTURE / sizeof MIXTURE[0] };

/* For every attribute the mean of κ(x, ·) over the training cells is 0: a missing cell counts as an average one. */
static void centred_attributes_have_mean_zero(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    table_shape shape = {150, N_MIXTURE, MIXTURE, 0.6};
    karma_table *table = draw_table(&shape, &rng);
    for (int kernel = 0; kernel < 2; kernel++) {
        karma_fit_options o = options_of(kernel ? KARMA_KERNEL_RANK : KARMA_KERNEL_LINEAR, KARMA_RANK_FORM_CENTRED, 1);
        karma_i_rows *rows = encode(table, &o);
        for (size_t j = 0; j < N_MIXTURE; j++)
            for (size_t i = 0; i < 150; i++) {
                double sum = 0.0;
                for (size_t k = 0; k < 150; k++) sum += karma_i_kappa(rows, i, rows, k, j);
                if (!(fabs(sum) <= 150 * 1e-6)) fail_msg("attribute %zu, row %zu: mean %g", j, i, sum / 150.0);
            }
        karma_i_rows_free(rows);
    }
    /* the plain form differs */
    karma_fit_options o = options_of(KARMA_KERNEL_RANK, KARMA_RANK_FORM_PLAIN, 1);
    karma_i_rows *rows = encode(table, &o);
    assert_int_equal(karma_i_rows_has(rows, 0, KARMA_I_HAS_TERM), 0);
    karma_i_rows_free(rows);
    karma_table_free(table);
}

/* Few attributes and many rows, so that the Gram matrix is far from its diagonal. */
static void kernels_stay_positive_semidefinite(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    for (size_t trial = 0; trial < 16; trial++) {
        table_shape shape = {60, 3 + trial % 6, MIXTURE, 0.3 + 0.1 * (double)(trial % 5)};
        karma_table *table = draw_table(&shape, &rng);
        karma_fit_options o = options_of(trial % 4 ? KARMA_KERNEL_RANK : KARMA_KERNEL_LINEAR,
                                         trial % 3 ? KARMA_RANK_FORM_CENTRED : KARMA_RANK_FORM_PLAIN, trial % 2 == 0);
        karma_i_rows *rows = encode(table, &o);
        karma_i_kernel k;
        double gram[60 * 60], values[60];
        assert_int_equal(karma_i_kernel_init(&k, 1 + trial % 4, 2.0, trial % 2 ? 0.5 : 0.0, rows->n_attributes, NULL),
                         KARMA_OK);
        for (size_t i = 0; i < 60; i++)
            for (size_t j = 0; j < 60; j++) gram[60 * i + j] = karma_i_kernel_reference(&k, rows, i, rows, j);
        assert_int_equal(karma_i_eigen_symmetric(values, gram, 60, NULL), KARMA_OK);
        /* terms are kept in single precision */
        if (!(values[0] >= -1e-6 * values[59])) fail_msg("trial %zu: %g of %g", trial, values[0], values[59]);
        karma_i_kernel_clear(&k);
        karma_i_rows_free(rows);
        karma_table_free(table);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_equal_centred_indicators),
        cmocka_unit_test(centred_attributes_have_mean_zero),
        cmocka_unit_test(kernels_stay_positive_semidefinite),
    };
    return cmocka_run_group_tests_name("codes", tests, NULL, NULL);
}
