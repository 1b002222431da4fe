import type { Server } from 'node:http';
import { InFlight } from './in-flight';

/** What is not answered by then is told to end: streams with an error event, other calls with 503. */
const PATIENCE_MS = 20_000;

/** Takes no more connections and waits until the requests under way have their answers. */
export async function drainRequests(server: Server, inFlight: InFlight, deadline: AbortSignal): Promise<void> {
  server.close();
  server.closeIdleConnections();
  await inFlight.drain(AbortSignal.any([deadline, AbortSignal.timeout(PATIENCE_MS)]));
  // A connection on which nothing has been asked yet does not count as idle, and would be waited for.
  server.closeAllConnections();
}
