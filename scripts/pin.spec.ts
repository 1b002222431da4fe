import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pinned, unpinned } from './pin';

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
