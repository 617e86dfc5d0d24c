/* One pass over the text surveys every column and keeps provisional values: numbers, and codes for texts. If
 * these turn out to be wrong, as for dates and for columns that mix numbers and texts, a second pass fills
 * the table again, now that the kinds are known. csv_rows.c does a pass in parallel. */
#include "io/csv.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/csv_file.h"
#include "io/csv_part.h"
#include "io/date_parts.h"
#include "io/numeral.h"
#include "table/builder.h"

static int is_surveyed(const karma_i_csv_column *column) {
    return column->role == ROLE_ATTRIBUTE || column->role == ROLE_TARGET;
}

/* --- passes -------------------------------------------------------------------------------------------- */

static karma_i_csv_action action_of(const karma_i_csv_file *file, const karma_i_csv_column *column) {
    if (column->role == ROLE_IGNORED) return ACTION_SKIP;
    if (column->role == ROLE_WEIGHT) return ACTION_WEIGHT;
    if (column->role == ROLE_ID) return ACTION_ID;
    if (!file->second) return ACTION_SURVEY;
    switch (karma_i_survey_kind_of(&column->survey)) {
    case KARMA_I_SURVEYED_NUMBER:
        return ACTION_NUMBER;
    case KARMA_I_SURVEYED_DATE:
        return ACTION_DATE;
    case KARMA_I_SURVEYED_CATEGORY:
        break;
    }
    return ACTION_SURVEY;
}

/* The parts of dates that become attributes, if a model names them. */
static void find_parts(karma_i_csv_column *column) {
    const karma_i_survey *survey = &column->survey;
    if (survey->mode != KARMA_I_SURVEY_INFER || karma_i_survey_kind_of(survey) != KARMA_I_SURVEYED_DATE) return;
    for (unsigned part = 0; part < KARMA_I_N_DATE_PARTS; part++)
        if (karma_i_has_date_part((karma_i_date_part)part, survey->n_dates > 0, survey->n_times > 0))
            column->parts |= 1u << part;
}

static size_t n_attributes_of(const karma_i_csv_column *column) {
    size_t n = 0;
    for (unsigned parts = column->parts; parts; parts &= parts - 1) n++;
    return n ? n : 1;
}

/* How the pass treats every column, and which attributes the columns are. */
static void plan_columns(karma_i_csv_file *file) {
    file->most_cells = file->n_ids = 0;
    file->has_weights = 0;
    for (size_t i = 0; i < file->n_columns; i++) {
        karma_i_csv_column *column = &file->columns[i];
        column->action = action_of(file, column);
        file->n_ids += column->role == ROLE_ID;
        file->has_weights |= column->role == ROLE_WEIGHT;
        if (file->second) karma_i_survey_init(&column->texts, KARMA_I_SURVEY_CATEGORY, 0, file->style);
        if (column->role != ROLE_ATTRIBUTE) continue;
        if (file->second) find_parts(column);
        column->place = file->most_cells;
        file->most_cells += n_attributes_of(column);
    }
}

/* The columns needed while rows are put into the table. */
static karma_status start_table(karma_i_csv_file *file, karma_error *err) {
    karma_i_builder_clear(&file->builder);
    KARMA_TRY(karma_i_builder_init(&file->builder, err));
    if (file->request->folder) KARMA_TRY(karma_i_builder_store(&file->builder, file->request->folder, err));
    file->n_rows = 0;
    file->largest_weight = 0.0;
    for (size_t i = 0; i < file->n_columns; i++) {
        const karma_i_csv_column *column = &file->columns[i];
        const char *name = karma_i_csv_column_name(file, column);
        if (column->role == ROLE_WEIGHT) KARMA_TRY(karma_i_builder_set_weighted(&file->builder, name, err));
        if (column->role == ROLE_ID) KARMA_TRY(karma_i_builder_add_id(&file->builder, name, err));
    }
    return KARMA_OK;
}

/* From the first row to the end of the text. */
static karma_status read_all(karma_i_csv_file *file, karma_error *err) {
    karma_i_feed *feed = file->request->feed;
    karma_i_csv_window *w = &file->window;
    plan_columns(file);
    KARMA_TRY(start_table(file, err));
    for (;;) {
        KARMA_TRY(karma_i_csv_read_window(file, w, err));
        if (!w->is_cut || file->is_stream) return KARMA_OK;
        KARMA_TRY(karma_i_csv_load_window(w, feed, (size_t)(w->next - w->text.text), 1, err));
    }
}

