// SPDX-License-Identifier: Apache-2.0
#include "plan/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "plan/size_math.h"

namespace gpuprobe::inline plan {
namespace {

/// The columns are: id, name, numbers per block, bytes per block.
constexpr std::array<GgmlType, 35> kTypes = {{
    {0, "f32", 1, 4},         {1, "f16", 1, 2},         {2, "q4_0", 32, 18},
    {3, "q4_1", 32, 20},      {6, "q5_0", 32, 22},      {7, "q5_1", 32, 24},
    {8, "q8_0", 32, 34},      {9, "q8_1", 32, 36},      {10, "q2_K", 256, 84},
    {11, "q3_K", 256, 110},   {12, "q4_K", 256, 144},   {13, "q5_K", 256, 176},
    {14, "q6_K", 256, 210},   {15, "q8_K", 256, 292},   {16, "iq2_xxs", 256, 66},
    {17, "iq2_xs", 256, 74},  {18, "iq3_xxs", 256, 98}, {19, "iq1_s", 256, 50},
    {20, "iq4_nl", 32, 18},   {21, "iq3_s", 256, 110},  {22, "iq2_s", 256, 82},
    {23, "iq4_xs", 256, 136}, {24, "i8", 1, 1},         {25, "i16", 1, 2},
    {26, "i32", 1, 4},        {27, "i64", 1, 8},        {28, "f64", 1, 8},
    {29, "iq1_m", 256, 56},   {30, "bf16", 1, 2},       {34, "tq1_0", 256, 54},
    {35, "tq2_0", 256, 66},   {39, "mxfp4", 32, 17},    {40, "nvfp4", 64, 36},
    {41, "q1_0", 128, 18},    {42, "q2_0", 64, 18},
}};

constexpr std::array<std::string_view, 9> kCacheTypes = {"f32",  "f16",  "bf16",   "q8_0", "q4_0",
                                                         "q4_1", "q5_0", "iq4_nl", "q5_1"};

}  // namespace

const GgmlType* ggml_type(std::uint32_t id) {
    const auto* found = std::ranges::find(kTypes, id, &GgmlType::id);
    return found == kTypes.end() ? nullptr : found;
}

const GgmlType* ggml_type(std::string_view name) {
    const auto wanted = lower_case(name);
    const auto* found = std::ranges::find_if(
        kTypes, [&wanted](const GgmlType& type) { return lower_case(type.name) == wanted; });
    return found == kTypes.end() ? nullptr : found;
}

const GgmlType* cache_type(std::string_view name) {
    if (std::ranges::find(kCacheTypes, name) == kCacheTypes.end())
        return nullptr;
    return std::ranges::find(kTypes, name, &GgmlType::name);
}

Bytes row_bytes(const GgmlType& type, std::uint64_t numbers) {
    const auto blocks = numbers / type.block + (numbers % type.block == 0 ? 0 : 1);
    return Bytes{product(blocks, type.bytes)};
}

namespace {

/// A little-endian reader. If too few bytes are left, each function of the reader returns nullopt
/// and reads nothing.
class ByteCursor {
public:
    explicit ByteCursor(std::string_view bytes) : bytes_{bytes} {}

    [[nodiscard]] std::uint64_t position() const { return position_; }
    [[nodiscard]] std::uint64_t left() const { return bytes_.size() - position_; }

    /// Reads an integer byte by byte, which works on little-endian and big-endian hosts.
    template <std::unsigned_integral T>
    std::optional<T> take() {
        const auto raw = take_bytes(sizeof(T));
        if (!raw)
            return std::nullopt;
        T number = 0;
        for (std::size_t i = sizeof(T); i-- > 0;)
            number = static_cast<T>((static_cast<std::uint64_t>(number) << 8U) |
                                    static_cast<unsigned char>((*raw)[i]));
        return number;
    }

