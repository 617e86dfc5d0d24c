/* Every representation of encoded rows, checked against the cells that were stored. A new representation
 * is one more line in `representations`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "kernel/parts.h"
#include "table/rows_dense.h"
#include "table/rows_matrix.h"
#include "table/rows_sparse.h"

enum { N = 40, D = 70, MOST_FEATURES = 2 * D };

/* What was stored. Attribute j has n_features[j] features, by default one. */
typedef struct truth {
    unsigned char observed[N][D];
    size_t n_features[D];
    float x[N][D][2];
    unsigned rank[N][D], code[N][D];
    float term[N][D];
    uint8_t traits[D];
} truth;

typedef struct world {
    karma_i_rows *rows;     /* what is tested */
    karma_i_rows *original; /* what it was made from, if anything */
    karma_i_parts parts;
} world;

static truth draw(uint64_t seed) {
    truth t = {0};
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    for (size_t j = 0; j < D; j++) t.n_features[j] = 1;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++) {
            t.observed[i][j] = i > 0 && karma_i_rng_uniform(&rng) < 0.3; /* the first row observes nothing */
            if (!t.observed[i][j]) continue;
            t.x[i][j][0] = (float)karma_i_rng_normal(&rng);
            t.x[i][j][1] = (float)karma_i_rng_normal(&rng);
        }
    return t;
}

/* --- representations ------------------------------------------------------------------------------------- */

static void put_dense(karma_i_rows *rows, const truth *t) {
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++) {
            if (!t->observed[i][j]) continue;
            karma_i_mask_set(karma_i_rows_mask(rows, i), j);
            memcpy(karma_i_rows_values(rows, i) + rows->feature_start[j], t->x[i][j], t->n_features[j] * sizeof(float));
            if (t->rank[i][j]) karma_i_rows_ranks(rows, i)[j] = (uint8_t)t->rank[i][j];
            if (t->code[i][j]) *karma_i_rows_code(rows, i, j) = (uint16_t)t->code[i][j];
            if (t->traits[j] & KARMA_I_HAS_TERM) karma_i_rows_set_term(rows, i, j, t->term[i][j]);
        }
    rows->n_rows = N;
}

/* Attributes with no, one or two features, ranks, codes and terms. */
static void make_dense(world *w, truth *t) {
    static const uint8_t traits[] = {0, KARMA_I_RANKED, KARMA_I_CODED | KARMA_I_HAS_TERM,
                                     KARMA_I_RANKED | KARMA_I_HAS_TERM, 0};
    size_t start[D + 1] = {0};
    for (size_t j = 0; j < D; j++) {
        t->traits[j] = traits[j % 5];
        t->n_features[j] = t->traits[j] ? 0 : 1 + (j % 5 == 4);
        start[j + 1] = start[j] + t->n_features[j];
        for (size_t i = 0; i < N; i++) {
            if (!t->observed[i][j]) continue;
            if (t->traits[j] & KARMA_I_RANKED) t->rank[i][j] = (unsigned)(1 + (7 * i + j) % 255);
            if (t->traits[j] & KARMA_I_CODED) t->code[i][j] = (unsigned)(1 + (i + j) % 3);
            if (t->traits[j] & KARMA_I_HAS_TERM) t->term[i][j] = t->x[i][j][1];
        }
    }
    karma_i_rows_layout layout = {D, start, t->traits, 0};
    assert_int_equal(karma_i_rows_new_layout(&w->rows, &layout, N, NULL), KARMA_OK);
    put_dense(w->rows, t);
}

static void make_sparse(world *w, truth *t) {
    assert_int_equal(karma_i_rows_new_sparse(&w->rows, D, 3, NULL), KARMA_OK);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < D; j++)
            if (t->observed[i][j]) assert_int_equal(karma_i_rows_add_cell(w->rows, j, t->x[i][j][0], NULL), KARMA_OK);
        assert_int_equal(karma_i_rows_end_sparse(w->rows, NULL), KARMA_OK);
    }
}

