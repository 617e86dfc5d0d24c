/* All rows of delimited text, block by block in parallel.
 *
 * A window of the text is cut into blocks at line feeds, all blocks are parsed in parallel, and their results
 * are joined in order: the result does not depend on the number of threads. A line feed inside quotes does
 * not end a record; a block that was cut there is parsed again from the true end of the block before it.
 * Lines of a block count from 1, because the lines before it are counted at the same time; a block with an
 * error is parsed again with the right line numbers.
 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/csv_file.h"
#include "table/builder.h"

enum { BLOCK_BYTES = 1 << 19, N_BLOCKS = 16 };
#define WINDOW_BYTES ((size_t)BLOCK_BYTES * N_BLOCKS)

/* --- the window ---------------------------------------------------------------------------------------- */

static size_t whole_lines(const char *text, size_t length) {
    while (length && text[length - 1] != '\n') length--;
    return length;
}

karma_status karma_i_csv_load_window(karma_i_csv_window *window, karma_i_feed *feed, size_t passed, int patient,
                                     karma_error *err) {
    size_t length;
    karma_i_feed_pass(feed, passed);
    window->text.text = karma_i_feed_text(feed, &length);
    size_t had = passed ? 0 : length; /* nothing was passed: the record is longer than the window */
    for (;;) {
        KARMA_TRY(karma_i_feed_fill(feed, had ? 2 * had : WINDOW_BYTES, patient, err));
        window->text.text = karma_i_feed_text(feed, &length);
        window->is_cut = !karma_i_feed_at_end(feed);
        window->text.length = window->is_cut ? whole_lines(window->text.text, length) : length;
        if (!window->is_cut || window->text.length > 0) break;
        had = length;
    }
    window->text.name = karma_i_feed_name(feed);
    window->next = window->text.text;
    return KARMA_OK;
}

/* --- blocks -------------------------------------------------------------------------------------------- */

typedef struct pass {
    karma_i_csv_file *file;
    karma_i_csv_window *window;
    karma_i_csv_block *blocks; /* those of the file */
    size_t n_blocks;
    int threads;
} pass;

static void cut_blocks(pass *p) {
    const char *next = p->window->next, *end = p->window->text.text + p->window->text.length;
    for (p->n_blocks = 0; next < end && p->n_blocks < N_BLOCKS; p->n_blocks++) {
        karma_i_csv_block *b = &p->blocks[p->n_blocks];
        const char *feed =
            end - next > BLOCK_BYTES ? memchr(next + BLOCK_BYTES, '\n', (size_t)(end - next) - BLOCK_BYTES) : NULL;
        b->start = next;
        b->limit = next = feed ? feed + 1 : end;
    }
}

static karma_status parse_block(const pass *p, karma_i_csv_block *b, size_t first_line, karma_error *err) {
    return karma_i_csv_block_parse(b, p->file, &p->window->text, p->window->is_cut, first_line, err);
}

/* Text beyond the limit, reached because of quotes and therefore not checked yet. */
static karma_status check_overrun(const pass *p, const karma_i_csv_block *b, size_t line, karma_error *err) {
    if (b->end <= b->limit) return KARMA_OK;
    return karma_i_check_text(p->file->name, b->start, (size_t)(b->end - b->start), line, err);
}

/* Makes sure that the block starts at the end of the block before it and was parsed without an error. */
static karma_status settle_block(const pass *p, karma_i_csv_block *b, const char *start, size_t line,
                                 karma_error *err) {
    if (b->start != start) {
        b->start = start;
        if (b->limit < start) b->limit = start;
        (void)parse_block(p, b, 1, NULL);
    }
    if (b->status == KARMA_OK) return check_overrun(p, b, line, err);
    KARMA_TRY(parse_block(p, b, line, err));
    return karma_i_fail_memory(err); /* if it succeeds now, the failure was lack of memory */
}

/* --- putting together ---------------------------------------------------------------------------------- */

static karma_status merge_column(karma_i_csv_file *file, karma_i_csv_block *b, size_t i, size_t line,
                                 karma_error *err) {
    karma_i_csv_column *column = &file->columns[i];
    karma_i_survey *part = &b->surveys[i];
    if (column->action != ACTION_SURVEY) return KARMA_OK;
    part->n_plain += b->n_plain[i];
    if (part->texts.count && !(b->codes[i] = karma_i_zalloc(part->texts.count, sizeof **b->codes)))
        return karma_i_fail_memory(err);
    return karma_i_survey_merge(file->second ? &column->texts : &column->survey, b->codes[i], part, line, err);
}

static karma_status merge_block(karma_i_csv_file *file, karma_i_csv_block *b, size_t line, karma_error *err) {
    for (size_t i = 0; i < file->n_columns; i++) KARMA_TRY(merge_column(file, b, i, line, err));
    if (b->largest_weight > file->largest_weight) file->largest_weight = b->largest_weight;
    file->n_rows += b->n_rows;
    return KARMA_OK;
}

/* Translates the block's codes of texts to those of the column. */
static void translate_codes(const karma_i_csv_file *file, karma_i_csv_block *b, uint32_t *const *by_place) {
    uint32_t code;
    for (size_t i = 0; by_place && i < b->n_cells; i++)
        if (karma_i_is_code(&code, b->value[i])) b->value[i] = karma_i_code(by_place[b->owner[i]][code]);
    for (size_t k = 0; k < file->n_targets; k++) {
        const uint32_t *codes = b->codes[file->targets[k]];
        for (size_t i = 0; codes && i < b->n_rows; i++) {
            double *label = &b->labels[i * file->n_targets + k];
            if (karma_i_is_code(&code, *label)) *label = karma_i_code(codes[code]);
        }
    }
}

