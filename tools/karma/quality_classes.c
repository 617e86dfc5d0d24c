/* Quality of a classifier: ROC and precision-recall curves, calibration, confusion matrix, numbers by class. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quality.h"

enum { MOST_POINTS = 200, MOST_CURVES = FIGURE_COLOURS, N_BINS = 10, MOST_CLASSES = 50, MOST_COUNTED = 12 };

/* --- curves -------------------------------------------------------------------------------------------- */

typedef struct scored {
    double score;
    int is_positive;
} scored;

static int by_score(const void *a, const void *b) {
    double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return (x < y) - (x > y);
}

/* Curves of one class against the others, at every distinct score, thinned to what a figure can show. */
typedef struct curves {
    size_t class, n_positive;
    size_t n;
    double fpr[MOST_POINTS + 2], recall[MOST_POINTS + 2], precision[MOST_POINTS + 2];
    double auc, average_precision;
} curves;

static void add_curve_point(curves *c, size_t tp, size_t fp, size_t n_negative) {
    c->fpr[c->n] = n_negative ? (double)fp / (double)n_negative : 0.0;
    c->recall[c->n] = c->n_positive ? (double)tp / (double)c->n_positive : 0.0;
    c->precision[c->n] = tp + fp ? (double)tp / (double)(tp + fp) : 1.0;
    c->n++;
}

/* AUC = share of pairs in order, ties half; average precision = sum of precision over steps of recall. */
static void trace(curves *c, scored *rows, size_t n) {
    size_t tp = 0, fp = 0, last = 0, n_negative = n - c->n_positive;
    double area = 0.0;
    c->n = 0;
    c->average_precision = 0.0;
    qsort(rows, n, sizeof *rows, by_score);
    add_curve_point(c, 0, 0, n_negative);
    for (size_t i = 0; i < n;) {
        size_t old_tp = tp, old_fp = fp;
        double score = rows[i].score;
        for (; i < n && rows[i].score == score; i++) {
            tp += rows[i].is_positive != 0;
            fp += rows[i].is_positive == 0;
        }
        area += (double)(fp - old_fp) * ((double)tp + (double)old_tp) / 2.0;
        if (c->n_positive)
            c->average_precision += (double)(tp - old_tp) / (double)c->n_positive * (double)tp / (double)(tp + fp);
        if (i == n || (i - last) * MOST_POINTS >= n) {
            add_curve_point(c, tp, fp, n_negative);
            last = i;
        }
    }
    c->auc = c->n_positive && n_negative ? area / ((double)c->n_positive * (double)n_negative) : NAN;
}

static void trace_class(curves *c, const outcome *o, size_t k, scored *rows) {
    c->class = k;
    c->n_positive = 0;
    for (size_t i = 0; i < o->n_rows; i++) {
        rows[i] = (scored){o->likely[i * o->n_classes + k], o->truth[i] == (double)k};
        c->n_positive += rows[i].is_positive != 0;
    }
    trace(c, rows, o->n_rows);
}

static void draw_roc(report *r, const outcome *o, const curves *c, size_t n, const char *const *names) {
    figure f;
    figure_begin(
        &f, &r->page,
        &(figure_spec){.title = "ROC curve",
                       .caption =
                           n > 1 && n < o->n_classes
                               ? "The classes with most rows, each against all others; the closer to the upper left "
                                 "corner, the better. The table by class has the area under each curve."
                           : n > 1 ? "Each class against all others; the closer to the upper left corner, the better."
                                   : "The closer to the upper left corner, the better; the dashed line is guessing.",
                       .x = {.label = "false positive rate", .high = 1.0},
                       .y = {.label = "true positive rate", .high = 1.0},
                       .series = names,
                       .n_series = n});
    figure_diagonal(&f);
    for (size_t i = 0; i < n; i++) figure_line(&f, i, c[i].fpr, c[i].recall, c[i].n, LINE_PLAIN);
    figure_end(&f);
    figure_begin(
        &f, &r->page,
        &(figure_spec){
            .title = "Precision and recall",
            .caption =
                "The share of true positives among the rows predicted positive, by the share of positives found.",
            .x = {.label = "recall", .high = 1.0},
            .y = {.label = "precision", .high = 1.0},
            .series = names,
            .n_series = n});
    if (n == 1) figure_rule_below(&f, (double)c[0].n_positive / (double)o->n_rows, "guessing");
    for (size_t i = 0; i < n; i++) figure_line(&f, i, c[i].recall + 1, c[i].precision + 1, c[i].n - 1, LINE_STEPS);
    figure_end(&f);
}

