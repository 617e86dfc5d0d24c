/* Rows that are split over processes. The processes are threads here, with messages through shared memory: what they
 * compute must have the bits of what one process computes, and an error of one must be that of all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "base/partition.h"
#include "base/rng.h"
#include "karma/karma.h"
#include "table/table_split.h"
#include "tempfile.h"

enum { MOST_RANKS = 7 };

/* --- processes that are threads ------------------------------------------------------------------------ */

typedef struct world {
    size_t size;
    pthread_barrier_t barrier;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    const void *sent[MOST_RANKS][MOST_RANKS]; /* [from][to] */
    size_t sent_bytes[MOST_RANKS][MOST_RANKS];
    const void *shown[MOST_RANKS];
    double values[MOST_RANKS];
} world;

typedef struct member {
    world *w;
    karma_ranks ranks;
    int is_over;
    void (*work)(struct member *m);
    void *payload;
    karma_status status;
    karma_error err;
} member;

static void send_bytes(void *payload, size_t to, const void *bytes, size_t n) {
    member *m = payload;
    size_t from = m->ranks.rank;
    pthread_mutex_lock(&m->w->mutex);
    m->w->sent[from][to] = bytes;
    m->w->sent_bytes[from][to] = n;
    pthread_cond_broadcast(&m->w->changed);
    while (m->w->sent[from][to]) pthread_cond_wait(&m->w->changed, &m->w->mutex); /* the least that MPI promises */
    pthread_mutex_unlock(&m->w->mutex);
}

static void receive_bytes(void *payload, size_t from, void *bytes, size_t n) {
    member *m = payload;
    size_t to = m->ranks.rank;
    pthread_mutex_lock(&m->w->mutex);
    while (!m->w->sent[from][to]) pthread_cond_wait(&m->w->changed, &m->w->mutex);
    if (m->w->sent_bytes[from][to] != n) abort();
    if (n) memcpy(bytes, m->w->sent[from][to], n);
    m->w->sent[from][to] = NULL;
    pthread_cond_broadcast(&m->w->changed);
    pthread_mutex_unlock(&m->w->mutex);
}

static void wait_for_all(member *m) {
    (void)pthread_barrier_wait(&m->w->barrier);
}

static void broadcast_bytes(void *payload, size_t from, void *bytes, size_t n) {
    member *m = payload;
    m->w->shown[m->ranks.rank] = bytes;
    wait_for_all(m);
    if (n && m->ranks.rank != from) memcpy(bytes, m->w->shown[from], n);
    wait_for_all(m);
}

static void gather_bytes(void *payload, void *all, const size_t *sizes, const void *own) {
    member *m = payload;
    char *to = all;
    m->w->shown[m->ranks.rank] = own;
    wait_for_all(m);
    for (size_t k = 0; k < m->w->size; to += sizes[k++])
        if (sizes[k]) memcpy(to, m->w->shown[k], sizes[k]);
    wait_for_all(m);
}

static double largest(void *payload, double value) {
    member *m = payload;
    m->w->values[m->ranks.rank] = value;
    wait_for_all(m);
    for (size_t k = 0; k < m->w->size; k++) value = fmax(value, m->w->values[k]);
    wait_for_all(m);
    return value;
}

static void *live(void *payload) {
    member *m = payload;
    m->work(m);
    return NULL;
}

/* Runs `work` in so many processes, and waits for them. */
static void run_together(member *members, size_t size, void (*work)(member *m), void *payload) {
    world *w = calloc(1, sizeof *w);
    pthread_t threads[MOST_RANKS];
    assert_non_null(w);
    w->size = size;
    assert_int_equal(pthread_barrier_init(&w->barrier, NULL, (unsigned)size), 0);
    assert_int_equal(pthread_mutex_init(&w->mutex, NULL), 0);
    assert_int_equal(pthread_cond_init(&w->changed, NULL), 0);
    for (size_t k = 0; k < size; k++) {
        members[k] = (member){.w = w, .work = work, .payload = payload};
        members[k].ranks = (karma_ranks){k,          size,          &members[k],     &members[k].is_over,
                                         send_bytes, receive_bytes, broadcast_bytes, gather_bytes,
                                         largest};
        assert_int_equal(pthread_create(&threads[k], NULL, live, &members[k]), 0);
    }
    for (size_t k = 0; k < size; k++) assert_int_equal(pthread_join(threads[k], NULL), 0);
    pthread_barrier_destroy(&w->barrier);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->changed);
    free(w);
}

