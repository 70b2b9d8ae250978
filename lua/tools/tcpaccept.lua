-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "network",
  description = "Shows who accepts connections by TCP, and from where.",
  needs = { "inet_csk_accept" },
  options = { "process", "timestamp", { "-P --port PORT", "at this port only", kind = "positive" } },
  columns = {
    { "PID", "%-7d" }, { "COMM", "%-12s" }, { "IP", "%-2d" }, { "RADDR", "%-16s" }, { "RPORT", "%-5d" }, { "LADDR", "%-16s" },
    { "LPORT", "%-5d" },
  },
  example = [[
# tcpaccept-kpl
PID     COMM         IP RADDR            RPORT LADDR            LPORT
295     luajit       4  127.0.0.1        51088 127.0.0.1        5555
295     luajit       4  127.0.0.1        51092 127.0.0.1        5555
295     luajit       4  127.0.0.1        51106 127.0.0.1        5555

Who uses this machine's services. A connection is seen when the service takes it, which may be
long after it was made.]],
}

local tcp = require "kprobe.tcp"
local port, accepts = options.port or 0, event()
kretprobe { "inet_csk_accept", when = options.when, maxactive = 256, ret = function(p, sk)
  if sk == nil or not tcp.is_inet(sk) then return end
  local lport = sk.__sk_common.skc_num
  if port ~= 0 and port ~= lport then return end
  accepts {
    pid = pid(), comm = comm(), ip = tcp.version(sk), lport = lport, rport = ntohs(sk.__sk_common.skc_dport),
    local4 = tcp.local4(sk), local6 = tcp.local6(sk), remote4 = tcp.remote4(sk), remote6 = tcp.remote6(sk),
  }
end }
accepts:each(function(e)
  tcp.name_addresses(e)
  out.row(e)
end)
