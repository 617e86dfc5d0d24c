/* The recipe: how a table becomes encoded rows, and back. Learned on training rows only, kept in the model, applied to
 * any table: attributes are matched by name.
 *
 *   number    one feature, (x - mean)/sd over the observed training cells (population sd; 1 where that is 0). Under the
 *             rank kernel it has no feature but its rank among the observed training cells, with a term if it is
 * centred category  with few levels: one indicator per level, centred by the level's share but not scaled. With more: a
 * code and, if it is centred, a term. Both give the same κ. A level that training rows did not have is missing
 *
 *   scores    a number of a subspace of ranks is its normal score, standardised as a number is
 *
 *   polar     a number is two features, u and 1 - u with u = (x - least)/(largest - least), and no category is centred
 *             (Lenz, Cornelis, Peralta: Polar encoding, 2022)
 *
 * Without standardising, values, indicators and codes stay as they are. A centred cell that is missing (0) contributes
 * what an average one would. */
#ifndef KARMA_I_RECIPE_H
#define KARMA_I_RECIPE_H

#include "forest/forest.h"
#include "karma/options.h"
#include "kernel/kernel_kind.h"
#include "subspace/latent.h"
#include "prep/normal_scores.h"
#include "prep/ranking.h"
#include "table/rows_dense.h"
#include "table/rows_matrix.h"
#include "table/rows_sparse.h"
#include "table/table.h"

/* Encoded values stay within ± this, so that inner products stay in the range of single precision. */
#define KARMA_I_LARGEST_VALUE 1e9

typedef struct karma_i_recipe {
    size_t n_attributes;
    karma_i_column *columns;       /* the attributes observed in training, with the levels seen there */
    size_t *feature_start;         /* n_attributes + 1; a coded or ranked attribute has no features */
    double *shift, *factor;        /* per feature: encoded = (raw - shift) * factor */
    karma_i_ranking *rankings;     /* one per attribute; empty where it is not ranked */
    karma_i_normal_scores *scores; /* likewise; NULL: no attribute has scores */
    size_t *term_start;            /* n_attributes + 1: where an attribute's terms begin; it has all of them or none */
    float *term;                   /* q of each byte (KARMA_I_RANK_BYTES) or code (one per level), from 1 on */
    karma_i_latent *latent;        /* rows become coordinates in a hidden subspace; NULL: they stay as they are */
    karma_i_forest *forest;        /* rows become leaves of its trees; NULL: they stay as they are */
    size_t n_matrix_columns;       /* of a precomputed kernel, which has no attributes: training rows; otherwise 0 */
    int is_polar;                  /* numbers are two features, u and 1 - u in [0, 1] */
    int is_sparse;                 /* rows are lists of cells: numbers only, one feature each */
    double radius;                 /* of the ball that rows are shrunk into, in encoded units; 0: rows are left alone */
} karma_i_recipe;

void karma_i_recipe_free(karma_i_recipe *recipe);

/* A category that is a code, not indicators; and whether an attribute has terms. */
int karma_i_recipe_is_coded(const karma_i_recipe *recipe, size_t attribute);
int karma_i_recipe_has_terms(const karma_i_recipe *recipe, size_t attribute);
/* Whether encoded rows become something made of all their cells: coordinates, or leaves. */
static inline int karma_i_recipe_is_placed(const karma_i_recipe *recipe) {
    return recipe->latent || recipe->forest;
}
/* How many terms it has if it has any. */
size_t karma_i_recipe_n_terms(const karma_i_recipe *recipe, size_t attribute);
static inline size_t karma_i_recipe_n_features(const karma_i_recipe *recipe) {
    return recipe->feature_start[recipe->n_attributes];
}

/* ---- learning (recipe_learn.c) ---- */

/* `kind`: the kind of factor that the rows are for. */
karma_status karma_i_recipe_learn(karma_i_recipe **out, const karma_table *table, karma_kernel_kind kind,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err);
/* Standardised numbers and centred indicators of every level, whatever the number of levels: all attributes have
 * features, which methods that fill in missing cells work on. */
karma_status karma_i_recipe_learn_indicators(karma_i_recipe **out, const karma_table *table, karma_error *err);

/* κ_j becomes weights[j] κ_j, weights in [0, 1]; `table` has the rows that the recipe was learned on. Ranks keep their
 * step, so their bytes shrink: a smaller weight distinguishes fewer values. Not for codes. */
