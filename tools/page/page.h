/* A self-contained HTML page: head, sections, paragraphs, tables that sort. Figures are in figure.h.
 *
 * Formats and words are the program's own; what they format is escaped as a whole, so a value from data can stand
 * anywhere in a sentence. */
#ifndef PAGE_H
#define PAGE_H

#include <stddef.h>
#include <stdio.h>

#if defined(__GNUC__)
#define PAGE_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define PAGE_PRINTF(text, first)
#endif

typedef struct page {
    FILE *stream;
    size_t n_figures; /* so far: they are numbered */
    int is_figure_row_open, is_line_start;
} page;

/* Everything up to the first section; `lead` is a sentence under the title. */
void page_begin(page *p, FILE *stream, const char *title, const char *lead);
void page_end(page *p);

/* A link of the table of contents; all links come before the first section, between these two. */
void page_contents_begin(page *p);
void page_contents_item(page *p, const char *id, const char *title);
void page_contents_end(page *p);

void page_section_begin(page *p, const char *id, const char *title);
void page_section_end(page *p);
void page_heading(page *p, const char *format, ...) PAGE_PRINTF(2, 3);
void page_paragraph(page *p, const char *format, ...) PAGE_PRINTF(2, 3);
/* A paragraph that nobody should overlook. */
void page_warning(page *p, const char *format, ...) PAGE_PRINTF(2, 3);
/* Lines as they are, such as a command. */
void page_code(page *p, const char *text);
void page_list_begin(page *p);
void page_list_item(page *p, const char *format, ...) PAGE_PRINTF(2, 3);
void page_list_end(page *p);
/* A large number with words under it, several beside each other. */
void page_cards_begin(page *p);
void page_card(page *p, const char *value, const char *format, ...) PAGE_PRINTF(3, 4);
void page_cards_end(page *p);

/* Figures up to the next text stand beside each other where there is room. figure_begin calls it. */
void page_figure_row(page *p);

/* --- tables --- */

typedef struct table_column {
    const char *name;
    int is_number; /* to the right, and sorted by value */
} table_column;

/* Cells follow from left to right; the first one of a line is its heading. */
void page_table_begin(page *p, const char *caption, const table_column *columns, size_t n);
void page_table_line(page *p);
void page_cell(page *p, const char *format, ...) PAGE_PRINTF(2, 3);
/* `value` is what the column is sorted by; NaN comes last. */
void page_number(page *p, double value, const char *format, ...) PAGE_PRINTF(3, 4);
void page_table_end(page *p);

#endif
