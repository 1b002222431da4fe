import type { VideoDto } from '@libs/contracts';
import { aModel, anEndpoint } from '../../testing';
import { specifyVideo } from './video-specification';

const asked = (members: Partial<VideoDto> = {}): VideoDto => ({ model: 'acme/large', prompt: 'Rain.', ...members });
const able = (video: object) => ({ model: aModel(), endpoint: anEndpoint({ capabilities: { video } }) });

describe(specifyVideo, () => {
  it('passes a seed on where the model takes one', () => {
    expect(specifyVideo(asked({ seed: 0 }), able({ seed: true }))).toMatchObject({ seed: 0 });
    expect(specifyVideo(asked(), able({ seed: true }))).toMatchObject({ seed: null });
  });

  const DIMENSIONS = { resolution: '1080p', aspectRatio: '9:16', width: 1080, height: 1920 };

  it('makes a continuation in the size of what it continues', () => {
    const can = able({ continuation: true, resolutions: ['720p', '1080p'] });
    const same = { resolution: '1080p', aspect_ratio: '9:16', size: '1080x1920' } as const;
    for (const members of [{}, same]) expect(specifyVideo(asked(members), can, DIMENSIONS)).toMatchObject(DIMENSIONS);
  });

  it.each([
    ['resolution', '720p'],
    ['aspect_ratio', '16:9'],
    ['size', '1280x720'],
  ])('refuses another %s for a continuation by name', (param, value) => {
    expect(() => specifyVideo(asked({ [param]: value }), able({ continuation: true }), DIMENSIONS)).toThrow(
      expect.objectContaining({ code: 'invalid_request', metadata: { param } }),
    );
  });

  it.each([{}, { seed: false }])('refuses a seed by name where the model takes none (%j)', (capabilities) => {
    expect(() => specifyVideo(asked({ seed: 7 }), able(capabilities))).toThrow(
      expect.objectContaining({ code: 'invalid_request', metadata: { param: 'seed' } }),
    );
    // Every optional member may be null.
    for (const seed of [null, undefined]) {
      expect(specifyVideo(asked({ seed }), able(capabilities))).toMatchObject({ seed: null });
    }
  });
});
