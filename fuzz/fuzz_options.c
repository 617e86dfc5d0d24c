/* Options as text, "name=value" in each line: a value is refused, or its own text is read back as the same value. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 4096 };

static void set_option(const karma_option_table *table, void *options, const char *name, const char *value) {
    static char text[MOST_TEXT], again[MOST_TEXT];
    const karma_option *option = karma_option_find(table, name);
    karma_error err = {0};
    if (!option) return;
    if (karma_option_set(option, options, value, &err) != KARMA_OK) {
        FUZZ_CHECK(err.message[0] != '\0', "an error without a message");
        return;
    }
    int n = karma_option_text(option, options, text, sizeof text);
    /* a list grows by the items that are set */
    if (n < 0 || n >= MOST_TEXT || option->kind == KARMA_OPTION_NAMES) return;
    if (karma_option_set(option, options, text, &err) != KARMA_OK) fuzz_fail(err.message);
    (void)karma_option_text(option, options, again, sizeof again);
    FUZZ_CHECK(strcmp(text, again) == 0, "a value that was read back is another one");
}

static void set_all(const karma_option_table *table, char *lines) {
    void *options = malloc(table->struct_size);
    if (!options) return;
    karma_options_init_size(table, options, table->struct_size);
    for (char *line = lines, *end; line; line = end ? end + 1 : NULL) {
        if ((end = strchr(line, '\n'))) *end = '\0';
        char *equals = strchr(line, '=');
        if (equals) {
            *equals = '\0';
            set_option(table, options, line, equals + 1);
            *equals = '=';
        }
        if (end) *end = '\n';
    }
    (void)karma_options_check(table, options, NULL);
    karma_options_clear(table, options);
    free(options);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    const karma_option_table *tables[] = {
        karma_read_option_table(),    karma_fit_option_table(),     karma_search_option_table(),
        karma_explain_option_table(), karma_compare_option_table(), karma_synth_option_table(),
        karma_theory_option_table(),  karma_regret_option_table(),  karma_online_option_table()};
    char *lines = malloc(size + 1);
    if (!lines) return 0;
    memcpy(lines, bytes, size);
    lines[size] = '\0';
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) set_all(tables[t], lines);
    free(lines);
    return 0;
}
