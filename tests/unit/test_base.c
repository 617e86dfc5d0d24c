/* The module `base`: options, numbers as text, the random generator, output files, masks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/rng.h"
#include "karma/karma.h"
#include "tempfile.h"

/* --- options ------------------------------------------------------------------------------------------- */

/* Room for any of the four structs. */
typedef union any_options {
    karma_read_options read;
    karma_fit_options fit;
    karma_synth_options synth;
    karma_theory_options theory;
} any_options;

typedef void (*option_check)(const karma_option_table *table, const karma_option *option, any_options *options);

static void for_every_option(option_check check) {
    const karma_option_table *tables[] = {karma_read_option_table(), karma_fit_option_table(),
                                          karma_synth_option_table(), karma_theory_option_table()};
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < tables[t]->count; i++) {
            any_options options;
            memset(&options, 0x5a, sizeof options); /* init ignores the previous contents */
            karma_options_init_size(tables[t], &options, tables[t]->struct_size);
            check(tables[t], &tables[t]->options[i], &options);
            karma_options_clear(tables[t], &options);
        }
}

static void *field_of(const karma_option *o, any_options *options) {
    return (char *)options + o->offset;
}

static int is_word_value(const karma_option *o, double value) {
    for (const karma_option_word *w = o->words; w && w->word; w++)
        if (w->value == value) return 1;
    return 0;
}

static void check_default(const karma_option_table *table, const karma_option *o, any_options *options) {
    karma_error err;
    char text[200], shown[200];
    if (karma_options_check(table, options, &err) != KARMA_OK) fail_msg("%s: %s", o->name, err.message);
    assert_ptr_equal(karma_option_find(table, o->name), o);
    assert_true(strlen(o->help) > 10);
    karma_option_initial(o, text, sizeof text);
    karma_option_text(o, options, shown, sizeof shown);
    assert_string_equal(text, shown);
    if (o->kind != KARMA_OPTION_TEXT && o->kind != KARMA_OPTION_NAMES) {
        if (karma_option_set(o, options, text, &err) != KARMA_OK) fail_msg("%s", err.message);
        assert_true(o->kind == KARMA_OPTION_CHOICE || o->kind == KARMA_OPTION_SWITCH || is_word_value(o, o->initial) ||
                    (o->initial >= o->min && o->initial <= o->max));
    }
    assert_true(karma_option_values(o, text, sizeof text) > 0);
}

static void defaults_are_within_their_bounds(void **state) {
    (void)state;
    for_every_option(check_default);
    assert_null(karma_option_find(karma_fit_option_table(), "gama"));
}

