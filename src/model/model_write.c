/* Writing a model file: its header as JSON, signed, then the arrays. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/model_format.h"
#include "solve/solver.h"
#include "table/order.h"

enum { ALIGNMENT = 64 };

/* `json`, or NULL and nothing left of it when a part of it could not be made. */
static json_t *unless_failed(json_t *json, int failed) {
    if (!failed) return json;
    json_decref(json);
    return NULL;
}

static json_t *options_to_json(const karma_fit_options *options) {
    const karma_option_table *table = karma_fit_option_table();
    json_t *object = json_object();
    int failed = 0;
    for (size_t i = 0; i < table->count; i++) {
        size_t size = (size_t)karma_option_text(&table->options[i], options, NULL, 0) + 1;
        if (size == 1) continue; /* a text that was not given */
        char *text = karma_i_alloc(size, 1);
        if (text) (void)karma_option_text(&table->options[i], options, text, size);
        failed |= !text || json_object_set_new(object, table->options[i].name, json_string(text));
        karma_i_free(text);
    }
    return unless_failed(object, failed);
}

/* NULL when memory is out or a text is not UTF-8. */
static json_t *texts_to_json(char *const *texts, size_t n) {
    json_t *array = json_array();
    int failed = 0;
    for (size_t i = 0; i < n; i++) failed |= json_array_append_new(array, json_string(texts[i]));
    return unless_failed(array, failed);
}

static json_t *columns_to_json(const karma_i_recipe *recipe) {
    json_t *array = json_array();
    int failed = 0;
    for (size_t j = 0; j < recipe->n_attributes; j++) {
        const karma_i_column *column = &recipe->columns[j];
        json_t *object = json_pack("{s:s, s:s}", "name", column->name, "kind",
                                   karma_i_column_is_ordered(column)     ? "ordered"
                                   : column->kind == KARMA_COLUMN_NUMBER ? "number"
                                                                         : "category");
        if (column->n_levels)
            failed |= json_object_set_new(object, "levels", texts_to_json(column->levels, column->n_levels));
        if (recipe->rankings[j].n)
            failed |= json_object_set_new(object, "ranks", json_integer((json_int_t)recipe->rankings[j].n));
        if (karma_i_recipe_is_coded(recipe, j)) failed |= json_object_set_new(object, "coded", json_true());
        if (karma_i_recipe_has_terms(recipe, j)) failed |= json_object_set_new(object, "centred", json_true());
        failed |= json_array_append_new(array, object);
    }
    return unless_failed(array, failed);
}

static json_t *numbers_to_json(const double *numbers, size_t n) {
    json_t *array = json_array();
    int failed = 0;
    for (size_t i = 0; i < n; i++) failed |= json_array_append_new(array, json_real(numbers[i]));
    return unless_failed(array, failed);
}

static json_t *sizes_to_json(const size_t *sizes, size_t n) {
    json_t *array = json_array();
    int failed = 0;
    for (size_t i = 0; i < n; i++) failed |= json_array_append_new(array, json_integer((json_int_t)sizes[i]));
    return unless_failed(array, failed);
}

static json_t *calibration_to_json(const karma_i_calibration *c) {
    if (c->kind == KARMA_CALIBRATE_SIGMOID)
        return json_pack("{s:s, s:o, s:o}", "kind", "sigmoid", "slope", numbers_to_json(c->slope, c->n_outputs),
                         "offset", numbers_to_json(c->offset, c->n_outputs));
    return json_pack("{s:s, s:o, s:o, s:o}", "kind", "isotonic", "start", sizes_to_json(c->start, c->n_outputs + 1),
                     "at", numbers_to_json(c->at, c->n_knots), "value", numbers_to_json(c->value, c->n_knots));
}

