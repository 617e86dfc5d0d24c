/* Learning a model from a table, saving it to a file, predicting with it. */
#ifndef KARMA_LEARN_H
#define KARMA_LEARN_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model owns everything it needs. Any number of threads may predict with one model at the same time. */
typedef struct karma_model karma_model;

/* How training ended. None of these is an error. */
typedef enum karma_stop {
    KARMA_STOP_FINISHED,  /* online: all passes were made */
    KARMA_STOP_CONVERGED, /* the other solvers: the duality gap is within the tolerance */
    KARMA_STOP_LIMIT,     /* the other solvers: out of passes before the gap was small enough */
    KARMA_STOP_CANCELLED  /* the progress callback asked to stop; the model is the best so far */
} karma_stop;

typedef struct karma_fit_info {
    karma_solver_kind solver; /* as used: never auto */
    karma_stop stop;
    size_t n_rows;       /* training rows; a row that was given in parts is one (n_joined) */
    size_t n_unlabelled; /* rows left out because they have no label of any target */
    size_t n_support;    /* rows kept in the model */
    size_t rounds;       /* rows visited; batch: kernel rows used; online: T of Algorithm 1 */
    double kernel_evaluations;
    double C, rho, scale; /* as used, if the options are auto or mean; the scale of the kernel's first factor */
    double log_norm;      /* that factor is divided by exp(log_norm); 0 unless w(c) would overflow */
    /* online */
    double mean_loss;  /* before each update, on the standardised target */
    double error_rate; /* of the decisions taken before each update; 0 for regression */
    /* all but online: sums over the outputs of |v|²/2 + (C/m) sum of losses, and of the dual that bounds it from below;
     * nystrom: of all machines that are built from the landmarks */
    double primal, dual;
    double gap;       /* (primal - dual)/primal */
    size_t n_columns; /* of the training table, including those that are never observed */
    /* nystrom */
    size_t n_landmarks;
    /* Learned without a twentieth of the rows: the mean loss of these rows, the same with half as many
     * landmarks, and the relative increase of the objective with half as many. More landmarks would improve
     * it by less than that. 0: not measured */
    double held_out_loss, half_held_out_loss, half_excess;
    size_t
        n_joined; /* rows that their weights made parts of equal rows, with which they were put together; 0 in files */
} karma_fit_info;

/* The word for it: "converged". */
KARMA_API const char *karma_stop_name(karma_stop stop);

/* How option task=auto treats a target: as classes or as a quantity. Texts are classes, and so are numbers with two
 * distinct values, or with few that each occur several times (docs/cli.md has the numbers). Unless NULL, *n_distinct
 * receives the number of its distinct labels. Errors: KARMA_ERR_DATA for a target that the table does not have,
 * KARMA_ERR_MEMORY. Cost: the labels are sorted. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_auto_task(karma_task *out, size_t *n_distinct, const karma_table *table, size_t target,
                                       karma_error *err);

/* Learns from the rows of `table` that have a label; all targets share one kernel. Cost: with the online
 * solver, T times the number of kept rows kernel evaluations; with the batch solver, the number of rows times
 * the number of rows ever visited; with the nystrom solver, rows times landmarks per pass. Errors:
 * KARMA_ERR_OPTION for options out of range or not for this task, KARMA_ERR_DATA if the table has no label,
 * one class only, or values that cannot be learned from, KARMA_ERR_CANCELLED before there is a model,
 * KARMA_ERR_MEMORY. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_fit(karma_model **out, const karma_table *table, const karma_fit_options *options,
                                 const karma_hooks *hooks, karma_error *err);
KARMA_API void karma_model_free(karma_model *model);

/* Model files: docs/model-format.md. The same data, options and seed give the same bytes for any number of
 * threads.
 *
 * karma_model_save writes a file that appears whole or not at all. Errors: KARMA_ERR_IO if writing fails,
 * KARMA_ERR_DATA if a name in the model is not UTF-8 or a number cannot be stored, KARMA_ERR_MEMORY. karma_model_load
 * trusts nothing in the file: a file that was altered, truncated or forged is refused with KARMA_ERR_FORMAT, or gives a
 * model that is safe to use. It reads no more bytes than the file's header announces. Cost: time and memory in
 * proportion to the size of the file. Threads: safe; a model is only read. */
