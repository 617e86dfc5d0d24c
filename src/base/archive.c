/* Fields of an archive, in both directions. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include <zlib.h>

#include "base/archive_inside.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

const char *const karma_i_dtype_names[KARMA_I_N_DTYPES] = {"F64", "F32", "U64", "U32", "U16", "U8"};
const size_t karma_i_dtype_sizes[KARMA_I_N_DTYPES] = {8, 4, 8, 4, 2, 1};
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "sizes are stored as 64 bits");

uint32_t karma_i_checksum(uint32_t crc, const void *data, size_t length) {
    const unsigned char *p = data;
    while (length) {
        uInt part = length > 1U << 30 ? 1U << 30 : (uInt)length;
        crc = (uint32_t)crc32(crc, p, part);
        p += part;
        length -= part;
    }
    return crc;
}

void karma_i_store_length(unsigned char bytes[8], uint64_t length) {
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(length >> (8 * i));
}

void karma_i_archive_free(karma_i_archive *a) {
    if (!a) return;
    json_decref(a->document);
    json_decref(a->json);
    karma_i_free(a->arrays);
    for (size_t i = 0; i < a->n_kept; i++) karma_i_free(a->kept[i]);
    karma_i_free(a->kept);
    if (!a->is_reading) karma_i_free(a->header);
    if (!a->is_mapped) karma_i_free(a->bytes);
    karma_i_free(a);
}

int karma_i_archive_is_reading(const karma_i_archive *a) {
    return a->is_reading;
}

karma_status karma_i_archive_fail(const karma_i_archive *a, const char *format, ...) {
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (a->is_reading) return karma_i_fail(a->err, KARMA_ERR_FORMAT, "%s: not a usable %s: %s", a->name, a->noun, what);
    return karma_i_fail(a->err, KARMA_ERR_DATA, "%s: the %s cannot be saved: %s", a->name, a->noun, what);
}

karma_status karma_i_archive_fail_memory(const karma_i_archive *a) {
    return karma_i_fail_memory(a->err);
}

static json_t *here(const karma_i_archive *a) {
    return a->at[a->depth];
}

/* --- objects ------------------------------------------------------------------------------------------- */

static karma_status go_down(karma_i_archive *a, const char *name, json_t *object) {
    size_t used = strlen(a->path);
    if (a->depth + 1 == KARMA_I_ARCHIVE_DEPTH || used + strlen(name) + 2 > sizeof a->path)
        return karma_i_archive_fail(a, "'%s%s' is nested too deeply", a->path, name);
    (void)snprintf(a->path + used, sizeof a->path - used, "%s.", name);
    a->at[++a->depth] = object;
    return KARMA_OK;
}

void karma_i_archive_leave(karma_i_archive *a) {
    size_t end = strlen(a->path) - 1; /* the point after the name */
    while (end > 0 && a->path[end - 1] != '.') end--;
    a->path[end] = '\0';
    a->depth--;
}

static karma_status missing(const karma_i_archive *a, const char *name, const char *what) {
    return karma_i_archive_fail(a, "'%s%s' is missing, or not %s", a->path, name, what);
}

/* Adds a new value to the current object; NULL: out of memory. */
static karma_status put(karma_i_archive *a, const char *name, json_t *value) {
    return json_object_set_new(here(a), name, value) ? karma_i_archive_fail_memory(a) : KARMA_OK;
}

void karma_i_archive_find(const karma_i_archive *a, const char *name, int *is_there) {
    if (a->is_reading) *is_there = json_object_get(here(a), name) != NULL;
}

karma_status karma_i_archive_enter(karma_i_archive *a, const char *name) {
    if (!a->is_reading) KARMA_TRY(put(a, name, json_object()));
    json_t *object = json_object_get(here(a), name);
    return json_is_object(object) ? go_down(a, name, object) : missing(a, name, "an object");
}

