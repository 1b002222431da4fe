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

  const LIMITED = {
    resolutions: ['480p', '720p'],
    aspect_ratios: ['16:9', '1:1'],
    durations: [4, 8],
    frame_images: ['first_frame'],
    references: ['image'],
  };
  const frame = { type: 'image_url', image_url: { url: 'https://example.com/a.png' }, frame_type: 'last_frame' };
  const sound = { type: 'audio_url', audio_url: { url: 'https://example.com/a.mp3' } };

  it.each([
    [{ resolution: '4K' }, 'resolution must be one of 480p, 720p with this model (it is 4K)'],
    [{ aspect_ratio: '21:9' }, 'aspect_ratio must be one of 16:9, 1:1 with this model (it is 21:9)'],
    [{ duration: 99 }, 'duration must be one of 4, 8 with this model (it is 99)'],
    [{ size: '1920x1080' }, 'size must be of one of 480p, 720p with this model (it is 1920x1080)'],
    [{ size: '1280x720', resolution: '480p' }, 'size must be of the resolution 480p (it is 1280x720)'],
    [{ size: '1280x720', aspect_ratio: '1:1' }, 'size must be of the aspect_ratio 1:1 (it is 1280x720)'],
    [
      { frame_images: [frame] },
      'frame_images[0].frame_type must be one of first_frame with this model (it is last_frame)',
    ],
    [
      { input_references: [sound] },
      'input_references[0].type must be one of image_url with this model (it is audio_url)',
    ],
  ])('says what the model takes and what was sent (%j)', (members, message) => {
    expect(() => specifyVideo(asked(members as Partial<VideoDto>), able(LIMITED))).toThrow(message);
  });

  it('says that a model takes no references', () => {
    const members = { input_references: [sound] } as Partial<VideoDto>;
    expect(() => specifyVideo(asked(members), able({}))).toThrow(
      'input_references[0].type cannot be used with this model',
    );
  });
});
