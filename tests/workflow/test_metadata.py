"""What an archive reads of the repository: how to cite it, what Zenodo shows, what a container installs."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

# Allowed values and required keys: https://developers.zenodo.org/#representation (deposit metadata).
ZENODO_REQUIRED = {"title", "upload_type", "description", "creators", "access_right", "license"}
ZENODO_KNOWN = ZENODO_REQUIRED | {"version", "language", "keywords", "related_identifiers"}


@pytest.fixture
def citation(root: Path) -> Any:
    return yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))


@pytest.fixture
def zenodo(root: Path) -> Any:
    return json.loads((root / ".zenodo.json").read_text(encoding="utf-8"))


def test_the_citation_is_valid(citation: Any) -> None:
    # The schema is that of the Citation File Format's own repository (CC-BY-4.0).
    schema = json.loads((Path(__file__).parent / "schemas/cff-1.2.0.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft7Validator(schema)
    assert list(validator.iter_errors(citation)) == []
    assert list(validator.iter_errors(citation | {"licence": "Apache-2.0"})), "the schema refuses what it does not know"


def test_zenodo_s_metadata_are_complete(zenodo: Any) -> None:
    assert zenodo.keys() >= ZENODO_REQUIRED
    assert zenodo.keys() <= ZENODO_KNOWN
    assert zenodo["upload_type"] == "software"
    assert zenodo["access_right"] == "open"
    assert re.fullmatch(r"[a-z]{3}", zenodo["language"])
    assert all(creator.keys() <= {"name", "affiliation", "orcid"} and creator["name"] for creator in zenodo["creators"])
    for related in zenodo["related_identifiers"]:
        assert related.keys() == {"identifier", "relation", "scheme", "resource_type"}


def test_citation_zenodo_and_package_agree(citation: Any, zenodo: Any, root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == zenodo["version"] == project["version"]
    assert citation["license"] == project["license"]
    assert citation["license"].lower() == zenodo["license"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in zenodo["creators"]]
    paper = citation["references"][0]["identifiers"][0]["value"]
    assert [related["identifier"] for related in zenodo["related_identifiers"]] == [paper]


def test_the_container_rests_on_one_python_and_on_the_lock(root: Path) -> None:
    text = (root / "Dockerfile").read_text(encoding="utf-8")
    (base,) = re.findall(r"^FROM (\S+)$", text, flags=re.MULTILINE)
    assert re.fullmatch(r"python:3\.11\.\d+-slim-\w+", base)
    assert "make .venv/.installed-run" in text
    assert re.search(r"^\.venv/\.installed-run|^\$\(RUN_STAMP\):", (root / "Makefile").read_text("utf-8"), flags=re.M)
    copied = re.findall(r"^COPY \S+ (.+) \S+$", text, flags=re.MULTILINE)
    assert all((root / file).exists() for files in copied for file in files.split())
