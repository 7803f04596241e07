"""The artifacts of a small finished run, by contract: what the report and its explorer are made of.

Numbers are the paper's where it gives them (Tables 1 and 2, 6.2 to 6.6), so that the page reads as a real one.
"""

from __future__ import annotations

import json
from pathlib import Path

from docstructure.contracts.audit import AUDIT
from docstructure.contracts.bm25_probe import BM25_PROBE
from docstructure.contracts.budget import BUDGET
from docstructure.contracts.contrasts import CONTRASTS
from docstructure.contracts.dose_response import DOSE_RESPONSE
from docstructure.contracts.funnel_summary import FUNNEL_SUMMARY
from docstructure.contracts.means import MEANS
from docstructure.contracts.noise import NOISE
from docstructure.contracts.per_type import PER_TYPE
from docstructure.contracts.placebo_replicates import PLACEBO_REPLICATES
from docstructure.contracts.placebo_residuals import PLACEBO_RESIDUALS
from docstructure.contracts.power import POWER
from docstructure.contracts.registration import REGISTRATION
from docstructure.contracts.replication import REPLICATION
from docstructure.contracts.section_recall import SECTION_RECALL
from docstructure.contracts.span_identity import SPAN_IDENTITY
from docstructure.contracts.stage_costs import STAGE_COSTS
from docstructure.contracts.structure_summary import STRUCTURE_SUMMARY
from docstructure.contracts.truncation import TRUNCATION

TEMPLATES = str(Path(__file__).parents[2] / "resources" / "report")
CELL = {"metric": "cov_ndcg@10", "embedder": "bge-large-en-v1.5", "reranker": "none"}
PAIRS = {"C1": ["A3", "A1"], "C2": ["A3", "P"], "C3": ["G3", "A3"], "C4": ["A4", "A3"]}
CONDITIONS = ["A0", "A1", "A2", "A3-d1", "A3-d2", "A3", "P", "A4", "G2", "G3", "G4"]
SIZES = {"wikipedia_fa": (1294, 184), "qasper": (4303, 1508)}
# delta, low, high, p, p Holm, d_z
TESTS = {
    "wikipedia_fa": {
        "C1": (0.0218, 0.0052, 0.0380, 0.0086, 0.0172, 0.09),
        "C2": (0.0099, 0.0024, 0.0173, 0.0098, 0.0172, 0.08),
        "C3": (0.0129, 0.0038, 0.0228, 0.0034, 0.0102, 0.10),
        "C4": (-0.0326, -0.0442, -0.0217, 0.0, 0.0, -0.17),
    },
    "qasper": {
        "C1": (0.0115, 0.0055, 0.0175, 0.0, 0.0, 0.06),
        "C2": (0.0161, 0.0114, 0.0207, 0.0, 0.0, 0.11),
        "C3": (0.0011, -0.0020, 0.0043, 0.485, 0.485, 0.01),
        "C4": (-0.0147, -0.0192, -0.0104, 0.0, 0.0, -0.11),
    },
}
SCORES = {
    "wikipedia_fa": (0.362, 0.391, 0.403, 0.412, 0.413, 0.413, 0.403, 0.381, 0.417, 0.426, 0.400),
    "qasper": (0.098, 0.114, 0.117, 0.1235, 0.1245, 0.125, 0.109, 0.111, 0.120, 0.126, 0.111),
}
TYPES = {
    "wikipedia_fa": {"factoid": 0.046, "multihop": 0.031, "structural": -0.002},
    "qasper": {"extractive": 0.013, "abstractive": 0.009, "boolean": 0.008},
}
HOSTILE = "</title><script>alert(1)</script>"


