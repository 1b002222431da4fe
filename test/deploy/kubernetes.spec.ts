import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { parseAppLogins, POOL_SIZES } from '@libs/persistence';
import { violations } from './hardening-rules';
import { isKnownVariable } from './known-environment';
import { render, sorted, withoutHashes } from './kustomize';
import { workloadsReaching, type ClusterPod } from './ways-out';
import { containersOf, ofKind, specOf, workloadsOf, type Manifest } from './manifests';

const root = join(__dirname, '../..');
const folders = ['k8s/base', 'k8s/overlays/dev', 'k8s/overlays/prod'];
const apps = ['auth', 'batch-worker', 'credentials', 'gateway', 'video-worker'];
const hasKubectl = spawnSync('kubectl', ['kustomize', '--help']).status === 0;

const renderHere = (folder: string) => render(join(root, folder));

function renderWithKubectl(folder: string): Manifest[] {
  const documents = parseAllDocuments(execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8' }));
  return (documents as { toJS(): unknown }[]).map((document) => document.toJS() as Manifest);
}

function imagesOf(manifests: readonly Manifest[]): string[] {
  return workloadsOf(manifests).flatMap(({ pod }) => containersOf(pod).map(({ image = '' }) => image));
}

const isKept = (rule: string) => !rule.startsWith('a pinned image');

describe('k8s', () => {
  it('keeps to every hardening rule in the base, whose images the overlays pin', () => {
    expect(violations(renderHere('k8s/base')).filter(isKept)).toEqual([]);
  });

  it.each(['k8s/overlays/dev', 'k8s/overlays/prod'])('keeps to every hardening rule in %s', (folder) => {
    expect(violations(renderHere(folder))).toEqual([]);
  });

  it.each(folders)('runs the five apps and the migration in %s', (folder) => {
    const workloads = workloadsOf(renderHere(folder));
    const deployed = workloads.filter(({ labels }) => labels['app.kubernetes.io/name'] === 'sluice');
    expect(deployed.map(({ kind, name }) => `${kind} ${name}`).sort()).toEqual(
      [...apps.map((app) => `Deployment ${app}`), 'Job migrate'].sort(),
    );
    for (const { name, pod } of deployed) {
      const entry = name === 'migrate' ? 'dist/scripts/migrate.js' : `dist/apps/${name}/main.js`;
      expect(pod.containers.map(({ command = [] }) => [command[0], command.at(-1)])).toEqual([['node', entry]]);
    }
  });

  it.each(folders)('sets no variable that the apps do not know in %s', (folder) => {
    const manifests = renderHere(folder);
    const settings = ofKind(manifests, 'ConfigMap').filter(({ metadata }) => metadata.name === 'sluice-settings');
    const names = [
      ...settings.flatMap(({ data = {} }) => Object.keys(data)),
      ...workloadsOf(manifests).flatMap(({ pod }) =>
        containersOf(pod).flatMap(({ env = [] }) => env.map((it) => it.name)),
      ),
    ];
    expect(names).toContain('HEALTH_PORT');
    expect(names.filter((name) => !isKnownVariable(name))).toEqual([]);
  });

  it('lets each app of production open the connections of all its replicas and one more', () => {
    const manifests = renderHere('k8s/overlays/prod');
    const settings = ofKind(manifests, 'ConfigMap').find(({ metadata }) => metadata.name === 'sluice-settings');
    const limits = settings?.data?.['DATABASE_CONNECTIONS'];
    const made = parseAppLogins(apps.map((app) => `${app}=${app.replace('-', '_')}`).join(','), limits);
    const replicasOf = (app: string): number | undefined => {
      const named = manifests.filter(({ kind, metadata }) => kind !== 'Service' && metadata.name === app);
      const specs = named.map((one) => specOf<Record<string, number>>(one));
      return specs.map((spec) => spec['maxReplicas'] ?? spec['maxReplicaCount'] ?? spec['replicas']).find(Boolean);
    };
    expect(made.map(({ app, connections }) => [app, connections])).toEqual(
      made.map(({ app }) => [app, POOL_SIZES[app] * ((replicasOf(app) ?? 0) + 1)]),
    );
  });

  it.each(folders)('probes and scrapes the port that the app is told to open in %s', (folder) => {
    for (const app of apps) {
      const manifest = ofKind(renderHere(folder), 'Deployment').find(({ metadata }) => metadata.name === app);
      const template = specOf<{ template: { metadata: { annotations: Record<string, string> } } }>(
        manifest as Manifest,
      ).template;
      const [container] = workloadsOf([manifest as Manifest])[0]?.pod.containers ?? [];
      const port = container?.env?.find(({ name }) => name === 'HEALTH_PORT')?.value;
      const ports = (container as unknown as { ports: { name: string; containerPort: number }[] }).ports;
      expect(ports.find(({ name }) => name === 'health')?.containerPort).toBe(Number(port));
      expect(template.metadata.annotations['prometheus.io/port']).toBe(port);
    }
  });

  it.each(folders)('opens Redis to the gateway alone in %s', (folder) => {
    const policies = ofKind(renderHere(folder), 'NetworkPolicy').filter(({ metadata }) => /redis/.test(metadata.name));
    const gateway = { matchLabels: { 'app.kubernetes.io/component': 'gateway' } };
    expect(policies.length).toBeGreaterThan(0);
    for (const policy of policies) {
      const { podSelector, ingress } = specOf<{ podSelector: object; ingress?: { from: object[] }[] }>(policy);
      if (ingress === undefined) expect(podSelector).toEqual(gateway);
      else expect(ingress.flatMap(({ from }) => from)).toEqual([{ podSelector: gateway }]);
    }
  });

  it.each(folders)(
    'lets the apps that call providers reach model servers with the label, and nothing else, in %s',
    (folder) => {
      const manifests = renderHere(folder);
      const label = { 'sluice.dev/model-server': 'true' };
      const vllm: ClusterPod = { namespaceLabels: {}, podLabels: {}, port: 8_000 };
      const callers = ['batch-worker', 'gateway', 'video-worker'];
      for (const labelled of [{ namespaceLabels: label }, { podLabels: label }]) {
        for (const port of [8_000, 8_080, 11_434, 30_000]) {
          expect(workloadsReaching({ ...vllm, ...labelled, port }, manifests)).toEqual(callers);
        }
        expect(workloadsReaching({ ...vllm, ...labelled, port: 22 }, manifests)).toEqual([]);
      }
      expect(workloadsReaching(vllm, manifests)).toEqual([]);
      const other = { 'sluice.dev/model-server': 'false' };
      expect(workloadsReaching({ ...vllm, namespaceLabels: other, podLabels: other }, manifests)).toEqual([]);
    },
  );

  it('brings no secret and no datastore of its own to production', () => {
    const manifests = renderHere('k8s/overlays/prod');
    expect(ofKind(manifests, 'Secret')).toEqual([]);
    expect(ofKind(manifests, 'StatefulSet')).toEqual([]);
    expect(JSON.stringify(manifests)).not.toContain('dev-only');
  });

  it('gives keyring and signing keys to one app each in the dev overlay', () => {
    const secrets = ofKind(renderHere('k8s/overlays/dev'), 'Secret');
    const holding = (variable: string) =>
      secrets
        .filter(({ data = {} }) => Object.values(data).some((it) => Buffer.from(it, 'base64').includes(`${variable}=`)))
        .map(({ metadata }) => metadata.name);
    expect(holding('CREDENTIALS_KEYRING')).toEqual(['sluice-credentials']);
    expect(holding('TOKEN_SIGNING_KEYS')).toEqual(['sluice-auth']);
  });

  it('runs the version of the package in production', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    expect(new Set(imagesOf(renderHere('k8s/overlays/prod')))).toEqual(new Set([`sluice:${version}`]));
  });

  it('pins every container of production by digest when a release names one', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-release-'));
    try {
      const digest = `sha256:${'a'.repeat(64)}`;
      const base = relative(folder, join(root, 'k8s/base'));
      const images = `images: [{ name: sluice, newName: registry.test/sluice, digest: "${digest}" }]`;
      writeFileSync(join(folder, 'kustomization.yaml'), `resources: ["${base}"]\n${images}\n`);
      const manifests = render(folder);
      expect(new Set(imagesOf(manifests))).toEqual(new Set([`registry.test/sluice@${digest}`]));
      expect(violations(manifests)).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  // Every check above holds without kubectl; where it is installed, it also judges the renderer they rest on.
  if (hasKubectl) {
    it.each(folders)('is rendered alike by kubectl: %s', (folder) => {
      expect(withoutHashes(renderWithKubectl(join(root, folder)))).toEqual(sorted(renderHere(folder)));
    });
  }
});
