// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Maps as user space sees them: created, mapped, cleared, accessed.  Process context. */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/agg.h"
#include "core/args.h"
#include "area.h"
#include "guard.h"
#include "map.h"

#define KPL_DEFAULT_ENTRIES	4096
#define KPL_BUSY_TRIES	100	/* of user space's own access to a locked bucket */

struct kpl_map *kpl_map_get(struct kpl_session *s, u32 id)
{
	return xa_load(&s->maps, id);
}

/* ----------------------------------------------------------------- creation */

static void kpl_map_init(struct kpl_map *map, const struct kpl_map_create *arg)
{
	map->shape = (struct kpl_shape) {
		.kind = arg->kind,
		.key_size = arg->key_size,
		.value_size = arg->value_size,
		.max_entries = arg->max_entries ?: KPL_DEFAULT_ENTRIES,
		.key_string = arg->key_string,
		.seed = get_random_u64(),
	};
	if (kpl_map_is_agg(map)) {
		const struct kpl_agg_desc *desc = &kpl_agg_descs[arg->kind];

		map->agg.update = kpl_agg_update_of(desc);
		map->agg.holds = desc->holds;
		map->agg.lo = arg->lo;
		map->agg.step = arg->step;
		map->shape.value_size = 8 * kpl_agg_words(desc, arg->lo, arg->hi, arg->step);
	}
}

static void kpl_map_free(struct kpl_session *s, struct kpl_map *map)
{
	if (kpl_map_is_agg(map))
		kpl_agg_free(&map->agg);
	else
		kpl_hash_free(&map->hash);
	kpl_uncharge(s, map->charged);
	kfree(map);
}

static struct kpl_map *kpl_map_alloc(struct kpl_session *s, const struct kpl_map_create *arg)
{
	struct kpl_map *map = kzalloc(sizeof(*map), KPL_GFP);
	u64 memory, rest = sizeof(*map);
	int err;

	if (!map)
		return ERR_PTR(-ENOMEM);
	kpl_map_init(map, arg);
	memory = kpl_map_is_agg(map) ? kpl_agg_memory(&map->agg) : kpl_hash_memory(&map->hash);
	rest += kpl_map_is_agg(map) ? kpl_agg_rest(&map->agg) : 0;
	memory = size_add(memory, rest);	/* U64_MAX stays so: too much */
	err = kpl_charge(s, memory);
	if (err) {
		kfree(map);
		return ERR_PTR(err);
	}
	map->charged = memory;
	err = kpl_map_is_agg(map) ? kpl_agg_alloc(&map->agg, s) : kpl_hash_alloc(&map->hash);
	if (kpl_map_is_agg(map) && map->agg.areas)
		map->charged = rest;	/* the others to its areas */
	if (err) {
		kpl_map_free(s, map);
		return ERR_PTR(err);
	}
	return map;
}

static u64 kpl_map_mapped(const struct kpl_map *map)
{
	return map->agg.bank_size * KPL_BANKS * nr_cpu_ids;
}

static void kpl_map_describe(const struct kpl_map *map, struct kpl_map_create *arg)
{
	arg->value_size = map->shape.value_size;
	arg->max_entries = map->shape.max_entries;
	arg->nr_cells = 0;
	arg->cell_size = 0;
	arg->nr_banks = 0;
	arg->bank_size = 0;
	arg->mmap_off = 0;
	arg->mmap_size = 0;
	if (!kpl_map_is_agg(map))
		return;
	arg->nr_cells = map->shape.key_size ? map->shape.max_entries : 1;
	arg->cell_size = map->agg.cell_size;
	arg->nr_banks = KPL_BANKS;
	arg->bank_size = map->agg.bank_size;
	arg->mmap_off = KPL_OFF(KPL_OFF_MAP, arg->id, KPL_MAP_STRIDE);
	arg->mmap_size = kpl_map_mapped(map);
}

