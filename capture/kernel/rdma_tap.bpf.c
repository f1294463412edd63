/* What the kernel passes of a machine's traffic to a packet socket, and how many bytes of it: RDMA, and the TCP
   connections that are found to speak MPA, from the first byte on. kernel_tap.h describes it; docs/decisions.md has
   the reasons. Compiled by `clang -target bpf`, loaded by libbpf.

   `connections` holds what speaks MPA, `candidates` what may: both forget what was not seen for longest. A flood of
   SYNs or of lone Requests fills `candidates` alone. */
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <linux/in.h>
#include <linux/in6.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "tap_state.h"

#define IS_LOOPBACK(skb) ((skb)->ifindex == 1)

enum {
    type_ipv4 = 0x0800,
    type_ipv6 = 0x86dd,
    type_vlan = 0x8100,
    type_qinq = 0x88a8,
    type_qinq_old = 0x9100,
    type_roce = 0x8915,
    type_mac_control = 0x8808,

    roce_port = 4791,
    tcp_header = 20,
    grace_bytes = 16384,         /* of a new connection, before it is known what it speaks */
    window_bytes = 64 << 20,     /* a segment further away is not of the connection that was learnt */
    credit_bytes = 4 << 20,      /* that pass of a connection found by FPDUs, before later segments prove it */
    proofs_enough = 4,
    evidence_enough = 3,
    fpdu_head = 20,              /* ULPDU length, DDP and RDMAP control, untagged header; also the shortest FPDU */
    fpdus_of_segment = 4096,
    scan_bytes = 2048,
    scan_least = 256,
    scan_places = 8,             /* that are looked at in one step */
    scan_pause_ns = 250 * 1000,  /* between two searches of one processor */
    longest_fpdu = 65544,
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, tap_connections_default);
    __type(key, struct TapKey);
    __type(value, struct TapConnection);
} connections SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, tap_connections_default);
    __type(key, struct TapKey);
    __type(value, struct TapConnection);
} candidates SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct TapSettings);
} settings SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct TapCounters);
} counters SEC(".maps");

struct Scratch {
    __u64 scanned_ns;
    __u8 bytes[scan_bytes + fpdu_head];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct Scratch);
} scratch SEC(".maps");

#define COUNT(member)                                                      \
    do {                                                                   \
        __u32 first_ = 0;                                                  \
        struct TapCounters *c_ = bpf_map_lookup_elem(&counters, &first_);  \
        if (c_) __sync_fetch_and_add(&c_->member, 1);                      \
    } while (0)

/* A packet down to its transport header. */
struct Place {
    __u32 at;  /* of the transport header */
    __u32 end; /* of the IP packet */
    __u32 source[4];
    __u32 destination[4];
    __u8 protocol;
    __u8 fragment; /* not the first one: it has no transport header */
    __u8 unused[2];
};

struct Segment {
    struct TapKey key;
    __u32 sequence;
    __u32 acknowledged;
    __u32 payload_at;
    __u32 payload_bytes;
    __u16 source_port;
    __u16 destination_port;
    __u8 flags;
    __u8 direction; /* index of its half: 0 from the lower end */
    __u8 unused[2];
};

/* Functions that are not static are verified once each, whatever calls them and however often: inlined, they would be
   verified again for each path that leads to them, and loading would take ten times as long. The verifier demands that
   such a function compares its pointers with NULL, and that all bytes of what it is given are initialised: the structs
   have no padding. */
#define SHARED __attribute__((noinline))

enum { tcp_fin = 1, tcp_syn = 2, tcp_rst = 4, tcp_ack = 16 };

static __always_inline __u16 half_word(struct __sk_buff *skb, __u32 at) {
    __u16 value = 0;
    if (bpf_skb_load_bytes(skb, at, &value, sizeof value) < 0) return 0;
    return bpf_ntohs(value);
}

/* ---- from the frame to the transport header ---- */

