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
    int ordered = kind && strcmp(kind, "ordered") == 0;
    if (!name || !kind || (!ordered && strcmp(kind, "number") != 0 && strcmp(kind, "category") != 0))
        return damaged(l, "a column has no name or an unknown kind");
    column->kind = strcmp(kind, "category") == 0 ? KARMA_COLUMN_CATEGORY : KARMA_COLUMN_NUMBER;
    if (!(column->name = karma_i_strdup(name))) return karma_i_fail_memory(l->err);
    if (column->kind == KARMA_COLUMN_NUMBER && !ordered) return KARMA_OK;
    KARMA_TRY(load_texts(l, &column->levels, &column->n_levels, json_object_get(object, "levels")));
    if (column->n_levels == 0) return damaged(l, "a category has no levels");
    for (size_t i = 1; !ordered && i < column->n_levels; i++)
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

/* The features and terms of an attribute follow from its kind and how it is encoded. */
static karma_status load_encoding(const loader *l, karma_i_recipe *r, size_t j, const json_t *object) {
    const karma_i_column *column = &r->columns[j];
    int category = column->kind == KARMA_COLUMN_CATEGORY, ranked = r->rankings[j].n > 0;
    int coded = json_is_true(json_object_get(object, "coded")),
        centred = json_is_true(json_object_get(object, "centred"));
    if (coded && !(category && column->n_levels <= KARMA_I_MOST_CODES)) return damaged(l, "a column cannot be codes");
    if (centred && !coded && !ranked) return damaged(l, "a column that has neither codes nor ranks is centred");
    size_t n_features = category ? column->n_levels : r->is_polar ? 2 : 1;
    r->feature_start[j + 1] = r->feature_start[j] + (coded || ranked ? 0 : n_features);
    r->term_start[j + 1] = r->term_start[j] + (centred ? karma_i_recipe_n_terms(r, j) : 0);
    return KARMA_OK;
}

/* Ranks are all centred or all plain; only features can be lists of cells, or shrunk. */
static karma_status check_encoding(const loader *l, const karma_i_recipe *r) {
    size_t n_ranked = 0, n_centred = 0, n_coded = 0, n_numbers = 0;
    for (size_t j = 0; j < r->n_attributes; j++) {
        n_ranked += r->rankings[j].n > 0;
        n_centred += r->rankings[j].n > 0 && karma_i_recipe_has_terms(r, j);
        n_coded += karma_i_recipe_is_coded(r, j) != 0;
        n_numbers += r->columns[j].kind == KARMA_COLUMN_NUMBER;
    }
    if (n_centred && n_centred < n_ranked) return damaged(l, "some of its ranks are centred and some are not");
    if (r->is_sparse && (n_numbers < r->n_attributes || n_ranked || r->is_polar))
        return damaged(l, "its rows are sparse, but its columns are not all plain numbers");
    if (!(r->radius >= 0.0 && isfinite(r->radius))) return damaged(l, "its radius is not a length");
    if (r->radius > 0.0 && (n_ranked || n_coded)) return damaged(l, "it has a radius, but columns without a length");
    return KARMA_OK;
}

/* Names, kinds, levels; feature_start follows from them and must agree with the stored array later. */
static karma_status load_columns(const loader *l, karma_i_recipe *r, const json_t *encoding) {
    const json_t *array = json_object_get(encoding, "attributes");
    json_int_t n_matrix_columns = json_integer_value(json_object_get(encoding, "matrix_columns"));
    size_t n = json_array_size(array);
    if (n_matrix_columns < 0 || (n == 0) != (n_matrix_columns > 0)) return damaged(l, "it has no columns");
    r->n_matrix_columns = (size_t)n_matrix_columns;
    r->columns = karma_i_zalloc(n, sizeof *r->columns);
    r->feature_start = karma_i_zalloc(n + 1, sizeof *r->feature_start);
    r->term_start = karma_i_zalloc(n + 1, sizeof *r->term_start);
    r->rankings = karma_i_zalloc(n, sizeof *r->rankings);
    if (!r->columns || !r->feature_start || !r->term_start || !r->rankings) return karma_i_fail_memory(l->err);
    r->n_attributes = n;
    r->is_polar = json_is_true(json_object_get(encoding, "polar"));
    for (size_t j = 0; j < n; j++) {
        const json_t *object = json_array_get(array, j);
        KARMA_TRY(load_column(l, &r->columns[j], object));
        KARMA_TRY(load_ranking_size(l, &r->rankings[j], r->columns[j].kind, object));
        KARMA_TRY(load_encoding(l, r, j, object));
    }
    r->is_sparse = json_is_true(json_object_get(encoding, "sparse"));
    r->radius = json_number_value(json_object_get(encoding, "radius"));
    KARMA_TRY(check_encoding(l, r));
    r->shift = karma_i_alloc(r->feature_start[n], sizeof *r->shift);
    r->factor = karma_i_alloc(r->feature_start[n], sizeof *r->factor);
    r->term = karma_i_alloc(r->term_start[n], sizeof *r->term);
    return r->shift && r->factor && r->term ? KARMA_OK : karma_i_fail_memory(l->err);
}

