/* What the files of the R package's library share. It uses the public headers of libkarma.
 *
 * R leaves C functions by a jump when it runs out of memory. So memory that R does not own is either behind an external
 * pointer, whose finalizer frees it, or there is no call of R between its allocation and its end. A failure of the
 * library is not an R error here: it is returned as a list of class "karma_failure", which the R code makes a condition
 * of. Texts come as UTF-8. */
#ifndef KARMA_R_GLUE_H
#define KARMA_R_GLUE_H

#define R_NO_REMAP
#include <R.h>
#include <Rinternals.h>

#include "karma/karma.h"

/* list(status, message) of class "karma_failure". */
SEXP r_failure(const karma_error *err);

/* Fills in the error and returns its status. */
karma_status r_no_memory(karma_error *err);

/* External pointers. A new one holds nothing. */
SEXP r_new_table(void);
SEXP r_new_model(void);
karma_table *r_table(SEXP pointer); /* an R error if it is none */
karma_model *r_model(SEXP pointer);

/* The text, or NULL for NA. */
const char *r_text(SEXP texts, R_xlen_t i);
SEXP r_string(const char *text); /* character(1), UTF-8 */
/* The `count` texts; free with free(). NULL if there is no memory. NA is NULL. */
const char **r_texts(SEXP texts);

/* The defaults, then the values of two character vectors, names and texts. Where this fails there is nothing to clear.
 */
karma_status r_options_fill(const karma_option_table *table, void *options, size_t size, SEXP names, SEXP texts,
                            karma_error *err);

/* Hooks that ask R for interrupts and collect notices. `holder` is an external pointer that owns it. */
typedef struct r_work {
    karma_hooks hooks;
    int is_verbose, is_interrupted, has_line;
    double last;
    char **notices;
    size_t n_notices;
} r_work;
r_work *r_work_new(SEXP *holder, int is_verbose); /* *holder is to be protected by the caller at once */
void r_work_end(r_work *work);                    /* ends a line of progress */
SEXP r_work_notices(const r_work *work);

/* A list with names. */
SEXP r_list(int n, const char *const *names);

SEXP kr_version(void);
SEXP kr_options(SEXP table);
SEXP kr_nearest(SEXP word, SEXP candidates);
SEXP kr_number_text(SEXP numbers);
SEXP kr_table(SEXP n_rows, SEXP columns, SEXP names);
SEXP kr_matrix(SEXP cells, SEXP names);
SEXP kr_add_numbers(SEXP table, SEXP name, SEXP values);
SEXP kr_add_classes(SEXP table, SEXP name, SEXP classes);
SEXP kr_set_weights(SEXP table, SEXP weights);
SEXP kr_search(SEXP table, SEXP fit, SEXP search, SEXP fixed, SEXP verbose);
SEXP kr_predict(SEXP model, SEXP table, SEXP threads);
SEXP kr_decide(SEXP model, SEXP scores);
SEXP kr_numbers(SEXP model, SEXP scores);
SEXP kr_probabilities(SEXP model, SEXP scores);
SEXP kr_sets(SEXP model, SEXP table, SEXP scores, SEXP level);
SEXP kr_intervals(SEXP model, SEXP table, SEXP scores, SEXP level);
SEXP kr_is_live(SEXP model);
SEXP kr_save(SEXP model, SEXP path);
SEXP kr_load(SEXP path);
SEXP kr_to_bytes(SEXP model);
SEXP kr_from_bytes(SEXP bytes);
SEXP kr_info(SEXP model);
SEXP kr_search_info(SEXP model);
SEXP kr_importance(SEXP model, SEXP table, SEXP options);

#endif
