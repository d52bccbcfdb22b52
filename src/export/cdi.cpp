// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "base/value.h"
#include "export/formats.h"
#include "export/subject.h"

/// Exports a spec of the Container Device Interface (CDI), for GPUs whose vendor has no tool for
/// this purpose. The spec has version 0.5.0, which is the newest version that podman 4.3 in Debian
/// 12 reads, and the oldest version in which device names may begin with a digit. Source: Container
/// Device Interface, SPEC.md.
namespace gpuprobe::inline exports {
namespace {

constexpr const char* kKind = "gpuprobe/gpu";

/// The name of a device, such as "0000-c5-00.0". Device names cannot contain a colon.
std::string device_name(const std::string& place) {
    std::string name;
    for (const char character : place) {
        const bool fits = (character >= 'a' && character <= 'z') ||
                          (character >= '0' && character <= '9') || character == '.' ||
                          character == '_';
        name += fits ? character : '-';
    }
    return name;
}

Value node_of(const std::string& path) {
    Value node{Value::Object{}};
    node["path"] = path;
    return node;
}

/// True if the machine has AMD's compute node.
bool has_kfd(const Report& report) {
    return std::ranges::any_of(report.nodes, [](const DeviceNode& node) {
        return node.path == "/dev/kfd" && node.reason != "missing";
    });
}

/// An environment variable that describes the GPU to programs in the container:
/// "GPUPROBE_GPU_0000_C5_00_0=amd:gfx1100".
std::string variable_of(const ExportedGpu& gpu) {
    auto name = identifier_of(gpu.place);
    for (auto& character : name)
        if (character >= 'a' && character <= 'z')
            character = static_cast<char>(character - 'a' + 'A');
    return "GPUPROBE_GPU_" + name + "=" + gpu.vendor + ":" + gpu.arch.value_or("");
}

/// The nodes and the variable of a GPU. AMD's compute stack needs /dev/kfd as well.
Value device_of(const ExportedGpu& gpu, const Report& report) {
    Value::Array nodes;
    for (const auto* start : {"/dev/dri/card", "/dev/dri/renderD"})
        for (const auto& path : nodes_of(*gpu.gpu, start))
            nodes.push_back(node_of(path));
    if (gpu.vendor == "amd" && has_kfd(report))
        nodes.push_back(node_of("/dev/kfd"));
    Value edits{Value::Object{}};
    edits["deviceNodes"] = Value{std::move(nodes)};
    edits["env"] = Value{Value::Array{Value{variable_of(gpu)}}};
    Value device{Value::Object{}};
    device["name"] = device_name(gpu.place);
    device["containerEdits"] = std::move(edits);
    return device;
}

}  // namespace

Exported write_cdi(const ExportSubject& subject) {
    Exported result;
    Value::Array devices;
    for (const auto& gpu : exported_gpus(subject, result.left_out)) {
        if (gpu.gpu->driver.name == "nvidia")
            // Containers for NVIDIA also need libraries and hooks, which nvidia-ctk adds.
            result.notes.push_back(
                {.code = "vendor-cdi",
                 .text = gpu.place + " is omitted: use 'nvidia-ctk cdi generate'"});
        else if (nodes_of(*gpu.gpu, "/dev/dri/renderD").empty())
            result.left_out.push_back(
                {.code = "no-render-node", .text = gpu.place + " has no render node"});
        else
            devices.push_back(device_of(gpu, subject.report));
    }
    if (devices.empty())
        return {
            .left_out = {{.code = "no-device", .text = "no GPU here is supported by this format"}},
            .notes = result.notes};
    Value document{Value::Object{}};
    document["cdiVersion"] = "0.5.0";
    document["kind"] = kKind;
    document["devices"] = Value{std::move(devices)};
    document["containerEdits"]["env"] = Value{Value::Array{Value{"GPUPROBE_CDI=1"}}};
    result.text = json_pretty(document);
    return result;
}

}  // namespace gpuprobe::inline exports
