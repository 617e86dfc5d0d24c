/* Model files: safetensors, that is
 *
 *   8 bytes   n, little endian
 *   n bytes   a JSON object: for every array its dtype, shape and data_offsets; under "__metadata__" texts
 *   the rest  the arrays
 *
 * What is not an array is one JSON document in the metadata text "karma". The metadata text "checksum" is the
 * CRC-32 of the whole file with the checksum's own eight digits taken as '0', so that any altered byte is found.
 * docs/model-format.md specifies all fields. Everything read here is hostile until checked. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <jansson.h>
#include <zlib.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/model.h"
#include "solve/solver.h"

enum { FORMAT_VERSION = 1, CHECKSUM_DIGITS = 8, ALIGNMENT = 64 };
static const char CHECKSUM_KEY[] = "\"checksum\":\"";

/* The arrays of a file, in order. */
typedef enum tensor_id {
    TENSOR_COEFFICIENTS,
    TENSOR_FACTOR,
    TENSOR_FEATURE_START,
    TENSOR_MASK,
    TENSOR_RANKING_AT,
    TENSOR_RANKING_BEYOND,
    TENSOR_RANKING_VALUE,
    TENSOR_RANKS,
    TENSOR_SHIFT,
    TENSOR_VALUES,
    N_TENSORS
} tensor_id;

typedef struct tensor {
    const char *name, *dtype;
    size_t item_size;
    size_t shape[2];
    int n_dims;
    void *data;    /* to write from, or to read into */
    size_t offset; /* in the data section */
} tensor;

static size_t tensor_bytes(const tensor *t) {
    return t->item_size * t->shape[0] * (t->n_dims == 2 ? t->shape[1] : 1);
}

/* What arrays a model of these sizes has. size_t is stored as U64: checked to be the same. */
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "model files store sizes as 64 bits");

/* The rankings of all attributes one after the other, as they stand in a file. */
typedef struct flat_rankings {
    size_t n;
    double *value;
    uint8_t *at, *beyond;
} flat_rankings;

static void free_flat(flat_rankings *flat) {
    karma_i_free(flat->value);
    karma_i_free(flat->at);
    karma_i_free(flat->beyond);
}

/* Room for the rankings of a recipe, whose sizes are known. */
static karma_status new_flat(flat_rankings *flat, const karma_i_recipe *r, karma_error *err) {
    *flat = (flat_rankings){0};
    for (size_t j = 0; j < r->n_attributes; j++) flat->n += r->rankings[j].n;
    flat->value = karma_i_zalloc(flat->n, sizeof *flat->value);
    flat->at = karma_i_zalloc(flat->n, 1);
    flat->beyond = karma_i_zalloc(flat->n, 1);
    if (flat->value && flat->at && flat->beyond) return KARMA_OK;
    free_flat(flat);
    return karma_i_fail_memory(err);
}

/* Copies between the two forms. */
static void flatten(flat_rankings *flat, const karma_i_recipe *r) {
    for (size_t j = 0, at = 0; j < r->n_attributes; at += r->rankings[j++].n) {
        const karma_i_ranking *one = &r->rankings[j];
        if (one->n == 0) continue;
        memcpy(flat->value + at, one->value, one->n * sizeof *one->value);
        memcpy(flat->at + at, one->at, one->n);
        memcpy(flat->beyond + at, one->beyond, one->n);
    }
}

static void unflatten(karma_i_recipe *r, const flat_rankings *flat) {
    for (size_t j = 0, at = 0; j < r->n_attributes; at += r->rankings[j++].n) {
        karma_i_ranking *one = &r->rankings[j];
        if (one->n == 0) continue;
        memcpy(one->value, flat->value + at, one->n * sizeof *one->value);
        memcpy(one->at, flat->at + at, one->n);
        memcpy(one->beyond, flat->beyond + at, one->n);
    }
}

