# SPDX-License-Identifier: Apache-2.0
"""The documents that gpuprobe takes and answers.

Made from the description of org.gpuprobe by the test integration.python.PythonTypes (GPUPROBE_ACCEPT=1).
Whole numbers are bytes, microseconds or counts; None is unknown.
"""
from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict

Json = Any  # what drivers and documents say
ReportState = Literal["starting", "ready", "probing", "degraded"]
ReportSource = Literal["live", "cache", "replay"]
Basis = Literal["table", "driver", "rule"]
MemoryKind = Literal["dedicated", "carveout", "unified"]
Verdict = Literal["accepted", "uncertain", "rejected", "unknown"]
Fit = Literal["fits", "tight", "no", "unknown"]
BudgetSource = Literal["free", "allocatable", "physical"]
Severity = Literal["ok", "info", "warning", "error"]
Truth = Literal["false", "unknown", "true"]


class Host(TypedDict):
    os: Optional[str]
    arch: Optional[str]
    kernel: Optional[str]
    libc: Libc
    cpu: Cpu
    memory: HostMemory
    container: Optional[str]
    virtualization: Optional[str]
    wsl: bool
    l4t: Optional[str]
    libraries: Optional[List[str]]
    os_release: Optional[OsRelease]
    sandbox: Optional[str]
    setup: Optional[KernelSetup]


class Libc(TypedDict):
    name: Optional[str]
    version: Optional[str]


class Cpu(TypedDict):
    model: Optional[str]
    level: Optional[str]
    features: List[str]
    cores: Optional[int]
    verification: Optional[Verification]
    measurement: Optional[Measurement]
    score: Optional[float]


class Verification(TypedDict):
    result: str
    words: Optional[int]
    wrong_words: Optional[int]
    first_wrong: Optional[int]
    note: Optional[str]
    at_usec: Optional[int]
    reasons: List[Reason]


class Reason(TypedDict):
    code: str
    detail: Optional[Json]


class Measurement(TypedDict):
    outcome: str
    memory_read: Optional[int]
    memory_copy: Optional[int]
    host_to_device: Optional[int]
    device_to_host: Optional[int]
    fp32: Optional[int]
    fp16: Optional[int]
    int8: Optional[int]
    launch_usec: Optional[float]
    context: Optional[int]
    spread: Dict[str, float]
    duration_usec: Optional[int]
    note: Optional[str]
    at_usec: Optional[int]
    reasons: List[Reason]


class HostMemory(TypedDict):
    total: Optional[int]
    available: Optional[int]


class OsRelease(TypedDict):
    id: Optional[str]
    id_like: List[str]
    version_id: Optional[str]
    variant_id: Optional[str]


class KernelSetup(TypedDict):
    parameters: Optional[List[str]]
    secure_boot: Optional[bool]
    lockdown: Optional[str]
    tainted: Optional[int]
    blacklist: Optional[List[str]]
    loaded: Optional[List[str]]
    installed: Optional[List[str]]
    options: List[str]
    iommu: Optional[bool]


class Gpu(TypedDict):
    id: str
    kind: str
    basis: Optional[GpuBasis]
    vendor: Optional[str]
    name: Optional[str]
    title: Optional[str]
    pci: Optional[PciInfo]
    driver: DriverInfo
    nodes: List[DeviceNode]
    primary: bool
    memory: GpuMemory
    identity: Identity
    architecture: Architecture
    power: Power
    apis: Dict[str, ApiView]
    backends: Dict[str, BackendView]
    partitions: List[Partition]
    health: str
    findings: List[Reason]


class GpuBasis(TypedDict):
    role: Basis
    kind: Basis
    architecture: Optional[Basis]


PciInfo = TypedDict("PciInfo", {
    "address": "Optional[str]",
    "vendor_id": "Optional[str]",
    "device_id": "Optional[str]",
    "subsystem_vendor_id": "Optional[str]",
    "subsystem_device_id": "Optional[str]",
    "class": "Optional[str]",
    "revision": "Optional[str]",
    "numa_node": "Optional[int]",
    "bar": "Optional[int]",
    "link_width": "Optional[int]",
    "max_link_width": "Optional[int]",
    "iommu": "Optional[str]",
})


