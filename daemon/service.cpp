#include "daemon/service.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <future>
#include <mutex>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <thread>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/quantities.h"
#include "capture/filter/bpf.h"
#include "daemon/capture_thread.h"
#include "daemon/fabric_poll.h"
#include "daemon/fleet_feed.h"
#include "daemon/heap.h"
#include "daemon/http/access.h"
#include "daemon/http/http_server.h"
#include "daemon/http/site.h"
#include "daemon/interface_patterns.h"
#include "daemon/interval_writer.h"
#include "daemon/privileges.h"
#include "daemon/recorder/recording_folder.h"
#include "daemon/server/server.h"
#include "daemon/service_figures.h"
#include "daemon/subnet_figures.h"
#include "daemon/system_calls.h"
#include "daemon/systemd/notify.h"
#include "exporters/prometheus/devices.h"
#include "exporters/prometheus/front_page.h"
#include "observe/counter_watch.h"
#include "policy/policy_answers.h"
#include "policy/rules.h"

namespace service {

namespace {

namespace prom = exporters::prometheus;

constexpr int poll_ms = 200;
/// How long the capture thread sleeps where no frame comes.
constexpr int wait_ms = 100;
constexpr int wait_with_traces_ms = 5;
constexpr std::uint64_t snapshot_patience_ns = 1'000'000'000;
/// How often the figures of a flow are in memory while an interval is worked off: the present figures, those of the
/// interval before, and the difference. status() adds one for a history, which has figures yet to write, and one for a
/// live page, which has a difference of its own.
constexpr std::uint64_t figures_held = 3;
/// Counters are asked of the adapter's firmware, which takes some milliseconds on large ones.
constexpr std::int64_t counters_period_ns = 900'000'000;

sigset_t handled_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set, signal);
    return set;
}

/// Whether a signal that ends the daemon waits to be handled.
bool is_asked_to_end() {
    sigset_t pending;
    return ::sigpending(&pending) == 0 && (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
}

/// No rules if the configuration names no file.
base::Result<std::shared_ptr<const policy::Rules>, base::Errors> read_policy(const Config& config) {
    if (config.policy.file.empty()) return std::shared_ptr<const policy::Rules>();
    auto rules = policy::read_rules(config.policy.file);
    if (!rules) return base::Failure{rules.error()};
    return std::make_shared<const policy::Rules>(std::move(rules).value());
}

}  // namespace

struct Service::State final : Commands {
    State(ServiceOptions given, metrics::HostNames& host_names, Log& to)
        : options(std::move(given)),
          config(options.config),
          names_(host_names),
          log(to),
          started_ns(base::wall_ns()),
          started_steady_ns(base::steady_ns()) {}

    base::Result<void, base::Errors> open();
    base::Result<std::vector<std::unique_ptr<capture::VerbsSource>>, base::Errors> open_devices() const;
    base::Result<std::unique_ptr<observe::TraceInput>> open_traces() const;
    base::Result<std::unique_ptr<history::HistoryWriter>> open_history() const;
    base::Result<void> restrict_calls();
    base::Result<void> open_control();
    base::Result<void> read_token();
    base::Result<void> open_fleet();
    base::Result<void, base::Errors> open_fabric();
    base::Result<void> open_socket();
    base::Result<void> open_listener();
    void close_listener();
    base::Result<void, base::Errors> run(const std::function<void()>& ready);
    base::Result<void, base::Errors> end();
    void log_awaited();
    void work_off_intervals();
    void look_at_counters();
    void handle_signals();
    void notify_watchdog();
    void serve_control();
    void stop_control();
    void handle_reload_request();
    base::Result<void, base::Errors> reload_now();
    base::Result<void, base::Errors> read_and_apply();
    base::Result<void, base::Errors> apply(const Config& wanted);

    std::string metrics_text();
    prom::ProgramFigures figures();
    base::Result<void> check_capture_thread(const CaptureThreadStatus& seen) const;
    http::Pages::Health health();

