/* Kernels made of factors under outer maps: every path of this machine against the double-precision reference, and
 * properties of all such kernels. The bound on rounding errors is computed: each value has an error radius, which
 * goes through the same formula. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "kernel/exact.h"
#include "kernel/kernel_build.h"
#include "linalg/linalg.h"
#include "blocks.h"
#include "randomrows.h"
#include "rounding.h"
#include "table/rows_dense.h"
#include "table/rows_sparse.h"

/* --- rows in one or two encodings ---------------------------------------------------------------------- */

static void clear_row(karma_i_rows *rows, size_t row) {
    memset(karma_i_rows_mask(rows, row), 0, karma_i_dense_of(rows)->n_words * sizeof *karma_i_dense_of(rows)->mask);
    memset(karma_i_rows_values(rows, row), 0, rows->n_features * sizeof *karma_i_dense_of(rows)->values);
}

/* The same rows with a byte in place of every attribute that has one feature. */
static karma_i_rows *ranked_copy(const karma_i_rows *rows) {
    size_t d = rows->n_attributes, *start = calloc(d + 1, sizeof *start);
    unsigned char *ranked = calloc(d, 1);
    karma_i_rows *copy = NULL;
    assert_true(start && ranked);
    for (size_t j = 0; j < d; j++) {
        size_t width = rows->feature_start[j + 1] - rows->feature_start[j];
        ranked[j] = width == 1 ? KARMA_I_RANKED : 0;
        start[j + 1] = start[j] + (ranked[j] ? 0 : width);
    }
    karma_i_rows_layout layout = {d, start, ranked, 0};
    assert_int_equal(karma_i_rows_new_layout(&copy, &layout, rows->n_rows, NULL), KARMA_OK);
    memcpy(karma_i_dense_of(copy)->mask, karma_i_dense_of(rows)->mask,
           rows->n_rows * karma_i_dense_of(rows)->n_words * sizeof *karma_i_dense_of(rows)->mask);
    copy->n_rows = rows->n_rows;
    for (size_t i = 0; i < rows->n_rows; i++)
        for (size_t j = 0; j < d; j++) {
            if (!karma_i_mask_get(karma_i_rows_mask(rows, i), j)) continue;
            const float *x = karma_i_rows_values(rows, i) + rows->feature_start[j];
            if (ranked[j]) /* of a logistic distribution, which is close to a normal one */
                karma_i_rows_ranks(copy, i)[j] = (uint8_t)(1.5 + 254.0 / (1.0 + exp(-1.7 * (double)x[0])));
            else
                memcpy(karma_i_rows_values(copy, i) + start[j], x, (start[j + 1] - start[j]) * sizeof *x);
        }
    free(start);
    free(ranked);
    return copy;
}

/* The same rows as lists of cells; every attribute has one feature. */
static karma_i_rows *sparse_copy(const karma_i_rows *rows) {
    karma_i_rows *copy = NULL;
    assert_int_equal(rows->n_features, rows->n_attributes);
    assert_int_equal(karma_i_rows_new_sparse(&copy, rows->n_attributes, rows->n_rows, NULL), KARMA_OK);
    for (size_t i = 0; i < rows->n_rows; i++) {
        for (size_t j = 0; j < rows->n_attributes; j++)
            if (karma_i_mask_get(karma_i_rows_mask(rows, i), j))
                assert_int_equal(karma_i_rows_add_cell(copy, j, karma_i_rows_values(rows, i)[j], NULL), KARMA_OK);
        assert_int_equal(karma_i_rows_end_sparse(copy, NULL), KARMA_OK);
    }
    return copy;
}

/* The encodings that a plan wants, in its order; `linear` becomes one of them or is freed. */
static karma_i_rows *encode(karma_i_rows *linear, const karma_i_plan *plan, int is_sparse) {
    karma_i_rows *first = NULL, **end = &first;
    int used = 0;
    for (size_t e = 0; e < plan->n_kinds; e++) {
        used |= plan->kinds[e] == KARMA_KERNEL_LINEAR && !is_sparse;
        *end = plan->kinds[e] == KARMA_KERNEL_RANK ? ranked_copy(linear) : is_sparse ? sparse_copy(linear) : linear;
        end = &(*end)->next;
    }
    if (!used) karma_i_rows_free(linear);
    assert_int_equal(karma_i_rows_validate(first, NULL), KARMA_OK);
    return first;
}

/* --- kernels ------------------------------------------------------------------------------------------- */

/* A plan of one kernel, the rows that it was learned from, and other rows. */
typedef struct world {
    const char *text;
    karma_i_plan plan;
    karma_i_rows *rows, *later;
    karma_i_kernel kernel;
} world;

static karma_fit_options options_for(const char *formula) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.kernel = (char *)(uintptr_t)formula; /* never cleared, so not owned */
    return o;
}

static void parse(karma_i_plan *out, const karma_fit_options *options) {
    karma_error err;
    if (karma_i_plan_parse(out, options->kernel, options, &err) != KARMA_OK) fail_msg("%s", err.message);
}

static void learn(world *w) {
    assert_int_equal(karma_i_kernel_learn(&w->kernel, &w->plan.members[0].kernel, w->rows, 1, NULL), KARMA_OK);
}

/* Every seventh row is empty. The other rows observe more attributes than any training row. */
static world new_world(const karma_fit_options *options, const row_shape *shape, size_t n_later, int is_sparse,
                       karma_i_rng *rng) {
    world w = {.text = options->kernel};
    row_shape other = *shape;
    parse(&w.plan, options);
    karma_i_rows *rows = draw_rows(shape, rng);
    for (size_t i = 3; i < rows->n_rows; i += 7) clear_row(rows, i);
    w.rows = encode(rows, &w.plan, is_sparse);
    other.n_rows = n_later;
    other.share = 1.0 - 0.2 * (1.0 - shape->share);
    w.later = encode(draw_rows(&other, rng), &w.plan, is_sparse);
    learn(&w);
    return w;
}