/* --- granules and sums --------------------------------------------------------------------------------- */

static void every_row_has_one_process(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 255, 256, 257, 3000, 100000, 4194304, 4194305, 1000000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t n_ranks = 1; n_ranks <= 1000; n_ranks += n_ranks < 8 ? 1 : 331) {
            size_t granule = karma_i_granule_rows(sizes[i]), next = 0;
            assert_true((sizes[i] + granule - 1) / granule <= KARMA_I_MOST_GRANULES);
            for (size_t k = 0; k < n_ranks; k++) {
                karma_i_partition p = karma_i_partition_part(sizes[i], &(karma_ranks){.rank = k, .size = n_ranks});
                assert_int_equal(p.first, next);
                assert_true(p.first % granule == 0 || p.count == 0);
                next += p.count;
            }
            assert_int_equal(next, sizes[i]);
        }
}

typedef struct sum_case {
    const double *values;
    size_t n;
    double sums[MOST_RANKS][3];
} sum_case;

static void add_values(double *sums, const void *payload, size_t first, size_t end) {
    const double *values = payload;
    for (size_t i = first; i < end; i++) {
        sums[0] += values[i];
        sums[1] += 1.0;
        sums[2] += values[i] * values[i];
    }
}

static void sum_part(member *m) {
    sum_case *c = m->payload;
    karma_i_partition p = karma_i_partition_part(c->n, &m->ranks);
    m->status = karma_i_partition_sum(c->sums[m->ranks.rank], 3, &p, add_values, c->values + p.first, &m->err);
}

/* The sum of a node of the tree, from its definition. */
static double sum_node(const double *values, size_t n, size_t first, size_t granules, size_t granule) {
    double sum = 0.0;
    if (first * granule >= n) return 0.0;
    if (granules == 1) {
        for (size_t i = first * granule; i < n && i < (first + 1) * granule; i++) sum += values[i];
        return sum;
    }
    sum = sum_node(values, n, first, granules / 2, granule);
    if ((first + granules / 2) * granule >= n) return sum;
    return sum + sum_node(values, n, first + granules / 2, granules / 2, granule);
}

static void sums_have_the_same_bits(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 256, 257, 1000, 1793, 5000, 20000};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 5);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double *values = calloc(sizes[i], sizeof *values);
        assert_non_null(values);
        for (size_t k = 0; k < sizes[i]; k++) values[k] = karma_i_rng_normal(&rng) * pow(10.0, (double)(k % 17));
        double wanted = sum_node(values, sizes[i], 0, 1 << 20, KARMA_I_LEAST_GRANULE), whole[3];
        karma_i_partition all = karma_i_partition_whole(sizes[i]);
        assert_int_equal(karma_i_partition_sum(whole, 3, &all, add_values, values, NULL), KARMA_OK);
        assert_true(whole[0] == wanted);
        assert_true(whole[1] == (double)sizes[i]);
        for (size_t n_ranks = 1; n_ranks <= MOST_RANKS; n_ranks++) {
            member members[MOST_RANKS];
            sum_case c = {values, sizes[i], {{0}}};
            run_together(members, n_ranks, sum_part, &c);
            for (size_t k = 0; k < n_ranks; k++) {
                assert_int_equal(members[k].status, KARMA_OK);
                assert_memory_equal(c.sums[k], whole, sizeof whole);
            }
        }
        free(values);
    }
}

/* --- messages ------------------------------------------------------------------------------------------ */

