/* Failing allocations (failing_heap.h): streams, tables from memory, certainty, and the other public calls
 * that test_alloc does not make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/messages.h"
#include "failing_heap.h"
#include "karma/karma.h"
#include "tempfile.h"

enum { ROWS = 24, COLUMNS = 2 };

/* --- rows to learn from --------------------------------------------------------------------------------- */

typedef struct world {
    karma_table *table;
    karma_model *model;
    karma_fit_options options;
    karma_online_options online;
    karma_read_options reading;
    temp_file rows, saved;
    double scores[ROWS * 3];
    size_t n_scores;
} world;

static void draw(double cells[ROWS * COLUMNS], double labels[ROWS]) {
    for (int i = 0; i < ROWS; i++) {
        cells[2 * i] = i % 7 == 3 ? NAN : sin(i);
        cells[2 * i + 1] = cos(3.0 * i);
        labels[i] = sin(i) + cos(3.0 * i) + 0.1 * sin(50.0 * i);
    }
}

static karma_table *new_table(int classes) {
    double cells[ROWS * COLUMNS], labels[ROWS];
    const char *words[ROWS];
    karma_table *table = NULL;
    draw(cells, labels);
    for (size_t i = 0; i < ROWS; i++) words[i] = labels[i] > 0.0 ? "yes" : "no";
    assert_int_equal(karma_table_from_array(&table, cells, ROWS, COLUMNS, NULL, NULL), KARMA_OK);
    karma_status st = classes ? karma_table_add_target_classes(table, "y", words, NULL)
                              : karma_table_add_target_numbers(table, "y", labels, NULL);
    assert_int_equal(st, KARMA_OK);
    return table;
}

/* A model of two classes or of numbers, its scores of its own rows, and these rows as a file. */
static void open_world(world *w, int classes) {
    *w = (world){0};
    karma_options_init(karma_fit_option_table(), &w->options);
    karma_options_init(karma_online_option_table(), &w->online);
    karma_options_init(karma_read_option_table(), &w->reading);
    w->options.threads = w->reading.threads = 1;
    w->online.warm_up = ROWS;
    assert_int_equal(karma_option_set(karma_option_find(karma_read_option_table(), "target"), &w->reading, "y", NULL),
                     KARMA_OK);
    w->table = new_table(classes);
    char text[4096] = "1,2,y\n";
    for (size_t i = 0; i < ROWS; i++) {
        double a = NAN, b = 0.0, y;
        (void)karma_table_cell(w->table, i, 0, &a);
        (void)karma_table_cell(w->table, i, 1, &b);
        y = sin((double)i) + b;
        char first[32] = "";
        size_t used = strlen(text);
        if (!isnan(a)) (void)snprintf(first, sizeof first, "%.4f", a);
        (void)snprintf(text + used, sizeof text - used, "%s,%.4f,%s\n", first, b, y > 0.0 ? "yes" : "no");
    }
    temp_create(&w->rows, ".csv", text, strlen(text));
    temp_create(&w->saved, ".karma", "", 0);
    w->options.certainty = KARMA_CERTAINTY_ON;
    w->options.kernel = "subspace";
    w->options.subspace_rank = 1;
    if (karma_fit(&w->model, w->table, &w->options, NULL, NULL) != KARMA_OK) fail_msg("no model");
    w->n_scores = ROWS * karma_model_n_outputs(w->model);
    assert_int_equal(karma_predict(w->scores, w->model, w->table, 1, NULL, NULL), KARMA_OK);
}

static void close_world(world *w) {
    temp_remove(&w->rows);
    temp_remove(&w->saved);
    karma_options_clear(karma_read_option_table(), &w->reading);
    karma_model_free(w->model);
    karma_table_free(w->table);
}

/* --- streams -------------------------------------------------------------------------------------------- */

