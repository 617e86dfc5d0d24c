#include "model/certainty_rows.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

void karma_i_certainty_clear(karma_i_certainty *certainty) {
    karma_i_free(certainty->values);
    karma_i_free(certainty->weights);
    karma_i_free(certainty->observed);
    karma_i_free(certainty->group_most);
    *certainty = (karma_i_certainty){0};
}

karma_status karma_i_certainty_new(karma_i_certainty *out, size_t n_rows, size_t n_masked, size_t n_values,
                                   karma_error *err) {
    size_t n = n_rows + n_masked;
    karma_i_certainty c = {.n_rows = n_rows, .n_masked = n_masked, .n_values = n_values};
    c.values = karma_i_zalloc(n, n_values * sizeof *c.values);
    c.weights = karma_i_zalloc(n, sizeof *c.weights);
    c.observed = karma_i_zalloc(n, sizeof *c.observed);
    c.group_most = karma_i_zalloc(KARMA_I_MOST_GROUPS, sizeof *c.group_most);
    if (c.values && c.weights && c.observed && c.group_most) {
        *out = c;
        return KARMA_OK;
    }
    karma_i_certainty_clear(&c);
    return karma_i_fail_memory(err);
}

/* --- model files --------------------------------------------------------------------------------------- */

static karma_status check_classes(karma_i_archive *a, const karma_i_certainty *c, size_t n_classes) {
    for (size_t i = 0; i < c->n_rows + c->n_masked; i++) {
        const double *row = c->values + i * c->n_values;
        for (size_t k = 0; k < n_classes; k++)
            if (!(row[k] >= 0.0 && row[k] <= 1.0)) return karma_i_archive_fail(a, "its certainty has no probabilities");
        if (!(row[n_classes] >= 0.0 && row[n_classes] < (double)n_classes && floor(row[n_classes]) == row[n_classes]))
            return karma_i_archive_fail(a, "its certainty refers to an unknown class");
    }
    return KARMA_OK;
}

static karma_status check_rows(karma_i_archive *a, const karma_i_certainty *c) {
    for (size_t i = 0; i < c->n_rows + c->n_masked; i++)
        if (!(c->weights[i] >= 0.0)) return karma_i_archive_fail(a, "its certainty has a weight below 0");
    for (size_t g = 1; g < c->n_groups; g++)
        if (c->group_most[g] <= c->group_most[g - 1])
            return karma_i_archive_fail(a, "the groups of its certainty are not in order");
    return KARMA_OK;
}

static karma_status archive_fields(karma_i_archive *a, karma_i_certainty *c, size_t n_values) {
    c->n_values = n_values;
    KARMA_TRY(karma_i_archive_size(a, "n_rows", &c->n_rows, 1, SIZE_MAX / 4));
    KARMA_TRY(karma_i_archive_size(a, "n_masked", &c->n_masked, 0, SIZE_MAX / 4));
    KARMA_TRY(karma_i_archive_size(a, "n_groups", &c->n_groups, 0, KARMA_I_MOST_GROUPS));
    size_t n = c->n_rows + c->n_masked;
    KARMA_TRY(karma_i_archive_f64(a, "values", &c->values, karma_i_matrix_shape(n, n_values), DBL_MAX));
    KARMA_TRY(karma_i_archive_f64(a, "weights", &c->weights, karma_i_vector_shape(n), 1e300));
    KARMA_TRY(karma_i_archive_sizes(a, "observed", &c->observed, karma_i_vector_shape(n)));
    return karma_i_archive_sizes(a, "group_most", &c->group_most, karma_i_vector_shape(c->n_groups));
}

karma_status karma_i_certainty_archive(karma_i_archive *a, karma_i_certainty *c, size_t n_values, size_t n_classes) {
    int is_there = c->n_rows > 0;
    karma_i_archive_find(a, "certainty", &is_there);
    if (!is_there) return KARMA_OK;
    karma_i_certainty fields = *c; /* an object that is written does not change */
    KARMA_TRY(karma_i_archive_enter(a, "certainty"));
    karma_status st = archive_fields(a, &fields, n_values);
    if (karma_i_archive_is_reading(a)) *c = fields;
    KARMA_TRY(st);
    karma_i_archive_leave(a);
    if (!karma_i_archive_is_reading(a)) return KARMA_OK;
    KARMA_TRY(check_rows(a, c));
    return n_classes ? check_classes(a, c, n_classes) : KARMA_OK;
}

