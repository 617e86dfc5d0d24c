#include "model/labels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"

/* A column of numbers is a set of classes rather than a quantity when it has few distinct values: at most this
 * many whole numbers, or this many others, and each of them three times on average (two values always are). */
enum { MOST_WHOLE_CLASSES = 30, MOST_FRACTION_CLASSES = 20, LEAST_ROWS_PER_CLASS = 3 };

void karma_i_labels_clear(karma_i_labels *labels) {
    for (size_t k = 0; labels->classes && k < labels->n_classes; k++) karma_i_free(labels->classes[k]);
    karma_i_free(labels->classes);
    karma_i_free(labels->class_count);
    *labels = (karma_i_labels){0};
}

karma_status karma_i_labels_copy(karma_i_labels *out, const karma_i_labels *labels, karma_error *err) {
    karma_i_labels copy = *labels;
    size_t n = labels->n_classes;
    copy.classes = karma_i_zalloc(n, sizeof *copy.classes);
    copy.class_count = karma_i_alloc(n, sizeof *copy.class_count);
    int ok = copy.classes && copy.class_count;
    for (size_t k = 0; ok && k < n; k++) {
        copy.class_count[k] = labels->class_count[k];
        ok = (copy.classes[k] = karma_i_strdup(labels->classes[k])) != NULL;
    }
    if (!ok) {
        karma_i_labels_clear(&copy);
        return karma_i_fail_memory(err);
    }
    *out = copy;
    return KARMA_OK;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The distinct labels of a column of numbers in ascending order. */
static double *distinct_values(const karma_i_target *target, size_t n_rows, size_t *n_labelled, size_t *n_out) {
    double *values = karma_i_alloc(n_rows, sizeof *values);
    if (!values) return NULL;
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < n_rows; i++)
        if (!isnan(target->value[i])) values[n++] = target->value[i];
    if (n > 1) qsort(values, n, sizeof *values, by_value);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || values[kept - 1] != values[i]) values[kept++] = values[i];
    *n_labelled = n;
    *n_out = kept;
    return values;
}

static int looks_like_classes(const double *values, size_t n, size_t n_rows) {
    int whole = 1;
    for (size_t i = 0; i < n; i++) whole &= values[i] == floor(values[i]);
    if (n <= 2) return 1;
    return n <= (whole ? MOST_WHOLE_CLASSES : MOST_FRACTION_CLASSES) && n * LEAST_ROWS_PER_CLASS <= n_rows;
}

static int text_is_number(const char *text, double value) {
    double parsed;
    return karma_i_number_parse(&parsed, text, strlen(text)) && parsed == value;
}

/* The user's own spelling of a number, if the reader kept it. */
static char *class_name_of(const karma_i_column *target, double value) {
    char text[KARMA_NUMBER_SIZE];
    for (size_t l = 0; l < target->n_levels; l++)
        if (text_is_number(target->levels[l], value)) return karma_i_strdup(target->levels[l]);
    return karma_i_strdup(karma_number_text(text, value));
}

static karma_status classes_of_numbers(karma_i_labels *out, const karma_i_target *target, const double *values,
                                       size_t n, karma_error *err) {
    out->classes = karma_i_zalloc(n, sizeof *out->classes);
    if (!out->classes) return karma_i_fail_memory(err);
    for (size_t k = 0; k < n; k++) {
        out->classes[k] = class_name_of(&target->column, values[k]);
        out->n_classes = k + 1;
        if (!out->classes[k]) return karma_i_fail_memory(err);
    }
    return KARMA_OK;
}

