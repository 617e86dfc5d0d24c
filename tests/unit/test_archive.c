/* Archives: the same description writes and reads; ranges are checked in both directions; anything else is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/error.h"
#include "base/mem.h"

/* One of everything. */
typedef struct item {
    size_t n;
    double *x;
} item;

typedef struct thing {
    int flag, colour;
    size_t size, n_texts, n_items, n_values;
    double number;
    char *text, **texts;
    double measure, *measures;
    size_t n_measures;
    item items[3];
    double *f64;
    float *f32;
    size_t *sizes;
    uint64_t *u64;
    uint32_t *u32;
    uint16_t *u16;
    uint8_t *u8;
} thing;

enum { LEAST = 2, MOST = 20, ROWS = 3 };
static const char *const colours[] = {"red", NULL, "blue"};

static karma_status archive_item(karma_i_archive *a, item *it) {
    KARMA_TRY(karma_i_archive_length(a, "x", &it->n));
    return karma_i_archive_f64(a, "x", &it->x, karma_i_vector_shape(it->n), 100.0);
}

static karma_status archive_arrays(karma_i_archive *a, thing *t) {
    size_t n = t->n_values;
    KARMA_TRY(karma_i_archive_u8(a, "u8", &t->u8, karma_i_vector_shape(n)));
    KARMA_TRY(karma_i_archive_u16(a, "u16", &t->u16, karma_i_matrix_shape(ROWS, n)));
    KARMA_TRY(karma_i_archive_u32(a, "u32", &t->u32, karma_i_vector_shape(n)));
    KARMA_TRY(karma_i_archive_u64(a, "u64", &t->u64, karma_i_vector_shape(n)));
    KARMA_TRY(karma_i_archive_sizes(a, "sizes", &t->sizes, karma_i_vector_shape(n)));
    KARMA_TRY(karma_i_archive_f32(a, "f32", &t->f32, karma_i_matrix_shape(n, ROWS), 10.0));
    return karma_i_archive_f64(a, "f64", &t->f64, karma_i_vector_shape(n), 10.0);
}

static karma_status archive_thing(karma_i_archive *a, thing *t) {
    int has_measures = t->measures != NULL;
    KARMA_TRY(karma_i_archive_flag(a, "flag", &t->flag));
    KARMA_TRY(karma_i_archive_size(a, "size", &t->size, LEAST, MOST));
    KARMA_TRY(karma_i_archive_number(a, "number", &t->number, -1.0, 1.0));
    KARMA_TRY(karma_i_archive_word(a, "colour", &t->colour, colours, 3));
    KARMA_TRY(karma_i_archive_text(a, "text", &t->text));
    KARMA_TRY(karma_i_archive_texts(a, "texts", &t->texts, &t->n_texts));
    KARMA_TRY(karma_i_archive_measure(a, "measure", &t->measure));
    karma_i_archive_find(a, "measures", &has_measures);
    if (has_measures) KARMA_TRY(karma_i_archive_measures(a, "measures", &t->measures, &t->n_measures));
    KARMA_TRY(karma_i_archive_enter(a, "arrays"));
    KARMA_TRY(karma_i_archive_size(a, "n", &t->n_values, 0, 100));
    KARMA_TRY(archive_arrays(a, t));
    karma_i_archive_leave(a);
    KARMA_TRY(karma_i_archive_enter_list(a, "items", &t->n_items));
    if (t->n_items > 3) return karma_i_archive_fail(a, "more than %d items", 3);
    for (size_t i = 0; i < t->n_items; i++) {
        KARMA_TRY(karma_i_archive_item(a, i));
        KARMA_TRY(archive_item(a, &t->items[i]));
        karma_i_archive_leave(a);
    }
    karma_i_archive_leave(a);
    return KARMA_OK;
}

static void clear_thing(thing *t) {
    for (size_t i = 0; i < 3; i++) karma_i_free(t->items[i].x);
    for (size_t i = 0; i < t->n_texts; i++) karma_i_free(t->texts[i]);
    karma_i_free(t->texts);
    karma_i_free(t->text);
    karma_i_free(t->measures);
    karma_i_free(t->f64);
    karma_i_free(t->f32);
    karma_i_free(t->sizes);
    karma_i_free(t->u64);
    karma_i_free(t->u32);
    karma_i_free(t->u16);
    karma_i_free(t->u8);
    *t = (thing){0};
}

