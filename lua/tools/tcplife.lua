-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "network",
  description = "Shows connections of TCP when they end: how long they lasted, and what went over them.",
  needs = { "tcp_set_state" },
  options = { "timestamp", { "-p --pid PID", "of this process only", kind = "id" }, { "--comm NAME", "of processes of this name only" },
    { "-L --local-port PORT", "of this port here", kind = "positive" },
    { "-D --remote-port PORT", "to this port", kind = "positive" } },
  columns = {
    { "PID", "%-7d" }, { "COMM", "%-16s" }, { "LADDR", "%-15s" }, { "LPORT", "%-5d" }, { "RADDR", "%-15s" }, { "RPORT", "%-5d" },
    { "TX_KB", "%5d" }, { "RX_KB", "%5d" }, { "MS", "%.2f" },
  },
  example = [[
# tcplife-kpl
PID     COMM             LADDR           LPORT RADDR           RPORT TX_KB RX_KB MS
299     luajit           127.0.0.1       51120 127.0.0.1       5555      8     0 5.00
299     luajit           127.0.0.1       5555  127.0.0.1       51120     0     8 4.45
299     luajit           127.0.0.1       51130 127.0.0.1       5555      8     0 7.06

One line for each connection that began and ended meanwhile. Who waits for a connection of many
seconds with few kilobytes waits for the other side.]],
}

local tcp = require "kprobe.tcp"
local lport, rport = options.local_port or 0, options.remote_port or 0
local born, ended = map { max = 16384 }, event()
kprobe { "tcp_set_state", pre = function(p, sk, state)
  local key = ffi.cast("int64_t", sk)
  if state < TCP_FIN_WAIT1 then -- whoever is here now is the one who connects, unless it is answered by an interrupt
    if born[key] == nil then born[key] = { at = now(), pid = pid(), comm = comm() } end
    return
  end
  if state == TCP_FIN_WAIT1 or state == TCP_LAST_ACK then -- the process closes it
    local b = born[key]
    if b then born[key] = { at = b.at, pid = pid(), comm = comm() } end
  end
  if state ~= TCP_CLOSE then return end
  local b = born[key]
  if not b then return end
  born[key] = nil
  local own, other = sk.__sk_common.skc_num, ntohs(sk.__sk_common.skc_dport)
  if lport ~= 0 and lport ~= own or rport ~= 0 and rport ~= other then return end
  local t = ffi.cast("struct tcp_sock *", sk)
  ended {
    pid = b.pid, comm = b.comm, ns = now() - b.at, lport = own, rport = other, ip = tcp.version(sk),
    tx = ffi.cast("int64_t", t.bytes_acked), rx = ffi.cast("int64_t", t.bytes_received),
    local4 = tcp.local4(sk), local6 = tcp.local6(sk), remote4 = tcp.remote4(sk), remote6 = tcp.remote6(sk),
  }
end }
ended:each(function(e)
  if options.pid and e.pid ~= options.pid or options.comm and e.comm ~= options.comm then return end
  tcp.name_addresses(e)
  e.tx_kb, e.rx_kb, e.ms = math.floor(e.tx / 1024), math.floor(e.rx / 1024), tonumber(e.ns) / 1e6
  out.row(e)
end)
