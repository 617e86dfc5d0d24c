/* How this page can be made again: versions, options and the command line. */
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

static int applies(const report *r) {
    (void)r;
    return 1;
}

/* Options that are not at their defaults, as flags. */
static void list_options(report *r, const karma_option_table *table, const void *options, size_t *n) {
    for (size_t i = 0; i < table->count; i++) {
        const karma_option *o = &table->options[i];
        size_t size = (size_t)karma_option_text(o, options, NULL, 0) + 1;
        char *text = malloc(size), initial[256];
        (void)karma_option_initial(o, initial, sizeof initial);
        if (text) (void)karma_option_text(o, options, text, size);
        if (text && *text && strcmp(text, initial) != 0) {
            page_table_line(&r->page);
            page_cell(&r->page, "%s", o->name);
            page_cell(&r->page, "%.3000s", text);
            (*n)++;
        }
        free(text);
    }
}

static void write_model_options(report *r) {
    static const table_column columns[] = {{"option", 0}, {"value", 0}};
    size_t n = 0;
    page_table_begin(&r->page, "Options of the model that are not at their defaults", columns, 2);
    list_options(r, karma_fit_option_table(), karma_model_options(r->model), &n);
    if (n == 0) {
        page_table_line(&r->page);
        page_cell(&r->page, "none");
        page_cell(&r->page, "all are at their defaults");
    }
    page_table_end(&r->page);
}

static karma_status write_command(report *r, karma_error *err) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return out_of_memory(err);
    for (int i = 0; i < r->t->n_words; i++) {
        fputs(i ? " " : "", stream);
        put_shell_word(stream, i ? r->t->words[i] : "karma");
    }
    if (fclose(stream) == 0) page_code(&r->page, text);
    free(text);
    return KARMA_OK;
}

static karma_status write_section(report *r, karma_error *err) {
    page_paragraph(&r->page, "Made by karma %s with this command; the same files give the same page.", karma_version());
    karma_status st = write_command(r, err);
    if (r->model) write_model_options(r);
    return st;
}

const report_section section_about = {"about", "How to make this page again", applies, write_section};