/* Makes a learner, gives it rows, and saves its model. */
static karma_status run_stream(void *context) {
    world *w = context;
    karma_online *online = NULL;
    const karma_model *model = NULL;
    void *bytes = NULL;
    size_t size = 0;
    karma_error err = {0};
    karma_status st = judge(karma_online_new(&online, w->table, &w->options, &w->online, NULL, &err), &err, online);
    if (st == KARMA_OK) st = judge(karma_online_learn(online, w->table, NULL, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_online_model(&model, NULL, online, &err), &err, model);
    if (st == KARMA_OK) st = judge(karma_model_save_buffer(&bytes, &size, model, &err), &err, bytes);
    karma_buffer_free(bytes);
    karma_online_free(online);
    return st;
}

/* Reads all rows of a file, and the first ones twice. */
static karma_status run_stream_of_file(void *context) {
    world *w = context;
    karma_online *online = NULL;
    karma_row_stream *rows = NULL;
    karma_table *part = NULL;
    karma_error err = {0};
    karma_status st =
        judge(karma_online_start(&online, &rows, w->rows.path, &w->reading, &w->options, &w->online, NULL, &err), &err,
              online);
    while (st == KARMA_OK) {
        part = NULL;
        st = judge(karma_row_stream_next(&part, rows, &err), &err, part);
        if (!part) break;
        if (st == KARMA_OK) st = judge(karma_online_learn(online, part, NULL, &err), &err, NULL);
        karma_table_free(part);
    }
    karma_row_stream_free(rows);
    karma_online_free(online);
    return st;
}

static karma_status run_stream_from_model(void *context) {
    world *w = context;
    karma_online *online = NULL;
    karma_row_stream *rows = NULL;
    karma_error err = {0};
    karma_status st = karma_online_load(&online, w->saved.path, 1, &err);
    /* jansson reports the same error for invalid text and for lack of memory, so the model seems damaged */
    if (st == KARMA_ERR_FORMAT && strstr(err.message, "not a usable model")) st = err.status = KARMA_ERR_IO;
    (void)judge(st, &err, online);
    if (st == KARMA_OK) st = judge(karma_online_rows(&rows, online, w->rows.path, &w->reading, NULL, &err), &err, rows);
    if (st == KARMA_OK) st = judge(karma_online_learn(online, w->table, NULL, &err), &err, NULL);
    karma_row_stream_free(rows);
    karma_online_free(online);
    return st;
}

static void learning_from_streams(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    static const char *const kernels[] = {"linear", "rank*linear(gamma=1)"};
    for (size_t k = 0; k < 2; k++) {
        w.options.kernel = (char *)kernels[k];
        check_every_allocation(run_stream, &w, "stream");
        check_every_allocation(run_stream_of_file, &w, "stream of a file");
        karma_online *online = NULL;
        const karma_model *model = NULL;
        assert_int_equal(karma_online_new(&online, w.table, &w.options, &w.online, NULL, NULL), KARMA_OK);
        assert_int_equal(karma_online_learn(online, w.table, NULL, NULL), KARMA_OK);
        assert_int_equal(karma_online_model(&model, NULL, online, NULL), KARMA_OK);
        assert_int_equal(karma_model_save(model, w.saved.path, NULL), KARMA_OK);
        karma_online_free(online);
        check_every_allocation(run_stream_from_model, &w, "stream from a model");
    }
    close_world(&w);
}

static karma_status run_row_stream(void *context) {
    world *w = context;
    karma_row_stream *rows = NULL;
    karma_table *part = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_row_stream_open(&rows, w->model, w->rows.path, &w->reading, NULL, &err), &err, rows);
    if (st == KARMA_OK) st = judge(karma_row_stream_next(&part, rows, &err), &err, part);
    karma_table_free(part);
    karma_row_stream_free(rows);
    return st;
}

