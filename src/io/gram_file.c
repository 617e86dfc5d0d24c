#include "io/gram_file.h"

#include "base/error.h"
#include "base/mem.h"
#include "io/reader.h"

typedef struct matrix {
    float *values;
    size_t n_rows, n_columns;
} matrix;

static karma_status fill(matrix *out, const karma_table *table, const char *path, karma_error *err) {
    size_t n = karma_table_n_rows(table), width = karma_table_n_attributes(table);
    for (size_t j = 0; j < width; j++)
        if (karma_table_attribute_kind(table, j) != KARMA_COLUMN_NUMBER)
            return karma_i_fail(err, KARMA_ERR_DATA,
                                "%s: column %zu of the kernel matrix holds text; name the table as the data and its "
                                "matrix in option 'gram'",
                                path, j + 1);
    out->values = karma_i_alloc_large(n, width * sizeof *out->values);
    if (!out->values) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        karma_i_row_cells cells = karma_i_table_cells(table, i);
        if (cells.count != width)
            return karma_i_fail(err, KARMA_ERR_DATA, "%s: row %zu of the kernel matrix has a missing value", path,
                                i + 1);
        for (size_t k = 0; k < width; k++) out->values[i * width + k] = (float)cells.value[k];
    }
    out->n_rows = n;
    out->n_columns = width;
    return KARMA_OK;
}

static karma_status read_matrix(matrix *out, const char *path, karma_error *err) {
    karma_read_options options;
    karma_table *table = NULL;
    karma_options_init(karma_read_option_table(), &options); /* owns nothing */
    options.format = KARMA_FORMAT_CSV;
    options.header = 0;
    *out = (matrix){0};
    KARMA_TRY(karma_i_table_read(&table, path, &options, NULL, NULL, err));
    karma_status st = fill(out, table, path, err);
    karma_table_free(table);
    if (st != KARMA_OK) karma_i_free(out->values);
    return st;
}

karma_status karma_i_gram_read(karma_table *table, const char *path, karma_error *err) {
    matrix m;
    KARMA_TRY(read_matrix(&m, path, err));
    karma_status st = KARMA_OK;
    if (m.n_rows != karma_table_n_rows(table))
        st = karma_i_fail(err, KARMA_ERR_DATA, "%s: the kernel matrix has %zu rows, but the data have %zu", path,
                          m.n_rows, karma_table_n_rows(table));
    if (st == KARMA_OK) st = karma_table_set_gram(table, m.values, m.n_columns, err);
    karma_i_free(m.values);
    return st;
}

karma_status karma_i_gram_read_only(karma_table **out, const char *path, karma_error *err) {
    matrix m;
    karma_table *table = NULL;
    KARMA_TRY(read_matrix(&m, path, err));
    karma_status st = karma_table_from_array(&table, NULL, m.n_rows, 0, NULL, err);
    if (st == KARMA_OK) st = karma_table_set_gram(table, m.values, m.n_columns, err);
    karma_i_free(m.values);
    if (st == KARMA_OK)
        *out = table;
    else
        karma_table_free(table);
    return st;
}
