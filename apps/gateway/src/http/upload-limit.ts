import type { IncomingMessage } from 'node:http';
import { AppError } from '@libs/errors';
import { rawResponse } from './client-error';

export interface UploadTimes {
  /** Longest time between two pieces. */
  readonly idleMs: number;
  /** Time that every upload gets, in addition to what its bytes may take. */
  readonly graceMs: number;
  /** Least average rate of an upload, after the grace. */
  readonly leastBytesPerSecond: number;
}

export const UPLOAD_TIMES: UploadTimes = { idleMs: 60_000, graceMs: 60_000, leastBytesPerSecond: 32 * 1024 };

const TICK_MS = 1_000;

/**
 * Ends a request whose body stops coming, or comes too slowly in all, where only its route may read the body. So an
 * upload takes at most the grace and what its bytes take at the least rate. The time in which the route itself lets the
 * caller wait does not count. The answer is written past the route, which then finds its body broken off.
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
    // What has arrived and was not taken says that the route is busy.
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
