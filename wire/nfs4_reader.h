#pragma once
#include <optional>

#include "wire/nfs_items.h"

namespace wire {

/// Reads a compound of NFSv4: nfs4.cpp has the way through its operations, nfs4_arguments.cpp and nfs4_results.cpp have
/// the operations. RFC 8881, 18; RFC 7862, 15; RFC 8276.
class Nfs4Reader {
public:
    explicit Nfs4Reader(NfsItemReader& items) : in_(items) {}

    void call();
    void reply();
    void callback_call();
    void callback_reply();

private:
    using Item = NfsField;

    void show_main();
    void take_main(std::uint32_t operation);
    void take_callback(std::uint32_t operation);

    void state() {
        in_.number(Item::state_sequence);
        const std::uint32_t at = in_.xdr.offset();
        constexpr std::uint32_t other_bytes = 12;
        const base::Bytes other = in_.fixed(Item::state_other, other_bytes);
        if (!in_.xdr.ended()) in_.computed(Item::state_other_hash, nfs_handle_hash(other), at, other_bytes);
    }
    void attributes() {
        in_.skip_bitmap();
        in_.skip_opaque();
    }
    void change() {
        in_.number(Item::change_atomic);
        in_.wide(Item::change_before);
        in_.wide(Item::change_after);
    }
    void range(std::uint64_t offset, std::optional<std::uint32_t> count) {
        if (in_.xdr.ended() || !is_main_) return;
        in_.summary.offset = offset;
        in_.summary.count = count;
    }
    void owner(Item field) {
        in_.wide(Item::client);
        in_.opaque(field);
    }
    /// Access at most of one security flavor. RFC 8881, 18.33.
    void callback_security() {
        const std::uint32_t count = in_.xdr.u32();
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
            switch (in_.xdr.u32()) {
                case 0: break;
                case 1:
                    in_.xdr.skip(4);
                    in_.skip_opaque();
                    in_.xdr.skip(8);
                    in_.xdr.skip(std::uint64_t{in_.xdr.u32()} * 4);
                    break;
                case rpc_auth_gss:
                    in_.xdr.skip(4);
                    in_.skip_opaque();
                    in_.skip_opaque();
                    break;
                default: in_.xdr.end();
            }
        }
    }
    void channel() {
        in_.xdr.skip(16);  // padding, requests, responses, cached responses
        in_.number(Item::most_operations);
        in_.number(Item::most_requests);
        in_.xdr.skip(std::uint64_t{in_.xdr.u32()} * 4);
    }

    void open_arguments() {
        in_.number(Item::sequence);
        in_.number(Item::share_access);
        in_.number(Item::share_deny);
        owner(Item::open_owner);
        if (in_.number(Item::open_type) == 1) {
            switch (in_.number(Item::create_mode)) {
                case 0:
                case 1: attributes(); break;
                case 2: in_.wide(Item::verifier4); break;
                case 3:
                    in_.wide(Item::verifier4);
                    attributes();
                    break;
                default: in_.xdr.end();
            }
        }
        switch (in_.number(Item::claim_type)) {
            case 0: in_.text(Item::component); break;
            case 1: in_.number(Item::delegation_type); break;
            case 2:
                state();
                in_.text(Item::component);
                break;
            case 3: in_.text(Item::component); break;
            case 4:
            case 6: break;
            case 5: state(); break;
            default: in_.xdr.end();
        }
    }

    void access_entry() {
        in_.xdr.skip(12);
        in_.skip_opaque();
    }

    void open_results() {
        state();
        change();
        in_.number(Item::open_flags);
        in_.skip_bitmap();
        switch (in_.number(Item::delegation_type)) {
            case 0: break;
            case 1:
                state();
                in_.number(Item::recall);
                access_entry();
                break;
            case 2:
                state();
                in_.number(Item::recall);
                in_.xdr.skip(12);  // limit
                access_entry();
                break;
            case 3: {
                const std::uint32_t why = in_.xdr.u32();
                if (why == 1 || why == 2) in_.xdr.skip(4);  // contention, resource
                break;
            }
            default: in_.xdr.end();
        }
    }

    void lock_arguments() {
        in_.number(Item::lock_type);
        in_.xdr.skip(4);  // reclaim
        const std::uint64_t offset = in_.wide(Item::offset4);
        in_.wide(Item::length4);
        range(offset, std::nullopt);
        if (in_.xdr.u32() != 0) {
            in_.number(Item::sequence);
            state();
            in_.number(Item::sequence);
            owner(Item::lock_owner);
        } else {
            state();
            in_.number(Item::sequence);
        }
    }

