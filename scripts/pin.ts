import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments, parseDocument } from 'yaml';
import { root, runMain } from './checkout';

const USAGE = 'usage: npm run pin -- REPOSITORY/sluice@sha256:DIGEST, or npm run pin -- --check';
const IMAGE = /^([a-z0-9][a-z0-9._:/-]*)@(sha256:[0-9a-f]{64})$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const PINNED = /@sha256:[0-9a-f]{64}$/;
/**
 * Matches fields such as `image` and `sidecarImage`, variables such as `WORKER_IMAGE`, and the path of a patch to one.
 */
const CALLED_IMAGE = /image$/i;
/** Matches an argument of a container such as `--sidecar-image=busybox`. */
const ARGUMENT = /^-[\w-]*image=(\S+)$/i;
const MOST_BYTES = 64 * 1024 * 1024;

interface Image {
  readonly name?: string;
  readonly newTag?: string;
  readonly digest?: string;
}

interface Kustomization {
  readonly images?: readonly Image[];
  readonly patches?: readonly { readonly patch?: string }[];
}

interface Manifest {
  readonly kind?: string;
  readonly metadata?: { readonly name?: string };
}

/** Returns the text of a kustomization whose image `sluice` has this digest. @throws Error if it is not a digest */
export function pinned(kustomization: string, image: string): string {
  const [, newName, digest] = IMAGE.exec(image) ?? [];
  if (newName === undefined) throw new Error(`${image} is not an image with its digest; ${USAGE}`);
  const document = parseDocument(kustomization);
  document.setIn(['images'], document.createNode([{ name: 'sluice', newName, digest }]));
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** Returns the images of a kustomization and its patches that have no digest. */
export function unpinned(kustomization: string): string[] {
  const content = (parseDocument(kustomization).toJS() ?? {}) as Kustomization;
  const { images = [] } = content;
  const isPinned = ({ newTag, digest = '' }: Image): boolean => newTag === undefined && DIGEST.test(digest);
  const loose = images.filter((image) => !isPinned(image)).map(({ name = 'an image without a name' }) => name);
  const replaced = new Set(images.filter(isPinned).map(({ name }) => name));
  const brought = patchesOf(content)
    .flatMap((patch) => parseAllDocuments(patch))
    .flatMap((document) => imagesIn(document.toJS()))
    .filter((image) => !PINNED.test(image) && !replaced.has(withoutTag(image)));
  const missing = images.some(({ name }) => name === 'sluice') ? [] : ['sluice'];
  return [...new Set([...loose, ...brought, ...missing])];
}

/** Returns the images of rendered manifests that are named without a digest, with the manifest that names each. */
export function looseImages(manifests: string): string[] {
  const found = parseAllDocuments(manifests).flatMap((document) => {
    const manifest = document.toJS() as Manifest | null;
    const place = `${manifest?.kind ?? 'a manifest'} ${manifest?.metadata?.name ?? 'without a name'}`;
    return imagesIn(manifest).flatMap((image) => (PINNED.test(image) ? [] : [`${image} in ${place}`]));
  });
  return [...new Set(found)];
}

/** Returns everything in an overlay that is not pinned, including the images of its bases and patches. */
export function looseIn(folder: string, render = renderWithKubectl): string[] {
  const own = unpinned(readFileSync(join(folder, 'kustomization.yaml'), 'utf8'));
  return [...own, ...looseImages(render(folder))];
}

/** @throws Error if kubectl is missing or refuses the overlay */
export function renderWithKubectl(folder: string): string {
  const { status, stdout, stderr, error } = spawnSync('kubectl', ['kustomize', folder], {
    encoding: 'utf8',
    maxBuffer: MOST_BYTES,
  });
  if (error !== undefined) throw new Error(`kubectl is needed to render ${folder}: ${error.message}`);
  if (status !== 0) throw new Error(`kubectl cannot render ${folder}: ${stderr}`);
  return stdout;
}

function patchesOf({ patches = [] }: Kustomization): string[] {
  return patches.flatMap(({ patch }) => (patch === undefined ? [] : [patch]));
}

/** Every image that a value names, at any depth: by a field or variable called so, by an argument, by a patch of one. */
function imagesIn(value: unknown): string[] {
  if (typeof value === 'string') return ARGUMENT.exec(value)?.slice(1) ?? [];
  if (typeof value !== 'object' || value === null) return [];
  const fields = value as Readonly<Record<string, unknown>>;
  const named = [fields['name'], fields['path']].some((name) => typeof name === 'string' && CALLED_IMAGE.test(name));
  return Object.entries(fields).flatMap(([name, field]) => {
    const isImage = CALLED_IMAGE.test(name) || (named && name === 'value');
    if (typeof field === 'string') return isImage ? [field] : imagesIn(field);
    const { reference } = (isImage && typeof field === 'object' ? (field ?? {}) : {}) as { reference?: unknown };
    return [...(typeof reference === 'string' ? [reference] : []), ...imagesIn(field)];
  });
}

function withoutTag(image: string): string {
  return image.replace(/:[^:/]*$/, '');
}

/** Pins the image of the production overlay, or checks that it is pinned; a release does both before it applies. */
function main([argument]: readonly string[]): void {
  if (argument === undefined) throw new Error(USAGE);
  const folder = join(root, 'k8s/overlays/prod');
  const path = join(folder, 'kustomization.yaml');
  if (argument !== '--check') return writeFileSync(path, pinned(readFileSync(path, 'utf8'), argument));
  const loose = looseIn(folder);
  if (loose.length > 0) throw new Error(`k8s/overlays/prod: not pinned by a digest: ${loose.join(', ')}`);
}

if (require.main === module) runMain(async () => main(process.argv.slice(2)));