karma_status karma_i_archive_enter_list(karma_i_archive *a, const char *name, size_t *n) {
    if (!a->is_reading) {
        json_t *list = json_array();
        KARMA_TRY(put(a, name, list));
        for (size_t i = 0; i < *n; i++)
            if (json_array_append_new(list, json_object())) return karma_i_archive_fail_memory(a);
    }
    json_t *list = json_object_get(here(a), name);
    if (!json_is_array(list)) return missing(a, name, "a list");
    *n = json_array_size(list);
    return go_down(a, name, list);
}

karma_status karma_i_archive_item(karma_i_archive *a, size_t index) {
    char name[24];
    (void)snprintf(name, sizeof name, "%zu", index);
    json_t *object = json_array_get(here(a), index);
    return json_is_object(object) ? go_down(a, name, object) : missing(a, name, "an object");
}

karma_status karma_i_archive_list(karma_i_archive *a, const char *name, void *items, size_t *n, size_t size,
                                  karma_i_archive_item_fn one) {
    size_t count = *n;
    char *list;
    memcpy(&list, items, sizeof list); /* the pointer's own type is not known here */
    KARMA_TRY(karma_i_archive_enter_list(a, name, &count));
    if (a->is_reading) {
        if (!(list = karma_i_zalloc(count, size))) return karma_i_archive_fail_memory(a);
        memcpy(items, &list, sizeof list);
        *n = count;
    }
    for (size_t i = 0; i < count; i++) {
        KARMA_TRY(karma_i_archive_item(a, i));
        KARMA_TRY(one(a, list + i * size));
        karma_i_archive_leave(a);
    }
    karma_i_archive_leave(a);
    return KARMA_OK;
}

/* --- fields -------------------------------------------------------------------------------------------- */

karma_status karma_i_archive_flag(karma_i_archive *a, const char *name, int *value) {
    if (!a->is_reading) return put(a, name, json_boolean(*value));
    const json_t *json = json_object_get(here(a), name);
    if (!json_is_boolean(json)) return missing(a, name, "a truth value");
    *value = json_is_true(json);
    return KARMA_OK;
}

karma_status karma_i_archive_size(karma_i_archive *a, const char *name, size_t *value, size_t least, size_t most) {
    const json_t *json = json_object_get(here(a), name);
    if (a->is_reading && !(json_is_integer(json) && json_integer_value(json) >= 0))
        return missing(a, name, "a whole number");
    size_t n = a->is_reading ? (size_t)json_integer_value(json) : *value;
    if (n < least || n > most || n > INT64_MAX)
        return karma_i_archive_fail(a, "'%s%s' is %zu; it must be from %zu to %zu", a->path, name, n, least, most);
    if (!a->is_reading) return put(a, name, json_integer((json_int_t)n));
    *value = n;
    return KARMA_OK;
}

karma_status karma_i_archive_number(karma_i_archive *a, const char *name, double *value, double least, double most) {
    const json_t *json = json_object_get(here(a), name);
    if (a->is_reading && !json_is_number(json)) return missing(a, name, "a number");
    double x = a->is_reading ? json_number_value(json) : *value;
    if (!(x >= least && x <= most))
        return karma_i_archive_fail(a, "'%s%s' is %g; it must be from %g to %g", a->path, name, x, least, most);
    if (!a->is_reading) return put(a, name, json_real(x));
    *value = x;
    return KARMA_OK;
}

karma_status karma_i_archive_word(karma_i_archive *a, const char *name, int *value, const char *const *words,
                                  size_t n_words) {
    if (!a->is_reading) return put(a, name, json_string(words[*value]));
    const char *text = json_string_value(json_object_get(here(a), name));
    if (!text) return missing(a, name, "a text");
    for (size_t i = 0; i < n_words; i++)
        if (words[i] && strcmp(words[i], text) == 0) {
            *value = (int)i;
            return KARMA_OK;
        }
    return karma_i_archive_fail(a, "'%s%s' cannot be '%.40s'", a->path, name, text);
}

/* A new JSON text. Texts of a table built in memory need not be UTF-8. */
static karma_status new_text(json_t **out, const karma_i_archive *a, const char *name, const char *text) {
    if (!karma_i_is_utf8(text)) return karma_i_archive_fail(a, "a text of '%s%s' is not valid UTF-8", a->path, name);
    *out = json_string(text);
    return *out ? KARMA_OK : karma_i_archive_fail_memory(a);
}