/* Goes back to the first row; in a stream, to the first row of the current part. */
static karma_status rewind_rows(karma_i_csv_file *file, karma_error *err) {
    karma_i_feed *feed = file->request->feed;
    karma_i_csv_window *w = &file->window;
    if (file->is_stream) {
        w->next = file->part_start;
        w->line = file->part_line;
        return KARMA_OK;
    }
    if (feed) {
        KARMA_TRY(karma_i_feed_rewind(feed, err));
        KARMA_TRY(karma_i_csv_load_window(w, feed, 0, 1, err));
    }
    w->next = w->text.text + file->header_length;
    w->line = file->records.first_line;
    return KARMA_OK;
}

static void adopt_texts(karma_i_csv_file *file) {
    for (size_t i = 0; i < file->n_columns; i++) {
        karma_i_csv_column *column = &file->columns[i];
        if (column->action != ACTION_SURVEY) continue;
        karma_i_dictionary_clear(&column->survey.texts);
        column->survey.texts = column->texts.texts;
        column->texts.texts = (karma_i_dictionary){0};
    }
}

static karma_status check_weights(const karma_i_csv_file *file, karma_error *err) {
    const char *name = file->builder.table->weight_name;
    char excerpt[KARMA_I_EXCERPT_SIZE];
    if (!name || file->largest_weight > 0.0) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_DATA, "%s: column '%s': all row weights are 0", file->name,
                        karma_i_excerpt(excerpt, name, strlen(name)));
}

/* Applies the result of the survey; *again: the rows must be read a second time. */
static karma_status judge_columns(int *again, karma_i_csv_file *file, karma_error *err) {
    *again = 0;
    if (file->n_all_rows == 0) return karma_i_csv_fail_no_rows(&file->records, err);
    for (size_t i = 0; i < file->n_columns; i++) {
        karma_i_csv_column *column = &file->columns[i];
        if (!is_surveyed(column)) continue;
        karma_i_survey_settle(&column->survey);
        KARMA_TRY(karma_i_survey_check(&column->survey, file->name, karma_i_csv_column_name(file, column), err));
        *again |= !karma_i_survey_is_complete(&column->survey);
    }
    return check_weights(file, err);
}

/* Processes that read parts of one table decide together; those of a stream have tables of their own. */
static karma_status share(karma_i_csv_file *file, karma_error *err) {
    file->n_all_rows = file->n_rows;
    return file->is_stream ? KARMA_OK : karma_i_csv_share(file, err);
}

karma_status karma_i_csv_read_rows(karma_i_csv_file *file, karma_error *err) {
    int again;
    KARMA_TRY(read_all(file, err));
    if (file->is_stream && file->n_rows == 0) return KARMA_OK;
    KARMA_TRY(share(file, err));
    KARMA_TRY(judge_columns(&again, file, err));
    if (!again) return KARMA_OK;
    file->second = 1;
    KARMA_TRY(rewind_rows(file, err));
    KARMA_TRY(read_all(file, err));
    KARMA_TRY(share(file, err));
    adopt_texts(file);
    return KARMA_OK;
}

/* --- the table ----------------------------------------------------------------------------------------- */

/* A column of dates: one attribute for each of its parts. */
static karma_status make_parts(karma_i_csv_file *file, karma_i_csv_column *column, karma_error *err) {
    const char *name = karma_i_csv_column_name(file, column);
    char *part_name = karma_i_alloc(strlen(name) + KARMA_I_PART_NAME_EXTRA, 1);
    karma_status st = part_name ? KARMA_OK : karma_i_fail_memory(err);
    for (unsigned part = 0; st == KARMA_OK && part < KARMA_I_N_DATE_PARTS; part++) {
        if (!(column->parts >> part & 1)) continue;
        (void)karma_i_date_part_name(part_name, name, (karma_i_date_part)part);
        if (karma_i_csv_find_column(file, part_name))
            st = karma_i_fail(err, KARMA_ERR_DATA,
                              "%s: dates in column '%.60s' would make a column '%.60s', which already exists: use "
                              "option 'ignore' for one of them, or option 'dates=off'",
                              file->name, name, part_name);
        else
            st = karma_i_builder_add_attribute(&file->builder, part_name, KARMA_COLUMN_NUMBER, NULL, 0, err);
    }
    karma_i_free(part_name);
    return st;
}

