// `rdmascope endpoint ping`: rping's client (rdma-core, librdmacm/examples/rping.c), timed.
#include <array>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/endpoint/connect.h"
#include "cli/endpoint/memory_budget.h"
#include "cli/endpoint/subcommands.h"
#include "cli/signals.h"

namespace cli::endpoint {

namespace {

using options::Section;

struct PingOptions : CommonOptions {
    Address to = {};
    std::uint64_t count = 0;  ///< 0: until the user ends it
    std::uint64_t size = 64;
    std::uint64_t interval_ns = 1'000'000'000;
    std::uint64_t timeout_ns = 10'000'000'000;
    bool quiet = false;
};
using PingRow = options::Option<PingOptions>;

constexpr std::array ping_own_rows{
    PingRow{{0, "to", "ADDR:PORT", "whom (default 127.0.0.1:7174)"},
            Section::work,
            [](PingOptions& o, const std::string& value) { return take_address(value, false, o.to); }},
    PingRow{{'c', "count", "N", "end after N pings (default: when interrupted)"},
            Section::work,
            options::number<1, std::uint64_t{1} << 32, &PingOptions::count>},
    PingRow{{0, "size", "SIZE", "send SIZE bytes in each direction (default 64); rping's server needs the same -S"},
            Section::work,
            options::size<1, std::uint64_t{1} << 30, &PingOptions::size>},
    PingRow{{0, "interval", "TIME", "begin a ping every TIME (default 1s; 0: at once)"},
            Section::work,
            options::duration_or_zero<&PingOptions::interval_ns>},
    PingRow{{0, "timeout", "TIME", "give up if an answer, or the connection, takes longer (default 10s)"},
            Section::bounds,
            options::duration<&PingOptions::timeout_ns>},
    PingRow{{'q', "quiet", {}, "print only the summary"}, Section::printing, options::turn_on<&PingOptions::quiet>},
};

/// One connection over which pings go, one at a time.
class Pinger {
public:
    explicit Pinger(const PingOptions& options)
        : options_(options),
          device_(iwarp::Device::open()),
          domain_(device_->allocate_protection_domain()),
          completions_(device_->create_completion_queue(32)),
          source_(options.size),
          sink_(options.size),
          source_region_(domain_->register_memory(source_.octets(), iwarp::Access::remote_read)),
          sink_region_(
              domain_->register_memory(sink_.octets(), iwarp::Access::local_write | iwarp::Access::remote_write)),
          message_region_(domain_->register_memory(messages_, iwarp::Access::local_write)),
          queue_pair_(device_->create_queue_pair(domain_, completions_, completions_, {8, receives, 1, 64, false})) {
        for (std::uint64_t slot = 0; slot < receives; ++slot) offer_slot(slot);
        connect(*device_, *queue_pair_, options.to, options.connection);
        if (const auto agreement = queue_pair_->agreement(); agreement && agreement->ird == 0)
            throw iwarp::Error(
                fmt::format("{} may not read here (IRD 0), and a ping is read by its server; give this "
                            "side a larger --ird, and that one a larger --ord",
                            text_of(options.to)));
    }
    ~Pinger() {
        if (!ended_) disconnect(*device_, *queue_pair_, std::chrono::milliseconds(500));
    }
    Pinger(const Pinger&) = delete;
    Pinger& operator=(const Pinger&) = delete;

    struct Result {
        std::uint64_t round_trip_ns = 0;
        bool same = false;  ///< what came back is what went out
    };
    Result ping(std::uint64_t number) {
        fill(number);
        const std::int64_t begun = base::steady_ns();
        send_buffer(*source_region_);
        await_message(begun);
        send_buffer(*sink_region_);
        await_message(begun);
        const auto took = static_cast<std::uint64_t>(base::steady_ns() - begun);
        return {took, std::memcmp(source_.data(), sink_.data(), source_.size()) == 0};
    }

    /// Keeps the connection alive until then; false if the user wants to end.
    bool wait_until(std::int64_t until) {
        for (std::int64_t now = base::steady_ns(); now < until; now = base::steady_ns()) {
            if (Signals::stop()) return false;
            drive(std::min<std::int64_t>(until - now, look_about_ns));
        }
        return !Signals::stop();
    }
    const iwarp::QueuePair& queue_pair() const { return *queue_pair_; }
    std::uint64_t messages_sent() const { return sent_; }

private:
    static constexpr std::uint32_t receives = 4;
    static constexpr std::size_t slot_octets = 64;
    static constexpr std::int64_t look_about_ns = 100'000'000;

