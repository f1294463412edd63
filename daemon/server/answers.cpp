#include "daemon/server/answers.h"

#include <algorithm>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/server/flows_body.h"
#include "daemon/server/status_json.h"
#include "exporters/device_json.h"
#include "exporters/why_json.h"
#include "history/history.h"
#include "metrics/answers/counters.h"
#include "metrics/figures/snapshot_codec.h"

namespace service::inline server {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::uint64_t ns_per_ms = 1'000'000;
constexpr std::uint64_t max_age_of_update_ms = 100;

class TextBody final : public Body {
public:
    explicit TextBody(std::string line) : line_(std::move(line)) {}
    bool produce(std::string& out, std::size_t /*most*/) override {
        out += line_;
        return false;
    }

private:
    std::string line_;
};

/// A line, and the bytes that it announces.
class SnapshotBody final : public Body {
public:
    SnapshotBody(const control::Request& request, std::shared_ptr<control::PackedSnapshot> packed,
                 std::int64_t taken_ns, bool crc_verified)
        : id_(request.id), packed_(std::move(packed)), taken_ns_(taken_ns), crc_verified_(crc_verified) {}

    bool produce(std::string& out, std::size_t octets) override {
        if (packed_->failed()) {
            out += control::refusal_line({id_, "the snapshot could not be packed: is memory short?"});
            return false;
        }
        if (!packed_->ready()) {
            packed_->step();
            return true;
        }
        if (!announced_) {
            out += fmt::format(
                "{},\"encoding\":\"snapshot\",\"snapshot_version\":{},\"compression\":\"zstd\",\"octets\":{},"
                "\"encoded_octets\":{},\"taken_ns\":{},\"crc_verified\":{}}}\n",
                control::answer_head(id_), metrics::snapshot_version, packed_->octets().size(),
                packed_->encoded_octets(), taken_ns_, crc_verified_);
            announced_ = true;
        }
        const base::Bytes rest = packed_->octets().subspan(sent_);
        const std::size_t part = std::min(octets, rest.size());
        out.append(reinterpret_cast<const char*>(rest.data()), part);
        sent_ += part;
        return part < rest.size();
    }

private:
    std::string id_;
    std::shared_ptr<control::PackedSnapshot> packed_;
    std::int64_t taken_ns_;
    bool crc_verified_;
    bool announced_ = false;
    std::size_t sent_ = 0;
};

/// A line, and a pcapng file that ends with the connection. Its memory is a piece: the next one is asked for when the
/// client has taken most of what was made before.
class FramesBody final : public Body {
public:
    FramesBody(const control::Request& request, std::unique_ptr<FrameStream> frames)
        : head_(control::answer_head(request.id) + ",\"encoding\":\"pcapng\"}\n"), frames_(std::move(frames)) {}

    bool produce(std::string& out, std::size_t /*most*/) override {
        out += std::exchange(head_, {});
        step_ = frames_->read(out);
        return step_ != FrameStream::Step::ended;
    }
    /// Frames that trickle in are sent together, fifty times a second.
    std::uint64_t pause_ns() const override {
        return step_ == FrameStream::Step::soon ? 2 * ns_per_ms : 20 * ns_per_ms;
    }

private:
    std::string head_;
    std::unique_ptr<FrameStream> frames_;
    FrameStream::Step step_{};
};

Answer spoken(const control::Request& request, const std::string& result) {
    return {Answers::text(control::answer_line(request.id, result)), false, false};
}

/// Bits as the names of the commands that have a member.
OrderedJson commands_json() {
    OrderedJson commands = OrderedJson::array();
    for (std::size_t i = 0; i < control::command_texts().size(); ++i) {
        const control::CommandText& text = control::command_texts()[i];
        OrderedJson members = OrderedJson::array();
        for (const control::MemberText& member : control::member_texts())
            if ((member.commands & control::bit_of(static_cast<control::Command>(i))) != 0)
                members.push_back({{"name", member.name}, {"type", member.type}, {"help", member.help}});
        commands.push_back({{"name", text.name}, {"help", text.help}, {"members", std::move(members)}});
    }
    return commands;
}

template <class T>
bool same(const std::weak_ptr<const T>& kept, const std::shared_ptr<const T>& now) {
    return !kept.expired() && kept.lock() == now;
}

}  // namespace

std::unique_ptr<Body> Answers::text(std::string line) { return std::make_unique<TextBody>(std::move(line)); }

