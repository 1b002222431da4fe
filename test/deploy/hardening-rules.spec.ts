import { join } from 'node:path';
import { rules, violations } from './hardening-rules';
import { render } from './kustomize';
import { ofKind, type Manifest } from './manifests';

/* Manifests are plain data here: a violation is planted by setting one member of a sound rendering. */
// oxlint-disable-next-line typescript/no-explicit-any
type Loose = any;

const root = join(__dirname, '../..');
const rendered = render(join(root, 'k8s/overlays/prod'));
const sound = () => structuredClone(rendered);

function find(manifests: readonly Manifest[], kind: string, name: string): Loose {
  const found = ofKind(manifests, kind).find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new Error(`No ${kind} ${name} to plant a violation in`);
  return found;
}

const pod = (manifests: Manifest[], name: string): Loose => find(manifests, 'Deployment', name).spec.template.spec;
const container = (manifests: Manifest[], name: string): Loose => pod(manifests, name).containers[0];
const policy = (manifests: Manifest[], name: string): Loose => find(manifests, 'NetworkPolicy', name).spec;
const without = (manifests: Manifest[], kind: string, name: string): void => {
  manifests.splice(manifests.indexOf(find(manifests, kind, name)), 1);
};

/** Rule, the object it must name, and how the defect is planted. */
const plants: readonly [rule: string, where: string, plant: (manifests: Manifest[]) => void][] = [
  ['no service account token', 'auth', (all) => delete pod(all, 'auth').automountServiceAccountToken],
  ['a service account of its own', 'auth', (all) => (pod(all, 'auth').serviceAccountName = 'gateway')],
  ['no service links', 'auth', (all) => delete pod(all, 'auth').enableServiceLinks],
  ['no host network', 'gateway', (all) => (pod(all, 'gateway').hostNetwork = true)],
  ['no host processes', 'gateway', (all) => (pod(all, 'gateway').hostPID = true)],
  ['no host interprocess communication', 'gateway', (all) => (pod(all, 'gateway').hostIPC = true)],
  ['no host path', 'gateway', (all) => pod(all, 'gateway').volumes.push({ name: 'host', hostPath: { path: '/' } })],
  ['bounded scratch volumes', 'gateway', (all) => pod(all, 'gateway').volumes.push({ name: 'cache', emptyDir: {} })],
  ['seccomp runtime default', 'auth', (all) => (pod(all, 'auth').securityContext.seccompProfile.type = 'Unconfined')],
  ['secret files not readable by all', 'auth', (all) => delete volume(all, 'auth', 'secrets').secret.defaultMode],
  ['secrets in the right hands', 'gateway', (all) => mountSecret(all, 'gateway', 'sluice-credentials')],
  ['secrets in the right hands', 'batch-worker', (all) => mountSecret(all, 'batch-worker', 'sluice-auth')],
  ['secrets in the right hands', 'auth', (all) => mountSecret(all, 'auth', 'sluice-provider-keys')],
  ['time to drain', 'gateway', (all) => (pod(all, 'gateway').terminationGracePeriodSeconds = 60)],
  ['time to drain', 'video-worker', (all) => delete pod(all, 'video-worker').terminationGracePeriodSeconds],
  ['not root', 'auth/app', (all) => delete pod(all, 'auth').securityContext.runAsNonRoot],
  ['not root', 'auth/app', (all) => (container(all, 'auth').securityContext.runAsNonRoot = false)],
  ['a user id of at least 10000', 'auth/app', (all) => (pod(all, 'auth').securityContext.runAsUser = 1000)],
  ['a user id of at least 10000', 'auth/app', (all) => (container(all, 'auth').securityContext.runAsUser = 0)],
  ['not privileged', 'auth/app', (all) => (container(all, 'auth').securityContext.privileged = true)],
  [
    'no privilege escalation',
    'auth/app',
    (all) => delete container(all, 'auth').securityContext.allowPrivilegeEscalation,
  ],
  ['read-only root', 'auth/app', (all) => (container(all, 'auth').securityContext.readOnlyRootFilesystem = false)],
  ['read-only root', 'auth/late', (all) => addInitContainer(all, 'auth')],
  [
    'all capabilities dropped',
    'auth/app',
    (all) => (container(all, 'auth').securityContext.capabilities.drop = ['NET_RAW']),
  ],
  [
    'no capability added',
    'auth/app',
    (all) => (container(all, 'auth').securityContext.capabilities.add = ['SYS_PTRACE']),
  ],
  ['a bounded /tmp', 'auth/app', (all) => container(all, 'auth').volumeMounts.shift()],
  ['requests processor time', 'auth/app', (all) => delete container(all, 'auth').resources.requests.cpu],
  ['requests memory', 'auth/app', (all) => delete container(all, 'auth').resources.requests.memory],
  ['limits memory', 'auth/app', (all) => delete container(all, 'auth').resources.limits],
  ['a pinned image', 'auth/app', (all) => (container(all, 'auth').image = 'sluice')],
  ['a pinned image', 'auth/app', (all) => (container(all, 'auth').image = 'registry.test:5000/sluice:latest')],
  ['a pinned image', 'auth/app', (all) => (container(all, 'auth').image = 'registry.test:5000/sluice')],
  [
    'no secret in the environment',
    'auth/app',
    (all) =>
      container(all, 'auth').env.push({ name: 'X', valueFrom: { secretKeyRef: { name: 'sluice-auth', key: 'x' } } }),
  ],
  [
    'no secret in the environment',
    'auth/app',
    (all) => container(all, 'auth').envFrom.push({ secretRef: { name: 'x' } }),
  ],
  [
    'no secret written out',
    'auth/app',
    (all) => container(all, 'auth').env.push({ name: 'TOKEN_SIGNING_KEYS', value: '[]' }),
  ],
  [
    'no secret written out',
    'auth/app',
    (all) => container(all, 'auth').env.push({ name: 'AT', value: 'amqp://a:b@c' }),
  ],
  ['a startup probe', 'auth/app', (all) => delete container(all, 'auth').startupProbe],
  ['a liveness probe', 'auth/app', (all) => delete container(all, 'auth').livenessProbe],
  ['a readiness probe', 'auth/app', (all) => delete container(all, 'auth').readinessProbe],
  [
    'liveness is not readiness',
    'auth/app',
    (all) => (container(all, 'auth').readinessProbe.httpGet.path = '/health/live'),
  ],
  [
    'liveness asks for no dependency',
    'auth/app',
    (all) => (container(all, 'auth').livenessProbe.httpGet.path = '/health/ready'),
  ],
  [
    'a short preStop',
    'auth/app',
    (all) => (container(all, 'auth').lifecycle = { preStop: { sleep: { seconds: 11 } } }),
  ],
  [
    'a short preStop',
    'auth/app',
    (all) => (container(all, 'auth').lifecycle = { preStop: { exec: { command: ['sh', '-c', 'sleep 30'] } } }),
  ],
  ['no shell as process 1', 'auth/app', (all) => (container(all, 'auth').command = ['/bin/sh', '-c', 'node main.js'])],
  ['a disruption budget', 'auth', (all) => without(all, 'PodDisruptionBudget', 'auth')],
  ['a disruption budget', 'gateway', (all) => delete find(all, 'PodDisruptionBudget', 'gateway').spec.minAvailable],
  ['spread over nodes', 'auth', (all) => delete pod(all, 'auth').topologySpreadConstraints],
  ['no pod missing in a rollout', 'auth', (all) => delete find(all, 'Deployment', 'auth').spec.strategy],
  ['a budget that lets nodes drain', 'auth', (all) => (find(all, 'Deployment', 'auth').spec.replicas = 1)],
  [
    'a budget that lets nodes drain',
    'batch-worker',
    (all) => (find(all, 'ScaledObject', 'batch-worker').spec.minReplicaCount = 0),
  ],
  [
    'one of each number: count or autoscaler',
    'gateway',
    (all) => (find(all, 'Deployment', 'gateway').spec.replicas = 2),
  ],
  [
    'no token for the service account',
    'auth',
    (all) => delete find(all, 'ServiceAccount', 'auth').automountServiceAccountToken,
  ],
  [
    'no secret in a ConfigMap',
    'sluice-settings',
    (all) => (find(all, 'ConfigMap', 'sluice-settings').data.REDIS_URL = 'redis://:word@redis'),
  ],
  ['ingress denied by default', 'the namespace', (all) => (policy(all, 'default-deny').policyTypes = ['Egress'])],
  ['egress denied by default', 'the namespace', (all) => without(all, 'NetworkPolicy', 'default-deny')],
  ['egress denied by default', 'the namespace', (all) => (policy(all, 'default-deny').egress = [{}])],
  ['no way out to everywhere', 'redis', (all) => delete policy(all, 'redis').egress[0].to],
  ['every way names its ports', 'redis', (all) => delete policy(all, 'redis').egress[0].ports],
  [
    'no private address from the internet policy',
    'internet',
    (all) => policy(all, 'internet').egress[0].to[0].ipBlock.except.pop(),
  ],
  ['https alone to the internet', 'internet', (all) => policy(all, 'internet').egress[0].ports.push({ port: 22 })],
  [
    'internet for those who need it',
    'internet',
    (all) => policy(all, 'internet').podSelector.matchExpressions[0].values.push('credentials'),
  ],
  ['one public door', 'public-door', (all) => (policy(all, 'public-door').podSelector = {})],
  ['one public door', 'metrics', (all) => delete policy(all, 'metrics').ingress[0].from],
  ['no way from app to app', 'public-door', (all) => (policy(all, 'public-door').ingress[0].from = [appPeer('auth')])],
  ['no way from app to app', 'redis', (all) => policy(all, 'redis').egress[0].to.push(appPeer('credentials'))],
  [
    'no way from app to app',
    'redis',
    (all) => policy(all, 'redis').egress[0].to.push({ ...appPeer('auth'), namespaceSelector: {} }),
  ],
  ['a policy meets some pod', 'redis', (all) => (policy(all, 'redis').podSelector = appPeer('cache').podSelector)],
  ['no port on the nodes', 'gateway', (all) => (find(all, 'Service', 'gateway').spec.type = 'NodePort')],
];

const appPeer = (component: string) => ({ podSelector: { matchLabels: { 'app.kubernetes.io/component': component } } });

function volume(manifests: Manifest[], app: string, name: string): Loose {
  return pod(manifests, app).volumes.find((it: { name: string }) => it.name === name);
}

function mountSecret(manifests: Manifest[], app: string, secretName: string): void {
  pod(manifests, app).volumes.push({ name: 'taken', secret: { secretName, defaultMode: 0o440 } });
}

function addInitContainer(manifests: Manifest[], app: string): void {
  const sound = container(manifests, app);
  const securityContext = { ...sound.securityContext, readOnlyRootFilesystem: false };
  pod(manifests, app).initContainers = [{ ...sound, name: 'late', securityContext }];
}

describe('hardening rules', () => {
  it('find nothing in the production manifests', () => {
    expect(violations(sound())).toEqual([]);
  });

  it.each(plants)('catch a planted violation: %s (%s)', (rule, where, plant) => {
    const manifests = sound();
    plant(manifests);
    expect(violations(manifests)).toContain(`${rule}: ${where}`);
  });

  it('are each caught out at least once', () => {
    expect(new Set(plants.map(([rule]) => rule))).toEqual(new Set(rules.map(({ name }) => name)));
  });
});
