/* Help, manual pages and shell completion, all from the commands' records and the option tables. */
#include <string.h>
#include <unistd.h>

#include "tool.h"

enum { MOST_WIDTH = 80, INDENT = 6 };

/* Columns of the lines: 80, fewer on a narrow terminal. */
static int help_width(void) {
    size_t width = terminal_width(STDOUT_FILENO);
    return width && width < MOST_WIDTH ? (int)width : MOST_WIDTH;
}

/* Prints `text` in lines of at most help_width() columns, each indented; the cursor stands at column `at`. */
static void print_wrapped(FILE *stream, const char *text, int indent, int at) {
    int width = help_width();
    while (*text) {
        size_t length = strcspn(text, " \n");
        if (at + (int)length + 1 > width && at > indent) {
            fprintf(stream, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', stream);
            at++;
        }
        fprintf(stream, "%.*s", (int)length, text);
        at += (int)length;
        text += length;
        if (*text == '\n') {
            fprintf(stream, "\n%*s", indent, "");
            at = indent;
        }
        if (*text) text++;
    }
    fputc('\n', stream);
}

/* "--gamma N", and the default in this command or "": "unsaid", a word of model files, is none. */
static void describe_option(const karma_option *o, const void *options, char *flag, char *initial, size_t size) {
    char values[160];
    (void)karma_option_values(o, values, sizeof values);
    const char *short_form = strcmp(o->name, "output") == 0 ? "-o, " : "";
    (void)snprintf(flag, size, "%s--%s%s%s", short_form, o->name, *values ? " " : "", values);
    initial[0] = '\0';
    if (o->kind != KARMA_OPTION_NAMES && *values) (void)karma_option_text(o, options, initial, size);
    if (strcmp(initial, "unsaid") == 0) initial[0] = '\0';
}

static void print_option(FILE *stream, const karma_option *o, const void *options) {
    char flag[256], initial[256], help[512];
    describe_option(o, options, flag, initial, sizeof flag);
    (void)snprintf(help, sizeof help, "%s%s%s%s%s", o->help, *initial ? " [" : "", initial, *initial ? "]" : "",
                   o->kind == KARMA_OPTION_NAMES ? " (may be repeated)" : "");
    fprintf(stream, "  %s\n%*s", flag, INDENT, "");
    print_wrapped(stream, with_flags(help), INDENT, INDENT);
}

/* Calls `visit` for every option of the command, headings first. */
typedef void (*option_visitor)(FILE *stream, const char *heading, const karma_option *option, const void *options);

static void visit_options(FILE *stream, const tool_command *command, option_visitor visit) {
    tool t;
    tool_init(&t, command);
    for (size_t g = 0; g < command->n_groups; g++) {
        const option_group *group = &command->groups[g];
        const karma_option_table *table = group->table();
        const char *heading = group->heading;
        for (size_t i = 0; i < table->count; i++) {
            if (!group_has(command, group, &table->options[i])) continue;
            visit(stream, heading, &table->options[i], group_struct(group, &t));
            heading = NULL;
        }
    }
    tool_clear(&t);
}

static void help_option(FILE *stream, const char *heading, const karma_option *option, const void *options) {
    if (heading) fprintf(stream, "\n%s:\n", heading);
    print_option(stream, option, options);
}

void print_overview(FILE *stream) {
    fprintf(stream,
            "karma %s: learns from tables with missing values, without imputing them.\n\n"
            "usage: karma COMMAND [ARGUMENT]... [OPTION]...\n\n",
            karma_version());
    for (size_t i = 0; i < n_commands; i++) fprintf(stream, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nA first run:\n"
          "  karma train patients.csv --target outcome -o patients.karma\n"
          "  karma predict patients.karma new.csv -o predictions.csv\n"
          "  karma eval patients.karma held-out.csv\n"
          "\nkarma COMMAND --help lists the options of a command; karma --version prints the version.\n"
          "karma --completion bash|fish writes a completion script, karma --manual [COMMAND] a man page.\n"
          "Exit codes: 0 done, 1 the data or the model cannot be used, 2 wrong usage.\n",
          stream);
}

/* `karma` without a command: the most useful commands, not all. */
void print_start(FILE *stream) {
    static const char *const lines[] = {
        "  karma inspect DATA                           columns and missing values",
        "  karma train DATA --target COLUMN -o MODEL    learn a model",
        "  karma predict MODEL NEW-DATA -o PREDICTIONS  use it",
        "  karma report MODEL NEW-DATA -o PAGE.html     see how far it can be trusted",
        "",
        "karma --help lists all commands, karma COMMAND --help the options of one.",
    };
    char title[128];
    size_t width = terminal_width(STDERR_FILENO);
    (void)snprintf(title, sizeof title, "karma %s: learns from tables with missing values, without imputing them.",
                   karma_version());
    put_wrapped(stream, title, width);
    fputs("\n\n", stream);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        put_wrapped(stream, lines[i], width);
        fputc('\n', stream);
    }
}

