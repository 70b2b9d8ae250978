-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "network",
  description = "Shows who connects to where by TCP.",
  needs = { "tcp_v4_connect", "tcp_v6_connect" },
  options = { "process", "timestamp", { "-P --port PORT", "to this port only", kind = "positive" } },
  columns = {
    { "PID", "%-6d" }, { "COMM", "%-12s" }, { "IP", "%-2d" }, { "SADDR", "%-16s", key = "laddr" }, { "DADDR", "%-16s", key = "raddr" },
    { "DPORT", "%-4d" },
  },
  example = [[
# tcpconnect-kpl
PID    COMM         IP SADDR            DADDR            DPORT
291    luajit       4  127.0.0.1        127.0.0.1        5555
291    luajit       4  127.0.0.1        127.0.0.1        5555
291    luajit       4  127.0.0.1        127.0.0.1        5555
291    luajit       4  127.0.0.1        127.0.0.1        5556

Connections that this machine begins: which services an application asks, and how often. Those
that the other side refuses are seen as well; what comes in is in tcpaccept.]],
}

local tcp = require "kprobe.tcp"
local port, connects = options.port or 0, event()
kretprobe { { "tcp_v4_connect", "tcp_v6_connect" }, when = options.when, maxactive = 256,
  entry = function(p, sk) p.data.sk = sk end,
  ret = function(p, result)
    local sk = p.data.sk
    local dport = ntohs(sk.__sk_common.skc_dport)
    if result ~= 0 or port ~= 0 and port ~= dport then return end
    connects {
      pid = pid(), comm = comm(), ip = tcp.version(sk), dport = dport,
      local4 = tcp.local4(sk), local6 = tcp.local6(sk), remote4 = tcp.remote4(sk), remote6 = tcp.remote6(sk),
    }
  end,
}
connects:each(function(e)
  tcp.name_addresses(e)
  out.row(e)
end)
