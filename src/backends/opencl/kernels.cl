// SPDX-License-Identifier: Apache-2.0
// The kernels of compute/device.h, compiled by the device's driver. A definition WITH_… selects the kernels
// to compile: a check needs only one small kernel, and some devices do not support halves or bytes. 128
// threads per group.

// For C++, hip/preamble.hip defines the parts that differ.
#ifndef __cplusplus
#define VECTOR(x, y, z, w) (uint4)(x, y, z, w)
#define PAIR(x, y) (half2)(x, y)
#define FUSED_PAIR fma
// If fused operations are slow, unfused ones give the same result, because the numbers are small integers.
#ifdef FP_FAST_FMAF
#define FUSED fma
#else
#define FUSED mad
#endif
#endif

#define KERNEL __kernel __attribute__((reqd_work_group_size(128, 1, 1))) void
#define FROM __global const uint* restrict from
#define FROM_VECTORS __global const uint4* restrict from
#define TO __global uint* restrict to
#define TO_VECTORS __global uint4* restrict to
#define ARGUMENTS uint rounds, int factor, int addend

// A thread's sixteen vectors are 128 vectors apart, so that adjacent threads read adjacent vectors.
#define FIRST_VECTOR ((uint)get_group_id(0) * 2048u + (uint)get_local_id(0))
#define FOR_EACH_VECTOR for (uint row = 0u, i = FIRST_VECTOR; row < 16u; ++row, i += 128u)

#ifdef WITH_CHECK
KERNEL check(FROM, TO, ARGUMENTS) {
    const uint i = get_global_id(0);
    to[i] = from[i] * 3u + 1u;
}
#endif

#ifdef WITH_MEMORY
KERNEL fill(FROM, TO_VECTORS, ARGUMENTS) {
    const uint4 lanes = VECTOR(0u, 1u, 2u, 3u);
    FOR_EACH_VECTOR
        to[i] = (i * 4u + lanes) * (uint)factor + (uint)addend;
}

KERNEL read(FROM_VECTORS, TO, ARGUMENTS) {
    uint4 sum = VECTOR(0u, 0u, 0u, 0u);
#pragma unroll
    FOR_EACH_VECTOR
        sum += from[i];
    to[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;
}

KERNEL copy(FROM_VECTORS, TO_VECTORS, ARGUMENTS) {
#pragma unroll
    FOR_EACH_VECTOR
        to[i] = from[i];
}
#endif

// One step of each of the eight chains.
#define STEP(next) \
    x0 = next(x0); x1 = next(x1); x2 = next(x2); x3 = next(x3); \
    x4 = next(x4); x5 = next(x5); x6 = next(x6); x7 = next(x7);
#define TWICE(steps) steps steps
#define EIGHT_TIMES(steps) TWICE(TWICE(TWICE(steps)))

#ifdef WITH_FP32
#define FP32_START(chain) (float)((thread + chain) & 63u)
#define FP32_EVEN(x) FUSED(x, a, b)
#define FP32_ODD(x) FUSED(x, a, c)

KERNEL fp32(FROM, TO, ARGUMENTS) {
    const uint thread = get_global_id(0);
    const float a = factor, b = addend, c = addend + 1;
    float x0 = FP32_START(0u), x1 = FP32_START(1u), x2 = FP32_START(2u), x3 = FP32_START(3u);
    float x4 = FP32_START(4u), x5 = FP32_START(5u), x6 = FP32_START(6u), x7 = FP32_START(7u);
    for (uint round = 0; round < rounds; ++round) {
        EIGHT_TIMES(STEP(FP32_EVEN) STEP(FP32_ODD))
    }
    to[thread] = (uint)(x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7);
}
#endif

#ifdef WITH_FP16
#ifndef __cplusplus
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#define FP16_START(chain) PAIR((half)((thread + chain) & 31u), (half)((thread + chain + 1u) & 31u))
#define FP16_NEXT(x) FUSED_PAIR(x, a, b)

KERNEL fp16(FROM, TO, ARGUMENTS) {
    const uint thread = get_global_id(0);
    // Both halves have the same value, but the compiler must not know that; cuda/kernels.ptx has the reason.
    const int nothing = (int)(rounds >> 31);
    const half2 a = PAIR((half)factor, (half)(factor + nothing));
    const half2 b = PAIR((half)addend, (half)(addend + nothing));
    half2 x0 = FP16_START(0u), x1 = FP16_START(1u), x2 = FP16_START(2u), x3 = FP16_START(3u);
    half2 x4 = FP16_START(4u), x5 = FP16_START(5u), x6 = FP16_START(6u), x7 = FP16_START(7u);
    for (uint round = 0; round < rounds; ++round) {
        EIGHT_TIMES(STEP(FP16_NEXT) STEP(FP16_NEXT))
    }
    STEP(FP16_NEXT)
    const half2 sum = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
    to[thread] = (uint)(sum.x + sum.y);
}
#endif

#ifdef WITH_INT8
// Source: OpenCL C specification, "Integer Dot Product Functions".
#define INT8_NEXT(x) (uint)(dot_4x8packed_ss_int(x, (uint)factor) + addend)

KERNEL int8(FROM, TO, ARGUMENTS) {
    const uint thread = get_global_id(0);
    const uint start = thread * 8u;
    uint x0 = start, x1 = start + 1u, x2 = start + 2u, x3 = start + 3u;
    uint x4 = start + 4u, x5 = start + 5u, x6 = start + 6u, x7 = start + 7u;
    for (uint round = 0; round < rounds; ++round) {
        EIGHT_TIMES(STEP(INT8_NEXT) STEP(INT8_NEXT))
    }
    to[thread] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
}
#endif
