/* Times the library's inner functions and prints one JSON object. bench/run starts one process per measurement, so that
 * each has its own peak memory and its own OPENBLAS_CORETYPE.
 *
 *   bench_engine dense linear|rank ROWS DIM REPEATS THREADS   Gram matrix and block, beside SGEMM of the same shape
 *   bench_engine category ROWS ATTRIBUTES LEVELS COLUMNS REPEATS THREADS
 *                                                             categories as codes and as indicators, beside SGEMM
 *   bench_engine leaves ROWS TREES LEAVES COLUMNS REPEATS THREADS
 *                                                             the Gram matrix of leaves of trees, beside SGEMM
 *   bench_engine gram ROWS DIM REPEATS THREADS                Gram matrix alone
 *   bench_engine online ROUNDS DIM REPEATS THREADS            one pass of Algorithm 1, beside row-by-row references
 *   bench_engine fit CSV REPEATS [OPTION=VALUE]...            karma_fit on a table with the label `target`
 *   bench_engine kernel CSV OUT [OPTION=VALUE]...             the Gram matrix of such a table, written as floats
 *   bench_engine sparse DIR ROWS BLOCK DIM REPEATS THREADS    a block of sparse rows against all rows
 *
 * Prints the seconds of every repetition. Things that are compared are timed in turn, after one repetition that is not
 * counted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "base/bits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "karma/karma.h"
#include "kernel/kernel.h"
#include "solve/solver.h"
#include "table/rows_dense.h"
#include "table/rows_sparse.h"
#include "timing.h"

enum { MOST_REPEATS = 64, SUBSPACE = 5 };

static const size_t GAMMA = 3;
static const double BIAS = 1.0, MISSING = 0.5;

static size_t number(const char *text) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    must(*text && !*end, "not a number");
    return (size_t)value;
}

/* The largest resident set this process has had: VmHWM starts at exec, ru_maxrss would remember the parent's. */
static double peak_bytes(void) {
    char line[256];
    double kilobytes = 0.0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0) kilobytes = strtod(line + 6, NULL);
    if (file) (void)fclose(file);
    return 1024.0 * kilobytes;
}

/* ---- JSON ---- */

typedef struct times {
    double seconds[MOST_REPEATS];
    size_t count;
} times;

/* Element 0 is the warm-up. */
static void record(times *t, size_t repeat, double start) {
    double seconds = now() - start;
    must(repeat <= MOST_REPEATS, "too many repetitions");
    if (repeat > 0) t->seconds[t->count++] = seconds;
}

static void print_times(const char *name, const times *t) {
    printf("\"%s\": [", name);
    for (size_t i = 0; i < t->count; i++) printf("%s%.6f", i ? ", " : "", t->seconds[i]);
    printf("], ");
}

static void print_number(const char *name, double value) {
    printf("\"%s\": %.10g, ", name, value);
}

static void print_end(void) {
    printf("\"core\": \"%s\", \"path\": \"%s\", \"peak_bytes\": %.0f}\n", openblas_get_corename(),
           karma_i_paths()[0]->name, peak_bytes());
}

/* ---- data ---- */

/* Low-rank rows with half the cells missing, and labels from a linear rule on the complete rows. As ranks,
 * the values' normal distribution function in bytes 1 to 255. */
typedef struct sample {
    karma_i_rows *rows;
    double *labels; /* -1 or 1 */
    karma_i_kernel kernel;
} sample;

static void draw_row(sample *s, size_t i, const double *basis, karma_i_rng *rng) {
    size_t d = s->rows->n_attributes;
    double z[SUBSPACE], label = 0.0;
    for (size_t k = 0; k < SUBSPACE; k++) label += z[k] = karma_i_rng_normal(rng);
    s->labels[i] = label > 0.0 ? 1.0 : -1.0;
    for (size_t j = 0; j < d; j++) {
        double x = 0.3 * karma_i_rng_normal(rng);
        for (size_t k = 0; k < SUBSPACE; k++) x += basis[j * SUBSPACE + k] * z[k] / sqrt(SUBSPACE);
        if (karma_i_rng_uniform(rng) < MISSING) continue;
        karma_i_mask_set(karma_i_rows_mask(s->rows, i), j);
        if (karma_i_dense_of(s->rows)->rank_stride)
            karma_i_rows_ranks(s->rows, i)[j] = (uint8_t)(1.0 + 254.0 * 0.5 * erfc(-x / sqrt(2.0)));
        else
            karma_i_dense_of(s->rows)->values[i * d + j] = (float)x;
    }
}