static void make_thing(thing *t, size_t n) {
    *t = (thing){.flag = 1, .colour = 2, .size = 7, .n_texts = 2, .n_items = 2, .n_values = n, .number = 0.1};
    t->text = karma_i_strdup("naïve \"名\"\n");
    t->texts = karma_i_zalloc(2, sizeof *t->texts);
    t->texts[0] = karma_i_strdup(""), t->texts[1] = karma_i_strdup("b");
    t->measure = NAN;
    if (n) {
        t->measures = karma_i_alloc(3, sizeof *t->measures), t->n_measures = 3;
        t->measures[0] = -0.3, t->measures[1] = INFINITY, t->measures[2] = 1e300;
    }
    t->f64 = karma_i_alloc(n, sizeof *t->f64), t->f32 = karma_i_alloc(n * ROWS, sizeof *t->f32);
    t->sizes = karma_i_alloc(n, sizeof *t->sizes), t->u64 = karma_i_alloc(n, sizeof *t->u64);
    t->u32 = karma_i_alloc(n, sizeof *t->u32), t->u16 = karma_i_alloc(n * ROWS, sizeof *t->u16);
    t->u8 = karma_i_alloc(n, 1);
    for (size_t i = 0; i < n; i++) {
        t->f64[i] = 1.0 / (double)(i + 3), t->sizes[i] = i * i, t->u64[i] = UINT64_MAX - i;
        t->u32[i] = UINT32_MAX - (uint32_t)i, t->u8[i] = (uint8_t)(255 - i);
    }
    for (size_t i = 0; i < n * ROWS; i++) t->f32[i] = 1.0F / (float)(i + 1), t->u16[i] = (uint16_t)(i * 1000);
    for (size_t i = 0; i < 2; i++) {
        t->items[i] = (item){i, karma_i_alloc(i, sizeof(double))};
        for (size_t k = 0; k < i; k++) t->items[i].x[k] = 99.0;
    }
}

typedef struct bytes {
    unsigned char *at;
    size_t size, done;
} bytes;

static void put(void *context, const void *from, size_t n) {
    bytes *b = context;
    assert_true(b->done + n <= b->size);
    memcpy(b->at + b->done, from, n);
    b->done += n;
}

/* One byte at a time: input may arrive in pieces of any size. */
static size_t get(void *context, void *to, size_t n) {
    bytes *b = context;
    if (b->done == b->size || n == 0) return 0;
    *(unsigned char *)to = b->at[b->done++];
    return 1;
}

static bytes written(thing *t) {
    karma_i_archive *a = NULL;
    karma_error err = {0};
    bytes b = {NULL, 0, 0};
    assert_int_equal(karma_i_archive_new(&a, "thing", &err), KARMA_OK);
    if (archive_thing(a, t) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_i_archive_close(a, &b.size), KARMA_OK);
    b.at = malloc(b.size);
    karma_i_archive_emit(a, put, &b);
    assert_int_equal(b.done, b.size);
    karma_i_archive_free(a);
    return b;
}

static void written_values_are_read_back(void **state) {
    (void)state;
    for (size_t n = 0; n < 10; n += 9) {
        thing t, u = {0};
        karma_i_archive *a = NULL;
        karma_error err = {0};
        make_thing(&t, n);
        bytes b = written(&t);
        b.done = 0;
        assert_int_equal(karma_i_archive_open(&a, "thing", get, &b, &err), KARMA_OK);
        assert_int_equal(karma_i_archive_is_reading(a), 1);
        if (archive_thing(a, &u) != KARMA_OK) fail_msg("%s", err.message);
        karma_i_archive_free(a);
        assert_int_equal(u.flag, 1);
        assert_int_equal(u.colour, 2);
        assert_int_equal(u.size, 7);
        assert_true(u.number == 0.1);
        assert_string_equal(u.text, t.text);
        assert_int_equal(u.n_texts, 2);
        assert_string_equal(u.texts[0], "");
        assert_string_equal(u.texts[1], "b");
        assert_true(isnan(u.measure));
        assert_int_equal(u.n_measures, n ? 3 : 0);
        if (n) assert_true(u.measures[0] == -0.3 && isnan(u.measures[1]) && u.measures[2] == 1e300);
        assert_memory_equal(u.f64, t.f64, n * 8);
        assert_memory_equal(u.f32, t.f32, n * ROWS * 4);
        assert_memory_equal(u.sizes, t.sizes, n * 8);
        assert_memory_equal(u.u64, t.u64, n * 8);
        assert_memory_equal(u.u32, t.u32, n * 4);
        assert_memory_equal(u.u16, t.u16, n * ROWS * 2);
        assert_memory_equal(u.u8, t.u8, n);
        assert_int_equal(u.n_items, 2);
        assert_int_equal(u.items[0].n, 0);
        assert_int_equal(u.items[1].n, 1);
        assert_true(u.items[1].x[0] == 99.0);
        bytes c = written(&u);
        assert_int_equal(c.size, b.size);
        assert_memory_equal(c.at, b.at, b.size);
        free(b.at);
        free(c.at);
        clear_thing(&t);
        clear_thing(&u);
    }
}

