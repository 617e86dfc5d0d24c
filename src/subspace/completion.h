/* What a subspace predicts for incomplete rows: the completion of class F₀, its standard errors, and coordinates whose
 * inner product is that of the completions.
 *
 *     x̂ = mean + W ẑ,     ẑ = (σ²I + W_oᵀV_o⁻¹W_o)⁻¹ W_oᵀV_o⁻¹ (x_o - mean_o),     V = diag(v)
 *
 * As σ² → 0, and if o determines z, x̂ - mean = Q P_oᵀ Q_oo^† P_o (x - mean) with Q the projection onto the columns of
 * W, and w·x̂ is the paper's f_{w,Q} (definition `F0`, lemma `lintof0`). */
#ifndef KARMA_I_COMPLETION_H
#define KARMA_I_COMPLETION_H

#include "subspace/ppca.h"

/* For every row and feature: the completion, and its standard error sqrt(w_f·C w_f + [f is missing] σ² v_f),
 * C the posterior covariance of z. For an observed feature both are of W z without the noise. Either may be
 * NULL; each is rows.count × n_features. */
karma_status karma_i_complete(double *completed, double *standard_error, const karma_i_subspace *subspace,
                              karma_i_view rows, int threads, karma_error *err);

/* ẑ of every row: rows.count × rank. */
karma_status karma_i_locate(double *z, const karma_i_subspace *subspace, karma_i_view rows, int threads,
                            karma_error *err);

/* W = U diag(s) Vᵀ, without the directions whose singular value is 0. */
typedef struct karma_i_basis {
    size_t n_features, rank; /* the numerical rank of W, at most that of the subspace */
    double *U;               /* n_features × rank, orthonormal columns */
    double *s;               /* descending */
    double *to_coordinates;  /* diag(s) Vᵀ: rank × the subspace's rank */
    double *mean;            /* Uᵀ mean */
    double mean_beyond;      /* |mean - U Uᵀ mean| */
} karma_i_basis;

karma_status karma_i_basis_new(karma_i_basis **out, const karma_i_subspace *subspace, karma_error *err);
void karma_i_basis_free(karma_i_basis *basis);

/* The inner product: ⟨x̂ - mean, ŷ - mean⟩ with `rank` coordinates per row, or ⟨x̂, ŷ⟩ with one more. */
typedef enum karma_i_centring { KARMA_I_CENTRED, KARMA_I_UNCENTRED } karma_i_centring;

static inline size_t karma_i_n_coordinates(const karma_i_basis *basis, karma_i_centring centring) {
    return basis->rank + (centring == KARMA_I_UNCENTRED);
}
/* rows.count × karma_i_n_coordinates */
karma_status karma_i_coordinates(double *out, const karma_i_subspace *subspace, const karma_i_basis *basis,
                                 karma_i_centring centring, karma_i_view rows, int threads, karma_error *err);

#endif
