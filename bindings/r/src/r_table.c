/* Tables of R's vectors. */
#include "r_glue.h"

#include <stdlib.h>

/* A column is a vector of doubles, or list(codes, levels, is_ordered) with codes from 0 on, negative for missing. */
static karma_status add_column(karma_columns *columns, const char *name, SEXP column, karma_error *err) {
    if (TYPEOF(column) == REALSXP)
        return karma_columns_add_numbers(columns, name, REAL(column), KARMA_FLOAT64, sizeof(double), NULL, err);
    SEXP codes = VECTOR_ELT(column, 0), levels = VECTOR_ELT(column, 1);
    const char **texts = r_texts(levels);
    if (!texts) return r_no_memory(err);
    karma_status st =
        karma_columns_add_categories(columns, name, INTEGER(codes), sizeof(int), texts, (size_t)XLENGTH(levels), err);
    free((void *)texts);
    return st;
}

static karma_status order_column(karma_table *table, const char *name, SEXP column, karma_error *err) {
    if (TYPEOF(column) == REALSXP || !LOGICAL(VECTOR_ELT(column, 2))[0]) return KARMA_OK;
    SEXP levels = VECTOR_ELT(column, 1);
    const char **texts = r_texts(levels);
    if (!texts) return r_no_memory(err);
    karma_status st = karma_table_order_category(table, name, texts, (size_t)XLENGTH(levels), err);
    free((void *)texts);
    return st;
}

static karma_status make_table(karma_table **out, size_t n_rows, SEXP columns, SEXP names, karma_error *err) {
    karma_columns *all = NULL;
    R_xlen_t n = XLENGTH(columns);
    karma_status st = karma_columns_new(&all, n_rows, err);
    if (st != KARMA_OK) return st;
    for (R_xlen_t j = 0; st == KARMA_OK && j < n; j++)
        st = add_column(all, r_text(names, j), VECTOR_ELT(columns, j), err);
    if (st != KARMA_OK) {
        karma_columns_free(all);
        return st;
    }
    st = karma_columns_finish(out, all, err);
    for (R_xlen_t j = 0; st == KARMA_OK && j < n; j++)
        st = order_column(*out, r_text(names, j), VECTOR_ELT(columns, j), err);
    return st;
}

SEXP kr_table(SEXP n_rows, SEXP columns, SEXP names) {
    karma_error err;
    karma_table *table = NULL;
    SEXP pointer = PROTECT(r_new_table());
    karma_status st = make_table(&table, (size_t)Rf_asReal(n_rows), columns, names, &err);
    R_SetExternalPtrAddr(pointer, table); /* also of a failure: the finalizer frees it */
    SEXP result = st == KARMA_OK ? pointer : r_failure(&err);
    UNPROTECT(1);
    return result;
}

/* A matrix of doubles, by columns as R has it; names may be NULL. */
SEXP kr_matrix(SEXP cells, SEXP names) {
    karma_error err;
    karma_table *table = NULL;
    size_t n = (size_t)Rf_nrows(cells), d = (size_t)Rf_ncols(cells);
    SEXP pointer = PROTECT(r_new_table());
    int is_named = !Rf_isNull(names);
    const char **texts = is_named ? r_texts(names) : NULL;
    karma_status st = is_named && !texts
                          ? r_no_memory(&err)
                          : karma_table_from_strided(&table, REAL(cells), KARMA_FLOAT64, n, d, sizeof(double),
                                                     (ptrdiff_t)(n * sizeof(double)), texts, &err);
    free((void *)texts);
    R_SetExternalPtrAddr(pointer, table);
    SEXP result = st == KARMA_OK ? pointer : r_failure(&err);
    UNPROTECT(1);
    return result;
}

SEXP kr_add_numbers(SEXP table, SEXP name, SEXP values) {
    karma_error err;
    karma_table *own = r_table(table);
    if ((size_t)XLENGTH(values) != karma_table_n_rows(own)) Rf_error("not as many labels as rows");
    return karma_table_add_target_numbers(own, r_text(name, 0), REAL(values), &err) == KARMA_OK ? R_NilValue
                                                                                                : r_failure(&err);
}

SEXP kr_add_classes(SEXP table, SEXP name, SEXP classes) {
    karma_error err;
    karma_table *own = r_table(table);
    if ((size_t)XLENGTH(classes) != karma_table_n_rows(own)) Rf_error("not as many labels as rows");
    const char **texts = r_texts(classes);
    karma_status st = texts ? karma_table_add_target_classes(own, r_text(name, 0), texts, &err) : r_no_memory(&err);
    free((void *)texts);
    return st == KARMA_OK ? R_NilValue : r_failure(&err);
}

SEXP kr_set_weights(SEXP table, SEXP weights) {
    karma_error err;
    karma_table *own = r_table(table);
    if ((size_t)XLENGTH(weights) != karma_table_n_rows(own)) Rf_error("not as many weights as rows");
    return karma_table_set_row_weights(own, REAL(weights), &err) == KARMA_OK ? R_NilValue : r_failure(&err);
}
