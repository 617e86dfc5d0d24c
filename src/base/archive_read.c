/* Reading an archive. Everything in it is hostile until checked. */
#include <stdlib.h>
#include <string.h>

#include "base/archive_inside.h"
#include "base/error.h"
#include "base/mem.h"

/* A larger header is refused; this is enough for a table with some ten million texts. */
static const uint64_t MOST_HEADER = UINT64_C(1) << 30;
/* Bytes that are requested at once, so that memory grows with the input only. */
enum { READ_STEP = 1 << 20 };

/* --- bytes --------------------------------------------------------------------------------------------- */

typedef struct input {
    karma_i_get_fn get;
    void *context;
    size_t capacity;
} input;

/* Reads until there are `wanted` bytes, or no more of them. */
static karma_status read_until(karma_i_archive *a, input *in, size_t wanted) {
    while (!a->is_mapped && a->size < wanted) {
        size_t left = wanted - a->size, step = left < READ_STEP ? left : READ_STEP;
        if (!karma_i_reserve(&a->bytes, &in->capacity, a->size + step, 1)) return karma_i_archive_fail_memory(a);
        size_t got = in->get(in->context, a->bytes + a->size, step);
        if (got == 0) break;
        a->size += got;
    }
    return KARMA_OK;
}

/* An object, or a failure with this message. Without memory Jansson mostly says nothing. */
static karma_status parse(json_t **out, const karma_i_archive *a, const char *text, size_t length,
                          const char *message) {
    json_error_t fault = {0};
    *out = json_loadb(text, length, JSON_REJECT_DUPLICATES, &fault);
    if (!*out && !fault.text[0]) return karma_i_archive_fail_memory(a);
    return json_is_object(*out) ? KARMA_OK : karma_i_archive_fail(a, "%s", message);
}

static karma_status read_header(karma_i_archive *a, input *in) {
    uint64_t length = 0;
    KARMA_TRY(read_until(a, in, 8));
    if (a->size < 8) return karma_i_archive_fail(a, "the file is too short");
    for (int i = 7; i >= 0; i--) length = length << 8 | a->bytes[i];
    if (length < 2 || length > MOST_HEADER) return karma_i_archive_fail(a, "it is not a %s file", a->noun);
    KARMA_TRY(read_until(a, in, 9));
    if (a->size < 9 || a->bytes[8] != '{') return karma_i_archive_fail(a, "it is not a %s file", a->noun);
    KARMA_TRY(read_until(a, in, 8 + (size_t)length));
    if (a->size < 8 + length) return karma_i_archive_fail(a, "it is truncated, or not a %s file", a->noun);
    a->header_length = (size_t)length;
    return parse(&a->json, a, (const char *)a->bytes + 8, a->header_length, "its header is not JSON");
}

static karma_status parse_document(karma_i_archive *a) {
    const char *text = json_string_value(json_object_get(json_object_get(a->json, "__metadata__"), "karma"));
    if (!text) return karma_i_archive_fail(a, "it is not a karma %s", a->noun);
    KARMA_TRY(parse(&a->document, a, text, strlen(text), "its format version is missing"));
    a->at[0] = a->document;
    const json_t *format = json_object_get(a->document, "format");
    const char *version = json_string_value(json_object_get(a->document, "version"));
    if (!json_is_integer(format) || !version) return karma_i_archive_fail(a, "its format version is missing");
    long long number = json_integer_value(format);
    if (number > KARMA_I_ARCHIVE_FORMAT)
        return karma_i_fail(a->err, KARMA_ERR_FORMAT,
                            "%s: made by a newer version of karma (%.40s, format %lld; this one is %s and reads up to "
                            "%d)",
                            a->name, version, number, karma_version(), KARMA_I_ARCHIVE_FORMAT);
    if (number < KARMA_I_ARCHIVE_FORMAT)
        return karma_i_archive_fail(a, "its format, %lld, was never released; train it again", number);
    return KARMA_OK;
}

/* --- where the arrays are ------------------------------------------------------------------------------ */

typedef struct range {
    uint64_t begin, end;
} range;

