import { AppError } from '@libs/errors';
import { namedAsSent } from './openai-video-members';

describe(namedAsSent.name, () => {
  const names = new Map([
    ['duration', 'seconds'],
    ['frame_images[0]', 'input_reference'],
  ]);
  const refused = (param: string): AppError =>
    new AppError('invalid_request', `${param} is wrong`, { metadata: { param } });

  it('calls members as the caller did, and leaves every other refusal alone', () => {
    expect(namedAsSent(refused('duration'), names)).toMatchObject({
      message: 'seconds is wrong',
      metadata: { param: 'seconds' },
    });
    expect(namedAsSent(refused('frame_images[0].image_url.url'), names)).toMatchObject({
      message: 'input_reference is wrong',
      metadata: { param: 'input_reference' },
    });
    for (const untouched of [refused('durations'), refused('prompt'), new AppError('payment_required', 'No')]) {
      expect(namedAsSent(untouched, names)).toBe(untouched);
    }
  });
});