static __always_inline int find_ipv4(struct __sk_buff *skb, __u32 at, struct Place *place) {
    __u8 header[20];
    if (bpf_skb_load_bytes(skb, at, header, sizeof header) < 0) return 0;
    __u32 total = (__u32)header[2] << 8 | header[3];
    place->protocol = header[9];
    place->fragment = ((header[6] & 0x1f) | header[7]) != 0;
    place->at = at + (header[0] & 0x0f) * 4;
    place->end = total ? at + total : skb->len; /* 0 in frames that the adapter joined */
    __builtin_memcpy(&place->source[0], header + 12, 4);
    __builtin_memcpy(&place->destination[0], header + 16, 4);
    return 1;
}

/* RFC 8200 section 4: next header, length in 8 bytes without the first 8. */
static __always_inline int find_ipv6(struct __sk_buff *skb, __u32 at, struct Place *place) {
    __u8 header[8];
    if (bpf_skb_load_bytes(skb, at, header, sizeof header) < 0) return 0;
    if (bpf_skb_load_bytes(skb, at + 8, place->source, 16) < 0) return 0;
    if (bpf_skb_load_bytes(skb, at + 24, place->destination, 16) < 0) return 0;
    __u32 length = (__u32)header[4] << 8 | header[5];
    place->end = length ? at + 40 + length : skb->len;
    __u8 next = header[6];
    at += 40;
    for (int i = 0; i < 6; ++i) {
        __u8 extension[4];
        if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS &&
            next != IPPROTO_FRAGMENT && next != IPPROTO_AH)
            break;
        if (bpf_skb_load_bytes(skb, at, extension, sizeof extension) < 0) return 0;
        if (next == IPPROTO_FRAGMENT) {
            place->fragment |= ((extension[2]) | (extension[3] & 0xf8)) != 0;
            at += 8;
        } else if (next == IPPROTO_AH) {
            at += (extension[1] + 2) * 4;
        } else {
            at += 8 + extension[1] * 8;
        }
        next = extension[0];
    }
    place->protocol = next;
    place->at = at;
    return 1;
}

SHARED int find_transport(struct __sk_buff *skb, __u32 at, struct Place *place) {
    __u8 version = 0;
    if (!place) return 0;
    __builtin_memset(place, 0, sizeof *place);
    if (bpf_skb_load_bytes(skb, at, &version, 1) < 0) return 0;
    if (version >> 4 == 4) return find_ipv4(skb, at, place);
    if (version >> 4 == 6) return find_ipv6(skb, at, place);
    return 0;
}

/* Of two ends, which is the lower does not matter, as long as both directions agree. */
static __always_inline int is_lower(const struct Place *place, __u16 source_port, __u16 destination_port) {
    for (int i = 0; i < 4; ++i)
        if (place->source[i] != place->destination[i]) return place->source[i] < place->destination[i];
    return source_port <= destination_port;
}

static __always_inline void make_key(struct __sk_buff *skb, const struct Place *place, struct Segment *segment) {
    int lower = is_lower(place, segment->source_port, segment->destination_port);
    segment->direction = !lower;
    for (int i = 0; i < 4; ++i) {
        segment->key.low[i] = lower ? place->source[i] : place->destination[i];
        segment->key.high[i] = lower ? place->destination[i] : place->source[i];
    }
    segment->key.low_port = lower ? segment->source_port : segment->destination_port;
    segment->key.high_port = lower ? segment->destination_port : segment->source_port;
    segment->key.interface = skb->ifindex;
}

/* ---- FPDUs ---- */

/* Where an FPDU may begin. */
struct Head {
    __u8 bytes[fpdu_head];
};

struct Shape {
    __u32 size;     /* of the FPDU; 0 if no FPDU was found */
    __u32 evidence; /* what it is worth */
    __u32 stag;
    __u32 unused;
    __u64 offset; /* of a tagged one that is not the last: where the next one goes on */
    __u32 tagged;
    __u32 last;
};

static __always_inline __u32 big_endian(const __u8 *at) {
    return (__u32)at[0] << 24 | (__u32)at[1] << 16 | (__u32)at[2] << 8 | at[3];
}

/* RFC 5044 section 4.1, RFC 5041 section 4, RFC 5040 section 4: version 1 of DDP and of RDMAP, nothing reserved, an
   opcode that fits the tagged bit, and, untagged, the queue of this opcode. */
