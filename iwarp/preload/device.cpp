#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <endian.h>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>

#include "base/descriptor.h"
#include "fmt/core.h"
#include "iwarp/preload/abi.h"
#include "iwarp/preload/local_addresses.h"
#include "iwarp/preload/operations.h"
#include "iwarp/preload/progress_engine.h"
#include "iwarp/preload/value_mapping.h"
#include "iwarp/preload/verbs_objects.h"

/// The one device, its port, its addresses: what ibv_devices and ibv_devinfo ask for.
namespace iwarp::preload {
namespace {

constexpr const char* device_name = "rdmascope0";
constexpr std::uint16_t full_pkey = 0xffff;
// A locally administered OUI, because no vendor makes this adapter.
constexpr std::uint32_t vendor = 0x027264;

/// EUI-64 of the first interface that has a hardware address; an invented one if none has.
std::uint64_t node_guid() {
    std::array<std::uint8_t, 6> address{0x02, 'r', 'd', 'm', 'a', 0};
    for (const LocalAddress& local : local_addresses(ProgressEngine::instance().settings())) {
        const auto of_interface = interface_named(local.interface).hardware_address;
        if (of_interface == std::array<std::uint8_t, 6>{}) continue;
        address = of_interface;
        break;
    }
    const std::array<std::uint8_t, 8> guid{static_cast<std::uint8_t>(address[0] ^ 2),
                                           address[1],
                                           address[2],
                                           0xff,
                                           0xfe,
                                           address[3],
                                           address[4],
                                           address[5]};
    std::uint64_t network_order = 0;
    std::memcpy(&network_order, guid.data(), guid.size());
    return network_order;
}

void describe_device(ibv_device_attr& attributes) {
    constexpr int many = 1 << 16;
    attributes = {};
    std::snprintf(attributes.fw_ver, sizeof attributes.fw_ver, "%s", RDMASCOPE_VERSION);
    attributes.node_guid = attributes.sys_image_guid = node_guid();
    attributes.max_mr_size = ~std::uint64_t{0};
    attributes.page_size_cap = ~std::uint64_t{4095};  // registration knows no pages: every size from 4 KiB on will do
    attributes.vendor_id = vendor;
    attributes.max_qp = static_cast<int>(device_options().max_queue_pairs);
    attributes.max_qp_wr = static_cast<int>(limits::requests);
    attributes.device_cap_flags = IBV_DEVICE_RESIZE_MAX_WR | IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_SRQ_RESIZE |
                                  IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
    attributes.max_sge = static_cast<int>(limits::pieces);
    attributes.max_sge_rd = 1;  // RFC 5040 section 4.4: one sink for a Read
    attributes.max_cq = many;
    attributes.max_cqe = static_cast<int>(limits::completions);
    attributes.max_mr = attributes.max_mw = static_cast<int>(device_options().max_regions);
    attributes.max_pd = many;
    attributes.max_qp_rd_atom = attributes.max_qp_init_rd_atom = limits::reads;
    attributes.max_res_rd_atom = attributes.max_qp * limits::reads;
    attributes.atomic_cap = IBV_ATOMIC_HCA;
    attributes.max_srq = many;
    attributes.max_srq_wr = static_cast<int>(limits::requests);
    attributes.max_srq_sge = static_cast<int>(limits::pieces);
    attributes.max_pkeys = 1;
    attributes.phys_port_cnt = 1;
}

int describe_device_more(ibv_context*, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attributes,
                         std::size_t size) {
    if (input != nullptr && input->comp_mask != 0) return EINVAL;
    ibv_device_attr_ex all{};
    describe_device(all.orig_attr);
    all.completion_timestamp_mask = ~std::uint64_t{0} >> 1;
    all.hca_core_clock = 1'000'000;  // kHz: completions are stamped in nanoseconds
    all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
    all.phys_port_cnt_ex = 1;
    std::memcpy(attributes, &all, std::min(size, sizeof all));
    return 0;
}

int describe_port(std::uint8_t number, void* attributes, std::size_t size) {
    if (number != 1) return EINVAL;
    const auto addresses = local_addresses(ProgressEngine::instance().settings());
    const Interface below = addresses.empty() ? Interface() : interface_named(addresses.front().interface);
    const LinkRate rate = to_link_rate(below.speed_mbps);
    constexpr std::uint8_t link_up = 5;
    constexpr std::uint8_t disabled = 3;
    ibv_port_attr port{};
    port.state = addresses.empty() ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
    port.max_mtu = IBV_MTU_4096;
    port.active_mtu = to_mtu(below.mtu);
    port.gid_tbl_len = static_cast<int>(addresses.size());
    port.max_msg_sz = ~std::uint32_t{0};  // RFC 5041 section 5.2: less than 2^32
    port.pkey_tbl_len = 1;
    port.active_width = rate.width;
    port.active_speed = rate.speed;
    port.phys_state = addresses.empty() ? disabled : link_up;
    port.link_layer = IBV_LINK_LAYER_ETHERNET;
    std::memcpy(attributes, &port, std::min(size, sizeof port));
    return 0;
}

int query_port(ibv_context*, std::uint8_t number, ibv_port_attr* attributes, std::size_t size) {
    return performed("ibv_query_port", [&](ProgressEngine&) { return describe_port(number, attributes, size); });
}

int query_clock(ibv_context*, ibv_values_ex* values) {
    if ((values->comp_mask & ~unsigned{IBV_VALUES_MASK_RAW_CLOCK}) != 0) return EINVAL;
    return clock_gettime(CLOCK_MONOTONIC, &values->raw_clock) == 0 ? 0 : errno;
}

/// What a GID table holds: the addresses that the device answers for.
ibv_gid_entry gid_entry(const LocalAddress& local, std::uint32_t index) {
    ibv_gid_entry entry{};
    std::memcpy(entry.gid.raw, local.gid().data(), sizeof entry.gid.raw);
    entry.gid_index = index;
    entry.port_num = 1;
    entry.gid_type = IBV_GID_TYPE_IB;  // the kernel's word for "no RoCE"
    entry.ndev_ifindex = local.interface_index;
    return entry;
}

int find_gid(std::uint32_t port, std::uint32_t index, ibv_gid_entry& entry) {
    const auto addresses = local_addresses(ProgressEngine::instance().settings());
    if (port != 1 || index >= addresses.size()) return EINVAL;
    entry = gid_entry(addresses[index], index);
    return 0;
}

int fail_with(int error) {
    errno = error;
    return -1;
}

/// The file as sysfs would have it if the kernel knew of the device.
std::string attribute_named(std::string_view file) {
    if (file == "fw_ver") return RDMASCOPE_VERSION;
    if (file == "node_type") return "4: RNIC";
    if (file == "node_desc") return "rdmascope software iWARP";
    if (file == "node_guid" || file == "sys_image_guid") {
        const std::uint64_t guid = be64toh(node_guid());
        return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", guid >> 48, guid >> 32 & 0xffff, guid >> 16 & 0xffff,
                           guid & 0xffff);
    }
    return {};
}

}  // namespace