static karma_status take_text(char **out, const karma_i_archive *a, const char *name, const json_t *json) {
    const char *text = json_string_value(json);
    if (!text) return missing(a, name, "a text");
    *out = karma_i_strdup(text);
    return *out ? KARMA_OK : karma_i_archive_fail_memory(a);
}

karma_status karma_i_archive_text(karma_i_archive *a, const char *name, char **value) {
    json_t *json = NULL;
    if (a->is_reading) return take_text(value, a, name, json_object_get(here(a), name));
    KARMA_TRY(new_text(&json, a, name, *value));
    return put(a, name, json);
}

static karma_status put_texts(karma_i_archive *a, const char *name, char *const *values, size_t n) {
    json_t *list = json_array(), *text = NULL;
    KARMA_TRY(put(a, name, list));
    for (size_t i = 0; i < n; i++) {
        KARMA_TRY(new_text(&text, a, name, values[i]));
        if (json_array_append_new(list, text)) return karma_i_archive_fail_memory(a);
    }
    return KARMA_OK;
}

karma_status karma_i_archive_texts(karma_i_archive *a, const char *name, char ***values, size_t *n) {
    if (!a->is_reading) return put_texts(a, name, *values, *n);
    const json_t *list = json_object_get(here(a), name);
    if (!json_is_array(list)) return missing(a, name, "a list of texts");
    size_t count = json_array_size(list);
    if (!(*values = karma_i_zalloc(count, sizeof **values))) return karma_i_archive_fail_memory(a);
    *n = count; /* NULL if a text has not been read */
    for (size_t i = 0; i < count; i++) KARMA_TRY(take_text(&(*values)[i], a, name, json_array_get(list, i)));
    return KARMA_OK;
}

/* JSON has no infinity and no NaN. */
static json_t *new_measure(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static karma_status take_measure(double *out, const karma_i_archive *a, const char *name, const json_t *json) {
    if (!json_is_number(json) && !json_is_null(json)) return missing(a, name, "a number");
    *out = json_is_number(json) ? json_number_value(json) : NAN;
    return KARMA_OK;
}

karma_status karma_i_archive_measure(karma_i_archive *a, const char *name, double *value) {
    return a->is_reading ? take_measure(value, a, name, json_object_get(here(a), name))
                         : put(a, name, new_measure(*value));
}

static karma_status put_measures(karma_i_archive *a, const char *name, const double *values, size_t n) {
    json_t *list = json_array();
    KARMA_TRY(put(a, name, list));
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, new_measure(values[i]))) return karma_i_archive_fail_memory(a);
    return KARMA_OK;
}

karma_status karma_i_archive_measures(karma_i_archive *a, const char *name, double **values, size_t *n) {
    if (!a->is_reading) return put_measures(a, name, *values, *n);
    const json_t *list = json_object_get(here(a), name);
    if (!json_is_array(list)) return missing(a, name, "a list of numbers");
    *n = json_array_size(list);
    if (!(*values = karma_i_alloc(*n, sizeof **values))) return karma_i_archive_fail_memory(a);
    for (size_t i = 0; i < *n; i++) KARMA_TRY(take_measure(&(*values)[i], a, name, json_array_get(list, i)));
    return KARMA_OK;
}

/* --- arrays -------------------------------------------------------------------------------------------- */

karma_status karma_i_archive_keep(karma_i_archive *a, void *memory) {
    if (!karma_i_reserve(&a->kept, &a->kept_capacity, a->n_kept + 1, sizeof *a->kept)) {
        karma_i_free(memory);
        return karma_i_archive_fail_memory(a);
    }
    a->kept[a->n_kept++] = memory;
    return KARMA_OK;
}

karma_status karma_i_archive_keep_all(karma_i_archive *a, void *const *arrays, size_t count, karma_status st) {
    for (size_t i = 0; i < count; i++) {
        karma_status kept = karma_i_archive_keep(a, arrays[i]);
        if (st == KARMA_OK) st = kept;
    }
    return st;
}