    Published snapshot(std::uint64_t age_ns) override {
        const Taken taken = capture_thread->latest(age_ns, snapshot_patience_ns);
        return {taken.snapshot, taken.wall_ns};
    }
    metrics::DeviceFigures devices() override {
        const std::lock_guard lock(mutex);
        return device_figures;
    }
    Status status() override;
    const metrics::HostNames& names() const override { return names_; }
    bool crc_verified() const override {
        const std::lock_guard lock(mutex);
        return config.engine.verify_crc;
    }
    base::Result<void> trigger(const std::string& reason) override {
        return capture_thread->record_now(
            {.trigger = "command", .reason = reason.empty() ? "asked for by a client" : reason});
    }
    base::Result<void, base::Errors> reload() override;
    std::string history_directory() const override {
        const std::lock_guard lock(mutex);
        return config.history.directory;
    }
    void add_policy(const metrics::Snapshot& snapshot, const std::uint64_t* flow,
                    std::vector<metrics::Answer>& answers) const override {
        std::shared_ptr<const policy::Rules> rules;
        {
            const std::lock_guard lock(mutex);
            rules = policy_rules;
        }
        if (rules) policy::add_answers(*rules, snapshot, names_, flow, answers);
    }
    std::string policy_file() const override {
        const std::lock_guard lock(mutex);
        return config.policy.file;
    }
    bool ends() const override { return stopping; }
    base::Result<std::unique_ptr<FrameStream>> frames(control::FramesOf which) override {
        return capture_thread->frames(which);
    }

    const ServiceOptions options;
    Config config;  ///< in force; of this thread
    metrics::HostNames& names_;
    Log& log;
    std::int64_t started_ns;
    std::int64_t started_steady_ns;

    std::unique_ptr<SystemCallFilter> call_filter;  ///< as long as there are threads
    base::Descriptor signals;
    base::Descriptor intervals_ready;
    std::unique_ptr<CaptureThread> capture_thread;
    std::unique_ptr<IntervalWriter> interval_writer;
    std::string clickhouse_password;     ///< of clickhouse.password_file
    std::unique_ptr<FleetFeed> fleet;    ///< null without clickhouse.url and clickhouse.jsonl
    std::unique_ptr<FabricPoll> fabric;  ///< null without fabric.interval
    std::unique_ptr<ControlServer> control;
    std::string token;  ///< of http.token_file
    std::unique_ptr<http::PlainSite> site;
    http::LiveSite* live_site = nullptr;  ///< `site`, if there is a live page
    http::ListeningSocket socket;         ///< of prometheus.listen, until `listener` has it
    std::unique_ptr<http::HttpServer> listener;
    std::atomic<bool> stopping = false;
    std::thread control_thread;  ///< answers of any length hold neither signals nor intervals up
    std::int64_t life_due_ns = 0;
    observe::CounterWatch counters;
    std::int64_t counters_due_ns = 0;
    FreeMemory free_memory{base::steady_ns()};
    std::string reported_status;

    mutable std::mutex mutex;  ///< of what the threads of the listener and of the control socket read, too
    std::optional<std::promise<base::Result<void, base::Errors>>> reload_request;  ///< of the control socket
    std::uint64_t reloads = 0;
    bool reload_ok = true;
    std::vector<std::string> needs_restart;
    metrics::DeviceFigures device_figures;
    ServerCounters control_counters;
    std::shared_ptr<const policy::Rules> policy_rules;
};

base::Result<void> Service::State::restrict_calls() {
    auto installed = SystemCallFilter::install([this](const std::string& call) {
        log.warning("system call", fmt::format("the system call {} was refused: the daemon is not known to need it; "
                                               "report this, or set service.restrict_system_calls to false",
                                               call));
    });
    if (!installed) return base::Failure{installed.error()};
    call_filter = std::move(installed).value();
    return {};
}

