/* Findings about a table as sentences. */
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "table/review.h"
#include "table/review_levels.h"

/* Why two levels or classes may be one; `things` is "categories" or "classes". */
static int spelling_text(char *text, size_t size, const char *subject, const char *name, const char *a, const char *b,
                         const char *things) {
    const char *how = strcasecmp(a, b) == 0            ? "differ only in upper and lower case, and"
                      : karma_i_levels_are_alike(a, b) ? "differ only in blanks at their ends, and"
                                                       : "probably mean the same, but";
    return snprintf(text, size, "%s '%.60s': %s'%.30s' and '%.30s' %s count as two %s", subject, name,
                    things[1] == 'l' ? "the classes " : "", a, b, how, things);
}

/* Findings about a target, about rows or about all names. */
static int target_text(char *text, size_t size, const karma_finding *finding, const karma_table *table) {
    if (finding->kind == KARMA_FINDING_TOTAL)
        return snprintf(text, size, "the last row looks like a total ('%.30s'). Remove it if it is one",
                        karma_i_table_total(table));
    if (finding->kind == KARMA_FINDING_EMPTY_ROWS)
        return snprintf(text, size,
                        "%.0f of %zu rows %s empty: no cell and no label. Remove %s if %s not rows of the table",
                        finding->value, table->n_rows, finding->value == 1.0 ? "is" : "are",
                        finding->value == 1.0 ? "it" : "them", finding->value == 1.0 ? "it is" : "they are");
    if (finding->kind == KARMA_FINDING_HEADER && finding->other > 0)
        return snprintf(text, size,
                        "row %zu below the header repeats the names of the columns%s. Remove %s: columns of numbers "
                        "are otherwise read as categories",
                        finding->other, finding->value > 1.0 ? ", and other rows do, too" : "",
                        finding->value > 1.0 ? "them" : "it");
    if (finding->kind == KARMA_FINDING_HEADER)
        return snprintf(text, size,
                        "the first row looks like a second line of the header: it has texts where %.0f columns have "
                        "numbers otherwise. Remove it, or the line above it",
                        finding->value);
    if (finding->kind == KARMA_FINDING_NAMES)
        return snprintf(text, size,
                        "the names of the columns look like a row: '%.60s' is also a value of its column. If the first "
                        "line of the file is a row, use option 'header=off'",
                        finding->other ? karma_table_target_name(table, finding->column)
                                       : karma_table_attribute_name(table, finding->column));
    const karma_i_column *target = &table->targets[finding->column].column;
    if (finding->kind == KARMA_FINDING_CLASS_MARK)
        return snprintf(text, size,
                        "target '%.60s': '%.30s' is a class of its own. If it stands for a missing label, use option "
                        "'missing' '%.30s'",
                        target->name, target->levels[finding->other], target->levels[finding->other]);
    if (finding->kind == KARMA_FINDING_LABEL_CODE)
        return snprintf(
            text, size,
            "target '%.60s': %zu rows have %g, far from all other labels. If it stands for a missing label, "
            "use option 'missing' '%g', which counts in all columns",
            target->name, finding->other, finding->value, finding->value);
    if (finding->kind == KARMA_FINDING_ONE_CLASS)
        return snprintf(text, size, "target '%.60s': all rows have the same label, so there is nothing to learn",
                        target->name);
    if (finding->kind == KARMA_FINDING_CLASS_NUMBERS)
        return snprintf(
            text, size,
            "target '%.60s': its %.0f classes look like numbers ('%.30s'), but are learned as names without "
            "an order. If it is a quantity, write plain numbers and leave cells without one empty",
            target->name, finding->value, target->levels[finding->other]);
    if (finding->kind == KARMA_FINDING_SINGLE_CLASS)
        return snprintf(text, size, "target '%.60s': %.0f class%s one row only, which cannot be learned and tested",
                        target->name, finding->value, finding->value > 1.0 ? "es have" : " has");
    if (finding->kind == KARMA_FINDING_CLASS_SPELLINGS)
        return spelling_text(text, size, "target", target->name, target->levels[finding->other],
                             target->levels[(size_t)finding->value], "classes");
    if (finding->value == (double)table->n_rows)
        return snprintf(text, size, "target '%.60s': no row has a label", target->name);
    return snprintf(text, size, "target '%.60s': %.0f of %zu rows %s no label", target->name, finding->value,
                    table->n_rows, finding->value == 1.0 ? "has" : "have");
}