def contrast_rows(corpus):
    n, docs = SIZES[corpus]
    for name, (minuend, subtrahend) in PAIRS.items():
        delta, low, high, p, holm, dz = TESTS[corpus][name]
        for metric, scale in (("cov_ndcg@10", 1.0), ("mrr", 1.4)):
            yield {
                "contrast": name,
                "minuend": minuend,
                "subtrahend": subtrahend,
                **CELL,
                "metric": metric,
                "confirmatory": metric == "cov_ndcg@10",
                "status": "tested",
                "n_queries": n,
                "n_documents": docs,
                "delta": delta * scale,
                "ci_low": low * scale,
                "ci_high": high * scale,
                "p": p,
                "p_holm": holm if metric == "cov_ndcg@10" else None,
                "family_size": 4 if metric == "cov_ndcg@10" else None,
                "dz": dz,
                "p_mixedlm": 0.12,
                "mixedlm_converged": True,
                "mixedlm_note": "",
                "paired_delta": delta,
                "p_paired": p,
                "paired_converged": True,
                "paired_note": "",
            }


def exploratory_row(corpus):
    first = next(row for row in contrast_rows(corpus))
    outside = {"confirmatory": False, "p_holm": None, "family_size": None}
    return {**first, **outside, "contrast": "E1", "minuend": "A2", "subtrahend": "A0", "delta": 0.033, "ci_high": 0.06}


def untested(row, status):
    blank = dict.fromkeys(name for name in CONTRASTS.names if CONTRASTS.columns[CONTRASTS.names.index(name)].nullable)
    return {**row, **blank, "status": status, "n_queries": 0, "n_documents": 0}


def mean_rows(corpus):
    for reranker, gain in (("none", 0.0), ("bge-reranker-v2-m3", 0.05)):
        for place, (name, value) in enumerate(zip(CONDITIONS, SCORES[corpus], strict=True)):
            yield {
                "condition": name,
                "embedder": CELL["embedder"],
                "reranker": reranker,
                "metric": "cov_ndcg@10",
                "mean": value + gain + (0.001 * (place % 3) if gain else 0),
                "n": SIZES[corpus][0],
                "confirmatory": reranker == "none",
            }


def audit_rows(failing=()):
    rows = [
        ("gold: sections tile their document", 0.0, 0.0),
        ("fixed: mean tokens match induced", 0.4, 5.0),
        ("induced.placebo3: residuals above the minimum", 0.0, 0.0),
        ("A3/bge-large-en-v1.5/none: queries missing", 0.0, 0.0),
    ]
    return [
        {"invariant": name, "value": 10.0 if name in failing else value, "limit": limit, "holds": name not in failing}
        for name, value, limit in rows
    ]


def dose_rows(corpus):
    n, docs = SIZES[corpus]
    slope = {"wikipedia_fa": (0.0032, 0.0005, 0.006, 0.02), "qasper": (0.0027, 0.0015, 0.004, 0.0)}[corpus]
    means = [SCORES[corpus][index] for index in (2, 3, 4, 5)]
    for embedder, shift, factor in (("bge-large-en-v1.5", 0.0, 1.0), ("bge-small-en-v1.5", -0.06, 0.2)):
        yield {
            "ladder": "depth",
            "conditions": ["A2", "A3-d1", "A3-d2", "A3"],
            "depths": [0, 1, 2, 3],
            "metric": "cov_ndcg@10",
            "embedder": embedder,
            "reranker": "none",
            "status": "tested",
            "n_queries": n,
            "n_documents": docs,
            "means": [means[0] + shift + factor * (value - means[0]) for value in means],
            "slope": slope[0] * factor,
            "ci_low": slope[1] * factor,
            "ci_high": slope[2] * factor,
            "p": slope[3],
            "exploratory": True,
        }


def budget_rows(corpus):
    base = {"wikipedia_fa": (0.187, 0.28, 0.397), "qasper": (0.052, 0.088, 0.139)}[corpus]
    for place, name in enumerate(CONDITIONS):
        for step, tokens in enumerate((512, 1024, 2048)):
            gain = (
                -0.02 + 0.009 * step if name == "A1" else 0.004 * place * (1 if place < 7 else -0.5) / (1 + step * 0.2)
            )
            mean = base[step] + gain
            yield {
                "condition": name,
                "embedder": CELL["embedder"],
                "reranker": "none",
                "budget": tokens,
                "n": SIZES[corpus][0],
                "mean": mean,
                "ci_low": mean - 0.01,
                "ci_high": mean + 0.01,
                "exploratory": True,
            }


