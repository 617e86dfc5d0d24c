/* Columns for trees: one byte per cell, the number of its bin.
 *
 * A number arrives as a byte of the rank transform, 1 to 255, and each byte that occurs is a bin. A category arrives as
 * the code of its level, and each level that occurs is a bin; if there are more than 255 levels, the most frequent 254
 * have a bin each and all others share one. Bin 0 holds the missing cells, and the levels that did not occur. */
#ifndef KARMA_I_BINS_H
#define KARMA_I_BINS_H

#include "base/partition.h"

enum { KARMA_I_MOST_BINS = 256 };

/* The cells of one attribute as the caller holds them: ranks or codes, the other pointer is NULL. The cells of
 * consecutive rows are `stride` elements apart. 0 is missing. */
typedef struct karma_i_forest_column {
    const uint8_t *ranks;  /* of a number: 1 to 255 */
    const uint16_t *codes; /* of a category: 1 to n_levels */
    size_t stride;
    size_t n_levels; /* of a category, at most 65535; 0: a number */
} karma_i_forest_column;

/* The bin of each level of each category, which is needed to read new rows. */
typedef struct karma_i_level_bins {
    size_t n_attributes;
    uint32_t *n_levels; /* of each attribute; 0: a number */
    size_t *start; /* n_attributes + 1: where the bins of an attribute's levels begin; those of numbers are empty */
    uint8_t *bin;  /* by code; bin[start] = 0, for code 0 */
} karma_i_level_bins;

typedef struct karma_i_bins {
    size_t n_rows, n_attributes; /* the rows of this process */
    karma_i_partition split;     /* of the rows over processes; bins are the same in all */
    uint8_t *bin;                /* by attribute: bin[j * n_rows + i] */
    uint16_t *n_bins;            /* of each attribute, with that of missing cells: 1 to 256 */
    uint8_t *byte;               /* the rank of each bin of a number: byte[j * 256 + bin], ascending */
    karma_i_level_bins levels;
} karma_i_bins;

/* Fails for a code above n_levels, and when there are more than 2^24 attributes or 2^27 rows. */
karma_status karma_i_bins_make(karma_i_bins *out, const karma_i_forest_column *columns, size_t n_attributes,
                               size_t n_rows, karma_error *err);
/* The same for rows that may be split over processes: the columns have those of this one. */
karma_status karma_i_bins_make_split(karma_i_bins *out, const karma_i_forest_column *columns, size_t n_attributes,
                                     const karma_i_partition *split, karma_error *err);
void karma_i_bins_clear(karma_i_bins *bins);

/* Room for categories with these numbers of levels, all bins 0; for readers of model files. */
karma_status karma_i_level_bins_new(karma_i_level_bins *out, const uint32_t *n_levels, size_t n_attributes,
                                    karma_error *err);
karma_status karma_i_level_bins_copy(karma_i_level_bins *out, const karma_i_level_bins *from, karma_error *err);
void karma_i_level_bins_clear(karma_i_level_bins *levels);

static inline int karma_i_is_category(const karma_i_level_bins *levels, size_t attribute) {
    return levels->n_levels[attribute] > 0;
}

/* The bin of a level; codes beyond the known ones are missing. */
static inline uint8_t karma_i_level_bin(const karma_i_level_bins *levels, size_t attribute, uint16_t code) {
    return code <= levels->n_levels[attribute] ? levels->bin[levels->start[attribute] + code] : 0;
}

#endif