static void describe_tensors(tensor *t, const karma_model *m, const flat_rankings *flat, size_t n_support) {
    size_t n_outputs = karma_i_labels_n_outputs(&m->labels), n_attributes = m->recipe->n_attributes;
    size_t n_features = m->recipe->feature_start[n_attributes];
    t[TENSOR_COEFFICIENTS] = (tensor){"coefficients", "F64", 8, {n_support, n_outputs}, 2, m->coefficients, 0};
    t[TENSOR_FACTOR] = (tensor){"factor", "F64", 8, {n_features, 0}, 1, m->recipe->factor, 0};
    t[TENSOR_FEATURE_START] = (tensor){"feature_start", "U64", 8, {n_attributes + 1, 0}, 1, m->recipe->feature_start, 0};
    t[TENSOR_MASK] = (tensor){"mask", "U64", 8, {n_support, karma_i_mask_words(n_attributes)}, 2,
                              m->support->mask, 0};
    t[TENSOR_RANKING_AT] = (tensor){"ranking_at", "U8", 1, {flat->n, 0}, 1, flat->at, 0};
    t[TENSOR_RANKING_BEYOND] = (tensor){"ranking_beyond", "U8", 1, {flat->n, 0}, 1, flat->beyond, 0};
    t[TENSOR_RANKING_VALUE] = (tensor){"ranking_value", "F64", 8, {flat->n, 0}, 1, flat->value, 0};
    t[TENSOR_RANKS] = (tensor){"ranks", "U8", 1, {n_support, m->support->rank_stride}, 2, m->support->ranks, 0};
    t[TENSOR_SHIFT] = (tensor){"shift", "F64", 8, {n_features, 0}, 1, m->recipe->shift, 0};
    t[TENSOR_VALUES] = (tensor){"values", "F32", 4, {n_support, n_features}, 2,
                                m->support->values, 0};
    size_t offset = 0;
    for (size_t i = 0; i < N_TENSORS; i++) {
        t[i].offset = offset;
        offset += tensor_bytes(&t[i]);
    }
}

/* --- writing ------------------------------------------------------------------------------------------- */

static json_t *options_to_json(const karma_fit_options *options) {
    const karma_option_table *table = karma_fit_option_table();
    json_t *object = json_object();
    for (size_t i = 0; i < table->count; i++) {
        char text[128];
        (void)karma_option_text(&table->options[i], options, text, sizeof text);
        (void)json_object_set_new(object, table->options[i].name, json_string(text));
    }
    return object;
}

/* NULL when memory is out or a text is not UTF-8. */
static json_t *texts_to_json(char *const *texts, size_t n) {
    json_t *array = json_array();
    int failed = 0;
    for (size_t i = 0; i < n; i++) failed |= json_array_append_new(array, json_string(texts[i]));
    if (!failed) return array;
    json_decref(array);
    return NULL;
}

static json_t *columns_to_json(const karma_i_recipe *recipe) {
    json_t *array = json_array();
    int failed = 0;
    for (size_t j = 0; j < recipe->n_attributes; j++) {
        const karma_i_column *column = &recipe->columns[j];
        json_t *object = json_pack("{s:s, s:s}", "name", column->name, "kind",
                                   column->kind == KARMA_COLUMN_NUMBER ? "number" : "category");
        if (column->kind == KARMA_COLUMN_CATEGORY)
            failed |= json_object_set_new(object, "levels", texts_to_json(column->levels, column->n_levels));
        if (recipe->rankings[j].n)
            failed |= json_object_set_new(object, "ranks", json_integer((json_int_t)recipe->rankings[j].n));
        failed |= json_array_append_new(array, object);
    }
    if (!failed) return array;
    json_decref(array);
    return NULL;
}

