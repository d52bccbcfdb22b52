// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define From uvec4
#define To uvec4
#include "kernel.glsl"

void main() {
    [[unroll]] FOR_EACH_VECTOR
        to[i] = from[i];
}
