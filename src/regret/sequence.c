/* λ-regular sequences (definition regularity of the paper).
 *
 *     d  dim      r  rank      U  basis, d × r      E = span U      Q* = UUᵀ      o  observed attributes
 *
 * x is uniform in the unit ball of E, y = sign(w*·x) for a random w* in E, flipped with probability
 * label_noise.
 *
 * Missing cells. The positive eigenvalues of Q_oo = U_oU_oᵀ are those of the r × r matrix G_o = U_oᵀU_o, and
 * the row is reconstructible, ker(P_oP_E) = ker(P_E), if G_o has rank r. So (x, o) is λ-regular if the
 * smallest eigenvalue of G_o is at least λ > 0. A complete row has G = I; attributes are then hidden in
 * random order, up to a random number of them, and a cell stays if hiding it would make the smallest
 * eigenvalue less than λ.
 *
 * f_{w,Q}(x_o) = (P_o w)·Q_oo^† P_o x (definition F0) is linear in w: f = w·ξ, ξ = P_oᵀQ_oo^†P_o x. With G_o = V
 * diag(g) Vᵀ, Q_oo^† = U_o V diag(g^-2) Vᵀ U_oᵀ. The projection of ξ on E is x, |ξ|² <= |x|²/λ. */
#include "regret/sequence.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/linalg.h"

/* Keeps a row inside the unit ball when its cells are rounded to single precision. */
#define INSIDE (1.0 - 0x1p-20)

/* The current row. */
typedef struct draft {
    double *x;           /* d */
    unsigned char *seen; /* d */
    size_t *order;       /* d: in which attributes may be hidden */
    double *g, *V;       /* r, r × r: eigenvalues of G_o, ascending, and eigenvectors, one per row */
    double *scratch;     /* r */
} draft;

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* A uniform direction of length 1; zero has probability 0. */
static void draw_direction(double *out, size_t n, karma_i_rng *rng) {
    for (size_t i = 0; i < n; i++) out[i] = karma_i_rng_normal(rng);
    double length = sqrt(dot(out, out, n));
    for (size_t i = 0; i < n; i++) out[i] /= length;
}

/* Makes column k orthogonal to the columns before it, and its length 1. */
static void orthonormalise(double *basis, size_t d, size_t r, size_t k) {
    double square = 0.0;
    for (size_t other = 0; other < k; other++) {
        double along = 0.0;
        for (size_t j = 0; j < d; j++) along += basis[j * r + other] * basis[j * r + k];
        for (size_t j = 0; j < d; j++) basis[j * r + k] -= along * basis[j * r + other];
    }
    for (size_t j = 0; j < d; j++) square += basis[j * r + k] * basis[j * r + k];
    for (size_t j = 0; j < d; j++) basis[j * r + k] /= sqrt(square);
}

/* A uniformly random subspace. Gram-Schmidt, twice: the second pass removes the rounding errors of the
 * first. */
static void draw_basis(double *basis, size_t d, size_t r, karma_i_rng *rng) {
    for (size_t i = 0; i < d * r; i++) basis[i] = karma_i_rng_normal(rng);
    for (size_t k = 0; k < r; k++)
        for (int turn = 0; turn < 2; turn++) orthonormalise(basis, d, r, k);
}

/* g and V of the attributes that are seen. */
static karma_status decompose(draft *row, const karma_i_sequence *s, karma_error *err) {
    size_t r = s->rank;
    memset(row->V, 0, r * r * sizeof *row->V);
    for (size_t j = 0; j < s->dim; j++) {
        const double *u = s->basis + j * r;
        for (size_t a = 0; row->seen[j] && a < r; a++)
            for (size_t b = 0; b < r; b++) row->V[a * r + b] += u[a] * u[b];
    }
    return karma_i_eigen_symmetric(row->g, row->V, r, err);
}

static karma_status draw_holes(draft *row, const karma_i_sequence *s, double lambda, karma_i_rng *rng,
                               karma_error *err) {
    size_t d = s->dim;
    for (size_t j = 0; j < d; j++) row->order[j] = j;
    memset(row->seen, 1, d);
    karma_i_rng_shuffle(rng, row->order, d);
    size_t wanted = karma_i_rng_below(rng, d);
    for (size_t i = 0, made = 0; i < d && made < wanted; i++) {
        row->seen[row->order[i]] = 0;
        KARMA_TRY(decompose(row, s, err));
        if (row->g[0] >= lambda)
            made++;
        else
            row->seen[row->order[i]] = 1;
    }
    return decompose(row, s, err);
}

/* x = U a, |a|^r uniform in (0, 1]; and its label. `truth` is w* in the coordinates of E. */
static double draw_row(draft *row, const karma_i_sequence *s, const double *truth, double label_noise,
                       karma_i_rng *rng) {
    size_t r = s->rank;
    double *a = row->scratch;
    draw_direction(a, r, rng);
    double radius = INSIDE * pow(1.0 - karma_i_rng_uniform(rng), 1.0 / (double)r);
    for (size_t j = 0; j < s->dim; j++) row->x[j] = radius * dot(s->basis + j * r, a, r);
    double y = dot(truth, a, r) > 0.0 ? 1.0 : -1.0;
    return karma_i_rng_uniform(rng) < label_noise ? -y : y;
}

