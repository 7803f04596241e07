"""The grid and the names that rules share; no rule is defined here."""

import hashlib
import os
import re
import sys
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(workflow.basedir) / "workflow" / "scripts"))

from snakemake.exceptions import WorkflowError

from docstructure.config import ConfigError, check
from docstructure.contextualizers import CONTEXTUALIZERS
from docstructure.corpora import BUILDERS
from docstructure.embedders import EMBEDDERS
from docstructure.fingerprint import fingerprint
from docstructure.grid import Cell, Grid, plain
from docstructure.llm.access import AccessError, check_access
from docstructure.llm.engines import ENGINES
from docstructure.prefixes import PREFIXES
from docstructure.querygen import QUERIES
from docstructure.reranking import RERANKERS
from docstructure.retrieval import RETRIEVAL
from docstructure.structures import STRUCTURES

with Path(workflow.source_path("../workflow/schemas/config.schema.yaml")).open() as stream:
    try:
        check(config, yaml.safe_load(stream))
    except ConfigError as error:
        raise WorkflowError(str(error)) from None

GRID = Grid(config)

# On a cluster's nodes nothing is asked of a hub: rule prefetch has fetched what jobs read.
if workflow.remote_exec:
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")

if workflow.is_main_process:
    for message in GRID.messages():
        print(message, file=sys.stderr)


def one_of(names):
    """Return the pattern that matches the given names only; with none, a pattern that matches nothing."""
    return "|".join(map(re.escape, names)) or "(?!)"


def of_kind(noun, kind):
    """Return the names of one noun that are of one kind."""
    return [name for name, entry in GRID.definitions[noun].items() if kind in entry]


def pins(env):
    """Return a digest of what an environment pins; where conda keeps it, and whether conda is on, do not count."""
    text = Path(workflow.source_path(f"../envs/{env}.yaml")).read_text(encoding="utf-8")
    pinned = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return f"pins={hashlib.sha256(pinned.encode()).hexdigest()[:16]}"


def code(env, script, registry=None, definition=None, modules=()):
    """Return what a job runs: the pins of its environment, and the code of its script and of all it resolves by name."""
    kinds = [] if registry is None else [registry.module(registry.kind(definition))]
    return f"{fingerprint(script, *kinds, *modules)} {pins(env)}"


# Options of builders that name no source: what a build itself fills, and text.
NO_SOURCES = {"cache", "download_folder", "licence"}


def source_files(corpus):
    """Return the local files that a corpus is built from: every option that is a file, and all files of one that is a folder."""
    found = []
    values = [plain(GRID.definitions["corpora"][corpus]["builder"])]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            values.extend(entry for key, entry in value.items() if key not in NO_SOURCES)
        elif isinstance(value, list):
            values.extend(value)
        elif isinstance(value, str) and value:
            path = Path(value)
            if path.is_file():
                found.append(path)
            elif path.is_dir():
                found.extend(file for file in path.rglob("*") if file.is_file())
    return sorted(map(str, found))


def asks_model(definition):
    """Return whether a definition is of a kind that asks a language model."""
    return "llm" in definition or "generated" in definition


def model_of(definition):
    """Return the model that a definition names, as the stages take it: {name: {engine: options}}."""
    name = (definition.get("llm") or definition.get("generated"))["model"]
    return {name: GRID.definition("models", name)}


def answers(definition):
    """Return what a stage needs to ask a model, or to read what it has answered."""
    return {"models": model_of(definition), "cache": config["llm"]["cache"]}


def cached_answers(definition):
    """Return what a stage needs to read what a model has answered; nothing for a kind that asks none."""
    return {**answers(definition), "offline": True} if asks_model(definition) else {}


def shards_of(stem, definition):
    """Return the shard files of a stage; none for a kind that asks no model."""
    shards = config["llm"]["shards"]
    return [f"{stem}.{shard}-of-{shards}.parquet" for shard in range(shards)] if asks_model(definition) else []


def shard_code(env, script, registry, definition):
    """Return what a shard's job runs: as `code`, with the engine of its model."""
    (engine,) = model_of(definition).values()
    return code(env, script, registry, definition, modules=[ENGINES.module(ENGINES.kind(engine))])


def sections_for_queries(corpus):
    structure = queries_of(corpus)["generated"].get("structure", "gold")
    return f"<results>/{corpus}/sections/{structure}.parquet"


def queries_of(corpus):
    """Return where a corpus's queries come from, as {kind: options}."""
    queries = plain(GRID.definitions["corpora"][corpus]["queries"])
    return {queries: {}} if isinstance(queries, str) else queries


def eligibility_of(corpus):
    return {"contexts": [], **GRID.definition("corpora", corpus)["eligibility"]}


