/* The command-line tool. It uses the public API only. */
#ifndef KARMA_TOOL_H
#define KARMA_TOOL_H

#include <jansson.h>

#include "command_list.h"
#include "karma/karma.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Options that belong to the tool and not to the library. */
typedef struct tool_options {
    size_t struct_size; /* set by karma_options_init */
    char *output;       /* -o */
    char *complete;     /* synth */
    char *against;      /* gram */
    int regret;         /* online */
    char *checkpoint;   /* online: ROWS or SECONDSs */
    char *go_on;        /* online: --continue MODEL */
    char *errors;       /* complete */
    char *report;       /* train, cv, compare, online */
    int lowrank;        /* inspect */
    int with_trees;     /* compare */
    char *python;       /* compare: the command for them */
    int json, quiet, verbose;
    int importance, overlap; /* explain: the report instead of single rows */
    int64_t top;             /* explain: number of parts to show; 0: all */
    int64_t rounds;          /* cv */
    int compact;             /* train: learns a model with few training rows */
    int flags;               /* predict: adds a column with cells that the model could not use unchanged */
    int replace;             /* predict, complete: a table of a database that exists already */
    karma_names cost;        /* next: COL=NUMBER each */
    char *abstain;           /* predict, eval: which rows to abstain from; NULL: none */
} tool_options;

typedef struct tool tool;

/* Options of one table that a command takes: those named, or all that no earlier group has. */
typedef struct option_group {
    const char *heading;
    const karma_option_table *(*table)(void);
    size_t offset;            /* of the struct in `tool` */
    const char *const *names; /* ends with NULL; NULL: all the others */
} option_group;

typedef struct tool_command {
    const char *name;
    const char *arguments; /* as in the usage line: "MODEL DATA" */
    size_t min_arguments, max_arguments;
    const char *summary;     /* one line */
    const char *description; /* paragraphs for help and manual */
    const char *example;     /* lines for help and manual */
    const option_group *groups;
    size_t n_groups;
    void (*prepare)(tool *t); /* defaults that differ in this command; may be NULL */
    int stops_gently;         /* Ctrl-C asks it to stop; otherwise it ends the program */
    /* For several processes (karma-mpi): returns NULL if all of them work on this, or why one does it alone.
     * NULL: always one */
    const char *(*alone)(tool *t);
    int (*run)(tool *t);
} tool_command;

struct tool {
    const tool_command *command;
    karma_read_options read;
    karma_fit_options fit;
    karma_compare_options compare;
    karma_explain_options explain;
    karma_search_options search; /* `fixed`: options of the kernel and the solver that were given */
    karma_synth_options synth;
    karma_theory_options theory;
    karma_regret_options regret;
    karma_online_options online;
    tool_options options;
    const char *arguments[2];
    size_t n_arguments;
    char **words; /* the command line */
    int n_words;
    karma_hooks hooks;
    double estimated_bytes;   /* of the run, by check_memory */
    const karma_ranks *ranks; /* the processes that share the work; NULL: there is only one */
};

#define DECLARE(name) extern const tool_command command_##name;
COMMAND_LIST(DECLARE)
#undef DECLARE
extern const tool_command *const commands[];
extern const size_t n_commands;

/* main.c: the whole program, in one process (NULL) or several. */
int run_tool(int argc, char **argv, const karma_ranks *ranks);

/* together.c: several processes. */
/* Whether other processes share the work; whether this process writes files and results. */
int is_together(const tool *t);
int is_first_process(const tool *t);
/* The code of the first process that failed, with its message from rank 0, or EXIT_DONE if none has. Called by all. */
int agree(const tool *t, int code);
/* The sum of the values of all processes. Called by all, after they have agreed. */
double sum_of_all(const tool *t, double value);
/* Rows that each process has written for itself, rank 0 to the output. */
typedef struct joint_text {
    FILE *stream;
    size_t head; /* bytes before the first row, which are omitted after the rows of others */
    int has_rows;
    const char *joint; /* what is written in their place */
} joint_text;
/* Appends the rows of the others, in the order of their ranks, to what rank 0 has written. Called by all. */
int join_texts(const tool *t, joint_text *own);

