/* Which sigmoid: one slope for all classes, or the slopes and offsets of solve/calibrate.h. */
#ifndef KARMA_I_CALIBRATE_CHOICE_H
#define KARMA_I_CALIBRATE_CHOICE_H

#include "solve/calibrate.h"

/* Arguments and errors are those of karma_i_calibration_learn. */

/* One slope s >= 0 and no offset: p = σ(s z) for two classes, p_k = exp(s z_k)/Σ_j exp(s z_j) for more. The most
 * probable class is the one that the scores decide for. */
karma_status karma_i_calibration_learn_slope(karma_i_calibration *out, const double *scores, const size_t *classes,
                                             const double *weights, size_t n_rows, size_t n_classes, karma_error *err);

/* The sigmoid of karma_i_calibration_learn where cross-validation shows that it is needed, else the one slope. */
karma_status karma_i_calibration_choose(karma_i_calibration *out, const double *scores, const size_t *classes,
                                        const double *weights, size_t n_rows, size_t n_classes, karma_error *err);

#endif
