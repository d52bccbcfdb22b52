// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define From uvec4
#define To uint
#include "kernel.glsl"

void main() {
    uvec4 sum = uvec4(0u);
    [[unroll]] FOR_EACH_VECTOR
        sum += from[i];
    to[gl_GlobalInvocationID.x] = sum.x + sum.y + sum.z + sum.w;
}
