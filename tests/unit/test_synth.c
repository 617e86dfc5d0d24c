/* Synthetic tables: shape, labels, share and kind of missing cells. Rates are checked within five standard deviations
 * or more of what independent rows would give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"
#include "karma/data.h"

static const int all_mechanisms[] = {KARMA_MECHANISM_MCAR, KARMA_MECHANISM_MAR, KARMA_MECHANISM_MNAR,
                                     KARMA_MECHANISM_BLOCK};
enum { N_MECHANISMS = sizeof all_mechanisms / sizeof all_mechanisms[0] };

static karma_synth_options options_of(int64_t rows, int64_t dim, int64_t rank) {
    karma_synth_options o;
    karma_options_init(karma_synth_option_table(), &o);
    o.rows = rows;
    o.dim = dim;
    o.rank = rank;
    o.seed = 11;
    return o;
}

typedef struct tables {
    karma_table *holed, *complete;
} tables;

static tables make(const karma_synth_options *o) {
    tables t = {NULL, NULL};
    karma_error err = {KARMA_OK, ""};
    if (karma_table_synthesise(&t.holed, &t.complete, o, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_table_validate(t.holed, NULL), KARMA_OK);
    assert_int_equal(karma_table_validate(t.complete, NULL), KARMA_OK);
    return t;
}

static void drop(tables t) {
    karma_table_free(t.holed);
    karma_table_free(t.complete);
}

static double share_missing(const karma_table *t) {
    double cells = (double)karma_table_n_rows(t) * (double)karma_table_n_attributes(t);
    return 1.0 - (double)karma_table_n_observed(t) / cells;
}

static double label(const karma_table *t, size_t row) {
    double value = NAN;
    assert_true(karma_table_target(t, 0, row, &value));
    return value;
}

static double cell(const karma_table *t, size_t row, size_t attribute) {
    double value = NAN;
    return karma_table_cell(t, row, attribute, &value) ? value : NAN;
}

static int same_cell(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static int same_tables(const karma_table *a, const karma_table *b) {
    if (karma_table_n_rows(a) != karma_table_n_rows(b)) return 0;
    for (size_t i = 0; i < karma_table_n_rows(a); i++) {
        if (label(a, i) != label(b, i)) return 0;
        for (size_t j = 0; j < karma_table_n_attributes(a); j++)
            if (!same_cell(cell(a, i, j), cell(b, i, j))) return 0;
    }
    return 1;
}

static void shape_and_names(void **state) {
    (void)state;
    karma_synth_options o = options_of(40, 12, 3);
    tables t = make(&o);
    const karma_table *both[2] = {t.holed, t.complete};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(karma_table_n_rows(both[i]), 40);
        assert_int_equal(karma_table_n_attributes(both[i]), 12);
        assert_string_equal(karma_table_attribute_name(both[i], 0), "x1");
        assert_string_equal(karma_table_attribute_name(both[i], 11), "x12");
        assert_int_equal(karma_table_attribute_kind(both[i], 11), KARMA_COLUMN_NUMBER);
        assert_string_equal(karma_table_target_name(both[i], 0), "target");
        assert_int_equal(karma_table_target_kind(both[i], 0), KARMA_COLUMN_CATEGORY);
        assert_int_equal(karma_table_n_classes(both[i], 0), 2);
        assert_string_equal(karma_table_class(both[i], 0, 0), "-1");
        assert_string_equal(karma_table_class(both[i], 0, 1), "1");
    }
    assert_int_equal(karma_table_n_observed(t.complete), 40 * 12);
    drop(t);
    o.task = KARMA_TASK_REGRESS;
    t = make(&o);
    assert_int_equal(karma_table_target_kind(t.holed, 0), KARMA_COLUMN_NUMBER);
    drop(t);
    karma_table *alone = NULL;
    assert_int_equal(karma_table_synthesise(&alone, NULL, &o, NULL), KARMA_OK);
    karma_table_free(alone);
}

static void the_rate_is_right_for_every_mechanism(void **state) {
    (void)state;
    const double rates[] = {0.0, 0.05, 0.3, 0.6};
    const int64_t dims[] = {3, 7, 20};
    for (size_t m = 0; m < N_MECHANISMS; m++)
        for (size_t r = 0; r < 4; r++)
            for (size_t d = 0; d < 3; d++)
                for (int noisy = 0; noisy < 2; noisy++) {
                    karma_synth_options o = options_of(8000, dims[d], 2);
                    o.mechanism = all_mechanisms[m];
                    o.missing = rates[r];
                    o.noise = 1.5 * noisy;
                    tables t = make(&o);
                    double got = share_missing(t.holed);
                    if (rates[r] == 0.0) assert_true(got == 0.0);
                    /* Missing cells of one row are dependent; at worst all of a row or nothing is missing: sd <=
                     * 0.0056. */
                    if (!(fabs(got - rates[r]) < 0.025))
                        fail_msg("mechanism %zu, dim %d, noise %d: %g", m, (int)dims[d], noisy, got);
                    drop(t);
                }
}

