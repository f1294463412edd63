#include "trace/uprobe/probe_source.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sstream>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/file.h"
#include "trace/uprobe/stack_probes.h"

namespace trace::inline uprobe {

using base::Failure;

namespace {

constexpr std::string_view group_prefix = "rdmascope_";
constexpr std::size_t max_name = 40;  // bytes; the kernel accepts 63

std::string event_name(const ProbePoint& point, std::size_t number) {
    std::string name = point.name.substr(0, max_name);
    for (char& c : name)
        if ((c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')) c = '_';
    return fmt::format("p_{}_{}", name, number);
}

/// Removes the definitions of tracers that have ended: groups are named rdmascope_PID_NUMBER.
void remove_abandoned(const Tracefs& tracefs) {
    std::istringstream file(base::read_file(tracefs.root() + "/uprobe_events").value_or(std::string()));
    std::vector<std::string> abandoned;
    for (std::string line; std::getline(file, line);) {  // p:rdmascope_71_0/p_name_0 /path:0x1234 ...
        const std::string_view event = std::string_view(line).substr(0, line.find(' '));
        const std::size_t colon = event.find(':');
        if (colon == std::string_view::npos || !event.substr(colon + 1).starts_with(group_prefix)) continue;
        const std::string_view pid = event.substr(colon + 1 + group_prefix.size());
        int process = 0;
        std::from_chars(pid.data(), pid.data() + pid.size(), process);
        if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) abandoned.emplace_back(event.substr(colon + 1));
    }
    // One that is in use by a tracer that we cannot see is refused, and stays.
    for (const std::string& event : abandoned) static_cast<void>(tracefs.change_uprobes("-:" + event));
}

}  // namespace

base::Result<std::unique_ptr<ProbeSource>> ProbeSource::open(const std::vector<ProbePoint>& points,
                                                             const ProbeOptions& options) {
    static std::atomic<unsigned> sources{0};
    auto tracefs = Tracefs::find(options.tracefs);
    if (!tracefs) return Failure{tracefs.error()};
    if (points.empty()) return Failure{base::Error{"there is no probe to trace"}};
    remove_abandoned(*tracefs);
    std::unique_ptr<ProbeSource> source(new ProbeSource(std::move(*tracefs)));
    source->group_ = fmt::format("{}{}_{}", group_prefix, ::getpid(), sources++);
    std::vector<PerfEvent> events;
    for (const ProbePoint& point : points) {
        auto event = source->define(point, events.size());
        if (!event) return Failure{event.error()};
        events.push_back(std::move(*event));
    }
    auto perf = PerfSource::open(std::move(events), options.perf);
    if (!perf) return Failure{perf.error()};
    source->perf_ = std::move(*perf);
    return source;
}

base::Result<PerfEvent> ProbeSource::define(const ProbePoint& point, std::size_t number) {
    base::Descriptor file(::open(point.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return Failure{base::Error{std::strerror(errno), point.path}};
    const std::string event = fmt::format("{}/{}", group_, event_name(point, number));
    // By its descriptor, since the kernel's syntax has no way to write a path with blanks.
    std::string line = fmt::format("p:{} /proc/self/fd/{}:{:#x}", event, file.number(), point.offset);
    if (point.semaphore_offset != 0) line += fmt::format("({:#x})", point.semaphore_offset);
    for (const auto& [name, what] : point.fetch) line += fmt::format(" {}={}", name, what);
    const auto defined = tracefs_.change_uprobes(line);
    file.reset();
    if (!defined)
        return Failure{base::Error{fmt::format("{} of {}: {}", point.name, point.path, defined.error().message),
                                   defined.error().path}};
    defined_.push_back(event);
    auto format = Format::read(tracefs_.format_path(event));
    if (!format) return Failure{format.error()};
    Converter convert = point.convert ? point.convert(*format) : Converter();
    return PerfEvent{point.name, std::move(*format), std::move(convert)};
}

ProbeSource::~ProbeSource() {
    perf_.reset();  // what is in use cannot be removed
    for (const std::string& event : defined_) static_cast<void>(tracefs_.change_uprobes("-:" + event));
}

std::vector<EventCount> ProbeSource::events() const {
    std::vector<EventCount> by_name;
    for (EventCount& event : perf_->events()) {
        const auto known =
            std::find_if(by_name.begin(), by_name.end(), [&](const auto& each) { return each.name == event.name; });
        if (known == by_name.end())
            by_name.push_back(std::move(event));
        else
            known->count += event.count;
    }
    return by_name;
}

ProbePoint point_of(const UsdtProbe& probe, const base::ElfFile& file, std::vector<std::string>& warnings) {
    ProbePoint point;
    point.name = probe.provider + ":" + probe.name;
    point.path = file.path();
    point.offset = probe.file_offset;
    point.semaphore_offset = probe.semaphore_offset;
    for (std::size_t i = 0; i < probe.arguments.size(); ++i) {
        const UsdtArgument& argument = probe.arguments[i];
        if (argument.place == UsdtArgument::Place::constant) continue;
        if (const auto text = fetch_text(argument, probe, file))
            point.fetch.emplace_back(fmt::format("a{}", i + 1), *text);
        else
            warnings.push_back(fmt::format("{}: argument {} of {} ({}) cannot be read", file.path(), i + 1, point.name,
                                           argument.text));
    }
    if (is_stack_probe(point.name))
        point.convert = [probe](const Format& format) {
            return stack_converter(probe.provider + ":" + probe.name, ProbeArguments(probe, format));
        };
    return point;
}

ProbeArguments::ProbeArguments(const UsdtProbe& probe, const Format& format) {
    for (std::size_t i = 0; i < probe.arguments.size(); ++i) {
        Slot slot;
        if (const Field* const field = format.find(fmt::format("a{}", i + 1))) {
            slot.fetched = true;
            slot.field = *field;
        } else if (probe.arguments[i].place == UsdtArgument::Place::constant) {
            slot.constant = static_cast<std::uint64_t>(probe.arguments[i].value);
        }
        slots_.push_back(std::move(slot));
    }
}

std::uint64_t ProbeArguments::operator()(std::size_t index, base::Bytes record) const {
    if (index >= slots_.size()) return 0;
    const Slot& slot = slots_[index];
    return slot.fetched ? Format::number(slot.field, record).value_or(0) : slot.constant;
}

}  // namespace trace::uprobe
