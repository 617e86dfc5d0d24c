/* Rows of a hidden low-rank subspace, with labels and with missing cells of a chosen kind.
 *
 *     x = U z/√r + noise     z, and the d × r matrix U, are normal: a cell has variance about 1, plus noise²
 *
 *     d  dim      r  rank      z  latent      U/√r  basis      K  classes
 *
 * Labels are functions of z, that is, of the row without noise: see draw_functionals and label_of.
 *
 * Missing cells. The share p is exact in expectation, because the distribution of the variable that hides a
 * cell is known: x_j given U is normal with mean 0 and variance |U_j|²/r + noise².
 * - mcar: every cell at the rate p.
 * - mar: a third of the columns (the drivers, at least one) is never hidden. Every other column follows one
 *   driver and is hidden with chance σ(b ± 2t), t the driver's cell in standard deviations, where b makes
 *   E σ(b + 2t) = p·d/(d - drivers).
 * - mnar: the same with t the cell itself, in every column, and E σ(b + 2t) = p.
 * - block: the columns form contiguous blocks, three or as many as the rate needs, and each row shows a random
 *   choice of n(1-p) of the n blocks, rounded up or down at random so that the mean is right, but at least one
 *   (a single block may be hidden).
 *
 * Structure, latent values, noise and missing cells have separate generators, so that another share or kind of
 * missing cells leaves the rows unchanged, and a smaller table is the beginning of a larger one. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "base/rng.h"
#include "table/builder.h"

#define STRENGTH 2.0 /* mar and mnar: added to the log-odds of a missing cell per standard deviation */

enum { FEWEST_BLOCKS = 3 };

/* Shared by all rows. */
typedef struct hidden {
    size_t dim, rank;
    double *basis;        /* U/√r, dim × rank */
    double *deviation;    /* of the cells of each column */
    double *functionals;  /* of z, n_functionals × rank, of length 1 */
    size_t n_functionals; /* K if K > 2, otherwise 1 */
    double *codes;        /* the value of class k in the table */
    double noise;
    const karma_synth_options *options;
} hidden;

/* Which cells are hidden. All kinds but block: cell j with chance σ(offset_j + slope_j x_{driver_j}). */
typedef struct holes {
    double *offset, *slope;
    size_t *driver;
    size_t n_blocks; /* 0: the above */
    double seen;     /* how many of the blocks a row shows, on average */
} holes;

typedef struct generators {
    karma_i_rng structure, latent, noise, holes;
} generators;

/* The current row. */
typedef struct row_buffer {
    double *z, *x;
    unsigned char *is_hole;
} row_buffer;

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void fill_normal(double *out, size_t n, double scale, karma_i_rng *rng) {
    for (size_t i = 0; i < n; i++) out[i] = scale * karma_i_rng_normal(rng);
}

static void scale_to_length_1(double *vector, size_t n) {
    double length = sqrt(dot(vector, vector, n));
    for (size_t i = 0; length > 0.0 && i < n; i++) vector[i] /= length;
}

/* --- structure ----------------------------------------------------------------------------------------- */

static void hidden_clear(hidden *h) {
    karma_i_free(h->basis);
    karma_i_free(h->deviation);
    karma_i_free(h->functionals);
    karma_i_free(h->codes);
}

/* More than two classes: K random functionals of z of one length, so that each is the largest somewhere.
 * Otherwise w·x with w = U a in the subspace, a random: w·x = (UᵀU a/√r)·z, scaled to variance 1. `scratch`
 * holds r. */
static void draw_functionals(hidden *h, double *scratch, karma_i_rng *rng) {
    size_t r = h->rank;
    if (h->n_functionals == 1) {
        fill_normal(scratch, r, 1.0, rng);
        for (size_t j = 0; j < h->dim; j++) {
            double w_j = dot(h->basis + j * r, scratch, r);
            for (size_t i = 0; i < r; i++) h->functionals[i] += w_j * h->basis[j * r + i];
        }
    } else {
        fill_normal(h->functionals, h->n_functionals * r, 1.0, rng);
    }
    for (size_t k = 0; k < h->n_functionals; k++) scale_to_length_1(h->functionals + k * r, r);
}

