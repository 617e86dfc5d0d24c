/* Tables from Arrow arrays. While batches are read one after the other, every column becomes one number per
 * row: a value, or the code of a text. Then the columns become a table. */
#include "karma/arrow.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/options_accept.h"
#include "io/dictionary.h"
#include "table/columns.h"
#include "table/numbers.h"

typedef enum arrow_role { ARROW_ATTRIBUTE, ARROW_TARGET, ARROW_WEIGHT, ARROW_ID, ARROW_IGNORED } arrow_role;

/* What the options say of a column that they name: its role, or how its cells are read. */
typedef enum arrow_naming {
    NAMED_TARGET,
    NAMED_WEIGHT,
    NAMED_ID,
    NAMED_IGNORE,
    NAMED_NUMERIC,
    NAMED_CATEGORY
} arrow_naming;

typedef struct arrow_column {
    const char *name; /* the schema's */
    arrow_role role;
    size_t place;                        /* of a target among the targets */
    int wants_numbers, wants_categories; /* the options say so */
    int is_text;
    double *values; /* one per row; for texts, their code in the dictionary; NaN: missing */
    size_t capacity;
    karma_i_dictionary texts;
} arrow_column;

typedef struct arrow_table {
    const karma_read_options *options;
    arrow_column *columns;
    size_t n_columns, n_targets, n_rows;
} arrow_table;

static karma_status fail_column(const arrow_column *column, const char *what, karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_DATA, "column '%.60s': %s", column->name, what);
}

static karma_status fail_format(const arrow_column *column, const char *format, karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_DATA, "column '%.60s': values of Arrow's type '%.20s' cannot be read",
                        column->name, format);
}

/* --- one value ----------------------------------------------------------------------------------------- */

/* Formats whose values are numbers of one size. */
static const struct {
    const char *format; /* or how it begins */
    karma_number_type type;
} number_formats[] = {
    {"c", KARMA_INT8},    {"C", KARMA_UINT8},   {"s", KARMA_INT16},   {"S", KARMA_UINT16},  {"i", KARMA_INT32},
    {"I", KARMA_UINT32},  {"l", KARMA_INT64},   {"L", KARMA_UINT64},  {"f", KARMA_FLOAT32}, {"g", KARMA_FLOAT64},
    {"tdD", KARMA_INT32}, {"tdm", KARMA_INT64}, {"tts", KARMA_INT32}, {"ttm", KARMA_INT32}, {"ttu", KARMA_INT64},
    {"ttn", KARMA_INT64}, {"tD", KARMA_INT64},  {"ts", KARMA_INT64},
};

static size_t number_size(karma_number_type type) {
    switch (type) {
#define CASE(constant, c_type)                                                                                         \
    case constant:                                                                                                     \
        return sizeof(c_type);
        KARMA_NUMBER_TYPE_LIST(CASE)
#undef CASE
    }
    return 0;
}

static int find_number_format(karma_number_type *type, const char *format) {
    size_t best = 0;
    for (size_t i = 0; i < sizeof number_formats / sizeof number_formats[0]; i++) {
        size_t length = strlen(number_formats[i].format);
        int longer = length > 1 ? strncmp(format, number_formats[i].format, length) == 0
                                : strcmp(format, number_formats[i].format) == 0;
        if (!longer || length <= best) continue;
        best = length;
        *type = number_formats[i].type;
    }
    return best > 0;
}

static int bit_at(const void *bits, int64_t index) {
    return ((const unsigned char *)bits)[index / 8] >> (index % 8) & 1;
}

static int is_null(const struct ArrowArray *array, int64_t row) {
    const void *bits = array->n_buffers > 0 ? array->buffers[0] : NULL;
    return bits && array->null_count != 0 && !bit_at(bits, array->offset + row);
}

static int is_text_format(const char *format) {
    return strcmp(format, "u") == 0 || strcmp(format, "U") == 0 || strcmp(format, "vu") == 0;
}

static int is_readable_format(const char *format) {
    karma_number_type type;
    return is_text_format(format) || find_number_format(&type, format) || strcmp(format, "b") == 0 ||
           strcmp(format, "e") == 0 || strcmp(format, "n") == 0;
}

/* Views have 16 bytes: the text itself if it is short, otherwise the number of a buffer and an offset in
 * it. */