/* Only levels that occur: the table may be a part of a larger one. */
static karma_status classes_of_texts(karma_i_labels *out, const karma_i_target *target, size_t n_rows,
                                     karma_error *err) {
    const karma_i_column *column = &target->column;
    unsigned char *seen = karma_i_zalloc(column->n_levels, 1);
    out->classes = karma_i_zalloc(column->n_levels, sizeof *out->classes);
    karma_status st = seen && out->classes ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n_rows; i++)
        if (!isnan(target->value[i])) seen[(size_t)target->value[i]] = 1;
    for (size_t l = 0; st == KARMA_OK && l < column->n_levels; l++) {
        if (!seen[l]) continue;
        out->classes[out->n_classes] = karma_i_strdup(column->levels[l]);
        if (!out->classes[out->n_classes++]) st = karma_i_fail_memory(err);
    }
    karma_i_free(seen);
    return st;
}

karma_status karma_i_labels_count(karma_i_labels *labels, const karma_i_target *target, size_t n_rows,
                                  karma_error *err) {
    size_t *classes = karma_i_alloc(n_rows, sizeof *classes);
    karma_status st = classes ? karma_i_labels_classes(classes, labels, target, n_rows, err) : karma_i_fail_memory(err);
    for (size_t k = 0; st == KARMA_OK && k < labels->n_classes; k++) labels->class_count[k] = 0;
    for (size_t i = 0; st == KARMA_OK && i < n_rows; i++)
        if (classes[i] < labels->n_classes) labels->class_count[classes[i]]++;
    karma_i_free(classes);
    return st;
}

static karma_status count_classes(karma_i_labels *labels, const karma_i_target *target, size_t n_rows,
                                  karma_error *err) {
    if (labels->n_classes < 2)
        return karma_i_fail(err, KARMA_ERR_DATA, "column '%s' has only one class, '%s': a classifier needs two",
                            target->column.name, labels->n_classes ? labels->classes[0] : "");
    labels->class_count = karma_i_zalloc(labels->n_classes, sizeof *labels->class_count);
    return labels->class_count ? karma_i_labels_count(labels, target, n_rows, err) : karma_i_fail_memory(err);
}

static karma_status learn_quantity(karma_i_labels *labels, const karma_i_target *target, size_t n_rows,
                                   size_t n_labelled, int standardise, karma_error *err) {
    double mean = 0.0, spread = 0.0, n = (double)n_labelled;
    for (size_t i = 0; i < n_rows; i++)
        if (!isnan(target->value[i])) mean += target->value[i] / n;
    for (size_t i = 0; i < n_rows; i++)
        if (!isnan(target->value[i])) spread += pow(target->value[i] - mean, 2) / n;
    if (!isfinite(mean) || !isfinite(spread))
        return karma_i_fail(err, KARMA_ERR_DATA, "column '%s': its values are too large", target->column.name);
    labels->shift = standardise ? mean : 0.0;
    labels->factor = standardise && spread > 0.0 ? 1.0 / sqrt(spread) : 1.0;
    if (!isfinite(labels->factor)) labels->factor = 1.0;
    return KARMA_OK;
}

static karma_status learn_numbers(karma_i_labels *labels, const karma_i_target *target, size_t n_rows,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    size_t n = 0, n_labelled = 0;
    double *values = distinct_values(target, n_rows, &n_labelled, &n);
    if (!values) return karma_i_fail_memory(err);
    int classes = options->task == KARMA_TASK_CLASSIFY ||
                  (options->task == KARMA_TASK_AUTO && looks_like_classes(values, n, n_labelled));
    if (options->task == KARMA_TASK_AUTO && n > 2)
        karma_i_notice(hooks,
                       "column '%s' has %zu distinct numbers and is taken as %s; option 'task=%s' takes it as %s",
                       target->column.name, n, classes ? "classes" : "a quantity", classes ? "regress" : "classify",
                       classes ? "a quantity" : "classes");
    labels->task = classes ? KARMA_TASK_CLASSIFY : KARMA_TASK_REGRESS;
    karma_status st = classes ? classes_of_numbers(labels, target, values, n, err)
                              : learn_quantity(labels, target, n_rows, n_labelled, options->standardise, err);
    karma_i_free(values);
    return st;
}

