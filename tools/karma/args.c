/* Reading the command line from the option tables. */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

static const karma_option_word all_words[] = {{"all", 0}, {NULL, 0}};

static const karma_option tool_records[] = {
    {"output", KARMA_OPTION_TEXT, offsetof(tool_options, output), 0, 0, 0, NULL, "FILE",
     "output file; for tables, - is standard output", NULL},
    {"complete", KARMA_OPTION_TEXT, offsetof(tool_options, complete), 0, 0, 0, NULL, "FILE",
     "write the same rows without missing cells to this file", NULL},
    {"against", KARMA_OPTION_TEXT, offsetof(tool_options, against), 0, 0, 0, NULL, "FILE",
     "kernel values against the rows of this file, from which the kernel is learned", NULL},
    {"importance", KARMA_OPTION_SWITCH, offsetof(tool_options, importance), 0, 0, 1, NULL, "",
     "instead of single rows: how much worse the model gets when a column is permuted, on rows with labels", NULL},
    {"overlap", KARMA_OPTION_SWITCH, offsetof(tool_options, overlap), 0, 0, 1, NULL, "",
     "instead of scores: how many support rows share each row's observed columns, and a warning level", NULL},
    {"top", KARMA_OPTION_INTEGER, offsetof(tool_options, top), 0, 1, 1e9, all_words, NULL,
     "only this many lines for each row: the best cells (next), or the largest contributions and the sum of the others "
     "(explain)",
     NULL},
    {"rounds", KARMA_OPTION_INTEGER, offsetof(tool_options, rounds), 1, 1, 1000, NULL, NULL,
     "how often the cross-validation is repeated, each time with other folds", NULL},
    {"abstain", KARMA_OPTION_TEXT, offsetof(tool_options, abstain), 0, 0, 0, NULL, "10%|accuracy=0.95|LEVEL",
     "leave predictions empty: of this share of the rows, the least certain; of as few rows as needed for this "
     "accuracy of the others; or of rows with this warning level or above (karma explain --overlap): 1 thin, 2 very "
     "thin, 3 nothing observed",
     "never"},
    {"cost", KARMA_OPTION_NAMES, offsetof(tool_options, cost), 0, 0, 0, NULL, "COL=NUMBER",
     "cost of measuring a cell of this column; 1 by default", NULL},
    {"compact", KARMA_OPTION_SWITCH, offsetof(tool_options, compact), 0, 0, 1, NULL, "",
     "keep few training rows in the model: the solver nystrom, with a tenth of the rows as landmarks", NULL},
    {"flags", KARMA_OPTION_SWITCH, offsetof(tool_options, flags), 0, 0, 1, NULL, "",
     "add a column 'flags' that names the cells of the row with unseen categories, values outside the training range, "
     "or texts where numbers are expected",
     NULL},
    {"replace", KARMA_OPTION_SWITCH, offsetof(tool_options, replace), 0, 0, 1, NULL, "",
     "if -o is an existing table of a database, replace it", NULL},
    {"regret", KARMA_OPTION_SWITCH, offsetof(tool_options, regret), 0, 0, 1, NULL, "",
     "run the regret experiment instead of learning from a stream", NULL},
    {"checkpoint", KARMA_OPTION_TEXT, offsetof(tool_options, checkpoint), 0, 0, 0, NULL, "ROWS|SECONDSs",
     "write the model to -o after every so many rows (10000) or seconds (30s); the file is never half-written", NULL},
    {"continue", KARMA_OPTION_TEXT, offsetof(tool_options, go_on), 0, 0, 0, NULL, "MODEL",
     "continue learning from this model of karma online; the rows are those that come next. train needs --solver "
     "online too",
     NULL},
    {"errors", KARMA_OPTION_TEXT, offsetof(tool_options, errors), 0, 0, 0, NULL, "FILE",
     "write the standard errors of the completed cells to this file", NULL},
    {"report", KARMA_OPTION_TEXT, offsetof(tool_options, report), 0, 0, 0, NULL, "FILE",
     "also write a web page about the result to this file", NULL},
    {"with-trees", KARMA_OPTION_SWITCH, offsetof(tool_options, with_trees), 0, 0, 1, NULL, "",
     "also compare gradient-boosted trees of scikit-learn and xgboost, if Python has them", NULL},
    {"python", KARMA_OPTION_TEXT, offsetof(tool_options, python), 0, 0, 0, NULL, "COMMAND",
     "the Python for --with-trees; by default the first of python3, /usr/bin/python3 and python that has one of the "
     "libraries",
     NULL},
    {"lowrank", KARMA_OPTION_SWITCH, offsetof(tool_options, lowrank), 0, 0, 1, NULL, "",
     "check whether rows lie near a subspace of few dimensions; -o writes lambda of every row", NULL},
    {"json", KARMA_OPTION_SWITCH, offsetof(tool_options, json), 0, 0, 1, NULL, "", "one JSON object on standard output",
     NULL},
    {"verbose", KARMA_OPTION_SWITCH, offsetof(tool_options, verbose), 0, 0, 1, NULL, "",
     "also print the kernels, their weights, the folds and the solver", NULL},
    {"quiet", KARMA_OPTION_SWITCH, offsetof(tool_options, quiet), 0, 0, 1, NULL, "",
     "no notices, no progress, no summary", NULL},
};
static const karma_option_table tool_table = {tool_records, sizeof tool_records / sizeof tool_records[0],
                                              sizeof(tool_options)};

