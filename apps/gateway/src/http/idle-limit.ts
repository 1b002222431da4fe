import type { IncomingMessage } from 'node:http';
import { AppError } from '@libs/errors';
import { rawResponse } from './client-error';

/**
 * Ends a request whose body stops coming, where nobody but its route may read the body: silence is noticed
 * at the socket. The answer is written past the route, which then finds its body broken off.
 */
export function limitIdleTime(request: IncomingMessage, idleMs: number): void {
  const { socket } = request;
  const onTimeout = (): void => {
    const error = new AppError('request_timeout', 'The request body took too long to arrive');
    if (!socket.writableNeedDrain) socket.write(rawResponse(error));
    request.destroy(error);
  };
  const stop = (): void => {
    request.off('timeout', onTimeout);
    socket.setTimeout(0);
  };
  request.once('timeout', onTimeout).once('end', stop).once('close', stop);
  socket.setTimeout(idleMs);
}
