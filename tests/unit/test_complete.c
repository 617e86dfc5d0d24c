/* karma_complete: completions are in the units of the table, and observed cells are unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "karma/karma.h"
#include "model/model.h"
#include "subspace/regularity.h"
#include "tempfile.h"

/* ---- tables and models ---- */

static void set_option(karma_read_options *o, const char *name, const char *value) {
    assert_int_equal(karma_option_set(karma_option_find(karma_read_option_table(), name), o, value, NULL), KARMA_OK);
}

/* `settings`: names and values of reading options, ended by NULL. `model` NULL: a table of its own. */
static karma_table *table_of(const karma_model *model, const char *csv, const char *const *settings) {
    temp_file file;
    karma_read_options o;
    karma_table *table = NULL;
    karma_error err = {0};
    karma_options_init(karma_read_option_table(), &o);
    for (; *settings; settings += 2) set_option(&o, settings[0], settings[1]);
    temp_create(&file, ".csv", csv, strlen(csv));
    karma_status st = model ? karma_model_read_table(&table, model, file.path, &o, NULL, &err)
                            : karma_table_read(&table, file.path, &o, NULL, &err);
    if (st != KARMA_OK) fail_msg("%s", err.message);
    temp_remove(&file);
    karma_options_clear(karma_read_option_table(), &o);
    return table;
}

static karma_table *low_rank_table(karma_table **complete, int64_t rows, int64_t dim, double noise, double missing) {
    karma_synth_options o;
    karma_table *table = NULL;
    karma_options_init(karma_synth_option_table(), &o);
    o.rows = rows, o.dim = dim, o.rank = 2, o.noise = noise, o.missing = missing;
    assert_int_equal(karma_table_synthesise(&table, complete, &o, NULL), KARMA_OK);
    return table;
}

static karma_fit_options fit_options(const char *kernel, int64_t rank) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.kernel = (char *)kernel;
    o.subspace_rank = rank;
    o.threads = 1;
    return o;
}