int kpl_map_create(struct kpl_session *s, struct kpl_map_create *arg)
{
	struct kpl_map *map;
	int err = kpl_check_map_create(arg);

	if (err)
		return err;
	map = kpl_map_alloc(s, arg);
	if (IS_ERR(map))
		return PTR_ERR(map);
	err = xa_alloc(&s->maps, &arg->id, map, XA_LIMIT(0, KPL_MAX_MAPS - 1), KPL_GFP);
	if (err) {
		kpl_map_free(s, map);
		return err == -EBUSY ? -E2BIG : err;	/* all numbers are taken */
	}
	s->nr_maps = max(s->nr_maps, arg->id + 1);
	kpl_map_describe(map, arg);
	return 0;
}

void kpl_map_drop(struct kpl_session *s, u32 id)
{
	struct kpl_map *map;

	mutex_lock(&s->maps_lock);
	map = xa_erase(&s->maps, id);
	mutex_unlock(&s->maps_lock);
	kpl_map_free(s, map);
}

void kpl_maps_free(struct kpl_session *s)
{
	struct kpl_map *map;
	unsigned long id;

	xa_for_each(&s->maps, id, map)
		kpl_map_free(s, map);
	xa_destroy(&s->maps);
}

/* mmap_lock is held.  Pages that are mapped outlive the map. */
int kpl_map_mmap(struct kpl_session *s, struct vm_area_struct *vma, u64 off)
{
	struct kpl_map *map;
	int err = -EINVAL;

	mutex_lock(&s->maps_lock);
	map = kpl_map_get(s, off / KPL_MAP_STRIDE);
	if (map && kpl_map_is_agg(map) && off % KPL_MAP_STRIDE == 0)
		err = kpl_areas_mmap(map->agg.areas, vma, 0);
	mutex_unlock(&s->maps_lock);
	return err;
}

int kpl_map_clear(struct kpl_session *s, struct kpl_map_clear *arg)
{
	struct kpl_map *map = kpl_map_get(s, arg->id);
	int err = kpl_check_map_clear(arg);

	if (err)
		return err;
	if (!map || !kpl_map_is_agg(map))
		return -EINVAL;
	arg->bank = map->agg.active;
	kpl_agg_clear(&map->agg);
	arg->active = map->agg.active;
	return 0;
}

int kpl_map_info(struct kpl_session *s, struct kpl_map_info *arg)
{
	struct kpl_map *map = kpl_map_get(s, arg->id);

	if (!map)
		return -EINVAL;
	*arg = (struct kpl_map_info) { .id = arg->id, .memory = map->charged };
	if (kpl_map_is_agg(map)) {
		arg->memory += READ_ONCE(map->agg.areas->charged);
		arg->active = map->agg.active;
		arg->lost = kpl_agg_lost(&map->agg);
	} else {
		arg->entries = atomic_read(&map->hash.used);
		arg->lost = atomic64_read(&map->hash.lost);
		arg->busy = atomic64_read(&map->hash.busy);
	}
	return 0;
}

/* ------------------------------------------------- user space's own accesses */

/* Nobody's handler. */
static const struct kpl_origin kpl_map_user;

static enum kpl_hash_result kpl_map_access(struct kpl_map *map, u32 op, u32 at, u64 *key,
					   u64 *value)
{
	struct kpl_ctx *ctx = kpl_guard_get(&kpl_map_user);
	enum kpl_hash_result result;

	switch (op) {
	case KPL_MAP_GET:
		result = kpl_hash_read(&map->hash, key, value);
		break;
	case KPL_MAP_SET:
		result = kpl_hash_write(&map->hash, key, value);
		break;
	case KPL_MAP_DELETE:
		result = kpl_hash_delete(&map->hash, key);
		break;
	default:
		result = kpl_hash_entry(&map->hash, at, key, value);
		break;
	}
	kpl_guard_put(ctx);
	return result;
}

static enum kpl_hash_result kpl_map_try(struct kpl_map *map, u32 op, u32 at, u64 *key, u64 *value)
{
	enum kpl_hash_result result;
	u32 tries;

	for (tries = 0; tries < KPL_BUSY_TRIES; tries++) {
		result = kpl_map_access(map, op, at, key, value);
		if (result != KPL_HASH_BUSY)
			return result;
		cond_resched_tasks_rcu_qs();
	}
	return result;		/* user space is told: handlers' alone are counted */
}