static void accept(const karma_option_table *table, const karma_option *o, any_options *options, const char *text) {
    karma_error err;
    char shown[200];
    if (karma_option_set(o, options, text, &err) != KARMA_OK) fail_msg("%s", err.message);
    if (karma_options_check(table, options, &err) != KARMA_OK) fail_msg("%s", err.message);
    /* as text, and read back: the same value */
    any_options copy = *options;
    int length = karma_option_text(o, options, shown, sizeof shown);
    assert_int_equal(length, strlen(shown));
    if (o->kind == KARMA_OPTION_TEXT || o->kind == KARMA_OPTION_NAMES) return;
    if (karma_option_set(o, options, shown, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_memory_equal(options, &copy, table->struct_size);
    char little[3] = "xx";
    assert_int_equal(karma_option_text(o, options, little, 2), length); /* as snprintf */
    assert_int_equal(little[1], '\0');
}

static void refuse(const karma_option *o, any_options *options, const char *text) {
    any_options copy = *options;
    karma_error err = {0};
    if (karma_option_set(o, options, text, &err) != KARMA_ERR_OPTION) fail_msg("--%s takes '%s'", o->name, text);
    assert_memory_equal(options, &copy, sizeof copy); /* unchanged */
    char flag[80];
    (void)snprintf(flag, sizeof flag, "option '%s'", o->name);
    assert_non_null(strstr(err.message, flag));
}

static void accept_number(const karma_option_table *table, const karma_option *o, any_options *options, double value) {
    char text[KARMA_NUMBER_SIZE];
    accept(table, o, options, karma_number_text(text, value));
    double stored =
        o->kind == KARMA_OPTION_REAL ? *(double *)field_of(o, options) : (double)*(int64_t *)field_of(o, options);
    assert_true(stored == value);
}

static void check_round_trip(const karma_option_table *table, const karma_option *o, any_options *options) {
    for (const karma_option_word *w = o->words; w && w->word; w++) {
        accept(table, o, options, w->word);
        double value = o->kind == KARMA_OPTION_CHOICE    ? *(int *)field_of(o, options)
                       : o->kind == KARMA_OPTION_INTEGER ? (double)*(int64_t *)field_of(o, options)
                                                         : *(double *)field_of(o, options);
        assert_true(value == w->value);
    }
    switch (o->kind) {
    case KARMA_OPTION_INTEGER:
    case KARMA_OPTION_REAL:
        accept_number(table, o, options, o->min);
        accept_number(table, o, options, o->max);
        accept_number(table, o, options, fmin(o->max, fmax(ceil(o->min), 3.0)));
        if (o->kind == KARMA_OPTION_REAL) accept_number(table, o, options, fmin(o->max, fmax(o->min, 1.0 / 3.0)));
        break;
    case KARMA_OPTION_SWITCH:
        accept(table, o, options, "on");
        assert_int_equal(*(int *)field_of(o, options), 1);
        accept(table, o, options, "off");
        assert_int_equal(*(int *)field_of(o, options), 0);
        break;
    case KARMA_OPTION_TEXT:
        accept(table, o, options, "one");
        accept(table, o, options, "naïve \"x\"");
        assert_string_equal(*(char **)field_of(o, options), "naïve \"x\"");
        break;
    case KARMA_OPTION_NAMES: {
        const karma_names *names = field_of(o, options);
        char text[40];
        for (size_t i = 0; i < 40; i++) accept(table, o, options, i % 2 ? "odd" : "even");
        assert_int_equal(names->count, 40);
        assert_string_equal(names->items[38], "even");
        assert_int_equal(karma_option_text(o, options, text, sizeof text), 40 * 4 - 20 + 39);
        assert_string_equal(text, "even,odd,even,odd,even,odd,even,odd,eve"); /* cut off, and ended by a zero */
        break;
    }
    case KARMA_OPTION_CHOICE:
        break;
    }
}

static void every_option_is_the_same_after_text(void **state) {
    (void)state;
    for_every_option(check_round_trip);
}

static void check_refusals(const karma_option_table *table, const karma_option *o, any_options *options) {
    char text[KARMA_NUMBER_SIZE];
    karma_error err;
    if (o->kind == KARMA_OPTION_TEXT || o->kind == KARMA_OPTION_NAMES) return;
    static const char *const never[] = {"", "x", "nan", "NaN", "-nan", "1,5", "0x10", "1e", "--1", "1 ", "ON", "Auto "};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) refuse(o, options, never[i]);
    if (o->kind == KARMA_OPTION_CHOICE || o->kind == KARMA_OPTION_SWITCH) {
        refuse(o, options, "true");
        refuse(o, options, "1");
        int *field = field_of(o, options), old = *field;
        static const int bad[] = {-7, 2, 999, INT32_MAX, INT32_MIN};
        for (size_t i = 0; i < 5; i++) {
            if (o->kind == KARMA_OPTION_CHOICE && is_word_value(o, bad[i])) continue;
            *field = bad[i];
            assert_int_equal(karma_options_check(table, options, &err), KARMA_ERR_OPTION);
        }
        *field = old;
        return;
    }
    refuse(o, options, "inf");
    refuse(o, options, "-inf");
    refuse(o, options, "1e400");
    refuse(o, options,
           karma_number_text(text, o->kind == KARMA_OPTION_REAL ? nextafter(o->max, INFINITY) : o->max * 2.0 + 2.0));
    refuse(o, options,
           karma_number_text(text, o->kind == KARMA_OPTION_REAL ? nextafter(o->min, -INFINITY) : o->min - 1.0));
    refuse(o, options, "-1e300");
    if (o->kind == KARMA_OPTION_INTEGER) {
        refuse(o, options, "2.5");
        int64_t *field = field_of(o, options), old = *field,
                bad[] = {(int64_t)o->min - 1, (int64_t)o->max + 1, INT64_MAX, INT64_MIN};
        for (size_t i = 0; i < 4; i++) {
            if (is_word_value(o, (double)bad[i])) continue;
            if ((double)bad[i] <= o->max && (double)bad[i] >= o->min) continue; /* 2^53 + 1 is not a double */
            *field = bad[i];
            assert_int_equal(karma_options_check(table, options, &err), KARMA_ERR_OPTION);
        }
        *field = old;
        return;
    }
    double *field = field_of(o, options), old = *field;
    double bad[] = {NAN, INFINITY, -INFINITY, nextafter(o->max, INFINITY), nextafter(o->min, -INFINITY), -1e18};
    for (size_t i = 0; i < 6; i++) {
        *field = bad[i];
        if (karma_options_check(table, options, &err) != KARMA_ERR_OPTION) fail_msg("--%s may be %g", o->name, bad[i]);
        assert_non_null(strstr(err.message, o->name));
    }
    *field = old;
}

static void values_out_of_bounds_are_refused(void **state) {
    (void)state;
    for_every_option(check_refusals);
}

/* --- numbers ------------------------------------------------------------------------------------------- */

static int parse(double *out, const char *text) {
    return karma_i_number_parse(out, text, strlen(text));
}

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void assert_survives_text(double x) {
    char text[KARMA_NUMBER_SIZE];
    double back = 0.0;
    assert_ptr_equal(karma_number_text(text, x), text);
    if (strlen(text) >= KARMA_NUMBER_SIZE || strchr(text, ',')) fail_msg("%a is written '%s'", x, text);
    if (!parse(&back, text) || bits_of(back) != bits_of(x))
        fail_msg("%a is written '%s' and read back as %a", x, text, back);
}

static void check_random_numbers(size_t count, uint64_t seed) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = karma_i_rng_next(&rng);
        double x;
        if (i % 4 == 3) bits &= ~(UINT64_C(0x7ff) << 52); /* subnormal */
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x)) assert_survives_text(x);
        assert_survives_text(floor(1e6 * karma_i_rng_uniform(&rng)) / 1000.0);
    }
}