static void free_world(world *w) {
    karma_i_kernel_clear(&w->kernel);
    karma_i_plan_clear(&w->plan);
    karma_i_rows_free(w->rows);
    karma_i_rows_free(w->later);
}

/* --- numbers and how far single precision may be from them --------------------------------------------- */

typedef struct number {
    double value, radius;
} number;

static const double UNIT = 0x1p-24; /* one rounding to single precision */

/* A factor before its outer map. */
static number bare_number(const karma_i_factor *f, const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j) {
    karma_i_factor bare = *f;
    karma_i_term term = {1.0, 0, 1};
    karma_i_kernel kernel = {1, 1, &term, &bare, karma_i_paths()[0]};
    bare.encoding = 0;
    bare.map = (karma_i_map){.spread = 1.0};
    return (number){karma_i_kernel_reference(&kernel, a, i, b, j),
                    rounding(a) * factor_size(f, a, i, b, j) + (double)FLT_MIN};
}

static number map_number(const karma_i_map *m, double xy, double radius, double xx, double yy) {
    switch (m->kind) {
    case KARMA_OUTER_COSINE: { /* the lengths are rounded, their roots, their product, the quotient */
        double lengths = sqrt(xx) * sqrt(yy);
        if (lengths == 0.0) return (number){0.0, 0.0};
        return (number){xy / lengths, (radius + 8.0 * UNIT * fabs(xy)) / lengths};
    }
    case KARMA_OUTER_POLY: { /* |f(t') - f(t)| <= f'(T) |t' - t| with T the larger; and one rounding per product */
        double n = (double)m->degree, base = m->offset + xy / m->spread;
        double off = radius / m->spread + 4.0 * UNIT * (m->offset + fabs(xy) / m->spread), most = fabs(base) + off;
        return (number){pow(base, n), n * pow(most, n - 1.0) * off + n * UNIT * pow(most, n)};
    }
    case KARMA_OUTER_SERIES: { /* the same; Horner's rule rounds twice per power, and the coefficients are rounded */
        double t = xy / m->spread, off = radius / m->spread + 2.0 * UNIT * fabs(t), most = fabs(t) + off;
        double value = 0.0, slope = 0.0, size = 0.0;
        for (size_t p = 0; p <= m->degree; p++) {
            value += m->coefficients[p] * pow(t, (double)p);
            size += m->coefficients[p] * pow(most, (double)p);
            if (p) slope += (double)p * m->coefficients[p] * pow(most, (double)p - 1.0);
        }
        return (number){value, slope * off + (2.0 * (double)m->degree + 3.0) * UNIT * size};
    }
    case KARMA_OUTER_RBF:
    case KARMA_OUTER_LAPLACE: { /* monotone in D, of which what roundings could be, 1e-6 of the squares, is taken off */
        double squares = xx + yy, d[3], t[3];
        double off = 2.0 * radius + (1e-6 + 6.0 * UNIT) * squares;
        d[1] = fmax(0.0, squares - 2.0 * xy);
        d[0] = fmax(0.0, d[1] - off);
        d[2] = d[1] + off;
        for (size_t k = 0; k < 3; k++)
            t[k] = m->kind == KARMA_OUTER_RBF ? d[k] / (m->spread * m->width * m->width)
                                              : sqrt(d[k] / m->spread) / m->width;
        /* the exponent has a relative error of a few units, exp itself a few more; it is 0 from e^-87 on */
        double own = exp(-t[0]) * (16.0 + 4.0 * t[0]) * UNIT + 2.0 * (double)FLT_MIN;
        return (number){exp(-t[1]), fmax(exp(-t[0]) - exp(-t[1]), exp(-t[1]) - exp(-t[2])) + own};
    }
    case KARMA_OUTER_IDENTITY:
    case KARMA_N_OUTERS:
        break;
    }
    return (number){xy, radius};
}

static number times(number a, number b) {
    double value = a.value * b.value;
    return (number){value, fabs(a.value) * b.radius + fabs(b.value) * a.radius + a.radius * b.radius +
                               2.0 * UNIT * fabs(value)};
}

static number plus(number a, number b) {
    double value = a.value + b.value;
    return (number){value, a.radius + b.radius + 2.0 * UNIT * (fabs(a.value) + fabs(b.value))};
}

static number kernel_number(const karma_i_kernel *k, const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j) {
    number sum = {0.0, 0.0};
    for (size_t t = 0; t < k->n_terms; t++) {
        number product = {k->terms[t].weight, UNIT * k->terms[t].weight};
        for (size_t n = 0; n < k->terms[t].n_factors; n++) {
            const karma_i_factor *f = &k->factors[k->terms[t].first_factor + n];
            const karma_i_rows *x = karma_i_rows_encoding(a, f->encoding), *y = karma_i_rows_encoding(b, f->encoding);
            number xy = bare_number(f, x, i, y, j);
            product = times(product, map_number(&f->map, xy.value, xy.radius, bare_number(f, x, i, x, i).value,
                                                bare_number(f, y, j, y, j).value));
        }
        sum = plus(sum, product);
    }
    return sum;
}

/* --- every path against the reference ------------------------------------------------------------------ */

