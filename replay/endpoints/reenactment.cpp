#include "replay/endpoints/reenactment.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "replay/plan/plan_reader.h"

namespace replay {

namespace {

using Place = ReenactmentOptions::Place;

PartyOptions party_options(const Survey& survey, const ReenactmentOptions& options, bool initiator) {
    PartyOptions out;
    out.initiator = initiator;
    out.host = options.host;
    out.port = options.port;
    out.terms.fingerprint = survey.fingerprint();
    out.terms.loops = options.loops;
    out.terms.copies = options.copies;
    out.terms.speed = options.speed;
    out.crc = options.crc;
    out.timeout_ns = options.timeout_ns;
    out.stopped = options.stopped;
    return out;
}

std::shared_ptr<iwarp::Device> device_of(const ReenactmentOptions& options, bool initiator) {
    return options.device ? options.device(initiator) : iwarp::Device::open();
}

/// Both ends in this process, each in a thread of its own, and one that reads.
Reenactment on_loopback(const Survey& survey, const ReenactmentOptions& options) {
    std::atomic<bool> over{false};
    const auto stopped = [&] { return over || (options.stopped && options.stopped()); };
    OperationQueue to_acceptor;
    OperationQueue to_initiator;
    PartyOptions accepting = party_options(survey, options, false);
    accepting.host = "127.0.0.1";
    accepting.port = 0;
    accepting.stopped = stopped;
    Party acceptor(device_of(options, false), survey, to_acceptor, accepting);
    PartyOptions connecting = party_options(survey, options, true);
    connecting.host = "127.0.0.1";
    connecting.port = options.listening ? options.listening(acceptor.address(), acceptor.port()) : acceptor.port();
    connecting.stopped = stopped;
    Party initiator(device_of(options, true), survey, to_initiator, connecting);

    Reenactment out;
    out.parties.resize(2);
    {
        const PlanReader reader(survey, options.loops, options.payload, {&to_initiator, &to_acceptor});
        std::thread other([&] {
            out.parties[1] = acceptor.run();
            if (!out.parties[1].error.empty()) over = true;
        });
        out.parties[0] = initiator.run();
        if (!out.parties[0].error.empty()) over = true;
        other.join();
    }
    return out;
}

Reenactment as_one_end(const Survey& survey, const ReenactmentOptions& options) {
    const bool initiator = options.place == Place::to;
    OperationQueue operations;
    std::unique_ptr<PlanReader> reader;
    PartyOptions own = party_options(survey, options, initiator);
    own.begin = [&](const Terms& terms) {
        reader = std::make_unique<PlanReader>(survey, terms.loops, options.payload,
                                              std::vector<OperationQueue*>{&operations});
    };
    Party party(device_of(options, initiator), survey, operations, own);
    if (!initiator && options.listening) static_cast<void>(options.listening(party.address(), party.port()));
    Reenactment out;
    out.parties.push_back(party.run());
    return out;
}

}  // namespace

std::string Reenactment::error() const {
    // The one that gave up for the other's sake says less.
    for (const PartyResult& party : parties)
        if (!party.error.empty() && !party.stopped && !party.told) return party.error;
    for (const PartyResult& party : parties)
        if (!party.error.empty() && !party.told) return party.error;
    for (const PartyResult& party : parties)
        if (!party.error.empty()) return party.error;
    return {};
}

bool Reenactment::stopped() const {
    return std::ranges::any_of(parties, [](const PartyResult& party) { return party.stopped; });
}

std::uint64_t Reenactment::duration_ns() const {
    std::int64_t longest = 0;
    for (const PartyResult& party : parties)
        if (party.start_ns != 0) longest = std::max(longest, party.end_ns - party.start_ns);
    return static_cast<std::uint64_t>(longest);
}

Reenactment re_enact(const Survey& survey, const ReenactmentOptions& options) {
    return options.place == Place::loopback ? on_loopback(survey, options) : as_one_end(survey, options);
}

}  // namespace replay
