/* The option tables, and the description of a model and of its search, as lists. */
#include "r_glue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SEXP kr_version(void) {
    return r_string(karma_version());
}

static SEXP strings(size_t n) {
    return Rf_allocVector(STRSXP, (R_xlen_t)n);
}

static SEXP reals(size_t n) {
    return Rf_allocVector(REALSXP, (R_xlen_t)n);
}

static void put_text(SEXP texts, size_t i, const char *text) {
    SET_STRING_ELT(texts, (R_xlen_t)i, text ? Rf_mkCharCE(text, CE_UTF8) : NA_STRING);
}

static const karma_option_table *find_table(const char *name) {
    if (strcmp(name, "fit") == 0) return karma_fit_option_table();
    if (strcmp(name, "search") == 0) return karma_search_option_table();
    if (strcmp(name, "explain") == 0) return karma_explain_option_table();
    Rf_error("there is no table of options '%s'", name);
    return NULL;
}

/* list(name, kind, values, default, help, chosen), in the order of the table */
SEXP kr_options(SEXP table) {
    static const char *const names[] = {"name", "kind", "values", "default", "help", "chosen"}, *const kinds[] = {
                                                                                                    "integer", "real",
                                                                                                    "choice",  "switch",
                                                                                                    "text",    "names"};
    const karma_option_table *own = find_table(r_text(table, 0));
    SEXP list = PROTECT(r_list(6, names));
    for (int k = 0; k < 6; k++)
        SET_VECTOR_ELT(list, k, k == 5 ? Rf_allocVector(LGLSXP, (R_xlen_t)own->count) : strings(own->count));
    for (size_t i = 0; i < own->count; i++) {
        const karma_option *option = &own->options[i];
        char values[512], initial[128];
        (void)karma_option_values(option, values, sizeof values);
        (void)karma_option_initial(option, initial, sizeof initial);
        const char *texts[] = {option->name, kinds[option->kind], values, initial, option->help};
        for (int k = 0; k < 5; k++) put_text(VECTOR_ELT(list, k), i, texts[k]);
        LOGICAL(VECTOR_ELT(list, 5))[i] = karma_search_chooses(option->name);
    }
    UNPROTECT(1);
    return list;
}

/* The closest candidate to a misspelt word, or NA. */
SEXP kr_nearest(SEXP word, SEXP candidates) {
    const char **texts = r_texts(candidates);
    const char *near = texts ? karma_nearest_word(r_text(word, 0), texts, (size_t)XLENGTH(candidates)) : NULL;
    free((void *)texts);
    return near ? r_string(near) : Rf_ScalarString(NA_STRING); /* near belongs to `candidates` */
}

SEXP kr_number_text(SEXP numbers) {
    size_t n = (size_t)XLENGTH(numbers);
    SEXP texts = PROTECT(strings(n));
    char text[KARMA_NUMBER_SIZE];
    for (size_t i = 0; i < n; i++)
        put_text(texts, i, isnan(REAL(numbers)[i]) ? NULL : karma_number_text(text, REAL(numbers)[i]));
    UNPROTECT(1);
    return texts;
}

/* --- a model ------------------------------------------------------------------------------------------------ */

/* The fit options as named texts. */
static SEXP model_options(const karma_model *model) {
    const karma_option_table *table = karma_fit_option_table();
    SEXP texts = PROTECT(strings(table->count)), names = PROTECT(strings(table->count));
    for (size_t i = 0; i < table->count; i++) {
        int length = karma_option_text(&table->options[i], karma_model_options(model), NULL, 0);
        char *text = R_alloc((size_t)(length < 0 ? 0 : length) + 1, 1);
        text[0] = 0;
        (void)karma_option_text(&table->options[i], karma_model_options(model), text, (size_t)length + 1);
        put_text(texts, i, text);
        put_text(names, i, table->options[i].name);
    }
    Rf_setAttrib(texts, R_NamesSymbol, names);
    UNPROTECT(2);
    return texts;
}

