/* Tables that are learned from. */
#include <unistd.h>

#include "tool.h"

enum { MOST_NOTICES = 8 };
/* Less needs no word. */
#define NOTEWORTHY_BYTES 1e9

/* What is likely to spoil a model; `karma inspect` shows the rest. */
static int is_serious(karma_finding_kind kind) {
    return kind == KARMA_FINDING_ID || kind == KARMA_FINDING_TEXT || kind == KARMA_FINDING_LEAK ||
           kind == KARMA_FINDING_SINGLE_CLASS || kind == KARMA_FINDING_UNITS;
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

/* What the run may take at most, in bytes: the table, encoded rows and kernel rows, of which --memory limits the last.
 */
static double estimate_bytes(const tool *t, const karma_table *table) {
    double n = (double)karma_table_n_rows(table), d = (double)karma_table_n_attributes(table);
    double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double limit = t->fit.memory == KARMA_AUTO ? machine / 4.0 : 1e9 * t->fit.memory, kernel = 4.0 * n * n;
    double encoded = 8.0 * n * d;
    if (encoded > 32.0 * (double)karma_table_n_observed(table)) encoded = 32.0 * (double)karma_table_n_observed(table);
    return 12.0 * (double)karma_table_n_observed(table) + encoded + (kernel < limit ? kernel : limit);
}

static void note_memory(const tool *t, const karma_table *table) {
    char sentence[200];
    double bytes = estimate_bytes(t, table);
    if (bytes < NOTEWORTHY_BYTES && !t->options.verbose) return;
    (void)snprintf(sentence, sizeof sentence,
                   "this may take up to about %.2g GB of memory; option 'memory' limits the part of kernel values",
                   bytes / 1e9);
    t->hooks.notice(t->hooks.payload, sentence);
}

karma_status read_to_learn(karma_table **out, const tool *t, karma_error *err) {
    karma_table *table = NULL;
    karma_status st = karma_table_read(&table, t->arguments[0], &t->read, &t->hooks, err);
    if (st == KARMA_OK && !t->options.quiet) st = note_findings(t, table, err);
    if (st == KARMA_OK && !t->options.quiet) note_memory(t, table);
    if (st == KARMA_OK)
        *out = table;
    else
        karma_table_free(table);
    return st;
}
