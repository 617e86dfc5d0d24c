/* karma_lowrank_new: on rows of a known rank, on noise, and λ against the paper's definition written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "karma/karma.h"
#include "prep/recipe.h"

enum { ROWS = 400, COLUMNS = 9 };

static karma_table *low_rank_table(int64_t rank, double noise, double missing) {
    karma_synth_options o;
    karma_table *table = NULL;
    karma_options_init(karma_synth_option_table(), &o);
    o.rows = ROWS, o.dim = COLUMNS, o.rank = rank, o.noise = noise, o.missing = missing;
    assert_int_equal(karma_table_synthesise(&table, NULL, &o, NULL), KARMA_OK);
    return table;
}

static karma_table *noise_table(void) {
    static double cells[ROWS * COLUMNS];
    karma_table *table = NULL;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 8);
    for (size_t k = 0; k < ROWS * COLUMNS; k++) cells[k] = k % 4 ? karma_i_rng_normal(&rng) : NAN;
    assert_int_equal(karma_table_from_array(&table, cells, ROWS, COLUMNS, NULL, NULL), KARMA_OK);
    return table;
}

/* Not standardised: the noise is then the same in every column, as the model has it. */
static karma_fit_options plain_options(int64_t rank) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.subspace_rank = rank;
    o.standardise = 0;
    o.threads = 2;
    return o;
}

static karma_lowrank *report_of(const karma_table *table, const karma_fit_options *options) {
    karma_lowrank *report = NULL;
    karma_error err = {0};
    if (karma_lowrank_new(&report, table, options, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return report;
}

static void a_known_rank_is_found(void **state) {
    (void)state;
    for (int64_t rank = 1; rank <= 3; rank++) {
        karma_table *table = low_rank_table(rank, 0.05, 0.3);
        karma_fit_options o = plain_options((int64_t)KARMA_AUTO);
        karma_lowrank *report = report_of(table, &o);
        assert_int_equal(report->rank, rank);
        assert_int_equal(report->n_directions, rank);
        assert_true(report->n_trials >= 4);
        assert_true(report->verdict == KARMA_LOWRANK_HOLDS && report->explained > 0.8);
        assert_true(report->noise > 0.04 && report->noise < 0.06);
        for (size_t k = 1; k < report->n_directions; k++) assert_true(report->spectrum[k] <= report->spectrum[k - 1]);
        assert_true(report->spectrum[rank - 1] > report->noise);
        karma_lowrank_free(report);
        karma_table_free(table);
    }
}

static void noise_has_no_rank(void **state) {
    (void)state;
    karma_table *table = noise_table();
    karma_fit_options o = plain_options((int64_t)KARMA_AUTO);
    karma_lowrank *report = report_of(table, &o);
    assert_int_equal(report->rank, 0);
    assert_int_equal(report->verdict, KARMA_LOWRANK_NO);
    assert_true(report->explained == 0.0);
    assert_int_equal(report->n_blind, ROWS);
    karma_lowrank_free(report);
    o.subspace_rank = 3; /* even if a rank is requested */
    report = report_of(table, &o);
    assert_int_equal(report->n_trials, 0);
    assert_int_equal(report->verdict, KARMA_LOWRANK_NO);
    karma_lowrank_free(report);
    karma_table_free(table);
}

/* Q of the subspace that these options find. */
static void projection_of(double *Q, const karma_table *table, const karma_fit_options *options) {
    karma_i_recipe *recipe = NULL;
    assert_int_equal(karma_i_recipe_learn(&recipe, table, KARMA_KERNEL_SUBSPACE, options, NULL, NULL), KARMA_OK);
    const karma_i_basis *basis = recipe->latent->basis;
    memset(Q, 0, COLUMNS * COLUMNS * sizeof *Q);
    for (size_t f = 0; f < COLUMNS; f++)
        for (size_t g = 0; g < COLUMNS; g++)
            for (size_t k = 0; k < basis->rank; k++)
                Q[f * COLUMNS + g] += basis->U[f * basis->rank + k] * basis->U[g * basis->rank + k];
    karma_i_recipe_free(recipe);
}

static int is_reconstructible(double *lambda, const double *Q, const unsigned char *observed) {
    int reconstructible = 0;
    assert_int_equal(karma_theory_regularity(lambda, &reconstructible, Q, observed, COLUMNS, NULL), KARMA_OK);
    return reconstructible;
}

static void lambda_is_that_of_the_definition(void **state) {
    (void)state;
    karma_table *table = low_rank_table(3, 0.1, 0.6);
    karma_fit_options o = plain_options(3);
    o.subspace_noise = KARMA_NOISE_COLUMN; /* the report's default, which differs from that of a recipe */
    karma_lowrank *report = report_of(table, &o);
    double Q[COLUMNS * COLUMNS], lambda, ignored;
    size_t n_reconstructible = 0, n_critical[COLUMNS] = {0};
    projection_of(Q, table, &o);
    for (size_t i = 0; i < ROWS; i++) {
        unsigned char observed[COLUMNS];
        size_t n_observed = 0;
        for (size_t j = 0; j < COLUMNS; j++)
            n_observed += observed[j] = (unsigned char)karma_table_cell(table, i, j, &ignored);
        int reconstructible = is_reconstructible(&lambda, Q, observed);
        assert_int_equal(report->n_observed[i], n_observed);
        assert_int_equal(report->is_reconstructible[i], reconstructible);
        assert_true(fabs(report->lambda[i] - lambda) < 1e-8);
        n_reconstructible += (size_t)reconstructible;
        for (size_t j = 0; reconstructible && j < COLUMNS; j++) {
            if (!observed[j]) continue;
            observed[j] = 0;
            n_critical[j] += !is_reconstructible(&lambda, Q, observed);
            observed[j] = 1;
        }
    }
    assert_int_equal(report->n_reconstructible, n_reconstructible);
    assert_memory_equal(report->n_critical, n_critical, sizeof n_critical);
    for (int q = 1; q < KARMA_N_QUARTILES; q++) assert_true(report->quartile[q] >= report->quartile[q - 1]);
    karma_lowrank_free(report);
    karma_table_free(table);
}

static void tables_without_information_are_refused(void **state) {
    (void)state;
    const double nothing[] = {NAN, NAN};
    karma_table *table = NULL;
    karma_lowrank *report = NULL;
    karma_fit_options o = plain_options(1);
    assert_int_equal(karma_table_from_array(&table, nothing, 1, 2, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_lowrank_new(&report, table, &o, NULL, NULL), KARMA_ERR_DATA);
    assert_null(report);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_rank_is_found),
        cmocka_unit_test(noise_has_no_rank),
        cmocka_unit_test(lambda_is_that_of_the_definition),
        cmocka_unit_test(tables_without_information_are_refused),
    };
    return cmocka_run_group_tests_name("lowrank", tests, NULL, NULL);
}
