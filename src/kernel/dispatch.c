/* Which paths this machine can run. Asking the processor is cheap, so nothing is remembered. */
#include "kernel/path_list.h"

#ifdef KARMA_X86_PATHS
static int has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static int has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vpopcntdq");
}

const karma_i_path *const *karma_i_paths(void) {
    static const karma_i_path *const all[] = {&karma_i_path_avx512, &karma_i_path_avx2, &karma_i_path_portable, NULL};
    __builtin_cpu_init();
    if (has_avx2() && has_avx512()) return all;
    return has_avx2() ? all + 1 : all + 2;
}
#else
const karma_i_path *const *karma_i_paths(void) {
    static const karma_i_path *const all[] = {&karma_i_path_portable, NULL};
    return all;
}
#endif
