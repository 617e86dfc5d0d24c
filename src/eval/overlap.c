/* The overlap of the support rows with a row. */
#include "base/error.h"
#include "karma/explain.h"
#include "model/model.h"

static karma_overlap_level level_of(const karma_overlap *o) {
    if (o->observed == 0) return KARMA_OVERLAP_NOTHING;
    if (o->sharing < KARMA_VERY_THIN_ROWS || o->share < KARMA_VERY_THIN_SHARE) return KARMA_OVERLAP_VERY_THIN;
    if (o->sharing < KARMA_THIN_ROWS || o->share < KARMA_THIN_SHARE) return KARMA_OVERLAP_THIN;
    return KARMA_OVERLAP_GOOD;
}

static karma_overlap overlap_of(const karma_i_rows *rows, size_t row, const karma_i_rows *support) {
    karma_overlap o = {.observed = karma_i_rows_n_observed(rows, row)};
    for (size_t j = 0; o.observed && j < support->n_rows; j++)
        o.sharing += 2 * karma_i_rows_overlap(rows, row, support, j) >= o.observed;
    size_t n = 0; /* support rows of leaves observe no attribute */
    for (size_t j = 0; j < support->n_rows; j++) n += karma_i_rows_n_observed(support, j) > 0;
    o.share = n ? (double)o.sharing / (double)n : 0.0;
    o.level = level_of(&o);
    return o;
}

karma_status karma_measure_overlap(karma_overlap *overlaps, const karma_model *model, const karma_table *table,
                                   const karma_hooks *hooks, karma_error *err) {
    karma_i_rows *rows = NULL;
    KARMA_TRY(karma_i_model_needs_attributes(model, err));
    KARMA_TRY(karma_i_encoder_check_matrix(&model->encoder, model->info.n_columns, table, err));
    KARMA_TRY(karma_i_encoder_apply(&rows, &model->encoder, table, hooks, err));
    /* all encodings observe the same attributes, but coordinates and leaves do not show which */
    size_t e = 0;
    while (e < model->encoder.n && karma_i_recipe_is_placed(model->encoder.recipes[e])) e++;
    karma_status st = KARMA_OK;
    if (e == model->encoder.n)
        st = karma_i_fail(err, KARMA_ERR_DATA,
                          "a model that has only subspace or tree kernels does not store which cells its rows "
                          "observed; train it with another kernel beside them");
    for (size_t i = 0; st == KARMA_OK && i < rows->n_rows; i++)
        overlaps[i] = overlap_of(karma_i_rows_encoding(rows, e), i, karma_i_rows_encoding(model->support, e));
    karma_i_rows_free(rows);
    return st;
}