class DriverInfo(TypedDict):
    name: Optional[str]
    version: Optional[str]
    flavour: Optional[str]


class DeviceNode(TypedDict):
    path: str
    device: Optional[str]
    mode: Optional[int]
    uid: Optional[int]
    gid: Optional[int]
    group: Optional[str]
    acl: List[AclEntry]
    accessible: Optional[bool]
    reason: Optional[str]


class AclEntry(TypedDict):
    tag: str
    id: Optional[int]
    mode: int


class GpuMemory(TypedDict):
    kind: Optional[MemoryKind]
    physical: Optional[int]
    allocatable: Optional[int]
    free: Optional[int]
    free_at_usec: Optional[int]
    evidence: List[MemoryReading]


class MemoryReading(TypedDict):
    source: str
    what: str
    bytes: int


class Identity(TypedDict):
    nvidia_uuid: Optional[str]
    vulkan_device_uuid: Optional[str]
    opencl_uuid: Optional[str]
    level_zero_uuid: Optional[str]
    hip_unique_id: Optional[str]
    canonical_uuid: Optional[str]
    drm: DrmNodes
    luid: Optional[str]
    kfd_node: Optional[int]


class DrmNodes(TypedDict):
    primary: Optional[str]
    render: Optional[str]


class Architecture(TypedDict):
    cuda_compute_capability: Optional[str]
    gfx_target: Optional[str]
    intel_ip: Optional[str]


class Power(TypedDict):
    runtime_status: Optional[str]
    slowdowns: Optional[List[str]]
    slowdowns_at_usec: Optional[int]


class ApiView(TypedDict):
    outcome: str
    version: Optional[str]
    index: Optional[int]
    driver: Optional[str]
    joined_by: Optional[str]
    device: Optional[Json]
    age_usec: Optional[int]
    reasons: List[Reason]


class BackendView(TypedDict):
    usable: Optional[bool]
    verified: bool
    score: Optional[float]
    verification: Optional[Verification]
    measurement: Optional[Measurement]
    reasons: List[Reason]


class Partition(TypedDict):
    name: str
    id: Optional[str]
    profile: Optional[str]
    gpu_instance: Optional[int]
    compute_instance: Optional[int]
    gpu_slices: Optional[int]
    compute_slices: Optional[int]
    multiprocessors: Optional[int]
    uuid: Optional[str]
    memory: Optional[FactMemory]
    node: Optional[str]
    nodes: List[str]
    kfd_node: Optional[int]
    state: Optional[str]
    indices: Dict[str, int]


class FactMemory(TypedDict):
    total: Optional[int]
    free: Optional[int]


class SoftwareDevice(TypedDict):
    api: str
    name: Optional[str]
    driver: Optional[str]
    device: Optional[Json]
    verification: Optional[Verification]
    measurement: Optional[Measurement]
    score: Optional[float]


class Accelerator(TypedDict):
    id: str
    kind: Optional[str]
    vendor: Optional[str]
    name: Optional[str]
    pci: Optional[PciInfo]
    driver: DriverInfo
    firmware: Optional[str]
    nodes: List[DeviceNode]
    memory: Optional[int]
    power: AcceleratorPower
    health: Optional[str]
    findings: List[Reason]


class AcceleratorPower(TypedDict):
    runtime_status: Optional[str]
    draw_microwatts: Optional[int]
    limit_microwatts: Optional[int]
    temperature_millicelsius: Optional[int]


class RuntimeInfo(TypedDict):
    outcome: str
    loader: Optional[str]
    version: Optional[str]
    release: Optional[str]
    drivers: List[RuntimeDriver]


class RuntimeDriver(TypedDict):
    manifest: str
    library: Optional[str]
    outcome: str
    note: Optional[str]


