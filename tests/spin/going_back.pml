// SPDX-License-Identifier: BSD-3-Clause
//
// A run that has lost a node goes back to its newest checkpoint (cli/recovery.c, docs/checkpoints.md, chapters 4
// and 7): two nodes, the launcher, and a folder that all see. What a node does with pages meanwhile is not here: no
// node goes on without another one, so nothing of the protocols follows a death but this.
//
// Nodes of one *beginning* make checkpoints: the root begins one, each node writes its file, says so to the root, and
// when both have, the root writes the manifest, which has the sums of the files, and removes all but the two newest.
// At any time a node is lost. The launcher then ends all that it can reach. The others go on: they write the files
// that they were about to write, and the manifest, and remove what they would have removed, as late as they like.
// Not more, since a checkpoint begins with all nodes of a beginning. Then the launcher removes what is of no use,
// looks for the newest that is whole, and begins anew there; new nodes read it, and may be lost while they do.
//
// A checkpoint is what one beginning had done at one time. After each step (inline check), and where it says so:
//   R1   what the launcher chooses, and what new nodes read, is of one time in both files, and of what has led here:
//        not of a beginning that was left, after it was left
//   W    it is the newest that there was, if one ever was whole
//   R3   no node hears one of another beginning
//
// Sizes (-D): BEGINNINGS, CUTS of each of them.
// A mutant is one rule left out, -DM_..., see mutants.sh.

#ifndef BEGINNINGS
#define BEGINNINGS 3
#endif
#ifndef CUTS
#define CUTS 2
#endif

#define THOUSAND (CUTS + 1) // numbers of a beginning
#define NUMBERS (BEGINNINGS * THOUSAND + 1)

// What was done when: number of the beginning, from 1, and of the cut.
#define DONE(b, cut) (((b) + 1) * 8 + (cut))
#define BEGINNING_OF(done) ((done) / 8 - 1)

// ---- the folder

bit is_there[NUMBERS];  // the checkpoint's own folder: what is to be written there fails without it
byte file[NUMBERS * 2]; // what it was when it was written; 0: there is none
byte manifest[NUMBERS]; // the same, of both

#define IS_WHOLE(g)                                                            \
    (manifest[g] != 0 && file[(g) * 2] == manifest[g] &&                       \
     file[(g) * 2 + 1] == manifest[g])

// ---- nodes

#define AT(b, node) ((b) * 2 + (node))
bit is_alive[BEGINNINGS * 2];
byte number[BEGINNINGS]; // of the checkpoint that is being made; 0: none
byte next[BEGINNINGS];   // number of the next
byte n_cuts[BEGINNINGS];
bit is_to_write[BEGINNINGS * 2];
bit has_written[BEGINNINGS * 2]; // and the root has heard of it
bit is_to_tidy[BEGINNINGS];

// ---- the launcher

mtype = { RUNS, REMOVES, CHOOSES, READS, IS_OVER };
mtype phase = RUNS;
byte now_on;     // the beginning
byte first = 1;  // number of its first checkpoint
byte kept;       // that it began with; 0: none
bit has_read[2];

// For the checks: what the beginnings went on from, and what was whole last.
byte from[BEGINNINGS];
byte newest;

hidden byte g, n, c;

// ---- mutants

#ifdef M_SAME_NUMBERS
#define FIRST_OF_NEXT(highest) ((kept > 0 -> kept : 0) + 1)
#else
#define FIRST_OF_NEXT(highest)                                                 \
    (((first > (highest) -> first : (highest)) / THOUSAND + 1) * THOUSAND)
#endif
#ifdef M_GOES_ON
#define MAY_BEGIN(b) true
#else
#define MAY_BEGIN(b) (b == now_on && phase == RUNS) // nobody is lost
#endif
#ifdef M_SAME_KEY
#define HEARS(b) true
#else
#define HEARS(b) ((b) == now_on)
#endif
#ifdef M_MANIFEST_AT_ONCE
#define ARE_WRITTEN(b) true
#else
#define ARE_WRITTEN(b) (has_written[AT(b, 0)] && has_written[AT(b, 1)])
#endif
#ifdef M_ONE_IS_KEPT
#define N_KEPT 1
#else
#define N_KEPT 2
#endif

// ---- checks

// Is it of what has led to the present? (Of what a beginning did before it was left.)
#define IS_BEFORE(done, than)                                                  \
    (BEGINNING_OF(done) == BEGINNING_OF(than) && (done) <= (than))
#define LED_HERE(done)                                                         \
    (BEGINNING_OF(done) == now_on ||                                           \
     (from[now_on] != 0 &&                                                     \
      (IS_BEFORE(done, from[now_on]) ||                                        \
       (from[BEGINNING_OF(from[now_on])] != 0 &&                               \
        IS_BEFORE(done, from[BEGINNING_OF(from[now_on])])))))

// ---- the folder's steps

inline remove(g)
{
    is_there[g] = 0;
    manifest[g] = 0;
    file[(g) * 2] = 0;
    file[(g) * 2 + 1] = 0;
}

// All but the newest of which there is a manifest.
inline tidy()
{
    n = 0;
    g = NUMBERS - 1;
    do
    :: g > 0 ->
        if
        :: n == N_KEPT || manifest[g] == 0 -> remove(g);
        :: n < N_KEPT && manifest[g] != 0 -> n++;
        fi;
        g--
    :: else -> break
    od;
    n = 0
}

// ---- nodes