static void check_value(double got, const world *w, const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j,
                        const char *what) {
    number wanted = kernel_number(&w->kernel, a, i, b, j);
    double reference = karma_i_kernel_reference(&w->kernel, a, i, b, j);
    if (!(fabs(reference - wanted.value) <= 1e-12 * (1.0 + fabs(wanted.value))))
        fail_msg("'%s', rows %zu and %zu: the reference is %.17g, not %.17g", w->text, i, j, reference, wanted.value);
    if (!(fabs(got - reference) <= wanted.radius))
        fail_msg("%s, %s of '%s', rows %zu and %zu: %.9g, wanted %.9g within %.2g", w->kernel.path->name, what, w->text,
                 i, j, got, reference, wanted.radius);
}

/* Some 300 pairs; the gaps between the rows of `out` are not written. */
static void check_values(const float *out, size_t ld, const world *w, karma_i_view a, karma_i_view b,
                         const char *what) {
    size_t step = a.count * b.count / 300 + 1;
    for (size_t i = 0; i < a.count; i++)
        for (size_t j = b.count; j < ld; j++) assert_true(out[i * ld + j] == UNTOUCHED);
    for (size_t p = 0; p < a.count * b.count; p += step)
        check_value((double)out[p / b.count * ld + p % b.count], w, a.rows, a.first + p / b.count, b.rows,
                    b.first + p % b.count, what);
}

static void check_block(const world *w, karma_i_view a, karma_i_view b) {
    size_t ld = b.count + GAP;
    float *out = new_block(a.count, ld);
    assert_int_equal(karma_i_kernel_block(out, ld, &w->kernel, a, b, 1), KARMA_OK);
    check_values(out, ld, w, a, b, "block");
    free(out);
}

static void check_gram(const world *w, karma_i_view a) {
    size_t ld = a.count + GAP;
    float *gram = new_block(a.count, ld);
    assert_int_equal(karma_i_kernel_gram(gram, ld, &w->kernel, a, 1), KARMA_OK);
    check_values(gram, ld, w, a, a, "gram");
    for (size_t i = 0; i < a.count; i++)
        for (size_t j = 0; j < i; j++) assert_memory_equal(&gram[i * ld + j], &gram[j * ld + i], sizeof *gram);
    free(gram);
}

/* In double precision: errors are those of single precision times the ratio of the two; the root in `laplace` takes the
 * root of that. */
static void check_exact(const world *w, karma_i_view a, karma_i_view b) {
    double *out = malloc((a.count * b.count + 1) * sizeof *out);
    double share = strstr(w->text, "laplace") ? 1e-3 : 1e-6;
    karma_i_exact *exact = NULL;
    assert_int_equal(karma_i_exact_new(&exact, &w->kernel, a.rows, 1, NULL), KARMA_OK);
    karma_i_exact_block(out, exact, a, b);
    for (size_t p = 0; p < a.count * b.count; p += a.count * b.count / 40 + 1) {
        size_t i = a.first + p / b.count, j = b.first + p % b.count;
        double wanted = karma_i_kernel_reference(&w->kernel, a.rows, i, b.rows, j);
        double radius = kernel_number(&w->kernel, a.rows, i, b.rows, j).radius;
        if (!(fabs(out[p] - wanted) <= share * radius + 1e-300))
            fail_msg("%s, exact value of '%s', rows %zu and %zu: %.17g, wanted %.17g", w->kernel.path->name, w->text, i,
                     j, out[p], wanted);
    }
    karma_i_exact_diagonal(out, exact, a);
    for (size_t i = 0; i < a.count; i++) {
        double wanted = karma_i_kernel_reference(&w->kernel, a.rows, a.first + i, a.rows, a.first + i);
        assert_true(fabs(out[i] - wanted) <= 1e-12 * (1.0 + fabs(wanted)));
    }
    karma_i_exact_free(exact);
    free(out);
}

static void check_diagonal(const world *w, karma_i_view a) {
    double *diagonal = malloc((a.count + 1) * sizeof *diagonal);
    karma_i_kernel_diagonal(diagonal, &w->kernel, a);
    for (size_t i = 0; i < a.count; i++) {
        assert_true(diagonal[i] >= 0.0);
        check_value(diagonal[i], w, a.rows, a.first + i, a.rows, a.first + i, "diagonal");
    }
    free(diagonal);
}

static void check_scores(const world *w, karma_i_view a, karma_i_view b, karma_i_rng *rng) {
    enum { OUTPUTS = 2 };
    double *c = malloc((b.count + 1) * OUTPUTS * sizeof *c), *scores = malloc((a.count + 1) * OUTPUTS * sizeof *scores);
    for (size_t i = 0; i < b.count * OUTPUTS; i++) c[i] = karma_i_rng_normal(rng);
    assert_int_equal(karma_i_kernel_scores(scores, &w->kernel, a, b, c, OUTPUTS, 1, NULL), KARMA_OK);
    for (size_t i = 0; i < a.count; i += 1 + a.count / 2) {
        number wanted[OUTPUTS] = {{0.0, 0.0}, {0.0, 0.0}}; /* summed in double precision */
        for (size_t j = 0; j < b.count; j++) {
            number k = kernel_number(&w->kernel, a.rows, a.first + i, b.rows, b.first + j);
            for (size_t o = 0; o < OUTPUTS; o++) {
                wanted[o].value += c[j * OUTPUTS + o] * k.value;
                wanted[o].radius += fabs(c[j * OUTPUTS + o]) * (k.radius + 1e-13 * fabs(k.value));
            }
        }
        for (size_t o = 0; o < OUTPUTS; o++)
            if (!(fabs(scores[i * OUTPUTS + o] - wanted[o].value) <= wanted[o].radius))
                fail_msg("%s, '%s', score of row %zu: %.9g, wanted %.9g within %.2g", w->kernel.path->name, w->text, i,
                         scores[i * OUTPUTS + o], wanted[o].value, wanted[o].radius);
    }
    free(c);
    free(scores);
}

