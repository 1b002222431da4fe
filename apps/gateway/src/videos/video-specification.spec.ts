import type { VideoDto } from '@libs/contracts';
import { aModel, anEndpoint } from '@libs/inference/testing';
import { specifyVideo } from './video-specification';

const asked = (members: Partial<VideoDto> = {}): VideoDto => ({ model: 'acme/large', prompt: 'Rain.', ...members });
const able = (video: object) => ({ model: aModel(), endpoint: anEndpoint({ capabilities: { video } }) });

describe(specifyVideo, () => {
  it('passes a seed on where the model takes one', () => {
    expect(specifyVideo(asked({ seed: 0 }), able({ seed: true }))).toMatchObject({ seed: 0 });
    expect(specifyVideo(asked(), able({ seed: true }))).toMatchObject({ seed: null });
  });

  it.each([{}, { seed: false }])('refuses a seed by name where the model takes none (%j)', (capabilities) => {
    expect(() => specifyVideo(asked({ seed: 7 }), able(capabilities))).toThrow(
      expect.objectContaining({ code: 'invalid_request', metadata: { param: 'seed' } }),
    );
    // A null is what every optional member may be.
    for (const seed of [null, undefined]) {
      expect(specifyVideo(asked({ seed }), able(capabilities))).toMatchObject({ seed: null });
    }
  });
});
