/* What the tool prints to stderr: errors, notices, a progress line. */
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool.h"

/* A program may have global state; a library must not. */
static volatile sig_atomic_t interrupted;
static int line_is_open;
static karma_error failure;
static double started, last_shown;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    interrupted = 1;
}

/* The first Ctrl-C asks to stop, the second ends the program. Interrupted reads and writes continue. */
static void listen_to_interrupts(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART | (int)SA_RESETHAND;
    (void)sigaction(SIGINT, &action, NULL);
}

void listen_to_termination(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART | (int)SA_RESETHAND;
    (void)sigaction(SIGTERM, &action, NULL);
}

double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void end_progress(void) {
    if (line_is_open) fputs("\r\033[K", stderr);
    line_is_open = 0;
}

int is_interrupted(void) {
    return interrupted;
}

static int watch_interrupt(void *payload, const char *stage, size_t done, size_t total) {
    (void)payload, (void)stage, (void)done, (void)total;
    return interrupted;
}

/* The rate of a stage and the time left, from the time its parts took so far. Both are renewed when a part is done; the
 * time counts down in between. Nested stages have their own names and totals. */
typedef struct time_guess {
    char stage[64];
    size_t total, first, done; /* total 0: not known; first: parts that were done when the clock started */
    double start, at, rate;    /* rate: parts per second, at `at`; 0: not known yet */
} time_guess;
static time_guess guess;

static void update_guess(const char *stage, size_t done, size_t total, double time) {
    if (total != guess.total || done < guess.done || (total == 0 && strcmp(stage, guess.stage) != 0)) {
        guess = (time_guess){.total = total, .first = done, .done = done, .start = time, .at = time};
        (void)snprintf(guess.stage, sizeof guess.stage, "%s", stage);
    }
    if (done > guess.done && time > guess.start) {
        guess.done = done;
        guess.at = time;
        guess.rate = (double)(done - guess.first) / (time - guess.start);
    }
}

/* ", 1200 per second, 3 s left", as far as they are known. */
static void put_rate(char *text, size_t size, double time) {
    int n = 0;
    *text = '\0';
    if (!(guess.rate > 0.0)) return;
    if (guess.rate >= 1.0)
        n = snprintf(text, size, guess.rate >= 100.0 ? ", %.0f per second" : ", %.1f per second", guess.rate);
    else
        n = snprintf(text, size, ", %.1f s each", 1.0 / guess.rate);
    double left = (double)(guess.total - guess.done) / guess.rate - (time - guess.at);
    if (guess.total && n > 0) (void)snprintf(text + n, size - (size_t)n, ", %.0f s left", left > 0.0 ? left : 0.0);
}

/* Rates of the first second are not reliable. */
static const double FIRST_RATE = 1.0;

static int show_progress(void *payload, const char *stage, size_t done, size_t total) {
    double time = now();
    if (total || done) update_guess(stage, done, total, time);
    if (time - last_shown > 0.1) {
        char line[512], parts[96] = "", rate[96] = "";
        if (total)
            (void)snprintf(parts, sizeof parts, " %zu of %zu (%.0f%%)", done, total,
                           100.0 * (double)done / (double)total);
        else if (done)
            (void)snprintf(parts, sizeof parts, " %zu", done);
        if ((total || done) && time - started > FIRST_RATE) put_rate(rate, sizeof rate, time);
        (void)snprintf(line, sizeof line, "%.300s%s%s", stage, parts, rate);
        size_t width = terminal_width(STDERR_FILENO); /* a line that wraps cannot be replaced */
        fprintf(stderr, "\r\033[K%.*s", (int)cut_bytes(line, width > 1 ? width - 1 : sizeof line), line);
        (void)fflush(stderr);
        last_shown = time;
        line_is_open = 1;
    }
    return watch_interrupt(payload, stage, done, total);
}

