// SPDX-License-Identifier: Apache-2.0
#include "explain/phrase.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace gpuprobe::inline explain {
namespace {

/// Fills a sentence. `number` replaces "{number}" if `number` has a value; all other replacements
/// are in `words`.
std::string filled_with(std::string_view sentence,
                        std::initializer_list<PhraseWord> words,
                        const std::optional<std::string>& number) {
    return filled_sentence(sentence, [&](std::string_view name) -> std::optional<std::string> {
        if (name == "number")
            if (number)
                return number;
        const auto found = std::ranges::find(words, name, &PhraseWord::name);
        return found == words.end() ? std::nullopt : found->text;
    });
}

}  // namespace

std::string phrase(std::string_view sentence, std::initializer_list<PhraseWord> words) {
    return filled_with(sentence, words, std::nullopt);
}

std::string plural(std::uint64_t number,
                   std::string_view one,
                   std::string_view others,
                   std::initializer_list<PhraseWord> words) {
    return filled_with(number == 1 ? one : others, words, std::to_string(number));
}

std::string joined_with_and(const std::vector<std::string>& items) {
    return joined(items, " and ");
}

std::string joined_with_or(const std::vector<std::string>& items) {
    return joined(items, " or ");
}

namespace {

/// A number and its unit: "12 MiB".
template <class Number>
std::string counted(Number count, std::string_view unit) {
    return std::to_string(count).append(" ").append(unit);
}

/// A size such as "1.5 GiB", computed with integers because a double could round the size up.
std::string with_one_digit(std::uint64_t count, std::uint64_t whole, std::string_view unit) {
    return std::to_string(count / whole) + "." + counted(count % whole * 10 / whole, unit);
}

std::string day_text(WallTime at) {
    const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(at)};
    return zero_padded(int{day.year()}, 4) + "-" + zero_padded(unsigned{day.month()}, 2) + "-" +
           zero_padded(unsigned{day.day()}, 2);
}

/// Inserts the age into a sentence.
std::string age_in(std::string_view sentence, std::int64_t number) {
    return phrase(sentence, {{"number", std::to_string(number)}});
}

/// The number with `digits` decimals, independent of the locale.
std::string decimal(double number, int digits) {
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                   std::chars_format::fixed, digits);
    return {text.data(), end.ptr};
}

}  // namespace

std::string size_text(Bytes size) {
    if (size >= gib(1024))
        return with_one_digit(size.count, gib(1024).count, "TiB");
    if (size >= gib(1))
        return with_one_digit(size.count, gib(1).count, "GiB");
    if (size >= mib(1))
        return counted(size.count >> 20U, "MiB");
    if (size >= kib(1))
        return counted(size.count >> 10U, "KiB");
    return counted(size.count, "B");
}

std::string duration_text(Duration duration, std::string_view micro) {
    const auto count = duration.count();
    if (count < 1'000)
        return counted(count, micro) + "s";
    if (count < 1'000'000)
        return counted(count / 1'000, "ms");
    // Ages of up to two minutes are shown in seconds, because "1 min" would be too coarse.
    if (count < 120'000'000)
        return with_one_digit(static_cast<std::uint64_t>(count), 1'000'000, "s");
    return counted(count / 60'000'000, "min");
}

std::string age_text(WallTime at, WallTime now) {
    using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
    const auto age = now - at;
    if (age < seconds{1})
        return "just now";
    if (age < minutes{2})
        return age_in("{number} s ago", age / seconds{1});
    if (age < hours{2})
        return age_in("{number} min ago", age / minutes{1});
    if (age < hours{48})
        return age_in("{number} h ago", age / hours{1});
    return phrase("on {day}", {{"day", day_text(at)}});
}

std::string time_text(WallTime at) {
    // The time of day is what remains after subtracting whole days.
    const std::chrono::hh_mm_ss time{at - std::chrono::floor<std::chrono::days>(at)};
    return day_text(at) + " " + zero_padded(time.hours().count(), 2) + ":" +
           zero_padded(time.minutes().count(), 2) + " UTC";
}

std::string rate_text(double rate, std::string_view unit) {
    constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P"};
    const auto* prefix = std::begin(kPrefixes);
    // The limit is not 1000, because 999.6 would be shown as 1000.
    while (rate >= 999.5 && prefix + 1 != std::end(kPrefixes)) {
        rate /= 1000;
        ++prefix;
    }
    // Show three significant digits of the rate. The limits are the smallest numbers that are
    // rounded up to 10 and 100.
    const int digits = rate < 9.995 ? 2 : rate < 99.95 ? 1 : 0;
    const bool is_bare = prefix->empty() && unit.empty();
    return decimal(rate, digits).append(is_bare ? "" : " ").append(*prefix).append(unit);
}

std::string share_text(const std::optional<std::uint64_t>& have,
                       const std::optional<std::uint64_t>& promised) {
    if (!have || !promised || *promised == 0)
        return "";
    return decimal(100 * static_cast<double>(*have) / static_cast<double>(*promised), 0) + " %";
}

namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view kDigits = "0123456789";
/// Characters that no shell and no part of systemd treats specially at any position in a value. "~"
/// isn't in this list because it is special after "=" and ":".
constexpr std::string_view kPunctuation = "%+,-./:=@";

/// Characters that are easier to read in quotes, and harmless if the word is pasted into other
/// text.
constexpr std::string_view kQuotable = " !";

bool is_one_of(char character, std::string_view set) {
    return set.find(character) != std::string_view::npos;
}

bool is_safe(char character) {
    return is_one_of(character, kLetters) || is_one_of(character, kDigits) ||
           is_one_of(character, kPunctuation);
}

/// True if zsh would expand the "=" at the position `at` to the path of a program.
bool is_expanded(std::string_view text, std::size_t at) {
    return text[at] == '=' && (at == 0 || text[at - 1] == ':');
}

bool is_safe_at(std::string_view text, std::size_t at) {
    return is_safe(text[at]) && !is_expanded(text, at);
}

bool is_safe(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at)
        if (!is_safe_at(text, at))
            return false;
    return true;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
    if (is_safe(text))
        return std::string{text};
    std::string quoted = "'";
    for (const char character : text) {
        // End the single quotes, write the character in double quotes, and begin single quotes
        // again.
        if (character == '\'')
            quoted += R"('"'"')";
        else if (character == '\\')
            quoted += R"('"\\"')";
        else
            quoted += character;
    }
    return quoted + "'";
}

std::optional<std::string> command_word(std::string_view text) {
    constexpr std::size_t kMaxWord = 4096;  // PATH_MAX
    if (text.empty() || text.front() == '-' || scrubbed(text, kMaxWord) != text)
        return std::nullopt;
    std::string word;
    bool may_be_quoted = true;
    for (std::size_t at = 0; at < text.size(); ++at) {
        // No shell treats the bytes of UTF-8 sequences specially.
        const bool is_ascii = static_cast<signed char>(text[at]) >= 0;
        if (is_ascii && !is_safe_at(text, at)) {
            may_be_quoted = may_be_quoted && is_one_of(text[at], kQuotable);
            word += '\\';
        }
        word += text[at];
    }
    const bool has_escapes = word.size() > text.size();
    return has_escapes && may_be_quoted ? shell_quoted(text) : word;
}

}  // namespace gpuprobe::inline explain
