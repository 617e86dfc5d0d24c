#include "model/outputs.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/table_split.h"

void karma_i_outputs_clear(karma_i_outputs *outputs) {
    karma_i_free(outputs->targets);
    karma_i_free(outputs->weights);
    karma_i_free(outputs->losses);
    *outputs = (karma_i_outputs){0};
}

typedef struct weight_sums {
    const double *weight;
    double largest;
} weight_sums;

static void add_weights(double *sum, const void *payload, size_t first, size_t end) {
    const weight_sums *w = payload;
    for (size_t i = first; i < end; i++) *sum += w->weight[i] / w->largest;
}

/* The table's weights, divided by their mean so that C keeps its meaning: first by the largest, so that equal weights
 * are exactly 1. A new array, or NULL if there are none. */
static karma_status mean_one_weights(double **out, const karma_table *table, karma_error *err) {
    *out = NULL;
    if (!table->row_weight) return KARMA_OK;
    double sum = 0.0;
    karma_i_partition split = karma_i_table_split(table);
    weight_sums sums = {table->row_weight, 0.0};
    for (size_t i = 0; i < table->n_rows; i++) sums.largest = fmax(sums.largest, table->row_weight[i]);
    KARMA_TRY(karma_i_ranks_largest(&sums.largest, 1, split.ranks, err));
    if (!(sums.largest > 0.0)) return karma_i_fail(err, KARMA_ERR_DATA, "no row that has a label has a weight above 0");
    KARMA_TRY(karma_i_partition_sum(&sum, 1, &split, add_weights, &sums, err));
    double *weights = karma_i_alloc(table->n_rows, sizeof *weights), mean = sum / (double)split.n_rows;
    if (!weights) return karma_i_fail_memory(err);
    for (size_t i = 0; i < table->n_rows; i++) weights[i] = table->row_weight[i] / sums.largest / mean;
    *out = weights;
    return KARMA_OK;
}

karma_status karma_i_outputs_fill(karma_i_outputs *out, const karma_i_task *task, const karma_table *table,
                                  karma_error *err) {
    size_t n = task->n_outputs;
    double *row_weights;
    *out = (karma_i_outputs){0};
    KARMA_TRY(mean_one_weights(&row_weights, table, err));
    out->targets = karma_i_alloc(table->n_rows, n * sizeof *out->targets);
    out->weights = karma_i_alloc(table->n_rows, n * sizeof *out->weights);
    out->losses = karma_i_alloc(n, sizeof *out->losses);
    karma_status st = out->targets && out->weights && out->losses ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t t = 0; st == KARMA_OK && t < task->n_heads; t++) {
        const karma_i_head *head = &task->heads[t];
        const karma_i_labelled rows = {&table->targets[t], row_weights, table->n_rows};
        st = karma_i_head_losses(out->losses + head->first_output, head, &task->options, err);
        if (st == KARMA_OK) st = karma_i_head_targets(out->targets, out->weights, n, head, &rows, &task->options, err);
    }
    karma_i_free(row_weights);
    return st;
}