/* args.c: from argv to a filled-in tool. */
const karma_option_table *tool_option_table(void);
void tool_init(tool *t, const tool_command *command);
void tool_clear(tool *t);
/* EXIT_DONE, or EXIT_USAGE after a message on stderr. *wants_help is set by --help. */
int tool_parse(tool *t, int argc, char **argv, int *wants_help);
/* limits.c: EXIT_DONE, or EXIT_USAGE after saying that the system does not allow as many threads as --threads wants. */
int check_threads(tool *t);
/* Estimates the memory of a run before it begins, with this many copies of the table in addition to those of a
 * search, and copies without missing cells, and shows it on a terminal. EXIT_DONE, or EXIT_FAILED after saying that
 * the limit on address space is below it. */
int check_memory(tool *t, const karma_table *table, double copies, double filled_copies);
/* The peak memory of this process, in bytes. */
double peak_bytes(void);
/* The struct inside the tool that a group's options belong to. */
void *group_struct(const option_group *group, tool *t);
/* Whether the option is in this group of the command. */
int group_has(const tool_command *command, const option_group *group, const karma_option *option);
/* Whether the command has this option. */
int has_option(const tool *t, const char *name);
/* Reading options of every command on tables: the roles of columns and the format of the file. */
extern const char *const column_option_names[], *const file_option_names[], *const model_file_option_names[];
/* Reading options of train and cv: also matrices of kernel values. */
extern const char *const learning_file_option_names[];
/* The groups of a command with a model and data, after its own output options. */
#define MODEL_GROUPS(role_names, fit_names)                                                                            \
    {"Columns", karma_read_option_table, offsetof(tool, read), role_names},                                            \
        {"Reading the data", karma_read_option_table, offsetof(tool, read), model_file_option_names}, {                \
        "Work", karma_fit_option_table, offsetof(tool, fit), fit_names                                                 \
    }
/* Records that an option of the kernel or the solver was given, so that the search keeps it. */
int note_given(tool *t, const char *name);
/* Options that describe a kernel; and options about what is learned, which do not fix the kernel. */
extern const char *const kernel_option_names[], *const task_option_names[];
/* The groups of commands that learn a model, without their own output options. */
#define LEARNING_GROUPS                                                                                                \
    {"Columns", karma_read_option_table, offsetof(tool, read), column_option_names},                                   \
        {"Reading the data", karma_read_option_table, offsetof(tool, read), learning_file_option_names},               \
        {"What to learn", karma_fit_option_table, offsetof(tool, fit), task_option_names},                             \
        {"Choosing a model", karma_search_option_table, offsetof(tool, search), NULL},                                 \
        {"Kernel", karma_fit_option_table, offsetof(tool, fit), kernel_option_names}, {                                \
        "Solver", karma_fit_option_table, offsetof(tool, fit), NULL                                                    \
    }

/* help.c */
void print_overview(FILE *stream);
void print_start(FILE *stream);
void print_help(const tool_command *command, FILE *stream);
int print_manual(const char *name);
int print_completion(const char *shell);

/* learning.c: the table of the first argument, and a note for every column whose texts seem to name the rows. */
karma_status read_to_learn(karma_table **out, const tool *t, karma_error *err);

/* terminal.c: what goes to stderr. */
void install_hooks(tool *t);
/* From now on SIGTERM requests a stop, like Ctrl-C. */
void listen_to_termination(void);
/* Whether Ctrl-C was pressed. */
int is_interrupted(void);
void end_progress(void);
/* The library names options as option 'gamma' or option 'gamma=2'; users of the tool know them as --gamma 2. Rewrites
 * `text` in place and returns it. */
