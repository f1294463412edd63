#include "capture/kernel/kernel_tap.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/core.h>
#include <optional>
#include <string_view>

#ifdef RDMASCOPE_HAVE_EBPF
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>
#endif

#include "capture/kernel/tap_state.h"

namespace capture::inline kernel {

namespace {

constexpr const char* switch_name = "RDMASCOPE_EBPF";

bool is_switched_off() {
    const char* const value = std::getenv(switch_name);
    return value != nullptr && std::string_view(value) == "off";
}

base::Failure<base::Error> no_learning(std::string why) {
    return base::Failure{base::Error{.message = std::move(why)}};
}

}  // namespace

#ifdef RDMASCOPE_HAVE_EBPF

/// rdma_tap.bpf.c, compiled.
extern const std::span<const unsigned char> tap_program;

namespace {

/// The one element of an array map, as memory of this process.
template <class T>
class MappedElement {
public:
    MappedElement() = default;
    MappedElement(MappedElement&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
    MappedElement& operator=(MappedElement&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~MappedElement() {
        if (memory_ != nullptr) ::munmap(memory_, size());
    }

    static base::Result<MappedElement> map(int descriptor) {
        MappedElement mapped;
        void* const memory = ::mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (memory == MAP_FAILED)
            return no_learning(fmt::format("the kernel does not share the program's memory: {}", std::strerror(errno)));
        mapped.memory_ = memory;
        return mapped;
    }
    /// The kernel reads or writes it at the same time: one member at a time, each of them on its own.
    volatile T& operator*() const { return *static_cast<volatile T*>(memory_); }

private:
    static std::size_t size() {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        return (sizeof(T) + page - 1) / page * page;
    }
    void* memory_ = nullptr;
};

/// Silent: the caller has the number of the error, and the verifier's reasons are for developers of the program.
int discard_message(libbpf_print_level, const char*, va_list) { return 0; }

struct CloseObject {
    void operator()(bpf_object* object) const { ::bpf_object__close(object); }
};
using Object = std::unique_ptr<bpf_object, CloseObject>;

std::string explain_refusal(int error) {
    std::string text = fmt::format("the kernel does not accept the eBPF program: {}", std::strerror(error));
    if (error == EPERM || error == EACCES)
        text +=
            "; it needs CAP_BPF and CAP_PERFMON (root has both; for others, once as root: setcap "
            "cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon+eip PROGRAM), and a kernel that is not locked "
            "down";
    else
        text += "; it needs Linux 5.17 with CONFIG_BPF_SYSCALL";
    return text;
}

void prepare_maps(bpf_object& object, std::uint32_t connections) {
    for (const char* name : {"connections", "candidates"})
        if (bpf_map* const map = ::bpf_object__find_map_by_name(&object, name); map != nullptr)
            ::bpf_map__set_max_entries(map, connections);
}

int map_descriptor(const bpf_object& object, const char* name) {
    return ::bpf_object__find_map_fd_by_name(&object, name);
}

int program_descriptor(const bpf_object& object, const char* name) {
    const bpf_program* const program = ::bpf_object__find_program_by_name(&object, name);
    return program == nullptr ? -1 : ::bpf_program__fd(program);
}

/// Connections in the map that are not closed; nothing where the kernel does not let this process read the map.
std::optional<std::uint64_t> count_open(int map) {
    constexpr __u32 batch = 1024;
    std::vector<TapKey> keys(batch);
    std::vector<TapConnection> values(batch);
    __u32 position = 0;
    std::uint64_t open = 0;
    for (bool begun = false;; begun = true) {
        __u32 count = batch;
        __u32 next = 0;
        const int result = ::bpf_map_lookup_batch(map, begun ? &position : nullptr, &next, keys.data(), values.data(),
                                                  &count, nullptr);
        if (result != 0 && errno != ENOENT) return std::nullopt;  // ENOENT: these were the last
        open += static_cast<std::uint64_t>(std::count_if(values.begin(), values.begin() + count,
                                                         [](const TapConnection& one) { return one.closed == 0; }));
        if (result != 0) return open;
        position = next;
    }
}

}  // namespace

struct KernelTap::Program {
    Object object;
    MappedElement<TapSettings> settings = {};
    MappedElement<TapCounters> counters = {};
    int ethernet = -1;
    int raw = -1;
    int connections = -1;
    std::uint64_t capacity = 0;
};

base::Result<std::unique_ptr<KernelTap>> KernelTap::load(const KernelTapOptions& options) {
    if (is_switched_off()) return no_learning(fmt::format("{}=off switches eBPF off", switch_name));
    ::libbpf_set_print(discard_message);
    auto program = std::make_unique<Program>();
    program->object.reset(::bpf_object__open_mem(tap_program.data(), tap_program.size(), nullptr));
    if (!program->object) return no_learning(explain_refusal(errno));
    prepare_maps(*program->object, options.connections);
    if (const int result = ::bpf_object__load(program->object.get()); result != 0)
        return no_learning(explain_refusal(-result));
    auto settings = MappedElement<TapSettings>::map(map_descriptor(*program->object, "settings"));
    if (!settings) return base::Failure{settings.error()};
    auto counters = MappedElement<TapCounters>::map(map_descriptor(*program->object, "counters"));
    if (!counters) return base::Failure{counters.error()};
    program->settings = std::move(settings).value();
    program->counters = std::move(counters).value();
    program->ethernet = program_descriptor(*program->object, "rdma_ethernet");
    program->raw = program_descriptor(*program->object, "rdma_raw");
    program->connections = map_descriptor(*program->object, "connections");
    program->capacity = options.connections;
    std::unique_ptr<KernelTap> tap(new KernelTap(std::move(program)));
    tap->set_lengths(options);
    return tap;
}

base::Result<void> KernelTap::attach(int socket, wire::LinkType link_type) const {
    const int program = link_type == wire::LinkType::ethernet ? program_->ethernet : program_->raw;
    if (::setsockopt(socket, SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof program) == 0) return {};
    return no_learning(fmt::format("the kernel does not attach the eBPF program: {}", std::strerror(errno)));
}

void KernelTap::set_lengths(const KernelTapOptions& options) {
    volatile TapSettings& settings = *program_->settings;
    settings.roce_bytes = options.roce_bytes;
    settings.management_bytes = options.management_bytes;
    settings.iwarp_bytes = options.iwarp_bytes;
    settings.discovery = options.discovery ? 1 : 0;
    settings.other_bytes = options.other_bytes;
}

void KernelTap::set_ports(std::span<const std::uint16_t> ports) {
    std::array<std::uint8_t, tap_ports_bytes> bits = {};
    for (const std::uint16_t port : ports) bits.at(port / 8U) |= static_cast<std::uint8_t>(1U << port % 8U);
    volatile TapSettings& settings = *program_->settings;
    for (std::size_t i = 0; i < bits.size(); ++i) settings.ports[i] = bits[i];
}

LearningFigures KernelTap::figures() const {
    const volatile TapCounters& counters = *program_->counters;
    LearningFigures figures{.learnt = counters.learnt,
                            .by_start_frame = counters.by_start_frame,
                            .withdrawn = counters.withdrawn,
                            .capacity = program_->capacity};
    const std::uint64_t closed = counters.closed;
    const std::uint64_t not_closed = figures.learnt - std::min<std::uint64_t>(closed, figures.learnt);
    figures.open = not_closed;
    // The map removes nothing before it is nearly full, and counting its entries takes time.
    if (figures.learnt < figures.capacity / 2) return figures;
    const auto open = count_open(program_->connections);
    if (!open) return figures;
    figures.open = std::min(*open, not_closed);
    figures.evicted = not_closed - figures.open;
    return figures;
}

#else

/// Without libbpf or clang at build time nothing is ever loaded.
struct KernelTap::Program {};

base::Result<std::unique_ptr<KernelTap>> KernelTap::load(const KernelTapOptions&) {
    if (is_switched_off()) return no_learning(fmt::format("{}=off switches eBPF off", switch_name));
    return no_learning("this program was built without eBPF; it needs clang and libbpf-dev when it is built");
}
base::Result<void> KernelTap::attach(int, wire::LinkType) const { return no_learning("built without eBPF"); }
void KernelTap::set_lengths(const KernelTapOptions&) {}
void KernelTap::set_ports(std::span<const std::uint16_t>) {}
LearningFigures KernelTap::figures() const { return {}; }

#endif

KernelTap::KernelTap(std::unique_ptr<Program> program) : program_(std::move(program)) {}
KernelTap::~KernelTap() = default;

}  // namespace capture::kernel