SHARED int find_shape(const struct Head *head, struct Shape *shape) {
    if (!head || !shape) return 0;
    const __u8 *at = head->bytes;
    __u32 length = (__u32)at[0] << 8 | at[1];
    __u8 opcode = at[3] & 0x0f;
    __u8 tagged = at[2] >> 7;
    shape->size = 0;
    if ((at[2] & 0x3f) != 1 || at[3] >> 4 != 4 || opcode > 11) return 0;
    if (tagged != (opcode == 0 || opcode == 2)) return 0;
    if (length < (tagged ? 14U : 18U)) return 0;
    shape->tagged = tagged;
    shape->last = at[2] >> 6 & 1;
    if (tagged) {
        shape->stag = big_endian(at + 4);
        shape->offset = ((__u64)big_endian(at + 8) << 32 | big_endian(at + 12)) + length - 14;
        shape->evidence = 1;
    } else {
        __u32 queue = opcode == 1 || opcode == 10 ? 1 : opcode == 7 ? 2 : opcode == 11 ? 3 : 0;
        if (big_endian(at + 8) != queue || big_endian(at + 12) == 0) return 0;
        shape->evidence = 2;
    }
    shape->size = ((2 + length + 3) & ~3U) + 4;
    return 1;
}

/* What two FPDUs that follow each other are worth together: a message that goes on in the same buffer is worth more. */
static __always_inline __u32 follows(const struct Shape *before, const struct Shape *now, __u32 length) {
    if (!before->size || !before->tagged || before->last || !now->tagged) return 0;
    return before->stag == now->stag && before->offset + length == now->offset ? 1 : 0;
}

struct Walk {
    struct __sk_buff *skb;
    __u32 at;      /* of the next FPDU, in the payload */
    __u32 bytes;   /* of the payload */
    __u32 payload_at;
    __u32 evidence;
    __u32 found;
    __u32 broken; /* something else stands where an FPDU should */
    __u32 split;  /* its head goes on in the next segment */
    struct Shape before;
};

static long walk_step(__u32 index, struct Walk *walk) {
    struct Head head;
    struct Shape shape = {};
    if (walk->at >= walk->bytes) return 1;
    if (walk->at + fpdu_head > walk->bytes ||
        bpf_skb_load_bytes(walk->skb, walk->payload_at + walk->at, &head, sizeof head) < 0) {
        walk->split = 1;
        return 1;
    }
    if (!find_shape(&head, &shape)) {
        walk->broken = 1;
        return 1;
    }
    __u32 ulpdu = (__u32)head.bytes[0] << 8 | head.bytes[1];
    walk->evidence += shape.evidence + follows(&walk->before, &shape, ulpdu - 14);
    walk->before = shape;
    walk->found = 1;
    walk->at += shape.size;
    return 0;
}

/* Steps over the FPDUs of a segment from where the next one begins; notes where that is then, and what they are worth.
   Returns whether there are any; less than 0 where something else stands there. */
SHARED int walk_fpdus(struct __sk_buff *skb, const struct Segment *segment, struct TapHalf *half) {
    struct Walk walk = {};
    if (!segment || !half) return 0;
    __s32 ahead = (__s32)(half->next - segment->sequence);
    int known = (half->flags & half_has_next) && ahead >= 0 && ahead < longest_fpdu;
    if (!known) {
        half->flags &= ~half_has_next;
        half->evidence = 0;
        ahead = 0;
    }
    if (known && (__u32)ahead >= segment->payload_bytes) return 0; /* within an FPDU */
    walk.skb = skb;
    walk.at = ahead;
    walk.bytes = segment->payload_bytes;
    walk.payload_at = segment->payload_at;
    walk.evidence = half->evidence;
    bpf_loop(fpdus_of_segment, walk_step, &walk, 0);
    if (walk.broken || (walk.split && !walk.found && !known)) {
        half->flags &= ~half_has_next;
        half->evidence = 0;
        return -1;
    }
    half->evidence = walk.evidence > 200 ? 200 : walk.evidence;
    half->next = segment->sequence + walk.at;
    half->flags |= half_has_next;
    if (walk.found && half->proofs < 200) half->proofs++;
    return walk.found;
}

