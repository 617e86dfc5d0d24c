/* Reads delimited text table by table. Each window is surveyed on its own; only counts are kept, for the
 * notices at the end.
 */
#include "base/error.h"
#include "base/mem.h"
#include "io/csv.h"
#include "io/csv_file.h"
#include "io/csv_part.h"
#include "table/builder.h"

struct karma_i_csv_stream {
    karma_i_csv_file file;
    karma_i_survey *totals; /* of every column, without texts */
    int any_rows, ended;
};

karma_status karma_i_csv_stream_open(karma_i_csv_stream **out, const karma_i_read_request *request, karma_error *err) {
    karma_i_csv_stream *s = karma_i_zalloc(1, sizeof *s);
    if (!s) return karma_i_fail_memory(err);
    karma_status st = karma_i_csv_begin(&s->file, request, err);
    if (st == KARMA_OK) st = karma_i_csv_take_part(&s->file, err);
    s->file.is_stream = 1;
    if (st == KARMA_OK && !(s->totals = karma_i_zalloc(s->file.n_columns, sizeof *s->totals)))
        st = karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < s->file.n_columns; i++) {
        const karma_i_survey *own = &s->file.columns[i].survey;
        karma_i_survey_init(&s->totals[i], own->mode, own->is_target, own->style);
    }
    if (st == KARMA_OK)
        *out = s;
    else
        karma_i_csv_stream_free(s);
    return st;
}

void karma_i_csv_stream_free(karma_i_csv_stream *stream) {
    if (!stream) return;
    for (size_t i = 0; stream->totals && i < stream->file.n_columns; i++) karma_i_survey_clear(&stream->totals[i]);
    karma_i_free(stream->totals);
    karma_i_csv_end(&stream->file);
    karma_i_free(stream);
}

static int is_surveyed(const karma_i_csv_column *column) {
    return column->role == ROLE_ATTRIBUTE || column->role == ROLE_TARGET;
}

/* Moves to the next window; at the beginning, also checks again how numbers are written. */
static karma_status move_on(karma_i_csv_file *file, karma_error *err) {
    karma_i_csv_window *w = &file->window;
    KARMA_TRY(karma_i_csv_load_window(w, file->request->feed, (size_t)(w->next - w->text.text), 0, err));
    if (file->knows_mark) return KARMA_OK;
    file->records.scan.source = &w->text;
    file->records.first_row = w->next;
    file->records.first_line = w->line;
    return karma_i_csv_find_style(file, err);
}

/* Prepares for the rows of the window. */
static void start_part(karma_i_csv_file *file) {
    file->second = 0;
    file->part_start = file->window.next;
    file->part_line = file->window.line;
    for (size_t i = 0; i < file->n_columns; i++) {
        karma_i_csv_column *column = &file->columns[i];
        karma_i_survey *survey = &column->survey;
        int day_order = survey->style.day_order;
        karma_i_survey_style style = file->style;
        if (day_order >= 0) style.day_order = day_order;
        karma_i_survey_clear(survey);
        karma_i_survey_init(survey, survey->mode, survey->is_target, style);
        if (survey->mode == KARMA_I_SURVEY_INFER) column->parts = 0;
        karma_i_free(column->ranks);
        column->ranks = NULL;
    }
}

/* Adds the counts of a part to the totals, and keeps the order of dates if the part shows one. */
static karma_status end_part(karma_i_csv_stream *s, karma_error *err) {
    for (size_t i = 0; i < s->file.n_columns; i++) {
        karma_i_csv_column *column = &s->file.columns[i];
        karma_i_survey *survey = &column->survey;
        if (!is_surveyed(column)) continue;
        karma_i_survey_clear(survey);                                         /* its texts */
        KARMA_TRY(karma_i_survey_merge(&s->totals[i], NULL, survey, 1, err)); /* lines are absolute */
        if (survey->mode == KARMA_I_SURVEY_MODEL_DATE && survey->n_day_first != survey->n_month_first)
            survey->style.day_order = (int)karma_i_survey_day_order(survey);
    }
    return KARMA_OK;
}

static karma_status end_stream(karma_i_csv_stream *s, karma_error *err) {
    const karma_i_csv_file *file = &s->file;
    s->ended = 1;
    int is_part = file->request->ranks && file->request->ranks->size > 1; /* which may have no rows */
    if (!s->any_rows && !is_part) return karma_i_csv_fail_no_rows(&file->records, err);
    for (size_t i = 0; i < file->n_columns; i++)
        if (is_surveyed(&file->columns[i]))
            karma_i_survey_notice(&s->totals[i], file->name, karma_i_csv_column_name(file, &file->columns[i]),
                                  file->request->hooks);
    return KARMA_OK;
}

karma_status karma_i_csv_stream_next(karma_table **out, karma_i_csv_stream *stream, karma_error *err) {
    karma_i_csv_file *file = &stream->file;
    const karma_i_csv_window *w = &file->window;
    *out = NULL;
    while (!stream->ended) {
        if (file->part_start && !w->is_cut) return end_stream(stream, err);
        if (file->part_start) KARMA_TRY(move_on(file, err));
        start_part(file);
        KARMA_TRY(karma_i_csv_read_rows(file, err));
        if (file->n_rows == 0) continue;
        stream->any_rows = 1;
        KARMA_TRY(karma_i_csv_make_table(file, err));
        KARMA_TRY(end_part(stream, err));
        karma_i_builder_finish(out, &file->builder);
        return KARMA_OK;
    }
    return KARMA_OK;
}
