// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

/// Runs a SPIR-V kernel for OpenCL's environment, one thread after the other. It supports only the
/// instructions that our kernels use. An unknown instruction throws an exception, and so does a
/// number that its type cannot represent. Source: SPIR-V specification 1.6; OpenCL.std.
namespace gpuprobe::support {

class SpirvMachine {
public:
    explicit SpirvMachine(std::span<const unsigned char> module) : words_(module.size() / 4) {
        std::memcpy(words_.data(), module.data(), words_.size() * 4);
        if (words_.size() < kHeader || words_[0] != 0x07230203)
            throw std::runtime_error{"no SPIR-V"};
        for (std::size_t at = kHeader; at < words_.size(); at += words_[at] >> 16U)
            declare({&words_[at], words_[at] >> 16U}, at);
    }

    /// The five arguments of our kernels, whose first two are buffers.
    void run(const std::string& kernel,
             std::uint32_t threads,
             std::span<std::uint32_t> from,
             std::span<std::uint32_t> to,
             const std::array<std::uint32_t, 3>& numbers) {
        buffers_ = {from, to};
        for (std::uint32_t thread = 0; thread < threads; ++thread)
            run_thread(functions_.at(entries_.at(kernel)), thread, numbers);
    }

private:
    static constexpr std::size_t kHeader = 5;
    using Words = std::span<const std::uint32_t>;

    struct Type {
        enum class Kind { Other, Integer, Float, Vector, Pointer } kind = Kind::Other;
        std::uint32_t width = 0;  ///< bits of a number
        std::uint32_t count = 1;
        std::uint32_t element = 0;  ///< the type of a vector's elements, or of a pointer's target
    };
    struct Value {
        std::array<double, 4> real = {};
        std::array<std::uint64_t, 4> whole = {};  ///< of a pointer: the buffer and a byte offset
    };

    void declare(Words code, std::size_t at) {
        using Kind = Type::Kind;
        switch (code[0] & 0xffffU) {
            case 15:  // OpEntryPoint
                entries_[reinterpret_cast<const char*>(&code[3])] = code[2];
                break;
            case 21:  // OpTypeInt
                types_[code[1]] = {.kind = Kind::Integer, .width = code[2]};
                break;
            case 22:  // OpTypeFloat
                types_[code[1]] = {.kind = Kind::Float, .width = code[2]};
                break;
            case 23:  // OpTypeVector
                types_[code[1]] = {.kind = Kind::Vector,
                                   .width = types_.at(code[2]).width,
                                   .count = code[3],
                                   .element = code[2]};
                break;
            case 32:  // OpTypePointer
                types_[code[1]] = {.kind = Kind::Pointer, .element = code[3]};
                break;
            case 43:  // OpConstant
                constants_[code[2]].whole[0] = code[3];
                break;
            case 44:  // OpConstantComposite
                for (std::size_t i = 3; i < code.size(); ++i)
                    constants_[code[2]].whole.at(i - 3) = constants_.at(code[i]).whole[0];
                break;
            case 54:  // OpFunction
                functions_[code[2]] = at;
                break;
            case 248:  // OpLabel
                labels_[code[1]] = at;
                break;
            default:
                break;
        }
    }

    [[nodiscard]] bool is_real(std::uint32_t type) const {
        const auto& found = types_.at(type);
        return found.kind == Type::Kind::Float ||
               (found.kind == Type::Kind::Vector &&
                types_.at(found.element).kind == Type::Kind::Float);
    }

    /// Our numbers are small integers, so rounding would mean that the kernel is wrong.
    void keep(std::uint32_t type, std::uint32_t id, Value value) {
        const auto& as = types_.at(type);
        const double most = as.width == 16 ? 2048 : 16777216;
        for (std::size_t i = 0; i < as.count; ++i) {
            if (is_real(type) &&
                (std::abs(value.real[i]) > most || value.real[i] != std::trunc(value.real[i])))
                throw std::runtime_error{"a number that is rounded"};
            if (as.width == 32 && !is_real(type))
                value.whole[i] &= 0xffffffffU;
        }
        values_[id] = value;
    }

