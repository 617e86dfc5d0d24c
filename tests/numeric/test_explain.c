/* Explanations against their definitions. The parts of a plain kernel are summed here from the arrays of the model
 * and the formula of κ; Shapley values over all sets and over all orders, with the scores of tables in which the
 * cells are really missing. */
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
#include "eval/shapley.h"
#include "karma/karma.h"
#include "model/model.h"
#include "representation.h"
#include "table/rows_dense.h"
#include "table/rows_sparse.h"
#include "tempfile.h"

/* --- tables and models --------------------------------------------------------------------------------- */

enum { N_ROWS = 70, TEXT_SIZE = 1 << 18 };

/* Numbers n0, n1, ..., a category of three levels and one of seven (indicators and codes), and targets that depend
 * on them: `two` and `four` classes, a `price`. */
typedef struct shape {
    size_t n_rows, n_numbers;
    int categories;
    double share; /* of the cells that are observed */
} shape;

static void append(char *text, size_t *used, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text + *used, TEXT_SIZE - *used, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < TEXT_SIZE - *used);
    *used += (size_t)n;
}

static void append_row(char *text, size_t *used, const shape *s, karma_i_rng *rng) {
    double sum = 0.0;
    for (size_t j = 0; j < s->n_numbers; j++) {
        double x = karma_i_rng_normal(rng);
        int seen = karma_i_rng_uniform(rng) < s->share;
        if (j < 4) sum += x * (j % 2 ? -1.0 : 1.5) + (seen ? 0.2 : -0.2);
        append(text, used, seen ? "%.6f," : ",", 3.0 * x + (double)j);
    }
    for (size_t levels = 3; s->categories && levels <= 7; levels += 4) {
        size_t level = karma_i_rng_below(rng, levels);
        sum += level == 0 ? 0.8 : -0.3;
        append(text, used, karma_i_rng_uniform(rng) < s->share ? "v%zu," : ",", level);
    }
    sum += 0.3 * karma_i_rng_normal(rng);
    append(text, used, "%s,k%d,%.6f\n", sum > 0.0 ? "yes" : "no", sum > 1.0 ? 3 : (sum > 0.0) + (sum > -1.0),
           40.0 + 7.0 * sum);
}