static json_t *labels_to_json(const karma_model *m) {
    json_t *object = json_pack("{s:s, s:s}", "name", m->target_name, "task",
                               m->labels.task == KARMA_TASK_CLASSIFY ? "classify" : "regress");
    if (m->labels.task == KARMA_TASK_CLASSIFY) {
        json_t *counts = json_array();
        for (size_t k = 0; k < m->labels.n_classes; k++)
            (void)json_array_append_new(counts, json_integer((json_int_t)m->labels.class_count[k]));
        int failed = json_object_set_new(object, "counts", counts);
        failed |= json_object_set_new(object, "classes", texts_to_json(m->labels.classes, m->labels.n_classes));
        if (failed) {
            json_decref(object);
            return NULL;
        }
    } else {
        (void)json_object_set_new(object, "mean", json_real(m->target_mean));
        (void)json_object_set_new(object, "shift", json_real(m->labels.shift));
        (void)json_object_set_new(object, "factor", json_real(m->labels.factor));
    }
    return object;
}

/* The numbers of karma_fit_info, by name: one list for writing and reading. */
typedef struct info_field {
    const char *name;
    size_t offset;
    int is_size;
} info_field;
#define INFO(member, is_size) {#member, offsetof(karma_fit_info, member), is_size}
static const info_field info_fields[] = {
    INFO(n_rows, 1), INFO(n_unlabelled, 1), INFO(n_support, 1), INFO(rounds, 1), INFO(kernel_evaluations, 0),
    INFO(C, 0),      INFO(rho, 0),          INFO(scale, 0),     INFO(log_norm, 0), INFO(mean_loss, 0),
    INFO(error_rate, 0), INFO(primal, 0), INFO(dual, 0), INFO(gap, 0)};
enum { N_INFO_FIELDS = sizeof info_fields / sizeof info_fields[0] };

static json_t *info_to_json(const karma_fit_info *info) {
    json_t *object = json_pack("{s:s, s:s}", "solver", karma_i_solver_name(info->solver), "stop",
                               karma_stop_name(info->stop));
    for (size_t i = 0; i < N_INFO_FIELDS; i++) {
        const void *field = (const char *)info + info_fields[i].offset;
        (void)json_object_set_new(object, info_fields[i].name,
                                  info_fields[i].is_size ? json_integer((json_int_t) * (const size_t *)field)
                                                         : json_real(*(const double *)field));
    }
    return object;
}

static json_t *header_to_json(const karma_model *m, const tensor *tensors) {
    json_t *document = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:s, s:f}", "format", FORMAT_VERSION, "version",
                                 karma_version(), "options", options_to_json(&m->options), "info",
                                 info_to_json(&m->info), "attributes", columns_to_json(m->recipe), "target",
                                 labels_to_json(m), "loss", karma_i_loss_name(m->loss), "radius", m->recipe->radius);
    char *text = document ? json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(document);
    if (!text) return NULL;
    char zeros[CHECKSUM_DIGITS + 1];
    memset(zeros, '0', CHECKSUM_DIGITS);
    zeros[CHECKSUM_DIGITS] = '\0';
    json_t *header = json_pack("{s:{s:s, s:s}}", "__metadata__", "checksum", zeros, "karma", text);
    free(text);
    for (size_t i = 0; header && i < N_TENSORS; i++) {
        const tensor *t = &tensors[i];
        json_t *shape = json_array();
        for (int d = 0; d < t->n_dims; d++) (void)json_array_append_new(shape, json_integer((json_int_t)t->shape[d]));
        json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", t->dtype, "shape", shape, "data_offsets",
                                  (json_int_t)t->offset, (json_int_t)t->offset + (json_int_t)tensor_bytes(t));
        (void)json_object_set_new(header, t->name, entry);
    }
    return header;
}

static uLong checksum_bytes(uLong crc, const void *data, size_t length) {
    const unsigned char *p = data;
    while (length) {
        uInt part = length > 1U << 30 ? 1U << 30 : (uInt)length;
        crc = crc32(crc, p, part);
        p += part;
        length -= part;
    }
    return crc;
}

static void store_length(unsigned char *bytes, uint64_t length) {
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(length >> (8 * i));
}

