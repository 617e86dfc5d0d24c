/* A search under a time limit, by a clock that goes on by a fixed step whenever it is read: what is planned with its
 * seconds does not depend on the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "labelled.h"
#include "model/model.h"

static const double STEP = 0.01;
static double seconds;

/* In the place of the system's. */
double karma_i_now(void) {
    return seconds += STEP;
}

enum { N_ROWS = 240, N_COLUMNS = 5 };

/* y = sign(x0 x1): no linear kernel finds it. */
static karma_table *draw_product(void) {
    table_plan plan = {N_ROWS, N_COLUMNS, 0, 0, 0.9, 2, 0.0};
    karma_table *table = draw_labelled(&plan, 7);
    for (size_t i = 0; i < table->n_rows; i++) {
        double product = 1.0;
        for (size_t c = table->row_start[i]; c < table->row_start[i + 1]; c++)
            if (table->cell_owner[c] < 2) product *= table->cell_value[c];
        table->targets[0].value[i] = product > 0.0;
    }
    return table;
}

typedef struct outcome {
    double spent, score, error;
    size_t n_folds, n_kernels, n_to_the_end;
    int has_zero, has_probabilities;
    karma_search_end end;
} outcome;

static outcome search_in(const karma_table *table, karma_effort effort, double limit) {
    karma_fit_options fit;
    karma_search_options search;
    karma_model *model = NULL;
    karma_error err;
    karma_options_init(karma_fit_option_table(), &fit);
    karma_options_init(karma_search_option_table(), &search);
    fit.threads = 1;
    search.effort = (int)effort;
    search.time = limit;
    double began = seconds;
    if (karma_search(&model, table, &fit, &search, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    const karma_search_info *info = karma_model_search_info(model);
    outcome o = {.spent = seconds - began,
                 .score = info->score,
                 .error = info->error,
                 .n_folds = info->n_values,
                 .n_kernels = info->n_kernels,
                 .n_to_the_end = info->n_kernels_to_the_end,
                 .has_zero = info->has_zero_imputation,
                 .has_probabilities = karma_model_has_probabilities(model, 0),
                 .end = info->end};
    karma_model_free(model);
    return o;
}

static void show(const char *name, double limit, const outcome *o) {
    print_message("%s %.2f: spent %.2f, %zu folds, %zu of %zu kernels, zero %d, probabilities %d, %.4f +- %.4f\n", name,
                  limit, o->spent, o->n_folds, o->n_to_the_end, o->n_kernels, o->has_zero, o->has_probabilities,
                  o->score, o->error);
}

static void more_time_is_not_worse_than_quick(void **state) {
    (void)state;
    karma_table *table = draw_product();
    outcome quick = search_in(table, KARMA_EFFORT_QUICK, 0.0);
    show("quick", 0.0, &quick);
    for (int i = 0; i < 10; i++) {
        double share = 0.5 * pow(1.5, i);
        double limit = share * quick.spent;
        outcome o = search_in(table, KARMA_EFFORT_NORMAL, limit);
        show("limit", limit, &o);
        assert_true(o.spent <= 1.1 * limit);
        assert_true(o.n_folds >= 5); /* every row was left out once */
        assert_true(o.has_probabilities);
        assert_true(o.score >= quick.score - 2.0 * quick.error);
        if (share >= 1.0) assert_true(o.has_zero);
        if (o.end == KARMA_SEARCH_OUT_OF_TIME) assert_true(o.spent >= 0.5 * limit);
    }
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_time_is_not_worse_than_quick),
    };
    return cmocka_run_group_tests_name("time_limit", tests, NULL, NULL);
}
