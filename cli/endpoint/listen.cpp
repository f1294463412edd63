// `rdmascope endpoint listen`: accepts anything that speaks iWARP, and prints what comes.
#include <algorithm>
#include <array>
#include <ctime>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <unordered_map>

#include "base/file.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/endpoint/connect.h"
#include "cli/endpoint/endpoint_server.h"
#include "cli/endpoint/memory_budget.h"
#include "cli/endpoint/pattern.h"
#include "cli/endpoint/subcommands.h"
#include "cli/signals.h"

namespace cli::endpoint {

namespace {

using options::Section;
using Json = nlohmann::ordered_json;

struct ListenOptions : CommonOptions {
    Address at = {};
    std::uint64_t count = 0;
    std::uint64_t connections = 256;
    std::uint64_t receives = 256;
    std::uint64_t receive_octets = 4096;
    std::uint64_t region_octets = 65536;
    std::uint64_t shown_octets = 32;
};
using ListenRow = options::Option<ListenOptions>;

constexpr std::array listen_own_rows{
    ListenRow{{0, "listen", "ADDR:PORT", "where (default 127.0.0.1:7174); port 0 is any free one"},
              Section::work,
              [](ListenOptions& o, const std::string& value) { return take_address(value, true, o.at); }},
    ListenRow{{'c', "count", "N", "end after N connections have come and gone"},
              Section::work,
              options::number<1, 1'000'000'000, &ListenOptions::count>},
    ListenRow{{0, "connections", "N", "accept at most N connections at once (default 256)"},
              Section::bounds,
              options::number<1, 65535, &ListenOptions::connections>},
    ListenRow{{0, "receives", "N", "post N receives on each connection (default 256)"},
              Section::bounds,
              options::number<1, 4096, &ListenOptions::receives>},
    ListenRow{
        {0, "receive-size", "SIZE", "post receives of SIZE bytes (default 4K); a longer message ends the connection"},
        Section::bounds,
        options::size<1, std::uint64_t{16} << 20, &ListenOptions::receive_octets>},
    ListenRow{{0, "region", "SIZE", "lend SIZE bytes to each peer (default 64K)"},
              Section::bounds,
              options::size<64, std::uint64_t{1} << 30, &ListenOptions::region_octets>},
    ListenRow{{0, "show", "N", "print the first N bytes of each message (default 32)"},
              Section::printing,
              options::number<0, 65536, &ListenOptions::shown_octets>},
};

std::string hexadecimal(std::span<const std::byte> octets, std::uint64_t most) {
    std::string out;
    for (const std::byte octet : octets.first(std::min<std::size_t>(octets.size(), static_cast<std::size_t>(most))))
        out += fmt::format("{:02x}", std::to_integer<unsigned>(octet));
    return out;
}

std::string local_time() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    tm parts{};
    ::localtime_r(&now.tv_sec, &parts);
    return fmt::format("{:02}:{:02}:{:02}.{:06}", parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec / 1000);
}

/// A line a thing that happens: `TIME PEER WHAT KEY=VALUE...`, or a JSON object.
class Journal {
public:
    explicit Journal(bool json) : json_(json) {}
    /// False if no process reads any more.
    void add(const std::string& peer, std::string_view what, const Json& figures = Json::object()) {
        std::string line;
        if (json_) {
            Json all{{"time", local_time()}, {"peer", peer}, {"event", what}};
            all.update(figures);
            line = all.dump(-1, ' ', false, Json::error_handler_t::replace);
        } else {
            line = fmt::format("{} {} {}", local_time(), peer, what);
            for (const auto& [name, value] : figures.items())
                line += fmt::format(" {}={}", name, value.is_string() ? value.get<std::string>() : value.dump());
        }
        if (!base::write_all(STDOUT_FILENO, line + "\n")) failed_ = true;
    }
    bool failed() const { return failed_; }

private:
    bool json_;
    bool failed_ = false;
};

struct Peer {
    Memory lent;
    Memory messages;
    std::shared_ptr<iwarp::ProtectionDomain> domain;
    std::shared_ptr<iwarp::MemoryRegion> lent_region;
    std::shared_ptr<iwarp::MemoryRegion> message_region;
    std::shared_ptr<iwarp::QueuePair> queue_pair;
    std::string name;

