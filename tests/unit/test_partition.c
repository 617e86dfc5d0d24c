/* Rows that are split over processes. The processes are threads here, with messages through shared memory: their
 * results must equal those of one process bit for bit, and an error in one must be reported by all. */
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
#include "base/messages.h"
#include "base/partition.h"
#include "base/rng.h"
#include "karma/karma.h"
#include "subspace/linkage.h"
#include "subspace/ppca.h"
#include "table/rows_dense.h"
#include "table/table_split.h"
#include "tempfile.h"
#include "threadranks.h"

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

/* Rows in any order, from any process, some of them twice. */
static void fetch_values(member *m) {
    enum { N = 3000, WIDTH = 2, COUNT = 7 };
    const size_t index[COUNT] = {2999, 0, 511, 512, 512, 1700, 3};
    karma_i_partition split = karma_i_partition_part(N, &m->ranks);
    double *own = malloc(N * WIDTH * sizeof *own), out[COUNT * WIDTH];
    assert_non_null(own);
    for (size_t i = 0; i < split.count * WIDTH; i++) own[i] = (double)(split.first * WIDTH + i);
    m->status = karma_i_partition_fetch(out, own, WIDTH, index, COUNT, &split, &m->err);
    for (size_t i = 0; i < COUNT * WIDTH; i++) assert_int_equal((size_t)out[i], index[i / WIDTH] * WIDTH + i % WIDTH);
    free(own);
}

static void values_come_from_any_process(void **state) {
    (void)state;
    for (size_t size = 1; size <= MOST_RANKS; size++) {
        member members[MOST_RANKS];
        run_together(members, size, fetch_values, NULL);
        for (size_t k = 0; k < size; k++) assert_int_equal(members[k].status, KARMA_OK);
    }
}

/* --- messages ------------------------------------------------------------------------------------------ */

/* The communicator of one process: every function returns its input. */
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
    r->add(r->payload, &(uint64_t){9}, 1);
}

/* Ranks 1 and 3 fail at different places, while the others are doing something else. */
static void fail_in_the_middle(member *m) {
    karma_error *err = &m->err;
    size_t counts[2] = {m->ranks.rank, 1};
    m->status = KARMA_OK;
    if (m->ranks.rank == 3) m->status = err->status = KARMA_ERR_DATA, strcpy(err->message, "third");
    if (m->status == KARMA_OK) m->status = karma_i_ranks_add(counts, 2, &m->ranks, err);
    if (m->ranks.rank == 1 && m->status == KARMA_OK) m->status = KARMA_ERR_IO;
    m->status = karma_ranks_agree(&m->ranks, m->status, err);
    m->status = karma_ranks_agree(&m->ranks, m->status, err); /* a second call changes nothing */
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
    karma_search_options search; /* which is off */
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
    karma_options_init(karma_search_option_table(), &c->search);
    set_option(karma_search_option_table(), &c->search, "effort", "off");
    set_option(karma_read_option_table(), &c->read, "target", "y");
    set_option(karma_read_option_table(), &c->read, "row-weight", "w");
    c->read.threads = c->fit.threads = 1;
    c->fit.solver = KARMA_SOLVER_NYSTROM;
    c->fit.landmarks = 60;
}

static void close_case(table_case *c) {
    karma_options_clear(karma_read_option_table(), &c->read);
    karma_options_clear(karma_fit_option_table(), &c->fit);
    karma_options_clear(karma_search_option_table(), &c->search);
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
    if (m->status == KARMA_OK) m->status = karma_search(&model, table, &c->fit, &c->search, NULL, &m->err);
    if (m->status == KARMA_OK) m->status = karma_model_save_buffer(&c->models[k], &c->model_bytes[k], model, &m->err);
    karma_model_free(model);
    karma_table_free(table);
}

