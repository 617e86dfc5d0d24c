/* Tables that are learned from. */
#include <string.h>
#include <unistd.h>

#include "report_page.h"

enum { MOST_NOTICES = 8 };

/* Findings that are likely to spoil a model have a notice each; the others share one. */
static int is_serious(karma_finding_kind kind) {
    switch (kind) {
    case KARMA_FINDING_ID:
    case KARMA_FINDING_TEXT:
    case KARMA_FINDING_LEAK:
    case KARMA_FINDING_SINGLE_CLASS:
    case KARMA_FINDING_CLASS_NUMBERS:
    case KARMA_FINDING_UNITS:
    case KARMA_FINDING_CLASS_SPELLINGS:
    case KARMA_FINDING_TOTAL:
    case KARMA_FINDING_CODE:
    case KARMA_FINDING_DATES:
    case KARMA_FINDING_HEADER:
    case KARMA_FINDING_DURATIONS:
    case KARMA_FINDING_PAIRS:
    case KARMA_FINDING_CLASS_MARK:
    case KARMA_FINDING_LABEL_CODE:
    case KARMA_FINDING_NAMES:
        return 1;
    case KARMA_FINDING_ONE_CLASS: /* the learner refuses it */
    case KARMA_FINDING_EMPTY:     /* the learner says so */
    case KARMA_FINDING_NO_LABEL:  /* and so it does here */
    case KARMA_FINDING_EMPTY_ROWS:
    case KARMA_FINDING_NUMBERS: /* the reader does */
    case KARMA_FINDING_CONSTANT:
    case KARMA_FINDING_COPY:
    case KARMA_FINDING_PART_COPY:
    case KARMA_FINDING_TELLING_HOLES:
    case KARMA_FINDING_SPELLINGS:
    case KARMA_FINDING_MARK:
    case KARMA_FINDING_STEPS:
        break;
    }
    return 0;
}

/* "constant columns: 'a', 'b' and 3 more" of all findings of one or two kinds. */
static void list_columns(char *out, size_t size, const char *title, const karma_review *review,
                         const karma_table *table, karma_finding_kind kind, karma_finding_kind twin) {
    enum { MOST_NAMES = 3 };
    size_t n = 0, used = strlen(out);
    for (size_t k = 0; k < review->n_findings && used < size; k++) {
        if (review->findings[k].kind != kind && review->findings[k].kind != twin) continue;
        if (n == 0) used += (size_t)snprintf(out + used, size - used, "%s%s ", used ? "; " : "", title);
        if (n++ < MOST_NAMES && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s'%.40s'", n > 1 ? ", " : "",
                                     karma_table_attribute_name(table, review->findings[k].column));
    }
    if (n > MOST_NAMES && used < size) (void)snprintf(out + used, size - used, " and %zu more", n - MOST_NAMES);
}

/* One line for minor findings: karma inspect has the sentences. */
static void note_rest(const tool *t, const karma_review *review, const karma_table *table) {
    char list[700] = "", sentence[800];
    list_columns(list, sizeof list, "constant:", review, table, KARMA_FINDING_CONSTANT, KARMA_FINDING_CONSTANT);
    list_columns(list, sizeof list, "copies of other columns:", review, table, KARMA_FINDING_COPY,
                 KARMA_FINDING_PART_COPY);
    list_columns(list, sizeof list, "missing values that go with the target:", review, table,
                 KARMA_FINDING_TELLING_HOLES, KARMA_FINDING_TELLING_HOLES);
    list_columns(list, sizeof list, "categories that may mean the same:", review, table, KARMA_FINDING_SPELLINGS,
                 KARMA_FINDING_SPELLINGS);
    list_columns(list, sizeof list, "a dash or points as a category:", review, table, KARMA_FINDING_MARK,
                 KARMA_FINDING_MARK);
    list_columns(list, sizeof list, "categories that may have an order (--ordered):", review, table,
                 KARMA_FINDING_STEPS, KARMA_FINDING_STEPS);
    if (!*list) return;
    (void)snprintf(sentence, sizeof sentence, "columns worth a look (karma inspect shows more): %s", list);
    note_beside_page(t, sentence);
}

static karma_status note_findings(const tool *t, const karma_table *table, karma_error *err) {
    karma_review review;
    size_t shown = 0;
    karma_status st = karma_table_review(&review, table, err);
    for (size_t k = 0; st == KARMA_OK && k < review.n_findings && shown < MOST_NOTICES; k++) {
        char sentence[400];
        if (!is_serious(review.findings[k].kind)) continue;
        (void)karma_finding_text(sentence, sizeof sentence, &review.findings[k], table);
        note_beside_page(t, sentence);
        shown++;
    }
    if (st != KARMA_OK) return st;
    note_rest(t, &review, table);
    karma_review_clear(&review);
    return KARMA_OK;
}

karma_status read_to_learn(karma_table **out, const tool *t, karma_error *err) {
    karma_table *table = NULL;
    if (is_together(t)) return karma_table_read_split(out, t->arguments[0], &t->read, t->ranks, &t->hooks, err);
    karma_status st = karma_table_read(&table, t->arguments[0], &t->read, &t->hooks, err);
    if (st == KARMA_OK && !t->options.quiet) st = note_findings(t, table, err);
    if (st == KARMA_OK)
        *out = table;
    else
        karma_table_free(table);
    return st;
}
