/* Tables with labels, drawn at random. Include after cmocka.h. */
#ifndef KARMA_TEST_LABELLED_H
#define KARMA_TEST_LABELLED_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "karma/karma.h"
#include "table/builder.h"

typedef struct table_plan {
    size_t n_rows, n_numbers, n_categories, n_levels;
    double share;     /* of the observed cells */
    size_t n_classes; /* classes of the label; 0: it is a number */
    double signal;    /* of the label: 0 means noise only */
} table_plan;

static inline void add_drawn_attribute(karma_i_builder *builder, size_t j, size_t n_levels) {
    char name[32], **levels = n_levels ? malloc(n_levels * sizeof *levels) : NULL;
    for (size_t l = 0; l < n_levels; l++) {
        levels[l] = malloc(32);
        (void)snprintf(levels[l], 32, "l%06zu", l);
    }
    (void)snprintf(name, sizeof name, "a%zu", j);
    assert_int_equal(karma_i_builder_add_attribute(
                         builder, name, n_levels ? KARMA_COLUMN_CATEGORY : KARMA_COLUMN_NUMBER, levels, n_levels, NULL),
                     KARMA_OK);
}

/* Numeric columns come first; they share a direction, so that there is a subspace to find. Then come categories.
 * hidden[row] is the number that the label depends on. */
static inline karma_table *draw_attributes(const table_plan *p, double *hidden, karma_i_rng *rng) {
    karma_i_builder builder;
    karma_table *table = NULL;
    assert_int_equal(karma_i_builder_init(&builder, NULL), KARMA_OK);
    for (size_t j = 0; j < p->n_numbers + p->n_categories; j++)
        add_drawn_attribute(&builder, j, j < p->n_numbers ? 0 : p->n_levels);
    for (size_t i = 0; i < p->n_rows; i++) {
        double common = karma_i_rng_normal(rng), own = karma_i_rng_normal(rng);
        hidden[i] = common + 0.5 * own;
        for (size_t j = 0; j < p->n_numbers + p->n_categories; j++) {
            double level = floor((double)p->n_levels / (1.0 + exp(-common - karma_i_rng_normal(rng))));
            double number = j % 2 ? own + 0.5 * karma_i_rng_normal(rng) : common + 0.7 * karma_i_rng_normal(rng);
            double value = j < p->n_numbers ? number : fmin(level, (double)p->n_levels - 1.0);
            if (karma_i_rng_uniform(rng) < p->share)
                assert_int_equal(karma_i_builder_add_cell(&builder, j, value, NULL), KARMA_OK);
        }
        assert_int_equal(karma_i_builder_end_row(&builder, NULL, 1.0, NULL, NULL), KARMA_OK);
    }
    karma_i_builder_finish(&table, &builder);
    return table;
}

/* One more target: classes are slices of the hidden number and noise. */
static inline void add_drawn_target(karma_table *table, const char *name, size_t n_classes, double signal,
                                    const double *hidden, karma_i_rng *rng) {
    static const char *const words[] = {"ash", "birch", "cedar", "dogwood", "elm"};
    size_t n = table->n_rows;
    double *numbers = malloc(n * sizeof *numbers);
    const char **classes = malloc(n * sizeof *classes);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = signal * hidden[i] + karma_i_rng_normal(rng);
        double u = 0.5 * erfc(-numbers[i] / sqrt(2.0 * (1.0 + 1.25 * signal * signal)));
        size_t k = n_classes ? (size_t)fmin(floor(u * (double)n_classes), (double)n_classes - 1.0) : 0;
        classes[i] = words[k];
        numbers[i] = 100.0 + 7.0 * numbers[i];
    }
    if (n_classes)
        assert_int_equal(karma_table_add_target_classes(table, name, classes, NULL), KARMA_OK);
    else
        assert_int_equal(karma_table_add_target_numbers(table, name, numbers, NULL), KARMA_OK);
    free(numbers);
    free(classes);
}

static inline karma_table *draw_labelled(const table_plan *p, uint64_t seed) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    double *hidden = malloc(p->n_rows * sizeof *hidden);
    karma_table *table = draw_attributes(p, hidden, &rng);
    add_drawn_target(table, "label", p->n_classes, p->signal, hidden, &rng);
    free(hidden);
    return table;
}

#endif
