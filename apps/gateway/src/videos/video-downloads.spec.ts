import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { openBlobStore, type BlobStore } from '@libs/platform';
import { VideoDownloads } from './video-downloads';

const FILM = Buffer.alloc(4 * 1024 * 1024);
const MANY = 200;

describe(VideoDownloads.name, () => {
  let asked = 0;
  const bucket = createServer((_request, response) => {
    asked += 1;
    response.writeHead(200, { 'content-length': FILM.length }).end(FILM);
  });
  let store: BlobStore;

  beforeAll(async () => {
    await new Promise<void>((resolve) => bucket.listen(0, '127.0.0.1', resolve));
    const { port } = bucket.address() as AddressInfo;
    store = openBlobStore({ BLOB_DIR: '', BLOB_S3_URL: new Secret(`http://KEY:SECRET@127.0.0.1:${port}/bucket`) });
  });

  beforeEach(() => {
    asked = 0;
  });

  afterAll(() => {
    bucket.closeAllConnections();
    bucket.close();
  });

  const downloads = new VideoDownloads(undefined, { longestWaitMs: 50 });
  const read = (workspace: string): Promise<Readable> =>
    downloads.open([workspace, workspace], () => store.read('video/film', FILM.length));

  it('serves others while readers of one workspace leave as many videos unread as they may', async () => {
    const settled = await Promise.allSettled(Array.from({ length: MANY }, () => read('slow')));
    const unread = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const refused = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as AppError] : []));
    expect(unread.length).toBeGreaterThan(32);
    expect(asked).toBe(unread.length);
    expect(refused[0]).toMatchObject({ code: 'provider_overloaded', status: 503, retryAfterSeconds: 1 });

    const served = await Promise.all([read('other'), read('third')]);
    let bytes = 0;
    for await (const piece of served[0]!) bytes += (piece as Buffer).length;
    expect(bytes).toBe(FILM.length);
    for (const video of [...unread, ...served]) video.destroy();
  });

  it('lets one that waits in when another is over', async () => {
    const one = new VideoDownloads(1, { longestWaitMs: 5_000 });
    const open = (): Promise<Readable> => one.open(['a', 'a'], () => store.read('video/film', FILM.length));
    const first = await open();
    const second = open();
    first.destroy();
    (await second).destroy();
  });

  it('gives the place back of a video that is closed before it is handed out', async () => {
    const one = new VideoDownloads(1, { longestWaitMs: 10 });
    const closed = async (): Promise<Readable> => {
      const video = await store.read('video/film', FILM.length);
      const ended = once(video, 'close');
      video.destroy();
      await ended;
      return video;
    };
    await one.open(['a', 'a'], closed);
    (await one.open(['b', 'b'], () => store.read('video/film', FILM.length))).destroy();
  });

  it('gives the place back where nothing could be opened', async () => {
    const one = new VideoDownloads(1, { longestWaitMs: 10 });
    const gone = new AppError('not_found', 'Not found');
    await expect(one.open(['a', 'a'], () => Promise.reject(gone))).rejects.toBe(gone);
    (await one.open(['b', 'b'], () => store.read('video/film', FILM.length))).destroy();
  });
});
