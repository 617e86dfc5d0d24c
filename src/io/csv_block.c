/* Turns one block of delimited text into rows. Several threads parse blocks at the same time, so a block
 * touches nothing else: it has its own surveys, and its own codes for texts.
 *
 * Most cells are empty or plain numbers that end at a delimiter: these are read in one go. All others go through
 * karma_i_csv_next, which handles quotes, blanks and errors. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "io/csv_file.h"
#include "io/date_parts.h"
#include "io/numeral.h"

/* --- memory -------------------------------------------------------------------------------------------- */

karma_status karma_i_csv_block_init(karma_i_csv_block *block, const karma_i_csv_file *file, karma_error *err) {
    *block = (karma_i_csv_block){0};
    block->surveys = karma_i_zalloc(file->n_columns, sizeof *block->surveys);
    block->n_plain = karma_i_zalloc(file->n_columns, sizeof *block->n_plain);
    block->codes = karma_i_zalloc(file->n_columns, sizeof *block->codes);
    if (block->surveys && block->n_plain && block->codes) return KARMA_OK;
    karma_i_csv_block_clear(block, file->n_columns);
    return karma_i_fail_memory(err);
}

static void clear_columns(karma_i_csv_block *b, size_t n_columns) {
    for (size_t i = 0; i < n_columns; i++) {
        if (b->surveys) karma_i_survey_clear(&b->surveys[i]);
        if (b->codes) karma_i_free(b->codes[i]);
        if (b->codes) b->codes[i] = NULL;
    }
}

void karma_i_csv_block_clear(karma_i_csv_block *block, size_t n_columns) {
    karma_i_csv_block *b = block;
    clear_columns(b, n_columns);
    void *const arrays[] = {b->row_end, b->owner,   b->value,   b->labels, b->weights, b->id_bytes,
                            b->id_end,  b->surveys, b->n_plain, b->codes,  b->texts};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) karma_i_free(arrays[i]);
    *b = (karma_i_csv_block){0};
}

/* Empties the block; it keeps its memory and its place in the text. */
static void reset(karma_i_csv_block *b, const karma_i_csv_file *file) {
    clear_columns(b, file->n_columns);
    for (size_t i = 0; i < file->n_columns; i++) {
        const karma_i_csv_column *column = &file->columns[i];
        const karma_i_survey *like = file->second ? &column->texts : &column->survey;
        karma_i_survey_init(&b->surveys[i], like->mode, like->is_target, like->style);
        b->n_plain[i] = 0;
    }
    b->n_rows = b->n_cells = b->id_used = b->n_texts = 0;
    b->largest_weight = 0.0;
    b->suspect = NULL;
    b->has_fault = 0;
    b->status = KARMA_OK;
}

/* Room for one more row. */
static int reserve_row(karma_i_csv_block *b, const karma_i_csv_file *file) {
    size_t rows = b->n_rows + 1, cells = b->n_cells + file->most_cells;
    return karma_i_reserve(&b->row_end, &b->row_capacity, rows, sizeof *b->row_end) &&
           karma_i_reserve(&b->owner, &b->owner_capacity, cells, sizeof *b->owner) &&
           karma_i_reserve(&b->value, &b->value_capacity, cells, sizeof *b->value) &&
           karma_i_reserve(&b->labels, &b->label_capacity, rows * file->n_targets, sizeof *b->labels) &&
           (!file->has_weights || karma_i_reserve(&b->weights, &b->weight_capacity, rows, sizeof *b->weights)) &&
           karma_i_reserve(&b->id_end, &b->id_end_capacity, rows * file->n_ids, sizeof *b->id_end);
}

/* --- cells --------------------------------------------------------------------------------------------- */

static inline void put_cell(karma_i_csv_block *b, size_t attribute, double value) {
    b->owner[b->n_cells] = (uint32_t)attribute;
    b->value[b->n_cells++] = value;
}

