-- SPDX-License-Identifier: MIT
-- Sockets of TCP, for the tools on it: what handlers read of a struct sock, and what rows show of that.
local tcp = {}

tcp.states = { "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN",
  "CLOSING", "NEW_SYN_RECV" }

local inet, inet6 = 2, 10
function tcp.is_inet(sk) return sk.__sk_common.skc_family == inet or sk.__sk_common.skc_family == inet6 end
function tcp.version(sk)
  local ip = 4
  if sk.__sk_common.skc_family == inet6 then ip = 6 end
  return ip
end
-- Addresses of both families: one of them says nothing, see address().
function tcp.local4(sk) return ntop(sk.__sk_common.skc_rcv_saddr) end
function tcp.local6(sk) return ntop(sk.__sk_common.skc_v6_rcv_saddr) end
function tcp.remote4(sk) return ntop(sk.__sk_common.skc_daddr) end
function tcp.remote6(sk) return ntop(sk.__sk_common.skc_v6_daddr) end

-- An event's addresses, as text: of IPv4 within IPv6 as IPv4 has them.
function tcp.name_addresses(e)
  e.laddr = e.ip == 6 and (e.local6:gsub("^::ffff:(%d+%.)", "%1")) or e.local4
  e.raddr = e.ip == 6 and (e.remote6:gsub("^::ffff:(%d+%.)", "%1")) or e.remote4
end

return tcp
