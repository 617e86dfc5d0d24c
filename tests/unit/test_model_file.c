/* Model files: what is saved is what is loaded; a damaged, truncated or forged file is refused, or makes a model
 * that behaves as documented. Forged files have a correct checksum, computed here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <zlib.h>

#include "base/archive.h"
#include "base/rng.h"
#include "karma/karma.h"
#include "model/model.h"
#include "tempfile.h"

/* --- tables, models, files ----------------------------------------------------------------------------- */

static karma_table *table_of(const char *csv, const char *target) {
    temp_file file;
    karma_read_options o;
    karma_table *table = NULL;
    karma_error err;
    karma_options_init(karma_read_option_table(), &o);
    assert_int_equal(karma_option_set(karma_option_find(karma_read_option_table(), "target"), &o, target, NULL),
                     KARMA_OK);
    temp_create(&file, ".csv", csv, strlen(csv));
    if (karma_table_read(&table, file.path, &o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    temp_remove(&file);
    karma_options_clear(karma_read_option_table(), &o);
    return table;
}

static const char *const CSV_BINARY = "size,colour,naïve \"名\",label\n1,red,0.5,yes\n2,,1.5,no\n,blue,-1,yes\n"
                                      "4.5,green,,no\n-3,red,2,yes\n0.25,,0,no\n";
static const char *const CSV_CLASSES = "a,b,what\n1,2,x\n2,,y\n,3,z\n4,1,y\n5,5,x\n0,,z\n-1,-2,x\n";
static const char *const CSV_NUMBERS = "a,b,price\n1,p,10.5\n2,q,11.25\n,r,-3\n4,,17\n5,p,18.125\n0,q,9\n7,,23\n";

/* Five levels: codes. */
static const char *const CSV_CODES = "a,b,fruit,label\n1,2,fig,yes\n2,,plum,no\n,3,pear,yes\n4,1,,no\n5,5,kiwi,yes\n"
                                     "0,,lime,no\n-1,-2,fig,yes\n3,2,plum,no\n";

static karma_fit_options quick_options(void) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.solver = KARMA_SOLVER_ONLINE;
    o.passes = 3;
    o.threads = 1;
    return o;
}

static karma_model *model_of(const karma_table *table, const karma_fit_options *options) {
    karma_model *model = NULL;
    karma_error err;
    if (karma_fit(&model, table, options, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return model;
}

/* A file in memory, and where it goes. */
typedef struct image {
    temp_file file;
    unsigned char *bytes;
    size_t size;
} image;

static void take_image(image *out, const karma_model *model) {
    temp_create(&out->file, ".karma", "", 0);
    assert_int_equal(karma_model_save(model, out->file.path, NULL), KARMA_OK);
    FILE *stream = fopen(out->file.path, "rb");
    assert_non_null(stream);
    out->bytes = malloc(1 << 20);
    out->size = fread(out->bytes, 1, 1 << 20, stream);
    assert_in_range(out->size, 100, (1 << 20) - 1);
    fclose(stream);
}

static void drop_image(image *im) {
    temp_remove(&im->file);
    free(im->bytes);
}

static void write_bytes(const image *im, const unsigned char *bytes, size_t size) {
    FILE *stream = fopen(im->file.path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
}

static void assert_unloadable(const image *im, const char *what, size_t number) {
    karma_model *model = NULL;
    karma_error err = {0};
    karma_status st = karma_model_load(&model, im->file.path, &err);
    if (st != KARMA_ERR_FORMAT) fail_msg("%s %zu: %s", what, number, st == KARMA_OK ? "was loaded" : err.message);
    assert_null(model);
    assert_non_null(strstr(err.message, im->file.path));
}

/* --- round trips --------------------------------------------------------------------------------------- */

static void check_round_trip(const char *csv, const char *target, const karma_fit_options *options) {
    karma_table *table = table_of(csv, target);
    karma_model *model = model_of(table, options), *again = NULL;
    image im, second;
    karma_error err;
    take_image(&im, model);
    if (karma_model_load(&again, im.file.path, &err) != KARMA_OK) fail_msg("%s", err.message);
    size_t n = karma_table_n_rows(table) * karma_model_n_outputs(model);
    double *before = malloc(n * sizeof *before), *after = malloc(n * sizeof *after);
    assert_int_equal(karma_model_n_outputs(again), karma_model_n_outputs(model));
    assert_int_equal(karma_predict(before, model, table, 1, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_predict(after, again, table, 2, NULL, NULL), KARMA_OK);
    assert_memory_equal(before, after, n * sizeof *before);
    int different = 0;
    for (size_t i = 1; i < n; i++) different |= before[i] != before[0];
    assert_true(different); /* the predictions differ */

    assert_int_equal(karma_model_task(again, 0), karma_model_task(model, 0));
    assert_int_equal(karma_model_n_classes(again, 0), karma_model_n_classes(model, 0));
    for (size_t k = 0; k < karma_model_n_classes(model, 0); k++) {
        assert_string_equal(karma_model_class(again, 0, k), karma_model_class(model, 0, k));
        assert_int_equal(karma_model_class_count(again, 0, k), karma_model_class_count(model, 0, k));
    }
    assert_string_equal(karma_model_target_name(again, 0), target);
    assert_string_equal(karma_model_loss_name(again, 0), karma_model_loss_name(model, 0));
    assert_int_equal(karma_model_n_attributes(again), karma_table_n_attributes(table));
    for (size_t j = 0; j < karma_model_n_attributes(again); j++) {
        assert_string_equal(karma_model_attribute_name(again, j), karma_table_attribute_name(table, j));
        assert_int_equal(karma_model_attribute_kind(again, j), karma_table_attribute_kind(table, j));
        assert_int_equal(karma_model_attribute_n_levels(again, j), karma_table_n_levels(table, j));
        for (size_t l = 0; l < karma_table_n_levels(table, j); l++)
            assert_string_equal(karma_model_attribute_level(again, j, l), karma_table_level(table, j, l));
    }
    const karma_option_table *options_table = karma_fit_option_table();
    for (size_t i = 0; i < options_table->count; i++) {
        char old_text[100], new_text[100];
        if (strcmp(options_table->options[i].name, "threads") == 0) continue; /* not part of the model file */
        karma_option_text(&options_table->options[i], karma_model_options(model), old_text, sizeof old_text);
        karma_option_text(&options_table->options[i], karma_model_options(again), new_text, sizeof new_text);
        assert_string_equal(old_text, new_text);
    }
    const karma_fit_info *a = karma_model_info(model), *b = karma_model_info(again);
    assert_true(a->C == b->C && a->rho == b->rho && a->scale == b->scale && a->mean_loss == b->mean_loss);
    assert_true(a->n_rows == b->n_rows && a->n_support == b->n_support && a->rounds == b->rounds);
    assert_true(a->stop == b->stop && a->n_unlabelled == b->n_unlabelled && a->error_rate == b->error_rate);
    /* the bytes of a file depend on the model only */
    take_image(&second, again);
    assert_int_equal(second.size, im.size);
    assert_memory_equal(second.bytes, im.bytes, im.size);
    drop_image(&im);
    drop_image(&second);
    free(before);
    free(after);
    karma_model_free(model);
    karma_model_free(again);
    karma_table_free(table);
}

static void models_are_the_same_after_a_file(void **state) {
    (void)state;
    karma_fit_options o = quick_options();
    static char *const kernels[] = {"linear",
                                    "rank",
                                    "rank + 0.5*linear(gamma=1, outer=rbf, width=2)",
                                    "linear(outer=poly, degree=3) * rank(bias=0)",
                                    "3*rank(outer=series, series=1:0:0.25)",
                                    "linear(outer=laplace) + linear(outer=cosine, scale=paper)",
                                    "subspace",
                                    "union",
                                    "rank + 0.5*subspace",
                                    "linear(gamma=1) @ 0.5,10:2 | rank(outer=rbf) @ 3 | linear * rank",
                                    "subspace(space=ranks)",
                                    "subspace(outer=rbf) * linear + 2*subspace(bias=0)"};
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        o = quick_options();
        o.kernel = kernels[k];
        o.subspace_rank = 2; /* in tables of a few rows there is none to find */
        check_round_trip(CSV_BINARY, "label", &o);
        check_round_trip(CSV_CLASSES, "what", &o);
        for (o.standardise = 0; o.standardise < 2; o.standardise++)
            for (o.rank_form = 0; o.rank_form < KARMA_N_RANK_FORMS; o.rank_form++)
                check_round_trip(CSV_CODES, "label", &o);
        o.standardise = 1;
        o.rank_form = KARMA_RANK_FORM_CENTRED;
        check_round_trip(CSV_CLASSES, "what", &o);
        o.task = KARMA_TASK_REGRESS;
        check_round_trip(CSV_NUMBERS, "price", &o);
    }
    o.kernel = NULL;
    o.unit_ball = 1, o.gamma = 4, o.scale = 1.0, o.bias = 0.1, o.huber = 0.3333333333333333;
    check_round_trip(CSV_NUMBERS, "price", &o);
    o = quick_options();
    o.loss = KARMA_LOSS_LOGISTIC, o.standardise = 0, o.bias = 0.0, o.C = 1.0 / 3.0;
    check_round_trip(CSV_BINARY, "label", &o);
    o.gamma = 1000, o.scale = 1e-3; /* weights that need log_norm */
    check_round_trip(CSV_BINARY, "label", &o);
    for (o = quick_options(), o.kernel = "union", o.subspace_rank = 0; o.subspace_rank < 12; o.subspace_rank += 11)
        for (o.unit_ball = 0; o.unit_ball < 2; o.unit_ball++) check_round_trip(CSV_CODES, "label", &o);
}

/* --- damage -------------------------------------------------------------------------------------------- */

static void binary_image(image *im) {
    karma_table *table = table_of(CSV_BINARY, "label");
    karma_fit_options o = quick_options();
    karma_model *model = model_of(table, &o);
    take_image(im, model);
    karma_model_free(model);
    karma_table_free(table);
}

static void every_truncation_is_refused(void **state) {
    (void)state;
    image im;
    binary_image(&im);
    for (size_t size = 0; size < im.size; size++) {
        write_bytes(&im, im.bytes, size);
        assert_unloadable(&im, "length", size);
    }
    im.bytes[im.size] = 0; /* and one byte too many */
    write_bytes(&im, im.bytes, im.size + 1);
    assert_unloadable(&im, "length", im.size + 1);
    drop_image(&im);
}

static void every_altered_byte_is_refused(void **state) {
    (void)state;
    image im;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    binary_image(&im);
    for (size_t i = 0; i < im.size; i++)
        for (int way = 0; way < 2; way++) {
            size_t draw = karma_i_rng_below(&rng, way ? 255 : 8);
            unsigned char change = (unsigned char)(way ? draw + 1 : (size_t)1 << draw);
            im.bytes[i] ^= change;
            write_bytes(&im, im.bytes, im.size);
            im.bytes[i] ^= change;
            assert_unloadable(&im, "byte", i);
        }
    drop_image(&im);
}

static void other_files_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"", "a,b\n1,2\n", "{}", "\2\0\0\0\0\0\0\0{}",
                                        "\xff\xff\xff\xff\xff\xff\xff\xff{}"};
    static const size_t sizes[] = {0, 8, 2, 10, 10};
    image im;
    temp_create(&im.file, ".karma", "", 0);
    im.bytes = NULL;
    for (size_t i = 0; i < 5; i++) {
        write_bytes(&im, (const unsigned char *)texts[i], sizes[i]);
        assert_unloadable(&im, "text", i);
    }
    karma_model *model = NULL;
    assert_int_equal(karma_model_load(&model, "/nonexistent/model", NULL), KARMA_ERR_IO);
    assert_int_equal(karma_model_load(&model, im.file.directory, NULL), KARMA_ERR_IO);
    assert_null(model);
    drop_image(&im);
}

/* --- forgeries ----------------------------------------------------------------------------------------- */

/* A file taken apart. */
typedef struct parts {
    json_t *header, *document;
    unsigned char *data;
    size_t data_size;
} parts;

static void take_apart(parts *out, const image *im) {
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--) length = length << 8 | im->bytes[i];
    out->header = json_loadb((const char *)im->bytes + 8, length, 0, NULL);
    assert_non_null(out->header);
    out->document =
        json_loads(json_string_value(json_object_get(json_object_get(out->header, "__metadata__"), "karma")), 0, NULL);
    assert_non_null(out->document);
    out->data = im->bytes + 8 + length;
    out->data_size = im->size - 8 - (size_t)length;
}

static void drop_parts(parts *p) {
    json_decref(p->header);
    json_decref(p->document);
}

static const char CHECKSUM[] = "\"checksum\":\"";

/* Puts a file together and signs it. */
static void forge(const image *im, const parts *p) {
    json_t *header = json_deep_copy(p->header);
    char *text = json_dumps(p->document, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    json_t *metadata = json_object_get(header, "__metadata__");
    if (json_is_object(metadata)) {
        if (json_is_string(json_object_get(metadata, "karma")))
            json_object_set_new(metadata, "karma", json_string(text));
        if (json_is_string(json_object_get(metadata, "checksum")))
            json_object_set_new(metadata, "checksum", json_string("00000000"));
    }
    free(text);
    text = json_dumps(header, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(header);
    size_t n = strlen(text), padded = (n + 8 + 63) / 64 * 64 - 8, size = 8 + padded + p->data_size;
    unsigned char *bytes = malloc(size);
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    memcpy(bytes + 8, text, n);
    memset(bytes + 8 + n, ' ', padded - n);
    memcpy(bytes + 8 + padded, p->data, p->data_size);
    char *place = strstr(text, CHECKSUM), digits[9];
    if (place) {
        snprintf(digits, sizeof digits, "%08lx", crc32(crc32(0, NULL, 0), bytes, (uInt)size) & 0xffffffffUL);
        memcpy(bytes + 8 + (place - text) + sizeof CHECKSUM - 1, digits, 8);
    }
    write_bytes(im, bytes, size);
    free(text);
    free(bytes);
}

/* Completing missing cells gives a valid table, if the model can do it at all. */
static void check_completion(const karma_model *m, const karma_table *table, const char *what) {
    karma_completion c;
    karma_error err = {0};
    if (!karma_model_has_subspace(m) || karma_complete(&c, m, table, 1, 1, NULL, &err) != KARMA_OK) return;
    if (karma_table_validate(c.table, &err) != KARMA_OK || karma_table_validate(c.errors, &err) != KARMA_OK)
        fail_msg("%s: %s", what, err.message);
    karma_completion_clear(&c);
}

/* Everything that must hold for a loaded model. */
static void check_model(const karma_model *m, const karma_table *table, const char *what) {
    karma_error err = {0};
    if (karma_i_rows_validate(m->support, &err) != KARMA_OK) fail_msg("%s: %s", what, err.message);
    if (karma_options_check(karma_fit_option_table(), &m->task.options, &err) != KARMA_OK)
        fail_msg("%s: %s", what, err.message);
    if (!(m->info.scale > 0.0)) fail_msg("%s: scale %g", what, m->info.scale);
    for (size_t c = 0; c <= m->members[0].kernel.factors[0].largest_overlap; c++)
        if (!isfinite(m->members[0].kernel.factors[0].weight[c]))
            fail_msg("%s: weight %zu is %g", what, c, (double)m->members[0].kernel.factors[0].weight[c]);
    size_t outputs = karma_model_n_outputs(m), n = karma_table_n_rows(table);
    for (size_t i = 0; i < m->support->n_rows * outputs; i++)
        if (!isfinite(m->members[0].coefficients[i])) fail_msg("%s: a coefficient is not finite", what);
    double *scores = malloc(n * outputs * sizeof *scores);
    if (karma_predict(scores, m, table, 1, NULL, &err) == KARMA_OK)
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < outputs; k++)
                if (!isfinite(scores[i * outputs + k])) fail_msg("%s: a score is not finite", what);
            if (karma_model_task(m, 0) != KARMA_TASK_CLASSIFY) continue;
            size_t class = karma_model_decide(m, 0, scores + i * outputs);
            if (class >= karma_model_n_classes(m, 0))
                fail_msg("%s: class %zu of %zu", what, class, karma_model_n_classes(m, 0));
        }
    free(scores);
    check_completion(m, table, what);
}

typedef struct forgery {
    image im;
    parts p;
    karma_table *table;
    size_t n_refused, n_loaded;
} forgery;

/* The file is refused, or the model behaves as documented. */
static void try_forgery(forgery *f, const char *what) {
    karma_model *model = NULL;
    karma_error err = {0};
    forge(&f->im, &f->p);
    karma_status st = karma_model_load(&model, f->im.file.path, &err);
    if (st == KARMA_OK) {
        check_model(model, f->table, what);
        f->n_loaded++;
    } else {
        if (st != KARMA_ERR_FORMAT && st != KARMA_ERR_MEMORY) fail_msg("%s: status %d, %s", what, (int)st, err.message);
        assert_null(model);
        f->n_refused++;
    }
    karma_model_free(model);
}

static const char *const HOSTILE[] = {"null",
                                      "true",
                                      "-1",
                                      "0",
                                      "1",
                                      "3",
                                      "7",
                                      "4294967296",
                                      "4611686018427387904",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "1e308",
                                      "-1e308",
                                      "1e-320",
                                      "-0.5",
                                      "0.5",
                                      "\"\"",
                                      "\"x\"",
                                      "\"nan\"",
                                      "\"-1\"",
                                      "\"1e999\"",
                                      "\"category\"",
                                      "\"number\"",
                                      "\"classify\"",
                                      "\"regress\"",
                                      "\"logistic\"",
                                      "\"huber\"",
                                      "\"F32\"",
                                      "\"\\u0000\"",
                                      "[]",
                                      "{}",
                                      "[0]",
                                      "[1,2]",
                                      "[\"b\",\"a\"]",
                                      "[[[]]]"};
enum { N_HOSTILE = sizeof HOSTILE / sizeof HOSTILE[0] };

static void forge_below(forgery *f, json_t *node, const char *path);

/* Every hostile value in place of one child, then the child's own children. `put` places a new reference. */
static void forge_member(forgery *f, json_t *object, const char *key, const char *path) {
    char what[400];
    json_t *original = json_incref(json_object_get(object, key));
    for (size_t h = 0; h < N_HOSTILE; h++) {
        snprintf(what, sizeof what, "%s.%s = %s", path, key, HOSTILE[h]);
        json_t *value = json_loads(HOSTILE[h], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(value);
        json_object_set_new(object, key, value);
        try_forgery(f, what);
    }
    snprintf(what, sizeof what, "%s without %s", path, key);
    json_object_del(object, key);
    try_forgery(f, what);
    json_object_set(object, key, original);
    snprintf(what, sizeof what, "%s.%s", path, key);
    forge_below(f, original, what);
    json_decref(original);
}

static void forge_item(forgery *f, json_t *array, size_t index, const char *path) {
    char what[400];
    json_t *original = json_incref(json_array_get(array, index));
    for (size_t h = 0; h < N_HOSTILE; h++) {
        snprintf(what, sizeof what, "%s[%zu] = %s", path, index, HOSTILE[h]);
        json_array_set_new(array, index, json_loads(HOSTILE[h], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
        try_forgery(f, what);
    }
    json_array_remove(array, index);
    snprintf(what, sizeof what, "%s without item %zu", path, index);
    try_forgery(f, what);
    json_array_insert(array, index, original);
    json_array_insert_new(array, index, json_deep_copy(original));
    snprintf(what, sizeof what, "%s with item %zu twice", path, index);
    try_forgery(f, what);
    json_array_remove(array, index);
    snprintf(what, sizeof what, "%s[%zu]", path, index);
    forge_below(f, original, what);
    json_decref(original);
}

static void forge_below(forgery *f, json_t *node, const char *path) {
    if (json_is_object(node)) {
        json_t *keys = json_array();
        const char *key;
        json_t *value;
        json_object_foreach(node, key, value) json_array_append_new(keys, json_string(key));
        for (size_t i = 0; i < json_array_size(keys); i++)
            forge_member(f, node, json_string_value(json_array_get(keys, i)), path);
        json_decref(keys);
    }
    for (size_t i = 0; json_is_array(node) && i < json_array_size(node); i++) forge_item(f, node, i, path);
}

static void open_forgery(forgery *f, const char *csv, const char *target, const karma_fit_options *o) {
    *f = (forgery){.table = table_of(csv, target)};
    karma_model *model = model_of(f->table, o), *again = NULL;
    take_image(&f->im, model);
    take_apart(&f->p, &f->im);
    forge(&f->im, &f->p); /* unchanged it loads, so refusals below are due to the change */
    karma_error err;
    if (karma_model_load(&again, f->im.file.path, &err) != KARMA_OK) fail_msg("%s", err.message);
    karma_model_free(again);
    karma_model_free(model);
}

static void close_forgery(forgery *f) {
    drop_parts(&f->p);
    drop_image(&f->im);
    karma_table_free(f->table);
}

static void every_forged_header_is_refused_or_harmless(void **state) {
    (void)state;
    karma_fit_options o = quick_options();
    static const char *const *const files[] = {&CSV_BINARY, &CSV_CLASSES, &CSV_NUMBERS, &CSV_NUMBERS, &CSV_CODES};
    static const char *const targets[] = {"label", "what", "price", "price", "label"};
    for (int which = 0; which < 5; which++) {
        forgery f;
        o.task = which == 2 || which == 3 ? KARMA_TASK_REGRESS : KARMA_TASK_AUTO;
        o.kernel = which == 3 ? "rank" : NULL; /* ranks have arrays of their own */
        o.rank_form = which == 3 ? KARMA_RANK_FORM_CENTRED : KARMA_RANK_FORM_PLAIN;
        open_forgery(&f, *files[which], targets[which], &o);
        if (which == 0 || which == 3) forge_below(&f, f.p.header, "header");
        if (which == 0) forge_below(&f, f.p.document, "document");
        if (which > 0) forge_below(&f, json_object_get(f.p.document, "targets"), "document.targets");
        if (which > 0) forge_below(&f, json_object_get(f.p.document, "columns"), "document.columns");
        assert_true(f.n_refused > f.n_loaded);
        close_forgery(&f);
    }
}

static void assert_forgery_refused(forgery *f, const char *what, const char *word) {
    karma_model *model = NULL;
    karma_error err = {0};
    forge(&f->im, &f->p);
    karma_status st = karma_model_load(&model, f->im.file.path, &err);
    if (st != KARMA_ERR_FORMAT) fail_msg("%s: %s", what, st == KARMA_OK ? "was loaded" : err.message);
    if (!strstr(err.message, word)) fail_msg("%s: '%s' does not say '%s'", what, err.message, word);
}

/* The value at a path such as "members.0.factors.0.scale"; NULL if there is none. */
static json_t *at_path(json_t *node, const char *path) {
    char name[40];
    while (node && *path) {
        size_t length = strcspn(path, ".");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, path);
        node = json_is_array(node) ? json_array_get(node, (size_t)atoi(name)) : json_object_get(node, name);
        path += length + (path[length] == '.');
    }
    return node;
}

/* Replaces the value at a path; NULL removes it. */
static void set_at(json_t *root, const char *path, const char *value) {
    const char *last = strrchr(path, '.'), *name = last ? last + 1 : path;
    char above[100];
    (void)snprintf(above, sizeof above, "%.*s", last ? (int)(last - path) : 0, path);
    json_t *object = at_path(root, above), *json = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    assert_non_null(object);
    if (!value)
        assert_int_equal(json_object_del(object, name), 0);
    else
        assert_int_equal(json_object_set_new(object, name, json), 0);
}

/* The same for an array's entry in the header, whose name has points. */
static void set_entry(forgery *f, const char *array, const char *key, const char *value) {
    json_t *entry = json_object_get(f->p.header, array);
    assert_non_null(entry);
    assert_int_equal(json_object_set_new(entry, key, json_loads(value, JSON_DECODE_ANY, NULL)), 0);
}

/* Forgeries that must always be refused. */
static void these_forgeries_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *path, *value;
    } changes[] = {
        {"format", "0"},
        {"format", "1"},
        {"format", "-1"},
        {"format", "\"1\""},
        {"version", "1"},
        {"encodings.0.radius", "-1"},
        {"encodings.0.radius", "\"0\""},
        {"encodings.0.polar", "1"},
        {"encodings.0.sparse", "true"},
        {"encodings.0.polar", "true"},
        {"encodings.0.matrix_columns", "6"},
        {"encodings", "[]"},
        {"support", "[]"},
        {"targets.0.loss", "\"auto\""},
        {"targets.0.loss", "\"love\""},
        {"targets.0.calibration", "{}"},
        {"targets.0.calibration", "[]"},
        {"targets.0.calibration", "{\"kind\":\"off\"}"},
        {"targets.0.calibration", "{\"kind\":\"sigmoid\"}"},
        {"targets.0.calibration", "{\"kind\":\"isotonic\"}"},
        {"targets", "[]"},
        {"columns", "[]"},
        {"columns", "{}"},
        {"columns", "[{}]"},
        {"columns.0.kind", "\"category\""},
        {"columns.0.kind", "\"ordered\""},
        {"columns.0.name", "7"},
        {"options.gamma", "\"0\""},
        {"options.gamma", "\"1025\""},
        {"options.gamma", "2"},
        {"options.bias", "\"nan\""},
        {"options.scale", "\"-2\""},
        {"options.loss", "\"love\""},
        {"options.standardise", "\"yes\""},
        {"options", "[]"},
        {"members.0.factors.0.scale", "0"},
        {"members.0.factors.0.scale", "-1"},
        {"members.0.factors.0.scale", "1e-320"},
        {"members.0.factors.0.scale", "\"1\""},
        {"info.n_support", "-1"},
        {"info.n_support", "0"},
        {"info.n_support", "7"},
        {"info.n_support", "2305843009213693952"},
        {"info.n_support", "5.0"},
        {"info.rounds", "-1"},
        {"info.stop", "1"},
        {"info.stop", "\"tired\""},
        {"info.solver", "\"auto\""},
        {"info.gap", "null"},
        {"targets.0.name", "1"},
        {"targets.0.task", "\"dance\""},
        {"targets.0.task", "\"auto\""},
        {"targets.0.classes", "[\"yes\"]"},
        {"targets.0.classes", "[\"yes\",\"yes\"]"},
        {"targets.0.classes", "[\"a\",\"b\",\"c\"]"},
        {"targets.0.classes", "[1,2]"},
        {"targets.0.classes", "{}"},
    };
    static const struct {
        const char *array, *key, *value;
    } entries[] = {
        {"targets.0.counts", "shape", "[3]"},
        {"members.0.coefficients", "shape", "[6]"},
        {"members.0.coefficients", "shape", "[1,6]"},
        {"members.0.coefficients", "shape", "[6,1,1]"},
        {"members.0.coefficients", "shape", "[6,1.0]"},
        {"members.0.coefficients", "dtype", "\"F32\""},
        {"members.0.coefficients", "dtype", "\"U64\""},
        {"members.0.coefficients", "data_offsets", "[-8,40]"},
        {"members.0.coefficients", "data_offsets", "[0,48,96]"},
        {"support.0.values", "data_offsets", "[0,9223372036854775807]"},
        {"support.0.values", "data_offsets", "[9223372036854775800,9223372036854775807]"},
        {"support.0.values", "data_offsets", "[0,0]"},
        {"encodings.0.shift", "data_offsets", "[8,0]"},
        {"support.0.mask", "shape", "[6,2]"},
        {"encodings.0.feature_start", "shape", "[5]"},
    };
    karma_fit_options o = quick_options();
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        forgery f;
        char what[200];
        open_forgery(&f, CSV_BINARY, "label", &o);
        set_at(f.p.document, changes[i].path, changes[i].value);
        snprintf(what, sizeof what, "%s %s", changes[i].path, changes[i].value);
        assert_forgery_refused(&f, what, "");
        close_forgery(&f);
    }
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        forgery f;
        char what[200];
        open_forgery(&f, CSV_BINARY, "label", &o);
        set_entry(&f, entries[i].array, entries[i].key, entries[i].value);
        snprintf(what, sizeof what, "%s %s %s", entries[i].array, entries[i].key, entries[i].value);
        assert_forgery_refused(&f, what, "array");
        close_forgery(&f);
    }
}

