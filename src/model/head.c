#include "model/head.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"

enum { MOST_QUANTILES = 99 };

void karma_i_head_clear(karma_i_head *head) {
    karma_i_free(head->name);
    karma_i_labels_clear(&head->labels);
    karma_i_free(head->quantiles);
    karma_i_calibration_clear(&head->calibration);
    karma_i_certainty_clear(&head->certainty);
    *head = (karma_i_head){0};
}

size_t karma_i_head_count_outputs(const karma_i_head *head) {
    if (head->labels.task == KARMA_TASK_CLASSIFY) return head->labels.n_classes > 2 ? head->labels.n_classes : 1;
    return head->n_quantiles ? head->n_quantiles : 1;
}

size_t karma_i_head_n_values(const karma_i_head *head) {
    size_t n = karma_i_head_count_outputs(head);
    return head->labels.task == KARMA_TASK_CLASSIFY ? head->labels.n_classes + 1 : n + (n > 1);
}

/* --- quantiles ----------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static karma_status fail_quantiles(const char *text, karma_error *err) {
    return karma_i_fail(
        err, KARMA_ERR_OPTION,
        "option 'quantile' takes up to %d different numbers between 0 and 1, separated by commas; it cannot be '%s'",
        MOST_QUANTILES, text);
}

karma_status karma_i_quantiles_parse(double **out, size_t *n_out, const karma_fit_options *options, karma_error *err) {
    const char *text = options->quantile ? options->quantile : "0.5";
    double values[MOST_QUANTILES + 1];
    size_t n = 0;
    int has_median = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (n == MOST_QUANTILES || !karma_i_number_parse(&values[n], at, length) ||
            !(values[n] >= 1e-6 && values[n] <= 1.0 - 1e-6))
            return fail_quantiles(text, err);
        has_median |= values[n++] == 0.5;
        at += length;
        if (!*at) break;
    }
    if (n > 1 && !has_median) values[n++] = 0.5; /* the prediction: an outer quantile would be a poor one */
    qsort(values, n, sizeof *values, by_value);
    for (size_t i = 1; i < n; i++)
        if (values[i] == values[i - 1]) return fail_quantiles(text, err);
    double *copy = karma_i_alloc(n, sizeof *copy);
    if (!copy) return karma_i_fail_memory(err);
    memcpy(copy, values, n * sizeof *copy);
    *out = copy;
    *n_out = n;
    return KARMA_OK;
}

/* --- learning ------------------------------------------------------------------------------------------ */

/* The sum and the number of the labels. */
static void add_labels(double *sums, const void *payload, size_t first, size_t end) {
    const double *value = payload;
    for (size_t i = first; i < end; i++)
        if (!isnan(value[i])) sums[0] += value[i], sums[1] += 1.0;
}

typedef struct large_labels {
    const double *value;
    double n;
} large_labels;

/* The mean of labels whose sum would overflow. */
static void add_shares(double *mean, const void *payload, size_t first, size_t end) {
    const large_labels *labels = payload;
    for (size_t i = first; i < end; i++)
        if (!isnan(labels->value[i])) *mean += labels->value[i] / labels->n;
}

static karma_status mean_label(double *out, const karma_i_target *target, const karma_i_partition *split,
                               karma_error *err) {
    double sums[2];
    KARMA_TRY(karma_i_partition_sum(sums, 2, split, add_labels, target->value, err));
    *out = sums[0] / sums[1];
    if (isfinite(sums[0])) return KARMA_OK;
    return karma_i_partition_sum(out, 1, split, add_shares, &(large_labels){target->value, sums[1]}, err);
}