def structures_for_eligibility(wildcards):
    names = eligibility_of(wildcards.corpus)["structures"]
    return [f"<results>/{wildcards.corpus}/structures/{name}.parquet" for name in names]


def contexts_of_view(wildcards):
    prefix = GRID.definitions["prefixes"][wildcards.prefix]
    if "context" not in prefix:
        return []
    contextualizer = prefix["context"]["contextualizer"]
    return f"<results>/{wildcards.corpus}/contexts/{wildcards.boundaries}.{contextualizer}.parquet"


def of_condition(wildcards, kind):
    """Return the artifact of a condition's boundaries, view or vectors: conditions with one view share its files."""
    view, boundaries = GRID.view(wildcards.condition), GRID.boundaries(wildcards.condition)
    name = {
        "chunks": f"chunks/{boundaries}",
        "view": f"views/{view}",
        "vectors": f"vectors/{wildcards.embedder}/{view}",
    }[kind]
    return f"<results>/{wildcards.corpus}/{name}.parquet"


def retrieval_of(condition):
    return GRID.definition("retrieval", GRID.definitions["conditions"][condition]["retrieval"])


def scores_of_corpus(wildcards):
    return expand(
        "<results>/{corpus}/cells/{cell}/scores.parquet",
        corpus=wildcards.corpus,
        cell=[cell.folder for cell in GRID.cells(wildcards.corpus)],
    )


def cells_of_corpus(wildcards):
    return [
        {
            "condition": cell.condition,
            "embedder": cell.embedder,
            "reranker": cell.reranker,
        }
        for cell in GRID.cells(wildcards.corpus)
    ]


# Tables that the paper's numbers are compared with.
REPLICATED = (
    "contrasts",
    "means",
    "dose_response",
    "per_type",
    "topics",
    "funnel_summary",
    "query_profile",
    "structure_summary",
    "size_match",
    "span_identity",
    "bm25_probe",
)


def of_chunk_sets(corpus, folder):
    """Return one file per chunk set in use."""
    return [f"<results>/{corpus}/{folder}/{boundaries}.parquet" for boundaries in GRID.chunk_sets(corpus)]


def of_structures(corpus, folder):
    """Return one file per structure in use."""
    return [f"<results>/{corpus}/{folder}/{structure}.parquet" for structure in GRID.structures(corpus)]


def funnels_of(corpus):
    """Return the funnel folders of a corpus: the builder's, and that of generated queries."""
    generated = [f"<results>/{corpus}/query_funnel"] if "generated" in queries_of(corpus) else []
    return [f"<results>/{corpus}/funnel", *generated]


def routed(corpus, kind):
    """Return one file per two-stage cell: its chunks, vectors or query vectors."""
    names = {
        "chunks": lambda cell: f"chunks/{GRID.boundaries(cell.condition)}",
        "vectors": lambda cell: f"vectors/{cell.embedder}/{GRID.view(cell.condition)}",
        "query_vectors": lambda cell: f"query_vectors/{cell.embedder}",
    }
    return [f"<results>/{corpus}/{names[kind](cell)}.parquet" for cell in GRID.routed_cells(corpus)]


def registered():
    """Return the pre-registered block: the cell, the contrasts, and what each subtracts."""
    return {
        "preregistration": plain(config["preregistration"]),
        "contrasts": {
            name: plain(GRID.definitions["contrasts"][name]) for name in config["preregistration"]["contrasts"]
        },
    }


def ladders():
    """Return every ladder with the depth of each step."""
    return {
        name: {step: GRID.depth(step) for step in steps} for name, steps in config["exploration"]["ladders"].items()
    }


def bootstrap_options():
    """Return the settings of every bootstrap."""
    return {key: config["statistics"][key] for key in ("bootstrap_iters", "confidence", "seed")}


TEMPLATES = "resources/report"

# Artifacts of the report, and where they are below a corpus.
REPORTED = {
    **dict.fromkeys(
        ("contrasts", "means", "dose_response", "budget", "per_type", "power", "noise", "placebo_replicates"),
        "statistics/",
    ),
    **dict.fromkeys(
        (
            "section_recall",
            "placebo_residuals",
            "size_match",
            "span_identity",
            "structure_summary",
            "truncation",
            "bm25_probe",
            "query_profile",
            "topics",
            "funnel_summary",
            "stage_costs",
        ),
        "diagnostics/",
    ),
    **dict.fromkeys(("audit", "registration", "replication"), ""),
}


def reported(corpus):
    """Return artifact -> path of a corpus; noise only where the config compares embedders."""
    return {
        name: f"{config['outdir']}/{corpus}/{folder}{name}.parquet"
        for name, folder in REPORTED.items()
        if name != "noise" or config["exploration"]["noise"]
    }


