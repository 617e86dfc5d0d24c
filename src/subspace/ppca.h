/* Probabilistic principal components of incomplete rows, by EM: the hidden subspace of the paper, estimated.
 *
 *     x = mean + W z + noise,     z ~ N(0, I_r),     noise ~ N(0, σ² diag(v))
 *
 * v is 1 for principal components; in factor analysis every attribute has its own, common to its features, and the
 * mean of σ²v over the observed values is σ².
 *
 * Only observed cells count; nothing is filled in. The columns of W span the subspace E of definition `regularity`. */
#ifndef KARMA_I_PPCA_H
#define KARMA_I_PPCA_H

#include "base/partition.h"
#include "karma/base.h"
#include "table/rows.h"

typedef struct karma_i_subspace {
    size_t n_features, rank;
    double *mean; /* n_features */
    double *W;    /* n_features × rank */
    double sigma2;
    double *noise;         /* v, n_features; NULL: all are 1 */
    double least_sigma2;   /* lower limit of σ²: a small share of the cells' variance */
    double log_likelihood; /* of the observed cells */
    size_t n_values;       /* feature values observed */
    size_t n_passes;       /* over all rows; passes over samples are not counted */
    int is_converged;
} karma_i_subspace;

/* The variance of a feature's noise. */
static inline double karma_i_subspace_noise(const karma_i_subspace *subspace, size_t feature) {
    return subspace->noise ? subspace->sigma2 * subspace->noise[feature] : subspace->sigma2;
}

void karma_i_subspace_free(karma_i_subspace *subspace);

typedef struct karma_i_ppca_options {
    size_t rank;        /* may be 0, and larger than the number of features or of rows */
    size_t most_passes; /* at least 1 */
    double tolerance;   /* stop when a pass adds less than this to the log likelihood per observed value */
    int has_own_noise;  /* factor analysis: a size of the noise per attribute */
    int threads;
    const karma_hooks *hooks; /* NULL: none. A progress hook that asks to stop leaves the subspace as it then is. */
    int is_coarse;            /* when choosing the rank, try only 0, 1, 2, 3, 5, 8, 13, ... */
    double least_together;    /* share of the rows that must observe two attributes, for a start from pairs */
    double *history;          /* NULL, or most_passes numbers: the log likelihood at each pass */
} karma_i_ppca_options;

static inline karma_i_ppca_options karma_i_ppca_defaults(size_t rank) {
    return (karma_i_ppca_options){
        .rank = rank, .most_passes = 200, .tolerance = 1e-5, .threads = 1, .least_together = 0.15};
}

/* ---- the fit ---- */

/* Rows that may be split over processes. */
typedef struct karma_i_ppca_rows {
    karma_i_partition split;
    karma_i_view here;   /* those of this process */
    karma_i_view sample; /* copies of those that karma_i_ppca_draw names, the same in every process */
} karma_i_ppca_rows;

/* How many of n_rows rows each process needs: all up to 16,384; of more rows, 16,384 or 4 times the number of
 * features, whichever is larger; and which rows, counted through the processes. EM starts from samples of
 * these. */
size_t karma_i_ppca_n_drawn(size_t n_rows, size_t n_features);
karma_status karma_i_ppca_draw(size_t *index, size_t count, size_t n_rows, karma_error *err);

/* Deterministic: the same rows give the same bits for any number of threads and processes; every process has the
 * result. */
karma_status karma_i_ppca_fit_split(karma_i_subspace **out, const karma_i_ppca_rows *rows,
                                    const karma_i_ppca_options *options, karma_error *err);
/* All rows are here. */
karma_status karma_i_ppca_fit(karma_i_subspace **out, karma_i_view rows, const karma_i_ppca_options *options,
                              karma_error *err);

/* ---- one pass over rows that come in parts ----
 *
 *     begin, add_rows once for every part, log_likelihood, finish
 *
 * Parts of any size give the same bits as all rows at once, if their order is the same. */
typedef struct karma_i_ppca_stats karma_i_ppca_stats;

/* For rows with the columns of `like`, in parts of about its size; parts of any size are allowed. */
karma_status karma_i_ppca_stats_new(karma_i_ppca_stats **out, const karma_i_rows *like, size_t rank, int threads,
                                    karma_error *err);