static void the_rate_is_right_in_every_column(void **state) {
    (void)state;
    for (size_t m = 0; m < N_MECHANISMS; m++) {
        if (all_mechanisms[m] == KARMA_MECHANISM_MAR) continue;
        karma_synth_options o = options_of(20000, 8, 3);
        o.mechanism = all_mechanisms[m];
        o.missing = 0.4;
        tables t = make(&o);
        size_t n_observed[8];
        karma_table_count_observed(t.holed, n_observed);
        for (size_t j = 0; j < 8; j++) /* sd 0.0035 */
            assert_true(fabs((double)n_observed[j] / 20000.0 - 0.6) < 0.0175);
        drop(t);
    }
}

static void the_seed_decides_everything(void **state) {
    (void)state;
    for (size_t m = 0; m < N_MECHANISMS; m++) {
        karma_synth_options o = options_of(60, 9, 2);
        o.mechanism = all_mechanisms[m];
        o.noise = 0.2;
        tables a = make(&o), b = make(&o);
        assert_true(same_tables(a.holed, b.holed));
        assert_true(same_tables(a.complete, b.complete));
        drop(b);
        o.seed = 12;
        b = make(&o);
        assert_false(same_tables(a.complete, b.complete));
        drop(b);
        o.seed = 11;
        o.missing = 0.55; /* other missing cells, the same rows */
        o.mechanism = all_mechanisms[(m + 1) % N_MECHANISMS];
        b = make(&o);
        assert_false(same_tables(a.holed, b.holed));
        assert_true(same_tables(a.complete, b.complete));
        drop(a);
        drop(b);
    }
}

static void fewer_rows_are_the_first_rows(void **state) {
    (void)state;
    karma_synth_options o = options_of(80, 5, 3);
    o.noise = 0.3;
    tables many = make(&o);
    o.rows = 20;
    tables few = make(&o);
    for (size_t i = 0; i < 20; i++)
        for (size_t j = 0; j < 5; j++) assert_true(same_cell(cell(few.holed, i, j), cell(many.holed, i, j)));
    drop(many);
    drop(few);
}

static void hiding_changes_no_other_cell(void **state) {
    (void)state;
    for (size_t m = 0; m < N_MECHANISMS; m++) {
        karma_synth_options o = options_of(200, 10, 3);
        o.mechanism = all_mechanisms[m];
        o.noise = 0.5;
        tables t = make(&o);
        for (size_t i = 0; i < 200; i++) {
            assert_true(label(t.holed, i) == label(t.complete, i));
            for (size_t j = 0; j < 10; j++) {
                double whole = cell(t.complete, i, j), seen = cell(t.holed, i, j);
                assert_true(isfinite(whole));
                assert_true(isnan(seen) || seen == whole);
            }
        }
        drop(t);
    }
}

/* Eigenvalues of the second moments of the complete rows, ascending. */
static void moments(double *values, const karma_table *t, size_t dim) {
    double gram[64] = {0};
    size_t n = karma_table_n_rows(t);
    assert_true(dim <= 8);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < dim; j++)
            for (size_t k = 0; k < dim; k++) gram[j * dim + k] += cell(t, i, j) * cell(t, i, k) / (double)n;
    assert_int_equal(karma_i_eigen_symmetric(values, gram, dim, NULL), KARMA_OK);
}

