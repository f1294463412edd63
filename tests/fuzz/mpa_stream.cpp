/// Fuzz target `mpa_stream`: the octets of a TCP stream, however they are cut, into FpduReader and a sink that looks
/// closely. What is delivered must not depend on the cuts; a framed stream must be delivered as it was made.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "iwarp/mpa/fpdu_reader.h"
#include "tests/fuzz/iwarp_input.h"
#include "tests/fuzz/target.h"
#include "tests/script/runner/framing.h"
#include "wire/ddp.h"

namespace {

using script::Octets;

void require(bool holds) {
    if (!holds) std::abort();
}

/// Gives every payload a place of exactly its size, in pieces, and keeps what was delivered.
class Sink final : public iwarp::mpa::SegmentSink {
public:
    explicit Sink(std::optional<std::size_t> refused) : refused_(refused) {}

    base::Result<iwarp::mpa::Target, iwarp::Fault> begin_segment(base::Bytes header, std::uint32_t length) override {
        require(!over_);
        require(!header.empty() && header.size() == wire::ddp_header_size(header[0]));
        require(header.size() + length <= 0xffff);
        if (refused_ && delivered_.size() == *refused_) {
            over_ = true;
            return base::Failure<iwarp::Fault>{iwarp::fault::no_buffer};
        }
        open_ = true;
        header_.assign(header.begin(), header.end());
        payload_ = std::make_unique<std::byte[]>(length);
        length_ = length;
        pieces_.clear();
        for (std::size_t at = 0, size = 1; at < length; at += size, size = size * 3 + 1) {
            size = std::min<std::size_t>(size, length - at);
            pieces_.emplace_back(payload_.get() + at, size);
        }
        return iwarp::mpa::Target{pieces_};
    }
    std::optional<iwarp::Fault> end_segment() override {
        require(open_ && !over_);
        open_ = false;
        Octets ulpdu = header_;
        ulpdu.insert(ulpdu.end(), payload_.get(), payload_.get() + length_);
        delivered_.push_back(std::move(ulpdu));
        return std::nullopt;
    }

    void end() { over_ = true; }
    const std::vector<Octets>& delivered() const { return delivered_; }

private:
    std::optional<std::size_t> refused_;
    bool open_ = false;
    bool over_ = false;
    Octets header_;
    std::unique_ptr<std::byte[]> payload_;
    std::size_t length_ = 0;
    std::vector<base::MutableBytes> pieces_;
    std::vector<Octets> delivered_;
};

struct Outcome {
    std::vector<Octets> delivered;
    std::optional<iwarp::Fault> fault;
};

/// Sizes that follow from a seed: mostly small ones.
class Cuts {
public:
    explicit Cuts(std::uint8_t seed) : state_(seed * 2654435761u + 1) {}
    std::size_t next() {
        state_ = state_ * 1664525 + 1013904223;
        const std::uint32_t drawn = state_ >> 16;
        return drawn % 8 == 0 ? 1 + drawn % 4096 : 1 + drawn % 23;
    }

private:
    std::uint32_t state_;
};

/// What a transport does with a reader that has room.
std::optional<iwarp::Fault> receive_directly(iwarp::mpa::FpduReader& reader, base::Bytes& octets, std::size_t most) {
    const auto room = reader.room(1);
    std::size_t done = 0;
    for (const base::MutableBytes piece : room) {
        const std::size_t count = std::min({piece.size(), octets.size() - done, most - done});
        if (count != 0) std::memcpy(piece.data(), octets.data() + done, count);
        done += count;
    }
    octets = octets.subspan(done);
    return done == 0 ? std::nullopt : reader.received(done);
}

Outcome run(base::Bytes octets, const iwarp::mpa::FpduReader::Settings& settings, std::optional<std::size_t> refused,
            std::optional<std::uint8_t> cuts_seed, bool direct) {
    Sink sink(refused);
    iwarp::mpa::FpduReader reader(settings, sink);
    Outcome outcome;
    Cuts cuts(cuts_seed.value_or(0));
    while (!octets.empty() && !outcome.fault) {
        const std::size_t most = std::min(octets.size(), cuts_seed ? cuts.next() : octets.size());
        if (direct && !reader.room(1).empty()) {
            outcome.fault = receive_directly(reader, octets, most);
            continue;
        }
        // An allocation of their own, where AddressSanitizer notices one read too many.
        const Octets part(octets.begin(), octets.begin() + static_cast<std::ptrdiff_t>(most));
        outcome.fault = reader.receive(part);
        octets = octets.subspan(most);
    }
    if (outcome.fault) {
        sink.end();
        require(!reader.receive(octets.first(std::min<std::size_t>(octets.size(), 100))));
    }
    require(reader.fpdus() == sink.delivered().size());
    outcome.delivered = sink.delivered();
    return outcome;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    namespace input = fuzz::mpa_input;
    if (size < input::header) return 0;
    const std::uint8_t choices = data[0];
    const auto chosen = [choices](std::uint8_t bit) { return (choices & bit) != 0; };
    const iwarp::mpa::FpduReader::Settings settings{chosen(input::crc), chosen(input::markers), chosen(input::strict)};
    const auto* first = reinterpret_cast<const std::byte*>(data) + input::header;
    Octets stream(first, first + (size - input::header));
    std::vector<Octets> ulpdus;
    if (chosen(input::framed)) {
        base::Bytes rest(first, size - input::header);
        stream.clear();
        script::Framing framing{settings.crc, settings.markers};
        while (rest.size() >= 2) {
            const auto wish = base::load_u8(&rest[0]) | static_cast<std::size_t>(base::load_u8(&rest[1])) << 8;
            const base::Bytes ulpdu = rest.subspan(2, std::min(wish, rest.size() - 2));
            rest = rest.subspan(2 + ulpdu.size());
            script::put(stream, script::encode_fpdu(ulpdu, framing, {}));
            ulpdus.emplace_back(ulpdu.begin(), ulpdu.end());
        }
        if (chosen(input::corrupt) && !stream.empty())
            stream[data[2] * stream.size() / 256] ^= static_cast<std::byte>(1u << data[2] % 8);
    }
    const auto refused = chosen(input::refuse) ? std::optional<std::size_t>(data[2] % 8) : std::nullopt;
    const Outcome whole = run(stream, settings, refused, std::nullopt, false);
    const Outcome cut = run(stream, settings, refused, data[1], chosen(input::direct));
    require(whole.delivered == cut.delivered && whole.fault == cut.fault);
    if (chosen(input::framed) && !chosen(input::corrupt)) {
        require(whole.delivered.size() <= ulpdus.size());
        require(std::equal(whole.delivered.begin(), whole.delivered.end(), ulpdus.begin()));
        const auto bad = std::find_if(ulpdus.begin(), ulpdus.end(), [](const Octets& ulpdu) {
            return ulpdu.empty() || ulpdu.size() < wire::ddp_header_size(ulpdu[0]);
        });
        const auto until = static_cast<std::size_t>(bad - ulpdus.begin());
        require(whole.delivered.size() == std::min(until, refused.value_or(until)));
        require(whole.fault.has_value() == (whole.delivered.size() < ulpdus.size()));
    }
    return 0;
}