karma_status karma_i_recipe_weigh(karma_i_recipe *recipe, const double *weights, const karma_table *table,
                                  karma_error *err);

/* ---- applying (recipe_apply.c) ---- */

/* Where the columns and levels of a table are in a recipe. */
enum { KARMA_I_UNKNOWN = -1 };
typedef struct karma_i_matching {
    size_t n_attributes;  /* of the table */
    ptrdiff_t *attribute; /* of each: its index in the recipe, or KARMA_I_UNKNOWN */
    ptrdiff_t **level;    /* of each known category: the recipe's index of each level, or KARMA_I_UNKNOWN; else NULL */
} karma_i_matching;
/* Fails if the table has numbers where the recipe has categories, or the reverse. */
karma_status karma_i_recipe_match(karma_i_matching *out, const karma_i_recipe *recipe, const karma_table *table,
                                  karma_error *err);
void karma_i_matching_clear(karma_i_matching *matching);

/* The value whose feature is computed: the number itself, or its normal score. */
static inline double karma_i_recipe_raw(const karma_i_recipe *recipe, size_t attribute, double number) {
    const karma_i_normal_scores *scores = recipe->scores ? &recipe->scores[attribute] : NULL;
    return scores && scores->n ? karma_i_normal_score_of(scores, number) : number;
}

/* The value of one feature: of a number itself, of an indicator where raw is 1 for its own level and 0 for others. */
static inline double karma_i_recipe_feature(const karma_i_recipe *recipe, size_t feature, double raw) {
    return (raw - recipe->shift[feature]) * recipe->factor[feature];
}

/* New rows, one per table row. Attributes of the table that the recipe does not know are left out, attributes it
 * knows but the table lacks are missing, each with a notice; a table that has none of them is an error. */
karma_status karma_i_recipe_apply(karma_i_rows **out, const karma_i_recipe *recipe, const karma_table *table,
                                  const karma_hooks *hooks, karma_error *err);

/* Encoded rows as the kernel wants them, of a recipe that places them: coordinates, or leaves. */
karma_status karma_i_recipe_place(karma_i_rows **out, const karma_i_recipe *recipe, const karma_i_rows *rows,
                                  int threads, karma_error *err);

/* The rows before they are placed in a subspace: features with missing cells. divisors[row], unless NULL: what
 * shrinking into the ball divided the row by, 1 where nothing is shrunk. Not for a precomputed kernel. */
karma_status karma_i_recipe_encode(karma_i_rows **out, double *divisors, const karma_i_recipe *recipe,
                                   const karma_table *table, const karma_hooks *hooks, karma_error *err);

/* Room for rows of this recipe. */
karma_status karma_i_recipe_new_rows(karma_i_rows **out, const karma_i_recipe *recipe, size_t capacity,
                                     karma_error *err);

/* Largest |P_o x| and how many rows exceed 1 (assumption of definition regularity). */
typedef struct karma_i_norms {
    double largest;
    size_t n_above_one;
} karma_i_norms;
karma_i_norms karma_i_rows_norms(const karma_i_rows *rows);

/* ---- the inverse (recipe_decode.c) ---- */

/* A cell as the recipe's column has it: a number, or the index of a level; and how uncertain it is. */
typedef struct karma_i_decoded {
    double value;
    double error; /* of a number: its standard error; of a category: 1 - the share of the level, in [0, 1] */
} karma_i_decoded;

/* The cell of an attribute that has features, from all features of a row:
 *
 *     number    x · divisor / factor + shift; in the polar encoding from the first feature alone. Where that is a
 * normal score: mean and standard deviation of the number whose score has this mean and standard error category  the
 * level whose decoded indicator is largest, the first of equal ones
 *
 * `divisor`: that of karma_i_recipe_encode. `standard_errors` are those of the features, or NULL: then 0. */
karma_i_decoded karma_i_recipe_decode(const karma_i_recipe *recipe, size_t attribute, const double *features,
                                      const double *standard_errors, double divisor);

/* ---- model files (recipe_archive.c) ---- */

/* A recipe for this kind of factor; reading fills in one that has its columns and is otherwise zeroed. */
karma_status karma_i_recipe_archive(karma_i_archive *archive, karma_i_recipe *recipe, karma_kernel_kind kind);
/* n_rows rows of the recipe, one encoding; reading makes new ones. */
karma_status karma_i_recipe_archive_rows(karma_i_archive *archive, karma_i_rows **rows, const karma_i_recipe *recipe,
                                         size_t n_rows);

#endif