def type_rows(corpus):
    for name, (minuend, subtrahend) in PAIRS.items():
        sign = -1 if name == "C4" else 1
        for kind, delta in TYPES[corpus].items():
            yield {
                "contrast": name,
                "minuend": minuend,
                "subtrahend": subtrahend,
                "type": kind,
                **CELL,
                "status": "tested",
                "n_queries": 431,
                "n_documents": 150,
                "delta": sign * delta,
                "ci_low": sign * delta - 0.012,
                "ci_high": sign * delta + 0.012,
                "p": 0.02,
                "dz": 0.1,
                "exploratory": True,
            }


def recall_rows(corpus):
    top = {"wikipedia_fa": 0.66, "qasper": 0.19}[corpus]
    for condition, shift in (("A4", 0.0), ("G4", 0.02)):
        for share in (0.05, 0.1, 0.25, 0.5, 1.0):
            yield {
                "condition": condition,
                "embedder": CELL["embedder"],
                "routed_sections": 5,
                "document_share": share,
                "n_documents": round(SIZES[corpus][1] * share),
                "n_sections": SIZES[corpus][1] * share * 14.5,
                "n_queries": SIZES[corpus][0],
                "n_draws": 1 if share == 1 else 5,
                "section_recall": min(top + shift + (1 - share) * (0.95 - top), 1.0),
            }


def power_rows(corpus):
    n, docs = SIZES[corpus]
    for name in PAIRS:
        for effect in (0.005, 0.01, 0.02):
            yield {
                "contrast": name,
                **CELL,
                "effect": effect,
                "n_queries": n,
                "n_documents": docs,
                "sd": 0.19,
                "se": 0.0016,
                "design_effect": 1.21,
                "effective_n": n / 1.21,
                "alpha": 0.05,
                "target_power": 0.8,
                "mde": 0.0045,
                "power": min(0.05 + effect * 40, 1.0),
                "exploratory": True,
            }


def draw_rows(corpus):
    deltas = [TESTS[corpus]["C2"][0] + shift for shift in (0.0, 0.0012, -0.0009, 0.0004)]
    for place, delta in enumerate(deltas):
        yield {
            "contrast": "C2",
            "minuend": "A3",
            "subtrahend": "P",
            "placebo": "P" if place == 0 else f"P-{place}",
            "seed": 20260710 + place,
            "drawn_first": place == 0,
            **CELL,
            "status": "tested",
            "n_queries": SIZES[corpus][0],
            "n_documents": SIZES[corpus][1],
            "delta": delta,
            "ci_low": delta - 0.006,
            "ci_high": delta + 0.006,
            "p": 0.004,
            "n_draws": 4,
            "draws_mean": sum(deltas) / 4,
            "draws_sd": 0.0009,
            "draws_low": min(deltas),
            "draws_high": max(deltas),
            "exploratory": True,
        }


def noise_rows():
    for name, (minuend, _) in PAIRS.items():
        yield {
            "reference": CELL["embedder"],
            "variant": "bge-large-en-v1.5-bf16",
            "scope": "contrast",
            "name": name,
            "reranker": "none",
            "metric": "cov_ndcg@10",
            "n_queries": 4303,
            "n_changed": 12,
            "max_abs": 0.03,
            "mean_abs": 0.0001,
            "reference_mean": 0.0115,
            "variant_mean": 0.01153 if minuend != "A4" else 0.01146,
            "shift": 0.00003 if minuend != "A4" else -0.00004,
            "exploratory": True,
        }


