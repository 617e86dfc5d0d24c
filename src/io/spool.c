#include "io/spool.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "io/csv_file.h"

/* --- records ------------------------------------------------------------------------------------------- */

typedef struct spool_walk {
    karma_i_spool_cell_fn cell;
    karma_i_spool_row_fn end_row;
    void *payload;
    size_t n_records;
    int with_header; /* the header is included */
} spool_walk;

static karma_status read_text(void *self, size_t *got, char *to, size_t room, karma_error *err) {
    FILE *text = self;
    errno = 0;
    *got = fread(to, 1, room, text);
    if (*got || !ferror(text)) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_IO, "cannot read a temporary file: %s", strerror(errno ? errno : EIO));
}

static karma_status walk_record(spool_walk *walk, karma_i_csv_scan *scan, karma_error *err) {
    karma_i_csv_field field = {0};
    int is_shown = walk->n_records || walk->with_header;
    for (size_t j = 0; !field.last; j++) {
        KARMA_TRY(karma_i_csv_next(&field, scan, err));
        if (is_shown) KARMA_TRY(walk->cell(walk->payload, j, &field, err));
    }
    walk->n_records++;
    return is_shown ? walk->end_row(walk->payload, err) : KARMA_OK;
}

/* Reads the records of a window; *cut is the start of a record cut by its end. */
static karma_status walk_window(spool_walk *walk, const karma_i_csv_window *window, const char **cut,
                                karma_error *err) {
    karma_i_csv_scan scan;
    karma_status st = KARMA_OK;
    karma_i_csv_scan_init(&scan, &window->text, ',');
    *cut = NULL;
    while (st == KARMA_OK && !karma_i_csv_at_end(&scan) && !*cut) {
        const char *start = scan.next;
        st = walk_record(walk, &scan, err);
        if (st == KARMA_OK || !scan.ran_out || !window->is_cut) continue;
        *cut = start;
        st = KARMA_OK;
    }
    karma_i_csv_scan_clear(&scan);
    return st;
}

static karma_status walk_all(spool_walk *walk, const char *name, FILE *text, karma_error *err) {
    karma_i_feed *feed;
    karma_i_csv_window window = {0};
    size_t passed = 0;
    rewind(text);
    KARMA_TRY(karma_i_feed_open_supply(&feed, name, (karma_i_supply){.read = read_text, .self = text}, err));
    karma_status st;
    do {
        const char *cut;
        st = karma_i_csv_load_window(&window, feed, passed, 1, err);
        if (st == KARMA_OK) st = walk_window(walk, &window, &cut, err);
        if (st == KARMA_OK) passed = cut ? (size_t)(cut - window.text.text) : window.text.length;
    } while (st == KARMA_OK && window.is_cut);
    karma_i_feed_close(feed);
    return st;
}

karma_status karma_i_spool_walk(const char *name, FILE *text, karma_i_spool_cell_fn cell, karma_i_spool_row_fn end_row,
                                void *payload, karma_error *err) {
    spool_walk walk = {cell, end_row, payload, 0, 0};
    return walk_all(&walk, name, text, err);
}

/* --- columns ------------------------------------------------------------------------------------------- */

typedef struct spool_survey {
    karma_i_spool_columns *columns;
    int has_names;
} spool_survey;

static karma_status add_column(karma_i_spool_columns *c, size_t number, const karma_i_csv_field *field,
                               karma_error *err) {
    if (number < c->count) return KARMA_OK; /* already counted */
    char *name = karma_i_strndup(field->text, field->length);
    if (!name || !karma_i_reserve(&c->names, &c->capacity, c->count + 1, sizeof *c->names) ||
        !karma_i_reserve(&c->kinds, &c->kind_capacity, c->count + 1, sizeof *c->kinds)) {
        karma_i_free(name);
        return karma_i_fail_memory(err);
    }
    c->kinds[c->count] = KARMA_I_SPOOL_INTEGER;
    c->names[c->count++] = name;
    return KARMA_OK;
}

/* A cell is a number only if its text is exactly how the number is written: "007" and "1e5" are texts. */
static karma_i_spool_kind kind_of(const karma_i_csv_field *field) {
    char text[KARMA_NUMBER_SIZE];
    double value;
    size_t n = field->length, sign = n && field->text[0] == '-';
    size_t n_digits = 0;
    while (sign + n_digits < n && field->text[sign + n_digits] >= '0' && field->text[sign + n_digits] <= '9')
        n_digits++;
    int is_whole = n_digits && sign + n_digits == n;
    if (is_whole && n_digits > 1 && field->text[sign] == '0') return KARMA_I_SPOOL_TEXT;
    if (is_whole && sign && field->text[1] == '0') return KARMA_I_SPOOL_REAL;
    if (is_whole && n_digits <= 18) return n_digits <= 15 ? KARMA_I_SPOOL_INTEGER : KARMA_I_SPOOL_LONG;
    if (is_whole || !karma_i_number_parse(&value, field->text, n)) return KARMA_I_SPOOL_TEXT;
    (void)karma_number_text(text, value);
    return strlen(text) == n && memcmp(text, field->text, n) == 0 ? KARMA_I_SPOOL_REAL : KARMA_I_SPOOL_TEXT;
}

static karma_status survey_cell(void *payload, size_t column, const karma_i_csv_field *field, karma_error *err) {
    spool_survey *s = payload;
    if (!s->has_names) return add_column(s->columns, column, field, err);
    if (column >= s->columns->count || field->length == 0) return KARMA_OK;
    karma_i_spool_kind *kind = &s->columns->kinds[column];
    if (*kind == KARMA_I_SPOOL_TEXT) return KARMA_OK;
    karma_i_spool_kind own = kind_of(field), less = own < *kind ? own : *kind;
    if (own > *kind) *kind = own;
    if (less == KARMA_I_SPOOL_LONG && *kind == KARMA_I_SPOOL_REAL) *kind = KARMA_I_SPOOL_TEXT;
    return KARMA_OK;
}

static karma_status survey_row(void *payload, karma_error *err) {
    (void)err;
    ((spool_survey *)payload)->has_names = 1;
    return KARMA_OK;
}

karma_status karma_i_spool_survey(karma_i_spool_columns *out, const char *name, FILE *text, karma_error *err) {
    spool_survey survey = {out, 0};
    *out = (karma_i_spool_columns){0};
    spool_walk walk = {survey_cell, survey_row, &survey, 0, 1};
    return walk_all(&walk, name, text, err);
}

void karma_i_spool_clear(karma_i_spool_columns *columns) {
    for (size_t i = 0; i < columns->count; i++) karma_i_free(columns->names[i]);
    karma_i_free(columns->names);
    karma_i_free(columns->kinds);
    *columns = (karma_i_spool_columns){0};
}
