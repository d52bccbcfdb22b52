// SPDX-License-Identifier: Apache-2.0
// Made from the description of org.gpuprobe by the test integration.node.NodeTypes (GPUPROBE_ACCEPT=1).
// Whole numbers are bytes, microseconds or counts; null is unknown.

/** What drivers and documents say. */
export type Json = string | number | boolean | null | Json[] | { [member: string]: Json };

export type ReportState = "starting" | "ready" | "probing" | "degraded";

export type ReportSource = "live" | "cache" | "replay";

export type Host = {
  os: string | null;
  arch: string | null;
  kernel: string | null;
  libc: Libc;
  cpu: Cpu;
  memory: HostMemory;
  container: string | null;
  virtualization: string | null;
  wsl: boolean;
  l4t: string | null;
  libraries: string[] | null;
  os_release: OsRelease | null;
  sandbox: string | null;
  setup: KernelSetup | null;
};

export type Libc = {
  name: string | null;
  version: string | null;
};

export type Cpu = {
  model: string | null;
  level: string | null;
  features: string[];
  cores: number | null;
  verification: Verification | null;
  measurement: Measurement | null;
  score: number | null;
};

export type Verification = {
  result: string;
  words: number | null;
  wrong_words: number | null;
  first_wrong: number | null;
  note: string | null;
  at_usec: number | null;
  reasons: Reason[];
};

export type Reason = {
  code: string;
  detail: Json | null;
};

export type Measurement = {
  outcome: string;
  memory_read: number | null;
  memory_copy: number | null;
  host_to_device: number | null;
  device_to_host: number | null;
  fp32: number | null;
  fp16: number | null;
  int8: number | null;
  launch_usec: number | null;
  context: number | null;
  spread: { [key: string]: number };
  duration_usec: number | null;
  note: string | null;
  at_usec: number | null;
  reasons: Reason[];
};

export type HostMemory = {
  total: number | null;
  available: number | null;
};

export type OsRelease = {
  id: string | null;
  id_like: string[];
  version_id: string | null;
  variant_id: string | null;
};

export type KernelSetup = {
  parameters: string[] | null;
  secure_boot: boolean | null;
  lockdown: string | null;
  tainted: number | null;
  blacklist: string[] | null;
  loaded: string[] | null;
  installed: string[] | null;
  options: string[];
  iommu: boolean | null;
};

export type Gpu = {
  id: string;
  kind: string;
  basis: GpuBasis | null;
  vendor: string | null;
  name: string | null;
  title: string | null;
  pci: PciInfo | null;
  driver: DriverInfo;
  nodes: DeviceNode[];
  primary: boolean;
  memory: GpuMemory;
  identity: Identity;
  architecture: Architecture;
  power: Power;
  apis: { [key: string]: ApiView };
  backends: { [key: string]: BackendView };
  partitions: Partition[];
  health: string;
  findings: Reason[];
};

export type GpuBasis = {
  role: Basis;
  kind: Basis;
  architecture: Basis | null;
};

export type Basis = "table" | "driver" | "rule";

export type PciInfo = {
  address: string | null;
  vendor_id: string | null;
  device_id: string | null;
  subsystem_vendor_id: string | null;
  subsystem_device_id: string | null;
  class: string | null;
  revision: string | null;
  numa_node: number | null;
  bar: number | null;
  link_width: number | null;
  max_link_width: number | null;
  iommu: string | null;
};

export type DriverInfo = {
  name: string | null;
  version: string | null;
  flavour: string | null;
};

export type DeviceNode = {
  path: string;
  device: string | null;
  mode: number | null;
  uid: number | null;
  gid: number | null;
  group: string | null;
  acl: AclEntry[];
  accessible: boolean | null;
  reason: string | null;
};

export type AclEntry = {
  tag: string;
  id: number | null;
  mode: number;
};

export type GpuMemory = {
  kind: MemoryKind | null;
  physical: number | null;
  allocatable: number | null;
  free: number | null;
  free_at_usec: number | null;
  evidence: MemoryReading[];
};

export type MemoryKind = "dedicated" | "carveout" | "unified";

export type MemoryReading = {
  source: string;
  what: string;
  bytes: number;
};

export type Identity = {
  nvidia_uuid: string | null;
  vulkan_device_uuid: string | null;
  opencl_uuid: string | null;
  level_zero_uuid: string | null;
  hip_unique_id: string | null;
  canonical_uuid: string | null;
  drm: DrmNodes;
  luid: string | null;
  kfd_node: number | null;
};

export type DrmNodes = {
  primary: string | null;
  render: string | null;
};

export type Architecture = {
  cuda_compute_capability: string | null;
  gfx_target: string | null;
  intel_ip: string | null;
};

export type Power = {
  runtime_status: string | null;
  slowdowns: string[] | null;
  slowdowns_at_usec: number | null;
};

