import {
  containersOf,
  leastReplicas,
  ofKind,
  selects,
  specOf,
  workloadsOf,
  type Container,
  type LabelSelector,
  type Manifest,
  type PodSpec,
  type Probe,
  type Rule,
  type Workload,
} from './manifests';
import { networkRules } from './network-rules';

/** All broken rules as `rule: object`. */
export function violations(manifests: readonly Manifest[]): string[] {
  return rules.flatMap((rule) => rule.broken(manifests).map((where) => `${rule.name}: ${where}`));
}

const lowestUserId = 10_000;
const graceSeconds: Readonly<Record<string, number>> = { gateway: 90 };
const longestPreStopSeconds = 10;

/** Secrets that must be in one app's hands only. Each app's own Secret is `sluice-<app>`; these are the further ones. */
const holdersOfSecret: Readonly<Record<string, readonly string[]>> = {
  'sluice-provider-keys': ['gateway', 'batch-worker', 'video-worker'],
};

function podRule(name: string, isBroken: (pod: PodSpec, workload: Workload) => boolean): Rule {
  return {
    name,
    broken: (manifests) =>
      workloadsOf(manifests)
        .filter((it) => isBroken(it.pod, it))
        .map((it) => it.name),
  };
}

function containerRule(name: string, isBroken: (container: Container, pod: PodSpec) => boolean): Rule {
  return {
    name,
    broken: (manifests) =>
      workloadsOf(manifests).flatMap(({ name: owner, pod }) =>
        containersOf(pod)
          .filter((it) => isBroken(it, pod))
          .map((it) => `${owner}/${it.name}`),
      ),
  };
}

/** Rules for the main containers of what runs on and serves; a Job and an init container end by themselves. */
function servingRule(name: string, isBroken: (container: Container, workload: Workload) => boolean): Rule {
  return {
    name,
    broken: (manifests) =>
      workloadsOf(manifests)
        .filter(({ serves }) => serves)
        .flatMap((workload) =>
          workload.pod.containers.filter((it) => isBroken(it, workload)).map((it) => `${workload.name}/${it.name}`),
        ),
  };
}

const userIdOf = (container: Container, pod: PodSpec) =>
  container.securityContext?.runAsUser ?? pod.securityContext?.runAsUser ?? 0;

const podRules: readonly Rule[] = [
  podRule('no service account token', (pod) => pod.automountServiceAccountToken !== false),
  podRule('a service account of its own', (pod, { name }) => pod.serviceAccountName !== name),
  podRule('no service links', (pod) => pod.enableServiceLinks !== false),
  podRule('no host network', (pod) => pod.hostNetwork === true),
  podRule('no host processes', (pod) => pod.hostPID === true),
  podRule('no host interprocess communication', (pod) => pod.hostIPC === true),
  podRule('no host path', (pod) => (pod.volumes ?? []).some(({ hostPath }) => hostPath !== undefined)),
  podRule('bounded scratch volumes', (pod) =>
    (pod.volumes ?? []).some(({ emptyDir }) => emptyDir !== undefined && emptyDir.sizeLimit === undefined),
  ),
  podRule('seccomp runtime default', (pod) => pod.securityContext?.seccompProfile?.type !== 'RuntimeDefault'),
  podRule('secret files not readable by all', (pod) =>
    (pod.volumes ?? []).some(({ secret }) => secret !== undefined && ((secret.defaultMode ?? 0o644) & 0o007) !== 0),
  ),
  podRule('secrets in the right hands', (pod, { component }) =>
    (pod.volumes ?? []).some(({ secret }) => {
      const name = secret?.secretName;
      return name !== undefined && !(holdersOfSecret[name] ?? [name.replace(/^sluice-/, '')]).includes(component);
    }),
  ),
  podRule(
    'time to drain',
    (pod, { component }) => (pod.terminationGracePeriodSeconds ?? 30) < (graceSeconds[component] ?? 60),
  ),
];

const containerRules: readonly Rule[] = [
  containerRule('not root', ({ securityContext }, pod) => {
    return (securityContext?.runAsNonRoot ?? pod.securityContext?.runAsNonRoot) !== true;
  }),
  containerRule('a user id of at least 10000', (container, pod) => userIdOf(container, pod) < lowestUserId),
  containerRule('not privileged', ({ securityContext }) => securityContext?.privileged === true),
  containerRule('no privilege escalation', (it) => it.securityContext?.allowPrivilegeEscalation !== false),
  containerRule('read-only root', (it) => it.securityContext?.readOnlyRootFilesystem !== true),
  containerRule('all capabilities dropped', (it) => !it.securityContext?.capabilities?.drop?.includes('ALL')),
  containerRule('no capability added', (it) => (it.securityContext?.capabilities?.add ?? []).length > 0),
  containerRule('a bounded /tmp', ({ volumeMounts = [] }, { volumes = [] }) => {
    const mount = volumeMounts.find(({ mountPath }) => mountPath === '/tmp');
    return volumes.find(({ name }) => name === mount?.name)?.emptyDir === undefined;
  }),
  containerRule('requests processor time', ({ resources }) => resources?.requests?.cpu === undefined),
  containerRule('requests memory', ({ resources }) => resources?.requests?.memory === undefined),
  containerRule('limits memory', ({ resources }) => resources?.limits?.memory === undefined),
  containerRule('a pinned image', ({ image = '' }) => !/(?::(?!latest$)[\w][\w.-]*|@sha256:[0-9a-f]{64})$/.test(image)),
  containerRule('no secret in the environment', ({ env = [], envFrom = [] }) => {
    return (
      env.some((it) => it.valueFrom?.secretKeyRef !== undefined) || envFrom.some((it) => it.secretRef !== undefined)
    );
  }),
  containerRule('no secret written out', ({ env = [] }) =>
    env.some(({ name, value }) => isSecretText(name, value ?? '')),
  ),
];

