/* Rows that are not rows of the table (totals, repeated headers, empty lines), and labels that are missing. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "table/review.h"
#include "table/review_levels.h"

static int is_total(const char *text) {
    static const char *const words[] = {"total",  "totals", "grand total", "sum",     "subtotal",   "average", "mean",
                                        "summe",  "gesamt", "insgesamt",   "somme",   "mittelwert", "totale",  "suma",
                                        "totaal", "summa",  "razem",       "moyenne", "promedio",   "media"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(text, words[i]) == 0) return 1;
    return 0;
}

const char *karma_i_table_total(const karma_table *table) {
    size_t last = table->n_rows - 1;
    double value, other;
    for (size_t k = 0; k < table->n_ids; k++)
        if (is_total(table->ids[last * table->n_ids + k])) return table->ids[last * table->n_ids + k];
    for (size_t j = 0; j < table->n_attributes; j++) {
        const karma_i_column *column = &table->attributes[j];
        if (column->kind != KARMA_COLUMN_CATEGORY || !karma_table_cell(table, last, j, &value)) continue;
        if (!is_total(column->levels[(size_t)value])) continue;
        size_t i = 0;
        while (i < last && !(karma_table_cell(table, i, j, &other) && other == value)) i++;
        if (i == last) return column->levels[(size_t)value];
    }
    return NULL;
}

/* Columns of numbers, except for a text in the first row. */
static size_t count_titles(const karma_table *table) {
    size_t n = 0;
    double value;
    for (size_t j = 0; j < table->n_attributes; j++) {
        const karma_i_column *column = &table->attributes[j];
        if (column->kind != KARMA_COLUMN_CATEGORY || column->n_levels < KARMA_I_LEAST_LEVELS) continue;
        if (!karma_table_cell(table, 0, j, &value) || karma_i_level_is_number(column->levels[(size_t)value])) continue;
        n += karma_i_share_of_numbers(column) * (double)column->n_levels + 1.5 > (double)column->n_levels;
    }
    return n;
}

/* Whether the category is the column's own name. */
static int repeats_name(const karma_i_column *column, double value) {
    return column->kind == KARMA_COLUMN_CATEGORY && value >= 0.0 &&
           strcmp(column->levels[(size_t)value], column->name) == 0;
}

/* Rows whose cells are the names of their columns, as in concatenated files; *first is the first such row. */
static size_t count_headers(size_t *first, const karma_table *table) {
    size_t n = 0;
    for (size_t i = 0; i < table->n_rows; i++) {
        size_t n_names = 0, n_others = 0;
        for (size_t c = table->row_start[i]; c < table->row_start[i + 1] && n_others == 0; c++)
            *(repeats_name(&table->attributes[table->cell_owner[c]], table->cell_value[c]) ? &n_names : &n_others) += 1;
        for (size_t t = 0; t < table->n_targets && n_others == 0; t++)
            n_names += !isnan(table->targets[t].value[i]) &&
                       repeats_name(&table->targets[t].column, table->targets[t].value[i]);
        if (n_others > 0 || n_names < 2) continue;
        if (n++ == 0) *first = i;
    }
    return n;
}

/* Whether a column could have its own name as a value: 1; -1: it could not; 0: its texts are all different, so they
 * do not tell. A number proves little, since columns may be called 1, 2, 3. */
static int has_own_name(const karma_i_column *column, size_t n_rows) {
    if (column->kind == KARMA_COLUMN_NUMBER) return karma_i_level_is_number(column->name) ? 0 : -1;
    for (size_t l = 0; l < column->n_levels; l++)
        if (strcmp(column->levels[l], column->name) == 0) return 1;
    return 2 * column->n_levels > n_rows ? 0 : -1;
}

/* A file without a header: its first row became the names. Every name must fit its column, and at least one text
 * must be among its values. */
static karma_status review_names(karma_i_review_state *s, karma_error *err) {
    const karma_table *table = s->table;
    karma_finding found = {KARMA_FINDING_NAMES, 0, 0, 0.0};
    for (size_t j = 0; j < table->n_attributes + table->n_targets; j++) {
        int is_target = j >= table->n_attributes;
        size_t column = is_target ? j - table->n_attributes : j;
        int own = has_own_name(is_target ? &table->targets[column].column : &table->attributes[column], table->n_rows);
        if (own < 0) return KARMA_OK;
        if (own == 0) continue;
        if (found.value == 0.0) found = (karma_finding){KARMA_FINDING_NAMES, column, is_target ? 1 : 0, 0.0};
        found.value += 1.0;
    }
    if (found.value == 0.0 || table->n_attributes + table->n_targets < 2) return KARMA_OK;
    return karma_i_review_find(s, found.kind, found.column, found.other, found.value, err);
}

/* Rows with only delimiters, as spreadsheets write them below a table. */
static size_t count_empty_rows(const karma_table *table) {
    size_t n = 0;
    for (size_t i = 0; i < table->n_rows; i++) {
        int any = table->row_start[i + 1] > table->row_start[i];
        for (size_t t = 0; t < table->n_targets; t++) any |= !isnan(table->targets[t].value[i]);
        n += any ? 0 : 1;
    }
    return n;
}

static karma_status review_labels(karma_i_review_state *s, size_t t, karma_error *err) {
    const karma_table *table = s->table;
    size_t n = 0;
    for (size_t i = 0; i < table->n_rows; i++) n += isnan(table->targets[t].value[i]) ? 1 : 0;
    if (n) KARMA_TRY(karma_i_review_find(s, KARMA_FINDING_NO_LABEL, t, 0, (double)n, err));
    if (karma_i_look_at(table->targets[t].value, table->n_rows).is_constant && n + 1 < table->n_rows)
        KARMA_TRY(karma_i_review_find(s, KARMA_FINDING_ONE_CLASS, t, 0, 0.0, err));
    KARMA_TRY(karma_i_review_spellings(s, &table->targets[t].column, KARMA_FINDING_CLASS_SPELLINGS, t, err));
    KARMA_TRY(karma_i_review_label_codes(s, t, err));
    return karma_i_review_class_marks(s, t, err);
}

karma_status karma_i_review_rows(karma_i_review_state *s, karma_error *err) {
    const karma_table *table = s->table;
    size_t n_titles = table->n_rows >= KARMA_I_LEAST_REVIEWED ? count_titles(table) : 0;
    if (n_titles > 1) KARMA_TRY(karma_i_review_find(s, KARMA_FINDING_HEADER, 0, 0, (double)n_titles, err));
    size_t first = 0, n_headers = count_headers(&first, table), n_empty = count_empty_rows(table);
    if (n_headers) KARMA_TRY(karma_i_review_find(s, KARMA_FINDING_HEADER, 0, first + 1, (double)n_headers, err));
    if (n_headers == 0 && table->n_rows >= KARMA_I_LEAST_REVIEWED) KARMA_TRY(review_names(s, err));
    if (n_empty && n_empty < table->n_rows)
        KARMA_TRY(karma_i_review_find(s, KARMA_FINDING_EMPTY_ROWS, 0, 0, (double)n_empty, err));
    if (table->n_rows > 1 && karma_i_table_total(table))
        KARMA_TRY(karma_i_review_find(s, KARMA_FINDING_TOTAL, 0, 0, 0.0, err));
    for (size_t t = 0; t < table->n_targets; t++) KARMA_TRY(review_labels(s, t, err));
    return KARMA_OK;
}
