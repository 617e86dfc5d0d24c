/* Tables and models in memory: columns, strides, Arrow arrays, plain arrays, and options of other versions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "karma/karma.h"

static double cell(const karma_table *table, size_t row, size_t column) {
    double value = NAN;
    return karma_table_cell(table, row, column, &value) ? value : NAN;
}

static void check_missing(const karma_table *table, size_t row, size_t column) {
    double value;
    assert_false(karma_table_cell(table, row, column, &value));
}

/* --- columns --- */

static void columns_of_every_kind(void **state) {
    (void)state;
    static const double numbers[] = {1.5, NAN, -2.0};
    static const int16_t shorts[] = {7, 99, 8, 99, 9, 99}; /* every second one */
    static const unsigned char missing[] = {0, 1, 0};
    static const int32_t codes[] = {2, -1, 0};
    static const char *const levels[] = {"red", "never", "blue"};
    static const char *const texts[] = {"b", NULL, "a"};
    static const char *const ids[] = {"r1", NULL, "r3"};
    karma_columns *columns = NULL;
    karma_table *table = NULL;
    assert_int_equal(karma_columns_new(&columns, 3, NULL), KARMA_OK);
    assert_int_equal(karma_columns_add_numbers(columns, "n", numbers, KARMA_FLOAT64, sizeof *numbers, NULL, NULL),
                     KARMA_OK);
    assert_int_equal(karma_columns_add_numbers(columns, "s", shorts, KARMA_INT16, 2 * sizeof *shorts, missing, NULL),
                     KARMA_OK);
    assert_int_equal(karma_columns_add_categories(columns, "colour", codes, sizeof *codes, levels, 3, NULL), KARMA_OK);
    assert_int_equal(karma_columns_add_texts(columns, "t", texts, NULL), KARMA_OK);
    assert_int_equal(karma_columns_add_ids(columns, "name", ids, NULL), KARMA_OK);
    assert_int_equal(karma_columns_finish(&table, columns, NULL), KARMA_OK);
    assert_int_equal(karma_table_validate(table, NULL), KARMA_OK);
    assert_int_equal(karma_table_n_rows(table), 3);
    assert_int_equal(karma_table_n_attributes(table), 4);
    assert_true(cell(table, 0, 0) == 1.5 && cell(table, 2, 0) == -2.0);
    check_missing(table, 1, 0);
    assert_true(cell(table, 0, 1) == 7.0 && cell(table, 2, 1) == 9.0);
    check_missing(table, 1, 1);
    /* levels in byte order, without the one that no row has */
    assert_int_equal(karma_table_n_levels(table, 2), 2);
    assert_string_equal(karma_table_level(table, 2, 0), "blue");
    assert_true(cell(table, 0, 2) == 0.0 && cell(table, 2, 2) == 1.0);
    check_missing(table, 1, 2);
    assert_true(cell(table, 0, 3) == 1.0 && cell(table, 2, 3) == 0.0);
    assert_string_equal(karma_table_id(table, 0, 2), "r3");
    assert_string_equal(karma_table_id(table, 0, 1), "");
    karma_table_free(table);
}

static void equal_levels_are_joined_and_the_empty_one_is_missing(void **state) {
    (void)state;
    static const int32_t codes[] = {0, 1, 2, 3};
    static const char *const levels[] = {"x", "", "x", "y"};
    karma_columns *columns = NULL;
    karma_table *table = NULL;
    assert_int_equal(karma_columns_new(&columns, 4, NULL), KARMA_OK);
    assert_int_equal(karma_columns_add_categories(columns, "c", codes, sizeof *codes, levels, 4, NULL), KARMA_OK);
    assert_int_equal(karma_columns_finish(&table, columns, NULL), KARMA_OK);
    assert_int_equal(karma_table_n_levels(table, 0), 2);
    assert_true(cell(table, 0, 0) == 0.0 && cell(table, 2, 0) == 0.0 && cell(table, 3, 0) == 1.0);
    check_missing(table, 1, 0);
    karma_table_free(table);
}

