// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/character_table.h"

namespace gpuprobe::inline base {
namespace {

constexpr std::string_view kSpace = " \t\n\r\f\v";

}  // namespace

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Between two adjacent separators there is an empty piece.
std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    for (;;) {
        const auto end = text.find(separator);
        pieces.push_back(text.substr(0, end));
        if (end == std::string_view::npos)
            return pieces;
        text.remove_prefix(end + 1);
    }
}

std::vector<std::string_view> words(std::string_view text) {
    std::vector<std::string_view> pieces;
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
        const auto end = std::min(text.find_first_of(kSpace), text.size());
        pieces.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return pieces;
}

std::optional<std::string_view> value_of_line(std::string_view text, std::string_view key) {
    for (const auto line : split(text, '\n')) {
        // The first colon ends the key; values may contain further colons.
        const auto colon = line.find(':');
        if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
            return trimmed(line.substr(colon + 1));
    }
    return std::nullopt;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

std::string zero_padded(std::int64_t number, std::size_t digits) {
    const auto text = std::to_string(number);
    return std::string(digits > text.size() ? digits - text.size() : 0, '0') + text;
}

// tolower() can't be used, because it depends on the locale.
std::string lower_case(std::string_view text) {
    std::string lower{text};
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

// No control characters are kept, so newlines are also replaced.
std::string scrubbed(std::string_view text, std::size_t limit) {
    return printable(text, {}, limit);
}

namespace {

/// U+FFFD in UTF-8.
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
/// The maximum number of marks on one character. No script of a living language needs more.
constexpr int kMostMarks = 4;

/// Length in bytes of the character at the start of the string; 0 if the character is malformed.
std::size_t well_formed_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto in = [&](std::size_t i, unsigned low, unsigned high) {
        return i < text.size() && byte(i) >= low && byte(i) <= high;
    };
    const unsigned first = byte(0);
    if (first < 0x80)
        return 1;
    // Two bytes. 0xC0 and 0xC1 would be overlong encodings of ASCII.
    if (first >= 0xC2 && first <= 0xDF)
        return in(1, 0x80, 0xBF) ? 2 : 0;
    // Three bytes. The limits of the second byte exclude overlong encodings and surrogates.
    if (first >= 0xE0 && first <= 0xEF) {
        const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
        const unsigned high = first == 0xED ? 0x9F : 0xBF;
        return in(1, low, high) && in(2, 0x80, 0xBF) ? 3 : 0;
    }
    // Four bytes, up to U+10FFFF.
    if (first >= 0xF0 && first <= 0xF4) {
        const unsigned low = first == 0xF0 ? 0x90 : 0x80;
        const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
        return in(1, low, high) && in(2, 0x80, 0xBF) && in(3, 0x80, 0xBF) ? 4 : 0;
    }
    return 0;
}

/// Whether one of the sorted ranges contains the character.
template <std::size_t Count>
bool holds(const std::array<CharacterRange, Count>& ranges, char32_t point) {
    const auto* after = std::ranges::upper_bound(ranges, point, {}, &CharacterRange::first);
    return after != ranges.begin() && point <= std::prev(after)->last;
}

/// Number of leading bytes that are printable ASCII, which every terminal shows unchanged.
std::size_t plain_length(std::string_view text) {
    const auto end = std::ranges::find_if(text, [](char c) { return c < ' ' || c > '~'; });
    return static_cast<std::size_t>(end - text.begin());
}

/// Builds the printable form of a string, up to a maximum number of bytes.
class Shown {
public:
    Shown(std::string_view kept, std::size_t limit) : kept_{kept}, limit_{limit} {}

    /// Adds printable ASCII text. Returns false if the text had to be cut.
    bool add_plain(std::string_view text) {
        begin_character(0);
        const auto piece = text.substr(0, limit_ - clean_.size());
        clean_ += piece;
        return piece.size() == text.size();
    }

    /// Adds one character, or U+FFFD instead. Returns false if the character no longer fits.
    bool add(std::string_view bytes, std::optional<char32_t> point) {
        if (point && is_mark(*point))
            return add_mark(bytes);
        const bool is_kept = kept_.find(bytes) != std::string_view::npos;
        // A control character that is kept has no glyph over which a mark could be drawn.
        begin_character(is_kept ? kMostMarks : 0);
        return append(is_kept || (point && !is_unprintable(*point)) ? bytes : kReplacement);
    }

    std::string take() { return std::move(clean_); }

private:
    void begin_character(int marks) {
        marks_ = marks;
        is_over_ = false;
    }

    /// Adds a mark. The first mark over the limit becomes U+FFFD; further marks are dropped.
    bool add_mark(std::string_view bytes) {
        if (is_over_)
            return true;
        is_over_ = ++marks_ > kMostMarks;
        return append(is_over_ ? kReplacement : bytes);
    }

    bool append(std::string_view piece) {
        const bool fits = piece.size() <= limit_ - clean_.size();
        if (fits)
            clean_ += piece;
        return fits;
    }

    std::string_view kept_;
    std::size_t limit_;
    std::string clean_ = {};
    // The number of marks on the last character. At the start of the string, there is no character
    // to put a mark on.
    int marks_ = kMostMarks;
    bool is_over_ = false;  ///< U+FFFD was added because the last character has too many marks
};

}  // namespace

Utf8Character first_character(std::string_view text) {
    const auto length = well_formed_length(text);
    if (length == 0)
        return {};
    const auto lead = static_cast<unsigned char>(text.front());
    char32_t point = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (const char byte : text.substr(1, length - 1))
        point = (point << 6U) | (static_cast<unsigned char>(byte) & 0x3FU);
    return {.bytes = length, .point = point};
}

bool is_unprintable(char32_t point) {
    return holds(kUnprintable, point);
}

bool is_mark(char32_t point) {
    return point >= kMarks.front().first && holds(kMarks, point);
}

std::string printable(std::string_view text, std::string_view kept, std::size_t limit) {
    Shown shown{kept, limit};
    while (!text.empty()) {
        if (const auto plain = plain_length(text); plain > 0) {
            if (!shown.add_plain(text.substr(0, plain)))
                break;
            text.remove_prefix(plain);
            continue;
        }
        const auto character = first_character(text);
        if (!shown.add(text.substr(0, character.bytes), character.point))
            break;
        text.remove_prefix(character.bytes);
    }
    return shown.take();
}

namespace {

/// Longer words aren't compared, because the cost grows with the product of both lengths.
constexpr std::size_t kMaxWord = 64;

/// Optimal string alignment distance: edit distance in which swapping two neighbors counts once.
std::size_t distance(std::string_view left, std::string_view right) {
    std::vector<std::vector<std::size_t>> cost(left.size() + 1,
                                               std::vector<std::size_t>(right.size() + 1));
    for (std::size_t row = 0; row <= left.size(); ++row) {
        for (std::size_t column = 0; column <= right.size(); ++column) {
            auto& best = cost[row][column];
            if (row == 0 || column == 0) {
                best = row + column;
                continue;
            }
            // Drop, insert, or change one letter.
            const bool same = left[row - 1] == right[column - 1];
            best = std::min({cost[row - 1][column] + 1, cost[row][column - 1] + 1,
                             cost[row - 1][column - 1] + (same ? 0U : 1U)});
            // Swap two neighboring letters.
            if (row > 1 && column > 1 && left[row - 1] == right[column - 2] &&
                left[row - 2] == right[column - 1])
                best = std::min(best, cost[row - 2][column - 2] + 1);
        }
    }
    return cost.back().back();
}

/// If a part of an unknown word is shorter than this, it does not show which word was meant.
constexpr std::size_t kMinPart = 3;

/// The maximum number of words that did_you_mean() suggests.
constexpr std::size_t kMaxNamed = 3;

/// Whether `part` is a complete part of a name, as "llama" is of "node-llama-cpp" and of
/// "llama.cpp".
bool has_part(std::string_view name, std::string_view part) {
    const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    for (auto at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
        const auto end = at + part.size();
        if ((at == 0 || !is_letter(name[at - 1])) && (end == name.size() || !is_letter(name[end])))
            return true;
    }
    return false;
}

/// The words that did_you_mean() suggests.
std::vector<std::string> resembling(std::string_view given, const std::vector<std::string>& known) {
    const auto part =
        lower_case(given.substr(std::min(given.find_first_not_of('-'), given.size())));
    std::vector<std::string> first, any;
    if (!part.empty() && part.size() <= kMaxWord)
        for (const auto& word : known) {
            const auto name = lower_case(word);
            if (has_part(name, part))
                (name.find(part) == name.find_first_not_of('-') ? first : any).push_back(word);
        }
    auto found = !first.empty() ? std::move(first) : std::move(any);
    if (found.empty())
        if (auto near = closest(given, known))
            found.push_back(std::move(*near));
    if (found.empty() && part.size() <= kMaxWord)
        for (const auto& word : known)
            if (word.size() >= kMinPart && has_part(part, lower_case(word)))
                found.push_back(word);
    found.resize(std::min(found.size(), kMaxNamed));
    return found;
}

}  // namespace

std::optional<std::string> closest(std::string_view given, const std::vector<std::string>& known) {
    if (given.size() > kMaxWord)
        return std::nullopt;
    const auto wanted = lower_case(given);
    std::optional<std::string> nearest;
    // Allow one mistake for every three letters, but at least one mistake.
    std::size_t least = std::max<std::size_t>(1, wanted.size() / 3) + 1;
    for (const auto& word : known) {
        if (word.size() > kMaxWord)
            continue;
        const auto steps = distance(wanted, lower_case(word));
        // A distance equal to the length of the word would mean that all its letters are replaced.
        if (steps < least && steps < word.size()) {
            least = steps;
            nearest = word;
        }
    }
    return nearest;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& known) {
    const auto words = resembling(given, known);
    std::string named;
    for (std::size_t i = 0; i < words.size(); ++i) {
        named += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
        named += "'" + words[i] + "'";
    }
    return named.empty() ? named : "did you mean " + named + "?";
}

std::string suggestion(std::string_view given, const std::vector<std::string>& known) {
    if (const auto question = did_you_mean(given, known); !question.empty())
        return "; " + question;
    std::string all;
    for (const auto& word : known)
        all += (all.empty() ? "; known values: " : ", ") + word;
    return all;
}

// Templates ---------------------------------------------------------------------------------------

namespace {

struct Filled {
    std::string text = {};
    bool is_complete = true;        ///< all placeholders are known
    bool has_paired_braces = true;  ///< false: an unpaired brace was treated as text
};

/// Fills in the placeholders of a string without optional parts.
Filled filled_text(std::string_view text, const WordLookup& lookup) {
    Filled filled;
    while (!text.empty()) {
        const auto open = std::min(text.find_first_of("{}"), text.size());
        const auto close = std::min(text.find_first_of("{}", open + 1), text.size());
        const bool is_pair =
            text.substr(open).starts_with('{') && text.substr(close).starts_with('}');
        filled.text += text.substr(0, is_pair ? open : open + 1);
        if (is_pair) {
            const auto word = lookup(text.substr(open + 1, close - open - 1));
            filled.text += word.value_or(std::string{kNothingKnown});
            filled.is_complete = filled.is_complete && word;
        } else if (open != text.size()) {
            filled.has_paired_braces = false;
        }
        text.remove_prefix(std::min((is_pair ? close : open) + 1, text.size()));
    }
    return filled;
}

/// Fills "A|B" with the first alternative whose placeholders are all known; "" if no alternative
/// has only known placeholders.
std::string first_complete(std::string_view alternatives, const WordLookup& lookup) {
    while (true) {
        const auto bar = std::min(alternatives.find('|'), alternatives.size());
        auto part = filled_text(alternatives.substr(0, bar), lookup);
        if (part.is_complete)
            return std::move(part.text);
        if (bar == alternatives.size())
            return {};
        alternatives.remove_prefix(bar + 1);
    }
}

}  // namespace

std::optional<std::string> template_problem(std::string_view text,
                                            const std::function<bool(std::string_view)>& exists) {
    std::optional<std::string> problem;
    const auto filled = filled_text(text, [&](std::string_view name) {
        if (!problem && !exists(name))
            problem = scrubbed(name, 64) + ": no such fact";
        return std::string{};
    });
    return filled.has_paired_braces ? problem : "an unmatched brace";
}

std::optional<std::string> filled_template(std::string_view text, const WordLookup& lookup) {
    auto filled = filled_text(text, lookup);
    if (!filled.has_paired_braces || !filled.is_complete)
        return std::nullopt;
    return std::move(filled.text);
}

std::string filled_sentence(std::string_view sentence, const WordLookup& lookup) {
    std::string text;
    while (!sentence.empty()) {
        const auto open = std::min(sentence.find('['), sentence.size());
        text += filled_text(sentence.substr(0, open), lookup).text;
        sentence.remove_prefix(open);
        if (sentence.empty())
            break;
        const auto close = std::min(sentence.find(']'), sentence.size());
        text += first_complete(sentence.substr(1, close - 1), lookup);
        sentence.remove_prefix(std::min(close + 1, sentence.size()));
    }
    return text;
}

}  // namespace gpuprobe::inline base
