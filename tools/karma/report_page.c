/* The list of sections, and the page around them. */
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

static const report_section *const sections[] = {
    &section_summary, &section_online,   &section_stream,    &section_compare, &section_cv,
    &section_quality, &section_observed, &section_certainty, &section_columns, &section_rows,
    &section_next,    &section_data,     &section_lowrank,   &section_search,  &section_about,
};
enum { N_SECTIONS = sizeof sections / sizeof sections[0] };

static int ends_the_page(karma_status st) {
    return st == KARMA_ERR_MEMORY || st == KARMA_ERR_CANCELLED || st == KARMA_ERR_IO;
}

static karma_status write_sections(report *r, const char *title, const char *lead, FILE *stream, karma_error *err) {
    page *p = &r->page;
    page_begin(p, stream, title, lead);
    page_contents_begin(p);
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (sections[i]->applies(r)) page_contents_item(p, sections[i]->id, sections[i]->title);
    page_contents_end(p);
    for (size_t i = 0; i < N_SECTIONS; i++) {
        if (!sections[i]->applies(r)) continue;
        page_section_begin(p, sections[i]->id, sections[i]->title);
        karma_status st = sections[i]->write(r, err);
        if (ends_the_page(st)) return st;
        if (st != KARMA_OK) page_warning(p, "This part could not be computed: %s.", with_flags(err->message));
        page_section_end(p);
    }
    page_end(p);
    return KARMA_OK;
}

int write_report(report *r, const char *path, const char *title, const char *lead) {
    karma_error err;
    karma_output *output = NULL;
    if (karma_output_open(&output, path, &err) != KARMA_OK) return fail(path, &err);
    karma_status st = write_sections(r, title, lead, karma_output_stream(output), &err);
    if (st == KARMA_OK)
        st = karma_output_commit(output, &err);
    else
        karma_output_discard(output);
    return st == KARMA_OK ? EXIT_DONE : fail(path, &err);
}

/* Numbers from 0 to 1, the same in every run. */
static double next_random(uint64_t *state) {
    *state += 0x9E3779B97F4A7C15U;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Selection sampling: a row is taken with probability (rows still wanted) / (rows left). */
karma_status sample_rows(karma_table **out, size_t **chosen, const karma_table *table, size_t most, karma_error *err) {
    size_t n = karma_table_n_rows(table), taken = 0;
    uint64_t state = 1;
    *out = NULL;
    if (chosen) *chosen = NULL;
    if (n <= most) return KARMA_OK;
    size_t *rows = malloc(most * sizeof *rows);
    if (!rows) return out_of_memory(err);
    for (size_t i = 0; i < n && taken < most; i++)
        if (next_random(&state) * (double)(n - i) < (double)(most - taken)) rows[taken++] = i;
    karma_status st = karma_table_select(out, table, rows, taken, err);
    if (chosen && st == KARMA_OK)
        *chosen = rows;
    else
        free(rows);
    return st;
}