/* A column that is an attribute or a target. */
static karma_status make_surveyed(karma_i_csv_file *file, karma_i_csv_column *column, karma_error *err) {
    const char *name = karma_i_csv_column_name(file, column);
    char **levels;
    size_t n_levels;
    karma_i_survey_kind surveyed = karma_i_survey_kind_of(&column->survey);
    if (surveyed == KARMA_I_SURVEYED_DATE) return make_parts(file, column, err);
    karma_column_kind kind = surveyed == KARMA_I_SURVEYED_NUMBER ? KARMA_COLUMN_NUMBER : KARMA_COLUMN_CATEGORY;
    if (kind == KARMA_COLUMN_CATEGORY && column->survey.texts.count) {
        column->ranks = karma_i_alloc(column->survey.texts.count, sizeof *column->ranks);
        if (!column->ranks) return karma_i_fail_memory(err);
    }
    KARMA_TRY(karma_i_survey_levels(&levels, &n_levels, &column->survey, column->ranks, err));
    if (column->role == ROLE_TARGET)
        return karma_i_builder_add_target(&file->builder, name, kind, levels, n_levels, err);
    return karma_i_builder_add_attribute(&file->builder, name, kind, levels, n_levels, err);
}

/* Codes of texts become levels. */
static karma_status rank_cells(karma_i_csv_file *file, karma_error *err) {
    karma_table *t = file->builder.table;
    const uint32_t **ranks = karma_i_zalloc(t->n_attributes, sizeof *ranks);
    if (!ranks) return karma_i_fail_memory(err);
    int any = 0;
    for (size_t i = 0; i < file->n_columns; i++) {
        const karma_i_csv_column *column = &file->columns[i];
        if (column->role != ROLE_ATTRIBUTE || !column->ranks) continue;
        ranks[column->place] = column->ranks;
        any = 1;
    }
    size_t n_cells = any ? file->builder.n_cells : 0;
#pragma omp parallel for schedule(static) num_threads(karma_i_threads(file->request->options->threads))
    for (size_t i = 0; i < n_cells; i++) {
        const uint32_t *own = ranks[t->cell_owner[i]];
        uint32_t code;
        if (own && karma_i_is_code(&code, t->cell_value[i])) t->cell_value[i] = own[code];
    }
    karma_i_free(ranks);
    return KARMA_OK;
}

static void rank_labels(karma_i_csv_file *file) {
    for (size_t k = 0; k < file->n_targets; k++) {
        const uint32_t *ranks = file->columns[file->targets[k]].ranks;
        uint32_t code;
        for (size_t i = 0; ranks && i < file->n_rows; i++) {
            double *label = &file->labels[i * file->n_targets + k];
            if (karma_i_is_code(&code, *label)) *label = ranks[code];
        }
    }
}

karma_status karma_i_csv_make_table(karma_i_csv_file *file, karma_error *err) {
    for (size_t i = 0; i < file->n_columns; i++)
        if (file->columns[i].role == ROLE_ATTRIBUTE) KARMA_TRY(make_surveyed(file, &file->columns[i], err));
    for (size_t k = 0; k < file->n_targets; k++) KARMA_TRY(make_surveyed(file, &file->columns[file->targets[k]], err));
    KARMA_TRY(rank_cells(file, err));
    rank_labels(file);
    KARMA_TRY(karma_i_builder_set_labels(&file->builder, file->labels, err));
    karma_i_builder_trim(&file->builder);
    return KARMA_OK;
}

/* The order of day and month shared by all columns of dates. */
static void note_date_order(const karma_i_csv_file *file) {
    int order = KARMA_DATE_ORDER_AUTO, n_orders = 0;
    for (size_t i = 0; i < file->n_columns; i++) {
        const karma_i_csv_column *column = &file->columns[i];
        if (!column->parts || column->survey.n_ambiguous == 0) continue;
        int own = karma_i_survey_day_order(&column->survey) == KARMA_I_DAY_FIRST ? KARMA_DATE_ORDER_DAY
                                                                                 : KARMA_DATE_ORDER_MONTH;
        if (own != order) n_orders++;
        order = own;
    }
    if (n_orders == 1 && file->request->found) file->request->found->date_order = order;
}

