import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to outgoing connections (from 32,768 on Linux, 49,152 elsewhere), any of which may
 * take one between the moment it is found free and the moment a server listens there.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_767;
/** Many more than it takes while not nearly all of them are in use. */
const MOST_TRIES = 1_000;

/** Binds for a moment. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '0.0.0.0');
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

/** `count` different ports that nobody listens on, picked by chance so that others who look now find others. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries === MOST_TRIES) throw new Error('the system has no free port');
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (await isPortFree(port)) ports.add(port);
  }
  return [...ports];
}
