#include "fabric/umad/umad_port.h"

#include <fmt/format.h>

#ifdef RDMASCOPE_HAVE_UMAD

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <infiniband/umad.h>
#include <limits>
#include <string_view>

namespace fabric::umad {

namespace {

// Classes and their versions, IBTA vol. 1, 13.4.4.
constexpr int directed_subnet_class = 0x81;
constexpr int performance_class = 0x04;
constexpr int class_version = 1;
constexpr int no_rmpp = 0;

constexpr int permissive_lid = 0xffff;
constexpr int subnet_queue_pair = 0;
constexpr int general_queue_pair = 1;
/// The Q_Key of queue pair 1. IBTA vol. 1, 10.2.5.
constexpr int general_queue_key = static_cast<int>(0x80010000);

/// As libibumad counts them: a negative number would mean to wait for ever.
int milliseconds(std::chrono::milliseconds time) {
    return static_cast<int>(std::min<std::chrono::milliseconds::rep>(time.count(), std::numeric_limits<int>::max()));
}

constexpr const char* no_port_advice =
    "load the adapter's driver and ib_umad (modprobe ib_umad), see \"rdmascope doctor\"; or read a file with -r";

struct FreeDeleter {
    void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<void, FreeDeleter>;

/// Closes the port and its registrations.
class UmadTransport final : public MadTransport {
public:
    UmadTransport(int port, const Patience& patience)
        : port_(port), patience_(patience), buffer_(::umad_alloc(1, ::umad_size() + mad_bytes)) {}
    ~UmadTransport() override {
        for (const int agent : {directed_agent_, performance_agent_})
            if (agent >= 0) ::umad_unregister(port_, agent);
        ::umad_close_port(port_);
    }
    UmadTransport(const UmadTransport&) = delete;
    UmadTransport& operator=(const UmadTransport&) = delete;

    base::Result<void> register_agents() {
        directed_agent_ = ::umad_register(port_, directed_subnet_class, class_version, no_rmpp, nullptr);
        performance_agent_ = ::umad_register(port_, performance_class, class_version, no_rmpp, nullptr);
        if (directed_agent_ >= 0 && performance_agent_ >= 0 && buffer_) return {};
        return base::failure("the kernel does not register this program for management datagrams; run it as root");
    }

    base::Result<void> send(const Destination& to, const MadBytes& mad) override {
        void* const umad = buffer_.get();
        std::memset(umad, 0, ::umad_size());
        std::memcpy(::umad_get_mad(umad), mad.data(), mad.size());
        const bool directed = to.agent == Agent::directed_route;
        if (directed)
            ::umad_set_addr(umad, permissive_lid, subnet_queue_pair, 0, 0);
        else
            ::umad_set_addr(umad, to.lid, general_queue_pair, 0, general_queue_key);
        const int code =
            ::umad_send(port_, directed ? directed_agent_ : performance_agent_, umad, static_cast<int>(mad.size()),
                        milliseconds(patience_.timeout), static_cast<int>(patience_.retries));
        if (code < 0) return base::failure(fmt::format("sending a datagram failed: {}", std::strerror(-code)));
        return {};
    }

    base::Result<std::optional<Received>> receive(std::chrono::milliseconds wait) override {
        void* const umad = buffer_.get();
        int length = static_cast<int>(mad_bytes);
        const int code = ::umad_recv(port_, umad, &length, milliseconds(wait));
        if (code < 0) {
            if (code == -ETIMEDOUT || code == -EWOULDBLOCK || code == -EINTR) return std::optional<Received>{};
            return base::failure(fmt::format("receiving a datagram failed: {}", std::strerror(-code)));
        }
        Received received;
        received.length = static_cast<std::size_t>(std::clamp(length, 0, static_cast<int>(mad_bytes)));
        std::memcpy(received.mad.data(), ::umad_get_mad(umad), received.length);
        received.timed_out = ::umad_status(umad) != 0;
        return std::optional(received);
    }

    const Patience& patience() const override { return patience_; }

private:
    int port_;
    Patience patience_;
    Buffer buffer_;
    int directed_agent_ = -1;
    int performance_agent_ = -1;
};

std::string text_of(const PortChoice& choice) {
    return (choice.adapter.empty() ? std::string("the adapter") : choice.adapter) +
           (choice.port ? fmt::format(" port {}", *choice.port) : std::string());
}

base::Result<LocalPort> find_port(const PortChoice& choice) {
    umad_port_t found{};
    const int code = ::umad_get_port(choice.adapter.empty() ? nullptr : choice.adapter.c_str(),
                                     choice.port ? static_cast<int>(*choice.port) : 0, &found);
    if (code < 0) {
        if (choice.adapter.empty() && !choice.port)
            return base::failure(fmt::format("this machine has no InfiniBand port that is active: {}", no_port_advice));
        return base::failure(fmt::format(
            "{}: there is no such InfiniBand port; \"rdmascope doctor -v\" lists the adapters", text_of(choice)));
    }
    LocalPort local{found.ca_name, static_cast<unsigned>(found.portnum)};
    const bool is_ethernet = std::string_view(found.link_layer) == "Ethernet";
    ::umad_release_port(&found);
    if (is_ethernet)
        return base::failure(
            fmt::format("{} port {} is an Ethernet port, which belongs to no InfiniBand subnet; name "
                        "another with --ca and --port",
                        local.adapter, local.number));
    return local;
}

}  // namespace

base::Result<OpenPort> open_port(const PortChoice& choice, const Patience& patience) {
    if (::umad_init() < 0)
        return base::failure(fmt::format("the kernel has no interface for management datagrams: {}", no_port_advice));
    auto local = find_port(choice);
    if (!local) return base::Failure{local.error()};
    const int port = ::umad_open_port(local->adapter.c_str(), static_cast<int>(local->number));
    if (port < 0)
        return base::failure(fmt::format("{} port {} cannot be opened: {}; run as root, with ib_umad loaded",
                                         local->adapter, local->number, std::strerror(-port)));
    auto transport = std::make_unique<UmadTransport>(port, patience);
    if (const auto registered = transport->register_agents(); !registered) return base::Failure{registered.error()};
    return OpenPort{std::move(local).value(), std::move(transport)};
}

}  // namespace fabric::umad

#else

namespace fabric::umad {

base::Result<OpenPort> open_port(const PortChoice& /*choice*/, const Patience& /*patience*/) {
    return base::failure("this program was built without libibumad: it reads files alone (-r FILE)");
}

}  // namespace fabric::umad

#endif