    /// As rping's server needs it: text that ends with a zero, because it sends back the part that strlen(3) finds.
    void fill(std::uint64_t number) {
        constexpr std::string_view letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        const std::string title = fmt::format("rdma-ping-{}: ", number);
        const std::size_t size = source_.size();
        for (std::size_t i = 0; i + 1 < size; ++i)
            source_.data()[i] =
                static_cast<std::byte>(i < title.size() ? title[i] : letters[(i + number) % letters.size()]);
        source_.data()[size - 1] = std::byte{0};
        std::memset(sink_.data(), 0xff, size);
    }

    void offer_slot(std::uint64_t slot) {
        const iwarp::Sge piece{messages_.data() + slot * slot_octets, slot_octets, message_region_->stag()};
        queue_pair_->post_receive({slot, {&piece, 1}});
    }

    void send_buffer(const iwarp::MemoryRegion& region) {
        std::array<std::byte, RpingBuffer::octets> message{};
        RpingBuffer{region.first_offset(), region.stag(), static_cast<std::uint32_t>(region.length())}.encode(message);
        const iwarp::Sge piece{message.data(), RpingBuffer::octets, 0};
        iwarp::SendRequest request;
        request.id = receives;
        request.pieces = {&piece, 1};
        request.inline_data = true;
        if (const auto posted = queue_pair_->post_send(request); posted != iwarp::Posted::ok)
            throw iwarp::Error(
                fmt::format("{}: nothing can be sent: {}", text_of(options_.to), iwarp::name_of(posted)));
        ++sent_;
    }

    void await_message(std::int64_t begun) {
        const std::uint64_t wanted = ++awaited_;
        while (received_ < wanted) {
            if (Signals::stop()) throw Interrupted();
            const std::int64_t left = begun + static_cast<std::int64_t>(options_.timeout_ns) - base::steady_ns();
            if (left <= 0)
                throw iwarp::Error(
                    fmt::format("{}: no answer within {}; is what listens there `rdmascope endpoint "
                                "serve` or `rping -s`?",
                                text_of(options_.to), base::format_duration(options_.timeout_ns)));
            drive(std::min(left, look_about_ns));
        }
    }

    void drive(std::int64_t wait_ns) {
        device_->progress(std::chrono::nanoseconds(wait_ns));
        std::array<iwarp::Completion, 16> done;
        const std::size_t count = completions_->poll(done);
        for (std::size_t i = 0; i < count; ++i) {
            if (done[i].status != iwarp::Status::success || done[i].id >= receives) continue;
            ++received_;
            offer_slot(done[i].id);
        }
        while (const auto event = device_->next_event()) {
            if (event->kind == iwarp::Event::Kind::disconnected || event->kind == iwarp::Event::Kind::terminated) {
                ended_ = true;
                throw iwarp::Error(explain(options_.to, *event) +
                                   (options_.size > 64 ? "; the server must take as much: `endpoint serve --region "
                                                         "SIZE`, `rping -s -S SIZE`"
                                                       : ""));
            }
        }
    }

    const PingOptions& options_;
    std::shared_ptr<iwarp::Device> device_;
    std::shared_ptr<iwarp::ProtectionDomain> domain_;
    std::shared_ptr<iwarp::CompletionQueue> completions_;
    Memory source_;
    Memory sink_;
    std::array<std::byte, receives* slot_octets> messages_ = {};
    std::shared_ptr<iwarp::MemoryRegion> source_region_;
    std::shared_ptr<iwarp::MemoryRegion> sink_region_;
    std::shared_ptr<iwarp::MemoryRegion> message_region_;
    std::shared_ptr<iwarp::QueuePair> queue_pair_;
    std::uint64_t awaited_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t sent_ = 0;
    bool ended_ = false;
};

struct Outcome {
    std::uint64_t sent = 0;
    std::uint64_t same = 0;
    std::uint64_t messages = 0;
    metrics::Histogram round_trips = {};
    std::optional<iwarp::Agreement> agreement = {};
    std::string error = {};

