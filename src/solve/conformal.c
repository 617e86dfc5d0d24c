#include "solve/conformal.h"

#include <math.h>
#include <stdlib.h>

/* Sums of weights that are equal except for rounding count as equal. */
static const double ROUNDING = 1e-9;

static int by_value(const void *a, const void *b) {
    double x = ((const karma_i_weighted *)a)->value, y = ((const karma_i_weighted *)b)->value;
    return (x > y) - (x < y);
}

double karma_i_conformal_upper(karma_i_weighted *rows, size_t n, double level) {
    double total = 0.0, reached = 0.0;
    if (n == 0) return INFINITY;
    qsort(rows, n, sizeof *rows, by_value);
    for (size_t i = 0; i < n; i++) total += rows[i].weight;
    double needed = level * (total + 1.0) * (1.0 - ROUNDING);
    for (size_t i = 0; i < n; i++) {
        reached += rows[i].weight;
        if (reached >= needed) return rows[i].value;
    }
    return INFINITY;
}

double karma_i_conformal_lower(karma_i_weighted *rows, size_t n, double level) {
    for (size_t i = 0; i < n; i++) rows[i].value = -rows[i].value;
    double upper = karma_i_conformal_upper(rows, n, level);
    for (size_t i = 0; i < n; i++) rows[i].value = -rows[i].value;
    return -upper;
}

/* The most confident first. */
static int by_confidence(const void *a, const void *b) {
    double x = ((const karma_i_confident *)a)->confidence, y = ((const karma_i_confident *)b)->confidence;
    return (x < y) - (x > y);
}

/* Rows of equal confidence are answered together or not at all. */
static int ends_run(const karma_i_confident *rows, size_t n, size_t i) {
    return i + 1 == n || rows[i + 1].confidence < rows[i].confidence;
}

double karma_i_accuracy_threshold(karma_i_confident *rows, size_t n, double accuracy) {
    double right = 0.0, answered = 0.0, threshold = INFINITY;
    if (n > 0) qsort(rows, n, sizeof *rows, by_confidence);
    for (size_t i = 0; i < n; i++) {
        answered += rows[i].weight;
        right += rows[i].is_right ? rows[i].weight : 0.0;
        if (ends_run(rows, n, i) && right >= accuracy * (answered + 1.0) * (1.0 - ROUNDING))
            threshold = rows[i].confidence;
    }
    return threshold;
}

double karma_i_share_threshold(karma_i_confident *rows, size_t n, double share) {
    double total = 0.0, answered = 0.0;
    if (share >= 1.0) return -INFINITY; /* new rows with less confidence than any of these are answered too */
    if (n > 0) qsort(rows, n, sizeof *rows, by_confidence);
    for (size_t i = 0; i < n; i++) total += rows[i].weight;
    for (size_t i = 0; i < n; i++) {
        answered += rows[i].weight;
        if (ends_run(rows, n, i) && answered >= share * total * (1.0 - ROUNDING)) return rows[i].confidence;
    }
    return n > 0 ? rows[n - 1].confidence : -INFINITY;
}
