/* Two passes over the text: the first surveys every column, the second fills the table. Another one lies
 * between them only if a column turned from numbers to categories late (survey.c), and one before them where decimal
 * commas are possible. */
#include "io/csv.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "io/csv_records.h"
#include "io/date_parts.h"
#include "io/missing.h"
#include "io/numeral.h"
#include "io/survey.h"
#include "table/order.h"

typedef enum csv_role { ROLE_ATTRIBUTE, ROLE_TARGET, ROLE_WEIGHT, ROLE_ID, ROLE_IGNORED } csv_role;

/* What the options set for a column, one bit each. */
enum { SAID_TARGET, SAID_WEIGHT, SAID_ID, SAID_IGNORE, SAID_NUMERIC, SAID_CATEGORY, N_SAID };
static const char *const said_options[N_SAID] = {"target", "row-weight", "id", "ignore", "numeric", "category"};

typedef struct csv_column {
    unsigned said;
    csv_role role;
    size_t place;   /* the attribute's or the target's number in the table */
    unsigned parts; /* of a date: one bit for each karma_i_date_part that is an attribute, from `place` on */
    karma_i_survey survey;
} csv_column;

/* The identifying texts of the row being read: fields do not last, so they are copied. */
typedef struct id_row {
    char *bytes;
    size_t used, capacity;
    karma_i_text *texts; /* while the row is open only the lengths count: the bytes may still move */
    size_t n_texts, text_capacity;
} id_row;

typedef struct csv_file {
    const karma_i_read_request *request;
    const char *name; /* for messages */
    karma_i_csv_records records;
    csv_column *columns;
    size_t n_columns;
    size_t n_rows;
    size_t *targets; /* their columns in the order they were named in, which need not be that of the file */
    size_t n_targets, target_capacity;
    karma_i_missing missing;
    karma_i_survey_style style;
    const csv_column *suspect; /* must be numbers, and a cell of this row is none */
    karma_i_builder builder;
    id_row ids;
    double *labels; /* of the row being read, one per target */
    double weight;  /* of the row being read */
    double largest_weight;
} csv_file;

static const char *column_name(const csv_file *file, const csv_column *column) {
    return file->records.names.entries[column - file->columns].text;
}

/* --- roles --------------------------------------------------------------------------------------------- */

static csv_column *find_column(const csv_file *file, const char *name) {
    size_t i;
    return karma_i_dictionary_find(&i, &file->records.names, name, strlen(name)) ? &file->columns[i] : NULL;
}

/* A column that was an identifier or ignored in training need not be there. */
static int is_remembered(const csv_file *file, const char *name) {
    const karma_i_expectation *expectation = file->request->expectation;
    const karma_read_options *reading = expectation ? expectation->reading : NULL;
    for (size_t i = 0; reading && i < reading->id.count + reading->ignore.count; i++) {
        const char *known = i < reading->id.count ? reading->id.items[i] : reading->ignore.items[i - reading->id.count];
        if (strcmp(known, name) == 0) return 1;
    }
    return 0;
}

static karma_status say(csv_file *file, char *const *names, size_t n_names, unsigned what, karma_error *err) {
    for (size_t i = 0; i < n_names; i++) {
        csv_column *column = find_column(file, names[i]);
        if (!column && file->request->names_elsewhere && what >= SAID_IGNORE) continue;
        if (!column && is_remembered(file, names[i])) continue;
        if (!column) return karma_i_csv_fail_unknown(file->name, "column", names[i], &file->records.names, err);
        column->said |= 1u << what;
    }
    return KARMA_OK;
}

static karma_status add_target(csv_file *file, csv_column *column, karma_error *err) {
    if (!karma_i_reserve(&file->targets, &file->target_capacity, file->n_targets + 1, sizeof *file->targets))
        return karma_i_fail_memory(err);
    column->place = file->n_targets;
    file->targets[file->n_targets++] = (size_t)(column - file->columns);
    return KARMA_OK;
}

static karma_status say_target(csv_file *file, const char *name, karma_error *err) {
    csv_column *column = find_column(file, name);
    char excerpt[KARMA_I_EXCERPT_SIZE];
    if (!column) return karma_i_csv_fail_unknown(file->name, "column", name, &file->records.names, err);
    if (column->said >> SAID_TARGET & 1)
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: column '%s' is named twice by option 'target'", file->name,
                            karma_i_excerpt(excerpt, name, strlen(name)));
    column->said |= 1u << SAID_TARGET;
    return add_target(file, column, err);
}

