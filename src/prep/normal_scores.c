#include "prep/normal_scores.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "prep/ranking.h"

enum { MOST_KNOTS = 512 };

/* Scores of 2^64 cells are within ± 9.2. */
static const double LARGEST_SCORE = 10.0;

void karma_i_normal_scores_clear(karma_i_normal_scores *scores) {
    karma_i_free(scores->value);
    karma_i_free(scores->score);
    *scores = (karma_i_normal_scores){0};
}

static karma_status new_scores(karma_i_normal_scores *out, size_t n, karma_error *err) {
    karma_i_normal_scores s = {
        .n = n, .value = karma_i_alloc(n, sizeof *s.value), .score = karma_i_alloc(n, sizeof *s.score)};
    if (!s.value || !s.score) {
        karma_i_normal_scores_clear(&s);
        return karma_i_fail_memory(err);
    }
    *out = s;
    return KARMA_OK;
}

/* Φ is convex below 0: Newton's steps from 0 descend to the root and never pass it. */
static double lower_quantile(double p) {
    const double root_half = sqrt(0.5), root_2pi = 2.50662827463100050242;
    double z = 0.0;
    for (int step = 0; step < 200; step++) {
        double next = z - (0.5 * erfc(-z * root_half) - p) * root_2pi * exp(0.5 * z * z);
        if (!(next < z)) break;
        z = next;
    }
    return z;
}

double karma_i_normal_quantile(double p) {
    return p <= 0.5 ? lower_quantile(p) : -lower_quantile(1.0 - p);
}

/* The end of the cells that equal cells[first]. */
static size_t end_of(const double *cells, size_t n, size_t first) {
    size_t end = first;
    while (end < n && cells[end] == cells[first]) end++;
    return end;
}

/* The distinct values that become knots, one in each interval of `step` scores and the last one; returns how many.
 * `out` may be NULL. */
static size_t choose_knots(karma_i_normal_scores *out, const double *cells, size_t n, double step) {
    size_t count = 0;
    double last = -INFINITY;
    for (size_t first = 0, end; first < n; first = end) {
        end = end_of(cells, n, first);
        double score = karma_i_normal_quantile(0.5 * ((double)first + (double)end) / (double)n);
        if (score < last + step && end < n) continue;
        if (out) out->value[count] = cells[first], out->score[count] = score;
        last = score;
        count++;
    }
    return count;
}

static void take_moments(karma_i_normal_scores *s, const double *cells, size_t n) {
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) sum += karma_i_normal_score_of(s, cells[i]);
    s->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) squares += pow(karma_i_normal_score_of(s, cells[i]) - s->mean, 2.0);
    s->sd = sqrt(squares / (double)n);
}

karma_status karma_i_normal_scores_learn(karma_i_normal_scores *out, double *cells, size_t n, karma_error *err) {
    size_t distinct = 0;
    karma_i_sort_cells(cells, n);
    for (size_t first = 0; first < n; first = end_of(cells, n, first)) distinct++;
    double reach = -karma_i_normal_quantile(0.5 / (double)n);
    double step = distinct > MOST_KNOTS ? 2.0 * reach / (MOST_KNOTS - 2) : 0.0;
    karma_i_normal_scores s;
    KARMA_TRY(new_scores(&s, choose_knots(NULL, cells, n, step), err));
    (void)choose_knots(&s, cells, n, step);
    take_moments(&s, cells, n);
    *out = s;
    return KARMA_OK;
}