base::Result<void, base::Errors> Service::State::open() {
    const sigset_t handled = handled_signals();
    pthread_sigmask(SIG_BLOCK, &handled, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    bound_free_memory();
    signals = base::Descriptor(signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC));
    intervals_ready = base::Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!signals || !intervals_ready)
        return base::Failure{base::Errors{{"no descriptors are left; raise `ulimit -n`"}}};

    base::Errors errors;
    auto triggers = Triggers::compile(config.recorder.triggers);
    if (!triggers) errors = triggers.error();
    // Before the traces, which may lie in the same folder: the part that makes the folder gives it to `user`.
    if (const auto opened = open_control(); !opened) errors.push_back(opened.error());
    if (const auto read = read_token(); !read) errors.push_back(read.error());
    if (const auto opened = open_socket(); !opened) errors.push_back(opened.error());
    auto password = read_clickhouse_password(config.clickhouse);
    if (!password) errors.push_back(password.error());
    auto tap = capture::Tap::open(tap_options(config));
    if (!tap) errors.push_back(tap.error());
    auto devices = open_devices();
    if (!devices) errors.insert(errors.end(), devices.error().begin(), devices.error().end());
    auto traces = open_traces();
    if (!traces) errors.push_back(traces.error());
    if (const auto opened = open_fabric(); !opened)
        errors.insert(errors.end(), opened.error().begin(), opened.error().end());
    if (!errors.empty()) return base::Failure{std::move(errors)};
    clickhouse_password = std::move(password).value();
    // A thread has capabilities of its own: none may have been started. What is opened from here on belongs to `user`.
    const Rights rights{.trace_points = !config.traces.kernel_events.empty(),
                        .everybodys_files = config.traces.programs};
    if (const auto dropped = drop_privileges(config.service.user, rights); !dropped)
        return base::Failure{base::Errors{dropped.error()}};
    if (config.service.restrict_system_calls)
        if (const auto restricted = restrict_calls(); !restricted)
            return base::Failure{base::Errors{restricted.error()}};
    // Whose process has gone is not read any more, and those that cannot be seen are as good as gone.
    if (config.traces.programs && ::access("/proc/1/stat", F_OK) != 0)
        log.warning("/proc",
                    "/proc does not show the processes of other users (ProtectProc= of systemd, hidepid=): only "
                    "programs of this daemon's user are traced");

    auto history = open_history();
    if (!history) errors.push_back(history.error());
    if (const auto opened = open_fleet(); !opened) errors.push_back(opened.error());
    if (const std::string& folder = config.recorder.directory; !folder.empty())
        if (const auto prepared = prepare_recording_folder(folder); !prepared) errors.push_back(prepared.error());
    if (!errors.empty()) return base::Failure{std::move(errors)};
    const std::uint64_t frames_before = *history ? (*history)->frames_end() : 0;
    interval_writer =
        std::make_unique<IntervalWriter>(config, std::move(history).value(), std::move(triggers).value(), names_, log);
    // The daemon's user reads the rules again at each reload.
    auto rules = read_policy(config);
    if (!rules) return base::Failure{rules.error()};
    policy_rules = std::move(rules).value();
    interval_writer->set_policy(policy_rules);
    const int wake = intervals_ready.number();
    CaptureThread::Hooks hooks;
    hooks.interval = [wake] {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(wake, &one, sizeof one);
    };
    hooks.log = [this](bool warning, const std::string& kind, const std::string& line) {
        warning ? log.warning(kind, line) : log.info(kind, line);
    };
    const int longest_wait_ms = *traces == nullptr ? wait_ms : wait_with_traces_ms;
    auto sources =
        std::make_unique<Sources>(std::move(tap).value(), std::move(devices).value(), frames_before, longest_wait_ms);
    capture_thread =
        std::make_unique<CaptureThread>(config, std::move(sources), std::move(traces).value(), std::move(hooks));
    if (const auto opened = open_listener(); !opened) return base::Failure{base::Errors{opened.error()}};
    return {};
}

