#include "cli/endpoint/endpoint_server.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/core.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "cli/endpoint/pattern.h"

namespace cli::endpoint {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::size_t regions_of_session = 4;
constexpr std::size_t first_completions = 1024;

iwarp::DeviceOptions device_options(const ServerOptions& options) {
    iwarp::DeviceOptions device;
    device.max_connections = options.max_connections + options.spare_connections;
    device.max_queue_pairs = options.max_connections + options.spare_connections;
    device.max_regions = std::min<std::size_t>(regions_of_session * device.max_queue_pairs + 16, (1U << 24) - 1);
    return device;
}

Memory patterned(std::uint64_t octets) {
    Memory memory(octets);
    Pattern::fill(memory.octets(), 0);
    return memory;
}

void add(iwarp::QueuePairCounters& sum, const iwarp::QueuePairCounters& more) {
    sum.fpdus_sent += more.fpdus_sent;
    sum.fpdus_received += more.fpdus_received;
    sum.payload_octets_sent += more.payload_octets_sent;
    sum.payload_octets_received += more.payload_octets_received;
    sum.crc_errors += more.crc_errors;
    sum.reads_served += more.reads_served;
}

}  // namespace

std::optional<ConnectionLimits> limits_for(std::size_t descriptors) {
    constexpr std::size_t least = 32;
    constexpr std::size_t most_spare = 64;
    if (descriptors < least) return std::nullopt;
    // A quarter, up to a bound, for the connections that are refused, and the same for the listener, files and timers.
    const std::size_t spare = std::min(most_spare, descriptors / 4);
    return ConnectionLimits{descriptors - 2 * spare, spare};
}

Server::Server(const ServerOptions& options)
    : options_(options),
      readable_(patterned(options.region_octets + Pattern::period)),
      budget_(options.memory_octets),
      device_(iwarp::Device::open(device_options(options))),
      completions_(device_->create_completion_queue(first_completions)),
      listener_(listen_at(*device_, options.listen, options.connection)),
      host_{*device_, completions_, readable_, options.region_octets, budget_, counters_.sessions} {
    share_memory();
}

Server::~Server() = default;

void Server::progress(std::chrono::nanoseconds wait) {
    device_->progress(wait);
    take_completions();
    share_memory();
    while (auto event = device_->next_event()) handle(*event);
    end_the_idle();
    share_memory();
}

/// Sessions and the stack have one budget: each may take what the other has not.
void Server::share_memory() {
    budget_.set_elsewhere(device_->stream_memory());
    device_->limit_stream_memory(budget_.not_taken());
}

void Server::take_completions() {
    std::array<iwarp::Completion, 256> done;
    while (const std::size_t count = completions_->poll(done)) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto found = sessions_.find(done[i].queue_pair);
            if (found == sessions_.end()) continue;
            Session& session = *found->second;
            session.completed(done[i]);
            if (!session.touched) touched_.push_back(&session);
            session.touched = true;
        }
    }
    for (Session* session : touched_) {
        session->touched = false;
        session->settle();
    }
    touched_.clear();
}

void Server::handle(const iwarp::Event& event) {
    using Kind = iwarp::Event::Kind;
    switch (event.kind) {
        case Kind::connect_request: on_connect_request(*event.request); break;
        case Kind::established:
            ++counters_.established;
            say(fmt::format("{} connected", event.queue_pair->peer()));
            break;
        case Kind::terminated:
            if (event.terminate)
                say(fmt::format("{} {}: {}", event.queue_pair->peer(),
                                event.terminate->sent_by_us ? "was sent a Terminate" : "sent a Terminate",
                                event.terminate->text));
            break;
        case Kind::disconnected:
        case Kind::connect_failed: forget(event); break;
        default: break;
    }
}

