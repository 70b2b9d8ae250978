# SPDX-License-Identifier: MIT
# Functions of a loadable module that kernel developers marked for error injection: that module's alone.
inject() { run kprobe-lua --unsafe=inject -c true -e "kprobe { '$1', pre = function() override($2) end }"; }
inject btrfs_cow_block -5
status 0
inject btrfs:btrfs_cow_block -5
status 0
inject btrfs_cow_block 5
err '^-e:1: 5 is not a value that btrfs:btrfs_cow_block is marked for: it returns -1 to -4095 then$'
inject btrfs_read_block_groups -5
status 1
err '^-e:1: kernel developers have not marked btrfs:btrfs_read_block_groups for error injection'