    std::uint64_t wrong() const { return round_trips.count() - same; }
    bool good() const { return error.empty() && sent > 0 && same == sent; }
};

std::string summary_of(const PingOptions& options, const Outcome& outcome) {
    std::string out = fmt::format("{}: {} pings, {} answered, {} with wrong data\n", text_of(options.to), outcome.sent,
                                  outcome.round_trips.count(), outcome.wrong());
    const metrics::Histogram& times = outcome.round_trips;
    if (!times.empty())
        out += fmt::format("round trip min {}, mean {}, p50 {}, p90 {}, p99 {}, max {}\n",
                           base::format_duration(times.min()), base::format_duration(times.mean()),
                           base::format_duration(times.quantile(0.5)), base::format_duration(times.quantile(0.9)),
                           base::format_duration(times.quantile(0.99)), base::format_duration(times.max()));
    return out;
}

nlohmann::ordered_json figures_of(const PingOptions& options, const Outcome& outcome) {
    return {{"role", "ping"},
            {"to", text_of(options.to)},
            {"size", options.size},
            {"agreement", outcome.agreement ? json_of(*outcome.agreement) : nlohmann::ordered_json(nullptr)},
            {"pings", outcome.sent},
            {"answered", outcome.round_trips.count()},
            {"wrong", outcome.wrong()},
            {"round_trip_ns", json_of(outcome.round_trips)},
            {"messages", {{"send", {{"count", outcome.messages}, {"bytes", outcome.messages * RpingBuffer::octets}}}}},
            {"error", outcome.error.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(outcome.error)}};
}

/// Pings until the count, the user or an error ends it.
void ping_on(Pinger& pinger, const PingOptions& options, Outcome& outcome) {
    std::int64_t due = base::steady_ns();
    while ((options.count == 0 || outcome.sent < options.count) && pinger.wait_until(due)) {
        const std::uint64_t number = outcome.sent++;
        const Pinger::Result result = pinger.ping(number);
        outcome.messages = pinger.messages_sent();
        outcome.round_trips.record(result.round_trip_ns);
        if (result.same) ++outcome.same;
        const std::string line =
            fmt::format("{} bytes from {}: ping={} time={}{}\n", options.size, text_of(options.to), number,
                        base::format_duration(result.round_trip_ns), result.same ? "" : " WRONG DATA");
        if (!options.quiet && !options.json && !base::write_all(STDOUT_FILENO, line))
            return;  // no process reads any more
        due = std::max(due + static_cast<std::int64_t>(options.interval_ns), base::steady_ns() - 1);
        if (options.interval_ns == 0) due = 0;
    }
}

}  // namespace

int ping(const std::vector<std::string>& arguments, const Environment& environment) {
    PingOptions options;
    std::vector<std::string> words;
    auto usage = parse(arguments, table_of(ping_own_rows), options, words);
    if (!usage && !words.empty())
        usage = options::UsageError{fmt::format("'{0}' is no option; --to {0} pings it", options::joined(words))};
    if (const auto status = answered(environment, "endpoint ping", usage, options, ping_help)) return *status;

    const Signals signals;
    set_patience(options.connection, options.timeout_ns);
    Outcome outcome;
    try {
        Pinger pinger(options);
        outcome.agreement = pinger.queue_pair().agreement();
        if (!options.json && outcome.agreement)
            print(fmt::format("{}: {} bytes by RDMA Read and back by RDMA Write, {}\n", text_of(options.to),
                              options.size, text_of(*outcome.agreement)));
        ping_on(pinger, options, outcome);
    } catch (const Interrupted&) {
        if (outcome.sent > outcome.round_trips.count()) --outcome.sent;
        if (!outcome.agreement) outcome.error = "ended before it was connected";
    } catch (const iwarp::Error& error) {
        outcome.error = error.what();
    }
    int printed = exit_done;
    if (options.json || outcome.agreement)
        printed = print(options.json ? figures_of(options, outcome).dump(2) + "\n" : summary_of(options, outcome));
    if (!outcome.error.empty()) return failed("ping", outcome.error);
    if (outcome.wrong() != 0)
        return failed("ping", fmt::format("{} of {} answers held wrong data: something on the way or at {} corrupts it",
                                          outcome.wrong(), outcome.sent, text_of(options.to)));
    return outcome.good() || outcome.sent == 0 ? printed : exit_failed;
}

std::vector<options::ListedOption> ping_options() { return table_of(ping_own_rows).options(); }

std::string ping_help() {
    return options::help_page(
        "Usage: rdmascope endpoint ping [--to ADDR:PORT] [-c N] [OPTION]...\n\n"
        "Tells the peer by Send where data lies, which it reads by RDMA Read; tells it where room is, to which it\n"
        "writes them back by RDMA Write; compares, and prints how long it took. `endpoint serve` and `rping -s` "
        "answer.\n",
        table_of(ping_own_rows).options(), "\nManual: rdmascope-endpoint(1).\n");
}

}  // namespace cli::endpoint
