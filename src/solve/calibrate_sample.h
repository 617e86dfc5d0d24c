/* The rows that a calibration is learned from. */
#ifndef KARMA_I_CALIBRATE_SAMPLE_H
#define KARMA_I_CALIBRATE_SAMPLE_H

#include <stddef.h>

typedef struct karma_i_calibration_sample {
    const double *scores; /* row by row, n_outputs each */
    const size_t *classes;
    const double *weights; /* or NULL: all are 1 */
    size_t n_rows, n_classes, n_outputs;
} karma_i_calibration_sample;

/* Two classes have one score, more have one per class. */
static inline size_t karma_i_calibration_outputs(size_t n_classes) {
    return n_classes == 2 ? 1 : n_classes;
}

/* 0 for a row whose class is not known. */
static inline double karma_i_calibration_weight(const karma_i_calibration_sample *s, size_t row) {
    if (s->classes[row] >= s->n_classes) return 0.0;
    return s->weights ? s->weights[row] : 1.0;
}

#endif