static void put_value(karma_i_csv_block *b, const karma_i_csv_file *file, const karma_i_csv_column *column,
                      double value) {
    if (column->role == ROLE_TARGET)
        b->labels[b->n_rows * file->n_targets + column->place] = value;
    else
        put_cell(b, column->place, value);
}

/* The text cannot be read as a value of the model's column. */
static karma_status put_text(karma_i_csv_block *b, const karma_i_csv_column *column, karma_error *err) {
    if (column->role != ROLE_ATTRIBUTE) return KARMA_OK;
    if (!karma_i_reserve(&b->texts, &b->text_capacity, b->n_texts + 1, sizeof *b->texts))
        return karma_i_fail_memory(err);
    b->texts[b->n_texts++] = (karma_i_text_cell){b->n_rows, column->place};
    return KARMA_OK;
}

static karma_status take_id(karma_i_csv_block *b, const karma_i_csv_file *file, size_t *n_ids,
                            const karma_i_csv_field *field, karma_error *err) {
    if (!karma_i_reserve(&b->id_bytes, &b->id_capacity, b->id_used + field->length + 1, 1))
        return karma_i_fail_memory(err);
    memcpy(b->id_bytes + b->id_used, field->text, field->length);
    b->id_used += field->length;
    b->id_end[b->n_rows * file->n_ids + (*n_ids)++] = b->id_used;
    return KARMA_OK;
}

static karma_status fail_weight(const karma_i_csv_file *file, const karma_i_csv_column *column,
                                const karma_i_csv_field *field, karma_error *err) {
    char name[KARMA_I_EXCERPT_SIZE], text[KARMA_I_EXCERPT_SIZE];
    const char *own = karma_i_csv_column_name(file, column), *unit = file->style.counts_rows ? "row" : "line";
    (void)karma_i_excerpt(name, own, strlen(own));
    if (karma_i_is_missing(&file->missing, field->text, field->length))
        return karma_i_fail(err, KARMA_ERR_DATA, "%s: %s %zu, column '%s': the row weight is missing", file->name, unit,
                            field->line, name);
    return karma_i_fail(err, KARMA_ERR_DATA,
                        "%s: %s %zu, column '%s': '%s' is not a row weight, 0 or a number from 1e-100 to 1e100",
                        file->name, unit, field->line, name, karma_i_excerpt(text, field->text, field->length));
}

/* Weights need no inference. */
static void take_weight(karma_i_csv_block *b, const karma_i_csv_file *file, const karma_i_csv_column *column,
                        const karma_i_csv_field *field) {
    unsigned how;
    double weight;
    if (karma_i_is_missing(&file->missing, field->text, field->length) ||
        !karma_i_numeral_parse(&weight, &how, field->text, field->length, file->style.decimal_mark) ||
        !karma_i_is_weight(weight)) {
        (void)fail_weight(file, column, field, &b->fault);
        b->has_fault = 1;
        return;
    }
    if (weight > b->largest_weight) b->largest_weight = weight;
    b->weights[b->n_rows] = weight;
}

static karma_status take_date(karma_i_csv_block *b, const karma_i_csv_column *column, const karma_i_csv_field *field,
                              karma_error *err) {
    karma_i_moment moment;
    size_t place = column->place;
    if (!karma_i_survey_moment(&moment, &column->survey, field->text, field->length)) return put_text(b, column, err);
    for (unsigned part = 0; part < KARMA_I_N_DATE_PARTS; part++) {
        double value;
        if (!(column->parts >> part & 1)) continue;
        if (karma_i_date_part_value(&value, &moment, (karma_i_date_part)part)) put_cell(b, place, value);
        place++;
    }
    return KARMA_OK;
}

