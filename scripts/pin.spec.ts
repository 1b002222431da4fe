import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { render } from '../test/deploy/kustomize';
import { looseImages, looseIn, pinned, renderWithKubectl, unpinned } from './pin';

const OVERLAY = readFileSync(join(__dirname, '../k8s/overlays/prod/kustomization.yaml'), 'utf8');
const IMAGE = `registry.example:5000/team/sluice@sha256:${'a'.repeat(64)}`;

describe('the image of the production overlay', () => {
  it('is refused by its tag, and accepted once a release has pinned it', () => {
    expect(unpinned(OVERLAY)).toEqual(['sluice']);
    const release = pinned(OVERLAY, IMAGE);
    expect(unpinned(release)).toEqual([]);
    expect(release).toContain('newName: registry.example:5000/team/sluice');
    expect(pinned(release, IMAGE)).toBe(release);
  });

  it('keeps all else of the overlay', () => {
    const restOf = (text: string): string => text.replace(/\nimages:[^]*?(?=\npatches:)/, '');
    expect(restOf(pinned(OVERLAY, IMAGE))).toBe(restOf(OVERLAY));
  });

  it.each([
    ['a tag', [{ name: 'sluice', newTag: '1.2.3' }]],
    ['a tag beside a digest', [{ name: 'sluice', newTag: '1.2.3', digest: `sha256:${'a'.repeat(64)}` }]],
    ['a short digest', [{ name: 'sluice', digest: 'sha256:abc' }]],
    ['nothing', []],
  ])('is not pinned by %s', (_what, images) => {
    expect(unpinned(JSON.stringify({ images }))).toEqual(['sluice']);
  });

  it.each(['sluice:1.2.3', 'sluice', `sluice@sha256:${'A'.repeat(64)}`, `$(id)@sha256:${'a'.repeat(64)}`])(
    'cannot be pinned to %s',
    (image) => {
      expect(() => pinned(OVERLAY, image)).toThrow('is not an image with its digest');
    },
  );
});

const DIGEST = `sha256:${'a'.repeat(64)}`;

describe('images of rendered manifests', () => {
  const looseOf = (spec: unknown): string[] =>
    looseImages(JSON.stringify({ kind: 'Deployment', metadata: { name: 'gateway' }, spec }));

  it.each([
    ['a container', { template: { spec: { containers: [{ image: 'busybox:1' }] } } }],
    ['an init container', { template: { spec: { initContainers: [{ image: 'busybox:1' }] } } }],
    ['a volume', { volumes: [{ name: 'v', image: { reference: 'busybox:1' } }] }],
    ['a field of another kind', { sidecarImage: 'busybox:1' }],
    ['a variable', { containers: [{ env: [{ name: 'WORKER_IMAGE', value: 'busybox:1' }] }] }],
    ['an argument', { containers: [{ args: ['--sidecar-image=busybox:1'] }] }],
  ])('must not be tags in %s', (_where, spec) => {
    const text = JSON.stringify(spec);
    expect(looseOf(spec)).toEqual(['busybox:1 in Deployment gateway']);
    expect(looseOf(JSON.parse(text.replace('busybox:1', 'busybox')))).toEqual(['busybox in Deployment gateway']);
    expect(looseOf(JSON.parse(text.replace('busybox:1', `busybox:1@${DIGEST}`)))).toEqual([]);
    expect(looseOf(JSON.parse(text.replace('busybox:1', `busybox@${DIGEST.slice(0, -1)}`)))).toHaveLength(1);
  });

  it('are looked for in each manifest, and in the data of a ConfigMap', () => {
    const manifests = [
      'kind: Job\nmetadata: { name: migrate }\nspec: { containers: [{ image: a:1 }, { image: a:1 }] }',
      'kind: ConfigMap\nmetadata: { name: settings }\ndata: { TOOL_IMAGE: b:2, MODEL: image:3 }',
    ];
    expect(looseImages(manifests.join('\n---\n'))).toEqual(['a:1 in Job migrate', 'b:2 in ConfigMap settings']);
  });
});

describe('patches of a kustomization', () => {
  const unpinnedBy = (patch: string): string[] =>
    unpinned(JSON.stringify({ images: [{ name: 'sluice', digest: DIGEST }], patches: [{ patch }] }));

  it('must not bring a tag', () => {
    const value = '{ name: side, image: busybox:latest }';
    expect(unpinnedBy(`- op: add\n  path: /spec/containers/-\n  value: ${value}`)).toEqual(['busybox:latest']);
    expect(unpinnedBy('- op: replace\n  path: /spec/containers/0/image\n  value: busybox')).toEqual(['busybox']);
    expect(unpinnedBy('spec: { containers: [{ image: busybox:1 }] }')).toEqual(['busybox:1']);
  });

  it('may name an image that `images` pins', () => {
    for (const image of ['sluice', 'sluice:1', `busybox@${DIGEST}`]) {
      expect(unpinnedBy(`spec: { containers: [{ image: "${image}" }] }`)).toEqual([]);
    }
  });
});

const renderHere = (folder: string): string =>
  render(folder)
    .map((one) => JSON.stringify(one))
    .join('\n---\n');
const hasKubectl = spawnSync('kubectl', ['kustomize', '--help']).status === 0;

describe.each([
  ['our tests render it', renderHere],
  ...(hasKubectl ? [['kubectl renders it', renderWithKubectl] as const] : []),
] as const)('the production overlay as %s', (_who, renderer) => {
  let k8s: string;
  const prod = (): string => join(k8s, 'overlays/prod');
  const write = (name: string, text: string): void => writeFileSync(join(prod(), name), text);

  beforeEach(() => {
    k8s = mkdtempSync(join(tmpdir(), 'sluice-pin-'));
    cpSync(join(__dirname, '../k8s'), k8s, { recursive: true });
  });

  afterEach(() => rmSync(k8s, { recursive: true, force: true }));

  it('has tags until a release has pinned it', () => {
    expect(looseIn(prod(), renderer)).toContain('sluice:0.1.0 in Deployment gateway');
    write('kustomization.yaml', pinned(OVERLAY, IMAGE));
    expect(looseIn(prod(), renderer)).toEqual([]);
  });

  it('has a tag that a file beside it brings', () => {
    const side = { name: 'side', image: 'busybox:1' };
    const patch = { target: { kind: 'Job' }, path: 'side.json' };
    write('side.json', JSON.stringify([{ op: 'add', path: '/spec/template/spec/initContainers', value: [side] }]));
    const release = pinned(OVERLAY, IMAGE).replace('\npatches:\n', `\npatches:\n  - ${JSON.stringify(patch)}\n`);
    write('kustomization.yaml', release);
    expect(looseIn(prod(), renderer)).toEqual([expect.stringMatching(/^busybox:1 in Job /)]);
  });
});