static unsigned char *array_of(forgery *f, const char *name) {
    json_t *offsets = json_object_get(json_object_get(f->p.header, name), "data_offsets");
    assert_non_null(offsets);
    return f->p.data + json_integer_value(json_array_get(offsets, 0));
}

/* What members have: coefficients of their own, and factors. */
static void forged_members_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *path, *value; /* NULL: it is removed */
    } changes[] = {
        {"members", "[{\"factors\":[{\"scale\":1,\"spread\":1,\"largest_overlap\":3}]}]"},
        {"members", "[]"},
        {"members.1.factors", "[]"},
        {"members.1.factors.0.scale", "0"},
        {"members.1.factors.0.scale", "-1"},
        {"members.1.factors.0.scale", "1e308"},
        {"members.1.factors.0.scale", "null"},
        {"members.1.factors.0.spread", "-1"},
        {"members.1.factors.0.spread", "null"},
        {"members.1.factors.0.spread", NULL},
        {"members.1.factors.0.largest_overlap", "-1"},
        {"members.1.factors.0.largest_overlap", "1"},
        {"members.1.factors.0.largest_overlap", "1e9"},
        {"members.1.factors.0.largest_overlap", "9223372036854775807"},
        {"options.kernel", "\"linear | rank | linear\""},
        {"options.kernel", "\"linear\""},
        {"options.kernel", "\"linear | rank + linear\""},
        {"options.kernel", "\"linear | linear\""},
        {"options.kernel", "\"linear | rank @ 0\""},
    };
    karma_fit_options o = quick_options();
    o.kernel = "linear | rank(outer=rbf) @ 1,10:3";
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        forgery f;
        open_forgery(&f, CSV_BINARY, "label", &o);
        assert_int_equal(json_array_size(at_path(f.p.document, "members.1.factors")), 1);
        set_at(f.p.document, changes[i].path, changes[i].value);
        assert_forgery_refused(&f, changes[i].path, "");
        close_forgery(&f);
    }
    for (int which = 0; which < 6; which++) { /* of a member that is not the first */
        const char *name = "members.1.coefficients";
        static const double bad[] = {NAN, INFINITY, 1e260};
        forgery f;
        open_forgery(&f, CSV_BINARY, "label", &o);
        if (which == 0) json_object_del(f.p.header, name);
        if (which == 1) set_entry(&f, name, "shape", "[1, 1]");
        if (which == 2) set_entry(&f, name, "dtype", "\"F32\"");
        if (which > 2) memcpy(array_of(&f, name), &bad[which - 3], sizeof bad[0]);
        assert_forgery_refused(&f, name, "");
        close_forgery(&f);
    }
}

