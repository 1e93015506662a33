"""Step-time profiles of devices and the prefill time ``T(n, h)`` that follows from one."""

from fairway.profile.reader import load_profile, profile_names, read_document, sha256_of_profile
from fairway.profile.step_time import Profile

__all__ = ["Profile", "load_profile", "profile_names", "read_document", "sha256_of_profile"]
