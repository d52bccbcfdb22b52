// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "base/text.h"
#include "fuzz/input.h"
#include "inventory/object_file.h"
#include "policy/build_needs.h"

namespace {

using namespace gpuprobe;

class TextPieces final : public Pieces {
public:
    explicit TextPieces(std::string_view text) : text_{text} {}
    [[nodiscard]] std::uint64_t size() const override { return text_.size(); }
    Result<std::string> read(std::uint64_t offset, std::uint64_t count) override {
        return offset >= text_.size() ? std::string{} : std::string{text_.substr(offset, count)};
    }

private:
    std::string_view text_;
};

/// The words become parts of requests and are printed on terminals.
void check(const std::set<std::string>& code) {
    for (const auto& word : code)
        if (scrubbed(word, word.size() + 1) != word || word.size() > 256)
            std::abort();
}

void check(const ObjectFile& object) {
    check(object.code);
    DescribedBuild told;
    for (const auto& soname : object.needed) {
        if (scrubbed(soname, 256) != soname)
            std::abort();
        if (!need_problem(soname))
            told.needs[""].push_back(soname);
    }
    for (const auto& word : object.code)
        if (!kernels_problem(word))
            told.kernels[""].push_back(word);
    (void)needs_of(told, {"rocm"}, Rules::current());
}

}  // namespace

/// Reads a file of an installed build, both as a program and as GPU code in a section of a program.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    TextPieces file{support::text_of_input(data, size)};
    if (const auto object = read_object(file, ReadDepth::Code); object && *object)
        check(**object);
    if (const auto code = cuda_code(file, 0, size))
        check(*code);
    if (const auto code = hip_code(file, 0, size))
        check(*code);
    return 0;
}
