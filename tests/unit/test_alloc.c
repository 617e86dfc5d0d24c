/* Failing allocations (failing_heap.h) while reading, learning and using models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "forest/forest_learn.h"
#include "karma/karma.h"
#include "kernel/plan.h"
#include "baseline/baseline.h"
#include "solve/calibrate.h"
#include "table/folds.h"
#include "subspace/completion.h"
#include "subspace/regularity.h"
#include "table/rows_dense.h"
#include "table/rows_sparse.h"
#include "failing_heap.h"
#include "tempfile.h"

/* --- readers ------------------------------------------------------------------------------------------- */

typedef struct reading {
    temp_file file;
    karma_read_options options;
} reading;

static void open_reading(reading *r, const char *ending, const char *text) {
    karma_options_init(karma_read_option_table(), &r->options);
    temp_create(&r->file, ending, text, strlen(text));
}

static void close_reading(reading *r) {
    karma_options_clear(karma_read_option_table(), &r->options);
    temp_remove(&r->file);
}

static void set(reading *r, const char *name, const char *value) {
    assert_int_equal(karma_option_set(karma_option_find(karma_read_option_table(), name), &r->options, value, NULL),
                     KARMA_OK);
}

static karma_status run_read(void *context) {
    reading *r = context;
    karma_table *table = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_table_read(&table, r->file.path, &r->options, NULL, &err), &err, table);
    karma_table_free(table);
    return st;
}

static const char *const CSV =
    "id,a,\"b \"\"x\"\"\",colour,n,label\nr1,1,2,red,1,yes\nr2,,3.5,blue,2,no\nr3,4,NA,\"re,d\",0,yes\n"
    "r4,5,1e3,,1,no\nr5,6,-2,green,1,yes\n\"r\n6\",7,,red,3,no\n";

static void set_csv_options(reading *r) {
    set(r, "target", "label");
    set(r, "id", "id");
    set(r, "id", "a");
    set(r, "missing", "re,d");
    set(r, "row-weight", "n");
    set(r, "target", "colour,b \"x\"");
}

static void reading_csv(void **state) {
    (void)state;
    reading r;
    open_reading(&r, ".csv", CSV);
    set_csv_options(&r);
    check_every_allocation(run_read, &r, "read CSV");
    close_reading(&r);
}

static void cache_of(char out[4096], const reading *r) {
    (void)snprintf(out, 4096, "%s.karma-cache", r->file.path);
}

/* Reads the text, whatever runs before have left. */
static karma_status run_fill_cache(void *context) {
    char path[4096];
    cache_of(path, context);
    (void)remove(path);
    return run_read(context);
}

static void reading_cached(void **state) {
    (void)state;
    reading r;
    char path[4096];
    open_reading(&r, ".csv", CSV);
    set_csv_options(&r);
    set(&r, "cache", "on");
    cache_of(path, &r);
    check_every_allocation(run_fill_cache, &r, "fill a cache");
    assert_int_equal(run_fill_cache(&r), KARMA_OK);
    check_every_allocation(run_read, &r, "read a cache");
    (void)remove(path);
    close_reading(&r);
}

static void reading_libsvm(void **state) {
    (void)state;
    for (int absent = 0; absent < 2; absent++) {
        reading r;
        open_reading(&r, ".svm", "1 1:0.5 3:2\n-1 2:1 3:4 # remark\n1\n-1 1:7 4:-1e-3\n");
        set(&r, "format", "libsvm");
        set(&r, "absent", absent ? "missing" : "zero");
        check_every_allocation(run_read, &r, "read LIBSVM");
        close_reading(&r);
    }
}

static void reading_ratings(void **state) {
    (void)state;
    static const char *const ratings = "who,what,stars\nu1,\"a \"\"b\"\"\",3\nu2,c,NA\nu4,c,5\nu4,c,1\nu1,d,2\n";
    static const char people[] = "id,sex,age,n\nu3,f,1,2\nu1,m,,1\nu2,m,3,0\n";
    temp_file users;
    temp_create(&users, ".csv", people, sizeof people - 1);
    for (int liked = 0; liked < 2; liked++) {
        reading r;
        open_reading(&r, ".csv", ratings);
        set(&r, "format", "ratings");
        set(&r, "users", users.path);
        set(&r, "ignore", "d");
        set(&r, liked ? "item" : "target", liked ? "c" : "sex,age");
        set(&r, "row-weight", "n");
        if (liked) set(&r, "like", "3");
        check_every_allocation(run_read, &r, "read ratings");
        close_reading(&r);
    }
    temp_remove(&users);
}

/* --- tables -------------------------------------------------------------------------------------------- */

static karma_status run_synth(void *context) {
    karma_table *table = NULL, *complete = NULL;
    karma_error err = {0};
    karma_status st = karma_table_synthesise(&table, &complete, context, &err);
    if (st != KARMA_OK && complete) fail_msg("failed, and yet gave complete rows back");
    st = judge(st, &err, table);
    karma_table_free(table);
    karma_table_free(complete);
    return st;
}

static void synthesising(void **state) {
    (void)state;
    for (int mechanism = 0; mechanism < KARMA_N_MECHANISMS; mechanism++) {
        karma_synth_options o;
        karma_options_init(karma_synth_option_table(), &o);
        o.rows = 20, o.dim = 6, o.rank = 2, o.mechanism = mechanism, o.classes = 3;
        check_every_allocation(run_synth, &o, "synthesise");
    }
}