/* Parts of dense rows, all of them training rows. */
static void make_parts(world *w, truth *t) {
    unsigned char all[N];
    memset(all, 1, sizeof all);
    make_dense(w, t);
    w->original = w->rows;
    assert_true(karma_i_parts_suit(w->original));
    assert_int_equal(karma_i_parts_compute(&w->parts, w->original, all, 2, NULL), KARMA_OK);
    w->rows = w->parts.train;
    w->parts.train = NULL;
}

typedef struct representation {
    const char *name;
    void (*make)(world *w, truth *t);
    int can_change; /* attributes can be hidden, and rows stored */
} representation;

static const representation representations[] = {
    {"dense", make_dense, 1}, {"sparse", make_sparse, 1}, {"parts", make_parts, 0}};
enum { N_REPRESENTATIONS = sizeof representations / sizeof representations[0] };

typedef void (*check_fn)(const world *w, const truth *t, const representation *r);

static void for_all(check_fn check) {
    for (size_t k = 0; k < N_REPRESENTATIONS; k++) {
        world w = {0};
        truth t = draw(k + 1);
        representations[k].make(&w, &t);
        assert_string_equal(w.rows->ops->name, representations[k].name);
        assert_true(w.rows->n_rows == N && w.rows->n_attributes == D);
        assert_int_equal(karma_i_rows_validate(w.rows, NULL), KARMA_OK);
        check(&w, &t, &representations[k]);
        karma_i_rows_free(w.rows);
        karma_i_parts_clear(&w.parts);
        karma_i_rows_free(w.original);
    }
}

/* --- reading ---------------------------------------------------------------------------------------------- */

/* Row `row` is row i of the truth with the attributes in `wanted` only. */
static void assert_row(const karma_i_rows *rows, size_t row, const truth *t, size_t i, const unsigned char *wanted) {
    size_t n = 0, listed[D], from = 0;
    karma_i_cell cell;
    for (size_t j = 0; j < D; j++) {
        if (!t->observed[i][j] || (wanted && !wanted[j])) continue;
        assert_true(karma_i_rows_next_cell(&cell, rows, row, from));
        assert_int_equal(cell.attribute, j);
        assert_int_equal(cell.n_features, t->n_features[j]);
        assert_memory_equal(cell.features, t->x[i][j], cell.n_features * sizeof(float));
        assert_true(cell.rank == t->rank[i][j] && cell.code == t->code[i][j]);
        assert_true((cell.term != NULL) == ((t->traits[j] & KARMA_I_HAS_TERM) != 0));
        if (cell.term) assert_true(*cell.term == t->term[i][j]);
        assert_true(karma_i_rows_next_cell(&cell, rows, row, j) && cell.attribute == j);
        from = j + 1;
        n++;
    }
    assert_false(karma_i_rows_next_cell(&cell, rows, row, from));
    assert_int_equal(karma_i_rows_n_observed(rows, row), n);
    karma_i_rows_list_observed(listed, rows, row);
    for (size_t k = 0, j = 0; k < n; k++, j++) {
        while (!t->observed[i][j] || (wanted && !wanted[j])) j++;
        assert_int_equal(listed[k], j);
    }
}

static void check_cells(const world *w, const truth *t, const representation *r) {
    (void)r;
    for (size_t i = 0; i < N; i++) assert_row(w->rows, i, t, i, NULL);
}

static void cells_are_those_that_were_stored(void **state) {
    (void)state;
    for_all(check_cells);
}