/* The account of a search, as in docs/model-format.md. */
static const char SEARCH[] =
    "{\"goal\":\"balanced-accuracy\",\"end\":\"out of time\",\"score\":0.1,\"error\":null,\"values\":[1,2.5,null],"
    "\"n_folds\":2,\"n_repeats\":3,\"n_rows\":9,\"n_rows_tried\":8,\"n_kernels\":7,\"n_kernels_to_the_end\":6,"
    "\"n_tried\":5,\"n_chosen\":4,\"constant_score\":0.25,"
    "\"zero_imputation\":{\"score\":0.5,\"error\":0.125,\"values\":[1,2,3]},"
    "\"gains\":[{\"ingredient\":\"gamma\",\"gain\":-1,\"error\":2}],"
    "\"candidates\":[{\"kernel\":\"rank\",\"C_factor\":10,\"score\":3,\"error\":4,\"chosen\":true},"
    "{\"kernel\":\"linear\",\"C_factor\":1,\"score\":null,\"error\":null,\"chosen\":false}],"
    "\"members\":[{\"kernel\":\"rank\",\"C_factors\":[1,10],\"weights\":[0.25,0.75]}]}";

static void the_account_of_a_search_is_read(void **state) {
    (void)state;
    karma_fit_options o = quick_options();
    forgery f;
    karma_model *model = NULL;
    open_forgery(&f, CSV_BINARY, "label", &o);
    json_object_set_new(f.p.document, "search", json_loads(SEARCH, 0, NULL));
    forge(&f.im, &f.p);
    karma_error err;
    if (karma_model_load(&model, f.im.file.path, &err) != KARMA_OK) fail_msg("%s", err.message);
    const karma_search_info *info = karma_model_search_info(model);
    assert_int_equal(info->goal, KARMA_GOAL_BALANCED_ACCURACY);
    assert_int_equal(info->end, KARMA_SEARCH_OUT_OF_TIME);
    assert_true(info->score == 0.1 && isnan(info->error) && info->n_values == 3);
    assert_true(info->values[0] == 1.0 && info->values[1] == 2.5 && isnan(info->values[2]));
    assert_true(info->n_folds == 2 && info->n_repeats == 3 && info->n_rows == 9 && info->n_rows_tried == 8);
    assert_true(info->n_kernels == 7 && info->n_kernels_to_the_end == 6 && info->n_tried == 5 && info->n_chosen == 4);
    assert_true(isnan(info->seconds) && info->constant_score == 0.25 && info->has_zero_imputation);
    assert_true(info->zero_score == 0.5 && info->zero_error == 0.125 && info->zero_values[2] == 3.0);
    assert_true(info->n_gains == 1 && info->gains[0].gain == -1.0 && info->gains[0].error == 2.0);
    assert_string_equal(info->gains[0].ingredient, "gamma");
    assert_true(info->n_candidates == 2 && info->candidates[0].is_chosen && !info->candidates[1].is_chosen);
    assert_string_equal(info->candidates[0].kernel, "rank");
    assert_true(info->candidates[0].C_factor == 10.0 && info->candidates[0].score == 3.0);
    assert_true(info->candidates[0].error == 4.0 && isnan(info->candidates[1].score));
    assert_true(info->n_members == 1 && info->members[0].n_machines == 2);
    assert_string_equal(info->members[0].kernel, "rank");
    assert_true(info->members[0].C_factors[1] == 10.0 && info->members[0].weights[0] == 0.25);
    karma_model_free(model);
    close_forgery(&f);
}

