/* Rows that stand in the table several times, each time with a part of their weight, are the same data as the rows
 * alone: the models have the same bytes, for every kernel, outer map and loss, with probabilities and after a search.
 * Rows that cannot be compared, those of a precomputed kernel, are the same problem for the solver, and their scores
 * agree to 1e-6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "karma/karma.h"
#include "table/copies.h"
#include "base/mem.h"
#include "base/rng.h"

enum { ROWS = 48, NUMBERS = 4 };

static const char *const levels[] = {"red", "green", "blue"}, *const classes[] = {"no", "yes"};

/* How a row's weight is given. */
typedef enum layout {
    WHOLE,  /* one row */
    PAIRS,  /* two halves, one after the other */
    AGAIN,  /* two halves, the second after all other rows */
    UNEVEN, /* a quarter and the rest; the rest of every third row is in a third row */
    N_LAYOUTS
} layout;

/* Row r of a layout: which row of the data, and what share of its weight. */
static size_t place(size_t *source, double *share, layout how) {
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++) {
        source[n] = i;
        share[n++] = how == WHOLE ? 1.0 : how == UNEVEN ? 0.25 : 0.5;
        if (how == PAIRS) {
            source[n] = i;
            share[n++] = 0.5;
        } else if (how == UNEVEN) {
            source[n] = i;
            share[n++] = i % 3 ? 0.75 : 0.5;
        }
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (how != AGAIN && (how != UNEVEN || i % 3)) continue;
        source[n] = i;
        share[n++] = how == AGAIN ? 0.5 : 0.25;
    }
    return n;
}

/* y hangs on the first two numbers and the category. A fifth of the cells is missing. */
typedef struct data {
    double cell[NUMBERS][ROWS], number[ROWS], weight[ROWS];
    int32_t code[ROWS];
    int is_yes[ROWS];
} data;

static void draw(data *d, uint64_t seed) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0.3 * karma_i_rng_normal(&rng);
        for (size_t j = 0; j < NUMBERS; j++) {
            double x = d->cell[j][i] = floor(64.0 * karma_i_rng_normal(&rng)) / 64.0;
            sum += j < 2 ? x : 0.0;
            if (karma_i_rng_uniform(&rng) < 0.2) d->cell[j][i] = NAN;
        }
        d->code[i] = (int32_t)karma_i_rng_below(&rng, 3);
        sum += 0.7 * d->code[i];
        if (karma_i_rng_uniform(&rng) < 0.2) d->code[i] = -1;
        d->number[i] = sum;
        d->is_yes[i] = sum > 0.5;
        d->weight[i] = (double)(1 + karma_i_rng_below(&rng, 3));
    }
}

static karma_table *table_of(const data *d, layout how, int is_class) {
    size_t source[3 * ROWS];
    double share[3 * ROWS], values[3 * ROWS], weights[3 * ROWS];
    const char *texts[3 * ROWS];
    int32_t codes[3 * ROWS];
    size_t n = place(source, share, how);
    karma_columns *columns = NULL;
    karma_table *table = NULL;
    assert_int_equal(karma_columns_new(&columns, n, NULL), KARMA_OK);
    for (size_t j = 0; j < NUMBERS; j++) {
        char name[] = {'x', (char)('0' + j), 0};
        for (size_t i = 0; i < n; i++) values[i] = d->cell[j][source[i]];
        assert_int_equal(karma_columns_add_numbers(columns, name, values, KARMA_FLOAT64, sizeof *values, NULL, NULL),
                         KARMA_OK);
    }
    for (size_t i = 0; i < n; i++) {
        codes[i] = d->code[source[i]];
        values[i] = d->number[source[i]];
        texts[i] = classes[d->is_yes[source[i]]];
        weights[i] = d->weight[source[i]] * share[i];
    }
    assert_int_equal(karma_columns_add_categories(columns, "k", codes, sizeof *codes, levels, 3, NULL), KARMA_OK);
    assert_int_equal(karma_columns_finish(&table, columns, NULL), KARMA_OK);
    assert_int_equal(is_class ? karma_table_add_target_classes(table, "y", texts, NULL)
                              : karma_table_add_target_numbers(table, "y", values, NULL),
                     KARMA_OK);
    assert_int_equal(karma_table_set_row_weights(table, weights, NULL), KARMA_OK);
    return table;
}

/* "name=value name=value" */
static void set_all(karma_fit_options *options, const char *text) {
    char word[200], *value;
    karma_options_init(karma_fit_option_table(), options);
    while (*text) {
        size_t length = strcspn(text, ";");
        assert_true(length < sizeof word);
        memcpy(word, text, length);
        word[length] = 0;
        text += length + (text[length] == ';');
        assert_non_null(value = strchr(word, '='));
        *value++ = 0;
        assert_int_equal(karma_option_set(karma_option_find(karma_fit_option_table(), word), options, value, NULL),
                         KARMA_OK);
    }
}

