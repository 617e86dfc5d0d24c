/* Which instruction sets beyond the compiler's default this processor has. The test is cheap, so its result is not
 * stored. The tests must match the compiler flags of the paths in meson.build. */
#ifndef KARMA_I_CPU_H
#define KARMA_I_CPU_H

#ifdef KARMA_X86_PATHS
#include <stdlib.h>
#include <string.h>

/* Whether the environment variable KARMA_CPU names this path, so that no faster one is used. For tests, and for
 * machines where wide registers slow the processor down. */
static inline int karma_i_cpu_stays_at(const char *path) {
    const char *limit = getenv("KARMA_CPU");
    return limit && strcmp(limit, path) == 0;
}

static inline int karma_i_has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && !karma_i_cpu_stays_at("portable");
}

static inline int karma_i_has_avx512(void) {
    return karma_i_has_avx2() && !karma_i_cpu_stays_at("avx2") && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq");
}
#endif

#endif
