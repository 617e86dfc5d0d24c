/* The regularity of rows with respect to a subspace (definition `regularity` of the paper).
 *
 * Let U be an orthonormal basis of E and U_o the rows of U that a table's row observes. Q_oo = U_o U_oᵀ has
 * the positive eigenvalues of the r × r matrix U_oᵀU_o. λ is the smallest positive one, as lemma
 * `approximation` needs it; the paper prints the singular values of P_o P_E = U_o Uᵀ, their square roots. The
 * row is reconstructible, ker(P_o P_E) = ker(P_E), if U_o has rank r. */
#ifndef KARMA_I_REGULARITY_H
#define KARMA_I_REGULARITY_H

#include "subspace/completion.h"

/* Eigenvalues up to this are 0. */
#define KARMA_I_LEAST_LAMBDA 1e-10

enum { KARMA_I_N_QUARTILES = 5 };

typedef struct karma_i_regularity {
    size_t n_rows, n_attributes;
    double *lambda;                       /* by row; 0: no positive eigenvalue, the row observes nothing of E */
    unsigned char *is_reconstructible;    /* by row */
    size_t n_reconstructible;             /* rows */
    size_t n_blind;                       /* rows with λ = 0 */
    double quartile[KARMA_I_N_QUARTILES]; /* minimum, quartiles and maximum of λ over rows that have one */
    size_t *n_critical;                   /* by attribute: rows that are reconstructible only with it */
} karma_i_regularity;

karma_status karma_i_regularity_new(karma_i_regularity **out, const karma_i_basis *basis, karma_i_view rows,
                                    int threads, karma_error *err);
void karma_i_regularity_free(karma_i_regularity *regularity);

#endif