export type ApiView = {
  outcome: string;
  version: string | null;
  index: number | null;
  driver: string | null;
  joined_by: string | null;
  device: Json | null;
  age_usec: number | null;
  reasons: Reason[];
};

export type BackendView = {
  usable: boolean | null;
  verified: boolean;
  score: number | null;
  verification: Verification | null;
  measurement: Measurement | null;
  reasons: Reason[];
};

export type Partition = {
  name: string;
  id: string | null;
  profile: string | null;
  gpu_instance: number | null;
  compute_instance: number | null;
  gpu_slices: number | null;
  compute_slices: number | null;
  multiprocessors: number | null;
  uuid: string | null;
  memory: FactMemory | null;
  node: string | null;
  nodes: string[];
  kfd_node: number | null;
  state: string | null;
  indices: { [key: string]: number };
};

export type FactMemory = {
  total: number | null;
  free: number | null;
};

export type SoftwareDevice = {
  api: string;
  name: string | null;
  driver: string | null;
  device: Json | null;
  verification: Verification | null;
  measurement: Measurement | null;
  score: number | null;
};

export type Accelerator = {
  id: string;
  kind: string | null;
  vendor: string | null;
  name: string | null;
  pci: PciInfo | null;
  driver: DriverInfo;
  firmware: string | null;
  nodes: DeviceNode[];
  memory: number | null;
  power: AcceleratorPower;
  health: string | null;
  findings: Reason[];
};

export type AcceleratorPower = {
  runtime_status: string | null;
  draw_microwatts: number | null;
  limit_microwatts: number | null;
  temperature_millicelsius: number | null;
};

export type RuntimeInfo = {
  outcome: string;
  loader: string | null;
  version: string | null;
  release: string | null;
  drivers: RuntimeDriver[];
};

export type RuntimeDriver = {
  manifest: string;
  library: string | null;
  outcome: string;
  note: string | null;
};

export type ProbeEntry = {
  api: string;
  driver: string;
  stage: string;
  device: string | null;
  outcome: string;
  duration_usec: number | null;
  exit: number | null;
  signal: number | null;
  phase: string | null;
  note: string | null;
  output: string[] | null;
};

export type QuarantinedProbe = {
  api: string;
  driver: string;
  stage: string;
  device: string | null;
  why: string;
  times: number;
  since_usec: number;
  until_usec: number;
  note: string | null;
};

export type OrtHardwareDevice = {
  id: string | null;
  type: string;
  vendor: string | null;
  vendor_id: number | null;
  device_id: number | null;
  metadata: { [key: string]: string };
};

export type SelectRequest = {
  /** the backends that the application is built with: cuda,vulkan,… */
  built?: string[] | null;
  /** the build that is installed: a variant, a folder or a file */
  variant?: string[] | null;
  /** libraries that the build needs: libcudart.so.13,'glibc>=2.34' */
  needs?: string[] | null;
  /** libraries that come with the build */
  brings?: string[] | null;
  /** what the build has code for: sm_90,compute_90@9.1,gfx1100 */
  code?: string[] | null;
  /** every candidate with the reason for its verdict */
  explain?: boolean | null;
  /** backends to try first */
  prefer?: string[] | null;
  /** only these backends */
  only?: string[] | null;
  /** backends or GPU ids never to use */
  deny?: string[] | null;
  /** only these GPUs */
  gpus?: string[] | null;
  /** only this backend; 'none' for no GPU */
  backend?: string | null;
  /** memory a GPU must offer: 8GiB, 8GB, 8192MiB */
  min_memory?: number | null;
  /** fail rather than fall back to the CPU */
  strict?: boolean | null;
  /** each backend of the application on every vendor's GPUs */
  any_vendor?: boolean | null;
  /** what must hold: vulkan>=1.2,fp16,'gfx=gfx90a|gfx942' */
  require?: string[] | null;
  /** only what was verified: probe --stage=verify */
  require_verified?: boolean | null;
  /** documented, or measured: the fastest of what bench has measured */
  rank?: string | null;
  /** answer for another machine: darwin-arm64 */
  platform?: string | null;
  /** make up a GPU for each of these backends */
  fake?: string[] | null;
  /** never make up a GPU */
  forbid_fake?: boolean | null;
  /** the caller's own variables, of which those that hide a GPU are told, and some let the program use more */
  environment?: { [key: string]: string } | null;
  /** leave rejected candidates out */
  include_rejected?: boolean | null;
};

export type Candidate = {
  backend: string;
  gpu: string | null;
  verdict: Verdict;
  reasons: Reason[];
  environment: { [key: string]: string };
};

export type Verdict = "accepted" | "uncertain" | "rejected" | "unknown";

