/* Learns from one CSV file and predicts another, by the C interface:
 *
 *   cc minimal.c $(pkg-config --cflags --libs karma) -o minimal
 *   ./minimal clinic.csv clinic-new.csv outcome patient */
#include <stdio.h>
#include <stdlib.h>

#include <karma/karma.h>

/* Reads the training rows and learns from them. */
static karma_status learn(karma_model **model, const char *path, const karma_read_options *read, karma_error *err) {
    karma_fit_options fit;
    karma_options_init(karma_fit_option_table(), &fit);
    fit.gamma = 2;
    karma_table *rows = NULL;
    karma_status st = karma_table_read(&rows, path, read, NULL, err);
    if (st == KARMA_OK) st = karma_fit(model, rows, &fit, NULL, err);
    karma_table_free(rows); /* the model borrows nothing */
    return st;
}

/* Prints one line per row: its id and the class that the scores predict. */
static karma_status predict(const karma_model *model, const char *path, const karma_read_options *read,
                            karma_error *err) {
    karma_table *rows = NULL;
    karma_status st = karma_model_read_table(&rows, model, path, read, NULL, err);
    if (st != KARMA_OK) return st;
    size_t n_rows = karma_table_n_rows(rows), n_outputs = karma_model_n_outputs(model);
    double *scores = calloc(n_rows, n_outputs * sizeof *scores);
    st = scores ? karma_predict(scores, model, rows, 0, NULL, err) : KARMA_ERR_MEMORY;
    for (size_t i = 0; st == KARMA_OK && i < n_rows; i++)
        printf("%s %s\n", karma_table_id(rows, 0, i),
               karma_model_class(model, 0, karma_model_decide(model, 0, scores + i * n_outputs)));
    free(scores);
    karma_table_free(rows);
    return st;
}

int main(int argc, char **argv) {
    if (argc != 5) return fprintf(stderr, "usage: %s TRAIN.csv NEW.csv TARGET ID\n", argv[0]), 2;
    karma_error err = {KARMA_OK, "out of memory"};
    karma_model *model = NULL;
    karma_read_options read; /* options can be set by name, as on the command line; texts are copied */
    karma_options_init(karma_read_option_table(), &read);
    karma_status st = karma_option_set(karma_option_find(karma_read_option_table(), "target"), &read, argv[3], &err);
    if (st == KARMA_OK) st = karma_option_set(karma_option_find(karma_read_option_table(), "id"), &read, argv[4], &err);
    if (st == KARMA_OK) st = learn(&model, argv[1], &read, &err);
    if (st == KARMA_OK) st = predict(model, argv[2], &read, &err);
    if (st != KARMA_OK) fprintf(stderr, "%s: %s\n", karma_status_name(st), err.message);
    karma_options_clear(karma_read_option_table(), &read);
    karma_model_free(model);
    return st == KARMA_OK ? 0 : 1;
}
