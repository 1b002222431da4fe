import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { AppError } from '@libs/errors';
import {
  toAbortSignal,
  type OpenedVideo,
  type UpstreamStream,
  type VideoAccess,
  type VideoApi,
  type VideoOutput,
} from '@libs/inference';
import type { KeptVideo } from '@libs/persistence';
import type { BlobStore, Egress } from '@libs/platform';
import { judged, LARGEST_VIDEO_BYTES, NotFetched, prospectOfStatus } from './output-format';

const LINK_TIMEOUT_MS = 900_000;
const MOST_REDIRECTS = 3;
/** Most videos of one job. */
const MOST_OUTPUTS = 16;

/** Copies finished videos to the store. Names are derived from the job, so a repeated copy replaces itself. */
export class OutputKeeper {
  constructor(
    private readonly blobs: BlobStore,
    private readonly egress: Egress,
  ) {}

  /** @throws NotFetched if the provider does not deliver a video; other errors if it cannot be stored */
  async keep(jobId: string, outputs: readonly VideoOutput[], api: VideoApi, access: VideoAccess): Promise<KeptVideo[]> {
    const kept: KeptVideo[] = [];
    for (const [index, output] of outputs.slice(0, MOST_OUTPUTS).entries()) {
      const opened = await api.open(output, access).catch((thrown: unknown) => {
        throw NotFetched.from(thrown);
      });
      kept.push(await this.copy(`videos/${jobId}/${index}`, this.chunksOf(opened, access)));
    }
    return kept;
  }

  private async copy(key: string, chunks: AsyncIterable<Buffer>): Promise<KeptVideo> {
    let contentType = 'video/mp4';
    const passing = fetched(judged(chunks, (type) => (contentType = type)));
    const bytes = await this.blobs.write(key, passing, contentType);
    return { key, contentType, bytes };
  }

  private chunksOf(opened: OpenedVideo, access: VideoAccess): AsyncIterable<Buffer> {
    return opened.kind === 'stream' ? chunksOfStream(opened.stream) : this.chunksOfLink(opened.url, access);
  }

  /** Downloads a link from a provider's response. Its host is not trusted: no key is sent, as with links of callers. */
  private chunksOfLink(url: string, { signal }: VideoAccess): AsyncIterable<Buffer> {
    const pipe = new PassThrough();
    const stop = new AbortController();
    pipe.once('close', () => stop.abort());
    const sink = async (chunk: Buffer): Promise<void> => {
      if (!pipe.write(chunk)) await once(pipe, 'drain', { signal: stop.signal });
    };
    const fetching = this.egress.fetch(url, {
      subject: 'The link to the video',
      maxBytes: LARGEST_VIDEO_BYTES,
      timeoutMs: LINK_TIMEOUT_MS,
      maxRedirects: MOST_REDIRECTS,
      signal: AbortSignal.any([stop.signal, toAbortSignal(signal)]),
      sink,
    });
    fetching.then(
      ({ status }) => (status >= 200 && status < 300 ? pipe.end() : pipe.destroy(notGiven(status))),
      (error: unknown) => pipe.destroy(AppError.from(error)),
    );
    return pipe as AsyncIterable<Buffer>;
  }
}

/** Yields the same chunks. Errors of their source become NotFetched, so that they differ from errors of the store. */
async function* fetched(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (thrown) {
    throw NotFetched.from(thrown);
  }
}

async function* chunksOfStream(stream: UpstreamStream): AsyncGenerator<Buffer> {
  try {
    for (let chunk = await stream.read(); chunk !== null; chunk = await stream.read()) yield chunk;
  } finally {
    stream.cancel();
  }
}

function notGiven(status: number): NotFetched {
  const internal = `its link answers ${status}`;
  const error = new AppError('provider_unavailable', 'The video cannot be fetched', { internal });
  return new NotFetched(prospectOfStatus(status), error);
}