static int by_begin(const void *a, const void *b) {
    const range *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int take_range(range *out, const json_t *entry) {
    const json_t *offsets = json_object_get(entry, "data_offsets");
    json_int_t begin = json_integer_value(json_array_get(offsets, 0)), end = -1;
    if (json_array_size(offsets) == 2) end = json_integer_value(json_array_get(offsets, 1));
    *out = (range){(uint64_t)begin, (uint64_t)end};
    return begin >= 0 && end >= begin;
}

/* The arrays follow one another without gaps and do not overlap, so that no file claims more bytes than it has. */
static karma_status measure_data(size_t *size, const karma_i_archive *a) {
    size_t n = 0;
    range *ranges = karma_i_alloc(json_object_size(a->json), sizeof *ranges);
    if (!ranges) return karma_i_archive_fail_memory(a);
    const char *key;
    json_t *entry;
    int is_sound = 1;
    json_object_foreach(a->json, key, entry) if (strcmp(key, "__metadata__") != 0) is_sound &=
        take_range(&ranges[n++], entry);
    uint64_t end = 0;
    if (n > 1) qsort(ranges, n, sizeof *ranges, by_begin);
    for (size_t i = 0; is_sound && i < n; i++) {
        is_sound = ranges[i].begin == end;
        end = ranges[i].end;
    }
    karma_i_free(ranges);
    if (!is_sound) return karma_i_archive_fail(a, "its arrays are not contiguous");
    if (!a->is_mapped && end > (uint64_t)karma_i_memory_limit())
        return karma_i_archive_fail(a, "its header claims %.0f GB, more than this machine's memory", (double)end / 1e9);
    *size = (size_t)end;
    return KARMA_OK;
}

static karma_status read_data(karma_i_archive *a, input *in) {
    size_t data_size = 0;
    KARMA_TRY(measure_data(&data_size, a));
    size_t size = 8 + a->header_length + data_size;
    KARMA_TRY(read_until(a, in, size + 1));
    if (a->size < size) return karma_i_archive_fail(a, "it is truncated");
    return a->size == size ? KARMA_OK : karma_i_archive_fail(a, "it is longer than its header claims");
}

/* --- checksum ------------------------------------------------------------------------------------------ */

/* The place of the checksum's digits in the header; NULL if there are none. */
static const char *find_checksum(const karma_i_archive *a) {
    size_t key = sizeof KARMA_I_CHECKSUM_KEY - 1;
    const char *header = (const char *)a->bytes + 8;
    for (size_t i = 0; i + key + KARMA_I_CHECKSUM_DIGITS <= a->header_length; i++)
        if (memcmp(header + i, KARMA_I_CHECKSUM_KEY, key) == 0) return header + i + key;
    return NULL;
}

static karma_status check_checksum(const karma_i_archive *a) {
    const char *digits = find_checksum(a);
    char zeros[KARMA_I_CHECKSUM_DIGITS], computed[KARMA_I_CHECKSUM_DIGITS + 1];
    if (!digits) return karma_i_archive_fail(a, "it has no checksum");
    size_t before = (size_t)(digits - (const char *)a->bytes), after = before + KARMA_I_CHECKSUM_DIGITS;
    memset(zeros, '0', sizeof zeros);
    uint32_t crc = karma_i_checksum(karma_i_checksum(0, a->bytes, before), zeros, sizeof zeros);
    crc = karma_i_checksum(crc, a->bytes + after, a->size - after);
    (void)snprintf(computed, sizeof computed, "%08lx", (unsigned long)crc);
    if (memcmp(digits, computed, KARMA_I_CHECKSUM_DIGITS) != 0)
        return karma_i_archive_fail(a, "it was altered or truncated (the checksum does not match)");
    return KARMA_OK;
}

static karma_status open_archive(karma_i_archive **out, karma_i_archive archive, input *in, karma_error *err) {
    karma_i_archive *a = karma_i_alloc(1, sizeof *a);
    if (!a) return karma_i_fail_memory(err);
    *a = archive;
    a->err = err;
    a->is_reading = 1;
    karma_status st = read_header(a, in);
    if (st == KARMA_OK) st = parse_document(a);
    if (st == KARMA_OK) st = read_data(a, in);
    if (st == KARMA_OK) st = check_checksum(a);
    if (st == KARMA_OK)
        *out = a;
    else
        karma_i_archive_free(a);
    return st;
}

karma_status karma_i_archive_open(karma_i_archive **out, const char *name, karma_i_get_fn get, void *context,
                                  karma_error *err) {
    input in = {get, context, 0};
    return open_archive(out, (karma_i_archive){.name = name, .noun = "model"}, &in, err);
}

karma_status karma_i_archive_open_mapped(karma_i_archive **out, const char *name, const char *noun, void *bytes,
                                         size_t size, karma_error *err) {
    input none = {NULL, NULL, 0};
    karma_i_archive mapped = {.name = name, .noun = noun, .is_mapped = 1, .bytes = bytes, .size = size};
    return open_archive(out, mapped, &none, err);
}

/* --- arrays -------------------------------------------------------------------------------------------- */

static const json_t *entry_of(const karma_i_archive *a, const char *name) {
    char key[KARMA_I_ARCHIVE_PATH + 64];
    (void)snprintf(key, sizeof key, "%s%s", a->path, name);
    return json_object_get(a->json, key);
}

/* One extent of an array's shape; false if it is not valid. */
static int take_extent(size_t *out, const json_t *entry, size_t dimension) {
    const json_t *extent = json_array_get(json_object_get(entry, "shape"), dimension);
    if (!json_is_integer(extent) || json_integer_value(extent) < 0) return 0;
    *out = (size_t)json_integer_value(extent);
    return 1;
}

/* Whether the array has the bytes of this type and shape. */
static int fits(const json_t *entry, karma_i_dtype dtype, karma_i_shape shape, range *where) {
    const char *stored = json_string_value(json_object_get(entry, "dtype"));
    size_t size = karma_i_dtype_sizes[dtype];
    if (!stored || strcmp(stored, karma_i_dtype_names[dtype]) != 0) return 0;
    if (json_array_size(json_object_get(entry, "shape")) != (size_t)shape.n_dims) return 0;
    for (int d = 0; d < shape.n_dims; d++) {
        size_t extent;
        if (!take_extent(&extent, entry, (size_t)d) || extent != shape.extent[d]) return 0;
        if (extent && size > SIZE_MAX / extent) return 0;
        size *= extent;
    }
    return take_range(where, entry) && where->end - where->begin == size;
}

/* The bytes of an array that has this type and shape. */
static karma_status find_array(const unsigned char **bytes, size_t *n, const karma_i_archive *a, const char *name,
                               karma_i_dtype dtype, karma_i_shape shape) {
    range where = {0, 0};
    if (!fits(entry_of(a, name), dtype, shape, &where))
        return karma_i_archive_fail(a, "array '%s%s' is missing or has the wrong size or type", a->path, name);
    *bytes = a->bytes + 8 + a->header_length + (size_t)where.begin;
    *n = (size_t)(where.end - where.begin);
    return KARMA_OK;
}

karma_status karma_i_archive_take(void **out, karma_i_archive *a, const char *name, karma_i_dtype dtype,
                                  karma_i_shape shape) {
    const unsigned char *bytes = NULL;
    size_t n = 0;
    KARMA_TRY(find_array(&bytes, &n, a, name, dtype, shape));
    void *array = karma_i_alloc_aligned(n, 1);
    if (!array) return karma_i_archive_fail_memory(a);
    if (n) memcpy(array, bytes, n);
    *out = array;
    return KARMA_OK;
}

karma_status karma_i_archive_lend(karma_i_archive *a, const char *name, karma_i_dtype dtype, size_t n, void *values) {
    const unsigned char *bytes = NULL;
    size_t size = 0;
    void *array = NULL;
    if (!a->is_reading) {
        memcpy(&array, values, sizeof array);
        return karma_i_archive_add(a, name, dtype, karma_i_vector_shape(n), array);
    }
    KARMA_TRY(find_array(&bytes, &size, a, name, dtype, karma_i_vector_shape(n)));
    if ((uintptr_t)bytes % karma_i_dtype_sizes[dtype] != 0)
        return karma_i_archive_fail(a, "array '%s%s' is not aligned", a->path, name);
    memcpy(values, &bytes, sizeof bytes);
    return KARMA_OK;
}

karma_status karma_i_archive_length(karma_i_archive *a, const char *name, size_t *n) {
    size_t extent;
    range where;
    if (!a->is_reading) return KARMA_OK;
    const json_t *entry = entry_of(a, name);
    if (!take_extent(&extent, entry, 0) || !take_range(&where, entry) || extent > where.end - where.begin)
        return karma_i_archive_fail(a, "array '%s%s' is missing or empty", a->path, name);
    *n = extent;
    return KARMA_OK;
}
