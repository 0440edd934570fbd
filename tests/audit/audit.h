// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_AUDIT_AUDIT_H
#define TESTS_AUDIT_AUDIT_H
/*
 * Put in front of a program that is to be audited (-include): its calls go through the
 * recorder, which calls what they name. `record.c` does not see the names.
 */
#define tm_init_program audit_init_program
#define tm_alloc_at audit_alloc_at
#define tm_realloc_at audit_realloc_at
#define tm_thread_create audit_thread_create
#define tm_thread_join audit_thread_join
#define tm_thread_exit audit_thread_exit
#define tm_mutex_lock audit_mutex_lock
#define tm_mutex_trylock audit_mutex_trylock
#define tm_mutex_timedlock audit_mutex_timedlock
#define tm_mutex_unlock audit_mutex_unlock
#define tm_cond_wait audit_cond_wait
#define tm_cond_timedwait audit_cond_timedwait
#define tm_sem_init audit_sem_init
#define tm_sem_wait audit_sem_wait
#define tm_sem_trywait audit_sem_trywait
#define tm_sem_timedwait audit_sem_timedwait
#define tm_sem_post audit_sem_post
#define tm_rwlock_rdlock audit_rwlock_rdlock
#define tm_rwlock_tryrdlock audit_rwlock_tryrdlock
#define tm_rwlock_timedrdlock audit_rwlock_timedrdlock
#define tm_rwlock_wrlock audit_rwlock_wrlock
#define tm_rwlock_trywrlock audit_rwlock_trywrlock
#define tm_rwlock_timedwrlock audit_rwlock_timedwrlock
#define tm_rwlock_unlock audit_rwlock_unlock
#define tm_once_run audit_once_run
#define tm_key_create audit_key_create
#define tm_barrier_init audit_barrier_init
#define tm_barrier_wait audit_barrier_wait
#define tm_iteration_end audit_iteration_end
#define tm_reduce_double audit_reduce_double
#define tm_reduce_int64 audit_reduce_int64
#define tm_fetch_add audit_fetch_add
#define tm_exchange audit_exchange
#define tm_compare_exchange audit_compare_exchange
#define tm_atomic_load audit_atomic_load
#define tm_atomic_store audit_atomic_store

#include <stdio.h>
#include <string.h>

void *audit_memcpy(void *to, const void *from, size_t n);
void *audit_memmove(void *to, const void *from, size_t n);
void *audit_memset(void *to, int value, size_t n);
size_t audit_fread(void *to, size_t size, size_t n, FILE *file);
#define memcpy audit_memcpy
#define memmove audit_memmove
#define memset audit_memset
#define fread audit_fread

#endif
