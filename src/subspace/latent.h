/* The part of a recipe that maps rows to the hidden subspace: from features with missing cells to coordinates
 * whose inner product is that of the completions (class F₀ of the paper). */
#ifndef KARMA_I_LATENT_H
#define KARMA_I_LATENT_H

#include "karma/options.h"
#include "subspace/completion.h"
#include "subspace/linkage.h"
#include "subspace/refine.h"

typedef struct karma_i_latent {
    karma_i_subspace *subspace;
    karma_i_basis *basis;       /* of a model from a file, only rank and to_coordinates */
    karma_i_rank_choice choice; /* the ranks tried; none if the rank was given, or comes from a file */
    karma_i_linkage linkage;    /* which attributes the training rows determine together */
} karma_i_latent;

/* Learns from encoded training rows; the rank is that of the options, or is chosen by held-out cells of the
 * sample. */
karma_status karma_i_latent_learn(karma_i_latent **out, const karma_i_ppca_rows *rows, const karma_fit_options *options,
                                  const karma_hooks *hooks, karma_error *err);
/* An approximation of the rank that it would choose, found in larger steps: cheaper, for a search. */
karma_status karma_i_latent_coarse_rank(size_t *rank, const karma_i_rows *rows, const karma_fit_options *options,
                                        const karma_hooks *hooks, karma_error *err);
/* At most options->refine gradient steps on the labels of the same rows; a notice reports the result. */
karma_status karma_i_latent_refine(karma_i_latent *latent, const karma_i_rows *rows, const karma_i_supervision *labels,
                                   const karma_fit_options *options, const karma_hooks *hooks, karma_error *err);
/* How a subspace is estimated under these options, and the largest rank that is tried. */
karma_i_ppca_options karma_i_latent_options(const karma_i_rows *rows, const karma_fit_options *options,
                                            const karma_hooks *hooks);
/* The subspace of `n_features` features in a model file; reading makes a new one. */
karma_status karma_i_latent_archive(karma_i_archive *archive, karma_i_latent **latent, size_t n_features);
void karma_i_latent_free(karma_i_latent *latent);

/* New rows with one attribute, always observed, that holds the coordinates; bitwise equal for any number of
 * threads.
 */
karma_status karma_i_latent_apply(karma_i_rows **out, const karma_i_latent *latent, const karma_i_rows *rows,
                                  int threads, karma_error *err);
karma_status karma_i_latent_new_rows(karma_i_rows **out, const karma_i_latent *latent, size_t capacity,
                                     karma_error *err);

#endif
