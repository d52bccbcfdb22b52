// SPDX-License-Identifier: Apache-2.0
#include "cli/shared_options.h"

namespace gpuprobe {
namespace {

template <auto Member>
Status put_select(Arguments& arguments, const std::string& word) {
    return put<&Arguments::select, Member>(arguments, word);
}

constexpr Word backend_list() {
    return {.name = "LIST", .offers = kBackendWords, .is_list = true};
}

}  // namespace

std::vector<Option> rule_options() {
    return {
        {.names = "--prefer",
         .value = backend_list(),
         .help = "backends to try first",
         .take = put_select<&SelectArguments::prefer>},
        {.names = "--only",
         .value = backend_list(),
         .help = "these backends or none",
         .take = put_select<&SelectArguments::only>},
        {.names = "--deny",
         .value = {.name = "LIST", .offers = kBackendWords, .names = kGpus, .is_list = true},
         .help = "backends or GPU ids never to use",
         .take = put_select<&SelectArguments::deny>},
        {.names = "--gpu",
         .value = {.name = "LIST", .names = kGpus, .is_list = true},
         .help = "these GPUs or none",
         .take = put_select<&SelectArguments::gpus>},
        {.names = "--backend",
         .value = {.name = "NAME", .offers = "cuda rocm sycl vulkan opencl webgpu cpu none"},
         .help = "this backend or none; 'none' for no GPU",
         .take = put_select<&SelectArguments::backend>},
        {.names = "--min-memory",
         .value = {.name = "SIZE", .offers = "4GiB 8GiB 16GiB 24GiB"},
         .help = "memory a GPU must offer: 8GiB, 8GB, 8192MiB",
         .take = put_select<&SelectArguments::min_memory>},
        {.names = "--strict",
         .help = "fail rather than fall back to the CPU",
         .take = put_select<&SelectArguments::strict>},
    };
}

std::vector<Option> choice_options() {
    return joined(
        {{.names = "--built",
          .value = backend_list(),
          .help = "the backends that the consumer is built with: cuda,vulkan,…",
          .take = put_select<&SelectArguments::built>},
         {.names = "--explain",
          .help = "every candidate with the reason for its verdict",
          .take = put_select<&SelectArguments::explain>}},
        joined(
            rule_options(),
            {{.names = "--any-vendor",
              .help = "each backend of the consumer on every vendor's GPUs",
              .take = put_select<&SelectArguments::any_vendor>},
             {.names = "--require",
              .value = {.name = "LIST", .offers = "fp16 bfloat16 int8 verified", .is_list = true},
              .help = "what must hold: vulkan>=1.2,fp16,'gfx=gfx90a|gfx942'",
              .take = put_select<&SelectArguments::require>},
             {.names = "--require-verified",
              .help = "only what computed a checked result: probe --stage=verify",
              .take = put_select<&SelectArguments::requires_verified>},
             {.names = "--rank",
              .value = {.name = "ORDER", .offers = "documented measured", .takes_others = false},
              .help = "documented, or measured: the fastest of what bench has measured",
              .take = put_select<&SelectArguments::rank>},
             {.names = "--platform",
              .value = {.name = "NAME",
                        .offers = "darwin-arm64 darwin-amd64 linux-amd64 linux-arm64"},
              .help = "answer for another machine: darwin-arm64",
              .take = put_select<&SelectArguments::platform>},
             {.names = "--fake",
              .value = backend_list(),
              .help = "make up a GPU for each of these backends",
              .take = put_select<&SelectArguments::fake>},
             {.names = "--forbid-fake",
              .help = "refuse to",
              .take = put_select<&SelectArguments::forbids_fake>},
             {.names = "--no-rejected",
              .help = "leave rejected candidates out",
              .take = put_select<&SelectArguments::hides_rejected>}}));
}

std::vector<Option> trial_options() {
    return {
        {.names = "--api",
         .value = {.name = "LIST", .offers = kApiWords, .is_list = true},
         .help = "only these APIs: vulkan,opencl,…",
         .take = put<&Arguments::apis>},
        {.names = "--allow-wake",
         .help = "wake sleeping GPUs",
         .take = put<&Arguments::allow_wake>},
        {.names = "--force",
         .help = "measure also what is in use, short of memory, or runs on battery",
         .take = put<&Arguments::measures_in_use>},
    };
}

std::vector<Option> variant_options() {
    return {
        {.names = "--manifest",
         .value = {.name = "FILE", .names = kFiles},
         .help = "the variants there are; without it the installed list of PRODUCT",
         .take = put<&Arguments::recommend, &RecommendArguments::manifest>},
        {.names = "--prefer",
         .value = {.name = "NAMES", .offers = kFamilyWords, .is_list = true},
         .help = "these first",
         .take = put_select<&SelectArguments::prefer>},
        {.names = "--only",
         .value = {.name = "NAMES", .offers = kFamilyWords, .is_list = true},
         .help = "these or none",
         .take = put_select<&SelectArguments::only>},
        {.names = "--exclude",
         .value = {.name = "NAMES", .offers = kFamilyWords, .is_list = true},
         .help = "not these: after a failure, family:cuda or the like",
         .take = put<&Arguments::recommend, &RecommendArguments::exclude>},
        {.names = "--need-mib",
         .value = {.name = "N"},
         .help = "memory that every GPU must offer",
         .take = put<&Arguments::recommend, &RecommendArguments::need_mib>},
        {.names = "--require-verified",
         .help = "of a GPU only what computed a checked result: probe --stage=verify",
         .take = put_select<&SelectArguments::requires_verified>},
    };
}

Status take_gpu(Arguments& arguments, const std::string& word) {
    arguments.gpus.push_back(word);
    return Done{};
}

Status take_consumer(Arguments& arguments, const std::string& word) {
    arguments.select.consumer = word;
    arguments.select.names_consumer = true;
    return Done{};
}

}  // namespace gpuprobe
