! SPDX-License-Identifier: MIT
! One worker that updates its subdomains ten times, and says how far they are; then one of them
! goes, and comes back for another worker.
!
!     gfortran $(pkg-config --variable=includedir libprogress)/progress.f90 count.f90 $(pkg-config --libs libprogress)
program count
  use, intrinsic :: iso_c_binding
  use progress
  implicit none

  integer(c_int32_t), parameter :: subdomains = 4
  integer(c_int32_t), target :: owner(0:subdomains - 1) = [0, 1, 0, 1]
  integer(c_int32_t), pointer :: mine(:)
  integer(c_int64_t) :: iteration
  type(progress_options) :: options
  type(progress_rank) :: own
  type(progress_rank_move) :: move
  type(c_ptr) :: p
  integer :: error, i

  options = progress_options(workers=2, subdomains=subdomains, owner=c_loc(owner))
  error = progress_create(options, p)
  if (error /= 0) then
     print '(a, i0)', 'progress_create: error ', error
     stop 1
  end if
  error = progress_register(p, 0_c_int32_t)
  if (error /= 0) stop 2
  do iteration = 1, 10
     call progress_held(p, 0_c_int32_t, mine)
     do i = 1, size(mine)
        call progress_update(p, 0_c_int32_t, mine(i), iteration, 1d0 / iteration)
     end do
     error = progress_balance(p, 0_c_int32_t)
  end do
  call progress_leave(p, 0_c_int32_t)
  call progress_held(p, 1_c_int32_t, mine)
  print '(a, *(1x, i0))', 'worker 1 has', mine
  print '(a, i0)', 'spread ', progress_spread(p)
  do i = 0, subdomains - 1
     print '(a, i0, a, i0, a, i0)', 'subdomain ', i, ': iteration ', progress_iteration(p, i), &
          ', held by ', progress_holder(p, i)
  end do
  if (progress_remove(p, 2_c_int32_t) /= 0) stop 3
  print '(a, i0, a, i0)', 'removed: iteration ', progress_iteration(p, 2_c_int32_t), &
       ', held by ', progress_holder(p, 2_c_int32_t)
  if (progress_insert(p, 2_c_int32_t, 1_c_int32_t, 20_c_int64_t) /= 0) stop 4
  call progress_held(p, 1_c_int32_t, mine)
  print '(a, *(1x, i0))', 'worker 1 has', mine
  print '(a, i0)', 'inserted: iteration ', progress_iteration(p, 2_c_int32_t)
  if (progress_rank_setup(p, progress_rank_options(random_ranks=2)) /= 0) stop 5
  call progress_rank_read(p, own)
  print '(a, i0, a, f0.1)', 'rank: ', own%subdomains, ' subdomains, updates ', own%average
  print '(a, i0)', 'to send: ', progress_rank_balance(p, 0_c_int64_t, [own], 1_c_int32_t, move)
  call progress_close(p)
end program count