static void check_world(world *w, karma_i_rng *rng) {
    karma_i_view rows = {w->rows, 2, w->rows->n_rows - 2}, later = {w->later, 1, w->later->n_rows - 1};
    for (const karma_i_path *const *path = karma_i_paths(); *path; path++) {
        w->kernel.path = *path;
        check_block(w, rows, later);
        check_block(w, later, rows);
        check_gram(w, rows);
        check_exact(w, rows, later);
        check_exact(w, rows, rows);
        check_diagonal(w, rows);
        check_diagonal(w, later);
        check_scores(w, later, rows, rng);
    }
}

/* Sums and products of factors; `outer` is the map of factors that name no other. */
static const char *const formulas[] = {
    "linear",
    "rank",
    "0.25*linear(gamma=1, bias=0)",
    "linear + rank",
    "rank * linear",
    "linear(gamma=1) + linear(gamma=3) * linear(outer=cosine)",
    "2*rank(gamma=3, width=0.6) + 0.5*linear(outer=poly, degree=3, offset=0.5) * rank(outer=laplace) + "
    "1e-3*linear(gamma=4)",
    "linear(outer=cosine) * rank(outer=rbf, width=2) + linear(gamma=1, scale=paper) * linear(outer=identity, bias=0.3)",
};
enum { N_FORMULAS = sizeof formulas / sizeof formulas[0] };

typedef void (*world_check)(world *w, karma_i_rng *rng);

static void for_all_formulas(world_check check, const row_shape *shape, size_t n_later, int is_sparse, uint64_t seed) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    for (size_t f = 0; f < N_FORMULAS; f++)
        for (int outer = 0; outer < KARMA_N_OUTERS; outer++) {
            karma_fit_options o = options_for(formulas[f]);
            char series[] = "0.5,0,1,0.25,0.125";
            o.outer = outer;
            o.series = series;
            world w = new_world(&o, shape, n_later, is_sparse, &rng);
            check(&w, &rng);
            free_world(&w);
        }
}

static void dense_rows_equal_the_reference(void **state) {
    (void)state;
    row_shape few = {19, 5, 3, 2, 0.6, 0}, many = {45, 131, 3, 3, 0.5, 0};
    for_all_formulas(check_world, &few, 34, 0, 1);
    for_all_formulas(check_world, &many, 23, 0, 2);
}

/* Beyond one tile (128 x 512) in both directions. */
static void rows_of_several_tiles_equal_the_reference(void **state) {
    (void)state;
    row_shape shape = {519, 6, 3, 2, 0.5, 0};
    for_all_formulas(check_world, &shape, 131, 0, 3);
}

/* Alone, sparse tiles are larger (256 x 4096) than beside a dense encoding (128 x 512). */
static void sparse_rows_equal_the_reference(void **state) {
    (void)state;
    row_shape shape = {41, 90, 0, 1, 0.1, 0}, tiles = {530, 30, 0, 1, 0.15, 0};
    for_all_formulas(check_world, &shape, 23, 1, 4);
    for_all_formulas(check_world, &tiles, 20, 1, 5);
}

static void check_threads(world *w, karma_i_rng *rng) {
    size_t n = w->rows->n_rows, n_later = w->later->n_rows, n_all = n * n + n * n_later;
    karma_i_view rows = karma_i_rows_all(w->rows), later = karma_i_rows_all(w->later);
    float *one = new_block(n_all, 1), *more = new_block(n_all, 1);
    double *c = malloc(n * sizeof *c), *scores = malloc(2 * n_later * sizeof *scores);
    for (size_t i = 0; i < n; i++) c[i] = karma_i_rng_normal(rng);
    for (int threads = 1; threads <= 3; threads++) {
        float *out = threads == 1 ? one : more;
        double *sums = threads == 1 ? scores : scores + n_later;
        assert_int_equal(karma_i_kernel_gram(out, n, &w->kernel, rows, threads), KARMA_OK);
        assert_int_equal(karma_i_kernel_block(out + n * n, n, &w->kernel, later, rows, threads), KARMA_OK);
        assert_int_equal(karma_i_kernel_scores(sums, &w->kernel, later, rows, c, 1, threads, NULL), KARMA_OK);
        if (threads == 1) continue;
        assert_memory_equal(one, more, n_all * sizeof *one);
        assert_memory_equal(scores, sums, n_later * sizeof *scores);
    }
    free(one);
    free(more);
    free(c);
    free(scores);
}

static void threads_do_not_change_a_bit(void **state) {
    (void)state;
    row_shape dense = {300, 6, 3, 2, 0.5, 0}, sparse = {300, 40, 0, 1, 0.15, 0};
    for_all_formulas(check_threads, &dense, 270, 0, 6);
    for_all_formulas(check_threads, &sparse, 270, 1, 7);
}

/* --- what must hold of every kernel -------------------------------------------------------------------- */

static void write_factor(char *text, size_t size, karma_i_rng *rng) {
    static const char *const outers[] = {
        "identity", "cosine", "poly, degree=3, offset=0.2", "rbf", "laplace", "series, series=0:0.5:0:2:1",
    };
    static const char *const scales[] = {"mean", "paper", "2.7"};
    (void)snprintf(text, size, "%s(gamma=%zu, scale=%s, bias=%s, width=%.3g, outer=%s)",
                   karma_i_rng_below(rng, 2) ? "linear" : "rank", 1 + karma_i_rng_below(rng, 5),
                   scales[karma_i_rng_below(rng, 3)], karma_i_rng_below(rng, 2) ? "0.5" : "0",
                   exp(karma_i_rng_normal(rng)), outers[karma_i_rng_below(rng, 6)]);
}

