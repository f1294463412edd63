// server [ADDRESS [PORT [CLIENTS]]]
//
// Lends every client a region of memory to write to and read from, prints the messages it is sent, and answers each.
// Ends after CLIENTS clients (default: never).
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <rdmascope/iwarp.h>
#include <string>
#include <string_view>
#include <vector>

#include "region.h"

namespace {

constexpr std::size_t lent_octets = 64 * 1024;
constexpr std::size_t message_octets = 256;
constexpr std::uint64_t receive_id = 1;
constexpr std::uint64_t answer_id = 2;

/// Everything that belongs to one client; memory must outlive the region that stands for it.
struct Client {
    std::vector<std::byte> lent = std::vector<std::byte>(lent_octets);
    std::vector<std::byte> message = std::vector<std::byte>(message_octets);
    std::string answer;
    std::shared_ptr<iwarp::MemoryRegion> lent_region;
    std::shared_ptr<iwarp::MemoryRegion> message_region;
    std::shared_ptr<iwarp::QueuePair> queue_pair;

    bool post_receive() {
        const iwarp::Sge piece{message.data(), message_octets, message_region->stag()};
        return queue_pair->post_receive({receive_id, {&piece, 1}}) == iwarp::Posted::ok;
    }
};

class Server {
public:
    Server(const std::string& address, std::uint16_t port)
        : listener_(device_->listen(address, port)),
          domain_(device_->allocate_protection_domain()),
          completions_(device_->create_completion_queue(4096)) {
        std::printf("listening on %s port %u\n", listener_->address().c_str(), listener_->port());
        std::fflush(stdout);
    }

    void run(std::size_t clients) {
        while (clients == 0 || gone_ < clients) {
            device_->progress(std::chrono::seconds(1));
            while (auto event = device_->next_event()) handle(*event);
            std::array<iwarp::Completion, 32> done;
            while (const std::size_t count = completions_->poll(done))
                for (std::size_t i = 0; i < count; ++i) handle(done[i]);
        }
    }

private:
    void handle(const iwarp::Event& event) {
        switch (event.kind) {
            case iwarp::Event::Kind::connect_request: on_connect_request(*event.request); break;
            case iwarp::Event::Kind::terminated:
                std::printf("%s: terminated: %s\n", event.queue_pair->peer().c_str(), event.terminate->text.c_str());
                break;
            case iwarp::Event::Kind::connect_failed:
            case iwarp::Event::Kind::disconnected:
                std::printf("%s: gone%s%s\n", event.queue_pair->peer().c_str(), event.text.empty() ? "" : ": ",
                            event.text.c_str());
                clients_.erase(event.queue_pair->number());
                ++gone_;
                break;
            default: break;
        }
    }

    void on_connect_request(iwarp::ConnectionRequest& request) {
        try {
            Client client;
            client.lent_region = domain_->register_memory(
                client.lent, iwarp::Access::local_write | iwarp::Access::remote_write | iwarp::Access::remote_read);
            client.message_region = domain_->register_memory(client.message, iwarp::Access::local_write);
            client.queue_pair = device_->create_queue_pair(domain_, completions_, completions_);
            if (!client.post_receive()) throw iwarp::Error("no receive could be posted");  // before the client may send

            const auto where =
                encode({client.lent_region->stag(), client.lent_region->first_offset(), client.lent_region->length()});
            iwarp::ConnectionOptions options;
            options.private_data.assign(where.begin(), where.end());
            request.accept(client.queue_pair, options);
            const std::uint32_t number = client.queue_pair->number();
            clients_.emplace(number, std::move(client));
        } catch (const iwarp::Error& error) {
            std::printf("%s: rejected: %s\n", request.peer().c_str(), error.what());
            request.reject();
        }
    }

    void handle(const iwarp::Completion& done) {
        const auto found = clients_.find(done.queue_pair);
        if (found == clients_.end()) return;
        Client& client = found->second;
        if (done.status != iwarp::Status::success) {
            // Whatever is left when a client goes is flushed; the event says why it went.
            if (done.status != iwarp::Status::flushed)
                std::printf("%s: request %llu failed: %s\n", client.queue_pair->peer().c_str(),
                            static_cast<unsigned long long>(done.id), iwarp::name_of(done.status));
            return;
        }
        if (done.id != receive_id) return;
        const std::string_view text(reinterpret_cast<const char*>(client.message.data()), done.length);
        std::printf("%s says: %.*s\n", client.queue_pair->peer().c_str(), static_cast<int>(text.size()), text.data());
        client.answer = "server heard: " + std::string(text);
        if (!client.post_receive()) return;  // the next message may come as soon as the answer is out

        iwarp::SendRequest send;
        send.id = answer_id;
        const iwarp::Sge piece{reinterpret_cast<std::byte*>(client.answer.data()),
                               static_cast<std::uint32_t>(std::min<std::size_t>(client.answer.size(), message_octets)),
                               0};
        send.pieces = {&piece, 1};
        send.inline_data = true;  // short: copied, so that no region is needed
        if (const auto posted = client.queue_pair->post_send(send); posted != iwarp::Posted::ok)
            std::printf("%s: no answer: %s\n", client.queue_pair->peer().c_str(), iwarp::name_of(posted));
    }

    std::shared_ptr<iwarp::Device> device_ = iwarp::Device::open();
    std::shared_ptr<iwarp::Listener> listener_;
    std::shared_ptr<iwarp::ProtectionDomain> domain_;
    std::shared_ptr<iwarp::CompletionQueue> completions_;
    std::map<std::uint32_t, Client> clients_;
    std::size_t gone_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        Server server(argc > 1 ? argv[1] : "127.0.0.1",
                      static_cast<std::uint16_t>(argc > 2 ? std::atoi(argv[2]) : 7471));
        server.run(argc > 3 ? static_cast<std::size_t>(std::atoi(argv[3])) : 0);
    } catch (const iwarp::Error& error) {
        std::fprintf(stderr, "server: %s\n", error.what());
        return 1;
    }
}