static karma_status run_row_reader(void *context) {
    world *w = context;
    static const char *const names[] = {"1", "2", "other"};
    karma_row_reader *reader = NULL;
    karma_table *table = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_row_reader_new(&reader, w->model, names, 3, 1, &err), &err, reader);
    for (size_t i = 0; st == KARMA_OK && i < 3; i++) {
        st = judge(i ? karma_row_reader_add_number(reader, 0.5, &err) : karma_row_reader_add_missing(reader, &err),
                   &err, NULL);
        if (st == KARMA_OK) st = judge(karma_row_reader_add_integer(reader, (int64_t)i, &err), &err, NULL);
        if (st == KARMA_OK) st = judge(karma_row_reader_add_text(reader, "a \"text\"", 8, &err), &err, NULL);
    }
    if (st == KARMA_OK) st = judge(karma_row_reader_read(&table, reader, &err), &err, table);
    karma_table_free(table);
    karma_row_reader_free(reader);
    return st;
}

/* --- tables --------------------------------------------------------------------------------------------- */

static karma_status run_columns(void *context) {
    (void)context;
    static const double numbers[] = {1, 2, NAN, 4};
    static const int32_t codes[] = {0, 1, -1, 0};
    static const char *const texts[] = {"x", "y", NULL, "x"}, *const levels[] = {"low", "high"};
    static const char *const turned[] = {"y", "x"};
    karma_columns *columns = NULL;
    karma_table *table = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_columns_new(&columns, 4, &err), &err, columns);
    if (st != KARMA_OK) return st;
    st = judge(karma_columns_add_numbers(columns, "n", numbers, KARMA_FLOAT64, 8, NULL, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_columns_add_categories(columns, "c", codes, 4, levels, 2, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_columns_add_texts(columns, "t", texts, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_columns_add_ids(columns, "id", texts, &err), &err, NULL);
    if (st != KARMA_OK) {
        karma_columns_free(columns);
        return st;
    }
    st = judge(karma_columns_finish(&table, columns, &err), &err, table);
    if (st == KARMA_OK) st = judge(karma_table_order_category(table, "t", turned, 2, &err), &err, NULL);
    karma_table_free(table);
    return st;
}

static karma_status run_sparse(void *context) {
    (void)context;
    static const double values[] = {1, 2, 3};
    static const int64_t columns[] = {0, 2, 1}, starts[] = {0, 2, 3};
    static const float cells[] = {1, 2, 3, 4, 5, 6}, gram[] = {1, 0.5F, 0.5F, 1};
    karma_table *table = NULL, *strided = NULL;
    karma_error err = {0};
    karma_status st = judge(
        karma_table_from_csr(&table, values, columns, starts, 2, 3, KARMA_ABSENT_MISSING, NULL, &err), &err, table);
    if (st == KARMA_OK)
        st = judge(karma_table_from_strided(&strided, cells, KARMA_FLOAT32, 2, 3, 12, 4, NULL, &err), &err, strided);
    if (st == KARMA_OK) st = judge(karma_table_set_gram(strided, gram, 2, &err), &err, NULL);
    karma_table_free(table);
    karma_table_free(strided);
    return st;
}

static karma_status run_review(void *context) {
    world *w = context;
    karma_review review = {.n_findings = 77};
    karma_error err = {0};
    karma_status st = judge(karma_table_review(&review, w->table, &err), &err, NULL);
    if (st != KARMA_OK && review.n_findings != 77) fail_msg("a failing call wrote findings");
    if (st == KARMA_OK) karma_review_clear(&review);
    return st;
}

static karma_status run_auto_task(void *context) {
    world *w = context;
    karma_task task = KARMA_TASK_AUTO;
    size_t n_distinct = 77;
    karma_error err = {0};
    karma_status st = judge(karma_auto_task(&task, &n_distinct, w->table, 0, &err), &err, NULL);
    if (st != KARMA_OK && (task != KARMA_TASK_AUTO || n_distinct != 77)) fail_msg("a failing call wrote a task");
    return st;
}

static karma_status run_read_like(void *context) {
    world *w = context;
    karma_table *table = NULL;
    karma_error err = {0};
    karma_status st =
        judge(karma_table_read_like(&table, w->rows.path, w->table, &w->reading, NULL, &err), &err, table);
    karma_table_free(table);
    return st;
}

static void making_tables(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    check_every_allocation(run_columns, NULL, "columns");
    check_every_allocation(run_sparse, NULL, "sparse rows");
    check_every_allocation(run_review, &w, "review");
    check_every_allocation(run_auto_task, &w, "auto_task");
    check_every_allocation(run_read_like, &w, "read like");
    check_every_allocation(run_row_stream, &w, "row stream");
    check_every_allocation(run_row_reader, &w, "row reader");
    close_world(&w);
}

/* --- ARFF and Arrow ------------------------------------------------------------------------------------- */

static karma_status run_read(void *context) {
    const temp_file *file = context;
    karma_table *table = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_table_read(&table, file->path, NULL, NULL, &err), &err, table);
    karma_table_free(table);
    return st;
}

static void reading_arff(void **state) {
    (void)state;
    static const char dense[] = "@relation r\n@attribute a numeric\n@attribute 'b c' {x, 'y z'}\n@attribute s string\n"
                                "@data\n1,x,\"t, u\"\n?,'y z',?\n-3e2,?,v\n";
    static const char sparse[] = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n{0 1}\n{1 y}\n{}\n";
    const char *const texts[] = {dense, sparse};
    for (size_t i = 0; i < 2; i++) {
        temp_file file;
        temp_create(&file, ".arff", texts[i], strlen(texts[i]));
        check_every_allocation(run_read, &file, "read ARFF");
        temp_remove(&file);
    }
}

static void release_schema(struct ArrowSchema *schema) {
    schema->release = NULL;
}
static void release_array(struct ArrowArray *array) {
    array->release = NULL;
}

static karma_status run_arrow(void *context) {
    (void)context;
    static const double numbers[] = {1, 2, 3};
    static const int32_t offsets[] = {0, 1, 3, 3};
    static const uint8_t valid[] = {5};
    const void *number_buffers[] = {valid, numbers}, *text_buffers[] = {NULL, offsets, "abc"}, *none[] = {NULL};
    struct ArrowSchema schemas[] = {{.format = "g", .name = "n", .release = release_schema},
                                    {.format = "u", .name = "t", .release = release_schema}};
    struct ArrowArray arrays[] = {
        {.length = 3, .null_count = 1, .n_buffers = 2, .buffers = number_buffers, .release = release_array},
        {.length = 3, .n_buffers = 3, .buffers = text_buffers, .release = release_array}};
    struct ArrowSchema *schema_list[] = {&schemas[0], &schemas[1]};
    struct ArrowArray *array_list[] = {&arrays[0], &arrays[1]};
    struct ArrowSchema schema = {
        .format = "+s", .name = "", .n_children = 2, .children = schema_list, .release = release_schema};
    struct ArrowArray array = {.length = 3,
                               .n_buffers = 1,
                               .buffers = none,
                               .n_children = 2,
                               .children = array_list,
                               .release = release_array};
    karma_table *table = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_table_from_arrow(&table, &schema, &array, NULL, &err), &err, table);
    karma_table_free(table);
    return st;
}

