import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { GatheredPieces } from '@libs/contracts';
import { AppError } from '@libs/errors';

export interface BodyBounds {
  readonly maxBytes: number;
  readonly subject: string;
  /** Receives the pieces instead of the returned body. */
  readonly sink?: (chunk: Buffer) => Promise<void>;
  /** Called before a piece is kept; an error of it ends the body. */
  readonly reserve?: ((bytes: number) => Promise<void> | undefined) | undefined;
}

/**
 * Reads a body and decompresses it while it arrives: memory never exceeds the limit by more than one chunk, however
 * small the compressed form is.
 * @throws AppError payload_too_large, provider_unavailable for an encoding that was not requested
 */
export async function readBody(
  source: Readable,
  headers: Readonly<Record<string, string>>,
  { maxBytes, subject, sink, reserve }: BodyBounds,
): Promise<Buffer> {
  const tooLong = new AppError('payload_too_large', `${subject} answers with more than ${maxBytes} bytes`);
  try {
    const decoded = decode(source, headers['content-encoding'] ?? 'identity', subject);
    const gathered = new GatheredPieces();
    let length = 0;
    for await (const chunk of decoded as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) throw tooLong;
      if (sink) {
        await sink(chunk);
        continue;
      }
      const waits = reserve?.(chunk.length);
      if (waits !== undefined) await waits;
      gathered.add(chunk);
    }
    return gathered.take();
  } finally {
    discardBody(source);
  }
}

/** Ends a body, however much of it is still to come. */
export function discardBody(source: Readable): void {
  // Undici reports the end of an unread body as an error on the stream.
  source.on('error', () => {}).destroy();
}

function decode(source: Readable, encoding: string, subject: string): Readable {
  const decoder = decoderOf(encoding.trim().toLowerCase(), subject);
  // The callback can be empty: the reader of the last stream gets the error of any of them.
  return decoder === null ? source : pipeline(source, decoder, () => {});
}

function decoderOf(encoding: string, subject: string): Transform | null {
  switch (encoding) {
    case 'identity':
    case '':
      return null;
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      throw new AppError('provider_unavailable', `${subject} answers in an encoding that cannot be read`);
  }
}