/* The header text, padded with spaces so that the arrays are aligned. Caller frees. */
static char *header_text(const karma_model *m, const tensor *tensors, size_t *length) {
    json_t *header = header_to_json(m, tensors);
    char *text = header ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    if (!text) return NULL;
    size_t n = strlen(text), padded = (n + 8 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - 8;
    char *copy = karma_i_alloc(padded + 1, 1);
    if (copy) {
        memcpy(copy, text, n);
        memset(copy + n, ' ', padded - n);
        copy[padded] = '\0';
        *length = padded;
    }
    free(text);
    return copy;
}

static void sign_header(char *header, size_t length, const tensor *tensors) {
    unsigned char bytes[8];
    store_length(bytes, length);
    uLong crc = checksum_bytes(crc32(0, NULL, 0), bytes, sizeof bytes);
    crc = checksum_bytes(crc, header, length);
    for (size_t i = 0; i < N_TENSORS; i++) crc = checksum_bytes(crc, tensors[i].data, tensor_bytes(&tensors[i]));
    char digits[CHECKSUM_DIGITS + 1];
    (void)snprintf(digits, sizeof digits, "%08lx", crc & 0xffffffffUL);
    memcpy(strstr(header, CHECKSUM_KEY) + sizeof CHECKSUM_KEY - 1, digits, CHECKSUM_DIGITS);
}

karma_status karma_model_save(const karma_model *model, const char *path, karma_error *err) {
    tensor tensors[N_TENSORS];
    size_t length = 0;
    flat_rankings flat;
    KARMA_TRY(new_flat(&flat, model->recipe, err));
    flatten(&flat, model->recipe);
    describe_tensors(tensors, model, &flat, model->support->n_rows);
    char *header = header_text(model, tensors, &length);
    karma_output *output = NULL;
    karma_status st = KARMA_OK;
    if (!header) st = karma_i_fail(err, KARMA_ERR_MEMORY, "%s: out of memory, or a name is not valid UTF-8", path);
    if (st == KARMA_OK) st = karma_output_open(&output, path, err);
    if (st == KARMA_OK) {
        sign_header(header, length, tensors);
        FILE *stream = karma_output_stream(output);
        unsigned char bytes[8];
        store_length(bytes, length);
        (void)fwrite(bytes, 1, sizeof bytes, stream); /* errors stick to the stream: commit reports them */
        (void)fwrite(header, 1, length, stream);
        for (size_t i = 0; i < N_TENSORS; i++) (void)fwrite(tensors[i].data, 1, tensor_bytes(&tensors[i]), stream);
        st = karma_output_commit(output, err);
    }
    free_flat(&flat);
    karma_i_free(header);
    return st;
}

/* --- reading ------------------------------------------------------------------------------------------- */

typedef struct loader {
    const char *path;
    unsigned char *bytes;
    size_t size;
    const char *header;
    size_t header_length;
    json_t *json;     /* the header */
    json_t *document; /* the text "karma" in it */
    karma_error *err;
} loader;

static karma_status damaged(const loader *l, const char *what) {
    return karma_i_fail(l->err, KARMA_ERR_FORMAT, "%s: not a usable model: %s", l->path, what);
}

static karma_status read_bytes(loader *l) {
    FILE *stream = fopen(l->path, "rbe");
    if (!stream) return karma_i_fail(l->err, KARMA_ERR_IO, "%s: cannot open the model: %s", l->path, strerror(errno));
    size_t capacity = 0, got = 1;
    karma_status st = KARMA_OK;
    while (st == KARMA_OK && got > 0) {
        if (!karma_i_reserve(&l->bytes, &capacity, l->size + 65536, 1)) st = karma_i_fail_memory(l->err);
        got = st == KARMA_OK ? fread(l->bytes + l->size, 1, capacity - l->size, stream) : 0;
        l->size += got;
    }
    if (st == KARMA_OK && ferror(stream))
        st = karma_i_fail(l->err, KARMA_ERR_IO, "%s: cannot read the model: %s", l->path, strerror(errno));
    (void)fclose(stream);
    return st;
}

static karma_status split_header(loader *l) {
    uint64_t length = 0;
    if (l->size < 8) return damaged(l, "the file is too short");
    for (int i = 7; i >= 0; i--) length = length << 8 | l->bytes[i];
    if (length < 2 || length > l->size - 8) return damaged(l, "it is truncated, or no model at all");
    l->header = (const char *)l->bytes + 8;
    l->header_length = (size_t)length;
    json_error_t where;
    l->json = json_loadb(l->header, l->header_length, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(l->json)) return damaged(l, "its header is not JSON");
    return KARMA_OK;
}

/* Where the digits of the checksum stand in the header; NULL if they do not. */
static char *find_checksum(const loader *l) {
    size_t key = sizeof CHECKSUM_KEY - 1;
    for (size_t i = 0; i + key + CHECKSUM_DIGITS <= l->header_length; i++)
        if (memcmp(l->header + i, CHECKSUM_KEY, key) == 0) return (char *)l->bytes + 8 + i + key;
    return NULL;
}

static karma_status check_checksum(const loader *l) {
    char *digits = find_checksum(l), stored[CHECKSUM_DIGITS + 1] = {0}, computed[CHECKSUM_DIGITS + 1];
    if (!digits) return damaged(l, "it has no checksum");
    memcpy(stored, digits, CHECKSUM_DIGITS);
    memset(digits, '0', CHECKSUM_DIGITS);
    (void)snprintf(computed, sizeof computed, "%08lx",
                   checksum_bytes(crc32(0, NULL, 0), l->bytes, l->size) & 0xffffffffUL);
    if (strcmp(stored, computed) != 0) return damaged(l, "it was altered or truncated (the checksum does not fit)");
    return KARMA_OK;
}

static karma_status parse_document(loader *l) {
    const char *text = json_string_value(json_object_get(json_object_get(l->json, "__metadata__"), "karma"));
    if (!text) return damaged(l, "it is not a karma model");
    l->document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    json_t *format = json_object_get(l->document, "format");
    const char *version = json_string_value(json_object_get(l->document, "version"));
    if (!json_is_integer(format) || !version) return damaged(l, "its format version is missing");
    if (json_integer_value(format) > FORMAT_VERSION)
        return karma_i_fail(l->err, KARMA_ERR_FORMAT,
                            "%s: made by a newer version of karma (%s, format %lld; this one is %s and reads up to %d)",
                            l->path, version, (long long)json_integer_value(format), karma_version(), FORMAT_VERSION);
    return json_integer_value(format) >= 1 ? KARMA_OK : damaged(l, "its format version is not known");
}

static karma_status load_options(const loader *l, karma_fit_options *options) {
    const karma_option_table *table = karma_fit_option_table();
    const json_t *object = json_object_get(l->document, "options");
    karma_error inner = {0};
    karma_options_init(table, options);
    for (size_t i = 0; i < table->count; i++) {
        const char *text = json_string_value(json_object_get(object, table->options[i].name));
        if (text && karma_option_set(&table->options[i], options, text, &inner) != KARMA_OK)
            return damaged(l, inner.message);
    }
    return KARMA_OK;
}

static karma_status load_info(const loader *l, karma_fit_info *info) {
    const json_t *object = json_object_get(l->document, "info");
    const char *stop = json_string_value(json_object_get(object, "stop"));
    const char *solver = json_string_value(json_object_get(object, "solver"));
    if (!stop || !solver) return damaged(l, "the account of its training is missing");
    for (int s = KARMA_STOP_FINISHED; s <= KARMA_STOP_CANCELLED; s++)
        if (strcmp(stop, karma_stop_name((karma_stop)s)) == 0) info->stop = (karma_stop)s;
    for (int s = KARMA_SOLVER_AUTO; s < KARMA_N_SOLVERS; s++)
        if (strcmp(solver, karma_i_solver_name((karma_solver_kind)s)) == 0) info->solver = (karma_solver_kind)s;
    for (size_t i = 0; i < N_INFO_FIELDS; i++) {
        const json_t *value = json_object_get(object, info_fields[i].name);
        void *field = (char *)info + info_fields[i].offset;
        if (info_fields[i].is_size ? !(json_is_integer(value) && json_integer_value(value) >= 0)
                                   : !(json_is_number(value) && isfinite(json_number_value(value))))
            return damaged(l, "the account of its training is not complete");
        if (info_fields[i].is_size)
            *(size_t *)field = (size_t)json_integer_value(value);
        else
            *(double *)field = json_number_value(value);
    }
    if (!(info->scale > 0.0)) return damaged(l, "its scale is not positive");
    return KARMA_OK;
}

/* A new array of texts from a JSON array. */
static karma_status load_texts(const loader *l, char ***out, size_t *n_out, const json_t *array) {
    size_t n = json_array_size(array);
    char **texts = karma_i_zalloc(n, sizeof *texts);
    *out = texts;
    *n_out = texts ? n : 0; /* the caller frees what is there, also on failure */
    if (!texts) return karma_i_fail_memory(l->err);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(array, i));
        if (!text) return damaged(l, "a name in it is not a text");
        if (!(texts[i] = karma_i_strdup(text))) return karma_i_fail_memory(l->err);
    }
    return KARMA_OK;
}

