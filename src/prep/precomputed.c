#include "prep/precomputed.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/linalg.h"
#include "table/rows_matrix.h"

/* Up to this many rows eigenvalues are computed; with more rows they would cost more than learning. */
enum { MOST_CHECKED = 1500 };

/* Rounding errors relative to the largest entry, from single precision and few printed digits. */
static const double ROUNDING = 1e-4;

static double entry(const karma_table *t, size_t i, size_t j) {
    return (double)t->gram[i * t->n_gram_columns + t->gram_column[j]];
}

static karma_status check_symmetry(double *largest, const karma_table *t, karma_error *err) {
    *largest = 0.0;
    for (size_t i = 0; i < t->n_rows; i++) *largest = fmax(*largest, entry(t, i, i));
    for (size_t i = 0; i < t->n_rows; i++) {
        if (entry(t, i, i) < -ROUNDING * *largest)
            return karma_i_fail(err, KARMA_ERR_DATA, "kernel matrix: the value of row %zu with itself is %g, below 0",
                                i + 1, entry(t, i, i));
        for (size_t j = 0; j < i; j++)
            if (fabs(entry(t, i, j) - entry(t, j, i)) > ROUNDING * *largest)
                return karma_i_fail(err, KARMA_ERR_DATA,
                                    "kernel matrix: it is not symmetric: row %zu has %g with row %zu, which has %g",
                                    i + 1, entry(t, i, j), j + 1, entry(t, j, i));
    }
    return KARMA_OK;
}

static karma_status check_definite(const karma_table *t, double largest, karma_error *err) {
    size_t n = t->n_rows;
    if (n > MOST_CHECKED) return KARMA_OK;
    double *matrix = karma_i_alloc(n, n * sizeof *matrix), *values = karma_i_alloc(n, sizeof *values);
    karma_status st = matrix && values ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++)
        for (size_t j = 0; j < n; j++) matrix[i * n + j] = 0.5 * (entry(t, i, j) + entry(t, j, i));
    if (st == KARMA_OK) st = karma_i_eigen_symmetric(values, matrix, n, err);
    if (st == KARMA_OK && values[0] < -ROUNDING * largest * (double)n)
        st = karma_i_fail(err, KARMA_ERR_DATA, "kernel matrix: it is not positive semidefinite (an eigenvalue is %g)",
                          values[0]);
    karma_i_free(matrix);
    karma_i_free(values);
    return st;
}

karma_status karma_i_precomputed_learn(karma_i_recipe **out, const karma_table *table, karma_error *err) {
    if (!table->gram)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "a precomputed kernel comes with the data: name its file with option 'gram'");
    for (size_t i = 0; i < table->n_rows; i++)
        if (table->gram_column[i] >= table->n_gram_columns)
            return karma_i_fail(err, KARMA_ERR_DATA, "the kernel matrix has %zu columns, but there is a row %zu",
                                table->n_gram_columns, table->gram_column[i] + 1);
    double largest;
    KARMA_TRY(check_symmetry(&largest, table, err));
    KARMA_TRY(check_definite(table, largest, err));
    karma_i_recipe *recipe = karma_i_zalloc(1, sizeof *recipe);
    if (!recipe) return karma_i_fail_memory(err);
    recipe->n_matrix_columns = table->n_gram_columns;
    recipe->feature_start = karma_i_zalloc(1, sizeof *recipe->feature_start);
    recipe->term_start = karma_i_zalloc(1, sizeof *recipe->term_start);
    if (!recipe->feature_start || !recipe->term_start) {
        karma_i_recipe_free(recipe);
        return karma_i_fail_memory(err);
    }
    *out = recipe;
    return KARMA_OK;
}

karma_status karma_i_precomputed_apply(karma_i_rows **out, const karma_i_recipe *recipe, const karma_table *table,
                                       karma_error *err) {
    if (!table->gram)
        return karma_i_fail(
            err, KARMA_ERR_DATA,
            "the model needs kernel values against its %zu training rows: name their file with option 'gram'",
            recipe->n_matrix_columns);
    if (table->n_gram_columns != recipe->n_matrix_columns)
        return karma_i_fail(err, KARMA_ERR_DATA,
                            "the kernel matrix has %zu columns, but the model was learned with %zu training rows",
                            table->n_gram_columns, recipe->n_matrix_columns);
    karma_i_rows *rows = NULL;
    KARMA_TRY(karma_i_rows_new_matrix(&rows, table->gram, table->n_gram_columns, table->n_rows, err));
    karma_status st = KARMA_OK;
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++)
        st = karma_i_rows_add_matrix_row(rows, i, table->gram_column[i], err);
    if (st == KARMA_OK)
        *out = rows;
    else
        karma_i_rows_free(rows);
    return st;
}
