// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#define From uint
#define To uint
#include "kernel.glsl"

void main() {
    const uint i = gl_GlobalInvocationID.x;
    to[i] = from[i] * 3u + 1u;
}