static karma_status load_column(const loader *l, karma_i_column *column, const json_t *object) {
    const char *name = json_string_value(json_object_get(object, "name"));
    const char *kind = json_string_value(json_object_get(object, "kind"));
    if (!name || !kind || (strcmp(kind, "number") != 0 && strcmp(kind, "category") != 0))
        return damaged(l, "a column has no name or an unknown kind");
    column->kind = strcmp(kind, "number") == 0 ? KARMA_COLUMN_NUMBER : KARMA_COLUMN_CATEGORY;
    if (!(column->name = karma_i_strdup(name))) return karma_i_fail_memory(l->err);
    if (column->kind == KARMA_COLUMN_NUMBER) return KARMA_OK;
    KARMA_TRY(load_texts(l, &column->levels, &column->n_levels, json_object_get(object, "levels")));
    if (column->n_levels == 0) return damaged(l, "a category has no levels");
    for (size_t i = 1; i < column->n_levels; i++)
        if (strcmp(column->levels[i - 1], column->levels[i]) >= 0) return damaged(l, "levels are not in order");
    return KARMA_OK;
}

/* How many distinct values a ranked attribute has; they come with the arrays. */
static karma_status load_ranking_size(const loader *l, karma_i_ranking *ranking, karma_column_kind kind,
                                      const json_t *object) {
    const json_t *size = json_object_get(object, "ranks");
    if (!size) return KARMA_OK;
    json_int_t n = json_integer_value(size);
    if (kind != KARMA_COLUMN_NUMBER || n < 1 || (size_t)n > l->size) return damaged(l, "a ranking has no proper size");
    return karma_i_ranking_new(ranking, (size_t)n, l->err);
}

