#include "model/labels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "table/table_split.h"

/* A column of numbers counts as classes, not as a quantity, if it has few distinct values: at most this many
 * whole numbers, or this many others, each occurring three times on average. Two values are always
 * classes. Codes of many classes are numbered one after the other; so many whole numbers that fill less than half of
 * their range, such as 0, 15, 30, 40 to 100, are a quantity. In more rows they would have still more values. */
enum { MOST_WHOLE_CLASSES = 30, MOST_SCATTERED_CLASSES = 10, MOST_FRACTION_CLASSES = 20, LEAST_ROWS_PER_CLASS = 3 };

/* One score per row and class is computed, and one machine per class. */
enum { MOST_CLASSES = 10000 };

/* The largest deviation of a quantity from its mean, such that squares of errors and their inverses stay in
 * range. */
static const double MOST_DEVIATION = 1e150;

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

/* Sorts numbers and leaves out repeats. */
static size_t keep_distinct(double *values, size_t n) {
    size_t kept = 0;
    if (n > 1) qsort(values, n, sizeof *values, by_value);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || values[kept - 1] != values[i]) values[kept++] = values[i];
    return kept;
}

/* A new array of the distinct labels of a column of numbers, ascending, and the number of rows with a
 * label. */
static karma_status distinct_values(double **out, size_t *n_out, size_t *n_labelled, const karma_i_target *target,
                                    const karma_i_partition *split, karma_error *err) {
    karma_i_gathered all;
    double *values = karma_i_alloc(split->count, sizeof *values);
    if (!values) return karma_i_fail_memory(err);
    size_t n = 0, kept;
    for (size_t i = 0; i < split->count; i++)
        if (!isnan(target->value[i])) values[n++] = target->value[i];
    kept = keep_distinct(values, n);
    karma_status st = karma_i_ranks_add(&n, 1, split->ranks, err);
    if (st == KARMA_OK) st = karma_i_ranks_gather(&all, values, kept * sizeof *values, split->ranks, err);
    karma_i_free(values);
    if (st != KARMA_OK) return st;
    *out = (double *)(void *)all.bytes;
    *n_out = keep_distinct(*out, all.start[split->ranks->size] / sizeof *values);
    *n_labelled = n;
    karma_i_free(all.start);
    return KARMA_OK;
}

/* The values are distinct and ascending. */
static int looks_like_classes(const double *values, size_t n, size_t n_rows) {
    int whole = 1;
    for (size_t i = 0; i < n; i++) whole &= values[i] == floor(values[i]);
    if (n <= 2) return 1;
    if (n * LEAST_ROWS_PER_CLASS > n_rows) return 0;
    if (!whole) return n <= MOST_FRACTION_CLASSES;
    return n <= MOST_SCATTERED_CLASSES || (n <= MOST_WHOLE_CLASSES && 2.0 * (double)n > values[n - 1] - values[0]);
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
static karma_status classes_of_texts(karma_i_labels *out, const karma_i_target *target, const karma_i_partition *split,
                                     karma_error *err) {
    const karma_i_column *column = &target->column;
    size_t *seen = karma_i_zalloc(column->n_levels, sizeof *seen);
    out->classes = karma_i_zalloc(column->n_levels, sizeof *out->classes);
    karma_status st = seen && out->classes ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < split->count; i++)
        if (!isnan(target->value[i])) seen[(size_t)target->value[i]] = 1;
    if (st == KARMA_OK) st = karma_i_ranks_add(seen, column->n_levels, split->ranks, err);
    for (size_t l = 0; st == KARMA_OK && l < column->n_levels; l++) {
        if (!seen[l]) continue;
        out->classes[out->n_classes] = karma_i_strdup(column->levels[l]);
        if (!out->classes[out->n_classes++]) st = karma_i_fail_memory(err);
    }
    karma_i_free(seen);
    return st;
}

karma_status karma_i_labels_count(karma_i_labels *labels, const karma_i_target *target, const karma_i_partition *split,
                                  karma_error *err) {
    size_t n_rows = split->count;
    size_t *classes = karma_i_alloc(n_rows, sizeof *classes);
    karma_status st = classes ? karma_i_labels_classes(classes, labels, target, n_rows, err) : karma_i_fail_memory(err);
    for (size_t k = 0; st == KARMA_OK && k < labels->n_classes; k++) labels->class_count[k] = 0;
    for (size_t i = 0; st == KARMA_OK && i < n_rows; i++)
        if (classes[i] < labels->n_classes) labels->class_count[classes[i]]++;
    karma_i_free(classes);
    return st == KARMA_OK ? karma_i_ranks_add(labels->class_count, labels->n_classes, split->ranks, err) : st;
}