/* --- how numbers are written --------------------------------------------------------------------------- */

/* Counts cells that can be read with only one of the decimal marks, and cells with a comma that can be read
 * with both. */
typedef struct mark_count {
    size_t n_points, n_commas, n_unclear, n_rows;
} mark_count;

enum { MOST_MARK_ROWS = 10000 };

static karma_status count_mark(void *payload, size_t column, const karma_i_csv_field *field, karma_error *err) {
    mark_count *count = payload;
    (void)column, (void)err;
    if (count->n_rows >= MOST_MARK_ROWS) return KARMA_ERR_DATA; /* enough */
    double value;
    unsigned how;
    char mark = karma_i_numeral_mark(field->text, field->length);
    count->n_points += mark == '.';
    count->n_commas += mark == ',';
    if (!mark && memchr(field->text, ',', field->length))
        count->n_unclear += karma_i_numeral_parse(&value, &how, field->text, field->length, ',') ? 1 : 0;
    return KARMA_OK;
}

static karma_status count_mark_row(void *payload, karma_error *err) {
    (void)err;
    ((mark_count *)payload)->n_rows++;
    return KARMA_OK;
}

/* Counts them in the first rows. Errors in these rows are reported later, when they are read. */
static karma_status look_at_marks(karma_i_csv_file *file, mark_count *count, karma_error *err) {
    karma_error fault = {0};
    karma_status st = karma_i_csv_walk(&file->records, count_mark, count_mark_row, count, &fault);
    return st == KARMA_ERR_MEMORY ? karma_i_fail_memory(err) : KARMA_OK;
}

/* If commas separate the fields, only quoted fields can have decimal commas. */
static int may_have_commas(const karma_i_csv_file *file) {
    const karma_i_source *text = file->records.scan.source;
    const char *rows = file->records.first_row;
    return file->records.scan.delimiter != ',' || memchr(rows, '"', (size_t)(text->text + text->length - rows));
}

/* The decimal mark that the first rows show; 0: none. Files separated by semicolons come from countries with
 * decimal commas, so 1,234 there means 1.234 if no cell has a decimal point. */
static char mark_of(const karma_i_csv_file *file, const mark_count *count) {
    if (count->n_commas > count->n_points) return ',';
    if (count->n_points) return '.';
    return count->n_unclear && file->records.scan.delimiter == ';' ? ',' : '\0';
}

static void notice_mark(const karma_i_csv_file *file, const mark_count *count, char before) {
    const karma_hooks *hooks = file->request->hooks;
    char mark = file->style.decimal_mark;
    if (mark == before) return;
    if (before)
        karma_i_notice(hooks,
                       "%s: numbers are read with decimal %s here, but had decimal %s when the model was learned",
                       file->name, mark == ',' ? "commas" : "points", mark == ',' ? "points" : "commas");
    else if (mark == ',' && count->n_commas == 0 && count->n_unclear)
        karma_i_notice(hooks,
                       "%s: numbers are read with decimal commas, so 1,234 is a little more than 1; if commas separate "
                       "thousands, set option 'decimal=.'",
                       file->name);
    else if (mark == ',')
        karma_i_notice(hooks, "%s: numbers are read with decimal commas, as in 0,5 (option 'decimal=.' reads points)",
                       file->name);
}

/* The mark of the file that the model learned from; 0: unknown. */
static char remembered_mark(const karma_i_csv_file *file) {
    const karma_i_expectation *expectation = file->request->expectation;
    if (!expectation || !expectation->reading) return '\0';
    int decimal = expectation->reading->decimal;
    return decimal == KARMA_DECIMAL_COMMA ? ',' : decimal == KARMA_DECIMAL_POINT ? '.' : '\0';
}

/* The rows decide first, then the model. */
static karma_status find_mark(karma_i_csv_file *file, karma_error *err) {
    mark_count count = {0};
    char before = remembered_mark(file), mark = '\0';
    if (may_have_commas(file) || (file->request->is_database && before == ',')) {
        KARMA_TRY(look_at_marks(file, &count, err));
        mark = mark_of(file, &count);
        file->knows_mark = mark != 0;
    }
    if (mark || before == ',') file->style.decimal_mark = mark ? mark : before;
    if (file->request->found && (mark || !may_have_commas(file)))
        file->request->found->decimal = file->style.decimal_mark == ',' ? KARMA_DECIMAL_COMMA : KARMA_DECIMAL_POINT;
    notice_mark(file, &count, mark ? before : '\0');
    return KARMA_OK;
}

