/* One row per user, one attribute per item. The users of the users file come first, in its order, then users
 * who only have ratings, in order of appearance: row i is entry i of one dictionary. The ratings are read
 * once, in any order, and put into the order of the table by two stable counting sorts, so the cost is
 * proportional to the number of ratings. */
#include "io/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "io/csv.h"
#include "io/csv_records.h"
#include "io/missing.h"
#include "io/survey.h"
#include "table/builder.h"

enum { COLUMN_USER, COLUMN_ITEM, COLUMN_RATING, N_COLUMNS };

typedef struct rating {
    uint32_t row, item;
    double value; /* NaN: missing */
} rating;

typedef struct item {
    const char *id;
    double number;  /* the ID, if all IDs are numbers */
    uint32_t entry; /* in the dictionary */
    int taken_out;  /* it is not an attribute */
    uint32_t attribute;
} item;

#define NO_ITEM UINT32_MAX

/* The label of --item 7 is called like:7. */
static const char like_prefix[] = "like:";

/* The file of users; all empty without one. */
typedef struct users_file {
    karma_i_source source;
    karma_i_csv_records records; /* only for the names of its columns */
    karma_table *table;          /* with the user IDs as its one id column */
} users_file;

typedef struct ratings_file {
    const karma_i_read_request *request;
    const char *name; /* for messages */
    karma_i_csv_records records;
    karma_i_missing missing;
    karma_i_survey survey; /* of the ratings */
    users_file users;
    karma_i_dictionary user_ids; /* by row */
    karma_i_dictionary item_ids; /* in the order of the file */
    item *items;                 /* in the order of the table */
    uint32_t *item_places;       /* in `items`, by entry of the dictionary */
    uint32_t liked;              /* the place of --item, or NO_ITEM */
    rating *ratings;
    size_t n_ratings, capacity;
    rating current; /* the one being read */
    double *labels; /* of the row being filled, one per target */
    size_t n_repeated;
    karma_i_builder builder;
} ratings_file;

/* --- options ------------------------------------------------------------------------------------------- */

static karma_status fail_option(const ratings_file *file, const char *sentence, karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_OPTION, "%s: %s", file->name, sentence);
}

static karma_status check_options(const ratings_file *file, karma_error *err) {
    const karma_read_options *o = file->request->options;
    int has_threshold = o->like != KARMA_LIKE_UNSET;
    if (o->item && o->target.count)
        return fail_option(file, "option 'item' and option 'target' both name the label", err);
    if (o->item && !has_threshold)
        return fail_option(file, "option 'item' needs option 'like', the least rating of those who like it", err);
    if (!o->item && has_threshold)
        return fail_option(file, "option 'like' needs option 'item', the item that is liked", err);
    if (o->target.count && !o->users)
        return fail_option(file,
                           "option 'target' names a column of the users file and needs option 'users'; to learn "
                           "whether an item is liked, use option 'item' and option 'like'",
                           err);
    if (o->row_weight && !o->users)
        return fail_option(file, "option 'row-weight' names a column of the users file and needs option 'users'", err);
    if (o->id.count && !o->users)
        return fail_option(file, "option 'id' names the column of user IDs in the users file and needs option 'users'",
                           err);
    if (o->id.count > 1)
        return fail_option(file, "option 'id' names the column of user IDs in the users file; give one name only", err);
    if (o->absent == KARMA_ABSENT_ZERO)
        return fail_option(
            file, "option 'absent=zero' does not apply to ratings: a rating that was not given is missing", err);
    return KARMA_OK;
}

/* --- the file of users --------------------------------------------------------------------------------- */

/* Its first column has the IDs unless --id says otherwise. */
static karma_status read_users_table(users_file *users, karma_i_read_request *request, karma_read_options *options,
                                     karma_error *err) {
    request->source = &users->source;
    KARMA_TRY(karma_i_csv_open(&users->records, request, err));
    char *first = (char *)(uintptr_t)users->records.names.entries[0].text;
    if (options->id.count == 0) options->id = (karma_names){&first, 1};
    return karma_i_csv_read(&users->table, request, err);
}

static karma_status add_users(ratings_file *file, karma_error *err) {
    const karma_table *table = file->users.table;
    char excerpt[KARMA_I_EXCERPT_SIZE];
    for (size_t row = 0; row < table->n_rows; row++) {
        const char *id = table->ids[row];
        size_t length = strlen(id), found;
        if (length == 0)
            return karma_i_fail(err, KARMA_ERR_DATA, "%s: row %zu has no user ID", file->users.source.name, row + 1);
        KARMA_TRY(karma_i_dictionary_add(&found, &file->user_ids, id, length, err));
        if (found != row)
            return karma_i_fail(err, KARMA_ERR_DATA, "%s: rows %zu and %zu both belong to user '%s'",
                                file->users.source.name, found + 1, row + 1, karma_i_excerpt(excerpt, id, length));
    }
    return KARMA_OK;
}

