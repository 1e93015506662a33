# The artifact in a container: `docker build -t fairway .`, then `docker run --rm --network none fairway`.
# Tests do its steps with a stand-in for docker (tests/docker); docker itself has not built it. Everything is installed
# while the image is built; a run needs no network.
FROM python:3.11.14-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/*

RUN useradd --create-home reviewer
USER reviewer
# Of a WORKDIR that is not there yet, some builders make root the owner.
RUN mkdir /home/reviewer/fairway
WORKDIR /home/reviewer/fairway

# The environment first, so that changed sources do not install it anew.
COPY --chown=reviewer Makefile pyproject.toml ./
COPY --chown=reviewer requirements ./requirements
RUN mkdir src && make .venv/.installed-run

COPY --chown=reviewer . .
# Snakemake's cache would go into the home folder, which another user or a read-only container lacks.
ENV XDG_CACHE_HOME=/tmp/fairway-cache
CMD ["make", "reproduce"]
