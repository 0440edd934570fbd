! SPDX-License-Identifier: BSD-3-Clause
! A thread of a region stops the program: what has been written until then is there.
program stopping
  use omp_lib
  implicit none
  print *, 'begun'
!$omp parallel num_threads(4)
  if (omp_get_thread_num() == 3) then
    print *, 'bad value'
    stop 3
  end if
!$omp barrier
!$omp end parallel
  print *, 'not stopped'
end program stopping