/* A value of `target` that is no column's name is several names: names may have commas too. */
static karma_status say_targets(csv_file *file, const char *value, karma_error *err) {
    if (find_column(file, value)) return say_target(file, value, err);
    char *list = karma_i_strdup(value);
    karma_status st = list ? KARMA_OK : karma_i_fail_memory(err);
    for (char *name = list, *comma; st == KARMA_OK && name; name = comma ? comma + 1 : NULL) {
        comma = strchr(name, ',');
        if (comma) *comma = '\0';
        st = say_target(file, name, err);
    }
    karma_i_free(list);
    return st;
}

/* Only a target may be said to be two things: a target, and of a kind. */
static karma_status check_said(const csv_file *file, const csv_column *column, karma_error *err) {
    for (unsigned a = 0; a < N_SAID; a++) {
        for (unsigned b = a + 1; b < N_SAID; b++) {
            if (!(column->said >> a & 1 && column->said >> b & 1)) continue;
            if (a == SAID_TARGET && (b == SAID_NUMERIC || b == SAID_CATEGORY)) continue;
            char excerpt[KARMA_I_EXCERPT_SIZE];
            const char *name = column_name(file, column);
            return karma_i_fail(err, KARMA_ERR_OPTION, "%s: column '%s' cannot be both option '%s' and option '%s'",
                                file->name, karma_i_excerpt(excerpt, name, strlen(name)), said_options[a],
                                said_options[b]);
        }
    }
    return KARMA_OK;
}

static csv_role said_role(unsigned said) {
    if (said >> SAID_TARGET & 1) return ROLE_TARGET;
    if (said >> SAID_WEIGHT & 1) return ROLE_WEIGHT;
    if (said >> SAID_ID & 1) return ROLE_ID;
    return said >> SAID_IGNORE & 1 ? ROLE_IGNORED : ROLE_ATTRIBUTE;
}

static karma_i_survey_mode said_mode(unsigned said) {
    if (said >> SAID_NUMERIC & 1) return KARMA_I_SURVEY_NUMBER;
    return said >> SAID_CATEGORY & 1 ? KARMA_I_SURVEY_CATEGORY : KARMA_I_SURVEY_INFER;
}