static void doubles_are_the_same_after_text(void **state) {
    (void)state;
    static const double special[] = {0.0,
                                     -0.0,
                                     1.0,
                                     -1.0,
                                     0.1,
                                     1.0 / 3.0,
                                     5e-324,
                                     -5e-324,
                                     DBL_MIN,
                                     DBL_MAX,
                                     -DBL_MAX,
                                     2.2250738585072011e-308,
                                     9007199254740993.0,
                                     1e22,
                                     1e23,
                                     123456789012345678.0,
                                     INFINITY,
                                     -INFINITY};
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) assert_survives_text(special[i]);
    check_random_numbers(20000, 31);
    char text[KARMA_NUMBER_SIZE];
    assert_string_equal(karma_number_text(text, NAN), "nan");
    assert_string_equal(karma_number_text(text, 0.1), "0.1");
    assert_string_equal(karma_number_text(text, 1e-7), "1e-07");
    assert_string_equal(karma_number_text(text, -2.0), "-2");
    assert_string_equal(karma_number_text(text, 0.30000000000000004), "0.30000000000000004");
    double back;
    assert_false(parse(&back, "nan"));
}

/* The expected value is the compiler's reading of the same literal. */
static void hard_texts_are_read_right(void **state) {
    (void)state;
#define CASE(literal)                                                                                                  \
    { #literal, literal }
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        CASE(0),
        CASE(1.),
        CASE(.5),
        CASE(0.3),
        CASE(1e23),
        CASE(8.5e22),
        CASE(9007199254740993.),
        CASE(9007199254740992.5),
        CASE(1.7976931348623157e308),
        CASE(2.2250738585072014e-308),
        CASE(2.2250738585072011e-308),
        CASE(4.9406564584124654e-324),
        CASE(2.4703282292062329e-324),
        CASE(123456789012345678901234567890.),
        CASE(0.000000000000000000000000000000123),
        CASE(6.631236846766476e-316),
        CASE(
            3.237883913302901289588352412501532174863037669423108059901297049552301970670676565786835742587799557860615776559838283435514391084153169252689190564396459577394618038928365305143463955100356696665629202017331344031730044369360205258345803431471660032699580731300954848363975548690010751530018881758184174569652173110473696022749934638425380623369774736560008997404060967498028389191878963968575439222206416981462690113342524002724385941651051293552601421155333430225237291523843322331326138431477823591142408800030775170625915670728657003151953664260769822494937951845801530895238439819708403389937873241463484205608000027270531106827387907791444918534771598750162812548862768493201518991668028251730299953143924168545708663913273994694463908672332763671875e-319),
        CASE(12345678901234567e-5),
        CASE(1e22),
        CASE(10000000000000000000000e-22)};
#undef CASE
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double got = -7.0, negative = 7.0;
        char signed_text[1000];
        if (!parse(&got, cases[i].text) || bits_of(got) != bits_of(cases[i].value))
            fail_msg("'%.60s' is read as %a, not %a", cases[i].text, got, cases[i].value);
        (void)snprintf(signed_text, sizeof signed_text, "-%s", cases[i].text);
        assert_true(parse(&negative, signed_text) && bits_of(negative) == bits_of(-cases[i].value));
    }
    static const char *const wrong[] = {"",      "+",  "-",  ".",   "e5",    "1e",  "1e+", "1.2.3", "1,5", "0x1p3",
                                        "1_000", " 1", "1 ", "nan", "infin", "--1", "+-1", "1e5.",  "1d5", "１"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        double got = -7.0;
        if (parse(&got, wrong[i])) fail_msg("'%s' is read as %g", wrong[i], got);
    }
    double got;
    assert_true(parse(&got, "+1e+2") && got == 100.0);
    assert_true(parse(&got, "1E-2") && got == 0.01);
    assert_true(parse(&got, "1e99999999999") && got == INFINITY);
    assert_true(parse(&got, "-1e-99999999999") && got == 0.0 && signbit(got));
    assert_true(parse(&got, "INF") && got == INFINITY);
    assert_true(parse(&got, "-Infinity") && got == -INFINITY);
    assert_true(karma_i_number_parse(&got, "12.5,9", 4) && got == 12.5); /* nothing beyond the length is read */
}

