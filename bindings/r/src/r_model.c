/* Learning, keeping and using models. */
#include "r_glue.h"

#include <stdlib.h>
#include <string.h>

typedef struct learning {
    karma_fit_options fit;
    karma_search_options search;
} learning;

/* `fit` and `search` are list(names, texts). No call of R from here to the end of the search but those of the hooks,
 * which do not jump. */
static karma_status learn(karma_model **model, const karma_table *table, SEXP fit, SEXP search, SEXP fixed,
                          r_work *work, karma_error *err) {
    learning l;
    karma_status st =
        r_options_fill(karma_fit_option_table(), &l.fit, sizeof l.fit, VECTOR_ELT(fit, 0), VECTOR_ELT(fit, 1), err);
    if (st != KARMA_OK) return st;
    st = r_options_fill(karma_search_option_table(), &l.search, sizeof l.search, VECTOR_ELT(search, 0),
                        VECTOR_ELT(search, 1), err);
    if (st == KARMA_OK) {
        const char **kept = r_texts(fixed);
        l.search.fixed = (karma_names){(char **)kept, (size_t)XLENGTH(fixed)}; /* not the struct's own */
        if (kept)
            st = karma_search(model, table, &l.fit, &l.search, &work->hooks, err);
        else
            st = r_no_memory(err);
        l.search.fixed = (karma_names){NULL, 0};
        free((void *)kept);
        karma_options_clear(karma_search_option_table(), &l.search);
    }
    karma_options_clear(karma_fit_option_table(), &l.fit);
    return st;
}

/* list(model, notices, interrupted) */
SEXP kr_search(SEXP table, SEXP fit, SEXP search, SEXP fixed, SEXP verbose) {
    static const char *const names[] = {"model", "notices", "interrupted"};
    karma_error err;
    karma_model *model = NULL;
    const karma_table *own = r_table(table);
    SEXP holder, pointer = PROTECT(r_new_model());
    r_work *work = r_work_new(&holder, Rf_asLogical(verbose) == TRUE);
    PROTECT(holder);
    karma_status st = learn(&model, own, fit, search, fixed, work, &err);
    R_SetExternalPtrAddr(pointer, model);
    r_work_end(work);
    SEXP result = PROTECT(st == KARMA_OK ? r_list(3, names) : r_failure(&err));
    if (st == KARMA_OK) {
        SET_VECTOR_ELT(result, 0, pointer);
        SET_VECTOR_ELT(result, 1, r_work_notices(work));
        SET_VECTOR_ELT(result, 2, Rf_ScalarLogical(work->is_interrupted));
    }
    UNPROTECT(3);
    return result;
}

/* --- files --------------------------------------------------------------------------------------------------- */

SEXP kr_is_live(SEXP model) {
    return Rf_ScalarLogical(TYPEOF(model) == EXTPTRSXP && R_ExternalPtrAddr(model) != NULL);
}

SEXP kr_save(SEXP model, SEXP path) {
    karma_error err;
    return karma_model_save(r_model(model), r_text(path, 0), &err) == KARMA_OK ? R_NilValue : r_failure(&err);
}

SEXP kr_load(SEXP path) {
    karma_error err;
    karma_model *model = NULL;
    SEXP pointer = PROTECT(r_new_model());
    karma_status st = karma_model_load(&model, r_text(path, 0), &err);
    R_SetExternalPtrAddr(pointer, model);
    SEXP result = st == KARMA_OK ? pointer : r_failure(&err);
    UNPROTECT(1);
    return result;
}