/* The model's type of one column holds where the options set none. */
static void expect_column(csv_file *file, csv_column *column, const karma_i_column *expected) {
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

/* A model that knows "visit.days" learned from dates in "visit". */
static karma_status expect_dates(csv_file *file, csv_column *column, const karma_i_expectation *expectation,
                                 karma_error *err) {
    const char *name = column_name(file, column);
    char *part_name = karma_i_alloc(strlen(name) + KARMA_I_PART_NAME_EXTRA, 1);
    if (!part_name) return karma_i_fail_memory(err);
    for (unsigned part = 0; part < KARMA_I_N_DATE_PARTS; part++)
        if (is_expected(expectation, karma_i_date_part_name(part_name, name, (karma_i_date_part)part)))
            column->parts |= 1u << part;
    if (column->parts) karma_i_survey_init(&column->survey, KARMA_I_SURVEY_MODEL_DATE, 0, file->style);
    karma_i_free(part_name);
    return KARMA_OK;
}

static karma_status apply_expectation(csv_file *file, const karma_i_expectation *expectation, karma_error *err) {
    for (size_t i = 0; i < expectation->n_columns; i++) {
        csv_column *column = find_column(file, expectation->columns[i].name);
        if (!column || column->role != ROLE_ATTRIBUTE || column->said) continue;
        expect_column(file, column, &expectation->columns[i]);
    }
    for (size_t i = 0; i < file->n_columns; i++) {
        csv_column *column = &file->columns[i];
        if (column->role == ROLE_ATTRIBUTE && !column->said && column->survey.mode == KARMA_I_SURVEY_INFER)
            KARMA_TRY(expect_dates(file, column, expectation, err));
    }
    return KARMA_OK;
}

static karma_status apply_options(csv_file *file, const karma_read_options *o, karma_error *err) {
    for (size_t i = 0; i < o->target.count; i++) KARMA_TRY(say_targets(file, o->target.items[i], err));
    KARMA_TRY(say(file, &o->row_weight, o->row_weight != NULL, SAID_WEIGHT, err));
    KARMA_TRY(say(file, o->id.items, o->id.count, SAID_ID, err));
    KARMA_TRY(say(file, o->ignore.items, o->ignore.count, SAID_IGNORE, err));
    KARMA_TRY(say(file, o->numeric.items, o->numeric.count, SAID_NUMERIC, err));
    KARMA_TRY(say(file, o->category.items, o->category.count, SAID_CATEGORY, err));
    for (size_t i = 0; i < file->n_columns; i++) {
        KARMA_TRY(check_said(file, &file->columns[i], err));
        file->columns[i].role = said_role(file->columns[i].said);
    }
    return KARMA_OK;
}

static karma_status expect_targets(csv_file *file, const karma_i_expectation *expectation, karma_error *err) {
    for (size_t i = 0; i < expectation->n_targets; i++) {
        csv_column *column = find_column(file, expectation->targets[i]);
        if (!column || column->role != ROLE_ATTRIBUTE) continue;
        column->role = ROLE_TARGET;
        KARMA_TRY(add_target(file, column, err));
    }
    return KARMA_OK;
}

static karma_status assign_roles(csv_file *file, karma_error *err) {
    const karma_i_expectation *expectation = file->request->expectation;
    KARMA_TRY(apply_options(file, file->request->options, err));
    if (expectation && file->n_targets == 0) KARMA_TRY(expect_targets(file, expectation, err));
    for (size_t i = 0; i < file->n_columns; i++) {
        csv_column *column = &file->columns[i];
        karma_i_survey_init(&column->survey, said_mode(column->said), column->role == ROLE_TARGET, file->style);
    }
    return expectation ? apply_expectation(file, expectation, err) : KARMA_OK;
}

/* --- passes -------------------------------------------------------------------------------------------- */

static int needs_survey(const csv_column *column) {
    return column->role == ROLE_ATTRIBUTE || column->role == ROLE_TARGET;
}

static karma_status survey_cell(void *payload, size_t number, const karma_i_csv_field *field, karma_error *err) {
    csv_file *file = payload;
    csv_column *column = &file->columns[number];
    karma_i_survey *survey = &column->survey;
    if (!needs_survey(column) || karma_i_is_missing(&file->missing, field->text, field->length)) return KARMA_OK;
    KARMA_TRY(karma_i_survey_add(survey, field->text, field->length, field->line, err));
    if (survey->mode == KARMA_I_SURVEY_NUMBER && survey->n_others && !file->suspect) file->suspect = column;
    return KARMA_OK;
}

/* A bad cell is reported only now: in a ragged row the raggedness is the better explanation. */
static karma_status survey_row(void *payload, karma_error *err) {
    csv_file *file = payload;
    file->n_rows++;
    if (!file->suspect) return KARMA_OK;
    return karma_i_survey_check(&file->suspect->survey, file->name, column_name(file, file->suspect), err);
}

static karma_status collect_cell(void *payload, size_t number, const karma_i_csv_field *field, karma_error *err) {
    csv_file *file = payload;
    csv_column *column = &file->columns[number];
    if (!column->survey.incomplete || karma_i_is_missing(&file->missing, field->text, field->length)) return KARMA_OK;
    return karma_i_survey_collect(&column->survey, field->text, field->length, err);
}

static karma_status ignore_row(void *payload, karma_error *err) {
    (void)payload, (void)err;
    return KARMA_OK;
}

static karma_status survey_columns(csv_file *file, karma_error *err) {
    int incomplete = 0;
    KARMA_TRY(karma_i_csv_walk(&file->records, survey_cell, survey_row, file, err));
    if (file->n_rows == 0) return karma_i_csv_fail_no_rows(&file->records, err);
    for (size_t i = 0; i < file->n_columns; i++) {
        csv_column *column = &file->columns[i];
        if (needs_survey(column)) karma_i_survey_settle(&column->survey);
        KARMA_TRY(karma_i_survey_check(&column->survey, file->name, column_name(file, column), err));
        incomplete |= column->survey.incomplete;
    }
    if (incomplete) KARMA_TRY(karma_i_csv_walk(&file->records, collect_cell, ignore_row, file, err));
    for (size_t i = 0; i < file->n_columns; i++)
        if (needs_survey(&file->columns[i]))
            karma_i_survey_notice(&file->columns[i].survey, file->name, column_name(file, &file->columns[i]),
                                  file->request->hooks);
    return KARMA_OK;
}

/* --- the table ----------------------------------------------------------------------------------------- */

/* A column of dates: one attribute for each of its parts. */
static karma_status make_parts(csv_file *file, csv_column *column, karma_error *err) {
    const char *name = column_name(file, column);
    const karma_i_survey *survey = &column->survey;
    char *part_name = karma_i_alloc(strlen(name) + KARMA_I_PART_NAME_EXTRA, 1);
    karma_status st = part_name ? KARMA_OK : karma_i_fail_memory(err);
    column->place = file->builder.table->n_attributes;
    for (unsigned part = 0; st == KARMA_OK && part < KARMA_I_N_DATE_PARTS; part++) {
        if (survey->mode == KARMA_I_SURVEY_INFER &&
            karma_i_has_date_part((karma_i_date_part)part, survey->n_dates > 0, survey->n_times > 0))
            column->parts |= 1u << part;
        if (!(column->parts >> part & 1)) continue;
        (void)karma_i_date_part_name(part_name, name, (karma_i_date_part)part);
        if (find_column(file, part_name))
            st = karma_i_fail(err, KARMA_ERR_DATA,
                              "%s: dates in column '%.60s' would make a column '%.60s', which there is already: use "
                              "option 'ignore' for one of them, or option 'dates=off'",
                              file->name, name, part_name);
        else
            st = karma_i_builder_add_attribute(&file->builder, part_name, KARMA_COLUMN_NUMBER, NULL, 0, err);
    }
    karma_i_free(part_name);
    return st;
}

/* A column that is an attribute or a target. */
static karma_status make_surveyed(csv_file *file, csv_column *column, karma_error *err) {
    const char *name = column_name(file, column);
    char **levels;
    size_t n_levels;
    karma_i_survey_kind surveyed = karma_i_survey_kind_of(&column->survey);
    if (surveyed == KARMA_I_SURVEYED_DATE) return make_parts(file, column, err);
    karma_column_kind kind = surveyed == KARMA_I_SURVEYED_NUMBER ? KARMA_COLUMN_NUMBER : KARMA_COLUMN_CATEGORY;
    KARMA_TRY(karma_i_survey_levels(&levels, &n_levels, &column->survey, err));
    if (column->role == ROLE_TARGET)
        return karma_i_builder_add_target(&file->builder, name, kind, levels, n_levels, err);
    column->place = file->builder.table->n_attributes;
    return karma_i_builder_add_attribute(&file->builder, name, kind, levels, n_levels, err);
}

static karma_status make_column(csv_file *file, csv_column *column, karma_error *err) {
    switch (column->role) {
    case ROLE_ATTRIBUTE:
        return make_surveyed(file, column, err);
    case ROLE_WEIGHT:
        return karma_i_builder_set_weighted(&file->builder, column_name(file, column), err);
    case ROLE_ID:
        return karma_i_builder_add_id(&file->builder, column_name(file, column), err);
    case ROLE_TARGET: /* made in an order of their own */
    case ROLE_IGNORED:
        break;
    }
    return KARMA_OK;
}

static karma_status keep_id(id_row *ids, const karma_i_csv_field *field, karma_error *err) {
    void *bytes = ids->bytes, *texts = ids->texts;
    if (!karma_i_reserve(&texts, &ids->text_capacity, ids->n_texts + 1, sizeof *ids->texts))
        return karma_i_fail_memory(err);
    ids->texts = texts;
    if (!karma_i_reserve(&bytes, &ids->capacity, ids->used + field->length + 1, 1)) return karma_i_fail_memory(err);
    ids->bytes = bytes;
    memcpy(ids->bytes + ids->used, field->text, field->length);
    ids->texts[ids->n_texts++].length = field->length;
    ids->used += field->length;
    return KARMA_OK;
}

static karma_status fail_weight(const csv_file *file, const csv_column *column, const karma_i_csv_field *field,
                                karma_error *err) {
    char name[KARMA_I_EXCERPT_SIZE], text[KARMA_I_EXCERPT_SIZE];
    (void)karma_i_excerpt(name, column_name(file, column), strlen(column_name(file, column)));
    if (karma_i_is_missing(&file->missing, field->text, field->length))
        return karma_i_fail(err, KARMA_ERR_DATA, "%s: line %zu, column '%s': the row weight is missing", file->name,
                            field->line, name);
    return karma_i_fail(err, KARMA_ERR_DATA,
                        "%s: line %zu, column '%s': '%s' is not a row weight, which is a finite number of at least 0",
                        file->name, field->line, name, karma_i_excerpt(text, field->text, field->length));
}

/* There is nothing to infer about weights, so the survey passes them over and they are judged only here. */
static karma_status keep_weight(csv_file *file, const csv_column *column, const karma_i_csv_field *field,
                                karma_error *err) {
    unsigned how;
    if (karma_i_is_missing(&file->missing, field->text, field->length) ||
        !karma_i_numeral_parse(&file->weight, &how, field->text, field->length, file->style.decimal_mark) ||
        !karma_i_is_weight(file->weight))
        return fail_weight(file, column, field, err);
    if (file->weight > file->largest_weight) file->largest_weight = file->weight;
    return KARMA_OK;
}

static karma_status fill_parts(csv_file *file, const csv_column *column, const karma_i_csv_field *field,
                               karma_error *err) {
    karma_i_moment moment;
    size_t place = column->place;
    if (!karma_i_survey_moment(&moment, &column->survey, field->text, field->length))
        return karma_i_builder_add_text_cell(&file->builder, place, err);
    for (unsigned part = 0; part < KARMA_I_N_DATE_PARTS; part++) {
        double value;
        if (!(column->parts >> part & 1)) continue;
        if (karma_i_date_part_value(&value, &moment, (karma_i_date_part)part))
            KARMA_TRY(karma_i_builder_add_cell(&file->builder, place, value, err));
        place++;
    }
    return KARMA_OK;
}

static karma_status fill_cell(void *payload, size_t number, const karma_i_csv_field *field, karma_error *err) {
    csv_file *file = payload;
    csv_column *column = &file->columns[number];
    if (column->role == ROLE_IGNORED) return KARMA_OK;
    if (column->role == ROLE_ID) return keep_id(&file->ids, field, err);
    if (column->role == ROLE_WEIGHT) return keep_weight(file, column, field, err);
    if (karma_i_is_missing(&file->missing, field->text, field->length)) return KARMA_OK;
    double value;
    if (column->parts) return fill_parts(file, column, field, err);
    int has_value = karma_i_survey_value(&value, &column->survey, field->text, field->length);
    if (column->role == ROLE_TARGET) {
        if (has_value) file->labels[column->place] = value;
        return KARMA_OK;
    }
    if (has_value) return karma_i_builder_add_cell(&file->builder, column->place, value, err);
    if (karma_i_is_missing_number(field->text, field->length)) return KARMA_OK;
    return karma_i_builder_add_text_cell(&file->builder, column->place, err);
}

static void forget_labels(csv_file *file) {
    for (size_t k = 0; k < file->n_targets; k++) file->labels[k] = NAN;
}

static karma_status fill_row(void *payload, karma_error *err) {
    csv_file *file = payload;
    id_row *ids = &file->ids;
    size_t start = 0;
    for (size_t i = 0; i < ids->n_texts; i++) {
        ids->texts[i].text = ids->bytes + start;
        start += ids->texts[i].length;
    }
    KARMA_TRY(karma_i_builder_end_row(&file->builder, file->labels, file->weight, ids->texts, err));
    ids->n_texts = ids->used = 0;
    forget_labels(file);
    return KARMA_OK;
}

static karma_status check_weights(const csv_file *file, karma_error *err) {
    const char *name = file->builder.table->weight_name;
    char excerpt[KARMA_I_EXCERPT_SIZE];
    if (!name || file->largest_weight > 0.0) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_DATA, "%s: column '%s': all row weights are 0", file->name,
                        karma_i_excerpt(excerpt, name, strlen(name)));
}

