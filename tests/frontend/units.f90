! SPDX-License-Identifier: BSD-3-Clause
! Input and output of several threads: on units that main() has opened, more threads than nodes on each; a
! statement in the list of another one; on variables; what only a thread has; by name; and an internal
! procedure that is passed on, for which the compiler writes instructions on the stack.
module told
  implicit none
contains
  integer function saying(i)
    integer, intent(in) :: i
    character(20) :: text
    write(text, '(i0)') i
    write(13, '(a, a)') 'said ', trim(text)
    saying = len_trim(text)
  end function saying

  real(8) function integral(f, n)
    interface
      real(8) function f(x)
        real(8), intent(in) :: x
      end function f
    end interface
    integer, intent(in) :: n
    integer :: i
    integral = 0
!$omp parallel do reduction(+:integral)
    do i = 1, n
      integral = integral + f(dble(i))
    end do
  end function integral
end module told

program units
  use told
  implicit none
  integer, parameter :: n = 100
  integer :: i, j, status, n_lines, length
  integer, save :: own, pair(2, 2)
  integer, allocatable, save :: room(:)
!$omp threadprivate(own, pair, room)
  real(8) :: x(3), y(3), factor
  complex :: z
  logical :: is_even
  character(40) :: line, text
  namelist /both/ n_lines, y
  open(11, file='units.text', status='replace', action='readwrite')
  open(12, file='units.raw', status='replace', form='unformatted', access='direct', recl=16)
  open(13, status='scratch')
!$omp parallel private(x, z, text, j) num_threads(8)
!$omp do schedule(static, 1) ordered
  do i = 1, n
    own = i
    x = [1d0*i, 2d0*i, i/2d0]
    z = cmplx(i, -i)
    write(11, '(i6, 3f10.2, 2f8.1, l2, i2, 1x, a)') own, x, z, mod(i, 2) == 0, saying(i), 'a constant'
    if (.not. allocated(room)) allocate(room(1))
    pair = i
    room = i
    write(12, rec=i) pair(1, 1), room, x(3)
!$omp ordered
    if (mod(i, 10) == 0) print *, 'line', i
!$omp end ordered
  end do
!$omp do schedule(static, 1)
  do i = 1, n
    read(12, rec=n + 1 - i) pair(:, 2), x(1)
    own = pair(1, 2)
    j = pair(2, 2)
    if (own /= j .or. j /= n + 1 - i .or. x(1) /= j/2d0) print *, 'wrong', i, own, j, x(1)
    write(text, *) own
    read(text, *) j
    if (j /= own) print *, 'wrong', text
  end do
!$omp end parallel
  rewind(11)
  n_lines = 0
  y = 0
  line = ''
  do
    read(11, '(i6, 3f10.2, 2f8.1, l2, i2, 1x, a)', iostat=status) j, x, z, is_even, length, line
    if (status /= 0) exit
    if (x(2) /= 2d0*j .or. real(z) /= j .or. (is_even .neqv. mod(j, 2) == 0)) print *, 'wrong', j
    n_lines = n_lines + 1
    y = y + [1d0*j, 1d0*length, x(3)]
  end do
  print *, line
  write(*, nml=both)
  rewind(13)
  length = 0
  do
    read(13, '(a)', iostat=status) line
    if (status /= 0) exit
    length = length + len_trim(line)
  end do
  print *, length
  close(11, status='delete')
  close(12, status='delete')
  factor = 2
  print *, integral(scaled, 100)
contains
  real(8) function scaled(a)
    real(8), intent(in) :: a
    scaled = factor*a
  end function scaled
end program units