const DeviceOptions& device_options() {
    static const DeviceOptions options = [] {
        DeviceOptions made;
        made.descriptor_tells_posts = false;  // ProgressEngine::leave_work
        return made;
    }();
    return options;
}

DeviceFace& the_device() {
    static DeviceFace& device = []() -> DeviceFace& {
        auto& made = *new DeviceFace();
        made.node_type = IBV_NODE_RNIC;
        made.transport_type = IBV_TRANSPORT_IWARP;
        std::strcpy(made.name, device_name);
        std::strcpy(made.dev_name, device_name);
        std::strcpy(made.dev_path, fmt::format("/sys/class/infiniband_verbs/{}", device_name).c_str());
        std::strcpy(made.ibdev_path, fmt::format("/sys/class/infiniband/{}", device_name).c_str());
        return made;
    }();
    return device;
}

Context* open_context() {
    ProgressEngine& engine = ProgressEngine::instance();
    engine.device();
    auto context = std::make_unique<Context>(engine.lock());
    if (!context->async_events.good()) throw std::system_error(errno, std::generic_category(), "no descriptor left");
    context->sz = sizeof(verbs_context);
    context->query_port = query_port;
    context->query_device_ex = describe_device_more;
    context->query_rt_values = query_clock;
    context->create_cq_ex = operations::create_cq_ex;
    context->create_qp_ex = operations::create_qp_ex;
    context->create_srq_ex = operations::create_srq_ex;
    ibv_context& abi = context->context;
    abi.device = &the_device();
    abi.cmd_fd = -1;
    abi.async_fd = context->async_events.descriptor();
    abi.num_comp_vectors = 1;
    abi.abi_compat = __VERBS_ABI_IS_EXTENDED;
    pthread_mutex_init(&abi.mutex, nullptr);
    abi.ops.alloc_mw = operations::alloc_mw;
    abi.ops.bind_mw = operations::bind_mw;
    abi.ops.dealloc_mw = operations::dealloc_mw;
    abi.ops.poll_cq = operations::poll_cq;
    abi.ops.req_notify_cq = operations::req_notify_cq;
    abi.ops.post_send = operations::post_send;
    abi.ops.post_recv = operations::post_recv;
    abi.ops.post_srq_recv = operations::post_srq_recv;
    return context.release();
}

static void end_if_unused(Context& context) {
    if (!context.closed || context.users != 0) return;
    pthread_mutex_destroy(&context.context.mutex);
    delete &context;
}

void close_context(Context& context) {
    context.closed = true;
    end_if_unused(context);
}

void keep_context(ibv_context* context) { ++to_context(context).users; }

void leave_context(ibv_context* context) {
    --to_context(context).users;
    end_if_unused(to_context(context));
}

}  // namespace iwarp::preload

using namespace iwarp::preload;

RDMA_ABI ibv_device** ibv_get_device_list(int* number) {
    if (number != nullptr) *number = 0;
    ibv_device** const list = made("ibv_get_device_list", [&](ProgressEngine& engine) {
        engine.settings();
        auto* const devices = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
        if (devices == nullptr) throw std::bad_alloc();
        devices[0] = &the_device();
        return devices;
    });
    if (list != nullptr && number != nullptr) *number = 1;
    return list;
}