KARMA_API karma_status karma_model_save(const karma_model *model, const char *path, karma_error *err);
KARMA_API karma_status karma_model_load(karma_model **out, const char *path, karma_error *err);
/* The same with the bytes of such a file in memory. *out is a new buffer, to be freed with karma_buffer_free. Errors:
 * as for files, without KARMA_ERR_IO. Cost: as for files. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_model_save_buffer(void **out, size_t *size, const karma_model *model, karma_error *err);
KARMA_API karma_status karma_model_load_buffer(karma_model **out, const void *buffer, size_t size, karma_error *err);
KARMA_API void karma_buffer_free(void *buffer);

/* Reads data for this model: like karma_table_read, but columns take the types the model learned, and the model's
 * targets, if the file has them, are the targets. For a model of a precomputed kernel and no options.gram, the file is
 * the matrix of kernel values itself. Errors: those of karma_table_read. Cost: that of karma_table_read. Threads: safe;
 * inputs are only read. */
KARMA_API karma_status karma_model_read_table(karma_table **out, const karma_model *model, const char *path,
                                              const karma_read_options *options, const karma_hooks *hooks,
                                              karma_error *err);

/* The same part by part, in constant memory for CSV files of any length; rows from a pipe are available as they arrive.
 * Other formats are one part. The model, the path and the hooks must outlive the stream.
 *
 * karma_row_stream_next: *out is a new table with the rows that follow, or NULL after the last one. A file without
 * rows is an error, as with karma_model_read_table. After an error the stream can only be freed. Errors: those of
 * karma_model_read_table. Cost: that of reading and parsing the rows of a part. Threads: one at a time per stream. */
typedef struct karma_row_stream karma_row_stream;
KARMA_API karma_status karma_row_stream_open(karma_row_stream **out, const karma_model *model, const char *path,
                                             const karma_read_options *options, const karma_hooks *hooks,
                                             karma_error *err);
KARMA_API karma_status karma_row_stream_next(karma_table **out, karma_row_stream *stream, karma_error *err);
KARMA_API void karma_row_stream_free(karma_row_stream *stream);

/* Rows of cells in memory, one after the other. A cell means the same as in a CSV file: a text may be a number or a
 * date, and "NA" is missing. Columns are matched by name.
 *
 * karma_row_reader_add_...: the cells of a row in the order of the columns; a row ends with its last cell. Errors:
 * KARMA_ERR_DATA for a text that is not UTF-8 or has a NUL byte, KARMA_ERR_MEMORY.
 * karma_row_reader_read: *out is a new table with rows that were added, or NULL if there are none left; call it until
 * then. After an error the reader can only be freed. Errors: those of karma_model_read_table, KARMA_ERR_DATA if the
 * last row is not whole. karma_row_reader_new: the model must outlive the reader; threads 0: all processors. Errors:
 * KARMA_ERR_DATA for equal names and for a model of a precomputed kernel, KARMA_ERR_MEMORY. Cost: that of parsing the
 * cells as text. Threads: one at a time per reader. */
typedef struct karma_row_reader karma_row_reader;
KARMA_API karma_status karma_row_reader_new(karma_row_reader **out, const karma_model *model, const char *const *names,
                                            size_t n_columns, size_t threads, karma_error *err);
KARMA_API void karma_row_reader_free(karma_row_reader *reader);
KARMA_API karma_status karma_row_reader_add_missing(karma_row_reader *reader, karma_error *err);
KARMA_API karma_status karma_row_reader_add_integer(karma_row_reader *reader, int64_t value, karma_error *err);
KARMA_API karma_status karma_row_reader_add_number(karma_row_reader *reader, double value, karma_error *err);
KARMA_API karma_status karma_row_reader_add_text(karma_row_reader *reader, const char *text, size_t length,
                                                 karma_error *err);
KARMA_API karma_status karma_row_reader_read(karma_table **out, karma_row_reader *reader, karma_error *err);

