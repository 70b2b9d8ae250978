-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "network",
  description = "Shows packets of TCP that the kernel drops, why, and where.",
  needs = { drop = { "sk_skb_reason_drop", "kfree_skb_reason" } },
  instead = "funccount 'kfree_skb*' counts them",
  options = { { "-s --no-stack", "without the way to the drop" } },
  columns = {
    { "TIME", "%-8s" }, { "PID", "%-7d" }, { "IP", "%-2d" }, { "SADDR:SPORT", "%-20s", key = "from" }, { ">", "%1s", always = ">" },
    { "DADDR:DPORT", "%-20s", key = "to" }, { "FLAGS", "%-8s" }, { "REASON", "%s" },
  },
  example = [[
# tcpdrop-kpl
TIME     PID     IP SADDR:SPORT          > DADDR:DPORT          FLAGS    REASON
06:58:23 307     4  127.0.0.1:5555       > 127.0.0.1:51158      FIN|ACK  QUEUE_PURGE
    sk_skb_reason_drop
    sk_stream_kill_queues+0x5e
    inet_csk_destroy_sock+0x59
    tcp_fin+0xf6
    tcp_data_queue+0x98d
    tcp_rcv_state_process+0x5b3

A connection to a port where nobody listens ends so: NO_SOCKET. What the packet filter drops, and
what comes twice, is seen with its reason and the functions on the way.]],
}

local names = { [0x01] = "FIN", [0x02] = "SYN", [0x04] = "RST", [0x08] = "PSH", [0x10] = "ACK" }
local silent = options.no_stack
local drops = event()
-- Reasons of drops begin behind those that say that a packet was used up.
local function trace(skb, reason)
  if reason <= SKB_DROP_REASON_NOT_SPECIFIED or skb.network_header == 0 then return end
  local head = skb.head
  local ip = ffi.cast("struct iphdr *", head + skb.network_header)
  local four, protocol = bit.rshift(ffi.cast("const uint8_t *", ip)[0], 4) == 4
  local transport = skb.network_header + 40
  if four then
    protocol = ip.protocol
    transport = skb.network_header + 4 * bit.band(ffi.cast("const uint8_t *", ip)[0], 15)
  else
    protocol = ffi.cast("struct ipv6hdr *", ip).nexthdr
  end
  if protocol ~= 6 then return end
  local header = ffi.cast("struct tcphdr *", head + transport)
  local flags = ffi.cast("const uint8_t *", header)[13]
  local e = {
    pid = pid(), sport = ntohs(header.source), dport = ntohs(header.dest), bits = flags, reason = enumname("enum skb_drop_reason", reason),
  }
  if four then
    e.ip, e.source4, e.dest4 = 4, ntop(ip.saddr), ntop(ip.daddr)
  else
    local six = ffi.cast("struct ipv6hdr *", ip)
    e.ip, e.source6, e.dest6 = 6, ntop(six.saddr), ntop(six.daddr)
  end
  if not silent then e.stack = kstack(16) end
  drops(e)
end
if options.needs.drop == "sk_skb_reason_drop" then
  kprobe("sk_skb_reason_drop", function(p, sk, skb, reason) trace(skb, reason) end)
else
  kprobe("kfree_skb_reason", function(p, skb, reason) trace(skb, reason) end)
end
drops:each(function(e)
  local flags = {}
  for i = 0, 4 do
    if bit.band(e.bits, bit.lshift(1, i)) ~= 0 then flags[#flags + 1] = names[bit.lshift(1, i)] end
  end
  e.from, e.to = (e.source4 or e.source6) .. ":" .. e.sport, (e.dest4 or e.dest6) .. ":" .. e.dport
  e.flags, e.reason = table.concat(flags, "|"), (tostring(e.reason):gsub("^SKB_DROP_REASON_", ""))
  out.row(e)
  if e.stack then out:stack(e.stack) end
end)
