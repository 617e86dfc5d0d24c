/* Learning from streams: each row is predicted before it is learned, in constant memory. docs/mathematics.md describes
 * the method, docs/model-format.md what a model file contains. */
#ifndef KARMA_STREAM_H
#define KARMA_STREAM_H

#include "karma/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A learner and the model that it has learned so far. */
typedef struct karma_online karma_online;

/* A learner for rows like those of `first`. Columns, kernel and classes are learned from `first`; its rows do not count
 * as seen, and must be given to karma_online_learn like all others. Of the fit options it takes task, loss, kernel and
 * its settings, class weights, seed and threads. Without a kernel it is the rank kernel. Loss auto: logistic for
 * classes, huber for numbers. Errors: KARMA_ERR_OPTION for options out of range, a loss without a second derivative or
 * a kernel of several members, KARMA_ERR_DATA if the table has no label, one class only, or weights of rows,
 * KARMA_ERR_MEMORY. Cost: that of learning the kernel from these rows. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_online_new(karma_online **out, const karma_table *first, const karma_fit_options *fit,
                                        const karma_online_options *options, const karma_hooks *hooks,
                                        karma_error *err);
/* The same with the first rows of a file or, for "-", of standard input: it waits for as many rows as the options say,
 * or for the end. *rows is the stream of all rows from the first one on, as karma_online_rows gives it. The path and
 * what the hooks point to must outlive it. Errors: those of karma_online_new and karma_table_read; KARMA_ERR_CANCELLED
 * if the progress hook asks to stop. Cost: that of reading these rows, and of karma_online_new. Threads: safe. */
KARMA_API karma_status karma_online_start(karma_online **out, karma_row_stream **rows, const char *path,
                                          const karma_read_options *read, const karma_fit_options *fit,
                                          const karma_online_options *options, const karma_hooks *hooks,
                                          karma_error *err);
/* A learner that continues the one that saved this model file. Given the rows that follow, it saves the same files,
 * byte for byte, as a learner that was never interrupted. threads 0: all processors. Errors: those of karma_model_load;
 * KARMA_ERR_DATA if the model was not learned from a stream. Cost: in proportion to the size of the file. Threads:
 * safe. */
KARMA_API karma_status karma_online_load(karma_online **out, const char *path, size_t threads, karma_error *err);
KARMA_API void karma_online_free(karma_online *online);

/* Rows for the learner, part by part, like karma_row_stream_open. While it waits for rows the progress hook is called
 * ten times a second. The learner, the path and what the hooks point to must outlive the stream. Errors: those of
 * karma_row_stream_open; karma_row_stream_next also fails with KARMA_ERR_CANCELLED if the hook asks to stop. Cost: one
 * system call. Threads: safe. */
KARMA_API karma_status karma_online_rows(karma_row_stream **out, const karma_online *online, const char *path,
                                         const karma_read_options *read, const karma_hooks *hooks, karma_error *err);

/* Takes the rows of a table in their order. Rows without a label are counted and not learned, and neither are rows of a
 * class that the learner does not know. The result depends on the order of the rows alone, not on how they were divided
 * into tables. Errors: KARMA_ERR_DATA if the table lacks a target, has texts as labels of a regression, weights of rows
 * or values too large to learn from (the rows before it have been taken), or if scores are not finite;
 * KARMA_ERR_MEMORY. Cost: per row the square of the number of landmarks. Threads: one at a time per learner. */
KARMA_API karma_status karma_online_learn(karma_online *online, const karma_table *table, const karma_hooks *hooks,
                                          karma_error *err);

/* What the learner has seen. Each row was predicted before it was learned. Rows are judged and learned in blocks of
 * 512; the last ones wait until their block is full or karma_online_model is called. */
typedef struct karma_online_account {
    size_t n_rows;       /* all rows that were given to it, including those that wait */
    size_t n_judged;     /* rows with a label that were predicted and learned */
    size_t n_unlabelled; /* rows without a label */
    size_t n_unknown;    /* rows of a class that the learner does not know: errors that are not learned */
    size_t n_landmarks;
    double mean_loss;      /* of the judged rows */
    double error_rate;     /* of the first target; 0 for regression */
    double majority_error; /* of always predicting the most frequent class of all these rows; 0 for regression */
    /* of numbers, in their units, and 0 for classes: mean absolute errors of the predictions, and of always predicting
     * the mean of the labels before */
    double absolute_error, constant_error;
} karma_online_account;
/* Of the first target. */
KARMA_API karma_task karma_online_task(const karma_online *online);
KARMA_API void karma_online_get_account(karma_online_account *out, const karma_online *online);

/* The model after all rows that were given, ready to predict and to be saved; the file contains all that
 * karma_online_load needs. It belongs to the learner; the next call of this function changes it. *account, unless NULL,
 * counts all rows as judged. Errors: KARMA_ERR_DATA if there were no rows, KARMA_ERR_MEMORY. Cost: that of learning one
 * block. Threads: one at a time per learner. */
KARMA_API karma_status karma_online_model(const karma_model **out, karma_online_account *account, karma_online *online,
                                          karma_error *err);
/* Number of rows that the learner of this model has seen; 0: it was not learned from a stream. Constant, any thread. */
KARMA_API size_t karma_model_n_stream_rows(const karma_model *model);

#ifdef __cplusplus
}
#endif
#endif
