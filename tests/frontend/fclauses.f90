! SPDX-License-Identifier: BSD-3-Clause
! OpenMP in Fortran: reductions of tasks, loops whose iterations wait for others, cancel,
! target, scope, allocators, unusual calls of the library.
module values
    implicit none
    integer, parameter :: n = 40
    integer :: list(n), grid(0:n, 0:n)
end module values

program fclauses
    use omp_lib
    use values
    implicit none
    integer :: i, k, total, product, last
    real(8) :: sums(4)
    integer(8) :: wide
    integer(omp_allocator_handle_kind) :: allocator
    integer(omp_event_handle_kind) :: event

    call omp_set_num_threads(4)
    total = 0
    product = 1
    sums = 0
    !$omp parallel reduction(task, +: total)
    !$omp task in_reduction(+: total)
    total = total + 1
    !$omp end task
    !$omp do reduction(task, +: sums) schedule(dynamic, 3)
    do i = 1, n
        !$omp task in_reduction(+: sums) firstprivate(i)
        sums(mod(i, 4) + 1) = sums(mod(i, 4) + 1) + i
        !$omp end task
    end do
    !$omp end do
    !$omp scope reduction(*: product)
    product = product * 2
    !$omp end scope
    !$omp end parallel
    print *, 'reductions', total, nint(sums), product

    !$omp parallel
    !$omp single
    !$omp taskloop reduction(+: total) grainsize(3)
    do i = n, 1, -1
        total = total + i
    end do
    !$omp end taskloop
    !$omp end single
    !$omp end parallel
    print *, 'taskloop', total

    grid = 1
    !$omp parallel do ordered(2) schedule(dynamic, 2)
    do i = 1, n
        do k = 1, n
            !$omp ordered depend(sink: i - 1, k) depend(sink: i, k - 1)
            grid(i, k) = mod(grid(i - 1, k) + 3 * grid(i, k - 1), 1009)
            !$omp ordered depend(source)
        end do
    end do
    !$omp end parallel do
    print *, 'grid', sum(grid)

    wide = 0
    !$omp parallel do reduction(+: wide) schedule(guided)
    do i = 1, n
        wide = wide + i
    end do
    !$omp end parallel do
    last = -1
    !$omp parallel do lastprivate(conditional: last) schedule(dynamic)
    do i = 1, n
        if (mod(i, 7) == 3) last = i
    end do
    !$omp end parallel do
    print *, 'last', wide, last

    list = 0
    !$omp parallel do
    do i = 1, n
        !$omp cancellation point do
        list(i) = i
        if (i == 1) then
            !$omp cancel do
        end if
    end do
    !$omp end parallel do
    print *, 'cancel', list(1), omp_get_cancellation()

    !$omp target map(tofrom: list) firstprivate(last)
    last = last + 1
    list(2) = last
    !$omp end target
    !$omp target teams distribute parallel do map(tofrom: list)
    do i = 3, n
        list(i) = 2 * i
    end do
    !$omp end target teams distribute parallel do
    print *, 'target', list(2), sum(list(3:)), last

    !$omp parallel num_threads(2)
    !$omp single
    !$omp task detach(event)
    list(1) = 7
    !$omp end task
    !$omp task shared(event)
    list(2) = 8
    call omp_fulfill_event(event)
    !$omp end task
    !$omp end single
    !$omp end parallel
    print *, 'event', list(1), list(2)
    call give_device(list(1))
    call give_device()
    print *, 'optional', list(1), omp_get_ancestor_thread_num(-huge(wide)), &
        omp_get_team_size(huge(wide))

    allocator = omp_get_default_allocator()
    call omp_set_default_allocator(allocator)
    print *, 'calls', allocator, omp_get_max_teams(), omp_get_place_num_procs(0), &
        omp_get_num_teams(), omp_get_team_num(), omp_get_thread_limit()
contains
    subroutine give_device(there)
        integer, optional :: there

        !$omp target data map(there) use_device_addr(there)
        !$omp target has_device_addr(there)
        if (present(there)) there = there + 1
        !$omp end target
        !$omp end target data
    end subroutine give_device
end program fclauses
