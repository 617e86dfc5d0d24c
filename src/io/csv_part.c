#include "io/csv_part.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/messages.h"
#include "io/csv_place.h"
#include "io/feed.h"

enum { CHUNK_BYTES = 1 << 20 };

/* --- where records start ------------------------------------------------------------------------------- */

/* The effect of a stretch of text on each state that it may start in. */
typedef struct stretch {
    unsigned char end[KARMA_I_N_PLACES];
    size_t
        first[KARMA_I_N_PLACES]; /* the first start of a record, an offset in the file; NONE: no record starts here */
    size_t lines_before[KARMA_I_N_PLACES]; /* line feeds of the stretch before it */
    size_t n_lines;
} stretch;

#define NONE SIZE_MAX

static size_t count_lines(const char *text, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += text[i] == '\n';
    return count;
}

static void note_start(stretch *s, karma_i_csv_place from, const char *text, const char *line_end, size_t offset) {
    size_t length = (size_t)(line_end - text);
    s->first[from] = offset + length + 1;
    s->lines_before[from] = s->n_lines + count_lines(text, length + 1);
}

/* Reads text with quotes, character by character. */
static void walk(stretch *s, karma_i_csv_place from, const char *text, size_t n, size_t offset,
                 const unsigned char *ends_field) {
    karma_i_csv_place at = (karma_i_csv_place)s->end[from];
    for (size_t i = 0; i < n; i++) {
        int ends_line = text[i] == '\n' && at != KARMA_I_IN_QUOTES;
        at = karma_i_csv_step(at, text[i], ends_field);
        if (ends_line && s->first[from] == NONE) note_start(s, from, text, text + i, offset);
    }
    s->end[from] = (unsigned char)at;
}

/* Text without quotes: only its last characters and its first line feed matter. */
static void skip(stretch *s, karma_i_csv_place from, const char *text, size_t n, size_t offset,
                 const unsigned char *ends_field) {
    const char *line_end = s->first[from] == NONE ? memchr(text, '\n', n) : NULL;
    size_t i = n;
    if (s->end[from] == KARMA_I_IN_QUOTES || n == 0) return;
    if (line_end) note_start(s, from, text, line_end, offset);
    while (i > 0 && (karma_i_csv_is_blank(text[i - 1], ends_field) || text[i - 1] == '\xc2' || text[i - 1] == '\xa0'))
        i--;
    karma_i_csv_place at = i > 0 ? KARMA_I_FIELD_START : (karma_i_csv_place)s->end[from];
    for (size_t k = i > 0 ? i - 1 : 0; k < n; k++)
        at = karma_i_csv_step(k + 1 == i ? KARMA_I_IN_FIELD : at, text[k], ends_field);
    s->end[from] = (unsigned char)at;
}

static void add_chunk(stretch *s, const char *text, size_t n, size_t offset, const unsigned char *ends_field) {
    int has_quotes = memchr(text, '"', n) != NULL;
    for (unsigned from = 0; from < KARMA_I_N_PLACES; from++)
        if (has_quotes)
            walk(s, (karma_i_csv_place)from, text, n, offset, ends_field);
        else
            skip(s, (karma_i_csv_place)from, text, n, offset, ends_field);
    s->n_lines += count_lines(text, n);
}

static karma_status look_at(stretch *s, const karma_i_feed *feed, size_t first, size_t end,
                            const unsigned char *ends_field, karma_error *err) {
    char *text = karma_i_alloc(CHUNK_BYTES, 1);
    karma_status st = text ? KARMA_OK : karma_i_fail_memory(err);
    *s = (stretch){.n_lines = 0};
    for (unsigned from = 0; from < KARMA_I_N_PLACES; from++) {
        s->end[from] = (unsigned char)from;
        s->first[from] = NONE;
    }
    for (size_t n = 0; st == KARMA_OK && first < end; first += n) {
        n = end - first < CHUNK_BYTES ? end - first : CHUNK_BYTES;
        st = karma_i_feed_peek(text, feed, first, n, err);
        if (st == KARMA_OK) add_chunk(s, text, n, first, ends_field);
    }
    karma_i_free(text);
    return st;
}

/* --- the part of this process -------------------------------------------------------------------------- */