class ProbeEntry(TypedDict):
    api: str
    driver: str
    stage: str
    device: Optional[str]
    outcome: str
    duration_usec: Optional[int]
    exit: Optional[int]
    signal: Optional[int]
    phase: Optional[str]
    note: Optional[str]
    output: Optional[List[str]]


class QuarantinedProbe(TypedDict):
    api: str
    driver: str
    stage: str
    device: Optional[str]
    why: str
    times: int
    since_usec: int
    until_usec: int
    note: Optional[str]


class OrtHardwareDevice(TypedDict):
    id: Optional[str]
    type: str
    vendor: Optional[str]
    vendor_id: Optional[int]
    device_id: Optional[int]
    metadata: Dict[str, str]


class SelectRequest(TypedDict, total=False):
    # the backends that the application is built with: cuda,vulkan,…
    built: Optional[List[str]]
    # the build that is installed: a variant, a folder or a file
    variant: Optional[List[str]]
    # libraries that the build needs: libcudart.so.13,'glibc>=2.34'
    needs: Optional[List[str]]
    # libraries that come with the build
    brings: Optional[List[str]]
    # what the build has code for: sm_90,compute_90@9.1,gfx1100
    code: Optional[List[str]]
    # every candidate with the reason for its verdict
    explain: Optional[bool]
    # backends to try first
    prefer: Optional[List[str]]
    # only these backends
    only: Optional[List[str]]
    # backends or GPU ids never to use
    deny: Optional[List[str]]
    # only these GPUs
    gpus: Optional[List[str]]
    # only this backend; 'none' for no GPU
    backend: Optional[str]
    # memory a GPU must offer: 8GiB, 8GB, 8192MiB
    min_memory: Optional[int]
    # fail rather than fall back to the CPU
    strict: Optional[bool]
    # each backend of the application on every vendor's GPUs
    any_vendor: Optional[bool]
    # what must hold: vulkan>=1.2,fp16,'gfx=gfx90a|gfx942'
    require: Optional[List[str]]
    # only what was verified: probe --stage=verify
    require_verified: Optional[bool]
    # documented, or measured: the fastest of what bench has measured
    rank: Optional[str]
    # answer for another machine: darwin-arm64
    platform: Optional[str]
    # make up a GPU for each of these backends
    fake: Optional[List[str]]
    # never make up a GPU
    forbid_fake: Optional[bool]
    # the caller's own variables, of which those that hide a GPU are told, and some let the program use more
    environment: Optional[Dict[str, str]]
    # leave rejected candidates out
    include_rejected: Optional[bool]


class Candidate(TypedDict):
    backend: str
    gpu: Optional[str]
    verdict: Verdict
    reasons: List[Reason]
    environment: Dict[str, str]


class RecommendRequest(TypedDict, total=False):
    # these first
    prefer: Optional[List[str]]
    # only these
    only: Optional[List[str]]
    # not these: after a failure, family:cuda or the like
    exclude: Optional[List[str]]
    # memory that every GPU must offer
    need_mib: Optional[int]
    # of a GPU only what was verified: probe --stage=verify
    require_verified: Optional[bool]
    # the caller's own variables, of which some let the program use more GPUs
    environment: Optional[Dict[str, str]]
    # every variant with the reason for its verdict
    explain: Optional[bool]
    # leave rejected variants out
    include_rejected: Optional[bool]


class VariantCandidate(TypedDict):
    variant: str
    family: str
    tier: int
    priority: int
    verdict: Verdict
    gpus: List[str]
    reasons: List[Reason]
    warnings: List[Reason]
    note: Optional[str]


