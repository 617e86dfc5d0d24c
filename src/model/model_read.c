/* Reading a model file. Everything in it is hostile until checked. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/model_format.h"
#include "solve/solver.h"

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
    size_t key = sizeof KARMA_I_CHECKSUM_KEY - 1;
    for (size_t i = 0; i + key + KARMA_I_CHECKSUM_DIGITS <= l->header_length; i++)
        if (memcmp(l->header + i, KARMA_I_CHECKSUM_KEY, key) == 0) return (char *)l->bytes + 8 + i + key;
    return NULL;
}

static karma_status check_checksum(const loader *l) {
    char *digits = find_checksum(l), stored[KARMA_I_CHECKSUM_DIGITS + 1] = {0}, computed[KARMA_I_CHECKSUM_DIGITS + 1];
    if (!digits) return damaged(l, "it has no checksum");
    memcpy(stored, digits, KARMA_I_CHECKSUM_DIGITS);
    memset(digits, '0', KARMA_I_CHECKSUM_DIGITS);
    (void)snprintf(computed, sizeof computed, "%08lx", (unsigned long)karma_i_checksum(0, l->bytes, l->size));
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
    if (json_integer_value(format) > KARMA_I_FORMAT_VERSION)
        return karma_i_fail(l->err, KARMA_ERR_FORMAT,
                            "%s: made by a newer version of karma (%s, format %lld; this one is %s and reads up to %d)",
                            l->path, version, (long long)json_integer_value(format), karma_version(),
                            KARMA_I_FORMAT_VERSION);
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
    int known = 0;
    for (int s = KARMA_STOP_FINISHED; s <= KARMA_STOP_CANCELLED; s++)
        if (strcmp(stop, karma_stop_name((karma_stop)s)) == 0) info->stop = (karma_stop)s, known |= 1;
    for (int s = KARMA_SOLVER_AUTO + 1; s < KARMA_N_SOLVERS; s++)
        if (strcmp(solver, karma_i_solver_name((karma_solver_kind)s)) == 0)
            info->solver = (karma_solver_kind)s, known |= 2;
    if (known != 3) return damaged(l, "its solver, or how it ended, is not known");
    for (const karma_i_info_field *f = karma_i_info_fields; f->name; f++) {
        const json_t *value = json_object_get(object, f->name);
        void *field = (char *)info + f->offset;
        if (f->is_size ? !(json_is_integer(value) && json_integer_value(value) >= 0)
                       : !(json_is_number(value) && isfinite(json_number_value(value))))
            return damaged(l, "the account of its training is not complete");
        if (f->is_size)
            *(size_t *)field = (size_t)json_integer_value(value);
        else
            *(double *)field = json_number_value(value);
    }
    /* a scale this far out cannot come from data, and would overflow the weights */
    if (!(info->scale >= 1e-9 && info->scale <= 1e18)) return damaged(l, "its scale is out of range");
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
    r->is_sparse = json_is_true(json_object_get(l->document, "sparse"));
    for (size_t j = 0; r->is_sparse && j < n; j++)
        if (r->columns[j].kind != KARMA_COLUMN_NUMBER || r->rankings[j].n)
            return damaged(l, "its rows are sparse, but its columns are not all plain numbers");
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

static karma_status load_numbers(const loader *l, double *out, size_t n, const json_t *array) {
    if (json_array_size(array) != n) return damaged(l, "a list of numbers is not complete");
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_number(value) || !isfinite(out[i] = json_number_value(value)))
            return damaged(l, "a list of numbers is not one");
    }
    return KARMA_OK;
}

static karma_status load_quantiles(const loader *l, karma_i_head *head, const json_t *array) {
    size_t n = json_array_size(array);
    if (n == 0) return damaged(l, "its quantiles are missing");
    head->quantiles = karma_i_alloc(n, sizeof *head->quantiles);
    if (!head->quantiles) return karma_i_fail_memory(l->err);
    head->n_quantiles = n;
    KARMA_TRY(load_numbers(l, head->quantiles, n, array));
    for (size_t q = 0; q < n; q++)
        if (!(head->quantiles[q] > (q ? head->quantiles[q - 1] : 0.0) && head->quantiles[q] < 1.0))
            return damaged(l, "its quantiles are not in order");
    return KARMA_OK;
}

static karma_status load_starts(const loader *l, karma_i_calibration *c, const json_t *array) {
    if (json_array_size(array) != c->n_outputs + 1) return damaged(l, "a calibration is not complete");
    for (size_t o = 0; o <= c->n_outputs; o++) {
        const json_t *value = json_array_get(array, o);
        if (!json_is_integer(value) || json_integer_value(value) < 0) return damaged(l, "a calibration has a hole");
        c->start[o] = (size_t)json_integer_value(value);
    }
    return KARMA_OK;
}

