/* karma COMMAND [ARGUMENT]... [OPTION]... */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#define ADDRESS(name) &command_##name,
const tool_command *const commands[] = {COMMAND_LIST(ADDRESS)};
#undef ADDRESS
const size_t n_commands = sizeof commands / sizeof commands[0];

static const tool_command *find_command(const char *name) {
    for (size_t i = 0; i < n_commands; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[sizeof commands / sizeof commands[0]];
    for (size_t i = 0; i < n_commands; i++) names[i] = commands[i]->name;
    const char *nearest = karma_nearest_word(name, names, n_commands);
    if (nearest) return fail_usage(NULL, "unknown command '%s'; did you mean %s?", name, nearest);
    return fail_usage(NULL, "unknown command '%s'", name);
}

/* One of several processes does the work that cannot be split. False: this process has nothing to do. */
static int takes_part(tool *t) {
    char sentence[300];
    if (!is_together(t)) return 1;
    const char *why = t->command->alone ? t->command->alone(t) : "this command is not split";
    if (!why) return 1;
    if (t->ranks->rank > 0) return 0;
    (void)snprintf(sentence, sizeof sentence, "one of the %zu processes does all the work: %s (docs/scale.md)",
                   t->ranks->size, why);
    t->hooks.notice(t->hooks.payload, sentence);
    t->ranks = NULL;
    return 1;
}

/* After the options were read and checked. */
static int start_command(tool *t) {
    int code = check_names_of_outputs(t);
    if (code == EXIT_DONE && is_first_process(t)) code = check_outputs(t);
    if (code == EXIT_DONE) code = check_threads(t);
    code = agree(t, code);
    if (code != EXIT_DONE) return code;
    install_hooks(t);
    if (takes_part(t)) code = t->command->run(t);
    end_progress();
    return code;
}

static int run_command(const tool_command *command, int argc, char **argv, const karma_ranks *ranks) {
    tool t;
    int wants_help = 0;
    tool_init(&t, command);
    t.ranks = ranks;
    t.words = argv;
    t.n_words = argc;
    int code = tool_parse(&t, argc - 2, argv + 2, &wants_help);
    if (wants_help) {
        begin_text();
        print_help(command, stdout);
        code = finish_stdout();
    } else if (code == EXIT_DONE) {
        code = start_command(&t);
    }
    tool_clear(&t);
    return code;
}

/* If descriptor 0, 1 or 2 is closed, the next file opened would take its number and receive the messages for stderr.
 * The null device is put there, opened the wrong way round so that using it is still an error. */
static void reserve_standard_streams(void) {
    for (int file = 0; file <= 2; file++)
        if (fcntl(file, F_GETFD) < 0) (void)open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY);
}

/* The buffer holds everything that is written for people, so a failed write shows in finish_stdout, which reports the
 * reason. */
enum { STDOUT_BUFFER = 1 << 20 };

int run_tool(int argc, char **argv, const karma_ranks *ranks) {
    reserve_standard_streams();
    (void)signal(SIGXFSZ, SIG_IGN); /* beyond the limit on file sizes, writing then fails, with a sentence */
    (void)setvbuf(stdout, NULL, _IOFBF, STDOUT_BUFFER);
    watch_json_memory();
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--version") == 0) {
        printf("karma %s\n", karma_version());
        return finish_stdout();
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        const tool_command *about = argc > 2 ? find_command(argv[2]) : NULL;
        if (argc > 2 && !about) return unknown_command(argv[2]);
        begin_text();
        if (about)
            print_help(about, stdout);
        else
            print_overview(stdout);
        return finish_stdout();
    }
    if (strcmp(word, "--manual") == 0) return print_manual(argc > 2 ? argv[2] : NULL);
    if (strcmp(word, "--completion") == 0) return print_completion(argc > 2 ? argv[2] : "bash");
    if (argc < 2) {
        print_start(stderr);
        return EXIT_USAGE;
    }
    const tool_command *command = find_command(word);
    if (!command) return unknown_command(word);
    return run_command(command, argc, argv, ranks);
}