    template <class Operation>
    void each(Words code, Operation operation) {
        Value result;
        const auto& left = values_.at(code[3]);
        const auto& right = values_.at(code[4]);
        for (std::size_t i = 0; i < types_.at(code[1]).count; ++i)
            if (is_real(code[1]))
                result.real[i] = operation(left.real[i], right.real[i]);
            else
                result.whole[i] = operation(left.whole[i], right.whole[i]);
        keep(code[1], code[2], result);
    }

    std::uint32_t* memory(const Value& pointer, std::size_t words) {
        const auto buffer = buffers_.at(pointer.whole[0]);
        const auto at = pointer.whole[1] / 4;
        if (pointer.whole[1] % 4 != 0 || at + words > buffer.size())
            throw std::runtime_error{"out of bounds"};
        return &buffer[at];
    }

    void load(Words code, std::uint32_t thread) {
        Value value;
        const auto pointer = values_.find(code[3]);
        const auto count = types_.at(code[1]).count;
        if (pointer == values_.end())  // the only variable is the index of the thread
            value.whole[0] = thread;
        else
            for (std::size_t i = 0; i < count; ++i)
                value.whole[i] = memory(pointer->second, count)[i];
        keep(code[1], code[2], value);
    }

    void store(Words code) {
        const auto& pointer = values_.at(code[1]);
        const auto count = types_.at(pointee_.at(code[1])).count;
        for (std::size_t i = 0; i < count; ++i)
            memory(pointer, count)[i] = static_cast<std::uint32_t>(values_.at(code[2]).whole[i]);
    }

    void step_pointer(Words code) {
        auto pointer = values_.at(code[3]);
        const auto element = types_.at(code[1]).element;
        pointee_[code[2]] = element;
        pointer.whole[1] += values_.at(code[4]).whole[0] * 4 * types_.at(element).count;
        values_[code[2]] = pointer;
    }

    void dot_of_bytes(Words code) {
        std::int32_t sum = 0;
        for (unsigned shift = 0; shift < 32; shift += 8)
            sum += static_cast<std::int8_t>(values_.at(code[3]).whole[0] >> shift) *
                   static_cast<std::int8_t>(values_.at(code[4]).whole[0] >> shift);
        keep(code[1], code[2], {.whole = {static_cast<std::uint32_t>(sum)}});
    }

    void fuse(Words code) {
        if (code[4] != 26)  // OpenCL.std fma
            throw std::runtime_error{"another function"};
        Value result;
        for (std::size_t i = 0; i < types_.at(code[1]).count; ++i)
            result.real[i] = values_.at(code[5]).real[i] * values_.at(code[6]).real[i] +
                             values_.at(code[7]).real[i];
        keep(code[1], code[2], result);
    }

    void compose(Words code) {
        Value result;
        for (std::size_t i = 3; i < code.size(); ++i) {
            result.whole.at(i - 3) = values_.at(code[i]).whole[0];
            result.real.at(i - 3) = values_.at(code[i]).real[0];
        }
        keep(code[1], code[2], result);
    }

    void choose(Words code, std::uint32_t came_from) {
        for (std::size_t i = 3; i < code.size(); i += 2)
            if (code[i + 1] == came_from)
                chosen_[code[2]] = values_.at(code[i]);
    }