/* Whatever is learned. A quick search has a sample of 1000 rows, one of normal effort looks at all rows. */
static void models_have_the_same_bytes(void **state) {
    (void)state;
    temp_file temporary;
    temp_create(&temporary, ".csv", "", 0);
    const char *path = temporary.path;
    static char *fixed[] = {"kernel", "solver", "outer", "landmarks", "gamma", "width", "C"};
    static const struct {
        const char *kernel, *effort, *option, *value;
        size_t least, most; /* processes */
    } learned[] = {{"linear", "off", "folds", "2", 2, 5},
                   {"rank", "off", "folds", "2", 2, 5},
                   {"linear + rank", "off", "folds", "2", 2, 5},
                   {"subspace", "off", "folds", "2", 2, 5},
                   {"linear + 10*subspace", "off", "folds", "2", 2, 5},
                   {"rank", "off", "probabilities", "isotonic", 3, 3},
                   {"linear", "off", "sets", "0.8", 2, 2},
                   {"rank", "quick", "folds", "2", 4, 4},
                   {"linear", "normal", "folds", "2", 2, 2}};
    write_hard_file(path, 1700);
    for (size_t s = 0; s < sizeof learned / sizeof learned[0]; s++) {
        table_case c;
        open_case(&c, path);
        set_option(karma_fit_option_table(), &c.fit, "kernel", learned[s].kernel);
        set_option(karma_fit_option_table(), &c.fit, "outer", "rbf");
        set_option(karma_fit_option_table(), &c.fit, learned[s].option, learned[s].value);
        set_option(karma_search_option_table(), &c.search, "effort", learned[s].effort);
        c.search.fixed = (karma_names){fixed, sizeof fixed / sizeof fixed[0]};
        set_option(karma_fit_option_table(), &c.fit, "subspace-rank", "2");
        member one = {.ranks = karma_i_one_rank, .payload = &c};
        fit_part(&one);
        if (one.status != KARMA_OK) fail_msg("%s", one.err.message);
        void *wanted = c.models[0];
        size_t bytes = c.model_bytes[0];
        for (size_t n_ranks = learned[s].least; n_ranks <= learned[s].most; n_ranks++) {
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
        c.search.fixed = (karma_names){0}; /* not owned */
        close_case(&c);
    }
    temp_remove(&temporary);
}

/* --- subspaces ----------------------------------------------------------------------------------------- */

enum { SPACE_COLUMNS = 5 };

typedef struct space_case {
    const karma_i_rows *rows; /* all */
    size_t most_passes;
    size_t stop_after; /* of rank 0; 0: its hooks never ask to stop */
    karma_i_subspace *found[MOST_RANKS];
    karma_i_linkage linkage[MOST_RANKS];
} space_case;

/* Rank 1; even rows observe some of the first three columns, odd rows of the others: two groups. */
static karma_i_rows *draw_rows(size_t n) {
    const size_t start[SPACE_COLUMNS + 1] = {0, 1, 2, 3, 4, 5};
    karma_i_rows *rows = NULL;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 17);
    assert_int_equal(karma_i_rows_new(&rows, SPACE_COLUMNS, start, n, NULL), KARMA_OK);
    for (size_t i = 0; i < n; i++) {
        double z = karma_i_rng_normal(&rng);
        for (size_t j = 0; j < SPACE_COLUMNS; j++) {
            double x = (double)(j + 1) * z + 0.3 * karma_i_rng_normal(&rng);
            if ((i % 2 == 0) != (j < 3) || karma_i_rng_uniform(&rng) < 0.3) continue;
            karma_i_mask_set(karma_i_rows_mask(rows, i), j);
            karma_i_rows_values(rows, i)[j] = (float)x;
        }
    }
    rows->n_rows = n;
    return rows;
}

static int stop_later(void *payload, const char *stage, size_t done, size_t total) {
    size_t *left = payload;
    (void)stage, (void)done, (void)total;
    return *left == 0 || --*left == 0;
}

static karma_i_rows *copy_rows(const karma_i_rows *rows, const size_t *index, size_t count) {
    karma_i_rows *copy = NULL;
    return karma_i_rows_select_encoding(&copy, rows, index, count, NULL) == KARMA_OK ? copy : NULL;
}

