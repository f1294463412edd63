#!/bin/bash
# target.sh nvme | nvme-shared | stop-nvme | nfs | iser: in guest A, the devices that fail and what offers them.
#   good    takes everything
#   bad     512 KiB from its byte 16 MiB on cannot be read or written
#   full    32 MiB, of which 4 MiB can be written: then there is no space
#   slow    the device that a test suspends and resumes (dmsetup suspend slow)
set -ex
config=/sys/kernel/config

devices() {
  modprobe -a dm_mod dm_thin_pool
  modprobe null_blk nr_devices=1 memory_backed=1 gb=1 bs=512
  modprobe brd rd_nr=2 rd_size=16384
  [ -e /dev/mapper/bad ] && return
  export DM_DISABLE_UDEV=1
  dmsetup create bad --table $'0 32768 linear /dev/nullb0 0\n32768 1024 error\n33792 31744 linear /dev/nullb0 33792'
  dmsetup create slow --table '0 65536 linear /dev/nullb0 131072'
  dd if=/dev/zero of=/dev/ram0 bs=4k count=1 status=none
  dmsetup create pool --table '0 8192 thin-pool /dev/ram0 /dev/ram1 128 0 2 skip_block_zeroing error_if_no_space'
  dmsetup message pool 0 'create_thin 0'
  dmsetup create full --table '0 65536 thin /dev/mapper/pool 0'
  dmsetup table
}

# nvme_subsystem NAME DEVICE...: a subsystem with these namespaces, on port 1
nvme_subsystem() {
  local subsystem=$config/nvmet/subsystems/nqn.2024-01.lab:$1 number=0
  shift
  mkdir -p "$subsystem"
  echo 1 >"$subsystem/attr_allow_any_host"
  for device in "$@"; do
    number=$((number + 1))
    mkdir -p "$subsystem/namespaces/$number"
    echo -n "$device" >"$subsystem/namespaces/$number/device_path"
    echo 1 >"$subsystem/namespaces/$number/enable"
  done
  ln -sfn "$subsystem" "$config/nvmet/ports/1/subsystems/${subsystem##*/}"
}

nvme_port() {
  mkdir -p $config/nvmet/ports/1
  cd $config/nvmet/ports/1
  echo rdma >addr_trtype
  echo ipv4 >addr_adrfam
  echo 192.0.2.1 >addr_traddr
  echo 4420 >addr_trsvcid
}

case $1 in
nvme)
  devices
  modprobe -a nvmet nvmet_rdma
  nvme_port
  nvme_subsystem faults /dev/nullb0 /dev/mapper/bad /dev/mapper/full /dev/mapper/slow
  ;;
nvme-shared) # all connections share 256 receives: more commands than that find none
  devices
  modprobe nvmet
  modprobe nvmet_rdma use_srq=1 srq_size=256
  nvme_port
  for name in one two three; do nvme_subsystem "$name" /dev/mapper/slow; done
  ;;