    std::optional<std::string_view> take_bytes(std::uint64_t count) {
        if (count > left())
            return std::nullopt;
        const auto piece = bytes_.substr(position_, count);
        position_ += count;
        return piece;
    }

private:
    std::string_view bytes_;
    std::size_t position_ = 0;
};

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint32_t kOldestVersion = 2;
constexpr std::uint32_t kNewestVersion = 3;
constexpr std::uint32_t kDefaultAlignment = 32;

/// Value types of the GGUF format.
enum Type : std::uint32_t {
    kUint8 = 0,
    kInt8 = 1,
    kUint16 = 2,
    kInt16 = 3,
    kUint32 = 4,
    kInt32 = 5,
    kFloat32 = 6,
    kBool = 7,
    kString = 8,
    kArray = 9,
    kUint64 = 10,
    kInt64 = 11,
    kFloat64 = 12,
};
/// The size of a value of a given type; 0 if the size isn't fixed.
constexpr std::array<std::uint8_t, 13> kWidths = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/// Reads a header in one pass through a window, which contains the beginning of the file. Reaching
/// the end of the window is an error only if the window contains the whole file.
class Reader {
public:
    Reader(std::string_view window, Bytes file_size)
        : cursor_{window}, is_whole_{window.size() >= file_size.count}, file_size_{file_size} {}

    Result<std::optional<Gguf>> read();

private:
    // Each of the following functions returns success, or the reason to stop. `needs_more_` is set
    // if a function stopped because it reached the end of the window.
    Status header();
    Status values();
    Status value(const std::string& key);
    Status list(const std::string& key);
    Status skip_texts(std::uint64_t count);
    Status tensors();
    Status tensor();
    Status placed(const std::string& name, std::uint64_t offset, Bytes size);
    Status tensors_within_file();
    Result<std::uint32_t> alignment();

    template <class T>
    Result<T> take();
    Result<std::string_view> take_text(std::uint64_t limit, std::string_view what);
    Result<std::int64_t> take_integer(std::uint32_t type);
    Result<std::uint64_t> take_count(std::uint64_t limit, std::string_view what);

    [[nodiscard]] Error malformed(std::string_view reason) const;
    Error at_the_end();

    /// Position of a tensor's data, relative to the start of the data section.
    struct Place {
        std::string name = {};
        std::uint64_t offset = 0;
        Bytes size = {};
    };

