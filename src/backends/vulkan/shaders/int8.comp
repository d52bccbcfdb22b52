// SPDX-License-Identifier: Apache-2.0
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_spirv_intrinsics : require
#define From uint
#define To uint
#include "kernel.glsl"

// OpSDotKHR on packed bytes, given by its number. It is in SPV_KHR_integer_dot_product and needs the
// capabilities DotProductInput4x8BitPackedKHR and DotProductKHR. The last operand is
// PackedVectorFormat4x8BitKHR.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6018, 6019], id = 4450)
int signed_dot(int x, int y, spirv_literal int packing);

#define NEXT(x) (signed_dot(x, factor, 0) + addend)

void main() {
    const uint thread = gl_GlobalInvocationID.x;
    const int start = int(thread * 8u);
    int x0 = start, x1 = start + 1, x2 = start + 2, x3 = start + 3;
    int x4 = start + 4, x5 = start + 5, x6 = start + 6, x7 = start + 7;
    for (uint turn = 0u; turn < rounds; ++turn) {
        EIGHT_TIMES(STEP(NEXT) STEP(NEXT))
    }
    to[thread] = uint(x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7);
}