    void compute(Words code, std::uint32_t thread) {
        const auto operand = [&] { return values_.at(code[3]); };
        switch (code[0] & 0xffffU) {
            case 61:
                return load(code, thread);
            case 62:
                return store(code);
            case 70:  // OpInBoundsPtrAccessChain
                return step_pointer(code);
            case 12:
                return fuse(code);
            case 80:
                return compose(code);
            case 81:  // OpCompositeExtract
                return keep(
                    code[1], code[2],
                    {.real = {operand().real.at(code[4])}, .whole = {operand().whole.at(code[4])}});
            case 109:  // OpConvertFToU
                return keep(code[1], code[2],
                            {.whole = {static_cast<std::uint64_t>(operand().real[0])}});
            case 111:  // OpConvertSToF
                return keep(
                    code[1], code[2],
                    {.real = {static_cast<double>(static_cast<std::int32_t>(operand().whole[0]))}});
            case 112:  // OpConvertUToF
                return keep(code[1], code[2], {.real = {static_cast<double>(operand().whole[0])}});
            case 113:  // OpUConvert
                return keep(code[1], code[2], {.whole = {operand().whole[0]}});
            case 128:
            case 129:  // OpIAdd, OpFAdd
                return each(code, [](auto a, auto b) { return a + b; });
            case 130:
                return each(code, [](auto a, auto b) { return a - b; });
            case 132:
                return each(code, [](auto a, auto b) { return a * b; });
            case 171:  // OpINotEqual
                values_[code[2]].whole[0] = operand().whole[0] != values_.at(code[4]).whole[0];
                return;
            case 194:
                return each_bit(code, [](auto a, auto b) { return a >> b; });
            case 196:
                return each_bit(code, [](auto a, auto b) { return a << b; });
            case 199:
                return each_bit(code, [](auto a, auto b) { return a & b; });
            case 4450:  // OpSDotKHR
                return dot_of_bytes(code);
            default:
                throw std::runtime_error{"instruction " + std::to_string(code[0] & 0xffffU)};
        }
    }

    template <class Operation>
    void each_bit(Words code, Operation operation) {
        keep(code[1], code[2],
             {.whole = {operation(values_.at(code[3]).whole[0], values_.at(code[4]).whole[0])}});
    }

    void run_thread(std::size_t at,
                    std::uint32_t thread,
                    const std::array<std::uint32_t, 3>& numbers) {
        values_ = constants_;
        std::uint32_t parameter = 0;
        std::uint32_t block = 0;
        std::uint32_t came_from = 0;
        for (;;) {
            const Words code{&words_[at], words_[at] >> 16U};
            at += code.size();
            switch (code[0] & 0xffffU) {
                case 54:
                    continue;
                case 55:  // OpFunctionParameter
                    values_[code[2]].whole[0] =
                        parameter < 2 ? parameter : numbers.at(parameter - 2);
                    ++parameter;
                    continue;
                case 248:
                    block = code[1];
                    chosen_.clear();
                    continue;
                case 245:  // OpPhi: all in a block are evaluated at once
                    choose(code, came_from);
                    continue;
                case 249:  // OpBranch
                case 250:  // OpBranchConditional
                    came_from = block;
                    at = labels_.at(code.size() == 2                    ? code[1]
                                    : values_.at(code[1]).whole[0] != 0 ? code[2]
                                                                        : code[3]);
                    continue;
                case 253:
                    return;
                default:
                    break;
            }
            for (const auto& [id, value] : chosen_)
                values_[id] = value;
            chosen_.clear();
            compute(code, thread);
        }
    }

    std::vector<std::uint32_t> words_;
    std::map<std::string, std::uint32_t> entries_ = {};
    std::map<std::uint32_t, Type> types_ = {};
    std::map<std::uint32_t, Value> constants_ = {};
    std::map<std::uint32_t, std::size_t> functions_ = {};
    std::map<std::uint32_t, std::size_t> labels_ = {};
    std::map<std::uint32_t, Value> values_ = {};
    std::map<std::uint32_t, Value> chosen_ = {};
    std::map<std::uint32_t, std::uint32_t> pointee_ = {};
    std::array<std::span<std::uint32_t>, 2> buffers_ = {};
};

}  // namespace gpuprobe::support