static karma_model *model_of(const karma_table *table, const karma_fit_options *options) {
    karma_model *model = NULL;
    karma_error err = {0};
    if (karma_fit(&model, table, options, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return model;
}

static karma_completion completed(const karma_model *model, const karma_table *table, size_t threads) {
    karma_completion c;
    karma_error err = {0};
    if (karma_complete(&c, model, table, 1, threads, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    if (karma_table_validate(c.table, &err) != KARMA_OK) fail_msg("%s", err.message);
    if (karma_table_validate(c.errors, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_table_n_observed(c.table), karma_table_n_rows(table) * karma_model_n_attributes(model));
    assert_int_equal(karma_table_n_observed(c.errors), karma_table_n_observed(c.table));
    return c;
}

static double cell(const karma_table *table, size_t row, size_t attribute) {
    double value = NAN;
    (void)karma_table_cell(table, row, attribute, &value);
    return value;
}

static const char *word(const karma_table *table, size_t row, size_t attribute) {
    return karma_table_level(table, attribute, (size_t)cell(table, row, attribute));
}

static const karma_i_recipe *recipe_of(const karma_model *model) {
    for (size_t e = 0; e < model->encoder.n; e++)
        if (model->encoder.recipes[e]->latent) return model->encoder.recipes[e];
    fail_msg("the model has no subspace");
    return NULL;
}

static void check_close(double got, double wanted, double tolerance, const char *what) {
    if (!(fabs(got - wanted) <= tolerance * fmax(1.0, fabs(wanted))))
        fail_msg("%s: got %.17g, wanted %.17g", what, got, wanted);
}

/* ---- numbers ---- */

/* What the row was divided by, computed from its cells. One feature per number, or the two of the polar encoding. */
static double divisor_of(const karma_i_recipe *r, const karma_table *table, size_t row) {
    double sum = 0.0;
    if (!(r->radius > 0.0)) return 1.0;
    for (size_t j = 0; j < r->n_attributes; j++)
        for (size_t f = r->feature_start[j]; f < r->feature_start[j + 1] && !isnan(cell(table, row, j)); f++)
            sum += pow((cell(table, row, j) - r->shift[f]) * r->factor[f], 2.0);
    return fmax(sqrt(sum), r->radius);
}

static void check_numbers(const karma_table *table, const karma_fit_options *options, const char *what) {
    karma_model *model = model_of(table, options);
    const karma_i_recipe *r = recipe_of(model);
    karma_i_rows *rows = NULL;
    assert_int_equal(karma_i_recipe_encode(&rows, NULL, r, table, NULL, NULL), KARMA_OK);
    size_t n = rows->n_rows, d = r->latent->subspace->n_features, n_missing = 0;
    double *x = calloc(n * d, sizeof *x), *se = calloc(n * d, sizeof *se);
    assert_true(x && se);
    assert_int_equal(karma_i_complete(x, se, r->latent->subspace, karma_i_rows_all(rows), 1, NULL), KARMA_OK);
    karma_completion c = completed(model, table, 2);
    for (size_t i = 0; i < n; i++) {
        double divisor = divisor_of(r, table, i);
        for (size_t j = 0; j < r->n_attributes; j++) {
            size_t f = r->feature_start[j];
            double before = cell(table, i, j), after = cell(c.table, i, j), error = cell(c.errors, i, j);
            n_missing += isnan(before) ? 1 : 0;
            if (!isnan(before)) {
                assert_true(after == before && error == 0.0);
                continue;
            }
            check_close(after, x[i * d + f] * divisor / r->factor[f] + r->shift[f], 1e-6, what);
            check_close(error, se[i * d + f] * divisor / fabs(r->factor[f]), 1e-6, what);
            assert_true(error > 0.0);
        }
    }
    assert_int_equal(c.n_completed, n_missing);
    assert_int_equal(c.rank, (size_t)options->subspace_rank);
    karma_completion_clear(&c);
    free(x), free(se);
    karma_i_rows_free(rows);
    karma_model_free(model);
}

static void numbers_are_completions_in_their_own_units(void **state) {
    (void)state;
    karma_table *tables[] = {low_rank_table(NULL, 1100, 6, 0.2, 0.4), low_rank_table(NULL, 250, 300, 0.1, 0.95)};
    static const char *const kernels[] = {"subspace", "union", "rank + 0.5*subspace"};
    for (size_t t = 0; t < 2; t++) {
        for (size_t k = 0; k < 3 - t; k++) {
            karma_fit_options o = fit_options(kernels[k], 2);
            o.solver = KARMA_SOLVER_ONLINE, o.passes = 1;
            check_numbers(tables[t], &o, kernels[k]);
        }
        karma_fit_options o = fit_options("subspace", 2);
        o.solver = KARMA_SOLVER_ONLINE, o.passes = 1;
        o.unit_ball = 1;
        check_numbers(tables[t], &o, "unit ball");
        o.unit_ball = 0, o.standardise = 0;
        check_numbers(tables[t], &o, "as they are");
        o.standardise = 1, o.encoding = KARMA_ENCODING_POLAR;
        check_numbers(tables[t], &o, "polar");
        karma_table_free(tables[t]);
    }
}

/* λ and whether a row is reconstructible, of the subspace that was found. */
static karma_i_regularity *regularity_of(const karma_model *model, const karma_table *table) {
    const karma_i_recipe *r = recipe_of(model);
    karma_i_regularity *regularity = NULL;
    karma_i_rows *rows = NULL;
    assert_int_equal(karma_i_recipe_encode(&rows, NULL, r, table, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_i_regularity_new(&regularity, r->latent->basis, karma_i_rows_all(rows), 1, NULL), KARMA_OK);
    karma_i_rows_free(rows);
    return regularity;
}

static void low_rank_rows_are_recovered(void **state) {
    (void)state;
    karma_table *truth = NULL, *table = low_rank_table(&truth, 400, 10, 0.0, 0.5);
    karma_fit_options o = fit_options("union", 2);
    karma_model *model = model_of(table, &o);
    karma_completion c = completed(model, table, 1);
    karma_i_regularity *regularity = regularity_of(model, table);
    size_t n_checked = 0;
    for (size_t i = 0; i < 400; i++) {
        if (!(regularity->is_reconstructible[i] && regularity->lambda[i] > 1e-2)) continue;
        for (size_t j = 0; j < 10; j++) check_close(cell(c.table, i, j), cell(truth, i, j), 1e-3, "the truth");
        n_checked++;
    }
    assert_true(n_checked > 200);
    karma_i_regularity_free(regularity);
    karma_completion_clear(&c);
    karma_model_free(model);
    karma_table_free(table);
    karma_table_free(truth);
}

/* ---- categories ---- */

static const char *const GROWTH = "who,length,weight,size,kind,y\n"
                                  "a,1,10,low,ant,0\nb,2,20,low,ant,1\nc,3,30,medium,bee,0\nd,4,40,medium,bee,1\n"
                                  "e,5,50,high,cow,0\nf,6,60,high,cow,1\ng,1.5,15,low,ant,0\nh,3.5,,medium,bee,1\n"
                                  "i,5.5,55,,cow,0\nj,,35,medium,,1\nk,2.5,25,low,ant,0\nl,4.5,45,high,cow,1\n";
static const char *const GROWTH_SETTINGS[] = {"target", "y", "ordered", "size=low<medium<high", "id", "who", NULL};

static karma_model *growth_model(void) {
    karma_table *table = table_of(NULL, GROWTH, GROWTH_SETTINGS);
    karma_fit_options o = fit_options("union", 1);
    o.task = KARMA_TASK_REGRESS;
    karma_model *model = model_of(table, &o);
    karma_table_free(table);
    return model;
}

/* Columns that the model does not have, in another order; an unknown level; a row with nothing observed. */
static void columns_come_in_the_order_of_the_model(void **state) {
    (void)state;
    static const char *const settings[] = {"id", "name", NULL};
    karma_model *model = growth_model();
    karma_table *table = table_of(model,
                                  "kind,name,stray,size,weight,y\nant,p,1,,,5\ndog,q,2,high,60,\n,r,3,low,10,\n"
                                  ",s,,,,\n",
                                  settings);
    karma_completion c = completed(model, table, 1);
    static const char *const names[] = {"length", "weight", "size", "kind"};
    for (size_t j = 0; j < 4; j++) {
        assert_string_equal(karma_table_attribute_name(c.table, j), names[j]);
        assert_string_equal(karma_table_attribute_name(c.errors, j), names[j]);
        assert_int_equal(karma_table_attribute_kind(c.errors, j), KARMA_COLUMN_NUMBER);
    }
    assert_int_equal(karma_table_n_attributes(c.table), 4);
    assert_int_equal(c.n_completed, 3 + 1 + 2 + 4);
    /* rows: an ant; a dog, which is an unknown level; something small; nothing observed */
    assert_string_equal(word(c.table, 0, 2), "low");
    assert_string_equal(word(c.table, 0, 3), "ant");
    assert_true(cell(c.table, 0, 0) < 3.0 && cell(c.table, 0, 1) < 30.0);
    assert_string_equal(word(c.table, 1, 3), "dog");
    assert_true(cell(c.errors, 1, 3) == 0.0);
    assert_string_equal(word(c.table, 1, 2), "high");
    check_close(cell(c.table, 1, 0), 6.0, 0.1, "length of the large");
    assert_string_equal(word(c.table, 2, 3), "ant");
    check_close(cell(c.table, 2, 0), 1.0, 0.6, "length of the small");
    check_close(cell(c.table, 3, 0), 38.5 / 11.0, 0.15, "an average length");
    for (size_t i = 0; i < 4; i++) {
        assert_true(cell(c.errors, i, 3) >= 0.0 && cell(c.errors, i, 3) <= 1.0);
        assert_string_equal(karma_table_id(c.table, 0, i), karma_table_id(table, 0, i));
        assert_string_equal(karma_table_id(c.errors, 0, i), karma_table_id(table, 0, i));
    }
    assert_true(cell(c.errors, 3, 3) > cell(c.errors, 2, 3)); /* a row with nothing observed is the least certain */
    double label = 0.0;
    assert_int_equal(karma_table_n_targets(c.table), 1);
    assert_int_equal(karma_table_n_targets(c.errors), 0);
    assert_true(karma_table_target(c.table, 0, 0, &label) && label == 5.0);
    assert_false(karma_table_target(c.table, 0, 1, &label));
    karma_completion_clear(&c);
    karma_table_free(table);
    karma_model_free(model);
}

/* ---- the rest ---- */

static int same_cells(const karma_table *a, const karma_table *b) {
    for (size_t i = 0; i < karma_table_n_rows(a); i++)
        for (size_t j = 0; j < karma_table_n_attributes(a); j++)
            if (cell(a, i, j) != cell(b, i, j)) return 0;
    return 1;
}

static void threads_change_nothing(void **state) {
    (void)state;
    karma_table *table = low_rank_table(NULL, 700, 9, 0.2, 0.4);
    karma_fit_options o = fit_options("subspace", 3);
    karma_model *model = model_of(table, &o);
    karma_completion one = completed(model, table, 1), all[4];
    for (size_t threads = 0; threads < 4; threads++) all[threads] = completed(model, table, threads);
    for (size_t k = 0; k < 4; k++) {
        assert_true(same_cells(one.table, all[k].table) && same_cells(one.errors, all[k].errors));
        karma_completion_clear(&all[k]);
    }
    int failures = 0; /* and several callers at the same time */
#pragma omp parallel for num_threads(4) reduction(+ : failures)
    for (int k = 0; k < 8; k++) {
        karma_completion own;
        failures += karma_complete(&own, model, table, 0, 1, NULL, NULL) != KARMA_OK;
        failures += own.errors != NULL || !same_cells(one.table, own.table);
        karma_completion_clear(&own);
    }
    assert_int_equal(failures, 0);
    karma_completion_clear(&one);
    karma_model_free(model);
    karma_table_free(table);
}

static void models_without_a_subspace_cannot(void **state) {
    (void)state;
    karma_table *table = low_rank_table(NULL, 30, 4, 0.2, 0.4);
    karma_fit_options o = fit_options("rank + linear", 0);
    karma_model *model = model_of(table, &o);
    karma_completion c = {.rank = 77};
    karma_error err = {0};
    assert_false(karma_model_has_subspace(model));
    assert_int_equal(karma_complete(&c, model, table, 1, 1, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "option 'kernel=union'"));
    assert_true(c.rank == 77 && !c.table && !c.errors);
    karma_model_free(model);
    karma_table_free(table);
}

/* Without directions every missing cell is the mean of its column. */
static void rank_zero_fills_in_means(void **state) {
    (void)state;
    karma_table *table = low_rank_table(NULL, 200, 4, 0.2, 0.4);
    karma_fit_options o = fit_options("union", 0);
    karma_model *model = model_of(table, &o);
    karma_column_summary columns[4];
    karma_table_summarise(table, columns);
    karma_completion c = completed(model, table, 1);
    for (size_t i = 0; i < 200; i++)
        for (size_t j = 0; j < 4; j++)
            if (isnan(cell(table, i, j))) check_close(cell(c.table, i, j), columns[j].mean, 1e-6, "the mean");
    karma_completion_clear(&c);
    karma_model_free(model);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_completions_in_their_own_units), cmocka_unit_test(low_rank_rows_are_recovered),
        cmocka_unit_test(columns_come_in_the_order_of_the_model),     cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(models_without_a_subspace_cannot),           cmocka_unit_test(rank_zero_fills_in_means),
    };
    return cmocka_run_group_tests_name("complete", tests, NULL, NULL);
}