/* The communicator of one process: every function gives what it was given. */
static void one_process_is_alone(void **state) {
    (void)state;
    const karma_ranks *r = &karma_i_one_rank;
    karma_i_gathered all;
    size_t counts[3] = {4, 0, 9}, step = 7;
    double values[2] = {-1.5, 2.0};
    int wanted = 1;
    karma_error err = {KARMA_ERR_DATA, "own"};
    assert_int_equal(r->size, 1);
    assert_int_equal(karma_i_ranks_meet(r, &err), KARMA_OK);
    assert_int_equal(karma_i_ranks_any(&wanted, r, &err), KARMA_OK);
    assert_int_equal(wanted, 1);
    assert_int_equal(karma_i_ranks_broadcast(&step, sizeof step, r, &err), KARMA_OK);
    assert_int_equal(step, 7);
    assert_int_equal(karma_i_ranks_add(counts, 3, r, &err), KARMA_OK);
    assert_int_equal(counts[0] + counts[1] + counts[2], 13);
    assert_int_equal(karma_i_ranks_largest(values, 2, r, &err), KARMA_OK);
    assert_true(values[0] == -1.5 && values[1] == 2.0);
    assert_int_equal(karma_i_ranks_gather(&all, counts, sizeof counts, r, &err), KARMA_OK);
    assert_int_equal(all.start[1], sizeof counts);
    assert_memory_equal(all.bytes, counts, sizeof counts);
    karma_i_gathered_clear(&all);
    assert_int_equal(karma_ranks_agree(r, KARMA_OK, &err), KARMA_OK);
    assert_int_equal(karma_ranks_agree(r, KARMA_ERR_DATA, &err), KARMA_ERR_DATA);
    assert_string_equal(err.message, "own");
    assert_true(r->largest(r->payload, 3.0) == 3.0);
    r->broadcast(r->payload, 0, &step, sizeof step);
    assert_int_equal(step, 7);
}

/* Ranks 1 and 3 fail at different places; the others are in the middle of something else. */
static void fail_in_the_middle(member *m) {
    karma_error *err = &m->err;
    size_t counts[2] = {m->ranks.rank, 1};
    m->status = KARMA_OK;
    if (m->ranks.rank == 3) m->status = err->status = KARMA_ERR_DATA, strcpy(err->message, "third");
    if (m->status == KARMA_OK) m->status = karma_i_ranks_add(counts, 2, &m->ranks, err);
    if (m->ranks.rank == 1 && m->status == KARMA_OK) m->status = KARMA_ERR_IO;
    m->status = karma_ranks_agree(&m->ranks, m->status, err);
    m->status = karma_ranks_agree(&m->ranks, m->status, err); /* nothing happens a second time */
}

static void agree_on_failure(member *m) {
    m->status = m->ranks.rank == 1 ? KARMA_ERR_IO : KARMA_OK;
    if (m->ranks.rank == 1) strcpy(m->err.message, "first");
    m->status = karma_ranks_agree(&m->ranks, m->status, &m->err);
}

static void an_error_of_one_is_that_of_all(void **state) {
    (void)state;
    for (size_t n_ranks = 2; n_ranks <= MOST_RANKS; n_ranks++) {
        member members[MOST_RANKS];
        run_together(members, n_ranks, agree_on_failure, NULL);
        for (size_t k = 0; k < n_ranks; k++) {
            assert_int_equal(members[k].status, KARMA_ERR_IO);
            assert_string_equal(members[k].err.message, "first");
        }
        if (n_ranks < 4) continue;
        run_together(members, n_ranks, fail_in_the_middle, NULL);
        for (size_t k = 0; k < n_ranks; k++) {
            assert_int_equal(members[k].status, KARMA_ERR_DATA);
            assert_string_equal(members[k].err.message, "third");
        }
    }
}

/* --- tables -------------------------------------------------------------------------------------------- */

/* Quotes, also with line feeds, delimiters and quotes inside; quotes that are text; missing cells; levels that are
 * first seen late; a column that turns out not to be numbers near the end; rows without a label. */
static void write_hard_file(const char *path, size_t n) {
    static const char *const colours[] = {"red",      "\"blue, dark\"", "\"say \"\"hi\"\"\"", "\"a\nb\"", "",
                                          "O\"Brien", " \"x\" "};
    FILE *file = fopen(path, "w");
    karma_i_rng rng;
    karma_i_rng_init(&rng, 11);
    assert_non_null(file);
    fputs("x,colour,late,y,w\n", file);
    for (size_t i = 0; i < n; i++) {
        double x = karma_i_rng_normal(&rng);
        if (i % 5 == 0)
            fputs(",", file);
        else
            fprintf(file, "%.17g,", x);
        fprintf(file, "%s,", colours[karma_i_rng_below(&rng, 7)]);
        fprintf(file, i > n - 40 ? "text%zu," : "%zu,", i % 9);
        fputs(i % 31 == 7 ? "," : x > 0.2 ? "yes," : i % 3 ? "no," : "perhaps,", file);
        fprintf(file, "%.3g\n%s", 0.5 + karma_i_rng_uniform(&rng), i % 50 == 3 ? "\n" : "");
    }
    assert_int_equal(fclose(file), 0);
}