/* Scores of every row: scores[row * karma_model_n_outputs + output]. A target's outputs follow those of the target
 * before it: for two classes one, positive for the second class; for more classes one each; for a regression the
 * predicted number, or one per quantile, in order. threads 0: all processors. Errors: KARMA_ERR_DATA if the table does
 * not fit the model, such as a nameless matrix with another number of columns, KARMA_ERR_MEMORY. Cost: rows times
 * support rows kernel evaluations; for models of the solver primal, rows times features. Threads: safe; inputs are only
 * read. */
KARMA_API karma_status karma_predict(double *scores, const karma_model *model, const karma_table *table, size_t threads,
                                     const karma_hooks *hooks, karma_error *err);

/* Cells that are unlike those of the training rows. A category that no training row had and a text in a column of
 * numbers or dates count as missing. A number outside the range of the training cells is used: rank kernels
 * treat it as the nearest known number, linear kernels extrapolate. */
typedef enum karma_cell_flag { KARMA_CELL_UNSEEN, KARMA_CELL_TEXT, KARMA_CELL_BELOW, KARMA_CELL_ABOVE } karma_cell_flag;
typedef struct karma_flagged_cell {
    size_t row, attribute; /* attribute of the model */
    karma_cell_flag why;
} karma_flagged_cell;
typedef struct karma_cell_flags {
    karma_flagged_cell *cells; /* in the order of rows */
    size_t n_cells;
} karma_cell_flags;
/* Finds these cells; none for a precomputed kernel. Free with karma_cell_flags_clear. Errors: KARMA_ERR_DATA if
 * the table does not fit the model, KARMA_ERR_MEMORY. Cost: one pass over the cells. Threads: safe; inputs
 * are only read. */
KARMA_API karma_status karma_flag_cells(karma_cell_flags *out, const karma_model *model, const karma_table *table,
                                        karma_error *err);
KARMA_API void karma_cell_flags_clear(karma_cell_flags *flags);

/* The prediction for one target, from one row's scores of all targets. The class: the most probable one if
 * the model has calibrated probabilities, otherwise the one with the largest score; ties go to the class that
 * comes first. The number: the prediction or, of several quantiles, the one nearest to the median. */
KARMA_API size_t karma_model_decide(const karma_model *model, size_t target, const double *scores);
KARMA_API double karma_model_number(const karma_model *model, size_t target, const double *scores);
/* Probabilities of the classes; false when this model has none. */
KARMA_API int karma_model_probabilities(const karma_model *model, size_t target, const double *scores,
                                        double *probabilities);
KARMA_API int karma_model_has_probabilities(const karma_model *model, size_t target);

/* What a model predicts, from which columns, and how it was learned. Indices must be in range; what is
 * returned belongs to the model. */
KARMA_API size_t karma_model_n_outputs(const karma_model *model); /* of all targets */
KARMA_API size_t karma_model_n_targets(const karma_model *model);
KARMA_API const char *karma_model_target_name(const karma_model *model, size_t target);
KARMA_API karma_task karma_model_task(const karma_model *model, size_t target);
KARMA_API const char *karma_model_loss_name(const karma_model *model, size_t target);
KARMA_API size_t karma_model_first_output(const karma_model *model, size_t target);
KARMA_API size_t karma_model_target_n_outputs(const karma_model *model, size_t target);
KARMA_API size_t karma_model_n_classes(const karma_model *model, size_t target); /* 0 for regression */
KARMA_API const char *karma_model_class(const karma_model *model, size_t target, size_t index);
KARMA_API size_t karma_model_class_count(const karma_model *model, size_t target, size_t index); /* in training */
/* Mean of the training labels of a regression; 0 for classes. */
KARMA_API double karma_model_target_mean(const karma_model *model, size_t target);
KARMA_API size_t karma_model_n_quantiles(const karma_model *model, size_t target); /* 0: not the pinball loss */
KARMA_API double karma_model_quantile(const karma_model *model, size_t target, size_t index);
KARMA_API size_t karma_model_n_attributes(const karma_model *model);
KARMA_API const char *karma_model_attribute_name(const karma_model *model, size_t attribute);
KARMA_API karma_column_kind karma_model_attribute_kind(const karma_model *model, size_t attribute);
/* Levels, as in a table: a number with levels is an ordered category, and 1 is its first level. */
KARMA_API size_t karma_model_attribute_n_levels(const karma_model *model, size_t attribute);
KARMA_API const char *karma_model_attribute_level(const karma_model *model, size_t attribute, size_t level);
/* Smallest and largest training value of a number; false if it is not known: categories, or an older file. */
KARMA_API int karma_model_attribute_range(const karma_model *model, size_t attribute, double *low, double *high);
/* The columns of the training table that the attributes come from; a column of dates is one column, although its parts
 * are several attributes. karma_model_source_column writes a name, cut to `size` bytes, and returns its
 * length. Cost: one pass over the attributes. */
