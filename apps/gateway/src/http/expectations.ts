import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { AppError } from '@libs/errors';

/** Requests that wait for 100 (Continue) before they send their body (RFC 9110 §10.1.1). */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();
/** Requests that expect something else. */
const unmet = new WeakSet<IncomingMessage>();

/**
 * Passes requests with `Expect: 100-continue` to the router without sending 100 (Continue). It is sent when the body is
 * about to be read, so that a refused caller does not send its body in vain.
 */
export function keepExpectations(server: Server): void {
  server.on('checkContinue', (request, response) => {
    waiting.set(request, response);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request, response) => {
    unmet.add(request);
    server.emit('request', request, response);
  });
}

/** Returns what is wrong with the request's `Expect` header, or null. */
export function findExpectationProblem(request: IncomingMessage): AppError | null {
  return unmet.has(request) ? new AppError('invalid_request', 'The header Expect supports only 100-continue') : null;
}

/** Sends 100 (Continue) if the request waits for it: its body will be read now. */
export function takeExpectation(request: IncomingMessage): void {
  const response = waiting.get(request);
  if (response === undefined) return;
  waiting.delete(request);
  response.writeContinue();
}

/** Returns whether the caller still waits for 100 (Continue) before it sends its body. */
export function isWaiting(request: IncomingMessage): boolean {
  return waiting.has(request);
}
