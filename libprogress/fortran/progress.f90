! SPDX-License-Identifier: MIT
!
! libprogress for Fortran: the functions of progress.h under their own names; see progress(3).
! Workers and subdomains are numbered from 0, as in C. progress_held() gives the list of
! progress_begin() as a pointer to an array.
!
!     type(c_ptr) :: p
!     integer(c_int32_t), pointer :: mine(:)
!     error = progress_create(progress_options(workers=4, subdomains=16), p)
!     error = progress_register(p, w)
!     call progress_held(p, w, mine)
!     do i = 1, size(mine)
!        call progress_update(p, w, mine(i), iteration, residual)
!     end do
!
! Numbers that C has unsigned have their sign here; PROGRESS_NOBODY is -1.
module progress
  use, intrinsic :: iso_c_binding
  implicit none
  private

  public :: progress_options, progress_create, progress_close, progress_register, progress_begin, &
       progress_held, progress_update, progress_iteration, progress_updates, progress_holder, &
       progress_balance, progress_leave, progress_spread, progress_remove, progress_insert, &
       progress_published, progress_rank, progress_rank_options, progress_rank_move, &
       progress_rank_setup, progress_rank_read, progress_rank_reduce, progress_rank_balance, &
       progress_rests

  integer(c_int32_t), parameter, public :: PROGRESS_WORKERS_MAX = 65536
  integer(c_int32_t), parameter, public :: PROGRESS_SUBDOMAINS_MAX = 1048576
  integer(c_int32_t), parameter, public :: PROGRESS_PAIRS_MAX = 1024
  integer(c_int32_t), parameter, public :: PROGRESS_NOBODY = -1, PROGRESS_DEAD_BAND_NONE = -1
  real(c_double), parameter, public :: PROGRESS_THRESHOLD_NONE = -1

  enum, bind(c)
     enumerator :: PROGRESS_BALANCE_DEFAULT, PROGRESS_BALANCE_NONE, PROGRESS_BALANCE_JOINT, &
          PROGRESS_BALANCE_SPLIT, PROGRESS_BALANCE_HYBRID
  end enum
  public :: PROGRESS_BALANCE_DEFAULT, PROGRESS_BALANCE_NONE, PROGRESS_BALANCE_JOINT, &
       PROGRESS_BALANCE_SPLIT, PROGRESS_BALANCE_HYBRID

  type, bind(c) :: progress_options
     integer(c_int32_t) :: workers = 0, subdomains = 0
     type(c_ptr) :: owner = c_null_ptr ! c_loc() of an array of integer(c_int32_t)
     integer(c_int32_t) :: balancing = 0, pairs = 0, low = 0, high = 0, hybrid_every = 0
     integer(c_int64_t) :: period_ns = 0
     integer(c_int32_t) :: rank = 0, dead_band = 0, bound = 0
     integer(c_int32_t) :: reserved(5) = 0
  end type progress_options

  type, bind(c) :: progress_rank_options
     integer(c_int64_t) :: period_ns = 0
     real(c_double) :: threshold = 0
     integer(c_int32_t) :: all_behind = 0, random_ranks = 0
     integer(c_int64_t) :: seed = 0
     type(c_funptr) :: halos_saved = c_null_funptr
     type(c_ptr) :: arg = c_null_ptr
     integer(c_int32_t) :: reserved(4) = 0
  end type progress_rank_options

  type, bind(c) :: progress_rank
     real(c_double) :: average = 0, rate = 0, doubt = 0
     integer(c_int32_t) :: rank = 0, subdomains = 0, room = 0, reserved = 0
  end type progress_rank

  type, bind(c) :: progress_rank_move
     integer(c_int32_t) :: subdomain = 0, to = 0
  end type progress_rank_move

  interface
     integer(c_int) function progress_create(options, p) bind(c)
       import
       type(progress_options), intent(in) :: options
       type(c_ptr), intent(out) :: p
     end function progress_create

     integer(c_int) function progress_published(p) bind(c)
       import
       type(c_ptr), value :: p
     end function progress_published

     subroutine progress_close(p) bind(c)
       import
       type(c_ptr), value :: p
     end subroutine progress_close

     integer(c_int) function progress_register(p, worker) bind(c)
       import
       type(c_ptr), value :: p
       integer(c_int32_t), value :: worker
     end function progress_register

     integer(c_int32_t) function progress_begin(p, worker, subdomains) bind(c)
       import
       type(c_ptr), value :: p
       integer(c_int32_t), value :: worker
       type(c_ptr), intent(out) :: subdomains
     end function progress_begin

     integer(c_int) function progress_rests(p, worker, subdomain) bind(c)
       import
       type(c_ptr), value :: p
       integer(c_int32_t), value :: worker, subdomain
     end function progress_rests

     subroutine progress_update(p, worker, subdomain, iteration, residual) bind(c)
       import
       type(c_ptr), value :: p
       integer(c_int32_t), value :: worker, subdomain
       integer(c_int64_t), value :: iteration
       real(c_double), value :: residual
     end subroutine progress_update

     integer(c_int64_t) function progress_iteration(p, subdomain) bind(c)
       import
       type(c_ptr), value :: p
       integer(c_int32_t), value :: subdomain
     end function progress_iteration

     integer(c_int64_t) function progress_updates(p, subdomain) bind(c)
       import
       type(c_ptr), value :: p
       integer(c_int32_t), value :: subdomain
     end function progress_updates

     integer(c_int32_t) function progress_holder(p, subdomain) bind(c)
       import
       type(c_ptr), value :: p
       integer(c_int32_t), value :: subdomain
     end function progress_holder

     integer(c_int32_t) function progress_balance(p, worker) bind(c)
       import
       type(c_ptr), value :: p
       integer(c_int32_t), value :: worker
     end function progress_balance

     integer(c_int) function progress_remove(p, subdomain) bind(c)
       import
       type(c_ptr), value :: p
       integer(c_int32_t), value :: subdomain
     end function progress_remove

     integer(c_int) function progress_insert(p, subdomain, worker, iteration) bind(c)
       import
       type(c_ptr), value :: p
       integer(c_int32_t), value :: subdomain, worker
       integer(c_int64_t), value :: iteration
     end function progress_insert

     integer(c_int) function progress_rank_setup(p, options) bind(c)
       import
       type(c_ptr), value :: p
       type(progress_rank_options), intent(in) :: options
     end function progress_rank_setup

     subroutine progress_rank_read(p, out) bind(c)
       import
       type(c_ptr), value :: p
       type(progress_rank), intent(out) :: out
     end subroutine progress_rank_read

     subroutine progress_rank_reduce(ends, other) bind(c)
       import
       type(progress_rank), intent(inout) :: ends(2)
       type(progress_rank), intent(in) :: other(2)
     end subroutine progress_rank_reduce

     integer(c_int) function progress_rank_balance(p, busy_ns, known, n, move) bind(c)
       import
       type(c_ptr), value :: p
       integer(c_int64_t), value :: busy_ns
       type(progress_rank), intent(in) :: known(*)
       integer(c_int32_t), value :: n
       type(progress_rank_move), intent(inout) :: move
     end function progress_rank_balance

     subroutine progress_leave(p, worker) bind(c)
       import
       type(c_ptr), value :: p
       integer(c_int32_t), value :: worker
     end subroutine progress_leave

     integer(c_int64_t) function progress_spread(p) bind(c)
       import
       type(c_ptr), value :: p
     end function progress_spread
  end interface

contains

  ! progress_begin(), with the subdomains as an array that may be of size 0.
  subroutine progress_held(p, worker, subdomains)
    type(c_ptr), intent(in) :: p
    integer(c_int32_t), intent(in) :: worker
    integer(c_int32_t), pointer, intent(out) :: subdomains(:)
    integer(c_int32_t), target, save :: none(0)
    type(c_ptr) :: first
    integer(c_int32_t) :: n

    n = progress_begin(p, worker, first)
    if (n > 0) then
       call c_f_pointer(first, subdomains, [n])
    else
       subdomains => none
    end if
  end subroutine progress_held

end module progress
