/* Which attributes the rows determine together. A subspace of rank r is estimated from the covariances of pairs of
 * features: σ_fg = w_f·w_g. If two attributes are never observed in the same row, their covariance is known only
 * through others: given the loadings of r features g that f was observed with, r equations determine w_f. Without them
 * the estimate for the pair is not determined by the data.
 *
 * Attributes are put into groups. An attribute joins a group if it was observed together with members that
 * have at least r features (with all members while the group is smaller), and with some member in at least
 * max(3, r + 1) rows. Within a group the loadings are determined up to one rotation; between groups nothing
 * is. */
#ifndef KARMA_I_LINKAGE_H
#define KARMA_I_LINKAGE_H

#include "base/archive.h"
#include "base/partition.h"
#include "table/rows.h"

typedef struct karma_i_linkage {
    size_t n_attributes;
    size_t n_groups; /* 0: not known, which counts as one */
    size_t *group;   /* of each attribute; NULL if there are fewer than two groups */
} karma_i_linkage;

/* Cost: usually, with one group, r pairs per attribute of a few words each; at most all pairs times rows/64.
 * Rows that would need more than 128 MB of bits are not examined: n_groups is 0. `rows` are those of this process, and
 * every process gets the bits of all. */
karma_status karma_i_linkage_find(karma_i_linkage *out, const karma_i_rows *rows, const karma_i_partition *split,
                                  size_t rank, karma_error *err);
void karma_i_linkage_clear(karma_i_linkage *linkage);
/* Whether the rows determine how two attributes are related. */
static inline int karma_i_linkage_joins(const karma_i_linkage *linkage, size_t a, size_t b) {
    return !linkage->group || linkage->group[a] == linkage->group[b];
}
/* The number of pairs of attributes, and of pairs that some row observes together; 0 and 0 if not
 * examined. */
typedef struct karma_i_pair_count {
    size_t n_pairs, n_together;
} karma_i_pair_count;
karma_status karma_i_count_pairs(karma_i_pair_count *out, const karma_i_rows *rows, karma_error *err);

/* "groups" of a model file, present only if there are several. */
karma_status karma_i_linkage_archive(karma_i_archive *archive, karma_i_linkage *linkage);

#endif
