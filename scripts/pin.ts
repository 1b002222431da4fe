import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { root, runMain } from './checkout';

const USAGE = 'usage: npm run pin -- REPOSITORY/sluice@sha256:DIGEST, or npm run pin -- --check';
const IMAGE = /^([a-z0-9][a-z0-9._:/-]*)@(sha256:[0-9a-f]{64})$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

interface Image {
  readonly name?: string;
  readonly newTag?: string;
  readonly digest?: string;
}

/** Returns the text of a kustomization whose image `sluice` is one digest. @throws Error for what is no digest */
export function pinned(kustomization: string, image: string): string {
  const [, newName, digest] = IMAGE.exec(image) ?? [];
  if (newName === undefined) throw new Error(`${image} is not an image with its digest; ${USAGE}`);
  const document = parseDocument(kustomization);
  document.setIn(['images'], document.createNode([{ name: 'sluice', newName, digest }]));
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** Returns the images of a kustomization that no digest pins. */
export function unpinned(kustomization: string): string[] {
  const { images = [] } = (parseDocument(kustomization).toJS() ?? {}) as { images?: readonly Image[] };
  const loose = images.filter(({ newTag, digest = '' }) => newTag !== undefined || !DIGEST.test(digest));
  const names = loose.map(({ name = 'an image without a name' }) => name);
  return images.some(({ name }) => name === 'sluice') ? names : [...names, 'sluice'];
}

/** Pins the image of the production overlay, or checks that it is pinned; a release does both before it applies. */
function main([argument]: readonly string[]): void {
  if (argument === undefined) throw new Error(USAGE);
  const path = join(root, 'k8s/overlays/prod/kustomization.yaml');
  const text = readFileSync(path, 'utf8');
  if (argument !== '--check') return writeFileSync(path, pinned(text, argument));
  const loose = unpinned(text);
  if (loose.length > 0) throw new Error(`k8s/overlays/prod: not pinned by a digest: ${loose.join(', ')}`);
}

if (require.main === module) runMain(async () => main(process.argv.slice(2)));
