#include "plugins/extcap/fifo_capture.h"

#include <fmt/core.h>
#include <map>
#include <optional>
#include <unistd.h>
#include <vector>

#include "capture/filter/bpf.h"
#include "capture/live/tap.h"
#include "control/client.h"
#include "plugins/extcap/fifo.h"

namespace plugins::extcap {
namespace {

constexpr std::size_t batch_frames = 1024;
constexpr int wait_ms = 100;

/// The pipe that is being written; asked by the reader of a daemon's stream while nothing comes.
const Fifo* in_use = nullptr;
bool ended() { return is_end_requested() || (in_use != nullptr && in_use->closed()); }

/// pcap-filter(7) on frames that no kernel filters for us, compiled for each link type that comes.
class Chosen {
public:
    explicit Chosen(std::string expression) : expression_(std::move(expression)) {}

    bool keeps(const wire::Frame& frame) {
        if (expression_.empty()) return true;
        auto at = filters_.find(frame.link_type);
        if (at == filters_.end()) {
            auto compiled = capture::PacketFilter::compile(expression_, {.link_type = frame.link_type});
            std::optional<capture::PacketFilter> filter;
            if (compiled) filter = std::move(compiled).value();
            at = filters_.emplace(frame.link_type, std::move(filter)).first;
        }
        return at->second && at->second->matches(frame);  // what it cannot be asked about does not match
    }

private:
    std::string expression_;
    std::map<wire::LinkType, std::optional<capture::PacketFilter>> filters_ = {};
};

capture::TapOptions tap_options(const Arguments& arguments) {
    capture::TapOptions options;
    options.interfaces = {arguments.device};
    options.ring.snaplen = arguments.headers_only && (arguments.snaplen == 0 || arguments.snaplen > header_octets)
                               ? header_octets
                               : arguments.snaplen;
    // With an explicit length, nothing is kept beyond it, not even of connection management.
    if (options.ring.snaplen != header_octets || !arguments.headers_only) options.ring.management_octets = 0;
    options.ring.iwarp_snaplen = options.ring.snaplen;  // what is captured here is stored
    options.ring.promiscuous = arguments.promiscuous;
    options.ring.timestamps = arguments.timestamps;
    options.filter = arguments.filter;
    options.iwarp_ports = arguments.iwarp_ports;
    return options;
}

/// Empty, or why the one interface that was asked for cannot be had.
std::string refusal(capture::Tap& tap, const Arguments& arguments) {
    for (const capture::TapEvent& event : tap.events())
        if (event.kind == capture::TapEvent::Kind::failed) return event.message;
    if (arguments.device != "any" && tap.interfaces().empty())
        return fmt::format("there is no interface {}; has it gone? (Capture > Refresh Interfaces)", arguments.device);
    return {};
}

/// Empty if the fifo was closed: its reader has enough.
std::string write_fault(Fifo& fifo) {
    return fifo.closed() || is_end_requested() ? std::string{} : fifo.writer().error().text();
}

/// Frames until the end of `source`, or ours.
std::string copy(capture::Source& source, Chosen chosen, Fifo& fifo, capture::ReadStatus& status) {
    std::vector<wire::Frame> frames(batch_frames);
    while (!ended()) {
        const capture::Batch batch = source.next_batch(frames);
        status = batch.status;
        if (batch.count == 0 && status != capture::ReadStatus::timeout) break;
        for (std::size_t i = 0; i < batch.count; ++i) {
            const wire::Frame& frame = frames[i];
            if (!chosen.keeps(frame)) continue;
            if (fifo.writer().write(frame, source.interfaces()[frame.interface]) != capture::WriteStatus::ok)
                return write_fault(fifo);
        }
        if (batch.count > 0 && !fifo.writer().flush()) return write_fault(fifo);
    }
    return {};
}

/// Counts, for Wireshark's capture file properties.
std::string finish(const capture::Source& source, Fifo& fifo) {
    for (std::size_t i = 0; i < source.interfaces().size(); ++i)
        fifo.writer().count(source.interfaces()[i], source.statistics(i));
    return fifo.writer().close() ? std::string{} : write_fault(fifo);
}

std::string live(const Arguments& arguments) {
    auto opened = capture::Tap::open(tap_options(arguments));
    if (!opened) return opened.error().text();
    capture::Tap& tap = **opened;
    tap.set_wait_ms(wait_ms);
    if (std::string why = refusal(tap, arguments); !why.empty()) return why;
    auto fifo = Fifo::open(arguments.fifo, {});
    if (!fifo) return fifo.error();
    in_use = fifo->get();
    for (const capture::InterfaceInfo& interface : tap.interfaces())
        if (!(*fifo)->writer().describe(interface) || !(*fifo)->writer().flush()) return write_fault(**fifo);
    capture::ReadStatus status{};
    if (std::string why = copy(tap, Chosen({}), **fifo, status); !why.empty()) return why;
    if (status == capture::ReadStatus::error) return tap.error().text();
    return finish(tap, **fifo);
}

std::string of_daemon(const Arguments& arguments) {
    auto client = control::Client::connect(arguments.socket);
    if (!client) {
        // The client speaks of the command line of `rdmascope`; here it is an option of the interface.
        std::string why = client.error().text();
        if (const std::size_t at = why.find("--connect=SOCKET"); at != std::string::npos)
            why.replace(at, 16, "the interface's option \"Control socket\"");
        return why;
    }
    const bool recorder = arguments.kind == Kind::recorder;
    auto stream = (*client)->frames(recorder ? control::FramesOf::recorder : control::FramesOf::now);
    if (!stream) return stream.error().text();
    // The capture's reader takes standard input, which has no other use here.
    if (::dup2(stream->number(), STDIN_FILENO) < 0) return "no descriptors are left";
    stream->reset();
    auto fifo = Fifo::open(arguments.fifo, recorder ? "what the flight recorder held" : "");
    if (!fifo) return fifo.error();
    in_use = fifo->get();
    auto source = capture::open_file("-", {.stop = ended});
    if (!source) return ended() ? std::string{} : source.error().text();
    for (const capture::InterfaceInfo& interface : (*source)->interfaces())
        if (!(*fifo)->writer().describe(interface) || !(*fifo)->writer().flush()) return write_fault(**fifo);
    capture::ReadStatus status{};
    if (std::string why = copy(**source, Chosen(arguments.filter), **fifo, status); !why.empty()) return why;
    if (std::string why = finish(**source, **fifo); !why.empty()) return why;
    if (ended() || (recorder && status == capture::ReadStatus::end)) return {};
    return fmt::format("the daemon at {} has ended; what it sent is kept", arguments.socket);
}

}  // namespace

std::string capture_into_fifo(const Arguments& arguments) {
    // A live interface's own kernel judges it.
    if (arguments.kind != Kind::live)
        if (const auto filter = capture::PacketFilter::compile(arguments.filter, {}); !filter)
            return filter.error().text();
    handle_signals();
    return arguments.kind == Kind::live ? live(arguments) : of_daemon(arguments);
}

}  // namespace plugins::extcap
