/* Writing an archive: fields and arrays are collected, then the header and its checksum are made. */
#include <stdlib.h>
#include <string.h>

#include "base/archive_inside.h"
#include "base/error.h"
#include "base/mem.h"

/* Of the first array, so that other programs can map the file. */
enum { ALIGNMENT = 64 };

karma_status karma_i_archive_new(karma_i_archive **out, const char *name, karma_error *err) {
    karma_i_archive *a = karma_i_zalloc(1, sizeof *a);
    if (!a) return karma_i_fail_memory(err);
    a->name = name;
    a->noun = "model";
    a->err = err;
    a->document = a->at[0] = json_pack("{s:i, s:s}", "format", KARMA_I_ARCHIVE_FORMAT, "version", karma_version());
    if (!a->document) {
        karma_i_archive_free(a);
        return karma_i_fail_memory(err);
    }
    *out = a;
    return KARMA_OK;
}

karma_status karma_i_archive_add(karma_i_archive *a, const char *name, karma_i_dtype dtype, karma_i_shape shape,
                                 const void *data) {
    if (!karma_i_reserve(&a->arrays, &a->array_capacity, a->n_arrays + 1, sizeof *a->arrays))
        return karma_i_archive_fail_memory(a);
    karma_i_archived *array = &a->arrays[a->n_arrays];
    *array = (karma_i_archived){.dtype = dtype, .shape = shape, .data = data};
    int length = snprintf(array->name, sizeof array->name, "%s%s", a->path, name);
    if (length < 0 || (size_t)length >= sizeof array->name)
        return karma_i_archive_fail(a, "'%s%s' is nested too deeply", a->path, name);
    array->number = a->n_arrays++;
    return KARMA_OK;
}

/* As text in our own memory: json_dumps does not notice every failed allocation. Caller frees. */
static char *dump(const json_t *json, size_t flags) {
    size_t n = json_dumpb(json, NULL, 0, flags);
    char *text = n ? karma_i_alloc(n + 1, 1) : NULL;
    if (text && json_dumpb(json, text, n, flags) != n) {
        karma_i_free(text);
        return NULL;
    }
    if (text) text[n] = '\0';
    return text;
}

static int by_item_size(const void *a, const void *b) {
    const karma_i_archived *x = a, *y = b;
    size_t size = karma_i_dtype_sizes[x->dtype], other = karma_i_dtype_sizes[y->dtype];
    if (size != other) return size > other ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Arrays with the largest items come first, so that every array is aligned; otherwise they keep the order of
 * the description. */
static void place_arrays(karma_i_archive *a) {
    if (a->n_arrays > 1) qsort(a->arrays, a->n_arrays, sizeof *a->arrays, by_item_size);
    for (size_t i = 0, end = 0; i < a->n_arrays; i++) {
        karma_i_archived *array = &a->arrays[i];
        array->begin = end;
        array->end = end += karma_i_dtype_sizes[array->dtype] * array->shape.extent[0] * array->shape.extent[1];
    }
}

static int add_entry(json_t *header, const karma_i_archived *array) {
    json_t *shape = json_array();
    int failed = 0;
    for (int d = 0; d < array->shape.n_dims; d++)
        failed |= json_array_append_new(shape, json_integer((json_int_t)array->shape.extent[d]));
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", karma_i_dtype_names[array->dtype], "shape", shape,
                              "data_offsets", (json_int_t)array->begin, (json_int_t)array->end);
    return json_object_set_new(header, array->name, entry) || failed;
}

/* NULL if memory runs out. */
static json_t *header_to_json(const karma_i_archive *a) {
    char zeros[KARMA_I_CHECKSUM_DIGITS + 1] = {0}, *text = dump(a->document, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text) return NULL;
    memset(zeros, '0', KARMA_I_CHECKSUM_DIGITS);
    json_t *header = json_pack("{s:{s:s, s:s}}", "__metadata__", "checksum", zeros, "karma", text);
    int failed = !header;
    karma_i_free(text);
    for (size_t i = 0; !failed && i < a->n_arrays; i++) failed = add_entry(header, &a->arrays[i]);
    if (!failed) return header;
    json_decref(header);
    return NULL;
}

/* Padded with spaces, so that the arrays are aligned. */
static karma_status make_header(karma_i_archive *a) {
    json_t *header = header_to_json(a);
    char *text = header ? dump(header, JSON_COMPACT) : NULL;
    json_decref(header);
    if (!text) return karma_i_archive_fail_memory(a);
    size_t n = strlen(text), padded = (n + 8 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - 8;
    a->header = karma_i_alloc(padded + 1, 1);
    if (a->header) {
        memcpy(a->header, text, n);
        memset(a->header + n, ' ', padded - n);
        a->header[padded] = '\0';
        a->header_length = padded;
    }
    karma_i_free(text);
    return a->header ? KARMA_OK : karma_i_archive_fail_memory(a);
}

static void add_to_checksum(void *crc, const void *bytes, size_t n) {
    *(uint32_t *)crc = karma_i_checksum(*(uint32_t *)crc, bytes, n);
}

karma_status karma_i_archive_close(karma_i_archive *a, size_t *size) {
    uint32_t crc = 0;
    char digits[KARMA_I_CHECKSUM_DIGITS + 1];
    place_arrays(a);
    KARMA_TRY(make_header(a));
    karma_i_archive_emit(a, add_to_checksum, &crc);
    (void)snprintf(digits, sizeof digits, "%08lx", (unsigned long)crc);
    memcpy(strstr(a->header, KARMA_I_CHECKSUM_KEY) + sizeof KARMA_I_CHECKSUM_KEY - 1, digits, KARMA_I_CHECKSUM_DIGITS);
    *size = 8 + a->header_length + (a->n_arrays ? a->arrays[a->n_arrays - 1].end : 0);
    return KARMA_OK;
}

void karma_i_archive_emit(const karma_i_archive *a, karma_i_put_fn put, void *context) {
    unsigned char length[8];
    karma_i_store_length(length, a->header_length);
    put(context, length, sizeof length);
    put(context, a->header, a->header_length);
    for (size_t i = 0; i < a->n_arrays; i++)
        if (a->arrays[i].end > a->arrays[i].begin)
            put(context, a->arrays[i].data, a->arrays[i].end - a->arrays[i].begin);
}

void karma_i_archive_call(karma_i_archive *a, const char *noun) {
    a->noun = noun;
}

/* Errors stick to the stream: commit reports them. */
static void put_to_stream(void *stream, const void *bytes, size_t n) {
    (void)fwrite(bytes, 1, n, stream);
}

karma_status karma_i_archive_save(const karma_i_archive *a, const char *path, karma_error *err) {
    karma_output *output = NULL;
    KARMA_TRY(karma_output_open(&output, path, err));
    karma_i_archive_emit(a, put_to_stream, karma_output_stream(output));
    return karma_output_commit(output, err);
}
