import type { Server } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';
import { gauge, SharedPool } from '@libs/platform';
import { sourceOf } from './source-address';
import { countRefusal } from './request-claim';

/** One peer alone gets four fifths: where a proxy stands before the gateway, it may be the only one. */
const PEER_WEIGHTS = [4] as const;

/**
 * Bounds the connections to the server, and the share of one peer. One too many is closed at once, without
 * an answer, because no request has arrived on it.
 *
 * @param trustedProxies ranges whose connections are those of many callers: only the sum of all bounds them
 */
export function limitConnections(server: Server, most: number, trustedProxies: readonly string[] = []): SharedPool {
  const pool = new SharedPool(most, PEER_WEIGHTS);
  const trusted = blockListOf(trustedProxies);
  let proxied = 0;
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const isProxy = trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
    const holders = [isProxy ? `proxied connection ${(proxied += 1)}` : sourceOf(address)];
    if (!pool.take(holders)) {
      countRefusal('connections');
      socket.destroy();
      return;
    }
    socket.once('close', () => pool.give(holders));
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
