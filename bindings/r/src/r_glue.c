/* Failures, pointers, texts, options and hooks: between R's objects and the library's arguments. */
#include "r_glue.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

SEXP r_list(int n, const char *const *names) {
    SEXP list = PROTECT(Rf_allocVector(VECSXP, n)), own = PROTECT(Rf_allocVector(STRSXP, n));
    for (int i = 0; i < n; i++) SET_STRING_ELT(own, i, Rf_mkChar(names[i]));
    Rf_setAttrib(list, R_NamesSymbol, own);
    UNPROTECT(2);
    return list;
}

SEXP r_string(const char *text) {
    SEXP string = PROTECT(Rf_allocVector(STRSXP, 1));
    SET_STRING_ELT(string, 0, Rf_mkCharCE(text, CE_UTF8));
    UNPROTECT(1);
    return string;
}

SEXP r_failure(const karma_error *err) {
    static const char *const names[] = {"status", "message"};
    SEXP list = PROTECT(r_list(2, names));
    SET_VECTOR_ELT(list, 0, r_string(karma_status_name(err->status)));
    SET_VECTOR_ELT(list, 1, r_string(err->message));
    Rf_setAttrib(list, R_ClassSymbol, r_string("karma_failure"));
    UNPROTECT(1);
    return list;
}

karma_status r_no_memory(karma_error *err) {
    *err = (karma_error){KARMA_ERR_MEMORY, "out of memory"};
    return KARMA_ERR_MEMORY;
}

/* --- pointers ----------------------------------------------------------------------------------------------- */

static void free_table(SEXP pointer) {
    karma_table_free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

static void free_model(SEXP pointer) {
    karma_model_free(R_ExternalPtrAddr(pointer));
    R_ClearExternalPtr(pointer);
}

static SEXP new_pointer(const char *tag, R_CFinalizer_t finalizer) {
    SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, Rf_install(tag), R_NilValue));
    R_RegisterCFinalizerEx(pointer, finalizer, TRUE);
    UNPROTECT(1);
    return pointer;
}

SEXP r_new_table(void) {
    return new_pointer("karma_table", free_table);
}

SEXP r_new_model(void) {
    return new_pointer("karma_model", free_model);
}

static void *address(SEXP pointer, const char *tag) {
    if (TYPEOF(pointer) != EXTPTRSXP || R_ExternalPtrTag(pointer) != Rf_install(tag) || !R_ExternalPtrAddr(pointer))
        Rf_error("this is not a live %s", tag);
    return R_ExternalPtrAddr(pointer);
}

karma_table *r_table(SEXP pointer) {
    return address(pointer, "karma_table");
}

karma_model *r_model(SEXP pointer) {
    return address(pointer, "karma_model");
}

/* --- texts and options --------------------------------------------------------------------------------------- */

const char *r_text(SEXP texts, R_xlen_t i) {
    SEXP text = STRING_ELT(texts, i);
    return text == NA_STRING ? NULL : CHAR(text);
}

const char **r_texts(SEXP texts) {
    R_xlen_t n = XLENGTH(texts);
    const char **items = malloc(((size_t)n + 1) * sizeof *items);
    for (R_xlen_t i = 0; items && i < n; i++) items[i] = r_text(texts, i);
    return items;
}

static karma_status set_options(const karma_option_table *table, void *options, SEXP names, SEXP texts,
                                karma_error *err) {
    for (R_xlen_t i = 0; i < XLENGTH(names); i++) {
        const karma_option *option = karma_option_find(table, r_text(names, i));
        if (!option) {
            *err = (karma_error){KARMA_ERR_OPTION, "an option that does not exist"};
            return KARMA_ERR_OPTION;
        }
        karma_status st = karma_option_set(option, options, r_text(texts, i), err);
        if (st != KARMA_OK) return st;
    }
    return karma_options_check(table, options, err);
}

karma_status r_options_fill(const karma_option_table *table, void *options, size_t size, SEXP names, SEXP texts,
                            karma_error *err) {
    karma_options_init_size(table, options, size);
    karma_status st = set_options(table, options, names, texts, err);
    if (st != KARMA_OK) karma_options_clear(table, options);
    return st;
}

/* --- long work ------------------------------------------------------------------------------------------------ */

static double seconds(void) {
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void check_interrupt(void *nothing) {
    (void)nothing;
    R_CheckUserInterrupt();
}

static void show(r_work *work, const char *stage, size_t done, size_t total) {
    char line[80];
    if (total)
        (void)snprintf(line, sizeof line, "%.60s %3.0f%%", stage, 100.0 * (double)done / (double)total);
    else
        (void)snprintf(line, sizeof line, "%.70s", stage);
    REprintf("\r%-72s", line);
    work->has_line = 1;
}

/* The library calls this from the thread that called it, which is R's. The jump of an interrupt ends at
 * R_ToplevelExec, so the library's own frames are left in order. */
static int progress(void *payload, const char *stage, size_t done, size_t total) {
    r_work *work = payload;
    double now = seconds();
    if (now >= work->last && now - work->last < 0.1) return work->is_interrupted;
    work->last = now;
    if (work->is_verbose) show(work, stage, done, total);
    if (!R_ToplevelExec(check_interrupt, NULL)) work->is_interrupted = 1;
    return work->is_interrupted;
}

/* A notice that there is no memory for is lost. */
static void notice(void *payload, const char *sentence) {
    r_work *work = payload;
    size_t length = strlen(sentence) + 1;
    char *copy = malloc(length), **more = realloc(work->notices, (work->n_notices + 1) * sizeof *more);
    if (more) work->notices = more;
    if (copy && more)
        more[work->n_notices++] = memcpy(copy, sentence, length);
    else
        free(copy);
}

static void free_work(SEXP holder) {
    r_work *work = R_ExternalPtrAddr(holder);
    if (!work) return;
    for (size_t i = 0; i < work->n_notices; i++) free(work->notices[i]);
    free(work->notices);
    free(work);
    R_ClearExternalPtr(holder);
}

r_work *r_work_new(SEXP *holder, int is_verbose) {
    *holder = PROTECT(new_pointer("karma_work", free_work));
    r_work *work = calloc(1, sizeof *work);
    if (!work) Rf_error("out of memory");
    R_SetExternalPtrAddr(*holder, work);
    UNPROTECT(1);
    work->hooks = (karma_hooks){progress, notice, work};
    work->is_verbose = is_verbose;
    return work;
}

void r_work_end(r_work *work) {
    if (work->has_line) REprintf("\r%-72s\r", "");
    work->has_line = 0;
}

SEXP r_work_notices(const r_work *work) {
    SEXP texts = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)work->n_notices));
    for (size_t i = 0; i < work->n_notices; i++)
        SET_STRING_ELT(texts, (R_xlen_t)i, Rf_mkCharCE(work->notices[i], CE_UTF8));
    UNPROTECT(1);
    return texts;
}
