#include "model/supervise.h"

#include "base/error.h"
#include "base/mem.h"

/* One fold in so many is held out to say whether refining helps; fewer rows have none to hold out. */
enum { REFINE_FOLDS = 4 };

/* What refining a subspace looks at: the outputs as the solver has them, and a hold-out. */
typedef struct supervision {
    karma_i_supervision labels;
    karma_i_task_loss *losses;
    uint8_t *is_held_out;
} supervision;

static void clear_supervision(supervision *s) {
    karma_i_free(s->losses);
    karma_i_free(s->is_held_out);
}

static karma_status supervise(supervision *s, const karma_model *model, const karma_i_outputs *o,
                              const karma_table *table, karma_error *err) {
    size_t n = table->n_rows, K = model->n_outputs, *fold = karma_i_alloc(n, sizeof *fold);
    s->losses = karma_i_alloc(K, sizeof *s->losses);
    s->is_held_out = karma_i_alloc(n, sizeof *s->is_held_out);
    karma_status st = fold && s->losses && s->is_held_out
                          ? karma_i_assign_folds(fold, REFINE_FOLDS, model, table, (uint64_t)model->options.seed, err)
                          : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) s->is_held_out[i] = fold[i] == 0;
    for (size_t k = 0; st == KARMA_OK && k < K; k++)
        s->losses[k] = (karma_i_task_loss){o->losses[k].value, o->losses[k].prox, o->losses[k].parameter};
    karma_i_free(fold);
    s->labels = (karma_i_supervision){K, o->targets, o->weights, s->losses, s->is_held_out};
    return st;
}

karma_status karma_i_learn_recipes(karma_i_encoder *out, const karma_kernel_kind *kinds, size_t n_kinds,
                                   const karma_model *model, const karma_i_outputs *outputs, const karma_table *table,
                                   const karma_hooks *hooks, karma_error *err) {
    karma_i_encoder encoder = {0};
    supervision s = {0};
    KARMA_TRY(karma_i_encoder_learn(&encoder, table, kinds, n_kinds, &model->options, hooks, err));
    karma_status st = KARMA_OK;
    if (model->options.refine > 0 && table->n_rows >= REFINE_FOLDS) {
        st = supervise(&s, model, outputs, table, err);
        if (st == KARMA_OK) st = karma_i_encoder_refine(&encoder, table, &s.labels, &model->options, hooks, err);
    }
    clear_supervision(&s);
    if (st == KARMA_OK)
        *out = encoder;
    else
        karma_i_encoder_clear(&encoder);
    return st;
}
