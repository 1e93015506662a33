"""Who comes next under rules that remember (`fairway.policies.remembering`), as far as a step needs it."""

from __future__ import annotations

from fairway.core import layout as at
from fairway.core.blocks import Int32Array, Int64Array
from fairway.core.compiling import inner, int64
from fairway.core.formula import HEAD_ID, HIT_TOKENS, KEY, N_TOKENS, PASSED, REQUEST_ID
from fairway.policies import HEAD_TOKENS

# Rows of the room that a standing list is sorted in, over its places.
KEYS, ORDER, SPARE, SORTED, PASSED_HEADS = range(5)
LIST_ROWS = 5


@inner
def sort_falling(keys: Int64Array, order: Int64Array, spare: Int64Array) -> None:
    """Write positions by falling key into ``order``, equal keys by rising position. Cheap where they fall already."""
    count = len(keys)
    for position in range(count):
        order[position] = position
    width = 1
    while width < count:
        for begin in range(0, count - width, 2 * width):
            middle, end = begin + width, min(begin + 2 * width, count)
            if keys[order[middle - 1]] >= keys[order[middle]]:
                continue
            for place in range(begin, middle):
                spare[place] = order[place]
            first, second = begin, middle
            for place in range(begin, end):
                if first == middle:
                    break  # what is left of the second half stands there already
                if second == end or keys[spare[first]] >= keys[order[second]]:
                    order[place] = spare[first]
                    first += 1
                else:
                    order[place] = order[second]
                    second += 1
        width *= 2


# a head group


@inner
def find_head_end(state: Int64Array, settings: Int64Array, columns: Int64Array) -> None:
    """Find the place behind the head group. Whoever passes a request passes all before it, too, so halving finds it."""
    low, high = state[at.OLDEST_PLACE], state[at.END_PLACE]
    while low < high:
        middle = (low + high) // 2
        if columns[PASSED, middle] >= settings[at.K]:
            low = middle + 1
        else:
            high = middle
    state[at.HEAD_END] = low


@inner
def note_passing(state: Int64Array, columns: Int64Array, place: int) -> None:
    """Count that the request at ``place`` passes everybody before it."""
    for before in range(state[at.OLDEST_PLACE], place):
        columns[PASSED, before] += 1


# groups


@inner
def count_groups(state: Int64Array, settings: Int64Array, columns: Int64Array, turns: Int64Array) -> None:
    """Count each group's members, and see whose turn it is."""
    count = turns.shape[1]
    for group in range(count):
        turns[at.MEMBERS_LEFT, group] = 0
        turns[at.CURSOR, group] = state[at.OLDEST_PLACE]
        turns[at.SHARE_LEFT, group] = settings[at.SHARE] * (group + 1)
    for place in range(state[at.OLDEST_PLACE], state[at.END_PLACE]):
        if columns[REQUEST_ID, place] >= 0:
            turns[at.MEMBERS_LEFT, columns[KEY, place]] += 1
    state[at.TURN_POINTER], state[at.TURN] = state[at.POINTER], 0
    if settings[at.RULE] == at.TURNS:
        first = state[at.POINTER]
        while turns[at.MEMBERS_LEFT, first] == 0:
            first = (first - 1) % count
        state[at.NEXT_POINTER] = (first - 1) % count
        for group in range(count):
            if group != first and not settings[at.OFFERS_ALL]:
                turns[at.MEMBERS_LEFT, group] = 0


@inner
def _oldest_of(columns: Int64Array, turns: Int64Array, group: int) -> int:
    """Return the place of a group's oldest request that has not been taken; it is taken now."""
    place = turns[at.CURSOR, group]
    while columns[KEY, place] != group:
        place += 1
    turns[at.CURSOR, group] = place + 1
    turns[at.MEMBERS_LEFT, group] -= 1
    return place


@inner
def next_by_turns(state: Int64Array, columns: Int64Array, turns: Int64Array) -> int:
    """Return the next place by turns, NONE if the order ends."""
    count = turns.shape[1]
    while state[at.TURN] < 2 * count:
        group = (state[at.TURN_POINTER] - state[at.TURN]) % count
        takes_rest = state[at.TURN] >= count
        if turns[at.MEMBERS_LEFT, group] > 0 and (takes_rest or turns[at.SHARE_LEFT, group] > 0):
            turns[at.SHARE_LEFT, group] -= 1
            return _oldest_of(columns, turns, group)
        state[at.TURN] += 1
    return int64(at.NONE)


@inner
def next_by_draws(state: Int64Array, columns: Int64Array, turns: Int64Array) -> int:
    """Return the next place that is drawn."""
    richest = int64(at.NONE)
    for group in range(turns.shape[1]):
        if turns[at.MEMBERS_LEFT, group] > 0 and (
            richest == at.NONE or turns[at.CREDITS, group] + group + 1 >= turns[at.CREDITS, richest] + richest + 1
        ):
            richest = group
    state[at.DRAWN] = richest
    place = _oldest_of(columns, turns, richest)
    turns[at.MEMBERS_LEFT, richest] += 1  # it is there until it has paid
    return place


@inner
def settle_draw(state: Int64Array, turns: Int64Array) -> None:
    """Let every group that has a request gain its weight, and the drawn one pay for all."""
    pool, drawn = int64(0), state[at.DRAWN]
    for group in range(turns.shape[1]):
        if turns[at.MEMBERS_LEFT, group] > 0:
            turns[at.CREDITS, group] += group + 1
            pool += group + 1
    turns[at.CREDITS, drawn] -= pool
    turns[at.MEMBERS_LEFT, drawn] -= 1


# a list that lives on


@inner
def bring_list_up_to_date(
    state: Int64Array,
    settings: Int64Array,
    requests: Int32Array,
    facts: Int64Array,
    columns: Int64Array,
    listed: Int64Array,
    room: Int64Array,
) -> None:
    """Forget who has left, let new requests join the end, and sort the list unless it is long."""
    count = int64(0)
    for index in range(state[at.LISTED]):
        if facts[at.START_NS, listed[index]] == at.NONE:
            listed[count] = listed[index]
            count += 1
    for request in range(state[at.LIST_ARRIVED], state[at.ARRIVED]):
        if not facts[at.REFUSED, request]:
            listed[count] = request
            count += 1
    state[at.LISTED], state[at.LIST_ARRIVED], state[at.LIST_NEXT] = count, state[at.ARRIVED], 0
    if count > settings[at.MOST_SORTED]:
        return
    heads = int64(0)
    for index in range(count):
        place = requests[listed[index], at.PLACE]
        room[KEYS, index] = columns[HIT_TOKENS, place]
        if columns[HIT_TOKENS, place] <= settings[at.COLD_HIT_TOKENS] and columns[N_TOKENS, place] > HEAD_TOKENS:
            head, known = columns[HEAD_ID, place], int64(0)
            while known < heads and room[PASSED_HEADS, known] != head:
                known += 1
            if known < heads:
                room[KEYS, index] = -1  # behind everybody else
            else:
                room[PASSED_HEADS, heads] = head
                heads += 1
    sort_falling(room[KEYS, :count], room[ORDER], room[SPARE])
    for index in range(count):
        room[SORTED, index] = listed[room[ORDER, index]]
    for index in range(count):
        listed[index] = room[SORTED, index]