def funnel_rows(corpus):
    n, docs = SIZES[corpus]
    for stage, kept, drops in (
        ("corpus", docs, {"structure unusable": 31, "no section": 12}),
        ("queries", n, {"unanswerable": n // 6, "only figures": n // 9, "document not eligible": n // 20}),
    ):
        total = kept + sum(drops.values())
        for reason, count in {"": kept, **drops}.items():
            yield {
                "stage": stage,
                "kept": reason == "",
                "reason": reason,
                "n": count,
                "share": count / total,
                "n_stage": total,
                "n_kept": kept,
            }


def structure_rows(corpus):
    docs = SIZES[corpus][1]
    for name, bad in (("gold", 0), ("gemma", 4)):
        yield {
            "structure": name,
            "n_documents": docs + bad,
            "n_usable": docs,
            "n_ok": docs - 6,
            "n_corrected": 5,
            "n_repaired": 1,
            "n_unusable": bad,
            "n_sections": docs * 14,
            "mean_sections": 14.0,
            "n_flat": docs // 2,
            "flat_share": 0.5,
            "max_depth": 4,
        }


def extra_artifacts(corpus):
    """Return the optional artifacts of a corpus: name -> (contract, rows)."""
    residuals = {
        "view": "induced.placebo3",
        "seed": 20260710,
        "depth": 3,
        "n_pairs": 2400,
        "largest_document": 41,
        "largest_string": 1,
        "minimum": 0,
        "residual": 0,
        "n_chunks": 8000,
        "residual_chunks": 0,
        "split_pairs": 0,
    }
    truncation = {
        "view": "induced.path3",
        "n_chunks": 8000,
        "n_prefixed": 8000,
        "n_truncated": 3,
        "n_content_over": 0,
        "n_over": 0,
        "mean_prefix_tokens": 14.2,
        "max_prefix_tokens": 140,
        "max_tokens": 510,
        "limit": 510,
    }
    identity = {"boundaries": "induced", "reference": "gold", "n_documents": 184, "n_chunks": 8000}
    cost = {"rule": "embed_chunks", "job": HOSTILE, "seconds": 812.2, "cpu_seconds": 1590.0, "mean_load": 195.0}
    probe = {"boundaries": "induced", "n_queries": 1294, "n_gold_top_1": 401, "share": 401 / 1294}
    return {
        "dose_response": (DOSE_RESPONSE, list(dose_rows(corpus))),
        "budget": (BUDGET, list(budget_rows(corpus))),
        "per_type": (PER_TYPE, list(type_rows(corpus))),
        "section_recall": (SECTION_RECALL, list(recall_rows(corpus))),
        "power": (POWER, list(power_rows(corpus))),
        "placebo_replicates": (PLACEBO_REPLICATES, list(draw_rows(corpus))),
        "noise": (NOISE, list(noise_rows())),
        "funnel_summary": (FUNNEL_SUMMARY, list(funnel_rows(corpus))),
        "structure_summary": (STRUCTURE_SUMMARY, list(structure_rows(corpus))),
        "placebo_residuals": (PLACEBO_RESIDUALS, [residuals]),
        "truncation": (TRUNCATION, [truncation]),
        "span_identity": (SPAN_IDENTITY, [{**identity, "n_identical": 6312, "share": 0.789}]),
        "stage_costs": (STAGE_COSTS, [{**cost, "max_rss_mb": 1800.5}]),
        "bm25_probe": (BM25_PROBE, [probe]),
        "replication": (REPLICATION, list(replication_rows(corpus))),
    }


def write_corpus(folder, corpus, *, extras=True, failing=(), changed=False, contrasts=None):
    """Write the artifacts of a corpus; return artifact -> path."""
    made = {
        "contrasts": (CONTRASTS, contrasts or [*contrast_rows(corpus), exploratory_row(corpus)]),
        "means": (MEANS, list(mean_rows(corpus))),
        "audit": (AUDIT, audit_rows(failing)),
        **(extra_artifacts(corpus) if extras else {}),
        **({"registration": (REGISTRATION, registration_rows(changed))} if extras else {}),
    }
    paths = {}
    for name, (contract, rows) in made.items():
        paths[name] = str(Path(folder) / corpus / f"{name}.parquet")
        contract.write(contract.frame(rows), paths[name])
    return paths


def registration_rows(changed):
    first = {
        "entry": 0,
        "digest": "ab" * 32,
        "registered": "2026-11-30T10:00:00+00:00",
        "commit": "0123abc",
        "scores_before": 0,
        "changes": [],
        "current": not changed,
    }
    later = {
        **first,
        "entry": 1,
        "digest": "cd" * 32,
        "registered": "2026-12-01T09:00:00+00:00",
        "scores_before": 66,
        "changes": ["cell.metric: cov_ndcg@10 -> mrr"],
        "current": True,
    }
    return [first, later] if changed else [first]


def replication_rows(corpus):
    for name, (delta, *_) in TESTS[corpus].items():
        flipped = corpus == "qasper" and name == "C1"
        measured = -delta if flipped else delta
        yield {
            "id": f"t1.{name}.delta.{corpus}",
            "source": "Table 1",
            "paper_corpus": corpus,
            "corpus": corpus,
            "quantity": "delta",
            "subject": name,
            "metric": "cov_ndcg@10",
            "embedder": "strong",
            "reranker": "none",
            "expected": delta,
            "bound": "exactly",
            "expected_high": None,
            "measured": measured,
            "difference": measured - delta,
            "tolerance": 0.01,
            "reason": "half of the paper's interval",
            "verdict": "different" if flipped else "within tolerance",
            "note": "",
        }


PARTS = {
    "A0": ("fixed", "none"),
    "A1": ("fixed", "context"),
    "A2": ("induced", "none"),
    "A3-d1": ("induced", "path1"),
    "A3-d2": ("induced", "path2"),
    "A3": ("induced", "path3"),
    "P": ("induced", "placebo3"),
    "A4": ("induced", "path3"),
    "G2": ("gold", "none"),
    "G3": ("gold", "path3"),
    "G4": ("gold", "path3"),
}
BOUNDARIES = {
    "fixed": {"windows": {"match": "induced"}},
    "induced": {"sections": {"structure": "gemma"}},
    "gold": {"sections": {"structure": "gold"}},
}
STRUCTURE_KINDS = {"fixed": {"llm": {}}, "induced": {"llm": {}}, "gold": {"native": {}}}
PREFIXES = {
    "none": {"none": {}},
    "context": {"context": {"contextualizer": "gemma"}},
    "path1": {"path": {"depth": 1}},
    "path2": {"path": {"depth": 2}},
    "path3": {"path": {"depth": 3}},
    "placebo3": {"placebo": {"depth": 3, "seed": 20260710}},
}


def provenance(corpus, condition, reranker="none", commit="f" * 40):
    boundaries, prefix = PARTS[condition]
    return {
        "cell": {"corpus": corpus, "condition": condition, "embedder": CELL["embedder"], "reranker": reranker},
        "definitions": {
            "boundaries": BOUNDARIES[boundaries],
            "structure": STRUCTURE_KINDS[boundaries],
            "prefix": PREFIXES[prefix],
            "retrieval": {"two_stage": {"sections": 5}} if condition in ("A4", "G4") else {"flat": {}},
        },
        "commit": {"id": commit, "dirty": False},
        "code": {"score.py": "code=0123456789abcdef"},
        "python": "3.12.1",
        "machine": "x86_64",
        "packages": {"polars": "2.1.0"},
        "models": {"BAAI/bge-large-en-v1.5": "d4aa6901"},
    }


def write_cells(folder, corpora):
    cells = []
    for corpus in corpora:
        for condition in CONDITIONS:
            path = Path(folder) / corpus / "cells" / condition / "provenance.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(provenance(corpus, condition)), encoding="utf-8")
            cells.append(
                {
                    "corpus": corpus,
                    "condition": condition,
                    "embedder": CELL["embedder"],
                    "reranker": "none",
                    "scores": str(path.with_name("scores.parquet")),
                    "provenance": str(path),
                }
            )
    return cells


def report_arguments(folder, *, corpora=("wikipedia_fa", "qasper"), extras=True, failing=(), changed=False):
    """Write a whole run and return the arguments of `build_report`."""
    folder = Path(folder)
    return {
        "corpora": {
            corpus: write_corpus(folder, corpus, extras=extras, failing=failing, changed=changed) for corpus in corpora
        },
        "cells": write_cells(folder, corpora),
        "contrasts": {**PAIRS, "E1": ["A2", "A0"]},
        "conditions": CONDITIONS,
        "cell": CELL,
        "confidence": 0.95,
        "bootstrap_iters": 10000,
        "command": "snakemake --profile profiles/local --configfile config/config.yaml --",
        "explorers": {},
        "templates": TEMPLATES,
        "tables": str(folder / "report" / "tables"),
        "page": str(folder / "report" / "index.html"),
    }