class PlanRequest(TypedDict, total=False):
    # instead of a model: so many MiB of anything
    need_mib: Optional[int]
    # tokens of context of one stream: 4096, 32k
    ctx: Optional[int]
    # of the cache: f16, q8_0, q4_0 …; KEYS,VALUES where they differ
    kv: Optional[List[str]]
    # auto (as the backend has it), on or off
    flash_attention: Optional[str]
    # tokens computed at once, 512 by default
    batch: Optional[int]
    # where fewer than --batch are computed at once: llama.cpp's --ubatch-size
    ubatch: Optional[int]
    # sequences at the same time, each with its own context
    streams: Optional[int]
    # layers with a sliding window keep the whole context, as with llama.cpp's switch
    swa_full: Optional[bool]
    # these GPUs only
    gpus: Optional[List[str]]
    # only GPUs that select accepts for this program, with its override
    application: Optional[str]
    # parts of several GPUs, like 3,1; by free memory otherwise
    tensor_split: Optional[List[str]]
    # left free on each GPU, 1024 by default
    margin_mib: Optional[int]
    # what the driver's context takes of each GPU, if you measured it
    context_mib: Optional[int]


class PlannedModel(TypedDict):
    name: Optional[str]
    architecture: str
    layers: int
    trained_context: Optional[int]


class PlannedRun(TypedDict):
    context: int
    batch: int
    streams: int
    key_type: str
    value_type: str
    swa_full: bool


class Need(TypedDict):
    layers: int
    output: int
    cache: int
    compute: int
    embedding: int


class GpuPlan(TypedDict):
    gpu: str
    name: Optional[str]
    fit: Fit
    budget: Budget
    physical: Optional[int]
    need: int
    overhead: int
    flash_attention: bool
    layers: Optional[LayerCount]
    max_context: Optional[int]
    reasons: List[Reason]


class Budget(TypedDict):
    available: Optional[int]
    source: Optional[BudgetSource]
    bytes: Optional[int]
    is_shared_with_host: bool


class LayerCount(TypedDict):
    offloaded: int
    total: int


class SetPlan(TypedDict):
    backend: str
    gpus: List[str]
    fit: Fit
    flash_attention: bool
    layers: Optional[LayerCount]
    max_context: Optional[int]
    shares: List[Share]


class Share(TypedDict):
    gpu: str
    need: int
    layers: int


class HostPlan(TypedDict):
    fit: Fit
    available: Optional[int]
    need: int


class Finding(TypedDict):
    id: str
    severity: Severity
    gpu: Optional[str]
    gpus: List[str]
    evidence: Optional[Json]
    sentence: str
    fix: Optional[str]
    commands: List[str]
    safe: bool
    on_host: bool


class TestedTerm(TypedDict):
    term: str
    gpu: Optional[str]
    truth: Truth
    reason: Optional[Reason]


class Override(TypedDict):
    rule: Optional[Json]
    set_at_usec: int
    set_by_uid: int


class DescribeAnswer(TypedDict):
    """The report, as its caller may see it."""
    schema: int
    generation: int
    state: ReportState
    created_usec: Optional[int]
    source: ReportSource
    host: Host
    gpus: List[Gpu]
    software: List[SoftwareDevice]
    accelerators: List[Accelerator]
    nodes: List[DeviceNode]
    runtimes: Dict[str, RuntimeInfo]
    probes: List[ProbeEntry]
    confinement: Optional[List[str]]
    quarantine: List[QuarantinedProbe]
    notes: List[Reason]


class ListGpusAnswer(TypedDict):
    """Every GPU, the default one first, and what else accelerates."""
    generation: int
    gpus: List[Gpu]
    accelerators: List[Accelerator]


class ListHardwareDevicesAnswer(TypedDict):
    """Processor, GPUs and NPUs by the names of ONNX Runtime's OrtHardwareDevice."""
    generation: int
    devices: List[OrtHardwareDevice]


class ListApplicationsAnswer(TypedDict):
    """The applications that Select knows."""
    applications: List[str]


class ListManifestsAnswer(TypedDict):
    """The applications that Recommend knows."""
    manifests: List[str]


class SelectParameters(TypedDict, total=False):
    application: Optional[str]
    request: Optional[SelectRequest]


class SelectAnswer(TypedDict):
    """The backend that an application should use, and what became of the others. Without an application: default."""
    application: str
    backend: Optional[str]
    gpus: List[str]
    environment: Dict[str, str]
    answers: Dict[str, str]
    messages: List[str]
    candidates: List[Candidate]
    warnings: List[Reason]
    decision: str
    generation: int


