// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/value.h"
#include "export/exported_gpu.h"
#include "export/formats.h"
#include "export/instant_text.h"
#include "export/verdicts.h"
#include "policy/fact.h"

/// Exports facts as a JSON document. All users may read it, so it contains neither UUIDs nor serial
/// numbers.
namespace gpuprobe::inline exports {
namespace {

Value working_apis(const ExportedGpu& gpu) {
    Value::Array words;
    for (const auto& [api, works] : gpu.apis)
        if (works)
            words.emplace_back(api);
    return Value{std::move(words)};
}

/// The facts about a GPU that all JSON formats have.
Value gpu_document(const ExportedGpu& gpu) {
    Value document{Value::Object{}};
    document["id"] = gpu.place;
    document["vendor"] = gpu.vendor;
    document["model"] = to_value(gpu.model);
    document["kind"] = to_value(gpu.gpu->kind);
    if (const auto unit = unit_word(gpu))
        document["unit"] = *unit;
    document["arch"] = to_value(gpu.arch);
    document["memory_bytes"] = to_value(memory_of(gpu));
    document["driver"] = to_value(gpu.gpu->driver.name);
    document["driver_version"] = to_value(gpu.gpu->driver.version);
    document["apis"] = working_apis(gpu);
    return document;
}

/// Whether an API works on a GPU, and the reasons why not, by the codes in docs/reasons.md.
Value api_document(const ExportedGpu& gpu, const ApiInfo& api) {
    Value document{Value::Object{}};
    document["usable"] = to_value(gpu.facts.usable(api.id));
    const auto view = gpu.gpu->backends.find(std::string{api.backend});
    document["verified"] = view != gpu.gpu->backends.end() && view->second.verified;
    Value::Array codes;
    if (view != gpu.gpu->backends.end())
        for (const auto& reason : view->second.reasons)
            codes.emplace_back(reason.code);
    document["reasons"] = Value{std::move(codes)};
    return document;
}

/// The same with details that only programs need.
Value full_gpu_document(const ExportedGpu& gpu) {
    auto document = gpu_document(gpu);
    Value apis{Value::Object{}};
    for (const auto* api : computing_apis())
        apis[api->fleet_word] = api_document(gpu, *api);
    document["apis"] = std::move(apis);
    document["card"] = to_value(gpu.card);
    Value::Array nodes;
    for (const auto& path : nodes_of(*gpu.gpu, "/dev/"))
        nodes.emplace_back(path);
    document["nodes"] = Value{std::move(nodes)};
    document["health"] = gpu.gpu->health;
    return document;
}

Value host_document(const ExportedHost& host) {
    Value document{Value::Object{}};
    document["arch"] = host.arch;
    document["libc"] = to_value(host.libc);
    document["glibc"] = host.glibc ? Value{text_of(*host.glibc)} : Value{};
    document["cpu_level"] = to_value(host.cpu_level);
    return document;
}

/// The members that all JSON formats begin with. Times are texts, which both Ansible and Facter
/// read.
Value header(const ExportSubject& subject) {
    Value document{Value::Object{}};
    document["schema"] = 1;
    document["generation"] = to_value(subject.report.generation);
    const auto& made = subject.report.created;
    document["probed_at"] = made ? Value{instant_text(*made)} : Value{};
    return document;
}

/// The facts for Ansible and Facter: the header, "gpus", "findings", "best_variant" and "variants".
Value facts_document(const ExportSubject& subject, std::vector<ExportRemark>& left_out) {
    auto document = header(subject);
    Value::Array gpus;
    for (const auto& gpu : exported_gpus(subject, left_out))
        gpus.push_back(gpu_document(gpu));
    document["gpus"] = Value{std::move(gpus)};
    document["findings"] = subject.findings;
    Value best{Value::Object{}};
    Value variants{Value::Object{}};
    for (const auto& verdicts : verdicts_of(subject, left_out)) {
        if (verdicts.best)
            best[verdicts.product] = *verdicts.best;
        variants[verdicts.product] = to_value(verdicts.supported);
    }
    document["best_variant"] = std::move(best);
    document["variants"] = std::move(variants);
    return document;
}

/// The verdicts by application, for the format json.
Value products_document(const ExportSubject& subject, std::vector<ExportRemark>& left_out) {
    Value products{Value::Object{}};
    for (const auto& verdicts : verdicts_of(subject, left_out)) {
        auto& product = products[verdicts.product];
        product["best"] = to_value(verdicts.best);
        product["supported"] = to_value(verdicts.supported);
        product["unsupported"] = to_value(verdicts.unsupported);
    }
    return products;
}

}  // namespace

Exported write_json(const ExportSubject& subject) {
    Exported result;
    auto document = header(subject);
    document["version"] = subject.version;
    document["rules"] = subject.rules.serial();
    document["settled"] = !is_unsettled(subject.report);
    document["host"] = host_document(exported_host(subject.report));
    Value::Array gpus;
    for (const auto& gpu : exported_gpus(subject, result.left_out))
        gpus.push_back(full_gpu_document(gpu));
    document["gpus"] = Value{std::move(gpus)};
    document["findings"] = subject.findings;
    document["products"] = products_document(subject, result.left_out);
    result.text = json_pretty(document);
    return result;
}

Exported write_ansible(const ExportSubject& subject) {
    Exported result;
    result.text = json_pretty(facts_document(subject, result.left_out));
    return result;
}

Exported write_facter(const ExportSubject& subject) {
    Exported result;
    Value document{Value::Object{}};
    document["gpuprobe"] = facts_document(subject, result.left_out);
    result.text = json_pretty(document);
    return result;
}

}  // namespace gpuprobe::inline exports
