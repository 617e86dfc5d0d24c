/* The paper's examples of why completing rows and classifying them are different problems (its introduction, "Is matrix
 * completion sufficient and/or necessary?"). docs/why-not-complete.md describes them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "karma/karma.h"
#include "linalg/linalg.h"
#include "baseline/joint.h"
#include "model/answers.h"
#include "baseline/baseline.h"

static karma_table *table_of(const double *cells, size_t n_rows, size_t n_columns, const char *const *classes) {
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, n_rows, n_columns, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_classes(table, "answer", classes, NULL), KARMA_OK);
    return table;
}

static size_t wrong_answers(const karma_model *model, const karma_table *test) {
    size_t n_wrong = 0, n_rows = karma_table_n_rows(test);
    double scores[256];
    assert_true(n_rows <= 256);
    assert_int_equal(karma_predict(scores, model, test, 1, NULL, NULL), KARMA_OK);
    for (size_t i = 0; i < n_rows; i++) {
        double truth;
        if (!karma_table_target(test, 0, i, &truth)) continue;
        const char *said = karma_model_class(model, 0, karma_model_decide(model, 0, scores + i));
        n_wrong += strcmp(said, karma_table_class(test, 0, (size_t)truth)) != 0;
    }
    return n_wrong;
}

/* Labelled rows that are classified wrongly. */
static size_t errors_of(const karma_table *train, const karma_table *test, const karma_fit_options *options) {
    karma_model *model = NULL;
    karma_error err = {0};
    if (karma_fit(&model, train, options, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    size_t n_wrong = wrong_answers(model, test);
    karma_model_free(model);
    return n_wrong;
}

static karma_fit_options options_with(int64_t gamma, double C) {
    karma_fit_options options;
    karma_options_init(karma_fit_option_table(), &options);
    options.gamma = gamma;
    options.C = C;
    options.threads = 1;
    return options;
}

/* --- figure comp1 -------------------------------------------------------------------------------------- */

/* Two classes on either side of the line x = y, in the plane:
 *
 *     yes: x > 0 > y    no: x < 0 < y
 *
 * and rows on the line itself, without a label. Of a labelled row one coordinate is observed, and both occur in both
 * classes. The observed cells have a completion of rank one along the line, and the rows without a label suggest this
 * one. On the line the classes lie no, yes, no, yes: no linear classifier separates them. */
enum { PLACES = 4, LABELLED = 4 * PLACES, ON_LINE = 25, PLANE_ROWS = LABELLED + ON_LINE };

typedef struct plane {
    double whole[PLANE_ROWS][2], seen[PLANE_ROWS][2];
    const char *classes[PLANE_ROWS];
} plane;

static void put(plane *p, size_t row, double x, double y, int hidden, const char *answer) {
    p->whole[row][0] = p->seen[row][0] = x;
    p->whole[row][1] = p->seen[row][1] = y;
    if (hidden >= 0) p->seen[row][hidden] = NAN;
    p->classes[row] = answer;
}

static void draw_plane(plane *p) {
    size_t row = 0;
    for (int k = 0; k < PLACES; k++) {
        double far = 2.0 + 0.1 * k, near = 1.0 + 0.1 * k;
        for (int hidden = 0; hidden < 2; hidden++) {
            put(p, row++, far, -near, hidden, "yes");
            put(p, row++, -far, near, hidden, "no");
        }
    }
    for (int k = 0; k < ON_LINE; k++) put(p, row++, 0.25 * (k - 12), 0.25 * (k - 12), -1, NULL);
    assert_int_equal(row, PLANE_ROWS);
}

static void the_kernel_separates_the_plane(void **state) {
    (void)state;
    plane p;
    draw_plane(&p);
    karma_table *table = table_of(p.seen[0], PLANE_ROWS, 2, p.classes);
    karma_table *whole = table_of(p.whole[0], PLANE_ROWS, 2, p.classes);
    for (int64_t gamma = 1; gamma <= 4; gamma++) {
        karma_fit_options options = options_with(gamma, KARMA_AUTO);
        assert_int_equal(errors_of(table, table, &options), 0);
        assert_int_equal(errors_of(whole, whole, &options), 0); /* separable, as the figure says */
    }
    karma_table_free(whole);
    karma_table_free(table);
}

static void its_completion_of_rank_one_is_inseparable(void **state) {
    (void)state;
    plane p;
    draw_plane(&p);
    double completed[PLANE_ROWS][2];
    for (size_t i = 0; i < PLANE_ROWS; i++)
        for (size_t j = 0; j < 2; j++) completed[i][j] = isnan(p.seen[i][j]) ? p.seen[i][1 - j] : p.seen[i][j];
    karma_table *table = table_of(completed[0], PLANE_ROWS, 2, p.classes);
    for (double C = 1.0; C < 1e7; C *= 10.0) {
        karma_fit_options options = options_with(1, C);
        /* the best cut leaves the nearer places of one class on the wrong side */
        assert_true(errors_of(table, table, &options) >= PLACES);
    }
    karma_table_free(table);
}

/* Training rows completed by an imputer that was learned on them, then classified. */
static size_t errors_after(const char *name, const karma_table *table, double *distance, const plane *p, double C) {
    karma_i_impute_options impute;
    karma_i_imputer *imputer = NULL;
    karma_table *completed = NULL;
    karma_i_impute_options_init(&impute);
    assert_int_equal(karma_i_imputer_learn(&imputer, karma_i_imputer_find(name), table, &impute, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_i_imputer_apply(&completed, imputer, table, NULL, NULL), KARMA_OK);
    *distance = 0.0; /* the largest distance of a labelled row from the line */
    for (size_t i = 0; i < LABELLED; i++) {
        double x = 0.0, y = 0.0;
        assert_true(karma_table_cell(completed, i, 0, &x) && karma_table_cell(completed, i, 1, &y));
        assert_true((isnan(p->seen[i][0]) ? y : x) == p->whole[i][isnan(p->seen[i][0]) ? 1 : 0]);
        *distance = fmax(*distance, fabs(x - y));
    }
    karma_fit_options options = options_with(1, C);
    size_t n_wrong = errors_of(completed, completed, &options);
    karma_i_imputer_free(imputer);
    karma_table_free(completed);
    return n_wrong;
}

/* Methods that shrink put the two kinds of holes on two lines, of slopes b and 1/b, b a little below 1. The
 * remaining difference would separate the classes by a margin of about 1 - b, so C is at most a hundred times its
 * default. */
static void imputers_that_complete_along_the_line_fail(void **state) {
    (void)state;
    static const char *const believers[] = {"soft-impute", "regression", "knn", "hot-deck-nearest"};
    plane p;
    draw_plane(&p);
    karma_table *table = table_of(p.seen[0], PLANE_ROWS, 2, p.classes);
    double distance;
    for (size_t k = 0; k < sizeof believers / sizeof *believers; k++) {
        for (double C = 1.0; C <= 1000.0; C *= 10.0)
            assert_true(errors_after(believers[k], table, &distance, &p, C) >= PLACES);
        assert_true(distance < 0.5);
        assert_int_equal(errors_after(believers[k], table, &distance, &p, KARMA_AUTO), LABELLED / 2); /* chance */
    }
    assert_int_equal(errors_after("soft-impute", table, &distance, &p, 1e5), 0); /* because of that difference */
    assert_int_equal(errors_after("mean", table, &distance, &p, KARMA_AUTO), 0); /* it does not impute */
    assert_true(distance > 0.5);
    karma_table_free(table);
}

/* Both columns have the mean 0 and the same spread, so that filling in means changes their scale alone, and without a
 * bias, which has its own, C follows it. */
static void means_are_gamma_one(void **state) {
    (void)state;
    plane p;
    draw_plane(&p);
    double filled[PLANE_ROWS][2], scores[2][PLANE_ROWS];
    for (size_t i = 0; i < PLANE_ROWS; i++)
        for (size_t j = 0; j < 2; j++) filled[i][j] = isnan(p.seen[i][j]) ? 0.0 : p.seen[i][j];
    karma_table *tables[] = {table_of(p.seen[0], PLANE_ROWS, 2, p.classes),
                             table_of(filled[0], PLANE_ROWS, 2, p.classes)};
    karma_fit_options options = options_with(1, KARMA_AUTO);
    options.bias = 0.0;
    for (int k = 0; k < 2; k++) {
        karma_model *model = NULL;
        assert_int_equal(karma_fit(&model, tables[k], &options, NULL, NULL), KARMA_OK);
        assert_int_equal(karma_predict(scores[k], model, tables[k], 1, NULL, NULL), KARMA_OK);
        karma_model_free(model);
        karma_table_free(tables[k]);
    }
    for (size_t i = 0; i < LABELLED; i++) assert_true(fabs(scores[0][i] - scores[1][i]) < 1e-2);
}

/* --- equation M ---------------------------------------------------------------------------------------- */

enum { M_ROWS = 4, M_COLUMNS = 4, MOST_COPIES = 60 };
static const double M[M_ROWS][M_COLUMNS + 1] = {
    {1, NAN, 1, NAN, 1}, {NAN, -1, NAN, -1, -1}, {1, -1, 1, -1, 1}, {1, NAN, 1, NAN, NAN}};

/* The matrix, with each row `copies` times. */
static size_t rank_of(const double matrix[M_ROWS][M_COLUMNS + 1], size_t copies) {
    double a[MOST_COPIES][M_ROWS][M_COLUMNS + 1], u[MOST_COPIES * M_ROWS * (M_COLUMNS + 1)], s[M_COLUMNS + 1];
    double vt[(M_COLUMNS + 1) * (M_COLUMNS + 1)];
    size_t n_rows = copies * M_ROWS, most = n_rows < M_COLUMNS + 1 ? n_rows : M_COLUMNS + 1, rank = 0;
    assert_true(copies <= MOST_COPIES);
    for (size_t k = 0; k < copies; k++) memcpy(a[k], matrix, sizeof a[k]);
    assert_int_equal(karma_i_svd(u, s, vt, a[0][0], n_rows, M_COLUMNS + 1, NULL), KARMA_OK);
    while (rank < most && s[rank] > 1e-12 * s[0]) rank++;
    return rank;
}

static void completes_M(const double matrix[M_ROWS][M_COLUMNS + 1]) {
    for (size_t i = 0; i < M_ROWS; i++)
        for (size_t j = 0; j <= M_COLUMNS; j++) assert_true(isnan(M[i][j]) || M[i][j] == matrix[i][j]);
}

static void M_has_completions_of_both_labels(void **state) {
    (void)state;
    /* odd columns 1, even columns -1, and then any label; or the first and the last row 1, the second -1 */
    static const double constant_columns[M_ROWS][M_COLUMNS + 1] = {
        {1, -1, 1, -1, 1}, {1, -1, 1, -1, -1}, {1, -1, 1, -1, 1}, {1, -1, 1, -1, -1}};
    static const double constant_rows[M_ROWS][M_COLUMNS + 1] = {
        {1, 1, 1, 1, 1}, {-1, -1, -1, -1, -1}, {1, -1, 1, -1, 1}, {1, 1, 1, 1, 1}};
    completes_M(constant_columns);
    completes_M(constant_rows);
    for (size_t copies = 1; copies <= MOST_COPIES; copies++) { /* more rows of the same kinds change nothing */
        assert_int_equal(rank_of(constant_columns, copies), 2);
        assert_int_equal(rank_of(constant_rows, copies), 2);
    }
    assert_true(constant_columns[3][M_COLUMNS] == -constant_rows[3][M_COLUMNS]);
    /* and none of rank one: all of columns 2 and 5 in rows 2 and 3 is seen, and its determinant is not 0 */
    assert_true(M[1][1] * M[2][4] - M[1][4] * M[2][1] != 0.0);
}

/* The first three rows of M are its kinds of rows. Copies of each with their labels, and one more row to be
 * predicted. */
enum { KINDS = 3, CROWD = KINDS * MOST_COPIES + 1 };

typedef struct crowd {
    size_t n_rows; /* the last one is to be predicted */
    double cells[CROWD][M_COLUMNS], labels[CROWD];
    const char *classes[CROWD];
} crowd;

static void add_to(crowd *c, size_t kind, int has_label) {
    double label = M[kind][M_COLUMNS];
    assert_true(c->n_rows < CROWD);
    memcpy(c->cells[c->n_rows], M[kind], sizeof c->cells[0]);
    c->labels[c->n_rows] = has_label ? label : NAN;
    c->classes[c->n_rows++] = !has_label ? NULL : label > 0.0 ? "plus" : "minus";
}

static void gather(crowd *c, const size_t counts[KINDS], size_t asked) {
    c->n_rows = 0;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t k = 0; k < counts[kind]; k++) add_to(c, kind, 1);
    add_to(c, asked, 0);
}

/* The label, 1 or -1, that a method of `karma compare` gives to the last row. */
static int baseline_says(const char *name, const crowd *c, double strength) {
    size_t last = c->n_rows - 1;
    karma_i_baseline baseline;
    karma_i_baseline_options options;
    karma_fit_options fit = options_with(2, KARMA_AUTO);
    karma_table *train = table_of(c->cells[0], last, M_COLUMNS, c->classes), *test = NULL;
    karma_i_task task;
    karma_i_learner *learner = NULL;
    double score = 0.0;
    assert_int_equal(karma_table_from_array(&test, c->cells[last], 1, M_COLUMNS, NULL, NULL), KARMA_OK);
    assert_true(karma_i_baseline_find(&baseline, name));
    karma_i_baseline_options_init(&options);
    options.strength = strength;
    assert_int_equal(karma_i_baseline_task(&task, train, &fit, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_i_learner_fit(&learner, &baseline, &task, train, &options, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_i_learner_score(&score, learner, test, NULL, NULL), KARMA_OK);
    int says_plus = strcmp(task.heads[0].labels.classes[karma_i_head_decide(&task.heads[0], &score)], "plus") == 0;
    assert_true(fabs(score) > 0.05); /* no tie */
    karma_i_learner_free(learner);
    karma_i_task_clear(&task);
    karma_table_free(train);
    karma_table_free(test);
    return says_plus ? 1 : -1;
}

/* The same for the completion itself, without standardising. */
static int joint_says(int has_ones, const crowd *c, double mu) {
    static double z[CROWD * (M_COLUMNS + 2)];
    double bias = 0.0, absolute_mu = 0.0;
    karma_i_joint joint = {.n_rows = c->n_rows,
                           .n_labels = 1,
                           .n_features = M_COLUMNS,
                           .labels = c->labels,
                           .x = c->cells[0],
                           .has_ones = has_ones,
                           .lambda = 0.1, /* that of the comparison */
                           .mu = mu,
                           .tolerance = 1e-6};
    assert_int_equal(karma_i_joint_complete(z, &bias, &absolute_mu, &joint, NULL, NULL), KARMA_OK);
    double score = z[(c->n_rows - 1) * karma_i_joint_width(&joint)] + bias;
    assert_true(fabs(score) > 0.05);
    return score > 0.0 ? 1 : -1;
}

/* Joint completion is right about the last row of M, which has the more common label, and wrong about a row of the
 * second kind. Standardised, as in the comparison, every column is constant, and the prediction is always the more
 * common label. */
static void joint_completion_of_M_is_right_by_luck(void **state) {
    (void)state;
    static const char *const names[] = {"mc-b", "mc-1"};
    static const size_t counts[][KINDS] = {{1, 1, 1}, {20, 20, 20}, {1, 3, 1}};
    static crowd c;
    for (int has_ones = 0; has_ones < 2; has_ones++) {
        for (size_t k = 0; k < 2; k++)
            for (size_t asked = 0; asked < 2; asked++) { /* both get 1, and -1 is the label of the second */
                gather(&c, counts[k], asked);
                for (double strength = 0.1; strength < 200.0; strength *= 10.0)
                    assert_int_equal(baseline_says(names[has_ones], &c, strength), 1);
                for (double mu = 0.1; mu > 5e-5; mu /= 10.0) assert_int_equal(joint_says(has_ones, &c, mu), 1);
            }
        gather(&c, counts[2], 0); /* now -1 is more common */
        for (double strength = 0.1; strength < 200.0; strength *= 10.0)
            assert_int_equal(baseline_says(names[has_ones], &c, strength), -1);
        for (double mu = 0.1; mu > 5e-5; mu /= 10.0) assert_int_equal(joint_says(has_ones, &c, mu), 1);
    }
    for (size_t k = 0; k < 3; k++)
        for (size_t asked = 0; asked < KINDS; asked++) { /* karma, with a C that lets it fit three rows */
            gather(&c, counts[k], asked);
            assert_true(baseline_says("karma", &c, 10.0) == M[asked][M_COLUMNS]);
        }
}

static void the_kernel_classifies_M(void **state) {
    (void)state;
    const char *classes[M_ROWS];
    double cells[M_ROWS][M_COLUMNS];
    for (size_t i = 0; i < M_ROWS; i++) {
        memcpy(cells[i], M[i], sizeof cells[i]);
        classes[i] = isnan(M[i][M_COLUMNS]) ? NULL : M[i][M_COLUMNS] > 0.0 ? "plus" : "minus";
    }
    karma_table *train = table_of(cells[0], M_ROWS, M_COLUMNS, classes);
    classes[3] = "plus"; /* it equals the first row */
    karma_table *test = table_of(cells[0], M_ROWS, M_COLUMNS, classes);
    karma_fit_options options = options_with(2, KARMA_AUTO);
    options.C = 100.0;
    assert_int_equal(errors_of(train, test, &options), 0);
    for (int64_t gamma = 1; gamma <= 4; gamma++) { /* as in the paper: no bias, nothing standardised */
        options = options_with(gamma, 100.0);
        options.bias = 0.0;
        options.standardise = 0;
        assert_int_equal(errors_of(train, test, &options), 0);
    }
    karma_table_free(train);
    karma_table_free(test);
}

/* --- two populations ----------------------------------------------------------------------------------- */

/* French and Chinese viewers rate films of their own, none of the others'. A viewer's ratings are a taste times
 * properties of the film, in one world
 *
 *     taste_i · (p, q)    and in another    taste_i · (p, -q) for the French, -taste_i · (p, -q) for the Chinese.
 *
 * Both are of rank one and agree on all observed ratings; every other cell has the opposite sign. So no completion
 * can be right in both worlds. The label is whether the taste is positive. */
enum { VIEWERS = 80, FILMS = 12, OWN_FILMS = FILMS / 2 };

typedef struct cinema {
    double one[VIEWERS][FILMS], other[VIEWERS][FILMS], seen[VIEWERS][FILMS];
    const char *classes[VIEWERS];
} cinema;

static int is_french(size_t viewer) {
    return viewer % 2 == 0;
}

static void draw_cinema(cinema *c) {
    for (size_t i = 0; i < VIEWERS; i++) {
        double taste = sin(3.7 * (double)i + 1.0);
        taste += taste > 0.0 ? 0.3 : -0.3;
        c->classes[i] = taste > 0.0 ? "yes" : "no";
        for (size_t j = 0; j < FILMS; j++) {
            double film = 1.0 + 0.5 * cos(2.3 * (double)j); /* liked by those of positive taste */
            int own = is_french(i) == (j < OWN_FILMS), sees = own && (i / 2 + j) % 3 != 0;
            c->one[i][j] = taste * film;
            c->other[i][j] = own ? c->one[i][j] : -c->one[i][j];
            c->seen[i][j] = sees ? c->one[i][j] : NAN;
        }
    }
}

static double second_singular_value(const double matrix[VIEWERS][FILMS]) {
    static double a[VIEWERS * FILMS], u[VIEWERS * FILMS], vt[FILMS * FILMS];
    double s[FILMS];
    memcpy(a, matrix, sizeof a);
    assert_int_equal(karma_i_svd(u, s, vt, a, VIEWERS, FILMS, NULL), KARMA_OK);
    return s[1] / s[0];
}

static void one_classifier_suits_both_populations(void **state) {
    (void)state;
    static cinema c;
    draw_cinema(&c);
    enum { TRAIN = VIEWERS / 2 };
    karma_table *train = table_of(c.seen[0], TRAIN, FILMS, c.classes);
    karma_table *test = table_of(c.seen[TRAIN], VIEWERS - TRAIN, FILMS, c.classes + TRAIN);
    for (int64_t gamma = 1; gamma <= 4; gamma++) {
        karma_fit_options options = options_with(gamma, KARMA_AUTO);
        assert_int_equal(errors_of(train, test, &options), 0);
    }
    karma_table_free(train);
    karma_table_free(test);
}

static void no_completion_is_right_for_both_worlds(void **state) {
    (void)state;
    static cinema c;
    draw_cinema(&c);
    assert_true(second_singular_value(c.one) < 1e-12);
    assert_true(second_singular_value(c.other) < 1e-12);
    karma_i_impute_options impute;
    karma_i_imputer *imputer = NULL;
    karma_table *table = table_of(c.seen[0], VIEWERS, FILMS, c.classes), *completed = NULL;
    karma_i_impute_options_init(&impute);
    assert_int_equal(karma_i_imputer_learn(&imputer, karma_i_imputer_find("soft-impute"), table, &impute, NULL, NULL),
                     KARMA_OK);
    assert_int_equal(karma_i_imputer_apply(&completed, imputer, table, NULL, NULL), KARMA_OK);
    double own = 0.0, one = 0.0, other = 0.0, own_size = 0.0, size = 0.0;
    for (size_t i = 0; i < VIEWERS; i++)
        for (size_t j = 0; j < FILMS; j++) {
            double filled = 0.0;
            if (!isnan(c.seen[i][j])) {
                assert_true(c.seen[i][j] == c.one[i][j] && c.seen[i][j] == c.other[i][j]);
                continue;
            }
            assert_true(karma_table_cell(completed, i, j, &filled));
            if (is_french(i) == (j < OWN_FILMS)) {
                own += pow(filled - c.one[i][j], 2);
                own_size += pow(c.one[i][j], 2);
            } else {
                one += pow(filled - c.one[i][j], 2);
                other += pow(filled - c.other[i][j], 2);
                size += pow(c.one[i][j], 2);
            }
        }
    assert_true(own < 0.1 * own_size);     /* within a population completion works, */
    assert_true(fmax(one, other) >= size); /* between them it is no better than saying 0 in one of the worlds */
    karma_i_imputer_free(imputer);
    karma_table_free(completed);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_separates_the_plane),
        cmocka_unit_test(its_completion_of_rank_one_is_inseparable),
        cmocka_unit_test(imputers_that_complete_along_the_line_fail),
        cmocka_unit_test(means_are_gamma_one),
        cmocka_unit_test(M_has_completions_of_both_labels),
        cmocka_unit_test(joint_completion_of_M_is_right_by_luck),
        cmocka_unit_test(the_kernel_classifies_M),
        cmocka_unit_test(one_classifier_suits_both_populations),
        cmocka_unit_test(no_completion_is_right_for_both_worlds),
    };
    return cmocka_run_group_tests_name("counterexamples", tests, NULL, NULL);
}
