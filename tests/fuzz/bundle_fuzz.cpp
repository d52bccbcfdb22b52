// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>

#include "engine/knowledge_base.h"
#include "fuzz/input.h"
#include "knowledge/bundle.h"

/// Reads a bundle and a public key. In a valid bundle, each document is a part of the file, has a
/// name that stays inside the folder, and can be passed to its reader.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    const auto file = support::text_of_input(data, size);
    const auto key = knowledge::public_key_from(file, "key.pub");
    const auto parts = knowledge::signed_text_in(file);
    if (parts && key && knowledge::signer_of(*parts, {&*key, 1}, WallTime{}))
        std::abort();  // no text is both a public key and signed with this key
    const auto bundle = knowledge::bundle_from(parts ? parts->message : file, nullptr, "bundle");
    if (!bundle)
        return 0;
    for (const auto& [name, document] : bundle->set.documents) {
        const bool is_inside =
            document.json.data() >= file.data() &&
            document.json.data() + document.json.size() <= file.data() + file.size();
        if (!is_inside || name.find("..") != std::string::npos || name.starts_with('/'))
            std::abort();
        (void)engine::check_document(name, document.json);
    }
    return 0;
}