const karma_option_table *tool_option_table(void) {
    return &tool_table;
}

void tool_init(tool *t, const tool_command *command) {
    memset(t, 0, sizeof *t);
    t->command = command;
    karma_options_init(karma_read_option_table(), &t->read);
    karma_options_init(karma_fit_option_table(), &t->fit);
    karma_options_init(karma_search_option_table(), &t->search);
    karma_options_init(karma_compare_option_table(), &t->compare);
    karma_options_init(karma_explain_option_table(), &t->explain);
    karma_options_init(karma_synth_option_table(), &t->synth);
    karma_options_init(karma_theory_option_table(), &t->theory);
    karma_options_init(karma_regret_option_table(), &t->regret);
    karma_options_init(karma_online_option_table(), &t->online);
    karma_options_init(&tool_table, &t->options);
    if (command->prepare) command->prepare(t);
}

void tool_clear(tool *t) {
    karma_options_clear(karma_read_option_table(), &t->read);
    karma_options_clear(karma_fit_option_table(), &t->fit);
    karma_options_clear(karma_compare_option_table(), &t->compare);
    karma_options_clear(&tool_table, &t->options);
    for (size_t i = 0; i < t->search.fixed.count; i++) free(t->search.fixed.items[i]);
    free(t->search.fixed.items);
}

void *group_struct(const option_group *group, tool *t) {
    return (char *)t + group->offset;
}

const char *const column_option_names[] = {"target",  "row-weight", "numeric", "category",
                                           "ordered", "ignore",     "id",      NULL};
const char *const file_option_names[] = {"query", "missing",    "format", "delimiter", "header", "absent", "decimal",
                                         "dates", "date-order", "users",  "item",      "like",   NULL};
const char *const model_file_option_names[] = {"query",  "missing", "format", "delimiter",  "header",
                                               "absent", "decimal", "dates",  "date-order", "strict",
                                               "users",  "item",    "like",   NULL};

const char *const learning_file_option_names[] = {"query",  "missing", "gram",    "format", "delimiter",
                                                  "header", "absent",  "decimal", "dates",  "date-order",
                                                  "users",  "item",    "like",    "cache",  NULL};

const char *const kernel_option_names[] = {"kernel", "linear", "rank",          "encoding",       "rank-form", "gamma",
                                           "scale",  "bias",   "outer",         "degree",         "offset",    "width",
                                           "series", "mu",     "subspace-rank", "subspace-noise", "space",     "refine",
                                           "trees",  "leaves", "standardise",   "unit-ball",      NULL};

const char *const task_option_names[] = {"task",         "loss",          "tube",      "huber",     "quantile",
                                         "class-weight", "probabilities", "certainty", "intervals", "sets",
                                         "coverage-by",  "folds",         NULL};

