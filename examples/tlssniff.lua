#!/usr/bin/env kprobe-lua
-- What do programs say over TLS? What they give to the library, before it is encrypted, and what they get from it.
--
--   kprobe-lua tlssniff.lua                of OpenSSL's library
--   kprobe-lua tlssniff.lua /opt/server    of a program that has SSL_read() and SSL_write() in it
--
-- Out: a line for each call, as it comes:
--   curl(812) > GET / HTTP/1.1
--   curl(812) < HTTP/1.1 200 OK
local library, said = arg[1] or "libssl", event()
uprobe(library .. ":SSL_write", function(p, ssl, buffer, size)
  said { comm = comm(), pid = pid(), way = ">", text = ubuf(buffer, size) }
end)
uretprobe { library .. ":SSL_read",
  entry = function(p, ssl, buffer) p.data.buffer = buffer end,
  ret = function(p, size)
    size = ffi.cast("int32_t", size)
    if size > 0 then said { comm = comm(), pid = pid(), way = "<", text = ubuf(p.data.buffer, size) } end
  end,
}
said:each(function(e)
  for line in e.text:gmatch "[^\r\n]+" do print(("%s(%d) %s %s"):format(e.comm, e.pid, e.way, (line:gsub("%c", "?")))) end
end)