/* The classes with most rows. For two classes one curve is enough: that of the second. */
static size_t choose_classes(size_t chosen[MOST_CURVES], const size_t *counts, size_t K) {
    size_t n = 0;
    if (K == 2) {
        chosen[0] = 1;
        return 1;
    }
    while (n < MOST_CURVES && n < K) {
        size_t best = K;
        for (size_t k = 0; k < K; k++) {
            int is_taken = 0;
            for (size_t i = 0; i < n; i++) is_taken |= chosen[i] == k;
            if (!is_taken && (best == K || counts[k] > counts[best])) best = k;
        }
        chosen[n++] = best;
    }
    return n;
}

static void draw_curves(report *r, const outcome *o, const size_t *counts, curves *c, scored *rows) {
    size_t chosen[MOST_CURVES], n = choose_classes(chosen, counts, o->n_classes), n_seen = 0;
    const char *names[MOST_CURVES];
    for (size_t k = 0; k < o->n_classes; k++) n_seen += counts[k] > 0;
    if (n_seen < 2) {
        page_paragraph(&r->page, "Every row has the class %s, so there is no ROC curve and no AUC.",
                       o->classes[(size_t)o->truth[0]]);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        trace_class(&c[i], o, chosen[i], rows);
        names[i] = o->classes[chosen[i]];
    }
    if (n == 1)
        page_paragraph(&r->page, "AUC %.3f; average precision %.3f for %s, the class of %.1f%% of the rows.", c[0].auc,
                       c[0].average_precision, o->classes[1], 100.0 * (double)c[0].n_positive / (double)o->n_rows);
    draw_roc(r, o, c, n, names);
}

/* --- calibration --------------------------------------------------------------------------------------- */

/* The probability that is judged: of two classes that of the second, else that of the answer. */
static double judged_probability(const outcome *o, size_t i, int *is_right) {
    size_t K = o->n_classes, k = K == 2 ? 1 : (size_t)o->answer[i];
    *is_right = o->truth[i] == (double)k;
    return o->likely[i * K + k];
}

static void draw_calibration(report *r, const outcome *o) {
    size_t n[N_BINS] = {0}, right[N_BINS] = {0};
    double sum[N_BINS] = {0};
    char text[40];
    for (size_t i = 0; i < o->n_rows; i++) {
        int is_right;
        double p = judged_probability(o, i, &is_right);
        size_t b = (size_t)fmin(N_BINS - 1.0, fmax(0.0, p * N_BINS));
        n[b]++;
        right[b] += is_right != 0;
        sum[b] += p;
    }
    figure f;
    figure_begin(&f, &r->page,
                 &(figure_spec){.title = "Calibration",
                                .caption = o->n_classes == 2
                                               ? "How often the class occurred, by its predicted probability. On the "
                                                 "dashed line both agree; lines are standard errors."
                                               : "How often the prediction was right, by its probability. On the "
                                                 "dashed line both agree; lines are standard errors.",
                                .x = {.label = "probability given", .high = 1.0},
                                .y = {.label = "share that occurred", .high = 1.0},
                                .extra = "rows"});
    figure_diagonal(&f);
    for (size_t b = 0; b < N_BINS; b++) {
        if (n[b] == 0) continue;
        double m = (double)n[b], share = (double)right[b] / m;
        (void)snprintf(text, sizeof text, "%zu", n[b]);
        figure_error(&f, 0, sum[b] / m, share, sqrt(share * (1.0 - share) / m));
        figure_point(&f, 0, sum[b] / m, share, text);
    }
    figure_end(&f);
}

