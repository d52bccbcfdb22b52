// SPDX-License-Identifier: Apache-2.0
#include "base/parse.h"
#include "export/exported_gpu.h"
#include "export/formats.h"
#include "export/verdicts.h"
#include "policy/fact.h"

/// Exports attributes for HTCondor: lines of "Name = expression", and "-" ends an ad. Source:
/// HTCondor manual, "Startd Cron" and "ClassAd Language Reference".
namespace gpuprobe::inline exports {
namespace {

/// A string literal of the ClassAd language.
std::string classad_string(std::string_view text) {
    std::string result = "\"";
    for (const char character : scrubbed(text)) {
        if (character == '"' || character == '\\')
            result += '\\';
        result += character;
    }
    return result + "\"";
}

/// A list of expressions: "{a,b}".
std::string list_of(const std::vector<std::string>& items) {
    std::string text = "{";
    for (const auto& item : items)
        text += (text.size() == 1 ? "" : ",") + item;
    return text + "}";
}

std::vector<std::string> quoted_keys(const std::map<std::string, int>& counts) {
    std::vector<std::string> words;
    for (const auto& [word, count] : counts)
        words.push_back(classad_string(word));
    return words;
}

/// A GPU as a nested ad.
std::string record_of(const ExportedGpu& gpu) {
    auto text = "[ id=" + classad_string(gpu.place) + "; vendor=" + classad_string(gpu.vendor) +
                "; kind=" + classad_string(name_of(gpu.gpu->kind)) + ";";
    if (gpu.model)
        text += " model=" + classad_string(*gpu.model) + ";";
    if (const auto unit = unit_word(gpu))
        text += " unit=" + classad_string(*unit) + ";";
    if (gpu.arch)
        text += " arch=" + classad_string(*gpu.arch) + ";";
    if (gpu.target)
        text += " target=" + classad_string(*gpu.target) + ";";
    if (gpu.gpu->driver.version)
        text += " driver_version=" + classad_string(*gpu.gpu->driver.version) + ";";
    if (const auto vulkan = usable_vulkan(gpu))
        text += " vulkan=" + classad_string(text_of(*vulkan)) + ";";
    std::vector<std::string> apis;
    for (const auto& [api, works] : gpu.apis)
        if (works)
            apis.push_back(classad_string(api));
    text += " apis=" + list_of(apis) + ";";
    if (memory_of(gpu))
        text += " memory_mb=" + std::to_string(memory_of(gpu)->count / mib(1).count) + ";";
    return text + " ]";
}

/// The number of GPUs on which each API works.
std::map<std::string, int> apis_of(const std::vector<ExportedGpu>& gpus) {
    std::map<std::string, int> counts;
    for (const auto& gpu : gpus)
        for (const auto& [api, works] : gpu.apis)
            if (works)
                ++counts[api];
    return counts;
}

/// The attributes of the host.
std::string host_attributes(const ExportedHost& host) {
    std::string text;
    if (host.libc)
        text += "GpuprobeLibc=" + classad_string(*host.libc) + "\n";
    if (host.glibc)
        text += "GpuprobeGlibc=" + classad_string(text_of(*host.glibc)) + "\n";
    if (host.cpu_level)
        text += "GpuprobeCpuLevel=" + std::to_string(*host.cpu_level) + "\n";
    return text;
}

}  // namespace

Exported write_condor_cron(const ExportSubject& subject) {
    Exported result;
    const auto gpus = exported_gpus(subject, result.left_out);
    std::vector<std::string> records;
    for (const auto& gpu : gpus)
        records.push_back(record_of(gpu));
    std::vector<std::string> variants;
    std::string best;
    for (const auto& product : verdicts_of(subject, result.left_out)) {
        for (const auto& variant : product.supported)
            variants.push_back(classad_string(product.product + ":" + variant));
        if (product.best)
            best += "GpuprobeBestVariant_" + identifier_of(product.product) + "=" +
                    classad_string(*product.best) + "\n";
    }
    const auto archs = counted(gpus, [](const ExportedGpu& gpu) { return gpu.arch; });
    result.text =
        "GpuprobeSchema=1\nGpuprobeGeneration=" + std::to_string(subject.report.generation) + "\n" +
        host_attributes(exported_host(subject.report)) +
        "GpuprobeApis=" + list_of(quoted_keys(apis_of(gpus))) +
        "\nGpuprobeArchs=" + list_of(quoted_keys(archs)) +
        "\nGpuprobeVariants=" + list_of(variants) + "\n" + best +
        "GpuprobeGpus=" + list_of(records) + "\n- update:true\n";
    return result;
}

}  // namespace gpuprobe::inline exports
