import type { IncomingMessage } from 'node:http';
import { GatheredPieces } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { tooLarge } from './request-head';

export interface BodyTimes {
  /** Between two pieces of the body. */
  readonly idleMs: number;
  readonly totalMs: number;
}

export interface BodyLimits extends BodyTimes {
  readonly maxBytes: number;
  /** Called before a body without a Content-Length continues to be collected; may refuse it by throwing. */
  readonly onLength?: (bytes: number) => void;
}

/**
 * Returns the body if all of it arrived with the head, as small ones do; otherwise reads nothing and returns null.
 * Leaves a body above the limit to `readBody`, which refuses it.
 */
export function takeWholeBody(request: IncomingMessage, maxBytes: number): Buffer | null {
  const { readableLength } = request;
  if (readableLength === 0 || readableLength > maxBytes) return null;
  // The parser passes on the last byte of a body before it reports the end of the message.
  if (!request.complete && Number(request.headers['content-length']) !== readableLength) return null;
  // Without a size, `read` returns everything that has arrived.
  const body = request.read() as Buffer;
  // A message ends only if it is read to its end, and no other code continues to read.
  request.resume();
  return body;
}

/**
 * Returns the whole body. Stops reading at the limit and leaves the rest unread.
 * @throws AppError payload_too_large | request_timeout | invalid_request (the caller disconnected)
 */
export async function readBody(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const announced = request.headers['content-length'];
  if (announced !== undefined && Number(announced) <= limits.maxBytes) {
    return readAnnounced(request, limits, Number(announced));
  }
  const gathered = new GatheredPieces();
  await pourBody(request, limits, (chunk) => {
    const bytes = gathered.bytes + chunk.length;
    if (bytes > limits.maxBytes) throw tooLarge(limits.maxBytes);
    limits.onLength?.(bytes);
    gathered.add(chunk);
  });
  return gathered.take();
}

/** Reads into one buffer from the start: pieces that are joined at the end are in memory twice. */
async function readAnnounced(request: IncomingMessage, limits: BodyLimits, length: number): Promise<Buffer> {
  const body = Buffer.allocUnsafeSlow(length);
  let bytes = 0;
  // The parser never returns more than the announced length.
  await pourBody(request, limits, (chunk) => {
    bytes += chunk.copy(body, bytes);
  });
  return body;
}

/**
 * Passes the body on in the pieces in which it arrives, for a route that keeps up with it; nothing is buffered or
 * joined. An error of `take` ends it, and the rest stays unread.
 * @throws AppError request_timeout | invalid_request (the caller disconnected), and any error of `take`
 */
export function pourBody(request: IncomingMessage, times: BodyTimes, take: (piece: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => new BodyReader(request, times, { take, resolve, reject }));
}

interface BodySink {
  readonly take: (piece: Buffer) => void;
  readonly resolve: () => void;
  readonly reject: (error: AppError) => void;
}

/**
 * Yields the body piece by piece, for a route that reads it itself. The socket stays open if the reader stops early;
 * otherwise the caller would never receive the reason.
 * @throws AppError request_timeout | invalid_request (the caller disconnected)
 */
export async function* streamBody(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } catch (error) {
    throw error instanceof AppError ? error : brokenOff(error);
  }
}

function brokenOff(cause?: unknown): AppError {
  return new AppError('invalid_request', 'The request body broke off', { cause });
}

class BodyReader {
  private readonly timer: NodeJS.Timeout;
  private readonly deadline: NodeJS.Timeout;

  constructor(
    private readonly request: IncomingMessage,
    times: BodyTimes,
    private readonly sink: BodySink,
  ) {
    this.timer = setTimeout(this.onIdle, times.idleMs);
    this.deadline = setTimeout(this.onIdle, times.totalMs);
    request.on('data', this.onData).on('end', this.onEnd).on('error', this.onBroken).on('close', this.onBroken);
  }

  private readonly onData = (chunk: Buffer): void => {
    try {
      this.sink.take(chunk);
    } catch (thrown) {
      return this.fail(AppError.from(thrown));
    }
    this.timer.refresh();
  };

  private readonly onEnd = (): void => {
    this.stop();
    this.sink.resolve();
  };

  private readonly onIdle = (): void => {
    this.fail(new AppError('request_timeout', 'The request body took too long to arrive'));
  };

  private readonly onBroken = (): void => {
    this.fail(brokenOff());
  };

  private fail(error: AppError): void {
    this.stop();
    this.request.pause();
    this.sink.reject(error);
  }

  private stop(): void {
    clearTimeout(this.timer);
    clearTimeout(this.deadline);
    this.request
      .off('data', this.onData)
      .off('end', this.onEnd)
      .off('error', this.onBroken)
      .off('close', this.onBroken);
    // The result of the read is final: later errors are ignored.
    this.request.on('error', ignore);
  }
}

function ignore(): void {}
