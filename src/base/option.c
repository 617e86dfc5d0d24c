/* Options: everything here works from the records of a table. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/options_accept.h"
#include "karma/options.h"

static void *field_of(const karma_option *option, void *options) {
    return (char *)options + option->offset;
}

static const void *const_field_of(const karma_option *option, const void *options) {
    return (const char *)options + option->offset;
}

/* Every options struct begins with its size. */
static size_t size_of(const void *options) {
    size_t size;
    memcpy(&size, options, sizeof size);
    return size;
}

static size_t field_size(karma_option_kind kind) {
    switch (kind) {
    case KARMA_OPTION_INTEGER:
        return sizeof(int64_t);
    case KARMA_OPTION_REAL:
        return sizeof(double);
    case KARMA_OPTION_CHOICE:
    case KARMA_OPTION_SWITCH:
        return sizeof(int);
    case KARMA_OPTION_TEXT:
        return sizeof(char *);
    case KARMA_OPTION_NAMES:
        return sizeof(karma_names);
    }
    return 0;
}

/* Whether a struct of this size has the option: structs of older headers end before newer options. */
static int is_within(const karma_option *option, size_t struct_size) {
    return option->offset + field_size(option->kind) <= struct_size;
}

void karma_options_init_size(const karma_option_table *table, void *options, size_t size) {
    memset(options, 0, size);
    memcpy(options, &size, sizeof size);
    for (size_t i = 0; i < table->count; i++) {
        const karma_option *o = &table->options[i];
        if (!is_within(o, size)) continue;
        void *field = field_of(o, options);
        switch (o->kind) {
        case KARMA_OPTION_INTEGER:
            *(int64_t *)field = (int64_t)o->initial;
            break;
        case KARMA_OPTION_REAL:
            *(double *)field = o->initial;
            break;
        case KARMA_OPTION_CHOICE:
        case KARMA_OPTION_SWITCH:
            *(int *)field = (int)o->initial;
            break;
        case KARMA_OPTION_TEXT:
        case KARMA_OPTION_NAMES:
            break; /* empty */
        }
    }
}

int karma_i_option_is_default(const karma_option *option, const void *options) {
    const void *field = const_field_of(option, options);
    switch (option->kind) {
    case KARMA_OPTION_INTEGER:
        return *(const int64_t *)field == (int64_t)option->initial;
    case KARMA_OPTION_REAL:
        return *(const double *)field == option->initial;
    case KARMA_OPTION_CHOICE:
    case KARMA_OPTION_SWITCH:
        return *(const int *)field == (int)option->initial;
    case KARMA_OPTION_TEXT:
        return !*(char *const *)field || !**(char *const *)field;
    case KARMA_OPTION_NAMES:
        return ((const karma_names *)field)->count == 0;
    }
    return 1;
}

void karma_options_clear(const karma_option_table *table, void *options) {
    if (!options) return;
    size_t size = size_of(options);
    for (size_t i = 0; i < table->count; i++) {
        const karma_option *o = &table->options[i];
        if (!is_within(o, size)) continue;
        void *field = field_of(o, options);
        if (o->kind == KARMA_OPTION_TEXT) {
            karma_i_free(*(char **)field);
            *(char **)field = NULL;
        } else if (o->kind == KARMA_OPTION_NAMES) {
            karma_names *names = field;
            for (size_t n = 0; n < names->count; n++) karma_i_free(names->items[n]);
            karma_i_free(names->items);
            *names = (karma_names){NULL, 0};
        }
    }
}

karma_status karma_i_names_add(karma_names *names, const char *text, karma_error *err) {
    char *copy = karma_i_strdup(text);
    char **grown = copy ? karma_i_realloc(names->items, names->count + 1, sizeof *grown) : NULL;
    if (!grown) {
        karma_i_free(copy);
        return karma_i_fail_memory(err);
    }
    grown[names->count++] = copy;
    names->items = grown;
    return KARMA_OK;
}

static karma_status set_text(char **field, const char *text, karma_error *err) {
    char *copy = karma_i_strdup(text);
    if (!copy) return karma_i_fail_memory(err);
    karma_i_free(*field);
    *field = copy;
    return KARMA_OK;
}

/* A struct that was never initialised is recognised by its size, which is then almost certainly out of range. */
static karma_status check_size(const karma_option_table *table, size_t size, karma_error *err) {
    if (size < sizeof size || size % sizeof(int) != 0)
        return karma_i_fail(err, KARMA_ERR_OPTION, "an options struct was not filled by karma_options_init");
    if (size > table->struct_size)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "an options struct has %zu bytes, this library knows %zu: it was not filled by "
                            "karma_options_init, or the program needs a newer library",
                            size, table->struct_size);
    return KARMA_OK;
}