static karma_i_text view_at(const struct ArrowArray *array, int64_t index) {
    const char *view = (const char *)array->buffers[1] + 16 * index;
    int32_t length, buffer, offset;
    memcpy(&length, view, 4);
    if (length <= 12) return (karma_i_text){view + 4, (size_t)length};
    memcpy(&buffer, view + 8, 4);
    memcpy(&offset, view + 12, 4);
    return (karma_i_text){(const char *)array->buffers[2 + buffer] + offset, (size_t)length};
}

static karma_i_text text_at(const char *format, const struct ArrowArray *array, int64_t row) {
    int64_t index = array->offset + row, first, end;
    if (format[0] == 'v') return view_at(array, index);
    if (format[0] == 'U') {
        const int64_t *offsets = array->buffers[1];
        first = offsets[index], end = offsets[index + 1];
    } else {
        const int32_t *offsets = array->buffers[1];
        first = offsets[index], end = offsets[index + 1];
    }
    return (karma_i_text){(const char *)array->buffers[2] + first, (size_t)(end - first)};
}

static double half_at(const void *halves, int64_t index) {
    uint16_t bits;
    memcpy(&bits, (const char *)halves + 2 * index, 2);
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31 ? (fraction ? NAN : INFINITY)
                   : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                  : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

/* --- one column of one batch --------------------------------------------------------------------------- */

static karma_status keep_text(double *out, arrow_column *column, karma_i_text text, karma_error *err) {
    size_t number;
    *out = NAN;
    if (text.length == 0) return KARMA_OK;
    if (memchr(text.text, '\0', text.length)) return fail_column(column, "a text has a NUL byte", err);
    KARMA_TRY(karma_i_dictionary_add(&number, &column->texts, text.text, text.length, err));
    *out = (double)number;
    return KARMA_OK;
}

static karma_status keep_number(double *out, arrow_column *column, double value, karma_error *err) {
    char text[KARMA_NUMBER_SIZE];
    *out = value;
    if (isinf(value)) return fail_column(column, "a value is infinite", err);
    if (isnan(value) || !column->is_text) return KARMA_OK;
    (void)karma_number_text(text, value);
    return keep_text(out, column, (karma_i_text){text, strlen(text)}, err);
}

/* A text in a column of numbers. */
static karma_status parse_number(double *out, arrow_column *column, karma_i_text text, karma_error *err) {
    if (text.length == 0) return KARMA_OK;
    if (!karma_i_number_parse(out, text.text, text.length)) return fail_column(column, "a text is not a number", err);
    return KARMA_OK;
}

/* The value of a row that is not NULL. */
static karma_status read_value(double *out, arrow_column *column, const char *format, const struct ArrowArray *array,
                               int64_t row, karma_error *err) {
    karma_number_type type;
    int64_t index = array->offset + row;
    if (is_text_format(format)) {
        karma_i_text text = text_at(format, array, row);
        return column->is_text ? keep_text(out, column, text, err) : parse_number(out, column, text, err);
    }
    if (strcmp(format, "b") == 0) return keep_number(out, column, bit_at(array->buffers[1], index), err);
    if (strcmp(format, "e") == 0) return keep_number(out, column, half_at(array->buffers[1], index), err);
    if (!find_number_format(&type, format)) return fail_format(column, format, err);
    const char *values = array->buffers[1];
    return keep_number(out, column, karma_i_number_at(values + index * (int64_t)number_size(type), type), err);
}

static karma_status read_indexed(double *out, arrow_column *column, const struct ArrowSchema *schema,
                                 const struct ArrowArray *array, int64_t row, karma_error *err) {
    karma_number_type type;
    const struct ArrowArray *dictionary = array->dictionary;
    if (!dictionary || !find_number_format(&type, schema->format))
        return fail_column(column, "its dictionary cannot be read", err);
    double index =
        karma_i_number_at((const char *)array->buffers[1] + (array->offset + row) * (int64_t)number_size(type), type);
    if (!(index >= 0.0 && index < (double)dictionary->length))
        return fail_column(column, "an index is outside its dictionary", err);
    if (is_null(dictionary, (int64_t)index)) return KARMA_OK;
    return read_value(out, column, schema->dictionary->format, dictionary, (int64_t)index, err);
}

/* Whether an array has the buffers of its type and at least `length` values; how long its buffers are it does not
 * tell. */
static karma_status check_array(const arrow_column *column, const struct ArrowSchema *schema,
                                const struct ArrowArray *array, int64_t length, karma_error *err) {
    if (array->offset < 0 || array->length < length) return fail_column(column, "its array is too short", err);
    if (strcmp(schema->format, "n") == 0 || length == 0) return KARMA_OK;
    int64_t n_buffers = strcmp(schema->format, "u") == 0 || strcmp(schema->format, "U") == 0 ? 3 : 2;
    if (array->n_buffers < n_buffers || !array->buffers || !array->buffers[1])
        return fail_column(column, "its array lacks a buffer", err);
    return KARMA_OK;
}

/* A row of the table that is NULL as a whole has no cells. */
static karma_status read_column(arrow_column *column, size_t first, const struct ArrowSchema *schema,
                                const struct ArrowArray *array, const struct ArrowArray *batch, karma_error *err) {
    int is_empty = strcmp(schema->format, "n") == 0;
    for (int64_t row = 0; row < array->length; row++) {
        double *out = &column->values[first + (size_t)row];
        *out = NAN;
        if (is_empty || is_null(batch, row) || is_null(array, row)) continue;
        KARMA_TRY(schema->dictionary ? read_indexed(out, column, schema, array, row, err)
                                     : read_value(out, column, schema->format, array, row, err));
    }
    return KARMA_OK;
}

static karma_status read_batch(arrow_table *table, const struct ArrowSchema *schema, const struct ArrowArray *batch,
                               karma_error *err) {
    if (batch->n_children != schema->n_children || batch->length < 0 || batch->offset < 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "the Arrow array does not match its schema");
    size_t n_rows = table->n_rows + (size_t)batch->length;
    for (size_t j = 0; j < table->n_columns; j++) {
        arrow_column *column = &table->columns[j];
        if (column->role == ARROW_IGNORED) continue;
        struct ArrowArray child = *batch->children[j]; /* slicing a batch slices its columns */
        KARMA_TRY(check_array(column, schema->children[j], &child, batch->offset + batch->length, err));
        if (schema->children[j]->dictionary && child.dictionary)
            KARMA_TRY(
                check_array(column, schema->children[j]->dictionary, child.dictionary, child.dictionary->length, err));
        child.offset += batch->offset;
        child.length = batch->length;
        if (!karma_i_reserve(&column->values, &column->capacity, n_rows, sizeof *column->values))
            return karma_i_fail_memory(err);
        KARMA_TRY(read_column(column, table->n_rows, schema->children[j], &child, batch, err));
    }
    table->n_rows = n_rows;
    return KARMA_OK;
}

/* --- columns ------------------------------------------------------------------------------------------- */

static arrow_column *find_column(const arrow_table *table, const char *name) {
    for (size_t j = 0; j < table->n_columns; j++)
        if (strcmp(table->columns[j].name, name) == 0) return &table->columns[j];
    return NULL;
}

static karma_status name_column(arrow_table *table, const char *name, arrow_naming what, karma_error *err) {
    static const arrow_role roles[] = {ARROW_TARGET, ARROW_WEIGHT, ARROW_ID, ARROW_IGNORED};
    arrow_column *column = find_column(table, name);
    if (!column) return karma_i_fail(err, KARMA_ERR_OPTION, "there is no column '%.60s'", name);
    if (what == NAMED_NUMERIC || what == NAMED_CATEGORY) {
        *(what == NAMED_NUMERIC ? &column->wants_numbers : &column->wants_categories) = 1;
        return KARMA_OK;
    }
    if (column->role != ARROW_ATTRIBUTE) return fail_column(column, "it has two roles", err);
    column->role = roles[what];
    if (what == NAMED_TARGET) column->place = table->n_targets++;
    return KARMA_OK;
}

/* A value is a list of names only if it is not the name of a column, because names may contain commas. */
static karma_status name_listed(arrow_table *table, const char *value, arrow_naming what, karma_error *err) {
    if (!strchr(value, ',') || find_column(table, value)) return name_column(table, value, what, err);
    char *list = karma_i_strdup(value);
    karma_status st = list ? KARMA_OK : karma_i_fail_memory(err);
    for (char *name = list, *comma; st == KARMA_OK && name; name = comma ? comma + 1 : NULL) {
        comma = strchr(name, ',');
        if (comma) *comma = '\0';
        st = name_column(table, name, what, err);
    }
    karma_i_free(list);
    return st;
}

static karma_status name_columns(arrow_table *table, karma_error *err) {
    const karma_read_options *o = table->options;
    const struct {
        const karma_names *names;
        arrow_naming what;
    } lists[] = {{&o->target, NAMED_TARGET},
                 {&o->id, NAMED_ID},
                 {&o->ignore, NAMED_IGNORE},
                 {&o->numeric, NAMED_NUMERIC},
                 {&o->category, NAMED_CATEGORY}};
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
        for (size_t i = 0; i < lists[k].names->count; i++)
            KARMA_TRY(name_listed(table, lists[k].names->items[i], lists[k].what, err));
    return o->row_weight ? name_column(table, o->row_weight, NAMED_WEIGHT, err) : KARMA_OK;
}

/* Nested types are refused even where every cell is NULL, so that the schema alone decides which tables can be read. */
static karma_status choose_kind(arrow_column *column, const struct ArrowSchema *schema, karma_error *err) {
    const char *format = schema->dictionary ? schema->dictionary->format : schema->format;
    if (column->role == ARROW_IGNORED) return KARMA_OK;
    if (!is_readable_format(format)) return fail_format(column, format, err);
    column->is_text = is_text_format(format);
    if (column->wants_numbers || column->role == ARROW_WEIGHT) column->is_text = 0;
    if (column->wants_categories || column->role == ARROW_ID) column->is_text = 1;
    return KARMA_OK;
}

static karma_status open_columns(arrow_table *table, const struct ArrowSchema *schema, karma_error *err) {
    if (strcmp(schema->format, "+s") != 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "the Arrow array is not a table: its type is '%.20s', not '+s'",
                            schema->format);
    table->n_columns = (size_t)schema->n_children;
    table->columns = karma_i_zalloc(table->n_columns, sizeof *table->columns);
    if (!table->columns) {
        table->n_columns = 0;
        return karma_i_fail_memory(err);
    }
    for (size_t j = 0; j < table->n_columns; j++)
        table->columns[j].name = schema->children[j]->name ? schema->children[j]->name : "";
    KARMA_TRY(name_columns(table, err));
    for (size_t j = 0; j < table->n_columns; j++) KARMA_TRY(choose_kind(&table->columns[j], schema->children[j], err));
    return KARMA_OK;
}

static void clear_table(arrow_table *table) {
    for (size_t j = 0; j < table->n_columns; j++) {
        karma_i_free(table->columns[j].values);
        karma_i_dictionary_clear(&table->columns[j].texts);
    }
    karma_i_free(table->columns);
}

/* --- the table ----------------------------------------------------------------------------------------- */

/* The text of every row, borrowed from the dictionary; NULL: missing. */
static karma_status row_texts(const char ***out, const arrow_column *column, size_t n_rows, karma_error *err) {
    const char **texts = karma_i_alloc(n_rows, sizeof *texts);
    if (!texts) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n_rows; i++)
        texts[i] = isnan(column->values[i]) ? NULL : column->texts.entries[(size_t)column->values[i]].text;
    *out = texts;
    return KARMA_OK;
}

