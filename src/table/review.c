/* Likely problems of a table, found before learning from it. Every check looks at one column, at two columns, or at one
 * column against the target, on columns laid out one value per row. */
#include "table/review.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"

enum { MOST_REVIEWED_CELLS = 200000000 }; /* a larger table is not examined */

karma_status karma_i_review_find(karma_i_review_state *s, karma_finding_kind kind, size_t column, size_t other,
                                 double value, karma_error *err) {
    karma_review *r = s->review;
    if (!karma_i_reserve(&r->findings, &s->capacity, r->n_findings + 1, sizeof *r->findings))
        return karma_i_fail_memory(err);
    r->findings[r->n_findings++] = (karma_finding){kind, column, other, value};
    return KARMA_OK;
}

void karma_i_fetch_column(double *values, const karma_table *table, size_t column) {
    for (size_t i = 0; i < table->n_rows; i++)
        if (!karma_table_cell(table, i, column, &values[i])) values[i] = NAN;
}

karma_i_column_facts karma_i_look_at(const double *values, size_t n) {
    karma_i_column_facts f = {.is_constant = 1, .is_rising = 1, .is_whole = 1, .is_huge = 1};
    double last = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (isnan(values[i])) continue;
        if (f.n_observed++ == 0) f.first = values[i];
        f.is_constant &= values[i] == f.first;
        f.is_rising &= values[i] > last;
        f.is_whole &= values[i] == floor(values[i]);
        f.is_huge &= fabs(values[i]) >= 9007199254740992.0 && fabs(values[i]) < 1e20;
        last = values[i];
    }
    return f;
}

static karma_status review_all(karma_i_review_state *s, unsigned char *in_group, karma_error *err) {
    const karma_table *table = s->table;
    for (size_t j = 0; j < table->n_attributes; j++) {
        karma_i_fetch_column(s->column, table, j);
        s->digest[j] = karma_i_column_digest(s->column, table->n_rows);
        KARMA_TRY(karma_i_review_column(s, j, err));
        KARMA_TRY(karma_i_review_spellings(s, &table->attributes[j], KARMA_FINDING_SPELLINGS, j, err));
        KARMA_TRY(karma_i_review_marks(s, j, err));
        if (table->n_targets == 0) continue;
        KARMA_TRY(karma_i_review_leak(s, j, table->targets[0].value, err));
        KARMA_TRY(karma_i_review_holes(s, j, &table->targets[0], in_group, err));
    }
    KARMA_TRY(karma_i_review_copies(s, err));
    KARMA_TRY(karma_i_review_part_copies(s, err));
    KARMA_TRY(karma_i_review_rows(s, err));
    for (size_t t = 0; t < table->n_targets; t++) {
        KARMA_TRY(karma_i_review_class_numbers(s, t, err));
        KARMA_TRY(karma_i_review_classes(s, t, err));
    }
    return KARMA_OK;
}

karma_status karma_table_review(karma_review *out, const karma_table *table, karma_error *err) {
    karma_review review = {NULL, 0};
    if ((double)table->n_rows * (double)table->n_attributes > MOST_REVIEWED_CELLS) {
        *out = review;
        return KARMA_OK;
    }
    karma_i_review_state s = {.review = &review, .table = table};
    s.column = karma_i_alloc(table->n_rows, sizeof *s.column);
    s.other = karma_i_alloc(table->n_rows, sizeof *s.other);
    s.digest = karma_i_alloc(table->n_attributes, sizeof *s.digest);
    unsigned char *in_group = karma_i_zalloc(table->n_rows, 1);
    karma_status st =
        s.column && s.other && s.digest && in_group ? review_all(&s, in_group, err) : karma_i_fail_memory(err);
    karma_i_free(s.column);
    karma_i_free(s.other);
    karma_i_free(s.digest);
    karma_i_free(in_group);
    if (st == KARMA_OK)
        *out = review;
    else
        karma_review_clear(&review);
    return st;
}

void karma_review_clear(karma_review *review) {
    if (!review) return;
    karma_i_free(review->findings);
    *review = (karma_review){NULL, 0};
}