static SEXP model_classes(const karma_model *model) {
    size_t n = karma_model_n_classes(model, 0);
    SEXP texts = PROTECT(strings(n));
    for (size_t k = 0; k < n; k++) put_text(texts, k, karma_model_class(model, 0, k));
    UNPROTECT(1);
    return texts;
}

static SEXP model_class_counts(const karma_model *model) {
    size_t n = karma_model_n_classes(model, 0);
    SEXP counts = PROTECT(reals(n));
    for (size_t k = 0; k < n; k++) REAL(counts)[k] = (double)karma_model_class_count(model, 0, k);
    UNPROTECT(1);
    return counts;
}

static SEXP model_quantiles(const karma_model *model) {
    size_t n = karma_model_n_quantiles(model, 0);
    SEXP quantiles = PROTECT(reals(n));
    for (size_t k = 0; k < n; k++) REAL(quantiles)[k] = karma_model_quantile(model, 0, k);
    UNPROTECT(1);
    return quantiles;
}

/* "number", "category" or "ordered" of each attribute, with their names */
static SEXP model_kinds(const karma_model *model) {
    size_t d = karma_model_n_attributes(model);
    SEXP kinds = PROTECT(strings(d)), names = PROTECT(strings(d));
    for (size_t j = 0; j < d; j++) {
        int is_category = karma_model_attribute_kind(model, j) == KARMA_COLUMN_CATEGORY;
        put_text(kinds, j, is_category ? "category" : karma_model_attribute_n_levels(model, j) ? "ordered" : "number");
        put_text(names, j, karma_model_attribute_name(model, j));
    }
    Rf_setAttrib(kinds, R_NamesSymbol, names);
    UNPROTECT(2);
    return kinds;
}

/* The levels of each attribute. */
static SEXP model_levels(const karma_model *model) {
    size_t d = karma_model_n_attributes(model);
    SEXP list = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)d));
    for (size_t j = 0; j < d; j++) {
        SEXP levels = strings(karma_model_attribute_n_levels(model, j));
        SET_VECTOR_ELT(list, (R_xlen_t)j, levels);
        for (R_xlen_t l = 0; l < XLENGTH(levels); l++)
            put_text(levels, (size_t)l, karma_model_attribute_level(model, j, (size_t)l));
    }
    UNPROTECT(1);
    return list;
}

SEXP kr_info(SEXP model) {
    static const char *const names[] = {
        "task",    "target",    "loss",      "n_targets", "is_precomputed", "has_probabilities",
        "classes", "counts",    "quantiles", "kinds",     "levels",         "options",
        "solver",  "stop",      "n_rows",    "n_columns", "n_support",      "C",
        "gap",     "n_left_out"};
    const karma_model *own = r_model(model);
    const karma_fit_info *info = karma_model_info(own);
    SEXP list = PROTECT(r_list(20, names));
    int k = 0;
    SET_VECTOR_ELT(list, k++, r_string(karma_model_task(own, 0) == KARMA_TASK_CLASSIFY ? "classify" : "regress"));
    SET_VECTOR_ELT(list, k++, r_string(karma_model_target_name(own, 0)));
    SET_VECTOR_ELT(list, k++, r_string(karma_model_loss_name(own, 0)));
    SET_VECTOR_ELT(list, k++, Rf_ScalarReal((double)karma_model_n_targets(own)));
    SET_VECTOR_ELT(list, k++, Rf_ScalarLogical(karma_model_is_precomputed(own)));
    SET_VECTOR_ELT(list, k++, Rf_ScalarLogical(karma_model_has_probabilities(own, 0)));
    SET_VECTOR_ELT(list, k++, model_classes(own));
    SET_VECTOR_ELT(list, k++, model_class_counts(own));
    SET_VECTOR_ELT(list, k++, model_quantiles(own));
    SET_VECTOR_ELT(list, k++, model_kinds(own));
    SET_VECTOR_ELT(list, k++, model_levels(own));
    SET_VECTOR_ELT(list, k++, model_options(own));
    SET_VECTOR_ELT(list, k++, r_string(karma_model_solver_name(own)));
    SET_VECTOR_ELT(list, k++, r_string(karma_stop_name(info->stop)));
    SET_VECTOR_ELT(list, k++, Rf_ScalarReal((double)info->n_rows));
    SET_VECTOR_ELT(list, k++, Rf_ScalarReal((double)info->n_columns));
    SET_VECTOR_ELT(list, k++, Rf_ScalarReal((double)info->n_support));
    SET_VECTOR_ELT(list, k++, Rf_ScalarReal(info->C));
    SET_VECTOR_ELT(list, k++, Rf_ScalarReal(info->gap));
    SET_VECTOR_ELT(list, k++, Rf_ScalarReal((double)karma_model_n_left_out(own, 0)));
    UNPROTECT(1);
    return list;
}

