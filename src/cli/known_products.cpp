// SPDX-License-Identifier: Apache-2.0
#include "cli/known_products.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

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
    // Not RootedFiles: that reads regular files alone, and a caller's pipe is a manifest too.
    const UniqueFd fd{path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                  : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)};
    if (!fd)
        return errno_error(path, errno);
    return read_to_end(fd, path, kMaxManifest);
}

Result<Manifest> manifest_in(const std::string& path) {
    auto manifest = parse_manifest(TRY(manifest_text(path)));
    if (!manifest)
        return std::move(manifest).error().in(path);
    return manifest;
}

}  // namespace gpuprobe