void print_help(const tool_command *command, FILE *stream) {
    fprintf(stream, "usage: karma %s %s%s[OPTION]...\n\n", command->name, command->arguments,
            *command->arguments ? " " : "");
    print_wrapped(stream, command->description, 0, 0);
    fprintf(stream, "\nExample:\n%s", command->example);
    visit_options(stream, command, help_option);
}

/* --- manual -------------------------------------------------------------------------------------------- */

/* Text for roff: backslashes and hyphens escaped, a leading dot or quote defused. */
static void print_roff(FILE *stream, const char *text) {
    int line_start = 1;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", stream);
        if (*text == '\\')
            fputs("\\e", stream);
        else if (*text == '-')
            fputs("\\-", stream);
        else
            fputc(*text, stream);
        line_start = *text == '\n';
    }
}

static void manual_option(FILE *stream, const char *heading, const karma_option *option, const void *options) {
    char flag[256], initial[256], help[512];
    if (heading) {
        fputs(".SS ", stream);
        print_roff(stream, heading);
        fputc('\n', stream);
    }
    describe_option(option, options, flag, initial, sizeof flag);
    fputs(".TP\n.B ", stream);
    print_roff(stream, flag);
    fputc('\n', stream);
    (void)snprintf(help, sizeof help, "%s", option->help);
    print_roff(stream, with_flags(help));
    fputs(*initial ? ".\nDefault: " : ".", stream);
    print_roff(stream, initial);
    fputs(*initial ? ".\n" : "\n", stream);
}

static void manual_heading(const char *name, const char *summary) {
    printf(".TH \"%s\" 1 \"\" \"karma %s\" \"User Commands\"\n.SH NAME\n", name, karma_version());
    print_roff(stdout, name);
    fputs(" \\- ", stdout);
    print_roff(stdout, summary);
    fputc('\n', stdout);
}

static void manual_of_command(const tool_command *command) {
    char name[64];
    (void)snprintf(name, sizeof name, "karma-%s", command->name);
    manual_heading(name, command->summary);
    printf(".SH SYNOPSIS\n.B karma %s\n", command->name);
    print_roff(stdout, command->arguments);
    fputs(*command->arguments ? " " : "", stdout);
    fputs("[OPTION]...\n.SH DESCRIPTION\n", stdout);
    print_roff(stdout, command->description);
    fputs("\n.SH EXAMPLE\n.nf\n", stdout);
    print_roff(stdout, command->example);
    fputs(".fi\n.SH OPTIONS\n", stdout);
    visit_options(stdout, command, manual_option);
    fputs(".SH EXIT STATUS\n0: done. 1: the data or the model cannot be used. 2: wrong usage.\n"
          ".SH SEE ALSO\n.BR karma (1)\n",
          stdout);
}

static void manual_of_tool(void) {
    manual_heading("karma", "learns from tables with missing cells, without filling them in");
    fputs(".SH SYNOPSIS\n.B karma\nCOMMAND [ARGUMENT]... [OPTION]...\n.SH COMMANDS\n", stdout);
    for (size_t i = 0; i < n_commands; i++) {
        printf(".TP\n.BR karma\\-%s (1)\n", commands[i]->name);
        print_roff(stdout, commands[i]->summary);
        fputc('\n', stdout);
    }
    fputs(".SH EXAMPLE\n.nf\n", stdout);
    print_roff(stdout, "karma train patients.csv --target outcome -o patients.karma\n"
                       "karma predict patients.karma new.csv -o predictions.csv\n"
                       "karma eval patients.karma held-out.csv\n");
    fputs(".fi\n.SH EXIT STATUS\n0: done. 1: the data or the model cannot be used. 2: wrong usage.\n", stdout);
}