    ByteCursor cursor_;
    /// Whether the window contains the whole file.
    bool is_whole_ = false;
    Bytes file_size_ = {};
    bool needs_more_ = false;
    std::uint64_t tensor_count_ = 0;
    std::uint64_t key_count_ = 0;
    /// The keys that have been read until now; later, the names of the tensors.
    std::set<std::string> seen_ = {};
    std::vector<Place> places_ = {};
    Gguf gguf_ = {};
};

Error Reader::malformed(std::string_view reason) const {
    return {ErrorCode::Malformed,
            "byte " + std::to_string(cursor_.position()) + ": " + std::string{reason}};
}

Error Reader::at_the_end() {
    needs_more_ = !is_whole_;
    return malformed("the file ends within its header");
}

template <class T>
Result<T> Reader::take() {
    const auto number = cursor_.take<T>();
    if (!number)
        return at_the_end();
    return *number;
}

Result<std::string_view> Reader::take_text(std::uint64_t limit, std::string_view what) {
    // The limit is checked before the bytes are read, because the length in the file may be wrong.
    const auto length = TRY(take<std::uint64_t>());
    if (length > limit)
        return malformed(std::string{what} + " of " + std::to_string(length) + " bytes");
    const auto text = cursor_.take_bytes(length);
    if (!text)
        return at_the_end();
    return *text;
}

Result<std::uint64_t> Reader::take_count(std::uint64_t limit, std::string_view what) {
    const auto count = TRY(take<std::uint64_t>());
    if (count > limit)
        return Error{ErrorCode::TooLarge,
                     malformed(std::to_string(count) + " " + std::string{what} + ", but at most " +
                               std::to_string(limit) + " are supported")
                         .text};
    return count;
}

Status Reader::header() {
    const auto magic = cursor_.take_bytes(kMagic.size());
    if (!magic)
        return at_the_end();
    if (*magic != kMagic)
        return Error{ErrorCode::Malformed, "byte 0: not a GGUF file"};
    const auto version = TRY(take<std::uint32_t>());
    // A small version number that is read in the wrong byte order has only zeros in its low half.
    const bool is_swapped = version != 0 && (version & 0xffffU) == 0;
    if (is_swapped)
        return malformed("big-endian GGUF files are unsupported");
    if (version < kOldestVersion || version > kNewestVersion)
        return malformed("GGUF version " + std::to_string(version) +
                         " is not supported, only versions 2 and 3" +
                         (version == 1 ? ": convert the file again" : ""));
    gguf_.version = version;
    tensor_count_ = TRY(take_count(kMaxGgufTensors, "tensors"));
    key_count_ = TRY(take_count(kMaxGgufKeys, "keys"));
    return Done{};
}

/// Reads an integer or a boolean. Other 8-byte types are also read as integers.
Result<std::int64_t> Reader::take_integer(std::uint32_t type) {
    switch (type) {
        // Signed types are read as unsigned types and then converted.
        case kUint8:
            return static_cast<std::int64_t>(TRY(take<std::uint8_t>()));
        case kInt8:
            return static_cast<std::int64_t>(static_cast<std::int8_t>(TRY(take<std::uint8_t>())));
        case kUint16:
            return static_cast<std::int64_t>(TRY(take<std::uint16_t>()));
        case kInt16:
            return static_cast<std::int64_t>(static_cast<std::int16_t>(TRY(take<std::uint16_t>())));
        case kUint32:
            return static_cast<std::int64_t>(TRY(take<std::uint32_t>()));
        case kInt32:
            return static_cast<std::int64_t>(static_cast<std::int32_t>(TRY(take<std::uint32_t>())));
        case kBool: {
            const auto byte = TRY(take<std::uint8_t>());
            if (byte > 1)
                return malformed("a boolean is neither 0 nor 1");
            return static_cast<std::int64_t>(byte);
        }
        default:
            return static_cast<std::int64_t>(TRY(take<std::uint64_t>()));
    }
}

/// Whether values of the type can be stored as integers.
bool is_integer(std::uint32_t type) {
    return type < kWidths.size() && kWidths.at(type) != 0 && type != kFloat32 && type != kFloat64;
}

// Strings have different lengths, so a list of strings cannot be skipped in one step.
Status Reader::skip_texts(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i)
        (void)TRY(take_text(kMaxGgufHeader.count, "a text"));
    return Done{};
}

// A list consists of the type of its items, the number of items, and the items.
Status Reader::list(const std::string& key) {
    const auto type = TRY(take<std::uint32_t>());
    const auto count = TRY(take<std::uint64_t>());
    if (type == kArray)
        return malformed(key + " is a list of lists");
    if (type >= kWidths.size())
        return malformed(key + " contains values of the unknown type " + std::to_string(type));
    if (type == kString)
        return skip_texts(count);
    // Skip lists of floats, and lists that are too long. The product cannot overflow, because it
    // saturates: a huge count only leads to the end of the file.
    if (!is_integer(type) || count > kMaxGgufListItems) {
        if (!cursor_.take_bytes(product(count, kWidths.at(type))))
            return at_the_end();
        return Done{};
    }
    std::vector<std::int64_t> items;
    for (std::uint64_t i = 0; i < count; ++i)
        items.push_back(TRY(take_integer(type)));
    gguf_.values.emplace(key, std::move(items));
    return Done{};
}

// A value consists of its type and its content. Even values that aren't needed must be read
// correctly, to find their end.
Status Reader::value(const std::string& key) {
    const auto type = TRY(take<std::uint32_t>());
    if (type == kArray)
        return list(key);
    if (type == kString) {
        const auto text = TRY(take_text(kMaxGgufHeader.count, "a text"));
        if (text.size() <= kMaxGgufTextBytes)
            gguf_.values.emplace(key, std::string{text});
        return Done{};
    }
    if (type >= kWidths.size())
        return malformed(key + " has unknown type " + std::to_string(type));
    if (is_integer(type))
        gguf_.values.emplace(key, TRY(take_integer(type)));
    else if (!cursor_.take_bytes(kWidths.at(type)))
        return at_the_end();
    return Done{};
}

Status Reader::values() {
    for (std::uint64_t i = 0; i < key_count_; ++i) {
        const auto raw = TRY(take_text(kMaxGgufKeyBytes, "a key"));
        // Messages contain keys, so accept only keys that scrubbing leaves unchanged.
        const auto key = scrubbed(raw, kMaxGgufKeyBytes);
        if (key.empty() || key != raw)
            return malformed("a key is not text");
        if (!seen_.insert(key).second)
            return malformed("the key " + scrubbed(key, 64) + " appears twice");
        TRY(value(key));
    }
    return Done{};
}

Status Reader::tensor() {
    const auto name = scrubbed(TRY(take_text(kMaxGgufNameBytes, "a tensor's name")));
    if (!seen_.insert(name).second)
        return malformed("the tensor " + name + " appears twice");
    // The entry of a tensor consists of its name, number of dimensions, shape, type and offset.
    const auto dimensions = TRY(take<std::uint32_t>());
    if (dimensions == 0 || dimensions > kMaxGgufDimensions)
        return malformed(name + " has " + std::to_string(dimensions) + " dimensions");
    std::vector<std::uint64_t> shape;
    for (std::uint32_t i = 0; i < dimensions; ++i)
        shape.push_back(TRY(take<std::uint64_t>()));
    const auto* type = ggml_type(TRY(take<std::uint32_t>()));
    const auto offset = TRY(take<std::uint64_t>());
    auto tensor = tensor_of(name, type, shape);
    if (!tensor)
        return malformed(tensor.error().text);
    places_.push_back({.name = name, .offset = offset, .size = tensor->size});
    gguf_.tensors.push_back(std::move(*tensor));
    return Done{};
}

Status Reader::tensors() {
    // From now on, seen_ contains the names of tensors. A tensor may have the same name as a key.
    gguf_.keys = std::exchange(seen_, {});
    for (std::uint64_t i = 0; i < tensor_count_; ++i)
        TRY(tensor());
    return Done{};
}

Result<std::uint32_t> Reader::alignment() {
    if (!gguf_.values.contains("general.alignment"))
        return kDefaultAlignment;
    const auto value = gguf_.number("general.alignment");
    if (!value || *value > kMaxGgufAlignment || !std::has_single_bit(*value))
        return malformed("general.alignment is not a power of two up to " +
                         std::to_string(kMaxGgufAlignment));
    return static_cast<std::uint32_t>(*value);
}

Status Reader::tensors_within_file() {
    const auto step = TRY(alignment());
    // The data section starts at the next multiple of the alignment.
    const auto start = (cursor_.position() + step - 1) / step * step;
    std::uint64_t total = 0;
    for (const auto& place : places_) {
        if (place.offset % step != 0)
            return malformed(place.name + " is not aligned");
        const auto end = sum(start, sum(place.offset, place.size.count));
        if (end > file_size_.count)
            return malformed(place.name + " ends at byte " + std::to_string(end) +
                             ", but the file ends at byte " + std::to_string(file_size_.count));
        total = sum(total, place.size.count);
    }
    // If each tensor is inside the file, but the sum of all tensors is larger than the file,
    // tensors overlap.
    if (sum(start, total) > file_size_.count && !places_.empty())
        return malformed("the tensors overlap");
    return Done{};
}

Result<std::optional<Gguf>> Reader::read() {
    const auto done = [this]() -> Status {
        TRY(header());
        TRY(values());
        TRY(tensors());
        return tensors_within_file();
    }();
    if (done)
        return std::optional{std::move(gguf_)};
    // A window that is too short isn't an error, because the caller can pass a longer window.
    if (needs_more_)
        return std::optional<Gguf>{};
    return done.error();
}

}  // namespace

