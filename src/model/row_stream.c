/* Rows for a model, part by part. */
#include "base/error.h"
#include "base/mem.h"
#include "io/gram_file.h"
#include "io/reader.h"
#include "model/model.h"

struct karma_row_stream {
    const char **names; /* of the targets */
    karma_i_table_stream *tables;
    karma_table *matrix; /* a matrix of kernel values is one part */
};

static karma_status open_tables(karma_row_stream *s, const karma_model *model, const char *path,
                                const karma_read_options *options, const karma_hooks *hooks, karma_error *err) {
    const karma_i_recipe *recipe = karma_i_model_recipe(model);
    if (recipe->n_matrix_columns && !(options && options->gram)) return karma_i_gram_read_alone(&s->matrix, path, err);
    s->names = karma_i_alloc(model->task.n_heads, sizeof *s->names);
    if (!s->names) return karma_i_fail_memory(err);
    for (size_t t = 0; t < model->task.n_heads; t++) s->names[t] = model->task.heads[t].name;
    karma_i_expectation expected = {recipe->columns, recipe->n_attributes, s->names, model->task.n_heads,
                                    model->reading};
    return karma_i_table_stream_open(&s->tables, path, options, &expected, hooks, err);
}

karma_status karma_row_stream_open(karma_row_stream **out, const karma_model *model, const char *path,
                                   const karma_read_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_row_stream *s = karma_i_zalloc(1, sizeof *s);
    if (!s) return karma_i_fail_memory(err);
    karma_status st = open_tables(s, model, path, options, hooks, err);
    if (st == KARMA_OK)
        *out = s;
    else
        karma_row_stream_free(s);
    return st;
}

karma_status karma_row_stream_next(karma_table **out, karma_row_stream *stream, karma_error *err) {
    if (stream->tables) return karma_i_table_stream_next(out, stream->tables, err);
    *out = stream->matrix;
    stream->matrix = NULL;
    return KARMA_OK;
}

void karma_row_stream_free(karma_row_stream *stream) {
    if (!stream) return;
    karma_i_table_stream_free(stream->tables);
    karma_table_free(stream->matrix);
    karma_i_free(stream->names);
    karma_i_free(stream);
}
