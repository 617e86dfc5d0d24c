/* The table of classes against predictions if it fits the terminal, or else the most common mistakes. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

/* Columns of the screen. Without a terminal, and on one that is wide enough, a table has the usual widths. */
enum { NAME = 20, CLASS = 10, RECALL = 10, LEAST_NAME = 12, LEAST_CLASS = 5, LEAST_RECALL = 7, MARGIN = 2 };
enum { MOST_CLASSES = 12, MOST_MISTAKES = 10 };

typedef struct confusion_view {
    const karma_model *model;
    const karma_metrics *metrics;
    size_t target, name, class, recall; /* the widths */
} confusion_view;

/* Classes that the model does not know are the last row. */
static const char *truth_name(const confusion_view *v, size_t i) {
    return i < v->metrics->n_classes ? karma_model_class(v->model, v->target, i) : "(never seen)";
}

static size_t longest_name(const confusion_view *v) {
    size_t longest = 0;
    for (size_t k = 0; k < v->metrics->n_classes; k++) {
        size_t own = screen_width(karma_model_class(v->model, v->target, k));
        if (own > longest) longest = own;
    }
    return longest;
}

static size_t digits_of_counts(const karma_metrics *m) {
    size_t most = 0, digits = 1;
    for (size_t i = 0; i < (m->n_classes + 1) * m->n_classes; i++)
        if (m->confusion[i] > most) most = m->confusion[i];
    for (; most >= 10; most /= 10) digits++;
    return digits;
}

/* Chooses the widths. False: the table does not fit. */
static int fits(confusion_view *v) {
    size_t K = v->metrics->n_classes, screen = terminal_width(STDOUT_FILENO);
    if (K > MOST_CLASSES) return 0;
    if (screen == 0 || MARGIN + v->name + K * (v->class + 1) + 1 + v->recall <= screen) return 1;
    size_t longest = longest_name(v), digits = digits_of_counts(v->metrics);
    v->name = longest < LEAST_NAME ? LEAST_NAME : longest < NAME ? longest : NAME;
    v->recall = LEAST_RECALL;
    size_t others = MARGIN + v->name + 1 + v->recall, least = digits < LEAST_CLASS ? LEAST_CLASS : digits;
    if (screen < others + K * (least + 1)) return 0;
    v->class = (screen - others) / K - 1;
    if (v->class > CLASS) v->class = CLASS;
    return 1;
}

static void print_table(const confusion_view *v) {
    const karma_metrics *m = v->metrics;
    size_t K = m->n_classes;
    char text[16];
    fputs("\n  ", stdout);
    print_field(v->name >= NAME ? "truth \\ prediction" : "truth", v->name);
    for (size_t k = 0; k < K; k++) {
        putchar(' ');
        print_field_right(truth_name(v, k), v->class);
    }
    printf(" %*s\n", (int)v->recall, "recall");
    for (size_t i = 0; i <= K; i++) {
        size_t total = 0;
        for (size_t k = 0; k < K; k++) total += m->confusion[i * K + k];
        if (i == K && total == 0) break;
        fputs("  ", stdout);
        print_field(truth_name(v, i), v->name);
        for (size_t k = 0; k < K; k++) printf(" %*zu", (int)v->class, m->confusion[i * K + k]);
        printf(" %*s\n", (int)v->recall,
               percent(text, i < K && total ? (double)m->confusion[i * K + i] / (double)total : NAN));
    }
}

typedef struct mistake {
    size_t truth, prediction, count;
} mistake;

/* The most common ones, in order of their counts and then of the classes; how many there are. */
static size_t find_mistakes(mistake found[MOST_MISTAKES], const karma_metrics *m) {
    size_t K = m->n_classes, n = 0;
    for (size_t i = 0; i <= K; i++)
        for (size_t k = 0; k < K; k++) {
            size_t count = m->confusion[i * K + k], at = n < MOST_MISTAKES ? n : MOST_MISTAKES;
            if (i == k || count == 0) continue;
            while (at > 0 && count > found[at - 1].count) at--;
            if (at == MOST_MISTAKES) continue;
            if (n < MOST_MISTAKES) n++;
            memmove(&found[at + 1], &found[at], (n - 1 - at) * sizeof *found);
            found[at] = (mistake){i, k, count};
        }
    return n;
}

static void print_mistakes(const confusion_view *v) {
    mistake found[MOST_MISTAKES];
    enum { BESIDE = MARGIN + 2 + 8 };
    size_t n = find_mistakes(found, v->metrics), screen = terminal_width(STDOUT_FILENO);
    size_t width = screen && screen < BESIDE + 2 * (NAME + 4) ? (screen - BESIDE) / 2 : NAME + 4;
    if (n == 0) return;
    printf("\n  The most common mistakes (--json has the whole table of %zu classes):\n  ", v->metrics->n_classes);
    print_field("truth", width);
    fputs("  ", stdout);
    print_field("was predicted as", width);
    printf("%8s\n", "rows");
    for (size_t i = 0; i < n; i++) {
        fputs("  ", stdout);
        print_field(truth_name(v, found[i].truth), width);
        fputs("  ", stdout);
        print_field(truth_name(v, found[i].prediction), width);
        printf("%8zu\n", found[i].count);
    }
}

void print_confusion(const karma_model *model, size_t target, const karma_metrics *m) {
    confusion_view v = {model, m, target, NAME, CLASS, RECALL};
    if (fits(&v))
        print_table(&v);
    else
        print_mistakes(&v);
}
