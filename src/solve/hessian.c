#include "solve/hessian.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "linalg/cholesky.h"

void karma_i_hessian_start(double *out, const karma_i_features *features) {
    size_t p = features->n_features;
    memset(out, 0, p * p * sizeof *out);
    for (size_t i = 0; i < p; i++)
        if (features->norm)
            memcpy(out + i * p, features->norm + i * p, (i + 1) * sizeof *out);
        else
            out[i * p + i] = 1.0;
}

karma_status karma_i_hessian_factor(double *h, double *diagonal, size_t p, karma_error *err) {
    double largest = 0.0;
    for (size_t i = 0; i < p; i++) {
        diagonal[i] = h[i * p + i];
        largest = fmax(largest, diagonal[i]);
        for (size_t j = 0; j < i; j++) h[j * p + i] = h[i * p + j];
    }
    double ridge = 0.0;
    while (ridge <= 1.0) {
        for (size_t i = 0; i < p; i++) h[i * p + i] = diagonal[i] + ridge * largest;
        if (karma_i_cholesky(h, p)) return KARMA_OK;
        for (size_t i = 0; i < p; i++)
            for (size_t j = 0; j < i; j++) h[i * p + j] = h[j * p + i];
        ridge = ridge > 0.0 ? 100.0 * ridge : 1e-14;
    }
    return karma_i_fail(err, KARMA_ERR_DATA, "a matrix of products of %zu features is not finite", p);
}
