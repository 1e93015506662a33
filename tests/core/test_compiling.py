"""Where compiled code is kept."""

from fairway.core import compiling


def test_the_first_folder_that_can_be_written_to_is_taken(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    folders = [tmp_path / "file" / "below", tmp_path / "good", tmp_path / "other"]
    assert compiling.writable_folder(folders) == tmp_path / "good"
    assert not (tmp_path / "other").exists()
    assert compiling.writable_folder(folders[:1]) is None


def test_without_a_folder_a_function_is_compiled_all_the_same(monkeypatch):
    monkeypatch.setattr(compiling, "_folder", lambda: None)

    @compiling.compiled
    def twice(number):
        return 2 * number

    assert twice(4) == 8


def test_a_changed_source_has_a_folder_of_its_own(monkeypatch, tmp_path):
    (tmp_path / "one.py").write_text("a = 1\n", encoding="utf-8")
    monkeypatch.setattr(compiling, "__file__", str(tmp_path / "compiling.py"))
    before = compiling._digest()
    (tmp_path / "one.py").write_text("a = 2\n", encoding="utf-8")
    assert compiling._digest() != before