class RecommendParameters(TypedDict, total=False):
    application: Optional[str]
    manifest: Optional[str]
    request: Optional[RecommendRequest]


class RecommendAnswer(TypedDict):
    """Which of an application's variants to install. manifest: its text, in the place of the installed one."""
    application: str
    version: Optional[str]
    status: str
    platform: Optional[str]
    variant: Optional[str]
    verdict: Optional[Verdict]
    artifact: Optional[Json]
    environment: Dict[str, str]
    gpus: List[str]
    fallback: List[str]
    default: Optional[str]
    hint: Optional[str]
    warnings: List[Reason]
    candidates: List[VariantCandidate]
    manifest_sha256: str
    rules: str
    generation: int


class PlanParameters(TypedDict, total=False):
    need: Optional[int]
    margin: Optional[int]
    gpus: Optional[List[str]]
    request: Optional[PlanRequest]
    model: Optional[str]


class PlanAnswer(TypedDict):
    """Whether a model, or so many bytes, fit on each GPU, and on several together. model: the text of a gpuprobe.model/1."""
    is_estimate: bool
    generation: int
    model: Optional[PlannedModel]
    asked: Optional[int]
    margin: int
    run: Optional[PlannedRun]
    need: Optional[Need]
    flash_attention: bool
    gpus: List[GpuPlan]
    together: List[SetPlan]
    host: HostPlan
    notes: List[Reason]


class DiagnoseParameters(TypedDict, total=False):
    environment: Optional[Dict[str, str]]


class DiagnoseAnswer(TypedDict):
    """Why a GPU is not used, and what helps. environment: of the program that does not use it."""
    schema: int
    severity: Severity
    findings: List[Finding]


class QueryAnswer(TypedDict):
    """Whether terms hold: 'driver>=550'. Without 'gpus': on each GPU."""
    generation: int
    terms: List[TestedTerm]


class GetMemoryAnswer(TypedDict):
    """The memory of one GPU or partition, read now, in bytes. Wakes nothing."""
    kind: Optional[MemoryKind]
    physical: Optional[int]
    allocatable: Optional[int]
    free: Optional[int]
    free_at_usec: Optional[int]
    source: str
    reasons: List[Reason]
    evidence: List[MemoryReading]


class ProbeParameters(TypedDict, total=False):
    gpus: Optional[List[str]]
    apis: Optional[List[str]]
    stage: Optional[str]
    allow_wake: Optional[bool]
    force: Optional[bool]


class ProbeAnswer(TypedDict):
    """Asks the drivers again. With more, the progress from 0 to 1 comes first."""
    progress: Optional[float]
    generation: Optional[int]
    probes: Optional[List[ProbeEntry]]


class ReportOutcomeAnswer(TypedDict):
    """How a choice went; outcome: ok or failed. Answers what was noted."""
    application: str
    outcome: str
    backend: Optional[str]
    variant: Optional[str]
    family: Optional[str]
    detail: Optional[str]
    gpu: Optional[str]


class SubscribeAnswer(TypedDict):
    """The generation and the state of the report, now and after each change. Needs more."""
    generation: int
    state: ReportState


class SetOverrideAnswer(TypedDict):
    """Decides for one application, for everybody. For administrators."""
    application: str
    set: bool


class ClearOverrideAnswer(TypedDict):
    """For administrators."""
    application: str
    cleared: bool


class ListOverridesAnswer(TypedDict):
    """What administrators decided."""
    overrides: Dict[str, Override]


class ListQuarantineAnswer(TypedDict):
    """Drivers that are not asked for now, because of the harm they did."""
    quarantine: List[QuarantinedProbe]


class ClearQuarantineParameters(TypedDict, total=False):
    api: Optional[str]
    driver: Optional[str]
    all: Optional[bool]


class ClearQuarantineAnswer(TypedDict):
    """Has them asked again: one, or all. For administrators."""
    cleared: int