/* --- groups -------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

size_t karma_i_certainty_groups(size_t *group_most, const size_t *observed, size_t n, size_t *room) {
    size_t n_groups = 0;
    for (size_t i = 0; i < n; i++) room[i] = observed[i];
    if (n == 0) return 0;
    qsort(room, n, sizeof *room, by_size);
    for (size_t g = 1; g <= KARMA_I_MOST_GROUPS; g++) {
        size_t most = room[(g * n - 1) / KARMA_I_MOST_GROUPS];
        if (n_groups == 0 || most > group_most[n_groups - 1]) group_most[n_groups++] = most;
    }
    return n_groups;
}

size_t karma_i_group_of(const size_t *group_most, size_t n_groups, size_t observed) {
    size_t g = 0;
    while (g + 1 < n_groups && observed > group_most[g]) g++;
    return g;
}

static size_t group_of_row(const karma_i_certainty *c, size_t row) {
    return karma_i_group_of(c->group_most, c->n_groups, c->observed[row]);
}

/* The value of a row: a column of its values, or (column == n_values) 1 minus the probability of its true class. */
static karma_i_weighted weighted_row(const karma_i_certainty *c, size_t row, size_t column) {
    const double *values = c->values + row * c->n_values;
    double value = column < c->n_values ? values[column] : 1.0 - values[(size_t)values[c->n_values - 1]];
    return (karma_i_weighted){value, c->weights[row]};
}

static size_t take_group(karma_i_weighted *room, size_t n, const karma_i_certainty *c, size_t group, size_t first,
                         size_t count, size_t column) {
    for (size_t i = first; i < first + count; i++)
        if (c->n_groups == 0 || group_of_row(c, i) == group) room[n++] = weighted_row(c, i, column);
    return n;
}

static size_t gather(karma_i_weighted *room, const karma_i_certainty *c, size_t group, size_t column) {
    size_t n = take_group(room, 0, c, group, 0, c->n_rows, column);
    if (c->n_groups == 0 || n >= KARMA_I_LEAST_GROUP_ROWS) return n;
    n = take_group(room, n, c, group, c->n_rows, c->n_masked, column);
    for (size_t g = group; g-- > 0 && n < KARMA_I_LEAST_GROUP_ROWS;)
        n = take_group(room, n, c, g, 0, c->n_rows, column);
    for (size_t g = group + 1; g < c->n_groups && n < KARMA_I_LEAST_GROUP_ROWS; g++)
        n = take_group(room, n, c, g, 0, c->n_rows, column);
    return n;
}

size_t karma_i_certainty_gather(karma_i_weighted *room, const karma_i_certainty *c, size_t group, size_t column) {
    return gather(room, c, group, column);
}

size_t karma_i_certainty_gather_classes(karma_i_weighted *room, const karma_i_certainty *c, size_t group) {
    return gather(room, c, group, c->n_values);
}

/* --- bounds -------------------------------------------------------------------------------------------- */

static karma_status bound(double *out, const karma_i_certainty *c, size_t group, size_t column, double level,
                          double (*quantile)(karma_i_weighted *, size_t, double), karma_error *err) {
    karma_i_weighted *room = karma_i_alloc(c->n_rows + c->n_masked, sizeof *room);
    if (!room) return karma_i_fail_memory(err);
    *out = quantile(room, gather(room, c, group, column), level);
    karma_i_free(room);
    return KARMA_OK;
}

karma_status karma_i_certainty_upper(double *out, const karma_i_certainty *certainty, size_t group, size_t column,
                                     double level, karma_error *err) {
    return bound(out, certainty, group, column, level, karma_i_conformal_upper, err);
}

karma_status karma_i_certainty_lower(double *out, const karma_i_certainty *certainty, size_t group, size_t column,
                                     double level, karma_error *err) {
    return bound(out, certainty, group, column, level, karma_i_conformal_lower, err);
}