export type RecommendRequest = {
  /** these first */
  prefer?: string[] | null;
  /** only these */
  only?: string[] | null;
  /** not these: after a failure, family:cuda or the like */
  exclude?: string[] | null;
  /** memory that every GPU must offer */
  need_mib?: number | null;
  /** of a GPU only what was verified: probe --stage=verify */
  require_verified?: boolean | null;
  /** the caller's own variables, of which some let the program use more GPUs */
  environment?: { [key: string]: string } | null;
  /** every variant with the reason for its verdict */
  explain?: boolean | null;
  /** leave rejected variants out */
  include_rejected?: boolean | null;
};

export type VariantCandidate = {
  variant: string;
  family: string;
  tier: number;
  priority: number;
  verdict: Verdict;
  gpus: string[];
  reasons: Reason[];
  warnings: Reason[];
  note: string | null;
};

export type PlanRequest = {
  /** instead of a model: so many MiB of anything */
  need_mib?: number | null;
  /** tokens of context of one stream: 4096, 32k */
  ctx?: number | null;
  /** of the cache: f16, q8_0, q4_0 …; KEYS,VALUES where they differ */
  kv?: string[] | null;
  /** auto (as the backend has it), on or off */
  flash_attention?: string | null;
  /** tokens computed at once, 512 by default */
  batch?: number | null;
  /** where fewer than --batch are computed at once: llama.cpp's --ubatch-size */
  ubatch?: number | null;
  /** sequences at the same time, each with its own context */
  streams?: number | null;
  /** layers with a sliding window keep the whole context, as with llama.cpp's switch */
  swa_full?: boolean | null;
  /** these GPUs only */
  gpus?: string[] | null;
  /** only GPUs that select accepts for this program, with its override */
  application?: string | null;
  /** parts of several GPUs, like 3,1; by free memory otherwise */
  tensor_split?: string[] | null;
  /** left free on each GPU, 1024 by default */
  margin_mib?: number | null;
  /** what the driver's context takes of each GPU, if you measured it */
  context_mib?: number | null;
};

export type PlannedModel = {
  name: string | null;
  architecture: string;
  layers: number;
  trained_context: number | null;
};

export type PlannedRun = {
  context: number;
  batch: number;
  streams: number;
  key_type: string;
  value_type: string;
  swa_full: boolean;
};

export type Need = {
  layers: number;
  output: number;
  cache: number;
  compute: number;
  embedding: number;
};

export type GpuPlan = {
  gpu: string;
  name: string | null;
  fit: Fit;
  budget: Budget;
  physical: number | null;
  need: number;
  overhead: number;
  flash_attention: boolean;
  layers: LayerCount | null;
  max_context: number | null;
  reasons: Reason[];
};

export type Fit = "fits" | "tight" | "no" | "unknown";

export type Budget = {
  available: number | null;
  source: BudgetSource | null;
  bytes: number | null;
  is_shared_with_host: boolean;
};

export type BudgetSource = "free" | "allocatable" | "physical";

export type LayerCount = {
  offloaded: number;
  total: number;
};

export type SetPlan = {
  backend: string;
  gpus: string[];
  fit: Fit;
  flash_attention: boolean;
  layers: LayerCount | null;
  max_context: number | null;
  shares: Share[];
};

export type Share = {
  gpu: string;
  need: number;
  layers: number;
};

export type HostPlan = {
  fit: Fit;
  available: number | null;
  need: number;
};

export type Severity = "ok" | "info" | "warning" | "error";

export type Finding = {
  id: string;
  severity: Severity;
  gpu: string | null;
  gpus: string[];
  evidence: Json | null;
  sentence: string;
  fix: string | null;
  commands: string[];
  safe: boolean;
  on_host: boolean;
};

export type TestedTerm = {
  term: string;
  gpu: string | null;
  truth: Truth;
  reason: Reason | null;
};

export type Truth = "false" | "unknown" | "true";

export type Override = {
  rule: Json | null;
  set_at_usec: number;
  set_by_uid: number;
};