def reported_cells():
    """Return every cell with its scores and provenance."""
    return [
        {
            "corpus": cell.corpus,
            "condition": cell.condition,
            "embedder": cell.embedder,
            "reranker": cell.reranker,
            "scores": f"{config['outdir']}/{cell.corpus}/cells/{cell.folder}/scores.parquet",
            "provenance": f"{config['outdir']}/{cell.corpus}/cells/{cell.folder}/provenance.json",
        }
        for corpus in config["corpora"]
        for cell in GRID.cells(corpus)
    ]


def side(corpus, name, condition):
    """Return the files of one side of a comparison in the pre-registered cell."""
    cell, root = config["preregistration"]["cell"], f"{config['outdir']}/{corpus}"
    folder = f"{root}/cells/{condition}/{cell['embedder']}/{cell['reranker']}"
    return {
        name: condition,
        f"{name}_scores": f"{folder}/scores.parquet",
        f"{name}_ranking": f"{folder}/ranking.parquet",
        f"{name}_chunks": f"{root}/chunks/{GRID.boundaries(condition)}.parquet",
        f"{name}_view": f"{root}/views/{GRID.view(condition)}.parquet",
    }


def comparisons(corpus):
    """Return the contrasts that a corpus has in the pre-registered cell, with the files of both sides."""
    cell, run = config["preregistration"]["cell"], set(GRID.cells(corpus))
    found = []
    for name in GRID.contrasts():
        pair = GRID.definitions["contrasts"][name]
        if {Cell(corpus, condition, cell["embedder"], cell["reranker"]) for condition in pair} <= run:
            sides = {**side(corpus, "minuend", pair[0]), **side(corpus, "subtrahend", pair[1])}
            found.append({"contrast": name, "embedder": cell["embedder"], "reranker": cell["reranker"], **sides})
    return found


def explorers():
    """Return the explorer page of every corpus that has something to compare."""
    return {
        corpus: f"{config['outdir']}/report/explorer/{corpus}.html"
        for corpus in config["corpora"]
        if comparisons(corpus)
    }


def command():
    """Return the command that makes a target of this run: the target follows."""
    files = [os.path.relpath(file, workflow.basedir) for file in workflow.configfiles]
    extra = [file for file in files if file != "config/config.yaml"]
    return " ".join(["snakemake --profile profiles/local", *(["--configfile", *extra] if extra else []), "--"])


def metric_modules():
    """Return the modules of all metrics: scores resolve them by name."""
    folder = Path(workflow.basedir) / "workflow" / "scripts" / "docstructure" / "metrics"
    return sorted(f"docstructure.metrics.{file.stem}" for file in folder.glob("*.py") if file.stem != "__init__")


def prompts():
    """Return the prompt templates: what a language model is asked is an input of what it answers."""
    return sorted(map(str, Path("resources/prompts").glob("*.jinja")))


def prompts_of(definition):
    """Return the prompts behind what is built from a model's answers.

    Not its shards alone: they say how each document came through, which may stay as it was while the answers change.
    """
    return prompts() if asks_model(definition) else []


def artifacts(corpus):
    """Return every artifact of a corpus that the grid asks for, so that one that is missing is made again."""
    cells = [
        f"cells/{cell.folder}/{name}"
        for cell in GRID.cells(corpus)
        for name in ("ranking.parquet", "scores.parquet", "provenance.json")
    ]
    views = [
        f"{folder}/{view}.parquet"
        for view in GRID.views(corpus)
        for folder in ("views", *(f"vectors/{embedder}" for embedder in config["embedders"]))
    ]
    chunks = [f"{folder}/{name}.parquet" for name in GRID.chunk_sets(corpus) for folder in ("candidates", "chunks")]
    sections = [f"sections/{structure}.parquet" for structure in GRID.structures(corpus)]
    queries = [f"query_vectors/{embedder}.parquet" for embedder in config["embedders"]]
    first = ["documents.parquet", "queries.parquet", "eligible.parquet"]
    return [f"<results>/{corpus}/{name}" for name in [*first, *sections, *chunks, *views, *queries, *cells]]


def language_models():
    """Return the language models that the study asks; none where only their answers are read."""
    asked = [] if config["llm"]["offline"] else [name for corpus in config["corpora"] for name in GRID.models(corpus)]
    return list(dict.fromkeys(asked))


def models_to_ask():
    """Return the language models that this run's jobs will ask."""
    shards = [job for job in workflow.dag.needrun_jobs() if job.rule.name.endswith("_shard")]
    return sorted({name for job in shards for name in job.params.options["models"]})
