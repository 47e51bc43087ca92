/* SPDX-License-Identifier: MIT */
/*
 * Whether a sanitizer watches the program, which makes it several times as slow. Long runs can be fewer or
 * smaller there: what they find out is checked without a sanitizer, too. The sanitizer looks for wrong
 * accesses, which do not need so many repetitions.
 */
#ifndef TEST_SANITIZED_H
#define TEST_SANITIZED_H

#ifdef __has_feature /* clang */
#define TEST_HAS_FEATURE(feature) __has_feature(feature)
#else
#define TEST_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
	TEST_HAS_FEATURE(address_sanitizer) || TEST_HAS_FEATURE(thread_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#endif