static karma_status add_attribute(karma_columns *columns, arrow_column *column, karma_error *err) {
    double *values = column->values;
    column->values = NULL; /* now owned by the table */
    if (!values && !(values = karma_i_alloc(0, sizeof *values))) return karma_i_fail_memory(err);
    if (!column->is_text) return karma_i_columns_take_numbers(columns, column->name, values, err);
    karma_i_text *levels = karma_i_alloc(column->texts.count, sizeof *levels);
    if (!levels) {
        karma_i_free(values);
        return karma_i_fail_memory(err);
    }
    for (size_t k = 0; k < column->texts.count; k++)
        levels[k] = (karma_i_text){column->texts.entries[k].text, column->texts.entries[k].length};
    karma_status st = karma_i_columns_take_codes(columns, column->name, values, levels, column->texts.count, err);
    karma_i_free(levels);
    return st;
}

static karma_status add_ids(karma_columns *columns, const arrow_column *column, size_t n_rows, karma_error *err) {
    const char **texts;
    KARMA_TRY(row_texts(&texts, column, n_rows, err));
    karma_status st = karma_columns_add_ids(columns, column->name, texts, err);
    karma_i_free(texts);
    return st;
}

static karma_status add_target(karma_table *out, const arrow_column *column, karma_error *err) {
    const char **texts;
    if (!column->is_text) return karma_table_add_target_numbers(out, column->name, column->values, err);
    KARMA_TRY(row_texts(&texts, column, out->n_rows, err));
    karma_status st = karma_table_add_target_classes(out, column->name, texts, err);
    karma_i_free(texts);
    return st;
}