typedef struct part {
    size_t first, end, line;
} part;

/* Rank 0 starts at the first row; others at the first record that starts in their stretch, or have nothing. */
static part find_part(const stretch *all, size_t n, size_t rank, size_t start, size_t size, size_t first_line) {
    part p = {size, size, first_line};
    karma_i_csv_place at = KARMA_I_FIELD_START;
    size_t lines = first_line;
    int found = 0;
    for (size_t k = 0; k < n; k++) {
        size_t first = k == 0 ? start : all[k].first[at];
        if (k == rank && first != NONE) {
            p.first = first;
            p.line = k == 0 ? first_line : lines + all[k].lines_before[at];
            found = 1;
        }
        if (k > rank && first != NONE && found) {
            p.end = first;
            return p;
        }
        lines += all[k].n_lines;
        at = (karma_i_csv_place)all[k].end[at];
    }
    return p;
}

static karma_status check_splittable(const karma_i_csv_file *file, karma_error *err) {
    if (!file->request->feed || !karma_i_feed_size(file->request->feed))
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: only a file that is not compressed can be split over processes",
                            file->name);
    if (file->records.scan.delimiter_length != 1)
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: a file separated by :: cannot be split over processes",
                            file->name);
    return KARMA_OK;
}

karma_status karma_i_csv_take_part(karma_i_csv_file *file, karma_error *err) {
    const karma_ranks *r = file->request->ranks;
    karma_i_feed *feed = file->request->feed;
    karma_i_gathered all = {0};
    stretch own;
    if (!r || r->size == 1) return KARMA_OK;
    KARMA_TRY(check_splittable(file, err));
    size_t size = karma_i_feed_size(feed), start = karma_i_feed_origin(feed) + file->header_length;
    double bytes = (double)(size - start) / (double)r->size;
    size_t first = start + (size_t)(bytes * (double)r->rank);
    size_t end = r->rank + 1 == r->size ? size : start + (size_t)(bytes * (double)(r->rank + 1));
    KARMA_TRY(look_at(&own, feed, first, end, file->records.scan.ends_field, err));
    KARMA_TRY(karma_i_ranks_gather(&all, &own, sizeof own, r, err));
    part p = find_part((const stretch *)(void *)all.bytes, r->size, r->rank, start, size, file->records.first_line);
    karma_i_gathered_clear(&all);
    KARMA_TRY(karma_i_feed_restrict(feed, p.first, p.end, err));
    file->header_length = 0;
    file->records.first_line = p.line;
    KARMA_TRY(karma_i_csv_load_window(&file->window, feed, 0, 1, err));
    file->window.line = p.line;
    return KARMA_OK;
}

/* --- what all know ------------------------------------------------------------------------------------- */

static karma_i_survey *survey_of(karma_i_csv_file *file, size_t column) {
    karma_i_csv_column *c = &file->columns[column];
    return file->second ? &c->texts : &c->survey;
}

/* A survey as bytes: the struct, whose dictionary pointer has no meaning elsewhere, then lengths and
 * texts. */
typedef struct parcel {
    char *bytes;
    size_t used, capacity;
} parcel;

static int put(parcel *p, const void *bytes, size_t n) {
    if (!karma_i_reserve(&p->bytes, &p->capacity, p->used + n, 1)) return 0;
    if (n) memcpy(p->bytes + p->used, bytes, n);
    p->used += n;
    return 1;
}

static int put_survey(parcel *p, const karma_i_survey *survey) {
    const karma_i_dictionary *texts = &survey->texts;
    int ok = put(p, survey, sizeof *survey) && put(p, &texts->count, sizeof texts->count);
    for (size_t i = 0; ok && i < texts->count; i++)
        ok = put(p, &texts->entries[i].length, sizeof texts->entries[i].length) &&
             put(p, texts->entries[i].text, texts->entries[i].length);
    return ok;
}

/* Clear it even if this fails. */
static karma_status take_survey(karma_i_survey *out, const char **from, karma_error *err) {
    size_t n, length;
    memcpy(out, *from, sizeof *out);
    out->texts = (karma_i_dictionary){0};
    *from += sizeof *out;
    memcpy(&n, *from, sizeof n);
    *from += sizeof n;
    for (size_t i = 0; i < n; i++) {
        memcpy(&length, *from, sizeof length);
        *from += sizeof length;
        KARMA_TRY(karma_i_dictionary_add(NULL, &out->texts, *from, length, err));
        *from += length;
    }
    return KARMA_OK;
}