static karma_table *read_text(const char *text, const char *target) {
    temp_file file;
    karma_read_options o;
    karma_table *table = NULL;
    karma_error err;
    karma_options_init(karma_read_option_table(), &o);
    const char *const all[] = {"two", "four", "price"};
    for (size_t i = 0; i < 3; i++) {
        const char *option = strstr(target, all[i]) ? "target" : "ignore";
        assert_int_equal(karma_option_set(karma_option_find(karma_read_option_table(), option), &o, all[i], NULL),
                         KARMA_OK);
    }
    temp_create(&file, ".csv", text, strlen(text));
    if (karma_table_read(&table, file.path, &o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    temp_remove(&file);
    karma_options_clear(karma_read_option_table(), &o);
    return table;
}

/* The text of a table, a new one. */
static char *draw_text(const shape *s, uint64_t seed) {
    char *text = malloc(TEXT_SIZE);
    size_t used = 0;
    karma_i_rng rng;
    assert_non_null(text);
    karma_i_rng_init(&rng, seed);
    for (size_t j = 0; j < s->n_numbers; j++) append(text, &used, "n%zu,", j);
    if (s->categories) append(text, &used, "few,many,");
    append(text, &used, "two,four,price\n");
    for (size_t i = 0; i < s->n_rows; i++) append_row(text, &used, s, &rng);
    return text;
}

static karma_table *draw_table(const shape *s, const char *target, uint64_t seed) {
    char *text = draw_text(s, seed);
    karma_table *table = read_text(text, target);
    free(text);
    return table;
}

typedef struct recipe {
    const char *kernel, *outer, *gamma, *scale, *bias, *rank_form, *standardise, *unit_ball, *loss, *quantile,
        *subspace_rank, *certainty;
} recipe;

static void set(karma_fit_options *o, const char *name, const char *value) {
    karma_error err;
    if (value && karma_option_set(karma_option_find(karma_fit_option_table(), name), o, value, &err) != KARMA_OK)
        fail_msg("%s", err.message);
}

static karma_model *fit(const karma_table *table, const recipe *r) {
    karma_fit_options o;
    karma_model *model = NULL;
    karma_error err;
    karma_options_init(karma_fit_option_table(), &o);
    set(&o, "kernel", r->kernel);
    set(&o, "outer", r->outer);
    set(&o, "gamma", r->gamma);
    set(&o, "scale", r->scale);
    set(&o, "bias", r->bias);
    set(&o, "rank-form", r->rank_form);
    set(&o, "standardise", r->standardise);
    set(&o, "unit-ball", r->unit_ball);
    set(&o, "loss", r->loss);
    set(&o, "quantile", r->quantile);
    set(&o, "subspace-rank", r->subspace_rank);
    set(&o, "certainty", r->certainty);
    if (karma_fit(&model, table, &o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    karma_options_clear(karma_fit_option_table(), &o);
    return model;
}

static const karma_explain_options DEFAULTS = {
    .struct_size = sizeof(karma_explain_options), .samples = 100, .repeats = 5, .seed = 1, .threads = 2};

static karma_explanations explain(const karma_model *model, const karma_table *table, karma_explain_options o) {
    karma_explanations e;
    karma_error err;
    if (karma_explain(&e, model, table, &o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return e;
}

static double *predict(const karma_model *model, const karma_table *table) {
    double *scores = malloc(karma_table_n_rows(table) * model->task.n_outputs * sizeof *scores);
    karma_error err;
    assert_non_null(scores);
    if (karma_predict(scores, model, table, 1, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return scores;
}

static const karma_i_head *head_of(const karma_model *model, size_t output) {
    size_t t = 0;
    while (output >= model->task.heads[t].first_output + model->task.heads[t].n_outputs) t++;
    return &model->task.heads[t];
}

static void close_to(double got, double wanted, double size, double tolerance, const char *what) {
    if (!(fabs(got - wanted) <= tolerance * size))
        fail_msg("%s: %.17g, not %.17g; off by %g of %g", what, got, wanted, fabs(got - wanted) / size, tolerance);
}

/* --- plain kernels ------------------------------------------------------------------------------------- */

static double sparse_cell(const karma_i_rows *r, size_t i, size_t j) {
    for (size_t k = karma_i_sparse_of(r)->cell_start[i]; k < karma_i_sparse_of(r)->cell_start[i + 1]; k++)
        if (karma_i_sparse_of(r)->cell_attribute[k] == j) return (double)karma_i_sparse_of(r)->cell_value[k];
    return NAN;
}

/* κ of attribute j as rows.h has it; NaN where one of the rows misses it. */
static double own_kappa(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t l, size_t j) {
    if (rows_are_sparse(a)) return sparse_cell(a, i, j) * sparse_cell(b, l, j);
    if (!(karma_i_dense_of(a)->mask[i * karma_i_dense_of(a)->n_words + j / 64] >> j % 64 & 1) ||
        !(karma_i_dense_of(b)->mask[l * karma_i_dense_of(b)->n_words + j / 64] >> j % 64 & 1))
        return NAN;
    double sum = 0.0;
    for (size_t f = a->feature_start[j]; f < a->feature_start[j + 1]; f++)
        sum += (double)karma_i_rows_values(a, i)[f] * (double)karma_i_rows_values(b, l)[f];
    if (karma_i_dense_of(a)->traits[j] & KARMA_I_RANKED) {
        double u = ((double)karma_i_rows_ranks(a, i)[j] - 1.0) / 254.0;
        double v = ((double)karma_i_rows_ranks(b, l)[j] - 1.0) / 254.0;
        sum += karma_i_dense_of(a)->centred_ranks ? -3.0 * fabs(u - v) : 1.0 - 2.0 * fabs(u - v);
    }
    if (karma_i_dense_of(a)->traits[j] & KARMA_I_CODED)
        sum += karma_i_dense_of(a)->codes[i * karma_i_dense_of(a)->n_codes + karma_i_dense_of(a)->slots[j].code] ==
                       karma_i_dense_of(b)->codes[l * karma_i_dense_of(b)->n_codes + karma_i_dense_of(b)->slots[j].code]
                   ? 1.0
                   : 0.0;
    if (karma_i_dense_of(a)->traits[j] & KARMA_I_HAS_TERM)
        sum += (double)karma_i_rows_values(a, i)[a->n_features + karma_i_dense_of(a)->slots[j].term] +
               (double)karma_i_rows_values(b, l)[b->n_features + karma_i_dense_of(b)->slots[j].term];
    return sum;
}

/* The parts of one score: those of all attributes (0: missing), the bias after them; sizes are sums of |summands|. */
static void own_parts(double *parts, double *sizes, const karma_model *m, const karma_i_rows *rows, size_t i,
                      size_t o) {
    size_t d = rows->n_attributes;
    const karma_i_factor *f = &m->members[0].kernel.factors[0];
    memset(parts, 0, (d + 1) * sizeof *parts);
    memset(sizes, 0, (d + 1) * sizeof *sizes);
    for (size_t l = 0; l < m->support->n_rows; l++) {
        size_t c = 0;
        for (size_t j = 0; j < d; j++) c += isnan(own_kappa(rows, i, m->support, l, j)) ? 0 : 1;
        double w = m->members[0].kernel.terms[0].weight * (double)f->weight[c],
               alpha = m->members[0].coefficients[l * m->task.n_outputs + o];
        for (size_t j = 0; j <= d; j++) {
            double kappa = j < d ? own_kappa(rows, i, m->support, l, j) : f->bias * f->bias;
            if (isnan(kappa)) continue;
            parts[j] += alpha * w * kappa;
            sizes[j] += fabs(alpha * w * kappa);
        }
    }
}

/* Of one row and output: every part, their sum, and the prediction. */
static void check_parts(const karma_model *m, const karma_i_rows *rows, const karma_explanations *e, size_t i, size_t o,
                        double predicted) {
    size_t d = rows->n_attributes;
    const karma_i_head *head = head_of(m, o);
    int number = head->labels.task == KARMA_TASK_REGRESS;
    double factor = number ? head->labels.factor : 1.0, shift = number ? head->labels.shift : 0.0;
    double *parts = malloc((d + 1) * sizeof *parts), *sizes = malloc((d + 1) * sizeof *sizes);
    assert_true(parts && sizes);
    own_parts(parts, sizes, m, rows, i, o);
    double sum = e->bias[i * m->task.n_outputs + o], wanted = parts[d] / factor + shift,
           size = sizes[d] / factor + fabs(shift);
    close_to(sum, wanted, size, 1e-12, "bias");
    size_t part = e->start[i];
    for (size_t j = 0; j < d; j++) {
        if (sizes[j] == 0.0) {
            if (part < e->start[i + 1] && e->attribute[part] == j) part++;
            continue;
        }
        assert_int_equal(e->attribute[part], j);
        close_to(e->contribution[part * m->task.n_outputs + o], parts[j] / factor, sizes[j] / factor, 1e-12, "part");
        assert_true(e->error[part * m->task.n_outputs + o] == 0.0);
        sum += e->contribution[part * m->task.n_outputs + o];
        wanted += parts[j] / factor;
        size += sizes[j] / factor;
        part++;
    }
    assert_int_equal(part, e->start[i + 1]);
    close_to(sum, wanted, size, 1e-12, "sum");
    if (head->n_quantiles < 2) close_to(sum, predicted, size, 1e-6, "prediction");
    free(parts);
    free(sizes);
}

static void check_split(const karma_table *train, const karma_table *table, const recipe *r) {
    karma_model *m = fit(train, r);
    karma_i_rows *rows = NULL;
    assert_true(karma_i_kernel_is_plain(&m->members[0].kernel));
    assert_int_equal(karma_i_encoder_apply(&rows, &m->encoder, table, NULL, NULL), KARMA_OK);
    karma_explanations e = explain(m, table, DEFAULTS);
    double *scores = predict(m, table);
    assert_true(e.is_split);
    assert_int_equal(e.n_rows, karma_table_n_rows(table));
    for (size_t i = 0; i < e.n_rows; i++) {
        assert_int_equal(e.start[i + 1] - e.start[i], karma_i_rows_n_observed(rows, i));
        for (size_t o = 0; o < m->task.n_outputs; o++)
            check_parts(m, rows, &e, i, o, scores[i * m->task.n_outputs + o]);
    }
    free(scores);
    karma_explanations_clear(&e);
    karma_i_rows_free(rows);
    karma_model_free(m);
}

static void parts_of_plain_kernels_add_up(void **state) {
    (void)state;
    static const recipe recipes[] = {
        {.kernel = "linear"},
        {.kernel = "linear", .gamma = "1", .bias = "0"},
        {.kernel = "linear", .standardise = "off", .gamma = "3", .scale = "2.5"},
        {.kernel = "0.25 * linear", .bias = "2"},
        {.kernel = "linear", .gamma = "22", .scale = "paper"}, /* all columns are explained */
        {.kernel = "linear", .unit_ball = "on"},
        {.kernel = "rank"},
        {.kernel = "rank", .rank_form = "centred", .gamma = "4"},
        {.kernel = "rank", .rank_form = "centred", .standardise = "off"},
    };
    static const char *const targets[] = {"two", "four", "price", "two,four,price"};
    const shape s = {N_ROWS, 5, 1, 0.7};
    for (size_t t = 0; t < 4; t++) {
        karma_table *train = draw_table(&s, targets[t], 11 + t), *table = draw_table(&s, targets[t], 21 + t);
        for (size_t k = 0; k < sizeof recipes / sizeof recipes[0]; k++) check_split(train, table, &recipes[k]);
        karma_table_free(train);
        karma_table_free(table);
    }
}

static void quantiles_are_explained_as_learned(void **state) {
    (void)state;
    const shape s = {N_ROWS, 5, 1, 0.7};
    const recipe r = {.loss = "pinball", .quantile = "0.1,0.5,0.9", .certainty = "off"};
    karma_table *train = draw_table(&s, "price", 31), *table = draw_table(&s, "price", 32);
    check_split(train, table, &r);
    karma_table_free(train);
    karma_table_free(table);
}

/* Corrected quantiles: predictions are in ascending order, so the sum over a row is compared with its parts. */
static void corrections_belong_to_no_column(void **state) {
    (void)state;
    const shape s = {N_ROWS, 5, 1, 0.7};
    const recipe learned = {.loss = "pinball", .quantile = "0.1,0.5,0.9", .certainty = "off"};
    const recipe corrected = {.loss = "pinball", .quantile = "0.1,0.5,0.9", .certainty = "on"};
    karma_table *train = draw_table(&s, "price", 31), *table = draw_table(&s, "price", 32);
    karma_model *plain = fit(train, &learned), *m = fit(train, &corrected);
    karma_explanations before = explain(plain, table, DEFAULTS), e = explain(m, table, DEFAULTS);
    double *scores = predict(m, table), shifted = 0.0;
    size_t K = m->task.n_outputs;
    for (size_t i = 0; i < e.n_rows; i++) {
        double sum = 0.0, wanted = 0.0, size = 0.0;
        for (size_t o = 0; o < K; o++) {
            sum += e.bias[i * K + o];
            wanted += scores[i * K + o];
            size += fabs(e.bias[i * K + o]) + fabs(scores[i * K + o]);
            shifted = fmax(shifted, fabs(e.bias[i * K + o] - before.bias[i * K + o]));
            for (size_t p = e.start[i]; p < e.start[i + 1]; p++) {
                assert_true(e.contribution[p * K + o] == before.contribution[p * K + o]);
                sum += e.contribution[p * K + o];
            }
        }
        close_to(sum, wanted, size, 1e-6, "all quantiles of a row");
    }
    assert_true(shifted > 0.0); /* there was something to correct */
    free(scores);
    karma_explanations_clear(&e);
    karma_explanations_clear(&before);
    karma_model_free(m);
    karma_model_free(plain);
    karma_table_free(train);
    karma_table_free(table);
}

static void parts_of_sparse_rows_add_up(void **state) {
    (void)state;
    const shape s = {60, 300, 0, 0.05};
    static const char *const targets[] = {"two", "four", "price"};
    for (size_t t = 0; t < 3; t++) {
        karma_table *train = draw_table(&s, targets[t], 41), *table = draw_table(&s, targets[t], 42);
        check_split(train, table, &(recipe){.kernel = "linear"});
        check_split(train, table, &(recipe){.kernel = "linear", .bias = "0", .gamma = "3"});
        karma_table_free(train);
        karma_table_free(table);
    }
}

/* --- Shapley values ------------------------------------------------------------------------------------ */

/* All sets of the observed attributes among n_columns numbers: row m of the table has those of the bits of m. */
static karma_table *all_sets(const double *cells, size_t n_columns, const size_t *observed, size_t n) {
    size_t n_sets = (size_t)1 << n;
    double *all = malloc(n_sets * n_columns * sizeof *all);
    static const char *const names[] = {"n0", "n1", "n2", "n3",  "n4",  "n5",  "n6",
                                        "n7", "n8", "n9", "n10", "n11", "n12", "n13"};
    karma_table *table = NULL;
    assert_true(all && n_columns <= sizeof names / sizeof names[0]);
    for (size_t m = 0; m < n_sets; m++) {
        for (size_t j = 0; j < n_columns; j++) all[m * n_columns + j] = NAN;
        for (size_t k = 0; k < n; k++)
            if (m >> k & 1) all[m * n_columns + observed[k]] = cells[observed[k]];
    }
    assert_int_equal(karma_table_from_array(&table, all, n_sets, n_columns, names, NULL), KARMA_OK);
    free(all);
    return table;
}

static double factorial(size_t n) {
    return n < 2 ? 1.0 : (double)n * factorial(n - 1);
}

/* φ_k over all sets; v[set * n_outputs + output] */
static double shapley_by_sets(const double *v, size_t n_outputs, size_t o, size_t n, size_t k) {
    double sum = 0.0;
    for (size_t m = 0; m < (size_t)1 << n; m++) {
        if (m >> k & 1) continue;
        size_t size = karma_i_popcount(m);
        double weight = factorial(size) * factorial(n - 1 - size) / factorial(n);
        sum += weight * (v[(m | (size_t)1 << k) * n_outputs + o] - v[m * n_outputs + o]);
    }
    return sum;
}

/* φ_k over all orders: the mean of what k adds to those before it. */
static double shapley_by_orders(const double *v, size_t n_outputs, size_t o, size_t n, size_t k, size_t before) {
    if (before >> k & 1) return 0.0;
    double sum = 0.0, n_left = 0.0;
    for (size_t next = 0; next < n; next++) n_left += (double)!(before >> next & 1);
    for (size_t next = 0; next < n; next++) {
        if (before >> next & 1) continue;
        size_t with = before | (size_t)1 << next;
        sum += next == k ? v[with * n_outputs + o] - v[before * n_outputs + o]
                         : shapley_by_orders(v, n_outputs, o, n, k, with);
    }
    return sum / n_left;
}

static size_t list_observed(size_t *observed, double *cells, const karma_table *table, size_t row) {
    size_t n = 0;
    for (size_t j = 0; j < karma_table_n_attributes(table); j++)
        if (karma_table_cell(table, row, j, &cells[j])) observed[n++] = j;
    return n;
}

/* One row: sampled values are within 4 standard errors, which are not too large either; exact ones exact except for
 * single precision; both add up. */
static void check_shapley(const karma_model *m, const karma_explanations *e, const karma_table *table, size_t row) {
    double cells[16];
    size_t observed[16], n = list_observed(observed, cells, table, row), K = m->task.n_outputs,
                         all = ((size_t)1 << n) - 1;
    karma_table *sets = all_sets(cells, karma_table_n_attributes(table), observed, n);
    double *v = predict(m, sets);
    assert_int_equal(e->start[row + 1] - e->start[row], n);
    for (size_t o = 0; o < K; o++) {
        double sum = 0.0, size = 1e-3, squares = 0.0, least = INFINITY;
        for (size_t s = 0; s <= all; s++) size = fmax(size, fabs(v[s * K + o]));
        for (size_t k = 0; k < n; k++) {
            size_t part = (e->start[row] + k) * K + o;
            double wanted = shapley_by_sets(v, K, o, n, k), error = e->error[part];
            assert_int_equal(e->attribute[e->start[row] + k], observed[k]);
            if (n <= 5) close_to(wanted, shapley_by_orders(v, K, o, n, k, 0), size, 1e-12, "the two definitions");
            assert_true((error > 0.0) == (n > KARMA_EXACT_SHAPLEY));
            close_to(e->contribution[part], wanted, 4.0 * error + 1e-5 * size, 1.0, "Shapley value");
            sum += e->contribution[part];
            least = fmin(least, error);
            if (error > 0.0) squares += pow((e->contribution[part] - wanted) / error, 2.0);
        }
        /* below that, as of an additive game, the single precision of the sets' scores is all that is left */
        if (n > KARMA_EXACT_SHAPLEY && least > 1e-6 * size)
            close_to(sqrt(squares / (double)n), 1.0, 1.0, 0.7, "errors in standard errors");
        close_to(e->bias[row * K + o], v[o], size, 1e-6, "v of nothing");
        close_to(sum + e->bias[row * K + o], v[all * K + o], size, 1e-6, "sum");
    }
    free(v);
    karma_table_free(sets);
}

#define COMMITTEE "linear @ 1 | rank(outer=rbf) @ 1,10 | linear + 10*subspace(bias=0)"

static const recipe composed[] = {
    {.outer = "rbf"},
    {.outer = "poly", .bias = "0"},
    {.kernel = "rank + 0.5*linear(gamma=1)"},
    {.kernel = "rank * linear", .rank_form = "centred"},
    {.kernel = "linear", .outer = "cosine"},
    {.kernel = "subspace", .subspace_rank = "2"},
    {.kernel = "union", .subspace_rank = "3"},
    {.kernel = COMMITTEE, .subspace_rank = "2"},
    {.kernel = "linear | 5*subspace @ 1,10", .subspace_rank = "2"}, /* plain kernels, but not a split */
};

static void shapley_values_are_their_definition(void **state) {
    (void)state;
    static const char *const targets[] = {"two", "four", "price"};
    for (size_t k = 0; k < sizeof composed / sizeof composed[0]; k++)
        for (size_t few = 0; few < 2; few++) { /* 4 of 10 attributes or so: all sets; 12: a sample */
            const shape train_shape = {50, few ? 8 : 12, 0, 0.8}, shape_of_rows = {5, few ? 8 : 12, 0, few ? 0.5 : 1.0};
            const char *target = targets[(k + few) % 3];
            karma_table *train = draw_table(&train_shape, target, 51), *table = draw_table(&shape_of_rows, target, 52);
            karma_model *m = fit(train, &composed[k]);
            karma_explanations e = explain(m, table, DEFAULTS);
            assert_false(e.is_split);
            for (size_t i = 0; i < (few ? 5 : 2); i++) check_shapley(m, &e, table, i);
            karma_explanations_clear(&e);
            karma_model_free(m);
            karma_table_free(train);
            karma_table_free(table);
        }
}

/* The text, followed by copies of one of its rows, one for each subset of its n observed cells: copy m keeps the
 * cells of the bits of m. *n is the number of copies. */
static char *with_all_sets(const char *text, size_t row, size_t n_columns, size_t *n) {
    char *all = malloc(TEXT_SIZE);
    const char *line = text;
    size_t used = 0, n_sets = 1;
    assert_non_null(all);
    append(all, &used, "%s", text);
    for (size_t skip = 0; skip < row + 1; skip++) line = strchr(line, '\n') + 1; /* the header is one of these lines */
    for (size_t m = 0; m < n_sets; m++) {
        const char *cell = line;
        *n = 0;
        for (size_t j = 0; j < n_columns; j++) {
            size_t length = strcspn(cell, ",");
            int hidden = length > 0 && !(m >> (*n)++ & 1);
            append(all, &used, "%.*s,", hidden ? 0 : (int)length, cell);
            cell += length + 1;
        }
        append(all, &used, "%.*s\n", (int)strcspn(cell, "\n"), cell);
        assert_true(*n < 9); /* they are counted at the first call */
        n_sets = (size_t)1 << *n;
    }
    return all;
}

/* For every set of observed attributes, v in the game equals the prediction for a table in which all other cells are
 * missing. */
static void check_game(karma_i_game *game, const char *text, size_t row, const shape *s) {
    size_t n, K = game->model->task.n_outputs, observed[9], hidden[9];
    double values[10 * 4], errors[9 * 4];
    char *sets = with_all_sets(text, row, s->n_numbers + (s->categories ? 2 : 0), &n);
    karma_table *table = read_text(sets, "four");
    double *wanted = predict(game->model, table), size = 0.0;
    assert_true(n > 0 && K <= 4);
    assert_int_equal(karma_i_rows_n_observed(game->rows, row), n);
    karma_i_rows_list_observed(observed, game->rows, row);
    for (size_t i = 0; i < karma_table_n_rows(table) * K; i++) size = fmax(size, fabs(wanted[i]));
    for (size_t m = 0; m < (size_t)1 << n; m++) {
        size_t n_hidden = 0;
        for (size_t k = 0; k < n; k++)
            if (!(m >> k & 1)) hidden[n_hidden++] = observed[k];
        assert_int_equal(karma_i_shapley_exact(values, errors, game, &(karma_i_players){row, hidden, n_hidden}, NULL),
                         KARMA_OK);
        for (size_t o = 0; o < K; o++)
            close_to(values[n_hidden * K + o], wanted[(s->n_rows + m) * K + o], size, 2e-6, "v of a set");
    }
    free(wanted);
    karma_table_free(table);
    free(sets);
}

static void the_game_equals_predictions_with_missing_cells(void **state) {
    (void)state;
    static const recipe recipes[] = {
        {.outer = "rbf"},
        {.kernel = "subspace", .subspace_rank = "2"},
        {.kernel = "union", .subspace_rank = "3"},
        {.kernel = "subspace(outer=rbf) * rank", .subspace_rank = "2"},
        {.kernel = "subspace", .subspace_rank = "0"},
        {.kernel = COMMITTEE, .subspace_rank = "2"},
        {.kernel = "union", .subspace_rank = "2", .unit_ball = "on"}, /* training rows lie within the ball */
    };
    static const shape shapes[] = {{40, 4, 1, 0.8}, {60, 5, 1, 1.0}, {120, 450, 0, 0.01}}; /* the last: sparse */
    for (size_t k = 0; k < sizeof recipes / sizeof recipes[0]; k++)
        for (size_t t = 0; t < 3; t++) {
            char *text = draw_text(&shapes[t], 57);
            karma_table *table = read_text(text, "four");
            karma_model *m = fit(table, &recipes[k]);
            karma_i_rows *rows = NULL;
            assert_int_equal(karma_i_encoder_encode(&rows, &m->encoder, table, NULL, NULL), KARMA_OK);
            assert_int_equal(rows_are_sparse(rows), t == 2);
            karma_i_game game = {.model = m, .threads = 2, .rows = rows};
            assert_int_equal(karma_i_game_init(&game, NULL), KARMA_OK);
            for (size_t i = 0, n_checked = 0; n_checked < 3; i++) {
                assert_true(i < shapes[t].n_rows);
                if (karma_i_rows_n_observed(rows, i) < 3 || karma_i_rows_n_observed(rows, i) > 8) continue;
                check_game(&game, text, i, &shapes[t]);
                n_checked++;
            }
            karma_i_game_clear(&game);
            karma_i_rows_free(rows);
            karma_model_free(m);
            karma_table_free(table);
            free(text);
        }
}

/* A row outside the ball of --unit-ball is explained like its projection onto the ball: its unit of length is kept. */
static void long_rows_keep_their_unit(void **state) {
    (void)state;
    const shape s = {N_ROWS, 3, 0, 0.9};
    const char *const names[] = {"n0", "n1", "n2"};
    const double cells[] = {300, -200, 100, 600, -400, 200};
    karma_table *train = draw_table(&s, "two", 58), *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, 2, 3, names, NULL), KARMA_OK);
    karma_model *m =
        fit(train,
            &(recipe){.kernel = "union", .subspace_rank = "1", .unit_ball = "on", .standardise = "off", .scale = "1"});
    karma_explanations e = explain(m, table, DEFAULTS);
    double *scores = predict(m, table), sum = e.bias[0], size = 0.0;
    assert_int_equal(e.start[2], 6);
    for (size_t k = 0; k < 3; k++) size += fabs(e.contribution[k]);
    for (size_t k = 0; k < 3; k++) {
        close_to(e.contribution[k], e.contribution[3 + k], size, 1e-6, "part");
        assert_true(fabs(e.contribution[k]) > 1e-3 * size);
        sum += e.contribution[k];
    }
    close_to(sum, scores[0], fabs(size), 1e-6, "sum");
    free(scores);
    karma_explanations_clear(&e);
    karma_model_free(m);
    karma_table_free(train);
    karma_table_free(table);
}

/* A committee of plain kernels is split, and no standard errors are needed. */
static void plain_committees_are_split(void **state) {
    (void)state;
    const shape s = {N_ROWS, 5, 1, 0.7};
    static const char *const parts[] = {"linear | rank @ 1,10", "linear | rank @ 1,10 | subspace"};
    karma_table *train = draw_table(&s, "two", 67), *table = draw_table(&s, "two", 68);
    for (size_t k = 0; k < 2; k++) {
        karma_model *m = fit(train, &(recipe){.kernel = parts[k], .subspace_rank = "2"});
        karma_explanations e = explain(m, table, DEFAULTS);
        double *scores = predict(m, table);
        assert_int_equal(e.is_split, k == 0);
        for (size_t i = 0; i < e.n_rows; i++) {
            double sum = e.bias[i], size = fabs(sum);
            for (size_t part = e.start[i]; part < e.start[i + 1]; part++) {
                sum += e.contribution[part];
                size += fabs(e.contribution[part]);
                assert_true(e.error[part] == 0.0);
            }
            close_to(sum, scores[i], size, 2e-6, "sum");
        }
        free(scores);
        karma_explanations_clear(&e);
        karma_model_free(m);
    }
    karma_table_free(train);
    karma_table_free(table);
}

/* With γ = 1 a plain kernel is a sum over attributes, and so is the game: whatever the order, an attribute adds the
 * same. */
static void an_additive_game_gives_the_exact_split(void **state) {
    (void)state;
    static const recipe recipes[] = {{.gamma = "1"}, {.kernel = "rank", .gamma = "1", .rank_form = "centred"}};
    for (size_t k = 0; k < 4; k++) {
        const shape s = k < 2 ? (shape){40, 12, 1, 0.8} : (shape){40, 300, 0, 0.06};
        karma_table *train = draw_table(&s, "four", 61), *table = draw_table(&s, "four", 62);
        karma_model *m = fit(train, &recipes[k % 2]);
        karma_explanations e = explain(m, table, DEFAULTS);
        karma_i_rows *rows = NULL;
        assert_int_equal(karma_i_encoder_encode(&rows, &m->encoder, table, NULL, NULL), KARMA_OK);
        assert_int_equal(rows_are_sparse(rows), k == 2);
        karma_i_game game = {.model = m, .threads = 2, .rows = rows};
        assert_int_equal(karma_i_game_init(&game, NULL), KARMA_OK);
        double values[200], errors[200];
        for (size_t i = 0; i < 10; i++) {
            size_t n = e.start[i + 1] - e.start[i], K = m->task.n_outputs;
            const double *wanted = e.contribution + e.start[i] * K;
            const karma_i_players players = {i, e.attribute + e.start[i], n};
            assert_true(n > 0 && (n + 1) * K <= 200);
            for (int exact = 0; exact < 2; exact++) {
                if (exact && n > 12) continue;
                karma_status st = exact ? karma_i_shapley_exact(values, errors, &game, &players, NULL)
                                        : karma_i_shapley_sample(values, errors, &game, &players, 9, 3, NULL);
                assert_int_equal(st, KARMA_OK);
                for (size_t v = 0; v < n * K; v++) close_to(values[v], wanted[v], 1.0, 2e-5, "value");
                for (size_t v = 0; v < n * K; v++) close_to(errors[v], 0.0, 1.0, 1e-5, "error");
                for (size_t o = 0; o < K; o++) close_to(values[n * K + o], e.bias[i * K + o], 1.0, 2e-5, "bias");
            }
        }
        karma_i_game_clear(&game);
        karma_i_rows_free(rows);
        karma_explanations_clear(&e);
        karma_model_free(m);
        karma_table_free(train);
        karma_table_free(table);
    }
}

/* With γ = 2 the weight is linear in the overlap, and v has nothing beyond pairs of attributes: an order and its
 * reverse contain each pair in both directions, so every such pair of orders gives the exact values. */
static void an_order_and_its_reverse_cancel(void **state) {
    (void)state;
    const shape s = {40, 8, 1, 1.0};
    karma_table *train = draw_table(&s, "two", 65), *table = draw_table(&s, "two", 66);
    karma_model *m = fit(train, &(recipe){.gamma = "2"});
    karma_i_rows *rows = NULL;
    assert_int_equal(karma_i_encoder_encode(&rows, &m->encoder, table, NULL, NULL), KARMA_OK);
    karma_i_game game = {.model = m, .threads = 1, .rows = rows};
    assert_int_equal(karma_i_game_init(&game, NULL), KARMA_OK);
    size_t attributes[10];
    double wanted[11], values[11], errors[10];
    const karma_i_players players = {0, attributes, 10};
    karma_i_rows_list_observed(attributes, rows, 0);
    assert_int_equal(karma_i_rows_n_observed(rows, 0), 10);
    assert_int_equal(karma_i_shapley_exact(wanted, errors, &game, &players, NULL), KARMA_OK);
    assert_int_equal(karma_i_shapley_sample(values, errors, &game, &players, 4, 1, NULL), KARMA_OK);
    for (size_t k = 0; k < 10; k++) {
        close_to(values[k], wanted[k], 1.0, 1e-5, "value");
        close_to(errors[k], 0.0, 1.0, 1e-5, "error");
    }
    karma_i_game_clear(&game);
    karma_i_rows_free(rows);
    karma_model_free(m);
    karma_table_free(train);
    karma_table_free(table);
}

/* Long orders do not fit one batch; few samples leave a batch unfilled. Errors fall as one over the root of samples. */
static void check_sampling(const recipe *r) {
    const shape many = {40, 20, 1, 0.9}, few = {8, 20, 1, 0.9};
    karma_table *train = draw_table(&many, "two", 71), *table = draw_table(&few, "two", 72);
    karma_model *m = fit(train, r);
    double *scores = predict(m, table), errors[3] = {0};
    static const size_t samples[] = {5, 120, 2000};
    for (size_t k = 0; k < 3; k++) {
        karma_explain_options o = DEFAULTS;
        o.samples = (int64_t)samples[k];
        karma_explanations e = explain(m, table, o);
        for (size_t i = 0; i < e.n_rows; i++) {
            double sum = e.bias[i];
            for (size_t part = e.start[i]; part < e.start[i + 1]; part++) {
                sum += e.contribution[part];
                errors[k] += e.error[part];
            }
            close_to(sum, scores[i], 1.0, 1e-6, "sum");
        }
        karma_explanations_clear(&e);
    }
    close_to(errors[1] / errors[0], sqrt(6.0 / 120.0), 1.0, 0.1, "error");
    close_to(errors[2] / errors[1], sqrt(120.0 / 2000.0), 1.0, 0.05, "error");
    free(scores);
    karma_model_free(m);
    karma_table_free(train);
    karma_table_free(table);
}

static void sampling_adds_up_and_converges(void **state) {
    (void)state;
    check_sampling(&(recipe){.outer = "rbf"});
    check_sampling(&(recipe){.kernel = COMMITTEE, .subspace_rank = "3"});
}

/* Scoring the sets by parts of the kernel gives the same values as scoring them one by one. */
static void check_reuse(const recipe *r, const char *target) {
    const shape many = {50, 30, 1, 0.7}, few = {4, 30, 1, 0.9};
    karma_table *train = draw_table(&many, target, 81), *table = draw_table(&few, target, 82);
    karma_model *m = fit(train, r);
    karma_i_rows *rows = NULL;
    assert_int_equal(karma_i_encoder_encode(&rows, &m->encoder, table, NULL, NULL), KARMA_OK);
    size_t attributes[64], K = m->task.n_outputs;
    for (size_t i = 0; i < rows->n_rows; i++) {
        double values[2][64 * 4], errors[2][64 * 4], scale = 0.0;
        size_t n = karma_i_rows_n_observed(rows, i);
        assert_true(n > KARMA_EXACT_SHAPLEY && (n + 1) * K <= 64 * 4);
        karma_i_rows_list_observed(attributes, rows, i);
        for (int reuses = 0; reuses < 2; reuses++) {
            karma_i_game game = {.model = m, .threads = 1 + reuses, .rows = rows};
            assert_int_equal(karma_i_game_init(&game, NULL), KARMA_OK);
            game.reuses_parts = reuses;
            assert_int_equal(karma_i_shapley_sample(values[reuses], errors[reuses], &game,
                                                    &(karma_i_players){i, attributes, n}, 12, 7, NULL),
                             KARMA_OK);
            karma_i_game_clear(&game);
        }
        for (size_t k = 0; k < n * K; k++) scale = fmax(scale, fabs(values[0][k]));
        assert_true(scale > 0.0);
        for (size_t k = 0; k < (n + 1) * K; k++) close_to(values[1][k], values[0][k], scale, 1e-4, "value by parts");
        for (size_t k = 0; k < n * K; k++) close_to(errors[1][k], errors[0][k], scale, 1e-4, "error by parts");
    }
    karma_i_rows_free(rows);
    karma_model_free(m);
    karma_table_free(train);
    karma_table_free(table);
}

static void parts_give_the_scores_of_the_sets(void **state) {
    (void)state;
    static const char *const outers[] = {"cosine", "poly", "rbf", "laplace"};
    for (size_t o = 0; o < 4; o++) check_reuse(&(recipe){.outer = outers[o]}, "two");
    check_reuse(&(recipe){.kernel = "rank * linear + 0.5*rank(outer=rbf)"}, "two");
    check_reuse(&(recipe){.kernel = COMMITTEE, .subspace_rank = "3"}, "two");
}

static int same(const karma_explanations *a, const karma_explanations *b) {
    size_t n = a->start[a->n_rows] * a->n_outputs;
    return memcmp(a->contribution, b->contribution, n * sizeof *a->contribution) == 0 &&
           memcmp(a->error, b->error, n * sizeof *a->error) == 0 &&
           memcmp(a->bias, b->bias, a->n_rows * a->n_outputs * sizeof *a->bias) == 0;
}

static void the_seed_decides_and_threads_do_not(void **state) {
    (void)state;
    const shape s = {60, 14, 1, 0.9};
    static const recipe recipes[] = {{.outer = "rbf"},
                                     {.kernel = "rank + linear"},
                                     {.kernel = "linear"},
                                     {.kernel = "subspace", .subspace_rank = "3"},
                                     {.kernel = COMMITTEE, .subspace_rank = "3"}};
    karma_table *train = draw_table(&s, "four", 81), *table = draw_table(&s, "four", 82);
    for (size_t k = 0; k < 5; k++) {
        karma_model *m = fit(train, &recipes[k]);
        karma_explain_options o = {
            .struct_size = sizeof(karma_explain_options), .samples = 20, .repeats = 2, .seed = 5, .threads = 1};
        karma_explanations first = explain(m, table, o);
        for (o.threads = 2; o.threads < 4; o.threads++) {
            karma_explanations again = explain(m, table, o);
            assert_true(same(&first, &again));
            karma_explanations_clear(&again);
        }
        o.seed = 6;
        karma_explanations other = explain(m, table, o);
        assert_int_equal(same(&first, &other), k == 2); /* exact values do not depend on the seed */
        karma_explanations_clear(&other);
        karma_explanations_clear(&first);
        karma_model_free(m);
    }
    karma_table_free(train);
    karma_table_free(table);
}

/* A row without cells has no parts, and its score is the bias. */
static void an_empty_row_is_all_bias(void **state) {
    (void)state;
    const double nothing[] = {NAN, NAN, NAN};
    const char *const names[] = {"n0", "n1", "n2"};
    const shape s = {N_ROWS, 3, 0, 0.8};
    karma_table *train = draw_table(&s, "price", 91), *table = NULL;
    assert_int_equal(karma_table_from_array(&table, nothing, 1, 3, names, NULL), KARMA_OK);
    static const recipe recipes[] = {{.kernel = "linear"},
                                     {.outer = "rbf"},
                                     {.kernel = "subspace", .subspace_rank = "1"},
                                     {.kernel = COMMITTEE, .subspace_rank = "1"}};
    for (size_t k = 0; k < 4; k++) {
        karma_model *m = fit(train, &recipes[k]);
        karma_explanations e = explain(m, table, DEFAULTS);
        double *scores = predict(m, table);
        assert_int_equal(e.start[1], 0);
        close_to(e.bias[0], scores[0], fabs(scores[0]), 1e-6, "bias");
        free(scores);
        karma_explanations_clear(&e);
        karma_model_free(m);
    }
    karma_table_free(train);
    karma_table_free(table);
}

static int stop(void *payload, const char *stage, size_t done, size_t total) {
    (void)payload, (void)stage, (void)total;
    return done == 3;
}

static void inexplicable_models_are_refused(void **state) {
    (void)state;
    const shape s = {N_ROWS, 3, 0, 1.0};
    karma_table *table = draw_table(&s, "price", 95);
    karma_model *plain = fit(table, &(recipe){.kernel = "linear"});
    static float unit[N_ROWS * N_ROWS];
    for (size_t i = 0; i < N_ROWS; i++) unit[i * N_ROWS + i] = 1.0F;
    assert_int_equal(karma_table_set_gram(table, unit, N_ROWS, NULL), KARMA_OK);
    karma_model *precomputed = fit(table, &(recipe){.kernel = "precomputed"});
    karma_explanations e = {0};
    karma_explain_options o = DEFAULTS;
    karma_hooks hooks = {stop, NULL, NULL};
    karma_error err;
    assert_int_equal(karma_explain(&e, precomputed, table, &o, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "precomputed"));
    assert_int_equal(karma_explain(&e, plain, table, &o, &hooks, &err), KARMA_ERR_CANCELLED);
    o.samples = 3;
    assert_int_equal(karma_explain(&e, plain, table, &o, NULL, &err), KARMA_ERR_OPTION);
    assert_null(e.start);
    karma_model_free(plain);
    karma_model_free(precomputed);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_plain_kernels_add_up),
        cmocka_unit_test(quantiles_are_explained_as_learned),
        cmocka_unit_test(corrections_belong_to_no_column),
        cmocka_unit_test(parts_of_sparse_rows_add_up),
        cmocka_unit_test(shapley_values_are_their_definition),
        cmocka_unit_test(the_game_equals_predictions_with_missing_cells),
        cmocka_unit_test(long_rows_keep_their_unit),
        cmocka_unit_test(plain_committees_are_split),
        cmocka_unit_test(an_additive_game_gives_the_exact_split),
        cmocka_unit_test(an_order_and_its_reverse_cancel),
        cmocka_unit_test(sampling_adds_up_and_converges),
        cmocka_unit_test(parts_give_the_scores_of_the_sets),
        cmocka_unit_test(the_seed_decides_and_threads_do_not),
        cmocka_unit_test(an_empty_row_is_all_bias),
        cmocka_unit_test(inexplicable_models_are_refused),
    };
    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