/* One to three factors, added or multiplied. */
static void write_formula(char *text, size_t size, karma_i_rng *rng) {
    size_t n = 1 + karma_i_rng_below(rng, 3), used = 0;
    for (size_t f = 0; f < n; f++) {
        char factor[200];
        write_factor(factor, sizeof factor, rng);
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 !f                          ? ""
                                 : karma_i_rng_below(rng, 2) ? " + 0.3*"
                                                             : "*",
                                 factor);
        assert_true(used < size);
    }
}

static double smallest_eigenvalue(double *largest, double *matrix, size_t n) {
    double *values = malloc(n * sizeof *values);
    assert_int_equal(karma_i_eigen_symmetric(values, matrix, n, NULL), KARMA_OK);
    double smallest = values[0];
    *largest = values[n - 1];
    free(values);
    return smallest;
}

/* Few attributes and many rows, so that the Gram matrix is far from its diagonal. In single precision the eigenvalues
 * move by at most the Frobenius norm of the errors (Weyl). */
static void gram_matrices_are_positive_semidefinite(void **state) {
    (void)state;
    enum { N = 32 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 11);
    for (size_t trial = 0; trial < 150; trial++) {
        char text[700];
        write_formula(text, sizeof text, &rng);
        karma_fit_options o = options_for(text);
        row_shape shape = {N, 2 + trial % 7, trial % 3 ? 0 : 2, 3, 0.15 + 0.1 * (double)(trial % 8), 0};
        world w = new_world(&o, &shape, 2, 0, &rng);
        double exact[N * N], single[N * N], errors = 0.0, largest = 0.0;
        float gram[N * N];
        assert_int_equal(karma_i_kernel_gram(gram, N, &w.kernel, karma_i_rows_all(w.rows), 1), KARMA_OK);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) {
                number k = kernel_number(&w.kernel, w.rows, i, w.rows, j);
                exact[i * N + j] = k.value;
                single[i * N + j] = (double)gram[i * N + j];
                errors += k.radius * k.radius;
            }
        for (size_t i = 0; i < N; i++) assert_true(gram[i * N + i] >= 0.0F && exact[i * N + i] >= 0.0);
        double smallest = smallest_eigenvalue(&largest, exact, N);
        if (!(smallest >= -1e-10 * largest)) fail_msg("'%s': eigenvalues from %g to %g", text, smallest, largest);
        smallest = smallest_eigenvalue(&largest, single, N);
        if (!(smallest >= -sqrt(errors) - 1e-10 * largest))
            fail_msg("'%s' in single precision: eigenvalues from %g to %g", text, smallest, largest);
        free_world(&w);
    }
}

/* Shows that the check above can fail. */
static void a_negative_coefficient_is_not_positive_semidefinite(void **state) {
    (void)state;
    enum { N = 30 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 12);
    karma_fit_options o = options_for("linear(outer=series, series=1:1:1)");
    row_shape shape = {N, 3, 0, 1, 0.6, 0};
    world w = new_world(&o, &shape, 2, 0, &rng);
    w.kernel.factors[0].map.coefficients[2] = -0.5;
    double gram[N * N], largest;
    for (size_t i = 0; i < N * N; i++) gram[i] = karma_i_kernel_reference(&w.kernel, w.rows, i / N, w.rows, i % N);
    assert_true(smallest_eigenvalue(&largest, gram, N) < -1e-3 * largest);
    free_world(&w);
}

/* Two empty rows and one that is not. */
static void rows_with_nothing_observed_have_a_value(void **state) {
    (void)state;
    static const double of_two_empty_rows[KARMA_N_OUTERS] = {0.0, 0.0, 2.25, 1.0, 1.0, 0.75};
    static const double x[3] = {1.5, -2.0, 0.5};
    static const unsigned char nothing[3] = {0, 0, 0}, something[3] = {1, 0, 1};
    static const size_t start[] = {0, 1, 2, 3};
    for (int outer = 0; outer < KARMA_N_OUTERS; outer++)
        for (int with_bias = 0; with_bias < 2; with_bias++)
            for (size_t n_empty = 2; n_empty <= 3; n_empty++) { /* all rows are empty: there is no scale to learn */
                karma_fit_options o = options_for("linear");
                char series[] = "0.75:1:2";
                o.outer = outer, o.offset = 1.5, o.series = series, o.bias = with_bias ? 0.5 : 0.0;
                world w = {.text = "linear"};
                parse(&w.plan, &o);
                assert_int_equal(karma_i_rows_new(&w.rows, 3, start, 3, NULL), KARMA_OK);
                for (size_t i = 0; i < 3; i++) put_row(w.rows, i, x, i < n_empty ? nothing : something);
                w.rows->n_rows = 3;
                learn(&w);
                float gram[9];
                assert_int_equal(karma_i_kernel_gram(gram, 3, &w.kernel, karma_i_rows_all(w.rows), 1), KARMA_OK);
                for (size_t i = 0; i < 9; i++) {
                    assert_true(isfinite(gram[i]));
                    check_value((double)gram[i], &w, w.rows, i / 3, w.rows, i % 3, "gram");
                }
                if (!with_bias) assert_true((double)gram[1] == of_two_empty_rows[outer]);
                assert_true(gram[0] >= 0.0F && gram[0] == gram[1] && gram[1] == gram[4]);
                free_world(&w);
            }
}