/* Room for the arrays of a subspace, which is one of features: every attribute has some. */
static karma_status load_subspace(const loader *l, karma_i_recipe *r, const json_t *object) {
    json_int_t rank = json_integer_value(json_object_get(object, "rank"));
    json_int_t n_coordinates = json_integer_value(json_object_get(object, "coordinates"));
    double sigma2 = json_number_value(json_object_get(object, "sigma2"));
    size_t n_features = r->feature_start[r->n_attributes];
    for (size_t j = 0; j < r->n_attributes; j++)
        if (r->feature_start[j] == r->feature_start[j + 1])
            return damaged(l, "a column of its subspace is coded or ranked");
    if (rank < 0 || n_coordinates < 0 || n_coordinates > rank || (size_t)n_coordinates > n_features ||
        (double)rank * (double)n_features * 8.0 > (double)l->size)
        return damaged(l, "its subspace has no proper size");
    if (!(sigma2 >= 1e-300 && sigma2 <= 1e300)) return damaged(l, "the noise of its subspace is out of range");
    KARMA_TRY(karma_i_latent_new(&r->latent, n_features, (size_t)rank, (size_t)n_coordinates, l->err));
    r->latent->subspace->sigma2 = r->latent->subspace->least_sigma2 = sigma2;
    return KARMA_OK;
}

/* One recipe for each encoding that the formula wants; all of them about the same columns. */
static karma_status load_encoder(const loader *l, karma_i_encoder *encoder, const karma_i_committee *committee) {
    const json_t *array = json_object_get(l->document, "encodings");
    size_t n = json_array_size(array);
    if (n == 0 || n != committee->n_kinds) return damaged(l, "its encodings are not those of its kernel");
    encoder->recipes = karma_i_zalloc(n, sizeof(karma_i_recipe *));
    if (!encoder->recipes) return karma_i_fail_memory(l->err);
    encoder->n = n;
    for (size_t e = 0; e < n; e++) {
        karma_i_recipe *r = encoder->recipes[e] = karma_i_zalloc(1, sizeof *r);
        if (!r) return karma_i_fail_memory(l->err);
        KARMA_TRY(load_columns(l, r, json_array_get(array, e)));
        if ((committee->kinds[e] == KARMA_KERNEL_PRECOMPUTED) != (r->n_matrix_columns > 0))
            return damaged(l, "an encoding is not what its kernel wants");
        const json_t *subspace = json_object_get(json_array_get(array, e), "subspace");
        if ((committee->kinds[e] == KARMA_KERNEL_SUBSPACE) != (subspace != NULL))
            return damaged(l, "a subspace is where its kernel wants none, or missing");
        if (subspace) KARMA_TRY(load_subspace(l, r, subspace));
        if (r->n_attributes != encoder->recipes[0]->n_attributes) return damaged(l, "its encodings differ in columns");
    }
    return KARMA_OK;
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
    if (!fits)
        return karma_i_fail(l->err, KARMA_ERR_FORMAT,
                            "%s: not a usable model: array '%s' does not have the size it should", l->path, t->name);
    if (bytes) memcpy(t->data, l->bytes + 8 + l->header_length + (size_t)begin, bytes);
    return KARMA_OK;
}

