/* The frame of a page. Styles and script are files of their own, compiled in; the page allows these two and nothing
 * else to run or to be loaded (Content-Security-Policy), so it works without a network and keeps to itself. */
#include <math.h>
#include <stdarg.h>

#include "markup.h"
#include "page.h"
#include "page_files.h"

/* A sentence of the program with values in it. */
static void put_formatted(FILE *stream, const char *format, va_list values) {
    char text[4096];
    (void)vsnprintf(text, sizeof text, format, values);
    put_text(stream, text);
}

#define PUT_ARGUMENTS(p, format)                                                                                       \
    do {                                                                                                               \
        va_list values;                                                                                                \
        va_start(values, format);                                                                                      \
        put_formatted((p)->stream, format, values);                                                                    \
        va_end(values);                                                                                                \
    } while (0)

static void close_figure_row(page *p) {
    if (p->is_figure_row_open) fputs("</div>\n", p->stream);
    p->is_figure_row_open = 0;
}

void page_figure_row(page *p) {
    if (!p->is_figure_row_open) fputs("<div class=\"figures\">\n", p->stream);
    p->is_figure_row_open = 1;
}

void page_begin(page *p, FILE *stream, const char *title, const char *lead) {
    *p = (page){.stream = stream};
    fprintf(
        stream,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; base-uri &#39;none&#39;; "
        "form-action &#39;none&#39;; style-src &#39;sha256-%s&#39; &#39;sha256-%s&#39;; script-src "
        "&#39;sha256-%s&#39;\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
        page_css_hash, figure_css_hash, page_js_hash);
    put_text(stream, title);
    fprintf(stream, "</title>\n<style>%s</style>\n<style id=\"figure-style\">%s</style>\n</head>\n<body>\n", page_css,
            figure_css);
    fputs("<header>\n<h1>", stream);
    put_text(stream, title);
    fputs("</h1>\n<p>", stream);
    put_text(stream, lead);
    fputs("</p>\n</header>\n", stream);
}

void page_end(page *p) {
    close_figure_row(p);
    fprintf(p->stream,
            "</main>\n<div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>%s</script>\n</body>\n</html>\n",
            page_js);
}

void page_contents_begin(page *p) {
    fputs("<nav aria-label=\"Sections\">\n<ul>\n", p->stream);
}

void page_contents_item(page *p, const char *id, const char *title) {
    fprintf(p->stream, "<li><a href=\"#%s\">", id);
    put_text(p->stream, title);
    fputs("</a></li>\n", p->stream);
}

void page_contents_end(page *p) {
    fputs("</ul>\n</nav>\n<main>\n", p->stream);
}

void page_section_begin(page *p, const char *id, const char *title) {
    fprintf(p->stream, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">", id, id, id);
    put_text(p->stream, title);
    fputs("</h2>\n", p->stream);
}

void page_section_end(page *p) {
    close_figure_row(p);
    fputs("</section>\n", p->stream);
}

void page_heading(page *p, const char *format, ...) {
    close_figure_row(p);
    fputs("<h3>", p->stream);
    PUT_ARGUMENTS(p, format);
    fputs("</h3>\n", p->stream);
}

void page_paragraph(page *p, const char *format, ...) {
    close_figure_row(p);
    fputs("<p>", p->stream);
    PUT_ARGUMENTS(p, format);
    fputs("</p>\n", p->stream);
}

void page_warning(page *p, const char *format, ...) {
    close_figure_row(p);
    fputs("<p class=\"warning\"><strong>Note.</strong> ", p->stream);
    PUT_ARGUMENTS(p, format);
    fputs("</p>\n", p->stream);
}

void page_code(page *p, const char *text) {
    close_figure_row(p);
    fputs("<pre tabindex=\"0\"><code>", p->stream);
    put_text(p->stream, text);
    fputs("</code></pre>\n", p->stream);
}

void page_list_begin(page *p) {
    close_figure_row(p);
    fputs("<ul>\n", p->stream);
}

void page_list_item(page *p, const char *format, ...) {
    fputs("<li>", p->stream);
    PUT_ARGUMENTS(p, format);
    fputs("</li>\n", p->stream);
}

void page_list_end(page *p) {
    fputs("</ul>\n", p->stream);
}

void page_cards_begin(page *p) {
    close_figure_row(p);
    fputs("<dl class=\"cards\">\n", p->stream);
}

void page_card(page *p, const char *value, const char *format, ...) {
    fputs("<div><dt>", p->stream);
    PUT_ARGUMENTS(p, format);
    fputs("</dt><dd>", p->stream);
    put_text(p->stream, value);
    fputs("</dd></div>\n", p->stream);
}

void page_cards_end(page *p) {
    fputs("</dl>\n", p->stream);
}

/* --- tables -------------------------------------------------------------------------------------------- */

void page_table_begin(page *p, const char *caption, const table_column *columns, size_t n) {
    close_figure_row(p);
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"", p->stream);
    put_text(p->stream, caption);
    fputs("\"><table class=\"sortable\"><caption>", p->stream);
    put_text(p->stream, caption);
    fputs("</caption><thead><tr>", p->stream);
    for (size_t i = 0; i < n; i++) {
        fprintf(p->stream, "<th scope=\"col\"%s><button type=\"button\">", columns[i].is_number ? " class=\"n\"" : "");
        put_text(p->stream, columns[i].name);
        fputs("</button></th>", p->stream);
    }
    fputs("</tr></thead><tbody>", p->stream);
}

/* A line ends where the next one begins, or the table: HTML needs no end of rows and cells. */
void page_table_line(page *p) {
    fputs("\n<tr>", p->stream);
    p->is_line_start = 1;
}

static void open_cell(page *p, const char *attributes) {
    fprintf(p->stream, "<%s%s>", p->is_line_start ? "th scope=\"row\"" : "td", attributes);
    p->is_line_start = 0;
}

void page_cell(page *p, const char *format, ...) {
    open_cell(p, "");
    PUT_ARGUMENTS(p, format);
}

void page_number(page *p, double value, const char *format, ...) {
    char attributes[64] = " class=\"n\"";
    if (isfinite(value)) (void)snprintf(attributes, sizeof attributes, " class=\"n\" data-value=\"%.9g\"", value);
    open_cell(p, attributes);
    PUT_ARGUMENTS(p, format);
}

void page_table_end(page *p) {
    fputs("</tbody></table></div>\n", p->stream);
}