karma_status karma_i_labels_learn(karma_i_labels *out, const karma_i_target *target, size_t n_rows,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_labels labels = {.task = KARMA_TASK_CLASSIFY, .factor = 1.0};
    karma_status st;
    if (target->column.kind == KARMA_COLUMN_NUMBER)
        st = learn_numbers(&labels, target, n_rows, options, hooks, err);
    else if (options->task == KARMA_TASK_REGRESS)
        st = karma_i_fail(err, KARMA_ERR_DATA, "column '%s' holds categories, and a regression needs numbers",
                          target->column.name);
    else
        st = classes_of_texts(&labels, target, n_rows, err);
    if (st == KARMA_OK && labels.task == KARMA_TASK_CLASSIFY) st = count_classes(&labels, target, n_rows, err);
    if (st == KARMA_OK)
        *out = labels;
    else
        karma_i_labels_clear(&labels);
    return st;
}

static size_t find_class(const karma_i_labels *labels, const char *text) {
    for (size_t k = 0; k < labels->n_classes; k++)
        if (strcmp(labels->classes[k], text) == 0) return k;
    return labels->n_classes;
}

static size_t find_class_number(const karma_i_labels *labels, double value) {
    for (size_t k = 0; k < labels->n_classes; k++)
        if (text_is_number(labels->classes[k], value)) return k;
    return labels->n_classes;
}

karma_status karma_i_labels_classes(size_t *out, const karma_i_labels *labels, const karma_i_target *target,
                                    size_t n_rows, karma_error *err) {
    const karma_i_column *column = &target->column;
    int by_number = column->kind == KARMA_COLUMN_NUMBER;
    size_t *class_of_level = karma_i_alloc(column->n_levels, sizeof *class_of_level);
    if (!class_of_level) return karma_i_fail_memory(err);
    for (size_t l = 0; !by_number && l < column->n_levels; l++)
        class_of_level[l] = find_class(labels, column->levels[l]);
    for (size_t i = 0; i < n_rows; i++) {
        double value = target->value[i];
        out[i] = isnan(value) ? labels->n_classes
                 : by_number  ? find_class_number(labels, value)
                              : class_of_level[(size_t)value];
    }
    karma_i_free(class_of_level);
    return KARMA_OK;
}

/* --- model files --------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static karma_status check_classes(karma_i_archive *a, const karma_i_labels *labels) {
    size_t n = labels->n_classes;
    int is_sound = n >= 2;
    const char **sorted = karma_i_alloc(n, sizeof *sorted);
    if (!sorted) return karma_i_archive_fail_memory(a);
    for (size_t k = 0; k < n; k++) sorted[k] = labels->classes[k];
    if (n > 1) qsort(sorted, n, sizeof *sorted, by_text);
    for (size_t k = 1; k < n; k++) is_sound &= strcmp(sorted[k - 1], sorted[k]) != 0;
    karma_i_free(sorted);
    return is_sound ? KARMA_OK : karma_i_archive_fail(a, "its classes are fewer than two, or two are the same");
}

karma_status karma_i_labels_archive(karma_i_archive *a, karma_i_labels *labels) {
    static const char *const tasks[] = {[KARMA_TASK_CLASSIFY] = "classify", [KARMA_TASK_REGRESS] = "regress"};
    int task = (int)labels->task;
    KARMA_TRY(karma_i_archive_word(a, "task", &task, tasks, sizeof tasks / sizeof tasks[0]));
    if (karma_i_archive_is_reading(a)) {
        labels->task = (karma_task)task;
        labels->factor = 1.0;
    }
    if (labels->task == KARMA_TASK_REGRESS) {
        KARMA_TRY(karma_i_archive_number(a, "shift", &labels->shift, -DBL_MAX, DBL_MAX));
        return karma_i_archive_number(a, "factor", &labels->factor, DBL_MIN, DBL_MAX);
    }
    KARMA_TRY(karma_i_archive_texts(a, "classes", &labels->classes, &labels->n_classes));
    KARMA_TRY(check_classes(a, labels));
    return karma_i_archive_sizes(a, "counts", &labels->class_count, karma_i_vector_shape(labels->n_classes));
}
