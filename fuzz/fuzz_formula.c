/* Formulas of kernels: a text is refused, or it gives a plan whose printed text gives an equal plan. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernel/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    karma_fit_options options;
    karma_i_plan plan, again;
    char *text = malloc(size + 1), *printed = NULL, *reprinted = NULL;
    karma_error err = {0};
    if (!text) return 0;
    memcpy(text, bytes, size);
    text[size] = '\0';
    karma_options_init(karma_fit_option_table(), &options);
    if (karma_i_plan_parse(&plan, text, &options, &err) == KARMA_OK) {
        FUZZ_CHECK(karma_i_plan_print(&printed, &plan, NULL) == KARMA_OK, "a plan cannot be printed");
        if (karma_i_plan_parse(&again, printed, &options, &err) != KARMA_OK) fuzz_fail(err.message);
        FUZZ_CHECK(karma_i_plan_print(&reprinted, &again, NULL) == KARMA_OK, "a plan cannot be printed again");
        FUZZ_CHECK(strcmp(printed, reprinted) == 0, "the plan of its own text is another one");
        karma_i_plan_clear(&again);
        karma_i_plan_clear(&plan);
    } else {
        FUZZ_CHECK(err.message[0] != '\0', "an error without a message");
    }
    karma_i_free(printed);
    karma_i_free(reprinted);
    free(text);
    return 0;
}