karma_status karma_i_options_borrow(const karma_option_table *table, void *to, const void *from, karma_error *err) {
    if (from) KARMA_TRY(check_size(table, size_of(from), err));
    karma_options_init_size(table, to, table->struct_size);
    if (from && to != from) {
        size_t size = size_of(from);
        memcpy((char *)to + sizeof size, (const char *)from + sizeof size, size - sizeof size);
    }
    return KARMA_OK;
}

karma_status karma_i_options_accept(const karma_option_table *table, void *to, const void *from, karma_error *err) {
    KARMA_TRY(karma_i_options_borrow(table, to, from, err));
    return karma_options_check(table, to, err);
}

/* Replaces the texts and lists of `to`, which are those of `from` after the copy of its bytes, by copies. `shared` is
 * the size of the part that both structs have. */
static karma_status own_texts(const karma_option_table *table, void *to, const void *from, size_t shared,
                              karma_error *err) {
    karma_status st = KARMA_OK;
    for (size_t i = 0; i < table->count; i++) { /* start from an empty copy, so that a failure can clear it */
        const karma_option *o = &table->options[i];
        if (!is_within(o, shared)) continue;
        if (o->kind == KARMA_OPTION_TEXT) *(char **)field_of(o, to) = NULL;
        if (o->kind == KARMA_OPTION_NAMES) *(karma_names *)field_of(o, to) = (karma_names){NULL, 0};
    }
    for (size_t i = 0; st == KARMA_OK && i < table->count; i++) {
        const karma_option *o = &table->options[i];
        if (!is_within(o, shared)) continue;
        const void *field = const_field_of(o, from);
        if (o->kind == KARMA_OPTION_TEXT && *(char *const *)field)
            st = set_text(field_of(o, to), *(char *const *)field, err);
        const karma_names *names = field;
        for (size_t n = 0; o->kind == KARMA_OPTION_NAMES && st == KARMA_OK && n < names->count; n++)
            st = karma_i_names_add(field_of(o, to), names->items[n], err);
    }
    return st;
}

karma_status karma_options_copy_size(const karma_option_table *table, void *to, size_t size, const void *from,
                                     karma_error *err) {
    KARMA_TRY(check_size(table, size, err));
    if (from) KARMA_TRY(check_size(table, size_of(from), err));
    karma_options_init_size(table, to, size);
    if (!from) return KARMA_OK;
    size_t shared = size_of(from) < size ? size_of(from) : size;
    memcpy((char *)to + sizeof size, (const char *)from + sizeof size, shared - sizeof size);
    karma_status st = own_texts(table, to, from, shared, err);
    if (st != KARMA_OK) karma_options_clear(table, to);
    return st;
}

const karma_option *karma_option_find(const karma_option_table *table, const char *name) {
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->options[i].name, name) == 0) return &table->options[i];
    return NULL;
}

static const karma_option_word *find_word(const karma_option *option, const char *text) {
    for (const karma_option_word *w = option->words; w && w->word; w++)
        if (strcmp(w->word, text) == 0) return w;
    return NULL;
}

static const char *word_of_value(const karma_option *option, double value) {
    for (const karma_option_word *w = option->words; w && w->word; w++)
        if (w->value == value) return w->word;
    return NULL;
}

static int within(const karma_option *option, double value) {
    return value >= option->min && value <= option->max; /* false for NaN */
}

static karma_status fail_value(const karma_option *option, const char *text, karma_error *err) {
    char allowed[256], low[KARMA_NUMBER_SIZE], high[KARMA_NUMBER_SIZE];
    (void)karma_option_values(option, allowed, sizeof allowed);
    if (option->kind == KARMA_OPTION_INTEGER || option->kind == KARMA_OPTION_REAL)
        return karma_i_fail(err, KARMA_ERR_OPTION, "option '%s' takes %s, numbers from %s to %s; it cannot be '%s'",
                            option->name, allowed, karma_number_text(low, option->min),
                            karma_number_text(high, option->max), text);
    return karma_i_fail(err, KARMA_ERR_OPTION, "option '%s' takes %s; it cannot be '%s'", option->name, allowed, text);
}

karma_status karma_option_set(const karma_option *option, void *options, const char *text, karma_error *err) {
    if (!is_within(option, size_of(options)))
        return karma_i_fail(err, KARMA_ERR_OPTION, "this program was compiled without option '%s'", option->name);
    void *field = field_of(option, options);
    const karma_option_word *word = find_word(option, text);
    double value = 0.0;
    switch (option->kind) {
    case KARMA_OPTION_TEXT:
        return set_text(field, text, err);
    case KARMA_OPTION_NAMES:
        return karma_i_names_add(field, text, err);
    case KARMA_OPTION_CHOICE:
        if (!word) return fail_value(option, text, err);
        *(int *)field = (int)word->value;
        return KARMA_OK;
    case KARMA_OPTION_SWITCH:
        if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0) return fail_value(option, text, err);
        *(int *)field = strcmp(text, "on") == 0;
        return KARMA_OK;
    case KARMA_OPTION_INTEGER:
    case KARMA_OPTION_REAL:
        break;
    }
    if (word) {
        value = word->value;
    } else if (!karma_i_number_parse(&value, text, strlen(text)) || !within(option, value) ||
               (option->kind == KARMA_OPTION_INTEGER && value != floor(value))) {
        return fail_value(option, text, err);
    }
    if (option->kind == KARMA_OPTION_INTEGER)
        *(int64_t *)field = (int64_t)value;
    else
        *(double *)field = value;
    return KARMA_OK;
}