static int all_finite(const double *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i])) return 0;
    return 1;
}

/* Room for the cells of sparse encodings; their numbers stand in the document. */
static karma_status make_cells(const loader *l, karma_i_rows *rows) {
    const json_t *array = json_object_get(l->document, "encodings");
    for (size_t e = 0; rows; rows = rows->next, e++) {
        if (!rows->is_sparse) continue;
        json_int_t n = json_integer_value(json_object_get(json_array_get(array, e), "cells"));
        if (n < 0 || (size_t)n > l->size) return damaged(l, "the number of its cells is wrong");
        KARMA_TRY(karma_i_rows_make_cells(rows, (size_t)n, l->err));
    }
    return KARMA_OK;
}

/* Cells of each row follow those of the row before, and the last ends where they end. */
static int cell_starts_are_sound(const karma_i_rows *rows, size_t n_cells) {
    if (!rows->is_sparse) return 1;
    if (rows->cell_start[0] != 0 || rows->cell_start[rows->n_rows] != n_cells) return 0;
    for (size_t i = 0; i < rows->n_rows; i++)
        if (rows->cell_start[i + 1] < rows->cell_start[i]) return 0;
    return 1;
}

/* Reads the arrays of one encoding into the room that was made for them. feature_start is known from the columns, and
 * must be what the file says. */
static karma_status load_encoded(const loader *l, karma_i_recipe *r, const karma_i_rows *rows, karma_i_tensor *tensors,
                                 const karma_i_flat_rankings *flat) {
    size_t n_cells = rows->is_sparse ? karma_i_rows_n_cells(rows) : 0, n = r->n_attributes + 1;
    size_t *stored_start = karma_i_alloc(n, sizeof *stored_start);
    karma_status st = stored_start ? KARMA_OK : karma_i_fail_memory(l->err);
    tensors[KARMA_I_TENSOR_FEATURE_START].data = stored_start;
    for (size_t i = 0; st == KARMA_OK && i < KARMA_I_N_TENSORS; i++) st = load_tensor(l, &tensors[i]);
    if (st == KARMA_OK && memcmp(stored_start, r->feature_start, n * sizeof *stored_start) != 0)
        st = damaged(l, "its columns and features do not fit together");
    if (st == KARMA_OK) karma_i_flat_to(r, flat);
    if (st == KARMA_OK && !cell_starts_are_sound(rows, n_cells)) st = damaged(l, "its rows do not fit its cells");
    karma_i_free(stored_start);
    return st;
}

/* Codes are those of levels, and the term of every cell is that of its code or rank. */
static int cells_fit_recipe(const karma_i_rows *rows, const karma_i_recipe *r) {
    for (size_t i = 0; !rows->is_sparse && i < rows->n_rows; i++)
        for (size_t j = 0; j < rows->n_attributes; j++) {
            int coded = karma_i_rows_has(rows, j, KARMA_I_CODED);
            if (!karma_i_mask_get(karma_i_rows_mask(rows, i), j) || !rows->traits[j]) continue;
            size_t code = coded ? rows->codes[karma_i_rows_code_at(rows, i, j)] : karma_i_rows_ranks(rows, i)[j];
            if (coded && code > r->columns[j].n_levels) return 0;
            if (karma_i_rows_has(rows, j, KARMA_I_HAS_TERM) &&
                rows->values[karma_i_rows_term_at(rows, i, j)] != r->term[r->term_start[j] + code - 1])
                return 0;
        }
    return 1;
}

/* The bytes that a support row has at least in the file: no larger room is made. */
static double least_encoded_bytes(const karma_i_recipe *r) {
    if (r->latent) return 4.0 * (double)r->latent->basis->rank + 8.0;
    if (r->is_sparse || r->n_matrix_columns) return 8.0;
    double bytes = 4.0 * (double)r->feature_start[r->n_attributes] + 8.0 * (double)karma_i_mask_words(r->n_attributes);
    size_t n_ranked = 0;
    for (size_t j = 0; j < r->n_attributes; j++) {
        n_ranked += r->rankings[j].n > 0;
        bytes += (karma_i_recipe_is_coded(r, j) ? 2.0 : 0.0) + (karma_i_recipe_has_terms(r, j) ? 8.0 : 0.0);
    }
    return bytes + (n_ranked ? (double)r->n_attributes : 0.0);
}