static karma_status fill_table(csv_file *file, karma_error *err) {
    KARMA_TRY(karma_i_builder_init(&file->builder, err));
    for (size_t i = 0; i < file->n_columns; i++) KARMA_TRY(make_column(file, &file->columns[i], err));
    for (size_t k = 0; k < file->n_targets; k++) KARMA_TRY(make_surveyed(file, &file->columns[file->targets[k]], err));
    file->labels = karma_i_alloc(file->n_targets, sizeof *file->labels);
    if (!file->labels) return karma_i_fail_memory(err);
    forget_labels(file);
    KARMA_TRY(karma_i_csv_walk(&file->records, fill_cell, fill_row, file, err));
    return check_weights(file, err);
}

/* An order of day and month that all columns of dates have. */
static void note_date_order(const csv_file *file) {
    int order = KARMA_DATE_ORDER_AUTO, n_orders = 0;
    for (size_t i = 0; i < file->n_columns; i++) {
        const csv_column *column = &file->columns[i];
        if (!column->parts || column->survey.n_ambiguous == 0) continue;
        int own = karma_i_survey_day_order(&column->survey) == KARMA_I_DAY_FIRST ? KARMA_DATE_ORDER_DAY
                                                                                 : KARMA_DATE_ORDER_MONTH;
        if (own != order) n_orders++;
        order = own;
    }
    if (n_orders == 1 && file->request->found) file->request->found->date_order = order;
}

