! SPDX-License-Identifier: BSD-3-Clause
! Fortran with OpenMP: a module's arrays, COMMON blocks, SAVE, threadprivate with copyin,
! reductions of arrays, ordered, locks, files.
module grid
  implicit none
  integer, parameter :: n = 200
  real(8), save :: u(n, n)
  real(8), allocatable :: w(:, :)
  integer :: counter = 5
end module grid

subroutine fill(k)
  use grid
  integer, intent(in) :: k
  integer :: i, j, places(1000)
  real(8) :: total
  common /sums/ total, places
!$omp parallel do private(i) schedule(static)
  do j = 1, n
    do i = 1, n
      u(i, j) = i + j*k
      w(i, j) = i*j
    end do
    places(j) = places(j) + j
  end do
!$omp end parallel do
end subroutine fill

real(8) function smooth(before, after, m) result(sum)
  implicit none
  integer, intent(in) :: m
  real(8), intent(in) :: before(m, m)
  real(8), intent(out) :: after(m, m)
  integer :: i, j
  sum = 0
!$omp parallel do private(i) reduction(+:sum) schedule(dynamic, 4)
  do j = 2, m - 1
    do i = 2, m - 1
      after(i, j) = (before(i-1, j) + before(i+1, j) + before(i, j-1) + before(i, j+1))/4
      sum = sum + after(i, j)
    end do
  end do
!$omp end parallel do
end function smooth

program main
  use omp_lib
  use grid
  implicit none
  integer :: i, it, places(1000), seen, bins(8), own(10), lines(20), last
  integer, save :: kept = 3
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  real(8) :: total, sum, smooth, kinds(3)
  character(20) :: text
  common /sums/ total, places
  common /mine/ own
!$omp threadprivate(/mine/)
  call omp_set_num_threads(4)
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  places = 0
  allocate (w(n, n))
  do it = 1, 3
    call fill(it)
    sum = smooth(u, w, n)
    write (*, '(a,i3,f20.3)') 'iteration', it, sum
  end do
  own = 17
  seen = 0
  bins = 0
!$omp parallel copyin(/mine/) reduction(+:seen) private(i)
  seen = seen + own(10)
  call omp_set_lock(lock)
  counter = counter + 1
  call omp_unset_lock(lock)
  call omp_set_nest_lock(nest)
  call omp_set_nest_lock(nest)
  kept = kept + 1
  call omp_unset_nest_lock(nest)
  call omp_unset_nest_lock(nest)
!$omp do reduction(+:bins)
  do i = 1, 1000
    bins(mod(i, 8) + 1) = bins(mod(i, 8) + 1) + i
  end do
!$omp end do
!$omp workshare
  w = 2*u + 1
!$omp end workshare
  own(1) = omp_get_thread_num()
!$omp end parallel
  last = 0
!$omp parallel do ordered schedule(dynamic)
  do i = 1, 20
!$omp ordered
    last = last + 1
    lines(last) = i
!$omp end ordered
  end do
!$omp end parallel do
!$omp parallel sections
!$omp section
  kinds(1) = 1.5
!$omp section
  kinds(2) = 2.5
!$omp section
  kinds(3) = 3.5
!$omp end parallel sections
  print *, 'seen', seen, counter, kept, own(1)
  print *, bins
  print *, lines, kinds
  print *, maxval(w), w(3, 4), places(7), omp_get_max_threads(), omp_in_parallel()
  open (10, status='scratch', form='formatted')
  write (10, '(a,i5)') 'line', counter
  rewind (10)
  read (10, '(a)') text
  close (10)
  print *, trim(text)
  call omp_destroy_lock(lock)
  if (seen /= 68) stop 3
end program main
