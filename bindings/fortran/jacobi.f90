! SPDX-License-Identifier: BSD-3-Clause
! Heat in a square plate, by Jacobi's method: jacobi [SIZE [ITERATIONS [THREADS]]].
module plate
    use teamster
    implicit none

    ! What all threads are given: it lies in shared memory, and so does what it points to.
    type :: job
        real(c_double), pointer :: one(:, :), other(:, :)
        type(tm_barrier) :: meeting
        integer :: n_rows, n_iterations, n_threads
    end type

    type :: task
        type(job), pointer :: job
        integer :: me
    end type

contains

    elemental function start_value(row, column) result(value)
        integer, intent(in) :: row, column
        real(c_double) :: value

        value = real(iand(row * 31 + column * 17, 127), c_double) * 0.125d0
    end function

    subroutine step(to, from, first, last)
        real(c_double), intent(inout) :: to(0:, 0:)
        real(c_double), intent(in) :: from(0:, 0:)
        integer, intent(in) :: first, last
        integer :: i, row

        do row = first, last
            do i = 1, ubound(from, 1) - 1
                to(i, row) = 0.25d0 * (from(i, row - 1) + from(i, row + 1) + &
                    from(i - 1, row) + from(i + 1, row))
            end do
        end do
    end subroutine

    function work(argument) bind(C) result(value)
        type(c_ptr), value :: argument
        type(c_ptr) :: value
        type(task), pointer :: mine
        type(job), pointer :: our
        integer :: i, first, last, status

        call c_f_pointer(argument, mine)
        our => mine%job
        first = our%n_rows * mine%me / our%n_threads + 1
        last = our%n_rows * (mine%me + 1) / our%n_threads
        do i = 1, our%n_iterations
            if (mod(i, 2) == 1) then
                call step(our%other, our%one, first, last)
            else
                call step(our%one, our%other, first, last)
            end if
            status = tm_iteration_end(our%meeting)
        end do
        value = c_null_ptr
    end function

end module plate

program jacobi
    use plate
    implicit none
    type(job), pointer :: our
    type(task), pointer :: tasks(:)
    real(c_double), pointer :: grid(:, :)
    integer(tm_thread), allocatable :: threads(:)
    real(c_double) :: total
    integer :: n, me, i, row, status

    call tm_start()
    call c_f_pointer(tm_alloc(storage_size(our, c_size_t) / 8), our)
    n = argument(1, 256)
    our%n_rows = n
    our%n_iterations = argument(2, 50)
    our%n_threads = argument(3, 8)
    call tm_allocate(our%one, n + 2, n + 2, name='one')
    call tm_allocate(our%other, n + 2, n + 2, name='other')
    do row = 0, n + 1
        do i = 0, n + 1
            our%one(i + 1, row + 1) = start_value(row, i)
        end do
    end do
    our%other = our%one

    status = tm_barrier_init(our%meeting, our%n_threads)
    call c_f_pointer(tm_alloc(storage_size(tasks, c_size_t) / 8 * our%n_threads), tasks, &
        [our%n_threads])
    allocate (threads(our%n_threads))
    do me = 0, our%n_threads - 1
        tasks(me + 1)%job => our
        tasks(me + 1)%me = me
        status = tm_thread_create(threads(me + 1), start=work, argument=c_loc(tasks(me + 1)))
        if (status /= TM_OK) error stop 'no thread'
    end do
    do me = 1, our%n_threads
        status = tm_thread_join(threads(me))
    end do

    grid => our%one
    if (mod(our%n_iterations, 2) == 1) grid => our%other
    total = 0
    do row = 1, n + 2
        do i = 1, n + 2
            total = total + grid(i, row)
        end do
    end do
    write (*, '(a, z16.16)') 'sum: ', total
    call tm_deallocate(our%one)
    call tm_deallocate(our%other)

contains

    function argument(i, otherwise) result(number)
        integer, intent(in) :: i, otherwise
        integer :: number
        character(32) :: text

        number = otherwise
        if (i <= command_argument_count()) then
            call get_command_argument(i, text)
            read (text, *) number
        end if
    end function

end program jacobi