static void draw_sample(sample *s, size_t n, size_t d, int ranked) {
    karma_error err = {0};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    size_t *start = karma_i_alloc(d + 1, sizeof *start), observed = 0, most = 0;
    uint8_t *traits = karma_i_alloc(d, 1);
    double *basis = karma_i_alloc(d, SUBSPACE * sizeof *basis);
    s->labels = karma_i_alloc(n, sizeof *s->labels);
    must(start && traits && basis && s->labels, "out of memory");
    for (size_t j = 0; j <= d; j++) start[j] = ranked ? 0 : j; /* a ranked attribute has a byte and no feature */
    memset(traits, ranked ? KARMA_I_RANKED : 0, d);
    karma_i_rows_layout layout = {d, start, traits, 0};
    for (size_t j = 0; j < d * SUBSPACE; j++) basis[j] = karma_i_rng_normal(&rng);
    check(karma_i_rows_new_layout(&s->rows, &layout, n, &err), &err);
    for (size_t i = 0; i < n; i++) draw_row(s, i, basis, &rng);
    s->rows->n_rows = n;
    check(karma_i_rows_validate(s->rows, &err), &err);
    for (size_t i = 0; i < n; i++) {
        size_t count = karma_i_rows_n_observed(s->rows, i);
        observed += count;
        most = count > most ? count : most;
    }
    double scale = (double)observed / (double)n + 1.0;
    check(karma_i_kernel_init(&s->kernel, GAMMA, scale, BIAS, most, &err), &err);
    karma_i_free(start);
    karma_i_free(traits);
    karma_i_free(basis);
}

static void free_sample(sample *s) {
    karma_i_kernel_clear(&s->kernel);
    karma_i_rows_free(s->rows);
    karma_i_free(s->labels);
}

/* ---- Gram matrices ---- */

static int bench_dense(char **arguments) {
    int ranked = strcmp(arguments[0], "rank") == 0;
    size_t n = number(arguments[1]), d = number(arguments[2]), repeats = number(arguments[3]);
    int threads = (int)number(arguments[4]);
    sample s, values;
    draw_sample(&s, n, d, ranked);
    draw_sample(&values, n, d, 0); /* the matrices for SGEMM: as many columns, in single precision */
    float *out = karma_i_alloc_large(n, n * sizeof *out); /* all three write to the same memory */
    must(out != NULL, "out of memory");
    openblas_set_num_threads(threads);
    karma_i_view all = karma_i_rows_all(s.rows);
    const float *x = karma_i_dense_of(values.rows)->values;
    times gram = {0}, block = {0}, sgemm = {0};
    for (size_t r = 0; r <= repeats; r++) {
        double start = now();
        must(karma_i_kernel_gram(out, n, &s.kernel, all, threads) == KARMA_OK, "out of memory");
        record(&gram, r, start);
        start = now();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)n, (int)d, 1.0F, x, (int)d, x, (int)d, 0.0F,
                    out, (int)n);
        record(&sgemm, r, start);
        start = now();
        must(karma_i_kernel_block(out, n, &s.kernel, all, all, threads) == KARMA_OK, "out of memory");
        record(&block, r, start);
    }
    printf("{");
    print_times("gram", &gram);
    print_times("block", &block);
    print_times("sgemm", &sgemm);
    print_end();
    karma_i_free(out);
    free_sample(&s);
    free_sample(&values);
    return 0;
}

