/* The posterior of a row's place z in the subspace, given its observed cells, and the sums over rows that update the
 * subspace.
 *
 * All features have equal noise, noise ~ N(0, σ² I). A feature f whose noise has the variance σ² v_f is first
 * divided by √v_f, with its mean and its row of W: then its noise has the variance σ² too, and only the
 * density changes, by the factor Π_{f in o} v_f^-½.
 *
 * Model: x = mean + W z + noise, z ~ N(0, I_r), noise ~ N(0, σ² I). With o the observed features of a row, W_o and
 * c = x_o - mean_o their rows of W and their centred values:
 *
 *     z | x_o  ~  N(ẑ, C),     C = (I + W_oᵀW_o/σ²)⁻¹,     ẑ = C W_oᵀc/σ²
 *     ln p(x_o) = -½ [ |o| ln 2πσ² + ln det C⁻¹ + c·(c - W_oẑ)/σ² ]
 *
 * (c·(c - W_oẑ) = |c - W_oẑ|² + σ²|ẑ|²; the right side is computed if the left side would cancel.) Scaled by
 * σ², the matrix to be factorised has pivots of at least 1 for every o: rows with fewer cells than r, or
 * none, need no special case.
 *
 * W_oᵀW_o is the sum of the outer products of W's rows, packed (linalg/packed.h): a sum over the observed
 * cells of vectors that fit the registers. Matrix products over zero-filled rows would also work through the
 * missing cells.
 *
 * The loops are compiled once for each kind of processor, like those of src/kernel. */
#ifndef KARMA_I_POSTERIOR_H
#define KARMA_I_POSTERIOR_H

#include "linalg/packed.h"
#include "subspace/cell_lists.h"

/* Rows that are factorised side by side. Rows of all arrays are padded with zeros to a multiple of it. */
enum { KARMA_I_LANES = 8 };

static inline size_t karma_i_padded(size_t n) {
    return (n + KARMA_I_LANES - 1) / KARMA_I_LANES * KARMA_I_LANES;
}

/* The subspace in the layout of the loops. */
typedef struct karma_i_loadings {
    size_t rank, n_attributes, n_features;
    size_t W_stride, outer_stride, group_size;
    double *W;             /* by feature: w_f / σ² */
    double *outer;         /* by pattern: Σ over the features of its attributes of w_f w_fᵀ / σ², packed */
    double *mean;          /* by feature */
    double *scale;         /* by feature: 1/√v_f */
    double *half_log;      /* by feature: ½ ln v_f */
    int is_scaled;         /* v is not 1 everywhere */
    size_t *feature_start; /* n_attributes + 1 */
    double sigma2;
} karma_i_loadings;

/* For rows with the columns of `like`, whose cells are listed in patterns of group_size attributes (cell_lists.h). */
karma_status karma_i_loadings_init(karma_i_loadings *loadings, const karma_i_rows *like, size_t rank, size_t group_size,
                                   karma_error *err);
void karma_i_loadings_clear(karma_i_loadings *loadings);
/* W: n_features × rank. noise: v, or NULL where all are 1. */
void karma_i_loadings_set(karma_i_loadings *loadings, const double *mean, const double *W, double sigma2,
                          const double *noise);

/* The posterior of z for each row of a batch, with z̃ = (1, z) and packed (r+1) × (r+1) matrices. */
typedef struct karma_i_posterior {
    size_t rank, most_rows;
    size_t z_stride, second_stride;
    double *z;      /* (1, ẑ) */
    double *second; /* E[z̃ z̃ᵀ], packed, of each row or summed over each run; or only the covariance of z̃, the
                       first column 0 */
    double *log_density; /* ln p(x_o); 0 if nothing is observed */
    double *square;      /* |c|² */
} karma_i_posterior;

karma_status karma_i_posterior_init(karma_i_posterior *posterior, size_t rank, size_t most_rows, karma_error *err);
void karma_i_posterior_clear(karma_i_posterior *posterior);

typedef enum karma_i_second { KARMA_I_MOMENTS, KARMA_I_COVARIANCE } karma_i_second;

typedef struct karma_i_posterior_path {
    const char *name;
    /* The posterior of rows first to first + count, at most KARMA_I_LANES of them, whose cells are listed. `scratch` is
     * aligned to a cache line and has room for karma_i_posterior_scratch(rank) numbers. */
    void (*estimate)(karma_i_posterior *posterior, const karma_i_loadings *loadings, const karma_i_cell_lists *cells,
                     size_t first, size_t count, karma_i_second second, double *scratch);
    /* The posterior of the rows of runs first to first + count, at most KARMA_I_LANES of them: entry k of
     * `second` is the sum of the moments of run k. The rows of a run have one covariance, which is computed
     * once. */
    void (*estimate_runs)(karma_i_posterior *posterior, const karma_i_loadings *loadings,
                          const karma_i_cell_lists *cells, size_t first, size_t count, double *scratch);
    /* After estimate_runs of runs first to end, for the patterns and the features of one range; their rows in order,
     * each added to its current value:
     *     second_p += Σ_{i has pattern p} E[z̃ z̃ᵀ]    karma_i_n_patterns × second_stride
     *     cross_f  += Σ_{i observes f} c_f (1, ẑ)     n_features × z_stride               */
    void (*accumulate)(double *second, double *cross, const karma_i_posterior *posterior,
                       const karma_i_cell_lists *cells, size_t first, size_t end, size_t range);
} karma_i_posterior_path;

size_t karma_i_posterior_scratch(size_t rank);
/* How many attributes a group of patterns should have: as many as let the tables stay in the cache. */
size_t karma_i_posterior_group_size(size_t n_attributes, size_t rank);
/* The paths this machine can run, fastest first; NULL ends the list. */
const karma_i_posterior_path *const *karma_i_posterior_paths(void);

#endif