static void learns_the_same(const data *d, const char *text, int is_class, int effort) {
    void *wanted = NULL;
    size_t size = 0;
    karma_fit_options options;
    karma_search_options search;
    set_all(&options, text);
    karma_options_init(karma_search_option_table(), &search);
    search.effort = effort;
    for (int how = WHOLE; how < N_LAYOUTS; how++) {
        karma_table *table = table_of(d, (layout)how, is_class);
        karma_model *model = NULL;
        karma_error err = {0};
        void *bytes = NULL;
        size_t n = 0;
        if (karma_search(&model, table, &options, &search, NULL, &err) != KARMA_OK)
            fail_msg("%s: %s", text, err.message);
        assert_int_equal(karma_model_info(model)->n_rows, ROWS);
        assert_int_equal(karma_model_info(model)->n_unlabelled, 0);
        assert_int_equal(karma_model_save_buffer(&bytes, &n, model, NULL), KARMA_OK);
        if (how == WHOLE) {
            wanted = bytes;
            size = n;
        } else {
            if (n != size || memcmp(bytes, wanted, size) != 0) fail_msg("%s: layout %d gives another model", text, how);
            karma_buffer_free(bytes);
        }
        karma_model_free(model);
        karma_table_free(table);
    }
    karma_buffer_free(wanted);
    karma_options_clear(karma_fit_option_table(), &options);
    karma_options_clear(karma_search_option_table(), &search);
}

static const struct {
    const char *name;
    int is_class;
} losses[] = {{"hinge", 1},    {"squared-hinge", 1}, {"logistic", 1}, {"epsilon-insensitive", 0},
              {"absolute", 0}, {"huber", 0},         {"pinball", 0},  {"squared", 0}};
enum { N_LOSSES = sizeof losses / sizeof losses[0] };

static const char *const kernels[] = {"linear",
                                      "rank",
                                      "subspace",
                                      "relevance",
                                      "boost",
                                      "forest",
                                      "rank + linear(outer=poly)",
                                      "relevance(outer=rbf) * boost"};

static void every_kernel_and_loss(void **state) {
    (void)state;
    data d;
    draw(&d, 1);
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++)
        for (size_t l = 0; l < N_LOSSES; l++) {
            char text[200];
            (void)snprintf(text, sizeof text, "kernel=%s;loss=%s;trees=8", kernels[k], losses[l].name);
            learns_the_same(&d, text, losses[l].is_class, KARMA_EFFORT_OFF);
        }
}

static void every_outer_map(void **state) {
    (void)state;
    static const char *const maps[] = {"cosine", "poly", "rbf", "laplace", "series"};
    data d;
    draw(&d, 2);
    for (size_t k = 0; k < 6; k++)
        for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++) {
            char text[200];
            (void)snprintf(text, sizeof text, "kernel=%s;outer=%s;trees=8%s", kernels[k], maps[m],
                           strcmp(maps[m], "series") == 0 ? ";series=1,0.5,0.25" : "");
            learns_the_same(&d, text, m % 2 == 0, KARMA_EFFORT_OFF);
        }
}

static void solvers_probabilities_and_searches(void **state) {
    (void)state;
    data d;
    draw(&d, 3);
    learns_the_same(&d, "kernel=linear;solver=primal;class-weight=balanced", 1, KARMA_EFFORT_OFF);
    learns_the_same(&d, "kernel=relevance;probabilities=sigmoid;certainty=on", 1, KARMA_EFFORT_OFF);
    learns_the_same(&d, "kernel=forest;trees=8;probabilities=isotonic", 1, KARMA_EFFORT_OFF);
    learns_the_same(&d, "kernel=subspace;refine=5;certainty=on", 0, KARMA_EFFORT_OFF);
    learns_the_same(&d, "threads=1", 1, KARMA_EFFORT_QUICK);
    learns_the_same(&d, "threads=2", 0, KARMA_EFFORT_QUICK);
}

/* --- rows that are not compared ------------------------------------------------------------------------ */

