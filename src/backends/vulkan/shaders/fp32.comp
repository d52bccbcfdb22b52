// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#define From uint
#define To uint
#include "kernel.glsl"

#define START(chain) float((thread + chain) & 63u)
#define EVEN(x) fma(x, a, b)
#define ODD(x) fma(x, a, c)

void main() {
    const uint thread = gl_GlobalInvocationID.x;
    const float a = float(factor), b = float(addend), c = float(addend + 1);
    float x0 = START(0u), x1 = START(1u), x2 = START(2u), x3 = START(3u);
    float x4 = START(4u), x5 = START(5u), x6 = START(6u), x7 = START(7u);
    for (uint turn = 0u; turn < rounds; ++turn) {
        EIGHT_TIMES(STEP(EVEN) STEP(ODD))
    }
    to[thread] = uint(x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7);
}
