// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/value.h"
#include "engine/engine.h"
#include "inventory/scan.h"
#include "report/assemble.h"
#include "support/memory_files.h"

namespace {

using namespace gpuprobe;
using gpuprobe::support::MemoryFiles;

/// "\n@path\ncontent" is a file, "\n>path\ntarget" is a link. The machine's tree is below /root.
std::pair<MemoryFiles, std::shared_ptr<MemoryFiles>> unpacked(std::string_view text) {
    constexpr std::string_view kRoot = "/root/";
    MemoryFiles capture;
    auto root = std::make_shared<MemoryFiles>();
    while (!text.empty()) {
        const auto end = std::min(text.find("\n@", 1), text.find("\n>", 1));
        const auto section = text.substr(0, end);
        text.remove_prefix(section.size());
        const auto line = section.find('\n', 1);
        if (section.size() < 3 || line == std::string_view::npos)
            continue;
        auto path = section.substr(2, line - 2);
        const bool is_of_machine = path.starts_with(kRoot);
        if (is_of_machine)
            path.remove_prefix(kRoot.size() - 1);
        auto& files = is_of_machine ? *root : capture;
        std::string content{section.substr(line + 1)};
        section[1] == '>' ? files.link(path, std::move(content))
                          : files.write(path, std::move(content));
    }
    return {std::move(capture), std::move(root)};
}

}  // namespace

/// Creates the report of a captured machine twice. Both reports must be equal.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto [capture, root] = unpacked({reinterpret_cast<const char*>(data), size});
    const auto source = engine::captured_machine(capture, root);
    if (!source)
        return 0;
    const auto machine = scan_machine(*source->files, *source->nodes, *source->host);
    const ReportContext context{.now = source->recorded_at.value_or(WallTime{})};
    const auto text = json_line(to_value(assemble(machine, *source->recorded, context)));
    if (text != json_line(to_value(assemble(machine, *source->recorded, context))))
        std::abort();
    if (text.size() <= kMaxReport.count && !parse_report(text))
        std::abort();
    return 0;
}
