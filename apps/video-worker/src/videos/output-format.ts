import { AppError } from '@libs/errors';
import { upstreamStatusOf } from '@libs/inference';

const LARGEST_BYTES = 1024 * 1024 * 1024;
const HEAD_BYTES = 12;

/** The output is not a video, and fetching it again would not change that. */
export class NoVideo extends Error {
  override readonly name = 'NoVideo';
}

/** Returns the media type of a video by its first bytes; null for anything else, such as an error page. */
export function videoTypeOf(head: Buffer): string | null {
  if (head.toString('latin1', 4, 8) === 'ftyp') {
    return head.toString('latin1', 8, 10) === 'qt' ? 'video/quicktime' : 'video/mp4';
  }
  if (head.length >= 4 && head.readUInt32BE(0) === 0x1a45dfa3) return 'video/webm';
  const isRiff = head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'AVI ';
  return isRiff ? 'video/x-msvideo' : null;
}

/**
 * Yields the same chunks, and checks that they begin like a video and stay within the size limit.
 * @throws NoVideo
 */
export async function* judged(
  chunks: AsyncIterable<Buffer>,
  tell: (contentType: string) => void,
): AsyncGenerator<Buffer> {
  let head: Buffer | null = Buffer.alloc(0);
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > LARGEST_BYTES) throw new NoVideo(`it is longer than ${LARGEST_BYTES} bytes`);
    if (head === null) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < HEAD_BYTES) continue;
    tell(typeOrThrow(head));
    yield head;
    head = null;
  }
  if (head !== null) throw new NoVideo('it is empty');
}

function typeOrThrow(head: Buffer): string {
  const type = videoTypeOf(head);
  if (type === null) throw new NoVideo('it is something else');
  return type;
}

/** Statuses about the video itself, which are trusted if they are repeated. */
const GONE_STATUSES: ReadonlySet<number> = new Set([400, 404, 410, 422]);

/** Whether another try may succeed: `later` it may, `gone` it likely fails again, `never` it cannot. */
export type Prospect = 'later' | 'gone' | 'never';

/** The provider did not deliver a video that it calls finished. All other failures to store one are ours. */
export class NotFetched extends Error {
  override readonly name = 'NotFetched';

  constructor(
    readonly prospect: Prospect,
    override readonly cause: unknown,
  ) {
    super(cause instanceof AppError ? (cause.internal ?? cause.message) : String(cause));
  }

  static from(thrown: unknown): NotFetched {
    return thrown instanceof NotFetched ? thrown : new NotFetched(prospectOf(thrown), thrown);
  }
}

export function prospectOfStatus(status: number): Prospect {
  return GONE_STATUSES.has(status) ? 'gone' : 'later';
}

function prospectOf(thrown: unknown): Prospect {
  if (thrown instanceof NoVideo) return 'never';
  const error = AppError.from(thrown);
  const status = upstreamStatusOf(error);
  if (status !== null) return prospectOfStatus(status);
  // A link that is refused here, or leads to more bytes than are accepted.
  return error.code === 'invalid_request' || error.code === 'payload_too_large' ? 'never' : 'later';
}

export const LARGEST_VIDEO_BYTES = LARGEST_BYTES;
