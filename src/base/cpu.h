/* Which instructions beyond the compiler's own this processor has. Asking is cheap, so nothing is remembered. The tests
 * belong to the flags of the path libraries in meson.build. */
#ifndef KARMA_I_CPU_H
#define KARMA_I_CPU_H

#ifdef KARMA_X86_PATHS
static inline int karma_i_has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static inline int karma_i_has_avx512(void) {
    return karma_i_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vpopcntdq");
}
#endif

#endif