/* A stream of two batches of one column; its own structures are on its caller's stack. */
typedef struct batches {
    size_t n_given;
    struct ArrowSchema column, *columns[1];
    struct ArrowArray cells, *cell_list[1];
    const void *buffers[2], *none[1];
} batches;

static int give_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    batches *b = stream->private_data;
    b->column = (struct ArrowSchema){.format = "g", .name = "n", .release = release_schema};
    b->columns[0] = &b->column;
    *out = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = 1, .children = b->columns, .release = release_schema};
    return 0;
}

static int give_batch(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    static const double numbers[] = {1, 2, 3};
    batches *b = stream->private_data;
    b->buffers[1] = numbers;
    b->cells = (struct ArrowArray){.length = 3, .n_buffers = 2, .buffers = b->buffers, .release = release_array};
    b->cell_list[0] = &b->cells;
    *out = (struct ArrowArray){.length = 3, .n_buffers = 1, .buffers = b->none, .n_children = 1};
    out->children = b->cell_list;
    out->release = b->n_given++ < 2 ? release_array : NULL; /* NULL: the stream has ended */
    return 0;
}

static karma_status run_arrow_stream(void *context) {
    (void)context;
    batches b = {0};
    struct ArrowArrayStream stream = {.get_schema = give_schema, .get_next = give_batch, .private_data = &b};
    karma_table *table = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_table_from_arrow_stream(&table, &stream, NULL, &err), &err, table);
    if (st == KARMA_OK) assert_int_equal(karma_table_n_rows(table), 6);
    karma_table_free(table);
    return st;
}