/* Ascending finite values, ranks that do not descend and are not 0. */
static int ranking_is_sound(const karma_i_ranking *r) {
    for (size_t k = 0; k < r->n; k++) {
        if (!isfinite(r->value[k]) || r->at[k] == 0 || r->beyond[k] < r->at[k]) return 0;
        if (k && (r->value[k] <= r->value[k - 1] || r->at[k] < r->beyond[k - 1])) return 0;
    }
    return 1;
}

/* Names, kinds, levels; feature_start follows from them and must agree with the stored array later. */
static karma_status load_columns(const loader *l, karma_i_recipe *r) {
    const json_t *array = json_object_get(l->document, "attributes");
    size_t n = json_array_size(array);
    if (n == 0) return damaged(l, "it has no columns");
    r->columns = karma_i_zalloc(n, sizeof *r->columns);
    r->feature_start = karma_i_zalloc(n + 1, sizeof *r->feature_start);
    r->rankings = karma_i_zalloc(n, sizeof *r->rankings);
    if (!r->columns || !r->feature_start || !r->rankings) return karma_i_fail_memory(l->err);
    r->n_attributes = n;
    for (size_t j = 0; j < n; j++) {
        const json_t *object = json_array_get(array, j);
        KARMA_TRY(load_column(l, &r->columns[j], object));
        KARMA_TRY(load_ranking_size(l, &r->rankings[j], r->columns[j].kind, object));
        size_t n_features = r->columns[j].kind == KARMA_COLUMN_CATEGORY ? r->columns[j].n_levels : !r->rankings[j].n;
        r->feature_start[j + 1] = r->feature_start[j] + n_features;
    }
    r->shift = karma_i_alloc(r->feature_start[n], sizeof *r->shift);
    r->factor = karma_i_alloc(r->feature_start[n], sizeof *r->factor);
    r->radius = json_number_value(json_object_get(l->document, "radius"));
    if (!r->shift || !r->factor) return karma_i_fail_memory(l->err);
    return r->radius >= 0.0 && isfinite(r->radius) ? KARMA_OK : damaged(l, "its radius is not a length");
}

