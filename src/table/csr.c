/* Tables from compressed sparse rows in memory. */
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "table/builder.h"

typedef struct sparse_matrix {
    const double *values;
    const int64_t *columns, *row_start;
    size_t n_rows, n_columns;
    int absent_is_zero;
} sparse_matrix;

/* Zeros for the columns from `first` to before `end`, if that is what absent cells mean. */
static karma_status add_absent(karma_i_builder *b, const sparse_matrix *m, size_t first, size_t end, karma_error *err) {
    for (size_t j = first; m->absent_is_zero && j < end; j++) KARMA_TRY(karma_i_builder_add_cell(b, j, 0.0, err));
    return KARMA_OK;
}

static karma_status check_cell(const sparse_matrix *m, size_t row, int64_t column, size_t next, double value,
                               karma_error *err) {
    if (!(column >= 0 && (size_t)column < m->n_columns))
        return karma_i_fail(err, KARMA_ERR_DATA, "row %zu: column index %" PRId64 " is not below %zu", row + 1, column,
                            m->n_columns);
    if ((size_t)column < next)
        return karma_i_fail(err, KARMA_ERR_DATA, "row %zu: column indices are not in ascending order", row + 1);
    if (isinf(value))
        return karma_i_fail(err, KARMA_ERR_DATA, "row %zu, column %" PRId64 ": the value is infinite", row + 1,
                            column + 1);
    return KARMA_OK;
}

static karma_status add_row(karma_i_builder *b, const sparse_matrix *m, size_t row, karma_error *err) {
    size_t next = 0; /* the first column that is not written yet */
    for (int64_t k = m->row_start[row]; k < m->row_start[row + 1]; k++) {
        KARMA_TRY(check_cell(m, row, m->columns[k], next, m->values[k], err));
        size_t column = (size_t)m->columns[k];
        KARMA_TRY(add_absent(b, m, next, column, err));
        if (!isnan(m->values[k])) KARMA_TRY(karma_i_builder_add_cell(b, column, m->values[k], err));
        next = column + 1;
    }
    KARMA_TRY(add_absent(b, m, next, m->n_columns, err));
    return karma_i_builder_end_row(b, NULL, 1.0, NULL, err);
}

/* Checks all starts before any cell is read: the last start is the number of cells. */
static karma_status check_starts(const sparse_matrix *m, karma_error *err) {
    if (m->n_rows && m->row_start[0] < 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "row 1 starts at cell %" PRId64, m->row_start[0]);
    for (size_t i = 0; i < m->n_rows; i++)
        if (m->row_start[i + 1] < m->row_start[i])
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu ends before it starts", i + 1);
    return KARMA_OK;
}

karma_status karma_table_from_csr(karma_table **out, const double *values, const int64_t *columns,
                                  const int64_t *row_start, size_t n_rows, size_t n_columns, karma_absent absent,
                                  const char *const *names, karma_error *err) {
    if (absent != KARMA_ABSENT_ZERO && absent != KARMA_ABSENT_MISSING)
        return karma_i_fail(err, KARMA_ERR_OPTION, "absent: set whether cells that are not listed are zero or missing");
    sparse_matrix m = {values, columns, row_start, n_rows, n_columns, absent == KARMA_ABSENT_ZERO};
    KARMA_TRY(check_starts(&m, err));
    karma_i_builder builder;
    KARMA_TRY(karma_i_builder_init(&builder, err));
    karma_status st = karma_i_builder_name_columns(&builder, n_columns, names, err);
    for (size_t i = 0; st == KARMA_OK && i < n_rows; i++) st = add_row(&builder, &m, i, err);
    if (st == KARMA_OK)
        karma_i_builder_finish(out, &builder);
    else
        karma_i_builder_clear(&builder);
    return st;
}
