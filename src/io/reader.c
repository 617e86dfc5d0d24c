#include "io/reader.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "io/arff.h"
#include "io/csv.h"
#include "io/gram_file.h"
#include "io/libsvm.h"
#include "io/ratings.h"
#include "table/order.h"
#include "table/reading.h"

enum { MAX_ENDINGS = 4 };

/* A new format is one more record. The first one that fits is taken; one without endings fits every name, so what
 * only --format chooses stands behind the last CSV. */
typedef struct reader {
    karma_format format;
    int likely_delimiter;
    const char *endings[MAX_ENDINGS]; /* lower case, also followed by ".gz"; NULL ends the list */
    karma_status (*read)(karma_table **out, const karma_i_read_request *request, karma_error *err);
} reader;

static const reader readers[] = {
    {KARMA_FORMAT_LIBSVM, 0, {".libsvm", ".svm", ".svmlight"}, karma_i_libsvm_read},
    {KARMA_FORMAT_ARFF, 0, {".arff"}, karma_i_arff_read},
    {KARMA_FORMAT_CSV, '\t', {".tsv", ".tab"}, karma_i_csv_read},
    {KARMA_FORMAT_CSV, 0, {NULL}, karma_i_csv_read},
    {KARMA_FORMAT_RATINGS, 0, {NULL}, karma_i_ratings_read},
};

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Does name[0..length) end so, whatever the case? */
static int ends_in(const char *name, size_t length, const char *ending) {
    size_t n = strlen(ending);
    if (n > length) return 0;
    for (size_t i = 0; i < n; i++)
        if (lower(name[length - n + i]) != ending[i]) return 0;
    return 1;
}

static int fits_name(const reader *r, const char *path) {
    size_t length = strlen(path);
    if (ends_in(path, length, ".gz")) length -= 3;
    if (!r->endings[0]) return 1;
    for (size_t i = 0; i < MAX_ENDINGS && r->endings[i]; i++)
        if (ends_in(path, length, r->endings[i])) return 1;
    return 0;
}

/* By the name among the readers of the format; if the name fits none of them, the last. */
static const reader *choose_reader(int format, const char *path) {
    const reader *chosen = NULL;
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        if (format != KARMA_FORMAT_AUTO && (int)readers[i].format != format) continue;
        chosen = &readers[i];
        if (fits_name(chosen, path)) break;
    }
    return chosen;
}

/* What only one format understands is refused elsewhere, lest it seem to have worked. */
static karma_status check_options_of_ratings(const reader *chosen, const karma_i_read_request *request,
                                             karma_error *err) {
    const karma_read_options *o = request->options;
    if (chosen->format == KARMA_FORMAT_RATINGS) return KARMA_OK;
    const char *flag = o->users                       ? "option 'users'"
                       : o->item                      ? "option 'item'"
                       : o->like != KARMA_LIKE_UNSAID ? "option 'like'"
                                                      : NULL;
    if (!flag) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_OPTION, "%s: %s is for rating data, which need option 'format=ratings'",
                        request->source->name, flag);
}

/* Categories with an order, from the options or the model. */
static karma_status order_categories(karma_table *table, const karma_read_options *options,
                                     const karma_i_expectation *expectation, karma_error *err) {
    for (size_t i = 0; i < options->ordered.count; i++)
        KARMA_TRY(karma_i_table_order(table, options->ordered.items[i], err));
    for (size_t i = 0; expectation && i < expectation->n_columns; i++)
        if (karma_i_column_is_ordered(&expectation->columns[i]))
            KARMA_TRY(karma_i_table_order_like(table, &expectation->columns[i], err));
    return KARMA_OK;
}

static karma_status read_with(karma_table **out, const char *path, const karma_read_options *options,
                              const karma_i_expectation *expectation, const karma_hooks *hooks, karma_error *err) {
    const reader *chosen = choose_reader(options->format, path);
    karma_i_source source;
    KARMA_TRY(karma_i_source_load(&source, path, err));
    karma_read_options found = *options; /* borrows its texts */
    karma_i_read_request request = {&source, options, expectation, hooks, chosen->likely_delimiter, &found, 0};
    karma_table *table = NULL;
    karma_status st = check_options_of_ratings(chosen, &request, err);
    if (st == KARMA_OK) st = karma_i_source_check_text(&source, err);
    /* standard input has no name, and some files have the wrong one */
    if (st == KARMA_OK && options->format == KARMA_FORMAT_AUTO && chosen->format == KARMA_FORMAT_CSV &&
        karma_i_looks_like_arff(&source))
        chosen = choose_reader(KARMA_FORMAT_ARFF, path);
    if (st == KARMA_OK) st = chosen->read(&table, &request, err);
    karma_i_source_clear(&source);
    if (st == KARMA_OK) st = order_categories(table, options, expectation, err);
    if (st == KARMA_OK && options->gram) st = karma_i_gram_read(table, options->gram, err);
    if (st == KARMA_OK) st = karma_i_table_set_reading(table, &found, err);
    if (st == KARMA_OK)
        *out = table;
    else
        karma_table_free(table);
    return st;
}

karma_status karma_i_table_read(karma_table **out, const char *path, const karma_read_options *options,
                                const karma_i_expectation *expectation, const karma_hooks *hooks, karma_error *err) {
    const karma_option_table *table = karma_read_option_table();
    karma_read_options own;
    KARMA_TRY(karma_i_options_accept(table, &own, options, err));
    if (!expectation || !expectation->reading) return read_with(out, path, &own, expectation, hooks, err);
    KARMA_TRY(karma_i_reading_merge(&own, options, expectation->reading, hooks, err));
    karma_status st = read_with(out, path, &own, expectation, hooks, err);
    karma_options_clear(table, &own);
    return st;
}

karma_status karma_table_read(karma_table **out, const char *path, const karma_read_options *options,
                              const karma_hooks *hooks, karma_error *err) {
    return karma_i_table_read(out, path, options, NULL, hooks, err);
}

karma_status karma_table_read_like(karma_table **out, const char *path, const karma_table *like,
                                   const karma_read_options *options, const karma_hooks *hooks, karma_error *err) {
    const char **targets = karma_i_alloc(like->n_targets, sizeof *targets);
    if (!targets) return karma_i_fail_memory(err);
    for (size_t t = 0; t < like->n_targets; t++) targets[t] = like->targets[t].column.name;
    karma_i_expectation expected = {like->attributes, like->n_attributes, targets, like->n_targets, like->reading};
    karma_status st = karma_i_table_read(out, path, options, &expected, hooks, err);
    karma_i_free(targets);
    return st;
}