    void offer(std::uint64_t slot, std::uint64_t octets) const {
        const iwarp::Sge piece{messages.data() + slot * octets, static_cast<std::uint32_t>(octets),
                               message_region->stag()};
        queue_pair->post_receive({slot, {&piece, 1}});
    }
};

class Listening {
public:
    explicit Listening(const ListenOptions& options)
        : options_(options),
          journal_(options.json),
          device_(iwarp::Device::open()),
          completions_(
              device_->create_completion_queue(static_cast<std::size_t>(options.connections * (options.receives + 1)))),
          listener_(listen_at(*device_, options.at, options.connection)) {}

    Address address() const { return {listener_->address(), listener_->port()}; }

    void run() {
        std::array<iwarp::Completion, 64> done;
        while (!Signals::stop() && !journal_.failed() && (options_.count == 0 || gone_ < options_.count)) {
            device_->progress(std::chrono::milliseconds(100));
            while (const std::size_t count = completions_->poll(done))
                for (std::size_t i = 0; i < count; ++i) received(done[i]);
            while (const auto event = device_->next_event()) handle(*event);
        }
    }

private:
    void handle(const iwarp::Event& event) {
        using EventKind = iwarp::Event::Kind;
        switch (event.kind) {
            case EventKind::connect_request: on_connect_request(*event.request); break;
            case EventKind::established:
                if (const auto agreement = event.queue_pair->agreement())
                    journal_.add(event.queue_pair->peer(), "established", json_of(*agreement));
                break;
            case EventKind::terminated:
                if (event.terminate)
                    journal_.add(event.queue_pair->peer(), event.terminate->sent_by_us ? "terminate_sent" : "terminate",
                                 {{"layer", event.terminate->layer},
                                  {"type", event.terminate->type},
                                  {"code", event.terminate->code},
                                  {"text", event.terminate->text}});
                break;
            case EventKind::disconnected:
            case EventKind::connect_failed: farewell(event); break;
            default: break;
        }
    }

    void on_connect_request(iwarp::ConnectionRequest& request) {
        journal_.add(request.peer(), "request",
                     {{"ird", request.ird()},
                      {"ord", request.ord()},
                      {"peer_to_peer", request.peer_to_peer()},
                      {"private_data", hexadecimal(request.private_data(), 512)}});
        try {
            if (peers_.size() >= options_.connections)
                throw Refused(fmt::format("full: {} connections are open (listen --connections)", peers_.size()));
            Peer peer = make_peer();
            peer.name = request.peer();
            Offer offer;
            offer.credits = static_cast<std::uint32_t>(options_.receives);
            offer.message_octets = static_cast<std::uint32_t>(options_.receive_octets);
            offer.readable = offer.writable = {peer.lent_region->stag(), peer.lent_region->first_offset(),
                                               peer.lent_region->length()};
            iwarp::ConnectionOptions answer = options_.connection;
            answer.private_data = offer.encode();
            request.accept(peer.queue_pair, answer);
            const std::uint32_t number = peer.queue_pair->number();
            peers_.emplace(number, std::move(peer));
        } catch (const std::runtime_error& error) {
            journal_.add(request.peer(), "rejected", {{"reason", error.what()}});
            request.reject(Refusal{error.what()}.encode());
        }
    }

    Peer make_peer() {
        using enum iwarp::Access;
        Peer peer;
        peer.lent = Memory(options_.region_octets);
        Pattern::fill(peer.lent.octets(), 0);
        peer.messages = Memory(options_.receives * options_.receive_octets);
        peer.domain = device_->allocate_protection_domain();
        peer.lent_region =
            peer.domain->register_memory(peer.lent.octets(), local_write | remote_read | remote_write | remote_atomic);
        peer.message_region = peer.domain->register_memory(peer.messages.octets(), local_write);
        peer.queue_pair = device_->create_queue_pair(peer.domain, completions_, completions_,
                                                     {1, static_cast<std::uint32_t>(options_.receives), 1, 0, false});
        for (std::uint64_t slot = 0; slot < options_.receives; ++slot) peer.offer(slot, options_.receive_octets);
        return peer;
    }

