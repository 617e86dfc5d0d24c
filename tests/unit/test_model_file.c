/* Model files: what is saved is what is loaded; whatever is damaged, cut or forged is refused, or makes a model that
 * keeps every promise. Forged files carry a right checksum, which is computed here anew. */
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
    assert_true(different); /* the model says something */

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
    }
    const karma_option_table *options_table = karma_fit_option_table();
    for (size_t i = 0; i < options_table->count; i++) {
        char old_text[100], new_text[100];
        karma_option_text(&options_table->options[i], karma_model_options(model), old_text, sizeof old_text);
        karma_option_text(&options_table->options[i], karma_model_options(again), new_text, sizeof new_text);
        assert_string_equal(old_text, new_text);
    }
    const karma_fit_info *a = karma_model_info(model), *b = karma_model_info(again);
    assert_true(a->C == b->C && a->rho == b->rho && a->scale == b->scale && a->mean_loss == b->mean_loss);
    assert_true(a->n_rows == b->n_rows && a->n_support == b->n_support && a->rounds == b->rounds);
    assert_true(a->stop == b->stop && a->n_unlabelled == b->n_unlabelled && a->error_rate == b->error_rate);
    /* bytes of a file depend on the model only */
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

static void models_survive_the_file(void **state) {
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
                                    "subspace(outer=rbf) * linear + 2*subspace(bias=0)"};
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        o = quick_options();
        o.kernel = kernels[k];
        o.subspace_rank = 2; /* tables of a few rows have none to be found */
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

/* What the model makes of the holes is a table, if it can say so at all. */
static void check_completion(const karma_model *m, const karma_table *table, const char *what) {
    karma_completion c;
    karma_error err = {0};
    if (!karma_model_has_subspace(m) || karma_complete(&c, m, table, 1, 1, NULL, &err) != KARMA_OK) return;
    if (karma_table_validate(c.table, &err) != KARMA_OK || karma_table_validate(c.errors, &err) != KARMA_OK)
        fail_msg("%s: %s", what, err.message);
    karma_completion_clear(&c);
}