/* The users file is read like any CSV, but with its own delimiter; options may name items as columns, and
 * with --item the label is not in this file. */
static karma_status read_users(ratings_file *file, karma_error *err) {
    karma_i_read_request request = *file->request;
    karma_read_options options = *request.options;
    karma_i_expectation expectation;
    if (!options.users) return KARMA_OK;
    options.delimiter = 0;
    request.options = &options;
    request.names_elsewhere = 1;
    if (options.item && request.expectation) {
        expectation = *request.expectation;
        expectation.targets = NULL;
        expectation.n_targets = 0;
        request.expectation = &expectation;
    }
    KARMA_TRY(karma_i_source_load(&file->users.source, options.users, err));
    KARMA_TRY(karma_i_source_check_text(&file->users.source, err));
    KARMA_TRY(read_users_table(&file->users, &request, &options, err));
    return add_users(file, err);
}

static int is_users_column(const ratings_file *file, const char *name) {
    size_t column;
    return karma_i_dictionary_find(&column, &file->users.records.names, name, strlen(name));
}

static void clear_users(users_file *users) {
    karma_table_free(users->table);
    karma_i_csv_close(&users->records);
    karma_i_source_clear(&users->source);
}

/* --- the ratings --------------------------------------------------------------------------------------- */

static const char *column_name(const ratings_file *file, size_t column) {
    return file->records.names.entries[column].text;
}

/* A header whose third name is a number is probably not a header. */
static karma_status open_ratings(ratings_file *file, karma_error *err) {
    double value;
    KARMA_TRY(karma_i_csv_open(&file->records, file->request, err));
    size_t n = file->records.names.count;
    if (n < N_COLUMNS)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: %zu column%s, but rating data need three: user, item, rating",
                            file->name, n, n == 1 ? "" : "s");
    const karma_i_dictionary_entry *third = &file->records.names.entries[COLUMN_RATING];
    if (file->records.header && karma_i_number_parse(&value, third->text, third->length))
        karma_i_notice(file->request->hooks,
                       "%s: the first record is taken for the header, although it looks like a rating; if it is one "
                       "set option 'header=off'",
                       file->name);
    return KARMA_OK;
}

static karma_status read_id(uint32_t *out, ratings_file *file, karma_i_dictionary *ids, size_t column,
                            const karma_i_csv_field *field, karma_error *err) {
    size_t found;
    if (field->length == 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "%s: line %zu, column '%s': an ID is missing", file->name, field->line,
                            column_name(file, column));
    KARMA_TRY(karma_i_dictionary_add(&found, ids, field->text, field->length, err));
    *out = (uint32_t)found;
    return KARMA_OK;
}

static karma_status read_value(ratings_file *file, const karma_i_csv_field *field, karma_error *err) {
    file->current.value = NAN;
    if (karma_i_is_missing(&file->missing, field->text, field->length)) return KARMA_OK;
    KARMA_TRY(karma_i_survey_add(&file->survey, NULL, field->text, field->length, field->line, err));
    (void)karma_i_survey_value(&file->current.value, &file->survey, field->text, field->length);
    return KARMA_OK;
}

static karma_status read_field(void *payload, size_t column, const karma_i_csv_field *field, karma_error *err) {
    ratings_file *file = payload;
    if (column == COLUMN_USER) return read_id(&file->current.row, file, &file->user_ids, column, field, err);
    if (column == COLUMN_ITEM) return read_id(&file->current.item, file, &file->item_ids, column, field, err);
    return column == COLUMN_RATING ? read_value(file, field, err) : KARMA_OK;
}

static karma_status keep_rating(void *payload, karma_error *err) {
    ratings_file *file = payload;
    KARMA_TRY(karma_i_survey_check(&file->survey, file->name, column_name(file, COLUMN_RATING), err));
    if (!karma_i_reserve(&file->ratings, &file->capacity, file->n_ratings + 1, sizeof *file->ratings))
        return karma_i_fail_memory(err);
    file->ratings[file->n_ratings++] = file->current;
    return KARMA_OK;
}