static void long_texts_are_read_to_their_length(void **state) {
    (void)state;
    char digits[3000];
    double got = -7.0;
    memset(digits, '9', sizeof digits);
    assert_false(karma_i_number_parse(&got, digits, sizeof digits));
    assert_true(karma_i_number_parse(&got, digits, 1000) && got == INFINITY);
    memset(digits, '0', sizeof digits);
    digits[2999] = '7';
    assert_true(karma_i_number_parse(&got, digits, sizeof digits) && got == 7.0); /* needs one digit only */
}

static void indices_are_whole_and_bounded(void **state) {
    (void)state;
    size_t got = 9;
    assert_true(karma_i_number_parse_index(&got, "0", 1, 10) && got == 0);
    assert_true(karma_i_number_parse_index(&got, "007", 3, 10) && got == 7);
    assert_true(karma_i_number_parse_index(&got, "10", 2, 10) && got == 10);
    assert_true(karma_i_number_parse_index(&got, "18446744073709551615", 20, SIZE_MAX) && got == SIZE_MAX);
    static const char *const wrong[] = {"", "11", "-1", "+1", "1.0", " 1", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(karma_i_number_parse_index(&got, wrong[i], strlen(wrong[i]), 10));
    assert_false(karma_i_number_parse_index(&got, "18446744073709551616", 20, SIZE_MAX));
}

/* A locale whose decimal point is a comma: an installed one, or else one that is made here. */
static int enter_comma_locale(const char *directory) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",  "fr_FR.UTF-8",
                                        "es_ES.UTF-8", "it_IT.UTF-8", "ru_RU.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (setlocale(LC_ALL, names[i]) && strcmp(localeconv()->decimal_point, ",") == 0) return 1;
    char command[600];
    (void)snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 --no-archive '%s/de_DE.UTF-8' >/dev/null 2>&1",
                   directory);
    if (system(command) < 0 || setenv("LOCPATH", directory, 1) != 0) return 0;
    int found = setlocale(LC_ALL, "de_DE.UTF-8") && strcmp(localeconv()->decimal_point, ",") == 0;
    unsetenv("LOCPATH");
    return found;
}

static void remove_tree(const char *directory) {
    char command[600];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", directory);
    if (system(command) != 0) abort();
}

static void numbers_ignore_the_locale(void **state) {
    (void)state;
    temp_file file;
    temp_create(&file, ".txt", "", 0);
    int found = enter_comma_locale(file.directory);
    remove_tree(file.directory);
    if (!found) {
        setlocale(LC_ALL, "C");
        skip();
    }
    char text[KARMA_NUMBER_SIZE], direct[40];
    double got = 0.0;
    (void)snprintf(direct, sizeof direct, "%g", 1.5);
    assert_string_equal(direct, "1,5"); /* the locale is in effect */
    assert_string_equal(karma_number_text(text, 1.5), "1.5");
    assert_string_equal(karma_number_text(text, 0.1), "0.1");
    assert_true(parse(&got, "2.25") && got == 2.25);
    assert_true(parse(&got, "0.12345678901234567890123") && got == 0.12345678901234567890123);
    assert_true(parse(&got, "1.7976931348623157e308") && got == DBL_MAX);
    assert_false(parse(&got, "2,25"));
    check_random_numbers(2000, 32);
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    assert_int_equal(karma_option_set(karma_option_find(karma_fit_option_table(), "huber"), &o, "0.75", NULL),
                     KARMA_OK);
    assert_true(o.huber == 0.75);
    setlocale(LC_ALL, "C");
}

/* --- the generator ------------------------------------------------------------------------------------- */