static karma_status count_classes(karma_i_labels *labels, const karma_i_target *target, const karma_i_partition *split,
                                  karma_error *err) {
    if (labels->n_classes < 2)
        return karma_i_fail(err, KARMA_ERR_DATA, "column '%s' has only one class, '%s': a classifier needs two",
                            target->column.name, labels->n_classes ? labels->classes[0] : "");
    if (labels->n_classes > MOST_CLASSES)
        return karma_i_fail(
            err, KARMA_ERR_DATA,
            "column '%s' has %zu classes in %zu rows; at most %d can be learned. Is it an identifier, or a number?",
            target->column.name, labels->n_classes, split->n_rows, MOST_CLASSES);
    labels->class_count = karma_i_zalloc(labels->n_classes, sizeof *labels->class_count);
    return labels->class_count ? karma_i_labels_count(labels, target, split, err) : karma_i_fail_memory(err);
}

/* Sums over the labels of a quantity. */
typedef struct label_sums {
    const double *value;
    double n, mean, unit; /* labels, their mean, and about one over the largest deviation from it */
} label_sums;

static void add_to_mean(double *mean, const void *payload, size_t first, size_t end) {
    const label_sums *s = payload;
    for (size_t i = first; i < end; i++)
        if (!isnan(s->value[i])) *mean += s->value[i] / s->n;
}

static void add_to_variance(double *variance, const void *payload, size_t first, size_t end) {
    const label_sums *s = payload;
    for (size_t i = first; i < end; i++)
        if (!isnan(s->value[i])) *variance += pow((s->value[i] - s->mean) * s->unit, 2) / s->n;
}

static karma_status learn_quantity(karma_i_labels *labels, const karma_i_target *target, const karma_i_partition *split,
                                   size_t n_labelled, int standardise, karma_error *err) {
    label_sums sums = {target->value, (double)n_labelled, 0.0, 1.0};
    double mean, largest = 0.0, variance = 0.0;
    KARMA_TRY(karma_i_partition_sum(&mean, 1, split, add_to_mean, &sums, err));
    for (size_t i = 0; i < split->count; i++)
        if (!isnan(target->value[i])) largest = fmax(largest, fabs(target->value[i] - mean));
    KARMA_TRY(karma_i_ranks_largest(&largest, 1, split->ranks, err));
    if (!(largest <= MOST_DEVIATION))
        return karma_i_fail(err, KARMA_ERR_DATA,
                            "column '%s': its values are too large (%g from their mean); divide them by a constant",
                            target->column.name, largest);
    if (largest > 0.0 && largest < 1.0 / MOST_DEVIATION)
        return karma_i_fail(
            err, KARMA_ERR_DATA,
            "column '%s': its values are too close together (at most %g from their mean); multiply them by a constant",
            target->column.name, largest);
    double unit = karma_i_unit_of(largest);
    sums.mean = mean;
    sums.unit = unit;
    KARMA_TRY(karma_i_partition_sum(&variance, 1, split, add_to_variance, &sums, err));
    labels->shift = standardise ? mean : 0.0;
    labels->factor = standardise && variance > 0.0 ? unit / sqrt(variance) : 1.0;
    return KARMA_OK;
}

karma_status karma_auto_task(karma_task *out, size_t *n_distinct, const karma_table *table, size_t target,
                             karma_error *err) {
    size_t n = 0, n_labelled = 0;
    double *values = NULL;
    if (target >= table->n_targets) return karma_i_fail(err, KARMA_ERR_DATA, "the table has no target %zu", target);
    const karma_i_target *t = &table->targets[target];
    karma_i_partition split = karma_i_table_split(table);
    KARMA_TRY(distinct_values(&values, &n, &n_labelled, t, &split, err));
    int is_class = t->column.kind == KARMA_COLUMN_CATEGORY || looks_like_classes(values, n, n_labelled);
    *out = is_class ? KARMA_TASK_CLASSIFY : KARMA_TASK_REGRESS;
    if (n_distinct) *n_distinct = n;
    karma_i_free(values);
    return KARMA_OK;
}

static karma_status learn_numbers(karma_i_labels *labels, const karma_i_target *target, const karma_i_partition *split,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    size_t n = 0, n_labelled = 0;
    double *values = NULL;
    KARMA_TRY(distinct_values(&values, &n, &n_labelled, target, split, err));
    int classes = options->task == KARMA_TASK_CLASSIFY ||
                  (options->task == KARMA_TASK_AUTO && looks_like_classes(values, n, n_labelled));
    if (options->task == KARMA_TASK_AUTO && n > 2)
        karma_i_notice(hooks,
                       "column '%s' has %zu distinct numbers and is taken as %s; option 'task=%s' takes it as %s",
                       target->column.name, n, classes ? "classes" : "a quantity", classes ? "regress" : "classify",
                       classes ? "a quantity" : "classes");
    labels->task = classes ? KARMA_TASK_CLASSIFY : KARMA_TASK_REGRESS;
    karma_status st = classes ? classes_of_numbers(labels, target, values, n, err)
                              : learn_quantity(labels, target, split, n_labelled, options->standardise, err);
    karma_i_free(values);
    return st;
}

