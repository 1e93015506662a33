"""A real vLLM server: started, asked over HTTP at a trace's times, and watched from the client's side."""

from fairway.serving.server import RunningServer, Serving, running_server

__all__ = ["RunningServer", "Serving", "running_server"]