static karma_status take_surveyed(karma_i_csv_block *b, const karma_i_csv_file *file, const karma_i_csv_column *column,
                                  const karma_i_csv_field *field, karma_error *err) {
    karma_i_survey *survey = &b->surveys[column - file->columns];
    double value;
    uint32_t code;
    size_t n_others = survey->n_others;
    KARMA_TRY(karma_i_survey_add(survey, &value, field->text, field->length, field->line, err));
    if (survey->mode == KARMA_I_SURVEY_NUMBER && survey->n_others && !b->suspect) b->suspect = column;
    if (!isnan(value) || karma_i_is_code(&code, value)) put_value(b, file, column, value);
    if (survey->mode != KARMA_I_SURVEY_MODEL_NUMBER || survey->n_others == n_others) return KARMA_OK;
    return put_text(b, column, err);
}

static karma_status take_cell(karma_i_csv_block *b, const karma_i_csv_file *file, size_t number, size_t *n_ids,
                              const karma_i_csv_field *field, karma_error *err) {
    const karma_i_csv_column *column = &file->columns[number];
    unsigned how;
    double value;
    if (column->action == ACTION_SKIP) return KARMA_OK;
    if (column->action == ACTION_ID) return take_id(b, file, n_ids, field, err);
    if (column->action == ACTION_WEIGHT) {
        take_weight(b, file, column, field);
        return KARMA_OK;
    }
    if (karma_i_is_missing(&file->missing, field->text, field->length)) return KARMA_OK;
    if (column->action == ACTION_SURVEY) return take_surveyed(b, file, column, field, err);
    if (column->action == ACTION_DATE) return take_date(b, column, field, err);
    if (karma_i_numeral_parse(&value, &how, field->text, field->length, file->style.decimal_mark))
        put_value(b, file, column, value);
    else if (!karma_i_is_missing_number(field->text, field->length))
        return put_text(b, column, err);
    return KARMA_OK;
}

/* --- records ------------------------------------------------------------------------------------------- */

/* Whether plain numbers may be read in one go, because they can only be numbers. Not with blanks, several of
 * which may be one delimiter. */
static int is_quick(const karma_i_csv_file *file) {
    const karma_i_csv_scan *scan = &file->records.scan;
    return file->style.decimal_mark == '.' && scan->delimiter_length == 1 &&
           !strchr("0123456789+-.eE ", scan->delimiter);
}

static int is_quick_column(const karma_i_csv_file *file, const karma_i_csv_column *column) {
    if (column->role != ROLE_ATTRIBUTE) return 0;
    if (column->action == ACTION_NUMBER) return 1;
    karma_i_survey_mode mode = column->survey.mode;
    return column->action == ACTION_SURVEY && !file->second && mode != KARMA_I_SURVEY_CATEGORY &&
           mode != KARMA_I_SURVEY_MODEL_DATE;
}

/* The byte after a plain number or an empty cell and its delimiter or line feed; NULL: it is something else. */
static inline const char *take_quickly(karma_i_csv_block *b, const karma_i_csv_file *file, size_t number,
                                       karma_i_csv_scan *scan, int *last) {
    const char *p = scan->next, *end = scan->source->text + scan->source->length;
    double value;
    *last = 0;
    if (*p == scan->delimiter) return p + 1;
    if (file->missing.starts[(unsigned char)*p]) return NULL;
    if (*p == '0' && p[1] >= '0' && p[1] <= '9') return NULL; /* may be a code: the survey counts it */
    const char *behind = karma_i_number_scan(&value, p, end);
    if (!behind) return NULL;
    if (file->columns[number].action == ACTION_SURVEY && !b->surveys[number].has_fractions) {
        if (behind - p >= 5 && behind[-4] == '.') return NULL; /* may be thousands: the survey counts it */
        b->surveys[number].has_fractions = value != trunc(value);
    }
    if (*behind != scan->delimiter) {
        if (*behind == '\r') behind++;
        if (*behind != '\n') return NULL;
        *last = 1;
        scan->line++;
    }
    put_cell(b, file->columns[number].place, value);
    b->n_plain[number]++;
    return behind + 1;
}