static karma_status load_calibration(const loader *l, karma_i_head *head, const json_t *object) {
    const char *word = json_string_value(json_object_get(object, "kind"));
    karma_i_calibration *c = &head->calibration;
    if (!word || (strcmp(word, "sigmoid") != 0 && strcmp(word, "isotonic") != 0))
        return damaged(l, "its calibration is of an unknown kind");
    int isotonic = strcmp(word, "isotonic") == 0;
    size_t n_knots = isotonic ? json_array_size(json_object_get(object, "at")) : 0;
    KARMA_TRY(karma_i_calibration_new(c, isotonic ? KARMA_CALIBRATE_ISOTONIC : KARMA_CALIBRATE_SIGMOID,
                                      head->labels.n_classes, n_knots, l->err));
    if (isotonic) {
        KARMA_TRY(load_starts(l, c, json_object_get(object, "start")));
        KARMA_TRY(load_numbers(l, c->at, n_knots, json_object_get(object, "at")));
        KARMA_TRY(load_numbers(l, c->value, n_knots, json_object_get(object, "value")));
    } else {
        KARMA_TRY(load_numbers(l, c->slope, c->n_outputs, json_object_get(object, "slope")));
        KARMA_TRY(load_numbers(l, c->offset, c->n_outputs, json_object_get(object, "offset")));
    }
    karma_error inner = {0};
    if (karma_i_calibration_validate(c, head->labels.n_classes, &inner) != KARMA_OK) return damaged(l, inner.message);
    return KARMA_OK;
}

static karma_status load_loss(const loader *l, karma_i_head *head, const char *name) {
    for (int kind = KARMA_LOSS_AUTO + 1; name && kind < KARMA_N_LOSSES; kind++)
        if (strcmp(karma_i_loss_name((karma_loss_kind)kind), name) == 0) {
            head->loss = (karma_loss_kind)kind;
            return KARMA_OK;
        }
    return damaged(l, "its loss is not known");
}

static karma_status load_labels(const loader *l, karma_i_head *head, const json_t *object) {
    const char *task = json_string_value(json_object_get(object, "task"));
    karma_i_labels *labels = &head->labels;
    labels->factor = 1.0;
    labels->task = KARMA_TASK_CLASSIFY;
    if (task && strcmp(task, "classify") == 0) return load_classes(l, labels, object);
    labels->task = KARMA_TASK_REGRESS;
    labels->shift = json_number_value(json_object_get(object, "shift"));
    labels->factor = json_number_value(json_object_get(object, "factor"));
    if (!task || strcmp(task, "regress") != 0 || !isfinite(labels->shift) ||
        !(labels->factor > 0.0 && isfinite(labels->factor)))
        return damaged(l, "its target is not described well");
    return KARMA_OK;
}

static karma_status load_head(const loader *l, karma_i_head *head, const json_t *object) {
    const char *name = json_string_value(json_object_get(object, "name"));
    const json_t *calibration = json_object_get(object, "calibration");
    if (!name) return damaged(l, "its target is missing");
    if (!(head->name = karma_i_strdup(name))) return karma_i_fail_memory(l->err);
    head->mean = json_number_value(json_object_get(object, "mean"));
    if (!isfinite(head->mean)) return damaged(l, "its target is not described well");
    KARMA_TRY(load_labels(l, head, object));
    KARMA_TRY(load_loss(l, head, json_string_value(json_object_get(object, "loss"))));
    if (head->loss == KARMA_LOSS_PINBALL && head->labels.task == KARMA_TASK_REGRESS)
        KARMA_TRY(load_quantiles(l, head, json_object_get(object, "quantiles")));
    if (calibration && head->labels.task != KARMA_TASK_CLASSIFY) return damaged(l, "numbers have no calibration");
    return calibration ? load_calibration(l, head, calibration) : KARMA_OK;
}

static karma_status load_heads(const loader *l, karma_model *m) {
    const json_t *array = json_object_get(l->document, "targets");
    size_t n = json_array_size(array);
    if (n == 0) return damaged(l, "its target is missing");
    m->heads = karma_i_zalloc(n, sizeof *m->heads);
    if (!m->heads) return karma_i_fail_memory(l->err);
    for (size_t t = 0; t < n; t++) {
        karma_i_head *head = &m->heads[m->n_heads++];
        KARMA_TRY(load_head(l, head, json_array_get(array, t)));
        head->first_output = m->n_outputs;
        head->n_outputs = karma_i_head_count_outputs(head);
        m->n_outputs += head->n_outputs;
    }
    return KARMA_OK;
}

/* Checks one array's entry against what the model must have, and copies it. */
static karma_status load_tensor(const loader *l, const karma_i_tensor *t) {
    const json_t *entry = json_object_get(l->json, t->name), *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    json_int_t begin = json_integer_value(json_array_get(offsets, 0)),
               end = json_integer_value(json_array_get(offsets, 1));
    size_t data_size = l->size - 8 - l->header_length, bytes = karma_i_tensor_bytes(t);
    int fits = dtype && strcmp(dtype, t->dtype) == 0 && json_array_size(shape) == (size_t)t->n_dims;
    for (int d = 0; fits && d < t->n_dims; d++) {
        json_int_t extent = json_integer_value(json_array_get(shape, (size_t)d));
        fits = extent >= 0 && (size_t)extent == t->shape[d];
    }
    fits = fits && begin >= 0 && end >= begin && (size_t)end <= data_size && (size_t)(end - begin) == bytes;
    if (!fits) return damaged(l, "an array does not have the size it should");
    if (bytes) memcpy(t->data, l->bytes + 8 + l->header_length + (size_t)begin, bytes);
    return KARMA_OK;
}

