import { promises } from 'node:dns';
import { systemCodeOf } from '@libs/errors';
import { SharedPool } from '@libs/contracts';
import { addressesInHostsFile } from './hosts-file';
import type { ResolvedAddress } from './resolved-address';

export interface NameLookupOptions {
  /** Name servers as `127.0.0.1:53`; by default those of the system. */
  readonly servers?: readonly string[];
  /** Lookups at once. */
  readonly most?: number;
  /** Timeout of the first try; the second has more time. */
  readonly timeoutMs?: number;
}

/** The holder of a lookup, and the signal that ends its wait. */
export interface NameQuestion {
  /** To whom the lookup is charged in the shared pool, such as a workspace. */
  readonly holder: string;
  /** Ends the wait, and also the lookup if no one else waits for it. */
  readonly signal: AbortSignal;
}

interface Lookup {
  readonly addresses: Promise<readonly ResolvedAddress[]>;
  readonly cancel: () => void;
  waiting: number;
}

const MOST = 256;
const TIMEOUT_MS = 2_000;
const TRIES = 2;
/** One holder alone may use half of the slots. */
const WEIGHTS = [1] as const;

/**
 * Looks up the hosts that callers name, in the hosts file and then by DNS.
 *
 * `dns.lookup` has few threads in a process and cannot be cancelled: two names whose servers do not answer would block
 * all other lookups, including those of providers. Here each lookup has its own socket, a time limit and a slot in a
 * shared pool. A name that is already being looked up takes no second slot.
 */
export class NameLookups {
  readonly #places: SharedPool;
  readonly #underWay = new Map<string, Lookup>();
  readonly #options: NameLookupOptions;

  constructor(options: NameLookupOptions = {}) {
    this.#options = options;
    this.#places = new SharedPool(options.most ?? MOST, WEIGHTS);
  }

  get size(): number {
    return this.#underWay.size;
  }

  /** Returns every address of a name. Throws an error with a code if there is none or no free slot. */
  async find(hostname: string, { holder, signal }: NameQuestion): Promise<readonly ResolvedAddress[]> {
    const known = addressesInHostsFile(hostname);
    if (known.length > 0) return known;
    const lookup = this.#underWay.get(hostname) ?? this.#begin(hostname, holder);
    lookup.waiting += 1;
    const leave = (): void => {
      lookup.waiting -= 1;
      if (lookup.waiting > 0) return;
      // Another caller may ask for the name before the lookup has ended.
      this.#forget(hostname, lookup);
      lookup.cancel();
    };
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    try {
      return await lookup.addresses;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #begin(hostname: string, holder: string): Lookup {
    if (!this.#places.take([holder])) throw failure('EAI_AGAIN', `too many names are being looked up`);
    const { servers, timeoutMs = TIMEOUT_MS } = this.#options;
    const resolver = new promises.Resolver({ timeout: timeoutMs, tries: TRIES });
    if (servers !== undefined) resolver.setServers(servers);
    const addresses = resolve(resolver, hostname).finally(() => {
      this.#forget(hostname, lookup);
      this.#places.give([holder]);
    });
    const lookup: Lookup = { addresses, cancel: () => resolver.cancel(), waiting: 0 };
    this.#underWay.set(hostname, lookup);
    return lookup;
  }

  #forget(hostname: string, lookup: Lookup): void {
    if (this.#underWay.get(hostname) === lookup) this.#underWay.delete(hostname);
  }
}

async function resolve(resolver: promises.Resolver, hostname: string): Promise<readonly ResolvedAddress[]> {
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const found: ResolvedAddress[] = [
    ...valuesOf(four).map((address) => ({ address, family: 4 as const })),
    ...valuesOf(six).map((address) => ({ address, family: 6 as const })),
  ];
  if (found.length > 0) return found;
  const isAbsent = [four, six].every((one) => one.status === 'fulfilled' || ABSENT.has(systemCodeOf(one.reason) ?? ''));
  const cause = four.status === 'rejected' ? four.reason : undefined;
  throw failure(isAbsent ? 'ENOTFOUND' : 'EAI_AGAIN', 'the name has no address', cause);
}

const ABSENT: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND']);

function valuesOf(settled: PromiseSettledResult<string[]>): readonly string[] {
  return settled.status === 'fulfilled' ? settled.value : [];
}

/** Uses the codes of getaddrinfo, which callers know. */
function failure(code: 'ENOTFOUND' | 'EAI_AGAIN', message: string, cause?: unknown): Error {
  return Object.assign(new Error(`egress: ${message}`, { cause }), { code });
}
