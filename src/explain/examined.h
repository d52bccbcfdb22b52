// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/value.h"
#include "explain/doctor.h"
#include "explain/place.h"

namespace gpuprobe::inline explain {

/// What the terms of causes look at, by the name that their paths begin with (Scene::roots): the
/// report, with what each GPU's APIs said and its chip's name beside the GPU; the place; and what
/// surrounds whoever asks.
Value examined(const Report& report, const Surroundings& surroundings, const Place& place);

}  // namespace gpuprobe::inline explain