/* Every member is required, except those of 0-imputation, which may not have been tried, and its type is checked. */
static void wrong_searches_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"[]", "1", "\"text\"", "true", "{}"};
    static const struct {
        const char *name, *value;
    } changes[] = {
        {"goal", "\"speed\""},
        {"goal", "1"},
        {"end", "\"never\""},
        {"end", "null"},
        {"score", "\"no number\""},
        {"values", "{\"a\":null}"},
        {"values", "[true]"},
        {"n_folds", "-1"},
        {"n_folds", "2.5"},
        {"n_rows", "null"},
        {"zero_imputation", "{}"},
        {"zero_imputation", "{\"score\":0.5,\"error\":0.125,\"values\":[1,2]}"},
        {"gains", "{}"},
        {"gains", "[1]"},
        {"gains", "[{\"ingredient\":1,\"gain\":1,\"error\":1}]"},
        {"candidates", "[{\"kernel\":\"rank\"}]"},
        {"candidates", "\"rank\""},
        {"members", "[{\"kernel\":\"rank\",\"C_factors\":[1,10],\"weights\":[1]}]"},
        {"members", "[{\"kernel\":\"rank\",\"C_factors\":[1,\"10\"],\"weights\":[1,1]}]"},
    };
    static const char *const needed[] = {"goal",   "end",          "score",    "error",
                                         "values", "n_rows_tried", "n_chosen", "constant_score",
                                         "gains",  "candidates",   "members"};
    enum {
        N_WRONG = sizeof wrong / sizeof wrong[0],
        N_CHANGES = sizeof changes / sizeof changes[0],
        N_NEEDED = sizeof needed / sizeof needed[0]
    };
    karma_fit_options o = quick_options();
    for (size_t i = 0; i < N_WRONG + N_CHANGES + N_NEEDED; i++) {
        forgery f;
        open_forgery(&f, CSV_BINARY, "label", &o);
        json_t *search = i < N_WRONG ? json_loads(wrong[i], JSON_DECODE_ANY, NULL) : json_loads(SEARCH, 0, NULL);
        const char *name = "search";
        if (i >= N_WRONG + N_CHANGES)
            json_object_del(search, name = needed[i - N_WRONG - N_CHANGES]);
        else if (i >= N_WRONG) {
            name = changes[i - N_WRONG].name;
            json_object_set_new(search, name, json_loads(changes[i - N_WRONG].value, JSON_DECODE_ANY, NULL));
        }
        json_object_set_new(f.p.document, "search", search);
        assert_forgery_refused(&f, name, "search");
        close_forgery(&f);
    }
}

