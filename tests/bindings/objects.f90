! SPDX-License-Identifier: BSD-3-Clause
! What bindings/fortran has, used on all nodes. Prints "right", or stops.
module shop
    use teamster
    implicit none

    integer, parameter :: N_THREADS = 6, N_TURNS = 40

    type :: job
        type(tm_mutex) :: mutex
        type(tm_cond) :: changed
        type(tm_sem) :: rooms
        type(tm_rwlock) :: lock
        type(tm_barrier) :: meeting
        integer(c_int64_t) :: counter
        integer :: turn, guarded
        real(c_float), pointer :: cube(:, :, :)
        integer(c_int), pointer :: seen(:)
    end type

contains

    subroutine require(condition, what)
        logical, intent(in) :: condition
        character(*), intent(in) :: what

        if (.not. condition) then
            write (*, '(a, a)') 'wrong: ', what
            error stop 1
        end if
    end subroutine

    subroutine ok(status)
        integer(c_int), intent(in) :: status

        call require(status == TM_OK, 'a status')
    end subroutine

    function work(argument) bind(C) result(value)
        type(c_ptr), value :: argument
        type(c_ptr) :: value
        type(job), pointer :: our
        integer(c_int64_t) :: before, total
        real(c_double) :: most
        integer :: i, me

        call c_f_pointer(argument, our)
        me = int(tm_fetch_add(our%counter, 1_c_int64_t))
        our%seen(me + 1) = tm_node_self()
        do i = 1, N_TURNS
            call ok(tm_mutex_lock(our%mutex))
            do while (mod(our%turn, N_THREADS) /= me)
                call ok(tm_cond_wait(our%changed, our%mutex))
            end do
            our%turn = our%turn + 1
            call ok(tm_cond_broadcast(our%changed))
            call ok(tm_mutex_unlock(our%mutex))
            call ok(tm_sem_wait(our%rooms))
            call ok(tm_rwlock_wrlock(our%lock))
            our%guarded = our%guarded + 1
            call ok(tm_rwlock_unlock(our%lock))
            call ok(tm_sem_post(our%rooms))
        end do
        our%cube(:, :, me + 1) = real(me, c_float)
        call ok(tm_reduce_int64(our%meeting, TM_SUM, int(me, c_int64_t), total))
        call ok(tm_reduce_double(our%meeting, TM_MAX, 0.5d0 * me, most))
        call require(total == N_THREADS * (N_THREADS - 1) / 2, 'a sum')
        call require(most == 0.5d0 * (N_THREADS - 1), 'a maximum')
        call ok(tm_iteration_end(our%meeting))
        before = tm_fetch_add(our%counter, 0_c_int64_t)
        call require(before == N_THREADS, 'the counter')
        value = argument
    end function

end module shop

program objects
    use shop
    implicit none
    type(job), pointer :: our
    integer(tm_thread) :: threads(N_THREADS)
    integer(c_int64_t), pointer :: numbers(:)
    type(c_ptr) :: value
    integer(c_int) :: status
    integer :: i

    call tm_start()
    call tm_start(status)
    call require(status == TM_ESTATE, 'a second start')
    call c_f_pointer(tm_alloc(storage_size(our, c_size_t) / 8, name='job'), our)
    call tm_allocate(our%cube, 3, 5, N_THREADS, name='a name that is longer than reports have')
    call tm_allocate(our%seen, N_THREADS, attr=tm_alloc_attr(placement=TM_CYCLIC))
    call require(size(our%cube, 2) == 5 .and. size(our%cube) == 15 * N_THREADS, 'the shape')
    call require(maxval(abs(our%cube)) == 0, 'zeros')
    call ok(tm_sem_init(our%rooms, 2))
    call ok(tm_barrier_init(our%meeting, N_THREADS))
    do i = 1, N_THREADS
        call ok(tm_thread_create(threads(i), tm_thread_attr(), work, c_loc(our)))
    end do
    do i = 1, N_THREADS
        call ok(tm_thread_join(threads(i), value))
        call require(c_associated(value), 'what a thread returns')
    end do
    call require(our%turn == N_THREADS * N_TURNS .and. our%guarded == our%turn, 'turns')
    call require(maxval(our%seen) == tm_node_count() - 1, 'threads on all nodes')
    do i = 1, N_THREADS
        call require(.not. any(our%cube(:, :, i) /= real(i - 1, c_float)), 'the array')
    end do
    call tm_allocate(numbers, 1000)
    call tm_deallocate(numbers)
    call require(.not. associated(numbers), 'an array that is freed')
    call tm_deallocate(numbers, status)
    call tm_allocate(numbers, 10, attr=tm_alloc_attr(grain=3_c_size_t), stat=status)
    call require(status == TM_ENOMEM, 'an attribute that is refused')
    call tm_deallocate(our%cube)
    write (*, '(a)') 'right'
end program objects
