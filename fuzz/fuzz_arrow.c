/* Arrow arrays: schemas of any kind over buffers that are as large as they announce, which the interface requires of
 * a producer. The input determines the offsets into texts. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 16, MOST_COLUMNS = 4, BUFFER = 512, MOST_BUFFERS = 3 };

typedef struct column {
    struct ArrowSchema schema, dictionary_schema;
    struct ArrowArray array, dictionary;
    const void *buffers[MOST_BUFFERS], *dictionary_buffers[MOST_BUFFERS];
    char format[8], name[8];
    _Alignas(16) uint8_t bytes[2 * MOST_BUFFERS][BUFFER];
} column;

static void release_schema(struct ArrowSchema *schema) {
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array) {
    array->release = NULL;
}

static void draw_bytes(uint8_t *to, fuzz_source *source) {
    size_t n = fuzz_byte(source);
    for (size_t i = 0; i < n && i < BUFFER; i++) to[i] = (uint8_t)fuzz_byte(source);
}

/* Offsets that ascend and stay inside of the third buffer, as a producer must give them. */
static void draw_offsets(uint8_t *to, fuzz_source *source, int is_large) {
    int64_t at = 0;
    for (size_t i = 0; i <= 2 * MOST_ROWS; i++) {
        int32_t small = (int32_t)at;
        memcpy(to + i * (is_large ? 8 : 4), is_large ? (const void *)&at : (const void *)&small, is_large ? 8 : 4);
        at += fuzz_byte(source) % 8;
    }
}

static void draw_array(struct ArrowArray *array, const void **buffers, uint8_t (*bytes)[BUFFER], const char *format,
                       size_t n_rows, fuzz_source *source) {
    int is_text = strcmp(format, "u") == 0 || strcmp(format, "U") == 0 || strcmp(format, "z") == 0;
    *array = (struct ArrowArray){.length = (int64_t)n_rows,
                                 .null_count = (int64_t)(fuzz_byte(source) % 3) - 1,
                                 .offset = (int64_t)(fuzz_byte(source) % MOST_ROWS),
                                 .n_buffers = is_text ? 3 : 2,
                                 .buffers = buffers,
                                 .release = release_array};
    for (size_t b = 0; b < MOST_BUFFERS; b++) {
        draw_bytes(bytes[b], source);
        buffers[b] = bytes[b];
    }
    if (is_text) draw_offsets(bytes[1], source, format[0] == 'U');
    if (fuzz_byte(source) % 2) buffers[0] = NULL;
}

static void draw_column(column *c, size_t number, size_t n_rows, fuzz_source *source) {
    static const char *const formats[] = {"n",    "b",   "c",   "C",  "s",   "S",     "i", "I",   "l",
                                          "L",    "e",   "f",   "g",  "u",   "U",     "z", "tdD", "tdm",
                                          "tss:", "ttu", "tDm", "+l", "w:4", "d:3,1", "?"};
    static const char *const texts[] = {"u", "U", "g"};
    const char *format = formats[fuzz_byte(source) % (sizeof formats / sizeof formats[0])];
    (void)strcpy(c->format, format);
    c->name[0] = (char)('a' + (int)(fuzz_byte(source) % 8 ? number : 0)); /* now and then the same twice */
    c->schema = (struct ArrowSchema){
        .format = c->format, .name = fuzz_byte(source) % 8 ? c->name : NULL, .release = release_schema};
    draw_array(&c->array, c->buffers, c->bytes, format, n_rows, source);
    if (strlen(format) != 1 || !strchr("cCsSiIlL", format[0]) || fuzz_byte(source) % 2) return;
    const char *values = texts[fuzz_byte(source) % 3];
    c->dictionary_schema = (struct ArrowSchema){.format = values, .name = NULL, .release = release_schema};
    draw_array(&c->dictionary, c->dictionary_buffers, c->bytes + MOST_BUFFERS, values, fuzz_byte(source) % MOST_ROWS,
               source);
    c->schema.dictionary = &c->dictionary_schema;
    c->array.dictionary = &c->dictionary;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_source source = {bytes, size};
    size_t n_columns = fuzz_byte(&source) % (MOST_COLUMNS + 1), n_rows = fuzz_byte(&source) % MOST_ROWS;
    column *columns = calloc(MOST_COLUMNS, sizeof *columns);
    struct ArrowSchema *schemas[MOST_COLUMNS];
    struct ArrowArray *arrays[MOST_COLUMNS];
    const void *none[1] = {NULL};
    if (!columns) return 0;
    for (size_t j = 0; j < n_columns; j++) {
        draw_column(&columns[j], j, n_rows, &source);
        schemas[j] = &columns[j].schema;
        arrays[j] = &columns[j].array;
    }
    struct ArrowSchema schema = {.format = fuzz_byte(&source) % 16 ? "+s" : "i",
                                 .name = "",
                                 .n_children = (int64_t)n_columns,
                                 .children = schemas,
                                 .release = release_schema};
    struct ArrowArray array = {.length = (int64_t)n_rows,
                               .n_buffers = 1,
                               .buffers = none,
                               .n_children = (int64_t)n_columns,
                               .children = arrays,
                               .release = release_array};
    karma_table *table = NULL;
    karma_error err = {0};
    if (karma_table_from_arrow(&table, &schema, &array, NULL, &err) == KARMA_OK)
        FUZZ_CHECK(karma_table_validate(table, NULL) == KARMA_OK, "the table breaks its invariants");
    else
        FUZZ_CHECK(err.message[0] != '\0', "an error without a message");
    karma_table_free(table);
    free(columns);
    return 0;
}