static void levels_out_of_order_are_refused(void **state) {
    (void)state;
    static const char *const levels[] = {"[\"red\",\"green\",\"blue\"]",
                                         "[\"blue\",\"blue\",\"red\"]",
                                         "[\"blue\",\"green\"]",
                                         "[\"blue\",\"green\",\"red\",\"teal\"]",
                                         "[]",
                                         "[\"blue\",1,\"red\"]"};
    karma_fit_options o = quick_options();
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        forgery f;
        open_forgery(&f, CSV_BINARY, "label", &o);
        json_t *column = at_path(f.p.document, "columns.1");
        assert_int_equal(json_array_size(json_object_get(column, "levels")), 3);
        json_object_set_new(column, "levels", json_loads(levels[i], 0, NULL));
        assert_forgery_refused(&f, levels[i], "");
        close_forgery(&f);
    }
}

static void a_newer_format_is_named(void **state) {
    (void)state;
    karma_fit_options o = quick_options();
    forgery f;
    open_forgery(&f, CSV_BINARY, "label", &o);
    set_at(f.p.document, "format", "3");
    set_at(f.p.document, "version", "\"17.3.0\"");
    assert_forgery_refused(&f, "format 3", "newer");
    assert_forgery_refused(&f, "format 3", "17.3.0");
    set_at(f.p.document, "format", "9223372036854775807");
    assert_forgery_refused(&f, "format huge", "newer");
    set_at(f.p.document, "format", "1");
    assert_forgery_refused(&f, "format 1", "never released");
    close_forgery(&f);
}

