/* The best split of a node by one attribute, from the sums of each of its bins.
 *
 * A node with gradients G_k and hessians H_k has the score S = Σ_k G_k² / (H_k + λ), and a split the gain
 * S(left) + S(right) - S(node): twice the decrease of the second-order model of the loss.
 *
 * Numbers: bins up to a threshold go left. Missing cells are tried on both sides, and on the right of all others.
 * Categories: present bins, the missing cells among them, are ordered by their mean gradient, and each prefix of
 * that order is tried; for one output and λ = 0 the best of all subsets is among these (Fisher 1958). With several
 * outputs the order is that along the main direction of the bins' gradients. */
#ifndef KARMA_I_TREE_SPLIT_H
#define KARMA_I_TREE_SPLIT_H

#include "forest/bins.h"
#include "forest/row_sums.h"

/* Bins that go left: bit b of all 256. */
typedef struct karma_i_bin_set {
    uint64_t word[KARMA_I_MOST_BINS / 64];
} karma_i_bin_set;

static inline int karma_i_bin_set_has(const karma_i_bin_set *set, size_t bin) {
    return (int)(set->word[bin / 64] >> (bin % 64) & 1);
}
static inline void karma_i_bin_set_add(karma_i_bin_set *set, size_t bin) {
    set->word[bin / 64] |= UINT64_C(1) << (bin % 64);
}

typedef struct karma_i_split_rules {
    double l2;          /* λ */
    double category_l2; /* added to λ for splits by categories with more than two bins in the node */
    /* Levels are ordered by G / (H + smoothing · the mean hessian of a row), so that levels of few rows come to the
     * middle. */
    double smoothing;
    double least_hessian; /* of each side, summed over the outputs */
    size_t least_rows;    /* of each side, at least 1 */
} karma_i_split_rules;

typedef struct karma_i_split {
    double gain; /* not above 0: there is no split */
    uint32_t attribute;
    uint32_t n_left;   /* rows that go left */
    uint8_t threshold; /* numbers: ranks up to it go left */
    karma_i_bin_set left;
} karma_i_split;

/* A node: the words of its rows together, and its score. */
typedef struct karma_i_node_sums {
    const uint64_t *words;
    double score;
} karma_i_node_sums;

double karma_i_node_score(const karma_i_row_sums *sums, const uint64_t *words, double l2);

/* `cells` has the words of every bin, n_words each. *best is replaced where the gain is larger. */
void karma_i_split_by(karma_i_split *best, size_t attribute, const uint64_t *cells, const karma_i_bins *bins,
                      const karma_i_node_sums *node, const karma_i_row_sums *sums, const karma_i_split_rules *rules);

#endif