/* Everything a loaded model promises. */
static void check_model(const karma_model *m, const karma_table *table, const char *what) {
    karma_error err = {0};
    if (karma_i_rows_validate(m->support, &err) != KARMA_OK) fail_msg("%s: %s", what, err.message);
    if (karma_options_check(karma_fit_option_table(), &m->options, &err) != KARMA_OK)
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

/* Refused, or a model that keeps its promises. */
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

/* Every hostile value in the place of one child, then the child's own children. `put` places a new reference. */
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
    forge(&f->im, &f->p); /* unchanged: it loads, so refusals below are for what was changed */
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
        if (which > 0) forge_below(&f, json_object_get(f.p.document, "target"), "document.target");
        if (which > 0)
            forge_below(&f,
                        json_object_get(json_array_get(json_object_get(f.p.document, "encodings"), 0), "attributes"),
                        "document.encodings.attributes");
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

static void set_in(json_t *root, const char *first, const char *second, const char *value) {
    json_t *object = second ? json_object_get(root, first) : root;
    json_t *json = json_loads(value, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    if (json_is_array(object)) object = json_array_get(object, 0);
    assert_int_equal(json_object_set_new(object, second ? second : first, json), 0);
}

/* What no reading may let pass. */
static void these_forgeries_are_refused(void **state) {
    (void)state;
    static const struct {
        int in_document;
        const char *first, *second, *value;
    } changes[] = {
        {1, "format", NULL, "0"},
        {1, "format", NULL, "-1"},
        {1, "format", NULL, "\"1\""},
        {1, "version", NULL, "1"},
        {1, "encodings", "radius", "-1"},
        {1, "targets", "loss", "\"auto\""},
        {1, "targets", "loss", "\"love\""},
        {1, "targets", "calibration", "{}"},
        {1, "targets", "calibration", "{\"kind\":\"sigmoid\",\"slope\":[-1.0],\"offset\":[0.0]}"},
        {1, "targets", "calibration", "{\"kind\":\"sigmoid\",\"slope\":[1.0,2.0],\"offset\":[0.0]}"},
        {1, "targets", "calibration", "{\"kind\":\"isotonic\",\"start\":[0,9],\"at\":[0.0],\"value\":[0.5]}"},
        {1, "targets", "calibration", "{\"kind\":\"isotonic\",\"start\":[0,2],\"at\":[1.0,0.0],\"value\":[0.5,0.6]}"},
        {1, "targets", NULL, "[]"},
        {1, "encodings", "attributes", "[]"},
        {1, "encodings", "attributes", "{}"},
        {1, "encodings", "attributes", "[{}]"},
        {1, "options", "gamma", "\"0\""},
        {1, "options", "gamma", "\"1025\""},
        {1, "options", "bias", "\"nan\""},
        {1, "options", "scale", "\"-2\""},
        {1, "options", "loss", "\"love\""},
        {1, "options", "standardise", "\"yes\""},
        {1, "factors", "scale", "0"},
        {1, "factors", "scale", "-1"},
        {1, "factors", "scale", "1e-320"},
        {1, "factors", "scale", "\"1\""},
        {1, "info", "n_support", "-1"},
        {1, "info", "n_support", "0"},
        {1, "info", "n_support", "7"},
        {1, "info", "n_support", "2305843009213693952"},
        {1, "info", "n_support", "5.0"},
        {1, "info", "rounds", "-1"},
        {1, "info", "stop", "1"},
        {1, "targets", "name", "1"},
        {1, "targets", "task", "\"dance\""},
        {1, "targets", "classes", "[\"yes\"]"},
        {1, "targets", "classes", "[\"a\",\"b\",\"c\"]"},
        {1, "targets", "classes", "[1,2]"},
        {1, "targets", "counts", "[3]"},
        {1, "targets", "counts", "[-3,3]"},
        {0, "coefficients", "shape", "[6]"},
        {0, "coefficients", "shape", "[1,6]"},
        {0, "coefficients", "dtype", "\"F32\""},
        {0, "coefficients", "data_offsets", "[-8,40]"},
        {0, "values", "data_offsets", "[0,9223372036854775807]"},
        {0, "values", "data_offsets", "[9223372036854775800,9223372036854775807]"},
        {0, "shift", "data_offsets", "[8,0]"},
        {0, "mask", "shape", "[6,2]"},
        {0, "feature_start", "shape", "[5]"},
    };
    karma_fit_options o = quick_options();
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        forgery f;
        char what[200];
        open_forgery(&f, CSV_BINARY, "label", &o);
        set_in(changes[i].in_document ? f.p.document : f.p.header, changes[i].first, changes[i].second,
               changes[i].value);
        snprintf(what, sizeof what, "%s %s %s", changes[i].first, changes[i].second ? changes[i].second : "",
                 changes[i].value);
        assert_forgery_refused(&f, what, "");
        close_forgery(&f);
    }
}

static unsigned char *array_of(forgery *f, const char *name) {
    json_t *offsets = json_object_get(json_object_get(f->p.header, name), "data_offsets");
    return f->p.data + json_integer_value(json_array_get(offsets, 0));
}

/* What members have: coefficients of their own, and the factors of all of them in order. */
static void forged_members_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *change, *value; /* in the document's `factors`, its `options`, or the header's arrays */
    } changes[] = {
        {"factors", "short", "[{\"scale\":1,\"spread\":1,\"largest_overlap\":3}]"},
        {"factors", "none", "[]"},
        {"factors", "scale", "0"},
        {"factors", "scale", "-1"},
        {"factors", "scale", "1e308"},
        {"factors", "scale", "null"},
        {"factors", "spread", "-1"},
        {"factors", "spread", "null"},
        {"factors", "largest_overlap", "-1"},
        {"factors", "largest_overlap", "1e9"},
        {"factors", "largest_overlap", "9223372036854775807"},
        {"kernel", "more members", "\"linear | rank | linear\""},
        {"kernel", "fewer members", "\"linear\""},
        {"kernel", "more factors", "\"linear | rank + linear\""},
        {"kernel", "other kinds", "\"linear | linear\""},
        {"kernel", "no committee", "\"linear | rank @ 0\""},
        {"coefficients.1", "is not there", NULL},
        {"coefficients.1", "shape", "[1, 1]"},
        {"coefficients.1", "dtype", "\"F32\""},
    };
    karma_fit_options o = quick_options();
    o.kernel = "linear | rank(outer=rbf) @ 1,10:3";
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        forgery f;
        char what[100];
        json_t *value = changes[i].value ? json_loads(changes[i].value, JSON_DECODE_ANY, NULL) : NULL;
        open_forgery(&f, CSV_BINARY, "label", &o);
        json_t *factors = json_object_get(f.p.document, "factors");
        assert_int_equal(json_array_size(factors), 2);
        if (strcmp(changes[i].name, "kernel") == 0)
            json_object_set_new(json_object_get(f.p.document, "options"), "kernel", value);
        else if (strcmp(changes[i].name, "factors") != 0 && value)
            json_object_set_new(json_object_get(f.p.header, changes[i].name), changes[i].change, value);
        else if (strcmp(changes[i].name, "factors") != 0)
            json_object_del(f.p.header, changes[i].name);
        else if (json_is_array(value))
            json_object_set_new(f.p.document, "factors", value);
        else
            json_object_set_new(json_array_get(factors, 1), changes[i].change, value);
        (void)snprintf(what, sizeof what, "%s: %s", changes[i].name, changes[i].change);
        assert_forgery_refused(&f, what, "");
        close_forgery(&f);
    }
    for (int which = 0; which < 2; which++) { /* of a member that is not the first */
        forgery f;
        open_forgery(&f, CSV_BINARY, "label", &o);
        double bad = which ? INFINITY : NAN;
        memcpy(array_of(&f, "coefficients.1"), &bad, sizeof bad);
        assert_forgery_refused(&f, "coefficients.1", "");
        close_forgery(&f);
    }
}

