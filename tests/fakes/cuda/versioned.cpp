// SPDX-License-Identifier: Apache-2.0
/// A function that a driver needs, built with two symbol versions (../nvidia.cmake).
extern "C" int fake_versioned() {
    return 0;
}