static json_t *head_to_json(const karma_i_head *head) {
    const karma_i_labels *labels = &head->labels;
    int classify = labels->task == KARMA_TASK_CLASSIFY, failed = 0;
    json_t *object = json_pack("{s:s, s:s, s:s, s:f}", "name", head->name, "task", classify ? "classify" : "regress",
                               "loss", karma_i_loss_name(head->loss), "mean", head->mean);
    if (classify) {
        failed |= json_object_set_new(object, "counts", sizes_to_json(labels->class_count, labels->n_classes));
        failed |= json_object_set_new(object, "classes", texts_to_json(labels->classes, labels->n_classes));
    } else {
        failed |= json_object_set_new(object, "shift", json_real(labels->shift));
        failed |= json_object_set_new(object, "factor", json_real(labels->factor));
    }
    if (head->n_quantiles)
        failed |= json_object_set_new(object, "quantiles", numbers_to_json(head->quantiles, head->n_quantiles));
    if (head->calibration.kind != KARMA_CALIBRATE_OFF)
        failed |= json_object_set_new(object, "calibration", calibration_to_json(&head->calibration));
    return unless_failed(object, failed);
}

static json_t *heads_to_json(const karma_model *m) {
    json_t *array = json_array();
    int failed = 0;
    for (size_t t = 0; t < m->n_heads; t++) failed |= json_array_append_new(array, head_to_json(&m->heads[t]));
    return unless_failed(array, failed);
}

static json_t *info_to_json(const karma_fit_info *info) {
    json_t *object =
        json_pack("{s:s, s:s}", "solver", karma_i_solver_name(info->solver), "stop", karma_stop_name(info->stop));
    int failed = 0;
    for (const karma_i_info_field *f = karma_i_info_fields; f->name; f++) {
        const void *field = (const char *)info + f->offset;
        failed |= json_object_set_new(object, f->name,
                                      f->is_size ? json_integer((json_int_t) * (const size_t *)field)
                                                 : json_real(*(const double *)field));
    }
    return unless_failed(object, failed);
}

/* As text, in memory of ours: json_dumps does not notice every allocation of its own that fails. Caller frees. */
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

static json_t *subspace_to_json(const karma_i_latent *latent) {
    return json_pack("{s:I, s:I, s:f}", "rank", (json_int_t)latent->subspace->rank, "coordinates",
                     (json_int_t)latent->basis->rank, "sigma2", latent->subspace->sigma2);
}

static json_t *encoding_to_json(const karma_i_recipe *recipe, const karma_i_rows *rows) {
    json_t *object = json_pack("{s:o, s:f, s:b, s:b, s:I, s:I}", "attributes", columns_to_json(recipe), "radius",
                               recipe->radius, "polar", recipe->is_polar, "sparse", recipe->is_sparse, "cells",
                               (json_int_t)(rows->is_sparse ? karma_i_rows_n_cells(rows) : 0), "matrix_columns",
                               (json_int_t)recipe->n_matrix_columns);
    int failed = recipe->latent && json_object_set_new(object, "subspace", subspace_to_json(recipe->latent));
    return unless_failed(object, failed);
}

static json_t *encodings_to_json(const karma_model *m) {
    json_t *array = json_array();
    int failed = 0;
    for (size_t e = 0; e < m->encoder.n; e++)
        failed |=
            json_array_append_new(array, encoding_to_json(m->encoder.recipes[e], karma_i_rows_encoding(m->support, e)));
    return unless_failed(array, failed);
}

/* Those of all members, one after the other. */
static json_t *factors_to_json(const karma_model *m) {
    json_t *array = json_array();
    int failed = 0;
    for (size_t k = 0; k < m->n_members; k++)
        for (size_t f = 0; f < m->members[k].kernel.n_factors; f++) {
            karma_i_factor_facts facts = karma_i_factor_known(&m->members[k].kernel.factors[f]);
            failed |=
                json_array_append_new(array, json_pack("{s:f, s:f, s:I}", "scale", facts.scale, "spread", facts.spread,
                                                       "largest_overlap", (json_int_t)facts.largest_overlap));
        }
    return unless_failed(array, failed);
}

