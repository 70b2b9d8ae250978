/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Maps of a session: aggregations for each CPU (agg.c) and the shared hash (hash.c). */
#ifndef KPL_MAP_H
#define KPL_MAP_H

#include "agg.h"
#include "hash.h"
#include "session.h"

/* Programs know it by its address, which is that of what it is. */
struct kpl_map {
	union {
		struct kpl_shape shape;
		struct kpl_agg agg;
		struct kpl_hash hash;
	};
	u64 charged;		/* without what aggregations have in their areas */
};

static_assert(!offsetof(struct kpl_agg, shape) && !offsetof(struct kpl_hash, shape));

static inline bool kpl_map_is_agg(const struct kpl_map *map)
{
	return map->shape.kind < KPL_MAP_HASH;
}

struct kpl_map *kpl_map_get(struct kpl_session *s, u32 id);
void kpl_maps_free(struct kpl_session *s);
/* Of one that is there; no program may use it. */
void kpl_map_drop(struct kpl_session *s, u32 id);
int kpl_map_mmap(struct kpl_session *s, struct vm_area_struct *vma, u64 off);

int kpl_map_create(struct kpl_session *s, struct kpl_map_create *arg);
int kpl_map_clear(struct kpl_session *s, struct kpl_map_clear *arg);
int kpl_map_info(struct kpl_session *s, struct kpl_map_info *arg);
int kpl_map_op(struct kpl_session *s, struct kpl_map_op *arg);

#endif