std::optional<std::uint64_t> Gguf::number(std::string_view key) const {
    const auto found = values.find(std::string{key});
    if (found == values.end())
        return std::nullopt;
    const auto* number = std::get_if<std::int64_t>(&found->second);
    if (!number || *number < 0)
        return std::nullopt;
    return static_cast<std::uint64_t>(*number);
}

const std::vector<std::int64_t>* Gguf::list(std::string_view key) const {
    const auto found = values.find(std::string{key});
    return found == values.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->second);
}

std::optional<std::string> Gguf::text(std::string_view key) const {
    const auto found = values.find(std::string{key});
    if (found == values.end())
        return std::nullopt;
    const auto* text = std::get_if<std::string>(&found->second);
    if (!text || text->empty())
        return std::nullopt;
    return scrubbed(*text, 128);
}

Result<GgufTensor> tensor_of(std::string name,
                             const GgmlType* type,
                             const std::vector<std::uint64_t>& shape) {
    if (shape.empty() || shape.size() > kMaxGgufDimensions)
        return Error{ErrorCode::Malformed,
                     name + " has " + std::to_string(shape.size()) + " dimensions"};
    if (!type)
        return Error{ErrorCode::Malformed, name + " has an unknown type"};
    if (shape.front() % type->block != 0)
        return Error{ErrorCode::Malformed,
                     name + " has rows that end within a block of " + std::string{type->name}};
    // The product cannot overflow, because it saturates: an absurd shape gives a size that is
    // larger than any memory.
    std::uint64_t rows = 1;
    for (std::size_t i = 1; i < shape.size(); ++i)
        rows = product(rows, shape[i]);
    return GgufTensor{.name = std::move(name),
                      .size = Bytes{product(row_bytes(*type, shape.front()).count, rows)},
                      .rows = rows,
                      .width = shape.front(),
                      .type = type->name};
}

