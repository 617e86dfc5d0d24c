#include "search/without_search.h"

#include "base/error.h"
#include "base/options_accept.h"

static void notice(const char *name, const karma_search_options *options, const karma_hooks *hooks) {
    if (karma_i_option_is_default(karma_option_find(karma_search_option_table(), name), options)) return;
    karma_i_notice(hooks, "option '%s' has no effect: there is no search (option 'effort=normal' makes one)", name);
}

void karma_i_notice_idle_search(const karma_search_options *options, int is_judged, const karma_hooks *hooks) {
    notice("time", options, hooks);
    if (!is_judged) notice("goal", options, hooks);
    notice("choose", options, hooks);
}