base::Result<std::vector<std::unique_ptr<capture::VerbsSource>>, base::Errors> Service::State::open_devices() const {
    base::Errors errors;
    std::vector<std::unique_ptr<capture::VerbsSource>> all;
    capture::VerbsOptions how;
    how.snaplen = static_cast<std::uint32_t>(config.capture.snaplen);
    how.filter = config.capture.filter;
    for (const std::string& device : config.capture.verbs_devices) {
        auto opened = capture::VerbsSource::open(device, 0, how);
        if (opened)
            all.push_back(std::move(opened).value());
        else
            errors.push_back({fmt::format("capture.verbs_devices: {}: {}", device, opened.error().text())});
    }
    if (!errors.empty()) return base::Failure{std::move(errors)};
    return all;
}

base::Result<std::unique_ptr<observe::TraceInput>> Service::State::open_traces() const {
    if (!config.traces.wanted()) return std::unique_ptr<observe::TraceInput>();
    observe::LiveTraces how{.programs = config.traces.programs, .make_folder = true};
    if (!config.traces.kernel_events.empty()) how.kernel_events = config.traces.kernel_events;
    auto opened = observe::open_live_trace(how);
    if (!opened) return base::failure("traces: " + opened.error().text());
    return opened;
}

base::Result<std::unique_ptr<history::HistoryWriter>> Service::State::open_history() const {
    if (config.history.directory.empty()) return std::unique_ptr<history::HistoryWriter>();
    history::HistoryOptions how;
    how.directory = config.history.directory;
    how.max_octets = config.history.max_octets;
    how.max_age_ns = config.history.max_age_ns;
    how.go_on = [] { return !is_asked_to_end(); };
    return history::HistoryWriter::open(how);
}

base::Result<void> Service::State::open_control() {
    if (config.control.socket.empty()) return {};
    ServerOptions how;
    how.path = config.control.socket;
    how.user = config.service.user;
    how.group = config.control.group;
    how.max_clients = config.control.max_clients;
    auto opened = ControlServer::open(how, *this);
    if (!opened) return base::Failure{opened.error()};
    control = std::move(opened).value();
    return {};
}

base::Result<void> Service::State::read_token() {
    if (config.http.token_file.empty() || config.prometheus.listen.empty()) return {};
    auto found = http::read_token(config.http.token_file);
    if (!found) return base::Failure{found.error()};
    token = std::move(found).value();
    return {};
}

base::Result<void> Service::State::open_fleet() {
    if (!config.clickhouse.makes_rows()) return {};
    auto opened = FleetFeed::open(config.clickhouse, clickhouse_password, options.version, started_ns, names_, log);
    if (!opened) return base::Failure{opened.error()};
    fleet = std::move(opened).value();
    return {};
}

base::Result<void, base::Errors> Service::State::open_fabric() {
    if (config.fabric.interval_ns == 0) return {};
    // Without a user to become, the files of root can be opened later, too.
    const bool opens_now = !config.service.user.empty();
    auto opened = FabricPoll::open(config.fabric, config.engine.node_names, opens_now,
                                   [this](bool warning, const std::string& line) {
                                       warning ? log.warning("fabric", line) : log.info("fabric", line);
                                   });
    if (!opened) return base::Failure{opened.error()};
    fabric = std::move(opened).value();
    return {};
}

/// While this process may still see whose program has the port, and may take any port.
base::Result<void> Service::State::open_socket() {
    if (config.prometheus.listen.empty()) return {};
    auto opened = http::listen_on(config.prometheus.listen);
    if (!opened) return base::Failure{opened.error()};
    socket = std::move(opened).value();
    return {};
}

base::Result<void> Service::State::open_listener() {
    if (config.prometheus.listen.empty()) return {};
    http::Pages pages;
    pages.metrics = [this] { return metrics_text(); };
    pages.health = [this] { return health(); };
    const std::string note = config.http.page ? http::note_without_page() : "The live page is off: http.page is false.";
    pages.front = [this, note] { return prom::front_page(figures(), note); };
    if (config.http.page) {
        http::LiveSite::Options how{.access = http::Access(token, config.http.writes),
                                    .interval_ns = config.engine.interval_ns,
                                    .history_interval_ns = config.history.interval_ns};
        auto live = std::make_unique<http::LiveSite>(std::move(pages), *this, std::move(how));
        live_site = live.get();
        site = std::move(live);
    } else {
        site = std::make_unique<http::PlainSite>(std::move(pages));
    }
    auto opened = http::HttpServer::open(std::move(socket), *site);
    if (!opened) return base::Failure{opened.error()};
    listener = std::move(opened).value();
    if (live_site != nullptr) live_site->attach(listener.get());
    return {};
}