static karma_status run_regret(void *context) {
    karma_regret *regret = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_regret_run(&regret, context, NULL, &err), &err, regret);
    karma_regret_free(regret);
    return st;
}

static void regretting(void **state) {
    (void)state;
    for (int order = 0; order < KARMA_N_ORDERS; order++) {
        karma_regret_options o;
        karma_options_init(karma_regret_option_table(), &o);
        o.dim = 3, o.rounds = 12, o.gamma = 2, o.order = order, o.threads = 1;
        check_every_allocation(run_regret, &o, "regret");
    }
}

static karma_status run_build(void *context) {
    static const double cells[] = {1, NAN, 3, 4, 5, NAN}, numbers[] = {1, NAN, 3}, weights[] = {0, 1, 2};
    static const char *const names[] = {"u", "v"}, *const classes[] = {"b", NULL, "a"};
    static const size_t rows[] = {2, 0, 2};
    (void)context;
    karma_table *table = NULL, *part = NULL;
    karma_error err = {0};
    karma_status st = karma_table_from_array(&table, cells, 3, 2, names, &err);
    if (st != KARMA_OK) return judge(st, &err, table);
    st = karma_table_add_target_numbers(table, "n", numbers, &err);
    if (st != KARMA_OK && karma_table_n_targets(table)) fail_msg("a failing call added a target");
    if (st == KARMA_OK) {
        st = karma_table_add_target_classes(table, "c", classes, &err);
        if (karma_table_n_targets(table) != (st == KARMA_OK ? 2 : 1)) fail_msg("a target is half there");
    }
    if (st == KARMA_OK) {
        st = karma_table_add_target_classes(table, "n", classes, &err);
        if (karma_table_target_kind(table, 0) != (st == KARMA_OK ? KARMA_COLUMN_CATEGORY : KARMA_COLUMN_NUMBER))
            fail_msg("the target is half changed");
    }
    for (size_t twice = 0; st == KARMA_OK && twice < 2; twice++) { /* set, then replaced */
        int had = karma_table_weight_name(table) != NULL;
        st = karma_table_set_row_weights(table, weights, &err);
        if (st != KARMA_OK && !had && karma_table_weight_name(table)) fail_msg("a failing call set weights");
    }
    if (st == KARMA_OK) st = karma_table_select(&part, table, rows, 3, &err);
    if (karma_table_validate(table, NULL) != KARMA_OK) fail_msg("the table is broken");
    st = judge(st, &err, part);
    karma_table_free(table);
    karma_table_free(part);
    return st;
}

static void building_tables(void **state) {
    (void)state;
    check_every_allocation(run_build, NULL, "build");
}

static karma_status run_patterns(void *context) {
    karma_pattern patterns[4];
    size_t n_distinct = 99;
    karma_error err = {0};
    memset(patterns, 7, sizeof patterns);
    karma_status st = karma_table_patterns(context, patterns, 4, &n_distinct, &err);
    if (st == KARMA_OK) return st;
    for (size_t i = 0; i < sizeof patterns; i++)
        if (((unsigned char *)patterns)[i] != 7) fail_msg("a failing call wrote patterns");
    if (n_distinct != 99) fail_msg("a failing call wrote a count");
    return judge(st, &err, NULL);
}