/* The first outputs of xoshiro256** seeded by splitmix64, computed by another program in another language. */
static void the_generator_is_xoshiro(void **state) {
    (void)state;
    static const struct {
        uint64_t seed, first[4];
    } known[] = {
        {0, {0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0, 0x6aa594f1262d2d2c}},
        {1, {0xb3f2af6d0fc710c5, 0x853b559647364cea, 0x92f89756082a4514, 0x642e1c7bc266a3a7}},
        {42, {0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1, 0xecb8ad4703b360a1}},
        {UINT64_MAX, {0x8f5520d52a7ead08, 0xc476a018caa1802d, 0x81de31c0d260469e, 0xbf658d7e065f3c2f}},
    };
    for (size_t s = 0; s < 4; s++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, known[s].seed);
        for (size_t i = 0; i < 4; i++) assert_true(karma_i_rng_next(&rng) == known[s].first[i]);
        karma_i_rng_init(&rng, known[s].seed);
        assert_true(karma_i_rng_uniform(&rng) == (double)(known[s].first[0] >> 11) / 9007199254740992.0);
    }
}

/* Five standard errors at n = 200000 are allowed. */
static void draws_have_the_right_moments(void **state) {
    (void)state;
    enum { DRAWS = 200000 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 33);
    double sum = 0.0, squares = 0.0, n_sum = 0.0, n_squares = 0.0, n_cubes = 0.0, n_fourths = 0.0, lag = 0.0,
           last = 0.0;
    size_t counts[7] = {0}, tail = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        double u = karma_i_rng_uniform(&rng), x = karma_i_rng_normal(&rng);
        assert_true(u >= 0.0 && u < 1.0);
        sum += u, squares += u * u;
        n_sum += x, n_squares += x * x, n_cubes += x * x * x, n_fourths += x * x * x * x;
        lag += x * last, last = x;
        tail += fabs(x) > 1.959963984540054;
        counts[karma_i_rng_below(&rng, 7)]++;
    }
    double n = DRAWS, allowed = 5.0 / sqrt(n);
    assert_true(fabs(sum / n - 0.5) < allowed * sqrt(1.0 / 12.0));
    assert_true(fabs(squares / n - 1.0 / 3.0) < allowed * sqrt(4.0 / 45.0));
    assert_true(fabs(n_sum / n) < allowed);
    assert_true(fabs(n_squares / n - 1.0) < allowed * sqrt(2.0));
    assert_true(fabs(n_cubes / n) < allowed * sqrt(15.0));
    assert_true(fabs(n_fourths / n - 3.0) < allowed * sqrt(96.0));
    assert_true(fabs(lag / n) < allowed);
    assert_true(fabs((double)tail / n - 0.05) < allowed * sqrt(0.05 * 0.95));
    for (size_t k = 0; k < 7; k++) assert_true(fabs((double)counts[k] / n - 1.0 / 7.0) < allowed * sqrt(6.0 / 49.0));
    for (size_t i = 0; i < 100; i++) assert_int_equal(karma_i_rng_below(&rng, 1), 0);
}

/* Numbers are different and in range; every number is drawn first about equally often. */
static void draws_are_different_and_uniform(void **state) {
    (void)state;
    enum { N = 20, COUNT = 10, ROUNDS = 20000 };
    size_t out[COUNT], first[N] = {0}, any[N] = {0};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    for (size_t round = 0; round < ROUNDS; round++) {
        unsigned seen = 0;
        assert_true(karma_i_rng_draw(&rng, out, COUNT, N));
        for (size_t i = 0; i < COUNT; i++) {
            assert_true(out[i] < N);
            assert_false(seen >> out[i] & 1);
            seen |= 1u << out[i];
            any[out[i]]++;
        }
        first[out[0]]++;
    }
    for (size_t k = 0; k < N; k++) { /* means 1000 and 10000; six standard deviations */
        assert_true(fabs((double)first[k] - 1000.0) < 6.0 * sqrt(950.0));
        assert_true(fabs((double)any[k] - 10000.0) < 6.0 * sqrt(5000.0));
    }
    size_t far[3], again[3];
    karma_i_rng_init(&rng, 4);
    assert_true(karma_i_rng_draw(&rng, far, 3, (size_t)1 << 40));
    karma_i_rng_init(&rng, 4);
    assert_true(karma_i_rng_draw(&rng, again, 3, (size_t)1 << 40));
    assert_memory_equal(far, again, sizeof far);
    assert_true(karma_i_rng_draw(&rng, far, 0, 1));
}

static void shuffles_are_permutations(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 34);
    size_t items[50], where[50] = {0}, moved = 0;
    for (size_t i = 0; i < 50; i++) items[i] = i;
    for (size_t round = 0; round < 2000; round++) {
        unsigned char seen[50] = {0};
        karma_i_rng_shuffle(&rng, items, 50);
        for (size_t i = 0; i < 50; i++) {
            assert_true(items[i] < 50 && !seen[items[i]]);
            seen[items[i]] = 1;
            moved += items[i] != i;
            if (items[i] == 0) where[i]++;
        }
    }
    assert_true(moved > 96000 && moved < 100000);
    for (size_t i = 0; i < 50; i++) assert_in_range(where[i], 10, 80); /* 40 on average */
    karma_i_rng_shuffle(&rng, items, 0);
    karma_i_rng_shuffle(&rng, items, 1);
}

