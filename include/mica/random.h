/// \file random.h
/// Random numbers that are the same everywhere.
///
/// A generator is a plain struct, its state and nothing else: it may be a component, a field of one, a resource or a
/// system's state, and whoever copies it has two that go on alike. The algorithm is xoshiro256** (D. Blackman,
/// S. Vigna: Scrambled Linear Pseudorandom Number Generators, ACM TOMS 47, 2021), seeded by splitmix64 (G. Steele,
/// D. Lea, C. Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). Its period is 2^256 - 1. What is
/// drawn depends on the state alone, on every machine and in every later version of the library. It is not for secrets:
/// who sees some of the numbers can compute the rest.
///
/// Each world has a generator (`mica_world_random`) and so has each of its systems (`mica_run_random`); they are part
/// of the world's state.
///
/// Everything here is O(1) but for `mica_random_shuffle`, and may be called on any thread; a generator itself is used
/// by one thread at a time. Where the generator is NULL: `MICA_INVALID`, and 0, false, or a generator of zeros.
#pragma once

#include <mica/result.h>
#include <mica/type.h>

/// The seed of those who give none.
#define MICA_RANDOM_SEED UINT64_C(0x6d696361)

/// A generator. One of zeros, as a component that nobody gave a value is, counts as one that was seeded with
/// `MICA_RANDOM_SEED`. Fields of this type are known (type.h) to schemas in which it is registered.
MICA_STRUCT(mica_random, { uint64_t words[4]; });

MICA_BEGIN

/// The generator of a seed. Every seed is good, 0 and small ones too, and gives numbers of its own.
MICA_API mica_random mica_random_seeded(uint64_t seed);

/// A generator of its own for part `number` of what `random` is for: one for each level, player, or thread. The same
/// state and number give the same generator, different numbers different ones; `random` does not change, so parts may
/// be made in any order. Its numbers have nothing to do with those of `random`.
MICA_API mica_random mica_random_split(const mica_random *random, uint64_t number);

/// As `mica_random_split`, for a name: the number is the 64-bit FNV-1a hash of its bytes. NULL counts as "". O(length).
MICA_API mica_random mica_random_split_named(const mica_random *random, const char *name);

/// Moves on by 2^128 numbers: generators that are copied from one and jump once, twice, ... never draw the same
/// stretch. Costs as much as drawing 256 numbers.
MICA_API void mica_random_jump(mica_random *random);

/// The next 64 bits.
MICA_API uint64_t mica_random_next(mica_random *random);

/// A number below `count`, each as likely as any other (D. Lemire: Fast Random Integer Generation in an Interval, ACM
/// TOMACS 29, 2019). Draws once, and seldom again: with a probability below count / 2^32. A `count` of 0 is
/// `MICA_INVALID`, draws nothing and gives 0.
MICA_API uint32_t mica_random_below(mica_random *random, uint32_t count);

/// A number from `first` to `last`, both of them included, each as likely as any other. Draws once or more. A `last`
/// before `first` is `MICA_INVALID`, draws nothing and gives `first`.
MICA_API int64_t mica_random_range(mica_random *random, int64_t first, int64_t last);

/// A number from 0 to below 1, a multiple of 2^-53. Draws once.
MICA_API double mica_random_unit(mica_random *random);

/// A number from 0 to below 1, a multiple of 2^-24. Draws once.
MICA_API float mica_random_unitf(mica_random *random);

/// True with this probability; never if it is 0 or less, always if it is 1 or more. Draws once, whatever it is. NaN is
/// `MICA_INVALID`, draws nothing and gives false.
MICA_API bool mica_random_chance(mica_random *random, double probability);

/// Puts items into random order, each order as likely as any other (R. Durstenfeld's algorithm): exchanges them byte by
/// byte. Refuses: `MICA_INVALID` (no generator, no items though `count` is not 0, no size). O(count * item_size).
MICA_API mica_result mica_random_shuffle(mica_random *random, void *items, uint32_t count, size_t item_size);

MICA_END
