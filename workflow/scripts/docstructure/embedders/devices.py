"""Which device and which software will compute: known without importing torch, since they are part of every key."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import platform
import runpy
from functools import cache
from pathlib import Path

DEVICES = ("auto", "cpu", "cuda")
VECTOR_UNITS = ("avx512f", "avx2", "asimd")


def resolve(device: str) -> str:
    """Return ``cuda`` or ``cpu``; ``auto`` is the GPU where the driver shows one and the installed torch can use it."""
    if device != "auto":
        return device
    return "cuda" if _torch_has_cuda() and _gpu_name() is not None else "cpu"


def describe(device: str) -> str:
    """Name a resolved device as far as it decides the bits of a result: the GPU's model; or the CPU and its units."""
    if device == "cuda":
        return f"cuda {_gpu_name() or 'unknown'}"
    return f"cpu {_cpu_name()}"


def software() -> dict[str, str]:
    """Return the versions of the libraries that compute."""
    versions = {name: importlib.metadata.version(name) for name in ("tokenizers", "transformers")}
    return {"torch": _torch_version(), **versions}


@cache
def _torch_constants() -> dict[str, object]:
    # torch/version.py holds constants only; importing torch itself takes seconds
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("torch is not installed in this environment: embedding needs it")
    return runpy.run_path(str(Path(found.origin).parent / "version.py"))


def _torch_version() -> str:
    return str(_torch_constants()["__version__"])


def _torch_has_cuda() -> bool:
    return _torch_constants().get("cuda") is not None


@cache
def _gpu_name() -> str | None:
    """Return the name of the first GPU that the driver shows (it honours CUDA_VISIBLE_DEVICES), or None."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device, name = ctypes.c_int(), ctypes.create_string_buffer(128)
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0) or driver.cuDeviceGetName(name, 128, device):
        return None
    return name.value.decode(errors="replace")


@cache
def _cpu_name() -> str:
    vendor, units = "", set[str]()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            key, _, value = (part.strip() for part in line.partition(":"))
            if key == "vendor_id" and not vendor:
                vendor = value
            if key in {"flags", "Features"}:
                units.update(value.split())
                break
    unit = next((unit for unit in VECTOR_UNITS if unit in units), "")
    return " ".join(part for part in (platform.machine(), vendor, unit) if part)
