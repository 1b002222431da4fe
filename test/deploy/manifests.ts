/** The parts of Kubernetes' shapes that the checks of this folder read. Anything may be missing: that is what they look for. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly type?: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Labels };
  readonly spec?: Record<string, unknown>;
  readonly data?: Record<string, string>;
  readonly automountServiceAccountToken?: boolean;
}

export type Labels = Readonly<Record<string, string>>;

export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly { key: string; operator: string; values?: readonly string[] }[];
}

export interface Probe {
  readonly httpGet?: { path: string; port: string | number };
  readonly exec?: { command: readonly string[] };
  readonly tcpSocket?: { port: string | number };
}

export interface SecurityContext {
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly capabilities?: { drop?: readonly string[]; add?: readonly string[] };
  readonly seccompProfile?: { type: string };
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly env?: readonly { name: string; value?: string; valueFrom?: { secretKeyRef?: unknown } }[];
  readonly envFrom?: readonly { secretRef?: unknown; configMapRef?: { name: string } }[];
  readonly resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  readonly securityContext?: SecurityContext;
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { preStop?: { sleep?: { seconds: number }; exec?: { command: readonly string[] } } };
  readonly volumeMounts?: readonly { name: string; mountPath: string; readOnly?: boolean }[];
}

export interface Volume {
  readonly name: string;
  readonly emptyDir?: { sizeLimit?: string };
  readonly hostPath?: unknown;
  readonly secret?: { secretName: string; defaultMode?: number };
}

export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext?: SecurityContext;
  readonly topologySpreadConstraints?: readonly { labelSelector?: LabelSelector }[];
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
}

export interface WorkloadSpec {
  readonly replicas?: number;
  readonly selector?: LabelSelector;
  readonly strategy?: { rollingUpdate?: { maxUnavailable?: number | string } };
  readonly template: { metadata?: { labels?: Labels }; spec: PodSpec };
}

/** A Deployment, StatefulSet, DaemonSet or Job with its pod. */
export interface Workload {
  readonly kind: string;
  readonly name: string;
  /** False for a Job, which ends by itself. */
  readonly serves: boolean;
  readonly spec: WorkloadSpec;
  readonly pod: PodSpec;
  readonly labels: Labels;
  /** What the pod is called: its component among Sluice's apps, else its name. */
  readonly component: string;
}

/** What every rendered manifest must keep to. `broken` names the objects that do not; it touches nothing else. */
export interface Rule {
  readonly name: string;
  broken(manifests: readonly Manifest[]): string[];
}

const workloadKinds = ['Deployment', 'StatefulSet', 'DaemonSet', 'Job'];

export function workloadsOf(manifests: readonly Manifest[]): Workload[] {
  return manifests
    .filter(({ kind }) => workloadKinds.includes(kind))
    .map((manifest) => {
      const spec = specOf<WorkloadSpec>(manifest);
      const labels = spec.template.metadata?.labels ?? {};
      const component = labels['app.kubernetes.io/component'] ?? labels['app.kubernetes.io/name'] ?? '';
      const { kind } = manifest;
      return {
        kind,
        name: manifest.metadata.name,
        serves: kind !== 'Job',
        spec,
        pod: spec.template.spec,
        labels,
        component,
      };
    });
}

export function specOf<Spec>(manifest: Manifest): Spec {
  return (manifest.spec ?? {}) as Spec;
}

export function ofKind(manifests: readonly Manifest[], kind: string): Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

export function containersOf(pod: PodSpec): readonly Container[] {
  return [...(pod.initContainers ?? []), ...pod.containers];
}

export function selects(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator !== 'In') throw new Error(`These checks do not know the operator ${operator}`);
      return values.includes(labels[key] ?? '');
    })
  );
}

/** The fewest replicas a workload is meant to have: its autoscaler's minimum, or its own count. */
export function leastReplicas(workload: Workload, manifests: readonly Manifest[]): number {
  for (const manifest of manifests) {
    const spec = specOf<{ scaleTargetRef?: { name: string }; minReplicas?: number; minReplicaCount?: number }>(
      manifest,
    );
    if (spec.scaleTargetRef?.name !== workload.name) continue;
    if (manifest.kind === 'HorizontalPodAutoscaler') return spec.minReplicas ?? 1;
    if (manifest.kind === 'ScaledObject') return spec.minReplicaCount ?? 0;
  }
  return workload.spec.replicas ?? 1;
}
