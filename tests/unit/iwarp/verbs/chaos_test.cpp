#include <deque>
#include <random>

#include "harness.h"

// Programs that do anything at any time, over streams that are cut, late and now and then damaged. Whatever happens,
// each request that was taken completes once, in order; memory that was taken away is not touched.
namespace iwarp::test {
namespace {

class Chaos {
public:
    explicit Chaos(std::uint64_t seed) : random_(seed), two_(options()) {
        for (Program* program : {&client_, &server_}) {
            for (int i = 0; i < 4; ++i) add_region(*program);
        }
    }

    std::size_t succeeded = 0;
    std::size_t failed = 0;

    void run() {
        for (int round = 0; round < 5; ++round) {
            if (!connect()) continue;
            for (int i = 0; i < 20; ++i) {
                receive(client_);
                receive(server_);
            }
            for (int step = 0; step < 60; ++step) {
                act(draw(2) == 0 ? client_ : server_);
                if (draw(3) == 0) two_.run(static_cast<std::int64_t>(draw(3'000'000)));
                collect();
            }
            for (Program* program : {&client_, &server_}) {
                if (draw(2) == 0) program->side->pair->disconnect();
            }
            two_.run(60 * second_ns);
            for (Program* program : {&client_, &server_}) program->side->pair->abort();
            two_.run(60 * second_ns);
            collect();
            for (Program* program : {&client_, &server_}) {
                EXPECT_TRUE(program->sends.empty()) << "a send request was forgotten";
                EXPECT_TRUE(program->receives.empty()) << "a receive was forgotten";
                program->sends.clear();
                program->receives.clear();
                if (draw(2) == 0)
                    program->side->pair->reset();
                else
                    program->side->pair = program->side->make_pair(pair_options());
            }
        }
    }

private:
    struct Region {
        std::unique_ptr<Memory> memory;
        std::shared_ptr<MemoryRegion> region;
        std::shared_ptr<MemoryWindow> window;
    };
    struct Program {
        Side* side;
        std::vector<Region> regions;
        std::deque<std::pair<std::uint64_t, bool>> sends;  ///< id, and whether its success shows
        std::deque<std::uint64_t> receives;
        std::uint64_t last_id = 0;
    };

    std::size_t draw(std::size_t below) { return static_cast<std::size_t>(random_() % below); }
    bool coin() { return draw(2) == 0; }