/* The next entry in use at or after the cursor; -ENOENT at the end. */
static int kpl_map_next(struct kpl_map *map, struct kpl_map_op *arg, u64 *key, u64 *value)
{
	u64 at;

	for (at = arg->cursor + 1; at && at < map->hash.nr_entries; at++) {
		switch (kpl_map_try(map, KPL_MAP_NEXT, at, key, value)) {
		case KPL_HASH_DONE:
			arg->cursor = at;
			return 0;
		case KPL_HASH_BUSY:
			return -EBUSY;
		default:
			break;
		}
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched_tasks_rcu_qs();
	}
	return -ENOENT;
}

static int kpl_map_do(struct kpl_map *map, struct kpl_map_op *arg, u64 *key, u64 *value)
{
	static const int errors[] = {
		[KPL_HASH_DONE] = 0,
		[KPL_HASH_ABSENT] = -ENOENT,
		[KPL_HASH_FULL] = -ENOSPC,
		[KPL_HASH_BUSY] = -EBUSY,
	};

	if (arg->op == KPL_MAP_NEXT)
		return kpl_map_next(map, arg, key, value);
	return errors[kpl_map_try(map, arg->op, 0, key, value)];
}

/* A key and a value on their way between user space and a map of these sizes. */
struct kpl_map_pair {
	u32 key_size, value_size;
	u64 *key, *value;
};

/* The sizes to copy; the map may be another one when the session is locked again. */
static int kpl_map_sizes(struct kpl_session *s, u32 id, struct kpl_map_pair *p)
{
	int err = kpl_session_lock(s);
	struct kpl_map *map;

	if (err)
		return err;
	map = kpl_map_get(s, id);
	if (!map || kpl_map_is_agg(map)) {
		err = -EINVAL;
	} else {
		p->key_size = map->shape.key_size;
		p->value_size = map->shape.value_size;
	}
	kpl_session_unlock(s);
	return err;
}

static int kpl_map_copy_in(const struct kpl_map_op *arg, const struct kpl_map_pair *p)
{
	if (arg->op != KPL_MAP_NEXT &&
	    copy_from_user(p->key, u64_to_user_ptr(arg->key), p->key_size))
		return -EFAULT;
	if (arg->op == KPL_MAP_SET &&
	    copy_from_user(p->value, u64_to_user_ptr(arg->value), p->value_size))
		return -EFAULT;
	return 0;
}

static int kpl_map_copy_out(const struct kpl_map_op *arg, const struct kpl_map_pair *p)
{
	if (arg->op == KPL_MAP_NEXT &&
	    copy_to_user(u64_to_user_ptr(arg->key), p->key, p->key_size))
		return -EFAULT;
	if ((arg->op == KPL_MAP_NEXT || arg->op == KPL_MAP_GET) &&
	    copy_to_user(u64_to_user_ptr(arg->value), p->value, p->value_size))
		return -EFAULT;
	return 0;
}

static int kpl_map_do_locked(struct kpl_session *s, struct kpl_map_op *arg,
			     const struct kpl_map_pair *p)
{
	int err = kpl_session_lock(s);
	struct kpl_map *map;

	if (err)
		return err;
	map = kpl_map_get(s, arg->id);
	if (!map || kpl_map_is_agg(map) || map->shape.key_size != p->key_size ||
	    map->shape.value_size != p->value_size)
		err = -EINVAL;
	else
		err = kpl_map_do(map, arg, p->key, p->value);
	kpl_session_unlock(s);
	return err;
}

int kpl_map_op(struct kpl_session *s, struct kpl_map_op *arg)
{
	struct kpl_map_pair p;
	int err;

	u64 from = arg->cursor;

	err = kpl_check_map_op(arg) ?: kpl_map_sizes(s, arg->id, &p);
	if (err)
		return err;
	p.key = kvzalloc(p.key_size + p.value_size, KPL_GFP);
	if (!p.key)
		return -ENOMEM;
	p.value = p.key + p.key_size / 8;
	err = kpl_map_copy_in(arg, &p);
	if (!err)
		err = kpl_map_do_locked(s, arg, &p);
	if (!err)
		err = kpl_map_copy_out(arg, &p);
	if (err)
		arg->cursor = from;	/* what was not told is next */
	kvfree(p.key);
	return err;
}