/* What the arrays of an encoding must keep beside their sizes. */
static karma_status check_encoded(const loader *l, const karma_i_recipe *r, const karma_i_rows *rows) {
    size_t n = r->n_attributes, n_features = r->feature_start[n];
    for (size_t j = 0; j < n; j++)
        if (!ranking_is_sound(&r->rankings[j])) return damaged(l, "a ranking is not in order");
    int finite = all_finite(r->shift, n_features) && all_finite(r->factor, n_features);
    for (size_t k = 0; k < r->term_start[n]; k++) finite &= isfinite(r->term[k]) != 0;
    if (r->latent) {
        const karma_i_subspace *s = r->latent->subspace;
        finite &= all_finite(s->mean, n_features) && all_finite(s->W, n_features * s->rank) &&
                  all_finite(r->latent->basis->to_coordinates, r->latent->basis->rank * s->rank);
    }
    if (!finite) return damaged(l, "a number in it is not finite");
    return cells_fit_recipe(rows, r) ? KARMA_OK : damaged(l, "its rows do not fit its columns");
}

static karma_status load_arrays(const loader *l, karma_model *m, const karma_i_tensor_list *list) {
    for (size_t k = 0; k < m->n_members; k++) {
        KARMA_TRY(load_tensor(l, &list->tensors[k]));
        if (!all_finite(m->members[k].coefficients, m->info.n_support * m->n_outputs))
            return damaged(l, "a number in it is not finite");
    }
    for (size_t e = 0; e < m->encoder.n; e++)
        KARMA_TRY(load_encoded(l, m->encoder.recipes[e], karma_i_rows_encoding(m->support, e),
                               karma_i_tensors_of(list, e), &list->flat[e]));
    karma_error inner = {0};
    if (karma_i_rows_validate(m->support, &inner) != KARMA_OK) return damaged(l, inner.message);
    for (size_t e = 0; e < m->encoder.n; e++)
        KARMA_TRY(check_encoded(l, m->encoder.recipes[e], karma_i_rows_encoding(m->support, e)));
    return KARMA_OK;
}

static karma_status load_support(const loader *l, karma_model *m) {
    size_t n = m->info.n_support;
    double least = 8.0 * (double)m->n_outputs * (double)m->n_members;
    for (size_t e = 0; e < m->encoder.n; e++) least += least_encoded_bytes(m->encoder.recipes[e]);
    if ((double)n * least > (double)l->size) return damaged(l, "it is truncated");
    for (size_t k = 0; k < m->n_members; k++) {
        m->members[k].coefficients = karma_i_alloc(n, m->n_outputs * sizeof(double));
        if (!m->members[k].coefficients) return karma_i_fail_memory(l->err);
    }
    KARMA_TRY(karma_i_encoder_new_rows(&m->support, &m->encoder, n, l->err));
    for (karma_i_rows *rows = m->support; rows; rows = rows->next) rows->n_rows = n;
    KARMA_TRY(make_cells(l, m->support));
    karma_i_tensor_list list;
    karma_status st = karma_i_tensors_describe(&list, m, l->err);
    if (st == KARMA_OK) st = load_arrays(l, m, &list);
    karma_i_tensors_clear(&list);
    return st;
}

/* What a factor learned must fit its rows. */
static karma_status load_facts(const loader *l, karma_i_factor_facts *facts, const karma_i_factor_plan *plan,
                               const karma_i_rows *rows, const json_t *object) {
    json_int_t overlap = json_integer_value(json_object_get(object, "largest_overlap"));
    *facts = (karma_i_factor_facts){json_number_value(json_object_get(object, "scale")),
                                    json_number_value(json_object_get(object, "spread")), (size_t)overlap};
    if (overlap < 0 || (size_t)overlap > rows->n_attributes) return damaged(l, "its largest overlap is wrong");
    for (size_t i = 0; i < rows->n_rows; i++)
        if (karma_i_rows_n_observed(rows, i) > (size_t)overlap)
            return damaged(l, "a row observes more than its largest overlap");
    /* numbers this far out cannot come from data, and would overflow the weights */
    if (!(facts->scale >= 1e-9 && facts->scale <= 1e18)) return damaged(l, "its scale is out of range");
    if (plan->scale != KARMA_SCALE_MEAN && plan->scale != facts->scale)
        return damaged(l, "its scale is not that of its options");
    return facts->spread >= 1e-300 && facts->spread <= 1e300 ? KARMA_OK : damaged(l, "its spread is out of range");
}