function isSecretText(name: string, value: string): boolean {
  const namesSecret = /(?:PASSWORD|SECRET|TOKEN|KEYRING|_KEYS?|(?:DATABASE|REDIS|AMQP|S3)_URL)$/.test(name);
  return value !== '' && (namesSecret || /:\/\/[^/\s]+:[^/\s]+@/.test(value));
}

const sameProbe = (one: Probe | undefined, other: Probe | undefined) =>
  JSON.stringify([one?.httpGet, one?.exec, one?.tcpSocket]) ===
  JSON.stringify([other?.httpGet, other?.exec, other?.tcpSocket]);

const servingRules: readonly Rule[] = [
  servingRule('a startup probe', ({ startupProbe }) => startupProbe === undefined),
  servingRule('a liveness probe', ({ livenessProbe }) => livenessProbe === undefined),
  servingRule('a readiness probe', ({ readinessProbe }) => readinessProbe === undefined),
  servingRule('liveness is not readiness', (it) => sameProbe(it.livenessProbe, it.readinessProbe)),
  servingRule(
    'liveness asks for no dependency',
    ({ livenessProbe }) => livenessProbe?.httpGet?.path === '/health/ready',
  ),
  servingRule('a short preStop', ({ lifecycle }) => {
    const { sleep, exec } = lifecycle?.preStop ?? {};
    const seconds = sleep?.seconds ?? Number(/\bsleep (\d+)/.exec(exec?.command.join(' ') ?? '')?.[1] ?? 0);
    return seconds > longestPreStopSeconds;
  }),
  servingRule('no shell as process 1', ({ command = [] }) =>
    /(?:^|\/)(?:sh|bash|dash|npm|npx)$/.test(command[0] ?? ''),
  ),
];

/** Rules that look at a workload together with other objects; they hold for what has two replicas or more. */
function replicatedRule(name: string, isBroken: (workload: Workload, manifests: readonly Manifest[]) => boolean): Rule {
  return {
    name,
    broken: (manifests) =>
      workloadsOf(manifests)
        .filter((it) => it.serves && leastReplicas(it, manifests) >= 2 && isBroken(it, manifests))
        .map((it) => it.name),
  };
}

interface BudgetSpec {
  readonly selector?: LabelSelector;
  readonly minAvailable?: number;
}

function budgetsOf(workload: Workload, manifests: readonly Manifest[]): BudgetSpec[] {
  return ofKind(manifests, 'PodDisruptionBudget')
    .map((it) => specOf<BudgetSpec>(it))
    .filter(({ selector }) => selects(selector, workload.labels));
}

const fleetRules: readonly Rule[] = [
  replicatedRule(
    'a disruption budget',
    (it, all) => !budgetsOf(it, all).some(({ minAvailable = 0 }) => minAvailable >= 1),
  ),
  replicatedRule('spread over nodes', ({ pod, labels }) => {
    return !(pod.topologySpreadConstraints ?? []).some(({ labelSelector }) => selects(labelSelector, labels));
  }),
  replicatedRule('no pod missing in a rollout', ({ spec }) => spec.strategy?.rollingUpdate?.maxUnavailable !== 0),
  {
    name: 'a budget that lets nodes drain',
    broken: (manifests) =>
      workloadsOf(manifests)
        .filter((it) =>
          budgetsOf(it, manifests).some(({ minAvailable = 0 }) => minAvailable >= leastReplicas(it, manifests)),
        )
        .map((it) => it.name),
  },
  {
    name: 'one of each number: count or autoscaler',
    broken: (manifests) =>
      workloadsOf(manifests)
        .filter(({ name, spec }) => spec.replicas !== undefined && isScaled(name, manifests))
        .map((it) => it.name),
  },
  {
    name: 'no token for the service account',
    broken: (manifests) =>
      ofKind(manifests, 'ServiceAccount')
        .filter((it) => it.automountServiceAccountToken !== false)
        .map(({ metadata }) => metadata.name),
  },
  {
    name: 'no secret in a ConfigMap',
    broken: (manifests) =>
      ofKind(manifests, 'ConfigMap')
        .filter(({ data = {} }) => Object.entries(data).some(([key, value]) => isSecretText(key, value)))
        .map(({ metadata }) => metadata.name),
  },
];

function isScaled(name: string, manifests: readonly Manifest[]): boolean {
  return manifests.some((it) => specOf<{ scaleTargetRef?: { name: string } }>(it).scaleTargetRef?.name === name);
}

export const rules: readonly Rule[] = [...podRules, ...containerRules, ...servingRules, ...fleetRules, ...networkRules];