static karma_table *table_of(const char *csv, const char *target) {
    reading r;
    karma_table *table = NULL;
    karma_error err;
    open_reading(&r, ".csv", csv);
    set(&r, "target", target);
    if (karma_table_read(&table, r.file.path, &r.options, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    close_reading(&r);
    return table;
}

static void counting_patterns(void **state) {
    (void)state;
    karma_table *table = table_of(CSV, "label");
    check_every_allocation(run_patterns, table, "patterns");
    karma_table_free(table);
}

/* --- options ------------------------------------------------------------------------------------------- */

static karma_status run_options(void *context) {
    const karma_option_table *table = karma_read_option_table();
    const karma_option *names = karma_option_find(table, "ignore"), *text = karma_option_find(table, "row-weight");
    karma_read_options o;
    karma_error err = {0};
    (void)context;
    karma_options_init(table, &o);
    karma_status st = karma_option_set(text, &o, "first", &err);
    for (size_t i = 0; st == KARMA_OK && i < 5; i++) {
        st = karma_option_set(names, &o, "column", &err);
        if (o.ignore.count != i + (st == KARMA_OK)) fail_msg("a list of %zu", o.ignore.count);
    }
    if (st == KARMA_OK) {
        st = karma_option_set(text, &o, "second", &err);
        if (strcmp(o.row_weight, st == KARMA_OK ? "second" : "first") != 0) fail_msg("text '%s'", o.row_weight);
    }
    karma_options_clear(table, &o);
    return judge(st, &err, NULL);
}

static void filling_options(void **state) {
    (void)state;
    check_every_allocation(run_options, NULL, "options");
}

static karma_status run_copy(void *context) {
    const karma_option_table *table = karma_read_option_table();
    karma_read_options copy;
    karma_error err = {0};
    karma_status st = karma_options_copy_size(table, &copy, sizeof copy, context, &err);
    if (st != KARMA_OK && (copy.target.items || copy.ignore.items || copy.ignore.count || copy.missing.items))
        fail_msg("a failing call left something in the copy");
    karma_options_clear(table, &copy);
    return judge(st, &err, NULL);
}

static void copying_options(void **state) {
    (void)state;
    reading r;
    open_reading(&r, ".csv", "");
    set(&r, "target", "label");
    set(&r, "ignore", "a");
    set(&r, "ignore", "b");
    set(&r, "missing", "none");
    check_every_allocation(run_copy, &r.options, "copy of options");
    close_reading(&r);
}

static karma_status run_parse(void *context) {
    const karma_fit_options *options = context;
    karma_i_plan plan = {0}, copy = {0};
    char *text = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_i_plan_parse(&plan, options->kernel, options, &err), &err, plan.members);
    if (st == KARMA_OK) st = judge(karma_i_plan_copy(&copy, &plan, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_i_plan_print(&text, &copy, &err), &err, text);
    karma_i_plan_clear(&plan);
    karma_i_plan_clear(&copy);
    free(text);
    return st;
}

static void making_plans(void **state) {
    (void)state;
    karma_fit_options o;
    char formula[] = "rank(outer=series, series=1:2:3) * linear(outer=rbf) + 0.5*linear(outer=series)",
         series[] = "1,1";
    karma_options_init(karma_fit_option_table(), &o);
    o.kernel = formula;
    o.series = series;
    check_every_allocation(run_parse, &o, "formula");
}

/* --- models -------------------------------------------------------------------------------------------- */

static const char *const CSV_CLASSES = "a,b,what\n1,2,x\n2,,y\n,3,z\n4,1,y\n5,5,x\n0,,z\n-1,-2,x\n";
static const char *const CSV_NUMBERS = "a,b,price\n1,p,10.5\n2,q,11.25\n,r,-3\n4,,17\n5,p,18.125\n0,q,\n7,,23\n";

static karma_fit_options quick_options(int solver) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.solver = solver;
    o.passes = 4;
    o.threads = 1;
    return o;
}

static const char *const CSV_CODES = "a,b,what\n1,p,x\n2,,y\n,q,x\n4,r,y\n5,s,x\n0,t,y\n-1,p,x\n";

typedef struct fitting {
    karma_table *table;
    karma_fit_options options;
    karma_model *model;
    temp_file file;
    char *wanted; /* the file that saving writes */
    size_t wanted_size;
} fitting;

static karma_status run_fit(void *context) {
    fitting *f = context;
    karma_model *model = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_fit(&model, f->table, &f->options, NULL, &err), &err, model);
    karma_model_free(model);
    return st;
}

enum { N_FITTINGS = 8 };

static const char *csv_of(int which) {
    static const char *const *const all[] = {&CSV,       &CSV_CLASSES, &CSV_NUMBERS, &CSV_CODES,
                                             &CSV_CODES, &CSV_CODES,   &CSV_CODES,   &CSV_CODES};
    return *all[which];
}

/* Which model: two classes with categories; three classes, by centred ranks; regression with categories and a missing
 * label, in the unit ball; two classes with a coded category; the same with a subspace, and with one of
 * ranks that is refined; the same with columns weighed; with trees of both kinds. */
