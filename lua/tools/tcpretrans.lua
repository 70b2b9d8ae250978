-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "network",
  description = "Shows what TCP sends a second time, and in which state.",
  needs = { "tcp_retransmit_skb", "tcp_send_loss_probe" },
  options = { { "-l --lossprobe", "probes for loss, too (L)" } },
  columns = {
    { "TIME", "%-8s" }, { "PID", "%-7d" }, { "IP", "%-2d" }, { "LADDR:LPORT", "%-20s", key = "here" }, { "T>", "%1s", key = "t" },
    { "RADDR:RPORT", "%-20s", key = "there" }, { "STATE", "%s" },
  },
  example = [[
# tcpretrans-kpl
TIME     PID     IP LADDR:LPORT          T> RADDR:RPORT          STATE
06:58:20 0       4  127.0.0.1:40784      R 127.0.0.1:5557       SYN_SENT
06:58:20 0       4  127.0.0.1:40780      R 127.0.0.1:5557       SYN_SENT

Each is a packet that was lost, or whose answer was. In SYN_SENT nobody answers at all: a firewall,
or a machine that is down. PID is whoever runs then, often 0.]],
}

local tcp = require "kprobe.tcp"
local again = event()
local function trace(name, letter)
  kprobe(name, function(p, sk)
    again {
      pid = pid(), ip = tcp.version(sk), t = letter, lport = sk.__sk_common.skc_num, rport = ntohs(sk.__sk_common.skc_dport),
      number = sk.__sk_common.skc_state,
      local4 = tcp.local4(sk), local6 = tcp.local6(sk), remote4 = tcp.remote4(sk), remote6 = tcp.remote6(sk),
    }
  end)
end
trace("tcp_retransmit_skb", "R")
if options.lossprobe then trace("tcp_send_loss_probe", "L") end
again:each(function(e)
  tcp.name_addresses(e)
  e.here, e.there, e.state = e.laddr .. ":" .. e.lport, e.raddr .. ":" .. e.rport, tcp.states[e.number] or e.number
  out.row(e)
end)