typedef struct table_case {
    const char *path;
    karma_read_options read;
    karma_fit_options fit;
    karma_table *tables[MOST_RANKS];
    void *models[MOST_RANKS];
    size_t model_bytes[MOST_RANKS];
} table_case;

static void set_option(const karma_option_table *table, void *options, const char *name, const char *value) {
    const karma_option *option = karma_option_find(table, name);
    assert_non_null(option);
    assert_int_equal(karma_option_set(option, options, value, NULL), KARMA_OK);
}

static void open_case(table_case *c, const char *path) {
    memset(c, 0, sizeof *c);
    c->path = path;
    karma_options_init(karma_read_option_table(), &c->read);
    karma_options_init(karma_fit_option_table(), &c->fit);
    set_option(karma_read_option_table(), &c->read, "target", "y");
    set_option(karma_read_option_table(), &c->read, "row-weight", "w");
    c->read.threads = c->fit.threads = 1;
    c->fit.solver = KARMA_SOLVER_NYSTROM;
    c->fit.landmarks = 60;
}

static void close_case(table_case *c) {
    karma_options_clear(karma_read_option_table(), &c->read);
    karma_options_clear(karma_fit_option_table(), &c->fit);
}

static void read_part(member *m) {
    table_case *c = m->payload;
    m->status = karma_table_read_split(&c->tables[m->ranks.rank], c->path, &c->read, &m->ranks, NULL, &m->err);
}

static void assert_same_rows(const karma_table *part, const karma_table *all, size_t first) {
    assert_int_equal(part->n_attributes, all->n_attributes);
    for (size_t j = 0; j < all->n_attributes; j++) {
        assert_string_equal(part->attributes[j].name, all->attributes[j].name);
        assert_int_equal(part->attributes[j].n_levels, all->attributes[j].n_levels);
        for (size_t l = 0; l < all->attributes[j].n_levels; l++)
            assert_string_equal(part->attributes[j].levels[l], all->attributes[j].levels[l]);
    }
    for (size_t i = 0; i < part->n_rows; i++) {
        karma_i_row_cells own = karma_i_table_cells(part, i), wanted = karma_i_table_cells(all, first + i);
        double label = part->targets[0].value[i], truth = all->targets[0].value[first + i];
        assert_int_equal(own.count, wanted.count);
        assert_memory_equal(own.attribute, wanted.attribute, own.count * sizeof *own.attribute);
        assert_memory_equal(own.value, wanted.value, own.count * sizeof *own.value);
        assert_true(isnan(truth) ? isnan(label) : label == truth);
        assert_true(part->row_weight[i] == all->row_weight[first + i]);
    }
}

static void parts_of_a_file_are_the_file(void **state) {
    (void)state;
    temp_file temporary;
    temp_create(&temporary, ".csv", "", 0);
    const char *path = temporary.path;
    static const size_t sizes[] = {1, 5, 600, 2000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        table_case c;
        karma_table *whole = NULL;
        write_hard_file(path, sizes[s]);
        open_case(&c, path);
        assert_int_equal(karma_table_read(&whole, path, &c.read, NULL, NULL), KARMA_OK);
        assert_int_equal(karma_table_n_rows(whole), sizes[s]);
        for (size_t n_ranks = 1; n_ranks <= MOST_RANKS; n_ranks++) {
            member members[MOST_RANKS];
            run_together(members, n_ranks, read_part, &c);
            size_t next = 0;
            for (size_t k = 0; k < n_ranks; k++) {
                if (members[k].status != KARMA_OK) fail_msg("%s", members[k].err.message);
                assert_same_rows(c.tables[k], whole, next);
                next += karma_table_n_rows(c.tables[k]);
                karma_table_free(c.tables[k]);
            }
            assert_int_equal(next, sizes[s]);
        }
        karma_table_free(whole);
        close_case(&c);
    }
    temp_remove(&temporary);
}

