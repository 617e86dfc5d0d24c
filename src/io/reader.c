#include "io/reader.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "io/cache.h"
#include "io/csv.h"
#include "io/csv_file.h"
#include "io/database_uri.h"
#include "io/gram_file.h"
#include "karma/database.h"
#include "table/order.h"
#include "table/reading.h"
#include "table/table_split.h"

/* Readers are tried in this order, and the first that fits the file name is used. A reader without endings
 * fits every name, so formats that only the option 'format' chooses come after csv. */
#define READERS(X)    X(libsvm) X(arff) X(tsv) X(csv) X(ratings)
#define DECLARE(name) extern KARMA_I_READER(name);
#define ITEM(name)    &karma_i_reader_##name,
READERS(DECLARE)
static const karma_i_reader *const readers[] = {READERS(ITEM)};
enum { N_READERS = sizeof readers / sizeof readers[0], MAX_ENDINGS = sizeof readers[0]->endings / sizeof(char *) };

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether name[0..length) has this ending, in any case. */
static int ends_in(const char *name, size_t length, const char *ending) {
    size_t n = strlen(ending);
    if (n > length) return 0;
    for (size_t i = 0; i < n; i++)
        if (lower(name[length - n + i]) != ending[i]) return 0;
    return 1;
}

static int fits_name(const karma_i_reader *r, const char *path) {
    size_t length = strlen(path);
    if (ends_in(path, length, ".gz")) length -= 3;
    if (!r->endings[0]) return 1;
    for (size_t i = 0; i < MAX_ENDINGS && r->endings[i]; i++)
        if (ends_in(path, length, r->endings[i])) return 1;
    return 0;
}

/* Finds the reader of the format that fits the name; if none does, the last reader of the format. */
static const karma_i_reader *choose_reader(int format, const char *path) {
    const karma_i_reader *chosen = NULL;
    for (size_t i = 0; i < N_READERS; i++) {
        if (format != KARMA_FORMAT_AUTO && (int)readers[i]->format != format) continue;
        chosen = readers[i];
        if (fits_name(chosen, path)) break;
    }
    return chosen;
}

