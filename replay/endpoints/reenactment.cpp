#include "replay/endpoints/reenactment.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "replay/plan/plan_reader.h"

namespace replay::inline endpoints {

namespace {

using Place = ReenactmentOptions::Place;

EndpointOptions endpoint_options(const Survey& survey, const ReenactmentOptions& options, bool initiator) {
    EndpointOptions out;
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
    EndpointOptions accepting = endpoint_options(survey, options, false);
    accepting.host = "127.0.0.1";
    accepting.port = 0;
    accepting.stopped = stopped;
    ReplayEndpoint acceptor(device_of(options, false), survey, to_acceptor, accepting);
    EndpointOptions connecting = endpoint_options(survey, options, true);
    connecting.host = "127.0.0.1";
    connecting.port = options.listening ? options.listening(acceptor.address(), acceptor.port()) : acceptor.port();
    connecting.stopped = stopped;
    ReplayEndpoint initiator(device_of(options, true), survey, to_initiator, connecting);

    Reenactment out;
    out.endpoints.resize(2);
    {
        const PlanReader reader(survey, options.loops, options.payload, {&to_initiator, &to_acceptor});
        std::thread other([&] {
            out.endpoints[1] = acceptor.run();
            if (!out.endpoints[1].error.empty()) over = true;
        });
        out.endpoints[0] = initiator.run();
        if (!out.endpoints[0].error.empty()) over = true;
        other.join();
    }
    return out;
}

Reenactment as_one_end(const Survey& survey, const ReenactmentOptions& options) {
    const bool initiator = options.place == Place::to;
    OperationQueue operations;
    std::unique_ptr<PlanReader> reader;
    EndpointOptions own = endpoint_options(survey, options, initiator);
    own.begin = [&](const Terms& terms) {
        reader = std::make_unique<PlanReader>(survey, terms.loops, options.payload,
                                              std::vector<OperationQueue*>{&operations});
    };
    ReplayEndpoint endpoint(device_of(options, initiator), survey, operations, own);
    if (!initiator && options.listening) static_cast<void>(options.listening(endpoint.address(), endpoint.port()));
    Reenactment out;
    out.endpoints.push_back(endpoint.run());
    return out;
}

}  // namespace

std::string Reenactment::error() const {
    // The one that gave up for the other's sake says less.
    for (const EndpointResult& endpoint : endpoints)
        if (!endpoint.error.empty() && !endpoint.stopped && !endpoint.by_peer) return endpoint.error;
    for (const EndpointResult& endpoint : endpoints)
        if (!endpoint.error.empty() && !endpoint.by_peer) return endpoint.error;
    for (const EndpointResult& endpoint : endpoints)
        if (!endpoint.error.empty()) return endpoint.error;
    return {};
}

bool Reenactment::stopped() const {
    return std::ranges::any_of(endpoints, [](const EndpointResult& endpoint) { return endpoint.stopped; });
}

std::uint64_t Reenactment::duration_ns() const {
    std::int64_t longest = 0;
    for (const EndpointResult& endpoint : endpoints)
        if (endpoint.start_ns != 0) longest = std::max(longest, endpoint.end_ns - endpoint.start_ns);
    return static_cast<std::uint64_t>(longest);
}

Reenactment re_enact(const Survey& survey, const ReenactmentOptions& options) {
    return options.place == Place::loopback ? on_loopback(survey, options) : as_one_end(survey, options);
}

}  // namespace replay::endpoints
