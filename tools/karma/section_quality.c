/* Quality on rows with labels; classes and numbers have a file each. */
#include "quality.h"

static int applies(const report *r) {
    return r->n_outcomes > 0;
}

static karma_status write_section(report *r, karma_error *err) {
    if (r->is_training && !r->cv) page_warning(&r->page, "Measured on the training rows, so better than on new ones.");
    if (r->numbers)
        page_paragraph(&r->page, "Measured on %zu of the %zu rows, drawn at random.", karma_table_n_rows(r->rows),
                       karma_table_n_rows(r->table));
    for (size_t i = 0; i < r->n_outcomes; i++) {
        const outcome *o = &r->outcomes[i];
        if (r->n_outcomes > 1) page_heading(&r->page, "%s", o->target);
        karma_status st = o->n_classes ? write_class_quality(r, o, err) : write_number_quality(r, o, err);
        if (st != KARMA_OK) return st;
    }
    return KARMA_OK;
}

const report_section section_quality = {"quality", "Quality", applies, write_section};