/* An option that only one format understands is an error for the others: ignoring it would hide a mistake. */
static karma_status check_options_of_ratings(const karma_i_reader *chosen, const karma_i_read_request *request,
                                             karma_error *err) {
    const karma_read_options *o = request->options;
    if (chosen->format == KARMA_FORMAT_RATINGS) return KARMA_OK;
    const char *flag = o->users                      ? "option 'users'"
                       : o->item                     ? "option 'item'"
                       : o->like != KARMA_LIKE_UNSET ? "option 'like'"
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

/* The first lines of a text, at least two of them, or all of it. */
static karma_status look_at_start(karma_i_csv_window *start, karma_i_feed *feed, int patient, karma_error *err) {
    size_t skipped;
    do KARMA_TRY(karma_i_csv_load_window(start, feed, 0, patient, err));
    while (start->is_cut &&
           memchr(start->text.text, '\n', start->text.length) == start->text.text + start->text.length - 1);
    KARMA_TRY(karma_i_check_start(&skipped, start->text.name, start->text.text, start->text.length, err));
    if (skipped) {
        karma_i_feed_skip(feed, skipped);
        KARMA_TRY(karma_i_csv_load_window(start, feed, 0, patient, err));
    }
    if (!start->is_cut) return KARMA_OK;
    /* there is more: input that is not text, and may have no end, is refused before a reader takes all of
     * it */
    return karma_i_check_text(start->text.name, start->text.text, start->text.length, 1, err);
}

/* Readers other than CSV need the whole text, checked. */
static karma_status read_whole(karma_table **out, const karma_i_reader *chosen, const karma_i_read_request *request,
                               karma_i_feed *feed, karma_error *err) {
    karma_i_source source;
    KARMA_TRY(karma_i_source_load_feed(&source, feed, err));
    karma_status st = karma_i_source_check_text(&source, err);
    karma_i_read_request own = *request;
    own.source = &source;
    if (st == KARMA_OK) st = chosen->read(out, &own, err);
    karma_i_source_clear(&source);
    return st;
}

/* A file that is being read. */
typedef struct job {
    const karma_i_reader *chosen;
    karma_i_feed *feed;
    karma_i_uri uri;            /* of a database */
    karma_read_options reading; /* of its text; borrows its texts */
    karma_i_csv_window start;
    karma_read_options found; /* borrows its texts */
    karma_i_read_request request;
} job;

/* Rows of a database are CSV written by this library, so options and models about other texts do not
 * apply. */
static void expect_cells(job *j, const karma_read_options *options) {
    j->reading = *options;
    j->reading.format = KARMA_FORMAT_CSV;
    j->reading.delimiter = ',';
    j->reading.header = 1;
    if (j->reading.decimal == KARMA_DECIMAL_COMMA) j->reading.decimal = KARMA_DECIMAL_AUTO;
    j->request.options = &j->reading;
    j->request.is_database = 1;
}

/* Opens the text of a file, of a database, or of a supply whose name is the path. */
static karma_status open_feed(job *j, const char *path, const karma_i_supply *supply, karma_error *err) {
    const karma_read_options *options = j->request.options;
    int is_database = !supply && karma_is_database(path);
    if ((supply && !supply->is_file) || is_database) expect_cells(j, options);
    if (supply) return karma_i_feed_open_supply(&j->feed, path, *supply, err);
    if (!is_database) {
        KARMA_TRY(karma_i_check_file_name(path, err));
        return karma_i_feed_open(&j->feed, path, err);
    }
    return karma_i_database_feed(&j->feed, &j->uri, path, options, j->request.hooks, err);
}

static void end_job(job *j) {
    karma_i_feed_close(j->feed);
    karma_i_uri_clear(&j->uri);
}

/* Opens the file and finds its reader. Must be ended by end_job. */
static karma_status open_job(job *j, const char *path, const karma_i_supply *supply, const karma_read_options *options,
                             const karma_i_expectation *expectation, const karma_ranks *ranks, const karma_hooks *hooks,
                             int patient, karma_error *err) {
    int has_cells = supply ? !supply->is_file : karma_is_database(path);
    *j = (job){.found = *options};
    j->chosen = has_cells ? choose_reader(KARMA_FORMAT_CSV, "") : choose_reader(options->format, path);
    j->request = (karma_i_read_request){.source = &j->start.text,
                                        .options = options,
                                        .expectation = expectation,
                                        .hooks = hooks,
                                        .likely_delimiter = j->chosen->likely_delimiter,
                                        .found = &j->found,
                                        .ranks = ranks};
    KARMA_TRY(open_feed(j, path, supply, err));
    if (patient && !karma_i_feed_is_seekable(j->feed)) karma_i_feed_hold(j->feed);
    KARMA_TRY(look_at_start(&j->start, j->feed, patient, err));
    KARMA_TRY(check_options_of_ratings(j->chosen, &j->request, err));
    /* standard input has no name, and some files have the wrong one */
    for (size_t i = 0;
         !has_cells && options->format == KARMA_FORMAT_AUTO && j->chosen->format == KARMA_FORMAT_CSV && i < N_READERS;
         i++)
        if (readers[i]->recognises && readers[i]->recognises(&j->start.text)) j->chosen = readers[i];
    if (j->chosen->format == KARMA_FORMAT_CSV) {
        j->request.feed = j->feed;
        j->request.is_cut = j->start.is_cut;
    }
    int is_plain = j->chosen->format == KARMA_FORMAT_CSV && !has_cells && !options->gram;
    if (ranks && ranks->size > 1 && !is_plain)
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: only CSV files can be split over processes", path);
    return KARMA_OK;
}

/* What the options and the model say about the columns of a table. */
static karma_status finish_table(karma_table *table, const job *j, karma_error *err) {
    const karma_read_options *options = j->request.options;
    KARMA_TRY(order_categories(table, options, j->request.expectation, err));
    if (options->gram) KARMA_TRY(karma_i_gram_read(table, options->gram, err));
    return karma_i_table_set_reading(table, &j->found, err);
}

static karma_status read_all(karma_table **out, job *j, karma_error *err) {
    karma_table *table = NULL;
    karma_status st = j->chosen->format == KARMA_FORMAT_CSV ? j->chosen->read(&table, &j->request, err)
                                                            : read_whole(&table, j->chosen, &j->request, j->feed, err);
    if (st == KARMA_OK) st = finish_table(table, j, err);
    if (st == KARMA_OK)
        *out = table;
    else
        karma_table_free(table);
    return st;
}

static karma_status read_with(karma_table **out, const char *path, const karma_i_supply *supply,
                              const karma_read_options *options, const karma_i_expectation *expectation,
                              const karma_ranks *ranks, const karma_hooks *hooks, karma_error *err) {
    job j;
    karma_status st = open_job(&j, path, supply, options, expectation, ranks, hooks, 1, err);
    if (st == KARMA_OK) st = read_all(out, &j, err);
    end_job(&j);
    return st;
}

/* --- the cache ----------------------------------------------------------------------------------------- */

/* Reads the file, keeping its rows on disk, and puts the table into the cache. */
static karma_status fill_cache(karma_table **out, karma_i_cache *cache, const char *path,
                               const karma_read_options *options, karma_error *err) {
    job j;
    karma_table *table = NULL, *kept = NULL;
    karma_status st = open_job(&j, path, NULL, options, NULL, NULL, karma_i_cache_hooks(cache), 1, err);
    j.request.folder = karma_i_cache_folder(cache);
    if (st == KARMA_OK) st = read_all(&table, &j, err);
    end_job(&j);
    if (st == KARMA_OK) st = karma_i_cache_save(&kept, cache, table, err);
    if (st == KARMA_OK) *out = kept ? kept : table;
    if (st != KARMA_OK || kept) karma_table_free(table);
    return st;
}

static karma_status read_cached(karma_table **out, const char *path, const karma_read_options *options,
                                const karma_hooks *hooks, karma_error *err) {
    karma_i_cache *cache;
    karma_table *table = NULL;
    KARMA_TRY(karma_i_cache_open(&cache, path, options, hooks, err));
    karma_status st = karma_i_cache_load(&table, cache, err);
    if (st == KARMA_OK && !table) st = fill_cache(&table, cache, path, options, err);
    karma_i_cache_free(cache);
    if (st == KARMA_OK) *out = table;
    return st;
}

/* Only a single training file has a cache. */
static karma_status check_cache(const char *path, const karma_read_options *o, int is_learned_from, karma_error *err) {
    const char *other = o->gram ? "gram" : o->users ? "users" : NULL;
    char name[200];
    if (!o->cache) return KARMA_OK;
    if (!is_learned_from)
        return karma_i_fail(err, KARMA_ERR_OPTION, "option 'cache' is for tables that are learned from in one process");
    if (other)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "option 'cache' is for tables in one file, option '%s' names another", other);
    if (!karma_is_database(path) && strcmp(path, "-") != 0) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_OPTION, "%s: option 'cache' is for files",
                        strcmp(path, "-") == 0 ? "standard input" : karma_source_text(name, sizeof name, path));
}

