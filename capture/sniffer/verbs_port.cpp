#include "capture/sniffer/verbs_port.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <pcap/pcap.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "capture/filter/rdma_filter.h"

namespace capture::inline sniffer {
namespace {

constexpr std::uint32_t buffer_alignment = 64;  // a cache line, which the device writes as a whole

constexpr std::uint32_t aligned(std::uint32_t octets) {
    return (octets + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

/// Says of every frame how much of it is kept.
BpfProgram length_program(std::uint32_t snaplen) {
    return keep_management({{BPF_RET | BPF_K, 0, 0, snaplen}}, wire::LinkType::ethernet, snaplen);
}

bool is_gone(int code) { return code == ENODEV || code == EIO || code == ENXIO; }

}  // namespace

SniffedPort::SniffedPort(std::shared_ptr<VerbsApi> api, std::string device, std::uint8_t port,
                         const VerbsOptions& options)
    : api_(std::move(api)),
      device_name_(std::move(device)),
      port_(port),
      options_(options),
      longest_(options.snaplen == 0 ? options.max_frame_octets : std::max(options.snaplen, management_octets)),
      length_(length_program(options.snaplen)),
      head_octets_(aligned(std::min(longest_, options.max_frame_octets))),
      rest_octets_(aligned(options.max_frame_octets) - head_octets_),
      free_(),
      completions_(options.buffers) {
    free_.reserve(options.buffers);
}

SniffedPort::~SniffedPort() {
    close_pair();
    if (queue_ != nullptr) api_->destroy_queue(queue_);
    if (region_ != nullptr) api_->deregister_memory(region_);
    if (domain_ != nullptr) api_->destroy_domain(domain_);
    if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

base::Result<void, VerbsRefusal> SniffedPort::open(VerbsApi::Object device) {
    device_ = device;
    const std::size_t octets = std::size_t{options_.buffers} * head_octets_ + rest_octets_;
    void* const at = ::mmap(nullptr, octets, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return base::Failure{VerbsRefusal{"memory for the buffers", errno}};
    memory_ = {static_cast<std::byte*>(at), octets};
    // The device writes to these pages: a child process must not make copies of them ours.
    ::madvise(at, octets, MADV_DONTFORK);

    if (const int code = api_->create_domain(device, domain_); code != 0)
        return base::Failure{VerbsRefusal{"a protection domain", code}};
    if (const int code = api_->register_memory(domain_, memory_, region_); code != 0)
        return base::Failure{VerbsRefusal{"registering the buffers", code}};
    with_times_ = api_->create_queue(device, options_.buffers, true, queue_) == 0;
    if (!with_times_)
        if (const int code = api_->create_queue(device, options_.buffers, false, queue_); code != 0)
            return base::Failure{VerbsRefusal{"a completion queue", code}};
    counter_ = api_->out_of_buffer(device_name_, port_);
    return open_pair();
}

base::Result<void, VerbsRefusal> SniffedPort::open_pair() {
    if (const int code = api_->create_pair(domain_, queue_, port_, options_.buffers, pair_); code != 0)
        return base::Failure{VerbsRefusal{"a RAW_PACKET queue pair", code}};
    free_.clear();
    posted_ = 0;
    for (std::uint32_t i = 0; i < options_.buffers; ++i) free_.push_back(receive(i));
    // Before the rule, so that the first frames find buffers.
    if (const int code = give_back(); code != 0) return base::Failure{VerbsRefusal{"posting the buffers", code}};
    if (const int code = api_->create_sniffer(pair_, port_, rule_); code != 0)
        return base::Failure{VerbsRefusal{"the sniffer rule", code}};
    return {};
}

void SniffedPort::close_pair() {
    if (rule_ != nullptr) api_->destroy_sniffer(rule_);
    if (pair_ != nullptr) api_->destroy_pair(pair_);
    rule_ = pair_ = nullptr;
}

VerbsReceive SniffedPort::receive(std::uint64_t id) const {
    return {id, memory_.subspan(id * head_octets_, head_octets_),
            memory_.subspan(std::size_t{options_.buffers} * head_octets_)};
}

int SniffedPort::give_back() {
    if (free_.empty()) return 0;
    std::size_t posted = 0;
    const int code = api_->post(pair_, region_, free_, posted);
    posted_ += posted;
    free_.erase(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(posted));
    // What a full queue did not take goes with the next ones; only where it took none ever it is a failure.
    return posted_ == 0 ? code : 0;
}

/// Buffers whose frames were taken are free: the caller is done with them when it asks again.
int SniffedPort::give_back_taken() {
    for (; returned_ < next_; ++returned_) free_.push_back(receive(completions_[returned_].id));
    return give_back();
}

SniffedPort::Found SniffedPort::find() {
    for (bool restarted = false;;) {
        if (!broken_ && give_back_taken() != 0) broken_ = true;
        if (has_more()) return Found::frames;
        if (broken_) {
            if (restarted) return Found::nothing;  // not for ever within one call
            if (const Found again = restart(); again != Found::nothing) return again;
            restarted = true;
        }
        Found found = poll();
        // Poll once more after arming: a completion that arrived in between would cause no event.
        if (found == Found::nothing && api_->arm(queue_) == 0) found = poll();
        if (found != Found::frames) return found;
        while (has_more() && completions_[next_].status != VerbsStatus::ok) ++next_;
    }
}

SniffedPort::Found SniffedPort::poll() {
    found_ = next_ = returned_ = 0;
    if (const int code = api_->poll(queue_, completions_, found_); code != 0) {
        found_ = 0;
        failure_ = "polling for frames failed: " + std::string(std::strerror(code));
        return is_gone(code) ? Found::gone : Found::failed;
    }
    if (found_ == 0) return Found::nothing;
    found_ns_ = base::wall_ns();
    posted_ -= std::min(posted_, found_);
    if (posted_ == 0) dry_ = true;
    sort_out();
    return Found::frames;
}

/// Takes out what is no frame.
void SniffedPort::sort_out() {
    for (std::size_t i = 0; i < found_; ++i) {
        VerbsCompletion& completion = completions_[i];
        if (completion.status == VerbsStatus::ok) continue;
        completion.octets = 0;
        if (completion.status != VerbsStatus::flushed) ++lost_;
        if (completion.status == VerbsStatus::failed) failure_ = completion.failure;
        if (completion.status != VerbsStatus::too_long) broken_ = true;
    }
}

bool SniffedPort::take(Arrival& arrival) {
    while (next_ < found_) {
        const VerbsCompletion& completion = completions_[next_++];
        if (completion.status != VerbsStatus::ok) continue;
        std::size_t captured = std::min(completion.octets, head_octets_);
        captured = std::min<std::size_t>(captured, longest_);
        const std::span<std::byte> octets = memory_.subspan(completion.id * head_octets_, captured);
        if (options_.snaplen != 0 && captured > options_.snaplen)
            captured = std::min<std::size_t>(captured, run(length_, octets, static_cast<std::uint32_t>(captured)));
        arrival = {octets.first(captured), completion.octets, completion.time_ns.value_or(found_ns_)};
        return true;
    }
    return false;
}

/// A queue pair that broke is replaced. Where that is refused because there is no device any more, this is the end.
SniffedPort::Found SniffedPort::restart() {
    close_pair();
    // What is still in the queue lies in buffers that the new pair gets.
    for (std::size_t count = 1; count > 0 && api_->poll(queue_, completions_, count) == 0;)
        lost_ += static_cast<std::uint64_t>(
            std::count_if(completions_.begin(), completions_.begin() + static_cast<std::ptrdiff_t>(count),
                          [](const VerbsCompletion& completion) { return completion.status == VerbsStatus::ok; }));
    found_ = next_ = returned_ = 0;
    std::vector<std::string> names;
    const bool listed =
        api_->list_devices(names) == 0 && std::find(names.begin(), names.end(), device_name_) != names.end();
    if (!listed) return Found::gone;
    const auto opened = open_pair();
    if (opened) {
        broken_ = false;
        ++restarts_;
        return Found::nothing;
    }
    const VerbsRefusal& refusal = opened.error();
    if (is_gone(refusal.code)) return Found::gone;
    failure_ = "the queue pair broke, and " + refusal.step + " was refused: " + std::strerror(refusal.code);
    return Found::failed;
}

Statistics SniffedPort::statistics() const {
    const auto now = api_->out_of_buffer(device_name_, port_);
    if (dry_ && now && counter_) ours_ += *now - std::min(*counter_, *now);
    if (dry_ && !(now && counter_)) unknown_ = true;
    counter_ = now;
    dry_ = false;
    Statistics statistics{.received = received_, .interface_dropped = lost_};
    if (!unknown_) statistics.kernel_dropped = ours_;
    return statistics;
}

}  // namespace capture::sniffer
