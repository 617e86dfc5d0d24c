#include "fuzz_table.h"

#include <math.h>

enum { MOST_ROWS = 12, MOST_COLUMNS = 4 };

static const char *const LEVELS[] = {"a", "b", "c d", "<e>"};

/* A small set of values, the extreme ones among them. */
static double draw_value(fuzz_source *source) {
    static const double extreme[] = {0.0, -0.0, 1e-300, 1e300, -1e300, 1e-5, 9007199254740993.0, 5e-324};
    unsigned byte = fuzz_byte(source);
    if (byte >= 224) return NAN;
    if (byte >= 208) return extreme[byte % 8];
    return ((double)byte - 100.0) / 8.0;
}

karma_table *fuzz_table(fuzz_source *source) {
    size_t n_rows = 1 + fuzz_byte(source) % MOST_ROWS, n_columns = 1 + fuzz_byte(source) % MOST_COLUMNS;
    karma_columns *columns = NULL;
    karma_table *table = NULL;
    double values[MOST_ROWS];
    const char *texts[MOST_ROWS];
    if (karma_columns_new(&columns, n_rows, NULL) != KARMA_OK) return NULL;
    for (size_t j = 0; j < n_columns; j++) {
        char name[] = {(char)('a' + (int)j), '\0'};
        int is_text = fuzz_byte(source) % 3 == 0;
        for (size_t i = 0; i < n_rows; i++) {
            values[i] = draw_value(source);
            texts[i] = isnan(values[i]) ? NULL : LEVELS[(size_t)fabs(fmod(values[i] * 8.0, 4.0))];
        }
        karma_status st = is_text ? karma_columns_add_texts(columns, name, texts, NULL)
                                  : karma_columns_add_numbers(columns, name, values, KARMA_FLOAT64,
                                                              (ptrdiff_t)sizeof *values, NULL, NULL);
        if (st != KARMA_OK) break;
    }
    if (karma_columns_finish(&table, columns, NULL) != KARMA_OK) return NULL;
    for (size_t i = 0; i < n_rows; i++) {
        values[i] = draw_value(source);
        texts[i] = isnan(values[i]) ? NULL : LEVELS[(size_t)fabs(fmod(values[i] * 8.0, 4.0))];
    }
    karma_status st = fuzz_byte(source) % 2 ? karma_table_add_target_numbers(table, "y", values, NULL)
                                            : karma_table_add_target_classes(table, "y", texts, NULL);
    if (st != KARMA_OK) {
        karma_table_free(table);
        return NULL;
    }
    return table;
}