static size_t n_elements(karma_i_shape shape) {
    return shape.extent[0] * shape.extent[1];
}

static karma_status out_of_range(const karma_i_archive *a, const char *name, double value, double limit) {
    return karma_i_archive_fail(a, "'%s%s' contains %g, which is not finite or exceeds %g", a->path, name, value,
                                limit);
}

static karma_status check_f64(const karma_i_archive *a, const char *name, const double *values, size_t n,
                              double limit) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs(values[i]) <= limit)) return out_of_range(a, name, values[i], limit);
    return KARMA_OK;
}

static karma_status check_f32(const karma_i_archive *a, const char *name, const float *values, size_t n, double limit) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)values[i]) <= limit)) return out_of_range(a, name, (double)values[i], limit);
    return KARMA_OK;
}

/* Reads a new array in place of the one that `values` points to, or adds that one to those that are written. */
#define ARCHIVE_ARRAY(dtype)                                                                                           \
    void *taken = NULL;                                                                                                \
    if (!a->is_reading) return karma_i_archive_add(a, name, dtype, shape, *values);                                    \
    KARMA_TRY(karma_i_archive_take(&taken, a, name, dtype, shape));                                                    \
    karma_i_free(*values);                                                                                             \
    *values = taken

karma_status karma_i_archive_sizes(karma_i_archive *a, const char *name, size_t **values, karma_i_shape shape) {
    ARCHIVE_ARRAY(KARMA_I_DTYPE_U64);
    return KARMA_OK;
}
karma_status karma_i_archive_u64(karma_i_archive *a, const char *name, uint64_t **values, karma_i_shape shape) {
    ARCHIVE_ARRAY(KARMA_I_DTYPE_U64);
    return KARMA_OK;
}
karma_status karma_i_archive_u32(karma_i_archive *a, const char *name, uint32_t **values, karma_i_shape shape) {
    ARCHIVE_ARRAY(KARMA_I_DTYPE_U32);
    return KARMA_OK;
}
karma_status karma_i_archive_u16(karma_i_archive *a, const char *name, uint16_t **values, karma_i_shape shape) {
    ARCHIVE_ARRAY(KARMA_I_DTYPE_U16);
    return KARMA_OK;
}
karma_status karma_i_archive_u8(karma_i_archive *a, const char *name, uint8_t **values, karma_i_shape shape) {
    ARCHIVE_ARRAY(KARMA_I_DTYPE_U8);
    return KARMA_OK;
}
karma_status karma_i_archive_f64(karma_i_archive *a, const char *name, double **values, karma_i_shape shape,
                                 double limit) {
    if (!a->is_reading) KARMA_TRY(check_f64(a, name, *values, n_elements(shape), limit));
    ARCHIVE_ARRAY(KARMA_I_DTYPE_F64);
    return check_f64(a, name, *values, n_elements(shape), limit);
}
karma_status karma_i_archive_f32(karma_i_archive *a, const char *name, float **values, karma_i_shape shape,
                                 double limit) {
    if (!a->is_reading) KARMA_TRY(check_f32(a, name, *values, n_elements(shape), limit));
    ARCHIVE_ARRAY(KARMA_I_DTYPE_F32);
    return check_f32(a, name, *values, n_elements(shape), limit);
}

karma_status karma_i_archive_lent_sizes(karma_i_archive *a, const char *name, size_t **values, size_t n) {
    return karma_i_archive_lend(a, name, KARMA_I_DTYPE_U64, n, values);
}
karma_status karma_i_archive_lent_u32(karma_i_archive *a, const char *name, uint32_t **values, size_t n) {
    return karma_i_archive_lend(a, name, KARMA_I_DTYPE_U32, n, values);
}
karma_status karma_i_archive_lent_f64(karma_i_archive *a, const char *name, double **values, size_t n) {
    return karma_i_archive_lend(a, name, KARMA_I_DTYPE_F64, n, values);
}