/* Puts targets in the order in which they were named. */
static karma_status add_labels(karma_table *out, const arrow_table *table, karma_error *err) {
    const karma_read_options *o = table->options;
    for (size_t i = 0; i < table->n_targets; i++)
        for (size_t j = 0; j < table->n_columns; j++)
            if (table->columns[j].role == ARROW_TARGET && table->columns[j].place == i)
                KARMA_TRY(add_target(out, &table->columns[j], err));
    return o->row_weight ? karma_table_set_row_weights(out, find_column(table, o->row_weight)->values, err) : KARMA_OK;
}

static karma_status finish(karma_table **out, arrow_table *table, karma_error *err) {
    karma_columns *columns = NULL;
    karma_table *made = NULL;
    KARMA_TRY(karma_columns_new(&columns, table->n_rows, err));
    karma_status st = KARMA_OK;
    for (size_t j = 0; st == KARMA_OK && j < table->n_columns; j++) {
        arrow_column *column = &table->columns[j];
        if (column->role == ARROW_ATTRIBUTE) st = add_attribute(columns, column, err);
        if (column->role == ARROW_ID) st = add_ids(columns, column, table->n_rows, err);
    }
    if (st != KARMA_OK) {
        karma_columns_free(columns);
        return st;
    }
    KARMA_TRY(karma_columns_finish(&made, columns, err));
    st = add_labels(made, table, err);
    if (st == KARMA_OK)
        *out = made;
    else
        karma_table_free(made);
    return st;
}