static void rows_have_the_rank_asked_for(void **state) {
    (void)state;
    for (int64_t rank = 1; rank <= 8; rank++) {
        karma_synth_options o = options_of(500, 8, rank);
        double values[8];
        tables t = make(&o);
        moments(values, t.complete, 8);
        for (size_t i = 0; i < 8; i++) {
            int zero = i < 8 - (size_t)rank;
            assert_true(zero ? fabs(values[i]) < 1e-12 : values[i] > 1e-6);
        }
        drop(t);
        o.noise = 0.1; /* and then the rest is noise of variance 0.01 */
        o.rows = 4000;
        t = make(&o);
        moments(values, t.complete, 8);
        assert_true(values[0] > 0.008);
        if (rank < 8) assert_true(values[7 - rank] < 0.012);
        drop(t);
    }
}

static void cells_have_variance_one_on_average(void **state) {
    (void)state;
    karma_synth_options o = options_of(2000, 200, 5);
    o.missing = 0.0;
    tables t = make(&o);
    double sum = 0.0;
    for (size_t i = 0; i < 2000; i++)
        for (size_t j = 0; j < 200; j++) sum += cell(t.holed, i, j) * cell(t.holed, i, j);
    assert_true(fabs(sum / (2000.0 * 200.0) - 1.0) < 0.15); /* of U: sd √(2/1000); of z: about √(2/10000) */
    drop(t);
}

static void every_class_occurs(void **state) {
    (void)state;
    const int64_t classes[] = {2, 3, 5, 12}, ranks[] = {1, 2, 3, 6};
    for (int64_t seed = 0; seed < 10; seed++)
        for (size_t k = 0; k < 4; k++)
            for (size_t r = 0; r < 4; r++) {
                karma_synth_options o = options_of(4000, 6, ranks[r]);
                o.classes = classes[k];
                o.seed = seed;
                karma_table *t = NULL;
                assert_int_equal(karma_table_synthesise(&t, NULL, &o, NULL), KARMA_OK);
                size_t n_classes = (size_t)classes[k], count[12] = {0};
                assert_int_equal(karma_table_n_classes(t, 0), n_classes);
                for (size_t i = 0; i < 4000; i++) count[(size_t)label(t, i)]++;
                for (size_t c = 0; c < n_classes; c++) assert_true(count[c] > 0);
                if (n_classes == 2 || ranks[r] == 1) /* balanced by construction */
                    for (size_t c = 0; c < n_classes; c++)
                        assert_true(fabs((double)count[c] / 4000.0 - 1.0 / (double)n_classes) < 0.045);
                if (n_classes == 12) { /* byte order */
                    assert_string_equal(karma_table_class(t, 0, 0), "1");
                    assert_string_equal(karma_table_class(t, 0, 1), "10");
                    assert_string_equal(karma_table_class(t, 0, 11), "9");
                }
                karma_table_free(t);
            }
}

/* Solves the normal equations of the complete rows (ridge 1e-9) by eigenvectors; returns the share of the
 * variance of y that a linear function explains. */
static double explained(const karma_table *t, size_t dim, double (*y)(const karma_table *, size_t)) {
    double gram[64] = {0}, rhs[8] = {0}, values[8], total = 0.0, fitted = 0.0;
    for (size_t i = 0; i < karma_table_n_rows(t); i++) {
        total += y(t, i) * y(t, i);
        for (size_t j = 0; j < dim; j++) {
            rhs[j] += cell(t, i, j) * y(t, i);
            for (size_t k = 0; k < dim; k++) gram[j * dim + k] += cell(t, i, j) * cell(t, i, k);
        }
    }
    assert_int_equal(karma_i_eigen_symmetric(values, gram, dim, NULL), KARMA_OK);
    for (size_t e = 0; e < dim; e++) {
        double along = 0.0;
        for (size_t j = 0; j < dim; j++) along += gram[e * dim + j] * rhs[j];
        if (values[e] > 1e-9 * values[dim - 1]) fitted += along * along / values[e];
    }
    return fitted / total;
}

static double signed_label(const karma_table *t, size_t row) {
    return label(t, row) == 1.0 ? 1.0 : -1.0;
}