/* --- a search -------------------------------------------------------------------------------------------------- */

/* Columns of a data frame: kernel, C_factor, score, error, chosen */
static SEXP candidates(const karma_search_info *info) {
    static const char *const names[] = {"kernel", "C_factor", "score", "error", "chosen"};
    SEXP list = PROTECT(r_list(5, names));
    SET_VECTOR_ELT(list, 0, strings(info->n_candidates));
    for (int k = 1; k < 4; k++) SET_VECTOR_ELT(list, k, reals(info->n_candidates));
    SET_VECTOR_ELT(list, 4, Rf_allocVector(LGLSXP, (R_xlen_t)info->n_candidates));
    for (size_t i = 0; i < info->n_candidates; i++) {
        const karma_search_candidate *c = &info->candidates[i];
        put_text(VECTOR_ELT(list, 0), i, c->kernel);
        REAL(VECTOR_ELT(list, 1))[i] = c->C_factor;
        REAL(VECTOR_ELT(list, 2))[i] = c->score;
        REAL(VECTOR_ELT(list, 3))[i] = c->error;
        LOGICAL(VECTOR_ELT(list, 4))[i] = c->is_chosen;
    }
    UNPROTECT(1);
    return list;
}

static SEXP gains(const karma_search_info *info) {
    static const char *const names[] = {"ingredient", "gain", "error"};
    SEXP list = PROTECT(r_list(3, names));
    SET_VECTOR_ELT(list, 0, strings(info->n_gains));
    for (int k = 1; k < 3; k++) SET_VECTOR_ELT(list, k, reals(info->n_gains));
    for (size_t i = 0; i < info->n_gains; i++) {
        put_text(VECTOR_ELT(list, 0), i, info->gains[i].ingredient);
        REAL(VECTOR_ELT(list, 1))[i] = info->gains[i].gain;
        REAL(VECTOR_ELT(list, 2))[i] = info->gains[i].error;
    }
    UNPROTECT(1);
    return list;
}

/* One entry per machine of the committee. */
static SEXP members(const karma_search_info *info) {
    static const char *const names[] = {"kernel", "C_factor", "weight"};
    size_t n = 0, at = 0;
    for (size_t i = 0; i < info->n_members; i++) n += info->members[i].n_machines;
    SEXP list = PROTECT(r_list(3, names));
    SET_VECTOR_ELT(list, 0, strings(n));
    for (int k = 1; k < 3; k++) SET_VECTOR_ELT(list, k, reals(n));
    for (size_t i = 0; i < info->n_members; i++)
        for (size_t c = 0; c < info->members[i].n_machines; c++, at++) {
            put_text(VECTOR_ELT(list, 0), at, info->members[i].kernel);
            REAL(VECTOR_ELT(list, 1))[at] = info->members[i].C_factors[c];
            REAL(VECTOR_ELT(list, 2))[at] = info->members[i].weights[c];
        }
    UNPROTECT(1);
    return list;
}