karma_status karma_table_from_arrow(karma_table **out, const struct ArrowSchema *schema, const struct ArrowArray *array,
                                    const karma_read_options *options, karma_error *err) {
    karma_read_options own;
    KARMA_TRY(karma_i_options_accept(karma_read_option_table(), &own, options, err));
    arrow_table table = {.options = &own};
    karma_status st = open_columns(&table, schema, err);
    if (st == KARMA_OK) st = read_batch(&table, schema, array, err);
    if (st == KARMA_OK) st = finish(out, &table, err);
    clear_table(&table);
    return st;
}

static karma_status fail_stream(struct ArrowArrayStream *stream, karma_error *err) {
    const char *why = stream->get_last_error(stream);
    return karma_i_fail(err, KARMA_ERR_IO, "the Arrow stream failed: %.200s", why ? why : "no reason given");
}

static karma_status read_batches(arrow_table *table, const struct ArrowSchema *schema, struct ArrowArrayStream *stream,
                                 karma_error *err) {
    for (;;) {
        struct ArrowArray batch = {0};
        if (stream->get_next(stream, &batch) != 0) return fail_stream(stream, err);
        if (!batch.release) return KARMA_OK;
        karma_status st = read_batch(table, schema, &batch, err);
        batch.release(&batch);
        if (st != KARMA_OK) return st;
    }
}

karma_status karma_table_from_arrow_stream(karma_table **out, struct ArrowArrayStream *stream,
                                           const karma_read_options *options, karma_error *err) {
    karma_read_options own;
    struct ArrowSchema schema = {0};
    KARMA_TRY(karma_i_options_accept(karma_read_option_table(), &own, options, err));
    if (stream->get_schema(stream, &schema) != 0) return fail_stream(stream, err);
    arrow_table table = {.options = &own};
    karma_status st = open_columns(&table, &schema, err);
    if (st == KARMA_OK) st = read_batches(&table, &schema, stream, err);
    if (st == KARMA_OK) st = finish(out, &table, err);
    clear_table(&table);
    if (schema.release) schema.release(&schema);
    return st;
}
