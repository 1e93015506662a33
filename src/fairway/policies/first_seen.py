"""What a policy noted of each waiting request at the first hook that saw it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairway.policies.base import Int64Array, QueueView


class FirstSeen:
    """One number for each waiting request, fixed by the first hook that saw it.

    A request that leaves the queue is forgotten; one that comes back (after a preemption) is seen for the first time.
    Cost: one look-up for each waiting request, by halving, and a sort of their ids.
    """

    def __init__(self) -> None:
        self._ids = self._noted = np.empty(0, dtype=np.int64)  # by rising id

    def __len__(self) -> int:
        return len(self._ids)

    def note(self, view: QueueView, values: npt.ArrayLike) -> None:
        """Note the values of this hook, one for all or shape ``(len(view),)``, for requests not seen before."""
        noted, by_id = self.of(view, values), np.argsort(view.request_id, kind="stable")
        self._ids, self._noted = view.request_id[by_id], noted[by_id]

    def of(self, view: QueueView, values: npt.ArrayLike) -> Int64Array:
        """Return what was noted of each request of ``view``, and ``values`` for one that no hook has seen."""
        fresh = np.broadcast_to(np.asarray(values, dtype=np.int64), len(view))
        if not len(self._ids):
            return fresh
        places = np.minimum(np.searchsorted(self._ids, view.request_id), len(self._ids) - 1)
        return np.where(self._ids[places] == view.request_id, self._noted[places], fresh)