static karma_status read_ratings(ratings_file *file, karma_error *err) {
    size_t n_users = file->user_ids.count;
    KARMA_TRY(open_ratings(file, err));
    KARMA_TRY(karma_i_csv_walk(&file->records, read_field, keep_rating, file, err));
    if (file->n_ratings == 0) return karma_i_csv_fail_no_rows(&file->records, err);
    for (size_t i = 0; i < file->n_ratings; i++)
        if (file->ratings[i].row < n_users) return KARMA_OK;
    if (n_users)
        karma_i_notice(file->request->hooks,
                       "%s: none of the users in %s has a rating; are the IDs spelled alike in both files?", file->name,
                       file->users.source.name);
    return KARMA_OK;
}

/* --- the items ----------------------------------------------------------------------------------------- */

static int compare_items(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return strcmp(x->id, y->id);
}

/* Sorts the items, in numeric order if all IDs are numbers, otherwise in byte order, so that the order of the
 * file does not matter. */
static void sort_items(ratings_file *file) {
    size_t n = file->item_ids.count;
    int numeric = 1;
    for (size_t i = 0; i < n; i++) {
        const karma_i_dictionary_entry *entry = &file->item_ids.entries[i];
        item *it = &file->items[i];
        *it = (item){.id = entry->text, .entry = (uint32_t)i};
        numeric = numeric && karma_i_number_parse(&it->number, entry->text, entry->length);
    }
    for (size_t i = 0; i < n && !numeric; i++) file->items[i].number = 0.0;
    qsort(file->items, n, sizeof *file->items, compare_items);
}

/* Replaces the item of each rating by its place. */
static karma_status order_items(ratings_file *file, karma_error *err) {
    size_t n = file->item_ids.count;
    file->items = karma_i_alloc(n, sizeof *file->items);
    file->item_places = karma_i_alloc(n, sizeof *file->item_places);
    if (!file->items || !file->item_places) return karma_i_fail_memory(err);
    sort_items(file);
    for (size_t i = 0; i < n; i++) file->item_places[file->items[i].entry] = (uint32_t)i;
    for (size_t i = 0; i < file->n_ratings; i++) file->ratings[i].item = file->item_places[file->ratings[i].item];
    return KARMA_OK;
}

/* The place of an item, or NO_ITEM. */
static uint32_t find_item(const ratings_file *file, const char *id) {
    size_t entry;
    return karma_i_dictionary_find(&entry, &file->item_ids, id, strlen(id)) ? file->item_places[entry] : NO_ITEM;
}

/* A name in the lists of columns means a column of the users file if there is one, otherwise an item. *place
 * is NO_ITEM for a column of users. */
static karma_status resolve_name(uint32_t *place, const ratings_file *file, const char *name, karma_error *err) {
    const karma_i_dictionary *columns = &file->users.records.names;
    *place = NO_ITEM;
    if (is_users_column(file, name)) return KARMA_OK;
    *place = find_item(file, name);
    if (*place != NO_ITEM) return KARMA_OK;
    int is_nearer_to_column = karma_i_dictionary_nearest(columns, name) != NULL;
    return karma_i_csv_fail_unknown(file->name, file->users.table ? "item or column of users" : "item", name,
                                    is_nearer_to_column ? columns : &file->item_ids, err);
}

static karma_status apply_names(ratings_file *file, karma_error *err) {
    const karma_read_options *o = file->request->options;
    uint32_t place;
    for (size_t i = 0; i < o->ignore.count; i++) {
        KARMA_TRY(resolve_name(&place, file, o->ignore.items[i], err));
        if (place != NO_ITEM) file->items[place].taken_out = 1;
    }
    for (size_t i = 0; i < o->numeric.count; i++) KARMA_TRY(resolve_name(&place, file, o->numeric.items[i], err));
    for (size_t i = 0; i < o->category.count; i++) {
        char excerpt[KARMA_I_EXCERPT_SIZE];
        KARMA_TRY(resolve_name(&place, file, o->category.items[i], err));
        if (place != NO_ITEM)
            return karma_i_fail(err, KARMA_ERR_OPTION,
                                "%s: option 'category' does not apply to item '%s': ratings are numbers", file->name,
                                karma_i_excerpt(excerpt, o->category.items[i], strlen(o->category.items[i])));
    }
    return KARMA_OK;
}

/* A model that predicts whether users like an item never learned from that item. */
static void take_out_expected(ratings_file *file) {
    const karma_i_expectation *expectation = file->request->expectation;
    for (size_t i = 0; expectation && i < expectation->n_targets; i++) {
        const char *target = expectation->targets[i];
        if (strncmp(target, like_prefix, strlen(like_prefix)) != 0) continue;
        uint32_t place = find_item(file, target + strlen(like_prefix));
        if (place != NO_ITEM) file->items[place].taken_out = 1;
    }
}