/* Lists have the features of the observed attributes in order, and stay within the bounds. */
static void check_lists(const world *w, const truth *t, const representation *r) {
    double mean[MOST_FEATURES], x[MOST_FEATURES];
    uint32_t attribute[D], feature[MOST_FEATURES];
    karma_i_cell_count sum = {0, 0}, all = karma_i_rows_most_cells(w->rows, 0, N);
    (void)r;
    for (size_t f = 0; f < w->rows->n_features; f++) mean[f] = 0.25 * (double)f;
    for (size_t i = 0; i < N; i++) {
        karma_i_cell_writer start = {attribute, feature, x}, end = karma_i_rows_list_cells(start, w->rows, i, mean);
        karma_i_cell_count most = karma_i_rows_most_cells(w->rows, i, 1);
        size_t n_attributes = 0, n_features = 0;
        for (size_t j = 0; j < D; j++) {
            if (!t->observed[i][j] || !t->n_features[j]) continue;
            assert_int_equal(attribute[n_attributes++], j);
            for (size_t k = 0; k < t->n_features[j]; k++, n_features++) {
                size_t f = w->rows->feature_start[j] + k;
                assert_int_equal(feature[n_features], f);
                assert_true(x[n_features] == (double)t->x[i][j][k] - mean[f]);
            }
        }
        assert_ptr_equal(end.attribute, attribute + n_attributes);
        assert_ptr_equal(end.feature, feature + n_features);
        assert_ptr_equal(end.x, x + n_features);
        assert_true(karma_i_rows_n_observed(w->rows, i) <= most.cells && n_features <= most.features);
        sum = (karma_i_cell_count){sum.cells + most.cells, sum.features + most.features};
    }
    assert_true(sum.cells == all.cells && sum.features == all.features);
}

static void lists_have_all_features(void **state) {
    (void)state;
    for_all(check_lists);
}

static double kappa(const truth *t, size_t i, size_t k, size_t j) {
    double sum = 0.0;
    if (!t->observed[i][j] || !t->observed[k][j]) return 0.0;
    for (size_t f = 0; f < t->n_features[j]; f++) sum += (double)t->x[i][j][f] * (double)t->x[k][j][f];
    if (t->traits[j] & KARMA_I_RANKED) sum += 1.0 - 2.0 * fabs((double)t->rank[i][j] - (double)t->rank[k][j]) / 254.0;
    if (t->traits[j] & KARMA_I_CODED) sum += t->code[i][j] == t->code[k][j];
    if (t->traits[j] & KARMA_I_HAS_TERM) sum += (double)t->term[i][j] + (double)t->term[k][j];
    return sum;
}

static void check_pairs(const world *w, const truth *t, const representation *r) {
    (void)r;
    for (size_t i = 0; i < N; i++) {
        uint32_t overlaps[N];
        double square = 0.0;
        karma_i_rows_overlaps(overlaps, w->rows, i, (karma_i_view){w->rows, 3, N - 3});
        for (size_t k = 0; k < N; k++) {
            size_t n = 0;
            for (size_t j = 0; j < D; j++) {
                n += t->observed[i][j] && t->observed[k][j];
                double got = karma_i_kappa(w->rows, i, w->rows, k, j), wanted = kappa(t, i, k, j);
                if (!(fabs(got - wanted) <= 1e-12)) fail_msg("rows %zu, %zu: κ_%zu = %g, not %g", i, k, j, got, wanted);
            }
            assert_int_equal(karma_i_rows_overlap(w->rows, i, w->rows, k), n);
            if (k >= 3) assert_int_equal(overlaps[k - 3], n);
        }
        for (size_t j = 0; j < D; j++) square += kappa(t, i, i, j);
        assert_true(fabs(karma_i_rows_square(w->rows, i) - square) <= 1e-10);
    }
    assert_true(karma_i_rows_same_holes(w->rows, w->rows));
    assert_false(karma_i_rows_are_given(w->rows));
}

static void pairs_have_their_kappas_and_overlaps(void **state) {
    (void)state;
    for_all(check_pairs);
}

/* --- changing --------------------------------------------------------------------------------------------- */