static karma_status hidden_init(hidden *h, const karma_synth_options *options, karma_i_rng *rng, karma_error *err) {
    size_t d = (size_t)options->dim, r = (size_t)options->rank, classes = (size_t)options->classes;
    size_t n_functionals = options->task == KARMA_TASK_CLASSIFY && classes > 2 ? classes : 1;
    if (r > SIZE_MAX / d || r > SIZE_MAX / n_functionals) return karma_i_fail_memory(err);
    *h = (hidden){d,
                  r,
                  karma_i_alloc(d * r, sizeof(double)),
                  karma_i_alloc(d, sizeof(double)),
                  karma_i_zalloc(n_functionals * r, sizeof(double)),
                  n_functionals,
                  karma_i_zalloc(classes, sizeof(double)),
                  options->noise,
                  options};
    double *scratch = karma_i_alloc(r, sizeof *scratch);
    if (!h->basis || !h->deviation || !h->functionals || !h->codes || !scratch) {
        karma_i_free(scratch);
        hidden_clear(h);
        return karma_i_fail_memory(err);
    }
    fill_normal(h->basis, d * r, 1.0 / sqrt((double)r), rng);
    for (size_t j = 0; j < d; j++)
        h->deviation[j] = sqrt(dot(h->basis + j * r, h->basis + j * r, r) + h->noise * h->noise);
    draw_functionals(h, scratch, rng);
    karma_i_free(scratch);
    return KARMA_OK;
}

/* Which of the K classes. With one latent number, linear functions can separate only two classes; more
 * classes are then slices of equal probability, ⌊K Φ(z)⌋, Φ the normal distribution function. */
static size_t class_of(const hidden *h, const double *z) {
    size_t classes = (size_t)h->options->classes, best = 0;
    if (classes == 2) return dot(h->functionals, z, h->rank) >= 0.0;
    if (h->rank == 1) {
        size_t slice = (size_t)((double)classes * 0.5 * erfc(-z[0] * sqrt(0.5)));
        return slice < classes ? slice : classes - 1;
    }
    double highest = -INFINITY;
    for (size_t k = 0; k < classes; k++) {
        double score = dot(h->functionals + k * h->rank, z, h->rank);
        if (score > highest) {
            highest = score;
            best = k;
        }
    }
    return best;
}

static double label_of(const hidden *h, const double *z) {
    if (h->options->task == KARMA_TASK_REGRESS) return dot(h->functionals, z, h->rank);
    return h->codes[class_of(h, z)];
}

static void draw_row(row_buffer *row, const hidden *h, generators *g) {
    fill_normal(row->z, h->rank, 1.0, &g->latent);
    for (size_t j = 0; j < h->dim; j++) row->x[j] = dot(h->basis + j * h->rank, row->z, h->rank);
    if (h->noise > 0.0)
        for (size_t j = 0; j < h->dim; j++) row->x[j] += h->noise * karma_i_rng_normal(&g->noise);
}

/* --- holes --------------------------------------------------------------------------------------------- */

static double logistic(double score) {
    return 1.0 / (1.0 + exp(-score));
}

/* E σ(b + STRENGTH t) for a standard normal t, by the trapezoidal rule, which converges exponentially here:
 * the density vanishes at the ends, and the integrand's poles are π/2 away from the real axis. */
static double mean_chance(double b, const void *unused) {
    (void)unused;
    double sum = 0.0, weights = 0.0;
    for (int i = -180; i <= 180; i++) {
        double t = 0.05 * i, weight = exp(-0.5 * t * t);
        sum += weight * logistic(b + STRENGTH * t);
        weights += weight;
    }
    return sum / weights;
}