/* Exactly 0, although k(x,x) of a tile and of the diagonal are rounded differently. */
static void equal_rows_have_distance_zero(void **state) {
    (void)state;
    static const char *const maps[] = {"rbf", "laplace"}, *const kinds[] = {"linear", "rank"};
    enum { N = 24 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 14);
    for (size_t v = 0; v < 12; v++) {
        char text[100];
        (void)snprintf(text, sizeof text, "%s(outer=%s, width=0.01)", kinds[v / 2 % 2], maps[v % 2]);
        karma_fit_options o = options_for(text);
        row_shape shape = {N, v < 6 ? 10 : 300, 0, 1, 0.5, 0};
        world w = new_world(&o, &shape, 2, v / 4 == 2 && v / 2 % 2 == 0, &rng);
        karma_i_rows *twice = NULL;
        size_t index[2 * N];
        for (size_t i = 0; i < 2 * N; i++) index[i] = i % N;
        assert_int_equal(karma_i_rows_new_like(&twice, w.rows, 2 * N, NULL), KARMA_OK);
        assert_int_equal(karma_i_rows_gather(twice, w.rows, index, 2 * N, NULL), KARMA_OK);
        for (const karma_i_path *const *path = karma_i_paths(); *path; path++) {
            float gram[4 * N * N];
            w.kernel.path = *path;
            assert_int_equal(karma_i_kernel_gram(gram, 2 * N, &w.kernel, karma_i_rows_all(twice), 1), KARMA_OK);
            for (size_t i = 0; i < 2 * N; i++)
                if (!(gram[i * 2 * N + i] == 1.0F && gram[i * 2 * N + (i + N) % (2 * N)] == 1.0F))
                    fail_msg("%s, '%s': row %zu with itself %.9g, with its twin %.9g", (*path)->name, text, i,
                             (double)gram[i * 2 * N + i], (double)gram[i * 2 * N + (i + N) % (2 * N)]);
        }
        karma_i_rows_free(twice);
        free_world(&w);
    }
}

/* Without squares the distance is exactly -2k, so only the error of the exponential is left. */
static void the_exponential_is_right_to_a_few_units(void **state) {
    (void)state;
    enum { N = 4000 };
    static float cells[N], squares[N];
    const karma_i_map map = {.kind = KARMA_OUTER_RBF, .spread = 1.0, .width = 1.0};
    for (const karma_i_path *const *path = karma_i_paths(); *path; path++) {
        for (size_t j = 0; j < N; j++) cells[j] = -(float)j / 80.0F;
        (*path)->map(cells, N, 1, N, &map, squares, squares);
        for (size_t j = 0; j < N; j++) {
            double t = 2.0 * (double)((float)j / 80.0F), wanted = exp(-t);
            if (!(fabs((double)cells[j] - wanted) <= 4.0 * UNIT * wanted + 2.0 * (double)FLT_MIN))
                fail_msg("%s: exp(-%g) is %.9g, not %.9g", (*path)->name, t, (double)cells[j], wanted);
        }
        assert_true(cells[0] == 1.0F && cells[N - 1] == 0.0F);
    }
}

/* --- the RBF as a power series ------------------------------------------------------------------------- */

/* exp(τk) with τ = 2/(s_r w²), made to have 1 on the diagonal, is exp(-(k(x,x) + k(y,y) - 2k(x,y))/(s_r w²)). The
 * series is in k/s, s its own spread: a_p = (τs)^p/p!. */
static void write_exponential(char *text, size_t size, double tau_s, size_t n_terms) {
    double a = 1.0;
    size_t used = 0;
    for (size_t p = 0; p < n_terms; a *= tau_s / (double)++p) {
        used += (size_t)snprintf(text + used, size - used, "%s%.17g", p ? "," : "", a);
        assert_true(used < size);
    }
}

static void a_power_series_converges_to_the_rbf(void **state) {
    (void)state;
    enum { N = 50, MOST_TERMS = 40 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 15);
    karma_fit_options o = options_for("linear");
    row_shape shape = {N, 8, 0, 1, 0.6, 0};
    o.outer = KARMA_OUTER_RBF;
    o.width = 1.4;
    world rbf = new_world(&o, &shape, 2, 0, &rng);
    o.outer = KARMA_OUTER_POLY; /* has the spread of a series */
    world poly = {.text = "linear", .rows = rbf.rows};
    parse(&poly.plan, &o);
    learn(&poly);
    double tau = 2.0 / (rbf.kernel.factors[0].map.spread * o.width * o.width), error = INFINITY;
    float wanted[N * N], gram[N * N];
    assert_int_equal(karma_i_kernel_gram(wanted, N, &rbf.kernel, karma_i_rows_all(rbf.rows), 1), KARMA_OK);
    size_t n_terms = 2;
    for (; n_terms <= MOST_TERMS && error > 3e-6; n_terms++) {
        char text[30 * MOST_TERMS];
        write_exponential(text, sizeof text, tau * poly.kernel.factors[0].map.spread, n_terms);
        world series = {.text = text, .rows = rbf.rows};
        o.outer = KARMA_OUTER_SERIES;
        o.series = text;
        parse(&series.plan, &o);
        learn(&series);
        assert_true(series.kernel.factors[0].map.spread == poly.kernel.factors[0].map.spread);
        assert_int_equal(karma_i_kernel_gram(gram, N, &series.kernel, karma_i_rows_all(rbf.rows), 1), KARMA_OK);
        double now = 0.0;
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) {
                double cosine = (double)gram[i * N + j] / sqrt((double)gram[i * N + i] * (double)gram[j * N + j]);
                now = fmax(now, fabs(cosine - (double)wanted[i * N + j]));
            }
        if (!(now < error)) fail_msg("%zu terms are off by %g, one less by %g", n_terms, now, error);
        error = now;
        series.rows = NULL;
        free_world(&series);
    }
    if (!(error <= 3e-6)) fail_msg("%zu terms are still off by %g", n_terms, error);
    poly.rows = NULL;
    free_world(&poly);
    free_world(&rbf);
}

