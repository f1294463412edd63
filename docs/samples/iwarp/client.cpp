// client ADDRESS PORT [MESSAGE]
//
// Writes a message into the server's memory, reads it back, sends it too, and waits for the answer.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <rdmascope/iwarp.h>
#include <string>
#include <vector>

#include "region.h"

namespace {

constexpr std::uint64_t receive_id = 1;
constexpr std::uint64_t request_id = 2;

class Client {
public:
    void connect(const std::string& address, std::uint16_t port) {
        post_receive();  // before the server may send
        queue_pair_->connect(address, port);
        const iwarp::Event event = next_event();
        if (event.kind == iwarp::Event::Kind::rejected) throw iwarp::Error("the server rejected the connection");
        if (event.kind != iwarp::Event::Kind::established) throw iwarp::Error(event.text);
        const auto region = decode(event.private_data);
        if (!region) throw iwarp::Error("the server did not say where its memory is");
        region_ = *region;
    }

    void write(const std::string& text) {
        std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), memory_.begin());
        iwarp::SendRequest request = to_region(iwarp::Operation::write, memory_.data(), text.size());
        perform(request);
    }

    std::string read(std::size_t length) {
        std::byte* sink = memory_.data() + memory_.size() / 2;
        iwarp::SendRequest request = to_region(iwarp::Operation::read, sink, length);
        perform(request);
        return {reinterpret_cast<const char*>(sink), length};
    }

    void send(const std::string& text) {
        std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), memory_.begin());
        iwarp::SendRequest request = to_region(iwarp::Operation::send, memory_.data(), text.size());
        perform(request);
    }

    std::string receive() {
        while (!received_) wait();
        return *received_;
    }

    void disconnect() {
        queue_pair_->disconnect();
        while (!gone_) wait();
    }

private:
    iwarp::SendRequest to_region(iwarp::Operation operation, std::byte* local, std::size_t length) {
        piece_ = {local, static_cast<std::uint32_t>(length), memory_region_->stag()};
        iwarp::SendRequest request;
        request.id = request_id;
        request.operation = operation;
        request.pieces = {&piece_, 1};
        request.remote_stag = region_.stag;
        request.remote_offset = region_.offset;
        return request;
    }

    void perform(const iwarp::SendRequest& request) {
        done_ = false;
        if (const auto posted = queue_pair_->post_send(request); posted != iwarp::Posted::ok)
            throw iwarp::Error(iwarp::name_of(posted));
        while (!done_) wait();
    }

    void post_receive() {
        const iwarp::Sge piece{message_.data(), static_cast<std::uint32_t>(message_.size()), message_region_->stag()};
        if (const auto posted = queue_pair_->post_receive({receive_id, {&piece, 1}}); posted != iwarp::Posted::ok)
            throw iwarp::Error(iwarp::name_of(posted));
    }

    iwarp::Event next_event() {
        for (;;) {
            device_->progress(std::chrono::seconds(1));
            if (auto event = device_->next_event()) return *event;
        }
    }

    /// Takes what completed; throws what failed.
    void wait() {
        device_->progress(std::chrono::seconds(1));
        while (auto event = device_->next_event()) {
            if (event->kind == iwarp::Event::Kind::terminated)
                throw iwarp::Error("the server ended the stream: " + event->terminate->text);
            if (event->kind == iwarp::Event::Kind::disconnected) {
                gone_ = true;
                if (!event->text.empty()) throw iwarp::Error(event->text);
            }
        }
        std::array<iwarp::Completion, 8> done;
        const std::size_t count = completions_->poll(done);
        for (std::size_t i = 0; i < count; ++i) {
            if (done[i].status == iwarp::Status::flushed && gone_) continue;
            if (done[i].status != iwarp::Status::success) throw iwarp::Error(iwarp::name_of(done[i].status));
            if (done[i].id == receive_id)
                received_ = std::string(reinterpret_cast<const char*>(message_.data()), done[i].length);
            else
                done_ = true;
        }
    }

    std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
    std::vector<std::byte> message_ = std::vector<std::byte>(256);
    std::shared_ptr<iwarp::Device> device_ = iwarp::Device::open();
    std::shared_ptr<iwarp::ProtectionDomain> domain_ = device_->allocate_protection_domain();
    std::shared_ptr<iwarp::CompletionQueue> completions_ = device_->create_completion_queue(16);
    std::shared_ptr<iwarp::MemoryRegion> memory_region_ = domain_->register_memory(memory_, iwarp::Access::local_write);
    std::shared_ptr<iwarp::MemoryRegion> message_region_ =
        domain_->register_memory(message_, iwarp::Access::local_write);
    std::shared_ptr<iwarp::QueuePair> queue_pair_ = device_->create_queue_pair(domain_, completions_, completions_);
    Region region_;
    iwarp::Sge piece_;
    std::optional<std::string> received_;
    bool done_ = false;
    bool gone_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: client ADDRESS PORT [MESSAGE]\n");
        return 2;
    }
    const std::string message = argc > 3 ? std::string(argv[3]).substr(0, 200) : "hello over RDMA";
    try {
        Client client;
        client.connect(argv[1], static_cast<std::uint16_t>(std::atoi(argv[2])));
        client.write(message);
        const std::string back = client.read(message.size());
        std::printf("written and read back: %s\n", back.c_str());
        if (back != message) throw iwarp::Error("the server's memory holds something else");
        client.send(message);
        std::printf("%s\n", client.receive().c_str());
        client.disconnect();
    } catch (const iwarp::Error& error) {
        std::fprintf(stderr, "client: %s\n", error.what());
        return 1;
    }
}
