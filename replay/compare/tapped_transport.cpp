#include "replay/compare/tapped_transport.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iwarp/transport/tcp_transport.h"
#include "iwarp/verbs/device.h"
#include "iwarp/verbs/stream.h"
#include "iwarp/verbs/transport_interface.h"
#include "replay/compare/stack_tap.h"

namespace replay::inline compare {

namespace {

using iwarp::transport::TcpTransport;
using iwarp::verbs::Acceptor;
using iwarp::verbs::Listening;
using iwarp::verbs::Stream;
using iwarp::verbs::Transport;

std::uint16_t port_in(const std::string& address) {
    std::uint16_t port = 0;
    const std::size_t colon = address.rfind(':');
    if (colon != std::string::npos) std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
    return port;
}

/// Stands between the transport and the stack's stream, and passes everything on.
class TappedStream final : public Stream {
public:
    TappedStream(StackTap& tap, unsigned side, const TcpTransport& transport, std::shared_ptr<Stream> stream)
        : tap_(tap), side_(side), transport_(transport), stream_(std::move(stream)) {
        stream_->transport_data = this;
    }
    ~TappedStream() override { stream_->transport_data = nullptr; }

    void connected(const std::string& peer, std::uint32_t emss, std::int64_t now_ns) override {
        const std::uint16_t own = port_in(transport_.local(*this));
        const std::uint16_t other = port_in(peer);
        initiator_port_ = side_ == 0 ? own : other;
        tap_.opened(side_, initiator_port_, side_ == 0 ? other : own);
        stream_->connected(peer, emss, now_ns);
    }
    void segment_size_changed(std::uint32_t emss, std::int64_t now_ns) override {
        stream_->segment_size_changed(emss, now_ns);
    }
    void connect_failed(iwarp::Failure kind, const std::string& why, std::int64_t now_ns) override {
        stream_->connect_failed(kind, why, now_ns);
    }
    void receive(base::Bytes octets, std::int64_t now_ns) override {
        tap_.received(side_, initiator_port_, octets.size());
        stream_->receive(octets, now_ns);
    }
    std::span<const base::MutableBytes> room(std::size_t minimum) override { return stream_->room(minimum); }
    void received(std::size_t octets, std::int64_t now_ns) override {
        tap_.received(side_, initiator_port_, octets);
        stream_->received(octets, now_ns);
    }
    void peer_closed(std::int64_t now_ns) override { stream_->peer_closed(now_ns); }
    void lost(const std::string& why, std::int64_t now_ns) override { stream_->lost(why, now_ns); }
    void tick(std::int64_t now_ns) override { stream_->tick(now_ns); }

    Output output(std::int64_t now_ns) override {
        const Output out = stream_->output(now_ns);
        offered_.assign(out.pieces.begin(), out.pieces.end());
        return out;
    }
    void sent(std::size_t octets, std::int64_t now_ns) override {
        std::vector<std::byte> copy;
        copy.reserve(octets);
        for (const base::Bytes piece : offered_) {
            const std::size_t size = std::min(piece.size(), octets - copy.size());
            copy.insert(copy.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(size));
        }
        offered_.clear();
        tap_.sent(side_, initiator_port_, std::move(copy));
        stream_->sent(octets, now_ns);
    }
    bool receive_paused() const override { return stream_->receive_paused(); }
    Closing closing() const override { return stream_->closing(); }
    std::optional<std::int64_t> deadline_ns() const override { return stream_->deadline_ns(); }

private:
    StackTap& tap_;
    unsigned side_;
    const TcpTransport& transport_;
    std::shared_ptr<Stream> stream_;
    std::uint16_t initiator_port_ = 0;
    std::vector<base::Bytes> offered_ = {};
};

class TappedTransport final : public Transport {
public:
    TappedTransport(StackTap& tap, unsigned side) : tap_(tap), side_(side) {}

    std::int64_t now_ns() const override { return tcp_.now_ns(); }
    void connect(std::shared_ptr<Stream> stream, const std::string& host, std::uint16_t port,
                 const iwarp::ConnectionOptions& options) override {
        tcp_.connect(tapped(std::move(stream)), host, port, options);
    }
    Listening listen(const std::string& host, std::uint16_t port, int backlog, const iwarp::ConnectionOptions& options,
                     Acceptor& acceptor) override {
        acceptors_.push_back(std::make_unique<TappedAcceptor>(*this, acceptor));
        return tcp_.listen(host, port, backlog, options, *acceptors_.back());
    }
    void stop_listening(std::uint64_t handle) override { tcp_.stop_listening(handle); }
    void attention(Stream& stream) override {
        if (stream.transport_data != nullptr) tcp_.attention(*static_cast<TappedStream*>(stream.transport_data));
    }
    std::string local(const Stream& stream) const override {
        return stream.transport_data != nullptr ? tcp_.local(*static_cast<TappedStream*>(stream.transport_data))
                                                : std::string();
    }
    bool progress(std::int64_t wait_ns) override { return tcp_.progress(wait_ns); }
    int descriptor() const override { return tcp_.descriptor(); }

private:
    class TappedAcceptor final : public Acceptor {
    public:
        TappedAcceptor(TappedTransport& transport, Acceptor& acceptor) : transport_(transport), acceptor_(acceptor) {}
        std::shared_ptr<Stream> accepted(const std::string& peer) override {
            auto stream = acceptor_.accepted(peer);
            return stream ? transport_.tapped(std::move(stream)) : nullptr;
        }

    private:
        TappedTransport& transport_;
        Acceptor& acceptor_;
    };

    std::shared_ptr<Stream> tapped(std::shared_ptr<Stream> stream) {
        return std::make_shared<TappedStream>(tap_, side_, tcp_, std::move(stream));
    }

    StackTap& tap_;
    unsigned side_;
    std::vector<std::unique_ptr<TappedAcceptor>> acceptors_ = {};
    TcpTransport tcp_;  ///< first to go: its streams and acceptors are here
};

}  // namespace

std::shared_ptr<iwarp::Device> tapped_device(StackTap& tap, unsigned side) {
    return iwarp::verbs::make_device({}, std::make_unique<TappedTransport>(tap, side));
}

}  // namespace replay::compare
