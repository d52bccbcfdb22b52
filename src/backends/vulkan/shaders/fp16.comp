// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define From uint
#define To uint
#include "kernel.glsl"

#define START(chain) f16vec2(vec2(float((thread + chain) & 31u), float((thread + chain + 1u) & 31u)))
#define NEXT(x) fma(x, a, b)

void main() {
    const uint thread = gl_GlobalInvocationID.x;
    // Both halves have the same value, but the compiler must not know that; cuda/kernels.ptx has the reason.
    const int nothing = int(rounds >> 31);
    const f16vec2 a = f16vec2(vec2(float(factor), float(factor + nothing)));
    const f16vec2 b = f16vec2(vec2(float(addend), float(addend + nothing)));
    f16vec2 x0 = START(0u), x1 = START(1u), x2 = START(2u), x3 = START(3u);
    f16vec2 x4 = START(4u), x5 = START(5u), x6 = START(6u), x7 = START(7u);
    for (uint turn = 0u; turn < rounds; ++turn) {
        EIGHT_TIMES(STEP(NEXT) STEP(NEXT))
    }
    STEP(NEXT)
    const f16vec2 sum = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
    to[thread] = uint(float(sum.x + sum.y));
}