struct Scan {
    struct __sk_buff *skb;
    struct Scratch *scratch;
    __u32 length;        /* bytes in the scratch */
    __u32 payload_at;
    __u32 payload_bytes;
    __u32 found_at;
    __u32 found;
};

/* Whether two FPDUs follow each other from this place on. */
static __attribute__((noinline)) int scan_place(struct Scan *scan, __u32 index) {
    struct Head head;
    struct Shape first = {};
    struct Shape second = {};
    struct Scratch *memory = scan->scratch;
    index &= scan_bytes - 1; /* for the verifier */
    if (index + fpdu_head > scan->length) return 0;
    const struct Head *here = (const struct Head *)(memory->bytes + index);
    if (!find_shape(here, &first)) return 0;
    __u32 next = index + first.size;
    if (next + fpdu_head > scan->payload_bytes) return 0;
    if (bpf_skb_load_bytes(scan->skb, scan->payload_at + next, &head, sizeof head) < 0) return 0;
    if (!find_shape(&head, &second)) return 0;
    __u32 ulpdu = (__u32)head.bytes[0] << 8 | head.bytes[1];
    if (first.evidence + second.evidence + follows(&first, &second, ulpdu - 14) < evidence_enough) return 0;
    scan->found_at = index;
    scan->found = 1;
    return 1;
}

/* Every byte of a segment is a place. The versions, as in find_shape(), rule out all but one in a thousand. */
static long scan_step(__u32 index, struct Scan *scan) {
    __u32 begin = index * scan_places & (scan_bytes - 1);
    const __u8 *bytes = scan->scratch->bytes + begin;
    if (begin + fpdu_head > scan->length) return 1;
#pragma unroll
    for (__u32 i = 0; i < scan_places; ++i)
        if ((bytes[i + 2] & 0x3f) == 1 && bytes[i + 3] >> 4 == 4 && scan_place(scan, begin + i)) return 1;
    return 0;
}

/* Looks for two FPDUs inside a segment: software stacks fill segments without regard to FPDUs. Now and then: of all
   unknown connections, those with most segments come first. */
SHARED int scan_segment(struct __sk_buff *skb, const struct Segment *segment, struct TapHalf *half) {
    __u32 zero = 0;
    struct Scan scan = {};
    if (!segment || !half) return 0;
    if (segment->payload_bytes < scan_least) return 0;
    struct Scratch *memory = bpf_map_lookup_elem(&scratch, &zero);
    if (!memory) return 0;
    __u64 now = bpf_ktime_get_ns();
    if (now - memory->scanned_ns < scan_pause_ns) return 0;
    memory->scanned_ns = now;
    __u32 length = segment->payload_bytes;
    if (length > scan_bytes) length = scan_bytes;
    if (length < scan_least) return 0;
    if (bpf_skb_load_bytes(skb, segment->payload_at, memory->bytes, length) < 0) return 0;
    COUNT(scans);
    scan.skb = skb;
    scan.scratch = memory;
    scan.length = length;
    scan.payload_at = segment->payload_at;
    scan.payload_bytes = segment->payload_bytes;
    bpf_loop(scan_bytes / scan_places, scan_step, &scan, 0);
    if (!scan.found) return 0;
    half->next = segment->sequence + scan.found_at;
    half->flags |= half_has_next;
    half->evidence = 0;
    return 1;
}

/* ---- connections ---- */

static __always_inline int in_window(const struct TapHalf *half, __u32 sequence) {
    return !(half->flags & half_has_end) || sequence - half->end + window_bytes < 2 * window_bytes;
}

static __always_inline void note_end(struct TapHalf *half, const struct Segment *segment) {
    __u32 end = segment->sequence + segment->payload_bytes;
    if (!(half->flags & half_has_end) || (__s32)(end - half->end) > 0) half->end = end;
    half->flags |= half_has_end;
}

static __always_inline void note_close(struct TapConnection *connection, struct TapHalf *half,
                                       const struct Segment *segment) {
    if (segment->flags & tcp_fin) half->flags |= half_finished;
    int both = (connection->half[0].flags & connection->half[1].flags & half_finished) != 0;
    if (connection->closed || !(both || segment->flags & tcp_rst)) return;
    connection->closed = 1;
    COUNT(closed);
}