static int bench_gram(char **arguments) {
    size_t n = number(arguments[0]), d = number(arguments[1]), repeats = number(arguments[2]);
    int threads = (int)number(arguments[3]);
    sample s;
    draw_sample(&s, n, d, 0);
    float *out = karma_i_alloc_large(n, n * sizeof *out);
    must(out != NULL, "out of memory");
    times gram = {0};
    for (size_t r = 0; r <= repeats; r++) {
        double start = now();
        must(karma_i_kernel_gram(out, n, &s.kernel, karma_i_rows_all(s.rows), threads) == KARMA_OK, "out of memory");
        record(&gram, r, start);
    }
    printf("{");
    print_times("gram", &gram);
    print_end();
    karma_i_free(out);
    free_sample(&s);
    return 0;
}

/* ---- categories ---- */

/* d categories of L levels, centred, as codes with their terms or as indicators; the same cells both times. */
static karma_i_rows *draw_categories(size_t n, size_t d, size_t L, int coded) {
    karma_error err = {0};
    karma_i_rows *rows = NULL;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    size_t *start = karma_i_alloc(d + 1, sizeof *start);
    uint8_t *traits = karma_i_alloc(d, 1);
    must(start && traits, "out of memory");
    for (size_t j = 0; j <= d; j++) start[j] = coded ? 0 : j * L;
    memset(traits, coded ? KARMA_I_CODED | KARMA_I_HAS_TERM : 0, d);
    karma_i_rows_layout layout = {d, start, traits, 0};
    check(karma_i_rows_new_layout(&rows, &layout, n, &err), &err);
    float share = 1.0F / (float)L; /* of every level */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            size_t level = karma_i_rng_below(&rng, L);
            if (karma_i_rng_uniform(&rng) < MISSING) continue;
            karma_i_mask_set(karma_i_rows_mask(rows, i), j);
            if (coded) {
                *karma_i_rows_code(rows, i, j) = (uint16_t)(level + 1);
                karma_i_rows_set_term(rows, i, j, -0.5F * share); /* s/2 - p */
            }
            for (size_t f = start[j]; f < start[j + 1]; f++)
                karma_i_rows_values(rows, i)[f] = (f - start[j] == level ? 1.0F : 0.0F) - share;
        }
    rows->n_rows = n;
    check(karma_i_rows_validate(rows, &err), &err);
    karma_i_free(start);
    karma_i_free(traits);
    return rows;
}

static int bench_category(char **arguments) {
    size_t n = number(arguments[0]), d = number(arguments[1]), levels = number(arguments[2]);
    size_t columns = number(arguments[3]), repeats = number(arguments[4]);
    int threads = (int)number(arguments[5]);
    karma_error err = {0};
    karma_i_kernel kernel;
    karma_i_rows *coded = draw_categories(n, d, levels, 1), *spread = draw_categories(n, d, levels, 0);
    sample values;
    draw_sample(&values, n, columns, 0); /* the matrices for SGEMM */
    check(karma_i_kernel_init(&kernel, GAMMA, MISSING * (double)d + 1.0, BIAS, d, &err), &err);
    float *out = karma_i_alloc_large(n, n * sizeof *out);
    must(out != NULL, "out of memory");
    openblas_set_num_threads(threads);
    const float *x = karma_i_dense_of(values.rows)->values;
    times codes = {0}, codes_block = {0}, indicators = {0}, indicators_block = {0}, sgemm = {0};
    struct {
        const karma_i_rows *rows;
        times *gram, *block;
    } ways[] = {{coded, &codes, &codes_block}, {spread, &indicators, &indicators_block}};
    for (size_t r = 0; r <= repeats; r++) {
        double start;
        for (size_t w = 0; w < 2; w++) {
            karma_i_view all = karma_i_rows_all(ways[w].rows);
            start = now();
            must(karma_i_kernel_gram(out, n, &kernel, all, threads) == KARMA_OK, "out of memory");
            record(ways[w].gram, r, start);
            start = now();
            must(karma_i_kernel_block(out, n, &kernel, all, all, threads) == KARMA_OK, "out of memory");
            record(ways[w].block, r, start);
        }
        start = now();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)n, (int)columns, 1.0F, x, (int)columns, x,
                    (int)columns, 0.0F, out, (int)n);
        record(&sgemm, r, start);
    }
    printf("{");
    print_times("codes", &codes);
    print_times("codes_block", &codes_block);
    print_times("indicators", &indicators);
    print_times("indicators_block", &indicators_block);
    print_times("sgemm", &sgemm);
    print_end();
    karma_i_free(out);
    karma_i_kernel_clear(&kernel);
    karma_i_rows_free(coded);
    karma_i_rows_free(spread);
    free_sample(&values);
    return 0;
}