/* The survey of one column, merged in the order of the processes. *codes: a new array with the codes of this
 * process's texts.
 */
static karma_status merge_surveys(karma_i_survey *total, uint32_t **codes, const karma_i_gathered *all,
                                  const karma_ranks *r, karma_error *err) {
    karma_status st = KARMA_OK;
    for (size_t k = 0; st == KARMA_OK && k < r->size; k++) {
        const char *from = all->bytes + all->start[k];
        karma_i_survey part_of_all;
        st = take_survey(&part_of_all, &from, err);
        uint32_t *own = karma_i_zalloc(part_of_all.texts.count, sizeof *own);
        if (st == KARMA_OK && !own) st = karma_i_fail_memory(err);
        if (st == KARMA_OK) st = karma_i_survey_merge(total, own, &part_of_all, 1, err); /* lines are absolute */
        karma_i_survey_clear(&part_of_all);
        if (k == r->rank)
            *codes = own;
        else
            karma_i_free(own);
    }
    return st;
}

static karma_status share_column(karma_i_csv_file *file, size_t column, uint32_t **codes, karma_error *err) {
    const karma_ranks *r = file->request->ranks;
    karma_i_survey *own = survey_of(file, column), total;
    karma_i_gathered all = {0};
    parcel p = {0};
    karma_i_survey_init(&total, own->mode, own->is_target, own->style);
    karma_status st =
        put_survey(&p, own) ? karma_i_ranks_gather(&all, p.bytes, p.used, r, err) : karma_i_fail_memory(err);
    karma_i_free(p.bytes);
    if (st == KARMA_OK) st = merge_surveys(&total, codes, &all, r, err);
    karma_i_gathered_clear(&all);
    if (st == KARMA_OK) {
        karma_i_survey_clear(own);
        *own = total;
    } else
        karma_i_survey_clear(&total);
    return st;
}

static void translate(double *value, const uint32_t *codes) {
    uint32_t code;
    if (codes && karma_i_is_code(&code, *value)) *value = karma_i_code(codes[code]);
}

/* Translates this process's codes of texts to the common ones. */
static karma_status translate_codes(karma_i_csv_file *file, uint32_t *const *codes, karma_error *err) {
    karma_table *t = file->builder.table;
    const uint32_t **by_place = karma_i_zalloc(file->most_cells, sizeof *by_place);
    if (!by_place) return karma_i_fail_memory(err);
    for (size_t i = 0; i < file->n_columns; i++)
        if (file->columns[i].role == ROLE_ATTRIBUTE) by_place[file->columns[i].place] = codes[i];
    for (size_t i = 0; i < file->builder.n_cells; i++) translate(&t->cell_value[i], by_place[t->cell_owner[i]]);
    for (size_t k = 0; k < file->n_targets; k++)
        for (size_t i = 0; i < file->n_rows; i++)
            translate(&file->labels[i * file->n_targets + k], codes[file->targets[k]]);
    karma_i_free(by_place);
    return KARMA_OK;
}

karma_status karma_i_csv_share(karma_i_csv_file *file, karma_error *err) {
    const karma_ranks *r = file->request->ranks;
    file->n_all_rows = file->n_rows;
    if (!r || r->size == 1) return KARMA_OK;
    uint32_t **codes = karma_i_zalloc(file->n_columns, sizeof *codes);
    karma_status st = codes ? karma_i_ranks_add(&file->n_all_rows, 1, r, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_ranks_largest(&file->largest_weight, 1, r, err);
    for (size_t i = 0; st == KARMA_OK && i < file->n_columns; i++)
        if (file->columns[i].action == ACTION_SURVEY) st = share_column(file, i, &codes[i], err);
    if (st == KARMA_OK) st = translate_codes(file, codes, err);
    for (size_t i = 0; codes && i < file->n_columns; i++) karma_i_free(codes[i]);
    karma_i_free(codes);
    return st;
}