static void labels_come_from_the_rows(void **state) {
    (void)state;
    karma_synth_options o = options_of(3000, 8, 3);
    tables t = make(&o);
    double share = explained(t.complete, 8, signed_label); /* a sign of a normal number: 2/π */
    assert_true(fabs(share - 0.6366) < 0.06);
    drop(t);
    o.task = KARMA_TASK_REGRESS;
    t = make(&o);
    double sum = 0.0;
    for (size_t i = 0; i < 3000; i++) sum += label(t.complete, i) * label(t.complete, i);
    assert_true(fabs(sum / 3000.0 - 1.0) < 0.15); /* sd 0.026 */
    assert_true(explained(t.complete, 8, label) > 1.0 - 1e-9);
    drop(t);
    o.noise = 2.0; /* the label does not see the noise */
    tables noisy = make(&o);
    o.noise = 0.0;
    t = make(&o);
    for (size_t i = 0; i < 3000; i++) assert_true(label(noisy.holed, i) == label(t.holed, i));
    assert_true(explained(noisy.complete, 8, label) < 0.9);
    drop(t);
    drop(noisy);
}

/* Correlation, over rows, of "column j is a missing cell" with the cell of column k. */
static double hole_correlation(tables t, size_t j, size_t k) {
    double n = (double)karma_table_n_rows(t.holed), h = 0, x = 0, hx = 0, xx = 0;
    for (size_t i = 0; i < karma_table_n_rows(t.holed); i++) {
        double hole = isnan(cell(t.holed, i, j)), value = cell(t.complete, i, k);
        h += hole / n;
        x += value / n;
        hx += hole * value / n;
        xx += value * value / n;
    }
    return (hx - h * x) / sqrt((h - h * h) * (xx - x * x));
}

static void mar_follows_columns_it_never_hides(void **state) {
    (void)state;
    for (int64_t dim = 2; dim <= 9; dim++) {
        karma_synth_options o = options_of(3000, dim, dim); /* full rank: columns predict each other poorly */
        o.mechanism = KARMA_MECHANISM_MAR;
        o.missing = 0.3;
        o.noise = 1.0;
        tables t = make(&o);
        size_t n = (size_t)dim, n_drivers = 0, n_observed[9];
        karma_table_count_observed(t.holed, n_observed);
        for (size_t j = 0; j < n; j++) n_drivers += n_observed[j] == 3000;
        assert_int_equal(n_drivers, n / 3 ? n / 3 : 1);
        for (size_t j = 0; j < n; j++) {
            double strongest = 0.0;
            for (size_t k = 0; k < n; k++)
                if (n_observed[k] == 3000 && n_observed[j] < 3000)
                    strongest = fmax(strongest, fabs(hole_correlation(t, j, k)));
            if (n_observed[j] < 3000) assert_true(strongest > 0.4);
        }
        drop(t);
    }
}

static void mnar_biases_observed_means_and_mcar_does_not(void **state) {
    (void)state;
    karma_synth_options o = options_of(4000, 6, 6);
    for (int self = 0; self < 2; self++) {
        o.mechanism = self ? KARMA_MECHANISM_MNAR : KARMA_MECHANISM_MCAR;
        o.missing = 0.4;
        tables t = make(&o);
        for (size_t j = 0; j < 6; j++) {
            double correlation = fabs(hole_correlation(t, j, j)), seen = 0.0, n_seen = 0.0, square = 0.0;
            for (size_t i = 0; i < 4000; i++) {
                double value = cell(t.holed, i, j), whole = cell(t.complete, i, j);
                square += whole * whole / 4000.0;
                if (isnan(value)) continue;
                seen += value;
                n_seen += 1.0;
            }
            double shift = fabs(seen / n_seen) / sqrt(square); /* of the observed mean, in deviations */
            assert_true(self ? correlation > 0.4 && shift > 0.3 : correlation < 0.08 && shift < 0.1);
        }
        drop(t);
    }
}