/* ---- leaves of trees ---- */

/* One code per tree, always observed, as src/prep/leaves.c makes them. */
static karma_i_rows *draw_leaves(size_t n, size_t n_trees, size_t n_leaves) {
    karma_error err = {0};
    karma_i_rows *rows = NULL;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    size_t *start = karma_i_zalloc(n_trees + 1, sizeof *start);
    uint8_t *traits = karma_i_alloc(n_trees, 1);
    must(start && traits, "out of memory");
    memset(traits, KARMA_I_CODED, n_trees);
    karma_i_rows_layout layout = {n_trees, start, traits, 0};
    check(karma_i_rows_new_layout(&rows, &layout, n, &err), &err);
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < n_trees; t++) {
            karma_i_mask_set(karma_i_rows_mask(rows, i), t);
            *karma_i_rows_code(rows, i, t) = (uint16_t)(karma_i_rng_below(&rng, n_leaves) + 1);
        }
    rows->n_rows = n;
    check(karma_i_rows_validate(rows, &err), &err);
    karma_i_free(start);
    karma_i_free(traits);
    return rows;
}

static int bench_leaves(char **arguments) {
    size_t n = number(arguments[0]), n_trees = number(arguments[1]), columns = number(arguments[3]);
    size_t repeats = number(arguments[4]);
    int threads = (int)number(arguments[5]);
    karma_error err = {0};
    karma_i_kernel kernel;
    karma_i_rows *leaves = draw_leaves(n, n_trees, number(arguments[2]));
    sample values;
    draw_sample(&values, n, columns, 0); /* what SGEMM multiplies */
    check(karma_i_kernel_init(&kernel, 1, 1.0, 0.0, n_trees, &err), &err);
    float *out = karma_i_alloc_large(n, n * sizeof *out);
    must(out != NULL, "out of memory");
    openblas_set_num_threads(threads);
    const float *x = karma_i_dense_of(values.rows)->values;
    times gram = {0}, sgemm = {0};
    for (size_t r = 0; r <= repeats; r++) {
        double start = now();
        must(karma_i_kernel_gram(out, n, &kernel, karma_i_rows_all(leaves), threads) == KARMA_OK, "out of memory");
        record(&gram, r, start);
        start = now();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)n, (int)columns, 1.0F, x, (int)columns, x,
                    (int)columns, 0.0F, out, (int)n);
        record(&sgemm, r, start);
    }
    printf("{");
    print_times("gram", &gram);
    print_times("sgemm", &sgemm);
    print_end();
    karma_i_free(out);
    karma_i_kernel_clear(&kernel);
    karma_i_rows_free(leaves);
    free_sample(&values);
    return 0;
}

/* ---- online ---- */

/* k(a_i, b_j) of one pair, written in the simplest way and compiled like the rest of the library, for any processor. */
typedef double (*pair_fn)(const karma_i_kernel *kernel, const karma_i_rows *rows, size_t i, size_t j);

static double weigh(const karma_i_kernel *kernel, const karma_i_rows *rows, size_t i, size_t j, float sum) {
    size_t c =
        karma_i_mask_overlap(karma_i_rows_mask(rows, i), karma_i_rows_mask(rows, j), karma_i_dense_of(rows)->n_words);
    return (double)((sum + (float)(kernel->factors[0].bias * kernel->factors[0].bias)) * kernel->factors[0].weight[c]);
}

static double plain_pair(const karma_i_kernel *kernel, const karma_i_rows *rows, size_t i, size_t j) {
    const float *a = karma_i_rows_values(rows, i), *b = karma_i_rows_values(rows, j);
    float sum = 0.0F;
    for (size_t k = 0; k < rows->n_features; k++) sum += a[k] * b[k];
    return weigh(kernel, rows, i, j, sum);
}

