// SPDX-License-Identifier: Apache-2.0
#include "policy/host_facts.h"

#include <algorithm>

namespace gpuprobe {
namespace {

Fact<Version> glibc_of(const Libc& libc) {
    if (libc.name && *libc.name != "glibc")
        return Fact<Version>::absent();
    return libc.version ? Fact<Version>::from(leading_version(*libc.version))
                        : Fact<Version>::unknown();
}

Fact<int> level_of(const Cpu& cpu) {
    constexpr std::string_view kPrefix = "x86-64-v";
    if (cpu.level && cpu.level->size() == kPrefix.size() + 1 && cpu.level->starts_with(kPrefix))
        return Fact<int>::known(cpu.level->back() - '0');
    return cpu.features.empty() ? Fact<int>::unknown() : Fact<int>::absent();
}

}  // namespace

WordSet::WordSet(std::vector<std::string> words) : words_{std::move(words)} {
    std::ranges::sort(words_);
}

bool WordSet::contains(std::string_view word) const {
    return std::binary_search(words_.begin(), words_.end(), word, std::less<>{});
}

Truth WordFacts::holds(std::string_view word) const {
    if (yes.contains(word))
        return Truth::True;
    return no.contains(word) || is_complete ? Truth::False : Truth::Unknown;
}

HostFacts host_facts(const Host& host) {
    HostFacts facts{
        .os = host.os.value_or(""),
        .arch = host.arch.value_or(""),
        .libc = Fact<std::string>::from(host.libc.name),
        .glibc = glibc_of(host.libc),
        .cpu_level = level_of(host.cpu),
        .l4t = host.l4t ? Fact<std::string>::known(*host.l4t) : Fact<std::string>::absent(),
        .memory = Fact<Bytes>::from(host.memory.total)};
    if (host.kernel)
        facts.kernel = Fact<Version>::from(leading_version(*host.kernel));
    if (!host.cpu.features.empty())
        facts.cpu_features = Fact<WordSet>::known(WordSet{host.cpu.features});
    if (host.libraries)
        facts.libraries = Fact<WordSet>::known(WordSet{*host.libraries});
    return facts;
}

}  // namespace gpuprobe
