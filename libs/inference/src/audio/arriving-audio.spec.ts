import { ArrivingAudio } from './arriving-audio';
import { AudioCollector } from './audio-bytes';

const PIECES = [1, 2, 3].map((value) => Buffer.alloc(5_000, value));

describe(ArrivingAudio.name, () => {
  let collector: AudioCollector;
  let audio: ArrivingAudio;

  beforeEach(() => {
    collector = new AudioCollector(15_000);
    audio = new ArrivingAudio(15_000, collector);
  });

  /** Returns all pieces that an attempt has received in the end. */
  const read = async (): Promise<Buffer[]> => {
    const got: Buffer[] = [];
    for await (const piece of audio) got.push(piece);
    return got;
  };

  it('gives every reader the pieces themselves, from the first on, whenever he comes', async () => {
    const early = read();
    collector.add(PIECES[0]!);
    collector.add(PIECES[1]!);
    const later = read();
    collector.add(PIECES[2]!);
    audio.complete();
    for (const got of [await early, await later, await read()]) {
      expect(got).toHaveLength(3);
      got.forEach((piece, index) => expect(piece).toBe(PIECES[index]));
    }
  });

  it('gives nobody the last piece before it is complete', async () => {
    const reader = audio[Symbol.asyncIterator]();
    for (const piece of PIECES) collector.add(piece);
    expect((await reader.next()).value).toBe(PIECES[0]);
    expect((await reader.next()).value).toBe(PIECES[1]);
    let isGiven = false;
    const last = reader.next().finally(() => (isGiven = true));
    await new Promise(setImmediate);
    expect({ isGiven, isWhole: audio.isWhole, wholeAtMs: audio.wholeAtMs }).toEqual({
      isGiven: false,
      isWhole: false,
      wholeAtMs: null,
    });
    audio.complete();
    expect((await last).value).toBe(PIECES[2]);
    expect((await reader.next()).done).toBe(true);
    await expect(audio.whole).resolves.toBeUndefined();
    expect(audio.wholeAtMs).toBeLessThanOrEqual(performance.now());
  });

  it('gives nobody anything once it is annulled, and is never whole then', async () => {
    const waiting = read();
    collector.add(PIECES[0]!);
    audio.annul();
    audio.complete();
    await expect(waiting).rejects.toMatchObject({ code: 'request_timeout' });
    await expect(read()).rejects.toMatchObject({ code: 'request_timeout' });
    await expect(audio.whole).rejects.toMatchObject({ code: 'request_timeout' });
    expect({ isWhole: audio.isWhole, isAnnulled: audio.isAnnulled, isAborted: audio.annulment.aborted }).toEqual({
      isWhole: false,
      isAnnulled: true,
      isAborted: true,
    });
  });
});