/* Scores of the rows of d, learned from kernel values of a layout. */
static void precomputed_scores(double scores[ROWS], const data *d, layout how, const char *loss, int is_class) {
    size_t source[3 * ROWS];
    double share[3 * ROWS], all[3 * ROWS];
    float whole[ROWS * ROWS], values[4 * ROWS * ROWS];
    size_t n = place(source, share, how);
    char text[100];
    karma_fit_options options, kernel;
    karma_table *rows = table_of(d, WHOLE, is_class), *table = table_of(d, how, is_class);
    karma_gram *gram = NULL;
    karma_model *model = NULL;
    set_all(&kernel, "kernel=rank;outer=rbf");
    assert_int_equal(karma_gram_new(&gram, rows, NULL, &kernel, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_gram_rows(whole, gram, 0, ROWS, NULL), KARMA_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) values[i * n + j] = whole[source[i] * ROWS + source[j]];
    assert_int_equal(karma_table_set_gram(table, values, n, NULL), KARMA_OK);
    (void)snprintf(text, sizeof text, "kernel=precomputed;loss=%s;C=10;tolerance=1e-12", loss);
    set_all(&options, text);
    assert_int_equal(karma_fit(&model, table, &options, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_model_info(model)->n_rows, n);
    assert_int_equal(karma_predict(all, model, table, 1, NULL, NULL), KARMA_OK);
    for (size_t i = n; i-- > 0;) scores[source[i]] = all[i];
    karma_model_free(model);
    karma_gram_free(gram);
    karma_table_free(rows);
    karma_table_free(table);
    karma_options_clear(karma_fit_option_table(), &kernel);
    karma_options_clear(karma_fit_option_table(), &options);
}

static void precomputed_rows(void **state) {
    (void)state;
    data d;
    draw(&d, 4);
    for (size_t l = 0; l < N_LOSSES; l++) {
        double one[ROWS] = {0}, two[ROWS] = {1};
        precomputed_scores(one, &d, WHOLE, losses[l].name, losses[l].is_class);
        precomputed_scores(two, &d, PAIRS, losses[l].name, losses[l].is_class);
        for (size_t i = 0; i < ROWS; i++)
            if (!(fabs(one[i] - two[i]) <= 1e-6))
                fail_msg("%s, row %zu: %.9g, %.9g", losses[l].name, i, one[i], two[i]);
    }
}

/* --- the list of rows ---------------------------------------------------------------------------------- */

static void only_equal_rows_are_merged(void **state) {
    (void)state;
    /* zeros of both signs are equal; a missing cell is no zero, and in which column it is matters */
    static const double cells[] = {0.0, 1.0, -0.0, 1.0, NAN, 1.0, 1.0, NAN, 0.0, 1.0, NAN, 1.0, 0.0, 1.0};
    static const double first[] = {1, 1, 1, 1, 2, 1, NAN}, second[] = {3, 3, 3, 3, 3, 3, 3};
    static const double weights[] = {1, 2, 4, 8, 16, 32, 64}, sums[] = {3, 36, 8, 16, 64};
    static const size_t kept[] = {0, 2, 3, 4, 6};
    size_t rows[] = {0, 1, 2, 3, 4, 5, 6}, n = 7;
    double *found = NULL;
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, 7, 2, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(table, "a", first, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(table, "b", second, NULL), KARMA_OK);
    assert_int_equal(karma_table_set_row_weights(table, weights, NULL), KARMA_OK);
    assert_int_equal(karma_i_drop_copies(rows, &n, &found, table, NULL), KARMA_OK);
    assert_int_equal(n, 5);
    assert_memory_equal(rows, kept, sizeof kept);
    for (size_t i = 0; i < n; i++) assert_true(found[i] == sums[i]);
    karma_i_free(found);
    assert_int_equal(karma_i_drop_copies(rows, &n, &found, table, NULL), KARMA_OK); /* nothing is left to merge */
    assert_null(found);
    assert_int_equal(n, 5);
    karma_table_free(table);
}

static void the_largest_weights_are_added(void **state) {
    (void)state;
    static const double cells[] = {1, 2, 1, 1}, labels[] = {1, 2, 1, 1};
    static const double weights[] = {DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX};
    size_t rows[] = {0, 1, 2, 3}, n = 4;
    double *found = NULL;
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, 4, 1, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(table, "a", labels, NULL), KARMA_OK);
    assert_int_equal(karma_table_set_row_weights(table, weights, NULL), KARMA_OK);
    assert_int_equal(karma_i_drop_copies(rows, &n, &found, table, NULL), KARMA_OK);
    assert_int_equal(n, 2);
    assert_true(isfinite(found[0]) && found[0] == 3.0 * found[1] && found[1] > 0.0);
    karma_i_free(found);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kernel_and_loss),
                                       cmocka_unit_test(every_outer_map),
                                       cmocka_unit_test(solvers_probabilities_and_searches),
                                       cmocka_unit_test(precomputed_rows),
                                       cmocka_unit_test(only_equal_rows_are_merged),
                                       cmocka_unit_test(the_largest_weights_are_added)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
