import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { AppError } from '@libs/errors';
import type { OpenedVideo, VideoAccess, VideoApi } from '@libs/inference';
import type { BlobStore, Egress, EgressRequest } from '@libs/platform';
import { NotFetched, NoVideo, videoTypeOf } from './output-format';
import { OutputKeeper } from './output-keeper';

const MP4 = Buffer.from('\0\0\0\x18ftypisom and what follows', 'latin1');
const access = { signal: new AbortController().signal } as unknown as VideoAccess;

/** Keeps what is written whole, as the port says. */
class Shelf {
  readonly kept = new Map<string, Buffer>();
  async write(key: string, chunks: AsyncIterable<Buffer>): Promise<number> {
    const bytes = await buffer(Readable.from(chunks));
    this.kept.set(key, bytes);
    return bytes.length;
  }
}

function streamOf(...pieces: readonly Buffer[]): OpenedVideo {
  const left = [...pieces];
  return {
    kind: 'stream',
    stream: { read: async () => left.shift() ?? null, cancel: () => undefined, discard: () => undefined },
  } as unknown as OpenedVideo;
}

function keeperOf(opened: OpenedVideo, fetch: (url: string, request: EgressRequest) => Promise<{ status: number }>) {
  const shelf = new Shelf();
  const keeper = new OutputKeeper(shelf as unknown as BlobStore, { fetch } as unknown as Egress);
  const api = { open: async () => opened } as unknown as VideoApi;
  return { shelf, keep: () => keeper.keep('gen-vid-1-a', [{ path: '/x' }], api, access) };
}

const noFetch = async (): Promise<never> => Promise.reject(new Error('nothing is to be fetched'));

describe(OutputKeeper.name, () => {
  it('keeps what a provider streams, however it is cut', async () => {
    const { shelf, keep } = keeperOf(streamOf(MP4.subarray(0, 3), MP4.subarray(3, 9), MP4.subarray(9)), noFetch);
    expect(await keep()).toEqual([{ key: 'videos/gen-vid-1-a/0', contentType: 'video/mp4', bytes: MP4.length }]);
    expect(shelf.kept.get('videos/gen-vid-1-a/0')!.equals(MP4)).toBe(true);
  });

  it('fetches a link through egress, piece by piece and without a key', async () => {
    const asked: EgressRequest[] = [];
    const { shelf, keep } = keeperOf({ kind: 'link', url: 'https://cdn.example/o.mp4' }, async (_url, request) => {
      asked.push(request);
      for (let n = 0; n < 64; n += 1) await request.sink!(n === 0 ? MP4 : Buffer.alloc(65_536));
      return { status: 200 };
    });
    expect(await keep()).toMatchObject([{ bytes: MP4.length + 63 * 65_536 }]);
    expect(shelf.kept.size).toBe(1);
    expect(asked[0]).not.toHaveProperty('headers');
  });

  it.each([
    ['nothing', streamOf()],
    ['a page', streamOf(Buffer.from('<html>so sorry</html>'))],
    ['a few bytes', streamOf(MP4.subarray(0, 8))],
  ])('refuses %s for good', async (_case, opened) => {
    const { shelf, keep } = keeperOf(opened, noFetch);
    const refusal: unknown = await keep().catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: NotFetched.name, prospect: 'never', cause: expect.any(NoVideo) as NoVideo });
    expect(shelf.kept.size).toBe(0);
  });

  it.each([
    ['a link that is refused', () => Promise.reject(new AppError('invalid_request', 'no')), 'never'],
    ['a link that is too long', () => Promise.reject(new AppError('payload_too_large', 'no')), 'never'],
    ['a host that is away', () => Promise.reject(new AppError('provider_unavailable', 'no')), 'later'],
    ['an answer of 404', async () => ({ status: 404 }), 'gone'],
    ['an answer of 503', async () => ({ status: 503 }), 'later'],
  ])('says of %s whether to try again', async (_case, fetch, prospect) => {
    const { keep } = keeperOf({ kind: 'link', url: 'https://cdn.example/o.mp4' }, fetch);
    const refusal: unknown = await keep().catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: NotFetched.name, prospect });
  });

  it('tells a store that takes nothing from a provider that gives nothing', async () => {
    const { shelf, keep } = keeperOf(streamOf(MP4), noFetch);
    const full = new Error('no space left');
    shelf.write = async (_key, chunks) => {
      for await (const _chunk of chunks) throw full;
      return 0;
    };
    await expect(keep()).rejects.toBe(full);
  });

  it('stops fetching when what comes is no video', async () => {
    let wasStopped = false;
    const { keep } = keeperOf({ kind: 'link', url: 'https://cdn.example/o' }, async (_url, { sink, signal }) => {
      await sink!(Buffer.from('<html>an endless page</html>'));
      await new Promise<void>((resolve) => signal!.addEventListener('abort', () => resolve(), { once: true }));
      wasStopped = true;
      throw new AppError('timeout', 'stopped');
    });
    await expect(keep()).rejects.toMatchObject({ prospect: 'never' });
    await new Promise(setImmediate);
    expect(wasStopped).toBe(true);
  });
});

describe(videoTypeOf, () => {
  it.each([
    ['\0\0\0\x18ftypisom', 'video/mp4'],
    ['\0\0\0\x14ftypqt  ', 'video/quicktime'],
    ['\x1a\x45\xdf\xa3aaaaaaaa', 'video/webm'],
    ['RIFF\0\0\0\0AVI ', 'video/x-msvideo'],
    ['RIFF\0\0\0\0WAVE', null],
    ['<!doctype html>', null],
  ])('tells %j', (head, type) => {
    expect(videoTypeOf(Buffer.from(head, 'latin1'))).toBe(type);
  });
});
