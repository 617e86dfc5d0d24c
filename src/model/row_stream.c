/* Rows for a model, part by part. */
#include "base/error.h"
#include "base/mem.h"
#include "io/gram_file.h"
#include "model/row_stream.h"

struct karma_row_stream {
    karma_i_model_stream own;
    karma_table *matrix;      /* a matrix of kernel values is one part */
    karma_i_first_rows *text; /* the source of rows, if already open; otherwise NULL */
};

karma_status karma_i_model_expect(karma_i_model_stream *out, const karma_model *model, karma_error *err) {
    const karma_i_recipe *recipe = karma_i_model_recipe(model);
    out->names = karma_i_alloc(model->task.n_heads, sizeof *out->names);
    if (!out->names) return karma_i_fail_memory(err);
    for (size_t t = 0; t < model->task.n_heads; t++) out->names[t] = model->task.heads[t].name;
    out->expectation =
        (karma_i_expectation){recipe->columns, recipe->n_attributes, out->names, model->task.n_heads, model->reading};
    return KARMA_OK;
}

void karma_i_model_stream_clear(karma_i_model_stream *stream) {
    karma_i_table_stream_free(stream->tables);
    karma_i_free(stream->names);
}

static karma_status open_tables(karma_row_stream *s, const karma_model *model, const char *path,
                                const karma_read_options *options, const karma_ranks *ranks, const karma_hooks *hooks,
                                karma_error *err) {
    const karma_i_recipe *recipe = karma_i_model_recipe(model);
    if (recipe->n_matrix_columns && ranks && ranks->size > 1)
        return karma_i_fail(err, KARMA_ERR_OPTION, "kernel values cannot be split over processes");
    if (recipe->n_matrix_columns && !(options && options->gram)) return karma_i_gram_read_only(&s->matrix, path, err);
    KARMA_TRY(karma_i_model_expect(&s->own, model, err));
    return karma_i_table_stream_open(&s->own.tables, path, options, &s->own.expectation, ranks, hooks, err);
}

static karma_status open_stream(karma_row_stream **out, const karma_model *model, const char *path,
                                const karma_read_options *options, const karma_ranks *ranks, const karma_hooks *hooks,
                                karma_error *err) {
    karma_row_stream *s = karma_i_zalloc(1, sizeof *s);
    if (!s) return karma_i_fail_memory(err);
    karma_status st = open_tables(s, model, path, options, ranks, hooks, err);
    if (st == KARMA_OK)
        *out = s;
    else
        karma_row_stream_free(s);
    return st;
}

karma_status karma_row_stream_open(karma_row_stream **out, const karma_model *model, const char *path,
                                   const karma_read_options *options, const karma_hooks *hooks, karma_error *err) {
    return open_stream(out, model, path, options, NULL, hooks, err);
}

karma_status karma_row_stream_open_split(karma_row_stream **out, const karma_model *model, const char *path,
                                         const karma_read_options *options, const karma_ranks *ranks,
                                         const karma_hooks *hooks, karma_error *err) {
    karma_error fault = {0};
    karma_row_stream *stream = NULL;
    karma_status st = open_stream(&stream, model, path, options, ranks, hooks, &fault);
    st = karma_ranks_agree(ranks, st, &fault);
    if (st == KARMA_OK)
        *out = stream;
    else
        karma_row_stream_free(stream);
    if (st != KARMA_OK && err) *err = fault;
    return st;
}

karma_status karma_i_row_stream_of_text(karma_row_stream **out, const karma_model *model, karma_i_first_rows *text,
                                        const karma_read_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_row_stream *s = karma_i_zalloc(1, sizeof *s);
    if (!s) {
        karma_i_first_rows_free(text);
        return karma_i_fail_memory(err);
    }
    s->text = text;
    karma_status st = karma_i_model_expect(&s->own, model, err);
    if (st == KARMA_OK)
        st = karma_i_table_stream_open_supply(&s->own.tables, karma_i_first_rows_name(text),
                                              karma_i_first_rows_and_rest(text), options, &s->own.expectation, hooks,
                                              err);
    if (st == KARMA_OK)
        *out = s;
    else
        karma_row_stream_free(s);
    return st;
}

karma_status karma_row_stream_next(karma_table **out, karma_row_stream *stream, karma_error *err) {
    if (stream->own.tables) return karma_i_table_stream_next(out, stream->own.tables, err);
    *out = stream->matrix;
    stream->matrix = NULL;
    return KARMA_OK;
}

void karma_row_stream_free(karma_row_stream *stream) {
    if (!stream) return;
    karma_i_model_stream_clear(&stream->own);
    karma_table_free(stream->matrix);
    karma_i_first_rows_free(stream->text);
    karma_i_free(stream);
}