/* --- output files -------------------------------------------------------------------------------------- */

static size_t count_entries(const char *directory) {
    DIR *d = opendir(directory);
    size_t n = 0;
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static void assert_contents(const char *path, const char *wanted) {
    char text[100] = {0};
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    (void)!fread(text, 1, sizeof text - 1, stream);
    fclose(stream);
    assert_string_equal(text, wanted);
}

static karma_output *open_output(const char *path) {
    karma_output *output = NULL;
    karma_error err;
    if (karma_output_open(&output, path, &err) != KARMA_OK) fail_msg("%s", err.message);
    return output;
}

static void write_output(const char *path, const char *text) {
    karma_output *output = open_output(path);
    assert_true(fputs(text, karma_output_stream(output)) >= 0);
    assert_int_equal(karma_output_commit(output, NULL), KARMA_OK);
}

static unsigned mode_of(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (unsigned)info.st_mode & 07777U;
}

static void outputs_are_whole_or_nothing(void **state) {
    (void)state;
    temp_file file;
    char fresh[400];
    temp_create(&file, ".txt", "old", 3);
    (void)snprintf(fresh, sizeof fresh, "%s/fresh", file.directory);
    karma_output *output = open_output(file.path);
    (void)fputs("half", karma_output_stream(output));
    (void)fflush(karma_output_stream(output));
    assert_contents(file.path, "old");               /* the file does not exist before the commit */
    assert_true(count_entries(file.directory) <= 2); /* where the system has no files without a name, it has one */
    karma_output_discard(output);
    assert_contents(file.path, "old");
    assert_int_equal(count_entries(file.directory), 1);
    karma_output_discard(open_output(fresh));
    assert_int_equal(access(fresh, F_OK), -1);
    write_output(fresh, "new");
    assert_contents(fresh, "new");
    write_output(file.path, "newer");
    assert_contents(file.path, "newer");
    assert_int_equal(count_entries(file.directory), 2);
    mode_t mask = umask(0);
    (void)umask(mask);
    assert_int_equal(mode_of(fresh), 0666U & ~(unsigned)mask); /* like any other file */
    karma_output_discard(NULL);
    unlink(fresh);
    temp_remove(&file);
}

/* Two outputs at the same time do not disturb each other. */
static void two_outputs_of_one_name(void **state) {
    (void)state;
    temp_file file;
    temp_create(&file, ".txt", "old", 3);
    karma_output *first = open_output(file.path), *second = open_output(file.path);
    (void)fputs("first", karma_output_stream(first));
    (void)fputs("second", karma_output_stream(second));
    assert_int_equal(karma_output_commit(second, NULL), KARMA_OK);
    assert_contents(file.path, "second");
    assert_int_equal(karma_output_commit(first, NULL), KARMA_OK);
    assert_contents(file.path, "first");
    assert_int_equal(count_entries(file.directory), 1);
    temp_remove(&file);
}

static void links_and_modes_are_kept(void **state) {
    (void)state;
    temp_file file;
    char link_path[400];
    struct stat info;
    temp_create(&file, ".txt", "old", 3);
    (void)snprintf(link_path, sizeof link_path, "%s/link", file.directory);
    assert_int_equal(symlink(file.path, link_path), 0);
    assert_int_equal(chmod(file.path, 0640), 0);
    write_output(link_path, "through the link");
    assert_contents(file.path, "through the link");
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(mode_of(file.path), 0640);
    assert_int_equal(count_entries(file.directory), 2);
    unlink(link_path);
    temp_remove(&file);
}

static void create_beside(const char *path, const char *ending) {
    char name[500];
    (void)snprintf(name, sizeof name, "%s%s", path, ending);
    int file = open(name, O_CREAT | O_WRONLY, 0644);
    assert_true(file >= 0);
    close(file);
}

/* The next write removes what a killed process left. Files of live processes and all other files stay. */
static void files_of_dead_processes_are_removed(void **state) {
    (void)state;
    temp_file file;
    char ending[64], name[500];
    pid_t dead = fork();
    if (dead == 0) _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    temp_create(&file, ".txt", "old", 3);
    (void)snprintf(ending, sizeof ending, ".%ld.0.part", (long)getppid()); /* this process is alive */
    create_beside(file.path, ending);
    create_beside(file.path, ".part");
    create_beside(file.path, ".1.2.3.part");
    create_beside(file.path, ".x.0.part");
    (void)snprintf(ending, sizeof ending, ".%ld.7.part", (long)dead);
    create_beside(file.path, ending);
    (void)snprintf(name, sizeof name, "%s.%ld.8.part", file.path, (long)dead);
    assert_int_equal(symlink("/dev/null", name), 0); /* was not made here */
    assert_int_equal(count_entries(file.directory), 7);
    write_output(file.path, "new");
    assert_int_equal(count_entries(file.directory), 6);
    (void)snprintf(name, sizeof name, "%s%s", file.path, ending);
    assert_int_equal(access(name, F_OK), -1);
    create_beside(file.path, ending);
    int held = open(name, O_WRONLY); /* as by a process of another container */
    assert_int_equal(flock(held, LOCK_EX), 0);
    write_output(file.path, "newer");
    assert_int_equal(access(name, F_OK), 0);
    close(held);
    DIR *entries = opendir(file.directory);
    assert_non_null(entries);
    for (const struct dirent *entry; entries && (entry = readdir(entries)) != NULL;)
        if (entry->d_name[0] != '.') (void)unlinkat(dirfd(entries), entry->d_name, 0);
    if (entries) (void)closedir(entries);
    temp_remove(&file);
}

/* As with > in a shell, the file that a link names is created, and the link stays. A circle of links is refused. */
static void links_to_nothing_are_followed(void **state) {
    (void)state;
    temp_file file;
    char names[4][400], text[16];
    karma_output *output = NULL;
    karma_error err = {0};
    static const char *const links[] = {"first", "second", "target", "circle"};
    temp_create(&file, ".txt", "old", 3);
    for (int i = 0; i < 4; i++) (void)snprintf(names[i], sizeof names[i], "%s/%s", file.directory, links[i]);
    assert_int_equal(symlink(names[1], names[0]), 0); /* by an absolute path */
    assert_int_equal(symlink("target", names[1]), 0); /* and by a path relative to its directory */
    assert_int_equal(symlink("circle", names[3]), 0);
    write_output(names[0], "new");
    assert_contents(names[2], "new");
    assert_int_equal(readlink(names[1], text, sizeof text), 6);
    assert_int_equal(unlink(names[2]), 0);
    assert_int_equal(karma_output_open(&output, names[3], &err), KARMA_ERR_IO);
    assert_non_null(strstr(err.message, "symbolic links"));
    karma_output *first = open_output(names[0]), *second = open_output(names[2]); /* which are the same file */
    assert_int_equal(karma_output_commit_two(first, second, &err), KARMA_ERR_IO);
    assert_non_null(strstr(err.message, "the same file"));
    assert_int_equal(count_entries(file.directory), 4);
    for (int i = 0; i < 4; i++) (void)unlink(names[i]);
    temp_remove(&file);
}

static void devices_are_written_in_place(void **state) {
    (void)state;
    struct stat before, after;
    karma_error err = {0};
    assert_int_equal(stat("/dev/null", &before), 0);
    write_output("/dev/null", "gone");
    assert_int_equal(stat("/dev/null", &after), 0);
    assert_true(S_ISCHR(after.st_mode) && before.st_ino == after.st_ino);
    karma_output *output = open_output("/dev/full");
    (void)fputs("too much", karma_output_stream(output));
    assert_int_equal(karma_output_commit(output, &err), KARMA_ERR_IO);
    assert_non_null(strstr(err.message, "/dev/full"));
}

static void impossible_places_are_refused(void **state) {
    (void)state;
    temp_file file;
    char path[400];
    karma_output *output = NULL;
    karma_error err = {0};
    temp_create(&file, ".txt", "old", 3);
    (void)snprintf(path, sizeof path, "%s/no/where", file.directory);
    assert_int_equal(karma_output_open(&output, path, &err), KARMA_ERR_IO);
    assert_non_null(strstr(err.message, path));
    (void)snprintf(path, sizeof path, "%s/below", file.path);
    assert_int_equal(karma_output_open(&output, path, &err), KARMA_ERR_IO);
    assert_int_equal(karma_output_open(&output, file.directory, &err), KARMA_ERR_IO);
    assert_non_null(strstr(err.message, "directory"));
    assert_int_equal(karma_output_open(&output, "", &err), KARMA_ERR_IO);
    if (geteuid() != 0) { /* root may write anywhere */
        (void)snprintf(path, sizeof path, "%s/new", file.directory);
        assert_int_equal(chmod(file.directory, 0555), 0);
        assert_int_equal(karma_output_open(&output, path, &err), KARMA_ERR_IO);
        assert_int_equal(chmod(file.directory, 0755), 0);
        assert_int_equal(chmod(file.path, 0444), 0);
        assert_int_equal(karma_output_open(&output, file.path, &err), KARMA_ERR_IO);
    }
    assert_null(output);
    assert_contents(file.path, "old");
    assert_int_equal(count_entries(file.directory), 1);
    temp_remove(&file);
}

/* --- masks and memory ---------------------------------------------------------------------------------- */

static void masks_count_their_bits(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 35);
    assert_int_equal(karma_i_mask_words(0), 0);
    assert_int_equal(karma_i_mask_words(1), 1);
    assert_int_equal(karma_i_mask_words(64), 1);
    assert_int_equal(karma_i_mask_words(65), 2);
    for (size_t trial = 0; trial < 200; trial++) {
        size_t n = 1 + karma_i_rng_below(&rng, 192), common = 0;
        uint64_t a[3] = {0}, b[3] = {0};
        unsigned char in_a[192], in_b[192];
        for (size_t i = 0; i < n; i++) {
            in_a[i] = karma_i_rng_uniform(&rng) < 0.5;
            in_b[i] = karma_i_rng_uniform(&rng) < 0.5;
            if (in_a[i]) karma_i_mask_set(a, i);
            if (in_b[i]) karma_i_mask_set(b, i);
            common += in_a[i] && in_b[i];
        }
        for (size_t i = 0; i < n; i++)
            assert_true(karma_i_mask_get(a, i) == in_a[i] && karma_i_mask_get(b, i) == in_b[i]);
        assert_int_equal(karma_i_mask_overlap(a, b, karma_i_mask_words(n)), common);
    }
    assert_int_equal(karma_i_popcount(0), 0);
    assert_int_equal(karma_i_popcount(UINT64_MAX), 64);
}

