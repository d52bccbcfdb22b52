// SPDX-License-Identifier: Apache-2.0
#include "cli/known_products.h"

#include <filesystem>

#include "base/files.h"
#include "cli/known_consumers.h"

namespace gpuprobe {

ProductSet known_products() {
    auto products = ProductSet::with_builtins();
    const RootedFiles files;
    const auto names = files.list(kCatalogueFolder);
    if (!names)
        return products;
    for (const auto& name : *names) {
        const auto path = std::string{kCatalogueFolder} + "/" + name;
        auto text = files.read(path, kMaxManifest);
        if (name.ends_with(".json") && text)
            (void)products.add(std::move(*text), path);  // a broken one is the engine's to report
    }
    return products;
}

Result<std::string> manifest_text(const std::string& path) {
    std::error_code problem;
    const auto whole = std::filesystem::absolute(path, problem);
    return RootedFiles{}.read(problem ? path : whole.string(), kMaxManifest);
}

Result<Manifest> manifest_in(const std::string& path) {
    auto manifest = parse_manifest(TRY(manifest_text(path)));
    if (!manifest)
        return std::move(manifest).error().in(path);
    return manifest;
}

}  // namespace gpuprobe