static karma_status open_file(csv_file *file, karma_error *err) {
    KARMA_TRY(karma_i_csv_open(&file->records, file->request, err));
    file->n_columns = file->records.names.count;
    file->columns = karma_i_zalloc(file->n_columns, sizeof *file->columns);
    return file->columns ? KARMA_OK : karma_i_fail_memory(err);
}

static void clear_file(csv_file *file) {
    for (size_t i = 0; file->columns && i < file->n_columns; i++) karma_i_survey_clear(&file->columns[i].survey);
    karma_i_free(file->columns);
    karma_i_free(file->targets);
    karma_i_free(file->labels);
    karma_i_csv_close(&file->records);
    karma_i_missing_clear(&file->missing);
    karma_i_builder_clear(&file->builder);
    karma_i_free(file->ids.bytes);
    karma_i_free(file->ids.texts);
}

/* --- how numbers are written --------------------------------------------------------------------------- */

/* Cells that can only be read with one of the decimal marks. */
typedef struct mark_count {
    size_t n_points, n_commas, n_rows;
} mark_count;

enum { MOST_MARK_ROWS = 10000 };

static karma_status count_mark(void *payload, size_t column, const karma_i_csv_field *field, karma_error *err) {
    mark_count *count = payload;
    (void)column, (void)err;
    if (count->n_rows >= MOST_MARK_ROWS) return KARMA_OK;
    char mark = karma_i_numeral_mark(field->text, field->length);
    count->n_points += mark == '.';
    count->n_commas += mark == ',';
    return KARMA_OK;
}