static karma_status take_out_liked(ratings_file *file, karma_error *err) {
    const char *id = file->request->options->item;
    if (!id) {
        take_out_expected(file);
        return KARMA_OK;
    }
    file->liked = find_item(file, id);
    if (file->liked == NO_ITEM) return karma_i_csv_fail_unknown(file->name, "item", id, &file->item_ids, err);
    file->items[file->liked].taken_out = 1;
    return KARMA_OK;
}

/* Attributes are matched by name: no two may share one. */
static karma_status check_clashes(const ratings_file *file, karma_error *err) {
    const karma_table *table = file->users.table;
    for (size_t j = 0; table && j < table->n_attributes; j++) {
        const char *name = table->attributes[j].name;
        char excerpt[KARMA_I_EXCERPT_SIZE];
        if (find_item(file, name) == NO_ITEM) continue;
        (void)karma_i_excerpt(excerpt, name, strlen(name));
        return karma_i_fail(
            err, KARMA_ERR_DATA,
            "%s: column '%s' has the name of an item of %s; leave the column out with option 'ignore' '%s'",
            file->users.source.name, excerpt, file->name, excerpt);
    }
    return KARMA_OK;
}

static karma_status settle_items(ratings_file *file, karma_error *err) {
    KARMA_TRY(order_items(file, err));
    KARMA_TRY(apply_names(file, err));
    KARMA_TRY(take_out_liked(file, err));
    return check_clashes(file, err);
}

/* --- the order of the table ---------------------------------------------------------------------------- */

static size_t key_of(const rating *r, int by_row) {
    return by_row ? r->row : r->item;
}

/* A stable counting sort of from[0..n) by a key below n_keys. `start` has room for n_keys + 1 numbers. */
static void sort_by_key(rating *to, const rating *from, size_t n, int by_row, size_t *start, size_t n_keys) {
    memset(start, 0, (n_keys + 1) * sizeof *start);
    for (size_t i = 0; i < n; i++) start[key_of(&from[i], by_row) + 1]++;
    for (size_t k = 0; k < n_keys; k++) start[k + 1] += start[k];
    for (size_t i = 0; i < n; i++) to[start[key_of(&from[i], by_row)]++] = from[i];
}

/* Sorts by row, then by item, then by position in the file. */
static karma_status sort_ratings(ratings_file *file, karma_error *err) {
    size_t n = file->n_ratings, n_rows = file->user_ids.count, n_items = file->item_ids.count;
    rating *by_item = karma_i_alloc(n, sizeof *by_item);
    size_t *start = karma_i_alloc((n_rows > n_items ? n_rows : n_items) + 1, sizeof *start);
    karma_status st = by_item && start ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        sort_by_key(by_item, file->ratings, n, 0, start, n_items);
        sort_by_key(file->ratings, by_item, n, 1, start, n_rows);
    }
    karma_i_free(by_item);
    karma_i_free(start);
    return st;
}

/* --- the table ----------------------------------------------------------------------------------------- */

/* With --item this is the only target, since --item and --target exclude each other. */
static karma_status make_like_target(ratings_file *file, karma_error *err) {
    const char *id = file->items[file->liked].id;
    size_t size = strlen(like_prefix) + strlen(id) + 1;
    char *name = karma_i_alloc(size, 1), **classes = NULL;
    karma_i_dictionary words = {0};
    karma_status st = name ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_dictionary_add(NULL, &words, "no", 2, err);
    if (st == KARMA_OK) st = karma_i_dictionary_add(NULL, &words, "yes", 3, err);
    if (st == KARMA_OK) st = karma_i_dictionary_texts(&classes, &words, err);
    if (st == KARMA_OK) {
        (void)snprintf(name, size, "%s%s", like_prefix, id);
        st = karma_i_builder_add_target(&file->builder, name, KARMA_COLUMN_CATEGORY, classes, words.count, err);
    }
    karma_i_dictionary_clear(&words);
    karma_i_free(name);
    return st;
}

static karma_status make_columns(ratings_file *file, karma_error *err) {
    karma_i_builder *b = &file->builder;
    if (file->users.table) KARMA_TRY(karma_i_builder_copy_columns(b, file->users.table, err));
    if (file->liked != NO_ITEM) KARMA_TRY(make_like_target(file, err));
    KARMA_TRY(karma_i_builder_add_id(b, file->records.header ? column_name(file, COLUMN_USER) : "user", err));
    for (size_t i = 0; i < file->item_ids.count; i++) {
        item *it = &file->items[i];
        if (it->taken_out) continue;
        it->attribute = (uint32_t)b->table->n_attributes;
        KARMA_TRY(karma_i_builder_add_attribute(b, it->id, KARMA_COLUMN_NUMBER, NULL, 0, err));
    }
    return KARMA_OK;
}

