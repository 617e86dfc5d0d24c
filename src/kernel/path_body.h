/* The code that all paths share; the compiler turns it into the instructions of the file that includes it.
 * There is a fixed number of accumulators, so that sums can be vectorised without reordering. */
#ifndef KARMA_I_PATH_BODY_H
#define KARMA_I_PATH_BODY_H

#include <math.h>
#include <string.h>

#include "kernel/path.h"

enum { LANES = 16 };

static double dot(const float *x, const double *y, size_t n) {
    double sums[LANES] = {0.0};
    size_t whole = n - n % LANES;
    for (size_t j = 0; j < whole; j += LANES)
        for (size_t k = 0; k < LANES; k++) sums[k] += (double)x[j + k] * y[j + k];
    for (size_t j = whole; j < n; j++) sums[j - whole] += (double)x[j] * y[j];
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t k = 0; k < width; k++) sums[k] += sums[k + width];
    return sums[0];
}

static void axpy(double *y, const float *x, double a, size_t n) {
    for (size_t j = 0; j < n; j++) y[j] += a * (double)x[j];
}

/* Four rows at a time: y is read and written once for them. */
static void axpy_rows(double *y, const float *const *rows, const double *a, size_t n_rows, size_t first, size_t n) {
    size_t r = 0;
    for (; r + 4 <= n_rows; r += 4) {
        const float *x0 = rows[r] + first, *x1 = rows[r + 1] + first, *x2 = rows[r + 2] + first,
                    *x3 = rows[r + 3] + first;
        double a0 = a[r], a1 = a[r + 1], a2 = a[r + 2], a3 = a[r + 3];
        for (size_t j = 0; j < n; j++) {
            double sum = y[j] + a0 * (double)x0[j];
            sum += a1 * (double)x1[j];
            sum += a2 * (double)x2[j];
            y[j] = sum + a3 * (double)x3[j];
        }
    }
    for (; r < n_rows; r++) axpy(y, rows[r] + first, a[r], n);
}

static void gather(float *restrict out, const float *restrict x, const uint32_t *restrict index, size_t n) {
    for (size_t k = 0; k < n; k++) out[k] = x[index[k]];
}

/* --- rows of a box (path.h) ------------------------------------------------------------------------------ */

/* Gains are computed for so many rows, then looked through: a loop that kept the best row could not be vectorised. */
enum { BOX_ROWS = 256 };

/* The largest gain above *most becomes *most, and its row *best. */
static void keep_best(size_t *best, double *most, const double *gain, size_t first, size_t count) {
    double top[LANES] = {0.0};
    size_t whole = count - count % LANES;
    for (size_t j = 0; j < whole; j += LANES)
        for (size_t k = 0; k < LANES; k++) top[k] = gain[j + k] > top[k] ? gain[j + k] : top[k];
    for (size_t j = whole; j < count; j++) top[0] = gain[j] > top[0] ? gain[j] : top[0];
    for (size_t k = 1; k < LANES; k++) top[0] = top[k] > top[0] ? top[k] : top[0];
    if (!(top[0] > *most)) return;
    size_t j = 0;
    while (gain[j] < top[0]) j++;
    *most = top[0];
    *best = first + j;
}

static size_t best_row(const karma_i_box *b) {
    double gain[BOX_ROWS], most = 0.0;
    size_t best = b->n;
    for (size_t first = 0; first < b->n; first += BOX_ROWS) {
        size_t count = b->n - first < BOX_ROWS ? b->n - first : BOX_ROWS;
        const double *q = b->q + first, *low = b->low + first, *high = b->high + first;
        const double *beta = b->beta + first, *slope = b->slope + first;
        for (size_t j = 0; j < count; j++) {
            double next = beta[j] + slope[j] / q[j];
            next = next > low[j] ? next : low[j];
            next = next < high[j] ? next : high[j];
            gain[j] = (next - beta[j]) * (slope[j] - 0.5 * q[j] * (next - beta[j]));
        }
        keep_best(&best, &most, gain, first, count);
    }
    return best;
}

/* The two change by δ_i = (q_j g_i - k g_j)/det and δ_j = (q_i g_j - k g_i)/det, det = q_i q_j - k², if they are free
 * to, and the function falls by half of what is compared here. */
static size_t best_partner(const karma_i_box *b, size_t i, const float *row) {
    double gain[BOX_ROWS], most = 0.0, qi = b->q[i], gi = b->slope[i];
    size_t best = b->n;
    for (size_t first = 0; first < b->n; first += BOX_ROWS) {
        size_t count = b->n - first < BOX_ROWS ? b->n - first : BOX_ROWS;
        const double *q = b->q + first, *low = b->low + first, *high = b->high + first;
        const double *beta = b->beta + first, *slope = b->slope + first;
        const float *values = row + first;
        for (size_t j = 0; j < count; j++) {
            double k = (double)values[j], det = qi * q[j] - k * k, least = KARMA_I_LEAST_DET * qi * q[j];
            double rise_i = gi * (q[j] * gi - k * slope[j]), rise_j = qi * slope[j] - k * gi;
            double room = rise_j > 0.0 ? high[j] - beta[j] : beta[j] - low[j];
            double fall = (rise_i + slope[j] * rise_j) / (det > least ? det : least);
            fall = room > 0.0 ? fall : 0.0;
            gain[j] = rise_i > 0.0 ? fall : 0.0;
        }
        if (i - first < count) gain[i - first] = 0.0;
        keep_best(&best, &most, gain, first, count);
    }
    return best;
}