char *with_flags(char *text) {
    static const char before[] = "option '";
    char *to = text;
    const char *from = text, *end;
    while (*from) {
        if (strncmp(from, before, sizeof before - 1) == 0 && (end = strchr(from + sizeof before - 1, '\''))) {
            *to++ = '-', *to++ = '-';
            for (const char *c = from + sizeof before - 1; c < end; c++) *to++ = (char)(*c == '=' ? ' ' : *c);
            from = end + 1;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    return text;
}

void print_with_flags(FILE *stream, const char *sentence) {
    char *text = strdup(sentence);
    fputs(text ? with_flags(text) : sentence, stream);
    free(text);
}

/* "karma: " and so on, the sentence, its end and a line feed; on a terminal broken between words. */
static void put_message(const char *start, const char *sentence, const char *end) {
    size_t size = 0;
    char *text = NULL;
    FILE *line = open_memstream(&text, &size);
    if (line) {
        fputs(start, line);
        print_with_flags(line, sentence);
        fputs(end, line);
    }
    if (line && fclose(line) == 0 && text)
        put_wrapped(stderr, text, terminal_width(STDERR_FILENO));
    else
        fprintf(stderr, "%s%s%s", start, sentence, end);
    fputc('\n', stderr);
    free(text);
}

/* A warning is about a result that may be wrong: it is printed even when the tool is asked to be quiet. */
static void show_notice(void *payload, const char *sentence) {
    static const char warning[] = "warning: ";
    const tool *t = payload;
    int warns = strncmp(sentence, warning, sizeof warning - 1) == 0;
    if (t->options.quiet && !warns) return;
    end_progress();
    put_message(warns ? "karma: " : "karma: note: ", sentence, "");
}

void install_hooks(tool *t) {
    started = now();
    t->hooks.progress = isatty(STDERR_FILENO) && !t->options.quiet ? show_progress : watch_interrupt;
    t->hooks.notice = show_notice;
    t->hooks.payload = t;
    if (t->command->stops_gently) listen_to_interrupts();
}

const char *path_text(const char *path) {
    static char text[1024];
    return karma_source_text(text, sizeof text, path);
}

const char *times_text(char out[TIMES_SIZE], size_t count) {
    if (count == 1)
        snprintf(out, TIMES_SIZE, "once");
    else
        snprintf(out, TIMES_SIZE, "%zu times", count);
    return out;
}

/* Of --output=URI and -oURI: where the URI starts. Of any other word its start. */
static const char *value_of_word(const char *word) {
    const char *value = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    if (value) return value + 1;
    return strncmp(word, "-o", 2) == 0 ? word + 2 : word;
}

void put_shell_word(FILE *stream, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    const char *value = value_of_word(word);
    size_t size = strlen(value) + 1;
    char *shown = malloc(size);
    if (value > word) fprintf(stream, "%.*s", (int)(value - word), word);
    if (!shown || (value > word && !*value)) {
        free(shown);
        return;
    }
    (void)karma_source_text(shown, size, value);
    int is_plain = *shown && strspn(shown, plain) == strlen(shown);
    fputs(is_plain ? "" : "'", stream);
    for (const char *c = shown; *c; c++)
        if (*c == '\'')
            fputs("'\\''", stream);
        else
            fputc(*c, stream);
    fputs(is_plain ? "" : "'", stream);
    free(shown);
}

const karma_error *last_failure(void) {
    return &failure;
}

int fail(const char *path, const karma_error *err) {
    end_progress();
    failure = *err;
    if (path) path = path_text(path);
    size_t length = path ? strlen(path) : 0;
    int named =
        !path || strcmp(path, "-") == 0 || (strncmp(err->message, path, length) == 0 && err->message[length] == ':');
    char start[1100];
    (void)snprintf(start, sizeof start, "karma: %s%s", named ? "" : path, named ? "" : ": ");
    put_message(start, err->message, "");
    return err->status == KARMA_ERR_OPTION ? EXIT_USAGE : EXIT_FAILED;
}

int fail_usage(const tool *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char sentence[1024], end[64];
    (void)vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    failure.status = KARMA_ERR_OPTION;
    (void)snprintf(failure.message, sizeof failure.message, "%.400s", sentence);
    (void)snprintf(end, sizeof end, " (karma %s%s--help)", t && t->command ? t->command->name : "",
                   t && t->command ? " " : "");
    put_message("karma: ", path_text(sentence), end);
    return EXIT_USAGE;
}
