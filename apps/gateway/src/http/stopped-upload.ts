import type { ServerResponse } from 'node:http';
import { AppError } from '@libs/errors';
import { rawResponse } from './client-error';
import { hasUnreadBody } from './late-close';

/**
 * Refuses a request whose body is still arriving when the gateway stops, and closes its connection, because a body may
 * take minutes. The answer bypasses the route, whose body breaks off. Does nothing if the body has arrived or an answer
 * has begun.
 */
export function refuseUpload(response: ServerResponse): void {
  const { req: request, socket } = response;
  if (response.headersSent || !hasUnreadBody(request)) return;
  const error = new AppError('provider_overloaded', 'The service is restarting', { retryAfterSeconds: 1 });
  // A response without a socket is waiting for the answer of an earlier request on the connection.
  if (socket !== null && !socket.writableNeedDrain) socket.write(rawResponse(error));
  request.destroy(error);
}