static void free_buffer(SEXP pointer) {
    karma_buffer_free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

SEXP kr_to_bytes(SEXP model) {
    karma_error err;
    void *buffer = NULL;
    size_t size = 0;
    const karma_model *own = r_model(model);
    SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(pointer, free_buffer, TRUE);
    karma_status st = karma_model_save_buffer(&buffer, &size, own, &err);
    if (st == KARMA_OK) R_SetExternalPtrAddr(pointer, buffer);
    SEXP result = PROTECT(st == KARMA_OK ? Rf_allocVector(RAWSXP, (R_xlen_t)size) : r_failure(&err));
    if (st == KARMA_OK) {
        memcpy(RAW(result), buffer, size);
        free_buffer(pointer);
    }
    UNPROTECT(2);
    return result;
}

SEXP kr_from_bytes(SEXP bytes) {
    karma_error err;
    karma_model *model = NULL;
    SEXP pointer = PROTECT(r_new_model());
    karma_status st = karma_model_load_buffer(&model, RAW(bytes), (size_t)XLENGTH(bytes), &err);
    R_SetExternalPtrAddr(pointer, model);
    SEXP result = st == KARMA_OK ? pointer : r_failure(&err);
    UNPROTECT(1);
    return result;
}

/* --- predictions --------------------------------------------------------------------------------------------- */

/* list(scores, notices, interrupted); scores[output, row] */
SEXP kr_predict(SEXP model, SEXP table, SEXP threads) {
    static const char *const names[] = {"scores", "notices", "interrupted"};
    karma_error err;
    const karma_model *own = r_model(model);
    const karma_table *rows = r_table(table);
    SEXP holder,
        scores = PROTECT(Rf_allocMatrix(REALSXP, (int)karma_model_n_outputs(own), (int)karma_table_n_rows(rows)));
    r_work *work = r_work_new(&holder, 0);
    PROTECT(holder);
    karma_status st = karma_predict(REAL(scores), own, rows, (size_t)Rf_asInteger(threads), &work->hooks, &err);
    SEXP result = PROTECT(st == KARMA_OK ? r_list(3, names) : r_failure(&err));
    if (st == KARMA_OK) {
        SET_VECTOR_ELT(result, 0, scores);
        SET_VECTOR_ELT(result, 1, r_work_notices(work));
        SET_VECTOR_ELT(result, 2, Rf_ScalarLogical(work->is_interrupted));
    }
    UNPROTECT(3);
    return result;
}

/* The index, from 1, of the class of each column of `scores`. */
SEXP kr_decide(SEXP model, SEXP scores) {
    const karma_model *own = r_model(model);
    size_t K = karma_model_n_outputs(own), n = (size_t)Rf_ncols(scores);
    SEXP classes = PROTECT(Rf_allocVector(INTSXP, (R_xlen_t)n));
    for (size_t i = 0; i < n; i++) INTEGER(classes)[i] = (int)karma_model_decide(own, 0, REAL(scores) + i * K) + 1;
    UNPROTECT(1);
    return classes;
}

SEXP kr_numbers(SEXP model, SEXP scores) {
    const karma_model *own = r_model(model);
    size_t K = karma_model_n_outputs(own), n = (size_t)Rf_ncols(scores);
    SEXP numbers = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)n));
    for (size_t i = 0; i < n; i++) REAL(numbers)[i] = karma_model_number(own, 0, REAL(scores) + i * K);
    UNPROTECT(1);
    return numbers;
}

/* [class, row] */
SEXP kr_probabilities(SEXP model, SEXP scores) {
    const karma_model *own = r_model(model);
    size_t K = karma_model_n_outputs(own), n = (size_t)Rf_ncols(scores), n_classes = karma_model_n_classes(own, 0);
    SEXP shares = PROTECT(Rf_allocMatrix(REALSXP, (int)n_classes, (int)n));
    for (size_t i = 0; i < n; i++)
        (void)karma_model_probabilities(own, 0, REAL(scores) + i * K, REAL(shares) + i * n_classes);
    UNPROTECT(1);
    return shares;
}

/* A level that is NA is the model's own. */
static double level_of(SEXP level) {
    double given = Rf_asReal(level);
    return ISNAN(given) ? KARMA_AUTO : given;
}

/* [class, row]: whether the class is in the set of the row */
SEXP kr_sets(SEXP model, SEXP table, SEXP scores, SEXP level) {
    karma_error err;
    const karma_model *own = r_model(model);
    const karma_table *rows = r_table(table);
    size_t n = karma_table_n_rows(rows), n_classes = karma_model_n_classes(own, 0);
    unsigned char *in = (unsigned char *)R_alloc(n * n_classes + 1, 1);
    if (karma_predict_sets(in, own, 0, rows, REAL(scores), level_of(level), &err) != KARMA_OK) return r_failure(&err);
    SEXP sets = PROTECT(Rf_allocMatrix(LGLSXP, (int)n_classes, (int)n));
    for (size_t k = 0; k < n * n_classes; k++) LOGICAL(sets)[k] = in[k];
    UNPROTECT(1);
    return sets;
}

/* [row, 2]: the ends of the intervals */
SEXP kr_intervals(SEXP model, SEXP table, SEXP scores, SEXP level) {
    karma_error err;
    const karma_model *own = r_model(model);
    const karma_table *rows = r_table(table);
    size_t n = karma_table_n_rows(rows);
    SEXP ends = PROTECT(Rf_allocMatrix(REALSXP, (int)n, 2));
    karma_status st =
        karma_predict_intervals(REAL(ends), REAL(ends) + n, own, 0, rows, REAL(scores), level_of(level), &err);
    UNPROTECT(1);
    return st == KARMA_OK ? ends : r_failure(&err);
}
