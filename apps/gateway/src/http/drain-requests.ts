import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { InFlight } from './in-flight';
import { OpenConnections } from './open-connections';

/** The times of a drain, in milliseconds. */
export interface DrainTimes {
  /** After this time, running requests are ended: streams with an error event, other requests with 503. */
  readonly patienceMs: number;
  /** How long a connection may still take after that to receive its last data. */
  readonly lastWordsMs: number;
}

export const DRAIN_TIMES: DrainTimes = { patienceMs: 18_000, lastWordsMs: 2_000 };

/** The server and what it must end. */
export interface DrainedServer {
  readonly server: Server;
  readonly inFlight: InFlight;
  readonly connections: OpenConnections;
}

/**
 * Accepts no more connections and waits until running requests are answered and the answers are read. When both times
 * are over, or at the deadline, closes all remaining connections.
 */
export async function drainRequests(
  { server, inFlight, connections }: DrainedServer,
  deadline: AbortSignal,
  { patienceMs, lastWordsMs }: DrainTimes = DRAIN_TIMES,
): Promise<void> {
  // Node's HTTP server would also close connections on which an answer is still being sent.
  NetServer.prototype.close.call(server);
  const stopClosing = connections.closeAsTheyRest(inFlight);
  const cut = (): void => server.closeAllConnections();
  const stop = AbortSignal.any([deadline, AbortSignal.timeout(patienceMs)]);
  const end = AbortSignal.any([deadline, AbortSignal.timeout(patienceMs + lastWordsMs)]);
  end.addEventListener('abort', cut, { once: true });
  await inFlight.drain(stop);
  end.removeEventListener('abort', cut);
  stopClosing();
  // A connection without any request would otherwise delay the end.
  cut();
}