static void put_double(unsigned char *place, double value) {
    memcpy(place, &value, sizeof value);
}
static void put_float(unsigned char *place, float value) {
    memcpy(place, &value, sizeof value);
}

/* Arrays that break an invariant, with a valid checksum. */
static void forged_arrays_are_refused(void **state) {
    (void)state;
    karma_fit_options o = quick_options();
    for (int which = 0; which < 15; which++) {
        forgery f;
        char what[40];
        open_forgery(&f, CSV_BINARY, "label", &o);
        uint64_t mask;
        unsigned char *masks = array_of(&f, "support.0.mask"), *values = array_of(&f, "support.0.values");
        size_t hidden = 0; /* the first support row whose first attribute is unobserved */
        for (;; hidden++) {
            memcpy(&mask, masks + 8 * hidden, 8);
            if (!(mask & 1)) break;
        }
        switch (which) {
        case 0:
            put_double(array_of(&f, "members.0.coefficients"), NAN);
            break;
        case 1:
            put_double(array_of(&f, "members.0.coefficients") + 8, INFINITY);
            break;
        case 2:
            put_double(array_of(&f, "encodings.0.shift"), NAN);
            break;
        case 3:
            put_double(array_of(&f, "encodings.0.factor") + 8, -INFINITY);
            break;
        case 4:
            put_float(values, NAN);
            break;
        case 5:
            put_float(values, INFINITY);
            break;
        case 6:
            mask |= 8, memcpy(masks + 8 * hidden, &mask, 8);
            break; /* there are 3 attributes */
        case 7:
            mask |= UINT64_C(1) << 63, memcpy(masks + 8 * hidden, &mask, 8);
            break;
        case 8:
            put_float(values + 4 * 5 * hidden, 0.5F);
            break; /* 5 features; a value under a missing cell */
        case 9:
            put_float(values + 4 * 5 * hidden, NAN);
            break;
        case 10:
            array_of(&f, "encodings.0.feature_start")[8]++;
            break;
        case 11:
            array_of(&f, "encodings.0.feature_start")[0]++;
            break;
        case 12:
            put_float(values, 3e38F); /* products would overflow, and scores be NaN */
            break;
        case 13:
            put_float(values, -1.1e9F); /* encoded values are cut to 1e9 */
            break;
        case 14:
            put_double(array_of(&f, "members.0.coefficients"), -1e300);
            break;
        }
        snprintf(what, sizeof what, "array change %d", which);
        assert_forgery_refused(&f, what, "");
        close_forgery(&f);
    }
}

static void put_code(unsigned char *place, size_t slot, uint16_t code) {
    memcpy(place + 2 * slot, &code, sizeof code);
}

/* Codes, ranks and terms that do not fit the levels, the mask or one another. Seven or eight support rows with one code
 * and four values each (a, b, Q, O); fruit is the third attribute. */
static void forged_codes_are_refused(void **state) {
    (void)state;
    karma_fit_options o = quick_options();
    for (int which = 0; which < 11; which++) {
        forgery f;
        char what[40];
        o.standardise = which != 10;
        open_forgery(&f, CSV_CODES, "label", &o);
        unsigned char *codes = array_of(&f, "support.0.codes"), *values = array_of(&f, "support.0.values");
        uint64_t mask;
        size_t hidden = 0, shown = 0; /* rows without and with a fruit */
        for (;; hidden++) {
            memcpy(&mask, array_of(&f, "support.0.mask") + 8 * hidden, 8);
            if (!(mask & 4)) break;
        }
        shown = hidden ? 0 : 1;
        uint64_t start;
        switch (which) {
        case 0:
            put_code(codes, shown, 6); /* there are five levels */
            break;
        case 1:
            put_code(codes, shown, UINT16_MAX);
            break;
        case 2:
            put_code(codes, shown, 0);
            break;
        case 3:
            put_code(codes, hidden, 1);
            break;
        case 4:
            put_float(array_of(&f, "encodings.0.term"), NAN);
            break;
        case 5:
            put_float(values + 16 * shown + 8, 0.123F); /* not the term of its code */
            break;
        case 6:
            put_float(values + 16 * shown + 12, 2.0F); /* O is 0 or 1 */
            break;
        case 7:
            put_float(values + 16 * hidden + 8, 0.5F);
            break;
        case 8: /* as if it had a feature */
            start = 3, memcpy(array_of(&f, "encodings.0.feature_start") + 24, &start, sizeof start);
            break;
        case 9: /* as if it had no terms */
            start = 0, memcpy(array_of(&f, "encodings.0.term_start") + 24, &start, sizeof start);
            break;
        case 10: /* without terms, which would show it */
            put_code(codes, shown, 6);
            break;
        }
        snprintf(what, sizeof what, "code change %d", which);
        assert_forgery_refused(&f, what, "");
        close_forgery(&f);
    }
}

/* Impossible encodings: features, terms or ranks that do not fit the column, a radius together with codes, some
 * ranks centred and others not. Columns are a, b and fruit; the table has 3 of them. */
static void impossible_encodings_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *kernel, *array;
        size_t place;
        uint64_t value;
        const char *word;
    } changes[] = {
        {NULL, "feature_start", 1, 0, "features"}, /* a number without a feature */
        {NULL, "feature_start", 1, 2, "features"},
        {NULL, "feature_start", 2, 0, "ascend"},
        {NULL, "feature_start", 3, UINT64_MAX, "array"},
        {NULL, "term_start", 2, 5, "terms"}, /* a number with terms */
        {NULL, "term_start", 3, UINT64_MAX, "array"},
        {"rank", "ranking_size", 0, 0, "more rankings"},
        {"rank", "ranking_size", 0, UINT64_MAX, "not complete"},
        {"rank", "ranking_size", 2, 1, "not complete"},
        {"rank", "ranking_value", 0, UINT64_C(0x7ff0000000000000), "finite"},
        {"rank", "ranking_value", 0, UINT64_C(0x4090000000000000), "order"}, /* 1024 before smaller ones */
        {"rank", "term_start", 1, 0, "terms"}, /* the terms of two columns would be those of the second */
        {"subspace(space=ranks)", "scores_size", 0, 0, "more normal scores"},
        {"subspace(space=ranks)", "scores_size", 0, UINT64_MAX, "not complete"},
        {"subspace(space=ranks)", "scores_size", 2, 1, "not complete"},
        {"subspace(space=ranks)", "scores_value", 0, UINT64_C(0x7ff0000000000000), "finite"},
        {"subspace(space=ranks)", "scores_value", 0, UINT64_C(0x4090000000000000), "order"},
        {"subspace(space=ranks)", "scores", 0, UINT64_C(0x4022000000000000), "order"},  /* 9 */
        {"subspace(space=ranks)", "scores", 0, UINT64_C(0xc090000000000000), "finite"}, /* -1024 is not a score */
        {NULL, "radius", 0, 0, "radius"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        forgery f;
        char name[60];
        karma_fit_options o = quick_options();
        o.kernel = (char *)changes[i].kernel;
        o.rank_form = KARMA_RANK_FORM_CENTRED;
        o.subspace_rank = 1;
        open_forgery(&f, CSV_CODES, "label", &o);
        (void)snprintf(name, sizeof name, "encodings.0.%s", changes[i].array);
        if (strcmp(changes[i].array, "radius") == 0)
            set_at(f.p.document, name, "2.5");
        else
            memcpy(array_of(&f, name) + 8 * changes[i].place, &changes[i].value, 8);
        assert_forgery_refused(&f, name, changes[i].word);
        close_forgery(&f);
    }
}

