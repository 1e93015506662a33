"""How fast replays are: measured on one core, beside NVIDIA's simulator, and how time and memory grow.

`make bench` runs everything; `run` is its command line, `page` and `figure` show what it wrote.
"""
