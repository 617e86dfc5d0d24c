/* Cells of new rows that are unlike those of the training rows: counted for a notice, named row by row by --flags. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool.h"

enum { MOST_COLUMNS_NAMED = 8 };

static const char *const words[] = {[KARMA_CELL_UNSEEN] = "unseen",
                                    [KARMA_CELL_TEXT] = "text",
                                    [KARMA_CELL_BELOW] = "below",
                                    [KARMA_CELL_ABOVE] = "above"};

int init_flag_counts(flag_counts *counts, const karma_model *model) {
    size_t n = karma_model_n_attributes(model) + 1;
    *counts = (flag_counts){calloc(n, sizeof(size_t)), calloc(n, sizeof(size_t))};
    if (counts->unseen && counts->outside) return EXIT_DONE;
    clear_flag_counts(counts);
    return fail(NULL, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
}

void clear_flag_counts(flag_counts *counts) {
    free(counts->unseen);
    free(counts->outside);
    *counts = (flag_counts){NULL, NULL};
}

/* Texts in numeric columns have a notice of the reader already. */
int count_flags(flag_counts *counts, karma_cell_flags *flags, const tool *t, const karma_model *model,
                const karma_table *table) {
    karma_cell_flags own;
    karma_error err;
    if (karma_flag_cells(&own, model, table, &err) != KARMA_OK) return fail(t->arguments[1], &err);
    for (size_t k = 0; k < own.n_cells; k++) {
        karma_cell_flag why = own.cells[k].why;
        if (why == KARMA_CELL_UNSEEN) counts->unseen[own.cells[k].attribute]++;
        if (why == KARMA_CELL_BELOW || why == KARMA_CELL_ABOVE) counts->outside[own.cells[k].attribute]++;
    }
    if (flags)
        *flags = own;
    else
        karma_cell_flags_clear(&own);
    return EXIT_DONE;
}

/* Attributes that dates were made into. A year that is outside the training range has its days outside, too. */
typedef enum date_role { NO_DATE, DATE_YEAR, DATE_DAYS, DATE_PART } date_role;

/* The user's name of an attribute: "visit" of visit.year and visit.days, "visit (month)" of other parts of a date. */
static date_role put_source_name(char *text, size_t size, const karma_model *model, size_t attribute) {
    const char *name = karma_model_attribute_name(model, attribute), *part = strrchr(name, '.');
    char column[1024] = "";
    size_t length = part ? (size_t)(part - name) : 0, n = karma_model_n_source_columns(model);
    (void)snprintf(text, size, "%s", name);
    for (size_t c = 0; part && c < n; c++) {
        if (karma_model_source_column(column, sizeof column, model, c) != length || strncmp(column, name, length) != 0)
            continue;
        date_role role = strcmp(part, ".year") == 0 ? DATE_YEAR : strcmp(part, ".days") == 0 ? DATE_DAYS : DATE_PART;
        if (role == DATE_PART)
            (void)snprintf(text, size, "%.*s (%s)", (int)length, name, part + 1);
        else
            (void)snprintf(text, size, "%.*s", (int)length, name);
        return role;
    }
    return NO_DATE;
}

/* "2024-03-01" of days since 1970-01-01. */
static const char *date_text(char text[40], double days) {
    time_t seconds = (time_t)(floor(days) * 86400.0);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm) || strftime(text, 40, "%Y-%m-%d", &tm) == 0) (void)snprintf(text, 40, "%.6g", days);
    return text;
}

/* "'colour' 3 cells with categories that training rows did not have (read as missing)" */
static void describe_column(char text[400], const flag_counts *counts, const karma_model *model, size_t j) {
    double low = 0.0, high = 0.0;
    char name[1200], from[40], to[40];
    int is_days = put_source_name(name, sizeof name, model, j) == DATE_DAYS;
    if (counts->unseen[j]) {
        (void)snprintf(text, 400, "'%.80s' %zu with an unseen category (read as missing)",
                       karma_model_attribute_name(model, j), counts->unseen[j]);
        return;
    }
    (void)karma_model_attribute_range(model, j, &low, &high);
    (void)snprintf(from, sizeof from, "%.6g", low);
    (void)snprintf(to, sizeof to, "%.6g", high);
    (void)snprintf(text, 400, "'%.80s' %zu outside the training range, %s to %s", name, counts->outside[j],
                   is_days ? date_text(from, low) : from, is_days ? date_text(to, high) : to);
}

void note_flags(const tool *t, const flag_counts *counts, const karma_model *model) {
    char sentence[4096] = "cells unlike the training rows: ";
    size_t told = 0, more = 0, used = strlen(sentence);
    for (size_t j = 0; j < karma_model_n_attributes(model); j++) {
        char text[400];
        if (counts->unseen[j] + counts->outside[j] == 0) continue;
        if (put_source_name(text, sizeof text, model, j) == DATE_YEAR) continue;
        if (told == MOST_COLUMNS_NAMED) {
            more++;
            continue;
        }
        describe_column(text, counts, model, j);
        used += (size_t)snprintf(sentence + used, sizeof sentence - used, "%s%s", told++ ? "; " : "", text);
    }
    if (told == 0 || !t->hooks.notice) return;
    if (more) (void)snprintf(sentence + used, sizeof sentence - used, "; and cells of %zu more columns", more);
    t->hooks.notice(t->hooks.payload, sentence);
}

static const karma_flagged_cell *next_flag(const karma_cell_flags *flags, size_t row, size_t *next) {
    if (*next == flags->n_cells || flags->cells[*next].row != row) return NULL;
    return &flags->cells[(*next)++];
}

void write_row_flags(FILE *stream, const karma_model *model, const karma_cell_flags *flags, size_t row, size_t *next) {
    char *text = NULL;
    size_t size = 0, shown = 0;
    FILE *field = open_memstream(&text, &size);
    char name[1200];
    for (const karma_flagged_cell *cell; field && (cell = next_flag(flags, row, next));)
        if (put_source_name(name, sizeof name, model, cell->attribute) != DATE_YEAR || cell->why == KARMA_CELL_TEXT)
            fprintf(field, "%s%s: %s", shown++ ? "; " : "", name, words[cell->why]);
    if (field) (void)fclose(field);
    if (text) karma_csv_write_field(stream, text);
    free(text);
}

json_t *row_flags_json(const karma_model *model, const karma_cell_flags *flags, size_t row, size_t *next) {
    json_t *object = json_object();
    int ok = object != NULL;
    char name[1200];
    for (const karma_flagged_cell *cell; (cell = next_flag(flags, row, next));) {
        (void)put_source_name(name, sizeof name, model, cell->attribute);
        ok = ok && json_object_set_new(object, name, json_string(words[cell->why])) == 0;
    }
    if (ok) return object;
    json_decref(object);
    return NULL;
}