static karma_status count_mark_row(void *payload, karma_error *err) {
    (void)err;
    ((mark_count *)payload)->n_rows++;
    return KARMA_OK;
}

/* Decimal commas are looked for where commas do not cut the fields: spreadsheets of many countries write 0,5;1,25. */
static karma_status find_style(csv_file *file, karma_error *err) {
    const karma_read_options *o = file->request->options;
    mark_count count = {0};
    file->style = (karma_i_survey_style){'.', o->dates, -1};
    if (o->date_order != KARMA_DATE_ORDER_AUTO)
        file->style.day_order = o->date_order == KARMA_DATE_ORDER_DAY ? KARMA_I_DAY_FIRST : KARMA_I_MONTH_FIRST;
    if (o->decimal == KARMA_DECIMAL_COMMA) file->style.decimal_mark = ',';
    if (o->decimal != KARMA_DECIMAL_AUTO || file->records.scan.delimiter == ',') return KARMA_OK;
    KARMA_TRY(karma_i_csv_walk(&file->records, count_mark, count_mark_row, &count, err));
    if (count.n_commas > count.n_points) {
        file->style.decimal_mark = ',';
        if (file->request->found) file->request->found->decimal = KARMA_DECIMAL_COMMA;
        karma_i_notice(file->request->hooks,
                       "%s: numbers are read with decimal commas, as in 0,5 (option 'decimal=.' reads points)",
                       file->name);
    }
    return KARMA_OK;
}

karma_status karma_i_csv_read(karma_table **out, const karma_i_read_request *request, karma_error *err) {
    csv_file file = {.request = request, .name = request->source->name};
    karma_status st = open_file(&file, err);
    if (st == KARMA_OK) st = karma_i_missing_init(&file.missing, &request->options->missing, err);
    if (st == KARMA_OK) st = find_style(&file, err);
    if (st == KARMA_OK) st = assign_roles(&file, err);
    if (st == KARMA_OK) st = survey_columns(&file, err);
    if (st == KARMA_OK) st = fill_table(&file, err);
    if (st == KARMA_OK) {
        note_date_order(&file);
        karma_i_builder_finish(out, &file.builder);
    }
    clear_file(&file);
    return st;
}