void Service::State::close_listener() {
    listener.reset();
    if (live_site != nullptr) live_site->attach(nullptr);
}

base::Result<void, base::Errors> Service::State::run(const std::function<void()>& ready) {
    look_at_counters();
    capture_thread->start();
    if (fleet) fleet->start();
    if (fabric) fabric->start();
    log.debug("service", "capture has begun");
    if (control) control_thread = std::thread([this] { serve_control(); });
    ready();
    log_awaited();
    while (!stopping) {
        std::array<pollfd, 2> waited{pollfd{signals.number(), POLLIN, 0}, pollfd{intervals_ready.number(), POLLIN, 0}};
        ::poll(waited.data(), waited.size(), poll_ms);
        handle_signals();
        work_off_intervals();
        handle_reload_request();
        notify_watchdog();
    }
    return end();
}

base::Result<void, base::Errors> Service::State::end() {
    systemd::stopping();
    stop_control();
    if (control)
        if (const auto ended = control->end(); !ended) log.warning("control", ended.error().text());
    control.reset();
    close_listener();
    if (fabric) fabric->stop();
    base::Errors lost;
    if (const auto stopped = capture_thread->stop(); !stopped) lost.push_back(stopped.error());
    const std::uint64_t lost_before = interval_writer->history().lost_intervals;
    work_off_intervals();
    interval_writer->flush();
    if (fleet) {
        const Taken last = capture_thread->latest(~std::uint64_t{0}, 0);
        if (const auto ended = fleet->end(last, capture_thread->status(), devices()); !ended)
            lost.push_back(ended.error());
    }
    if (interval_writer->history().lost_intervals > lost_before)
        lost.push_back({fmt::format("the last of the history is lost: {}; make room there before the next start",
                                    interval_writer->history_error())});
    if (!lost.empty()) return base::Failure{std::move(lost)};
    return {};
}

void Service::State::serve_control() {
    pthread_setname_np(pthread_self(), "control");
    while (!stopping) {
        control->progress(poll_ms);
        const std::lock_guard lock(mutex);
        control_counters = control->counters();
    }
}

void Service::State::stop_control() {
    stopping = true;
    if (!control_thread.joinable()) return;
    control->wake();
    control_thread.join();
}

void Service::State::log_awaited() {
    const std::vector<std::string> names = awaited_interfaces(config.capture.interfaces);
    if (!names.empty())
        log.warning("awaited interfaces",
                    fmt::format("no interface is `{}` yet; what comes will be opened", fmt::join(names, "`, `")));
}

void Service::State::work_off_intervals() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(intervals_ready.number(), &count, sizeof count);
    for (const Taken& taken : capture_thread->intervals()) {
        std::vector<Incident> incidents = interval_writer->interval(taken, capture_thread->status());
        for (const Incident& incident : incidents) {
            log.warning("incident " + incident.trigger, fmt::format("{}: {}", incident.trigger, incident.reason));
            if (live_site != nullptr) live_site->note({taken.wall_ns, incident});
        }
        if (live_site != nullptr) live_site->add({taken.snapshot, taken.wall_ns, taken.length_ns});
        if (fleet) fleet->add(taken, capture_thread->status(), devices());
        capture_thread->record(std::move(incidents));
    }
    if (base::steady_ns() >= counters_due_ns) look_at_counters();
    free_memory.give_back_when_due(base::steady_ns());
    if (std::string text = health().text; text != reported_status) {
        reported_status = std::move(text);
        systemd::status(reported_status);
    }
}

void Service::State::look_at_counters() {
    counters.look(base::steady_ns());
    counters_due_ns = base::steady_ns() + counters_period_ns;
    const std::lock_guard lock(mutex);
    device_figures = counters.figures();
}

