/* The recipe: how a table becomes encoded rows. Learned on training rows only, kept in the model, applied to
 * any table: attributes are matched by name.
 *
 *   number    one feature, (x - mean)/sd over the observed training cells (population sd; 1 where that is 0); under the
 *             rank kernel no feature but the rank among the observed training cells, with a term if it is centred
 *   category  of few levels: one indicator a level, centred by the level's share but not scaled. Of more: a code and,
 *             centred, a term. Both are the same κ. A level that training did not know is missing
 *
 *   polar     a number is two features, u and 1 - u with u = (x - least)/(largest - least), and no category is centred
 *             (Lenz, Cornelis, Peralta: Polar encoding, 2022)
 *
 * Without standardising, values, indicators and codes stay as they are. A centred cell that is missing (0) contributes
 * what an average one would. */
#ifndef KARMA_I_RECIPE_H
#define KARMA_I_RECIPE_H

#include "karma/options.h"
#include "prep/latent.h"
#include "prep/ranking.h"
#include "table/rows.h"
#include "table/table.h"

typedef struct karma_i_recipe {
    size_t n_attributes;
    karma_i_column *columns;   /* the attributes observed in training, with the levels seen there */
    size_t *feature_start;     /* n_attributes + 1; a coded or ranked attribute has none */
    double *shift, *factor;    /* per feature: encoded = (raw - shift) * factor */
    karma_i_ranking *rankings; /* one an attribute; empty where it is not ranked */
    size_t *term_start;        /* n_attributes + 1: where an attribute's terms begin; it has all or none */
    float *term;               /* q of each byte (KARMA_I_RANK_BYTES) or code (one a level), from 1 on */
    karma_i_latent *latent;    /* rows become coordinates in a hidden subspace; NULL: they stay what they are */
    size_t n_matrix_columns;   /* of a precomputed kernel, which has no attributes: training rows; otherwise 0 */
    int is_polar;              /* numbers are two features, u and 1 - u in [0, 1] */
    int is_sparse;             /* rows are lists of cells: numbers only, one feature each */
    double radius;             /* of the ball that rows are shrunk into, in encoded units; 0: rows are left alone */
} karma_i_recipe;

/* `kind`: what kind of factor the rows are for. */
karma_status karma_i_recipe_learn(karma_i_recipe **out, const karma_table *table, karma_kernel_kind kind,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err);
void karma_i_recipe_free(karma_i_recipe *recipe);

/* κ_j becomes weights[j] κ_j, weights in [0, 1]; `table` has the rows that the recipe was learned on. Ranks keep their
 * step, so their bytes shrink: what weighs less is told apart less finely. Not for codes. */
karma_status karma_i_recipe_weigh(karma_i_recipe *recipe, const double *weights, const karma_table *table,
                                  karma_error *err);

/* A category that is a code, not indicators; and whether an attribute has terms. */
int karma_i_recipe_is_coded(const karma_i_recipe *recipe, size_t attribute);
int karma_i_recipe_has_terms(const karma_i_recipe *recipe, size_t attribute);
/* How many terms it has if it has any. */
size_t karma_i_recipe_n_terms(const karma_i_recipe *recipe, size_t attribute);

/* New rows, one a table row. Attributes of the table that the recipe does not know are left out, attributes it
 * knows but the table lacks are missing, each with a notice; a table that has none of them is an error. */
karma_status karma_i_recipe_apply(karma_i_rows **out, const karma_i_recipe *recipe, const karma_table *table,
                                  const karma_hooks *hooks, karma_error *err);

/* The rows as they are before they are placed in a subspace: features with holes. divisors[row], unless NULL: what
 * shrinking into the ball divided the row by, 1 where nothing is shrunk. Not for a precomputed kernel. */
karma_status karma_i_recipe_encode(karma_i_rows **out, double *divisors, const karma_i_recipe *recipe,
                                   const karma_table *table, const karma_hooks *hooks, karma_error *err);

/* For every attribute of the table its index in the recipe, or KARMA_I_UNKNOWN. */
enum { KARMA_I_UNKNOWN = -1 };
karma_status karma_i_recipe_match(ptrdiff_t *match, const karma_i_recipe *recipe, const karma_table *table,
                                  karma_error *err);

/* Room for rows of this recipe. */
karma_status karma_i_recipe_new_rows(karma_i_rows **out, const karma_i_recipe *recipe, size_t capacity,
                                     karma_error *err);

/* Largest |P_o x| and how many rows pass 1 (assumption of definition regularity). */
typedef struct karma_i_norms {
    double largest;
    size_t n_above_one;
} karma_i_norms;
karma_i_norms karma_i_rows_norms(const karma_i_rows *rows);

#endif
