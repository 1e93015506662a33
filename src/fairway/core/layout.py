"""What stands where in the core's arrays.

Compiled functions take arrays, not objects: what belongs to one segment, request or replay lies together in one row.
"""

from __future__ import annotations

NONE = -1
MOST = 2**62  # stands for any number above what there can be

# A row of `segments`. First come the root and the trie's segments, then as many stops (see `queue`), then one row for
# each copy that the cache could hold, then the two ends of the free list in one row.
(
    BLOCKS,  # the segment's length
    RESIDENT,  # how many of them, from its beginning on, the cache holds
    SEEN,  # how many of them the waiting requests' hits count
    REFERENCES,  # requests that hold it; all its resident blocks are held alike
    BEFORE,  # neighbours in the free list
    BEHIND,
    PARENT,  # of a copy: the segment that it is a copy of
    START,  # blocks before it
    LEVEL,  # segments before it
    OLDEST,  # what a hit takes: the row itself, or its oldest copy (the root's row if there is none)
    NEWEST,  # its youngest copy
    WAITERS,  # first of the waiting requests whose hit ends here, NONE if there is none
    CHILDREN,  # first of the segments behind it that have waiters
    ELDER,  # neighbours among the segments with waiters behind the same parent; of a copy: among the copies
    YOUNGER,
    CHANGED,  # whether it stands in the list of changed segments
) = range(16)
SEGMENT_FIELDS = 16

# A row of `requests`.
(
    PATH,  # where its way begins in `path`
    SEGMENTS,  # the length of its way
    LAST,  # the segment of its last block, if that is full, else NONE
    TOKENS,
    FRONT,  # while waiting: the first segment of its way that is not wholly resident, or its stop
    PREVIOUS,  # neighbours among the waiters at the same segment
    NEXT,
    PLACE,  # in the queue
) = range(8)
REQUEST_FIELDS = 8

# A row of `facts`, over the requests: what is given, then what becomes of them.
ARRIVAL_NS, PREFILL_NS, HEAD_ID, START_NS, FIRST_TOKEN_NS, HIT, REFUSED = range(7)
FACTS = 7

# Places in `state`.
(
    NOW_NS,
    ARRIVED,  # requests that have arrived
    STEPS,
    BUSY_NS,
    EVICTED_BLOCKS,
    COMPUTED_TOKENS,
    EXTRAPOLATED_TOKENS,
    ADMISSIONS,
    FREE,  # blocks that nobody holds
    BLANK,  # of these, the ones without content: all at the free list's front
    SPARE_COPY,  # first of the unused rows for copies, chained by BEHIND
    CHANGES,  # length of the list of changed segments
    WAITING,
    OLDEST_PLACE,  # first place of the queue that may hold a request
    END_PLACE,  # behind the last one
    PARTIAL,  # the request that runs but has not computed its whole prompt, NONE if there is none
    PARTIAL_TOKENS,  # how many it has
    PARTIAL_LEVEL,  # the segment of its way that it fills
    STEP_TOKENS,  # of the step at hand: tokens so far
    STEP_EXTRAPOLATED,  # tokens whose attention was extrapolated
    STEP_RUNNING,  # requests that run
    STEP_DONE,  # requests that have computed their whole prompt
    CALLS,  # steps asked for, those in which nothing ran included
    HOOKS,  # hook rows written
    HOOKS_SEEN,  # hooks with requests waiting
    HEAD_END,  # of a head group: the place behind it, at this hook
    POINTER,  # of turns: the group whose turn is next
    TURN_POINTER,  # of the step at hand: that group as of the hook,
    NEXT_POINTER,  # the one after an admission,
    TURN,  # and turns that are over
    DRAWN,  # of draws: the group that gave the last one
    LISTED,  # of a standing list: its length
    LIST_ARRIVED,  # requests that had arrived when it was last brought up to date
    LIST_NEXT,  # where the step at hand goes on in it
) = range(34)
STATE_FIELDS = 34

# Places in `measures`, the state in floating-point numbers.
ATTENTION_MS, FAST_WEIGHT, AGE = range(3)  # the last one is the clock of an eviction by priority
MEASURES = 3

# Places in `settings`.
(
    BLOCK_TOKENS,
    BUDGET_TOKENS,
    MAX_NUM_SEQS,
    USABLE_TOKENS,
    TRACKS_HITS,
    TRACKS_REMAINING,
    LIST_ENDS,  # row of `segments` with both ends of the free list
    FIRST_STOP,  # row of the root's stop; a segment's stop lies as far behind it
    FIRST_COPY,  # first row of the copies
    RULE,
    K,
    CHARGES_NEXT,
    FAIR_RESTARTS,
    BY_SCORE,  # whether the best request is the one with the highest score, else the oldest
    CLOCKED,  # whether scores change with a clock
    RECORDS,
    STEADY,  # instructions of the score that no clock changes
    CLOCK_REGISTER,
    FIXES_KEYS,  # whether a request keeps the key of its first hook
    SHARE,  # requests that a turn takes of the first group
    OFFERS_ALL,  # whether the groups behind the first one are offered, too
    COLD_HIT_TOKENS,
    MOST_SORTED,
    EVICTION,
    SPARED,  # how many of the order keep their hits
) = range(25)
SETTINGS_FIELDS = 25

ONE_ORDER, EVERY_K, TWO_LANES, HEAD_GROUP, TURNS, DRAWS, STANDING_LIST = range(7)  # values of RULE; K: k or the window
LEAST_RECENT, UNSPARED, LEAST_WORTH = range(3)  # values of EVICTION

# Rows of `turns`, over the groups; the last three are for what is drawn on record only.
MEMBERS_LEFT, CURSOR, SHARE_LEFT, CREDITS, LEFT_TO_RECORD, CREDITS_RECORDED, CURSOR_OF_RECORD = range(7)
TURNS_ROWS = 7

# A column of `done`, over the requests that have computed their whole prompt in a step.
DONE_REQUEST, DONE_COPY = range(2)
