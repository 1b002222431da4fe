import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import type { Manifest } from './manifests';

/**
 * Renders the part of kustomize that k8s/ uses, so that its manifests are checked on machines without kubectl too.
 * A field it does not know is an error, never ignored. Names of generated ConfigMaps and Secrets get no hash.
 */
export function render(folder: string): Manifest[] {
  const kustomization = read(folder);
  let manifests = kustomization.resources.flatMap((resource) => load(join(folder, resource)));
  for (const generator of kustomization.configMapGenerator) manifests = addConfigMap(manifests, generator, folder);
  for (const generator of kustomization.secretGenerator) manifests.push(secretOf(generator, folder));
  for (const patch of kustomization.patches) applyPatch(manifests, patch, folder);
  for (const image of kustomization.images) setImage(manifests, image);
  const { namespace } = kustomization;
  if (namespace !== undefined) manifests.forEach((manifest) => placeIn(manifest, namespace));
  return manifests;
}

function read(folder: string): Kustomization {
  const kustomization = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as Partial<Kustomization>;
  for (const field of Object.keys(kustomization)) {
    if (!knownFields.has(field)) throw new Error(`${folder}: this renderer does not know the field ${field}`);
  }
  return { resources: [], configMapGenerator: [], secretGenerator: [], patches: [], images: [], ...kustomization };
}

const knownFields = new Set([
  'apiVersion',
  'kind',
  'namespace',
  'resources',
  'configMapGenerator',
  'secretGenerator',
  'patches',
  'images',
]);

interface Generator {
  name: string;
  behavior?: 'merge';
  literals?: string[];
  envs?: string[];
  files?: string[];
}

interface Patch {
  target: { kind: string; name?: string };
  path?: string;
  patch?: string;
}

interface Image {
  name: string;
  newName?: string;
  newTag?: string;
  digest?: string;
}

interface Kustomization {
  namespace?: string;
  resources: string[];
  configMapGenerator: Generator[];
  secretGenerator: Generator[];
  patches: Patch[];
  images: Image[];
}

interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: string;
  value?: unknown;
}

type Node = Record<string, unknown> | unknown[];

function load(path: string): Manifest[] {
  if (!existsSync(path)) throw new Error(`No such resource: ${path}`);
  if (statSync(path).isDirectory()) return render(path);
  const documents = parseAllDocuments(readFileSync(path, 'utf8'));
  if (!Array.isArray(documents)) return [];
  return documents.map((document) => {
    if (document.errors.length > 0) throw new Error(`${path}: ${document.errors.join('; ')}`);
    return document.toJS() as Manifest;
  });
}

function entriesOf(generator: Generator, folder: string): Record<string, string> {
  const lines = (generator.envs ?? [])
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'))
    .filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const entries = [...lines, ...(generator.literals ?? [])].map((line) => splitOnce(line, '='));
  const files = (generator.files ?? []).map((item): [string, string] => {
    const [key, file] = item.includes('=') ? splitOnce(item, '=') : [basename(item), item];
    return [key, readFileSync(join(folder, file), 'utf8')];
  });
  return Object.fromEntries([...entries, ...files]);
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  if (at < 1) throw new Error(`Expected NAME${separator}value`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function addConfigMap(manifests: Manifest[], generator: Generator, folder: string): Manifest[] {
  const data = entriesOf(generator, folder);
  if (generator.behavior !== 'merge') {
    return [...manifests, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: generator.name }, data }];
  }
  const merged = manifests.map((manifest) =>
    isNamed(manifest, 'ConfigMap', generator.name) ? { ...manifest, data: { ...manifest.data, ...data } } : manifest,
  );
  if (!merged.some((manifest) => isNamed(manifest, 'ConfigMap', generator.name))) {
    throw new Error(`No ConfigMap ${generator.name} to merge into`);
  }
  return merged;
}

function isNamed(manifest: Manifest, kind: string, name: string): boolean {
  return manifest.kind === kind && manifest.metadata.name === name;
}

function secretOf(generator: Generator, folder: string): Manifest {
  const entries = Object.entries(entriesOf(generator, folder));
  const data = Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
  return { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: { name: generator.name }, data };
}

function applyPatch(manifests: readonly Manifest[], patch: Patch, folder: string): void {
  const text = patch.patch ?? readFileSync(join(folder, patch.path ?? ''), 'utf8');
  const wanted = (pattern: string | undefined, value: string) => new RegExp(`^(?:${pattern ?? '.*'})$`).test(value);
  const targets = manifests.filter(
    ({ kind, metadata }) => wanted(patch.target.kind, kind) && wanted(patch.target.name, metadata.name),
  );
  if (targets.length === 0) throw new Error(`A patch of ${folder} finds nothing to change`);
  for (const target of targets) {
    for (const operation of parse(text) as Operation[]) applyOperation(target as unknown as Node, operation);
  }
}

/** RFC 6902, the three operations that the patches use. */
function applyOperation(root: Node, { op, path, value }: Operation): void {
  const steps = path
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = steps.pop() ?? '';
  const parent = steps.reduce<Node>((node, step) => {
    const next = (node as Record<string, unknown>)[step];
    if (typeof next !== 'object' || next === null) throw new Error(`Nothing to patch at ${path}`);
    return next as Node;
  }, root);
  if (Array.isArray(parent)) return changeList(parent, op, last, value, path);
  if (op !== 'add' && !(last in parent)) throw new Error(`Nothing to ${op} at ${path}`);
  if (op === 'remove') delete parent[last];
  else parent[last] = value;
}

function changeList(list: unknown[], op: Operation['op'], step: string, value: unknown, path: string): void {
  if (op !== 'add' || step !== '-') throw new Error(`This renderer only appends to lists, not ${op} ${path}`);
  list.push(value);
}

const clusterScoped = ['Namespace'];

function placeIn(manifest: Manifest, namespace: string): void {
  if (!clusterScoped.includes(manifest.kind)) Object.assign(manifest.metadata, { namespace });
}

function setImage(node: unknown, { name, newName = name, newTag, digest }: Image): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    if (key === 'image' && value === name) {
      const version = digest === undefined ? `:${newTag}` : `@${digest}`;
      (node as Record<string, unknown>)[key] = `${newName}${version}`;
    } else setImage(value, { name, newName, newTag, digest });
  }
}

/** For comparing with kustomize: it ends the names of generated objects with a hash, and folds base64 into lines. */
export function withoutHashes(manifests: readonly Manifest[]): Manifest[] {
  let text = JSON.stringify(manifests.map(unfolded));
  for (const { kind, metadata } of manifests) {
    const match = /^(.+)-[a-z0-9]{10}$/.exec(metadata.name);
    if (match === null || !['ConfigMap', 'Secret'].includes(kind)) continue;
    text = text.replaceAll(`"${metadata.name}"`, `"${match[1]}"`);
  }
  return sorted(JSON.parse(text) as Manifest[]);
}

function unfolded(manifest: Manifest): Manifest {
  if (manifest.kind !== 'Secret') return manifest;
  const data = Object.entries(manifest.data ?? {}).map(([key, value]) => [key, value.replaceAll('\n', '')]);
  return { ...manifest, data: Object.fromEntries(data) as Record<string, string> };
}

export function sorted(manifests: readonly Manifest[]): Manifest[] {
  const key = ({ kind, metadata }: Manifest) => `${kind}/${metadata.name}`;
  return [...manifests].sort((one, other) => (key(one) < key(other) ? -1 : 1));
}