/* `array`: what the member's factors learned, from `first` on. */
static karma_status load_kernel(const loader *l, karma_i_kernel *kernel, const karma_i_formula *formula,
                                const karma_i_rows *support, const json_t *array, size_t first) {
    karma_i_factor_facts *facts = karma_i_alloc(formula->n_factors, sizeof *facts);
    karma_status st = facts ? KARMA_OK : karma_i_fail_memory(l->err);
    for (size_t f = 0; st == KARMA_OK && f < formula->n_factors; f++)
        st = load_facts(l, &facts[f], &formula->factors[f],
                        karma_i_rows_encoding(support, formula->factors[f].encoding), json_array_get(array, first + f));
    if (st == KARMA_OK) st = karma_i_kernel_restore(kernel, formula, facts, l->err);
    karma_i_free(facts);
    return st;
}

static karma_status load_kernels(const loader *l, karma_model *m, const karma_i_committee *committee) {
    const json_t *array = json_object_get(l->document, "factors");
    size_t n_factors = 0;
    for (size_t k = 0; k < committee->n; k++) n_factors += committee->formulas[k].n_factors;
    if (json_array_size(array) != n_factors) return damaged(l, "its factors are not those of its kernel");
    for (size_t k = 0, first = 0; k < committee->n; first += committee->formulas[k++].n_factors)
        KARMA_TRY(load_kernel(l, &m->members[k].kernel, &committee->formulas[k], m->support, array, first));
    m->info.scale = m->members[0].kernel.factors[0].scale;
    m->info.log_norm = m->members[0].kernel.factors[0].log_norm;
    return KARMA_OK;
}

static karma_status load_committee(const loader *l, karma_i_committee *committee, const karma_fit_options *options) {
    karma_error inner = {0};
    karma_status st = karma_i_committee_parse(committee, options, &inner);
    if (st == KARMA_ERR_MEMORY) return karma_i_fail_memory(l->err);
    return st == KARMA_OK ? KARMA_OK : damaged(l, inner.message);
}

/* An object that nothing here depends on: that it is one is all there is to check. */
static karma_status load_search(const loader *l, karma_model *m) {
    const json_t *object = json_object_get(l->document, "search");
    if (!object) return KARMA_OK;
    if (!json_is_object(object)) return damaged(l, "the account of its search is not one");
    size_t n = json_dumpb(object, NULL, 0, JSON_COMPACT);
    m->search = karma_i_zalloc(n + 1, 1);
    if (!m->search || json_dumpb(object, m->search, n, JSON_COMPACT) != n) return karma_i_fail_memory(l->err);
    return KARMA_OK;
}

static karma_status build_model(const loader *l, karma_model *m) {
    karma_i_committee committee;
    KARMA_TRY(load_options(l, &m->options));
    KARMA_TRY(load_info(l, &m->info));
    KARMA_TRY(load_heads(l, m));
    KARMA_TRY(load_search(l, m));
    KARMA_TRY(load_committee(l, &committee, &m->options));
    m->members = karma_i_zalloc(committee.n, sizeof *m->members);
    karma_status st = m->members ? KARMA_OK : karma_i_fail_memory(l->err);
    if (st == KARMA_OK) m->n_members = committee.n;
    if (st == KARMA_OK) st = load_encoder(l, &m->encoder, &committee);
    if (st == KARMA_OK) st = load_support(l, m);
    if (st == KARMA_OK) st = load_kernels(l, m, &committee);
    karma_i_committee_clear(&committee);
    return st;
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