void Server::on_connect_request(iwarp::ConnectionRequest& request) {
    ++counters_.requests;
    try {
        if (sessions_.size() >= options_.max_connections)
            throw Refused(fmt::format("full: {} connections are open (serve --connections)", sessions_.size()));
        const auto hello = Hello::decode(request.private_data());
        if (hello && hello->version != Hello{}.version)
            throw Refused("another version of rdmascope: use the same one at both ends");
        auto session = Session::make(host_, hello);
        make_room(session->completions());
        session->begin();
        session->idle_since_ns = base::steady_ns();
        iwarp::ConnectionOptions answer = options_.connection;
        if (hello && hello->service == Hello::Service::usage) {
            Usage usage = Usage::of_this_process();
            const iwarp::QueuePairCounters traffic = counters().traffic;
            usage.payload_octets_sent = traffic.payload_octets_sent;
            usage.payload_octets_received = traffic.payload_octets_received;
            answer.private_data = usage.encode();
        } else {
            answer.private_data = session->offer().encode();
        }
        const auto queue_pair = session->queue_pair();
        completions_needed_ += session->completions();
        sessions_.emplace(queue_pair->number(), std::move(session));
        counters_.open_most = std::max(counters_.open_most, sessions_.size());
        try {
            request.accept(queue_pair, answer);
        } catch (const iwarp::Error&) {
            completions_needed_ -= sessions_.at(queue_pair->number())->completions();
            sessions_.erase(queue_pair->number());
            throw;
        }
    } catch (const Refused& refused) {
        refuse(request, refused.what());
    } catch (const iwarp::Error& error) {
        refuse(request, error.what());
    }
}

void Server::refuse(iwarp::ConnectionRequest& request, const std::string& reason) {
    ++counters_.rejected;
    say(fmt::format("{} rejected: {}", request.peer(), reason));
    request.reject(Refusal{reason}.encode());
}

void Server::forget(const iwarp::Event& event) {
    const auto found = sessions_.find(event.queue_pair->number());
    if (found == sessions_.end()) return;
    // What was never established the device has counted among its handshakes.
    const bool was_established = event.kind == iwarp::Event::Kind::disconnected;
    const bool orderly = was_established && event.text.empty();
    if (was_established) ++(orderly ? counters_.ended : counters_.failed);
    say(orderly ? fmt::format("{} disconnected", event.queue_pair->peer())
                : fmt::format("{} gone: {}", event.queue_pair->peer(), event.text));
    add(counters_.traffic, event.queue_pair->counters());
    completions_needed_ -= found->second->completions();
    sessions_.erase(found);
}

/// A completion queue that ran over would end every connection.
void Server::make_room(std::size_t completions) {
    const std::size_t needed = completions_needed_ + completions + completions_->size();
    if (needed > completions_->capacity()) completions_->resize(std::bit_ceil(needed));
}

void Server::end_the_idle() {
    const std::int64_t now = base::steady_ns();
    if (options_.idle.count() == 0 || now < idle_due_ns_) return;
    idle_due_ns_ = now + std::min<std::int64_t>(second_ns, options_.idle.count() / 4 + 1);
    for (auto& [number, session] : sessions_) {
        if (session->ending) continue;  // a peer that does not answer the FIN is let go by the stack
        const std::uint64_t received = session->queue_pair()->counters().fpdus_received;
        if (received != session->idle_fpdus) {
            session->idle_fpdus = received;
            session->idle_since_ns = now;
        } else if (now - session->idle_since_ns > options_.idle.count()) {
            session->ending = true;
            ++counters_.idle_ended;
            say(fmt::format("{} was silent for too long", session->queue_pair()->peer()));
            session->queue_pair()->disconnect();
        }
    }
}

void Server::stop(std::chrono::nanoseconds within) {
    listener_ = nullptr;
    for (auto& [number, session] : sessions_) session->queue_pair()->disconnect();
    const std::int64_t until = base::steady_ns() + within.count();
    while (!sessions_.empty() && base::steady_ns() < until) progress(std::chrono::milliseconds(10));
}

ServerCounters Server::counters() const {
    ServerCounters all = counters_;
    for (const auto& [number, session] : sessions_) add(all.traffic, session->queue_pair()->counters());
    return all;
}

std::shared_ptr<iwarp::Listener> listen_at(iwarp::Device& device, const Address& address,
                                           const iwarp::ConnectionOptions& options) {
    try {
        return device.listen(address.host, address.port, options);
    } catch (const iwarp::Error& error) {
        throw iwarp::Error(
            fmt::format("{}; --listen wants an address of this machine and a port that is free", error.what()));
    }
}

std::size_t raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        ::getrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur;
}

}  // namespace cli::endpoint
