/* Scores of one row while its attributes are shown one after the other, in the order that Shapley values require.
 * The sums of κ over the attributes and the overlaps change by one attribute at a time, so a set costs one
 * evaluation of the outer maps per support row instead of a pass over all attributes. Not for kernels with given
 * values. */
#ifndef KARMA_I_REVEAL_H
#define KARMA_I_REVEAL_H

#include "kernel/kernel.h"

/* Shared by all orders of one row. */
typedef struct karma_i_reveal_table {
    const karma_i_kernel *kernel;
    size_t n_attributes, n_rows; /* those that the row observes; support rows */
    float *kappa;                /* by factor, attribute and support row: κ */
    unsigned char *shared;       /* by attribute and support row: does it observe the attribute? */
    double *own;                 /* by factor and attribute: κ with itself */
    double *square;              /* by factor and support row: the factor's value with itself */
    double *flat;                /* by factor: b² */
} karma_i_reveal_table;

/* Bytes that a table takes. */
double karma_i_reveal_bytes(const karma_i_kernel *kernel, size_t n_attributes, size_t n_rows);
/* `rows` and `b` have all encodings; attributes[0..n) are those that row `row` observes. */
karma_status karma_i_reveal_table_init(karma_i_reveal_table *out, const karma_i_kernel *kernel,
                                       const karma_i_rows *rows, size_t row, const size_t *attributes, size_t n,
                                       karma_i_view b, int threads, karma_error *err);
void karma_i_reveal_table_clear(karma_i_reveal_table *table);

/* A set of attributes: one per thread. */
typedef struct karma_i_reveal {
    double *sum;      /* by factor and support row: Σκ over the set, and b² */
    uint32_t *common; /* by support row: attributes of the set that it observes */
    double *own;      /* by factor: Σκ with itself, and b² */
    size_t n;         /* attributes in the set */
} karma_i_reveal;
karma_status karma_i_reveal_init(karma_i_reveal *out, const karma_i_reveal_table *table, karma_error *err);
void karma_i_reveal_clear(karma_i_reveal *grow);
/* The empty set; then one more attribute, by its place among the attributes of the table. */
void karma_i_reveal_start(karma_i_reveal *grow, const karma_i_reveal_table *table);
void karma_i_reveal_add(karma_i_reveal *grow, const karma_i_reveal_table *table, size_t place);
/* Adds Σ_j coefficients[j * n_outputs + o] k(x_S, b_j) to scores[o]. */
void karma_i_reveal_score(double *scores, const karma_i_reveal *grow, const karma_i_reveal_table *table,
                          const double *coefficients, size_t n_outputs);

#endif
