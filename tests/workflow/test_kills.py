"""A run that is killed, or loses a file, resumes to the same bytes."""

import pytest

from tests.workflow.conftest import kill_when

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]

VECTORS = "tiny/vectors/all-minilm-l6-v2"


def resume(checkout):
    checkout.run("--unlock")
    return checkout.run()


def test_killed_during_embedding(whole, fresh):
    """Kill -9 of Snakemake and its jobs once the first texts are in the store, before the first vectors file is."""
    store = fresh.folder / "cache" / "vectors"

    def embedding():
        return store.exists() and any(path.is_file() for path in store.rglob("*"))

    process = fresh.start()
    kill_when(process, embedding)
    assert len(list(fresh.path(VECTORS).glob("*.parquet"))) < len(list(whole.path(VECTORS).glob("*.parquet")))
    resume(fresh)
    assert fresh.digests() == whole.digests()


def test_killed_between_stages(whole, fresh):
    """Kill -9 when the first ranking appears: some cells are done, some half done, most not begun."""
    cells = fresh.path("tiny/cells")
    process = fresh.start()
    kill_when(process, lambda: any(cells.rglob("ranking.parquet")) if cells.exists() else False)
    resume(fresh)
    assert fresh.digests() == whole.digests()


def test_half_written_output_of_a_killed_job_is_made_again(whole, copy):
    """A job that died while it wrote leaves only a partial file under another name; an interrupted one is rerun."""
    target = copy.path("tiny/chunks/induced.parquet")
    partial = target.with_name(f".{target.name}.1.partial")
    partial.write_bytes(target.read_bytes()[:100])
    target.unlink()
    copy.run()
    assert copy.digests() == whole.digests()


@pytest.mark.parametrize(
    "name",
    [
        "tiny/chunks/induced.parquet",
        f"{VECTORS}/induced.path3.parquet",
        "tiny/cells/A4/all-minilm-l6-v2/none/ranking.parquet",
        "tiny/cells/P/all-minilm-l6-v2/none/scores.parquet",
    ],
)
def test_a_deleted_artifact_is_made_again_the_same(whole, copy, name):
    copy.path(name).unlink()
    copy.run()
    assert copy.digests() == whole.digests()


def test_an_emptied_artifact_is_an_error_and_never_a_number(copy):
    """A resumed run of another system searched an empty index and published 0 %."""
    vectors = copy.path(f"{VECTORS}/induced.path3.parquet")
    import polars as pl

    pl.read_parquet(vectors).clear().write_parquet(vectors)
    said = copy.run(check=False)
    assert "induced.path3.parquet" in said
    assert "Error" in said
    assert not copy.path("tiny/cells/A3/all-minilm-l6-v2/none/ranking.parquet").exists()
