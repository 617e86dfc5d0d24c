/* Lets test_calibration.py call inner functions. One task on standard input, numbers parted by white space:
 *
 *     sigmoid|isotonic  ROWS CLASSES QUERIES  (CLASS WEIGHT SCORE...)...  (SCORE...)...   -> probabilities of the
 * queries classes           ROWS CLASSES          (CLASS WEIGHT PROBABILITY...)...            -> Brier score,
 * calibration error quantile          ROWS TAU              (PREDICTED TRUTH WEIGHT)...                 -> pinball
 * loss, coverage interval          ROWS                  (LOW HIGH TRUTH WEIGHT)...                  -> coverage
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/reliability.h"
#include "solve/calibrate.h"

static void give_up(const char *why) {
    fprintf(stderr, "calibration_probe: %s\n", why);
    exit(1);
}

static double next_number(void) {
    double number;
    if (scanf("%lf", &number) != 1) give_up("a number is missing");
    return number;
}

static size_t next_size(void) {
    return (size_t)next_number();
}

static double *numbers(size_t n) {
    double *room = malloc((n + 1) * sizeof *room);
    if (!room) give_up("out of memory");
    return room;
}

/* Rows of a class, a weight and `width` more numbers. */
typedef struct classified {
    size_t *classes;
    double *weights, *values;
} classified;

static classified next_classified(size_t n, size_t width) {
    classified c = {malloc((n + 1) * sizeof *c.classes), numbers(n), numbers(n * width)};
    if (!c.classes) give_up("out of memory");
    for (size_t i = 0; i < n; i++) {
        c.classes[i] = next_size();
        c.weights[i] = next_number();
        for (size_t j = 0; j < width; j++) c.values[i * width + j] = next_number();
    }
    return c;
}

static void classified_free(classified *c) {
    free(c->classes);
    free(c->weights);
    free(c->values);
}

static void calibrate(karma_calibration kind) {
    size_t n = next_size(), n_classes = next_size(), n_queries = next_size();
    size_t n_outputs = n_classes == 2 ? 1 : n_classes;
    classified rows = next_classified(n, n_outputs);
    double *scores = numbers(n_outputs), *probabilities = numbers(n_classes);
    karma_i_calibration c;
    karma_error err;
    if (karma_i_calibration_learn(&c, kind, rows.values, rows.classes, rows.weights, n, n_classes, &err) != KARMA_OK)
        give_up(err.message);
    for (size_t i = 0; i < n_queries; i++) {
        for (size_t o = 0; o < n_outputs; o++) scores[o] = next_number();
        karma_i_calibration_apply(&c, scores, probabilities);
        for (size_t k = 0; k < n_classes; k++) printf("%.17g ", probabilities[k]);
    }
    karma_i_calibration_clear(&c);
    classified_free(&rows);
    free(scores);
    free(probabilities);
}

static void judge_classes(void) {
    size_t n = next_size(), n_classes = next_size();
    classified rows = next_classified(n, n_classes);
    karma_i_reliability_bin bins[KARMA_I_RELIABILITY_BINS];
    karma_i_reliability(bins, rows.values, rows.classes, rows.weights, n, n_classes);
    printf("%.17g %.17g", karma_i_brier_score(rows.values, rows.classes, rows.weights, n, n_classes),
           karma_i_expected_calibration_error(bins));
    classified_free(&rows);
}

/* Columns that arrive row by row. */
static void next_columns(double **columns, size_t n_columns, size_t n) {
    for (size_t j = 0; j < n_columns; j++) columns[j] = numbers(n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n_columns; j++) columns[j][i] = next_number();
}

static void judge_quantile(void) {
    size_t n = next_size();
    double quantile = next_number(), *c[3];
    next_columns(c, 3, n);
    printf("%.17g %.17g", karma_i_pinball_loss(c[0], c[1], c[2], n, quantile), karma_i_coverage(c[0], c[1], c[2], n));
    for (size_t j = 0; j < 3; j++) free(c[j]);
}

static void judge_interval(void) {
    size_t n = next_size();
    double *c[4];
    next_columns(c, 4, n);
    printf("%.17g", karma_i_interval_coverage(c[0], c[1], c[2], c[3], n));
    for (size_t j = 0; j < 4; j++) free(c[j]);
}

int main(void) {
    char task[16];
    if (scanf("%15s", task) != 1) give_up("no task");
    if (strcmp(task, "sigmoid") == 0)
        calibrate(KARMA_CALIBRATE_SIGMOID);
    else if (strcmp(task, "isotonic") == 0)
        calibrate(KARMA_CALIBRATE_ISOTONIC);
    else if (strcmp(task, "classes") == 0)
        judge_classes();
    else if (strcmp(task, "quantile") == 0)
        judge_quantile();
    else if (strcmp(task, "interval") == 0)
        judge_interval();
    else
        give_up("an unknown task");
    printf("\n");
    return 0;
}
