// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/verb.h"

/// Words and options that several verbs have in common.
namespace gpuprobe {

inline constexpr std::string_view kBackendWords = "cuda rocm sycl vulkan opencl webgpu cpu";
inline constexpr std::string_view kApiWords = "vulkan opencl cuda nvml hip level_zero pci cpu";
inline constexpr std::string_view kFamilyWords =
    "family:cuda family:rocm family:vulkan family:xpu family:cpu";

/// What a request to choose a backend and an override say alike.
std::vector<Option> rule_options();
/// What select and env ask.
std::vector<Option> choice_options();
/// What probe and bench ask for.
std::vector<Option> trial_options();
/// What recommend and export ask about variants.
std::vector<Option> variant_options();

/// One more GPU.
Status take_gpu(Arguments& arguments, const std::string& word);
/// CONSUMER, in the place where a choice is made for it.
Status take_consumer(Arguments& arguments, const std::string& word);

}  // namespace gpuprobe