static int all_finite(const double *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i])) return 0;
    return 1;
}

/* Room for sparse cells; their number stands in the document. */
static karma_status make_cells(const loader *l, karma_i_rows *rows) {
    json_int_t n = json_integer_value(json_object_get(l->document, "cells"));
    if (n < 0 || (size_t)n > l->size) return damaged(l, "the number of its cells is wrong");
    return karma_i_rows_make_cells(rows, (size_t)n, l->err);
}

/* Cells of each row follow those of the row before, and the last ends where they end. */
static int cell_starts_are_sound(const karma_i_rows *rows, size_t n_cells) {
    if (rows->cell_start[0] != 0 || rows->cell_start[rows->n_rows] != n_cells) return 0;
    for (size_t i = 0; i < rows->n_rows; i++)
        if (rows->cell_start[i + 1] < rows->cell_start[i]) return 0;
    return 1;
}

/* Reads the arrays of the rankings and the support rows into the room that was made for them. */
static karma_status load_rows(const loader *l, karma_model *m, size_t *stored_start) {
    karma_i_rows *rows = m->support;
    karma_i_tensor tensors[KARMA_I_N_TENSORS];
    karma_i_flat_rankings flat;
    if (rows->is_sparse) KARMA_TRY(make_cells(l, rows));
    size_t n_cells = rows->is_sparse ? karma_i_rows_n_cells(rows) : 0;
    KARMA_TRY(karma_i_flat_new(&flat, m->encoder.recipes[0], l->err));
    karma_i_describe_tensors(tensors, m, &flat);
    tensors[KARMA_I_TENSOR_FEATURE_START].data = stored_start;
    karma_status st = KARMA_OK;
    for (size_t i = 0; st == KARMA_OK && i < KARMA_I_N_TENSORS; i++) st = load_tensor(l, &tensors[i]);
    if (st == KARMA_OK) karma_i_flat_to(m->encoder.recipes[0], &flat);
    karma_i_flat_clear(&flat);
    if (st == KARMA_OK && rows->is_sparse && !cell_starts_are_sound(rows, n_cells))
        st = damaged(l, "its rows do not fit its cells");
    return st;
}

static karma_status load_tensors(const loader *l, karma_model *m) {
    karma_i_recipe *r = m->encoder.recipes[0];
    size_t n = m->info.n_support, n_features = r->feature_start[r->n_attributes];
    size_t n_outputs = m->n_outputs;
    /* every kept row has its coefficients and, unless it is sparse, its values in the file: no larger room is made */
    double dense = 4.0 * (double)n_features + 8.0 * (double)karma_i_mask_words(r->n_attributes);
    for (size_t j = 0; j < r->n_attributes; j++)
        if (r->rankings[j].n) {
            dense += (double)r->n_attributes;
            break;
        }
    double least = 8.0 * (double)n_outputs + (r->is_sparse ? 8.0 : dense);
    if ((double)n * least > (double)l->size) return damaged(l, "it is truncated");
    m->coefficients = karma_i_alloc(n, n_outputs * sizeof *m->coefficients);
    size_t *stored_start = karma_i_alloc(r->n_attributes + 1, sizeof *stored_start);
    karma_status st = m->coefficients && stored_start ? KARMA_OK : karma_i_fail_memory(l->err);
    if (st == KARMA_OK) st = karma_i_recipe_new_rows(&m->support, r, n, l->err);
    if (st == KARMA_OK) {
        m->support->n_rows = n;
        st = load_rows(l, m, stored_start);
    }
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
    m->encoder.recipes = karma_i_zalloc(1, sizeof *m->encoder.recipes);
    m->encoder.n = m->encoder.recipes != NULL;
    if (m->encoder.recipes) m->encoder.recipes[0] = karma_i_zalloc(1, sizeof *m->encoder.recipes[0]);
    if (!m->encoder.recipes || !m->encoder.recipes[0]) return karma_i_fail_memory(l->err);
    KARMA_TRY(load_options(l, &m->options));
    KARMA_TRY(load_info(l, &m->info));
    KARMA_TRY(load_columns(l, m->encoder.recipes[0]));
    KARMA_TRY(load_heads(l, m));
    KARMA_TRY(load_tensors(l, m));
    json_int_t overlap = json_integer_value(json_object_get(l->document, "largest_overlap"));
    if (overlap < 0 || (size_t)overlap > m->encoder.recipes[0]->n_attributes)
        return damaged(l, "its largest overlap is wrong");
    for (size_t i = 0; i < m->support->n_rows; i++)
        if (karma_i_rows_n_observed(m->support, i) > (size_t)overlap)
            return damaged(l, "a row observes more than its largest overlap");
    return karma_i_kernel_init(&m->kernel, (size_t)m->options.gamma, m->info.scale, m->options.bias, (size_t)overlap,
                               l->err);
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