/* NULL for a model that was not chosen by a search. */
SEXP kr_search_info(SEXP model) {
    static const char *const names[] = {
        "goal",     "less_is_better", "score", "error",      "constant_score", "n_folds",    "n_repeats", "n_tried",
        "n_chosen", "seconds",        "end",   "zero_score", "zero_error",     "candidates", "gains",     "members"};
    static const char *const ends[] = {"complete", "out of time", "interrupted"};
    const karma_search_info *info = karma_model_search_info(r_model(model));
    if (!info) return R_NilValue;
    const double numbers[] = {info->score,
                              info->error,
                              info->constant_score,
                              (double)info->n_folds,
                              (double)info->n_repeats,
                              (double)info->n_tried,
                              (double)info->n_chosen,
                              info->seconds};
    SEXP list = PROTECT(r_list(16, names));
    SET_VECTOR_ELT(list, 0, r_string(karma_goal_name(info->goal)));
    SET_VECTOR_ELT(list, 1, Rf_ScalarLogical(karma_goal_is_loss(info->goal)));
    for (int k = 0; k < 8; k++) SET_VECTOR_ELT(list, 2 + k, Rf_ScalarReal(numbers[k]));
    SET_VECTOR_ELT(list, 10, r_string(ends[info->end]));
    SET_VECTOR_ELT(list, 11, Rf_ScalarReal(info->has_zero_imputation ? info->zero_score : NA_REAL));
    SET_VECTOR_ELT(list, 12, Rf_ScalarReal(info->has_zero_imputation ? info->zero_error : NA_REAL));
    SET_VECTOR_ELT(list, 13, candidates(info));
    SET_VECTOR_ELT(list, 14, gains(info));
    SET_VECTOR_ELT(list, 15, members(info));
    UNPROTECT(1);
    return list;
}

/* --- importance -------------------------------------------------------------------------------------------------- */

static karma_status measure(karma_importances *out, const karma_model *model, const karma_table *table, SEXP options,
                            r_work *work, karma_error *err) {
    karma_explain_options own;
    karma_status st = r_options_fill(karma_explain_option_table(), &own, sizeof own, VECTOR_ELT(options, 0),
                                     VECTOR_ELT(options, 1), err);
    if (st != KARMA_OK) return st;
    st = karma_measure_importance(out, model, table, &own, &work->hooks, err);
    karma_options_clear(karma_explain_option_table(), &own);
    return st;
}

static void free_importances(SEXP pointer) {
    karma_importances *own = R_ExternalPtrAddr(pointer);
    if (own) karma_importances_clear(own);
    free(own);
    R_ClearExternalPtr(pointer);
}

/* list(attribute, importance, error), the largest first */
SEXP kr_importance(SEXP model, SEXP table, SEXP options) {
    static const char *const names[] = {"attribute", "importance", "error"};
    karma_error err;
    const karma_model *own = r_model(model);
    const karma_table *rows = r_table(table);
    SEXP holder, pointer = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(pointer, free_importances, TRUE);
    r_work *work = r_work_new(&holder, 0);
    PROTECT(holder);
    karma_importances *found = calloc(1, sizeof *found);
    if (!found) Rf_error("out of memory");
    karma_status st = measure(found, own, rows, options, work, &err);
    if (st == KARMA_OK)
        R_SetExternalPtrAddr(pointer, found);
    else
        free(found);
    SEXP list = PROTECT(st == KARMA_OK ? r_list(3, names) : r_failure(&err));
    if (st == KARMA_OK) {
        size_t n = found->n_attributes;
        SET_VECTOR_ELT(list, 0, strings(n));
        for (int k = 1; k < 3; k++) SET_VECTOR_ELT(list, k, reals(n));
        for (size_t i = 0; i < n; i++) {
            put_text(VECTOR_ELT(list, 0), i, karma_model_attribute_name(own, found->items[i].attribute));
            REAL(VECTOR_ELT(list, 1))[i] = found->items[i].importance;
            REAL(VECTOR_ELT(list, 2))[i] = found->items[i].error;
        }
        free_importances(pointer);
    }
    UNPROTECT(3);
    return list;
}