karma_status karma_i_head_learn(karma_i_head *out, const karma_i_target *target, const karma_i_partition *split,
                                const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_head head = {.name = karma_i_strdup(target->column.name)};
    karma_i_loss loss;
    karma_status st =
        head.name ? karma_i_labels_learn(&head.labels, target, split, options, hooks, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_loss_make(&loss, head.labels.task, options, 0.5, err);
    if (st == KARMA_OK) head.loss = loss.kind;
    if (st == KARMA_OK && head.labels.task == KARMA_TASK_REGRESS) st = mean_label(&head.mean, target, split, err);
    if (st == KARMA_OK && head.loss == KARMA_LOSS_PINBALL)
        st = karma_i_quantiles_parse(&head.quantiles, &head.n_quantiles, options, err);
    head.n_outputs = karma_i_head_count_outputs(&head);
    if (st == KARMA_OK)
        *out = head;
    else
        karma_i_head_clear(&head);
    return st;
}

karma_status karma_i_head_copy(karma_i_head *out, const karma_i_head *head, karma_error *err) {
    karma_i_head copy = *head;
    copy.calibration = (karma_i_calibration){0};
    copy.certainty = (karma_i_certainty){0};
    copy.labels = (karma_i_labels){0};
    copy.name = karma_i_strdup(head->name);
    copy.quantiles = karma_i_alloc(head->n_quantiles, sizeof *copy.quantiles);
    karma_status st =
        copy.name && copy.quantiles ? karma_i_labels_copy(&copy.labels, &head->labels, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        if (head->n_quantiles) memcpy(copy.quantiles, head->quantiles, head->n_quantiles * sizeof *copy.quantiles);
        *out = copy;
    } else
        karma_i_head_clear(&copy);
    return st;
}

karma_status karma_i_head_relearn(karma_i_head *head, const karma_i_target *target, const karma_i_partition *split,
                                  const karma_fit_options *options, karma_error *err) {
    size_t n_labelled = 0;
    if (head->labels.task == KARMA_TASK_CLASSIFY) return karma_i_labels_count(&head->labels, target, split, err);
    for (size_t i = 0; i < split->count; i++) n_labelled += isnan(target->value[i]) ? 0 : 1;
    KARMA_TRY(karma_i_ranks_add(&n_labelled, 1, split->ranks, err));
    if (n_labelled == 0) return KARMA_OK;
    karma_i_labels labels = {0};
    karma_fit_options as_numbers = *options; /* borrows its texts; few rows may look like classes */
    as_numbers.task = KARMA_TASK_REGRESS;
    KARMA_TRY(karma_i_labels_learn(&labels, target, split, &as_numbers, NULL, err));
    head->labels.shift = labels.shift;
    head->labels.factor = labels.factor;
    karma_i_labels_clear(&labels);
    return mean_label(&head->mean, target, split, err);
}

karma_status karma_i_head_losses(karma_i_loss *losses, const karma_i_head *head, const karma_fit_options *options,
                                 karma_error *err) {
    karma_fit_options own = *options; /* borrows its texts */
    own.loss = (int)head->loss;
    for (size_t o = 0; o < head->n_outputs; o++)
        KARMA_TRY(
            karma_i_loss_make(&losses[o], head->labels.task, &own, head->n_quantiles ? head->quantiles[o] : 0.5, err));
    return KARMA_OK;
}

/* --- class weights ------------------------------------------------------------------------------------- */

static size_t find_class(const karma_i_labels *labels, const char *name, size_t length) {
    size_t k = 0;
    while (k < labels->n_classes &&
           (strlen(labels->classes[k]) != length || memcmp(labels->classes[k], name, length) != 0))
        k++;
    return k;
}

/* One "CLASS=WEIGHT". */
static karma_status set_class_weight(double *class_weights, const karma_i_head *head, const char *item, size_t length,
                                     karma_error *err) {
    size_t equals = length;
    double weight = 0.0;
    while (equals > 0 && item[equals - 1] != '=') equals--;
    if (equals == 0 || !karma_i_number_parse(&weight, item + equals, length - equals) ||
        !(weight >= 0.0 && weight <= 1e12))
        return karma_i_fail(
            err, KARMA_ERR_OPTION,
            "option 'class-weight' takes balanced or CLASS=WEIGHT,... with weights from 0 to 1e12; it cannot be '%.*s'",
            (int)length, item);
    size_t k = find_class(&head->labels, item, equals - 1);
    if (k < head->labels.n_classes) class_weights[k] = weight; /* otherwise it belongs to another target */
    return KARMA_OK;
}

karma_status karma_i_check_class_weights(const karma_i_head *heads, size_t n_heads, const karma_fit_options *options,
                                         karma_error *err) {
    if (!options->class_weight || strcmp(options->class_weight, "balanced") == 0) return KARMA_OK;
    for (const char *at = options->class_weight; *at; at += *at != '\0') {
        size_t length = strcspn(at, ","), name = length;
        int known = 0;
        while (name > 0 && at[name - 1] != '=') name--;
        for (size_t t = 0; name > 0 && t < n_heads; t++)
            known |= find_class(&heads[t].labels, at, name - 1) < heads[t].labels.n_classes;
        if (name > 0 && !known)
            return karma_i_fail(err, KARMA_ERR_OPTION, "option 'class-weight': column '%s' has no class '%.*s'",
                                heads[0].name, (int)(name - 1), at);
        at += length;
    }
    return KARMA_OK;
}

karma_status karma_i_head_class_weights(double *class_weights, const karma_i_head *head,
                                        const karma_fit_options *options, karma_error *err) {
    const karma_i_labels *labels = &head->labels;
    double n = 0.0, some = 0.0;
    for (size_t k = 0; k < labels->n_classes; k++) {
        class_weights[k] = 1.0;
        n += (double)labels->class_count[k];
    }
    if (!options->class_weight) return KARMA_OK;
    if (strcmp(options->class_weight, "balanced") == 0) {
        for (size_t k = 0; k < labels->n_classes; k++)
            class_weights[k] = n / ((double)labels->n_classes * fmax(1.0, (double)labels->class_count[k]));
        return KARMA_OK;
    }
    for (const char *at = options->class_weight; *at; at += *at != '\0') {
        size_t length = strcspn(at, ",");
        KARMA_TRY(set_class_weight(class_weights, head, at, length, err));
        at += length;
    }
    for (size_t k = 0; k < labels->n_classes; k++) some += class_weights[k];
    return some > 0.0 ? KARMA_OK
                      : karma_i_fail(err, KARMA_ERR_OPTION, "option 'class-weight': every class has weight 0");
}

/* --- targets ------------------------------------------------------------------------------------------- */

static double weight_of_row(const karma_i_labelled *rows, size_t i) {
    return rows->weights ? rows->weights[i] : 1.0;
}

static void number_targets(double *targets, double *weights, size_t stride, const karma_i_head *head,
                           const karma_i_labelled *rows) {
    const double *value = rows->target->value;
    for (size_t i = 0; i < rows->n; i++)
        for (size_t o = head->first_output; o < head->first_output + head->n_outputs; o++) {
            int known = !isnan(value[i]);
            targets[i * stride + o] = known ? (value[i] - head->labels.shift) * head->labels.factor : 0.0;
            weights[i * stride + o] = known ? weight_of_row(rows, i) : 0.0;
        }
}

static void class_targets(double *targets, double *weights, size_t stride, const karma_i_head *head,
                          const size_t *classes, const double *class_weights, const karma_i_labelled *rows) {
    for (size_t i = 0; i < rows->n; i++)
        for (size_t k = 0; k < head->n_outputs; k++) {
            size_t at = i * stride + head->first_output + k;
            int known = classes[i] < head->labels.n_classes;
            targets[at] = classes[i] == (head->n_outputs == 1 ? 1 : k) ? 1.0 : -1.0;
            weights[at] = known ? class_weights[classes[i]] * weight_of_row(rows, i) : 0.0;
        }
}

karma_status karma_i_head_targets(double *targets, double *weights, size_t stride, const karma_i_head *head,
                                  const karma_i_labelled *rows, const karma_fit_options *options, karma_error *err) {
    if (head->labels.task == KARMA_TASK_REGRESS) {
        number_targets(targets, weights, stride, head, rows);
        return KARMA_OK;
    }
    size_t *classes = karma_i_alloc(rows->n, sizeof *classes);
    double *class_weights = karma_i_alloc(head->labels.n_classes, sizeof *class_weights);
    karma_status st = classes && class_weights
                          ? karma_i_labels_classes(classes, &head->labels, rows->target, rows->n, err)
                          : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_head_class_weights(class_weights, head, options, err);
    if (st == KARMA_OK) class_targets(targets, weights, stride, head, classes, class_weights, rows);
    karma_i_free(classes);
    karma_i_free(class_weights);
    return st;
}

/* --- model files --------------------------------------------------------------------------------------- */

static karma_status archive_loss(karma_i_archive *a, karma_i_head *head) {
    const char *words[KARMA_N_LOSSES] = {0};
    int loss = (int)head->loss;
    for (int kind = KARMA_LOSS_AUTO + 1; kind < KARMA_N_LOSSES; kind++)
        words[kind] = karma_i_loss_name((karma_loss_kind)kind);
    KARMA_TRY(karma_i_archive_word(a, "loss", &loss, words, KARMA_N_LOSSES));
    if (karma_i_archive_is_reading(a)) head->loss = (karma_loss_kind)loss;
    return KARMA_OK;
}

static karma_status archive_quantiles(karma_i_archive *a, karma_i_head *head) {
    KARMA_TRY(karma_i_archive_length(a, "quantiles", &head->n_quantiles));
    KARMA_TRY(karma_i_archive_f64(a, "quantiles", &head->quantiles, karma_i_vector_shape(head->n_quantiles), 1.0));
    if (head->n_quantiles == 0) return karma_i_archive_fail(a, "its quantiles are missing");
    for (size_t q = 0; q < head->n_quantiles; q++)
        if (!(head->quantiles[q] > (q ? head->quantiles[q - 1] : 0.0) && head->quantiles[q] < 1.0))
            return karma_i_archive_fail(a, "its quantiles are not in order");
    return KARMA_OK;
}

karma_status karma_i_head_archive(karma_i_archive *a, karma_i_head *head) {
    KARMA_TRY(karma_i_archive_text(a, "name", &head->name));
    KARMA_TRY(karma_i_labels_archive(a, &head->labels));
    KARMA_TRY(archive_loss(a, head));
    if (head->labels.task == KARMA_TASK_CLASSIFY) {
        KARMA_TRY(karma_i_calibration_archive(a, &head->calibration, head->labels.n_classes));
    } else {
        KARMA_TRY(karma_i_archive_number(a, "mean", &head->mean, -DBL_MAX, DBL_MAX));
        if (head->loss == KARMA_LOSS_PINBALL) KARMA_TRY(archive_quantiles(a, head));
    }
    return karma_i_certainty_archive(a, &head->certainty, karma_i_head_n_values(head), head->labels.n_classes);
}