static void check_copies(const world *w, const truth *t, const representation *r) {
    size_t index[2 * N], n = 0;
    karma_i_rows *copy = NULL, *selected = NULL;
    (void)r;
    for (size_t i = 0; i < N; i++) index[n++] = (7 * i + 3) % N;
    for (size_t i = 0; i < N; i++) index[n++] = i / 2; /* some of them twice */
    assert_int_equal(karma_i_rows_new_like(&copy, w->rows, 0, NULL), KARMA_OK);
    assert_true(copy->n_rows == 0 && copy->n_attributes == D && copy->n_features == w->rows->n_features);
    assert_memory_equal(copy->feature_start, w->rows->feature_start, (D + 1) * sizeof(size_t));
    for (size_t k = 0; k < n; k++) assert_int_equal(karma_i_rows_append(copy, w->rows, index[k], NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_append(copy, copy, 5, NULL), KARMA_OK); /* of its own */
    assert_int_equal(copy->n_rows, n + 1);
    for (size_t k = 0; k < n; k++) assert_row(copy, k, t, index[k], NULL);
    assert_row(copy, n, t, index[5], NULL);
    assert_int_equal(karma_i_rows_gather(copy, w->rows, index, 4, NULL), KARMA_OK);
    assert_int_equal(copy->n_rows, 4);
    for (size_t k = 0; k < 4; k++) assert_row(copy, k, t, index[k], NULL);
    assert_int_equal(karma_i_rows_append(copy, w->rows, 9, NULL), KARMA_OK);
    assert_row(copy, 4, t, 9, NULL);
    assert_int_equal(karma_i_rows_select_encoding(&selected, w->rows, index, n, NULL), KARMA_OK);
    assert_int_equal(selected->n_rows, n);
    for (size_t k = 0; k < n; k++) assert_row(selected, k, t, index[k], NULL);
    assert_false(karma_i_rows_same_holes(w->rows, selected)); /* another number of rows */
    assert_int_equal(karma_i_rows_validate(copy, NULL), KARMA_OK);
    karma_i_rows_free(copy);
    karma_i_rows_free(selected);
}

static void copies_are_equal(void **state) {
    (void)state;
    for_all(check_copies);
}

static void check_hiding(const world *w, const truth *t, const representation *r) {
    unsigned char wanted[D];
    karma_i_rows *copy = NULL;
    for (size_t j = 0; j < D; j++) wanted[j] = j % 3 != 1;
    assert_int_equal(karma_i_rows_new_like(&copy, w->rows, 2 * N, NULL), KARMA_OK);
    karma_status st = karma_i_rows_append_some(copy, w->rows, 0, wanted, NULL);
    assert_int_equal(st == KARMA_OK, r->can_change);
    for (size_t i = 1; r->can_change && i < N; i++)
        assert_int_equal(karma_i_rows_append_some(copy, w->rows, i, wanted, NULL), KARMA_OK);
    for (size_t i = 0; r->can_change && i < N; i++)
        assert_int_equal(karma_i_rows_append(copy, w->rows, i, NULL), KARMA_OK);
    for (size_t i = 0; r->can_change && i < N; i++)
        for (size_t j = 0; j < D; j++)
            if (!wanted[j]) karma_i_rows_hide(copy, N + i, j);
    for (size_t i = 0; i < copy->n_rows; i++) assert_row(copy, i, t, i % N, wanted);
    assert_int_equal(karma_i_rows_validate(copy, NULL), KARMA_OK);
    karma_i_rows_free(copy);
}

static void hidden_cells_are_missing(void **state) {
    (void)state;
    for_all(check_hiding);
}

/* --- storing ----------------------------------------------------------------------------------------------- */

typedef struct bytes {
    unsigned char at[1 << 16];
    size_t size, done;
} bytes;

static void put(void *context, const void *from, size_t n) {
    bytes *b = context;
    assert_true(b->size + n <= sizeof b->at);
    memcpy(b->at + b->size, from, n);
    b->size += n;
}

static size_t get(void *context, void *to, size_t n) {
    bytes *b = context;
    size_t got = n < b->size - b->done ? n : b->size - b->done;
    memcpy(to, b->at + b->done, got);
    b->done += got;
    return got;
}

/* Written to an archive and read into other rows; values beyond the limit are refused in both directions. */
static void check_archive(const world *w, const truth *t, const representation *r) {
    static bytes b;
    karma_i_archive *archive = NULL;
    karma_i_rows *copy = NULL;
    size_t size;
    b.size = b.done = 0;
    assert_int_equal(karma_i_archive_new(&archive, "rows", NULL), KARMA_OK);
    karma_status st = karma_i_rows_archive(archive, w->rows, N, 1e9);
    assert_int_equal(st == KARMA_OK, r->can_change);
    if (st == KARMA_OK) {
        assert_int_equal(karma_i_archive_close(archive, &size), KARMA_OK);
        karma_i_archive_emit(archive, put, &b);
        karma_i_archive_free(archive);
        assert_int_equal(karma_i_rows_new_like(&copy, w->rows, 0, NULL), KARMA_OK);
        assert_int_equal(karma_i_archive_open(&archive, "rows", get, &b, NULL), KARMA_OK);
        assert_int_equal(karma_i_rows_archive(archive, copy, N, 1e9), KARMA_OK);
        assert_int_equal(copy->n_rows, N);
        for (size_t i = 0; i < N; i++) assert_row(copy, i, t, i, NULL);
        assert_int_equal(karma_i_rows_append(copy, w->rows, 0, NULL), KARMA_OK); /* they can grow */
        assert_row(copy, N, t, 0, NULL);
        karma_i_rows_free(copy);
    }
    karma_i_archive_free(archive);
}

static void archives_hold_the_rows(void **state) {
    (void)state;
    for_all(check_archive);
}

/* --- rows of a matrix, which have no attributes --------------------------------------------------------------- */

static void given_values_are_where_they_were_stored(void **state) {
    float matrix[4 * 5];
    karma_i_rows *rows = NULL, *copy = NULL;
    karma_i_cell cell;
    karma_error err;
    (void)state;
    for (size_t k = 0; k < 20; k++) matrix[k] = (float)k;
    assert_int_equal(karma_i_rows_new_matrix(&rows, matrix, 5, 0, NULL), KARMA_OK);
    for (size_t i = 0; i < 4; i++) assert_int_equal(karma_i_rows_add_matrix_row(rows, i, 4 - i, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_select_encoding(&copy, rows, (size_t[]){2, 0}, 2, NULL), KARMA_OK);
    assert_true(karma_i_rows_are_given(copy) && !karma_i_parts_suit(copy));
    assert_true(*karma_i_rows_given(copy, 0, rows, 3) == 11.0F && *karma_i_rows_given(rows, 3, copy, 0) == 17.0F);
    assert_true(karma_i_rows_square(copy, 0) == 12.0 && karma_i_rows_n_observed(copy, 0) == 0);
    assert_false(karma_i_rows_next_cell(&cell, copy, 0, 0));
    assert_int_equal(karma_i_rows_overlap(copy, 0, rows, 1), 0);
    assert_int_equal(karma_i_rows_validate(copy, &err), KARMA_OK);
    karma_i_matrix_of(copy)->places.column[1] = 5;
    assert_int_equal(karma_i_rows_validate(copy, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "row 1"));
    karma_i_rows_free(rows);
    karma_i_rows_free(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cells_are_those_that_were_stored),
                                       cmocka_unit_test(lists_have_all_features),
                                       cmocka_unit_test(pairs_have_their_kappas_and_overlaps),
                                       cmocka_unit_test(copies_are_equal),
                                       cmocka_unit_test(hidden_cells_are_missing),
                                       cmocka_unit_test(archives_hold_the_rows),
                                       cmocka_unit_test(given_values_are_where_they_were_stored)};
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