static void reading_arrow(void **state) {
    (void)state;
    check_every_allocation(run_arrow, NULL, "Arrow");
    check_every_allocation(run_arrow_stream, NULL, "Arrow stream");
}

/* --- what is made of models ------------------------------------------------------------------------------ */

static karma_status run_arrays(void *context) {
    world *w = context;
    double cells[ROWS * COLUMNS], labels[ROWS], predictions[ROWS];
    karma_model *model = NULL;
    karma_error err = {0};
    karma_search_options search;
    karma_options_init(karma_search_option_table(), &search);
    search.effort = KARMA_EFFORT_OFF;
    draw(cells, labels);
    for (size_t i = 0; i < ROWS; i++) predictions[i] = -77.0;
    karma_status st =
        judge(karma_fit_array(&model, cells, ROWS, COLUMNS, labels, &w->options, &search, &err), &err, model);
    if (st == KARMA_OK) {
        st = judge(karma_predict_array(predictions, model, cells, ROWS, COLUMNS, &err), &err, NULL);
        if (st != KARMA_OK && predictions[0] != -77.0) fail_msg("a failing call wrote predictions");
    }
    karma_model_free(model);
    return st;
}

static karma_status run_certainty(void *context) {
    world *w = context;
    double low[ROWS], high[ROWS];
    unsigned char sets[ROWS * 2];
    karma_coverage coverage;
    karma_error err = {0};
    karma_status st;
    if (karma_model_task(w->model, 0) == KARMA_TASK_CLASSIFY) {
        st = judge(karma_predict_sets(sets, w->model, 0, w->table, w->scores, 0.9, &err), &err, NULL);
        if (st == KARMA_OK)
            st = judge(karma_predict_confidence(low, w->model, 0, w->table, w->scores, &err), &err, NULL);
    } else {
        st = judge(karma_predict_intervals(low, high, w->model, 0, w->table, w->scores, 0.9, &err), &err, NULL);
    }
    if (st == KARMA_OK)
        st = judge(karma_measure_coverage(&coverage, w->model, 0, w->table, w->scores, 0.9, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_left_out_coverage(&coverage, w->model, 0, 0.9, &err), &err, NULL);
    return st;
}

static karma_status run_abstention(void *context) {
    world *w = context;
    karma_abstention_point points[3] = {{.asked = 0.5}, {.asked = 0.8}, {.asked = 1.0}};
    karma_error err = {0};
    double threshold = -77.0, labels[ROWS];
    karma_status st = judge(karma_measure_abstention(points, 3, w->model, 0, w->table, w->scores, &err), &err, NULL);
    if (st == KARMA_OK)
        st = judge(karma_abstention_threshold(&threshold, w->model, 0, KARMA_ABSTAIN_ACCURACY, 0.9, &err), &err, NULL);
    if (st != KARMA_OK && threshold != -77.0) fail_msg("a failing call wrote a threshold");
    if (st == KARMA_OK) st = judge(karma_model_labels(labels, w->model, 0, w->table, &err), &err, NULL);
    return st;
}

static karma_status run_flags(void *context) {
    world *w = context;
    karma_cell_flags flags = {.n_cells = 77};
    karma_error err = {0};
    karma_status st = judge(karma_flag_cells(&flags, w->model, w->table, &err), &err, NULL);
    if (st != KARMA_OK && flags.n_cells != 77) fail_msg("a failing call wrote flags");
    if (st == KARMA_OK) karma_cell_flags_clear(&flags);
    return st;
}

static karma_status run_next(void *context) {
    world *w = context;
    karma_next_cells cells = {.n_rows = 77};
    karma_error err = {0};
    karma_status st = judge(karma_measure_next(&cells, w->model, 0, w->table, NULL, 1, NULL, &err), &err, NULL);
    if (st != KARMA_OK && cells.n_rows != 77) fail_msg("a failing call wrote cells");
    if (st == KARMA_OK) karma_next_cells_clear(&cells);
    return st;
}

/* --- weights, visitors and parts -------------------------------------------------------------------------- */

/* Every row occurs twice, with weights. */
static karma_status run_weighted(void *context) {
    world *w = context;
    size_t rows[2 * ROWS];
    double weights[2 * ROWS];
    karma_table *twice = NULL;
    karma_model *model = NULL;
    karma_fit_options options = w->options;
    karma_error err = {0};
    options.kernel = "relevance";
    options.certainty = KARMA_CERTAINTY_OFF;
    for (size_t i = 0; i < 2 * ROWS; i++) {
        rows[i] = i % ROWS;
        weights[i] = 0.5;
    }
    karma_status st = judge(karma_table_select(&twice, w->table, rows, 2 * ROWS, &err), &err, twice);
    if (st == KARMA_OK) st = judge(karma_table_set_row_weights(twice, weights, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_fit(&model, twice, &options, NULL, &err), &err, model);
    if (st == KARMA_OK) assert_int_equal(karma_model_info(model)->n_rows, ROWS);
    karma_model_free(model);
    karma_table_free(twice);
    return st;
}

static karma_status see_fold(void *payload, const karma_model *model, const karma_table *test, const size_t *rows,
                             const double *scores, karma_error *err) {
    (void)model, (void)test, (void)rows, (void)scores, (void)err;
    *(size_t *)payload += 1;
    return KARMA_OK;
}

static karma_status run_visits(void *context) {
    world *w = context;
    size_t n_seen = 0;
    karma_cv cv = {.n_rows = 77};
    karma_search_options search;
    karma_fit_options options = w->options;
    karma_error err = {0};
    options.kernel = "linear";
    options.certainty = KARMA_CERTAINTY_OFF;
    karma_options_init(karma_search_option_table(), &search);
    search.effort = KARMA_EFFORT_OFF;
    karma_status st = judge(
        karma_cross_validate_with(&cv, w->table, &options, &search, 2, 1, see_fold, &n_seen, NULL, &err), &err, NULL);
    if (st != KARMA_OK && cv.n_rows != 77) fail_msg("a failing call wrote folds");
    if (st == KARMA_OK) {
        assert_int_equal(n_seen, 2);
        karma_cv_clear(&cv);
    }
    return st;
}

/* The only process reads its part, which is the whole file. */
static karma_status run_split(void *context) {
    world *w = context;
    karma_table *table = NULL;
    karma_row_stream *stream = NULL;
    karma_error err = {0};
    karma_status st =
        judge(karma_table_read_split(&table, w->rows.path, &w->reading, &karma_i_one_rank, NULL, &err), &err, table);
    karma_table_free(table);
    if (st == KARMA_OK)
        st = judge(
            karma_row_stream_open_split(&stream, w->model, w->rows.path, &w->reading, &karma_i_one_rank, NULL, &err),
            &err, stream);
    karma_row_stream_free(stream);
    return judge(karma_ranks_agree(&karma_i_one_rank, st, &err), &err, NULL);
}

static karma_status run_gram_and_csv(void *context) {
    world *w = context;
    karma_gram *gram = NULL;
    float values[ROWS * ROWS];
    karma_error err = {0};
    FILE *file = fopen("/dev/null", "w");
    if (!file) return KARMA_ERR_MEMORY; /* its own buffer */
    karma_status st = judge(karma_gram_new(&gram, w->table, NULL, &w->options, NULL, &err), &err, gram);
    if (st == KARMA_OK) st = judge(karma_gram_rows(values, gram, 0, ROWS, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_table_write_csv(w->table, file, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_options_check(karma_fit_option_table(), &w->options, &err), &err, NULL);
    karma_gram_free(gram);
    (void)fclose(file);
    return st;
}

static void learning_and_reading_in_other_ways(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    check_every_allocation(run_weighted, &w, "weights");
    check_every_allocation(run_visits, &w, "visits of folds");
    check_every_allocation(run_split, &w, "parts");
    check_every_allocation(run_gram_and_csv, &w, "kernel values");
    close_world(&w);
}

static void asking_models(void **state) {
    (void)state;
    for (int classes = 0; classes < 2; classes++) {
        world w;
        open_world(&w, classes);
        check_every_allocation(run_certainty, &w, "certainty");
        if (classes) check_every_allocation(run_abstention, &w, "abstention");
        check_every_allocation(run_flags, &w, "flags");
        check_every_allocation(run_next, &w, "next cells");
        if (!classes) check_every_allocation(run_arrays, &w, "arrays");
        close_world(&w);
    }
}

/* --- outputs and theory ---------------------------------------------------------------------------------- */

static karma_status run_two_outputs(void *context) {
    const world *w = context;
    karma_output *first = NULL, *second = NULL;
    karma_error err = {0};
    karma_status st = judge(karma_output_open_table(&first, w->rows.path, 0, &err), &err, first);
    if (st == KARMA_OK) {
        st = judge(karma_output_open(&second, w->saved.path, &err), &err, second);
        if (st != KARMA_OK) karma_output_discard(first);
    }
    if (st == KARMA_OK) st = karma_output_commit_two(first, second, &err);
    return judge(st, &err, NULL);
}

static karma_status run_theory(void *context) {
    (void)context;
    static const double x[] = {1, 2, 3}, Q[] = {1, 0, 0, 0, 1, 0, 0, 0, 0};
    static const unsigned char observed[] = {1, 1, 0};
    double phi[64] = {-77.0}, lambda = -77.0;
    int reconstructible = 77;
    karma_error err = {0};
    karma_status st = judge(karma_theory_embed(phi, x, observed, 3, 2, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_theory_unfold(phi, x, Q, 3, 2, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_theory_f0(phi, x, Q, x, observed, 3, &err), &err, NULL);
    if (st == KARMA_OK) st = judge(karma_theory_f_gamma(phi, x, Q, x, observed, 3, 2, &err), &err, NULL);
    if (st == KARMA_OK) {
        st = judge(karma_theory_regularity(&lambda, &reconstructible, Q, observed, 3, &err), &err, NULL);
        if (st != KARMA_OK && (lambda != -77.0 || reconstructible != 77)) fail_msg("a failing call wrote a regularity");
    }
    return st;
}

static void writing_and_theory(void **state) {
    (void)state;
    world w;
    open_world(&w, 1);
    check_every_allocation(run_two_outputs, &w, "two outputs");
    check_every_allocation(run_theory, NULL, "theory");
    close_world(&w);
}

int main(void) {
    failing_heap_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(learning_from_streams), cmocka_unit_test(making_tables),
        cmocka_unit_test(reading_arff),          cmocka_unit_test(reading_arrow),
        cmocka_unit_test(asking_models),         cmocka_unit_test(learning_and_reading_in_other_ways),
        cmocka_unit_test(writing_and_theory),
    };
    return cmocka_run_group_tests_name("alloc_calls", tests, NULL, NULL);
}