/* The same with sixteen sums at once, which the compiler turns into vectors: a faster reference. */
static double vector_pair(const karma_i_kernel *kernel, const karma_i_rows *rows, size_t i, size_t j) {
    const float *a = karma_i_rows_values(rows, i), *b = karma_i_rows_values(rows, j);
    float sums[16] = {0}, sum = 0.0F;
    size_t k = 0;
    for (; k + 16 <= rows->n_features; k += 16)
        for (size_t s = 0; s < 16; s++) sums[s] += a[k + s] * b[k + s];
    for (; k < rows->n_features; k++) sum += a[k] * b[k];
    for (size_t s = 0; s < 16; s++) sum += sums[s];
    return weigh(kernel, rows, i, j, sum);
}

typedef struct outcome {
    double *coefficients;
    size_t n_errors, n_kept;
} outcome;

/* Algorithm 1 with hinge loss and eta_t = C/t, rho = 1/C, row by row: v_t = C/(t - 1) Σ_{i<t} -g_i φ_i. */
static void learn_by_row(outcome *out, const sample *s, double C, pair_fn pair) {
    size_t n = s->rows->n_rows, kept = 0, *index = karma_i_alloc(n, sizeof *index);
    must(index != NULL, "out of memory");
    memset(out->coefficients, 0, n * sizeof *out->coefficients);
    out->n_errors = 0;
    for (size_t t = 0; t < n; t++) {
        double y = s->labels[t], z = 0.0;
        for (size_t k = 0; k < kept; k++) z += s->labels[index[k]] * pair(&s->kernel, s->rows, t, index[k]);
        z = t > 0 ? C * z / (double)t : 0.0;
        out->n_errors += (z > 0.0) != (y > 0.0);
        if (y * z < 1.0) {
            index[kept++] = t;
            out->coefficients[t] = y * C / (double)n;
        }
    }
    out->n_kept = kept;
    karma_i_free(index);
}

static void learn_by_library(outcome *out, const sample *s, double C, int threads) {
    karma_error err = {0};
    karma_fit_info info = {0};
    karma_fit_options options;
    karma_options_init(karma_fit_option_table(), &options);
    options.loss = KARMA_LOSS_HINGE;
    options.schedule = KARMA_SCHEDULE_PEGASOS;
    options.C = C;
    options.passes = 1;
    options.shuffle = 0;
    options.average = 0;
    options.threads = threads;
    karma_i_problem problem = {
        .kernel = &s->kernel, .rows = s->rows, .targets = s->labels, .n_outputs = 1, .n_deciding = 1};
    check(karma_i_loss_make(&problem.loss, KARMA_TASK_CLASSIFY, &options, 0.5, &err), &err);
    check(karma_i_solver(KARMA_SOLVER_ONLINE)(out->coefficients, &info, &problem, &options, NULL, &err), &err);
    out->n_errors = (size_t)(info.error_rate * (double)info.rounds + 0.5);
}

/* The library's choice: m / mean k(x, x). */
static double choose_C(const sample *s) {
    size_t n = s->rows->n_rows;
    double *diagonal = karma_i_alloc(n, sizeof *diagonal), sum = 0.0;
    must(diagonal != NULL, "out of memory");
    karma_i_kernel_diagonal(diagonal, &s->kernel, karma_i_rows_all(s->rows));
    for (size_t i = 0; i < n; i++) sum += diagonal[i];
    karma_i_free(diagonal);
    return (double)n * (double)n / sum;
}