void Service::State::handle_signals() {
    signalfd_siginfo info{};
    while (::read(signals.number(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        switch (static_cast<int>(info.ssi_signo)) {
            case SIGHUP: {
                systemd::reloading();
                static_cast<void>(reload_now());  // what is wrong was logged
                systemd::ready(reported_status);
                break;
            }
            case SIGUSR1: {
                const auto begun = capture_thread->record_now({.trigger = "signal", .reason = "SIGUSR1"});
                if (!begun) log.warning("recorder", "SIGUSR1: " + begun.error().text());
                break;
            }
            default: stopping = true;
        }
    }
}

/// systemd is notified only while the capture thread comes around; without an interface it has nothing else to do.
void Service::State::notify_watchdog() {
    const auto period = systemd::watchdog_period_ns();
    const std::int64_t now = base::steady_ns();
    if (!period || now < life_due_ns || !check_capture_thread(capture_thread->status())) return;
    systemd::watchdog();
    life_due_ns = now + static_cast<std::int64_t>(*period / 2);
}

/// Called by the thread of the control socket: the main thread owns the configuration.
base::Result<void, base::Errors> Service::State::reload() {
    std::future<base::Result<void, base::Errors>> done;
    {
        const std::lock_guard lock(mutex);
        done = reload_request.emplace().get_future();
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(intervals_ready.number(), &one, sizeof one);
    while (done.wait_for(std::chrono::milliseconds(poll_ms)) != std::future_status::ready)
        if (stopping) return base::Failure{base::Errors{{"the daemon is ending"}}};
    return done.get();
}

void Service::State::handle_reload_request() {
    std::optional<std::promise<base::Result<void, base::Errors>>> request;
    {
        const std::lock_guard lock(mutex);
        request.swap(reload_request);
    }
    if (request) request->set_value(reload_now());
}

base::Result<void, base::Errors> Service::State::reload_now() {
    auto reloaded = read_and_apply();
    const std::lock_guard lock(mutex);
    ++reloads;
    reload_ok = reloaded.ok();
    if (reloaded)
        log.info("reload", "the configuration was read again");
    else
        log.error("reload", "the configuration stays as it was: " + base::text_of(reloaded.error()));
    return reloaded;
}

base::Result<void, base::Errors> Service::State::read_and_apply() {
    const auto read = options.read_again();
    if (read) return apply(*read);
    base::Errors errors;
    for (const std::string& line : read.error().lines) errors.push_back({line});
    return base::Failure{std::move(errors)};
}

base::Result<void, base::Errors> Service::State::apply(const Config& wanted) {
    auto triggers = Triggers::compile(wanted.recorder.triggers);
    if (!triggers) return base::Failure{triggers.error()};
    auto rules = read_policy(wanted);
    if (!rules) return base::Failure{rules.error()};
    const ConfigChange change = compare(config, wanted);
    if (const auto done = capture_thread->reconfigure(change.in_force); !done)
        return base::Failure{base::Errors{done.error()}};
    const bool others = change.in_force.capture.interfaces != config.capture.interfaces;
    interval_writer->reconfigure(change.in_force, std::move(triggers).value());
    interval_writer->set_policy(*rules);
    if (const auto level = find_level(change.in_force.log.level)) log.set_level(*level);
    log.set_limit(change.in_force.log.max_lines_per_sec);
    for (const std::string& key : change.needs_restart)
        log.warning("reload", key + " takes effect when the daemon is started again");
    {
        const std::lock_guard lock(mutex);
        needs_restart = change.needs_restart;
        policy_rules = std::move(rules).value();
        config = change.in_force;
    }
    if (others) log_awaited();
    return {};
}

Status Service::State::status() {
    const Taken taken = capture_thread->latest(~std::uint64_t{0}, 0);
    Status out = status_of(capture_thread->status(), taken, interval_writer->history());
    out.version = options.version;
    out.started_ns = started_ns;
    out.now_ns = base::wall_ns();
    if (fleet) out.clickhouse = rows_of(fleet->counters());
    const std::lock_guard lock(mutex);
    add_awaited(out, config.capture.interfaces);
    const std::uint64_t held =
        figures_held + (config.history.directory.empty() ? 0U : 1U) + (live_site == nullptr ? 0U : 1U);
    out.memory_octets =
        taken.snapshot->memory_octets + held * taken.snapshot->flows.size() * sizeof(metrics::FlowSnapshot);
    out.clients = control_counters.clients;
    out.reloads = reloads;
    out.needs_restart = needs_restart;
    return out;
}

prom::ProgramFigures Service::State::figures() {
    prom::ProgramFigures out =
        program_figures(status(), capture_thread->status(), *capture_thread->latest(~std::uint64_t{0}, 0).snapshot);
    out.uptime_seconds = static_cast<double>(base::steady_ns() - started_steady_ns) / 1e9;
    if (fleet) set_sink_figures(out, fleet->counters());
    const std::lock_guard lock(mutex);
    out.control_clients = control_counters.clients;
    out.control_skipped_updates = control_counters.skipped;
    out.config_reloads = reloads;
    out.config_reload_ok = reload_ok;
    return out;
}

std::string Service::State::metrics_text() {
    std::vector<::prometheus::MetricFamily> all = prom::families(figures());
    for (::prometheus::MetricFamily& family : interval_writer->families()) all.push_back(std::move(family));
    for (::prometheus::MetricFamily& family : prom::families(devices())) all.push_back(std::move(family));
    if (fabric)
        for (::prometheus::MetricFamily& family : families(fabric->polling())) all.push_back(std::move(family));
    return prom::text(all);
}

/// Fails if the capture thread has done nothing for too long.
base::Result<void> Service::State::check_capture_thread(const CaptureThreadStatus& seen) const {
    const std::int64_t silent_ns = base::steady_ns() - seen.alive_ns;
    const auto bound_ns = static_cast<std::int64_t>(options.config.engine.interval_ns * 5 + 5'000'000'000);
    if (silent_ns <= bound_ns) return {};
    return base::failure(
        fmt::format("the capture thread has not come around for {}", base::format_duration(silent_ns)));
}

http::Pages::Health Service::State::health() {
    const CaptureThreadStatus seen = capture_thread->status();
    if (const auto checked = check_capture_thread(seen); !checked) return {false, checked.error().text()};
    const std::string names = open_interfaces(seen);
    if (names.empty()) return {false, "waiting for an interface"};
    return {true, fmt::format("capturing on {}", names)};
}

Service::Service(ServiceOptions options, metrics::HostNames& names, Log& log)
    : state_(std::make_unique<State>(std::move(options), names, log)) {}
Service::~Service() {
    // Their threads look at everything else.
    state_->stop_control();
    state_->close_listener();
    state_->control.reset();
}

base::Result<void, base::Errors> Service::check(const Config& config) {
    base::Errors errors;
    if (auto triggers = Triggers::compile(config.recorder.triggers); !triggers) errors = triggers.error();
    if (auto filter = capture::PacketFilter::compile(config.capture.filter, {}); !filter)
        errors.push_back({"capture.filter: " + filter.error().text()});
    if (const auto rules = read_policy(config); !rules)
        errors.insert(errors.end(), rules.error().begin(), rules.error().end());
    if (!errors.empty()) return base::Failure{std::move(errors)};
    return {};
}

base::Result<void, base::Errors> Service::open() { return state_->open(); }
base::Result<void, base::Errors> Service::run(const std::function<void()>& ready) { return state_->run(ready); }

std::string Service::summary() const {
    const Status now = state_->status();
    std::uint64_t kernel = 0;
    std::uint64_t interface = 0;
    for (const Status::Interface& each : now.interfaces) {
        kernel += each.kernel_dropped.value_or(0);
        interface += each.interface_dropped.value_or(0);
    }
    return fmt::format("{} packets captured, {} dropped by the kernel, {} dropped by interfaces; {} flows", now.packets,
                       kernel, interface, now.flows);
}

}  // namespace service
