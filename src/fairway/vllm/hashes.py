"""Token ids and block hashes of requests: by vLLM's hash function, named by the ids of our chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vllm.utils.hashing import sha256
from vllm.v1.core import kv_cache_utils

from fairway.engine import Request, generated_block_id


class BlockHashes:
    """Hashes of one trace's blocks, each distinct block of the prompts hashed once.

    An id of a chain stands for a block and everything before it, so it serves as the block's content: id ``c`` is the
    token ids from ``c * block_tokens`` on. Generated tokens are negative, so no prompt contains them.
    """

    def __init__(self, block_tokens: int) -> None:
        kv_cache_utils.init_none_hash(sha256)
        self._block_tokens = block_tokens
        self._hash_request = kv_cache_utils.get_request_block_hasher(block_tokens, sha256)
        self._hash_of: dict[int, bytes] = {}
        self._id_of: dict[bytes, int] = {}

    def prompt_token_ids(self, request: Request) -> list[int]:
        """Return the token ids of a prompt; those of an unfinished last block are nobody's content."""
        size = self._block_tokens
        tokens = [token for block_id in request.chain for token in range(block_id * size, (block_id + 1) * size)]
        return tokens + [0] * (request.prompt_tokens - len(tokens))

    def prompt_hashes(self, chain: list[int]) -> list[bytes]:
        """Return the hashes of a prompt's full blocks."""
        hashes: list[bytes] = []
        for block_id in chain:
            if block_id not in self._hash_of:
                size = self._block_tokens
                tokens = tuple(range(block_id * size, (block_id + 1) * size))
                parent = hashes[-1] if hashes else None
                self._hash_of[block_id] = kv_cache_utils.hash_block_tokens(sha256, parent, tokens)
                self._id_of[self._hash_of[block_id]] = block_id
            hashes.append(self._hash_of[block_id])
        return hashes

    def generated_hashes(self, request: Any, cache_blocks: int) -> list[bytes]:
        """Return the hashes of the blocks that a vLLM request's newest tokens fill."""
        first = len(request.block_hashes)
        hashes: list[bytes] = self._hash_request(request)
        for block, block_hash in enumerate(hashes, first):
            self._id_of[block_hash] = generated_block_id(int(request.request_id), block, cache_blocks)
        return hashes

    def block_id(self, key: bytes) -> int:
        """Return the id that a block of vLLM's pool has in our chains, from its key (hash and group)."""
        return self._id_of[kv_cache_utils.get_block_hash(key)]

    def prefix_ids(self, hashes: Sequence[bytes]) -> list[int]:
        """Return the ids of a vLLM request's blocks in our chains, from their hashes."""
        return [self._id_of[block_hash] for block_hash in hashes]


class BlockContents(Sequence[int | None]):
    """What each block of vLLM's pool holds, as an id of our chains, by the block's number; None if nothing."""

    def __init__(self, blocks: Sequence[Any], hashes: BlockHashes) -> None:
        self._blocks = blocks
        self._hashes = hashes

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, block: Any) -> Any:
        key = self._blocks[block].block_hash
        return None if key is None else self._hashes.block_id(key)


def output_token_id(request_id: int) -> int:
    """Return the made-up token that a request generates, unlike any other request's."""
    return -request_id - 1