/* Puts a candidate into the map of what speaks MPA. */
static __always_inline void learn(const struct Segment *segment, struct TapConnection *connection, int proven) {
    struct TapHalf *half = &connection->half[segment->direction & 1];
    struct TapHalf *other = &connection->half[!(segment->direction & 1)];
    half->end = segment->sequence + segment->payload_bytes; /* of this segment, whatever came before it */
    half->flags |= half_has_end;
    if (!(other->flags & half_has_end)) {
        other->end = segment->acknowledged;
        other->flags |= half_has_end;
    }
    connection->half[0].proofs = 0;
    connection->half[1].proofs = 0;
    connection->proven = proven;
    connection->credit = credit_bytes;
    connection->closed = 0;
    struct TapConnection *before = bpf_map_lookup_elem(&connections, &segment->key);
    if (before && !before->closed) COUNT(closed);
    if (bpf_map_update_elem(&connections, &segment->key, connection, BPF_ANY) < 0) {
        COUNT(refused);
        return;
    }
    COUNT(learnt);
    if (proven) COUNT(by_start_frame);
    bpf_map_delete_elem(&candidates, &segment->key);
}

/* A connection found by FPDUs alone has to go on as FPDUs do. Returns 0 where it did not. */
static __always_inline int prove(struct __sk_buff *skb, struct Segment *segment, struct TapConnection *connection,
                                 struct TapHalf *half) {
    struct TapHalf copy = *half;
    if (segment->payload_bytes == 0) return 1;
    walk_fpdus(skb, segment, &copy);
    half->next = copy.next;
    half->flags = copy.flags;
    half->evidence = copy.evidence;
    half->proofs = copy.proofs;
    if (connection->half[0].proofs + connection->half[1].proofs >= proofs_enough) connection->proven = 1;
    if (connection->credit > segment->payload_bytes) {
        connection->credit -= segment->payload_bytes;
        return 1;
    }
    if (connection->proven) return 1;
    bpf_map_delete_elem(&connections, &segment->key);
    COUNT(withdrawn);
    COUNT(closed);
    return 0;
}

static __always_inline __u32 note_syn(const struct Segment *segment, const struct TapSettings *how) {
    struct TapConnection fresh = {};
    struct TapConnection *before = bpf_map_lookup_elem(&candidates, &segment->key);
    if (before && segment->flags & tcp_ack) fresh = *before;
    struct TapHalf *half = &fresh.half[segment->direction & 1];
    __builtin_memset(half, 0, sizeof *half);
    half->first = segment->sequence + 1;
    half->flags = half_is_new;
    bpf_map_update_elem(&candidates, &segment->key, &fresh, BPF_ANY);
    return how->roce_bytes;
}

enum { no_start = 0, start_possible, start_request, start_reply };

/* RFC 5044 section 7.1.1 */
static __always_inline int find_start(struct __sk_buff *skb, const struct Segment *segment, __u32 *size) {
    __u8 head[20] __attribute__((aligned(8))) = {};
    if (segment->payload_bytes < 4) return start_possible;
    if (segment->payload_bytes < sizeof head) {
        if (bpf_skb_load_bytes(skb, segment->payload_at, head, 4) < 0) return no_start;
        return __builtin_memcmp(head, "MPA ", 4) == 0 ? start_possible : no_start;
    }
    if (bpf_skb_load_bytes(skb, segment->payload_at, head, sizeof head) < 0) return no_start;
    if (__builtin_memcmp(head, "MPA ID R", 8) != 0) return no_start;
    __u32 private_data = (__u32)head[18] << 8 | head[19];
    if (private_data > 512) return no_start;
    *size = 20 + private_data;
    if (__builtin_memcmp(head + 8, "eq Frame", 8) == 0) return start_request;
    if (__builtin_memcmp(head + 8, "ep Frame", 8) == 0) return start_reply;
    return no_start;
}

