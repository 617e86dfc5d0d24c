/* Times growing a forest and applying it, and prints one JSON object.
 *
 *   bench_forest FILE ROWS COLUMNS GROWTH TREES LEAVES REPEATS THREADS
 *
 * FILE has the ranks of each column, one byte per cell, and then one byte per row, 1 for one class and 0 for the other.
 * GROWTH is boosted (all rows and columns for every tree) or bagged. Prints the seconds of every repetition. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forest/forest_learn.h"
#include "timing.h"

typedef struct data {
    size_t n_rows, n_columns;
    uint8_t *bytes;
    karma_i_forest_column *columns;
    double *targets, *weights;
} data;

static size_t number(const char *text) {
    return (size_t)strtoul(text, NULL, 10);
}

static data read_data(const char *path, size_t n_rows, size_t n_columns) {
    data d = {n_rows,
              n_columns,
              malloc(n_rows * (n_columns + 1)),
              malloc(n_columns * sizeof *d.columns),
              malloc(n_rows * sizeof *d.targets),
              malloc(n_rows * sizeof *d.weights)};
    FILE *file = fopen(path, "rb");
    must(file != NULL, "the file cannot be opened");
    must(d.bytes && d.columns && d.targets && d.weights, "out of memory");
    must(fread(d.bytes, n_rows, n_columns + 1, file) == n_columns + 1, "the file is too short");
    (void)fclose(file);
    for (size_t j = 0; j < n_columns; j++) d.columns[j] = (karma_i_forest_column){d.bytes + j * n_rows, NULL, 1, 0};
    for (size_t i = 0; i < n_rows; i++) {
        d.targets[i] = d.bytes[n_columns * n_rows + i] ? 1.0 : -1.0;
        d.weights[i] = 1.0;
    }
    return d;
}

static double accuracy(const karma_i_forest *forest, const uint16_t *codes, const data *d) {
    double *scores = malloc(d->n_rows * sizeof *scores), right = 0.0;
    must(scores != NULL, "out of memory");
    karma_i_forest_scores(scores, forest, codes, forest->n_trees, d->n_rows);
    for (size_t i = 0; i < d->n_rows; i++) right += (scores[i] > 0.0) == (d->targets[i] > 0.0);
    free(scores);
    return right / (double)d->n_rows;
}

int main(int argc, char **argv) {
    must(argc == 9, "usage: bench_forest FILE ROWS COLUMNS GROWTH TREES LEAVES REPEATS THREADS");
    data d = read_data(argv[1], number(argv[2]), number(argv[3]));
    int is_boosted = strcmp(argv[4], "boosted") == 0;
    size_t repeats = number(argv[7]);
    karma_i_forest_loss loss = {KARMA_I_FOREST_LOGISTIC, 0.0};
    karma_i_forest_labels labels = {1, d.targets, d.weights, &loss, {0}};
    karma_i_forest_options o;
    karma_error err = {0};
    karma_i_forest_options_init(&o, is_boosted ? KARMA_I_FOREST_BOOSTED : KARMA_I_FOREST_BAGGED, d.n_columns);
    o.n_trees = number(argv[5]);
    o.rules.most_leaves = number(argv[6]);
    o.rules.most_depth = KARMA_I_MOST_DEPTH;
    o.row_share = o.column_share = 1.0;
    o.threads = (int)number(argv[8]);
    uint16_t *codes = malloc(d.n_rows * o.n_trees * sizeof *codes);
    double *grow = malloc(repeats * sizeof *grow), *apply = malloc(repeats * sizeof *apply), right = 0.0, leaves = 0.0;
    must(codes && grow && apply, "out of memory");
    for (size_t r = 0; r < repeats; r++) {
        karma_i_forest *forest = NULL;
        double start = now();
        check(karma_i_forest_learn(&forest, d.columns, d.n_columns, d.n_rows, &labels, &o, NULL, &err), &err);
        grow[r] = now() - start;
        start = now();
        check(karma_i_forest_apply(codes, o.n_trees, forest, d.columns, d.n_rows, o.threads, &err), &err);
        apply[r] = now() - start;
        right = accuracy(forest, codes, &d);
        leaves = (double)forest->leaf_start[forest->n_trees] / (double)forest->n_trees;
        karma_i_forest_free(forest);
    }
    printf("{\"grow\": [");
    for (size_t r = 0; r < repeats; r++) printf("%s%.6f", r ? ", " : "", grow[r]);
    printf("], \"apply\": [");
    for (size_t r = 0; r < repeats; r++) printf("%s%.6f", r ? ", " : "", apply[r]);
    printf("], \"accuracy\": %.6f, \"leaves\": %.1f}\n", right, leaves);
    free(d.bytes), free(d.columns), free(d.targets), free(d.weights), free(codes), free(grow), free(apply);
    return 0;
}
