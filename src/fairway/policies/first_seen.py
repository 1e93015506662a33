"""What a policy noted of each waiting request at the first hook that saw it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairway.policies.base import Int64Array, QueueView


class FirstSeen:
    """One number for each waiting request, fixed by the first hook that saw it.

    A request that leaves the queue is forgotten; one that comes back (after a preemption) is seen for the first time.
    Cost: one look-up for each waiting request.
    """

    def __init__(self) -> None:
        self._noted: dict[int, int] = {}

    def note(self, view: QueueView, values: npt.ArrayLike) -> None:
        """Note the values of this hook, one for all or shape ``(len(view),)``, for requests not seen before."""
        self._noted = dict(zip(view.request_id.tolist(), self.of(view, values).tolist(), strict=True))

    def of(self, view: QueueView, values: npt.ArrayLike) -> Int64Array:
        """Return what was noted of each request of ``view``, and ``values`` for one that no hook has seen."""
        fresh = np.broadcast_to(np.asarray(values, dtype=np.int64), len(view)).tolist()
        noted = self._noted
        found = (noted.get(request, value) for request, value in zip(view.request_id.tolist(), fresh, strict=True))
        return np.fromiter(found, dtype=np.int64, count=len(view))