static void open_fitting(fitting *f, int which, int solver) {
    *f = (fitting){.options = quick_options(solver)};
    f->table = table_of(csv_of(which), which == 0 ? "label" : which == 2 ? "price" : "what");
    if (which == 2) f->options.task = KARMA_TASK_REGRESS, f->options.unit_ball = 1;
    if (which == 4 || which == 5) f->options.kernel = "union", f->options.subspace_rank = 2;
    if (which == 5) f->options.space = KARMA_SPACE_RANKS;
    if (which == 6) f->options.kernel = "relevance";
    if (which == 7) f->options.kernel = "boost + forest", f->options.trees = 3;
    if (which == 5) f->options.refine = 2;
    if (which == 1) f->options.kernel = "rank", f->options.rank_form = KARMA_RANK_FORM_CENTRED;
    karma_error err;
    if (karma_fit(&f->model, f->table, &f->options, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    temp_create(&f->file, ".karma", "old", 3);
}

static void close_fitting(fitting *f) {
    temp_remove(&f->file);
    karma_model_free(f->model);
    karma_table_free(f->table);
    free(f->wanted);
}

static void fitting_models(void **state) {
    (void)state;
    for (int which = 0; which < N_FITTINGS; which++)
        for (int solver = 0; solver < KARMA_N_SOLVERS; solver++) {
            fitting f;
            open_fitting(&f, which, solver);
            check_every_allocation(run_fit, &f, "fit");
            close_fitting(&f);
        }
}

static char *read_back(const char *path, size_t *size) {
    char *bytes = malloc(1 << 16);
    FILE *stream = fopen(path, "rb");
    if (!bytes || !stream) abort();
    *size = fread(bytes, 1, 1 << 16, stream);
    fclose(stream);
    return bytes;
}

static void write_old(const fitting *f) {
    FILE *stream = fopen(f->file.path, "wb");
    if (!stream || fwrite("old", 1, 3, stream) != 3 || fclose(stream) != 0) abort();
}

/* The only file is the whole new model, or the old one. */
static karma_status run_save(void *context) {
    fitting *f = context;
    karma_error err = {0};
    write_old(f);
    karma_status st = karma_model_save(f->model, f->file.path, &err);
    failing_heap_pause();
    size_t size;
    char *bytes = read_back(f->file.path, &size);
    int whole = st == KARMA_OK ? size == f->wanted_size && memcmp(bytes, f->wanted, size) == 0
                               : size == 3 && memcmp(bytes, "old", 3) == 0;
    free(bytes);
    if (!whole) fail_msg("after status %d there is a file of %zu bytes, not of %zu", (int)st, size, f->wanted_size);
    return judge(st, &err, NULL);
}

static karma_status run_load(void *context) {
    fitting *f = context;
    karma_model *model = NULL;
    karma_error err = {0};
    karma_status st = karma_model_load(&model, f->file.path, &err);
    /* jansson reports the same error for invalid text and for lack of memory, so the model seems damaged */
    if (st == KARMA_ERR_FORMAT && strstr(err.message, "not a usable model")) st = err.status = KARMA_ERR_IO;
    (void)judge(st, &err, model);
    karma_model_free(model);
    return st;
}

static karma_status run_buffers(void *context) {
    fitting *f = context;
    void *buffer = NULL;
    size_t size = 0;
    karma_model *model = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_model_save_buffer(&buffer, &size, f->model, &err), &err, buffer);
    if (st == KARMA_OK) st = karma_model_load_buffer(&model, buffer, size, &err);
    if (st == KARMA_ERR_FORMAT && strstr(err.message, "not a usable model")) st = err.status = KARMA_ERR_IO;
    (void)judge(st, &err, model);
    karma_model_free(model);
    karma_buffer_free(buffer);
    return st;
}

static void saving_and_loading_models(void **state) {
    (void)state;
    for (int which = 0; which < N_FITTINGS; which++) {
        fitting f;
        open_fitting(&f, which, KARMA_SOLVER_ONLINE);
        assert_int_equal(karma_model_save(f.model, f.file.path, NULL), KARMA_OK);
        f.wanted = read_back(f.file.path, &f.wanted_size);
        check_every_allocation(run_save, &f, "save");
        assert_int_equal(karma_model_save(f.model, f.file.path, NULL), KARMA_OK);
        check_every_allocation(run_load, &f, "load");
        check_every_allocation(run_buffers, &f, "buffers");
        close_fitting(&f);
    }
}

static karma_status run_predict(void *context) {
    fitting *f = context;
    double scores[64];
    size_t n = karma_table_n_rows(f->table) * karma_model_n_outputs(f->model);
    karma_error err = {0};
    for (size_t i = 0; i < n; i++) scores[i] = -77.0;
    karma_status st = karma_predict(scores, f->model, f->table, 1, NULL, &err);
    for (size_t i = 0; st != KARMA_OK && i < n; i++)
        if (scores[i] != -77.0) fail_msg("a failing call wrote scores");
    return judge(st, &err, NULL);
}

static karma_status run_evaluate(void *context) {
    fitting *f = context;
    double scores[64] = {0};
    karma_metrics metrics = {.n_rows = 77};
    karma_error err = {0};
    karma_status st = karma_evaluate(&metrics, f->model, 0, f->table, scores, &err);
    if (st != KARMA_OK && (metrics.n_rows != 77 || metrics.confusion)) fail_msg("a failing call wrote metrics");
    if (st == KARMA_OK) karma_metrics_clear(&metrics);
    return judge(st, &err, NULL);
}

static karma_status run_gram(void *context) {
    fitting *f = context;
    karma_gram *gram = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_gram_new(&gram, f->table, NULL, &f->options, NULL, &err), &err, gram);
    karma_gram_free(gram);
    return st;
}

static karma_status run_complete(void *context) {
    fitting *f = context;
    karma_completion completion = {.rank = 77};
    karma_error err = {0};
    karma_status st = karma_complete(&completion, f->model, f->table, 1, 1, NULL, &err);
    if (st != KARMA_OK && completion.rank != 77) fail_msg("a failing call wrote a completion");
    st = judge(st, &err, completion.table);
    karma_completion_clear(&completion);
    return st;
}

static karma_status run_lowrank(void *context) {
    fitting *f = context;
    karma_lowrank *report = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_lowrank_new(&report, f->table, &f->options, NULL, &err), &err, report);
    karma_lowrank_free(report);
    return st;
}

static karma_status run_norms(void *context) {
    fitting *f = context;
    karma_norm_check check = {.n_rows = 77};
    karma_error err = {0};
    karma_status st = karma_check_norms(&check, f->table, &f->options, &err);
    if (st != KARMA_OK && check.n_rows != 77) fail_msg("a failing call wrote norms");
    return judge(st, &err, NULL);
}

static karma_status run_read_for_model(void *context) {
    fitting *f = context;
    karma_table *table = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_model_read_table(&table, f->model, f->file.path, NULL, NULL, &err), &err, table);
    karma_table_free(table);
    return st;
}

/* Two encodings, several factors, maps. */
static void computing_composed_grams(void **state) {
    (void)state;
    char formula[] = "rank(outer=rbf) * linear(outer=cosine) + 0.5*linear(outer=series, series=1:2)";
    fitting f = {.table = table_of(CSV_NUMBERS, "price"), .options = quick_options(KARMA_SOLVER_BATCH)};
    f.options.kernel = formula;
    check_every_allocation(run_gram, &f, "gram of a formula");
    karma_table_free(f.table);
}

