/* Tables as matrices with holes, for methods that fill them. A frame is learned on training rows: a number is one
 * feature, (x - mean)/sd over its observed cells (population sd; 1 where that is 0); a category is one indicator a
 * level that occurs, minus the level's share, not scaled. The same as the recipe of the linear kernel, but in double
 * precision and with a way back. Attributes that no training row has are left out: nothing can be learned of them. */
#ifndef KARMA_I_FRAME_H
#define KARMA_I_FRAME_H

#include <math.h>

#include "table/table.h"

typedef struct karma_i_frame {
    size_t n_attributes, n_features;
    karma_i_column *columns; /* a category with the levels that training rows have */
    size_t *first;           /* n_attributes + 1: where an attribute's features begin */
    double *shift, *factor;  /* per feature: (raw - shift) * factor */
    size_t *n_missing;       /* per attribute: training rows without it */
} karma_i_frame;

/* Rows of a table in a frame, which it borrows. */
typedef struct karma_i_grid {
    const karma_i_frame *frame;
    size_t n_rows;
    double *x;   /* row-major, n_features a row; 0 where missing, which is the training mean */
    double *raw; /* row-major, n_attributes a row: the number, or the level among the frame's; NaN: missing */
} karma_i_grid;

karma_status karma_i_frame_learn(karma_i_frame *out, const karma_table *train, karma_error *err);
void karma_i_frame_clear(karma_i_frame *frame);

/* Attributes are found by name; those of the table that the frame lacks are left out, and a level that training rows
 * did not have is a hole. */
karma_status karma_i_grid_fill(karma_i_grid *out, const karma_i_frame *frame, const karma_table *table,
                               karma_error *err);
void karma_i_grid_clear(karma_i_grid *grid);

static inline int karma_i_grid_has(const karma_i_grid *grid, size_t row, size_t attribute) {
    return !isnan(grid->raw[row * grid->frame->n_attributes + attribute]);
}

/* The raw value of an attribute from its features: the number, or the level with the largest share (the first of equal
 * ones). */
double karma_i_frame_decode(const karma_i_frame *frame, size_t attribute, const double *features);

#endif