/* Columns that have the form of dates, durations, several numbers or numbers with units. */
static int form_text(char *text, size_t size, const karma_finding *finding, const karma_table *table) {
    const char *name = karma_table_attribute_name(table, finding->column);
    if (table->attributes[finding->column].kind == KARMA_COLUMN_NUMBER)
        return snprintf(text, size,
                        "column '%.60s' looks like dates ('%.0f'), but is read as numbers. Write them as 2023-12-31",
                        name, finding->value);
    if (finding->kind == KARMA_FINDING_PAIRS)
        return snprintf(text, size,
                        "column '%.60s' has several numbers in a cell ('%.30s'), and is read as categories, which have "
                        "no order. Make a column of each, or one number",
                        name, karma_table_level(table, finding->column, 0));
    if (finding->kind == KARMA_FINDING_DATES)
        return snprintf(
            text, size,
            "column '%.60s' looks like dates ('%.30s'), but not all in a form that is read as dates, and is "
            "read as categories. Write all of them as 2023-12-31",
            name, karma_table_level(table, finding->column, 0));
    if (finding->kind == KARMA_FINDING_DURATIONS)
        return snprintf(text, size,
                        "column '%.60s' looks like durations ('%.30s'), but is read as categories, which have no "
                        "order. Write them as numbers, of minutes for example",
                        name, karma_table_level(table, finding->column, 0));
    if (finding->kind == KARMA_FINDING_STEPS)
        return snprintf(text, size,
                        "column '%.60s' is read as categories, which have no order, but they look like steps of one "
                        "('%.30s'). Use option 'ordered' '%.60s=FIRST<SECOND<THIRD', with all of them, to learn it",
                        name, karma_table_level(table, finding->column, 0), name);
    if (karma_table_level(table, finding->column, 0)[0] == '=')
        return snprintf(
            text, size,
            "column '%.60s' looks like formulas of a spreadsheet ('%.30s') and is read as categories, which "
            "have no order. If they are numbers, remove = and the quotes",
            name, karma_table_level(table, finding->column, 0));
    if (karma_table_level(table, finding->column, 0)[0] == '\'')
        return snprintf(text, size,
                        "column '%.60s' looks like numbers in single quotes (%.30s), but is read as categories, which "
                        "have no order. Remove the quotes",
                        name, karma_table_level(table, finding->column, 0));
    if (finding->other)
        return snprintf(text, size,
                        "column '%.60s' looks like numbers with several units ('%.30s', '%.30s'), but is read as "
                        "categories, which have no order. Convert them to one unit and remove it",
                        name, karma_table_level(table, finding->column, 0),
                        karma_table_level(table, finding->column, finding->other));
    return snprintf(text, size,
                    "column '%.60s' looks like numbers with a unit ('%.30s'), but is read as categories, which "
                    "have no order. Remove the unit",
                    name, karma_table_level(table, finding->column, 0));
}

/* Categories that may be spellings of one another, marks for missing values, or numbers. */
static int level_text(char *text, size_t size, const karma_finding *finding, const karma_table *table) {
    const char *name = karma_table_attribute_name(table, finding->column);
    if (finding->kind == KARMA_FINDING_SPELLINGS)
        return spelling_text(text, size, "column", name, karma_table_level(table, finding->column, finding->other),
                             karma_table_level(table, finding->column, (size_t)finding->value), "categories");
    if (finding->kind == KARMA_FINDING_MARK)
        return snprintf(text, size,
                        "column '%.60s': '%.30s' is read as a category. If it stands for a missing value, use option "
                        "'missing' '%.30s'",
                        name, karma_table_level(table, finding->column, finding->other),
                        karma_table_level(table, finding->column, finding->other));
    return snprintf(text, size,
                    "column '%.60s' is read as categories, which have no order, but %.0f%% of its values are numbers",
                    name, floor(100.0 * finding->value));
}

