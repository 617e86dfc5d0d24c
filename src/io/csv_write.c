/* Tables as CSV text. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "karma/data.h"
#include "table/table.h"

static int is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Quotes more than RFC 4180 requires: blanks at the ends, which a reader would trim, and other delimiters,
 * which could mislead a reader that guesses the delimiter. */
static int needs_quotes(const char *text) {
    size_t length = strlen(text);
    if (length == 0) return 0;
    return is_blank(text[0]) || is_blank(text[length - 1]) || text[strcspn(text, ",;|\t\"\r\n")] != '\0';
}

void karma_csv_write_field(FILE *stream, const char *text) {
    if (!needs_quotes(text)) {
        (void)fputs(text, stream);
        return;
    }
    (void)putc('"', stream);
    for (; *text; text++) {
        if (*text == '"') (void)putc('"', stream);
        (void)putc(*text, stream);
    }
    (void)putc('"', stream);
}

/* Writes fields separated by commas and counts those of a line. */
typedef struct csv_line {
    FILE *stream;
    size_t n_columns, n_written;
} csv_line;

/* An empty field alone on its line is quoted, because readers may skip an empty line. */
static void put_field(csv_line *line, const char *text) {
    if (line->n_written++) (void)putc(',', line->stream);
    if (*text == '\0' && line->n_columns == 1)
        (void)fputs("\"\"", line->stream);
    else
        karma_csv_write_field(line->stream, text);
}

static void end_line(csv_line *line) {
    (void)putc('\n', line->stream);
    line->n_written = 0;
}

static void put_number(csv_line *line, double value) {
    char text[KARMA_NUMBER_SIZE];
    put_field(line, karma_number_text(text, value));
}

static void put_value(csv_line *line, const karma_i_column *column, double value) {
    if (isnan(value))
        put_field(line, "");
    else if (column->kind == KARMA_COLUMN_CATEGORY)
        put_field(line, column->levels[(size_t)value]);
    else
        put_number(line, value);
}

static size_t count_columns(const karma_table *t) {
    return t->n_ids + t->n_attributes + t->n_targets + (t->row_weight != NULL);
}

static void write_header(csv_line *line, const karma_table *t) {
    for (size_t i = 0; i < t->n_ids; i++) put_field(line, t->id_names[i]);
    for (size_t j = 0; j < t->n_attributes; j++) put_field(line, t->attributes[j].name);
    for (size_t k = 0; k < t->n_targets; k++) put_field(line, t->targets[k].column.name);
    if (t->row_weight) put_field(line, t->weight_name);
    end_line(line);
}

static void write_row(csv_line *line, const karma_table *t, size_t row) {
    karma_i_row_cells cells = karma_i_table_cells(t, row);
    for (size_t i = 0; i < t->n_ids; i++) put_field(line, t->ids[row * t->n_ids + i]);
    for (size_t j = 0, c = 0; j < t->n_attributes; j++) {
        int observed = c < cells.count && cells.attribute[c] == j;
        put_value(line, &t->attributes[j], observed ? cells.value[c++] : NAN);
    }
    for (size_t k = 0; k < t->n_targets; k++) put_value(line, &t->targets[k].column, t->targets[k].value[row]);
    if (t->row_weight) put_number(line, t->row_weight[row]);
    end_line(line);
}

karma_status karma_table_write_csv(const karma_table *table, FILE *stream, karma_error *err) {
    csv_line line = {stream, count_columns(table), 0};
    errno = 0;
    write_header(&line, table);
    for (size_t i = 0; i < table->n_rows; i++) write_row(&line, table, i);
    if (fflush(stream) == 0 && !ferror(stream)) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_IO, "cannot write the table: %s", strerror(errno ? errno : EIO));
}