/* An option that applies only to files or only to databases is an error elsewhere: ignoring it would hide a mistake. */
static karma_status check_given(const char *path, const karma_read_options *o, karma_error *err) {
    char name[200];
    if (!karma_is_database(path)) {
        if (!o->query) return KARMA_OK;
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "%s: option 'query' needs a database: sqlite:FILE or postgres://HOST/DATABASE", path);
    }
    const char *option = o->format != KARMA_FORMAT_AUTO      ? "format"
                         : o->delimiter                      ? "delimiter"
                         : !o->header                        ? "header"
                         : o->absent != KARMA_ABSENT_UNSET   ? "absent"
                         : o->decimal == KARMA_DECIMAL_COMMA ? "decimal"
                                                             : NULL;
    if (!option) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_OPTION, "%s: option '%s' is for text files, not for databases",
                        karma_source_text(name, sizeof name, path), option);
}

karma_status karma_i_table_read(karma_table **out, const char *path, const karma_read_options *options,
                                const karma_i_expectation *expectation, const karma_hooks *hooks, karma_error *err) {
    const karma_option_table *table = karma_read_option_table();
    karma_read_options own;
    KARMA_TRY(karma_i_options_accept(table, &own, options, err));
    KARMA_TRY(check_given(path, &own, err));
    KARMA_TRY(check_cache(path, &own, expectation == NULL, err));
    if (own.cache) return read_cached(out, path, &own, hooks, err);
    if (!expectation || !expectation->reading) return read_with(out, path, NULL, &own, expectation, NULL, hooks, err);
    KARMA_TRY(karma_i_reading_merge(&own, options, expectation->reading, hooks, err));
    karma_status st = read_with(out, path, NULL, &own, expectation, NULL, hooks, err);
    karma_options_clear(table, &own);
    return st;
}

