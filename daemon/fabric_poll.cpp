#include "daemon/fabric_poll.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <optional>
#include <pthread.h>
#include <utility>

#include "base/clock.h"
#include "fabric/discovery/discover.h"
#include "fabric/discovery/query_pool.h"
#include "fabric/discovery/read_counters.h"
#include "fabric/findings/subnet_finding.h"
#include "fabric/output/read_node_names.h"

namespace service {

namespace {

using fabric::umad::MadTransport;

/// Questions under way at a time, as many as `rdmascope fabric` has without --parallel.
constexpr std::size_t parallel = 4;

/// The port, for as long as the daemon does not end.
class StoppableTransport final : public MadTransport {
public:
    StoppableTransport(MadTransport& port, const std::atomic<bool>& stopping) : port_(port), stopping_(stopping) {}

    base::Result<void> send(const fabric::umad::Destination& to, const fabric::umad::MadBytes& mad) override {
        if (stopping_) return base::failure("the daemon is ending");
        return port_.send(to, mad);
    }
    base::Result<std::optional<fabric::umad::Received>> receive(std::chrono::milliseconds wait) override {
        if (stopping_) return base::failure("the daemon is ending");
        return port_.receive(wait);
    }
    const fabric::umad::Patience& patience() const override { return port_.patience(); }

private:
    MadTransport& port_;
    const std::atomic<bool>& stopping_;
};

/// What the reading before has of a port becomes the first of its two readings, so that growth is judged.
void compare_with(const fabric::Subnet& before, fabric::Subnet& subnet) {
    for (fabric::Node& node : subnet.nodes) {
        for (fabric::Port& port : node.ports) {
            const fabric::Port* const known = before.find({node.guid, port.number});
            if (!port.counters || known == nullptr || !known->latest()) continue;
            port.later_counters = std::exchange(port.counters, known->latest());
        }
    }
}

}  // namespace

base::Result<std::unique_ptr<FabricPoll>, base::Errors> FabricPoll::open(const FabricConfig& config,
                                                                         const std::string& node_names, bool opens_now,
                                                                         LogLine log) {
    fabric::NodeNames names;
    if (!node_names.empty()) {
        auto read = fabric::output::read_node_names(node_names);
        if (!read) return base::Failure{read.error()};
        names = std::move(read).value();
    }
    std::unique_ptr<FabricPoll> poll(new FabricPoll(config, std::move(names), std::move(log)));
    if (!opens_now) return poll;
    if (const auto opened = poll->open_port(); !opened) poll->publish(base::Failure{opened.error()});
    return poll;
}

base::Result<void> FabricPoll::open_port() {
    fabric::umad::PortChoice choice;
    choice.adapter = config_.device;
    if (config_.port != 0) choice.port = static_cast<unsigned>(config_.port);
    auto opened = fabric::umad::open_port(choice, {});
    if (!opened) return base::Failure{opened.error()};
    port_ = std::move(opened).value();
    return {};
}

void FabricPoll::start() {
    thread_ = std::thread([this] { run(); });
}

void FabricPoll::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wakes_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void FabricPoll::run() {
    using Clock = std::chrono::steady_clock;
    pthread_setname_np(pthread_self(), "fabric");
    while (!stopping_) {
        const auto began = Clock::now();
        const auto done = read();
        if (!stopping_) publish(done);
        // Where readings take longer than the interval, the subnet has as long a rest after each.
        const auto ended = Clock::now();
        const auto due = std::max(began + std::chrono::nanoseconds(config_.interval_ns), ended + (ended - began));
        std::unique_lock lock(mutex_);
        wakes_.wait_until(lock, due, [this] { return stopping_.load(); });
    }
}

base::Result<std::shared_ptr<const FabricPoll::Reading>> FabricPoll::read() {
    if (port_.transport == nullptr)
        if (const auto opened = open_port(); !opened) return base::Failure{opened.error()};
    const std::int64_t began_ns = base::steady_ns();
    StoppableTransport transport(*port_.transport, stopping_);
    fabric::discovery::QueryPool pool(transport, parallel);
    const auto fail = [this](const base::Error& error) {
        // A device that was removed and came back needs to be opened again.
        port_.transport.reset();
        return base::Failure{error};
    };
    auto found = fabric::discovery::discover(pool, port_.local);
    if (!found) return fail(found.error());
    auto reading = std::make_shared<Reading>();
    reading->subnet = std::move(found->subnet);
    if (const auto counted = fabric::discovery::read_counters(pool, reading->subnet, fabric::discovery::Pass::first);
        !counted)
        return fail(counted.error());
    if (const auto before = polling().latest) compare_with(before->subnet, reading->subnet);
    reading->findings = fabric::findings::find_problems(reading->subnet);
    reading->labels = fabric::NodeLabels(names_);
    reading->took_ns = base::steady_ns() - began_ns;
    return std::shared_ptr<const Reading>(std::move(reading));
}

void FabricPoll::publish(const base::Result<std::shared_ptr<const Reading>>& read) {
    bool was_up = false;
    bool is_first = false;
    {
        const std::lock_guard lock(mutex_);
        was_up = std::exchange(state_.is_up, read.ok());
        is_first = state_.readings == 0;
        ++state_.readings;
        if (read)
            state_.latest = *read;
        else
            ++state_.failures;
    }
    const std::string reason = read ? std::string() : read.error().text();
    if (!read && reason != last_reason_) log_(true, fmt::format("the subnet cannot be read: {}", reason));
    if (read && (!was_up || is_first))
        log_(false, fmt::format("the subnet is read: {} nodes", (*read)->subnet.nodes.size()));
    last_reason_ = reason;
}

SubnetPolling FabricPoll::polling() const {
    const std::lock_guard lock(mutex_);
    return state_;
}

}  // namespace service
