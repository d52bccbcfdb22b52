// SPDX-License-Identifier: Apache-2.0
#include "export/formats.h"
#include "export/subject.h"

namespace gpuprobe::inline exports {

Exported write_demo(const ExportSubject& subject) {
    Exported exported;
    exported.text = "";
    for (const auto& gpu : exported_gpus(subject, exported.left_out))
        *exported.text += gpu.gpu->name.value_or("?") + "\n";
    return exported;
}

}  // namespace gpuprobe::inline exports