char *with_flags(char *text);
/* Prints a sentence of the library, rewritten in this way. */
void print_with_flags(FILE *stream, const char *sentence);
/* Seconds since some fixed moment, on a clock that never jumps. */
double now(void);
/* A path as shown to users, without a password. Valid until the next call. */
const char *path_text(const char *path);
/* "once", "2 times", …: written to `out`, which it returns. */
enum { TIMES_SIZE = 32 };
const char *times_text(char out[TIMES_SIZE], size_t count);
/* A word of a command line as a shell reads it back, without the password of a URI. */
void put_shell_word(FILE *stream, const char *word);
/* Prints what failed, naming `path` unless the message already does, and returns the exit code. */
int fail(const char *path, const karma_error *err);
/* The last failure printed by these functions; status KARMA_OK: nothing failed. */
const karma_error *last_failure(void);
int fail_usage(const tool *t, const char *format, ...) KARMA_PRINTF(2, 3);

/* scoring.c: from the arguments to scores. */
/* Loads the model that the first argument names; NULL after a failure, whose message it has printed. */
int load_model(tool *t, karma_model **model);
/* Gradient-boosted trees in a separate process, for comparisons. */
enum { MOST_TREES = 2 };
typedef struct tree_methods {
    karma_own_method items[MOST_TREES];
    struct tree_process *processes[MOST_TREES];
    size_t count;
} tree_methods;
/* The available ones, with a notice if there are none. An error only if --python cannot be used. */
int find_trees(tree_methods *out, const tool *t);
void clear_trees(tree_methods *trees);

/* Loads the model and the data that the arguments name; both are NULL after a failure, whose message it has printed. */
int load_inputs(tool *t, karma_model **model, karma_table **table);
/* Loads both, passes them to `then` and frees them. */
int with_inputs(tool *t, int (*then)(tool *t, const karma_model *model, const karma_table *table));
/* Cells unlike the training rows, with one notice; `out` may be NULL. */
int find_flags(karma_cell_flags *out, const tool *t, const karma_model *model, const karma_table *table);
/* Loads both, predicts, reports cells that are unlike the training rows, passes all to `then` and frees it. */
int with_scores(tool *t, int (*then)(tool *t, const karma_model *model, const karma_table *table, const double *scores,
                                     const karma_cell_flags *flags));

/* The rows of a table that --abstain leaves without an answer: flags[row], and their number. Without the
 * option flags is NULL and the count 0. Freed by `free`. */
typedef struct abstention {
    unsigned char *flags;
    size_t count;
} abstention;
int find_abstention(abstention *out, const tool *t, const karma_model *model, const karma_table *table,
                    const double *scores);

/* certainty_report.c: intervals, sets and abstention. */
/* The value of --abstain: a warning level of karma explain --overlap, the share of rows to answer, or an
 * accuracy. */
typedef enum abstention_kind { ABSTAIN_NEVER, ABSTAIN_OVERLAP, ABSTAIN_SHARE, ABSTAIN_ACCURACY } abstention_kind;
typedef struct abstention_rule {
    abstention_kind kind;
    double value;
} abstention_rule;
/* EXIT_DONE, or EXIT_USAGE after saying why. */
int parse_abstention(abstention_rule *out, const tool *t);
/* The level that --intervals or --sets gives for this target; KARMA_AUTO: none. */
double asked_level(const tool *t, const karma_model *model, size_t target);
/* Whether predict writes intervals or sets of the target. */
int has_certain_columns(const tool *t, const karma_model *model, size_t target);
/* EXIT_DONE, or EXIT_USAGE if --intervals or --sets is for no target of the model. */
int check_levels(const tool *t, const karma_model *model);
/* certain_columns.c: intervals or sets of the rows of a table, for one target. */
typedef struct certain_columns {
    int is_there;        /* if not, the others are NULL */
    double *low, *high;  /* of a number */
    unsigned char *sets; /* of classes: n_classes per row */
} certain_columns;
/* One per target, as far as they are asked for. False: err says why. */
int find_certain_columns(certain_columns **out, const tool *t, const karma_model *model, const karma_table *table,
                         const double *scores, karma_error *err);
