#include "eval/reliability.h"

#include <math.h>

/* --- weighted means ------------------------------------------------------------------------------------ */

typedef struct mean {
    double sum, weight;
} mean;

/* A weight of 0 leaves the value out, even where it is not finite. */
static void add(mean *m, double value, double weight) {
    if (!(weight > 0.0)) return;
    m->sum += weight * value;
    m->weight += weight;
}

static double value_of(mean m) {
    return m.weight > 0.0 ? m.sum / m.weight : NAN;
}

static double weight_of(const double *weights, size_t row) {
    return weights ? weights[row] : 1.0;
}

/* --- probabilities ------------------------------------------------------------------------------------- */

static double squared_error(const double *p, size_t class, size_t n_classes) {
    double sum = 0.0;
    for (size_t k = n_classes == 2; k < n_classes; k++) { /* of two classes only the second counts */
        double error = p[k] - (k == class);
        sum += error * error;
    }
    return sum;
}

double karma_i_brier_score(const double *probabilities, const size_t *classes, const double *weights, size_t n_rows,
                           size_t n_classes) {
    mean m = {0};
    for (size_t i = 0; i < n_rows; i++)
        if (classes[i] < n_classes)
            add(&m, squared_error(probabilities + i * n_classes, classes[i], n_classes), weight_of(weights, i));
    return value_of(m);
}

static size_t likeliest(const double *p, size_t n_classes) {
    size_t best = 0;
    for (size_t k = 1; k < n_classes; k++)
        if (p[k] > p[best]) best = k;
    return best;
}

/* Values outside [0, 1] go to the nearest end, NaN to the last bin. */
static size_t bin_of(double confidence) {
    if (!(confidence < 1.0)) return KARMA_I_RELIABILITY_BINS - 1;
    return confidence > 0.0 ? (size_t)(confidence * KARMA_I_RELIABILITY_BINS) : 0;
}

void karma_i_reliability(karma_i_reliability_bin bins[KARMA_I_RELIABILITY_BINS], const double *probabilities,
                         const size_t *classes, const double *weights, size_t n_rows, size_t n_classes) {
    mean confidence[KARMA_I_RELIABILITY_BINS] = {{0}}, accuracy[KARMA_I_RELIABILITY_BINS] = {{0}};
    for (size_t i = 0; i < n_rows; i++) {
        const double *p = probabilities + i * n_classes;
        if (classes[i] >= n_classes) continue;
        size_t best = likeliest(p, n_classes), bin = bin_of(p[best]);
        add(&confidence[bin], p[best], weight_of(weights, i));
        add(&accuracy[bin], best == classes[i], weight_of(weights, i));
    }
    for (size_t b = 0; b < KARMA_I_RELIABILITY_BINS; b++)
        bins[b] = (karma_i_reliability_bin){confidence[b].weight, value_of(confidence[b]), value_of(accuracy[b])};
}

double karma_i_expected_calibration_error(const karma_i_reliability_bin bins[KARMA_I_RELIABILITY_BINS]) {
    mean m = {0};
    for (size_t b = 0; b < KARMA_I_RELIABILITY_BINS; b++)
        add(&m, fabs(bins[b].accuracy - bins[b].confidence), bins[b].weight);
    return value_of(m);
}

/* --- quantiles and intervals --------------------------------------------------------------------------- */

double karma_i_pinball_loss(const double *predicted, const double *truth, const double *weights, size_t n_rows,
                            double quantile) {
    mean m = {0};
    for (size_t i = 0; i < n_rows; i++) {
        double above = truth[i] - predicted[i];
        if (!isnan(truth[i])) add(&m, fmax(quantile * above, (quantile - 1.0) * above), weight_of(weights, i));
    }
    return value_of(m);
}

double karma_i_coverage(const double *predicted, const double *truth, const double *weights, size_t n_rows) {
    mean m = {0};
    for (size_t i = 0; i < n_rows; i++)
        if (!isnan(truth[i])) add(&m, truth[i] <= predicted[i], weight_of(weights, i));
    return value_of(m);
}

double karma_i_interval_coverage(const double *low, const double *high, const double *truth, const double *weights,
                                 size_t n_rows) {
    mean m = {0};
    for (size_t i = 0; i < n_rows; i++)
        if (!isnan(truth[i])) add(&m, low[i] <= truth[i] && truth[i] <= high[i], weight_of(weights, i));
    return value_of(m);
}
