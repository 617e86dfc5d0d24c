/* What each column of delimited text is for: by the options, or as a model expects it. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/csv_file.h"
#include "io/date_parts.h"
#include "table/order.h"

/* What the options set for a column, one bit each. */
enum { NAMED_TARGET, NAMED_WEIGHT, NAMED_ID, NAMED_IGNORE, NAMED_NUMERIC, NAMED_CATEGORY, N_NAMED };
static const char *const naming_options[N_NAMED] = {"target", "row-weight", "id", "ignore", "numeric", "category"};

karma_i_csv_column *karma_i_csv_find_column(const karma_i_csv_file *file, const char *name) {
    size_t i;
    return karma_i_dictionary_find(&i, &file->records.names, name, strlen(name)) ? &file->columns[i] : NULL;
}

/* Whether a list of option values has this name, alone or among others separated by commas. */
static int is_listed(const karma_names *names, const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i], name) == 0) return 1;
        for (const char *item = names->items[i]; item; item = strchr(item, ',')) {
            item += *item == ',' ? 1 : 0;
            if (strcspn(item, ",") == length && memcmp(item, name, length) == 0) return 1;
        }
    }
    return 0;
}

/* A column that was an identifier or ignored in training may be absent. */
static int is_remembered(const karma_i_csv_file *file, const char *name) {
    const karma_i_expectation *expectation = file->request->expectation;
    const karma_read_options *reading = expectation ? expectation->reading : NULL;
    return reading && (is_listed(&reading->id, name) || is_listed(&reading->ignore, name));
}

static karma_status name_column(karma_i_csv_file *file, const char *name, unsigned what, karma_error *err) {
    karma_i_csv_column *column = karma_i_csv_find_column(file, name);
    if (!column && file->request->names_elsewhere && what >= NAMED_IGNORE) return KARMA_OK;
    if (!column && is_remembered(file, name)) return KARMA_OK;
    if (!column) return karma_i_csv_fail_unknown(file->name, "column", name, &file->records.names, err);
    column->named |= 1u << what;
    return KARMA_OK;
}

typedef karma_status name_fn(karma_i_csv_file *file, const char *name, unsigned what, karma_error *err);

/* The value of an option is a list of names only if it is not the name of a column, because names may contain
 * commas. */
static karma_status name_listed(karma_i_csv_file *file, const char *value, unsigned what, name_fn *take,
                                karma_error *err) {
    if (!strchr(value, ',') || karma_i_csv_find_column(file, value)) return take(file, value, what, err);
    char *list = karma_i_strdup(value);
    karma_status st = list ? KARMA_OK : karma_i_fail_memory(err);
    for (char *name = list, *comma; st == KARMA_OK && name; name = comma ? comma + 1 : NULL) {
        comma = strchr(name, ',');
        if (comma) *comma = '\0';
        st = take(file, name, what, err);
    }
    karma_i_free(list);
    return st;
}

static karma_status name_columns(karma_i_csv_file *file, const karma_names *names, unsigned what, karma_error *err) {
    for (size_t i = 0; i < names->count; i++) KARMA_TRY(name_listed(file, names->items[i], what, name_column, err));
    return KARMA_OK;
}

static karma_status add_target(karma_i_csv_file *file, karma_i_csv_column *column, karma_error *err) {
    if (!karma_i_reserve(&file->targets, &file->target_capacity, file->n_targets + 1, sizeof *file->targets))
        return karma_i_fail_memory(err);
    column->place = file->n_targets;
    file->targets[file->n_targets++] = (size_t)(column - file->columns);
    return KARMA_OK;
}

static karma_status name_target(karma_i_csv_file *file, const char *name, unsigned what, karma_error *err) {
    karma_i_csv_column *column = karma_i_csv_find_column(file, name);
    char excerpt[KARMA_I_EXCERPT_SIZE];
    if (!column) return karma_i_csv_fail_unknown(file->name, "column", name, &file->records.names, err);
    if (column->named >> what & 1)
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: column '%s' is named twice by option 'target'", file->name,
                            karma_i_excerpt(excerpt, name, strlen(name)));
    column->named |= 1u << what;
    return add_target(file, column, err);
}

/* Only a target may have two options: target, and its kind. */
static karma_status check_named(const karma_i_csv_file *file, const karma_i_csv_column *column, karma_error *err) {
    for (unsigned a = 0; a < N_NAMED; a++) {
        for (unsigned b = a + 1; b < N_NAMED; b++) {
            if (!(column->named >> a & 1 && column->named >> b & 1)) continue;
            if (a == NAMED_TARGET && (b == NAMED_NUMERIC || b == NAMED_CATEGORY)) continue;
            char excerpt[KARMA_I_EXCERPT_SIZE];
            const char *name = karma_i_csv_column_name(file, column);
            return karma_i_fail(err, KARMA_ERR_OPTION, "%s: column '%s' cannot be both option '%s' and option '%s'",
                                file->name, karma_i_excerpt(excerpt, name, strlen(name)), naming_options[a],
                                naming_options[b]);
        }
    }
    return KARMA_OK;
}

