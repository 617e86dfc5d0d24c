/* The routines that R may call. */
#include "r_glue.h"

#include <R_ext/Rdynload.h>

#define ROUTINE(name, n)                                                                                               \
    { #name, (DL_FUNC)&name, n }

static const R_CallMethodDef routines[] = {ROUTINE(kr_version, 0),
                                           ROUTINE(kr_options, 1),
                                           ROUTINE(kr_nearest, 2),
                                           ROUTINE(kr_number_text, 1),
                                           ROUTINE(kr_table, 3),
                                           ROUTINE(kr_matrix, 2),
                                           ROUTINE(kr_add_numbers, 3),
                                           ROUTINE(kr_add_classes, 3),
                                           ROUTINE(kr_set_weights, 2),
                                           ROUTINE(kr_search, 5),
                                           ROUTINE(kr_predict, 3),
                                           ROUTINE(kr_decide, 2),
                                           ROUTINE(kr_numbers, 2),
                                           ROUTINE(kr_probabilities, 2),
                                           ROUTINE(kr_is_live, 1),
                                           ROUTINE(kr_sets, 4),
                                           ROUTINE(kr_intervals, 4),
                                           ROUTINE(kr_save, 2),
                                           ROUTINE(kr_load, 1),
                                           ROUTINE(kr_to_bytes, 1),
                                           ROUTINE(kr_from_bytes, 1),
                                           ROUTINE(kr_info, 1),
                                           ROUTINE(kr_search_info, 1),
                                           ROUTINE(kr_importance, 3),
                                           {NULL, NULL, 0}};

void R_init_karma(DllInfo *dll) {
    R_registerRoutines(dll, NULL, routines, NULL, NULL);
    R_useDynamicSymbols(dll, FALSE);
    R_forceSymbols(dll, TRUE);
}