/* --- range --------------------------------------------------------------------------------------------- */

/* Values as large as the recipe allows, of both signs; the kernels were learned on smaller ones. */
static void nothing_overflows(void **state) {
    (void)state;
    static const char *const texts[] = {
        "linear(outer=poly, degree=64, offset=1e6)",
        "linear(outer=poly, degree=63, offset=0)",
        "linear(outer=series, series=1:0:0:1e29:0:1e29)",
        "linear(outer=poly, degree=64, offset=1e6) * linear(outer=poly, degree=64, offset=1e6) * linear(bias=0)",
        "1e12*linear(outer=poly, degree=64, offset=0) + 1e12*linear(outer=poly, degree=63, offset=0)",
        "linear(gamma=1000, scale=paper, outer=cosine) + linear(gamma=1000, scale=paper, outer=rbf, width=1e-6)",
        "linear(bias=1e6) * linear(bias=1e6) * linear(bias=1e6)",
    };
    enum { N = 30 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 16);
    for (size_t v = 0; v < sizeof texts / sizeof texts[0]; v++) {
        karma_fit_options o = options_for(texts[v]);
        row_shape shape = {N, 12, 0, 1, 0.5, 0};
        world w = new_world(&o, &shape, N, 0, &rng);
        for (size_t i = 0; i < N * 12; i++)
            karma_i_dense_of(w.rows)->values[i] *= 1e8F, karma_i_dense_of(w.later)->values[i] *= 1e8F;
        for (const karma_i_path *const *path = karma_i_paths(); *path; path++) {
            float block[N * N], gram[N * N];
            double diagonal[N];
            w.kernel.path = *path;
            assert_int_equal(
                karma_i_kernel_block(block, N, &w.kernel, karma_i_rows_all(w.later), karma_i_rows_all(w.rows), 1),
                KARMA_OK);
            assert_int_equal(karma_i_kernel_gram(gram, N, &w.kernel, karma_i_rows_all(w.rows), 1), KARMA_OK);
            karma_i_kernel_diagonal(diagonal, &w.kernel, karma_i_rows_all(w.rows));
            for (size_t i = 0; i < N * N; i++)
                if (!isfinite(block[i]) || !isfinite(gram[i]))
                    fail_msg("'%s': %g, %g", texts[v], (double)block[i], (double)gram[i]);
            for (size_t i = 0; i < N; i++)
                if (!(fabs(diagonal[i] - (double)gram[i * N + i]) <= 1e-5 * diagonal[i] + (double)FLT_MIN))
                    fail_msg("'%s': on the diagonal %g, in the matrix %g", texts[v], diagonal[i],
                             (double)gram[i * N + i]);
        }
        free_world(&w);
    }
}

/* Weights from 1 to 10^-30 of the largest: an angle is the same however short the rows. */
static void the_cosine_of_short_rows_is_one(void **state) {
    (void)state;
    static const size_t start[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    static const double x[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    karma_fit_options o = options_for("linear(gamma=34, scale=paper, bias=0, outer=cosine)");
    world w = {.text = o.kernel};
    parse(&w.plan, &o);
    assert_int_equal(karma_i_rows_new(&w.rows, 8, start, 2, NULL), KARMA_OK);
    put_row(w.rows, 0, x, (const unsigned char[8]){1});
    put_row(w.rows, 1, x, (const unsigned char[8]){1, 1, 1, 1, 1, 1, 1, 1});
    w.rows->n_rows = 2;
    learn(&w);
    assert_true(w.kernel.factors[0].log_norm > 60.0 && w.kernel.factors[0].weight[1] > FLT_MIN);
    float gram[4];
    assert_int_equal(karma_i_kernel_gram(gram, 2, &w.kernel, karma_i_rows_all(w.rows), 1), KARMA_OK);
    for (size_t i = 0; i < 4; i++) check_value((double)gram[i], &w, w.rows, i / 2, w.rows, i % 2, "gram");
    assert_true(fabsf(gram[0] - 1.0F) < 1e-6F && fabsf(gram[3] - 1.0F) < 1e-6F);
    free_world(&w);
}

/* Values so small that single precision has no reciprocal of their squares. */
static void tiny_rows_have_a_value(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 17);
    for (int outer = 0; outer < KARMA_N_OUTERS; outer++) {
        karma_fit_options o = options_for("linear(bias=0)");
        char series[] = "0,1,1";
        o.outer = outer, o.width = 1e-6, o.series = series;
        row_shape shape = {12, 4, 0, 1, 0.7, 0};
        world w = new_world(&o, &shape, 2, 0, &rng);
        for (size_t i = 0; i < 12 * 4; i++) karma_i_dense_of(w.rows)->values[i] *= 1e-21F;
        karma_i_kernel_clear(&w.kernel);
        learn(&w);
        float gram[144];
        assert_int_equal(karma_i_kernel_gram(gram, 12, &w.kernel, karma_i_rows_all(w.rows), 1), KARMA_OK);
        for (size_t i = 0; i < 144; i++) check_value((double)gram[i], &w, w.rows, i / 12, w.rows, i % 12, "gram");
        free_world(&w);
    }
}

/* --- what is learned ----------------------------------------------------------------------------------- */

static double mean_observed(const karma_i_rows *rows) {
    double sum = 0.0;
    for (size_t i = 0; i < rows->n_rows; i++) sum += (double)karma_i_rows_n_observed(rows, i);
    return sum / (double)rows->n_rows;
}

/* Distances are averaged over pairs of 512 rows, evenly spread, or of all if there are fewer. */
static double mean_squared_distance(const karma_i_factor *f, const karma_i_rows *rows) {
    size_t n = rows->n_rows < 512 ? rows->n_rows : 512;
    double sum = 0.0;
    for (size_t p = 0; p < n; p++)
        for (size_t q = p + 1; q < n; q++) {
            size_t i = p * rows->n_rows / n, j = q * rows->n_rows / n;
            sum += bare_number(f, rows, i, rows, i).value + bare_number(f, rows, j, rows, j).value -
                   2.0 * bare_number(f, rows, i, rows, j).value;
        }
    return sum / (0.5 * (double)n * (double)n);
}

static double mean_square(const karma_i_factor *f, const karma_i_rows *rows) {
    double sum = 0.0;
    for (size_t i = 0; i < rows->n_rows; i++) sum += bare_number(f, rows, i, rows, i).value;
    return sum / (double)rows->n_rows;
}

static void a_kernel_learns_its_scales(void **state) {
    (void)state;
    static const size_t counts[] = {2, 40, 700};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 18);
    for (size_t s = 0; s < 3; s++) {
        karma_fit_options o = options_for(
            "linear + linear(outer=cosine) + linear(outer=poly) * rank(outer=poly, bias=0) + "
            "rank(outer=rbf, bias=0.5) + linear(outer=laplace, scale=3.5, gamma=3) + rank(outer=series, series=1:1)");
        row_shape shape = {counts[s], 9, 4, 3, 0.5, 0};
        world w = new_world(&o, &shape, 2, 0, &rng);
        assert_int_equal(w.kernel.n_terms, 6);
        assert_int_equal(w.kernel.n_factors, 7);
        for (size_t f = 0; f < w.kernel.n_factors; f++) {
            const karma_i_factor *factor = &w.kernel.factors[f];
            const karma_i_rows *rows = karma_i_rows_encoding(w.rows, factor->encoding);
            double scale = f == 5 ? 3.5 : mean_observed(rows) + (factor->bias != 0.0);
            double spread = f == 4 || f == 5             ? mean_squared_distance(factor, rows)
                            : f == 2 || f == 3 || f == 6 ? mean_square(factor, rows)
                                                         : 1.0;
            assert_true(fabs(factor->scale - scale) <= 1e-12 * scale);
            assert_true(fabs(factor->map.spread - spread) <= 1e-5 * spread); /* of single precision values */
            size_t most = 0;
            for (size_t i = 0; i < rows->n_rows; i++)
                if (karma_i_rows_n_observed(rows, i) > most) most = karma_i_rows_n_observed(rows, i);
            assert_int_equal(factor->largest_overlap, most);
        }
        free_world(&w);
    }
}

