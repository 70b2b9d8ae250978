-- SPDX-License-Identifier: MIT
-- ext4's operations on files, for ext4slower and ext4dist. `file` is for handlers at the call.
return {
  { func = "ext4_file_read_iter", name = "read", letter = "R", by_iocb = true, file = function(p) return p.args.iocb.ki_filp end },
  { func = "ext4_file_write_iter", name = "write", letter = "W", by_iocb = true, file = function(p) return p.args.iocb.ki_filp end },
  { func = "ext4_file_open", name = "open", letter = "O", file = function(p) return p.args.filp end },
  { func = "ext4_sync_file", name = "fsync", letter = "S", file = function(p) return p.args.file end },
}
