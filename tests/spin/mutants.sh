#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Show that the models can fail: leave out one rule at a
# time; the verifier must report what then goes wrong.
#
#   mutants.sh [MUTANT]
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# What is to be found, as a piece of the assertion that fails.
bytes='wanted'                   # a copy has old bytes: E4, E5, or SC
counter='answered'               # a copy has an old counter: E4
copyset='is_owner.*copyset'      # a copy that the owner does not know: E2
exclusive='copies_sent'          # exclusive, and another has a copy: E3, S1
circulates='epoch\[.*>'        # a request follows an older hint: H2
dropped='violated is_owner\[me'  # told of a drop, but not the owner any more
absent='state\[me\]==1'          # a page without contents where no copy is
unasked='fetching\[me\]'          # an answer without a question
twice='moving'                   # granted although it has an owner: E1, H3
waits='len.deferred'             # all wait, and nothing is on its way
for_ever='acceptance cycle'      # a fault that is never answered
heard='heard'                    # who has heard of a write has old bytes: Z1 to Z6
released='unreleased'            # what is released is not at the owner: M4
home='dropped'                   # a writer has dropped what the owner has not: Z15
kept='none_kept'                 # a diff is kept when the roster changes: Z17
knows='knows'                    # or an old counter: Z6
no_reader='readers==0'            # ownership goes while others have copies: A3, A8
to_owner='is_owner'              # what is for an owner comes to another node: Z7
left='gone'                      # a message to who has left: K2, K3
leads_nowhere='hint\[me\]!=3'    # a request comes to who knows of no owner: H2
on_its_way='n_on_way'            # what does not name its block is on its way when that is gone: B1
none='notice\['                  # a notice of a version that nobody has: N1
none_left='newest==0'            # there was a checkpoint, and there is none to go back to: W
left_behind='from\['             # one of a beginning that was left: R1
other='b==now_on'                # a node hears one of another beginning: R3
last='count'                     # who has a lock has old bytes of it
stamped='twin'                   # what was written under a lock that has gone has no stamp: B3
had='had\['                       # a node lacks lines of what it is known to have had: B2
bound='lock_of.*binding'         # who has a lock takes other bytes to be bound to it: B5, B6
one_home='is_home'               # two pass a lock's bytes on, or nobody: B1
in_use='is_here'                  # who uses a lock has its bytes no more: B1
beside='writes\['                 # a writer is elsewhere, and these are taken to be the last: B1
still='mapped'                   # a page is mapped without a lock: B4
no_step='s_is_allowed'           # a step that the protocol's table does not allow