/* |a - b| / |b| */
static double distance(const double *a, const double *b, size_t n) {
    double difference = 0.0, norm = 0.0;
    for (size_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return sqrt(difference / norm);
}

static int bench_online(char **arguments) {
    size_t n = number(arguments[0]), d = number(arguments[1]), repeats = number(arguments[2]);
    int threads = (int)number(arguments[3]);
    sample s;
    draw_sample(&s, n, d, 0);
    double C = choose_C(&s), start;
    outcome ours = {0}, theirs = {0};
    ours.coefficients = karma_i_alloc(n, sizeof(double));
    theirs.coefficients = karma_i_alloc(n, sizeof(double));
    must(ours.coefficients && theirs.coefficients, "out of memory");
    times library = {0}, one_thread = {0}, plain = {0}, vector = {0};
    for (size_t r = 0; r <= repeats; r++) {
        start = now();
        learn_by_library(&ours, &s, C, threads);
        record(&library, r, start);
        start = now();
        learn_by_library(&ours, &s, C, 1);
        record(&one_thread, r, start);
        if (r > 0) { /* no warm-up for runs that take seconds */
            start = now();
            learn_by_row(&theirs, &s, C, vector_pair);
            record(&vector, r, start);
            start = now();
            learn_by_row(&theirs, &s, C, plain_pair);
            record(&plain, r, start);
        }
    }
    printf("{");
    print_times("library", &library);
    print_times("library_one_thread", &one_thread);
    print_times("plain", &plain);
    print_times("vector", &vector);
    print_number("rounds", (double)n);
    print_number("kept", (double)theirs.n_kept);
    print_number("errors", (double)ours.n_errors);
    print_number("errors_reference", (double)theirs.n_errors);
    print_number("distance", distance(ours.coefficients, theirs.coefficients, n));
    print_end();
    karma_i_free(ours.coefficients);
    karma_i_free(theirs.coefficients);
    free_sample(&s);
    return 0;
}

/* ---- batch ---- */

/* The table and the options NAME=VALUE that follow. */
static karma_table *read_table(karma_fit_options *options, const char *path, char **settings) {
    karma_error err = {0};
    karma_read_options reading;
    karma_table *table = NULL;
    const karma_option_table *known = karma_fit_option_table();
    karma_options_init(karma_read_option_table(), &reading);
    check(karma_option_set(karma_option_find(karma_read_option_table(), "target"), &reading, "target", &err), &err);
    check(karma_table_read(&table, path, &reading, NULL, &err), &err);
    karma_options_clear(karma_read_option_table(), &reading);
    karma_options_init(known, options);
    for (char **setting = settings; *setting; setting++) {
        char *equals = strchr(*setting, '=');
        must(equals != NULL, "options are NAME=VALUE");
        *equals = '\0';
        const karma_option *option = karma_option_find(known, *setting);
        must(option != NULL, "no such option");
        check(karma_option_set(option, options, equals + 1, &err), &err);
    }
    return table;
}

static int bench_kernel(char **arguments) {
    karma_error err = {0};
    karma_fit_options options;
    karma_table *table = read_table(&options, arguments[0], arguments + 2);
    karma_gram *gram = NULL;
    check(karma_gram_new(&gram, table, NULL, &options, NULL, &err), &err);
    size_t n = karma_gram_n_rows(gram);
    float *values = karma_i_alloc_large(n, n * sizeof *values);
    must(values != NULL, "out of memory");
    check(karma_gram_rows(values, gram, 0, n, &err), &err);
    FILE *file = fopen(arguments[1], "wb");
    must(file && fwrite(values, n * sizeof *values, n, file) == n && fclose(file) == 0, "cannot write the matrix");
    printf("{");
    print_number("scale", karma_gram_scale(gram));
    print_end();
    karma_i_free(values);
    karma_gram_free(gram);
    karma_table_free(table);
    karma_options_clear(karma_fit_option_table(), &options);
    return 0;
}

static int bench_fit(char **arguments) {
    karma_error err = {0};
    karma_fit_options options;
    karma_table *table = read_table(&options, arguments[0], arguments + 2);
    size_t repeats = number(arguments[1]);
    times fit = {0}, processor = {0};
    karma_fit_info info = {0};
    for (size_t r = 0; r <= repeats; r++) {
        karma_model *model = NULL;
        double start = now(), used = processor_now();
        check(karma_fit(&model, table, &options, NULL, &err), &err);
        record(&fit, r, start);
        if (r > 0) processor.seconds[processor.count++] = processor_now() - used;
        info = *karma_model_info(model);
        karma_model_free(model);
    }
    printf("{");
    print_times("fit", &fit);
    print_times("processor", &processor);
    print_number("C", info.C);
    print_number("scale", info.scale);
    print_number("rows", (double)info.n_rows);
    print_number("support", (double)info.n_support);
    print_number("primal", info.primal);
    print_number("dual", info.dual);
    print_number("gap", info.gap);
    print_number("kernel_evaluations", info.kernel_evaluations);
    printf("\"stop\": \"%s\", ", karma_stop_name(info.stop));
    print_end();
    karma_table_free(table);
    karma_options_clear(karma_fit_option_table(), &options);
    return 0;
}

/* ---- sparse ---- */

/* A file of `count` items in the machine's own format, whole. */
static void read_items(void *out, size_t count, size_t size, const char *directory, const char *name) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    must(file && fread(out, size, count, file) == count, path);
    (void)fclose(file);
}