/* Ranks replace codes; a refused call leaves the table unchanged. */
static void test_a_category_is_ordered(void **state) {
    (void)state;
    const int32_t codes[] = {2, 0, -1, 1};
    const char *const levels[] = {"high", "low", "medium"}, *const order[] = {"low", "medium", "high", "extreme"},
                      *const twice[] = {"low", "medium", "high", "low"};
    karma_columns *columns;
    karma_table *table;
    karma_error err;
    assert_int_equal(karma_columns_new(&columns, 4, NULL), KARMA_OK);
    assert_int_equal(karma_columns_add_categories(columns, "c", codes, sizeof *codes, levels, 3, NULL), KARMA_OK);
    assert_int_equal(karma_columns_finish(&table, columns, NULL), KARMA_OK);
    assert_int_equal(karma_table_order_category(table, "d", order, 4, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_table_order_category(table, "c", order, 2, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "'high'"));
    assert_int_equal(karma_table_order_category(table, "c", twice, 4, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_table_order_category(table, "c", order, 1, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_table_attribute_kind(table, 0), KARMA_COLUMN_CATEGORY);
    assert_int_equal(karma_table_order_category(table, "c", order, 4, &err), KARMA_OK);
    assert_int_equal(karma_table_attribute_kind(table, 0), KARMA_COLUMN_NUMBER);
    assert_int_equal(karma_table_n_levels(table, 0), 4);
    assert_string_equal(karma_table_level(table, 0, 3), "extreme");
    static const double wanted[] = {2, 3, NAN, 1};
    for (size_t i = 0; i < 4; i++) {
        double value = NAN;
        assert_int_equal(karma_table_cell(table, i, 0, &value), !isnan(wanted[i]));
        if (!isnan(wanted[i])) assert_true(value == wanted[i]);
    }
    assert_int_equal(karma_table_order_category(table, "c", order, 4, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_table_validate(table, &err), KARMA_OK);
    karma_table_free(table);
}

static void bad_columns_are_refused(void **state) {
    (void)state;
    static const double infinite[] = {1.0, INFINITY};
    static const double fine[] = {1.0, 2.0};
    static const int32_t codes[] = {0, 5};
    static const char *const levels[] = {"a"};
    karma_columns *columns = NULL;
    karma_table *table = NULL;
    karma_error err;
    assert_int_equal(karma_columns_new(&columns, 2, NULL), KARMA_OK);
    assert_int_equal(karma_columns_add_numbers(columns, "n", infinite, KARMA_FLOAT64, 8, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "row 2, column 'n'"));
    assert_int_equal(karma_columns_add_categories(columns, "c", codes, 4, levels, 1, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "code 5"));
    assert_int_equal(karma_columns_add_numbers(columns, "n", fine, KARMA_FLOAT64, 8, NULL, &err), KARMA_OK);
    assert_int_equal(karma_columns_add_numbers(columns, "n", fine, KARMA_FLOAT64, 8, NULL, &err), KARMA_OK);
    assert_int_equal(karma_columns_finish(&table, columns, &err), KARMA_ERR_DATA); /* it is freed all the same */
    assert_non_null(strstr(err.message, "two columns are called 'n'"));
    assert_null(table);
}

static void strides_may_be_of_any_sign(void **state) {
    (void)state;
    static const float by_column[] = {1, 2, 3, 4, NAN, 6}; /* two columns of three rows, the rows in reverse order */
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_strided(&table, by_column + 2, KARMA_FLOAT32, 3, 2, -(ptrdiff_t)sizeof(float),
                                              3 * sizeof(float), NULL, NULL),
                     KARMA_OK);
    assert_true(cell(table, 0, 0) == 3.0 && cell(table, 2, 0) == 1.0 && cell(table, 0, 1) == 6.0);
    check_missing(table, 1, 1);
    karma_table_free(table);
}

/* --- Arrow --- */

static void release_nothing(struct ArrowSchema *schema) {
    schema->release = NULL;
}
static void release_no_array(struct ArrowArray *array) {
    array->release = NULL;
}

/* Four rows: a nullable int, a text, a dictionary of texts, a boolean, the label. */
typedef struct arrow_case {
    struct ArrowSchema field[5], dictionary_field, schema, *children[5];
    struct ArrowArray column[5], dictionary, batch, *arrays[5];
    const void *buffers[5][3], *dictionary_buffers[3], *batch_buffers[1];
} arrow_case;

static const int32_t ints[] = {10, 20, 30, 40};
static const unsigned char int_bits[] = {0x0d};   /* row 1 is NULL */
static const int32_t offsets[] = {0, 3, 3, 5, 8}; /* row 1 is empty */
static const char texts[] = "onetwthr";
static const int8_t indices[] = {1, 0, 1, 1};
static const unsigned char index_bits[] = {0x07}; /* row 3 is NULL */
static const int64_t dictionary_offsets[] = {0, 4, 8};
static const char dictionary_texts[] = "lowahigh";
static const unsigned char booleans[] = {0x09}; /* 1 0 0 1 */
static const double labels[] = {0.5, 1.5, NAN, 2.5};

static void make_arrow(arrow_case *c) {
    static const char *const formats[] = {"i", "u", "c", "b", "g"}, *const names[] = {"n", "t", "d", "b", "y"};
    const void *values[] = {ints, offsets, indices, booleans, labels};
    const void *bits[] = {int_bits, NULL, index_bits, NULL, NULL};
    memset(c, 0, sizeof *c);
    for (size_t j = 0; j < 5; j++) {
        c->field[j] = (struct ArrowSchema){.format = formats[j], .name = names[j], .release = release_nothing};
        c->children[j] = &c->field[j];
        c->buffers[j][0] = bits[j];
        c->buffers[j][1] = values[j];
        c->column[j] = (struct ArrowArray){.length = 4,
                                           .null_count = bits[j] ? 1 : 0,
                                           .n_buffers = 2,
                                           .buffers = c->buffers[j],
                                           .release = release_no_array};
        c->arrays[j] = &c->column[j];
    }
    c->buffers[1][2] = texts;
    c->column[1].n_buffers = 3;
    c->dictionary_field = (struct ArrowSchema){.format = "U", .release = release_nothing};
    c->dictionary_buffers[1] = dictionary_offsets;
    c->dictionary_buffers[2] = dictionary_texts;
    c->dictionary =
        (struct ArrowArray){.length = 2, .n_buffers = 3, .buffers = c->dictionary_buffers, .release = release_no_array};
    c->field[2].dictionary = &c->dictionary_field;
    c->column[2].dictionary = &c->dictionary;
    c->schema =
        (struct ArrowSchema){.format = "+s", .n_children = 5, .children = c->children, .release = release_nothing};
    c->batch = (struct ArrowArray){.length = 4,
                                   .n_buffers = 1,
                                   .buffers = c->batch_buffers,
                                   .n_children = 5,
                                   .children = c->arrays,
                                   .release = release_no_array};
}

static void read_target(karma_read_options *o) {
    karma_options_init(karma_read_option_table(), o);
    assert_int_equal(karma_option_set(karma_option_find(karma_read_option_table(), "target"), o, "y", NULL), KARMA_OK);
}

static void arrow_types_and_nulls(void **state) {
    (void)state;
    arrow_case c;
    karma_table *table = NULL;
    karma_read_options o;
    double label;
    make_arrow(&c);
    read_target(&o);
    assert_int_equal(karma_table_from_arrow(&table, &c.schema, &c.batch, &o, NULL), KARMA_OK);
    assert_int_equal(karma_table_validate(table, NULL), KARMA_OK);
    assert_int_equal(karma_table_n_attributes(table), 4);
    assert_true(cell(table, 0, 0) == 10.0 && cell(table, 3, 0) == 40.0);
    check_missing(table, 1, 0);
    assert_string_equal(karma_table_level(table, 1, (size_t)cell(table, 0, 1)), "one");
    assert_string_equal(karma_table_level(table, 1, (size_t)cell(table, 3, 1)), "thr");
    check_missing(table, 1, 1);
    assert_string_equal(karma_table_level(table, 2, (size_t)cell(table, 0, 2)), "high");
    assert_string_equal(karma_table_level(table, 2, (size_t)cell(table, 1, 2)), "lowa");
    check_missing(table, 3, 2);
    assert_true(cell(table, 0, 3) == 1.0 && cell(table, 1, 3) == 0.0 && cell(table, 3, 3) == 1.0);
    assert_true(karma_table_target(table, 0, 3, &label) && label == 2.5);
    assert_false(karma_table_target(table, 0, 2, &label));
    karma_table_free(table);
    karma_options_clear(karma_read_option_table(), &o);
}

/* A view has 16 bytes: a text of up to 12 bytes, or its length and its offset in the first buffer. */
static void put_view(char *view, const char *text, int32_t place) {
    int32_t length = (int32_t)strlen(text), buffer = 0;
    memset(view, 0, 16);
    memcpy(view, &length, 4);
    memcpy(view + 4, text, length <= 12 ? (size_t)length : 4);
    if (length <= 12) return;
    memcpy(view + 8, &buffer, 4);
    memcpy(view + 12, &place, 4);
}

/* Half precision, with a subnormal number and the largest one; texts as views, short ones and long ones. */
static void arrow_halves_and_views(void **state) {
    (void)state;
    static const uint16_t halves[] = {0x3e00, 0, 0x8001, 0x7bff}; /* row 1 is NULL */
    static const char data[] = "..a text of twenty bytes", *const wanted[] = {"ab", "twelve bytes", data + 2, "ab"};
    char views[4 * 16];
    arrow_case c;
    karma_table *table = NULL;
    karma_read_options o;
    make_arrow(&c);
    read_target(&o);
    c.field[0].format = "e";
    c.buffers[0][1] = halves;
    for (int32_t i = 0; i < 4; i++) put_view(views + 16 * i, wanted[i], 2);
    c.field[1].format = "vu";
    c.buffers[1][1] = views;
    c.buffers[1][2] = data;
    karma_error err;
    if (karma_table_from_arrow(&table, &c.schema, &c.batch, &o, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_true(cell(table, 0, 0) == 1.5 && cell(table, 2, 0) == -ldexp(1.0, -24) && cell(table, 3, 0) == 65504.0);
    check_missing(table, 1, 0);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(karma_table_level(table, 1, (size_t)cell(table, i, 1)), wanted[i]);
    karma_options_clear(karma_read_option_table(), &o);
    karma_table_free(table);
}

/* A slice of a batch starts at an offset in every column. */
static void arrow_slices(void **state) {
    (void)state;
    arrow_case c;
    karma_table *table = NULL;
    make_arrow(&c);
    c.batch.offset = 2;
    c.batch.length = 2;
    assert_int_equal(karma_table_from_arrow(&table, &c.schema, &c.batch, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_n_rows(table), 2);
    assert_true(cell(table, 0, 0) == 30.0 && cell(table, 1, 3) == 1.0);
    assert_string_equal(karma_table_level(table, 1, (size_t)cell(table, 0, 1)), "tw");
    karma_table_free(table);
}

typedef struct stream_case {
    arrow_case *arrow;
    int n_left;
} stream_case;

static int give_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    *out = ((stream_case *)stream->private_data)->arrow->schema;
    return 0;
}
static int give_batch(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    stream_case *s = stream->private_data;
    if (s->n_left < 0) return 5;
    memset(out, 0, sizeof *out);
    if (s->n_left-- > 0) *out = s->arrow->batch;
    return 0;
}
static const char *give_reason(struct ArrowArrayStream *stream) {
    (void)stream;
    return "the disk is gone";
}

static void arrow_streams(void **state) {
    (void)state;
    arrow_case c;
    karma_table *table = NULL;
    karma_error err;
    make_arrow(&c);
    stream_case s = {&c, 2};
    struct ArrowArrayStream stream = {give_schema, give_batch, give_reason, NULL, &s};
    assert_int_equal(karma_table_from_arrow_stream(&table, &stream, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_n_rows(table), 8);
    assert_true(cell(table, 7, 0) == 40.0);
    check_missing(table, 5, 0);
    karma_table_free(table);
    s.n_left = -1;
    assert_int_equal(karma_table_from_arrow_stream(&table, &stream, NULL, &err), KARMA_ERR_IO);
    assert_non_null(strstr(err.message, "the disk is gone"));
}

static void arrow_errors_name_the_column(void **state) {
    (void)state;
    arrow_case c;
    karma_table *table = NULL;
    karma_error err;
    make_arrow(&c);
    c.field[3].format = "+l";
    assert_int_equal(karma_table_from_arrow(&table, &c.schema, &c.batch, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "column 'b'"));
    make_arrow(&c);
    c.dictionary.length = 1;
    assert_int_equal(karma_table_from_arrow(&table, &c.schema, &c.batch, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "outside its dictionary"));
    make_arrow(&c);
    c.schema.format = "i";
    assert_int_equal(karma_table_from_arrow(&table, &c.schema, &c.batch, NULL, &err), KARMA_ERR_DATA);
    assert_null(table);
}

static karma_status read_with(karma_table **table, const arrow_case *c, const char *const settings[][2], size_t n,
                              karma_error *err) {
    const karma_option_table *options = karma_read_option_table();
    karma_read_options o;
    karma_options_init(options, &o);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(karma_option_set(karma_option_find(options, settings[i][0]), &o, settings[i][1], NULL),
                         KARMA_OK);
    karma_status st = karma_table_from_arrow(table, &c->schema, &c->batch, &o, err);
    karma_options_clear(options, &o);
    return st;
}

/* Options give columns their roles and kinds. */
static void arrow_columns_have_the_roles_of_the_options(void **state) {
    (void)state;
    static const char *const settings[][2] = {
        {"target", "t"}, {"id", "d"}, {"ignore", "b"}, {"category", "n"}, {"row-weight", "y"}};
    static const double weights[] = {0.5, 1.5, 0.0, 2.5};
    arrow_case c;
    karma_table *table = NULL;
    karma_error err;
    make_arrow(&c);
    c.buffers[4][1] = weights;
    if (read_with(&table, &c, settings, 5, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_table_validate(table, NULL), KARMA_OK);
    assert_int_equal(karma_table_n_attributes(table), 1);
    assert_string_equal(karma_table_level(table, 0, (size_t)cell(table, 3, 0)), "40");
    check_missing(table, 1, 0);
    assert_int_equal(karma_table_n_targets(table), 1);
    assert_int_equal(karma_table_n_classes(table, 0), 3);
    assert_string_equal(karma_table_id(table, 0, 0), "high");
    assert_true(karma_table_row_weight(table, 1) == 1.5 && karma_table_row_weight(table, 2) == 0.0);
    karma_table_free(table);
}

/* Texts and dictionaries of texts can be numbers if an option says so; a column of type null is missing. */
static void arrow_texts_can_be_numbers(void **state) {
    (void)state;
    static const char *const settings[][2] = {{"numeric", "t"}, {"numeric", "d"}};
    static const char numbers[] = "1.52e7-8", levels[] = "0.25-100";
    static const unsigned char dictionary_bits[] = {0x02}; /* level 0 is NULL */
    arrow_case c;
    karma_table *table = NULL;
    karma_error err;
    make_arrow(&c);
    c.buffers[1][2] = numbers; /* 1.5, nothing, 2e, 7-8 */
    assert_int_equal(read_with(&table, &c, settings, 2, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "column 't': a text is not a number"));
    c.buffers[1][2] = "1.570-25";
    c.dictionary_buffers[0] = dictionary_bits;
    c.dictionary.null_count = 1;
    c.dictionary_buffers[2] = levels;
    c.field[3].format = "n";
    if (read_with(&table, &c, settings, 2, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_true(cell(table, 0, 1) == 1.5);
    check_missing(table, 1, 1);
    assert_true(cell(table, 0, 2) == -100.0);
    check_missing(table, 1, 2); /* its level is NULL */
    for (size_t i = 0; i < 4; i++) check_missing(table, i, 3);
    karma_table_free(table);
}

static void refused(const arrow_case *c, const char *name, const char *value, const char *says) {
    const char *const settings[][2] = {{"target", "y"}, {name, value}};
    karma_table *table = NULL;
    karma_error err;
    assert_int_not_equal(read_with(&table, c, settings, 2, &err), KARMA_OK);
    if (!strstr(err.message, says)) fail_msg("\"%s\" without \"%s\"", err.message, says);
    assert_null(table);
}

static void arrow_values_and_names_are_checked(void **state) {
    (void)state;
    static const double infinite[] = {0.5, -INFINITY, 1.5, 2.5};
    arrow_case c;
    make_arrow(&c);
    refused(&c, "id", "y", "column 'y': it has two roles");
    refused(&c, "ignore", "z", "there is no column 'z'");
    refused(&c, "category", "z", "there is no column 'z'");
    c.buffers[4][1] = infinite;
    refused(&c, "ignore", "b", "column 'y': a value is infinite");
    make_arrow(&c);
    c.buffers[1][2] = "on\0twthr";
    refused(&c, "ignore", "b", "column 't': a text has a NUL byte");
    make_arrow(&c);
    c.field[2].format = "g";
    c.column[2].dictionary = NULL;
    refused(&c, "ignore", "b", "column 'd': its dictionary cannot be read");
    make_arrow(&c);
    c.batch.n_children = 4;
    refused(&c, "ignore", "b", "the Arrow array does not match its schema");
}

/* Where the buffers are too few or too short for the schema, before one is read. */
static void arrow_arrays_have_the_buffers_of_their_schema(void **state) {
    (void)state;
    arrow_case c;
    make_arrow(&c);
    c.column[3].length = 3;
    refused(&c, "ignore", "n", "column 'b': its array is too short");
    make_arrow(&c);
    c.batch.offset = 1; /* a slice of four rows needs five */
    refused(&c, "ignore", "t", "column 'n': its array is too short");
    make_arrow(&c);
    c.column[1].n_buffers = 2;
    refused(&c, "ignore", "b", "column 't': its array lacks a buffer");
    make_arrow(&c);
    c.buffers[0][1] = NULL;
    refused(&c, "ignore", "b", "column 'n': its array lacks a buffer");
    make_arrow(&c);
    c.dictionary.n_buffers = 2;
    refused(&c, "ignore", "b", "column 'd': its array lacks a buffer");
}

/* The schema alone decides whether a table can be read, not which of its cells are NULL. */
static void arrow_nested_columns_are_refused_even_if_they_are_empty(void **state) {
    (void)state;
    static const unsigned char none[] = {0};
    arrow_case c;
    karma_table *table = NULL;
    karma_error err;
    make_arrow(&c);
    c.field[0].format = "+l";
    c.buffers[0][0] = none;
    c.column[0].null_count = 4;
    refused(&c, "ignore", "b", "column 'n': values of Arrow's type '+l' cannot be read");
    const char *const settings[][2] = {{"target", "y"}, {"ignore", "n"}};
    assert_int_equal(read_with(&table, &c, settings, 2, &err), KARMA_OK);
    karma_table_free(table);
}

static void arrow_rows_that_are_null_have_no_cells(void **state) {
    (void)state;
    static const unsigned char rows[] = {0x0e}; /* row 0 is NULL */
    const char *const settings[][2] = {{"target", "y"}};
    arrow_case c;
    karma_table *table = NULL;
    karma_error err;
    double label;
    make_arrow(&c);
    c.batch_buffers[0] = rows;
    c.batch.null_count = 1;
    if (read_with(&table, &c, settings, 1, &err) != KARMA_OK) fail_msg("%s", err.message);
    for (size_t j = 0; j < 4; j++) check_missing(table, 0, j);
    assert_false(karma_table_target(table, 0, 0, &label));
    assert_true(cell(table, 2, 0) == 30.0);
    karma_table_free(table);
}

/* As on the command line, a value may be several names; targets are in the order in which they are named. */
static void arrow_columns_are_named_in_lists(void **state) {
    (void)state;
    const char *const settings[][2] = {{"target", "y,n"}, {"ignore", "b,d"}};
    arrow_case c;
    karma_table *table = NULL;
    karma_error err;
    make_arrow(&c);
    if (read_with(&table, &c, settings, 2, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_table_n_attributes(table), 1);
    assert_string_equal(karma_table_target_name(table, 0), "y");
    assert_string_equal(karma_table_target_name(table, 1), "n");
    karma_table_free(table);
    c.field[0].name = "y,n"; /* a name may have a comma */
    if (read_with(&table, &c, settings, 2, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_table_n_targets(table), 1);
    karma_table_free(table);
    refused(&c, "id", "t,z", "there is no column 'z'");
}

/* --- arrays --- */

/* As an older library sees a type of newer headers. */
static void unknown_types_of_numbers_are_refused(void **state) {
    (void)state;
    static const double values[] = {1.0, 2.0};
    karma_number_type newer = (karma_number_type)99;
    karma_table *table = NULL;
    karma_columns *columns = NULL;
    karma_error err;
    assert_int_equal(karma_table_from_strided(&table, values, newer, 2, 1, 8, 8, NULL, &err), KARMA_ERR_OPTION);
    assert_null(table);
    assert_int_equal(karma_columns_new(&columns, 2, &err), KARMA_OK);
    assert_int_equal(karma_columns_add_numbers(columns, "a", values, newer, 8, NULL, &err), KARMA_ERR_OPTION);
    assert_non_null(strstr(err.message, "number type 99"));
    karma_columns_free(columns);
}

enum { ROWS = 80, COLUMNS = 3 };

static void fill_rows(double *cells, double *classes, double *numbers) {
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < COLUMNS; j++)
            cells[i * COLUMNS + j] = (i + 2 * j) % 7 == 6 ? NAN : sin((double)(5 * i + 3 * j));
        double first = sin((double)(5 * i));
        classes[i] = first > 0.0 ? 7.0 : 3.0;
        numbers[i] = 10.0 + 2.0 * first;
    }
}

static void arrays_in_and_predictions_out(void **state) {
    (void)state;
    double cells[ROWS * COLUMNS], classes[ROWS], numbers[ROWS], predictions[ROWS];
    karma_model *model = NULL;
    karma_error err;
    size_t right = 0;
    fill_rows(cells, classes, numbers);
    assert_int_equal(karma_fit_array(&model, cells, ROWS, COLUMNS, classes, NULL, NULL, &err), KARMA_OK);
    assert_non_null(karma_model_search_info(model)); /* chosen by the default search */
    assert_int_equal(karma_predict_array(predictions, model, cells, ROWS, COLUMNS, &err), KARMA_OK);
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(predictions[i] == 7.0 || predictions[i] == 3.0);
        right += predictions[i] == classes[i];
    }
    assert_true(right > ROWS * 8 / 10);
    assert_int_equal(karma_predict_array(predictions, model, cells, ROWS, COLUMNS - 1, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "the matrix has 2 columns, but the model was learned from 3"));
    karma_model_free(model);
    karma_fit_options fit;
    karma_options_init(karma_fit_option_table(), &fit);
    fit.task = KARMA_TASK_REGRESS;
    assert_int_equal(karma_fit_array(&model, cells, ROWS, COLUMNS, numbers, &fit, NULL, &err), KARMA_OK);
    assert_null(karma_model_search_info(model)); /* as the options say */
    assert_int_equal(karma_predict_array(predictions, model, cells, ROWS, COLUMNS, &err), KARMA_OK);
    assert_true(fabs(predictions[1] - numbers[1]) < 1.0);
    karma_model_free(model);
}

/* A column without any value is not learned from, but it has its place in the matrix. */
static void an_empty_column_keeps_its_place(void **state) {
    (void)state;
    double cells[ROWS * COLUMNS], classes[ROWS], numbers[ROWS], predictions[ROWS];
    karma_model *model = NULL;
    karma_fit_options fit;
    karma_error err;
    fill_rows(cells, classes, numbers);
    for (size_t i = 0; i < ROWS; i++) cells[i * COLUMNS + 1] = NAN;
    karma_options_init(karma_fit_option_table(), &fit);
    assert_int_equal(karma_fit_array(&model, cells, ROWS, COLUMNS, classes, &fit, NULL, &err), KARMA_OK);
    assert_int_equal(karma_model_n_attributes(model), COLUMNS - 1);
    assert_int_equal(karma_model_info(model)->n_columns, COLUMNS);
    assert_int_equal(karma_predict_array(predictions, model, cells, ROWS, COLUMNS, &err), KARMA_OK);
    assert_int_equal(karma_predict_array(predictions, model, cells, ROWS, COLUMNS - 1, &err), KARMA_ERR_DATA);
    karma_model_free(model);
}

/* --- options of other versions --- */

static void an_older_struct_gets_defaults_and_is_not_overrun(void **state) {
    (void)state;
    unsigned char memory[sizeof(karma_fit_options)];
    size_t old_size = offsetof(karma_fit_options, C); /* as if the options from C on had been added later */
    memset(memory, 0xab, sizeof memory);
    karma_fit_options *old = (void *)memory;
    karma_options_init_size(karma_fit_option_table(), old, old_size);
    for (size_t i = old_size; i < sizeof memory; i++) assert_int_equal(memory[i], 0xab);
    old->gamma = 5;
    assert_int_equal(karma_options_check(karma_fit_option_table(), old, NULL), KARMA_OK);
    karma_fit_options now;
    assert_int_equal(karma_options_copy(karma_fit_option_table(), &now, old, NULL), KARMA_OK);
    assert_int_equal(now.struct_size, sizeof now);
    assert_int_equal(now.gamma, 5);
    assert_true(now.C == KARMA_AUTO && now.tolerance == 1e-3);
    karma_error err;
    const karma_option *late = karma_option_find(karma_fit_option_table(), "tolerance");
    assert_int_equal(karma_option_set(late, old, "0.1", &err), KARMA_ERR_OPTION);
    double cells[ROWS * COLUMNS], classes[ROWS], numbers[ROWS];
    karma_model *model = NULL;
    fill_rows(cells, classes, numbers);
    assert_int_equal(karma_fit_array(&model, cells, ROWS, COLUMNS, classes, old, NULL, &err), KARMA_OK);
    assert_int_equal(karma_model_options(model)->gamma, 5);
    karma_model_free(model);
    char text[KARMA_NUMBER_SIZE];
    (void)karma_option_text(late, old, text, sizeof text); /* not what lies behind the struct */
    assert_string_equal(text, "0.001");
    karma_options_clear(karma_fit_option_table(), old);
    karma_options_clear(karma_fit_option_table(), &now);
}

/* A program of older headers copies the options of a model, which have the library's size. */
static void a_copy_fits_into_a_struct_of_any_size(void **state) {
    (void)state;
    const karma_option_table *table = karma_fit_option_table();
    unsigned char memory[sizeof(karma_fit_options)];
    size_t old_size = offsetof(karma_fit_options, C);
    karma_fit_options now, *old = (void *)memory;
    karma_error err;
    karma_options_init(table, &now);
    now.gamma = 6;
    now.tolerance = 0.5;
    assert_int_equal(karma_option_set(karma_option_find(table, "kernel"), &now, "rank", &err), KARMA_OK);
    memset(memory, 0xab, sizeof memory);
    assert_int_equal(karma_options_copy_size(table, old, old_size, &now, &err), KARMA_OK);
    for (size_t i = old_size; i < sizeof memory; i++) assert_int_equal(memory[i], 0xab);
    assert_true(old->struct_size == old_size && old->gamma == 6);
    assert_string_equal(old->kernel, "rank");
    assert_ptr_not_equal(old->kernel, now.kernel);
    karma_options_clear(table, old);
    karma_options_clear(table, &now);
    assert_int_equal(karma_options_copy(table, &now, NULL, &err), KARMA_OK); /* the defaults */
    assert_true(now.tolerance == 1e-3 && !now.kernel);
    assert_int_equal(karma_options_copy_size(table, &now, sizeof now + sizeof(int), NULL, &err), KARMA_ERR_OPTION);
}

/* The estimate of memory reads options like all functions: of any version, or none. */
static void memory_is_estimated_for_options_of_any_version(void **state) {
    (void)state;
    double cells[ROWS * COLUMNS], classes[ROWS], numbers[ROWS];
    karma_table *table = NULL;
    karma_fit_options fit;
    karma_search_options search;
    fill_rows(cells, classes, numbers);
    assert_int_equal(karma_table_from_array(&table, cells, ROWS, COLUMNS, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(table, "y", classes, NULL), KARMA_OK);
    karma_options_init(karma_fit_option_table(), &fit);
    karma_options_init(karma_search_option_table(), &search);
    double bytes = karma_estimate_memory(table, &fit, &search);
    assert_true(bytes > 0.0 && karma_estimate_memory(table, NULL, NULL) == bytes);
    unsigned char memory[sizeof fit];
    memset(memory, 0xab, sizeof memory);
    karma_options_init_size(karma_fit_option_table(), memory, offsetof(karma_fit_options, memory));
    assert_true(karma_estimate_memory(table, (const karma_fit_options *)(const void *)memory, &search) == bytes);
    memset(&fit, 0, sizeof fit);
    assert_true(isnan(karma_estimate_memory(table, &fit, &search)));
    karma_table_free(table);
}

/* As the rules at the top of karma.h say. */
static void clear_functions_accept_null(void **state) {
    (void)state;
    karma_options_clear(karma_fit_option_table(), NULL);
    karma_review_clear(NULL);
    karma_cell_flags_clear(NULL);
    karma_metrics_clear(NULL);
    karma_cv_clear(NULL);
    karma_explanations_clear(NULL);
    karma_importances_clear(NULL);
    karma_next_cells_clear(NULL);
    karma_comparison_clear(NULL);
    karma_completion_clear(NULL);
    karma_buffer_free(NULL);
    karma_columns_free(NULL);
    karma_gram_free(NULL);
    karma_lowrank_free(NULL);
    karma_model_free(NULL);
    karma_online_free(NULL);
    karma_output_discard(NULL);
    karma_regret_free(NULL);
    karma_row_reader_free(NULL);
    karma_row_stream_free(NULL);
    karma_table_free(NULL);
}

static void an_uninitialised_struct_is_refused(void **state) {
    (void)state;
    double cells[ROWS * COLUMNS], classes[ROWS], numbers[ROWS];
    karma_model *model = NULL;
    karma_error err;
    karma_fit_options raw;
    fill_rows(cells, classes, numbers);
    memset(&raw, 0, sizeof raw);
    assert_int_equal(karma_fit_array(&model, cells, ROWS, COLUMNS, classes, &raw, NULL, &err), KARMA_ERR_OPTION);
    assert_non_null(strstr(err.message, "karma_options_init"));
    karma_options_init(karma_fit_option_table(), &raw);
    raw.struct_size += 8; /* as of a newer header */
    assert_int_equal(karma_fit_array(&model, cells, ROWS, COLUMNS, classes, &raw, NULL, &err), KARMA_ERR_OPTION);
    assert_null(model);
}

static void version_text_and_number_agree(void **state) {
    (void)state;
    char text[32];
    (void)snprintf(text, sizeof text, "%d.%d.%d", KARMA_VERSION_MAJOR, KARMA_VERSION_MINOR, KARMA_VERSION_PATCH);
    assert_string_equal(karma_version(), text);
    assert_int_equal(karma_version_number(), KARMA_VERSION_NUMBER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_category_is_ordered),
        cmocka_unit_test(columns_of_every_kind),
        cmocka_unit_test(equal_levels_are_joined_and_the_empty_one_is_missing),
        cmocka_unit_test(bad_columns_are_refused),
        cmocka_unit_test(strides_may_be_of_any_sign),
        cmocka_unit_test(arrow_types_and_nulls),
        cmocka_unit_test(arrow_halves_and_views),
        cmocka_unit_test(arrow_columns_have_the_roles_of_the_options),
        cmocka_unit_test(arrow_texts_can_be_numbers),
        cmocka_unit_test(arrow_values_and_names_are_checked),
        cmocka_unit_test(arrow_arrays_have_the_buffers_of_their_schema),
        cmocka_unit_test(arrow_nested_columns_are_refused_even_if_they_are_empty),
        cmocka_unit_test(arrow_rows_that_are_null_have_no_cells),
        cmocka_unit_test(arrow_columns_are_named_in_lists),
        cmocka_unit_test(unknown_types_of_numbers_are_refused),
        cmocka_unit_test(arrow_slices),
        cmocka_unit_test(arrow_streams),
        cmocka_unit_test(arrow_errors_name_the_column),
        cmocka_unit_test(arrays_in_and_predictions_out),
        cmocka_unit_test(an_empty_column_keeps_its_place),
        cmocka_unit_test(an_older_struct_gets_defaults_and_is_not_overrun),
        cmocka_unit_test(a_copy_fits_into_a_struct_of_any_size),
        cmocka_unit_test(memory_is_estimated_for_options_of_any_version),
        cmocka_unit_test(clear_functions_accept_null),
        cmocka_unit_test(an_uninitialised_struct_is_refused),
        cmocka_unit_test(version_text_and_number_agree),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