static void put_cells(karma_i_sequence *s, size_t t, const draft *row) {
    karma_i_rows *rows = s->rows;
    for (size_t j = 0; j < s->dim; j++) {
        if (!row->seen[j]) continue;
        float cell = (float)row->x[j];
        karma_i_mask_set(karma_i_rows_mask(rows, t), j);
        karma_i_rows_values(rows, t)[j] = cell;
        s->magnitude = fmax(s->magnitude, fabs((double)cell));
    }
    rows->n_rows = t + 1;
}

/* ξ = P_oᵀ U_o V diag(g^-2) Vᵀ U_oᵀ P_o x, of the cells as the kernel sees them. */
static void pull(double *xi, const karma_i_sequence *s, size_t t, draft *row) {
    size_t r = s->rank;
    const float *cells = karma_i_rows_values(s->rows, t);
    memset(xi, 0, s->dim * sizeof *xi);
    for (size_t k = 0; k < r; k++) { /* the part along U_o v_k */
        const double *v = row->V + k * r;
        double along = 0.0;
        for (size_t j = 0; j < s->dim; j++) along += (double)cells[j] * dot(s->basis + j * r, v, r);
        along /= row->g[k] * row->g[k];
        for (size_t j = 0; j < s->dim; j++)
            if (row->seen[j]) xi[j] += along * dot(s->basis + j * r, v, r);
    }
}

/* Values and missing cells have separate generators: another λ leaves the complete rows as they are. */
static karma_status draw_rows(karma_i_sequence *s, draft *row, const karma_regret_options *options, karma_error *err) {
    karma_i_rng seeds, values, holes;
    karma_i_rng_init(&seeds, (uint64_t)options->seed);
    karma_i_rng_init(&values, karma_i_rng_next(&seeds));
    karma_i_rng_init(&holes, karma_i_rng_next(&seeds));
    double *truth = karma_i_alloc(s->rank, sizeof *truth), n_seen = 0.0;
    if (!truth) return karma_i_fail_memory(err);
    draw_basis(s->basis, s->dim, s->rank, &values);
    draw_direction(truth, s->rank, &values);
    karma_status st = KARMA_OK;
    for (size_t t = 0; st == KARMA_OK && t < s->n_rows; t++) {
        s->labels[t] = draw_row(row, s, truth, options->label_noise, &values);
        st = draw_holes(row, s, options->lambda, &holes, err);
        if (st != KARMA_OK) break;
        put_cells(s, t, row);
        pull(s->pulled + t * s->dim, s, t, row);
        s->lambda = fmin(s->lambda, row->g[0]);
        n_seen += (double)karma_i_rows_n_observed(s->rows, t);
    }
    s->missing = 1.0 - n_seen / ((double)s->n_rows * (double)s->dim);
    karma_i_free(truth);
    return st;
}

static karma_status new_rows(karma_i_rows **out, size_t dim, size_t n_rows, karma_error *err) {
    size_t *start = karma_i_alloc(dim + 1, sizeof *start);
    if (!start) return karma_i_fail_memory(err);
    for (size_t j = 0; j <= dim; j++) start[j] = j;
    karma_status st = karma_i_rows_new(out, dim, start, n_rows, err);
    karma_i_free(start);
    return st;
}

static void draft_clear(draft *row) {
    karma_i_free(row->x);
    karma_i_free(row->seen);
    karma_i_free(row->order);
    karma_i_free(row->g);
    karma_i_free(row->V);
    karma_i_free(row->scratch);
}

/* Clear it even if this fails. */
static karma_status draft_init(draft *row, size_t d, size_t r, karma_error *err) {
    *row = (draft){karma_i_alloc(d, sizeof(double)),     karma_i_alloc(d, 1),
                   karma_i_alloc(d, sizeof(size_t)),     karma_i_alloc(r, sizeof(double)),
                   karma_i_alloc(r, r * sizeof(double)), karma_i_alloc(r, sizeof(double))};
    if (!row->x || !row->seen || !row->order || !row->g || !row->V || !row->scratch) return karma_i_fail_memory(err);
    return KARMA_OK;
}

karma_status karma_i_sequence_new(karma_i_sequence **out, const karma_regret_options *options, karma_error *err) {
    size_t n = (size_t)options->rounds, d = (size_t)options->dim, r = (size_t)options->rank;
    karma_i_sequence *s = karma_i_zalloc(1, sizeof *s);
    if (!s) return karma_i_fail_memory(err);
    *s = (karma_i_sequence){.n_rows = n, .dim = d, .rank = r, .lambda = 1.0};
    draft row;
    karma_status st = draft_init(&row, d, r, err);
    s->basis = karma_i_alloc(d, r * sizeof *s->basis);
    s->labels = karma_i_alloc(n, sizeof *s->labels);
    s->pulled = karma_i_alloc(n, d * sizeof *s->pulled);
    if (!s->basis || !s->labels || !s->pulled) st = karma_i_fail_memory(err);
    if (st == KARMA_OK) st = new_rows(&s->rows, d, n, err);
    if (st == KARMA_OK) st = draw_rows(s, &row, options, err);
    draft_clear(&row);
    if (st == KARMA_OK)
        *out = s;
    else
        karma_i_sequence_free(s);
    return st;
}

void karma_i_sequence_free(karma_i_sequence *sequence) {
    if (!sequence) return;
    karma_i_free(sequence->basis);
    karma_i_rows_free(sequence->rows);
    karma_i_free(sequence->labels);
    karma_i_free(sequence->pulled);
    karma_i_free(sequence);
}
