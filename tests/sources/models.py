"""Tokenizer models as large as the real ones, in which every byte of a text is a token of its own."""

import base64


def byte_vocabulary(tokens: int) -> list[str]:
    """Return tokens in base64: all bytes, and what no UTF-8 text has."""
    rest = (b"\xff" + number.to_bytes(4, "big") for number in range(tokens - 256))
    return [base64.b64encode(token).decode() for token in (*(bytes([byte]) for byte in range(256)), *rest)]


def llama_model() -> str:
    """Return the lines of a model file of Llama 3's."""
    return "".join(f"{token} {rank}\n" for rank, token in enumerate(byte_vocabulary(128_000)))
