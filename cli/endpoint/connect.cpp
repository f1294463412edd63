#include "cli/endpoint/connect.h"

#include <cmath>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "cli/signals.h"

namespace cli::endpoint {

namespace {

constexpr auto look_about = std::chrono::milliseconds(100);  ///< how late a signal may be answered

}  // namespace

std::string explain(const Address& to, const iwarp::Event& event) {
    const std::string name = text_of(to);
    switch (event.kind) {
        case iwarp::Event::Kind::rejected: {
            const auto refusal = Refusal::decode(event.private_data);
            return refusal ? fmt::format("{} rejected the connection: {}", name, refusal->reason)
                           : fmt::format("{} rejected the connection and gave no reason", name);
        }
        case iwarp::Event::Kind::connect_failed:
            return fmt::format(
                "{}{}{}", event.text.find(name) == std::string::npos ? name + ": " : "", event.text,
                event.peer_in_doubt() ? "; is `rdmascope endpoint serve` or `rping -s` running there?" : "");
        case iwarp::Event::Kind::terminated:
            return fmt::format("{}: {} a Terminate: {}", name,
                               event.terminate && event.terminate->sent_by_us ? "was sent" : "sent",
                               event.terminate ? event.terminate->text : "");
        case iwarp::Event::Kind::disconnected:
            return event.text.empty() ? fmt::format("{} closed the connection", name)
                                      : fmt::format("{}: the connection is lost: {}", name, event.text);
        default: return fmt::format("{}: {}", name, iwarp::name_of(event.kind));
    }
}

void set_patience(iwarp::ConnectionOptions& options, std::uint64_t timeout_ns) {
    const auto whole = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(timeout_ns));
    options.connect_timeout = options.reply_timeout = whole;
}

std::vector<std::byte> connect(iwarp::Device& device, iwarp::QueuePair& queue_pair, const Address& to,
                               const iwarp::ConnectionOptions& options, bool stubborn) {
    queue_pair.connect(to.host, to.port, options);
    for (;;) {
        if (Signals::stop() && !stubborn) throw Interrupted();
        device.progress(look_about);
        while (const auto event = device.next_event()) {
            if (event->kind == iwarp::Event::Kind::established) return event->private_data;
            if (event->kind == iwarp::Event::Kind::communication_established) continue;
            throw iwarp::Error(explain(to, *event));
        }
    }
}

void disconnect(iwarp::Device& device, iwarp::QueuePair& queue_pair, std::chrono::nanoseconds within) {
    if (queue_pair.state() == iwarp::QueuePairState::connected) queue_pair.disconnect();
    const std::int64_t until = base::steady_ns() + within.count();
    while (base::steady_ns() < until) {
        device.progress(std::chrono::milliseconds(10));
        while (const auto event = device.next_event())
            if (event->kind == iwarp::Event::Kind::disconnected) return;
        if (queue_pair.state() == iwarp::QueuePairState::error) return;
    }
}

std::optional<Usage> ask_usage(const Address& of, const iwarp::ConnectionOptions& options) {
    try {
        const auto device = iwarp::Device::open();
        const auto domain = device->allocate_protection_domain();
        const auto completions = device->create_completion_queue(4);
        const auto queue_pair = device->create_queue_pair(domain, completions, completions, {1, 1, 1, 0, false});
        iwarp::ConnectionOptions asking = options;
        Hello hello;
        hello.service = Hello::Service::usage;
        asking.private_data = hello.encode();
        const auto usage = Usage::decode(connect(*device, *queue_pair, of, asking, true));
        disconnect(*device, *queue_pair, std::chrono::seconds(1));
        return usage;
    } catch (const iwarp::Error&) {
        return {};
    }
}

std::string text_of(const iwarp::Agreement& agreement) {
    const auto on = [](bool is) { return is ? "on" : "off"; };
    return fmt::format("MPA revision {}, CRC {}, markers {}", agreement.revision, on(agreement.crc),
                       agreement.markers_sent && agreement.markers_received ? "on"
                       : agreement.markers_sent                             ? "sent"
                       : agreement.markers_received                         ? "received"
                                                                            : "off");
}

nlohmann::ordered_json json_of(const metrics::Histogram& histogram) {
    if (histogram.empty()) return nullptr;
    return {{"count", histogram.count()},
            {"min", *histogram.min()},
            {"mean", static_cast<std::uint64_t>(std::llround(*histogram.mean()))},
            {"p50", *histogram.quantile(0.5)},
            {"p90", *histogram.quantile(0.9)},
            {"p99", *histogram.quantile(0.99)},
            {"p999", *histogram.quantile(0.999)},
            {"max", *histogram.max()}};
}

nlohmann::ordered_json json_of(const iwarp::Agreement& agreement) {
    return {{"revision", agreement.revision},
            {"enhanced", agreement.enhanced},
            {"crc", agreement.crc},
            {"markers_sent", agreement.markers_sent},
            {"markers_received", agreement.markers_received},
            {"peer_to_peer", agreement.peer_to_peer},
            {"ird", agreement.ird},
            {"ord", agreement.ord},
            {"max_ulpdu", agreement.max_ulpdu}};
}

}  // namespace cli::endpoint
