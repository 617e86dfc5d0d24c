/* Tables that are learned from. */
#include <stdlib.h>

#include "tool.h"

/* Texts of a column from which on they may be names, and what share of its cells they then are. */
enum { LEAST_NAMES = 20 };
static const double NAMED_SHARE = 0.9;

/* Little can be learned from names, and much time is spent on it. */
static void note_names(const tool *t, const karma_table *table) {
    size_t n = karma_table_n_attributes(table);
    size_t *n_observed = t->hooks.notice ? calloc(n + 1, sizeof *n_observed) : NULL;
    char sentence[400];
    if (!n_observed) return;
    karma_table_count_observed(table, n_observed);
    for (size_t j = 0; j < n; j++) {
        const char *name = karma_table_attribute_name(table, j);
        size_t n_levels = karma_table_n_levels(table, j);
        if (karma_table_attribute_kind(table, j) != KARMA_COLUMN_CATEGORY) continue;
        if (n_levels < LEAST_NAMES || (double)n_levels < NAMED_SHARE * (double)n_observed[j]) continue;
        (void)snprintf(sentence, sizeof sentence,
                       "column '%.100s' has %zu different texts in %zu cells; if it names rows, --id '%.100s' takes it "
                       "as a name",
                       name, n_levels, n_observed[j], name);
        t->hooks.notice(t->hooks.payload, sentence);
    }
    free(n_observed);
}

karma_status read_to_learn(karma_table **out, const tool *t, karma_error *err) {
    karma_status st = karma_table_read(out, t->arguments[0], &t->read, &t->hooks, err);
    if (st == KARMA_OK) note_names(t, *out);
    return st;
}
