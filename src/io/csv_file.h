/* The internals of the reader of delimited text: its columns, and blocks of parsed rows. */
#ifndef KARMA_I_CSV_FILE_H
#define KARMA_I_CSV_FILE_H

#include "io/csv_records.h"
#include "io/missing.h"
#include "io/survey.h"
#include "table/builder.h"

typedef enum karma_i_csv_role { ROLE_ATTRIBUTE, ROLE_TARGET, ROLE_WEIGHT, ROLE_ID, ROLE_IGNORED } karma_i_csv_role;

/* What a pass does with the cells of a column. */
typedef enum karma_i_csv_action {
    ACTION_SKIP,
    ACTION_SURVEY, /* surveys them, and keeps their values in case they are final */
    ACTION_NUMBER,
    ACTION_DATE,
    ACTION_WEIGHT,
    ACTION_ID
} karma_i_csv_action;

typedef struct karma_i_csv_column {
    unsigned named; /* by which options: csv_roles.c */
    karma_i_csv_role role;
    size_t place;   /* the attribute's or the target's number in the table */
    unsigned parts; /* of a date: one bit for each karma_i_date_part that is an attribute, from `place` on */
    karma_i_survey survey;
    karma_i_csv_action action; /* of the present pass */
    karma_i_survey texts;      /* what ACTION_SURVEY collects in a second pass */
    uint32_t *ranks;           /* level of every karma_i_code; NULL: there are none */
} karma_i_csv_column;

/* The part of the text in memory: whole lines, if more follows. */
typedef struct karma_i_csv_window {
    karma_i_source text;
    int is_cut;       /* more follows */
    const char *next; /* start of the unread text */
    size_t line;      /* of `next`, from 1 */
} karma_i_csv_window;

typedef struct karma_i_csv_file {
    const karma_i_read_request *request;
    const char *name; /* for messages */
    karma_i_csv_records records;
    karma_i_csv_window window;
    size_t header_length; /* bytes before the first row */
    karma_i_csv_column *columns;
    size_t n_columns;
    size_t most_cells; /* most attributes in a row */
    size_t n_rows;
    size_t n_all_rows; /* of all processes */
    size_t *targets;   /* their columns in the order of their names in the options, not of the file */
    size_t n_targets, target_capacity;
    size_t n_ids;
    int has_weights;
    int second;             /* kinds are known: the second pass */
    int is_stream;          /* every window is a separate table */
    int knows_mark;         /* the decimal mark is settled */
    const char *part_start; /* of a stream: where the rows of the present table start, */
    size_t part_line;       /* and their line */
    karma_i_missing missing;
    karma_i_survey_style style;
    karma_i_builder builder;
    struct karma_i_csv_block *blocks; /* room for those that are parsed at once; NULL: none yet */
    double *labels;                   /* n_targets per row */
    size_t label_capacity;
    double largest_weight;
} karma_i_csv_file;

static inline const char *karma_i_csv_column_name(const karma_i_csv_file *file, const karma_i_csv_column *column) {
    return file->records.names.entries[column - file->columns].text;
}

/* The column of this name, or NULL. */
karma_i_csv_column *karma_i_csv_find_column(const karma_i_csv_file *file, const char *name);
/* Applies options and a model to the columns: roles, and how they are surveyed. */
karma_status karma_i_csv_assign_roles(karma_i_csv_file *file, karma_error *err);

/* Finds columns, spellings and roles from the first lines of request->source. End it even if this fails. */
karma_status karma_i_csv_begin(karma_i_csv_file *file, const karma_i_read_request *request, karma_error *err);
void karma_i_csv_end(karma_i_csv_file *file);
/* Finds how numbers and dates are written, from options or the first rows after records.first_row. */
karma_status karma_i_csv_find_style(karma_i_csv_file *file, karma_error *err);
/* Reads all rows (of a stream, those of the window), with a second pass if needed, and gives file->builder
 * its columns. */
karma_status karma_i_csv_read_rows(karma_i_csv_file *file, karma_error *err);
karma_status karma_i_csv_make_table(karma_i_csv_file *file, karma_error *err);

/* Rows parsed separately from the others. All zero is an empty block. */
typedef struct karma_i_csv_block {
    const char *start, *limit; /* its records are those that start in [start, limit) */
    const char *end;           /* after the last of them */
    size_t n_lines;            /* line feeds from start to end */
    karma_status status;
    size_t n_rows, n_cells;
    size_t *row_end; /* cells up to the end of each row */
    uint32_t *owner;
    double *value;
    double *labels;  /* one per target and row */
    double *weights; /* one per row */
    char *id_bytes;
    size_t *id_end; /* one per id and row */
    size_t id_used;
    size_t row_capacity, owner_capacity, value_capacity, label_capacity, weight_capacity, id_capacity, id_end_capacity;
    karma_i_text_cell *texts; /* cells whose text cannot be read; their rows are numbered from 0 */
    size_t n_texts, text_capacity;
    double largest_weight;
    karma_i_survey *surveys;           /* one per column */
    size_t *n_plain;                   /* of each column: plain numbers that bypassed the survey */
    uint32_t **codes;                  /* of each column: the codes of its texts in the column's own survey */
    const karma_i_csv_column *suspect; /* a cell of the row being read is not a number but must be */
    karma_error fault;                 /* a bad weight of the row being read */
    int has_fault;
} karma_i_csv_block;

karma_status karma_i_csv_block_init(karma_i_csv_block *block, const karma_i_csv_file *file, karma_error *err);
void karma_i_csv_block_clear(karma_i_csv_block *block, size_t n_columns);
/* Parses the records of the block from `text`; line `first_line` starts at block->start. If the text is cut
 * (more of it follows later) and ends within a record, the block ends before that record. */
karma_status karma_i_csv_block_parse(karma_i_csv_block *block, const karma_i_csv_file *file, const karma_i_source *text,
                                     int is_cut, size_t first_line, karma_error *err);

/* Moves the window of a feed forward by `passed` bytes. If `passed` is 0, a record did not fit, and the
 * window grows. */
karma_status karma_i_csv_load_window(karma_i_csv_window *window, karma_i_feed *feed, size_t passed, int patient,
                                     karma_error *err);
/* Adds all rows of the window to the builder and to the surveys. It stops before a record that the
 * window cuts. */
karma_status karma_i_csv_read_window(karma_i_csv_file *file, karma_i_csv_window *window, karma_error *err);
void karma_i_csv_free_blocks(karma_i_csv_file *file);

#endif