/* A process has its own rows and the sample, and nothing else. */
static void find_space(member *m) {
    space_case *c = m->payload;
    size_t n = c->rows->n_rows, count = karma_i_ppca_n_drawn(n, SPACE_COLUMNS), left = c->stop_after;
    karma_i_partition split = karma_i_partition_part(n, &m->ranks);
    karma_i_ppca_options options = karma_i_ppca_defaults(1);
    karma_hooks hooks = {.progress = stop_later, .payload = &left};
    size_t *index = calloc(n, sizeof *index);
    m->status = index ? karma_i_ppca_draw(index, count, n, &m->err) : KARMA_ERR_MEMORY;
    karma_i_rows *sample = copy_rows(c->rows, index, count);
    for (size_t i = 0; i < split.count; i++) index[i] = split.first + i;
    karma_i_rows *own = copy_rows(c->rows, index, split.count);
    karma_i_ppca_rows from = {split, karma_i_rows_all(own), karma_i_rows_all(sample)};
    options.most_passes = c->most_passes;
    options.threads = 1 + (int)(m->ranks.rank % 2);
    if (c->stop_after && m->ranks.rank == 0) options.hooks = &hooks;
    if (m->status == KARMA_OK) m->status = karma_i_ppca_fit_split(&c->found[m->ranks.rank], &from, &options, &m->err);
    if (m->status == KARMA_OK) m->status = karma_i_linkage_find(&c->linkage[m->ranks.rank], own, &split, 1, &m->err);
    karma_i_rows_free(own);
    karma_i_rows_free(sample);
    free(index);
}

static void assert_same_space(const karma_i_subspace *a, const karma_i_subspace *b) {
    assert_memory_equal(a->mean, b->mean, SPACE_COLUMNS * sizeof *a->mean);
    assert_memory_equal(a->W, b->W, SPACE_COLUMNS * sizeof *a->W);
    assert_true(a->sigma2 == b->sigma2 && a->log_likelihood == b->log_likelihood && a->n_values == b->n_values);
    assert_int_equal(a->n_passes, b->n_passes);
}

static void find_in_processes(space_case *c, size_t n_ranks, const karma_i_subspace *wanted,
                              const karma_i_linkage *linkage) {
    member members[MOST_RANKS];
    run_together(members, n_ranks, find_space, c);
    for (size_t k = 0; k < n_ranks; k++) {
        if (members[k].status != KARMA_OK) fail_msg("%s", members[k].err.message);
        assert_same_space(c->found[k], wanted ? wanted : c->found[0]);
        assert_int_equal(c->linkage[k].n_groups, linkage->n_groups);
        assert_memory_equal(c->linkage[k].group, linkage->group, SPACE_COLUMNS * sizeof *linkage->group);
    }
    for (size_t k = 0; k < n_ranks; k++) {
        karma_i_linkage_clear(&c->linkage[k]);
        karma_i_subspace_free(c->found[k]);
    }
}

/* Few rows, which every process has in full; all rows split; and a sample that is split too. */
static void subspaces_have_the_same_bits(void **state) {
    (void)state;
    static const size_t sizes[] = {1500, 17000, 140000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        karma_i_rows *rows = draw_rows(sizes[s]);
        space_case c = {.rows = rows, .most_passes = s == 2 ? 2 : 20};
        karma_i_ppca_options options = karma_i_ppca_defaults(1);
        karma_i_partition whole = karma_i_partition_whole(sizes[s]);
        karma_i_subspace *wanted = NULL;
        karma_i_linkage linkage = {0};
        options.most_passes = c.most_passes;
        assert_int_equal(karma_i_ppca_fit(&wanted, karma_i_rows_all(rows), &options, NULL), KARMA_OK);
        assert_int_equal(karma_i_linkage_find(&linkage, rows, &whole, 1, NULL), KARMA_OK);
        assert_int_equal(linkage.n_groups, 2);
        for (size_t n_ranks = s == 2 ? 3 : 1; n_ranks <= (s == 2 ? 3 : 5); n_ranks += n_ranks == 3 ? 2 : 1)
            find_in_processes(&c, n_ranks, wanted, &linkage);
        c.stop_after = s == 1 ? 100 : 7; /* among the passes of the start, and after it */
        if (s < 2) find_in_processes(&c, 3, NULL, &linkage);
        karma_i_linkage_clear(&linkage);
        karma_i_subspace_free(wanted);
        karma_i_rows_free(rows);
    }
}

