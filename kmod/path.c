// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * path(): the names of a dentry and of those above it, across mounts, read as
 * they are.  No lock is taken and no function of the kernel's is called, so a
 * path that is being renamed may come out as a mix of both; it never faults,
 * and it ends after KPL_PATH_STEPS.  Any context, preemption off.
 */
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/sched.h>

#include "guard.h"
#include "memory.h"
#include "words.h"

/* A name, with room before and behind it for the rest of its first and last word. */
struct kpl_name {
	char before[8];
	char bytes[NAME_MAX + 1 + 8];
};

/* The path grows from the end of dst to its beginning. */
struct kpl_walk {
	char *bytes;
	u32 at;			/* where it begins */
	bool cut;
	u64 mnt, dentry;	/* struct vfsmount, struct dentry */
	struct kpl_ctx *ctx;
	struct kpl_name name;	/* here it is cleared once, not at each step */
};

#define KPL_FIELD(to, type, base, member, label)				\
	kpl_read_kernel(to, typeof(to), (base) + offsetof(type, member), label)

static __always_inline void kpl_prepend(struct kpl_walk *w, const char *text, u32 len)
{
	if (len > w->at) {
		text += len - w->at;
		len = w->at;
		w->cut = true;
	}
	w->at -= len;
	memcpy(w->bytes + w->at, text, len);
}

/*
 * Word by word, the last one first: what is written before the beginning, up to
 * seven bytes, is written again, or is the string's header.
 */
static void kpl_prepend_words(struct kpl_walk *w, u32 len)
{
	const char *from = w->name.bytes + len;
	char *to = w->bytes + w->at;
	u32 room = w->at;
	u64 word;

	w->cut |= len > room;
	len = min(len, room);
	w->at = room - len;
	while ((s32)len > 0) {
		from -= 8;
		to -= 8;
		len -= 8;
		memcpy(&word, from, sizeof(word));
		memcpy(to, &word, sizeof(word));
	}
}

/* '/' and the dentry's own name, or the name alone; false: it can't be read. */
static bool kpl_prepend_name(struct kpl_walk *w, bool slash)
{
	u32 limit;
	u64 from;
	int len;

	w->name.bytes[0] = '/';
	KPL_FIELD(limit, struct dentry, w->dentry, d_name.len, fault);
	KPL_FIELD(from, struct dentry, w->dentry, d_name.name, fault);
	/* It ends with a zero byte, or where its length says. */
	limit = min_t(u32, limit, NAME_MAX);
	len = kpl_scan_kernel(w->ctx, w->name.bytes + slash, round_up(limit, 8), from);
	if (len < 0)
		return false;
	kpl_prepend_words(w, slash + min_t(u32, len, limit));
	return true;
fault:
	return false;
}

/* What is on no mount that anybody sees: "pipe:[12]" and the like. */
static bool kpl_prepend_pseudo(struct kpl_walk *w)
{
	unsigned long magic, ino;
	char number[20];
	u32 at = sizeof(number);
	u64 sb, inode;

	KPL_FIELD(sb, struct dentry, w->dentry, d_sb, fault);
	KPL_FIELD(magic, struct super_block, sb, s_magic, fault);
	switch (magic) {
	case ANON_INODE_FS_MAGIC:
		if (!kpl_prepend_name(w, false))
			return false;
		kpl_prepend(w, "anon_inode:", 11);
		return true;
	case PIPEFS_MAGIC:
	case SOCKFS_MAGIC:
		KPL_FIELD(inode, struct dentry, w->dentry, d_inode, fault);
		KPL_FIELD(ino, struct inode, inode, i_ino, fault);
		do {
			number[--at] = '0' + ino % 10;
			ino /= 10;
		} while (ino);
		kpl_prepend(w, "]", 1);
		kpl_prepend(w, number + at, sizeof(number) - at);
		if (magic == PIPEFS_MAGIC)
			kpl_prepend(w, "pipe:[", 6);
		else
			kpl_prepend(w, "socket:[", 8);
		return true;
	}
	kpl_prepend(w, " (deleted)", 10);
	return kpl_prepend_name(w, true);
fault:
	return false;
}

/* 1: one step up was made, 0: the path is complete, negative: it can't be read. */
static int kpl_step_up(struct kpl_walk *w, u64 offsets, bool first)
{
	u64 parent, mnt_root, mount, up, hashed;

	KPL_FIELD(mnt_root, struct vfsmount, w->mnt, mnt_root, fault);
	KPL_FIELD(parent, struct dentry, w->dentry, d_parent, fault);
	if (w->dentry == mnt_root) {
		mount = w->mnt - (offsets >> 20 & 0x3ff);
		kpl_read_kernel(up, u64, mount + (offsets & 0x3ff), fault);
		if (up == mount)
			return 0;
		kpl_read_kernel(w->dentry, u64, mount + (offsets >> 10 & 0x3ff), fault);
		w->mnt = up + (offsets >> 20 & 0x3ff);
		return 1;
	}
	if (w->dentry == parent)
		return first && !kpl_prepend_pseudo(w) ? -EFAULT : 0;
	if (first) {
		KPL_FIELD(hashed, struct dentry, w->dentry, d_hash.pprev, fault);
		if (!hashed)
			kpl_prepend(w, " (deleted)", 10);
	}
	if (!kpl_prepend_name(w, true))
		return -EFAULT;
	w->dentry = parent;
	return 1;
fault:
	return -EFAULT;
}

/* `len` bytes from `at` to the start. */
static void kpl_move_down(char *bytes, u32 at, u32 len)
{
	u32 i = 0;
	u64 word;

	for (; i + 8 <= len; i += 8) {
		memcpy(&word, bytes + at + i, sizeof(word));
		memcpy(bytes + i, &word, sizeof(word));
	}
	for (; i < len; i++)
		WRITE_ONCE(bytes[i], bytes[at + i]);
}

u64 kpl_h_path(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_str *str = (struct kpl_str *)r2;
	struct kpl_walk w = { .bytes = (char *)str->bytes, .at = r3, .ctx = kpl_ctx_of(r1) };
	u64 fs, root_mnt = 0, root_dentry = 0;
	int steps = 0, more = 1;
	u32 reason;

	if (kpl_faults_spent(w.ctx))
		goto fault;
	KPL_FIELD(w.mnt, struct path, r4, mnt, fault);
	KPL_FIELD(w.dentry, struct path, r4, dentry, fault);
	/* A task that ends has none: then the root of all mounts is the end. */
	fs = (unsigned long)READ_ONCE(current->fs);
	if (fs) {
		KPL_FIELD(root_mnt, struct fs_struct, fs, root.mnt, fault);
		KPL_FIELD(root_dentry, struct fs_struct, fs, root.dentry, fault);
	}
	while (!w.cut && !(w.dentry == root_dentry && w.mnt == root_mnt)) {
		w.cut = steps == KPL_PATH_STEPS;
		more = w.cut ? 0 : kpl_step_up(&w, r5, !steps++);
		if (more <= 0)
			break;
	}
	if (more < 0)
		goto fault;
	if (w.at == r3)
		kpl_prepend(&w, "/", 1);
	if (w.cut)
		kpl_count_cut(r1);
	kpl_move_down(str->bytes, w.at, r3 - w.at);
	return kpl_str_end(str, r3 - w.at);
fault:
	reason = kpl_fault_reason(w.ctx, KPL_STOP_READ);
	kpl_fault_count(w.ctx);
	return kpl_no_string(r1, str, reason, r4);
}
