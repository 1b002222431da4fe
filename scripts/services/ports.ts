import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems use for outgoing connections (from 32,768 on Linux, 49,152 elsewhere): an outgoing
 * connection may take a port between the check and the start of a server.
 */
const FIRST_PORT = 22_000;
const LAST_PORT = 32_767;
/** A process claims a port by listening on the port this much lower, until it ends. */
const CLAIM_DISTANCE = 11_000;
/** Enough unless nearly all ports are in use. */
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

/**
 * Returns `count` different ports on which no process listens. No other process gets them while this one lives, so that
 * a server may take seconds to start, or may start again.
 * @throws Error if the system has not enough free ports
 */
export async function freePorts(count: number, pick: () => number = randomPort): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries === MOST_TRIES) throw new Error('the system has no free port');
    const port = pick();
    if (await claimPort(port)) ports.add(port);
  }
  return [...ports];
}

const randomPort = (): number => randomInt(FIRST_PORT, LAST_PORT + 1);

/** Returns false if another caller, here or in another process, has the port, or if something listens there. */
async function claimPort(port: number): Promise<boolean> {
  const claim = createServer().unref();
  try {
    claim.listen(port - CLAIM_DISTANCE, '127.0.0.1');
    await once(claim, 'listening');
  } catch {
    return false;
  }
  if (await isPortFree(port)) return true;
  claim.close();
  return false;
}