Result<std::optional<Gguf>> parse_gguf(std::string_view window, Bytes file_size) {
    return Reader{window, file_size}.read();
}

namespace {

constexpr std::string_view kSuffix = ".gguf";
constexpr std::string_view kOf = "-of-";
constexpr std::size_t kDigits = 5;

/// The number with leading zeros, as in the file names of parts.
std::string digits(std::uint32_t number) {
    const auto text = std::to_string(number);
    return std::string(kDigits - std::min(kDigits, text.size()), '0') + text;
}

Error mismatch(std::string text) {
    return {ErrorCode::Malformed, std::move(text)};
}

/// Checks the two numbers in the metadata of each part: the number of the part, and the number of
/// parts.
Status check_numbers(const std::vector<Gguf>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
        // In the metadata, parts are counted from 0.
        const auto count = parts[i].number("split.count").value_or(1);
        const auto number = parts[i].number("split.no").value_or(0);
        if (count != parts.size() || number != i)
            return mismatch("part " + std::to_string(i + 1) + " is labeled as part " +
                            std::to_string(number + 1) + " of " + std::to_string(count));
    }
    return Done{};
}

}  // namespace

std::optional<GgufPart> gguf_part(std::string_view file_name) {
    // The end of the file name has a fixed length, as in "-00002-of-00005.gguf".
    const auto tail = 1 + kDigits + kOf.size() + kDigits + kSuffix.size();
    if (file_name.size() <= tail || !file_name.ends_with(kSuffix))
        return std::nullopt;
    const auto stem = file_name.substr(0, file_name.size() - tail);
    const auto rest = file_name.substr(stem.size());
    const auto number = parse_number<std::uint32_t>(rest.substr(1, kDigits));
    const auto count = parse_number<std::uint32_t>(rest.substr(1 + kDigits + kOf.size(), kDigits));
    if (rest.front() != '-' || rest.substr(1 + kDigits, kOf.size()) != kOf || !number || !count ||
        *number == 0 || *number > *count)
        return std::nullopt;
    return GgufPart{.number = *number, .count = *count, .stem = std::string{stem}};
}

std::string gguf_part_name(const GgufPart& part, std::uint32_t number) {
    return part.stem + "-" + digits(number) + std::string{kOf} + digits(part.count) +
           std::string{kSuffix};
}

Result<Gguf> joined(std::vector<Gguf> parts) {
    if (parts.empty())
        return mismatch("the model has no parts");
    TRY(check_numbers(parts));
    // The metadata of the first part applies to the whole model.
    auto whole = std::move(parts.front());
    std::set<std::string> names;
    for (const auto& tensor : whole.tensors)
        names.insert(tensor.name);
    for (std::size_t i = 1; i < parts.size(); ++i)
        for (auto& tensor : parts[i].tensors) {
            if (!names.insert(tensor.name).second)
                return mismatch("the tensor " + tensor.name + " is in two parts");
            whole.tensors.push_back(std::move(tensor));
        }
    const auto wanted = whole.number("split.tensors.count").value_or(whole.tensors.size());
    if (wanted != whole.tensors.size())
        return mismatch("the parts contain " + std::to_string(whole.tensors.size()) +
                        " tensors, but the first part declares " + std::to_string(wanted));
    return whole;
}

}  // namespace gpuprobe::inline plan
