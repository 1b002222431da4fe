import type { IncomingMessage } from 'node:http';
import { AppError } from '@libs/errors';
import { rawResponse } from './client-error';

export interface UploadTimes {
  /** Longest time between two pieces. */
  readonly idleMs: number;
  /** Time that every upload gets in addition to the time for its bytes. */
  readonly graceMs: number;
  /** Lowest average rate of an upload, after the grace time. */
  readonly leastBytesPerSecond: number;
}

export const UPLOAD_TIMES: UploadTimes = { idleMs: 60_000, graceMs: 60_000, leastBytesPerSecond: 32 * 1024 };

const TICK_MS = 1_000;

/**
 * Ends a request whose body stalls or is too slow overall, for routes that read the body themselves. So an upload takes
 * at most the grace time plus the time of its bytes at the lowest rate. Time during which the route itself makes the
 * caller wait does not count. The answer bypasses the route, whose body breaks off.
 */
export function limitUploadTime(request: IncomingMessage, times: UploadTimes): void {
  const { socket } = request;
  const startBytes = socket.bytesRead;
  let waitedMs = 0;
  const onTimeout = (): void => {
    stop();
    const error = new AppError('request_timeout', 'The request body took too long to arrive');
    if (!socket.writableNeedDrain) socket.write(rawResponse(error));
    request.destroy(error);
  };
  const tickMs = Math.min(TICK_MS, times.graceMs);
  const onTick = (): void => {
    // If data has arrived and was not read, the route is busy, so the caller is not to blame.
    if (request.readableLength === 0) waitedMs += tickMs;
    const earnedMs = ((socket.bytesRead - startBytes) / times.leastBytesPerSecond) * 1_000;
    if (waitedMs > times.graceMs + earnedMs) onTimeout();
  };
  const timer = setInterval(onTick, tickMs).unref();
  function stop(): void {
    clearInterval(timer);
    request.off('timeout', onTimeout).off('end', stop).off('close', stop);
    socket.setTimeout(0);
  }
  request.once('timeout', onTimeout).once('end', stop).once('close', stop);
  socket.setTimeout(times.idleMs);
}