/* A Request and the Reply to it make the connection one of MPA. */
static __always_inline __u32 note_start(struct Segment *segment, struct TapConnection *connection, int start,
                                        __u32 size, const struct TapSettings *how) {
    struct TapHalf *half = &connection->half[segment->direction & 1];
    struct TapHalf *other = &connection->half[!(segment->direction & 1)];
    __u16 mine = start == start_request ? half_request : half_reply;
    __u16 peer = start == start_request ? half_reply : half_request;
    int answered = (other->flags & peer) && (half->flags & half_is_new) &&
                   segment->sequence - half->first < grace_bytes;
    half->first = segment->sequence;
    half->next = segment->sequence + size;
    half->flags |= half_is_new | half_has_next | mine;
    half->evidence = 2;
    note_end(half, segment);
    if (!(other->flags & half_is_new)) {
        other->first = segment->acknowledged;
        other->flags |= half_is_new;
    }
    if (answered)
        learn(segment, connection, 1);
    else
        bpf_map_update_elem(&candidates, &segment->key, connection, BPF_ANY);
    return how->iwarp_bytes;
}

/* A segment of a connection that is not known to speak MPA. */
static __always_inline __u32 judge_unknown(struct __sk_buff *skb, struct Segment *segment,
                                           const struct TapSettings *how) {
    struct TapConnection connection = {};
    struct TapConnection *candidate = bpf_map_lookup_elem(&candidates, &segment->key);
    if (candidate) connection = *candidate;
    struct TapHalf half = connection.half[segment->direction & 1];
    int new = (half.flags & half_is_new) && segment->sequence - half.first < grace_bytes;
    if (segment->payload_bytes == 0) return new ? how->roce_bytes : 0;
    if (!(segment->flags & tcp_ack)) return 0; /* no TCP sends that; without it the other window would be unknown */

    __u32 size = 0;
    int start = find_start(skb, segment, &size);
    if (start >= start_request) return note_start(segment, &connection, start, size, how);

    int begun = (half.flags & (half_request | half_reply)) != 0;
    if (how->discovery || begun) {
        int chain = (half.flags & half_has_next) != 0;
        int found = walk_fpdus(skb, segment, &half);
        if (found < 0 && how->discovery && !new && scan_segment(skb, segment, &half)) found = walk_fpdus(skb, segment, &half);
        if (found > 0 || (found == 0 && chain)) {
            connection.half[segment->direction & 1] = half;
            if (half.evidence >= evidence_enough)
                learn(segment, &connection, 0);
            else
                bpf_map_update_elem(&candidates, &segment->key, &connection, BPF_ANY);
            return how->iwarp_bytes;
        }
    }
    if (!new) return 0;
    if (start == no_start && segment->sequence == half.first && !begun) {
        bpf_map_delete_elem(&candidates, &segment->key); /* it begins with something else */
        return 0;
    }
    return how->iwarp_bytes;
}

static __always_inline int has_port(const struct TapSettings *how, __u16 port) {
    return how->ports[(port >> 3) & (tap_ports_bytes - 1)] >> (port & 7) & 1;
}

static __always_inline __u32 judge_tcp(struct __sk_buff *skb, const struct Place *place,
                                       const struct TapSettings *how) {
    __u8 header[tcp_header];
    struct Segment segment = {};
    if (bpf_skb_load_bytes(skb, place->at, header, sizeof header) < 0) return 0;
    segment.source_port = (__u16)header[0] << 8 | header[1];
    segment.destination_port = (__u16)header[2] << 8 | header[3];
    segment.sequence = big_endian(header + 4);
    segment.acknowledged = big_endian(header + 8);
    segment.flags = header[13];
    segment.payload_at = place->at + (header[12] >> 4) * 4;
    __u32 end = place->end < skb->len ? place->end : skb->len;
    segment.payload_bytes = end > segment.payload_at ? end - segment.payload_at : 0;
    make_key(skb, place, &segment);

    struct TapConnection *connection = bpf_map_lookup_elem(&connections, &segment.key);
    if (connection) {
        struct TapHalf *half = &connection->half[segment.direction & 1];
        int again = segment.flags & tcp_syn && connection->closed;
        if (!again && in_window(half, segment.sequence)) {
            note_end(half, &segment);
            note_close(connection, half, &segment);
            if (connection->proven || prove(skb, &segment, connection, half)) {
                if (segment.flags & tcp_syn) note_syn(&segment, how);
                return how->iwarp_bytes;
            }
        }
    }
    if (segment.flags & tcp_syn) return note_syn(&segment, how);
    if (has_port(how, segment.source_port) || has_port(how, segment.destination_port)) return how->iwarp_bytes;
    return judge_unknown(skb, &segment, how);
}