    void denied() {
        in_.wide(Item::offset4);
        in_.wide(Item::length4);
        in_.number(Item::lock_type);
        owner(Item::lock_owner);
    }

    void create_arguments() {
        const std::uint32_t type = in_.xdr.u32();
        constexpr std::uint32_t block = 3, character = 4, link = 5;
        if (type == link) in_.skip_data_text(Item::link_text);
        if (type == block || type == character) in_.xdr.skip(8);
        in_.text(Item::component);
        attributes();
    }

    void exchange_arguments() {
        in_.wide(Item::verifier4);
        in_.skip_opaque();
        in_.number(Item::exchange_flags);
        // State protection other than none has parameters of many kinds.
        if (in_.xdr.u32() != 0) return in_.xdr.end();
        const std::uint32_t count = in_.xdr.u32();
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) implementation();
    }
    void implementation() {
        in_.skip_opaque();
        in_.skip_opaque();
        in_.xdr.skip(12);
    }

    void exchange_results() {
        in_.wide(Item::client);
        in_.number(Item::sequence);
        in_.number(Item::exchanged_flags);
        if (in_.xdr.u32() != 0) return in_.xdr.end();
        in_.wide(Item::server_minor);
        const base::Bytes major = in_.opaque(Item::server_major);
        in_.summary.server = {reinterpret_cast<const char*>(major.data()), major.size()};
        in_.opaque(Item::scope);
        const std::uint32_t count = in_.xdr.u32();
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) implementation();
    }
    void security_results() {
        const std::uint32_t count = in_.xdr.u32();
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
            if (in_.xdr.u32() != rpc_auth_gss) continue;
            in_.skip_opaque();
            in_.xdr.skip(8);
        }
    }

    void directory_results() {
        in_.wide(Item::verifier4);
        while (in_.xdr.u32() != 0 && !in_.xdr.ended()) {
            in_.wide(Item::cookie4);
            in_.text(Item::name);
            attributes();
        }
        in_.number(Item::eof4);
    }

    void read_plus_results() {
        in_.number(Item::eof4);
        const std::uint32_t count = in_.xdr.u32();
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
            const std::uint32_t type = in_.xdr.u32();
            in_.wide(Item::offset4);
            if (type == 0)
                in_.data(Item::read_length);
            else
                in_.wide(Item::length4);
        }
    }

    void sequence_results() {
        in_.fixed(Item::session, 16);
        in_.number(Item::sequence);
        in_.number(Item::slot);
        in_.number(Item::high_slot);
        const std::uint32_t target = in_.number(Item::target_high_slot);
        in_.number(Item::sequence_flags);
        if (!in_.xdr.ended()) in_.summary.target_high_slot = target;
    }
    void callback_sequence() {
        in_.fixed(Item::session, 16);
        in_.number(Item::sequence);
        in_.number(Item::slot);
        in_.number(Item::high_slot);
        in_.number(Item::target_high_slot);
    }

    bool callback_arguments(std::uint32_t operation) {
        switch (operation) {
            case 4:  // CB_RECALL
                state();
                in_.xdr.skip(4);
                in_.target();
                return true;
            case 8:  // CB_RECALL_ANY
                in_.xdr.skip(4);
                in_.skip_bitmap();
                return true;
            case 10: in_.xdr.skip(4); return true;  // CB_RECALL_SLOT
            case 11:                               // CB_SEQUENCE
                in_.fixed(Item::session, 16);
                in_.number(Item::sequence);
                in_.number(Item::slot);
                in_.number(Item::high_slot);
                in_.number(Item::cache_this);
                referring();
                return true;
            default: return false;
        }
    }
    void referring() {
        const std::uint32_t count = in_.xdr.u32();
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
            in_.xdr.skip(16);
            in_.xdr.skip(std::uint64_t{in_.xdr.u32()} * 8);
        }
    }

    /// False if the operation is unknown: its length is unknown, too.
    bool arguments(std::uint32_t operation);
    bool results(std::uint32_t operation, std::uint32_t status);

    NfsItemReader& in_;
    std::optional<std::uint32_t> current_ = {};  ///< handle that operations are about
    unsigned main_rank_ = 0;
    bool is_main_ = false;
};

}  // namespace wire