Answer Answers::refusal(const control::Request& request, std::string error) {
    return {text(control::refusal_line({request.id, std::move(error)})), true, false};
}

Answer Answers::refusal(const control::Request& request, const base::Error& error) {
    return refusal(request, error.text());
}

Answer Answers::answer(const control::Request& request, const ServerCounters& counters) {
    switch (request.command) {
        case control::Command::help: return spoken(request, OrderedJson{{"commands", commands_json()}}.dump());
        case control::Command::version:
            return spoken(request, OrderedJson{{"program", "rdmascope"},
                                               {"version", commands_.status().version},
                                               {"protocol_version", control::protocol_version},
                                               {"snapshot_version", metrics::snapshot_version},
                                               {"crc_verified", commands_.crc_verified()},
                                               {"policy_file", commands_.policy_file()}}
                                       .dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
        case control::Command::status: return spoken(request, status_json(commands_.status(), counters));
        case control::Command::flows: return flows(request);
        case control::Command::why: return why(request);
        case control::Command::snapshot: return snapshot(request);
        case control::Command::history: return history(request);
        case control::Command::counters: return spoken(request, exporters::device_json(commands_.devices()));
        case control::Command::reload: return reload(request);
        case control::Command::frames:
        case control::Command::recording: return frames(request);
        case control::Command::trigger: {
            const std::string reason = request.reason.empty() ? "asked for at the control socket" : request.reason;
            if (const auto begun = commands_.trigger(reason); !begun) return refusal(request, begun.error());
            return spoken(request, fmt::format("{{\"reason\":{}}}", control::json_text(reason)));
        }
        case control::Command::subscribe:
        case control::Command::unsubscribe: break;
    }
    return refusal(request, "that is between a client and its connection");
}

Answer Answers::flows(const control::Request& request) {
    const auto choice = FlowsChoice::of(request, false);
    if (!choice) return refusal(request, choice.error());
    const Published now = commands_.snapshot(request.max_age_ms * ns_per_ms);
    if (request.flow && now.snapshot->flow(*request.flow) == nullptr)
        return refusal(request, fmt::format("there is no flow {}; `flows` lists all flows", *request.flow));
    const bool crc_verified = commands_.crc_verified() && exporters::can_verify(now.snapshot->capture);
    const exporters::Context context{&commands_.names(), crc_verified, {}, exporters::start_of(now.snapshot->capture)};
    return {std::make_unique<FlowsBody>(control::answer_head(request.id), now.snapshot, *choice, context), false,
            false};
}

std::string Answers::why_result(const metrics::Snapshot& snapshot, const metrics::DeviceFigures& devices,
                                const control::Request& request) const {
    const std::uint64_t* flow = request.flow ? &*request.flow : nullptr;
    std::vector<metrics::Answer> answers = metrics::answer(snapshot, commands_.names(), devices, flow);
    commands_.add_policy(snapshot, flow, answers);
    return exporters::why_json(snapshot, answers, commands_.crc_verified(), -1);
}

Answer Answers::why(const control::Request& request) {
    const Published now = commands_.snapshot(request.max_age_ms * ns_per_ms);
    if (request.flow && now.snapshot->flow(*request.flow) == nullptr)
        return refusal(request, fmt::format("there is no flow {}; `flows` lists all flows", *request.flow));
    return spoken(request, why_result(*now.snapshot, commands_.devices(), request));
}

Answer Answers::snapshot(const control::Request& request) {
    const Published now = commands_.snapshot(request.max_age_ms * ns_per_ms);
    std::shared_ptr<control::PackedSnapshot> packed = same(packed_of_, now.snapshot) ? packed_.lock() : nullptr;
    if (!packed) {
        packed = std::make_shared<control::PackedSnapshot>(now.snapshot);
        packed_ = packed;
        packed_of_ = now.snapshot;
    }
    return {std::make_unique<SnapshotBody>(request, std::move(packed), now.taken_ns, commands_.crc_verified()), false,
            false};
}

Answer Answers::history(const control::Request& request) {
    const std::string directory = commands_.history_directory();
    if (directory.empty())
        return refusal(request, "no history is kept: set history.directory in the configuration, or --history DIR");
    const auto reader = history::HistoryReader::open(directory, [this] { return !commands_.ends(); });
    if (!reader) return refusal(request, reader.error());
    const auto extent = (*reader)->extent();
    OrderedJson result{{"directory", directory}, {"first_ns", nullptr}, {"last_ns", nullptr}, {"intervals", 0}};
    if (extent) {
        result["first_ns"] = extent->first_ns;
        result["last_ns"] = extent->last_ns;
        result["intervals"] = extent->intervals;
    }
    return spoken(request, result.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

Answer Answers::reload(const control::Request& request) {
    if (const auto reloaded = commands_.reload(); !reloaded)
        return refusal(request, "the configuration stays as it was: " + base::text_of(reloaded.error()));
    return spoken(request, OrderedJson{{"needs_restart", commands_.status().needs_restart}}.dump(
                               -1, ' ', false, OrderedJson::error_handler_t::replace));
}

Answer Answers::frames(const control::Request& request) {
    auto frames = commands_.frames(request.command == control::Command::frames ? control::FramesOf::now
                                                                               : control::FramesOf::recorder);
    if (!frames) return refusal(request, frames.error());
    return {std::make_unique<FramesBody>(request, std::move(frames).value()), false, true};
}

base::Result<void> Answers::check_subscription(const control::Request& request) {
    if (request.what == control::Topic::flows) {
        if (const auto choice = FlowsChoice::of(request, true); !choice) return base::Failure{choice.error()};
    } else if (!request.columns.empty() || !request.sort.empty() || request.limit ||
               (request.flow && request.what == control::Topic::status)) {
        return base::failure(fmt::format("{}: columns, sort, limit and flow are for flows", name_of(*request.what)));
    }
    return {};
}

void Answers::begin(Subscription& subscription) {
    if (subscription.request.what != control::Topic::status)
        subscription.since = commands_.snapshot(max_age_of_update_ms * ns_per_ms);
    if (subscription.request.what == control::Topic::why) subscription.devices_since = commands_.devices();
}

std::unique_ptr<Body> Answers::update(Subscription& subscription, const ServerCounters& counters) {
    const control::Request& request = subscription.request;
    std::string head =
        fmt::format("{},\"update\":\"{}\",\"number\":{},\"skipped\":{}", control::answer_head(request.id),
                    name_of(*request.what), ++subscription.number, subscription.skipped);
    subscription.skipped = 0;
    if (request.what == control::Topic::status)
        return text(fmt::format("{},\"result\":{}}}\n", head, status_json(commands_.status(), counters)));
    const std::uint64_t age_ns = std::min(max_age_of_update_ms * ns_per_ms, subscription.interval_ns / 4);
    const Published now = commands_.snapshot(age_ns);
    const auto what_happened = difference(subscription.since, now);
    const exporters::Interval interval{
        subscription.since.taken_ns,
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, now.taken_ns - subscription.since.taken_ns))};
    subscription.since = now;
    head += fmt::format(",\"interval\":{{\"start_ns\":{},\"length_ns\":{}}}", interval.start_ns, interval.length_ns);
    if (request.what == control::Topic::why) {
        metrics::DeviceFigures devices = commands_.devices();
        const metrics::DeviceFigures counted = metrics::difference(subscription.devices_since, devices);
        subscription.devices_since = std::move(devices);
        return text(fmt::format("{},\"result\":{}}}\n", head, why_result(*what_happened, counted, request)));
    }
    const auto choice = FlowsChoice::of(request, true);  // valid: see check_subscription()
    const bool crc_verified = commands_.crc_verified() && exporters::can_verify(what_happened->capture);
    const exporters::Context context{&commands_.names(), crc_verified, interval,
                                     exporters::start_of(now.snapshot->capture)};
    return std::make_unique<FlowsBody>(std::move(head), what_happened, *choice, context);
}

/// Subscribers with one interval are due at one time: they share the difference, too.
std::shared_ptr<const metrics::Snapshot> Answers::difference(const Published& earlier, const Published& later) {
    std::erase_if(differences_, [](const Difference& kept) { return kept.result.expired(); });
    for (const Difference& kept : differences_)
        if (same(kept.earlier, earlier.snapshot) && same(kept.later, later.snapshot))
            if (auto result = kept.result.lock()) return result;
    auto result = std::make_shared<const metrics::Snapshot>(metrics::difference(*earlier.snapshot, *later.snapshot));
    differences_.push_back({earlier.snapshot, later.snapshot, result});
    return result;
}

}  // namespace service::server
