import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';
import { SharedPool } from '@libs/contracts';
import { gauge } from '@libs/platform';
import type { ClosableConnections } from './closable-connections';
import { sourceOf } from './source-address';
import { countRefusal } from './request-claim';

/** One peer may use four fifths of the connections: behind a proxy, the proxy may be the gateway's only peer. */
const PEER_WEIGHTS = [4] as const;

export interface ConnectionLimits {
  readonly most: number;
  /** Receives all connections; requests of known callers protect theirs. */
  readonly closable: ClosableConnections;
  /**
   * Address ranges of proxies, whose connections carry many callers. Only the total limits them, and they are not
   * closed for others.
   */
  readonly trustedProxies?: readonly string[];
}

/**
 * Limits the connections to the server, and the share of one peer. If there is no room for a new one, the gateway
 * closes a connection without a running request of a known caller: of the peer that has the most, the longest idle one.
 * If there is still no room, the new connection is closed at once without an answer, because no request has arrived on
 * it.
 */
export function limitConnections(
  server: Server,
  { most, closable, trustedProxies = [] }: ConnectionLimits,
): SharedPool {
  const pool = new SharedPool(most, PEER_WEIGHTS);
  const trusted = blockListOf(trustedProxies);
  let proxied = 0;
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const isProxy = trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
    const peer = isProxy ? `proxied connection ${(proxied += 1)}` : sourceOf(address);
    const holders = [peer];
    while (!pool.take(holders)) {
      if (closable.closeOne(peer)) continue;
      countRefusal('connections');
      socket.destroy();
      return;
    }
    const leave = (): void => {
      socket.off('close', leave);
      closable.remove(socket);
      pool.give(holders);
    };
    socket.once('close', leave);
    if (!isProxy) closable.add(socket, peer, leave);
  });
  // Registered first, so that it runs before the request can protect its connection.
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    closable.touch(socket);
    response.once('close', () => closable.touch(socket));
  });
  return pool;
}

export function measureConnections(pool: SharedPool): void {
  gauge({
    name: 'sluice_http_connections',
    help: 'Open connections to the public port',
    collect: (metric) => metric.set(pool.taken),
  });
}

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', bits] = range.split('/', 2);
    const family = isIPv6(network) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(network, family);
    else list.addSubnet(network, Number(bits), family);
  }
  return list;
}
