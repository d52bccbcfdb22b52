// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string>

#include "engine/knowledge_base.h"
#include "fuzz/input.h"
#include "knowledge/bundle.h"

/// A bundle and a public key: refused, or every document of it can be read or refused by its own
/// reader, is part of the file, and has a name that leads nowhere.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    const auto file = support::text_of_input(data, size);
    const auto key = knowledge::public_key_from(file, "key.pub");
    const auto parts = knowledge::signed_text_in(file);
    if (parts && key && knowledge::signer_of(*parts, {&*key, 1}, WallTime{}))
        std::abort();  // no text is both a key and signed by it
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