void free_certain_columns(certain_columns *columns, size_t n_targets);
/* The fields of one row, all with a comma in front; and the members of a JSON object, false if memory ran out. */
void write_certain_columns(FILE *stream, const certain_columns *columns, const karma_model *model, size_t target,
                           size_t row);
int add_certain_json(json_t *object, const certain_columns *columns, const karma_model *model, size_t target,
                     size_t row);
/* `rows`: a remark about the rows. */
void print_coverage(const karma_coverage *coverage, karma_task task, const char *rows);
/* Prints the coverage of intervals or sets on the rows left out of learning; nothing if the model keeps
 * none. */
void print_left_out_coverage(const karma_model *model, size_t target);
json_t *coverage_json(const karma_coverage *coverage, karma_task task);
void print_abstention(const karma_abstention_point *points, size_t n, karma_task task);
json_t *abstention_json(const karma_abstention_point *points, size_t n, karma_task task);

/* row_flags.c: cells of new rows that are unlike those of the training rows. */
/* Their number, by column of the model; all 0 at first. Rows may come in batches; the notice is printed once,
 * at the end.
 */
typedef struct flag_counts {
    size_t *unseen, *outside; /* one per column of the model */
} flag_counts;
int init_flag_counts(flag_counts *counts, const karma_model *model);
void clear_flag_counts(flag_counts *counts);
/* Finds and counts those of a table; clear `flags`, unless NULL, with karma_cell_flags_clear. */
int count_flags(flag_counts *counts, karma_cell_flags *flags, const tool *t, const karma_model *model,
                const karma_table *table);
/* One notice with the counts of every column, or none. */
void note_flags(const tool *t, const flag_counts *counts, const karma_model *model);
/* The field of one row: "colour: unseen; age: above". `next` is the first flag not belonging to an earlier
 * row, and is advanced. The names of the columns are JSON keys. */
void write_row_flags(FILE *stream, const karma_model *model, const karma_cell_flags *flags, size_t row, size_t *next);
json_t *row_flags_json(const karma_model *model, const karma_cell_flags *flags, size_t row, size_t *next);

/* explain_report.c, parts_report.c: the results of explain. */
int report_explanations(tool *t, const karma_model *model, const karma_table *table, const karma_explanations *e);
int report_importance(tool *t, const karma_model *model, const karma_importances *importances);
int report_overlap(tool *t, const karma_model *model, const karma_table *table, const karma_overlap *overlaps);
/* inspect_lowrank.c */
int inspect_lowrank(tool *t, const char *path);

/* tables.c: tables as output. */
/* Both or none; a table that is NULL is not written. The first path may be a database (--replace). */
int write_tables(const tool *t, const karma_table *table, const char *path, const karma_table *second,
                 const char *second_path);
/* `columns`: names of ids, attributes and targets; `cells`: a list for every row, null where one is missing. */
void add_cells_json(json_t *object, const karma_table *table);

/* out_files.c: checks the files that a command will write, before long work and not after it. EXIT_DONE, or a
 * failure after saying why. */
/* Checks that no output is an input and no two outputs are the same file. */
int check_names_of_outputs(const tool *t);
/* Checks that all can be written and no two need standard output. */
int check_outputs(const tool *t);

/* report.c: results for people and for programs. */
/* Whether the result goes to stdout: no -o, or -o -. */
int writes_stdout(const tool *t);
/* Once, before any JSON is made: remembers when there was no memory for a part of it. */
void watch_json_memory(void);
/* Writes one JSON object to stdout and releases it; NULL, and an object of which parts are missing, are errors. */
int print_json(json_t *object);
json_t *json_number_or_null(double value);
json_t *options_json(const karma_option_table *table, const void *options);
/* The solver's figures: the certificate of a batch run, the losses of an online run. */
/* The first line of a report on a model that is far from its optimum; nothing otherwise. */
void print_warning(const karma_model *model);
json_t *solver_json(const karma_model *model);
json_t *target_names_json(const karma_model *model);
/* The kernel in words and a line feed: "linear, gamma 2, scale 12.3, bias 1". */
void print_kernel(const karma_model *model);
/* outcome_report.c: a summary of a search: scores, baselines, a sentence. `missing`: share of missing
 * cells. */