static void blocks_are_hidden_whole_and_never_all(void **state) {
    (void)state;
    const double rates[] = {0.3, 0.5}; /* three blocks, of which 2.1 and 1.5 are observed on average */
    for (size_t r = 0; r < 2; r++) {
        karma_synth_options o = options_of(3000, 7, 2);
        o.mechanism = KARMA_MECHANISM_BLOCK;
        o.missing = rates[r];
        tables t = make(&o);
        const size_t first[4] = {0, 2, 4, 7};
        size_t n_hidden[4] = {0, 0, 0, 0};
        for (size_t i = 0; i < 3000; i++) {
            size_t hidden = 0;
            for (size_t b = 0; b < 3; b++) {
                int hole = isnan(cell(t.holed, i, first[b]));
                for (size_t j = first[b]; j < first[b + 1]; j++) assert_int_equal(isnan(cell(t.holed, i, j)), hole);
                hidden += hole != 0;
            }
            n_hidden[hidden]++;
        }
        assert_int_equal(n_hidden[3], 0);
        assert_true(n_hidden[r] > 0 && n_hidden[r + 1] > 0 && n_hidden[r] + n_hidden[r + 1] == 3000);
        drop(t);
    }
    karma_synth_options o = options_of(5000, 1, 1); /* a single block may be hidden */
    o.mechanism = KARMA_MECHANISM_BLOCK;
    o.missing = 0.9;
    tables t = make(&o);
    assert_true(fabs(share_missing(t.holed) - 0.9) < 0.025);
    drop(t);
    o = options_of(3000, 100, 5); /* a high rate makes more blocks */
    o.mechanism = KARMA_MECHANISM_BLOCK;
    o.missing = 0.9;
    t = make(&o);
    assert_true(fabs(share_missing(t.holed) - 0.9) < 0.01);
    drop(t);
}

static void expect_refused(karma_synth_options o, const char *word) {
    karma_table *holed = NULL, *complete = NULL;
    karma_error err = {KARMA_OK, ""};
    assert_int_equal(karma_table_synthesise(&holed, &complete, &o, &err), KARMA_ERR_OPTION);
    assert_null(holed);
    assert_null(complete);
    if (!strstr(err.message, word)) fail_msg("\"%s\" lacks \"%s\"", err.message, word);
}

static void impossible_options_are_refused(void **state) {
    (void)state;
    karma_synth_options good = options_of(50, 6, 2), o = good;
    o.rank = 7;
    expect_refused(o, "rank");
    o = good, o.rows = INT64_MAX;
    expect_refused(o, "rows");
    o = good, o.missing = NAN;
    expect_refused(o, "missing");
    o = good, o.task = KARMA_TASK_AUTO;
    expect_refused(o, "task");
    o = good, o.classes = 1;
    expect_refused(o, "classes");
    o = good, o.mechanism = KARMA_MECHANISM_MAR, o.missing = 0.67; /* two of six columns are never hidden */
    expect_refused(o, "missing");
    o = good, o.mechanism = KARMA_MECHANISM_BLOCK, o.missing = 0.9; /* of six blocks one is observed */
    expect_refused(o, "missing");
    o = options_of(50, 1, 1), o.mechanism = KARMA_MECHANISM_MAR;
    expect_refused(o, "missing");
    o.missing = 0.0; /* nothing to hide */
    drop(make(&o));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_and_names),
        cmocka_unit_test(the_rate_is_right_for_every_mechanism),
        cmocka_unit_test(the_rate_is_right_in_every_column),
        cmocka_unit_test(the_seed_decides_everything),
        cmocka_unit_test(fewer_rows_are_the_first_rows),
        cmocka_unit_test(hiding_changes_no_other_cell),
        cmocka_unit_test(rows_have_the_rank_asked_for),
        cmocka_unit_test(cells_have_variance_one_on_average),
        cmocka_unit_test(every_class_occurs),
        cmocka_unit_test(labels_come_from_the_rows),
        cmocka_unit_test(mar_follows_columns_it_never_hides),
        cmocka_unit_test(mnar_biases_observed_means_and_mcar_does_not),
        cmocka_unit_test(blocks_are_hidden_whole_and_never_all),
        cmocka_unit_test(impossible_options_are_refused),
    };
    return cmocka_run_group_tests_name("synth", tests, NULL, NULL);
}