/* The argument at which an increasing function has the value `wanted`, by bisection down to rounding. */
static double solve_increasing(double (*f)(double, const void *), const void *context, double low, double high,
                               double wanted) {
    for (int step = 0; step < 80; step++) {
        double middle = 0.5 * (low + high);
        if (f(middle, context) < wanted)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static void holes_clear(holes *o) {
    karma_i_free(o->offset);
    karma_i_free(o->slope);
    karma_i_free(o->driver);
}

/* Hides column j depending on the cells of column `driver`, at the rate that `offset` was solved for. */
static void follow(holes *o, size_t j, size_t driver, double offset, const hidden *h, karma_i_rng *rng) {
    double sign = karma_i_rng_below(rng, 2) ? 1.0 : -1.0;
    o->driver[j] = driver;
    o->offset[j] = offset;
    o->slope[j] = h->deviation[driver] > 0.0 ? sign * STRENGTH / h->deviation[driver] : 0.0;
}

/* The offset b of rate p; the ends of the search are rates of some 1e-50 and 1 - 1e-16. */
static double offset_for(double rate) {
    return solve_increasing(mean_chance, NULL, -120.0, 120.0, rate);
}

static karma_status plan_mar(holes *o, const hidden *h, double rate, karma_i_rng *rng, karma_error *err) {
    size_t d = h->dim, n_drivers = d / 3 ? d / 3 : 1;
    double others_rate = d > n_drivers ? rate * (double)d / (double)(d - n_drivers) : INFINITY;
    if (!(others_rate < 1.0)) {
        char limit[KARMA_NUMBER_SIZE];
        return karma_i_fail(
            err, KARMA_ERR_OPTION,
            "missing: mar never hides %zu of the %zu attributes, so less than %s of the cells can be hidden", n_drivers,
            d, karma_number_text(limit, (double)(d - n_drivers) / (double)d));
    }
    size_t *order = karma_i_alloc(d, sizeof *order);
    if (!order) return karma_i_fail_memory(err);
    for (size_t j = 0; j < d; j++) order[j] = j;
    karma_i_rng_shuffle(rng, order, d);
    double offset = offset_for(others_rate);
    for (size_t i = n_drivers; i < d; i++)
        follow(o, order[i], order[karma_i_rng_below(rng, n_drivers)], offset, h, rng);
    karma_i_free(order);
    return KARMA_OK;
}

static karma_status plan_blocks(holes *o, const hidden *h, double rate, karma_error *err) {
    size_t wanted =
        (size_t)ceil(1.0 / (1.0 - rate)) + 1; /* so that one visible block is not more than the rate allows */
    o->n_blocks = wanted > FEWEST_BLOCKS ? wanted : FEWEST_BLOCKS;
    if (o->n_blocks > h->dim) o->n_blocks = h->dim;
    o->seen = (double)o->n_blocks * (1.0 - rate);
    if (o->n_blocks > 1 && o->seen < 1.0) {
        char limit[KARMA_NUMBER_SIZE];
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "missing: one of the %zu blocks is always seen, so at most %s of the cells can be hidden",
                            o->n_blocks, karma_number_text(limit, 1.0 - 1.0 / (double)o->n_blocks));
    }
    return KARMA_OK;
}

/* On failure, too, the plan is to be cleared. */
static karma_status holes_init(holes *o, const hidden *h, karma_i_rng *rng, karma_error *err) {
    size_t d = h->dim;
    double rate = h->options->missing;
    *o = (holes){.offset = karma_i_alloc(d, sizeof(double)),
                 .slope = karma_i_zalloc(d, sizeof(double)),
                 .driver = karma_i_zalloc(d, sizeof(size_t))};
    if (!o->offset || !o->slope || !o->driver) return karma_i_fail_memory(err);
    for (size_t j = 0; j < d; j++) o->offset[j] = -INFINITY; /* never hidden */
    if (rate == 0.0) return KARMA_OK;

    switch ((karma_mechanism)h->options->mechanism) {
    case KARMA_MECHANISM_MAR:
        return plan_mar(o, h, rate, rng, err);
    case KARMA_MECHANISM_BLOCK:
        return plan_blocks(o, h, rate, err);
    case KARMA_MECHANISM_MNAR: {
        double offset = offset_for(rate);
        for (size_t j = 0; j < d; j++) follow(o, j, j, offset, h, rng);
        return KARMA_OK;
    }
    case KARMA_MECHANISM_MCAR:
    case KARMA_N_MECHANISMS:
        break;
    }
    for (size_t j = 0; j < d; j++) o->offset[j] = log(rate / (1.0 - rate));
    return KARMA_OK;
}

/* One uniform number per cell for any rate, so a higher rate only adds missing cells, except for blocks. */
static void draw_holes(row_buffer *row, const holes *o, size_t dim, karma_i_rng *rng) {
    if (o->n_blocks == 0) {
        for (size_t j = 0; j < dim; j++) {
            double chance = logistic(o->offset[j] + o->slope[j] * row->x[o->driver[j]]);
            row->is_hole[j] = karma_i_rng_uniform(rng) < chance;
        }
        return;
    }
    size_t left = (size_t)floor(o->seen); /* blocks still to be seen, so that the mean is o->seen */
    left += karma_i_rng_uniform(rng) < o->seen - floor(o->seen);
    for (size_t b = 0; b < o->n_blocks; b++) {
        size_t first = dim * b / o->n_blocks, end = dim * (b + 1) / o->n_blocks;
        int is_seen = karma_i_rng_below(rng, o->n_blocks - b) < left;
        left -= (size_t)is_seen;
        memset(row->is_hole + first, !is_seen, end - first);
    }
}

/* --- tables -------------------------------------------------------------------------------------------- */

/* The name of class k: "-1" and "1" for two, otherwise "1" to "K". Returns its length. */
static size_t class_name(char *text, size_t size, size_t k, size_t classes) {
    if (classes == 2) return (size_t)snprintf(text, size, "%s", k ? "1" : "-1");
    return (size_t)snprintf(text, size, "%zu", k + 1);
}

static karma_status add_target(karma_i_builder *builder, const karma_synth_options *options, karma_error *err) {
    if (options->task == KARMA_TASK_REGRESS)
        return karma_i_builder_add_target(builder, "target", KARMA_COLUMN_NUMBER, NULL, 0, err);
    size_t classes = (size_t)options->classes, made = 0;
    char **levels = karma_i_alloc(classes, sizeof *levels);
    for (; levels && made < classes; made++) {
        char text[32];
        size_t length = class_name(text, sizeof text, made, classes);
        levels[made] = karma_i_strndup(text, length);
        if (!levels[made]) break;
    }
    if (made < classes) {
        while (made > 0) karma_i_free(levels[--made]);
        karma_i_free(levels);
        return karma_i_fail_memory(err);
    }
    karma_i_sort_texts(levels, classes);
    return karma_i_builder_add_target(builder, "target", KARMA_COLUMN_CATEGORY, levels, classes, err);
}

/* Class k is stored as the place of its name among the sorted levels: "10" comes before "2". */
static void find_codes(hidden *h, const karma_i_builder *builder) {
    if (h->options->task != KARMA_TASK_CLASSIFY) return;
    size_t classes = (size_t)h->options->classes;
    for (size_t k = 0; k < classes; k++) {
        char text[32];
        size_t length = class_name(text, sizeof text, k, classes);
        h->codes[k] = (double)karma_i_column_find_level(&builder->table->targets[0].column, text, length);
    }
}

/* Columns, and room for the cells that are expected: a table that does not fit in memory fails here, not after an hour.
 */
static karma_status begin_table(karma_i_builder *builder, const karma_synth_options *options, double share_observed,
                                karma_error *err) {
    KARMA_TRY(karma_i_builder_init(builder, err));
    size_t rows = (size_t)options->rows, dim = (size_t)options->dim;
    for (size_t j = 0; j < dim; j++) {
        char name[32];
        (void)snprintf(name, sizeof name, "x%zu", j + 1);
        KARMA_TRY(karma_i_builder_add_attribute(builder, name, KARMA_COLUMN_NUMBER, NULL, 0, err));
    }
    KARMA_TRY(add_target(builder, options, err));
    if (dim == 0 || rows > PTRDIFF_MAX / sizeof(double) / dim) return karma_i_fail_memory(err);
    size_t cells = (size_t)((double)rows * (double)dim * share_observed);
    return karma_i_builder_reserve(builder, rows, cells, err);
}

/* `is_hole` NULL: every cell is observed. */
static karma_status add_row(karma_i_builder *builder, const double *x, const unsigned char *is_hole, size_t dim,
                            double label, karma_error *err) {
    for (size_t j = 0; j < dim; j++)
        if (!is_hole || !is_hole[j]) KARMA_TRY(karma_i_builder_add_cell(builder, j, x[j], err));
    return karma_i_builder_end_row(builder, &label, 1.0, NULL, err);
}

/* `complete` may be NULL. */
static karma_status add_rows(karma_i_builder *holed, karma_i_builder *complete, const hidden *h, const holes *o,
                             generators *g, karma_error *err) {
    row_buffer row = {karma_i_alloc(h->rank, sizeof(double)), karma_i_alloc(h->dim, sizeof(double)),
                      karma_i_alloc(h->dim, 1)};
    karma_status st = row.z && row.x && row.is_hole ? KARMA_OK : karma_i_fail_memory(err);
    for (int64_t i = 0; st == KARMA_OK && i < h->options->rows; i++) {
        draw_row(&row, h, g);
        draw_holes(&row, o, h->dim, &g->holes);
        double label = label_of(h, row.z);
        st = add_row(holed, row.x, row.is_hole, h->dim, label, err);
        if (st == KARMA_OK && complete) st = add_row(complete, row.x, NULL, h->dim, label, err);
    }
    karma_i_free(row.z);
    karma_i_free(row.x);
    karma_i_free(row.is_hole);
    return st;
}

static void generators_init(generators *g, uint64_t seed) {
    karma_i_rng seeds;
    karma_i_rng_init(&seeds, seed);
    karma_i_rng_init(&g->structure, karma_i_rng_next(&seeds));
    karma_i_rng_init(&g->latent, karma_i_rng_next(&seeds));
    karma_i_rng_init(&g->noise, karma_i_rng_next(&seeds));
    karma_i_rng_init(&g->holes, karma_i_rng_next(&seeds));
}

/* Both builders are to be cleared by the caller, whatever is returned. */
static karma_status build_tables(karma_i_builder *holed, karma_i_builder *complete, hidden *h, generators *g,
                                 karma_error *err) {
    holes plan = {0};
    karma_status st = holes_init(&plan, h, &g->holes, err);
    if (st == KARMA_OK) st = begin_table(holed, h->options, 1.0 - h->options->missing, err);
    if (st == KARMA_OK && complete) st = begin_table(complete, h->options, 1.0, err);
    if (st == KARMA_OK) {
        find_codes(h, holed);
        st = add_rows(holed, complete, h, &plan, g, err);
    }
    holes_clear(&plan);
    return st;
}

karma_status karma_table_synthesise(karma_table **out, karma_table **complete, const karma_synth_options *options,
                                    karma_error *err) {
    karma_synth_options own;
    KARMA_TRY(karma_i_options_accept(karma_synth_option_table(), &own, options, err));
    options = &own;
    if (options->rank > options->dim)
        return karma_i_fail(err, KARMA_ERR_OPTION, "rank: %lld is more than the %lld attributes of dim",
                            (long long)options->rank, (long long)options->dim);
    generators g;
    hidden h = {0};
    karma_i_builder holed = {0}, whole = {0};
    generators_init(&g, (uint64_t)options->seed);
    KARMA_TRY(hidden_init(&h, options, &g.structure, err));
    karma_status st = build_tables(&holed, complete ? &whole : NULL, &h, &g, err);
    if (st == KARMA_OK) {
        karma_i_builder_finish(out, &holed);
        if (complete) karma_i_builder_finish(complete, &whole);
    }
    karma_i_builder_clear(&holed);
    karma_i_builder_clear(&whole);
    hidden_clear(&h);
    return st;
}