/* Columns that equal another column. */
static int copy_text(char *text, size_t size, const karma_finding *finding, const karma_table *table) {
    const char *name = karma_table_attribute_name(table, finding->column);
    const char *other = karma_table_attribute_name(table, finding->other);
    if (finding->kind == KARMA_FINDING_COPY)
        return snprintf(text, size, "column '%.60s' is a copy of column '%.60s'", name, other);
    return snprintf(text, size,
                    "column '%.60s' is a copy of column '%.60s' except for missing values: they are equal in all "
                    "%.0f rows that have both",
                    name, other, finding->value);
}

/* Columns that have to do with the first target. */
static int label_text(char *text, size_t size, const karma_finding *finding, const karma_table *table) {
    const char *name = karma_table_attribute_name(table, finding->column);
    if (finding->kind == KARMA_FINDING_LEAK)
        return snprintf(text, size,
                        "column '%.60s' determines the target '%.60s' %s. If it is not known when you predict, use "
                        "option 'ignore' '%.60s'",
                        name, karma_table_target_name(table, 0),
                        finding->value < 1.0 ? "in almost all rows" : "exactly", name);
    return snprintf(
        text, size,
        "missing values in column '%.60s' go with the target: missing rates differ by %.0f percentage points", name,
        100.0 * finding->value);
}

/* The values of a column by itself. */
static int value_text(char *text, size_t size, const karma_finding *finding, const karma_table *table) {
    const char *name = karma_table_attribute_name(table, finding->column);
    if (finding->kind == KARMA_FINDING_EMPTY) return snprintf(text, size, "column '%.60s' has no observed cell", name);
    if (finding->kind == KARMA_FINDING_CONSTANT)
        return snprintf(text, size, "column '%.60s' has the same value in all rows", name);
    if (finding->kind == KARMA_FINDING_ID)
        return snprintf(text, size,
                        "column '%.60s' looks like an identifier: it is different in almost every row. Use option 'id' "
                        "'%.60s' to leave it out of the model",
                        name, name);
    if (finding->kind == KARMA_FINDING_TEXT)
        return snprintf(text, size,
                        "column '%.60s' looks like free text, which is not learned from well. Use option 'ignore' "
                        "'%.60s' to leave it out",
                        name, name);
    return snprintf(text, size,
                    "column '%.60s' has %g in %zu rows, far from all its other values. If it stands for a missing "
                    "value, use option 'missing' '%g', which counts in all columns",
                    name, finding->value, finding->other, finding->value);
}

int karma_finding_text(char *text, size_t size, const karma_finding *finding, const karma_table *table) {
    switch (finding->kind) {
    case KARMA_FINDING_EMPTY:
    case KARMA_FINDING_CONSTANT:
    case KARMA_FINDING_ID:
    case KARMA_FINDING_TEXT:
    case KARMA_FINDING_CODE:
        return value_text(text, size, finding, table);
    case KARMA_FINDING_COPY:
    case KARMA_FINDING_PART_COPY:
        return copy_text(text, size, finding, table);
    case KARMA_FINDING_LEAK:
    case KARMA_FINDING_TELLING_HOLES:
        return label_text(text, size, finding, table);
    case KARMA_FINDING_SPELLINGS:
    case KARMA_FINDING_MARK:
    case KARMA_FINDING_NUMBERS:
        return level_text(text, size, finding, table);
    case KARMA_FINDING_DATES:
    case KARMA_FINDING_DURATIONS:
    case KARMA_FINDING_STEPS:
    case KARMA_FINDING_PAIRS:
    case KARMA_FINDING_UNITS:
        return form_text(text, size, finding, table);
    case KARMA_FINDING_SINGLE_CLASS:
    case KARMA_FINDING_CLASS_SPELLINGS:
    case KARMA_FINDING_TOTAL:
    case KARMA_FINDING_NO_LABEL:
    case KARMA_FINDING_HEADER:
    case KARMA_FINDING_ONE_CLASS:
    case KARMA_FINDING_EMPTY_ROWS:
    case KARMA_FINDING_CLASS_NUMBERS:
    case KARMA_FINDING_CLASS_MARK:
    case KARMA_FINDING_LABEL_CODE:
    case KARMA_FINDING_NAMES:
        return target_text(text, size, finding, table);
    }
    return 0;
}
