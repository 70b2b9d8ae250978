-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "network",
  description = "Shows each change of a TCP connection's state, and how long it was in the last one.",
  needs = { "inet_sk_state_store", "inet_sk_set_state" },
  options = { "timestamp", { "-L --local-port PORT", "of this port here", kind = "positive" },
    { "-D --remote-port PORT", "to this port", kind = "positive" } },
  columns = {
    { "SKADDR", "%-16s" }, { "C-PID", "%-5d", key = "pid" }, { "C-COMM", "%-10s", key = "comm" }, { "LADDR", "%-15s" }, { "LPORT", "%-5d" },
    { "RADDR", "%-15s" }, { "RPORT", "%-5d" }, { "OLDSTATE", "%-11s" }, { "->", "%2s", always = "->" }, { "NEWSTATE", "%-11s" },
    { "MS", "%.3f" },
  },
  example = [[
# tcpstates-kpl -D 5555
SKADDR           C-PID C-COMM     LADDR           LPORT RADDR           RPORT OLDSTATE    -> NEWSTATE    MS
ff16ea6781e2cc00 311   luajit     127.0.0.1       0     127.0.0.1       5555  CLOSE       -> SYN_SENT    0.000
ff16ea6781e2cc00 311   luajit     127.0.0.1       51196 127.0.0.1       5555  SYN_SENT    -> ESTABLISHED 0.906
ff16ea6781e2cc00 311   luajit     127.0.0.1       51196 127.0.0.1       5555  ESTABLISHED -> FIN_WAIT1   7.896
ff16ea6781e2cc00 311   luajit     127.0.0.1       51196 127.0.0.1       5555  FIN_WAIT1   -> FIN_WAIT2   0.534
ff16ea6781e2cc00 311   luajit     127.0.0.1       51196 127.0.0.1       5555  FIN_WAIT2   -> CLOSE       0.097

How a connection comes about and ends. A long SYN_SENT is a network that is far or full; a
CLOSE_WAIT that stays is a program that does not close.]],
}

local tcp = require "kprobe.tcp"
local lport, rport = options.local_port or 0, options.remote_port or 0
local since, changes = map { max = 16384 }, event()
local function trace(p, sk, state)
  local own, other, key, old = sk.__sk_common.skc_num, ntohs(sk.__sk_common.skc_dport), ffi.cast("int64_t", sk), sk.__sk_common.skc_state
  local last, ns = since[key], 0
  if last then
    ns = now() - last.at
    if own == 0 then own = last.own end -- a port is given back before the connection is closed
  end
  if state == TCP_CLOSE then since[key] = nil end
  if lport ~= 0 and lport ~= own or rport ~= 0 and rport ~= other then return end
  changes {
    sk = key, pid = pid(), comm = comm(), lport = own, rport = other, ip = tcp.version(sk), old = old, new = state, ns = ns,
    local4 = tcp.local4(sk), local6 = tcp.local6(sk), remote4 = tcp.remote4(sk), remote6 = tcp.remote6(sk),
  }
  if state ~= TCP_CLOSE then since[key] = { at = now(), own = own } end
end
kprobe("inet_sk_state_store", trace)
kprobe("inet_sk_set_state", trace)
changes:each(function(e)
  tcp.name_addresses(e)
  e.skaddr, e.oldstate, e.newstate = bit.tohex(e.sk, 16), tcp.states[e.old], tcp.states[e.new]
  e.ms = tonumber(e.ns) / 1e6
  out.row(e)
end)