karma_status karma_i_table_read_supply(karma_table **out, const char *name, karma_i_supply supply,
                                       const karma_read_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_read_options own;
    KARMA_TRY(karma_i_options_accept(karma_read_option_table(), &own, options, err));
    KARMA_TRY(check_cache(name, &own, 0, err));
    return read_with(out, name, &supply, &own, NULL, NULL, hooks, err);
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

/* --- split over processes ------------------------------------------------------------------------------ */

static karma_status read_part(karma_table **out, const char *path, const karma_read_options *options,
                              const karma_ranks *ranks, const karma_hooks *hooks, karma_error *err) {
    karma_read_options own;
    karma_table *part = NULL;
    KARMA_TRY(karma_i_options_accept(karma_read_option_table(), &own, options, err));
    KARMA_TRY(check_given(path, &own, err));
    KARMA_TRY(check_cache(path, &own, 0, err));
    KARMA_TRY(read_with(&part, path, NULL, &own, NULL, ranks, hooks, err));
    karma_status st = karma_i_table_balance(out, part, ranks, err);
    karma_table_free(part);
    return st;
}

karma_status karma_table_read_split(karma_table **out, const char *path, const karma_read_options *options,
                                    const karma_ranks *ranks, const karma_hooks *hooks, karma_error *err) {
    karma_error fault = {0};
    karma_table *table = NULL;
    karma_status st = ranks->size == 1 ? karma_table_read(&table, path, options, hooks, &fault)
                                       : read_part(&table, path, options, ranks, hooks, &fault);
    st = karma_ranks_agree(ranks, st, &fault);
    if (st == KARMA_OK)
        *out = table;
    else
        karma_table_free(table);
    if (st != KARMA_OK && err) *err = fault;
    return st;
}

/* --- table by table ------------------------------------------------------------------------------------ */

struct karma_i_table_stream {
    karma_i_expectation expectation;
    karma_read_options options; /* owns its texts */
    int has_options;
    job job;
    const karma_ranks *ranks; /* each reads a part; NULL: there is one process */
    karma_i_csv_stream *csv;  /* NULL: the format is read at once */
    int ended;
};

static karma_status open_stream(karma_i_table_stream *s, const char *path, const karma_i_supply *supply,
                                const karma_read_options *options, const karma_hooks *hooks, karma_error *err) {
    const karma_option_table *table = karma_read_option_table();
    const karma_read_options *remembered = s->expectation.reading;
    karma_read_options given;
    KARMA_TRY(karma_i_options_accept(table, &given, options, err));
    if (!supply) KARMA_TRY(check_given(path, &given, err));
    KARMA_TRY(check_cache(path, &given, 0, err));
    KARMA_TRY(remembered ? karma_i_reading_merge(&s->options, options, remembered, hooks, err)
                         : karma_options_copy(table, &s->options, &given, err));
    s->has_options = 1;
    KARMA_TRY(open_job(&s->job, path, supply, &s->options, &s->expectation, s->ranks, hooks, 0, err));
    if (s->job.chosen->format != KARMA_FORMAT_CSV || s->options.gram) return KARMA_OK;
    return karma_i_csv_stream_open(&s->csv, &s->job.request, err);
}

static karma_status new_stream(karma_i_table_stream **out, const char *path, const karma_i_supply *supply,
                               const karma_read_options *options, const karma_i_expectation *expectation,
                               const karma_ranks *ranks, const karma_hooks *hooks, karma_error *err) {
    karma_i_table_stream *s = karma_i_zalloc(1, sizeof *s);
    if (!s) return karma_i_fail_memory(err);
    s->expectation = *expectation;
    s->ranks = ranks;
    karma_status st = open_stream(s, path, supply, options, hooks, err);
    if (st == KARMA_OK)
        *out = s;
    else
        karma_i_table_stream_free(s);
    return st;
}

karma_status karma_i_table_stream_open(karma_i_table_stream **out, const char *path, const karma_read_options *options,
                                       const karma_i_expectation *expectation, const karma_ranks *ranks,
                                       const karma_hooks *hooks, karma_error *err) {
    return new_stream(out, path, NULL, options, expectation, ranks, hooks, err);
}

karma_status karma_i_table_stream_open_supply(karma_i_table_stream **out, const char *name, karma_i_supply supply,
                                              const karma_read_options *options, const karma_i_expectation *expectation,
                                              const karma_hooks *hooks, karma_error *err) {
    return new_stream(out, name, &supply, options, expectation, NULL, hooks, err);
}

karma_status karma_i_table_stream_next(karma_table **out, karma_i_table_stream *stream, karma_error *err) {
    *out = NULL;
    if (stream->ended) return KARMA_OK;
    karma_table *table = NULL;
    if (!stream->csv) {
        stream->ended = 1;
        if (!karma_i_feed_is_seekable(stream->job.feed)) karma_i_feed_hold(stream->job.feed);
        return read_all(out, &stream->job, err);
    }
    KARMA_TRY(karma_i_csv_stream_next(&table, stream->csv, err));
    stream->ended = !table;
    karma_status st = table ? finish_table(table, &stream->job, err) : KARMA_OK;
    if (st == KARMA_OK)
        *out = table;
    else
        karma_table_free(table);
    return st;
}

void karma_i_table_stream_free(karma_i_table_stream *stream) {
    if (!stream) return;
    karma_i_csv_stream_free(stream->csv);
    end_job(&stream->job);
    if (stream->has_options) karma_options_clear(karma_read_option_table(), &stream->options);
    karma_i_free(stream);
}
