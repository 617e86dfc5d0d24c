/* The report page: it helps a person to decide whether to trust a model.
 *
 * A page has sections, one file each (section_*.c), in the order of the list in report_page.c. A section that has
 * nothing to show says so by `applies` and is left out. */
#ifndef KARMA_REPORT_PAGE_H
#define KARMA_REPORT_PAGE_H

#include "figure.h"
#include "tool.h"

/* Predictions and labels of one target, for rows with labels. Rows without a label are not in it. */
typedef struct outcome {
    const char *target;
    size_t n_classes;         /* 0: numbers */
    const char **classes;     /* names */
    size_t n_rows, n_unknown; /* unknown: rows left out because training never saw their class */
    size_t *row;              /* of the table */
    double *truth, *answer;   /* indices of classes, or numbers */
    double *likely;           /* of classes: likely[i * n_classes + k], larger is more likely; NULL for numbers */
    int has_probabilities;    /* `likely` are probabilities */
    double *low, *high;       /* the outer quantiles, or NULL */
    double nominal;           /* the share that they should cover */
} outcome;

/* The folds of a cross-validation of `table`: one outcome per fold and target. */
typedef struct outcome_folds {
    const karma_table *table;
    outcome *items;
    size_t n, n_targets;
    char *is_seen; /* one per row */
} outcome_folds;

/* Progressive validation of a stream: at some numbers of rows, the mean loss, or the share of errors where classes are
 * predicted. A line of the table is due three times per decade of rows, so there are few. */
enum { MOST_STREAM_POINTS = 64 };
typedef struct stream_curve {
    double rows[MOST_STREAM_POINTS], so_far[MOST_STREAM_POINTS],
        recent[MOST_STREAM_POINTS]; /* recent: since the last */
    size_t n;
    int classifies;
    double constant; /* errors of the most common class; NaN for numbers */
} stream_curve;

typedef struct report {
    tool *t;
    page page;
    const char *data; /* the file, as the user named it */
    /* Any of these may be NULL: sections that need them are then left out. */
    const karma_model *model;
    const karma_table *table; /* all rows */
    const karma_table *rows;  /* those that were predicted: all, or a sample */
    const size_t *numbers;    /* of these rows in the table; NULL: all of them are there */
    const double *scores;
    const karma_overlap *overlaps; /* one per row of `rows` */
    const karma_cell_flags *flags;
    const outcome *outcomes; /* one per target; n_outcomes is 0 without labels */
    size_t n_outcomes;
    const char *const *notes; /* notices of the reader */
    size_t n_notes;
    int is_left_out; /* the outcomes are of models that had not seen their rows */
    int is_training; /* the rows are those that the model was learned from, or look like it */
    const karma_cv *cv;
    const karma_comparison *comparison;
    const karma_regret *regret;
    const stream_curve *stream;
} report;

typedef struct report_section {
    const char *id, *title;
    int (*applies)(const report *r);
    /* Writes as much as possible; a failure is stated on the page. */
    karma_status (*write)(report *r, karma_error *err);
} report_section;

extern const report_section section_summary, section_online, section_stream, section_compare, section_cv,
    section_quality, section_observed, section_certainty, section_columns, section_rows, section_next, section_data,
    section_lowrank, section_search, section_about;

/* report_page.c */
/* Writes the page to `path`, whole or not at all; EXIT_DONE or a failure that was printed. */
int write_report(report *r, const char *path, const char *title, const char *lead);
/* At most `most` rows, evenly drawn in their order; *out is NULL if there are no more anyway. */
karma_status sample_rows(karma_table **out, size_t **chosen, const karma_table *table, size_t most, karma_error *err);
static inline karma_status out_of_memory(karma_error *err) {
    *err = (karma_error){KARMA_ERR_MEMORY, "out of memory"};
    return KARMA_ERR_MEMORY;
}

/* column_screen.c */
/* All columns of the model, those that go most with the scores first; r->rows and r->scores are there. */
karma_status rank_columns(size_t *order, const report *r, karma_error *err);
/* The column of this name, looked for from column `from` on and then from the first; n_attributes: there is none. */
size_t find_column(const karma_table *table, const char *name, size_t from);

/* report_inputs.c: a model, a table or both become a page. */
int report_model(tool *t, const karma_model *model, const karma_table *table, const char *data, const char *path);
/* The page of --report, if it was asked for: about a model that was just learned from the table, or about a result. */
int report_training(tool *t, const karma_model *model, const karma_table *table);
int report_result(report *r, const char *title);
/* The page of a cross-validation and the rows that its folds left out. */
int report_folds(tool *t, const karma_cv *cv, const outcome_folds *folds, const karma_table *table);
/* Notices of the reader go to the page too. */
void collect_notes(tool *t);
/* A notice that is not collected, because a section of the page says the same. */
void note_beside_page(const tool *t, const char *sentence);
size_t collected_notes(const char *const **notes);
void forget_notes(void);

/* outcome.c */
karma_status outcome_init(outcome *out, const karma_model *model, size_t target, const karma_table *rows,
                          const double *scores, karma_error *err);
void outcome_clear(outcome *o);
/* Room for n rows; false: out of memory. */
int outcome_allocate(outcome *o, size_t n, int has_interval);
/* 1 where the answer is right, the absolute error of a number otherwise. */
double outcome_loss(const outcome *o, size_t i);
/* "P0012 (row 12)": its first id and its number, or only the number; `row` is one of r->rows. */
const char *row_name(char text[160], const report *r, size_t row);

/* outcome_folds.c */
/* Of the rows that the search of this model left out, with their numbers in `table`; empty if there are none. */
karma_status outcome_of_search(outcome *out, const karma_model *model, size_t target, const karma_table *table,
                               karma_error *err);
/* A karma_cv_fold_fn; its payload is an outcome_folds. */
karma_status outcome_folds_add(void *payload, const karma_model *model, const karma_table *test, const size_t *rows,
                               const double *scores, karma_error *err);
/* All folds as one; it borrows names of classes. */
karma_status outcome_folds_join(outcome *out, const outcome_folds *folds, size_t target, karma_error *err);
void outcome_folds_clear(outcome_folds *folds);

#endif
