/* What predict and eval have in common: a model file and a data file become scores. */
#include <stdlib.h>

#include "tool.h"

int with_scores(tool *t,
                int (*then)(tool *t, const karma_model *model, const karma_table *table, const double *scores)) {
    const char *model_path = t->arguments[0], *path = t->arguments[1];
    karma_error err;
    karma_model *model = NULL;
    karma_table *table = NULL;
    double *scores = NULL;
    int code = EXIT_DONE;
    if (karma_model_load(&model, model_path, &err) != KARMA_OK)
        code = fail(model_path, &err);
    else if (t->read.gram && !is_precomputed(karma_model_options(model)))
        code = fail_usage(t, "%s computes its kernel from columns: --gram is for models that were trained with it",
                          model_path);
    else if (karma_model_read_table(&table, model, path, &t->read, &t->hooks, &err) != KARMA_OK)
        code = fail(path, &err);
    else if (!(scores = calloc(karma_table_n_rows(table), karma_model_n_outputs(model) * sizeof *scores)))
        code = fail(path, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    else if (karma_predict(scores, model, table, (size_t)t->fit.threads, &t->hooks, &err) != KARMA_OK)
        code = fail(path, &err);
    else
        code = then(t, model, table, scores);
    free(scores);
    karma_table_free(table);
    karma_model_free(model);
    return code;
}