static karma_i_csv_role named_role(unsigned named) {
    if (named >> NAMED_TARGET & 1) return ROLE_TARGET;
    if (named >> NAMED_WEIGHT & 1) return ROLE_WEIGHT;
    if (named >> NAMED_ID & 1) return ROLE_ID;
    return named >> NAMED_IGNORE & 1 ? ROLE_IGNORED : ROLE_ATTRIBUTE;
}

static karma_i_survey_mode named_mode(unsigned named) {
    if (named >> NAMED_NUMERIC & 1) return KARMA_I_SURVEY_NUMBER;
    return named >> NAMED_CATEGORY & 1 ? KARMA_I_SURVEY_CATEGORY : KARMA_I_SURVEY_INFER;
}

/* The model's type of a column applies unless the options set one. */
static void expect_column(karma_i_csv_file *file, karma_i_csv_column *column, const karma_i_column *expected) {
    int is_number = expected->kind == KARMA_COLUMN_NUMBER && !karma_i_column_is_ordered(expected);
    int is_strict = file->request->options->strict;
    karma_i_survey_init(&column->survey,
                        !is_number  ? KARMA_I_SURVEY_CATEGORY
                        : is_strict ? KARMA_I_SURVEY_NUMBER
                                    : KARMA_I_SURVEY_MODEL_NUMBER,
                        0, file->style);
}

static int is_expected(const karma_i_expectation *expectation, const char *name) {
    for (size_t i = 0; i < expectation->n_columns; i++)
        if (strcmp(expectation->columns[i].name, name) == 0) return 1;
    return 0;
}

/* A model with an attribute "visit.days" learned from dates in "visit". */
static karma_status expect_dates(karma_i_csv_file *file, karma_i_csv_column *column,
                                 const karma_i_expectation *expectation, karma_error *err) {
    const char *name = karma_i_csv_column_name(file, column);
    char *part_name = karma_i_alloc(strlen(name) + KARMA_I_PART_NAME_EXTRA, 1);
    if (!part_name) return karma_i_fail_memory(err);
    for (unsigned part = 0; part < KARMA_I_N_DATE_PARTS; part++)
        if (is_expected(expectation, karma_i_date_part_name(part_name, name, (karma_i_date_part)part)))
            column->parts |= 1u << part;
    if (column->parts) karma_i_survey_init(&column->survey, KARMA_I_SURVEY_MODEL_DATE, 0, file->style);
    karma_i_free(part_name);
    return KARMA_OK;
}

static karma_status apply_expectation(karma_i_csv_file *file, const karma_i_expectation *expectation,
                                      karma_error *err) {
    for (size_t i = 0; i < expectation->n_columns; i++) {
        karma_i_csv_column *column = karma_i_csv_find_column(file, expectation->columns[i].name);
        if (!column || column->role != ROLE_ATTRIBUTE || column->named) continue;
        expect_column(file, column, &expectation->columns[i]);
    }
    for (size_t i = 0; i < file->n_columns; i++) {
        karma_i_csv_column *column = &file->columns[i];
        if (column->role == ROLE_ATTRIBUTE && !column->named && column->survey.mode == KARMA_I_SURVEY_INFER)
            KARMA_TRY(expect_dates(file, column, expectation, err));
    }
    return KARMA_OK;
}

static karma_status apply_options(karma_i_csv_file *file, const karma_read_options *o, karma_error *err) {
    for (size_t i = 0; i < o->target.count; i++)
        KARMA_TRY(name_listed(file, o->target.items[i], NAMED_TARGET, name_target, err));
    if (o->row_weight) KARMA_TRY(name_column(file, o->row_weight, NAMED_WEIGHT, err));
    KARMA_TRY(name_columns(file, &o->id, NAMED_ID, err));
    KARMA_TRY(name_columns(file, &o->ignore, NAMED_IGNORE, err));
    KARMA_TRY(name_columns(file, &o->numeric, NAMED_NUMERIC, err));
    KARMA_TRY(name_columns(file, &o->category, NAMED_CATEGORY, err));
    for (size_t i = 0; i < file->n_columns; i++) {
        KARMA_TRY(check_named(file, &file->columns[i], err));
        file->columns[i].role = named_role(file->columns[i].named);
    }
    return KARMA_OK;
}

static karma_status expect_targets(karma_i_csv_file *file, const karma_i_expectation *expectation, karma_error *err) {
    for (size_t i = 0; i < expectation->n_targets; i++) {
        karma_i_csv_column *column = karma_i_csv_find_column(file, expectation->targets[i]);
        if (!column || column->role != ROLE_ATTRIBUTE) continue;
        column->role = ROLE_TARGET;
        KARMA_TRY(add_target(file, column, err));
    }
    return KARMA_OK;
}

karma_status karma_i_csv_assign_roles(karma_i_csv_file *file, karma_error *err) {
    const karma_i_expectation *expectation = file->request->expectation;
    KARMA_TRY(apply_options(file, file->request->options, err));
    if (expectation && file->n_targets == 0) KARMA_TRY(expect_targets(file, expectation, err));
    for (size_t i = 0; i < file->n_columns; i++) {
        karma_i_csv_column *column = &file->columns[i];
        karma_i_survey_init(&column->survey, named_mode(column->named), column->role == ROLE_TARGET, file->style);
    }
    return expectation ? apply_expectation(file, expectation, err) : KARMA_OK;
}