void print_outcome(const karma_model *model, double missing);
void print_target_line(const karma_model *model, size_t target);
/* "accuracy       0.8100 +- 0.0150  a remark"; an error that is not finite is left out. */
void print_score_line(const char *name, double score, double error, const char *remark);
/* confusion_report.c: which classes are confused. */
void print_confusion(const karma_model *model, size_t target, const karma_metrics *m);
/* fields.c: columns of a table on the screen. A text in a given number of columns, padded on the right or left, or cut.
 */
void print_field(const char *text, size_t width);
void print_field_right(const char *text, size_t width);
size_t screen_width(const char *text);
/* "yes 60"; a long name is cut. */
void print_class_count(const char *name, size_t n_rows);
/* The width of the terminal, from COLUMNS or the terminal itself; 0 without a terminal, so that lines for
 * programs do not change. */
size_t terminal_width(int descriptor);
/* The width for names whose longest is `longest`, beside `others` columns: 24 unless standard output is a
 * terminal. */
size_t name_width(size_t longest, size_t others);
/* The width for texts of usual width `usual`, beside `others` columns: less on a narrow terminal. */
size_t label_width(size_t usual, size_t others);
/* A line and a line feed; on a terminal cut to its width. */
void print_to_width(const char *line);
/* Bytes of a text that fit `width` columns. */
size_t cut_bytes(const char *text, size_t width);
/* lines.c: from now on breaks lines of standard output that are wider than the terminal between words and
 * continues them below their last column. For text that people read, not for data. Without a terminal nothing
 * changes. */
void begin_text(void);
/* A text without line feeds, broken into lines of at most `width` columns; 0: not broken. */
void put_wrapped(FILE *stream, const char *line, size_t width);
/* Four digits, but no power of ten below 1e15. */
const char *readable(char text[40], double value);
/* Digits after the point of a score or a loss: four, fewer where it is large. */
int score_decimals(double score);
/* How a model was chosen, for people and as the key "cv". */
void print_search(const karma_search_info *info);
json_t *search_json(const karma_search_info *info);
/* An ingredient of karma_search_gain in words; the name itself if it has no others. */
const char *ingredient_words(const char *ingredient);
/* The meaning of --effort auto for `train` and `cv`: nothing is chosen if options of the kernel or the solver
 * are given.
 */
void resolve_effort(tool *t);
/* Prints the metrics of every target of the model, which exclude the rows, of n_rows, that were abstained
 * from. */
typedef struct judged_target {
    karma_metrics metrics;
    karma_coverage coverage;           /* level 0: not known */
    karma_abstention_point points[10]; /* n_points elements */
    size_t n_points;
} judged_target;
int report_metrics(tool *t, const karma_model *model, const judged_target *judged, const abstention *left_out,
                   size_t n_rows);
/* Id columns of a CSV, each followed by a comma; and of a JSON object. */
void write_id_names(FILE *stream, const karma_table *table);
void write_ids(FILE *stream, const karma_table *table, size_t row);
void add_ids_json(json_t *object, const karma_table *table, size_t row);
/* Writes the output file, or stdout, by `write`. */
int write_output(const tool *t, void (*write)(FILE *stream, const void *what), const void *what);
/* "12.3%" */
const char *percent(char text[16], double share);
/* A number given by its natural logarithm: plain if it is readable, otherwise as a power of ten. */
const char *number_of_log(char text[64], double log_value);
/* Flushes stdout; a failure is reported like any other. */
int finish_stdout(void);

#endif