/* The account of a search is an object, whatever it says; it comes back as it was. */
static void accounts_of_searches_are_kept(void **state) {
    (void)state;
    static const char *const accounts[] = {"{}",
                                           "{\"score\":0.10000000000000001,\"folds\":[1,2.5],\"goal\":\"\\u0001é\"}",
                                           "{\"score\":\"no number\",\"folds\":{\"a\":null},\"gains\":[]}"};
    static const char *const wrong[] = {"[]", "1", "\"text\"", "true"};
    karma_fit_options o = quick_options();
    for (size_t i = 0; i < sizeof accounts / sizeof accounts[0]; i++) {
        forgery f;
        karma_model *model = NULL;
        open_forgery(&f, CSV_BINARY, "label", &o);
        json_object_set_new(f.p.document, "search", json_loads(accounts[i], 0, NULL));
        forge(&f.im, &f.p);
        assert_int_equal(karma_model_load(&model, f.im.file.path, NULL), KARMA_OK);
        json_t *kept = json_loads(karma_model_search(model), 0, NULL);
        assert_true(json_equal(kept, json_object_get(f.p.document, "search")));
        json_decref(kept);
        karma_model_free(model);
        close_forgery(&f);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        forgery f;
        open_forgery(&f, CSV_BINARY, "label", &o);
        json_object_set_new(f.p.document, "search", json_loads(wrong[i], JSON_DECODE_ANY, NULL));
        assert_forgery_refused(&f, wrong[i], "search");
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
        json_t *column = json_array_get(
            json_object_get(json_array_get(json_object_get(f.p.document, "encodings"), 0), "attributes"), 1);
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
    set_in(f.p.document, "format", NULL, "2");
    set_in(f.p.document, "version", NULL, "\"17.3.0\"");
    assert_forgery_refused(&f, "format 2", "newer");
    assert_forgery_refused(&f, "format 2", "17.3.0");
    set_in(f.p.document, "format", NULL, "9223372036854775807");
    assert_forgery_refused(&f, "format huge", "newer");
    close_forgery(&f);
}

static void put_double(unsigned char *place, double value) {
    memcpy(place, &value, sizeof value);
}
static void put_float(unsigned char *place, float value) {
    memcpy(place, &value, sizeof value);
}

/* Arrays that break an invariant under a right checksum. */
static void forged_arrays_are_refused(void **state) {
    (void)state;
    karma_fit_options o = quick_options();
    for (int which = 0; which < 12; which++) {
        forgery f;
        char what[40];
        open_forgery(&f, CSV_BINARY, "label", &o);
        uint64_t mask;
        unsigned char *masks = array_of(&f, "mask"), *values = array_of(&f, "values");
        size_t hidden = 0; /* the first support row whose first attribute is unobserved */
        for (;; hidden++) {
            memcpy(&mask, masks + 8 * hidden, 8);
            if (!(mask & 1)) break;
        }
        switch (which) {
        case 0:
            put_double(array_of(&f, "coefficients"), NAN);
            break;
        case 1:
            put_double(array_of(&f, "coefficients") + 8, INFINITY);
            break;
        case 2:
            put_double(array_of(&f, "shift"), NAN);
            break;
        case 3:
            put_double(array_of(&f, "factor") + 8, -INFINITY);
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
            break; /* 5 features; a value under a hole */
        case 9:
            put_float(values + 4 * 5 * hidden, NAN);
            break;
        case 10:
            array_of(&f, "feature_start")[8]++;
            break;
        case 11:
            array_of(&f, "feature_start")[0]++;
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
static json_t *attribute_of(const forgery *f, size_t index) {
    json_t *encoding = json_array_get(json_object_get(f->p.document, "encodings"), 0);
    return json_array_get(json_object_get(encoding, "attributes"), index);
}

static void forged_codes_are_refused(void **state) {
    (void)state;
    karma_fit_options o = quick_options();
    for (int which = 0; which < 11; which++) {
        forgery f;
        char what[40];
        o.standardise = which != 10;
        open_forgery(&f, CSV_CODES, "label", &o);
        unsigned char *codes = array_of(&f, "codes"), *values = array_of(&f, "values");
        uint64_t mask;
        size_t hidden = 0, shown = 0; /* rows without and with a fruit */
        for (;; hidden++) {
            memcpy(&mask, array_of(&f, "mask") + 8 * hidden, 8);
            if (!(mask & 4)) break;
        }
        shown = hidden ? 0 : 1;
        json_t *fruit = attribute_of(&f, 2);
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
            put_float(array_of(&f, "term"), NAN);
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
        case 8:
            json_object_del(fruit, "coded");
            break;
        case 9:
            json_object_del(fruit, "centred");
            break;
        case 10: /* without terms, which would tell */
            put_code(codes, shown, 6);
            break;
        }
        snprintf(what, sizeof what, "code change %d", which);
        assert_forgery_refused(&f, what, "");
        close_forgery(&f);
    }
}

/* What cannot be: a coded number, a radius beside codes, ranks some of which are centred. */
static void impossible_encodings_are_refused(void **state) {
    (void)state;
    for (int which = 0; which < 4; which++) {
        forgery f;
        karma_fit_options o = quick_options();
        o.kernel = which == 3 ? "rank" : NULL;
        o.rank_form = KARMA_RANK_FORM_CENTRED;
        open_forgery(&f, CSV_CODES, "label", &o);
        json_t *first = attribute_of(&f, 0);
        if (which == 0) json_object_set_new(first, "coded", json_true());
        if (which == 1) json_object_set_new(first, "centred", json_true());
        if (which == 2) set_in(f.p.document, "encodings", "radius", "2.5");
        if (which == 3) json_object_del(first, "centred");
        static const char *const words[] = {"codes", "centred", "radius", "centred"};
        assert_forgery_refused(&f, words[which], words[which]);
        close_forgery(&f);
    }
}

static json_t *subspace_of(const forgery *f) {
    json_t *encoding = json_array_get(json_object_get(f->p.document, "encodings"), 1);
    return json_object_get(encoding, "subspace");
}

/* A subspace of the wrong size, without noise, or with a number that is none. Arrays of the second encoding have its
 * number in their names. */
static void forged_subspaces_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *word;
    } changes[] = {
        {"sigma2", "0", "noise"},
        {"sigma2", "0.0", "noise"},
        {"sigma2", "-1.0", "noise"},
        {"sigma2", "1e-310", "noise"},
        {"sigma2", "1e308", "noise"},
        {"sigma2", "\"nan\"", "noise"},
        {"sigma2", "null", "noise"},
        {"rank", "1", ""},
        {"rank", "3", ""},
        {"rank", "-1", "size"},
        {"rank", "2305843009213693952", "size"},
        {"rank", "9223372036854775807", "size"},
        {"coordinates", "1", ""},
        {"coordinates", "3", "size"},
        {"coordinates", "-2", "size"},
        {"coordinates", "9223372036854775807", "size"},
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
    static const char *const arrays[] = {"subspace_W.1", "subspace_mean.1", "subspace_basis.1", "values.1"};
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

/* Where a subspace may stand, and what of. */
static void misplaced_subspaces_are_refused(void **state) {
    (void)state;
    for (int which = 0; which < 3; which++) {
        forgery f;
        karma_fit_options o = quick_options();
        o.kernel = "union", o.subspace_rank = 2;
        open_forgery(&f, CSV_CODES, "label", &o);
        json_t *encodings = json_object_get(f.p.document, "encodings");
        json_t *plain = json_array_get(encodings, 0), *placed = json_array_get(encodings, 1);
        if (which == 0) json_object_set(plain, "subspace", subspace_of(&f));
        if (which == 1) json_object_del(placed, "subspace");
        if (which == 2) /* a category that has no features */
            json_object_set_new(json_array_get(json_object_get(placed, "attributes"), 2), "coded", json_true());
        assert_forgery_refused(&f, "a misplaced subspace", which < 2 ? "subspace" : "coded");
        close_forgery(&f);
    }
}

static void every_forged_subspace_is_refused_or_harmless(void **state) {
    (void)state;
    karma_fit_options o = quick_options();
    forgery f;
    o.kernel = "rank + 0.5*subspace", o.subspace_rank = 2;
    open_forgery(&f, CSV_CODES, "label", &o);
    forge_below(&f, json_array_get(json_object_get(f.p.document, "encodings"), 1), "document.encodings[1]");
    assert_true(f.n_refused > f.n_loaded);
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

/* A name that is not UTF-8 cannot stand in JSON. */
static void unspeakable_names_cannot_be_saved(void **state) {
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
        assert_int_not_equal(karma_model_save(model, file.path, NULL), KARMA_OK);
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
        cmocka_unit_test(models_survive_the_file),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_altered_byte_is_refused),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(every_forged_header_is_refused_or_harmless),
        cmocka_unit_test(these_forgeries_are_refused),
        cmocka_unit_test(forged_members_are_refused),
        cmocka_unit_test(accounts_of_searches_are_kept),
        cmocka_unit_test(levels_out_of_order_are_refused),
        cmocka_unit_test(a_newer_format_is_named),
        cmocka_unit_test(forged_arrays_are_refused),
        cmocka_unit_test(forged_codes_are_refused),
        cmocka_unit_test(impossible_encodings_are_refused),
        cmocka_unit_test(forged_subspaces_are_refused),
        cmocka_unit_test(misplaced_subspaces_are_refused),
        cmocka_unit_test(every_forged_subspace_is_refused_or_harmless),
        cmocka_unit_test(a_failing_save_leaves_nothing),
        cmocka_unit_test(unspeakable_names_cannot_be_saved),
    };
    return cmocka_run_group_tests_name("model_file", tests, NULL, NULL);
}
