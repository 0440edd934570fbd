// SPDX-License-Identifier: BSD-3-Clause
//
// What the models and model_steps.c share: numbers only, as Promela reads this too.
#ifndef MODEL_STEPS_H
#define MODEL_STEPS_H

// Events of a page: STEP_... of pages/page_steps.h.
#define ON_ASKS 1
#define ON_FETCH 2
#define ON_GRANT 3
#define ON_PAGE 4
#define ON_SETTLED 5
#define ON_OWNER_IS 6
#define ON_INVALIDATE 7
#define ON_INVALIDATE_ACK 8
#define ON_LETS_GO 9
#define ON_FAULT 10
#define ON_PUSHED 11
#define ON_DIFF 12
#define ON_HAND_OVER 13
#define ON_HANDED 14
#define ON_DROPPED 15
#define ON_ACKNOWLEDGED 16
#define ON_RELEASED 17
#define ON_ATOMIC 18
#define ON_APPLIED 19
#define ON_DROPS 20
#define ON_LEFT 21
#define ON_NOTICED 22
#define ON_FORGETS 23
#define ON_GIVES 24
#define ON_GIVEN 25
#define ON_CLOSED 26
#define ON_ADVISED 27
#define ON_HEARD 28
#define ON_COPY 29
#define ON_WANTED 30
#define ON_DIFFS_COME 31
#define ON_HOME 32
#define ON_AT_HOME 33
#define ON_LETS_DIFFS_GO 34
#define ON_BOUND 35
#define ON_UNBOUND 36
#define ON_LOCK_COMES 37
#define ON_LOCK_GOES 38
#define ON_STAMPED 39
#define ON_TWIN_GOES 40
#define ON_SENDS_BYTES 41
#define ON_TAKES_BYTES 42

// Their facts.
#define TO_WRITE 1
#define IS_AHEAD 2
#define WITH_OWNERSHIP 4
#define WITH_CONTENTS 8
#define WITH_COPY 16
#define IS_NOT_PUSHED_TO 32
#define IS_TOO_OLD 64
#define IS_FROZEN 128
#define IS_GONE 256

// Messages.
#define SENDS_NOTHING 0
#define SENDS_FETCH 1
#define SENDS_COPY 2
#define SENDS_AWAY 3
#define SENDS_GRANT 4
#define SENDS_PUSH 5
#define SENDS_DIFF 6
#define SENDS_HANDED 7
#define SENDS_INVALIDATE 8
#define SENDS_INVALID 9
#define SENDS_GIVEN 10
#define SENDS_ASK_DIFFS 11
#define SENDS_DIFFS 12
#define SENDS_HOME 13
#define SENDS_AT_HOME 14
#define SENDS_BYTES 15

// Places in what model_record() fills in.
#define AT_STATE 0
#define AT_OWNER 1
#define AT_COPIES 2
#define AT_HINT 3
#define AT_EPOCH 4
#define AT_FETCHING 5
#define AT_QUEUES 6
#define AT_PINNED 7
#define AT_BUSY 8
#define AT_PUSHING 9
#define AT_MOVES 10
#define AT_VERSION 11
#define AT_BASE 12
#define AT_IN_FLIGHT 13
#define AT_SUBSCRIBED 14
#define AT_LISTED 15
#define AT_KEPT 16
#define AT_ASKED 17
#define AT_AWAITED 18
#define AT_LACKS 19
#define AT_GOES_HOME 20
#define AT_HERE 21
#define AT_WRITTEN 22
#define RECORD_SIZE 23

// A state: PAGE_BOUND of mem/page.h.
#define IS_BOUND 4

#endif