/* Codes of each attribute's texts, or NULL if no attribute has any. */
static int codes_by_place(uint32_t ***out, const karma_i_csv_file *file, const karma_i_csv_block *b) {
    *out = NULL;
    for (size_t i = 0; i < file->n_columns; i++) {
        if (!b->codes[i] || file->columns[i].role != ROLE_ATTRIBUTE) continue;
        if (!*out && !(*out = karma_i_zalloc(file->most_cells, sizeof **out))) return 0;
        (*out)[file->columns[i].place] = b->codes[i];
    }
    return 1;
}

static int place_block(karma_i_csv_file *file, karma_i_csv_block *b, size_t first_row, size_t first_cell) {
    karma_i_row_block block = {b->n_rows, b->n_cells, b->row_end,  b->owner,
                               b->value,  b->weights, b->id_bytes, b->id_end};
    uint32_t **by_place;
    if (!codes_by_place(&by_place, file, b)) return 0;
    translate_codes(file, b, by_place);
    karma_i_free(by_place);
    if (file->n_targets && b->n_rows)
        memcpy(file->labels + first_row * file->n_targets, b->labels, b->n_rows * file->n_targets * sizeof *b->labels);
    return karma_i_builder_place(&file->builder, first_row, first_cell, &block);
}

static karma_status place_blocks(pass *p, karma_error *err) {
    karma_i_csv_file *file = p->file;
    size_t rows[N_BLOCKS + 1], cells[N_BLOCKS + 1];
    size_t first_row = rows[0] = file->builder.table->n_rows, first_cell = cells[0] = file->builder.n_cells;
    for (size_t k = 0; k < p->n_blocks; k++) {
        rows[k + 1] = rows[k] + p->blocks[k].n_rows;
        cells[k + 1] = cells[k] + p->blocks[k].n_cells;
    }
    size_t n = p->n_blocks, n_labels = rows[n] * file->n_targets;
    KARMA_TRY(karma_i_builder_extend(&file->builder, rows[n] - first_row, cells[n] - first_cell, err));
    if (!karma_i_reserve(&file->labels, &file->label_capacity, n_labels, sizeof *file->labels))
        return karma_i_fail_memory(err);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < p->blocks[k].n_texts; i++) {
            karma_i_text_cell cell = p->blocks[k].texts[i];
            KARMA_TRY(karma_i_builder_add_text_cell(&file->builder, rows[k] + cell.row, cell.attribute, err));
        }
    int failed = 0;
#pragma omp parallel for schedule(dynamic) num_threads(p->threads) reduction(| : failed)
    for (size_t k = 0; k < n; k++) failed |= !place_block(file, &p->blocks[k], rows[k], cells[k]);
    return failed ? karma_i_fail_memory(err) : KARMA_OK;
}

/* Joins the blocks in order; blocks after a record that the window cuts are left for the next window. */
static karma_status merge_blocks(pass *p, karma_error *err) {
    karma_i_csv_window *w = p->window;
    size_t k = 0;
    for (; k < p->n_blocks; k++) {
        karma_i_csv_block *b = &p->blocks[k];
        if (w->next < b->start) break;
        KARMA_TRY(settle_block(p, b, w->next, w->line, err));
        KARMA_TRY(merge_block(p->file, b, w->line, err));
        w->next = b->end;
        w->line += b->n_lines;
    }
    p->n_blocks = k;
    return place_blocks(p, err);
}

static karma_status read_wave(pass *p, karma_error *err) {
    cut_blocks(p);
#pragma omp parallel for schedule(dynamic) num_threads(p->threads)
    for (size_t k = 0; k < p->n_blocks; k++) (void)parse_block(p, &p->blocks[k], 1, NULL);
    return merge_blocks(p, err);
}

static karma_status make_blocks(karma_i_csv_file *file, karma_error *err) {
    if (file->blocks) return KARMA_OK;
    file->blocks = karma_i_zalloc(N_BLOCKS, sizeof *file->blocks);
    if (!file->blocks) return karma_i_fail_memory(err);
    for (size_t k = 0; k < N_BLOCKS; k++) KARMA_TRY(karma_i_csv_block_init(&file->blocks[k], file, err));
    return KARMA_OK;
}

void karma_i_csv_free_blocks(karma_i_csv_file *file) {
    for (size_t k = 0; file->blocks && k < N_BLOCKS; k++) karma_i_csv_block_clear(&file->blocks[k], file->n_columns);
    karma_i_free(file->blocks);
    file->blocks = NULL;
}

karma_status karma_i_csv_read_window(karma_i_csv_file *file, karma_i_csv_window *window, karma_error *err) {
    KARMA_TRY(make_blocks(file, err));
    pass p = {file, window, file->blocks, 0, karma_i_threads(file->request->options->threads)};
    const char *end = window->text.text + window->text.length, *before = NULL;
    while (window->next < end && window->next != before) {
        before = window->next;
        KARMA_TRY(read_wave(&p, err));
    }
    return KARMA_OK;
}