RDMA_ABI void ibv_free_device_list(ibv_device** list) { std::free(list); }
RDMA_ABI const char* ibv_get_device_name(ibv_device* device) { return device->name; }
RDMA_ABI __be64 ibv_get_device_guid(ibv_device*) { return node_guid(); }
/// The kernel has no index for it.
RDMA_ABI int ibv_get_device_index(ibv_device*) { return -1; }

RDMA_ABI ibv_context* ibv_open_device(ibv_device* device) {
    return made("ibv_open_device", [&](ProgressEngine&) -> ibv_context* {
        if (device != &the_device()) {
            errno = ENODEV;
            return nullptr;
        }
        return &open_context()->context;
    });
}

RDMA_ABI int ibv_close_device(ibv_context* context) {
    return performed("ibv_close_device", [&](ProgressEngine&) {
        close_context(to_context(context));
        return 0;
    });
}

RDMA_ABI int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
    return performed("ibv_query_device", [&](ProgressEngine&) {
        describe_device(*attributes);
        return 0;
    });
}

/// Programs of before ibv_port_attr grew call this; the rest comes by verbs_context::query_port.
RDMA_ABI int ibv_query_port(ibv_context*, std::uint8_t number, struct _compat_ibv_port_attr* attributes) {
    return performed("ibv_query_port", [&](ProgressEngine&) {
        return describe_port(number, attributes, offsetof(ibv_port_attr, port_cap_flags2));
    });
}

RDMA_ABI int ibv_query_gid(ibv_context*, std::uint8_t port, int index, ibv_gid* gid) {
    ibv_gid_entry entry{};
    const int failure = performed("ibv_query_gid", [&](ProgressEngine&) {
        return index < 0 ? EINVAL : find_gid(port, static_cast<std::uint32_t>(index), entry);
    });
    if (failure != 0) return fail_with(failure);
    *gid = entry.gid;
    return 0;
}

RDMA_ABI int _ibv_query_gid_ex(ibv_context*, std::uint32_t port, std::uint32_t index, ibv_gid_entry* into,
                               std::uint32_t flags, std::size_t size) {
    return performed("ibv_query_gid_ex", [&](ProgressEngine&) {
        ibv_gid_entry entry{};
        if (flags != 0) return EOPNOTSUPP;
        if (const int failure = find_gid(port, index, entry); failure != 0) return failure;
        std::memcpy(into, &entry, std::min(size, sizeof entry));
        return 0;
    });
}

RDMA_ABI ssize_t _ibv_query_gid_table(ibv_context*, ibv_gid_entry* entries, std::size_t most, std::uint32_t flags,
                                      std::size_t size) {
    ssize_t count = 0;
    const int failure = performed("ibv_query_gid_table", [&](ProgressEngine& engine) {
        if (flags != 0) return EOPNOTSUPP;
        auto* into = reinterpret_cast<std::byte*>(entries);
        for (const LocalAddress& local : local_addresses(engine.settings())) {
            if (static_cast<std::size_t>(count) == most) return EINVAL;
            const ibv_gid_entry entry = gid_entry(local, static_cast<std::uint32_t>(count++));
            std::memcpy(into, &entry, std::min(size, sizeof entry));
            into += size;
        }
        return 0;
    });
    return failure == 0 ? count : -failure;
}

/// Private to rdma-core; ibv_devinfo uses it. The type is sysfs's: 0 is InfiniBand or RoCE v1.
RDMA_ABI int ibv_query_gid_type(ibv_context*, std::uint8_t, unsigned, unsigned* type) {
    *type = 0;
    return 0;
}

RDMA_ABI int ibv_query_pkey(ibv_context*, std::uint8_t port, int index, __be16* pkey) {
    if (port != 1 || index != 0) return fail_with(EINVAL);
    *pkey = htobe16(full_pkey);
    return 0;
}

RDMA_ABI int ibv_get_pkey_index(ibv_context*, std::uint8_t port, __be16 pkey) {
    return port == 1 && pkey == htobe16(full_pkey) ? 0 : fail_with(EINVAL);
}

RDMA_ABI int ibv_read_sysfs_file(const char* folder, const char* file, char* into, std::size_t size) {
    if (size == 0) return fail_with(EINVAL);
    if (std::string_view(folder) == the_device().ibdev_path) {
        const std::string text = attribute_named(file);
        if (text.empty()) return fail_with(ENOENT);
        const std::size_t length = text.copy(into, size - 1);
        into[length] = 0;
        return static_cast<int>(length);
    }
    const base::Descriptor attribute(open(fmt::format("{}/{}", folder, file).c_str(), O_RDONLY | O_CLOEXEC));
    if (!attribute) return -1;
    ssize_t length = ::read(attribute.number(), into, size);
    if (length <= 0) return -1;
    if (into[length - 1] == '\n' || static_cast<std::size_t>(length) == size) --length;
    into[length] = 0;
    return static_cast<int>(length);
}
