#pragma once
#include <linux/types.h>

/* What the kernel's program (rdma_tap.bpf.c) and this process share: the layout of the maps. For C and C++. */
#ifdef __cplusplus
namespace capture::inline kernel {
#endif

enum {
    tap_ports_bytes = 65536 / 8,
    tap_connections_default = 65536,
};

/* How many bytes of a frame are kept, by its kind, and which TCP ports are known to speak MPA. Read by the program for
   every frame, written by this process at any time. */
struct TapSettings {
    __u32 roce_bytes;       /* RoCE, pause frames, ICMP errors, SYN */
    __u32 management_bytes; /* RoCE to queue pair 1 */
    __u32 iwarp_bytes;      /* segments of connections that speak MPA */
    __u32 discovery;        /* 0: FPDUs on unknown connections are not looked for, start frames alone are */
    __u32 other_bytes;      /* what is neither TCP nor any of these: tunnels and other carriers are in it; 0: none */
    __u32 unused;
    __u8 ports[tap_ports_bytes];
};

/* Written by the program. */
struct TapCounters {
    __u64 learnt;         /* connections that went into the map */
    __u64 by_start_frame; /* of these: found by a Request and its Reply */
    __u64 closed;         /* that left it orderly, or were replaced by a new connection of the same ports */
    __u64 withdrawn;      /* that did not go on as MPA does */
    __u64 refused;        /* that the map had no room for */
    __u64 scans;          /* segments that were searched for an FPDU in their middle */
};

/* Both directions of a connection have one key: the lower end first. */
struct TapKey {
    __u32 low[4];
    __u32 high[4];
    __u16 low_port;
    __u16 high_port;
    __u32 interface;
};

enum {
    half_has_end = 1,  /* `end` is known */
    half_is_new = 2,   /* `first` is known, and whether MPA begins there is not */
    half_has_next = 4, /* `next` is known */
    half_request = 8,  /* an MPA Request was seen */
    half_reply = 16,
    half_finished = 32,
};

/* One direction. Sequence numbers are of TCP. */
struct TapHalf {
    __u32 end;   /* one past the newest segment */
    __u32 first; /* of the first byte after the SYN, or of the start frame */
    __u32 next;  /* where the next FPDU begins */
    __u16 flags;
    __u8 evidence; /* for FPDUs */
    __u8 proofs;   /* segments in which an FPDU began where it should */
};

struct TapConnection {
    struct TapHalf half[2]; /* from the lower end, from the higher end */
    __u32 credit;           /* bytes that still pass without proof */
    __u8 proven;
    __u8 closed;
    __u8 unused[2];
};

#ifdef __cplusplus
}  // namespace capture::kernel
#endif