stop-nvme)
  cd $config/nvmet
  rm -f ports/1/subsystems/*
  rmdir ports/1 subsystems/*/namespaces/* subsystems/*
  for _ in $(seq 100); do rmmod nvmet_rdma && break; sleep 0.2; done
  ;;
nfs)
  devices
  mkdir -p /srv/exp/full /srv/exp/slow /srv/exp/bad /var/lib/nfs/{v4recovery,nfsdcltrack,rpc_pipefs,sm,sm.bak} /run/rpcbind
  chmod 777 /srv/exp
  mount -t tmpfs -o size=1m full /srv/exp/full
  mke2fs -q -t ext4 -O ^has_journal /dev/mapper/slow 16m
  mount /dev/mapper/slow /srv/exp/slow
  # A file system whose one file has lost the device below its second half.
  dmsetup create file --table '0 65536 linear /dev/nullb0 262144'
  mke2fs -q -t ext4 -O ^has_journal,^metadata_csum /dev/mapper/file 16m
  mount /dev/mapper/file /srv/exp/bad
  head -c 262144 /dev/zero | tr '\0' x >/srv/exp/bad/damaged
  sync
  block=$(filefrag -v -b4096 /srv/exp/bad/damaged | awk '$1 == "0:" { print int($4) }')
  umount /srv/exp/bad
  begin=$((block * 8 + 256))
  printf '0 %d linear /dev/nullb0 262144\n%d 256 error\n%d %d linear /dev/nullb0 %d\n' $begin $begin $((begin + 256)) $((65536 - begin - 256)) \
    $((262144 + begin + 256)) | dmsetup reload file
  dmsetup suspend file
  dmsetup resume file
  mount /dev/mapper/file /srv/exp/bad
  blockdev --setra 0 /dev/mapper/file
  head -c 2097152 /dev/zero | tr '\0' x >/srv/exp/large
  head -c 1048576 /dev/zero | tr '\0' x >/srv/exp/slow/large
  sync
  {
    echo '/srv/exp *(rw,no_root_squash,insecure,fsid=0,no_subtree_check,async)'
    for name in full slow bad; do echo "/srv/exp/$name *(rw,no_root_squash,insecure,fsid=7$(printf %d "'$name"),no_subtree_check,sync)"; done
  } >/etc/exports
  modprobe -a nfsd rpcrdma
  mount -t nfsd nfsd /proc/fs/nfsd 2>/dev/null || true
  mount -t rpc_pipefs sunrpc /var/lib/nfs/rpc_pipefs 2>/dev/null || true
  touch /var/lib/nfs/etab /var/lib/nfs/rmtab
  pgrep rpcbind || rpcbind -w
  sleep 0.5
  pgrep nfsdcld || nfsdcld
  exportfs -ra
  pgrep rpc.mountd || rpc.mountd
  rpc.nfsd -G 10 -L 10 --rdma=20049 4
  cat /proc/fs/nfsd/portlist
  ;;
iser)
  devices
  modprobe -a target_core_mod target_core_iblock target_core_pscsi iscsi_target_mod ib_isert
  modprobe scsi_debug opts=2 dev_size_mb=16 medium_error_start=16384 medium_error_count=64
  target=$config/target
  group=$target/iscsi/iqn.2024-01.lab:faults/tpgt_1
  mkdir -p $target/core/rd_mcp_0/d0 "$group/np/192.0.2.1:3260"
  echo rd_pages=8192 >$target/core/rd_mcp_0/d0/control
  echo 1 >$target/core/rd_mcp_0/d0/enable
  echo 1 >"$group/np/192.0.2.1:3260/iser"
  number=0
  for name in bad full slow; do
    number=$((number + 1))
    mkdir -p $target/core/iblock_$number/$name
    echo "udev_path=/dev/mapper/$name" >$target/core/iblock_$number/$name/control
    echo 1 >$target/core/iblock_$number/$name/enable
  done
  for _ in $(seq 100); do
    disk=$(ls -d /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/* 2>/dev/null) && break
    sleep 0.2
  done
  place=${disk%/block/*}
  IFS=: read -r host channel id lun <<<"${place##*/}"
  mkdir -p $target/core/pscsi_4/disk
  echo "scsi_host_id=$host,scsi_channel_id=$channel,scsi_target_id=$id,scsi_lun_id=$lun" >$target/core/pscsi_4/disk/control
  echo "/dev/${disk##*/}" >$target/core/pscsi_4/disk/udev_path
  echo 1 >$target/core/pscsi_4/disk/enable
  for place in rd_mcp_0/d0 iblock_1/bad iblock_2/full iblock_3/slow pscsi_4/disk; do
    number=${place%%/*}
    number=${number##*_}
    mkdir -p "$group/lun/lun_$number"
    ln -s "$target/core/$place" "$group/lun/lun_$number/device"
  done
  for word in authentication:0 demo_mode_write_protect:0 generate_node_acls:1 cache_dynamic_acls:1; do
    echo "${word#*:}" >"$group/attrib/${word%:*}"
  done
  echo 1 >"$group/enable"
  ;;
*)
  echo "target.sh: unknown: $1" >&2
  exit 2
  ;;
esac