static void impossible_sizes_give_null(void **state) {
    (void)state;
    volatile size_t huge = SIZE_MAX; /* hidden from the compiler's own warnings */
    assert_null(karma_i_alloc(huge / 2, 3));
    assert_null(karma_i_zalloc(huge / 8 + 2, 8));
    assert_null(karma_i_alloc_aligned(huge, huge));
    assert_null(karma_i_realloc(NULL, huge / 4, 16));
    void *nothing = karma_i_alloc(0, 8);
    assert_non_null(nothing);
    karma_i_free(nothing);
    void *aligned = karma_i_alloc_aligned(3, 5);
    assert_int_equal((uintptr_t)aligned % 64, 0);
    karma_i_free(aligned);
    int *items = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        assert_true(karma_i_reserve(&items, &capacity, i + 1, sizeof *items));
        assert_true(capacity > i);
        items[i] = (int)i;
    }
    assert_false(karma_i_reserve(&items, &capacity, huge / 2, sizeof *items));
    for (size_t i = 0; i < 1000; i++) assert_int_equal(items[i], i);
    karma_i_free(items);
}

static void similar_words_are_found(void **state) {
    (void)state;
    static const char *const words[] = {"gamma", "scale", "standardise", "seed", "C"};
    assert_string_equal(karma_nearest_word("gama", words, 5), "gamma");
    assert_string_equal(karma_nearest_word("gmama", words, 5), "gamma");
    assert_string_equal(karma_nearest_word("SCALE", words, 5), "scale");
    assert_string_equal(karma_nearest_word("standardize", words, 5), "standardise");
    assert_string_equal(karma_nearest_word("sed", words, 5), "seed");
    assert_null(karma_nearest_word("zebra", words, 5));
    assert_null(karma_nearest_word("", words, 5));
    assert_null(karma_nearest_word("ab", words, 5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_within_their_bounds),
        cmocka_unit_test(every_option_is_the_same_after_text),
        cmocka_unit_test(values_out_of_bounds_are_refused),
        cmocka_unit_test(doubles_are_the_same_after_text),
        cmocka_unit_test(hard_texts_are_read_right),
        cmocka_unit_test(long_texts_are_read_to_their_length),
        cmocka_unit_test(indices_are_whole_and_bounded),
        cmocka_unit_test(numbers_ignore_the_locale),
        cmocka_unit_test(the_generator_is_xoshiro),
        cmocka_unit_test(draws_have_the_right_moments),
        cmocka_unit_test(shuffles_are_permutations),
        cmocka_unit_test(draws_are_different_and_uniform),
        cmocka_unit_test(outputs_are_whole_or_nothing),
        cmocka_unit_test(two_outputs_of_one_name),
        cmocka_unit_test(links_and_modes_are_kept),
        cmocka_unit_test(links_to_nothing_are_followed),
        cmocka_unit_test(files_of_dead_processes_are_removed),
        cmocka_unit_test(devices_are_written_in_place),
        cmocka_unit_test(impossible_places_are_refused),
        cmocka_unit_test(masks_count_their_bits),
        cmocka_unit_test(impossible_sizes_give_null),
        cmocka_unit_test(similar_words_are_found),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
