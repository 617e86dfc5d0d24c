/* The command-line tool. It uses the public API only. */
#ifndef KARMA_TOOL_H
#define KARMA_TOOL_H

#include <jansson.h>

#include "karma/karma.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Options that belong to the tool and not to the library. */
typedef struct tool_options {
    char *output;   /* -o */
    char *complete; /* synth */
    char *against;  /* gram */
    char *errors;   /* complete */
    int lowrank;    /* inspect */
    int json, quiet;
} tool_options;

typedef struct tool tool;

/* Options of one table that a command takes: all of them, or those named. */
typedef struct option_group {
    const char *heading;
    const karma_option_table *(*table)(void);
    size_t offset;            /* of the struct in `tool` */
    const char *const *names; /* ends with NULL; NULL: all */
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
    int (*run)(tool *t);
} tool_command;

struct tool {
    const tool_command *command;
    karma_read_options read;
    karma_fit_options fit;
    karma_synth_options synth;
    karma_theory_options theory;
    tool_options options;
    const char *arguments[2];
    size_t n_arguments;
    karma_hooks hooks;
};

extern const tool_command command_train, command_predict, command_eval, command_complete, command_inspect, command_gram,
    command_theory, command_synth;
extern const tool_command *const commands[];
extern const size_t n_commands;

/* args.c: from argv to a filled-in tool. */
const karma_option_table *tool_option_table(void);
void tool_init(tool *t, const tool_command *command);
void tool_clear(tool *t);
/* EXIT_DONE, or EXIT_USAGE after saying why on stderr. *wants_help is set by --help. */
int tool_parse(tool *t, int argc, char **argv, int *wants_help);
/* The struct inside the tool that a group's options belong to. */
void *group_struct(const option_group *group, tool *t);
int group_has(const option_group *group, const karma_option *option);

/* help.c */
void print_overview(FILE *stream);
void print_help(const tool_command *command, FILE *stream);
int print_manual(const char *name);
int print_completion(const char *shell);

/* terminal.c: what goes to stderr. */
void install_hooks(tool *t);
void end_progress(void);
/* Says what failed, naming `path` unless the message already does, and gives the exit code. */
int fail(const char *path, const karma_error *err);
int fail_usage(const tool *t, const char *format, ...) KARMA_PRINTF(2, 3);

/* scoring.c: loads the model and the data that the arguments name, predicts, hands all to `then` and frees it. */
int with_scores(tool *t,
                int (*then)(tool *t, const karma_model *model, const karma_table *table, const double *scores));

/* inspect_lowrank.c */
int inspect_lowrank(tool *t, const char *path);

/* tables.c: tables as output. */
/* Both files or none; a table that is NULL goes nowhere. */
int write_tables(const karma_table *table, const char *path, const karma_table *second, const char *second_path);
/* EXIT_DONE, or EXIT_USAGE after saying why: a second table, which --flag sends to `path`, cannot share standard
 * output.
 */
int second_output_is_in_the_way(const tool *t, const char *flag, const char *path);
/* `columns`: names of ids, attributes and targets; `cells`: a list for every row, null where one is missing. */
void add_cells_json(json_t *object, const karma_table *table);

/* report.c: results for people and for programs. */
/* Whether the result goes to stdout: no -o, or -o -. */
int writes_stdout(const tool *t);
/* Writes one JSON object to stdout and releases it; NULL is an error. */
int print_json(json_t *object);
json_t *json_number_or_null(double value);
json_t *options_json(const karma_option_table *table, const void *options);
/* What the solver did: certificate of a batch run, account of an online one. */
json_t *solver_json(const karma_model *model);
json_t *target_names_json(const karma_model *model);
/* "rank + linear", and its outer map, if it has one. */
const char *kernel_name(char text[160], const karma_fit_options *options);
/* Prints the metrics of every target of the model. */
int report_metrics(tool *t, const karma_model *model, const karma_metrics *metrics);
/* "12.3%" */
const char *percent(char text[16], double share);
/* Flushes stdout; failing to is an error like any other. */
int finish_stdout(void);

#endif