/* A kernel that is restored from the numbers of another one gives identical results. */
static void a_restored_kernel_is_the_same(void **state) {
    (void)state;
    enum { N = 30 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 19);
    karma_fit_options o = options_for("rank(outer=rbf) * linear(outer=poly) + 0.5*linear(outer=series, series=1:2:3)");
    row_shape shape = {N, 9, 4, 3, 0.5, 0};
    world w = new_world(&o, &shape, N, 0, &rng);
    karma_i_factor_facts facts[3];
    karma_i_kernel again;
    float one[N * N], other[N * N];
    for (size_t f = 0; f < 3; f++) facts[f] = karma_i_factor_known(&w.kernel.factors[f]);
    assert_int_equal(karma_i_kernel_restore(&again, &w.plan.members[0].kernel, facts, NULL), KARMA_OK);
    karma_i_view rows = karma_i_rows_all(w.rows), later = karma_i_rows_all(w.later);
    assert_int_equal(karma_i_kernel_block(one, N, &w.kernel, later, rows, 1), KARMA_OK);
    assert_int_equal(karma_i_kernel_block(other, N, &again, later, rows, 1), KARMA_OK);
    assert_memory_equal(one, other, sizeof one);
    karma_i_kernel_clear(&again);
    free_world(&w);
}

/* Scores of one factor are sums over attributes, whatever its weight; not so under a map, or of several factors. */
static void one_factor_without_a_map_is_plain(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int is_plain;
    } cases[] = {{"linear", 1},     {"rank(gamma=3)", 1},     {"1*linear", 1},
                 {"0.5*linear", 1}, {"linear(outer=rbf)", 0}, {"linear + linear", 0}};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 20);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        karma_fit_options o = options_for(cases[c].text);
        row_shape shape = {5, 3, 0, 1, 0.8, 0};
        world w = new_world(&o, &shape, 2, 0, &rng);
        assert_int_equal(karma_i_kernel_is_plain(&w.kernel), cases[c].is_plain);
        free_world(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_rows_equal_the_reference),
        cmocka_unit_test(rows_of_several_tiles_equal_the_reference),
        cmocka_unit_test(sparse_rows_equal_the_reference),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(gram_matrices_are_positive_semidefinite),
        cmocka_unit_test(a_negative_coefficient_is_not_positive_semidefinite),
        cmocka_unit_test(rows_with_nothing_observed_have_a_value),
        cmocka_unit_test(equal_rows_have_distance_zero),
        cmocka_unit_test(the_exponential_is_right_to_a_few_units),
        cmocka_unit_test(a_power_series_converges_to_the_rbf),
        cmocka_unit_test(nothing_overflows),
        cmocka_unit_test(the_cosine_of_short_rows_is_one),
        cmocka_unit_test(tiny_rows_have_a_value),
        cmocka_unit_test(a_kernel_learns_its_scales),
        cmocka_unit_test(a_restored_kernel_is_the_same),
        cmocka_unit_test(one_factor_without_a_map_is_plain),
    };
    return cmocka_run_group_tests_name("compose", tests, NULL, NULL);
}
