#include "table/reading.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"

const char *const karma_i_reading_names[] = {"missing", "id",      "ignore", "delimiter",  "header",
                                             "absent",  "decimal", "dates",  "date-order", NULL};

/* The text of an option, to be freed; NULL: out of memory. */
static char *text_of(const karma_option *option, const void *options) {
    int length = karma_option_text(option, options, NULL, 0);
    char *text = length < 0 ? NULL : karma_i_alloc((size_t)length + 1, 1);
    if (text) (void)karma_option_text(option, options, text, (size_t)length + 1);
    return text;
}

static const karma_names *names_of(const karma_option *option, const void *options) {
    return (const karma_names *)(const void *)((const char *)options + option->offset);
}

/* Copies the value of an option from `from` to `to`. */
static karma_status copy_option(const karma_option *option, karma_read_options *to, const karma_read_options *from,
                                karma_error *err) {
    if (option->kind == KARMA_OPTION_NAMES) {
        const karma_names *names = names_of(option, from);
        for (size_t i = 0; i < names->count; i++) KARMA_TRY(karma_option_set(option, to, names->items[i], err));
        return KARMA_OK;
    }
    char *text = text_of(option, from);
    if (!text) return karma_i_fail_memory(err);
    karma_status st = *text ? karma_option_set(option, to, text, err) : KARMA_OK;
    karma_i_free(text);
    return st;
}

karma_status karma_i_reading_copy(karma_read_options *out, const karma_read_options *options, karma_error *err) {
    const karma_option_table *table = karma_read_option_table();
    karma_options_init(table, out);
    for (size_t i = 0; karma_i_reading_names[i]; i++) {
        karma_status st = copy_option(karma_option_find(table, karma_i_reading_names[i]), out, options, err);
        if (st == KARMA_OK) continue;
        karma_options_clear(table, out);
        return st;
    }
    return KARMA_OK;
}

karma_status karma_i_reading_new(karma_read_options **out, const karma_read_options *options, karma_error *err) {
    karma_read_options *reading = karma_i_alloc(1, sizeof *reading);
    karma_status st = reading ? karma_i_reading_copy(reading, options, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK)
        *out = reading;
    else
        karma_i_free(reading);
    return st;
}

/* Whether two structs have the same value of an option; -1: out of memory. */
static int is_same(const karma_option *option, const karma_read_options *a, const karma_read_options *b) {
    char *x = text_of(option, a), *y = text_of(option, b);
    int same = x && y ? strcmp(x, y) == 0 : -1;
    karma_i_free(x);
    karma_i_free(y);
    return same;
}

static int is_among(const karma_names *names, const char *name) {
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0) return 1;
    return 0;
}

/* Whether the options already give the type of a column. */
static int is_given(const karma_read_options *o, const char *name) {
    return is_among(&o->target, name) || is_among(&o->id, name) || is_among(&o->ignore, name) ||
           is_among(&o->numeric, name) || is_among(&o->category, name) ||
           (o->row_weight && strcmp(o->row_weight, name) == 0);
}

/* Roles of columns, except for columns that now have another role. */
static karma_status remember_roles(const karma_option *option, karma_read_options *out, const karma_names *names,
                                   karma_error *err) {
    for (size_t i = 0; i < names->count; i++)
        if (!is_given(out, names->items[i])) KARMA_TRY(karma_option_set(option, out, names->items[i], err));
    return KARMA_OK;
}