/** The methods of org.gpuprobe. */
export interface Methods {
  /** The report, as its caller may see it. */
  Describe: { parameters: {}; answer: {
    schema: number;
    generation: number;
    state: ReportState;
    created_usec: number | null;
    source: ReportSource;
    host: Host;
    gpus: Gpu[];
    software: SoftwareDevice[];
    accelerators: Accelerator[];
    nodes: DeviceNode[];
    runtimes: { [key: string]: RuntimeInfo };
    probes: ProbeEntry[];
    confinement: string[] | null;
    quarantine: QuarantinedProbe[];
    notes: Reason[];
  } };
  /** Every GPU, the default one first, and what else accelerates. */
  ListGpus: { parameters: {}; answer: {
    generation: number;
    gpus: Gpu[];
    accelerators: Accelerator[];
  } };
  /** Processor, GPUs and NPUs by the names of ONNX Runtime's OrtHardwareDevice. */
  ListHardwareDevices: { parameters: {}; answer: {
    generation: number;
    devices: OrtHardwareDevice[];
  } };
  /** The applications that Select knows. */
  ListApplications: { parameters: {}; answer: {
    applications: string[];
  } };
  /** The applications that Recommend knows. */
  ListManifests: { parameters: {}; answer: {
    manifests: string[];
  } };
  /** The backend that an application should use, and what became of the others. Without an application: default. */
  Select: { parameters: {
    application?: string | null;
    request?: SelectRequest | null;
  }; answer: {
    application: string;
    backend: string | null;
    gpus: string[];
    environment: { [key: string]: string };
    answers: { [key: string]: string };
    messages: string[];
    candidates: Candidate[];
    warnings: Reason[];
    decision: string;
    generation: number;
  } };
  /** Which of an application's variants to install. manifest: its text, in the place of the installed one. */
  Recommend: { parameters: {
    application?: string | null;
    manifest?: string | null;
    request?: RecommendRequest | null;
  }; answer: {
    application: string;
    version: string | null;
    status: string;
    platform: string | null;
    variant: string | null;
    verdict: Verdict | null;
    artifact: Json | null;
    environment: { [key: string]: string };
    gpus: string[];
    fallback: string[];
    default: string | null;
    hint: string | null;
    warnings: Reason[];
    candidates: VariantCandidate[];
    manifest_sha256: string;
    rules: string;
    generation: number;
  } };
  /** Whether a model, or so many bytes, fit on each GPU, and on several together. model: the text of a gpuprobe.model/1. */
  Plan: { parameters: {
    need?: number | null;
    margin?: number | null;
    gpus?: string[] | null;
    request?: PlanRequest | null;
    model?: string | null;
  }; answer: {
    is_estimate: boolean;
    generation: number;
    model: PlannedModel | null;
    asked: number | null;
    margin: number;
    run: PlannedRun | null;
    need: Need | null;
    flash_attention: boolean;
    gpus: GpuPlan[];
    together: SetPlan[];
    host: HostPlan;
    notes: Reason[];
  } };
  /** Why a GPU is not used, and what helps. environment: of the program that does not use it. */
  Diagnose: { parameters: {
    environment?: { [key: string]: string } | null;
  }; answer: {
    schema: number;
    severity: Severity;
    findings: Finding[];
  } };
  /** Whether terms hold: 'driver>=550'. Without 'gpus': on each GPU. */
  Query: { parameters: {
    terms: string[];
    gpus?: string[] | null;
  }; answer: {
    generation: number;
    terms: TestedTerm[];
  } };
  /** The memory of one GPU or partition, read now, in bytes. Wakes nothing. */
  GetMemory: { parameters: {
    gpu: string;
  }; answer: {
    kind: MemoryKind | null;
    physical: number | null;
    allocatable: number | null;
    free: number | null;
    free_at_usec: number | null;
    source: string;
    reasons: Reason[];
    evidence: MemoryReading[];
  } };
  /** Asks the drivers again. With more, the progress from 0 to 1 comes first. */
  Probe: { parameters: {
    gpus?: string[] | null;
    apis?: string[] | null;
    stage?: string | null;
    allow_wake?: boolean | null;
    force?: boolean | null;
  }; answer: {
    progress: number | null;
    generation: number | null;
    probes: ProbeEntry[] | null;
  } };
  /** How a choice went; outcome: ok or failed. Answers what was noted. */
  ReportOutcome: { parameters: {
    application: string;
    outcome: string;
    backend?: string | null;
    variant?: string | null;
    family?: string | null;
    detail?: string | null;
    gpu?: string | null;
  }; answer: {
    application: string;
    outcome: string;
    backend: string | null;
    variant: string | null;
    family: string | null;
    detail: string | null;
    gpu: string | null;
  } };
  /** The generation and the state of the report, now and after each change. Needs more. */
  Subscribe: { parameters: {}; answer: {
    generation: number;
    state: ReportState;
  } };
  /** Decides for one application, for everybody. For administrators. */
  SetOverride: { parameters: {
    application: string;
    rule?: Json | null;
  }; answer: {
    application: string;
    set: boolean;
  } };
  /** For administrators. */
  ClearOverride: { parameters: {
    application: string;
  }; answer: {
    application: string;
    cleared: boolean;
  } };
  /** What administrators decided. */
  ListOverrides: { parameters: {}; answer: {
    overrides: { [key: string]: Override };
  } };
  /** Drivers that are not asked for now, because of the harm they did. */
  ListQuarantine: { parameters: {}; answer: {
    quarantine: QuarantinedProbe[];
  } };
  /** Has them asked again: one, or all. For administrators. */
  ClearQuarantine: { parameters: {
    api?: string | null;
    driver?: string | null;
    all?: boolean | null;
  }; answer: {
    cleared: number;
  } };
}
