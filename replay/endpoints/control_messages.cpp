#include "replay/endpoints/control_messages.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/bytes.h"

namespace replay::inline endpoints {

namespace {

constexpr std::uint32_t magic = 0x52525031;  // "RRP1"
enum class Sort : std::uint8_t { terms = 1, advertisement = 2, refusal = 3, message = 4 };

class Writer {
public:
    explicit Writer(Sort sort) {
        u32(magic);
        u8(static_cast<std::uint8_t>(sort));
    }
    void u8(std::uint8_t value) { number(value, 1); }
    void u32(std::uint32_t value) { number(value, 4); }
    void u64(std::uint64_t value) { number(value, 8); }
    void text(const std::string& value, std::size_t most) {
        const std::size_t size = std::min(value.size(), most);
        u32(static_cast<std::uint32_t>(size));
        for (std::size_t i = 0; i < size; ++i) out_.push_back(static_cast<std::byte>(value[i]));
    }
    std::vector<std::byte> take() { return std::move(out_); }

private:
    void number(std::uint64_t value, unsigned octets) {
        for (unsigned i = octets; i-- > 0;) out_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
    }
    std::vector<std::byte> out_;
};

/// Past the end everything is zero, and good() false.
class Reader {
public:
    Reader(std::span<const std::byte> data, Sort sort) : data_(data) {
        if (u32() != magic || u8() != static_cast<std::uint8_t>(sort)) good_ = false;
    }
    std::uint8_t u8() {
        const std::byte* at = take(1);
        return at != nullptr ? static_cast<std::uint8_t>(*at) : std::uint8_t{0};
    }
    std::uint32_t u32() {
        const std::byte* at = take(4);
        return at != nullptr ? base::load_be32(at) : 0;
    }
    std::uint64_t u64() {
        const std::byte* at = take(8);
        return at != nullptr ? base::load_be64(at) : 0;
    }
    std::string text() {
        const std::uint32_t size = u32();
        const std::byte* at = take(size);
        return at != nullptr ? std::string(reinterpret_cast<const char*>(at), size) : std::string();
    }
    bool good() const { return good_; }

private:
    const std::byte* take(std::size_t octets) {
        good_ = good_ && octets <= data_.size();
        if (!good_) return nullptr;
        const std::byte* at = data_.data();
        data_ = data_.subspan(octets);
        return at;
    }
    std::span<const std::byte> data_;
    bool good_ = true;
};

}  // namespace

std::vector<std::byte> Terms::encode() const {
    Writer out(Sort::terms);
    out.u64(fingerprint);
    out.u64(loops);
    out.u32(copies);
    out.u64(std::bit_cast<std::uint64_t>(speed.value_or(0)));
    return out.take();
}

std::optional<Terms> Terms::decode(std::span<const std::byte> data) {
    Reader in(data, Sort::terms);
    Terms out;
    out.fingerprint = in.u64();
    out.loops = in.u64();
    out.copies = in.u32();
    const auto speed = std::bit_cast<double>(in.u64());
    if (!in.good() || out.loops == 0 || out.copies == 0 || out.copies > 10'000) return {};
    if (!std::isfinite(speed) || speed < 0) return {};
    out.speed = speed > 0 ? std::optional(speed) : std::nullopt;
    return out;
}

std::vector<std::byte> Advertisement::encode() const {
    Writer out(Sort::advertisement);
    out.u32(connection);
    out.u32(copy);
    out.u8(side);
    out.u32(receives);
    out.u32(data_stag);
    out.u64(data_octets);
    out.u32(atomics_stag);
    out.u8(static_cast<std::uint8_t>(invalidatable.size()));
    for (const std::uint32_t stag : invalidatable) out.u32(stag);
    return out.take();
}

std::optional<Advertisement> Advertisement::decode(std::span<const std::byte> data) {
    Reader in(data, Sort::advertisement);
    Advertisement out;
    out.connection = in.u32();
    out.copy = in.u32();
    out.side = in.u8();
    out.receives = in.u32();
    out.data_stag = in.u32();
    out.data_octets = in.u64();
    out.atomics_stag = in.u32();
    const std::uint8_t stags = in.u8();
    if (!in.good() || out.side > 1 || out.receives == 0 || stags > max_invalidatable) return {};
    for (unsigned i = 0; i < stags; ++i) out.invalidatable.push_back(in.u32());
    return in.good() ? std::optional(out) : std::nullopt;
}

std::vector<std::byte> Refusal::encode() const {
    Writer out(Sort::refusal);
    out.text(reason, 256);
    return out.take();
}

std::optional<Refusal> Refusal::decode(std::span<const std::byte> data) {
    Reader in(data, Sort::refusal);
    Refusal out{in.text()};
    return in.good() ? std::optional(out) : std::nullopt;
}

std::size_t ControlMessage::encode(std::span<std::byte> into) const {
    Writer out(Sort::message);
    out.u8(static_cast<std::uint8_t>(type));
    out.u64(taken);
    out.text(text, 512);
    out.u32(static_cast<std::uint32_t>(counts.size()));
    for (const Count& count : counts) {
        out.u32(count.connection);
        out.u32(count.copy);
        out.u64(count.messages);
    }
    const std::vector<std::byte> whole = out.take();
    std::memcpy(into.data(), whole.data(), std::min(into.size(), whole.size()));
    return whole.size();
}

std::optional<ControlMessage> ControlMessage::decode(std::span<const std::byte> data) {
    Reader in(data, Sort::message);
    ControlMessage out;
    const std::uint8_t type = in.u8();
    out.taken = in.u64();
    out.text = in.text();
    const std::uint32_t counts = in.u32();
    if (!in.good() || type < 1 || type > 4 || counts > max_counts) return {};
    out.type = static_cast<Type>(type);
    for (std::uint32_t i = 0; i < counts; ++i) {
        Count& count = out.counts.emplace_back();
        count.connection = in.u32();
        count.copy = in.u32();
        count.messages = in.u64();
    }
    return in.good() ? std::optional(out) : std::nullopt;
}

}  // namespace replay::endpoints