/* A bad cell is reported only now: in a row with a wrong number of fields, that is the better explanation. */
static karma_status end_row(karma_i_csv_block *b, const karma_i_csv_file *file, karma_error *err) {
    b->row_end[b->n_rows++] = b->n_cells;
    if (b->has_fault) {
        if (err) *err = b->fault;
        return b->fault.status;
    }
    if (!b->suspect) return KARMA_OK;
    return karma_i_survey_check(&b->surveys[b->suspect - file->columns], file->name,
                                karma_i_csv_column_name(file, b->suspect), err);
}

static karma_status parse_record(karma_i_csv_block *b, const karma_i_csv_file *file, const unsigned char *quick,
                                 karma_i_csv_scan *scan, karma_error *err) {
    size_t line = scan->line, n_columns = file->n_columns, n = 0, n_ids = 0;
    int last = 0, ends_empty = 0;
    if (!reserve_row(b, file)) return karma_i_fail_memory(err);
    for (size_t k = 0; k < file->n_targets; k++) b->labels[b->n_rows * file->n_targets + k] = NAN;
    for (;; n++) {
        const char *behind = n < n_columns && quick[n] ? take_quickly(b, file, n, scan, &last) : NULL;
        if (behind) {
            scan->next = behind;
        } else {
            karma_i_csv_field field;
            KARMA_TRY(karma_i_csv_next(&field, scan, err));
            if (n == 0 && n_columns > 1 && karma_i_csv_is_empty_line(&field)) return KARMA_OK;
            if (n < n_columns) KARMA_TRY(take_cell(b, file, n, &n_ids, &field, err));
            last = field.last;
            ends_empty = field.length == 0;
        }
        if (last) break;
    }
    if (n + 1 != n_columns) return karma_i_csv_fail_ragged(&file->records, line, n + 1, ends_empty, err);
    return end_row(b, file, err);
}

/* Parses up to the limit; *cut_at becomes the start of a record that is cut by the end of the text, or
 * NULL. */
static karma_status parse_records(karma_i_csv_block *b, const char **cut_at, const karma_i_csv_file *file,
                                  const unsigned char *quick, karma_i_csv_scan *scan, int is_cut, karma_error *err) {
    *cut_at = NULL;
    while (scan->next < b->limit) {
        const char *start = scan->next;
        karma_status st = parse_record(b, file, quick, scan, err);
        if (st != KARMA_OK && is_cut && scan->ran_out) {
            *cut_at = start;
            return KARMA_OK;
        }
        if (st != KARMA_OK) return st;
    }
    b->end = scan->next;
    return KARMA_OK;
}

karma_status karma_i_csv_block_parse(karma_i_csv_block *block, const karma_i_csv_file *file, const karma_i_source *text,
                                     int is_cut, size_t first_line, karma_error *err) {
    karma_i_csv_scan scan = file->records.scan;
    unsigned char *quick = karma_i_zalloc(file->n_columns, 1);
    karma_status st = quick ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && is_quick(file) && i < file->n_columns; i++)
        quick[i] = (unsigned char)is_quick_column(file, &file->columns[i]);
    if (st == KARMA_OK)
        st = karma_i_check_text(file->name, block->start, (size_t)(block->limit - block->start), first_line, err);
    const char *cut_at = NULL;
    for (int again = st == KARMA_OK; again;) {
        scan.source = text;
        scan.next = block->start;
        scan.line = first_line;
        scan.unquoted = NULL;
        scan.unquoted_capacity = 0;
        scan.ran_out = 0;
        reset(block, file);
        st = parse_records(block, &cut_at, file, quick, &scan, is_cut, err);
        karma_i_csv_scan_clear(&scan);
        if (cut_at) block->limit = cut_at; /* again without it: its first cells were counted */
        again = st == KARMA_OK && cut_at != NULL;
    }
    block->n_lines = scan.line - first_line;
    block->status = st;
    karma_i_free(quick);
    return st;
}
