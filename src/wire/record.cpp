// SPDX-License-Identifier: Apache-2.0
#include "wire/record.h"

namespace gpuprobe::bus {

// "duration_usec" → "DurationUsec": each word gets a capital, and underscores disappear.
std::string bus_key(std::string_view key) {
    std::string camel;
    bool starts_word = true;
    for (const char c : key) {
        if (c == '_') {
            starts_word = true;
            continue;
        }
        camel += starts_word && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        starts_word = false;
    }
    return camel;
}

sdbus::ObjectPath DictionaryWriter::path_of(const std::string& id) const {
    // "/" means no object: D-Bus has no empty path.
    return sdbus::ObjectPath{spelling_.path_of ? spelling_.path_of(id) : "/"};
}

sdbus::Variant DictionaryWriter::variant_of(const std::vector<std::string>& texts,
                                            bool are_gpus) const {
    if (are_gpus) {
        std::vector<sdbus::ObjectPath> paths;
        for (const auto& id : texts)
            paths.push_back(path_of(id));
        return sdbus::Variant{paths};
    }
    std::vector<std::string> clean;
    for (const auto& text : texts)
        clean.push_back(bus_text(text));
    return sdbus::Variant{clean};
}

sdbus::Variant DictionaryWriter::variant_of(const std::map<std::string, std::string>& texts,
                                            bool) const {
    std::map<std::string, std::string> clean;
    for (const auto& [name, text] : texts)
        clean.emplace(bus_text(name), bus_text(text));
    return sdbus::Variant{clean};
}

// Reasons get display texts in addition to their code, so that clients need no catalog of texts.
Dictionary DictionaryWriter::dictionary_of(const Reason& reason) const {
    Dictionary entry{{"Code", sdbus::Variant{bus_text(reason.code)}}};
    if (spelling_.add_words)
        spelling_.add_words(reason, owner_, entry);
    // D-Bus clients need no empty dictionary.
    if (const auto* detail = reason.detail.as_object(); detail && !detail->empty())
        entry.emplace("Detail", variant_from(reason.detail));
    return entry;
}

void DictionaryReader::read(const sdbus::Variant& variant, bool is_gpu, std::string& member) {
    member = is_gpu ? id_of(variant.get<sdbus::ObjectPath>()) : variant.get<std::string>();
}

void DictionaryReader::read(const sdbus::Variant& variant,
                            bool are_gpus,
                            std::vector<std::string>& member) {
    member.clear();
    if (!are_gpus)
        member = variant.get<std::vector<std::string>>();
    else
        for (const auto& path : variant.get<std::vector<sdbus::ObjectPath>>())
            member.push_back(id_of(path));
}

std::string DictionaryReader::id_of(const std::string& path) const {
    // A GPU may have disappeared since the reply was sent.
    const auto found = ids_.find(path);
    return found == ids_.end() ? path : found->second;
}

}  // namespace gpuprobe::bus
