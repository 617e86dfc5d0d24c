/* Shared by commands with a model: a model file and a data file become a model, a table and scores. */
#include <stdlib.h>

#include "tool.h"

int load_model(tool *t, karma_model **model) {
    const char *path = t->arguments[0];
    karma_error err;
    *model = NULL;
    if (karma_model_load(model, path, &err) != KARMA_OK) return fail(path, &err);
    if (!t->read.gram || karma_model_is_precomputed(*model)) return EXIT_DONE;
    karma_model_free(*model);
    *model = NULL;
    return fail_usage(t, "%s computes its kernel from columns: --gram is for models that were trained with it", path);
}

int load_inputs(tool *t, karma_model **model, karma_table **table) {
    const char *path = t->arguments[1];
    karma_error err;
    *table = NULL;
    int code = load_model(t, model);
    if (code != EXIT_DONE) return code;
    if (karma_model_read_table(table, *model, path, &t->read, &t->hooks, &err) == KARMA_OK) return EXIT_DONE;
    karma_model_free(*model);
    *model = NULL;
    return fail(path, &err);
}

int with_inputs(tool *t, int (*then)(tool *t, const karma_model *model, const karma_table *table)) {
    karma_model *model;
    karma_table *table;
    int code = load_inputs(t, &model, &table);
    if (code == EXIT_DONE) code = then(t, model, table);
    karma_table_free(table);
    karma_model_free(model);
    return code;
}

/* One notice of the cells that are unlike the training rows. */
int find_flags(karma_cell_flags *out, const tool *t, const karma_model *model, const karma_table *table) {
    flag_counts counts;
    int code = init_flag_counts(&counts, model);
    if (code != EXIT_DONE) return code;
    code = count_flags(&counts, out, t, model, table);
    if (code == EXIT_DONE) note_flags(t, &counts, model);
    clear_flag_counts(&counts);
    return code;
}

int with_scores(tool *t, int (*then)(tool *t, const karma_model *model, const karma_table *table, const double *scores,
                                     const karma_cell_flags *flags)) {
    const char *path = t->arguments[1];
    karma_error err;
    karma_model *model;
    karma_table *table;
    karma_cell_flags flags = {NULL, 0};
    int code = load_inputs(t, &model, &table);
    if (code != EXIT_DONE) return code;
    double *scores = calloc(karma_table_n_rows(table), karma_model_n_outputs(model) * sizeof *scores);
    if (!scores)
        code = fail(path, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    else if (karma_predict(scores, model, table, (size_t)t->fit.threads, &t->hooks, &err) != KARMA_OK)
        code = fail(path, &err);
    else
        code = find_flags(&flags, t, model, table);
    if (code == EXIT_DONE) code = then(t, model, table, scores, &flags);
    karma_cell_flags_clear(&flags);
    free(scores);
    karma_table_free(table);
    karma_model_free(model);
    return code;
}

/* Rows that share too little with the support rows. */
static int flag_overlap(unsigned char *flags, double level, const karma_model *model, const karma_table *table,
                        karma_error *err) {
    size_t n = karma_table_n_rows(table);
    karma_overlap *overlaps = calloc(n + 1, sizeof *overlaps);
    *err = (karma_error){KARMA_ERR_MEMORY, "out of memory"};
    /* notices about columns were printed with the scores */
    int ok = overlaps && karma_measure_overlap(overlaps, model, table, NULL, err) == KARMA_OK;
    for (size_t i = 0; ok && i < n; i++) flags[i] = overlaps[i].level >= (karma_overlap_level)level;
    free(overlaps);
    return ok;
}

/* Rows with less confidence in any target than the rule asks for. */
static int flag_uncertain(unsigned char *flags, const abstention_rule *rule, const karma_model *model,
                          const karma_table *table, const double *scores, karma_error *err) {
    size_t n = karma_table_n_rows(table);
    double threshold, *confidence = calloc(n + 1, sizeof *confidence);
    *err = (karma_error){KARMA_ERR_MEMORY, "out of memory"};
    int ok = confidence != NULL;
    for (size_t target = 0; ok && target < karma_model_n_targets(model); target++) {
        ok = karma_abstention_threshold(&threshold, model, target,
                                        rule->kind == ABSTAIN_SHARE ? KARMA_ABSTAIN_SHARE : KARMA_ABSTAIN_ACCURACY,
                                        rule->value, err) == KARMA_OK;
        ok = ok && karma_predict_confidence(confidence, model, target, table, scores, err) == KARMA_OK;
        for (size_t i = 0; ok && i < n; i++) flags[i] |= !(confidence[i] >= threshold);
    }
    free(confidence);
    return ok;
}

int find_abstention(abstention *out, const tool *t, const karma_model *model, const karma_table *table,
                    const double *scores) {
    size_t n = karma_table_n_rows(table);
    abstention_rule rule;
    karma_error err = {KARMA_ERR_MEMORY, "out of memory"};
    *out = (abstention){NULL, 0};
    int code = parse_abstention(&rule, t);
    if (code != EXIT_DONE || rule.kind == ABSTAIN_NEVER) return code;
    unsigned char *flags = calloc(n + 1, 1);
    int ok = flags && (rule.kind == ABSTAIN_OVERLAP ? flag_overlap(flags, rule.value, model, table, &err)
                                                    : flag_uncertain(flags, &rule, model, table, scores, &err));
    for (size_t i = 0; ok && i < n; i++) out->count += flags[i];
    if (ok)
        out->flags = flags;
    else
        free(flags);
    return ok ? EXIT_DONE : fail(t->arguments[1], &err);
}
