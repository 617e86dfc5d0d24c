/* Tables that are learned from. */
#include "tool.h"

enum { MOST_NOTICES = 8 };

/* What is likely to spoil a model; `karma inspect` shows the rest. */
static int is_serious(karma_finding_kind kind) {
    return kind == KARMA_FINDING_ID || kind == KARMA_FINDING_TEXT || kind == KARMA_FINDING_LEAK ||
           kind == KARMA_FINDING_SINGLE_CLASS;
}

static karma_status note_findings(const tool *t, const karma_table *table, karma_error *err) {
    karma_review review;
    size_t shown = 0;
    karma_status st = karma_table_review(&review, table, err);
    for (size_t k = 0; st == KARMA_OK && k < review.n_findings && shown < MOST_NOTICES; k++) {
        char sentence[400];
        if (!is_serious(review.findings[k].kind)) continue;
        (void)karma_finding_text(sentence, sizeof sentence, &review.findings[k], table);
        t->hooks.notice(t->hooks.payload, sentence);
        shown++;
    }
    if (st == KARMA_OK) karma_review_clear(&review);
    return st;
}

karma_status read_to_learn(karma_table **out, const tool *t, karma_error *err) {
    karma_table *table = NULL;
    karma_status st = karma_table_read(&table, t->arguments[0], &t->read, &t->hooks, err);
    if (st == KARMA_OK && !t->options.quiet) st = note_findings(t, table, err);
    if (st == KARMA_OK)
        *out = table;
    else
        karma_table_free(table);
    return st;
}