KARMA_API size_t karma_model_n_source_columns(const karma_model *model);
KARMA_API size_t karma_model_source_column(char *text, size_t size, const karma_model *model, size_t column);
KARMA_API const karma_fit_options *karma_model_options(const karma_model *model);
/* How the training file was read, and how new files will be read: missing values, id and ignored columns, delimiter,
 * header, decimal mark, dates; the other options are at their defaults. NULL: the table came from memory. It belongs to
 * the model. Cost: none. Threads: safe. */
KARMA_API const karma_read_options *karma_model_reading(const karma_model *model);
/* The number of training rows that the model contains; they can be read from it. The other support rows are leaves of
 * trees. Cost: one pass over the support rows. Threads: safe. */
KARMA_API size_t karma_model_n_rows_kept(const karma_model *model);
/* Whether the kernel values came with the table; the model then knows no columns. */
KARMA_API int karma_model_is_precomputed(const karma_model *model);
/* Whether the kernel is a single name, such as "rank": the options and karma_fit_info.scale describe all of
 * it. A formula or a committee has factors with their own settings and scales. */
KARMA_API int karma_model_has_plain_kernel(const karma_model *model);
KARMA_API const karma_fit_info *karma_model_info(const karma_model *model);
KARMA_API const char *karma_model_solver_name(const karma_model *model); /* as used: never "auto" */

/* The matrix of kernel values of a table's rows against the rows of another, or against themselves (NULL), under the
 * kernel that the options describe. Everything is learned from the rows of `against`. Errors: those of
 * karma_fit about the kernel and the table. Cost: one pass over the cells, and that of the kernel's own learning.
 * Threads: safe; inputs are only read. */
typedef struct karma_gram karma_gram;
KARMA_API karma_status karma_gram_new(karma_gram **out, const karma_table *table, const karma_table *against,
                                      const karma_fit_options *options, const karma_hooks *hooks, karma_error *err);
KARMA_API void karma_gram_free(karma_gram *gram);
KARMA_API size_t karma_gram_n_rows(const karma_gram *gram);
KARMA_API size_t karma_gram_n_columns(const karma_gram *gram);
/* out[i * n_columns + j] = k(row first + i, row j of the others) for i < count. Errors: KARMA_ERR_DATA for rows that
 * are out of range, KARMA_ERR_MEMORY. Cost: count times n_columns kernel evaluations. Threads: safe; inputs are only
 * read. */
KARMA_API karma_status karma_gram_rows(float *out, const karma_gram *gram, size_t first, size_t count,
                                       karma_error *err);
KARMA_API double karma_gram_log_norm(const karma_gram *gram);
KARMA_API double karma_gram_scale(const karma_gram *gram);

/* How far the encoded rows are from the paper's assumption |P_o x| <= 1. */
typedef struct karma_norm_check {
    double largest;
    size_t n_above_one;
    size_t n_rows; /* rows examined */
} karma_norm_check;
/* Encodes the rows as training would and measures their norms. Errors: those of karma_gram_new. Cost: one pass over the
 * cells. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_check_norms(karma_norm_check *out, const karma_table *table,
                                         const karma_fit_options *options, karma_error *err);

#ifdef __cplusplus
}
#endif
#endif
