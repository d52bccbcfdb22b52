// SPDX-License-Identifier: Apache-2.0
/// What a driver links, in two versions (../nvidia.cmake).
extern "C" int fake_versioned() {
    return 0;
}