# mutant | model and sizes | what is to be found | the rule that is left out
mutants=$(
    cat <<END
NO_UNMAP|eager_release|$bytes|unmap an exclusive page before reading it
SEND_PAGE_NOT_TWIN|eager_release|$bytes|a dirty owner sends its twin
NOT_TO_TWIN|eager_release|$bytes|updates are applied to the twin too
ACKNOWLEDGE_EARLY|eager_release|$bytes|acknowledge after the copies have
DROP_IN_FLIGHT|eager_release|$bytes|no drop while an update is in flight
OVERLAPPING_RELEASES|eager_release|$bytes|one release of a node at a time
NO_HINT_FROM_PUSH|eager_release|$copyset|a push tells who the owner is
HINT_WITHOUT_EPOCH|eager_release|$copyset|hints are replaced by newer ones only
HAND_OVER_WHILE_PUSHING|eager_release|$dropped|no hand-over while a push is out
IGNORE_BASE|eager_release -DWRITES=0 -DFETCHES=2 -DATOMICS=3|$counter|pushes up to base are not applied
GRANT_ENDS_FETCH|eager_release -DSTART=0 -DPLACED|$copyset|one fetch of a node at a time
GRANT_AGAIN|eager_release -DSTART=0|$twice|a page is granted once
HINT_STAYS|eager_release|$circulates|who gives ownership away says to whom
STAYS_EXCLUSIVE|eager_release|$exclusive|an owner is not exclusive when a copy is out
OWN_DIFF_BACK|eager_release|$bytes|nobody gets its own diff back
TELL_ONE_OF_SEVERAL|eager_release|$bytes|nobody is told while others have no diff
TELL_WHO_PASSES_ON|eager_release|$bytes|nobody is told who passes the diff on
DIRECTORY_UNTOLD|eager_release -DSTART=2 -DAHEAD|$twice|directory nodes know whose variables are
DIRECTORY_UNTOLD|eager_release -DMEMBERS -DWRITES=1 -DFETCHES=2 -DRELEASES=1|$circulates|a directory node that is new is told of owners
STAYS_IN_THE_COPYSET|eager_release -DMEMBERS -DWRITES=1 -DFETCHES=2 -DRELEASES=1|$copyset|who has left is in no copyset
LEAVER_IS_ASKED|eager_release -DMEMBERS -DWRITES=1 -DFETCHES=2 -DRELEASES=1|$left|nobody asks who has left
RELEASED_WHEN_CLOSED|eager_release -DFREED -DWRITES=1 -DFETCHES=1 -DRELEASES=1|$dropped|what was written to a block that is freed is released no more
CLOSED_TOO_EARLY|eager_release -DFREED -DWRITES=1 -DFETCHES=1 -DRELEASES=1|$dropped|a node says that a block is closed there when nothing of it is under way
OWNER_OF_ANOTHER_BLOCK|eager_release -DFREED -DWRITES=1 -DFETCHES=1 -DRELEASES=1|$circulates|news of owners say which block they are of
HINT_IS_KEPT|eager_release -DFREED -DWRITES=1 -DFETCHES=1 -DRELEASES=1|$circulates|a page of a block that is gone is as if nobody had touched it
MOVES_UNRELEASED|eager_release -DTHREADS=1 -DWRITES=2 -DFETCHES=1 -DRELEASES=2|$bytes|a thread moves when what it has written is released
MOVES_TOO_EARLY|eager_release -DTHREADS=1 -DWRITES=2 -DFETCHES=1 -DRELEASES=2|$bytes|and that release has ended
DIRECTORY_UNTOLD|sequential -DSTART=2 -DAHEAD|$twice|directory nodes know whose variables are
NOT_WAITING|sequential|$exclusive|wait for the invalidations
NOT_PROTECTED|sequential|$exclusive|write-protect the page before a copy goes
CONTENTS_AS_ASKED|sequential|$absent|who needs contents is seen in the copyset
HINT_WITHOUT_EPOCH|sequential|$circulates|hints are replaced by newer ones only
GRANT_ENDS_FETCH|sequential -DSTART=0 -DPLACED|$unasked|one fetch of a node at a time
NO_HOLD|sequential -DSTART=0 -DLIVE|$for_ever|hold a page until its thread has run
QUEUE_AFTER_GRANT|sequential -DSTART=0 -DPLACED|$waits|a grant that answers nothing ends queueing
CHASE|sequential -DSTART=0 -DLIVE|$for_ever|a node to become owner queues requests
MOVE_WHILE_PUSHING|eager_release -DPAIR -DWRITES=2 -DFETCHES=1 -DRELEASES=1 -DATOMICS=1|$no_step|no page moves while a push of it is out
QUEUE_FIRST_TOUCH|sequential -DSTART=0|$no_step|the directory node queues for no page that is untouched
DIRECTORY_UNTOLD|sequential -DMEMBERS -DFAULTS=3|$twice|a directory node that is new is told of owners
STAYS_IN_THE_COPYSET|sequential -DMEMBERS -DFAULTS=3|$left|who has left is in no copyset
LEAVER_IS_ASKED|sequential -DMEMBERS -DFAULTS=3|$left|nobody asks who has left
NOTICES_STAY|lazy_release -DPAIR|$heard|who is ordered after a release hears its notices first
NOT_WAITING|lazy_release -DPAGES=1|$heard|a release ends when the owners have its diffs
LAST_DIFFS_DO_NOT_COUNT|lazy_release -DPAGES=1 -DFETCHES=1|$heard|so do those count that acquires have sent
NOT_FRESH|lazy_release -DPAGES=1|$heard|a copy older than what was heard of is not used
NOT_STALE|lazy_release -DPAIR|$heard|a copy that a notice names is stale
NO_LAST_DIFF|lazy_release -DPAIR -DPAGES=1|$heard|a dirty copy that a notice names is diffed
BASE_IS_LATEST|lazy_release -DPAIR -DPAGES=1|$heard|a writer's copy may lack what others wrote meanwhile
NOT_LISTED|lazy_release -DPAIR|$heard|what an owner writes makes a version at its next release
STAYS_EXCLUSIVE|lazy_release -DPAIR|$heard|an owner's page is not writable when a copy is out
ATOMIC_MAKES_NO_VERSION|lazy_release -DPAIR -DWRITES=1 -DRELEASES=1 -DATOMICS=2|$knows|an atomic operation makes a version
MOVES_ON|lazy_release -DPAGES=1|$to_owner|an owner stays one once there have been copies
STALE_OF_THE_NOTICE|lazy_release -DPAIR|$heard|a stale copy is of the version whose bytes it has
UNSEEN_WRITES|lazy_release -DPAIR|$heard|what an owner writes without a twin changes all lines
LINE_STAYS_OLD|lazy_release -DPAIR|$heard|a line is of the version that changes it
NOT_SEALED|lazy_release -DPAGES=1|$heard|two copies of one version never differ
NOT_TO_TWIN|lazy_release -DPAIR -DPAGES=1|$heard|diffs are applied to the owner's twin too
SEND_PAGE_NOT_TWIN|lazy_release -DPAIR|$heard|a dirty owner sends its twin
RELEASED_WHEN_CLOSED|lazy_release -DFREED -DPAGES=1 -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$to_owner|what was written to a block that is freed is released no more
CLOSED_TOO_EARLY|lazy_release -DFREED -DPAGES=1 -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$to_owner|a node says that a block is closed there when nothing of it is under way
OWNER_OF_ANOTHER_BLOCK|lazy_release -DFREED -DPAGES=1 -DSTART=0 -DWRITES=0 -DFETCHES=3 -DRELEASES=0 -DTELLS=0|$circulates|news of owners say which block they are of
NOTICE_OF_ANOTHER_BLOCK|lazy_release -DFREED -DPAGES=1 -DWRITES=0 -DFETCHES=1 -DRELEASES=0 -DTELLS=1|$none|notices say which block they are of
MOVES_UNRELEASED|lazy_release -DPAIR -DPAGES=1|$heard|a token, or a thread that moves, goes when what was written is released
STAYS_DIRTY|lazy_release -DMEMBERS -DPAGES=1 -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$heard|dirty copies are diffed before nodes come or go
WRITES_WHEN_STOPPED|lazy_release -DMEMBERS -DPAGES=1 -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$heard|what comes to a node that has stopped is not written
COPIES_STAY_BEHIND_A_CHANGE|lazy_release -DMEMBERS -DPAGES=1 -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$heard|behind a change there are no copies
CHANGES_TOO_EARLY|lazy_release -DMEMBERS -DPAGES=1 -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$left|nothing is under way when the roster changes
GOES_ON_TOO_EARLY|lazy_release -DMEMBERS -DPAGES=1 -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$twice|nodes go on when directory nodes have been told
LEAVER_IS_ASKED|lazy_release -DMEMBERS -DPAGES=1 -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$left|nobody asks who has left
DIRECTORY_UNTOLD|lazy_release -DMEMBERS -DPAGES=1 -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$twice|a directory node that is new is told of owners
OWNER_WRITES_UNSEEN|lazy_release -DSCOPE -DPAIR -DBYTES=3 -DWRITES=2 -DRELEASES=2 -DFETCHES=1 -DTELLS=2|$heard|what an owner writes after a release is seen again
LIST_IS_OLD|lazy_release -DSCOPE -DPAIR -DFETCHES=1|$heard|a token brings notices of what was written under its mutex
NOT_STALE|lazy_release -DSCOPE -DPAIR -DFETCHES=1|$heard|a copy that a mutex's notice names is dropped
STAYS_DIRTY|lazy_release -DSCOPE -DMEMBERS -DPAGES=1 -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$heard|dirty copies are diffed before nodes come or go
COPIES_STAY_BEHIND_A_CHANGE|lazy_release -DSCOPE -DMEMBERS -DPAGES=1 -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$heard|behind a change there are no copies
COPIES_STAY|implicit -DPAIR|$heard|an acquire drops all copies
NOT_FRESH|implicit -DWRITES=1 -DRELEASES=1 -DFETCHES=1 -DTELLS=1|$heard|what was asked for before an acquire is not used after it
NO_LAST_DIFF|implicit -DPAIR|$released|a dirty copy that is dropped is diffed
LAST_DIFFS_DO_NOT_COUNT|implicit -DWRITES=2 -DRELEASES=1 -DFETCHES=2 -DTELLS=2|$released|so do those count that acquires have sent
NOT_WAITING|implicit -DPAIR|$released|a release ends when its diffs have arrived
MOVES_UNRELEASED|implicit -DPAIR|$heard|a token, or a thread that moves, goes when what was written is released
STAYS_DIRTY|implicit -DMEMBERS -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$released|dirty copies are diffed before nodes come or go
COPIES_STAY_BEHIND_A_CHANGE|implicit -DMEMBERS -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$to_owner|behind a change there are no copies
LEAVER_IS_ASKED|implicit -DMEMBERS -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$left|nobody asks who has left
DIRECTORY_UNTOLD|implicit -DMEMBERS -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$twice|a directory node that is new is told of owners
NOT_STALE|homeless -DPAIR|$heard|a copy that a notice names is not used
OWNER_IS_NEVER_OLD|homeless -DPAIR|$heard|nor is an owner's page that lacks what was heard of
NO_LAST_DIFF|homeless -DPAIR|$heard|a dirty page that a notice names is diffed
BY_WRITER|homeless -DSTART=2 -DFETCHES=2 -DHOMES=0|$heard|diffs are applied in the order of their stamps
STAMPS_OF_ITS_OWN|homeless -DSTART=2 -DFETCHES=2 -DHOMES=0|$heard|a node's stamps are above all that it has heard of
APPLIED_AS_THEY_COME|homeless -DSTART=2 -DFETCHES=2 -DHOMES=0|$heard|what comes of several writers is applied at once
DROPPED_TOO_EARLY|homeless -DPAIR|$home|a writer drops diffs when the owner has them
MOVES_ON|homeless -DPAIR|$to_owner|an owner stays one once there have been copies
ATOMIC_ON_WHAT_IS_OLD|homeless -DPAIR -DWRITES=1 -DATOMICS=1 -DFETCHES=1 -DTELLS=1|$knows|an atomic operation is performed on a page that lacks nothing
SEND_PAGE_NOT_TWIN|homeless -DFETCHES=1 -DTELLS=1 -DHOMES=0|$heard|a dirty owner sends its twin
MOVES_UNRELEASED|homeless -DPAIR|$heard|a token, or a thread that moves, goes when what was written is released
STAYS_DIRTY|homeless -DMEMBERS -DWRITES=1 -DFETCHES=1 -DTELLS=1 -DHOMES=0|$heard|dirty copies are diffed before nodes come or go
WRITES_WHEN_STOPPED|homeless -DMEMBERS -DWRITES=1 -DFETCHES=1 -DTELLS=1 -DHOMES=0|$heard|what comes to a node that has stopped is not written
DIFFS_DO_NOT_GO_HOME|homeless -DMEMBERS -DWRITES=1 -DFETCHES=1 -DTELLS=1 -DHOMES=0|$kept|all diffs go home before nodes come or go
KEEPS_WHEN_STOPPED|homeless -DMEMBERS -DWRITES=1 -DFETCHES=1 -DTELLS=1 -DHOMES=0|$kept|and so do those that a node makes that has stopped
COPIES_STAY_BEHIND_A_CHANGE|homeless -DMEMBERS -DWRITES=1 -DFETCHES=1 -DTELLS=1 -DHOMES=0|$heard|behind a change there are no copies
CHANGES_TOO_EARLY|homeless -DMEMBERS -DWRITES=1 -DFETCHES=1 -DTELLS=1 -DHOMES=0|$left|nothing is under way when the roster changes
LEAVER_IS_ASKED|homeless -DMEMBERS -DWRITES=1 -DFETCHES=1 -DTELLS=1 -DHOMES=0|$left|nobody asks who has left
DIRECTORY_UNTOLD|homeless -DMEMBERS -DWRITES=1 -DFETCHES=1 -DTELLS=1 -DHOMES=0|$twice|a directory node that is new is told of owners
NOT_NOTED|adaptive -DPAIR|$heard|a copy that nobody pushes to is noted
NO_NOTICE|adaptive -DPAIR|$heard|a version makes a notice while there are such copies
WRITER_SAYS_NOTHING|adaptive -DWRITES=1 -DRELEASES=1 -DTELLS=2|$heard|who has made a version makes its notice
MOVES_WITH_READERS|adaptive -DSTART=0 -DWRITES=1 -DRELEASES=1 -DFETCHES=3|$no_reader|a page stays while there are such copies
HANDED_TO_ONE_OF_SEVERAL|adaptive -DWRITES=1 -DRELEASES=1 -DFETCHES=1|$no_reader|it goes to one of these only if that is the last
HANDED_THOUGH_IT_LACKS|adaptive -DPAIR -DWRITES=3 -DRELEASES=3 -DTELLS=2|$heard|and lacks nothing
NOT_STALE|adaptive -DPAIR|$heard|a copy that nobody pushes to and that a notice names is stale
NOT_FRESH|adaptive -DWRITES=1 -DRELEASES=1 -DTELLS=2|$heard|a copy older than what was heard of is not used
NO_LAST_DIFF|adaptive -DPAIR|$heard|a dirty copy that a notice names is diffed
NOT_LISTED|adaptive -DPAIR|$heard|what an owner writes makes a version at its next release
LEFT_IS_NOT_NOTED|adaptive -DPAIR|$heard|a copy that is not pushed to any more is noted
GOES_WHILE_OTHERS_WRITE|adaptive|$no_reader|a page that migrates goes only when nobody else may write a copy
MIGRATED_SAYS_NOTHING|adaptive -DSTART=2 -DPAIR|$heard|each version of a page that migrates makes a notice
NOT_SEALED|adaptive -DSTART=2 -DPAIR|$heard|it goes in a version that has all of its bytes
MOVES_UNRELEASED|adaptive -DPAIR|$heard|a token, or a thread that moves, goes when what was written is released
STAYS_DIRTY|adaptive -DMEMBERS -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$heard|dirty copies that nobody pushes to are diffed before nodes come or go
CLEANED_WHILE_RELEASING|adaptive -DMEMBERS -DGIVEN_UP -DPAIR -DWRITES=3 -DFETCHES=1 -DRELEASES=1 -DTELLS=0|$heard|but when no release is under way
WRITES_WHEN_STOPPED|adaptive -DMEMBERS -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$heard|what comes to a node that has stopped is not written
LEFT_WHEN_STOPPED|adaptive -DMEMBERS -DWRITES=2 -DFETCHES=1 -DRELEASES=1 -DTELLS=0|$heard|who has stopped stays pushed to
COPIES_STAY_BEHIND_A_CHANGE|adaptive -DMEMBERS -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$heard|behind a change there are no copies that nobody pushes to
HEIRS_WRITES_ARE_LOST|adaptive -DMEMBERS -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$heard|who gets a page from who leaves, and has a copy, has the bytes
VERSIONS_BEGIN_ANEW|adaptive -DMEMBERS -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$heard|versions go on where the former owner was
STAYS_IN_THE_COPYSET|adaptive -DMEMBERS -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$left|who has left is in no copyset
LEAVER_IS_ASKED|adaptive -DMEMBERS -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$left|nobody asks who has left
DIRECTORY_UNTOLD|adaptive -DMEMBERS -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=1|$twice|a directory node that is new is told of owners
CALLED_WHEN_CLOSED|adaptive -DFREED -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=0|$on_its_way|no copy of a block that is being freed is called back
RELEASED_WHEN_CLOSED|adaptive -DFREED -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=0|$on_its_way|what was written to a block that is freed is released no more
CLOSED_TOO_EARLY|adaptive -DFREED -DWRITES=1 -DFETCHES=1 -DRELEASES=1 -DTELLS=0|$on_its_way|a node says that a block is closed there when nothing of it is under way
CLOSED_TOO_EARLY|sequential -DFREED -DSTART=2 -DAHEAD -DFAULTS=3|$on_its_way|a node says that a block is closed there when nothing of it is under way
HINT_IS_KEPT|sequential -DFREED -DFAULTS=3|$leads_nowhere|a page of a block that is gone is as if nobody had touched it
OWNER_OF_ANOTHER_BLOCK|sequential -DFREED -DSTART=0 -DFAULTS=4|$leads_nowhere|news of owners say which block they are of
STAYS_HOME|entry -DPAIR|$one_home|one node passes a lock's bytes on
HOME_HAS_THEM_MEANWHILE|entry -DPAIR|$beside|a writer that has borrowed a lock has the last bytes
STAMPS_STAY_BEHIND|entry -DPAIR|$had|a node has the stamps of the lines that it has
NOT_STAMPED|entry -DPAIR|$stamped|what is written under a lock is stamped before that leaves
NEW_BYTES_HAVE_NO_STAMP|entry -DPAIR|$last|bytes that come from another lock are new to all
RELIEF_STAMPS_NOTHING|entry -DPAIR|$last|what needs no twin any more is stamped before
STAYS_MAPPED|entry -DPAIR|$still|a page is mapped only while one of its locks is here
LIST_STAYS|entry -DPAIR|$had|ranges that have changed go along with the lock
OLD_RANGE_IS_IN_THE_WAY|entry -DPAIR|$had|a range that comes replaces what was known of locks that are elsewhere
RANGES_STAY|entry -DFREED -DPAIR|$bound|what is bound in a block ends with it
RANGES_OF_ANOTHER_BLOCK|entry -DFREED -DPAIR|$bound|ranges say which block they are of
HOME_HAS_WHAT_IS_LENT|entry -DMEMBERS -DWRITES=1 -DGIVES=1 -DLENDS=1 -DBINDS=0|$beside|a new home has not what is lent to write
ENDS_WHAT_IS_LENT|entry -DMEMBERS -DWRITES=1 -DGIVES=1 -DLENDS=1 -DBINDS=0|$in_use|a home that passes a lock on keeps what its own threads have borrowed
TOKEN_STAYS|entry -DMEMBERS -DWRITES=1 -DGIVES=1 -DLENDS=1 -DBINDS=0|$bound|who leaves gives its tokens away
COMES_WITH_ITS_OLD_NUMBER|entry -DMEMBERS -DWRITES=1 -DGIVES=1 -DLENDS=1 -DBINDS=0|$bound|nothing is known of who comes
CHANGES_TOO_EARLY|entry -DMEMBERS -DWRITES=1 -DGIVES=1 -DLENDS=1 -DBINDS=0|$one_home|nothing is under way when the roster changes
GOES_ON_TOO_EARLY|entry -DMEMBERS -DWRITES=1 -DGIVES=1 -DLENDS=1 -DBINDS=0|$one_home|nodes go on when new homes have what they pass on
SAME_NUMBERS|going_back|$none_left|checkpoints of each beginning have numbers of their own
NOT_REMOVED|going_back|$left_behind|what a beginning saved after it was left is removed before the next choice
GOES_ON|going_back|$left_behind|a checkpoint begins with all nodes of a beginning
SAME_KEY|going_back|$other|each beginning has a key of its own
MANIFEST_AT_ONCE|going_back|$none_left|the manifest comes when all files are written
ONE_IS_KEPT|going_back|$none_left|two checkpoints are kept
NO_CLAIMS|pager -DLIVE|$for_ever|what an instruction was given stays
NO_PROMISE|pager -DLIVE|$for_ever|room is for who was let in
NOT_THE_YOUNGEST_AGAIN|pager -DLIVE|$for_ever|who goes on round a loop comes last again
RUNNING_IS_LOOSE|pager -DLIVE -DONE_WORKER|$for_ever|what who is at a worker was given stays, too
NOT_LET_IN|pager -DLIVE|$for_ever|if nothing can go a thread is let in all the same
END
)

status=0
while IFS='|' read -r mutant model what rule; do
    [[ ${1-$mutant} == "$mutant" ]] || continue
    echo "without '$rule':"
    # shellcheck disable=SC2086 # the model and its sizes are words
    "$here/run.sh" -x "$what" $model "-DM_$mutant"
    result=$?
    ((result == 77)) && exit 77
    ((result == 0)) || status=1
done <<<"$mutants"
exit $status