static json_t *header_to_json(const karma_model *m, const karma_i_tensor_list *list) {
    json_t *document =
        json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o}", "format", KARMA_I_FORMAT_VERSION, "version", karma_version(),
                  "options", options_to_json(&m->options), "info", info_to_json(&m->info), "encodings",
                  encodings_to_json(m), "factors", factors_to_json(m), "targets", heads_to_json(m));
    if (document && m->search && json_object_set_new(document, "search", json_loads(m->search, 0, NULL))) {
        json_decref(document);
        document = NULL;
    }
    char *text = document ? dump(document, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(document);
    if (!text) return NULL;
    char zeros[KARMA_I_CHECKSUM_DIGITS + 1];
    memset(zeros, '0', KARMA_I_CHECKSUM_DIGITS);
    zeros[KARMA_I_CHECKSUM_DIGITS] = '\0';
    json_t *header = json_pack("{s:{s:s, s:s}}", "__metadata__", "checksum", zeros, "karma", text);
    karma_i_free(text);
    int failed = 0;
    for (size_t i = 0; header && i < list->n; i++) {
        const karma_i_tensor *t = &list->tensors[i];
        json_t *shape = json_array();
        for (int d = 0; d < t->n_dims; d++)
            failed |= json_array_append_new(shape, json_integer((json_int_t)t->shape[d]));
        json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", t->dtype, "shape", shape, "data_offsets",
                                  (json_int_t)t->offset, (json_int_t)t->offset + (json_int_t)karma_i_tensor_bytes(t));
        failed |= json_object_set_new(header, t->name, entry);
    }
    return unless_failed(header, failed);
}

static void store_length(unsigned char *bytes, uint64_t length) {
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(length >> (8 * i));
}

/* The header text, padded with spaces so that the arrays are aligned. Caller frees. */
static char *header_text(const karma_model *m, const karma_i_tensor_list *list, size_t *length) {
    json_t *header = header_to_json(m, list);
    char *text = header ? dump(header, JSON_COMPACT) : NULL;
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
    karma_i_free(text);
    return copy;
}

static void sign_header(char *header, size_t length, const karma_i_tensor_list *list) {
    unsigned char bytes[8];
    store_length(bytes, length);
    uint32_t crc = karma_i_checksum(0, bytes, sizeof bytes);
    crc = karma_i_checksum(crc, header, length);
    for (size_t i = 0; i < list->n; i++)
        crc = karma_i_checksum(crc, list->tensors[i].data, karma_i_tensor_bytes(&list->tensors[i]));
    char digits[KARMA_I_CHECKSUM_DIGITS + 1];
    (void)snprintf(digits, sizeof digits, "%08lx", (unsigned long)crc);
    memcpy(strstr(header, KARMA_I_CHECKSUM_KEY) + sizeof KARMA_I_CHECKSUM_KEY - 1, digits, KARMA_I_CHECKSUM_DIGITS);
}

static void write_all(FILE *stream, const char *header, size_t length, const karma_i_tensor_list *list) {
    unsigned char bytes[8];
    store_length(bytes, length);
    (void)fwrite(bytes, 1, sizeof bytes, stream); /* errors stick to the stream: commit reports them */
    (void)fwrite(header, 1, length, stream);
    for (size_t i = 0; i < list->n; i++) {
        size_t n_bytes = karma_i_tensor_bytes(&list->tensors[i]);
        if (n_bytes) (void)fwrite(list->tensors[i].data, 1, n_bytes, stream);
    }
}

karma_status karma_model_save(const karma_model *model, const char *path, karma_error *err) {
    karma_i_tensor_list list;
    size_t length = 0;
    char *header = NULL;
    karma_output *output = NULL;
    karma_status st = karma_i_tensors_describe(&list, model, err);
    if (st == KARMA_OK) {
        for (size_t e = 0; e < list.n_encodings; e++) karma_i_flat_from(&list.flat[e], model->encoder.recipes[e]);
        header = header_text(model, &list, &length);
        if (!header) st = karma_i_fail(err, KARMA_ERR_MEMORY, "%s: out of memory, or a name is not valid UTF-8", path);
    }
    if (st == KARMA_OK) st = karma_output_open(&output, path, err);
    if (st == KARMA_OK) {
        sign_header(header, length, &list);
        write_all(karma_output_stream(output), header, length, &list);
        st = karma_output_commit(output, err);
    }
    karma_i_tensors_clear(&list);
    karma_i_free(header);
    return st;
}