static int bench_sparse(char **arguments) {
    const char *directory = arguments[0];
    size_t n = number(arguments[1]), n_block = number(arguments[2]), d = number(arguments[3]);
    size_t repeats = number(arguments[4]), observed = 0, most = 0;
    int threads = (int)number(arguments[5]);
    karma_error err = {0};
    karma_i_rows *rows = NULL;
    karma_i_kernel kernel;
    check(karma_i_rows_new_sparse(&rows, d, n, &err), &err);
    size_t *start = karma_i_alloc(n + 1, sizeof *start);
    must(start != NULL, "out of memory");
    read_items(start, n + 1, sizeof *start, directory, "start");
    uint32_t *attribute = karma_i_alloc(start[n], sizeof *attribute);
    float *value = karma_i_alloc(start[n], sizeof *value);
    must(attribute && value, "out of memory");
    read_items(attribute, start[n], sizeof *attribute, directory, "attribute");
    read_items(value, start[n], sizeof *value, directory, "value");
    for (size_t i = 0; i < n; i++) {
        for (size_t k = start[i]; k < start[i + 1]; k++)
            check(karma_i_rows_add_cell(rows, attribute[k], value[k], &err), &err);
        check(karma_i_rows_end_sparse(rows, &err), &err);
    }
    karma_i_free(start);
    karma_i_free(attribute);
    karma_i_free(value);
    check(karma_i_rows_validate(rows, &err), &err);
    for (size_t i = 0; i < n; i++) {
        size_t count = karma_i_rows_n_observed(rows, i);
        observed += count;
        most = count > most ? count : most;
    }
    check(karma_i_kernel_init(&kernel, GAMMA, (double)observed / (double)n + 1.0, BIAS, most, &err), &err);
    float *out = karma_i_alloc_large(n_block, n * sizeof *out);
    must(out != NULL, "out of memory");
    karma_i_view all = karma_i_rows_all(rows), block = {rows, 0, n_block};
    times library = {0};
    for (size_t r = 0; r <= repeats; r++) {
        double began = now();
        must(karma_i_kernel_block(out, n, &kernel, block, all, threads) == KARMA_OK, "out of memory");
        record(&library, r, began);
    }
    double sum = 0.0; /* lets the peer check that both have the same rows */
    for (size_t j = 0; j < n; j++) sum += (double)out[j];
    printf("{");
    print_times("block", &library);
    print_number("first_row_sum", sum);
    print_number("cells", (double)observed);
    print_end();
    karma_i_free(out);
    karma_i_kernel_clear(&kernel);
    karma_i_rows_free(rows);
    return 0;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int n_arguments;
        int (*run)(char **arguments);
    } benches[] = {
        {"dense", 5, bench_dense},   {"category", 6, bench_category}, {"gram", 4, bench_gram},
        {"online", 4, bench_online}, {"fit", 2, bench_fit},           {"kernel", 2, bench_kernel},
        {"sparse", 6, bench_sparse}, {"leaves", 6, bench_leaves},
    };
    for (size_t i = 0; argc > 1 && i < sizeof benches / sizeof *benches; i++)
        if (strcmp(argv[1], benches[i].name) == 0 && argc - 2 >= benches[i].n_arguments)
            return benches[i].run(argv + 2);
    (void)fprintf(stderr, "bench_engine: see the head of bench_engine.c\n");
    return 2;
}