static void using_models(void **state) {
    (void)state;
    for (int which = 0; which < N_FITTINGS; which++) {
        fitting f;
        open_fitting(&f, which, KARMA_SOLVER_ONLINE);
        check_every_allocation(run_predict, &f, "predict");
        if (which != 2) check_every_allocation(run_evaluate, &f, "evaluate");
        assert_int_equal(run_evaluate(&f), KARMA_OK);
        if (which < 6)
            check_every_allocation(run_gram, &f, "gram"); /* other kernels are refused: they are learned from labels */
        check_every_allocation(run_norms, &f, "norms");
        if (karma_model_has_subspace(f.model)) check_every_allocation(run_complete, &f, "complete");
        if (karma_model_has_subspace(f.model)) check_every_allocation(run_lowrank, &f, "lowrank");
        FILE *stream = fopen(f.file.path, "wb");
        assert_non_null(stream);
        const char *csv = csv_of(which);
        assert_int_equal(fwrite(csv, 1, strlen(csv), stream), strlen(csv));
        fclose(stream);
        check_every_allocation(run_read_for_model, &f, "read for a model");
        close_fitting(&f);
    }
}

/* --- explanations --------------------------------------------------------------------------------------- */

static const karma_explain_options FEW = {
    .struct_size = sizeof(karma_explain_options), .samples = 4, .repeats = 2, .seed = 1, .threads = 1};

static karma_status run_explain(void *context) {
    fitting *f = context;
    karma_explanations e = {.n_rows = 77};
    karma_error err = {0};
    karma_status st = karma_explain(&e, f->model, f->table, &FEW, NULL, &err);
    if (st != KARMA_OK && (e.n_rows != 77 || e.start)) fail_msg("a failing call wrote explanations");
    if (st == KARMA_OK) karma_explanations_clear(&e);
    return judge(st, &err, NULL);
}

static karma_status run_importance(void *context) {
    fitting *f = context;
    karma_importances m = {.n_rows = 77};
    karma_error err = {0};
    karma_status st = karma_measure_importance(&m, f->model, f->table, &FEW, NULL, &err);
    if (st == KARMA_OK) { /* of one attribute alone */
        static const size_t first = 0;
        karma_importances_clear(&m);
        m.n_rows = 77;
        st = karma_measure_importance_of(&m, f->model, f->table, &first, 1, &FEW, NULL, &err);
    }
    if (st != KARMA_OK && (m.n_rows != 77 || m.items)) fail_msg("a failing call wrote importances");
    if (st == KARMA_OK) karma_importances_clear(&m);
    return judge(st, &err, NULL);
}

static karma_status run_overlap(void *context) {
    fitting *f = context;
    karma_overlap overlaps[16] = {{.observed = 77}};
    karma_error err = {0};
    karma_status st = karma_measure_overlap(overlaps, f->model, f->table, NULL, &err);
    if (st != KARMA_OK && overlaps[0].observed != 77) fail_msg("a failing call wrote overlaps");
    return judge(st, &err, NULL);
}

static void explaining_models(void **state) {
    (void)state;
    for (int which = 0; which < 3; which++) {
        fitting f;
        open_fitting(&f, which, KARMA_SOLVER_ONLINE);
        check_every_allocation(run_explain, &f, "explain");
        check_every_allocation(run_importance, &f, "importance");
        check_every_allocation(run_overlap, &f, "overlap");
        close_fitting(&f);
    }
}