karma_status karma_i_csv_find_style(karma_i_csv_file *file, karma_error *err) {
    const karma_read_options *o = file->request->options;
    file->style =
        (karma_i_survey_style){'.', o->dates, -1, file->records.scan.delimiter != ',', file->request->is_database};
    if (o->date_order != KARMA_DATE_ORDER_AUTO)
        file->style.day_order = o->date_order == KARMA_DATE_ORDER_DAY ? KARMA_I_DAY_FIRST : KARMA_I_MONTH_FIRST;
    if (o->decimal == KARMA_DECIMAL_COMMA) file->style.decimal_mark = ',';
    file->knows_mark = 1;
    return o->decimal == KARMA_DECIMAL_AUTO ? find_mark(file, err) : KARMA_OK;
}

/* --- the whole ----------------------------------------------------------------------------------------- */

static karma_status open_file(karma_i_csv_file *file, karma_error *err) {
    const karma_i_read_request *request = file->request;
    const karma_i_source *text = request->source;
    KARMA_TRY(karma_i_csv_open(&file->records, request, err));
    file->records.first_line += request->lines_above;
    karma_i_csv_notice_header(&file->records, request->hooks);
    file->n_columns = file->records.names.count;
    file->columns = karma_i_zalloc(file->n_columns, sizeof *file->columns);
    if (!file->columns) return karma_i_fail_memory(err);
    file->header_length = (size_t)(file->records.first_row - text->text);
    file->window = (karma_i_csv_window){*text, request->is_cut, file->records.first_row, file->records.first_line};
    return karma_i_check_text(file->name, text->text, file->header_length, 1, err);
}

void karma_i_csv_end(karma_i_csv_file *file) {
    karma_i_csv_free_blocks(file);
    for (size_t i = 0; file->columns && i < file->n_columns; i++) {
        karma_i_survey_clear(&file->columns[i].survey);
        karma_i_survey_clear(&file->columns[i].texts);
        karma_i_free(file->columns[i].ranks);
    }
    karma_i_free(file->columns);
    karma_i_free(file->targets);
    karma_i_free(file->labels);
    karma_i_csv_close(&file->records);
    karma_i_missing_clear(&file->missing);
    karma_i_builder_clear(&file->builder);
}

karma_status karma_i_csv_begin(karma_i_csv_file *file, const karma_i_read_request *request, karma_error *err) {
    *file = (karma_i_csv_file){.request = request, .name = request->source->name};
    KARMA_TRY(open_file(file, err));
    KARMA_TRY(karma_i_missing_init(&file->missing, &request->options->missing, err));
    KARMA_TRY(karma_i_csv_find_style(file, err));
    return karma_i_csv_assign_roles(file, err);
}

static void notice_columns(const karma_i_csv_file *file) {
    for (size_t i = 0; i < file->n_columns; i++)
        if (is_surveyed(&file->columns[i]))
            karma_i_survey_notice(&file->columns[i].survey, file->name,
                                  karma_i_csv_column_name(file, &file->columns[i]), file->request->hooks);
}

karma_status karma_i_csv_read(karma_table **out, const karma_i_read_request *request, karma_error *err) {
    karma_i_csv_file file;
    karma_status st = karma_i_csv_begin(&file, request, err);
    if (st == KARMA_OK) st = karma_i_csv_take_part(&file, err);
    if (st == KARMA_OK) st = karma_i_csv_read_rows(&file, err);
    karma_i_csv_free_blocks(&file);
    if (st == KARMA_OK) notice_columns(&file);
    if (st == KARMA_OK) st = karma_i_csv_make_table(&file, err);
    if (st == KARMA_OK) {
        note_date_order(&file);
        karma_i_builder_finish(out, &file.builder);
    }
    karma_i_csv_end(&file);
    return st;
}

KARMA_I_READER(csv) = {.format = KARMA_FORMAT_CSV, .read = karma_i_csv_read};
KARMA_I_READER(tsv) = {
    .format = KARMA_FORMAT_CSV, .endings = {".tsv", ".tab"}, .likely_delimiter = '\t', .read = karma_i_csv_read};