/* Functions that do not increase with the score, or do not give probabilities. */
static void forged_calibrations_are_refused(void **state) {
    (void)state;
    static const struct {
        karma_calibration kind;
        const char *array;
        size_t place;
        double value;
    } changes[] = {
        {KARMA_CALIBRATE_SIGMOID, "slope", 0, -1.0},  {KARMA_CALIBRATE_SIGMOID, "slope", 0, NAN},
        {KARMA_CALIBRATE_SIGMOID, "offset", 0, NAN},  {KARMA_CALIBRATE_ISOTONIC, "at", 0, 1e300},
        {KARMA_CALIBRATE_ISOTONIC, "at", 0, NAN},     {KARMA_CALIBRATE_ISOTONIC, "value", 0, 1.5},
        {KARMA_CALIBRATE_ISOTONIC, "value", 0, 0.0},  {KARMA_CALIBRATE_ISOTONIC, "value", 0, NAN},
        {KARMA_CALIBRATE_ISOTONIC, "start", 1, 1e10}, {KARMA_CALIBRATE_ISOTONIC, "start", 0, 1e10},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        forgery f;
        char name[60];
        karma_fit_options o = quick_options();
        o.probabilities = changes[i].kind;
        o.folds = 2;
        open_forgery(&f, CSV_CODES, "label", &o);
        (void)snprintf(name, sizeof name, "targets.0.calibration.%s", changes[i].array);
        put_double(array_of(&f, name) + 8 * changes[i].place, changes[i].value);
        assert_forgery_refused(&f, name, "calibration");
        close_forgery(&f);
    }
}

static json_t *subspace_of(const forgery *f) {
    return at_path(f->p.document, "encodings.1.subspace");
}

/* A subspace of the wrong size, without noise, or with a NaN. Arrays of the second encoding have its
 * number in their names. */
static void forged_subspaces_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *word;
    } changes[] = {
        {"sigma2", "0", "sigma2"},
        {"sigma2", "0.0", "sigma2"},
        {"sigma2", "-1.0", "sigma2"},
        {"sigma2", "1e-310", "sigma2"},
        {"sigma2", "1e308", "sigma2"},
        {"sigma2", "\"nan\"", "sigma2"},
        {"sigma2", "null", "sigma2"},
        {"rank", "1", ""},
        {"rank", "3", ""},
        {"rank", "-1", "rank"},
        {"rank", "2305843009213693952", ""},
        {"rank", "9223372036854775807", ""},
        {"coordinates", "1", ""},
        {"coordinates", "3", "coordinates"},
        {"coordinates", "-2", "coordinates"},
        {"coordinates", "9223372036854775807", "coordinates"},
    };
    karma_fit_options o = quick_options();
    o.kernel = "union", o.subspace_rank = 2;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        forgery f;
        open_forgery(&f, CSV_CODES, "label", &o);
        assert_int_equal(json_integer_value(json_object_get(subspace_of(&f), "rank")), 2);
        json_object_set_new(subspace_of(&f), changes[i].key, json_loads(changes[i].value, JSON_DECODE_ANY, NULL));
        assert_forgery_refused(&f, changes[i].value, changes[i].word);
        close_forgery(&f);
    }
    static const char *const arrays[] = {"encodings.1.subspace.W", "encodings.1.subspace.mean",
                                         "encodings.1.subspace.basis", "support.1.values"};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        for (int infinite = 0; infinite < 2; infinite++) {
            forgery f;
            open_forgery(&f, CSV_CODES, "label", &o);
            if (i < 3)
                put_double(array_of(&f, arrays[i]), infinite ? -INFINITY : NAN);
            else
                put_float(array_of(&f, arrays[i]), infinite ? INFINITY : NAN);
            assert_forgery_refused(&f, arrays[i], "finite");
            close_forgery(&f);
        }
}

/* Subspaces for encodings that have none, and encodings without the subspace that they need. */
static void misplaced_subspaces_are_refused(void **state) {
    (void)state;
    for (int which = 0; which < 3; which++) {
        forgery f;
        karma_fit_options o = quick_options();
        uint64_t start = 2;
        o.kernel = "union", o.subspace_rank = 2;
        open_forgery(&f, CSV_CODES, "label", &o);
        if (which == 0) json_object_del(at_path(f.p.document, "encodings.1"), "subspace");
        if (which == 1) set_at(f.p.document, "options.kernel", "\"subspace + linear\"");
        if (which == 2) /* a category that has no features */
            memcpy(array_of(&f, "encodings.1.feature_start") + 24, &start, sizeof start);
        assert_forgery_refused(&f, "a misplaced subspace", which < 2 ? "subspace" : "array");
        close_forgery(&f);
    }
}

static void every_forged_subspace_is_refused_or_harmless(void **state) {
    (void)state;
    karma_fit_options o = quick_options();
    forgery f;
    o.kernel = "rank + 0.5*subspace", o.subspace_rank = 2;
    open_forgery(&f, CSV_CODES, "label", &o);
    forge_below(&f, at_path(f.p.document, "encodings.1"), "document.encodings[1]");
    assert_true(f.n_refused > f.n_loaded);
    close_forgery(&f);
}

/* --- buffers and endless input ------------------------------------------------------------------------- */

static void buffers_hold_what_files_hold(void **state) {
    (void)state;
    karma_table *table = table_of(CSV_BINARY, "label");
    karma_fit_options o = quick_options();
    karma_model *model = model_of(table, &o), *again = NULL;
    karma_error err = {0};
    image im;
    void *buffer = NULL;
    size_t size = 0;
    take_image(&im, model);
    assert_int_equal(karma_model_save_buffer(&buffer, &size, model, &err), KARMA_OK);
    assert_int_equal(size, im.size);
    assert_memory_equal(buffer, im.bytes, size);
    assert_int_equal(karma_model_load_buffer(&again, buffer, size, &err), KARMA_OK);
    double before[8], after[8];
    assert_int_equal(karma_predict(before, model, table, 1, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_predict(after, again, table, 1, NULL, NULL), KARMA_OK);
    assert_memory_equal(before, after, karma_table_n_rows(table) * sizeof *before);
    karma_model_free(again);
    again = NULL;
    for (size_t length = 0; length < size; length += 7) {
        assert_int_equal(karma_model_load_buffer(&again, buffer, length, &err), KARMA_ERR_FORMAT);
        assert_non_null(strstr(err.message, "model buffer: not a usable model"));
    }
    ((unsigned char *)buffer)[size / 2] ^= 4;
    assert_int_equal(karma_model_load_buffer(&again, buffer, size, NULL), KARMA_ERR_FORMAT);
    assert_int_equal(karma_model_load_buffer(&again, NULL, 0, NULL), KARMA_ERR_FORMAT);
    assert_null(again);
    karma_buffer_free(buffer);
    karma_buffer_free(NULL);
    drop_image(&im);
    karma_model_free(model);
    karma_table_free(table);
}

/* Bytes, then the last of them forever. */
typedef struct endless {
    const unsigned char *bytes;
    size_t size, given;
} endless;

static size_t give(void *context, void *bytes, size_t n) {
    endless *e = context;
    for (size_t i = 0; i < n; i++, e->given++)
        ((unsigned char *)bytes)[i] = e->bytes[e->given < e->size ? e->given : e->size - 1];
    return n;
}

/* Endless input is refused by the sizes in its first bytes. */
static void endless_input_is_refused(void **state) {
    (void)state;
    image im;
    binary_image(&im);
    static const unsigned char zeros[8], ones[9] = "\xff\xff\xff\xff\xff\xff\xff\xff{",
                                         letters[9] = "\xff\xff\xff\x0f\0\0\0\0x", spaces[10] = "\0\0\x10\0\0\0\0\0{ ";
    const endless cases[] = {{zeros, 8, 0}, {ones, 9, 0}, {letters, 9, 0}, {spaces, 10, 0}, {im.bytes, im.size, 0}};
    const size_t most[] = {16, 16, 16, (1 << 20) + 8, im.size + 1};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        endless e = cases[i];
        karma_i_archive *archive = NULL;
        assert_int_equal(karma_i_archive_open(&archive, "endless", give, &e, NULL), KARMA_ERR_FORMAT);
        assert_null(archive);
        assert_in_range(e.given, 8, most[i]);
    }
    drop_image(&im);
}