    QueuePairOptions pair_options() {
        QueuePairOptions made;
        made.max_send = static_cast<std::uint32_t>(1 + draw(20));
        made.max_receive = static_cast<std::uint32_t>(1 + draw(20));
        return made;
    }
    Options options() {
        Options made;
        made.impairment.seed = random_();
        made.impairment.chunk = 1 + draw(20000);
        made.impairment.random_chunks = coin();
        made.impairment.delay_ns = static_cast<std::int64_t>(draw(2'000'000));
        made.impairment.jitter_ns = static_cast<std::int64_t>(draw(1'000'000));
        made.impairment.window = 1 + draw(100'000);
        made.impairment.direct = coin() ? 0 : 1 + draw(4000);
        made.impairment.corrupt = draw(4) == 0 ? 0.001 : 0;
        made.impairment.emss = static_cast<std::uint32_t>(coin() ? 1448 : 200 + draw(60000));
        for (ConnectionOptions* side : {&made.client, &made.server}) {
            side->crc = coin() || made.impairment.corrupt > 0;
            side->markers = draw(3) == 0;
            side->strict = coin();
            side->align = coin();
            side->peer_to_peer = coin();
            side->ird = side->ord = static_cast<std::uint16_t>(draw(5));
        }
        made.client_pair = pair_options();
        made.server_pair = pair_options();
        return made;
    }

    void add_region(Program& program) {
        Region made;
        made.memory = std::make_unique<Memory>(pattern((draw(12) == 0 ? 1 : 50000) + draw(100000), random_()));
        Access access = everything();
        if (draw(20) == 0) access = Access::remote_read;
        if (draw(4) == 0) access = access | Access::zero_based;
        made.region = program.side->share(*made.memory, access);
        program.regions.push_back(std::move(made));
    }

    void remove_region(Program& program) {
        const auto which = program.regions.begin() + static_cast<std::ptrdiff_t>(draw(program.regions.size()));
        which->region.reset();  // before its memory: the program's part
        program.regions.erase(which);
    }

    bool connect() {
        ConnectionOptions options = two_.options.client;
        two_.client.pair->connect("server", Two::port, options);
        for (int i = 0; i < 3; ++i) {
            two_.run(second_ns);
            for (Event& event : two_.server.events())
                if (event.request) event.request->accept(two_.server.pair, two_.options.server);
            two_.client.events();
        }
        const bool up = two_.client.pair->state() == QueuePairState::connected &&
                        two_.server.pair->state() == QueuePairState::connected;
        if (!up) {
            for (Side* side : {&two_.client, &two_.server}) {
                side->pair->abort();
                two_.run(60 * second_ns);
                side->events();
                side->pair->reset();
            }
            collect();
            EXPECT_TRUE(client_.receives.empty() && server_.receives.empty());
        }
        return up;
    }

    Sge some_piece(Program& program, std::size_t most) {
        const Region& of = program.regions[draw(program.regions.size())];
        const std::size_t size = std::min(draw(most) + 1, of.memory->size());
        Sge one = piece(*of.region, draw(of.memory->size() - size + 1), size);
        if (draw(400) == 0) one.stag ^= 0x100;
        if (draw(400) == 0) one.length += 200000;
        return one;
    }

    void act(Program& program) {
        Program& peer = &program == &client_ ? server_ : client_;
        switch (draw(24)) {
            case 0: return add_region(program);
            case 1:
                if (program.regions.size() < 4 || draw(4) != 0) return;
                remove_region(program);
                return;
            case 2:
                if (draw(20) == 0) program.side->pair->abort();
                return;
            case 3:
                if (draw(20) == 0) program.side->pair->disconnect();
                return;
            case 4:
                if (draw(4) == 0) reregister(program);
                return;
            case 5: return bind(program);
            case 6:
            case 7:
            case 8:
            case 9:
            case 10: return receive(program);
            default: return send(program, peer);
        }
    }

    void reregister(Program& program) {
        Region& region = program.regions[draw(program.regions.size())];
        auto memory = std::make_unique<Memory>(pattern(50000 + draw(100000), random_()));
        try {
            region.region->reregister(*memory, everything());
            region.memory = std::move(memory);
        } catch (const Error&) {  // a window is bound to it
        }
    }

    void bind(Program& program) {
        Region& region = program.regions[draw(program.regions.size())];
        if (!region.window) region.window = program.side->domain->allocate_window(1);
        const std::size_t size = draw(region.memory->size() + 1);
        region.window->bind(*region.region, region.memory->data(), size, Access::remote_read | Access::remote_write);
    }

    void receive(Program& program) {
        std::vector<Sge> pieces;
        for (std::size_t i = 2 + draw(3); i > 0; --i) pieces.push_back(some_piece(program, 100000));
        const std::uint64_t id = ++program.last_id;
        if (program.side->receive(id, pieces) == Posted::ok) program.receives.push_back(id);
    }

    void send(Program& program, Program& peer) {
        std::vector<Sge> pieces;
        SendRequest request;
        request.id = ++program.last_id;
        request.operation = static_cast<Operation>(draw(draw(30) == 0 ? 10 : 7));
        const bool atomic = request.operation == Operation::fetch_add || request.operation == Operation::compare_swap;
        const std::size_t count = atomic || request.operation == Operation::read ? 1 : draw(4);
        if (request.operation != Operation::immediate)
            for (std::size_t i = 0; i < count; ++i) pieces.push_back(some_piece(program, atomic ? 1 : 15000));
        if (atomic) pieces.front().length = 8;
        request.pieces = pieces;
        request.signalled = coin();
        request.solicited = coin();
        request.fence = draw(4) == 0;
        request.inline_data = draw(6) == 0;
        // Inline data is copied at once: only from where there is memory.
        if (request.inline_data)
            for (const Sge& one : pieces)
                if (one.length > 1000) request.inline_data = false;
        const Region& target = peer.regions[draw(peer.regions.size())];
        request.remote_stag = target.window && draw(20) == 0 ? target.window->stag() : target.region->stag();
        request.remote_offset = target.region->first_offset() + 8 * draw(100);
        if (draw(200) == 0) request.remote_offset = random_();
        request.invalidate = draw(100) == 0;
        request.invalidate_stag = request.operation == Operation::local_invalidate
                                      ? program.regions[draw(program.regions.size())].region->stag()
                                      : request.remote_stag;
        request.region = program.regions.front().region.get();
        request.address = program.regions.front().memory->data();
        request.length = program.regions.front().memory->size();
        if (program.side->pair->post_send(request) == Posted::ok)
            program.sends.emplace_back(request.id, request.signalled);
    }

    void collect() {
        for (Program* program : {&client_, &server_}) {
            program->side->events();
            for (const Completion& done : program->side->sent()) {
                while (!program->sends.empty() && program->sends.front().first != done.id) {
                    EXPECT_FALSE(program->sends.front().second) << "a signalled request was passed over";
                    program->sends.pop_front();
                }
                ASSERT_FALSE(program->sends.empty()) << "a completion that nobody asked for";
                EXPECT_TRUE(done.status != Status::success || program->sends.front().second);
                program->sends.pop_front();
                ++(done.status == Status::success ? succeeded : failed);
            }
            for (const Completion& done : program->side->received()) {
                ++(done.status == Status::success ? succeeded : failed);
                ASSERT_FALSE(program->receives.empty());
                EXPECT_EQ(program->receives.front(), done.id);
                program->receives.pop_front();
            }
            // What is left and silent may be done.
            if (program->side->pair->state() == QueuePairState::error)
                while (!program->sends.empty() && !program->sends.front().second) program->sends.pop_front();
        }
    }

    std::mt19937_64 random_;
    Two two_;
    Program client_{&two_.client, {}, {}, {}, 0};
    Program server_{&two_.server, {}, {}, {}, 0};
};

TEST(Chaos, EveryRequestCompletesOnceInOrder) {
    std::size_t succeeded = 0;
    std::size_t failed = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(seed);
        Chaos chaos(seed);
        chaos.run();
        succeeded += chaos.succeeded;
        failed += chaos.failed;
        if (testing::Test::HasFailure()) break;
    }
    // Else the test would prove little.
    EXPECT_GT(succeeded, 5000U);
    EXPECT_GT(failed, 5000U);
}

}  // namespace
}  // namespace iwarp::test
