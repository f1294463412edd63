#include "cli/endpoint/endpoint_protocol.h"

#include <algorithm>
#include <sys/resource.h>

#include "base/bytes.h"

namespace cli::endpoint {

namespace {

constexpr std::uint32_t magic = 0x52445343;  // "RDSC"
constexpr std::uint8_t version = 1;
/// After the magic number and the version.
enum class Kind : std::uint8_t { hello = 1, offer = 2, refusal = 3, usage = 4 };
constexpr std::size_t head = 8;

std::vector<std::byte> begin(Kind kind, std::size_t octets) {
    std::vector<std::byte> out(octets);
    base::store_be32(out.data(), magic);
    out[4] = std::byte{version};
    out[5] = static_cast<std::byte>(kind);
    return out;
}

bool is(Kind kind, std::span<const std::byte> data, std::size_t octets, bool any_version = false) {
    return data.size() >= octets && base::load_be32(data.data()) == magic && data[5] == static_cast<std::byte>(kind) &&
           (any_version || data[4] == std::byte{version});
}

void store(std::byte* out, const RemoteRegion& region) {
    base::store_be32(out, region.stag);
    base::store_be64(out + 4, region.offset);
    base::store_be64(out + 12, region.length);
}

RemoteRegion load(const std::byte* data) {
    return {base::load_be32(data), base::load_be64(data + 4), base::load_be64(data + 12)};
}

std::uint64_t ns_of(const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_usec) * 1000;
}

}  // namespace

std::vector<std::byte> Hello::encode() const {
    auto out = begin(Kind::hello, octets);
    out[6] = static_cast<std::byte>(service);
    out[7] = static_cast<std::byte>(verify ? 1 : 0);
    base::store_be32(&out[head], message_octets);
    base::store_be32(&out[head + 4], depth);
    base::store_be64(&out[head + 8], writable_octets);
    return out;
}

std::optional<Hello> Hello::decode(std::span<const std::byte> data) {
    if (!is(Kind::hello, data, octets, true)) return {};
    Hello hello;
    hello.version = base::load_u8(&data[4]);
    hello.service = static_cast<Service>(data[6]);
    hello.verify = (data[7] & std::byte{1}) != std::byte{0};
    hello.message_octets = base::load_be32(&data[head]);
    hello.depth = base::load_be32(&data[head + 4]);
    hello.writable_octets = base::load_be64(&data[head + 8]);
    return hello;
}

std::vector<std::byte> Offer::encode() const {
    auto out = begin(Kind::offer, octets);
    base::store_be32(&out[head], credits);
    base::store_be32(&out[head + 4], message_octets);
    store(&out[head + 8], readable);
    store(&out[head + 28], writable);
    return out;
}

std::optional<Offer> Offer::decode(std::span<const std::byte> data) {
    if (!is(Kind::offer, data, octets)) return {};
    return Offer{base::load_be32(&data[head]), base::load_be32(&data[head + 4]), load(&data[head + 8]),
                 load(&data[head + 28])};
}

std::vector<std::byte> Refusal::encode() const {
    constexpr std::size_t longest = 200;  // Linux siw takes 252 bytes
    const std::size_t size = std::min(reason.size(), longest);
    auto out = begin(Kind::refusal, head + size);
    std::ranges::copy(std::as_bytes(std::span(reason.data(), size)), out.begin() + head);
    return out;
}

std::optional<Refusal> Refusal::decode(std::span<const std::byte> data) {
    if (!is(Kind::refusal, data, head)) return {};
    Refusal refusal;
    // What a peer says must not move the terminal's cursor.
    for (const std::byte octet : data.subspan(head)) {
        const char c = static_cast<char>(octet);
        refusal.reason += c >= ' ' && c <= '~' ? c : '?';
    }
    return refusal;
}

std::vector<std::byte> Usage::encode() const {
    auto out = begin(Kind::usage, octets);
    base::store_be64(&out[head], user_ns);
    base::store_be64(&out[head + 8], system_ns);
    base::store_be64(&out[head + 16], payload_octets_sent);
    base::store_be64(&out[head + 24], payload_octets_received);
    return out;
}

std::optional<Usage> Usage::decode(std::span<const std::byte> data) {
    if (!is(Kind::usage, data, octets)) return {};
    return Usage{base::load_be64(&data[head]), base::load_be64(&data[head + 8]), base::load_be64(&data[head + 16]),
                 base::load_be64(&data[head + 24])};
}

Usage Usage::of_this_process() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    Usage usage;
    usage.user_ns = ns_of(used.ru_utime);
    usage.system_ns = ns_of(used.ru_stime);
    return usage;
}

Usage Usage::since(const Usage& earlier) const {
    const auto less = [](std::uint64_t now, std::uint64_t then) { return now > then ? now - then : 0; };
    return {less(user_ns, earlier.user_ns), less(system_ns, earlier.system_ns),
            less(payload_octets_sent, earlier.payload_octets_sent),
            less(payload_octets_received, earlier.payload_octets_received)};
}

void Credit::encode(std::span<std::byte, octets> out) const {
    base::store_be32(&out[0], magic);
    base::store_be32(&out[4], messages);
    base::store_be32(&out[8], wrong);
    base::store_be32(&out[12], 0);
}

Credit Credit::decode(std::span<const std::byte, octets> data) {
    return {base::load_be32(&data[4]), base::load_be32(&data[8])};
}

void RpingBuffer::encode(std::span<std::byte, octets> out) const {
    base::store_be64(&out[0], address);
    base::store_be32(&out[8], stag);
    base::store_be32(&out[12], size);
}

RpingBuffer RpingBuffer::decode(std::span<const std::byte, octets> data) {
    return {base::load_be64(&data[0]), base::load_be32(&data[8]), base::load_be32(&data[12])};
}

}  // namespace cli::endpoint