static karma_status load_classes(const loader *l, karma_i_labels *labels, const json_t *object) {
    const json_t *counts = json_object_get(object, "counts");
    KARMA_TRY(load_texts(l, &labels->classes, &labels->n_classes, json_object_get(object, "classes")));
    labels->class_count = karma_i_zalloc(labels->n_classes, sizeof *labels->class_count);
    if (!labels->class_count) return karma_i_fail_memory(l->err);
    if (labels->n_classes < 2 || json_array_size(counts) != labels->n_classes)
        return damaged(l, "its classes are not complete");
    for (size_t k = 0; k < labels->n_classes; k++) {
        json_int_t count = json_integer_value(json_array_get(counts, k));
        if (count < 0) return damaged(l, "a class count is negative");
        labels->class_count[k] = (size_t)count;
    }
    return KARMA_OK;
}

static karma_status load_labels(const loader *l, karma_model *m) {
    const json_t *object = json_object_get(l->document, "target");
    const char *name = json_string_value(json_object_get(object, "name"));
    const char *task = json_string_value(json_object_get(object, "task"));
    if (!name || !task) return damaged(l, "its target is missing");
    if (!(m->target_name = karma_i_strdup(name))) return karma_i_fail_memory(l->err);
    m->labels.factor = 1.0;
    if (strcmp(task, "classify") == 0) {
        m->labels.task = KARMA_TASK_CLASSIFY;
        return load_classes(l, &m->labels, object);
    }
    m->labels.task = KARMA_TASK_REGRESS;
    m->labels.shift = json_number_value(json_object_get(object, "shift"));
    m->labels.factor = json_number_value(json_object_get(object, "factor"));
    m->target_mean = json_number_value(json_object_get(object, "mean"));
    if (strcmp(task, "regress") != 0 || !isfinite(m->labels.shift) || !isfinite(m->target_mean) ||
        !(m->labels.factor > 0.0 && isfinite(m->labels.factor)))
        return damaged(l, "its target is not described well");
    return KARMA_OK;
}

static karma_status load_loss(const loader *l, karma_model *m) {
    const char *name = json_string_value(json_object_get(l->document, "loss"));
    for (int kind = KARMA_LOSS_AUTO + 1; name && kind < KARMA_N_LOSSES; kind++)
        if (strcmp(karma_i_loss_name((karma_loss_kind)kind), name) == 0) {
            m->loss = (karma_loss_kind)kind;
            return KARMA_OK;
        }
    return damaged(l, "its loss is not known");
}

/* Checks one array's entry against what the model must have, and copies it. */
static karma_status load_tensor(const loader *l, const tensor *t) {
    const json_t *entry = json_object_get(l->json, t->name), *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    json_int_t begin = json_integer_value(json_array_get(offsets, 0)), end = json_integer_value(json_array_get(offsets, 1));
    size_t data_size = l->size - 8 - l->header_length, bytes = tensor_bytes(t);
    int fits = dtype && strcmp(dtype, t->dtype) == 0 && json_array_size(shape) == (size_t)t->n_dims;
    for (int d = 0; fits && d < t->n_dims; d++) {
        json_int_t extent = json_integer_value(json_array_get(shape, (size_t)d));
        fits = extent >= 0 && (size_t)extent == t->shape[d];
    }
    fits = fits && begin >= 0 && end >= begin && (size_t)end <= data_size && (size_t)(end - begin) == bytes;
    if (!fits) return damaged(l, "an array does not have the size it should");
    memcpy(t->data, l->bytes + 8 + l->header_length + (size_t)begin, bytes);
    return KARMA_OK;
}

