import { guardConnections } from '@libs/contracts';
import { buildConnector, Pool } from 'undici';
import { CallPlaces } from './call-places';

const CONNECT_TIMEOUT_MS = 5_000;
/**
 * Shorter than the five seconds after which common model servers close an idle connection without notice, so that no
 * request is written to a connection that is being closed. An upstream's own keep-alive hint overrides it.
 */
const KEEP_ALIVE_MS = 4_000;
/** A pool with fewer connections is not divided into shares, because one share would be too large a part of it. */
const LEAST_SHARED = 5;
const NO_SHARES: readonly number[] = [];
/** Most pools for hosts that callers choose. */
const MOST_OWN_PLACES = 512;

/** Makes one connection to a host that a caller's key named, after checking the host's addresses. */
export type ConnectOwnPlace = buildConnector.connector;

export interface Load {
  /** Places of calls that run or wait for a connection. */
  readonly places: CallPlaces;
  /** Calls among them whose bodies still arrive. */
  arriving: number;
}

/** The connections to one origin, and the calls on them. */
export interface LoadedPool {
  readonly pool: Pool;
  readonly load: Load;
}

/**
 * The connections to all upstreams by origin: those of the catalogue permanently, those of callers' own keys up to a
 * limit.
 */
export class UpstreamPools {
  readonly #pools = new Map<string, LoadedPool>();
  /** The least recently used first. */
  readonly #ownPlaces = new Map<string, LoadedPool>();

  /** @param shares weights by which holders of calls share a pool, as in `CallPlaces` */
  constructor(
    private readonly connectOwnPlace: ConnectOwnPlace | null,
    private readonly shares = NO_SHARES,
  ) {}

  of(origin: string, connections: number): LoadedPool {
    const key = `${origin} ${connections}`;
    let found = this.#pools.get(key);
    if (found === undefined) {
      found = this.#open(origin, connections);
      this.#pools.set(key, found);
    }
    return found;
  }

  /**
   * Returns null if there are too many such pools, or if nothing guards them. The caller must count its call at once.
   */
  ofOwnPlace(origin: string, connections: number): LoadedPool | null {
    if (this.connectOwnPlace === null) return null;
    const key = `${origin} ${connections}`;
    let found = this.#ownPlaces.get(key);
    if (found === undefined) {
      if (!this.#makeRoom()) return null;
      found = this.#open(origin, connections, this.connectOwnPlace);
    }
    this.#ownPlaces.delete(key);
    this.#ownPlaces.set(key, found);
    return found;
  }

  /** Waits for running calls, then closes every connection. */
  async close(): Promise<void> {
    const all = [...this.#pools.values(), ...this.#ownPlaces.values()];
    this.#pools.clear();
    this.#ownPlaces.clear();
    await Promise.all(all.map(({ pool }) => pool.close()));
  }

  /** Closes the pool that has been idle for the longest time; returns false if all of them have running calls. */
  #makeRoom(): boolean {
    if (this.#ownPlaces.size < MOST_OWN_PLACES) return true;
    for (const [key, { pool, load }] of this.#ownPlaces) {
      if (load.places.taken > 0) continue;
      this.#ownPlaces.delete(key);
      // The connections are idle, so an error while closing them affects no call.
      pool.destroy().catch(() => undefined);
      return true;
    }
    return false;
  }

  #open(origin: string, connections: number, connect: ConnectOwnPlace = connectUpstream()): LoadedPool {
    const pool = new Pool(origin, {
      connections,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      allowH2: false,
      connect,
    });
    const places = new CallPlaces(connections, connections < LEAST_SHARED ? NO_SHARES : this.shares);
    return { pool, load: { places, arriving: 0 } };
  }
}

/** Returns a connector of one pool, whose sessions of TLS are its own. */
function connectUpstream(): buildConnector.connector {
  return guardConnections(buildConnector({ timeout: CONNECT_TIMEOUT_MS, allowH2: false }));
}
