#include "io/first_rows.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/csv_place.h"
#include "karma/options.h"

enum { WAIT_MILLISECONDS = 100 };

struct karma_i_first_rows {
    karma_i_feed *feed;
    karma_hooks hooks;
    char *start;              /* the first records */
    size_t length;            /* of it */
    size_t given;             /* bytes already handed out */
    int only_start;           /* stop after the first records */
    size_t n_found, n_wanted; /* of these, while they are waited for */
};

static karma_status fail_interrupted(const karma_i_first_rows *f, karma_error *err) {
    const char *name = karma_i_feed_name(f->feed);
    if (f->n_found >= f->n_wanted) return karma_i_fail(err, KARMA_ERR_CANCELLED, "%s: interrupted", name);
    return karma_i_fail(
        err, KARMA_ERR_CANCELLED,
        "%s: interrupted after %zu of the first %zu lines, from which the model begins (option 'warm-up')", name,
        f->n_found, f->n_wanted);
}

/* Waits until reading would not block. Meanwhile the hook is asked, since the next row may take any time. */
static karma_status wait_for_text(karma_i_first_rows *f, karma_error *err) {
    size_t length;
    (void)karma_i_feed_text(f->feed, &length);
    while (length == 0 && !karma_i_feed_at_end(f->feed) && !karma_i_feed_wait(f->feed, WAIT_MILLISECONDS))
        if (karma_i_progress(&f->hooks, "waiting for rows", f->n_found, f->n_wanted)) return fail_interrupted(f, err);
    if (karma_i_progress(&f->hooks, "reading", 0, 0)) return fail_interrupted(f, err);
    return length ? KARMA_OK : karma_i_feed_fill(f->feed, 1, 0, err);
}

/* How far the text has been searched for the end of its first records. */
typedef struct search {
    size_t scanned, n_records;
    karma_i_csv_place at;
    unsigned char ends_field[256];
} search;

/* If the delimiter is not known yet, a quote may open behind any that may be guessed. */
static void begin_search(search *s, int delimiter) {
    static const char guessed[] = ",;\t|:";
    *s = (search){.at = KARMA_I_FIELD_START};
    s->ends_field['\r'] = s->ends_field['\n'] = s->ends_field['\0'] = 1;
    if (delimiter == 0)
        for (const char *c = guessed; *c; c++) s->ends_field[(unsigned char)*c] = 1;
    else
        s->ends_field[delimiter == KARMA_COLONS ? ':' : delimiter] = 1;
    if (delimiter == ' ') s->ends_field['\t'] = 1;
}

/* Where record number n_records ends; 0: not within the present text. */
static size_t find_end(search *s, const char *text, size_t length, size_t n_records) {
    for (; s->scanned < length; ++s->scanned) {
        char c = text[s->scanned];
        int ends_record = c == '\n' && s->at != KARMA_I_IN_QUOTES;
        s->at = karma_i_csv_step(s->at, c, s->ends_field);
        if (ends_record && ++s->n_records == n_records) return s->scanned + 1;
    }
    return 0;
}

static karma_status read_start(karma_i_first_rows *f, size_t n_records, int delimiter, karma_error *err) {
    size_t capacity = 0, end = 0;
    search s;
    begin_search(&s, delimiter);
    f->n_wanted = n_records;
    while (n_records && end == 0) {
        size_t length;
        KARMA_TRY(wait_for_text(f, err));
        const char *text = karma_i_feed_text(f->feed, &length);
        if (length == 0) break; /* the end */
        if (f->length + length > karma_i_memory_limit() ||
            !karma_i_reserve(&f->start, &capacity, f->length + length + 1, 1))
            return karma_i_fail(err, KARMA_ERR_MEMORY, "%s: the first rows do not fit in memory",
                                karma_i_feed_name(f->feed));
        memcpy(f->start + f->length, text, length);
        end = find_end(&s, f->start, f->length + length, n_records);
        f->n_found = s.n_records;
        size_t taken = end ? end - f->length : length;
        f->length += taken;
        karma_i_feed_pass(f->feed, taken);
    }
    f->n_found = f->n_wanted = 0;
    return KARMA_OK;
}

karma_status karma_i_first_rows_open(karma_i_first_rows **out, const char *path, size_t n_records, int delimiter,
                                     const karma_hooks *hooks, karma_error *err) {
    karma_i_first_rows *f = karma_i_zalloc(1, sizeof *f);
    if (!f) return karma_i_fail_memory(err);
    if (hooks) f->hooks = *hooks;
    karma_status st = karma_i_feed_open(&f->feed, path, err);
    if (st == KARMA_OK) st = read_start(f, n_records, delimiter, err);
    if (st == KARMA_OK)
        *out = f;
    else
        karma_i_first_rows_free(f);
    return st;
}

void karma_i_first_rows_free(karma_i_first_rows *first) {
    if (!first) return;
    karma_i_feed_close(first->feed);
    karma_i_free(first->start);
    karma_i_free(first);
}

const char *karma_i_first_rows_name(const karma_i_first_rows *first) {
    return karma_i_feed_name(first->feed);
}

static karma_status give(void *self, size_t *got, char *to, size_t room, karma_error *err) {
    karma_i_first_rows *f = self;
    size_t length = f->length - f->given;
    const char *text = f->start + f->given;
    if (length == 0 && !f->only_start) {
        KARMA_TRY(wait_for_text(f, err));
        text = karma_i_feed_text(f->feed, &length);
        *got = length < room ? length : room;
        if (*got) memcpy(to, text, *got);
        karma_i_feed_pass(f->feed, *got);
        return KARMA_OK;
    }
    *got = length < room ? length : room;
    if (*got) memcpy(to, text, *got);
    f->given += *got;
    return KARMA_OK;
}

static int would_wait(void *self) {
    const karma_i_first_rows *f = self;
    size_t length;
    if (f->given < f->length || f->only_start) return 0;
    (void)karma_i_feed_text(f->feed, &length);
    return length == 0 && !karma_i_feed_at_end(f->feed) && !karma_i_feed_wait(f->feed, 0);
}

static karma_i_supply supply(karma_i_first_rows *f, int only_start) {
    f->given = 0;
    f->only_start = only_start;
    return (karma_i_supply){.read = give, .would_wait = would_wait, .self = f, .is_file = 1};
}

karma_i_supply karma_i_first_rows_part(karma_i_first_rows *first) {
    return supply(first, 1);
}

karma_i_supply karma_i_first_rows_and_rest(karma_i_first_rows *first) {
    return supply(first, 0);
}