int print_manual(const char *name) {
    if (!name) {
        manual_of_tool();
        return finish_stdout();
    }
    for (size_t i = 0; i < n_commands; i++)
        if (strcmp(commands[i]->name, name) == 0) {
            manual_of_command(commands[i]);
            return finish_stdout();
        }
    return fail_usage(NULL, "unknown command '%s'", name);
}

/* --- completion ---------------------------------------------------------------------------------------- */

static void bash_name(FILE *stream, const char *heading, const karma_option *option, const void *options) {
    (void)heading, (void)options;
    fprintf(stream, " --%s", option->name);
}

/* Values of options that have a fixed set of them. */
static void bash_values(FILE *stream, const char *heading, const karma_option *option, const void *options) {
    (void)heading, (void)options;
    int is_switch = option->kind == KARMA_OPTION_SWITCH && !option->placeholder;
    if (option->kind != KARMA_OPTION_CHOICE && !is_switch) return;
    char values[256];
    (void)karma_option_values(option, values, sizeof values);
    for (char *c = values; *c; c++)
        if (*c == '|') *c = ' ';
    fprintf(stream, "        --%s) COMPREPLY=($(compgen -W \"%s\" -- \"$word\")); return;;\n", option->name, values);
}

static void print_bash(void) {
    puts("# bash completion for karma: source this file, or put it into bash-completion's directory.\n"
         "_karma() {\n"
         "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" options=\"\"\n"
         "    if [ \"$COMP_CWORD\" -eq 1 ]; then");
    fputs("        COMPREPLY=($(compgen -W \"", stdout);
    for (size_t i = 0; i < n_commands; i++) printf("%s ", commands[i]->name);
    puts("--help --version\" -- \"$word\")); return\n    fi\n    case \"$before\" in");
    for (size_t i = 0; i < n_commands; i++)
        if (commands[i] == &command_train || commands[i] == &command_synth || commands[i] == &command_online)
            visit_options(stdout, commands[i], bash_values);
    puts("    esac\n    case \"${COMP_WORDS[1]}\" in");
    for (size_t i = 0; i < n_commands; i++) {
        printf("        %s) options=\"", commands[i]->name);
        visit_options(stdout, commands[i], bash_name);
        puts(" --help\";;");
    }
    puts("    esac\n"
         "    case \"$word\" in\n"
         "        -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\"));;\n"
         "        *) COMPREPLY=($(compgen -f -- \"$word\"));;\n"
         "    esac\n"
         "}\n"
         "complete -o filenames -F _karma karma");
}

static void fish_text(const char *text) {
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') putchar('\\');
        putchar(*text);
    }
}

static void print_fish(void) {
    puts("# fish completion for karma");
    for (size_t i = 0; i < n_commands; i++) {
        printf("complete -c karma -n __fish_use_subcommand -f -a %s -d '", commands[i]->name);
        fish_text(commands[i]->summary);
        puts("'");
        for (size_t g = 0; g < commands[i]->n_groups; g++) {
            const karma_option_table *table = commands[i]->groups[g].table();
            for (size_t k = 0; k < table->count; k++) {
                const karma_option *o = &table->options[k];
                if (!group_has(commands[i], &commands[i]->groups[g], o)) continue;
                printf("complete -c karma -n '__fish_seen_subcommand_from %s' -l %s -d '", commands[i]->name, o->name);
                char help[512];
                (void)snprintf(help, sizeof help, "%s", o->help);
                fish_text(with_flags(help));
                puts("'");
            }
        }
    }
}

int print_completion(const char *shell) {
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "fish") == 0)
        print_fish();
    else
        return fail_usage(NULL, "completion is for bash or fish, not '%s'", shell);
    return finish_stdout();
}