/* --- confusion ----------------------------------------------------------------------------------------- */

static void draw_confusion(report *r, const outcome *o, const size_t *confusion, const size_t *counts) {
    size_t K = o->n_classes, n = K < MOST_CLASSES ? K : MOST_CLASSES;
    double size = fmin(900.0, fmax(400.0, 140.0 + 34.0 * (double)n));
    if (n > MOST_COUNTED) size = fmin(720.0, 160.0 + 14.0 * (double)n);
    figure f;
    figure_begin(
        &f, &r->page,
        &(figure_spec){
            .title = "Confusion matrix",
            .caption = K > n ? "The first 50 classes. Colour: share of the rows of the true class."
                             : "Rows are the true classes, columns the predictions. Colour: share of the rows of the "
                               "true class.",
            .x = {.label = "prediction", .kind = AXIS_BANDS, .bands = o->classes, .n_bands = n},
            .y = {.label = "truth", .kind = AXIS_BANDS, .bands = o->classes, .n_bands = n},
            .extra = "rows",
            .width = size,
            .height = size * 0.85});
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            char text[40], value[80];
            size_t count = confusion[i * K + k];
            if (count == 0 && n > MOST_COUNTED) continue;
            double share = counts[i] ? (double)count / (double)counts[i] : 0.0;
            (void)snprintf(text, sizeof text, "%zu", count);
            (void)snprintf(value, sizeof value, "%zu (%.1f%%)", count, 100.0 * share);
            figure_cell(&f, k, i, share, text, value);
        }
    figure_end(&f);
}

static void write_classes(report *r, const outcome *o, const size_t *confusion, const size_t *counts, curves *c,
                          scored *rows) {
    static const table_column columns[] = {{"class", 0}, {"rows", 1}, {"recall", 1}, {"precision", 1}, {"AUC", 1}};
    size_t K = o->n_classes;
    page_table_begin(&r->page, "By class", columns, 5);
    for (size_t k = 0; k < K; k++) {
        size_t called = 0;
        for (size_t i = 0; i < K; i++) called += confusion[i * K + k];
        double hits = (double)confusion[k * K + k], recall = hits / (double)counts[k],
               precision = hits / (double)called;
        trace_class(c, o, k, rows);
        page_table_line(&r->page);
        page_cell(&r->page, "%s", o->classes[k]);
        page_number(&r->page, (double)counts[k], "%zu", counts[k]);
        page_number(&r->page, recall, isfinite(recall) ? "%.1f%%" : "", 100.0 * recall);
        page_number(&r->page, precision, isfinite(precision) ? "%.1f%%" : "", 100.0 * precision);
        page_number(&r->page, c->auc, isfinite(c->auc) ? "%.3f" : "", c->auc);
    }
    page_table_end(&r->page);
}

karma_status write_class_quality(report *r, const outcome *o, karma_error *err) {
    size_t K = o->n_classes;
    size_t *confusion = calloc(K * K, sizeof *confusion), *counts = calloc(K, sizeof *counts);
    curves *c = malloc(MOST_CURVES * sizeof *c);
    scored *rows = malloc((o->n_rows + 1) * sizeof *rows);
    int ok = confusion && counts && c && rows;
    for (size_t i = 0; ok && i < o->n_rows; i++) {
        confusion[(size_t)o->truth[i] * K + (size_t)o->answer[i]]++;
        counts[(size_t)o->truth[i]]++;
    }
    if (ok) {
        draw_curves(r, o, counts, c, rows);
        if (o->has_probabilities) draw_calibration(r, o);
        draw_confusion(r, o, confusion, counts);
        if (!o->has_probabilities)
            page_paragraph(&r->page, "The model gives no probabilities, so there is no calibration to show; train with "
                                     "--probabilities sigmoid to have them.");
        write_classes(r, o, confusion, counts, c, rows);
    }
    free(confusion);
    free(counts);
    free(c);
    free(rows);
    return ok ? KARMA_OK : out_of_memory(err);
}