/* Sums of granules along the tree equal the plain sum over all rows, up to rounding. */
static void granules_add_up_to_all_rows(void **state) {
    (void)state;
    size_t n = 3000, start[13];
    karma_i_rows *rows = draw_rows(n), *like = NULL;
    karma_i_subspace *space[2] = {NULL, NULL};
    karma_i_ppca_stats *stats[2] = {NULL, NULL};
    for (size_t g = 0; g < 13; g++) start[g] = g < 12 ? 256 * g : n;
    karma_i_ppca_part part = {karma_i_partition_whole(n), karma_i_rows_all(rows), start};
    assert_int_equal(karma_i_rows_new_like(&like, rows, 0, NULL), KARMA_OK);
    for (size_t k = 0; k < 2; k++) {
        assert_int_equal(karma_i_ppca_start(&space[k], karma_i_rows_all(rows), 2, 1, NULL), KARMA_OK);
        assert_int_equal(karma_i_ppca_stats_new(&stats[k], like, 2, 1, NULL), KARMA_OK);
        karma_i_ppca_begin(stats[k], space[k]);
        assert_int_equal(k ? karma_i_ppca_add_part(stats[k], &part, NULL)
                           : karma_i_ppca_add_rows(stats[k], karma_i_rows_all(rows), NULL),
                         KARMA_OK);
        karma_i_ppca_finish(space[k], stats[k], 0);
    }
    double wanted = karma_i_ppca_log_likelihood(stats[0]), found = karma_i_ppca_log_likelihood(stats[1]);
    assert_true(fabs(found - wanted) <= 1e-12 * fabs(wanted));
    assert_int_equal(karma_i_ppca_n_values(stats[0]), karma_i_ppca_n_values(stats[1]));
    assert_true(fabs(space[1]->sigma2 - space[0]->sigma2) <= 1e-10 * space[0]->sigma2);
    for (size_t k = 0; k < 2 * SPACE_COLUMNS; k++) assert_true(fabs(space[1]->W[k] - space[0]->W[k]) <= 1e-10);
    for (size_t k = 0; k < 2; k++) {
        karma_i_ppca_stats_free(stats[k]);
        karma_i_subspace_free(space[k]);
    }
    karma_i_rows_free(like);
    karma_i_rows_free(rows);
}

/* Requests that cannot be split, and a file with an error in the part of one process. */
static void refusals_are_those_of_all(void **state) {
    (void)state;
    temp_file temporary;
    temp_create(&temporary, ".csv", "", 0);
    const char *path = temporary.path;
    struct {
        const char *option, *value, *effort, *said;
    } refused[] = {{"kernel", "forest", "off", "cannot be learned from rows that are split"},
                   {"solver", "batch", "off", "solver=nystrom"},
                   {"coverage-by", "missing", "off", "cannot be learned from rows that are split"},
                   {"time", "100", "quick", "time limit"}};
    write_hard_file(path, 900);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        table_case c;
        member members[MOST_RANKS];
        open_case(&c, path);
        if (strcmp(refused[i].option, "time") == 0)
            set_option(karma_search_option_table(), &c.search, refused[i].option, refused[i].value);
        else
            set_option(karma_fit_option_table(), &c.fit, refused[i].option, refused[i].value);
        set_option(karma_search_option_table(), &c.search, "effort", refused[i].effort);
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
        cmocka_unit_test(refusals_are_those_of_all),    cmocka_unit_test(subspaces_have_the_same_bits),
        cmocka_unit_test(granules_add_up_to_all_rows),  cmocka_unit_test(values_come_from_any_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