/* Twelve columns, of which the last row observes two: its Shapley values are exact, those of other rows are sampled. */
static void explaining_composed_kernels(void **state) {
    (void)state;
    double cells[4 * 12], labels[4] = {1, 2, 4, 3};
    fitting f = {.options = quick_options(KARMA_SOLVER_ONLINE)};
    for (size_t i = 0; i < 4 * 12; i++) cells[i] = i < 38 ? sin((double)i) : NAN;
    assert_int_equal(karma_table_from_array(&f.table, cells, 4, 12, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(f.table, "y", labels, NULL), KARMA_OK);
    f.options.task = KARMA_TASK_REGRESS;
    f.options.subspace_rank = 1;
    static const char *const kernels[] = {"rank + linear(outer=rbf)", "linear | rank + subspace"};
    for (size_t k = 0; k < 2; k++) {
        f.options.kernel = (char *)kernels[k];
        assert_int_equal(karma_fit(&f.model, f.table, &f.options, NULL, NULL), KARMA_OK);
        check_every_allocation(run_explain, &f, "explain a composed kernel");
        karma_model_free(f.model);
    }
    karma_table_free(f.table);
}

/* --- calibration and folds ------------------------------------------------------------------------------ */

static karma_status run_calibrate(void *context) {
    static const double scores[] = {1, 2, 3, 1, -2, 0, 5, 4, -1, 2, 2, 2};
    static const size_t classes[] = {0, 1, 2, 1};
    karma_i_calibration c = {.n_outputs = 77};
    karma_error err = {0};
    karma_status st = karma_i_calibration_learn(&c, *(karma_calibration *)context, scores, classes, NULL, 4, 3, &err);
    if (st != KARMA_OK && c.n_outputs != 77) fail_msg("a failing call wrote a calibration");
    if (st == KARMA_OK) karma_i_calibration_clear(&c);
    return judge(st, &err, NULL);
}

static void calibrating(void **state) {
    (void)state;
    karma_calibration sigmoid = KARMA_CALIBRATE_SIGMOID, isotonic = KARMA_CALIBRATE_ISOTONIC;
    check_every_allocation(run_calibrate, &sigmoid, "sigmoid");
    check_every_allocation(run_calibrate, &isotonic, "isotonic");
}

static karma_status run_folds(void *context) {
    static const double target[] = {3, 1, 2, 5};
    (void)context;
    size_t stratum[4] = {77, 77, 77, 77}, fold[4] = {77, 77, 77, 77};
    karma_error err = {0};
    karma_status st = karma_i_folds_bins(stratum, target, 4, 2, &err);
    if (st != KARMA_OK && stratum[0] != 77) fail_msg("a failing call wrote strata");
    if (st == KARMA_OK) st = karma_i_folds_assign(fold, 4, 2, stratum, 2, 1, &err);
    if (st != KARMA_OK && fold[0] != 77) fail_msg("a failing call wrote folds");
    return judge(st, &err, NULL);
}

static void dealing_folds(void **state) {
    (void)state;
    check_every_allocation(run_folds, NULL, "folds");
}

/* --- outputs ------------------------------------------------------------------------------------------- */

static karma_status run_output(void *context) {
    const temp_file *file = context;
    karma_output *output = NULL;
    karma_error err = {0};
    karma_status st = karma_output_open(&output, file->path, &err);
    if (st != KARMA_OK) return judge(st, &err, output);
    (void)fputs("new", karma_output_stream(output));
    return judge(karma_output_commit(output, &err), &err, NULL);
}

static void writing_outputs(void **state) {
    (void)state;
    temp_file file;
    temp_create(&file, ".txt", "old", 3);
    check_every_allocation(run_output, &file, "output");
    temp_remove(&file);
}

/* --- subspaces ----------------------------------------------------------------------------------------- */

static karma_status run_subspace(void *context) {
    karma_i_view rows = karma_i_rows_all(context);
    karma_i_ppca_options options = karma_i_ppca_defaults(2);
    karma_i_subspace *subspace = NULL;
    karma_i_basis *basis = NULL;
    karma_i_regularity *regularity = NULL;
    karma_error err = {0};
    double completed[6 * 4], errors[6 * 4], coordinates[6 * 3];
    options.most_passes = 3;
    karma_status st = judge(karma_i_ppca_fit(&subspace, rows, &options, &err), &err, subspace);
    if (st == KARMA_OK) st = judge(karma_i_complete(completed, errors, subspace, rows, 1, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_i_basis_new(&basis, subspace, &err), &err, basis);
    if (st == KARMA_OK)
        st = judge(karma_i_coordinates(coordinates, subspace, basis, KARMA_I_UNCENTRED, rows, 1, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_i_regularity_new(&regularity, basis, rows, 1, &err), &err, regularity);
    karma_i_subspace_free(subspace);
    karma_i_basis_free(basis);
    karma_i_regularity_free(regularity);
    return st;
}

static karma_status run_choose_rank(void *context) {
    karma_i_ppca_options options = karma_i_ppca_defaults(0);
    karma_i_rank_choice choice = {.rank = 99};
    karma_error err = {0};
    options.most_passes = 2;
    karma_status st = karma_i_ppca_choose_rank(&choice, karma_i_rows_all(context), 1, &options, &err);
    if (st != KARMA_OK && choice.rank != 99) fail_msg("a failing call wrote a choice");
    return judge(st, &err, NULL);
}

static void finding_subspaces(void **state) {
    (void)state;
    static const size_t start[] = {0, 1, 2, 3, 4};
    karma_i_rows *dense = NULL, *sparse = NULL;
    assert_int_equal(karma_i_rows_new(&dense, 4, start, 6, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_new_sparse(&sparse, 4, 6, NULL), KARMA_OK);
    for (size_t i = 0; i < 6; i++) {
        for (size_t j = 0; j < 4; j++) {
            if ((i + j) % 3 == 0) continue;
            float value = (float)((i * i + 3 * j * i + j) % 7);
            karma_i_mask_set(karma_i_rows_mask(dense, i), j);
            karma_i_dense_of(dense)->values[i * 4 + j] = value;
            assert_int_equal(karma_i_rows_add_cell(sparse, j, value, NULL), KARMA_OK);
        }
        assert_int_equal(karma_i_rows_end_sparse(sparse, NULL), KARMA_OK);
    }
    dense->n_rows = 6;
    check_every_allocation(run_subspace, dense, "subspace");
    check_every_allocation(run_subspace, sparse, "subspace of sparse rows");
    check_every_allocation(run_choose_rank, dense, "rank");
    check_every_allocation(run_choose_rank, sparse, "rank of sparse rows");
    karma_i_rows_free(dense);
    karma_i_rows_free(sparse);
}

/* --- searches ------------------------------------------------------------------------------------------ */

/* What is recorded about a search, except for its time: a failing allocation must not remove a part of it silently. */
typedef struct searching {
    fitting f;
    karma_search_options search;
    char account[8192];
} searching;

static void copy_account(char *out, size_t size, const karma_model *model) {
    const karma_search_info *info = karma_model_search_info(model);
    size_t used = 0;
#define ADD(...) used += (size_t)snprintf(out + used, size - used, __VA_ARGS__)
    ADD("%g+-%g constant %g zero %d %g+-%g kernels %zu %zu tried %zu chosen %zu end %d; ", info->score, info->error,
        info->constant_score, info->has_zero_imputation, info->zero_score, info->zero_error, info->n_kernels,
        info->n_kernels_to_the_end, info->n_tried, info->n_chosen, (int)info->end);
    for (size_t i = 0; i < info->n_values; i++) ADD("%g %g, ", info->values[i], info->zero_values[i]);
    for (size_t i = 0; i < info->n_gains; i++)
        ADD("%s %g+-%g, ", info->gains[i].ingredient, info->gains[i].gain, info->gains[i].error);
    for (size_t i = 0; i < info->n_candidates; i++) {
        const karma_search_candidate *c = &info->candidates[i];
        ADD("%s @ %g: %g+-%g %d, ", c->kernel, c->C_factor, c->score, c->error, c->is_chosen);
    }
    for (size_t i = 0; i < info->n_members; i++)
        for (size_t c = 0; c < info->members[i].n_machines; c++)
            ADD("%s @ %g:%g, ", info->members[i].kernel, info->members[i].C_factors[c], info->members[i].weights[c]);
#undef ADD
    assert_true(used < size);
}

static karma_status run_search(void *context) {
    searching *s = context;
    karma_model *model = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_search(&model, s->f.table, &s->f.options, &s->search, NULL, &err), &err, model);
    if (st == KARMA_OK) {
        char account[sizeof s->account];
        copy_account(account, sizeof account, model);
        if (!s->account[0]) (void)strcpy(s->account, account);
        if (strcmp(account, s->account) != 0) fail_msg("an account that lacks something: %s", account);
    }
    karma_model_free(model);
    return st;
}

static karma_status run_cross_validation(void *context) {
    searching *s = context;
    karma_cv cv = {.n_rows = 77};
    karma_error err = {0};
    karma_status st = karma_cross_validate(&cv, s->f.table, &s->f.options, &s->search, 2, 1, NULL, &err);
    if (st != KARMA_OK && (cv.n_rows != 77 || cv.targets)) fail_msg("a failing call wrote a validation");
    if (st == KARMA_OK) karma_cv_clear(&cv);
    return judge(st, &err, NULL);
}

/* One kernel with five values of C, or two kernels with two each. There are few folds because every allocation fails
 * once. */
static void searching_models(void **state) {
    (void)state;
    static char *names[] = {"kernel", "C"};
    static char *const kernels[] = {"linear(gamma=1) + 0.5*rank", "union"};
    for (size_t k = 0; k < 2; k++) {
        searching s = {
            .f = {.table = table_of("a,b,c,label\n1,2,1,yes\n,3,0,no\n4,5,,yes\n2,1,7,no\n6,-2,2,yes\n", "label"),
                  .options = quick_options(KARMA_SOLVER_BATCH)}};
        karma_options_init(karma_search_option_table(), &s.search);
        s.search.effort = KARMA_EFFORT_QUICK;
        s.search.fixed = (karma_names){names, 1 + k};
        s.f.options.kernel = kernels[k];
        s.f.options.folds = 2;
        s.f.options.subspace_rank = 1;
        s.f.options.probabilities = k ? KARMA_CALIBRATE_OFF : KARMA_CALIBRATE_SIGMOID;
        assert_int_equal(run_search(&s), KARMA_OK);
        check_every_allocation(run_search, &s, "search");
        if (k == 0) {
            s.search.effort = KARMA_EFFORT_OFF;
            check_every_allocation(run_cross_validation, &s, "cross-validation");
        }
        karma_table_free(s.f.table);
    }
}

/* --- baselines -------------------------------------------------------------------------------------------- */

typedef struct contest {
    karma_i_baseline baseline;
    const karma_table *table;
    const karma_i_task *task;
} contest;

static karma_status run_baseline(void *context) {
    const contest *c = context;
    karma_i_baseline_options options;
    karma_i_learner *learner = NULL;
    double scores[64];
    karma_error err = {0};
    karma_i_baseline_options_init(&options);
    karma_status st =
        judge(karma_i_learner_fit(&learner, &c->baseline, c->task, c->table, &options, NULL, &err), &err, learner);
    if (st == KARMA_OK) st = judge(karma_i_learner_score(scores, learner, c->table, NULL, &err), &err, NULL);
    karma_i_learner_free(learner);
    return st;
}

static karma_status run_task(void *context) {
    const contest *c = context;
    karma_i_task task = {0};
    karma_error err = {0};
    karma_status st = judge(karma_i_baseline_task(&task, c->table, &c->task->options, NULL, &err), &err, task.heads);
    karma_i_task_clear(&task);
    return st;
}

static void running_baselines(void **state) {
    (void)state;
    karma_table *table = table_of("a,b,colour,label\n1,2,red,yes\n,3,blue,no\n4,5,red,yes\n2,1,blue,no\n6,-2,,yes\n"
                                  "7,,red,no\n3,1,blue,\n",
                                  "label");
    karma_fit_options options;
    karma_i_task task;
    karma_options_init(karma_fit_option_table(), &options);
    options.threads = 1;
    options.tolerance = 0.1;
    assert_int_equal(karma_i_baseline_task(&task, table, &options, NULL, NULL), KARMA_OK);
    for (size_t k = 0; k < karma_i_n_baselines(); k++) {
        contest c = {karma_i_baseline_at(k), table, &task};
        check_every_allocation(run_baseline, &c, c.baseline.name);
        if (k == 0) check_every_allocation(run_task, &c, "task");
    }
    karma_i_task_clear(&task);
    karma_table_free(table);
}

/* --- comparisons --------------------------------------------------------------------------------------- */

typedef struct comparing {
    const karma_table *table;
    karma_fit_options fit;
    karma_search_options search;
    karma_compare_options compare;
} comparing;

/* A method that runs out of memory has failed, but the comparison has not. */
static karma_status run_comparison(void *context) {
    const comparing *c = context;
    karma_comparison comparison = {0};
    karma_error err = {0};
    karma_status st = judge(karma_compare(&comparison, c->table, &c->fit, &c->search, &c->compare, NULL, &err), &err,
                            comparison.methods);
    karma_comparison_clear(&comparison);
    return st;
}

static void comparing_methods(void **state) {
    (void)state;
    karma_table *table =
        table_of("a,b,label\n1,2,yes\n,3,no\n4,5,yes\n2,1,no\n6,-2,yes\n7,,no\n3,1,\n2,2,no\n5,3,yes\n", "label");
    comparing c = {.table = table};
    karma_options_init(karma_fit_option_table(), &c.fit);
    karma_options_init(karma_search_option_table(), &c.search);
    karma_options_init(karma_compare_option_table(), &c.compare);
    c.fit.threads = 1;
    c.fit.tolerance = 0.1;
    c.compare.folds = c.compare.inner = 2;
    /* two fits; a baseline would take eighteen, whose large pages take long to fill where the allocator is told to */
    const karma_option *option = karma_option_find(karma_compare_option_table(), "methods");
    assert_int_equal(karma_option_set(option, &c.compare, "karma-2", NULL), KARMA_OK);
    check_every_allocation(run_comparison, &c, "karma-2");
    karma_options_clear(karma_compare_option_table(), &c.compare);
    karma_table_free(table);
}

/* --- forests ------------------------------------------------------------------------------------------- */

enum { FOREST_ROWS = 60, FOREST_TREES = 3 };

/* Two numbers and a category; one output with quantiles, one with classes. */
typedef struct growing {
    uint8_t ranks[2][FOREST_ROWS];
    uint16_t codes[FOREST_ROWS];
    karma_i_forest_column columns[3];
    double targets[2 * FOREST_ROWS], weights[2 * FOREST_ROWS];
    karma_i_forest_growth growth;
} growing;

static karma_status run_forest(void *context) {
    growing *g = context;
    static const karma_i_forest_loss losses[2] = {{KARMA_I_FOREST_PINBALL, 0.3}, {KARMA_I_FOREST_LOGISTIC, 0.0}};
    karma_i_forest_labels labels = {2, g->targets, g->weights, losses, {0}};
    karma_i_forest_options options;
    karma_i_forest *forest = NULL;
    uint16_t codes[FOREST_ROWS * FOREST_TREES];
    karma_error err = {0};
    karma_i_forest_options_init(&options, g->growth, 3);
    options.n_trees = FOREST_TREES;
    karma_status st =
        judge(karma_i_forest_learn(&forest, g->columns, 3, FOREST_ROWS, &labels, &options, NULL, &err), &err, forest);
    if (st == KARMA_OK)
        st = judge(karma_i_forest_apply(codes, FOREST_TREES, forest, g->columns, FOREST_ROWS, 1, &err), &err, NULL);
    karma_i_forest_free(forest);
    return st;
}

static void growing_forests(void **state) {
    (void)state;
    growing g = {.columns = {{g.ranks[0], NULL, 1, 0}, {NULL, g.codes, 1, 5}, {g.ranks[1], NULL, 1, 0}}};
    for (size_t i = 0; i < FOREST_ROWS; i++) {
        g.ranks[0][i] = (uint8_t)(37 * i);
        g.ranks[1][i] = (uint8_t)(101 * i);
        g.codes[i] = (uint16_t)(i % 6);
        g.targets[2 * i] = (double)(i % 7);
        g.targets[2 * i + 1] = i % 6 < 2 ? 1.0 : -1.0;
        g.weights[2 * i] = g.weights[2 * i + 1] = 1.0;
    }
    for (int growth = KARMA_I_FOREST_BOOSTED; growth <= KARMA_I_FOREST_BAGGED; growth++) {
        g.growth = (karma_i_forest_growth)growth;
        check_every_allocation(run_forest, &g, "grow a forest");
    }
}

int main(void) {
    failing_heap_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_csv),
        cmocka_unit_test(reading_cached),
        cmocka_unit_test(reading_libsvm),
        cmocka_unit_test(reading_ratings),
        cmocka_unit_test(synthesising),
        cmocka_unit_test(regretting),
        cmocka_unit_test(building_tables),
        cmocka_unit_test(counting_patterns),
        cmocka_unit_test(filling_options),
        cmocka_unit_test(fitting_models),
        cmocka_unit_test(saving_and_loading_models),
        cmocka_unit_test(using_models),
        cmocka_unit_test(writing_outputs),
        cmocka_unit_test(calibrating),
        cmocka_unit_test(dealing_folds),
        cmocka_unit_test(copying_options),
        cmocka_unit_test(making_plans),
        cmocka_unit_test(computing_composed_grams),
        cmocka_unit_test(finding_subspaces),
        cmocka_unit_test(explaining_models),
        cmocka_unit_test(explaining_composed_kernels),
        cmocka_unit_test(running_baselines),
        cmocka_unit_test(searching_models),
        cmocka_unit_test(comparing_methods),
        cmocka_unit_test(growing_forests),
    };
    return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