/* y at x on the line of the points (from, to); both ascend. */
static double interpolate(const double *from, const double *to, size_t n, double x) {
    size_t low = 0, high = n; /* the first point above x */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (from[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return to[0];
    if (low == n || from[low - 1] == x) return to[low - 1];
    /* halves: the difference of two values may be too large a number */
    double share = (0.5 * x - 0.5 * from[low - 1]) / (0.5 * from[low] - 0.5 * from[low - 1]);
    return (1.0 - share) * to[low - 1] + share * to[low];
}

double karma_i_normal_score_of(const karma_i_normal_scores *s, double x) {
    return interpolate(s->value, s->score, s->n, x);
}

double karma_i_normal_score_value(const karma_i_normal_scores *s, double score) {
    return interpolate(s->score, s->value, s->n, score);
}

/* ∫ q(centre + spread t) φ(t) dt by the sum over t = -5, -4.875, ..., 5. For a smooth q this is exact to six
 * digits; for a piecewise linear q the sum for the mean is within a hundredth of the standard deviation. */
void karma_i_normal_scores_moments(double *mean, double *sd, const karma_i_normal_scores *s, double centre,
                                   double spread) {
    enum { REACH = 40 };
    const double step = 0.125;
    const double middle = karma_i_normal_score_value(s, centre);
    double total = 0.0, sum = 0.0, squares = 0.0; /* of the differences from the middle */
    for (int k = -REACH; k <= REACH; k++) {
        double t = step * (double)k, weight = exp(-0.5 * t * t);
        double rest = karma_i_normal_score_value(s, centre + spread * t) - middle;
        total += weight;
        sum += weight * rest;
        squares += weight * rest * rest;
    }
    *mean = middle + sum / total;
    *sd = sqrt(fmax(squares / total - sum / total * (sum / total), 0.0));
}

/* --- model files --------------------------------------------------------------------------------------- */

/* The knots of all attributes, one after the other. */
typedef struct flat_scores {
    size_t *size; /* of each attribute */
    size_t n;     /* their sum */
    double *value, *score;
} flat_scores;

static karma_status archive_flat(karma_i_archive *a, flat_scores *flat, size_t n_attributes) {
    KARMA_TRY(karma_i_archive_sizes(a, "scores_size", &flat->size, karma_i_vector_shape(n_attributes)));
    KARMA_TRY(karma_i_archive_length(a, "scores_value", &flat->n));
    KARMA_TRY(karma_i_archive_f64(a, "scores_value", &flat->value, karma_i_vector_shape(flat->n), DBL_MAX));
    return karma_i_archive_f64(a, "scores", &flat->score, karma_i_vector_shape(flat->n), LARGEST_SCORE);
}

static int is_sound(const karma_i_normal_scores *s) {
    for (size_t k = 1; k < s->n; k++)
        if (s->value[k] <= s->value[k - 1] || s->score[k] <= s->score[k - 1]) return 0;
    return 1;
}

static karma_status read_scores(karma_i_archive *a, karma_i_normal_scores *scores, const flat_scores *flat, size_t n) {
    size_t first = 0;
    for (size_t j = 0; j < n; first += flat->size[j++]) {
        karma_i_normal_scores *s = &scores[j];
        if (flat->size[j] > flat->n - first) return karma_i_archive_fail(a, "its normal scores are not complete");
        if (flat->size[j] == 0) continue;
        if (new_scores(s, flat->size[j], NULL) != KARMA_OK) return karma_i_archive_fail_memory(a);
        memcpy(s->value, flat->value + first, s->n * sizeof *s->value);
        memcpy(s->score, flat->score + first, s->n * sizeof *s->score);
        if (!is_sound(s)) return karma_i_archive_fail(a, "normal scores are not in order");
    }
    return first == flat->n ? KARMA_OK : karma_i_archive_fail(a, "it has more normal scores than columns");
}

static void clear_flat(flat_scores *flat) {
    karma_i_free(flat->size);
    karma_i_free(flat->value);
    karma_i_free(flat->score);
}

/* The archive then owns the arrays. */
static karma_status write_scores(karma_i_archive *a, const karma_i_normal_scores *scores, size_t n) {
    flat_scores flat = {.size = karma_i_alloc(n, sizeof *flat.size)};
    for (size_t j = 0; j < n; j++) flat.n += scores[j].n;
    flat.value = karma_i_alloc(flat.n, sizeof *flat.value);
    flat.score = karma_i_alloc(flat.n, sizeof *flat.score);
    if (!flat.size || !flat.value || !flat.score) {
        clear_flat(&flat);
        return karma_i_archive_fail_memory(a);
    }
    for (size_t j = 0, first = 0; j < n; first += scores[j++].n) {
        flat.size[j] = scores[j].n;
        if (scores[j].n == 0) continue;
        memcpy(flat.value + first, scores[j].value, scores[j].n * sizeof *flat.value);
        memcpy(flat.score + first, scores[j].score, scores[j].n * sizeof *flat.score);
    }
    void *const arrays[] = {flat.size, flat.value, flat.score};
    return karma_i_archive_keep_all(a, arrays, sizeof arrays / sizeof arrays[0], archive_flat(a, &flat, n));
}

karma_status karma_i_normal_scores_archive(karma_i_archive *a, karma_i_normal_scores *scores, size_t n) {
    if (!karma_i_archive_is_reading(a)) return write_scores(a, scores, n);
    flat_scores flat = {0};
    karma_status st = archive_flat(a, &flat, n);
    if (st == KARMA_OK) st = read_scores(a, scores, &flat, n);
    clear_flat(&flat);
    return st;
}
