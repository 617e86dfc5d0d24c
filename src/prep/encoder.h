/* The encodings that a kernel needs: one recipe for each kind of factor. */
#ifndef KARMA_I_ENCODER_H
#define KARMA_I_ENCODER_H

#include "prep/recipe.h"

typedef struct karma_i_encoder {
    size_t n;
    karma_i_recipe **recipes; /* all of them know the same attributes */
} karma_i_encoder;

/* One recipe for each of kinds[0..n_kinds), learned on the rows of `table`. */
karma_status karma_i_encoder_learn(karma_i_encoder *out, const karma_table *table, const karma_kernel_kind *kinds,
                                   size_t n_kinds, const karma_fit_options *options, const karma_hooks *hooks,
                                   karma_error *err);
/* The same, one recipe after the other; these may be learned at the same time. */
karma_status karma_i_encoder_new(karma_i_encoder *out, size_t n_kinds, karma_error *err);
karma_status karma_i_encoder_learn_kind(karma_i_encoder *encoder, size_t which, karma_kernel_kind kind,
                                        const karma_table *table, const karma_fit_options *options,
                                        const karma_hooks *hooks, karma_error *err);
/* Improves its subspaces on the labels of the rows that it was learned from (options->refine). */
karma_status karma_i_encoder_refine(karma_i_encoder *encoder, const karma_table *table,
                                    const karma_i_supervision *labels, const karma_fit_options *options,
                                    const karma_hooks *hooks, karma_error *err);
void karma_i_encoder_clear(karma_i_encoder *encoder);

/* Columns of a matrix have no names and are matched by their place: fails unless it has the n_columns columns of the
 * training table, which had no names either. Columns that were never observed are counted, though no recipe has them.
 */
karma_status karma_i_encoder_check_matrix(const karma_i_encoder *encoder, size_t n_columns, const karma_table *table,
                                          karma_error *err);
/* New rows, one per table row, with as many encodings as there are recipes. */
karma_status karma_i_encoder_apply(karma_i_rows **out, const karma_i_encoder *encoder, const karma_table *table,
                                   const karma_hooks *hooks, karma_error *err);
/* The same, but encodings with is_needed[encoding] = 0 have only the row of the table `first`, which stands for all. */
karma_status karma_i_encoder_apply_some(karma_i_rows **out, const karma_i_encoder *encoder,
                                        const unsigned char *is_needed, const karma_table *table,
                                        const karma_table *first, const karma_hooks *hooks, karma_error *err);
/* The rows before they are placed in subspaces: features with missing cells, in as many encodings. More cells can be
 * hidden in them (karma_i_rows_hide), which coordinates, each made of all cells of a row, do not allow. Not for a
 * precomputed kernel. */
karma_status karma_i_encoder_encode(karma_i_rows **out, const karma_i_encoder *encoder, const karma_table *table,
                                    const karma_hooks *hooks, karma_error *err);
/* Rows as the kernel needs them: coordinates or leaves if an encoding has a subspace or a forest; otherwise the rows
 * themselves, borrowed. The features must outlive them and must not change meanwhile. */
typedef struct karma_i_placed {
    karma_i_rows *rows;        /* one encoding after the other, chained */
    karma_i_rows *coordinates; /* what of them is owned */
} karma_i_placed;
karma_status karma_i_encoder_place(karma_i_placed *out, const karma_i_encoder *encoder, const karma_i_rows *features,
                                   int threads, karma_error *err);
void karma_i_placed_clear(karma_i_placed *placed);
/* Room for rows of these recipes. */
karma_status karma_i_encoder_new_rows(karma_i_rows **out, const karma_i_encoder *encoder, size_t capacity,
                                      karma_error *err);

/* The columns and recipes of a model file, one recipe for each of kinds[0..n_kinds); reading fills in a zeroed encoder.
 */
karma_status karma_i_encoder_archive(karma_i_archive *archive, karma_i_encoder *encoder, const karma_kernel_kind *kinds,
                                     size_t n_kinds);
/* n_rows encoded rows in a model file, in all encodings; reading makes new ones. */
karma_status karma_i_encoder_archive_rows(karma_i_archive *archive, karma_i_rows **rows, const karma_i_encoder *encoder,
                                          size_t n_rows);

#endif
