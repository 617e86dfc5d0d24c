/* Likely problems of a table: shared by the files of the review. */
#ifndef KARMA_I_REVIEW_H
#define KARMA_I_REVIEW_H

#include "table/table.h"

enum { KARMA_I_LEAST_REVIEWED = 20 }; /* fewer rows are not enough evidence */

typedef struct karma_i_review_state {
    karma_review *review;
    const karma_table *table;
    double *column;   /* the values of the current column, one per row; NaN: missing */
    double *other;    /* those of a second column */
    uint64_t *digest; /* of every column's cells, to find equal ones */
    size_t capacity;
} karma_i_review_state;

/* Adds a finding; karma/table.h says what `other` and `value` are for each kind. */
karma_status karma_i_review_find(karma_i_review_state *s, karma_finding_kind kind, size_t column, size_t other,
                                 double value, karma_error *err);

void karma_i_fetch_column(double *values, const karma_table *table, size_t column);

/* Counts observed cells and changes between neighbours, and whether values only rise, to detect constants and
 * counters. */
typedef struct karma_i_column_facts {
    size_t n_observed;
    int is_constant, is_rising, is_whole, is_huge; /* huge: doubles do not hold all whole numbers there */
    double first;
} karma_i_column_facts;

karma_i_column_facts karma_i_look_at(const double *values, size_t n);

/* review_column.c: attribute `j`, whose values are s->column. Spellings also of a target. */
karma_status karma_i_review_column(karma_i_review_state *s, size_t j, karma_error *err);
karma_status karma_i_review_marks(karma_i_review_state *s, size_t j, karma_error *err);
karma_status karma_i_review_class_marks(karma_i_review_state *s, size_t t, karma_error *err);
/* Overwrites s->column. */
karma_status karma_i_review_label_codes(karma_i_review_state *s, size_t t, karma_error *err);
karma_status karma_i_review_spellings(karma_i_review_state *s, const karma_i_column *column, karma_finding_kind kind,
                                      size_t number, karma_error *err);

/* review_copies.c: the digests of all columns are needed, and s->column and s->other are overwritten. */
uint64_t karma_i_column_digest(const double *values, size_t n);
karma_status karma_i_review_copies(karma_i_review_state *s, karma_error *err);
karma_status karma_i_review_part_copies(karma_i_review_state *s, karma_error *err);

/* review_target.c: attribute `j`, whose values are s->column, against labels, or target `t` by itself. in_group is
 * scratch, one per row. */
karma_status karma_i_review_leak(karma_i_review_state *s, size_t j, const double *labels, karma_error *err);
karma_status karma_i_review_holes(karma_i_review_state *s, size_t j, const karma_i_target *target,
                                  unsigned char *in_group, karma_error *err);
karma_status karma_i_review_class_numbers(karma_i_review_state *s, size_t t, karma_error *err);
karma_status karma_i_review_classes(karma_i_review_state *s, size_t t, karma_error *err);

/* review_rows.c */
karma_status karma_i_review_rows(karma_i_review_state *s, karma_error *err);
/* The text that marks the last row as a total; NULL: none. A text that other rows have too does not count. */
const char *karma_i_table_total(const karma_table *table);

#endif