/* A code of b, or the largest number there is for a missing one: no code of a equals that, nor does a missing one. Not
 * by a branch, which missing cells make hard to predict. */
static uint16_t comparable(uint16_t code) {
    return (uint16_t)(code - (code == 0));
}

/* --- outer maps: rows of a tile at a time, without branches inside the loops --------------------------- */

/* e^-t to a few units in the last place: 2^n by its bits, the rest by its series around 0. No branch inside, or the
 * loops over it are not vectorised; so t must be within 0 and MOST_DISTANCE, where n is the least there can be, whose
 * bits are those of 0. */
#define MOST_DISTANCE 88.0F
static float exp_of_minus(float t) {
    union {
        int32_t bits;
        float value;
    } power;
    int32_t n = (int32_t)(t * -1.44269504F - 0.5F);
    float r =
        ((float)n * -0.693359375F - t) + (float)n * 2.12194440e-4F; /* ln 2 in two parts: n times the first is exact */
    float p =
        1.0F +
        r * (1.0F + r * (0.5F + r * (1.6666667e-1F + r * (4.1666668e-2F + r * (8.3333377e-3F + r * 1.3888889e-3F)))));
    power.bits = (n + 127) << 23;
    return p * power.value;
}

static float cut_power(float x) {
    const float most = (float)KARMA_I_LARGEST_POWER;
    return x < -most ? -most : x < most ? x : most;
}

static void map_distances(float *cells, size_t n, const karma_i_map *map, float own, const float *other) {
    float g = (float)(1.0 / (map->spread * map->width * map->width));
    for (size_t j = 0; j < n; j++) {
        float squares = own + other[j], distance = squares - 2.0F * cells[j];
        /* squares and cells are rounded differently: the remaining difference of equal rows is not a distance */
        distance -= 1e-6F * squares;
        cells[j] = distance > 0.0F ? g * distance : 0.0F;
    }
    if (map->kind == KARMA_OUTER_LAPLACE)
        for (size_t j = 0; j < n; j++) cells[j] = sqrtf(cells[j]);
    for (size_t j = 0; j < n; j++) cells[j] = cells[j] < MOST_DISTANCE ? cells[j] : MOST_DISTANCE;
    for (size_t j = 0; j < n; j++) cells[j] = exp_of_minus(cells[j]);
}

static void map_cosine(float *cells, size_t n, float own, const float *other) {
    float length = sqrtf(own);
    for (size_t j = 0; j < n; j++) {
        float lengths = length * sqrtf(other[j]); /* a product of squares could leave single precision */
        cells[j] = lengths > 0.0F ? cells[j] / lengths : 0.0F;
    }
}

static void map_power(float *cells, size_t n, const karma_i_map *map) {
    float inverse = (float)(1.0 / map->spread), offset = (float)map->offset;
    for (size_t j = 0; j < n; j++) {
        float base = offset + inverse * cells[j], power = base;
        for (size_t p = 1; p < map->degree; p++) power *= base;
        cells[j] = cut_power(power);
    }
}

/* Horner. */
static void map_series(float *cells, size_t n, const karma_i_map *map) {
    float inverse = (float)(1.0 / map->spread);
    for (size_t j = 0; j < n; j++) {
        float t = inverse * cells[j], sum = (float)map->coefficients[map->degree];
        for (size_t p = map->degree; p > 0; p--) sum = sum * t + (float)map->coefficients[p - 1];
        cells[j] = cut_power(sum);
    }
}

static void map_tile(float *tile, size_t ld, size_t n_a, size_t n_b, const karma_i_map *map, const float *diagonal_a,
                     const float *diagonal_b) {
    for (size_t i = 0; i < n_a; i++) {
        float *cells = tile + i * ld;
        switch (map->kind) {
        case KARMA_OUTER_COSINE:
            map_cosine(cells, n_b, diagonal_a[i], diagonal_b);
            break;
        case KARMA_OUTER_POLY:
            map_power(cells, n_b, map);
            break;
        case KARMA_OUTER_RBF:
        case KARMA_OUTER_LAPLACE:
            map_distances(cells, n_b, map, diagonal_a[i], diagonal_b);
            break;
        case KARMA_OUTER_SERIES:
            map_series(cells, n_b, map);
            break;
        case KARMA_OUTER_IDENTITY:
        case KARMA_N_OUTERS:
            break;
        }
    }
}

#endif
