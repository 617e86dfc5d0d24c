/* With weights v that sum to 1, the scores change by Σ_i v_i (s_i - f), where s_i are the scores of run i and f those
 * of the committee before. The mean square of this change is v'Bv, B the mean products of s_i - f. */
#include "search/shorten.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "search/average.h"

/* Moves of weight from one run to another, per run; they end where a move gains less than this share. */
enum { MOVES_PER_RUN = 20 };
static const double LEAST_MOVE = 1e-6;

/* n runs, and room for one trial. */
typedef struct shortening {
    size_t n;
    double *B;
    double most;       /* v'Bv that is allowed */
    double *v, *trial; /* weights */
    double *slope;     /* B trial */
    unsigned char *is_out, *is_tried_out;
} shortening;

static void clear(shortening *s) {
    karma_i_free(s->B);
    karma_i_free(s->v);
    karma_i_free(s->is_out);
}

/* B from the moments, and the largest change: with the best scale a = f'y / f'f of the scores, means over rows,
 *
 *   a² v'Bv <= share · min(|a f - y|², |a f|²),   |a f - y|² = |y|² - (f'y)² / f'f */
static void measure(shortening *s, const karma_i_moments_of_scores *m, const double *weights, double share) {
    size_t n = s->n;
    double size = 0.0, cross = 0.0, *with = s->slope; /* s_i'f; size f'f, cross f'y */
    for (size_t i = 0; i < n; i++) {
        with[i] = 0.0;
        for (size_t j = 0; j < n; j++) with[i] += m->A[i * n + j] * weights[j];
        size += weights[i] * with[i];
        cross += weights[i] * m->b[i];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) s->B[i * n + j] = m->A[i * n + j] - with[i] - with[j] + size;
    double error = fmax(0.0, m->square - cross * cross / size), scale = cross / size;
    s->most = cross > 0.0 ? share * fmin(error / (scale * scale), size) : -1.0; /* -1: scores say nothing */
}

static void find_slope(shortening *s) {
    for (size_t i = 0; i < s->n; i++) {
        s->slope[i] = 0.0;
        for (size_t j = 0; j < s->n; j++) s->slope[i] += s->B[i * s->n + j] * s->trial[j];
    }
}

static double change_of_trial(const shortening *s) {
    double sum = 0.0;
    for (size_t i = 0; i < s->n; i++) sum += s->trial[i] * s->slope[i];
    return fmax(0.0, sum);
}

/* Moves weight from the run with the largest slope to the one with the smallest, as much as is best. False: nothing is
 * gained. */
static int move_weight(shortening *s) {
    size_t n = s->n, from = n, to = n;
    for (size_t i = 0; i < n; i++) {
        if (s->is_tried_out[i]) continue;
        if (s->trial[i] > 0.0 && (from == n || s->slope[i] > s->slope[from])) from = i;
        if (to == n || s->slope[i] < s->slope[to]) to = i;
    }
    double lead = s->slope[from] - s->slope[to];
    double bend = s->B[from * n + from] + s->B[to * n + to] - 2.0 * s->B[from * n + to];
    if (!(lead * s->trial[from] > LEAST_MOVE * fmax(s->most, change_of_trial(s)))) return 0;
    double step = bend * s->trial[from] > lead ? lead / bend : s->trial[from];
    s->trial[from] = step < s->trial[from] ? s->trial[from] - step : 0.0;
    s->trial[to] += step;
    for (size_t i = 0; i < n; i++) s->slope[i] += step * (s->B[i * n + to] - s->B[i * n + from]);
    return 1;
}

/* min v'Bv over the weights of the runs that are left, when those of a group are taken out too. Infinite if none is
 * left. */
static double try_without(shortening *s, const size_t *groups, size_t group) {
    double left = 0.0;
    size_t n_left = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->is_tried_out[i] = s->is_out[i] || groups[i] == group;
        s->trial[i] = s->is_tried_out[i] ? 0.0 : s->v[i];
        left += s->trial[i];
        n_left += s->is_tried_out[i] ? 0 : 1;
    }
    for (size_t i = 0; i < s->n && n_left; i++) {
        if (left > 0.0)
            s->trial[i] /= left;
        else if (!s->is_tried_out[i])
            s->trial[i] = 1.0 / (double)n_left;
    }
    find_slope(s);
    for (size_t moves = 0; n_left && moves < MOVES_PER_RUN * s->n && move_weight(s); moves++) {
    }
    return n_left ? change_of_trial(s) : INFINITY;
}

/* Takes out one group after the other, each time the one without which scores change least. */
static void take_out(shortening *s, const size_t *groups) {
    for (;;) {
        double least = INFINITY;
        size_t best = 0;
        for (size_t i = 0; i < s->n; i++) {
            int is_first = !s->is_out[i];
            for (size_t j = 0; is_first && j < i; j++) is_first = s->is_out[j] || groups[j] != groups[i];
            double change = is_first ? try_without(s, groups, groups[i]) : INFINITY;
            if (change >= least) continue;
            least = change;
            best = groups[i];
        }
        if (!(least <= s->most)) return;
        (void)try_without(s, groups, best);
        memcpy(s->v, s->trial, s->n * sizeof *s->v);
        memcpy(s->is_out, s->is_tried_out, s->n);
    }
}

static void keep_weighted(karma_i_choice *choice, const double *v) {
    size_t kept = 0;
    for (size_t i = 0; i < choice->n; i++) {
        if (!(v[i] > 0.0)) continue;
        choice->runs[kept] = choice->runs[i];
        choice->weights[kept++] = v[i];
    }
    choice->n = kept;
}

karma_status karma_i_choice_shorten(karma_i_choice *choice, const karma_i_race *race, double share, karma_error *err) {
    size_t n = choice->n;
    karma_i_moments_of_scores m;
    if (n < 2) return KARMA_OK;
    KARMA_TRY(karma_i_average_moments(&m, race, choice->runs, n, err));
    shortening s = {.n = n,
                    .B = karma_i_alloc(n, n * sizeof *s.B),
                    .v = karma_i_alloc(n, 3 * sizeof *s.v),
                    .is_out = karma_i_zalloc(n, 2)};
    size_t *groups = karma_i_alloc(n, 2 * sizeof *groups);
    karma_status st = s.B && s.v && s.is_out && groups ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        s.trial = s.v + n;
        s.slope = s.v + 2 * n;
        s.is_tried_out = s.is_out + n;
        memcpy(s.v, choice->weights, n * sizeof *s.v);
        for (size_t i = 0; i < n; i++) {
            groups[i] = race->runs[choice->runs[i]].entry;
            groups[n + i] = i;
        }
        measure(&s, &m, choice->weights, share);
        take_out(&s, groups);     /* kernels */
        take_out(&s, groups + n); /* machines */
        keep_weighted(choice, s.v);
    }
    clear(&s);
    karma_i_free(groups);
    karma_i_moments_of_scores_clear(&m);
    return st;
}