/* Every array begins at a multiple of its item size, whatever the order of the descriptions. */
static void arrays_are_aligned(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t size;
    } arrays[] = {{"arrays.u8", 1},    {"arrays.u16", 2}, {"arrays.u32", 4}, {"arrays.u64", 8},
                  {"arrays.sizes", 8}, {"arrays.f32", 4}, {"arrays.f64", 8}, {"items.1.x", 8}};
    thing t;
    make_thing(&t, 9);
    bytes b = written(&t);
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--) header = header << 8 | b.at[i];
    assert_int_equal((8 + header) % 64, 0);
    char *text = calloc(header + 1, 1);
    memcpy(text, b.at + 8, header);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        char key[40];
        (void)snprintf(key, sizeof key, "\"%s\":", arrays[i].name);
        const char *entry = strstr(text, key);
        assert_non_null(entry);
        unsigned long begin = strtoul(strchr(strstr(entry, "data_offsets"), '[') + 1, NULL, 10);
        assert_int_equal(begin % arrays[i].size, 0);
    }
    free(text);
    free(b.at);
    clear_thing(&t);
}

/* A value that could not be read back is not written, and the message names the field. */
static void ranges_hold_when_writing(void **state) {
    (void)state;
    for (int which = 0; which < 8; which++) {
        thing t;
        karma_i_archive *a = NULL;
        karma_error err = {0};
        make_thing(&t, 5);
        static const char *const words[] = {"'size'",       "'size'",       "'number'",    "'number'",
                                            "'arrays.f64'", "'arrays.f32'", "'items.1.x'", "UTF-8"};
        if (which == 0) t.size = LEAST - 1;
        if (which == 1) t.size = MOST + 1;
        if (which == 2) t.number = 1.5;
        if (which == 3) t.number = NAN;
        if (which == 4) t.f64[4] = -10.5;
        if (which == 5) t.f32[14] = NAN;
        if (which == 6) t.items[1].x[0] = INFINITY;
        if (which == 7) t.text[0] = (char)0xff;
        assert_int_equal(karma_i_archive_new(&a, "thing", &err), KARMA_OK);
        assert_int_equal(archive_thing(a, &t), KARMA_ERR_DATA);
        if (!strstr(err.message, words[which]) || !strstr(err.message, "thing: the model cannot be saved"))
            fail_msg("case %d: %s", which, err.message);
        karma_i_archive_free(a);
        clear_thing(&t);
    }
}

/* The second description differs from the first, and does not find its fields. */
static void different_descriptions_are_refused(void **state) {
    (void)state;
    thing t;
    make_thing(&t, 4);
    bytes b = written(&t);
    for (int which = 0; which < 12; which++) {
        karma_i_archive *a = NULL;
        karma_error err = {0};
        thing u = {0};
        size_t n = 4;
        b.done = 0;
        assert_int_equal(karma_i_archive_open(&a, "thing", get, &b, &err), KARMA_OK);
        karma_status st = KARMA_OK;
        if (which == 0) st = karma_i_archive_flag(a, "size", &u.flag);
        if (which == 1) st = karma_i_archive_size(a, "number", &u.size, 0, 10);
        if (which == 2) st = karma_i_archive_number(a, "text", &u.number, 0, 10);
        if (which == 3) st = karma_i_archive_text(a, "texts", &u.text);
        if (which == 4) st = karma_i_archive_enter(a, "items");
        if (which == 5) st = karma_i_archive_enter_list(a, "arrays", &n);
        if (which == 6) st = karma_i_archive_enter(a, "nothing");
        if (which == 7) st = karma_i_archive_f64(a, "arrays.f64", &u.f64, karma_i_vector_shape(3), 10.0);
        if (which == 8) st = karma_i_archive_u64(a, "arrays.f64", &u.u64, karma_i_vector_shape(4));
        if (which == 9) st = karma_i_archive_f64(a, "arrays.f64", &u.f64, karma_i_matrix_shape(2, 2), 10.0);
        if (which == 10) st = karma_i_archive_f64(a, "arrays.f64", &u.f64, karma_i_vector_shape(4), 0.25);
        if (which == 11) st = karma_i_archive_length(a, "nothing", &n);
        assert_int_equal(st, KARMA_ERR_FORMAT);
        if (!strstr(err.message, "thing: not a usable model: ")) fail_msg("case %d: %s", which, err.message);
        karma_i_archive_free(a);
        karma_i_free(u.f64); /* which == 10: it was read before it was found to be out of range; the owner frees it */
    }
    free(b.at);
    clear_thing(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_values_are_read_back),
        cmocka_unit_test(arrays_are_aligned),
        cmocka_unit_test(ranges_hold_when_writing),
        cmocka_unit_test(different_descriptions_are_refused),
    };
    return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