static int all_finite(const double *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i])) return 0;
    return 1;
}

static karma_status load_tensors(const loader *l, karma_model *m) {
    karma_i_recipe *r = m->recipe;
    size_t n = m->info.n_support, n_features = r->feature_start[r->n_attributes];
    size_t n_outputs = karma_i_labels_n_outputs(&m->labels);
    if (n > l->size / 8) return damaged(l, "it is truncated"); /* each kept row has at least one coefficient */
    m->coefficients = karma_i_alloc(n, n_outputs * sizeof *m->coefficients);
    size_t *stored_start = karma_i_alloc(r->n_attributes + 1, sizeof *stored_start);
    karma_status st = m->coefficients && stored_start ? KARMA_OK : karma_i_fail_memory(l->err);
    if (st == KARMA_OK) st = karma_i_recipe_new_rows(&m->support, r, n, l->err);
    flat_rankings flat = {0};
    if (st == KARMA_OK) st = new_flat(&flat, r, l->err);
    tensor tensors[N_TENSORS];
    if (st == KARMA_OK) {
        m->support->n_rows = n;
        describe_tensors(tensors, m, &flat, n);
        tensors[TENSOR_FEATURE_START].data = stored_start;
    }
    for (size_t i = 0; st == KARMA_OK && i < N_TENSORS; i++) st = load_tensor(l, &tensors[i]);
    if (st == KARMA_OK) unflatten(r, &flat);
    free_flat(&flat);
    for (size_t j = 0; st == KARMA_OK && j < r->n_attributes; j++)
        if (!ranking_is_sound(&r->rankings[j])) st = damaged(l, "a ranking is not in order");
    if (st == KARMA_OK && memcmp(stored_start, r->feature_start, (r->n_attributes + 1) * sizeof *stored_start) != 0)
        st = damaged(l, "its columns and features do not fit together");
    if (st == KARMA_OK && !(all_finite(r->shift, n_features) && all_finite(r->factor, n_features) &&
                            all_finite(m->coefficients, n * n_outputs)))
        st = damaged(l, "a number in it is not finite");
    karma_error inner = {0};
    if (st == KARMA_OK && karma_i_rows_validate(m->support, &inner) != KARMA_OK) st = damaged(l, inner.message);
    karma_i_free(stored_start);
    return st;
}

static karma_status build_model(const loader *l, karma_model *m) {
    m->recipe = karma_i_zalloc(1, sizeof *m->recipe);
    if (!m->recipe) return karma_i_fail_memory(l->err);
    KARMA_TRY(load_options(l, &m->options));
    KARMA_TRY(load_info(l, &m->info));
    KARMA_TRY(load_columns(l, m->recipe));
    KARMA_TRY(load_labels(l, m));
    KARMA_TRY(load_loss(l, m));
    KARMA_TRY(load_tensors(l, m));
    return karma_i_kernel_init(&m->kernel, (size_t)m->options.gamma, m->info.scale, m->options.bias,
                               m->recipe->n_attributes, l->err);
}

karma_status karma_model_load(karma_model **out, const char *path, karma_error *err) {
    loader l = {.path = path, .err = err};
    karma_model *model = NULL;
    karma_status st = read_bytes(&l);
    if (st == KARMA_OK) st = split_header(&l);
    if (st == KARMA_OK) st = parse_document(&l);
    if (st == KARMA_OK) st = check_checksum(&l);
    if (st == KARMA_OK && !(model = karma_i_zalloc(1, sizeof *model))) st = karma_i_fail_memory(err);
    if (st == KARMA_OK) st = build_model(&l, model);
    json_decref(l.json);
    json_decref(l.document);
    karma_i_free(l.bytes);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}
