/* Quality on rows with labels; classes and numbers have a file each. */
#include "quality.h"

static int applies(const report *r) {
    return r->n_outcomes > 0;
}

static karma_status write_section(report *r, karma_error *err) {
    const karma_search_info *search = r->model ? karma_model_search_info(r->model) : NULL;
    if (r->is_left_out && r->cv)
        page_paragraph(&r->page, "Every row was predicted by the model of the fold that left it out.");
    else if (r->is_left_out)
        page_paragraph(&r->page, "Measured on %zu rows, each predicted by a model that had not seen it.%s%s",
                       r->outcomes[0].n_rows,
                       search && search->n_checked == 0
                           ? " The same rows chose the model, so new rows may be predicted a little worse."
                           : "",
                       r->outcomes[0].has_probabilities
                           ? " The same rows calibrated the probabilities; karma cv --report shows probabilities of "
                             "rows that did not."
                           : "");
    else if (r->is_training)
        page_warning(&r->page, "Measured on the training rows, so better than on new ones.");
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