/* An array that is larger than any memory is not allocated. */
static void huge_sizes_are_refused(void **state) {
    (void)state;
    karma_fit_options o = quick_options();
    forgery f;
    open_forgery(&f, CSV_BINARY, "label", &o);
    json_object_set_new(f.p.header, "more",
                        json_pack("{s:s, s:[I], s:[I, I]}", "dtype", "U8", "shape", (json_int_t)INT64_MAX / 2,
                                  "data_offsets", (json_int_t)f.p.data_size, (json_int_t)INT64_MAX / 2));
    assert_forgery_refused(&f, "a huge array", "memory");
    json_object_set_new(f.p.header, "more",
                        json_pack("{s:s, s:[I], s:[I, I]}", "dtype", "U8", "shape", (json_int_t)8, "data_offsets",
                                  (json_int_t)f.p.data_size, (json_int_t)f.p.data_size + 8));
    assert_forgery_refused(&f, "an array that is not there", "truncated");
    close_forgery(&f);
}

/* Each number is valid by itself, but together they overflow: predicting fails. */
static void scores_that_overflow_are_refused(void **state) {
    (void)state;
    karma_fit_options o = quick_options();
    forgery f;
    karma_model *model = NULL;
    karma_error err = {0};
    double scores[8];
    o.task = KARMA_TASK_REGRESS;
    open_forgery(&f, CSV_NUMBERS, "price", &o);
    assert_in_range(karma_table_n_rows(f.table), 1, 8);
    put_double(array_of(&f, "members.0.coefficients"), 1e200);
    set_at(f.p.document, "targets.0.factor", "1e-200");
    forge(&f.im, &f.p);
    if (karma_model_load(&model, f.im.file.path, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_predict(scores, model, f.table, 1, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "not a finite number"));
    karma_model_free(model);
    close_forgery(&f);
}

/* --- saving that fails --------------------------------------------------------------------------------- */

static size_t count_entries(const char *directory) {
    DIR *d = opendir(directory);
    size_t n = 0;
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static void a_failing_save_leaves_nothing(void **state) {
    (void)state;
    karma_table *table = table_of(CSV_BINARY, "label");
    karma_fit_options o = quick_options();
    karma_model *model = model_of(table, &o);
    temp_file file;
    char path[400];
    karma_error err = {0};
    temp_create(&file, ".karma", "old", 3);
    (void)snprintf(path, sizeof path, "%s/nowhere/model", file.directory);
    assert_int_equal(karma_model_save(model, path, &err), KARMA_ERR_IO);
    assert_non_null(strstr(err.message, path));
    (void)snprintf(path, sizeof path, "%s/model", file.path); /* under a file */
    assert_int_equal(karma_model_save(model, path, &err), KARMA_ERR_IO);
    assert_int_equal(karma_model_save(model, file.directory, &err), KARMA_ERR_IO);
    assert_int_equal(karma_model_save(model, "/dev/full", &err), KARMA_ERR_IO);
    if (geteuid() != 0) { /* root may write anywhere */
        assert_int_equal(chmod(file.directory, 0555), 0);
        (void)snprintf(path, sizeof path, "%s/model", file.directory);
        assert_int_equal(karma_model_save(model, path, &err), KARMA_ERR_IO);
        assert_int_equal(chmod(file.directory, 0755), 0);
    }
    assert_int_equal(count_entries(file.directory), 1);
    temp_remove(&file);
    karma_model_free(model);
    karma_table_free(table);
}

/* A name that is not UTF-8 cannot be written as JSON. */
static void invalid_names_cannot_be_saved(void **state) {
    (void)state;
    static const char *const names[] = {"fine", "\xff\xfe"}, *const classes[] = {"a", "b", "a", "b"};
    const double cells[] = {1, 2, 2, 1, 3, NAN, NAN, 4};
    karma_table *table = NULL;
    karma_fit_options o = quick_options();
    temp_file file;
    temp_create(&file, ".karma", "old", 3);
    for (int which = 0; which < 2; which++) {
        assert_int_equal(karma_table_from_array(&table, cells, 4, 2, which ? NULL : names, NULL), KARMA_OK);
        assert_int_equal(karma_table_add_target_classes(table, which ? "\xc3" : "y", classes, NULL), KARMA_OK);
        karma_model *model = model_of(table, &o);
        karma_error err = {0};
        assert_int_equal(karma_model_save(model, file.path, &err), KARMA_ERR_DATA);
        assert_non_null(strstr(err.message, "UTF-8"));
        FILE *stream = fopen(file.path, "rb");
        char text[8] = {0};
        assert_int_equal(fread(text, 1, sizeof text, stream), 3);
        fclose(stream);
        assert_string_equal(text, "old");
        assert_int_equal(count_entries(file.directory), 1);
        karma_model_free(model);
        karma_table_free(table);
    }
    temp_remove(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_the_same_after_a_file),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_altered_byte_is_refused),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(every_forged_header_is_refused_or_harmless),
        cmocka_unit_test(these_forgeries_are_refused),
        cmocka_unit_test(forged_members_are_refused),
        cmocka_unit_test(the_account_of_a_search_is_read),
        cmocka_unit_test(wrong_searches_are_refused),
        cmocka_unit_test(levels_out_of_order_are_refused),
        cmocka_unit_test(a_newer_format_is_named),
        cmocka_unit_test(forged_arrays_are_refused),
        cmocka_unit_test(forged_codes_are_refused),
        cmocka_unit_test(impossible_encodings_are_refused),
        cmocka_unit_test(forged_calibrations_are_refused),
        cmocka_unit_test(forged_subspaces_are_refused),
        cmocka_unit_test(misplaced_subspaces_are_refused),
        cmocka_unit_test(every_forged_subspace_is_refused_or_harmless),
        cmocka_unit_test(buffers_hold_what_files_hold),
        cmocka_unit_test(endless_input_is_refused),
        cmocka_unit_test(huge_sizes_are_refused),
        cmocka_unit_test(scores_that_overflow_are_refused),
        cmocka_unit_test(a_failing_save_leaves_nothing),
        cmocka_unit_test(invalid_names_cannot_be_saved),
    };
    return cmocka_run_group_tests_name("model_file", tests, NULL, NULL);
}