static karma_status merge_option(const karma_option *option, karma_read_options *out, const karma_read_options *plain,
                                 const karma_read_options *remembered, const karma_hooks *hooks, karma_error *err) {
    int unset = is_same(option, out, plain), silent = is_same(option, remembered, plain);
    int same = is_same(option, out, remembered);
    if (unset < 0 || silent < 0 || same < 0) return karma_i_fail_memory(err);
    int is_role = strcmp(option->name, "id") == 0 || strcmp(option->name, "ignore") == 0;
    if (!same && silent && strcmp(option->name, "missing") == 0) {
        char text[96];
        (void)karma_option_text(option, out, text, sizeof text);
        karma_i_notice(hooks, "option 'missing' is '%s' here, but was not set when the model was learned", text);
    }
    if (same || silent) return KARMA_OK;
    if (is_role) return remember_roles(option, out, names_of(option, remembered), err);
    int is_hint = strcmp(option->name, "decimal") == 0; /* the reader looks at the file first */
    if (unset) return is_hint ? KARMA_OK : copy_option(option, out, remembered, err);
    char given[96], before[96];
    (void)karma_option_text(option, out, given, sizeof given);
    (void)karma_option_text(option, remembered, before, sizeof before);
    karma_i_notice(hooks, "option '%s' is '%s' here, but was '%s' when the model was learned", option->name, given,
                   before);
    return KARMA_OK;
}

karma_status karma_i_reading_merge(karma_read_options *out, const karma_read_options *given,
                                   const karma_read_options *remembered, const karma_hooks *hooks, karma_error *err) {
    const karma_option_table *table = karma_read_option_table();
    karma_read_options plain, merged;
    KARMA_TRY(karma_i_options_accept(table, &plain, given, err)); /* borrows: only for the copy */
    KARMA_TRY(karma_options_copy(table, &merged, &plain, err));
    karma_options_init(table, &plain);
    karma_status st = KARMA_OK;
    for (size_t i = 0; st == KARMA_OK && karma_i_reading_names[i]; i++)
        st = merge_option(karma_option_find(table, karma_i_reading_names[i]), &merged, &plain, remembered, hooks, err);
    if (st == KARMA_OK)
        *out = merged;
    else
        karma_options_clear(table, &merged);
    return st;
}

/* --- in model files ------------------------------------------------------------------------------------ */

void karma_i_reading_free(karma_read_options *reading) {
    if (reading) karma_options_clear(karma_read_option_table(), reading);
    karma_i_free(reading);
}

/* A list of names is stored as a list, because names may contain commas. */
static karma_status archive_names(karma_i_archive *a, const karma_option *option, karma_read_options *reading) {
    karma_names *names = (karma_names *)(void *)((char *)reading + option->offset);
    return karma_i_archive_texts(a, option->name, &names->items, &names->count);
}

static karma_status archive_value(karma_i_archive *a, const karma_option *option, karma_read_options *reading) {
    karma_error fault = {0};
    int is_reading = karma_i_archive_is_reading(a);
    char *text = is_reading ? NULL : text_of(option, reading);
    if (!is_reading && !text) return karma_i_archive_fail_memory(a);
    karma_status st = karma_i_archive_text(a, option->name, &text);
    if (st == KARMA_OK && is_reading && karma_option_set(option, reading, text, &fault) != KARMA_OK)
        st = fault.status == KARMA_ERR_MEMORY ? karma_i_archive_fail_memory(a)
                                              : karma_i_archive_fail(a, "%s", fault.message);
    karma_i_free(text);
    return st;
}

karma_status karma_i_reading_archive(karma_i_archive *archive, karma_read_options **reading) {
    const karma_option_table *table = karma_read_option_table();
    int is_there = *reading != NULL;
    karma_i_archive_find(archive, "reading", &is_there);
    if (!is_there) return KARMA_OK;
    if (karma_i_archive_is_reading(archive)) {
        if (!(*reading = karma_i_alloc(1, sizeof **reading))) return karma_i_archive_fail_memory(archive);
        karma_options_init(table, *reading);
    }
    KARMA_TRY(karma_i_archive_enter(archive, "reading"));
    for (size_t i = 0; karma_i_reading_names[i]; i++) {
        const karma_option *option = karma_option_find(table, karma_i_reading_names[i]);
        KARMA_TRY(option->kind == KARMA_OPTION_NAMES ? archive_names(archive, option, *reading)
                                                     : archive_value(archive, option, *reading));
    }
    karma_i_archive_leave(archive);
    return KARMA_OK;
}