karma_status karma_i_labels_learn(karma_i_labels *out, const karma_i_target *target, const karma_i_partition *split,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_labels labels = {.task = KARMA_TASK_CLASSIFY, .factor = 1.0};
    karma_status st;
    if (target->column.kind == KARMA_COLUMN_NUMBER)
        st = learn_numbers(&labels, target, split, options, hooks, err);
    else if (options->task == KARMA_TASK_REGRESS)
        st = karma_i_fail(err, KARMA_ERR_DATA, "column '%s' holds categories, but a regression needs numbers",
                          target->column.name);
    else
        st = classes_of_texts(&labels, target, split, err);
    if (st == KARMA_OK && labels.task == KARMA_TASK_CLASSIFY) st = count_classes(&labels, target, split, err);
    if (st == KARMA_OK)
        *out = labels;
    else
        karma_i_labels_clear(&labels);
    return st;
}

/* Classes sorted by their lookup key. */
typedef struct class_entry {
    const char *text;
    double value;
    size_t class_index;
} class_entry;

static int by_text(const void *a, const void *b) {
    return strcmp(((const class_entry *)a)->text, ((const class_entry *)b)->text);
}

static int by_value_then_index(const void *a, const void *b) {
    const class_entry *x = a, *y = b;
    if (x->value != y->value) return x->value > y->value ? 1 : -1;
    return (x->class_index > y->class_index) - (x->class_index < y->class_index);
}

/* Sorts classes by text or, with `by_number`, those that are numbers by value. NULL: out of memory. */
static class_entry *index_classes(size_t *n_out, const karma_i_labels *labels, int by_number) {
    class_entry *entries = karma_i_alloc(labels->n_classes, sizeof *entries);
    size_t n = 0;
    for (size_t k = 0; entries && k < labels->n_classes; k++) {
        class_entry entry = {.text = labels->classes[k], .class_index = k};
        if (!by_number || karma_i_number_parse(&entry.value, entry.text, strlen(entry.text))) entries[n++] = entry;
    }
    if (entries && n > 1) qsort(entries, n, sizeof *entries, by_number ? by_value_then_index : by_text);
    *n_out = n;
    return entries;
}

static size_t find_text(const class_entry *entries, size_t n, const char *text, size_t none) {
    class_entry key = {.text = text};
    const class_entry *found = n ? bsearch(&key, entries, n, sizeof *entries, by_text) : NULL;
    return found ? found->class_index : none;
}

/* The first of the classes with this value. */
static size_t find_value(const class_entry *entries, size_t n, double value, size_t none) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entries[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && entries[low].value == value ? entries[low].class_index : none;
}

karma_status karma_i_labels_classes(size_t *out, const karma_i_labels *labels, const karma_i_target *target,
                                    size_t n_rows, karma_error *err) {
    const karma_i_column *column = &target->column;
    int by_number = column->kind == KARMA_COLUMN_NUMBER;
    size_t n = 0, none = labels->n_classes;
    class_entry *entries = index_classes(&n, labels, by_number);
    size_t *class_of_level = karma_i_alloc(column->n_levels, sizeof *class_of_level);
    karma_status st = entries && class_of_level ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t l = 0; st == KARMA_OK && !by_number && l < column->n_levels; l++)
        class_of_level[l] = find_text(entries, n, column->levels[l], none);
    for (size_t i = 0; st == KARMA_OK && i < n_rows; i++) {
        double value = target->value[i];
        out[i] = isnan(value) ? none : by_number ? find_value(entries, n, value, none) : class_of_level[(size_t)value];
    }
    karma_i_free(entries);
    karma_i_free(class_of_level);
    return st;
}

/* --- model files --------------------------------------------------------------------------------------- */

static karma_status check_classes(karma_i_archive *a, const karma_i_labels *labels) {
    size_t n;
    class_entry *entries = index_classes(&n, labels, 0);
    if (!entries) return karma_i_archive_fail_memory(a);
    int is_sound = n >= 2 && n <= MOST_CLASSES;
    for (size_t k = 1; k < n; k++) is_sound &= strcmp(entries[k - 1].text, entries[k].text) != 0;
    karma_i_free(entries);
    return is_sound ? KARMA_OK : karma_i_archive_fail(a, "its classes are too few or too many, or two are the same");
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