inline begin_checkpoint(b)
{
    n_cuts[b]++;
    number[b] = next[b];
    is_there[number[b]] = 1;
    next[b]++;
    printf("beginning %d: checkpoint %d\n", b, number[b]);
    is_to_write[AT(b, 0)] = 1;
    is_to_write[AT(b, 1)] = 1;
    has_written[AT(b, 0)] = 0;
    has_written[AT(b, 1)] = 0;
}

inline write_file(b, node)
{
    printf("beginning %d: node %d writes to %d\n", b, node, number[b]);
    is_to_write[AT(b, node)] = 0;
    has_written[AT(b, node)] = is_alive[AT(b, 0)];
    if
    :: is_there[number[b]] -> file[number[b] * 2 + node] = DONE(b, n_cuts[b]);
    :: else // it is open, and nobody sees it any more
    fi
}

inline write_manifest(b)
{
    printf("beginning %d: the manifest of %d\n", b, number[b]);
    if
    :: is_there[number[b]] ->
        manifest[number[b]] = DONE(b, n_cuts[b]);
        is_to_tidy[b] = 1;
    :: else
    fi;
    if
    :: b == now_on && phase != IS_OVER && IS_WHOLE(number[b]) ->
        newest = DONE(b, n_cuts[b]);
    :: else
    fi;
    number[b] = 0
}

inline tidy_folder(b)
{
    printf("beginning %d: removes old ones\n", b);
    is_to_tidy[b] = 0;
    tidy();
}

// ---- the launcher

// It reaches them, or not.
inline lose(first_ends, second_ends)
{
    printf("the launcher: a node of %d is lost\n", now_on);
    is_alive[AT(now_on, 0)] = is_alive[AT(now_on, 0)] && !(first_ends);
    is_alive[AT(now_on, 1)] = is_alive[AT(now_on, 1)] && !(second_ends);
    phase = REMOVES;
}

inline remove_outdated()
{
#ifndef M_NOT_REMOVED
    g = kept + 1;
    do
    :: now_on > 0 && g < first -> remove(g); g++
    :: else -> break
    od;
    if
    :: now_on > 0 -> tidy();
    :: else
    fi;
#endif
    phase = CHOOSES;
}

inline begin_anew()
{
    g = NUMBERS - 1;
    do
    :: g > 0 && !is_there[g] -> g--
    :: else -> break
    od;
    first = FIRST_OF_NEXT(g);
    kept = c;
    now_on++;
    from[now_on] = newest;
    next[now_on] = first;
    is_alive[AT(now_on, 0)] = 1;
    is_alive[AT(now_on, 1)] = 1;
    has_read[0] = (c == 0);
    has_read[1] = (c == 0);
    phase = READS;
}

inline choose()
{
    c = NUMBERS - 1;
    do
    :: c > 0 && !IS_WHOLE(c) -> c--
    :: else -> break
    od;
    printf("the launcher: back to %d\n", c);
    assert(c > 0 || newest == 0); // W
    assert(c == 0 || LED_HERE(manifest[c])); // R1: which has led here
    assert(c == 0 || manifest[c] == newest); // W
    if
    :: now_on == BEGINNINGS - 1 -> phase = IS_OVER;
    :: else -> begin_anew();
    fi
}

// Each file is read by both.
inline read(node)
{
    printf("beginning %d: node %d reads %d\n", now_on, node, kept);
    assert(kept == 0 || IS_WHOLE(kept)); // R1
    assert(kept == 0 || manifest[kept] == from[now_on]); // R1
    has_read[node] = 1;
    if
    :: has_read[0] && has_read[1] -> phase = RUNS;
    :: else
    fi
}

#define IS_GOING(b) (is_alive[AT(b, 0)] || is_alive[AT(b, 1)])

proctype beginning(byte b)
{
end:
    do
    :: d_step {
        MAY_BEGIN(b) && is_alive[AT(b, 0)] && is_alive[AT(b, 1)] && number[b] == 0 && !is_to_tidy[b] &&
                n_cuts[b] < CUTS ->
        begin_checkpoint(b)
       }
    :: d_step {
        is_alive[AT(b, 0)] && is_to_write[AT(b, 0)] -> write_file(b, 0)
       }
    :: d_step {
        is_alive[AT(b, 1)] && is_to_write[AT(b, 1)] -> write_file(b, 1)
       }
    :: d_step {
        is_alive[AT(b, 0)] && number[b] > 0 && ARE_WRITTEN(b) ->
        write_manifest(b)
       }
    :: d_step { is_alive[AT(b, 0)] && is_to_tidy[b] -> tidy_folder(b) }
    // A frame of another beginning.
    :: d_step { IS_GOING(b) && HEARS(b) -> assert(b == now_on) /* R3: heard */ }
    od
}

proctype launcher()
{
    bit first_ends, second_ends;

end:
    do
    :: atomic {
        phase == RUNS || phase == READS ->
        select(first_ends : 0 .. 1);
        select(second_ends : 0 .. 1);
        d_step {
            lose(first_ends, second_ends);
            first_ends = 0;
            second_ends = 0
        }
       }
    :: d_step { phase == REMOVES -> remove_outdated() }
    :: d_step { phase == CHOOSES -> choose() }
    :: d_step { phase == READS && !has_read[0] -> read(0) }
    :: d_step { phase == READS && !has_read[1] -> read(1) }
    :: d_step { phase == READS && has_read[0] && has_read[1] -> phase = RUNS }
    od
}

init {
    atomic {
        next[0] = first;
        is_alive[0] = 1;
        is_alive[1] = 1;
        run beginning(0);
        run beginning(1);
        run beginning(2);
        run launcher()
    }
}
