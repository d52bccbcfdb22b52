// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#define From uint
#define To uvec4
#include "kernel.glsl"

void main() {
    FOR_EACH_VECTOR
        to[i] = (i * 4u + uvec4(0u, 1u, 2u, 3u)) * uint(factor) + uint(addend);
}
