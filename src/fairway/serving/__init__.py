"""A real vLLM server: started, asked over HTTP at a trace's times, and watched from the client's side."""

from fairway.serving.server import RunningServer, Serving, running_server
from fairway.serving.wall_replay import Measured, measure

__all__ = ["Measured", "RunningServer", "Serving", "measure", "running_server"]
