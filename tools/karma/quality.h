/* Figures of quality: for classes and for numbers. */
#ifndef KARMA_QUALITY_H
#define KARMA_QUALITY_H

#include "report_page.h"

karma_status write_class_quality(report *r, const outcome *o, karma_error *err);
karma_status write_number_quality(report *r, const outcome *o, karma_error *err);

#endif