karma_status karma_options_check(const karma_option_table *table, const void *options, karma_error *err) {
    KARMA_TRY(check_size(table, size_of(options), err));
    for (size_t i = 0; i < table->count; i++) {
        const karma_option *o = &table->options[i];
        if (!is_within(o, size_of(options))) continue;
        const void *field = const_field_of(o, options);
        double value = 0.0;
        int ok = 1;
        switch (o->kind) {
        case KARMA_OPTION_INTEGER:
            value = (double)*(const int64_t *)field;
            ok = within(o, value) || word_of_value(o, value);
            break;
        case KARMA_OPTION_REAL:
            value = *(const double *)field;
            ok = within(o, value) || word_of_value(o, value);
            break;
        case KARMA_OPTION_CHOICE:
            ok = word_of_value(o, value = *(const int *)field) != NULL;
            break;
        case KARMA_OPTION_SWITCH:
            ok = (value = *(const int *)field) == 0.0 || value == 1.0;
            break;
        case KARMA_OPTION_TEXT:
        case KARMA_OPTION_NAMES:
            break;
        }
        char text[KARMA_NUMBER_SIZE];
        if (!ok) return fail_value(o, karma_number_text(text, value), err);
    }
    return KARMA_OK;
}

static int value_text(const karma_option *option, double value, char *text, size_t size) {
    char number[KARMA_NUMBER_SIZE];
    const char *word = word_of_value(option, value);
    if (option->kind == KARMA_OPTION_SWITCH) word = value != 0.0 ? "on" : "off";
    return snprintf(text, size, "%s", word ? word : karma_number_text(number, value));
}

static int join_names(const karma_names *names, char *text, size_t size) {
    int length = 0;
    if (size) text[0] = '\0';
    for (size_t i = 0; i < names->count; i++) {
        size_t used = (size_t)length < size ? (size_t)length : size;
        length += snprintf(size ? text + used : NULL, size - used, "%s%s", i ? "," : "", names->items[i]);
    }
    return length;
}

int karma_option_text(const karma_option *option, const void *options, char *text, size_t size) {
    if (!is_within(option, size_of(options))) return karma_option_initial(option, text, size);
    const void *field = const_field_of(option, options);
    switch (option->kind) {
    case KARMA_OPTION_INTEGER:
        return value_text(option, (double)*(const int64_t *)field, text, size);
    case KARMA_OPTION_REAL:
        return value_text(option, *(const double *)field, text, size);
    case KARMA_OPTION_CHOICE:
    case KARMA_OPTION_SWITCH:
        return value_text(option, *(const int *)field, text, size);
    case KARMA_OPTION_TEXT: {
        const char *value = *(char *const *)field;
        if (!value) value = option->initial_text ? option->initial_text : "";
        return snprintf(text, size, "%s", value);
    }
    case KARMA_OPTION_NAMES:
        return join_names(field, text, size);
    }
    return 0;
}

int karma_option_values(const karma_option *option, char *text, size_t size) {
    const char *plain = NULL;
    switch (option->kind) {
    case KARMA_OPTION_INTEGER:
        plain = "N";
        break;
    case KARMA_OPTION_REAL:
        plain = "NUMBER";
        break;
    case KARMA_OPTION_SWITCH:
        plain = "on|off";
        break;
    case KARMA_OPTION_TEXT:
        plain = "TEXT";
        break;
    case KARMA_OPTION_NAMES:
        plain = "NAME";
        break;
    case KARMA_OPTION_CHOICE:
        plain = NULL;
        break;
    }
    if (option->placeholder) plain = option->placeholder;
    int length = snprintf(text, size, "%s", plain ? plain : "");
    if (option->placeholder) return length;
    for (const karma_option_word *w = option->words; w && w->word; w++) {
        size_t used = (size_t)length < size ? (size_t)length : size;
        length += snprintf(size ? text + used : NULL, size - used, "%s%s", length ? "|" : "", w->word);
    }
    return length;
}

int karma_option_initial(const karma_option *option, char *text, size_t size) {
    if (option->kind == KARMA_OPTION_TEXT || option->kind == KARMA_OPTION_NAMES)
        return snprintf(text, size, "%s", option->initial_text ? option->initial_text : "");
    return value_text(option, option->initial, text, size);
}