    void received(const iwarp::Completion& done) {
        const auto found = peers_.find(done.queue_pair);
        if (found == peers_.end() || done.status != iwarp::Status::success) return;
        const Peer& peer = found->second;
        Json figures{{"octets", done.length}};
        if (done.solicited) figures["solicited"] = true;
        if (done.immediate) figures["immediate"] = fmt::format("0x{:016x}", *done.immediate);
        if (done.invalidated_stag) figures["invalidated"] = fmt::format("0x{:08x}", *done.invalidated_stag);
        const std::byte* at = peer.messages.data() + done.id * options_.receive_octets;
        if (done.length > 0 && options_.shown_octets > 0)
            figures["data"] = hexadecimal({at, done.length}, options_.shown_octets);
        journal_.add(peer.name, done.operation == iwarp::CompletedOperation::receive ? "send" : "immediate", figures);
        peer.offer(done.id, options_.receive_octets);
    }

    void farewell(const iwarp::Event& event) {
        const auto found = peers_.find(event.queue_pair->number());
        if (found == peers_.end()) return;
        const iwarp::QueuePairCounters& counted = event.queue_pair->counters();
        Json figures{{"fpdus_received", counted.fpdus_received},
                     {"fpdus_sent", counted.fpdus_sent},
                     {"payload_received", counted.payload_octets_received},
                     {"payload_sent", counted.payload_octets_sent},
                     {"reads_served", counted.reads_served}};
        if (!event.text.empty()) figures["why"] = event.text;
        journal_.add(found->second.name, event.text.empty() ? "disconnected" : "lost", figures);
        peers_.erase(found);
        ++gone_;
    }

    const ListenOptions& options_;
    Journal journal_;
    std::shared_ptr<iwarp::Device> device_;
    std::shared_ptr<iwarp::CompletionQueue> completions_;
    std::shared_ptr<iwarp::Listener> listener_;
    std::unordered_map<std::uint32_t, Peer> peers_ = {};
    std::uint64_t gone_ = 0;
};

}  // namespace

int listen(const std::vector<std::string>& arguments, const Environment& environment) {
    ListenOptions options;
    std::vector<std::string> words;
    auto usage = parse(arguments, table_of(listen_own_rows), options, words);
    if (!usage && !words.empty())
        usage =
            options::UsageError{fmt::format("'{0}' is no option; --listen {0} listens there", options::joined(words))};
    constexpr std::uint64_t most_octets = std::uint64_t{64} << 30;
    if (!usage &&
        options.connections * (options.receives * options.receive_octets + options.region_octets) > most_octets)
        usage = options::UsageError{"--connections, --receives and --receive-size together ask for more than 64 GiB"};
    if (const auto status = answered(environment, "endpoint listen", usage, options, listen_help)) return *status;

    const Signals signals;
    raise_descriptor_limit();
    Listening listening(options);
    if (!is_loopback(listening.address().host))
        print_message(
            "rdmascope endpoint listen: every host that reaches {} may read and write the memory that is lent there; "
            "it holds "
            "a pattern, and nothing of this machine",
            text_of(listening.address()));
    print_message("rdmascope endpoint listen: ready {}", text_of(listening.address()));
    listening.run();
    return exit_done;
}

std::vector<options::ListedOption> listen_options() { return table_of(listen_own_rows).options(); }

std::string listen_help() {
    return options::help_page(
        "Usage: rdmascope endpoint listen [--listen ADDR:PORT] [OPTION]...\n\n"
        "Accepts every connection that is set up by MPA, lends it a region, and prints a line for each thing that\n"
        "happens: requests, what was agreed, messages, Terminates, ends. Writes and Reads are silent in RDMA; they "
        "are\n"
        "counted in the line of the end.\n",
        table_of(listen_own_rows).options(), "\nManual: rdmascope-endpoint(1).\n");
}

}  // namespace cli::endpoint
