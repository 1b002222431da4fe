import { FaultProxy, type CommitMoment } from '../support/fault-proxy';
import { LINKS, linkText, SERVERS, type Far, type ProcessName, type ServerName } from './parts';

const DEFAULT_PORTS: Readonly<Record<ServerName, number>> = { postgres: 5_432, rabbitmq: 5_672, redis: 6_379 };

/** A proxy for every link, so that one process can be cut off from one service alone. */
export class StormLinks {
  private constructor(private readonly proxies: ReadonlyMap<string, FaultProxy>) {}

  static async start(urls: Readonly<Record<ServerName, string>>, upstreamPort: number): Promise<StormLinks> {
    const proxies = new Map<string, FaultProxy>();
    for (const link of LINKS) {
      const target = targetOf(link.far, urls, upstreamPort);
      proxies.set(linkText(link), await FaultProxy.start(target));
    }
    return new StormLinks(proxies);
  }

  /** @param target as `linkText` writes it */
  get(target: string): FaultProxy {
    const proxy = this.proxies.get(target);
    if (proxy === undefined) throw new Error(`there is no link ${target}`);
    return proxy;
  }

  ofProcess(process: ProcessName): FaultProxy[] {
    return LINKS.filter((link) => link.process === process).map((link) => this.get(linkText(link)));
  }

  between(process: ProcessName, far: Far): FaultProxy {
    return this.get(linkText({ process, far }));
  }

  healAll(): void {
    for (const proxy of this.proxies.values()) proxy.heal(true);
  }

  /** Commits that were cut off so far, by the moment. */
  get commitCuts(): Record<CommitMoment, number> {
    const cuts = { before: 0, after: 0, answered: 0 };
    for (const { commitCuts } of this.proxies.values()) {
      cuts.before += commitCuts.before;
      cuts.after += commitCuts.after;
      cuts.answered += commitCuts.answered;
    }
    return cuts;
  }

  async close(): Promise<void> {
    await Promise.all([...this.proxies.values()].map((proxy) => proxy.close()));
  }
}

function targetOf(
  far: Far,
  urls: Readonly<Record<ServerName, string>>,
  upstreamPort: number,
): Parameters<typeof FaultProxy.start>[0] {
  const server = SERVERS.find((name) => name === far);
  if (server === undefined) return { host: '127.0.0.1', port: upstreamPort };
  const { hostname: host, port } = new URL(urls[server]);
  const target = { host, port: Number(port || DEFAULT_PORTS[server]) };
  return server === 'postgres' ? { ...target, protocol: 'postgres' } : target;
}