/* Records that an option of the kernel or the solver was given, so that the search keeps it. */
int note_given(tool *t, const char *name) {
    if (!karma_search_chooses(name)) return EXIT_DONE;
    karma_names *fixed = &t->search.fixed;
    char **grown = realloc(fixed->items, (fixed->count + 1) * sizeof *grown), *copy = strdup(name);
    if (grown) fixed->items = grown;
    if (grown && copy) {
        fixed->items[fixed->count++] = copy;
        return EXIT_DONE;
    }
    free(copy);
    return fail(NULL, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
}

void resolve_effort(tool *t) {
    if (t->search.effort == KARMA_EFFORT_AUTO)
        t->search.effort = t->search.fixed.count ? KARMA_EFFORT_OFF : KARMA_EFFORT_NORMAL;
}

static int names_it(const option_group *group, const karma_option *option) {
    if (!group->names) return 1;
    for (size_t i = 0; group->names[i]; i++)
        if (strcmp(group->names[i], option->name) == 0) return 1;
    return 0;
}

int group_has(const tool_command *command, const option_group *group, const karma_option *option) {
    for (const option_group *before = command->groups; before < group; before++)
        if (before->table == group->table && names_it(before, option)) return 0;
    return names_it(group, option);
}

/* The option of the command with this name, and its group. */
static const karma_option *find_option(const tool_command *c, const char *name, const option_group **group) {
    for (size_t g = 0; g < c->n_groups; g++) {
        const karma_option *option = karma_option_find(c->groups[g].table(), name);
        if (option && group_has(c, &c->groups[g], option)) {
            *group = &c->groups[g];
            return option;
        }
    }
    return NULL;
}

int has_option(const tool *t, const char *name) {
    const option_group *group;
    return find_option(t->command, name, &group) != NULL;
}

static int unknown_option(const tool *t, const char *name) {
    const char *candidates[128];
    size_t n = 0;
    for (size_t g = 0; g < t->command->n_groups; g++) {
        const karma_option_table *table = t->command->groups[g].table();
        for (size_t i = 0; i < table->count && n < 128; i++)
            if (group_has(t->command, &t->command->groups[g], &table->options[i]))
                candidates[n++] = table->options[i].name;
    }
    const char *nearest = karma_nearest_word(name, candidates, n);
    if (nearest) return fail_usage(t, "unknown option --%s; did you mean --%s?", name, nearest);
    return fail_usage(t, "unknown option --%s", name);
}

/* Bare switches of the tool (--json) take no value; everything else takes one, after = or as the next word. A switch
 * that ends the line or stands before another option is on. */
static int set_option(tool *t, const char *word, int argc, char **argv, int *next) {
    char name[64];
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    if (length >= sizeof name) return fail_usage(t, "unknown option --%.60s...", word);
    memcpy(name, word, length);
    name[length] = '\0';
    const option_group *group = NULL;
    const karma_option *option = find_option(t->command, name, &group);
    if (!option) return unknown_option(t, name);
    int bare = option->kind == KARMA_OPTION_SWITCH && group->table() == &tool_table;
    const char *value = equals ? equals + 1 : NULL;
    if (bare && value) return fail_usage(t, "--%s takes no value", name);
    int ends = *next >= argc || strncmp(argv[*next], "--", 2) == 0;
    if (bare || (!value && ends && option->kind == KARMA_OPTION_SWITCH)) value = "on";
    if (!value) {
        if (*next >= argc) return fail_usage(t, "--%s needs a value", name);
        value = argv[(*next)++];
    }
    karma_error err;
    if (karma_option_set(option, group_struct(group, t), value, &err) != KARMA_OK)
        return fail_usage(t, "%s", err.message);
    return group->table() == karma_fit_option_table() ? note_given(t, name) : EXIT_DONE;
}

static int add_argument(tool *t, const char *word) {
    if (t->n_arguments == t->command->max_arguments)
        return fail_usage(t, "unexpected argument '%s'; usage: karma %s %s [OPTION]...", word, t->command->name,
                          t->command->arguments);
    t->arguments[t->n_arguments++] = word;
    return EXIT_DONE;
}

int tool_parse(tool *t, int argc, char **argv, int *wants_help) {
    int only_arguments = 0;
    *wants_help = 0;
    for (int i = 0; i < argc;) {
        const char *word = argv[i++];
        int code = EXIT_DONE;
        if (only_arguments || word[0] != '-' || word[1] == '\0')
            code = add_argument(t, word);
        else if (strcmp(word, "--") == 0)
            only_arguments = 1;
        else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
            *wants_help = 1;
        else if (strncmp(word, "--", 2) == 0)
            code = set_option(t, word + 2, argc, argv, &i);
        else if (word[1] == 'o' && word[2] == '\0')
            code = set_option(t, "output", argc, argv, &i);
        else if (word[1] == 'o') {
            char *rest[] = {argv[i - 1] + 2};
            int first = 0;
            code = set_option(t, "output", 1, rest, &first);
        } else
            code = fail_usage(t, "unknown option %s", word);
        if (*wants_help) return EXIT_DONE;
        if (code != EXIT_DONE) return code;
    }
    if (t->n_arguments < t->command->min_arguments)
        return fail_usage(t, "an argument is missing; usage: karma %s %s [OPTION]...", t->command->name,
                          t->command->arguments);
    t->read.threads = t->fit.threads;
    return EXIT_DONE;
}