/* ---- what passes in any case ---- */

static __always_inline __u32 roce_length(struct __sk_buff *skb, __u32 bth, const struct TapSettings *how) {
    __u8 destination[4];
    if (bpf_skb_load_bytes(skb, bth + 4, destination, sizeof destination) < 0) return how->roce_bytes;
    int management = destination[1] == 0 && destination[2] == 0 && destination[3] == 1;
    return management && how->management_bytes > how->roce_bytes ? how->management_bytes : how->roce_bytes;
}

static __always_inline int is_roce(struct __sk_buff *skb, __u32 udp) {
    return half_word(skb, udp) == roce_port || half_word(skb, udp + 2) == roce_port;
}

/* An ICMP error about RDMA: it quotes the packet that it is about. RFC 792, RFC 4443. */
static __always_inline __u32 judge_icmp(struct __sk_buff *skb, const struct Place *place,
                                        const struct TapSettings *how) {
    __u8 type = 0;
    struct Place quoted = {};
    struct Segment segment = {};
    if (bpf_skb_load_bytes(skb, place->at, &type, 1) < 0) return how->other_bytes;
    int error = place->protocol == IPPROTO_ICMP ? type == 3 || type == 4 || type == 5 || type == 11 || type == 12
                                                : type >= 1 && type <= 4;
    if (!error || !find_transport(skb, place->at + 8, &quoted) || quoted.fragment) return how->other_bytes;
    if (quoted.protocol == IPPROTO_UDP) return is_roce(skb, quoted.at) ? how->roce_bytes : how->other_bytes;
    if (quoted.protocol != IPPROTO_TCP) return how->other_bytes;
    segment.source_port = half_word(skb, quoted.at);
    segment.destination_port = half_word(skb, quoted.at + 2);
    if (has_port(how, segment.source_port) || has_port(how, segment.destination_port)) return how->roce_bytes;
    make_key(skb, &quoted, &segment);
    return bpf_map_lookup_elem(&connections, &segment.key) ? how->roce_bytes : how->other_bytes;
}

static __always_inline __u32 judge_ip(struct __sk_buff *skb, __u32 at, const struct TapSettings *how) {
    struct Place place = {};
    if (!find_transport(skb, at, &place) || place.fragment) return how->other_bytes;
    switch (place.protocol) {
        case IPPROTO_TCP: return judge_tcp(skb, &place, how);
        case IPPROTO_UDP: return is_roce(skb, place.at) ? roce_length(skb, place.at + 8, how) : how->other_bytes;
        case IPPROTO_ICMP:
        case IPPROTO_ICMPV6: return judge_icmp(skb, &place, how);
        default: return how->other_bytes;
    }
}

static __always_inline const struct TapSettings *find_settings(void) {
    __u32 zero = 0;
    return bpf_map_lookup_elem(&settings, &zero);
}

SEC("socket")
int rdma_ethernet(struct __sk_buff *skb) {
    const struct TapSettings *how = find_settings();
    if (!how || (IS_LOOPBACK(skb) && skb->pkt_type == PACKET_OUTGOING)) return 0; /* it passes twice there */
    __u32 at = 12;
    __u16 type = half_word(skb, at);
    for (int tags = 0; tags < 2; ++tags) {
        if (type != type_vlan && type != type_qinq && type != type_qinq_old) break;
        at += 4;
        type = half_word(skb, at);
    }
    at += 2;
    switch (type) {
        case type_ipv4:
        case type_ipv6: return judge_ip(skb, at, how);
        case type_roce: return roce_length(skb, at + 40, how);
        case type_mac_control: return how->roce_bytes;
        default: return how->other_bytes;
    }
}

SEC("socket")
int rdma_raw(struct __sk_buff *skb) {
    const struct TapSettings *how = find_settings();
    return how ? judge_ip(skb, 0, how) : 0;
}

char licence_text[] SEC("license") = "Dual BSD/GPL";
