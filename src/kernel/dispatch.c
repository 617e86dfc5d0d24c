/* Which paths this machine can run. */
#include "base/cpu.h"
#include "kernel/path_list.h"

#ifdef KARMA_X86_PATHS
const karma_i_path *const *karma_i_paths(void) {
    static const karma_i_path *const all[] = {&karma_i_path_avx512, &karma_i_path_avx2, &karma_i_path_portable, NULL};
    if (karma_i_has_avx512()) return all;
    return karma_i_has_avx2() ? all + 1 : all + 2;
}
#else
const karma_i_path *const *karma_i_paths(void) {
    static const karma_i_path *const all[] = {&karma_i_path_portable, NULL};
    return all;
}
#endif