void karma_i_ppca_stats_free(karma_i_ppca_stats *stats);
/* The expectations are taken under `subspace`, which is copied. */
void karma_i_ppca_begin(karma_i_ppca_stats *stats, const karma_i_subspace *subspace);
karma_status karma_i_ppca_add_rows(karma_i_ppca_stats *stats, karma_i_view rows, karma_error *err);
/* Instead of add_rows, for all rows of all processes at once: granule g of this process is rows start[g] to start[g +
 * 1] of `rows`, possibly none. The sums of granules are added along the tree of base/partition.h, which needs
 * memory for a few more statistics, one for each level of the tree. `like` must have had no rows, so that
 * batches are the same everywhere. */
typedef struct karma_i_ppca_part {
    karma_i_partition split;
    karma_i_view rows;
    const size_t *start;
} karma_i_ppca_part;
karma_status karma_i_ppca_add_part(karma_i_ppca_stats *stats, const karma_i_ppca_part *part, karma_error *err);
/* The log likelihood of the rows added since `begin`, under its subspace, and how many values they observe. */
double karma_i_ppca_log_likelihood(const karma_i_ppca_stats *stats);
size_t karma_i_ppca_n_values(karma_i_ppca_stats *stats);
/* Adds the statistics of another pass under the same subspace, over other rows. */
void karma_i_ppca_merge(karma_i_ppca_stats *stats, karma_i_ppca_stats *other);
/* The M-step: computes the next subspace. Its log likelihood is known only after the next pass. For factor
 * analysis `subspace` has an array for the noise. */
void karma_i_ppca_finish(karma_i_subspace *subspace, karma_i_ppca_stats *stats, int has_own_noise);

/* A first subspace for such passes: mean and variance of these rows, and pseudo-random W. */
karma_status karma_i_ppca_start(karma_i_subspace **out, karma_i_view rows, size_t rank, int threads, karma_error *err);

/* Principal components, if every two attributes are observed together in this share of the rows
 * (ppca_pairs.c); otherwise, or with very many features, NULL. */
karma_status karma_i_ppca_start_from_pairs(karma_i_subspace **out, karma_i_view rows, size_t rank, double least_share,
                                           int threads, karma_error *err);

/* A subspace near the highest maximum of the likelihood, not the nearest one (ppca_anneal.c). At most 85
 * passes. */
karma_status karma_i_ppca_anneal(karma_i_subspace **out, karma_i_view rows, size_t rank, int threads,
                                 const karma_hooks *hooks, karma_error *err);

/* Adds N(0, scale²) to every entry of W, the same numbers for the same seed. */
void karma_i_subspace_nudge(karma_i_subspace *subspace, double scale, uint64_t seed);

/* ---- the rank ---- */

typedef struct karma_i_rank_score {
    size_t rank;
    double score; /* mean log density of the held-out values, each given the observed rest of its row */
} karma_i_rank_score;

enum { KARMA_I_MOST_RANKS = 64 };

typedef struct karma_i_rank_choice {
    size_t rank; /* 0: the attributes do not predict one another */
    size_t n_scores;
    karma_i_rank_score scores[KARMA_I_MOST_RANKS]; /* all that were tried, in the order of trying */
} karma_i_rank_choice;

/* Hides a tenth of the observed cells, drawn by `seed`, or several tenths in turn if they are few, and tries the ranks
 * 0, 1, 2, 3, 5, 8, ... below the numbers of rows and features and up to options->rank (0: no other limit)
 * until the score has fallen; then ranks between the best and its neighbours. Other settings are in
 * `options`, whose history is not written. */
karma_status karma_i_ppca_choose_rank(karma_i_rank_choice *out, karma_i_view rows, uint64_t seed,
                                      const karma_i_ppca_options *options, karma_error *err);

/* How much of the variance of hidden cells options->rank explains: a tenth of the cells is hidden, and their mean
 * squared distance from their completions is compared with that from the means of the columns. 1: all of it, 0: none or
 * nothing varies, below 0: the means are better. */
karma_status karma_i_ppca_explained(double *share, karma_i_view rows, uint64_t seed,
                                    const karma_i_ppca_options *options, karma_error *err);

#endif