/* If a user rated an item several times, the last rating counts, even if it is missing. */
static int is_repeated(const ratings_file *file, size_t i) {
    const rating *r = &file->ratings[i];
    return i + 1 < file->n_ratings && r[1].row == r->row && r[1].item == r->item;
}

/* Reads a user's line in the users file; without a line, labels are missing and the row has weight 1. */
static karma_status fill_known(double *weight, ratings_file *file, size_t row, karma_error *err) {
    const karma_table *table = file->users.table;
    *weight = 1.0;
    for (size_t k = 0; k < file->builder.table->n_targets; k++) file->labels[k] = NAN;
    if (!table || row >= table->n_rows) return KARMA_OK;
    *weight = karma_table_row_weight(table, row);
    for (size_t k = 0; k < table->n_targets; k++) file->labels[k] = table->targets[k].value[row];
    return karma_i_builder_copy_cells(&file->builder, table, row, err);
}

/* *next is the first rating of the row, and becomes the first rating of the next row. */
static karma_status fill_row(ratings_file *file, size_t row, size_t *next, karma_error *err) {
    const karma_i_dictionary_entry *user = &file->user_ids.entries[row];
    karma_i_text id = {user->text, user->length};
    double weight;
    KARMA_TRY(fill_known(&weight, file, row, err));
    for (; *next < file->n_ratings && file->ratings[*next].row == row; ++*next) {
        const rating *r = &file->ratings[*next];
        const item *it = &file->items[r->item];
        if (is_repeated(file, *next))
            file->n_repeated++;
        else if (isnan(r->value))
            continue;
        else if (r->item == file->liked)
            file->labels[0] = r->value >= file->request->options->like;
        else if (!it->taken_out)
            KARMA_TRY(karma_i_builder_add_cell(&file->builder, it->attribute, r->value, err));
    }
    return karma_i_builder_end_row(&file->builder, file->labels, weight, &id, err);
}

static karma_status fill_table(ratings_file *file, karma_error *err) {
    size_t next = 0;
    KARMA_TRY(karma_i_builder_init(&file->builder, err));
    KARMA_TRY(make_columns(file, err));
    file->labels = karma_i_alloc(file->builder.table->n_targets, sizeof *file->labels);
    if (!file->labels) return karma_i_fail_memory(err);
    for (size_t row = 0; row < file->user_ids.count; row++) KARMA_TRY(fill_row(file, row, &next, err));
    if (file->n_repeated)
        karma_i_notice(file->request->hooks,
                       "%s: %zu rating%s followed by another of the same user for the same item; the last one is used",
                       file->name, file->n_repeated, file->n_repeated == 1 ? " is" : "s are");
    return KARMA_OK;
}

static void clear_file(ratings_file *file) {
    clear_users(&file->users);
    karma_i_csv_close(&file->records);
    karma_i_missing_clear(&file->missing);
    karma_i_survey_clear(&file->survey);
    karma_i_dictionary_clear(&file->user_ids);
    karma_i_dictionary_clear(&file->item_ids);
    karma_i_free(file->items);
    karma_i_free(file->item_places);
    karma_i_free(file->ratings);
    karma_i_free(file->labels);
    karma_i_builder_clear(&file->builder);
}

static karma_status read_file(karma_table **out, const karma_i_read_request *request, karma_error *err) {
    ratings_file file = {.request = request, .name = request->source->name, .liked = NO_ITEM};
    karma_i_survey_init(&file.survey, KARMA_I_SURVEY_NUMBER, 0, (karma_i_survey_style){'.', 0, -1, 0, 0});
    karma_status st = check_options(&file, err);
    if (st == KARMA_OK) st = karma_i_missing_init(&file.missing, &request->options->missing, err);
    if (st == KARMA_OK) st = read_users(&file, err);
    if (st == KARMA_OK) st = read_ratings(&file, err);
    if (st == KARMA_OK) st = settle_items(&file, err);
    if (st == KARMA_OK) st = sort_ratings(&file, err);
    if (st == KARMA_OK) st = fill_table(&file, err);
    if (st == KARMA_OK) karma_i_builder_finish(out, &file.builder);
    clear_file(&file);
    return st;
}

KARMA_I_READER(ratings) = {.format = KARMA_FORMAT_RATINGS, .read = read_file};