static void fit_part(member *m) {
    table_case *c = m->payload;
    karma_table *table = NULL;
    karma_model *model = NULL;
    size_t k = m->ranks.rank;
    m->status = karma_table_read_split(&table, c->path, &c->read, &m->ranks, NULL, &m->err);
    if (m->status == KARMA_OK) m->status = karma_fit(&model, table, &c->fit, NULL, &m->err);
    if (m->status == KARMA_OK) m->status = karma_model_save_buffer(&c->models[k], &c->model_bytes[k], model, &m->err);
    karma_model_free(model);
    karma_table_free(table);
}

static void models_have_the_same_bytes(void **state) {
    (void)state;
    temp_file temporary;
    temp_create(&temporary, ".csv", "", 0);
    const char *path = temporary.path;
    static const char *const kernels[] = {"linear", "rank", "linear + rank"};
    write_hard_file(path, 1700);
    for (size_t s = 0; s < sizeof kernels / sizeof kernels[0]; s++) {
        table_case c;
        open_case(&c, path);
        set_option(karma_fit_option_table(), &c.fit, "kernel", kernels[s]);
        set_option(karma_fit_option_table(), &c.fit, "outer", "rbf");
        member one = {.ranks = karma_i_one_rank, .payload = &c};
        fit_part(&one);
        if (one.status != KARMA_OK) fail_msg("%s", one.err.message);
        void *wanted = c.models[0];
        size_t bytes = c.model_bytes[0];
        for (size_t n_ranks = 2; n_ranks <= 5; n_ranks++) {
            member members[MOST_RANKS];
            run_together(members, n_ranks, fit_part, &c);
            for (size_t k = 0; k < n_ranks; k++) {
                if (members[k].status != KARMA_OK) fail_msg("%s", members[k].err.message);
                assert_int_equal(c.model_bytes[k], bytes);
                assert_memory_equal(c.models[k], wanted, bytes);
                karma_buffer_free(c.models[k]);
            }
        }
        karma_buffer_free(wanted);
        close_case(&c);
    }
    temp_remove(&temporary);
}

/* What cannot be split, and a file that is wrong in a part of one process. */
static void refusals_are_those_of_all(void **state) {
    (void)state;
    temp_file temporary;
    temp_create(&temporary, ".csv", "", 0);
    const char *path = temporary.path;
    struct {
        const char *option, *value, *said;
    } refused[] = {{"kernel", "boost", "cannot be learned from rows that are split"},
                   {"solver", "batch", "solver=nystrom"},
                   {"probabilities", "sigmoid", "cannot be learned from rows that are split"}};
    write_hard_file(path, 900);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        table_case c;
        member members[MOST_RANKS];
        open_case(&c, path);
        set_option(karma_fit_option_table(), &c.fit, refused[i].option, refused[i].value);
        run_together(members, 3, fit_part, &c);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(members[k].status, KARMA_ERR_OPTION);
            assert_non_null(strstr(members[k].err.message, refused[i].said));
        }
        close_case(&c);
    }
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs("1,red\n", file);
    assert_int_equal(fclose(file), 0);
    table_case c;
    member members[MOST_RANKS];
    karma_table *whole = NULL;
    karma_error err;
    open_case(&c, path);
    assert_int_equal(karma_table_read(&whole, path, &c.read, NULL, &err), KARMA_ERR_FORMAT);
    run_together(members, 4, fit_part, &c);
    for (size_t k = 0; k < 4; k++) {
        assert_int_equal(members[k].status, KARMA_ERR_FORMAT);
        assert_string_equal(members[k].err.message, err.message); /* the line is that of the file */
    }
    close_case(&c);
    temp_remove(&temporary);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_one_process),    cmocka_unit_test(sums_have_the_same_bits),
        cmocka_unit_test(one_process_is_alone),         cmocka_unit_test(an_error_of_one_is_that_of_all),
        cmocka_unit_test(parts_of_a_file_are_the_file), cmocka_unit_test(models_have_the_same_bytes),
        cmocka_unit_test(refusals_are_those_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
